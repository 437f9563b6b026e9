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
import csv
from typing import TYPE_CHECKING

from pyapsp.cli.options import (
    add_device,
    add_json,
    add_memory_limit,
    add_method,
    check_outputs,
    check_suffix,
    commit,
    method_of,
    print_json,
    write_json,
)

if TYPE_CHECKING:
    from pyapsp.trusses.triangles import Triangles

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("graph", metavar="GRAPH", help="a graph file of any known format")
    parser.add_argument(
        "-o", "--output", metavar="OUT.csv", help="one line for each vertex: OUT.csv"
    )
    add_method(parser)
    add_device(parser)
    add_memory_limit(parser)
    parser.add_argument(
        "--record", metavar="FILE.json", help="also write the record of the run as JSON"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Count the triangles, save them, and say how many there are."""
    import pyapsp

    method = method_of(arguments, "triangles")
    check_outputs(arguments.output, arguments.record, inputs=[arguments.graph])
    check_suffix(arguments, ".csv")
    graph = pyapsp.read(arguments.graph)
    found = pyapsp.triangles(
        graph, method, device=arguments.device, memory_limit=arguments.memory_limit
    )
    if arguments.output is not None:
        _write(arguments.output, found)
    record = {**found.stats, "commit": commit()}
    if arguments.record:
        write_json(arguments.record, record)
    facts = {
        "triangles": found.total,
        "transitivity": found.transitivity,
        "average_clustering": found.average_clustering,
    }
    if arguments.json:
        print_json({**facts, **record})
        return 0
    print(found.explain())
    print(
        f"{found.total:,} triangles of n = {graph.n:,} vertices and {record['work']:,} edges: "
        f"transitivity {found.transitivity:.6g}, average clustering {found.average_clustering:.6g}"
    )
    print(
        f"{record['wall_seconds']:.3f} s (kernels {record['kernel_seconds']:.3f} s)"
        + (f" -> {arguments.output}" if arguments.output else "")
    )
    return 0


def _write(path: str, found: Triangles) -> None:
    """Write the columns as CSV."""
    from pyapsp.files import atomic_write

    columns = found.to_columns()
    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(each.tolist() for each in columns.values()), strict=True))
