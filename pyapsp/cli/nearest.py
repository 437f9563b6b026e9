"""Find the nearest of some vertices for each vertex of a graph file.

The table has the columns vertex, rank, target and distance, with the vertex names of the graph
file. Distances are those from the vertices to the targets.

For example:
  pyapsp nearest rome99.gr --targets 1 17 3353
  pyapsp nearest rome99.gr --targets @shops.txt -k 3 -o shops.csv
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

from pyapsp.cli.dry import show_memory
from pyapsp.cli.options import add_graph, add_json, add_output, vertices
from pyapsp.cli.output import TABLES, checked_graph, facts, print_json, write_table
from pyapsp.cli.targeted import add_search, add_targets, search_arguments

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_graph(parser)
    add_output(parser, "OUT.csv", "write the table there instead of printing it; or OUT.parquet")
    add_targets(parser, required=True)
    parser.add_argument("-k", type=int, default=1, metavar="K", help="so many of them (1)")
    add_search(parser, several="")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, and print or write the table."""
    import pyapsp

    graph = checked_graph(arguments, *TABLES)
    targets = vertices(graph.labels, graph.n, arguments.targets, "nearest", "--targets")
    options: dict[str, Any] = {**search_arguments(arguments)}
    search = partial(pyapsp.nearest, graph, targets, arguments.k, **options)
    if arguments.dry_run:
        return show_memory(arguments, graph, search)
    started = time.perf_counter()
    found = search()
    seconds = time.perf_counter() - started
    table = found.to_columns()
    if arguments.output is not None or not arguments.json:
        write_table(table, arguments.output)
    if arguments.json:
        about = {"k": arguments.k, "found": table["vertex"].size, "wall_seconds": seconds}
        print_json({"graph": facts(graph), **about})
    elif arguments.output is not None:
        rows = f"{table['vertex'].size:,} targets of {graph.n:,} vertices"
        print(f"{rows} in {seconds:.3f} s -> {arguments.output}")
    return 0
