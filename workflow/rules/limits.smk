# The memory and the time of jobs, from the size of the graph.


def vertices(wildcards):
    """Return the number of vertices of the graph."""
    return int(DATASETS.at[wildcards.graph, "n"])


def arcs(wildcards):
    """Return the number of arcs of the graph."""
    return int(DATASETS.at[wildcards.graph, "m"])


def run_mem_mb(wildcards):
    """Return the memory of a run.

    All pairs: a few copies of a matrix with 8 + 4 bytes per element. Other problems: a few copies of the graph. Python,
    its packages and a driver take some 300 MB, and Snakemake in a submitted job 200 MB.
    """
    if wildcards.problem == "all-pairs":
        return 1000 + 50 * vertices(wildcards) ** 2 // 10**6
    return 1000 + 200 * (vertices(wildcards) + arcs(wildcards)) // 10**6


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
        * len(chosen_methods(wildcards.problem, wildcards.graph))
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
    # snakemake --report and others that run no job need not be given one
    return workflow.resource_settings.cores or 1
