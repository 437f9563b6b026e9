# One table of all runs, and the figures and the page made from it.


rule collect_runs:
    input:
        verified_files(),
    output:
        csv=report(
            "<results>/report/runs.csv",
            caption="../report/runs.rst",
            category="Runs",
            labels={"what": "table of all runs", "format": "CSV"},
        ),
        markdown="<results>/report/runs.md",
        html=report(
            "<results>/report/runs.html",
            caption="../report/runs.rst",
            category="Runs",
            labels={"what": "table of all runs", "format": "HTML"},
        ),
    log:
        "<results>/logs/collect_runs.log",
    localrule: True
    conda:
        "../envs/pyapsp.yaml"
    params:
        directory=subpath(output.csv, parent=True),
    shell:
        "pyapsp report {input:q} -o {params.directory:q} --only tables > {log:q} 2>&1"


rule plot_speed:
    input:
        rules.collect_runs.output.csv,
    output:
        report(
            "<results>/report/speed.svg",
            caption="../report/speed.rst",
            category="Figures",
            labels={"what": "updates per second", "format": "SVG"},
        ),
    log:
        "<results>/logs/plot_speed.log",
    localrule: True
    conda:
        "../envs/pyapsp.yaml"
    params:
        directory=subpath(output[0], parent=True),
    shell:
        "pyapsp report {input:q} -o {params.directory:q} --only speed > {log:q} 2>&1"


rule plot_times:
    input:
        rules.collect_runs.output.csv,
    output:
        report(
            "<results>/report/times.svg",
            caption="../report/times.rst",
            category="Figures",
            labels={"what": "kernel time", "format": "SVG"},
        ),
    log:
        "<results>/logs/plot_times.log",
    localrule: True
    conda:
        "../envs/pyapsp.yaml"
    params:
        directory=subpath(output[0], parent=True),
    shell:
        "pyapsp report {input:q} -o {params.directory:q} --only times > {log:q} 2>&1"


rule write_page:
    input:
        rules.collect_runs.output.csv,
    output:
        report(
            "<results>/report/index.html",
            caption="../report/page.rst",
            category="Runs",
            labels={"what": "table and figures on one page", "format": "HTML"},
        ),
    log:
        "<results>/logs/write_page.log",
    localrule: True
    conda:
        "../envs/pyapsp.yaml"
    params:
        directory=subpath(output[0], parent=True),
    shell:
        "pyapsp report {input:q} -o {params.directory:q} --only page > {log:q} 2>&1"
