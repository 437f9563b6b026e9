"""Count the triangles of a graph file, in all and at each vertex.

The command prints the number of triangles, the transitivity and the average clustering. Directions
of arcs and self-loops are ignored. OUT.csv has the columns vertex, triangles and clustering, with
the vertex names of the graph file.

For example:
  pyapsp triangles wiki-Vote.txt.gz
  pyapsp triangles graph.mtx -o triangles.csv
  pyapsp triangles graph.mtx --method triangles-hash --json
"""

from __future__ import annotations

import argparse

from pyapsp.cli.options import add_one_method, add_record, method_of
from pyapsp.cli.output import TABLES, checked_graph, print_json, recorded, took, write_table

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_one_method(parser, "OUT.csv", "a row for each vertex; or OUT.parquet")
    add_record(parser)


def run(arguments: argparse.Namespace) -> int:
    """Count the triangles, save them, and say how many there are."""
    import pyapsp

    method = method_of(arguments, "triangles")
    graph = checked_graph(arguments, *TABLES)
    triangles = pyapsp.triangles(
        graph, method, device=arguments.device, memory_limit=arguments.memory_limit
    )
    if arguments.output is not None:
        write_table(triangles.to_columns(), arguments.output)
    record = recorded(arguments, triangles.stats)
    facts = {
        "triangles": triangles.total,
        "transitivity": triangles.transitivity,
        "average_clustering": triangles.average_clustering,
    }
    if arguments.json:
        print_json({**facts, **record})
        return 0
    print(triangles.explain())
    print(
        f"{triangles.total:,} triangles of n = {graph.n:,} vertices and {record['work']:,} edges: "
        f"transitivity {triangles.transitivity:.6g}, average clustering "
        f"{triangles.average_clustering:.6g}"
    )
    print(took(record, arguments.output))
    return 0
