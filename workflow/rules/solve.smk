# Any method: solve, then check the answer against the graph and against SciPy.


rule solve_graph:
    input:
        "<results>/graphs/{graph}.npz",
    output:
        # the distances of a large graph are large and, once verified, of no further use here
        result=temp("<results>/solved/{graph}/{method}/{dtype}/{device}.npz"),
        record="<results>/solved/{graph}/{method}/{dtype}/{device}.json",
    log:
        "<results>/logs/solve_graph/{graph}/{method}/{dtype}/{device}.log",
    # of the host's memory and time; the times in the tables are those of the record
    benchmark:
        "<results>/benchmarks/solve_graph/{graph}/{method}/{dtype}/{device}.tsv"
    group:
        "runs"
    conda:
        "../envs/pyapsp.yaml"
    # a CPU device uses every core, and a time is worth nothing with another job beside it
    threads: all_cores
    resources:
        mem_mb=matrix_mem_mb,
        runtime=solve_minutes,
        gpu=0,
    params:
        options=solve_options,
    shell:
        "pyapsp solve {input:q} -o {output.result:q} --record {output.record:q}"
        " --method {wildcards.method:q} --dtype {wildcards.dtype:q} {params.options:q}"
        " > {log:q} 2>&1"


rule verify_result:
    input:
        graph="<results>/graphs/{graph}.npz",
        result="<results>/solved/{graph}/{method}/{dtype}/{device}.npz",
        record="<results>/solved/{graph}/{method}/{dtype}/{device}.json",
    output:
        "<results>/verified/{graph}/{method}/{dtype}/{device}.json",
    log:
        "<results>/logs/verify_result/{graph}/{method}/{dtype}/{device}.log",
    group:
        "runs"
    conda:
        "../envs/pyapsp.yaml"
    resources:
        mem_mb=matrix_mem_mb,
        runtime=search_minutes,
    shell:
        "pyapsp verify {input.graph:q} {input.result:q} --record {input.record:q} -o {output:q}"
        " > {log:q} 2>&1"
