# Benches of the config on every device, for the pages of the site; docs/records.py stores them.


rule measure_bench:
    input:
        bench_datasets,
    output:
        "<results>/records/{device}/{bench}.json",
    log:
        "<results>/logs/measure_bench/{device}/{bench}.log",
    conda:
        "../envs/pyapsp.yaml"
    threads: all_cores
    resources:
        mem_mb=4000,
        runtime=60,
        gpu=0,
    params:
        options=bench_options,
    shell:
        "python -m pyapsp bench {params.options} -o {output:q} > {log:q} 2>&1"


rule benches:
    input:
        expand(
            "<results>/records/{device}/{bench}.json",
            bench=config["benches"],
            device=config["devices"],
        ),
