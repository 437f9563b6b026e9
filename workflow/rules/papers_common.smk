# Functions that the rules of papers use. Modules of a checkout, in workflow/papers, measure and tabulate.
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
    if EXPERIMENTS[wildcards.experiment].metered:
        options += ["--energy"]
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
