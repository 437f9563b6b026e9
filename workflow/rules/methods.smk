# Run every method of every problem and check its answer; time all alternately with other packages.


rule run_method:
    input:
        "<results>/graphs/{graph}.npz",
    output:
        "<results>/checked/{problem}/{graph}/{method}/{dtype}/{device}.json",
    log:
        "<results>/logs/run_method/{problem}/{graph}/{method}/{dtype}/{device}.log",
    # memory and time of the process; the times in the tables are those in the output file
    benchmark:
        "<results>/benchmarks/run_method/{problem}/{graph}/{method}/{dtype}/{device}.tsv"
    group:
        "runs"
    conda:
        "../envs/pyapsp.yaml"
    # a CPU device uses every core, so another job at the same time would distort the measured time
    threads: all_cores
    resources:
        mem_mb=run_mem_mb,
        runtime=run_minutes,
        gpu=0,
    params:
        options=run_options,
    shell:
        "pyapsp check {wildcards.problem:q} {input:q} --method {wildcards.method:q}"
        " --dtype {wildcards.dtype:q} {params.options:q} -o {output:q} > {log:q} 2>&1"


rule time_methods:
    input:
        "<results>/graphs/{graph}.npz",
    output:
        "<results>/timed/{problem}/{graph}/{device}.json",
    log:
        "<results>/logs/time_methods/{problem}/{graph}/{device}.log",
    group:
        "timings"
    conda:
        "../envs/pyapsp.yaml"
    threads: all_cores
    resources:
        mem_mb=run_mem_mb,
        runtime=bench_minutes,
        gpu=0,
    params:
        methods=bench_methods,
        dtypes=bench_types,
        peers=bench_peers,
        repeat=config["repeat"],
        options=run_options,
    shell:
        "pyapsp bench {input:q} --problem {wildcards.problem:q} --repeat {params.repeat} --method {params.methods:q}"
        " --dtype {params.dtypes:q} --peers {params.peers:q} {params.options:q} -o {output:q}"
        " > {log:q} 2>&1"


# A target for each problem, named after it: snakemake all-pairs, snakemake bfs, ...
for problem in PROBLEMS:

    rule:
        name:
            problem
        input:
            checked_files(problem),
            timed_files(problem),
