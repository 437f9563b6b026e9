"""Find the distances from some vertices to others: an origin-destination matrix.

OUT.csv and OUT.parquet have the columns source, target and distance, with the vertex names of the
graph file; OUT.npy is the matrix.

For example:
  pyapsp distances rome99.gr --sources 1 17 --targets 5 42 3353
  pyapsp distances rome99.gr --sources @facilities.txt --targets @customers.txt -o matrix.csv
  pyapsp distances rome99.gr --sources @facilities.txt --dtype int32 -o matrix.npy
"""

from __future__ import annotations

import argparse
import time
from functools import partial

from pyapsp.cli.dry import show_memory
from pyapsp.cli.options import add_json
from pyapsp.cli.output import TABLES, checked_graph, facts, print_json, write_table
from pyapsp.cli.targeted import add_targeted, ends_of, search_arguments, shown_progress

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    what = "write the table there instead of printing it; OUT.parquet, or the matrix as OUT.npy"
    add_targeted(parser, "OUT.csv", what)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, and print or write the matrix."""
    import numpy as np

    import pyapsp
    from pyapsp.base.files import atomic_write
    from pyapsp.numbers.precision import infinity

    graph = checked_graph(arguments, ".npy", *TABLES)
    sources, targets = ends_of(arguments, graph)
    options = search_arguments(arguments)
    search = partial(pyapsp.distances, graph, sources, targets, **options)
    if arguments.dry_run:
        return show_memory(arguments, graph, search)
    started = time.perf_counter()
    with shown_progress(arguments, graph) as progress:
        matrix = search(progress=progress)
    seconds = time.perf_counter() - started
    names = np.arange(graph.n) if graph.labels is None else graph.labels
    if arguments.output is not None and arguments.output.endswith(".npy"):
        with atomic_write(arguments.output, "wb") as file:
            np.save(file, matrix)
    elif arguments.output is not None or not arguments.json:
        far = matrix.ravel() == infinity(matrix.dtype)
        table = {
            "source": np.repeat(names[sources], len(targets)),
            "target": np.tile(names[targets], len(sources)),
            "distance": np.ma.array(matrix.ravel(), mask=far),
        }
        write_table(table, arguments.output)
    if arguments.json:
        about = {"sources": len(sources), "targets": len(targets), "wall_seconds": seconds}
        print_json({"graph": facts(graph), **about})
    elif arguments.output is not None:
        shape = f"{len(sources):,} x {len(targets):,}"
        print(f"{shape} distances in {seconds:.3f} s -> {arguments.output}")
    return 0
