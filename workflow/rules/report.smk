# Tables, figures and one page of all runs.


rule write_report:
    input:
        checked_files(*PROBLEMS),
        timed_files(*PROBLEMS),
        area_files(),
    # one label each: for two labels, snakemake --report shows a selection that does not work for two files
    output:
        tables=report(
            directory("<results>/report/tables"),
            patterns=["{problem}.csv"],
            caption="../report/runs.rst",
            category="Runs",
            labels={"what": "table of {problem} (CSV)"},
        ),
        markdown="<results>/report/runs.md",
        summary="<results>/report/summary.txt",
        page=report(
            "<results>/report/index.html",
            caption="../report/page.rst",
            category="Runs",
            labels={"what": "answers: which method, how fast, was it right"},
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
        directory=subpath(output.page, parent=True),
    # a script, because the names of thousands of records do not fit a command line
    script:
        script_file("report.py")
