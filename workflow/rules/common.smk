# What the config asks for: the graphs, the runs of each problem, and their files.
import dataclasses
from pathlib import Path

import pandas as pd
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

import pyapsp
from pyapsp.bench.peers import PEERS
from pyapsp.cli.areas import AREAS
from pyapsp.cli.attempt import failure
from pyapsp.cli.output import write_json
from pyapsp.errors import PyApspError
from pyapsp.graph import datasets, own_graphs

# The graphs of the config and of this file come before those of the package.
OWN_LIST = Path("data/datasets.csv")
if OWN_LIST.is_file():
    validate(
        pd.read_csv(OWN_LIST, dtype={"name": str}), "../schemas/datasets.schema.yaml"
    )
try:
    NAMED, OWN = own_graphs.listed(config["graphs"], OWN_LIST)
except (PyApspError, OSError) as error:
    raise WorkflowError(f"config key 'graphs', or {OWN_LIST}: {error}") from None
LISTED = {name: datasets.get(name) for name in datasets.names()} | OWN


def record_of(graph):
    """Return the file with what was measured of an own graph."""
    return Path(config["results"], "registered", f"{graph}.csv").resolve()


def measured(graph):
    """Return what is known of a graph; an own graph is measured when it is used first.

    If it cannot be read, a record of the failure is in place of what is measured, and its runs fail for the same reason.
    """
    if graph not in OWN:
        return LISTED[graph]
    record = record_of(graph)
    unknown = dataclasses.replace(OWN[graph], n=0, m=0)
    if not record.is_file():
        logger.info(f"Measuring the graph {graph}, which was not used before")
    elif INSIDE_A_JOB and failure(record) is not None:
        return unknown
    try:
        return own_graphs.measured(OWN[graph], record)
    except (PyApspError, OSError) as error:
        logger.warning(f"The graph {graph!r} cannot be used: {error}")
        record.parent.mkdir(parents=True, exist_ok=True)
        write_json(record, {"status": "failed", "why": str(error)})
        return unknown


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


GRAPHS = list(dict.fromkeys([*NAMED, *known("datasets", list(LISTED))]))
if not GRAPHS:
    raise WorkflowError("config: there is no graph under 'graphs' or 'datasets'")
REGISTERED = [problem.id for problem in pyapsp.problems()]
PROBLEMS = known("problems", REGISTERED)
METHODS = known("methods", [method.id for method in pyapsp.methods()], also=["auto"])
if isinstance(config["datasets"], dict) and config["datasets"].keys() - REGISTERED:
    raise WorkflowError(
        f"config key 'datasets': its keys must be problems: {', '.join(REGISTERED)}"
    )
CHECKED_AREAS = known("areas", list(AREAS))
DATASETS = pd.DataFrame(
    [
        dataclasses.asdict(measured(name))
        for name in LISTED
        if name in GRAPHS or name not in OWN
    ]
).set_index("name")
FOLDERS = {method.id: method.area for method in pyapsp.methods()}


def types(problem):
    """Return the types of the config that a problem can have, or its default type if there is none."""
    known_types = pyapsp.problem(problem).dtypes
    return [name for name in config["dtypes"] if name in known_types] or [
        known_types[0]
    ]


def graphs(problem):
    """Return the graphs of the config that a problem is solved on: own ones, unless they are listed for other problems."""
    if not isinstance(config["datasets"], dict):
        return GRAPHS
    listed = {name for names in config["datasets"].values() for name in names}
    own = [name for name in NAMED if name not in listed]
    return own + config["datasets"].get(problem, [])


def chosen_methods(problem, graph):
    """Return the methods of the config that can solve a problem on a graph."""
    fits, row = pyapsp.problem(problem).fits, DATASETS.loc[graph]
    auto = ["auto"] if "auto" in METHODS else []
    return auto + [
        method.id
        for method in pyapsp.methods(problem)
        if method.id in METHODS and fits(method.requires, row)
    ]


def is_shortlisted(problem, graph):
    """Return whether only the methods of "pyapsp bench --method shortlist" are run on a graph."""
    most = config["shortlist_above"]
    return (
        most is not None
        and config["methods"] == "all"
        and bool(chosen_peers(problem))
        and int(DATASETS.at[graph, "n"]) > most
    )


def checked_graphs(problem):
    """Return the graphs of a problem on which each method is run and checked."""
    return [graph for graph in graphs(problem) if not is_shortlisted(problem, graph)]


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

    Each is run on the largest of the graphs that its method can solve, without those with a shortlist.
    """
    if config["variants"] == "none":
        return []
    largest = {}
    for graph in sorted(
        checked_graphs(problem), key=lambda name: DATASETS.at[name, "n"]
    ):
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
        for graph in checked_graphs(problem)
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


def dataset_file(wildcards):
    """Return the file that the graph is read from."""
    return (
        f"<results>/datasets/{wildcards.graph}.{DATASETS.at[wildcards.graph, 'format']}"
    )


def own_files(wildcards):
    """Return the record of an own graph, and its file."""
    if wildcards.graph not in OWN:
        return []
    row = OWN[wildcards.graph]
    return [
        str(path)
        for path in (record_of(row.name), Path(row.file))
        if path.is_absolute()
    ]


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


def bench_datasets(wildcards):
    """Return the files of the datasets that a bench of the config names; with them they are in the cache of downloads."""
    return [
        f"<results>/datasets/{name}.{DATASETS.at[name, 'format']}"
        for name in config["benches"][wildcards.bench].split()
        if name in DATASETS.index
    ]
