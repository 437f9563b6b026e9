# The options of the commands of rules.
import shlex

import pyapsp
from pyapsp.bench.measurement import SHORTLIST
from pyapsp.cli.areas import AREAS


def measured_option(wildcards):
    """Return the option for the record of an own graph, which may be that of a failure."""
    graph = wildcards.graph
    return ["--input", record_of(graph)] if graph in OWN else []


def register_option(wildcards):
    """Return the option with which pyapsp fetch knows an own graph."""
    graph = wildcards.graph
    return ["--register", record_of(graph)] if graph in OWN else []


def dataset_weights(wildcards):
    """Return the name of the conversion that makes the weights usable for shortest paths."""
    return DATASETS.at[wildcards.graph, "weights"]


def undirected_option(wildcards):
    """Return the option that makes arcs undirected, if the edges of the dataset are."""
    return "" if DATASETS.at[wildcards.graph, "directed"] else "--undirected"


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


def job_limits(wildcards, resources):
    """Return the options for what a submitted job may take; a run is ended before its job is."""
    if not INSIDE_A_JOB:
        return []
    return ["--minutes", resources.runtime, "--mem-mb", resources.mem_mb]


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
    """Return the methods that can solve the problem on the graph, or "shortlist"."""
    if is_shortlisted(wildcards.problem, wildcards.graph):
        return [SHORTLIST]
    return chosen_methods(wildcards.problem, wildcards.graph)


def bench_types(wildcards):
    """Return the types of the answers."""
    return types(wildcards.problem)


def bench_peers(wildcards):
    """Return the packages that solve the problem."""
    return chosen_peers(wildcards.problem)


def bench_options(wildcards):
    """Return the options of a bench of the config, and the device."""
    options = config["benches"][wildcards.bench]
    if wildcards.device != "auto":
        options += f" --device {shlex.quote(wildcards.device)}"
    return options
