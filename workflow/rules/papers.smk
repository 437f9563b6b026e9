# The measurements of papers, repeated on every device of the config, with the published numbers beside ours.


rule measure_paper:
    output:
        "<results>/papers/{device}/measured/{experiment}/{n}.json",
    log:
        "<results>/logs/measure_paper/{device}/{experiment}/{n}.log",
    conda:
        "../envs/pyapsp.yaml"
    # a CPU device uses every core, so another job at the same time would distort the measured time
    threads: all_cores
    resources:
        mem_mb=measure_mem_mb,
        runtime=measure_minutes,
        gpu=0,
    params:
        modules=WORKFLOW,
        options=measure_options,
    shell:
        "PYTHONPATH={params.modules:q}${{PYTHONPATH:+:$PYTHONPATH}} python -m papers measure {wildcards.experiment:q} --n {wildcards.n} {params.options:q}"
        " -o {output:q} > {log:q} 2>&1"


rule tabulate_paper:
    input:
        measured_files,
    output:
        page=report(
            "<results>/papers/{device}/{source}/index.html",
            caption="../report/papers.rst",
            category="Papers",
            labels={"paper": "{source}", "device": "{device}"},
        ),
        markdown="<results>/papers/{device}/{source}/index.md",
        exhibits=directory("<results>/papers/{device}/{source}/exhibits"),
    log:
        "<results>/logs/tabulate_paper/{device}/{source}.log",
    localrule: True
    conda:
        "../envs/pyapsp.yaml"
    params:
        modules=WORKFLOW,
        directory=subpath(output.page, parent=True),
    shell:
        "PYTHONPATH={params.modules:q}${{PYTHONPATH:+:$PYTHONPATH}} python -m papers report {wildcards.source:q} {input:q} -o {params.directory:q}"
        " > {log:q} 2>&1"


for source in SOURCES:

    rule:
        name:
            source
        input:
            expand(
                "<results>/papers/{device}/{source}/index.html",
                source=source,
                device=config["devices"],
            ),


rule papers:
    input:
        expand(
            "<results>/papers/{device}/{source}/index.html",
            source=SOURCES,
            device=config["devices"],
        ),
