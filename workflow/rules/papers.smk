# What papers measured, measured again on every device of the config, their figures beside ours.


rule measure_paper:
    output:
        "<results>/papers/{device}/measured/{experiment}/{n}.json",
    log:
        "<results>/logs/measure_paper/{device}/{experiment}/{n}.log",
    conda:
        "../envs/pyapsp.yaml"
    # a CPU device uses every core, and a time is worth nothing with another job beside it
    threads: all_cores
    resources:
        mem_mb=measure_mem_mb,
        runtime=measure_minutes,
        gpu=0,
    params:
        options=measure_options,
    shell:
        "pyapsp papers measure {wildcards.experiment:q} --n {wildcards.n} {params.options:q}"
        " -o {output:q} > {log:q} 2>&1"


rule tabulate_paper:
    input:
        measured_files,
    output:
        report(
            directory("<results>/papers/{device}/{source}"),
            caption="../report/papers.rst",
            category="Papers",
            htmlindex="index.html",
            labels={"paper": "{source}", "device": "{device}"},
        ),
    log:
        "<results>/logs/tabulate_paper/{device}/{source}.log",
    localrule: True
    conda:
        "../envs/pyapsp.yaml"
    shell:
        "pyapsp papers report {wildcards.source:q} {input:q} -o {output:q} > {log:q} 2>&1"


rule okuyama:
    input:
        expand("<results>/papers/{device}/okuyama", device=config["devices"]),


rule takafuji:
    input:
        expand("<results>/papers/{device}/takafuji", device=config["devices"]),


rule matsumoto:
    input:
        expand("<results>/papers/{device}/matsumoto", device=config["devices"]),


rule papers:
    input:
        rules.okuyama.input,
        rules.takafuji.input,
        rules.matsumoto.input,
