# The measurements of papers, repeated on every device of the config, with the published numbers beside ours.
# The modules of a checkout in workflow/papers make them.
from pyapsp.errors import ParameterError

WORKFLOW = str(Path(workflow.current_basedir).resolve().parent)
sys.path.insert(0, WORKFLOW)
from papers import EXPERIMENTS, SOURCES, planned


wildcard_constraints:
    n="[0-9]+",
    experiment="|".join(EXPERIMENTS),
    source="|".join(SOURCES),


def paper_settings(experiment):
    """Return the settings of the config that an experiment has."""
    return EXPERIMENTS[experiment].known(config["papers"]["settings"])


try:
    SIZES = planned(config["papers"]["sizes"], config["papers"]["settings"])
except ParameterError as error:
    raise WorkflowError(f"config key 'papers': {error}") from None


def measured_files(wildcards):
    """Return the files of measurements for a paper: one for each experiment and size."""
    return [
        f"<results>/papers/{wildcards.device}/measured/{experiment}/{n}.json"
        for experiment in SOURCES[wildcards.source].experiments
        for n in SIZES[experiment]
    ]


def measure_options(wildcards):
    """Return the options of an experiment: the device and its settings in the config."""
    options = [
        "--repeat",
        config["papers"]["repeat"],
        "--limit",
        config["papers"]["limit"],
    ]
    if wildcards.device != "auto":
        options += ["--device", wildcards.device]
    for name, values in paper_settings(wildcards.experiment).items():
        options += ["--set", f"{name}={','.join(map(str, values))}"]
    return options


def measure_needs(wildcards):
    """Return the bytes and the seconds that an experiment needs."""
    settings = paper_settings(wildcards.experiment)
    limit = config["papers"]["limit"]
    return EXPERIMENTS[wildcards.experiment].needs(int(wildcards.n), settings, limit)


def measure_mem_mb(wildcards):
    """Return the memory of an experiment."""
    return int(measure_needs(wildcards)[0] / 1e6)


def measure_minutes(wildcards):
    """Return the time limit of an experiment."""
    return int(measure_needs(wildcards)[1] / 60)


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
