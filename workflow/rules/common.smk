# Functions that several rules use: the datasets, the runs that the config requests, their memory and time.
import shlex
import sys
from pathlib import Path

import pandas as pd
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

import pyapsp
from pyapsp.errors import ParameterError
from pyapsp.bench.peers import PEERS
from pyapsp.cli.areas import AREAS

# The reproductions of papers are modules beside the rules.
WORKFLOW = str(Path(workflow.current_basedir).resolve().parent)
sys.path.insert(0, WORKFLOW)
from papers import EXPERIMENTS, SOURCES, planned

# The rules call pyapsp from the environment that runs Snakemake, even if it is not activated.
shell.prefix(
    f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH"
    f" PYTHONPATH={shlex.quote(WORKFLOW)}${{{{PYTHONPATH:+:$PYTHONPATH}}}}; "
)

DATASETS = pd.read_csv("data/datasets.csv", dtype={"name": str})
validate(DATASETS, "../schemas/datasets.schema.yaml")
DATASETS = DATASETS.set_index("name")


def known(key, known_values, also=()):
    """Return the names under a key of the config; raise WorkflowError if one is unknown."""
    values = known_values if config[key] == "all" else config[key]
    if isinstance(values, dict):
        values = list(
            dict.fromkeys(name for names in values.values() for name in names)
        )
    unknown = [value for value in values if value not in [*known_values, *also]]
    if unknown:
        raise WorkflowError(
            f"config key {key!r}: unknown {', '.join(unknown)}; known are {', '.join(known_values)}"
        )
    return values


GRAPHS = known("datasets", list(DATASETS.index))
PROBLEMS = known("problems", [problem.id for problem in pyapsp.problems()])
METHODS = known("methods", [method.id for method in pyapsp.methods()], also=["auto"])
if isinstance(config["datasets"], dict) and config["datasets"].keys() - PROBLEMS:
    raise WorkflowError(
        f"config key 'datasets': its keys must be problems: {', '.join(PROBLEMS)}"
    )
CHECKED_AREAS = known("areas", list(AREAS))
FOLDERS = {method.id: method.area for method in pyapsp.methods()}


def paper_settings(experiment):
    """Return the settings of the config that an experiment has."""
    return EXPERIMENTS[experiment].known(config["papers"]["settings"])


try:
    SIZES = planned(config["papers"]["sizes"], config["papers"]["settings"])
except ParameterError as error:
    raise WorkflowError(f"config key 'papers': {error}") from None


def types(problem):
    """Return the types of the config that a problem can have, or its default type if there is none."""
    known_types = pyapsp.problem(problem).dtypes
    return [name for name in config["dtypes"] if name in known_types] or [
        known_types[0]
    ]


def graphs(problem):
    """Return the datasets of the config that a problem is solved on."""
    datasets = config["datasets"]
    return datasets.get(problem, []) if isinstance(datasets, dict) else datasets


def chosen_methods(problem, graph):
    """Return the methods of the config that can solve a problem on a graph."""
    fits, row = pyapsp.problem(problem).fits, DATASETS.loc[graph]
    auto = ["auto"] if "auto" in METHODS else []
    return auto + [
        method.id
        for method in pyapsp.methods(problem)
        if method.id in METHODS and fits(method.requires, row)
    ]


def published_variants(method):
    """Return each value of each option that is a choice between variants, not a size: words, or a switch."""
    return [
        f"{name}={value}"
        for name, values in pyapsp.method(method).choices.items()
        if list(values) == [0, 1] or any(isinstance(value, str) for value in values)
        for value in values
    ]


def variants(problem):
    """Return the graph, and the method with an option, of each run of a variant that the config asks for.

    Each is run on the largest of the graphs that its method can solve.
    """
    if config["variants"] == "none":
        return []
    largest = {}
    for graph in sorted(graphs(problem), key=lambda name: DATASETS.at[name, "n"]):
        largest |= dict.fromkeys(chosen_methods(problem, graph), graph)
    return [
        (graph, f"{method},{option}")
        for method, graph in largest.items()
        if method != "auto"
        for option in published_variants(method)
    ]


def checked_files(*problems):
    """Return the file of each run whose answer is checked; none if the config has no checks."""
    if not config["checks"]:
        return []
    runs = [
        (problem, graph, method, dtype)
        for problem in problems
        for graph in graphs(problem)
        for method in chosen_methods(problem, graph)
        for dtype in types(problem)
    ]
    runs += [
        (problem, graph, variant, types(problem)[0])
        for problem in problems
        for graph, variant in variants(problem)
    ]
    return [
        f"<results>/checked/{'/'.join(run)}/{device}.json"
        for run in runs
        for device in config["devices"]
    ]


def area_files():
    """Return the file of the run of each area."""
    return [
        f"<results>/areas/{area}/{device}.json"
        for area in CHECKED_AREAS
        for device in config["devices"]
    ]


def chosen_peers(problem):
    """Return the packages of the config that solve a problem."""
    return [
        peer.name
        for peer in PEERS
        if peer.problem == problem and peer.name in config["peers"]
    ]


def timed_files(*problems):
    """Return the files of timings with other packages: one for each problem, graph and device."""
    return [
        f"<results>/timed/{problem}/{graph}/{device}.json"
        for problem in problems
        for graph in graphs(problem)
        for device in config["devices"]
        if chosen_peers(problem) and chosen_methods(problem, graph)
    ]


wildcard_constraints:
    graph="|".join(DATASETS.index),
    problem="|".join(PROBLEMS),
    # a method, or a method with an option
    method="[a-z0-9-]+(,[a-z0-9_]+=[A-Za-z0-9-]+)?",
    dtype="[a-z]+[0-9]+",
    device="[^/]+",
    format="[a-z]+",
    n="[0-9]+",
    bench="[^/]+",
    area="|".join(AREAS),
    target="|".join(["all", *PROBLEMS]),
    experiment="|".join(EXPERIMENTS),
    source="|".join(SOURCES),


def dataset_file(wildcards):
    """Return the file that the graph is read from."""
    return (
        f"<results>/datasets/{wildcards.graph}.{DATASETS.at[wildcards.graph, 'format']}"
    )


def dataset_weights(wildcards):
    """Return the name of the conversion that makes the weights usable for shortest paths."""
    return DATASETS.at[wildcards.graph, "weights"]


def undirected_option(wildcards):
    """Return the option that makes arcs undirected, if the edges of the dataset are."""
    return "" if DATASETS.at[wildcards.graph, "directed"] else "--undirected"


def judged_records(wildcards):
    """Return the records of a target: all of them, or those of a problem."""
    if wildcards.target != "all":
        return checked_files(wildcards.target) + timed_files(wildcards.target)
    return checked_files(*PROBLEMS) + timed_files(*PROBLEMS) + area_files()


def judged_graphs(wildcards):
    """Return the files of the graphs of a target, as they were read and as they are used."""
    problems = PROBLEMS if wildcards.target == "all" else [wildcards.target]
    names = {graph for problem in problems for graph in graphs(problem)}
    return [
        f"<results>/{path}"
        for graph in sorted(names)
        for path in (
            f"datasets/{graph}.{DATASETS.at[graph, 'format']}",
            f"graphs/{graph}.npz",
        )
    ]


def report_of(wildcards):
    """Return what is to be written before runs that failed are forgotten."""
    return "<results>/report/index.html" if wildcards.target == "all" else []


def about_run(wildcards):
    """Return what the record of a failed run says about it."""
    method, _, option = wildcards.method.partition(",")
    return [
        f"problem={wildcards.problem}",
        f"input={wildcards.graph}",
        f"method={method}",
        f"set={option}",
        f"dtype={wildcards.dtype}",
        f"device={wildcards.device}",
    ]


def about_area(wildcards):
    """Return what the record of a failed run of an area says about it."""
    area = AREAS[wildcards.area]
    return [
        f"problem={area.id}",
        f"input={area.input}",
        f"method={area.id}",
        f"dtype={area.dtype}",
        f"device={wildcards.device}",
    ]


def about_bench(wildcards):
    """Return what the record of failed timings says about them."""
    return [
        f"problem={wildcards.problem}",
        f"input={wildcards.graph}",
        "method=all in turns",
        f"dtype={' '.join(types(wildcards.problem))}",
        f"device={wildcards.device}",
    ]


def device_option(wildcards):
    """Return the option for the device."""
    return [] if wildcards.device == "auto" else ["--device", wildcards.device]


def method_options(wildcards):
    """Return the options for the method of a run."""
    method, _, option = wildcards.method.partition(",")
    return ["--method", method, *(["--set", option] if option else [])]


def run_options(wildcards):
    """Return the optional options of a run."""
    asks = pyapsp.problem(wildcards.problem).asks
    wanted = config["predecessors"] and "predecessors" in asks
    return [*(["--predecessors"] if wanted else []), *device_option(wildcards)]


def bench_methods(wildcards):
    """Return the methods that can solve the problem on the graph."""
    return chosen_methods(wildcards.problem, wildcards.graph)


def bench_types(wildcards):
    """Return the types of the answers."""
    return types(wildcards.problem)


def bench_peers(wildcards):
    """Return the packages that solve the problem."""
    return chosen_peers(wildcards.problem)


def vertices(wildcards):
    """Return the number of vertices of the graph."""
    return int(DATASETS.at[wildcards.graph, "n"])


def arcs(wildcards):
    """Return the number of arcs of the graph."""
    return int(DATASETS.at[wildcards.graph, "m"])


def run_mem_mb(wildcards):
    """Return the memory of a run.

    All pairs: a few copies of a matrix with 8 + 4 bytes per element. Other problems: a few copies of the graph.
    """
    if wildcards.problem == "all-pairs":
        return 500 + 50 * vertices(wildcards) ** 2 // 10**6
    return 500 + 200 * (vertices(wildcards) + arcs(wildcards)) // 10**6


def run_seconds(wildcards):
    """Return the time limit of a run with its check: that of the config, or else from the size of the graph.

    All pairs: 10^8 updates a second for methods with n^3 updates, else 10^6 arcs a second for each source.
    Devices are faster, but some methods read an arc many times.
    """
    if config["time_limit"]:
        return config["time_limit"]
    if wildcards.problem != "all-pairs":
        return 300 + arcs(wildcards) // 10**5
    seconds = 300 + vertices(wildcards) * arcs(wildcards) // 10**6
    if FOLDERS.get(wildcards.method.partition(",")[0]) == "all_pairs/dense":
        seconds += vertices(wildcards) ** 3 // 10**8
    return seconds


def minutes(seconds):
    """Return the minutes to ask a cluster for: one more than the limit, to make a record of a run that reaches it."""
    return 1 + -(-seconds // 60)


def run_minutes(wildcards):
    """Return the minutes that are reserved for a run."""
    return minutes(run_seconds(wildcards))


def ranks_mem_mb(wildcards):
    """Return the memory of all ranks of a run on one node."""
    return 2000 + 50 * vertices(wildcards) ** 2 // 10**6


def ranks_minutes(wildcards):
    """Return the time limit of a run on ranks: 10^8 updates a second."""
    return 10 + vertices(wildcards) ** 3 // (60 * 10**8)


def area_seconds(wildcards):
    """Return the time limit of the run of an area, which takes seconds."""
    return config["time_limit"] or 300


def area_minutes(wildcards):
    """Return the minutes that are reserved for the run of an area."""
    return minutes(area_seconds(wildcards))


def bench_seconds(wildcards):
    """Return the time limit of a bench: four turns of all, each with 10^9 updates a second, or that of the config."""
    turns = (
        (config["repeat"] + 1)
        * len(bench_methods(wildcards))
        * len(bench_types(wildcards))
    )
    if config["time_limit"]:
        return config["time_limit"] * (turns + len(bench_peers(wildcards)))
    work = arcs(wildcards)
    if wildcards.problem == "all-pairs":
        work = vertices(wildcards) ** 3
    return 600 + turns * work // 10**9


def bench_minutes(wildcards):
    """Return the minutes that are reserved for a bench."""
    return minutes(bench_seconds(wildcards))


def all_cores(wildcards):
    """Return the number of cores given to Snakemake, so that no other job runs at the same time."""
    return workflow.cores


def bench_options(wildcards):
    """Return the options of a bench of the config, and the device."""
    options = config["benches"][wildcards.bench]
    if wildcards.device != "auto":
        options += f" --device {shlex.quote(wildcards.device)}"
    return options


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
