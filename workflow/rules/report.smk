# Tables, figures and one page of all runs.


rule write_report:
    input:
        verified_files(),
        timed_files(),
    # one label each: of two, the page of snakemake --report makes a switch that two files do not fit
    output:
        csv=report(
            "<results>/report/runs.csv",
            caption="../report/runs.rst",
            category="Runs",
            labels={"what": "table of all runs (CSV)"},
        ),
        markdown="<results>/report/runs.md",
        page=report(
            "<results>/report/index.html",
            caption="../report/page.rst",
            category="Runs",
            labels={"what": "tables and figures on one page"},
        ),
        figures=report(
            directory("<results>/report/figures"),
            patterns=["{figure}.svg"],
            caption="../report/figures.rst",
            category="Figures",
            labels={"what": "{figure}"},
        ),
    log:
        "<results>/logs/write_report.log",
    localrule: True
    conda:
        "../envs/pyapsp.yaml"
    params:
        directory=subpath(output.csv, parent=True),
    shell:
        "pyapsp report {input:q} -o {params.directory:q} > {log:q} 2>&1"
