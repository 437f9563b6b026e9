# Every method of the config and other packages on one graph, in turns, beside the roof of the device.


rule time_methods:
    input:
        "<results>/graphs/{graph}.npz",
    output:
        "<results>/timed/{graph}/{device}.json",
    log:
        "<results>/logs/time_methods/{graph}/{device}.log",
    group:
        "timings"
    conda:
        "../envs/pyapsp.yaml"
    # a CPU device uses every core, and a time is worth nothing with another job beside it
    threads: all_cores
    resources:
        mem_mb=matrix_mem_mb,
        runtime=bench_minutes,
        gpu=0,
    params:
        methods=bench_methods,
        dtypes=config["dtypes"],
        peers=config["peers"],
        options=solve_options,
    shell:
        "pyapsp bench {input:q} --method {params.methods:q} --dtype {params.dtypes:q}"
        " --peers {params.peers:q} {params.options:q} -o {output:q} > {log:q} 2>&1"
