"""Find the trussness of each edge of a graph file, or one k-truss.

The k-truss is the largest subgraph in which each edge is in k - 2 triangles or more. The trussness
of an edge is the largest k such that it is in the k-truss. Directions of arcs and self-loops are
ignored. Without -k, the command prints the number of edges of each trussness, and OUT.csv has the
columns source, target and trussness, with the vertex names of the graph file. With -k, OUT is the
k-truss, in the format of its suffix.

For example:
  pyapsp truss wiki-Vote.txt.gz
  pyapsp truss graph.mtx -o trussness.csv
  pyapsp truss graph.mtx -k 5 -o five.npz --method truss-peeling
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pyapsp.cli.options import add_one_method, check_named, method_of, read_graph
from pyapsp.cli.output import TABLES, check_outputs, checked_graph, print_json, took, write_table

if TYPE_CHECKING:
    from pyapsp.trusses.truss import Trusses

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_one_method(parser, "OUT", "a row for each edge: OUT.csv or OUT.parquet; with -k a graph")
    parser.add_argument("-k", type=int, metavar="K", help="find the k-truss for this k, at least 2")


def run(arguments: argparse.Namespace) -> int:
    """Find the trusses, save them, and say how large they are."""
    import pyapsp
    from pyapsp.graph.io import check_format

    method = method_of(arguments, "truss")
    if arguments.k is None:
        graph = checked_graph(arguments, *TABLES)
    else:
        check_named(arguments, arguments.graph)
        check_outputs(arguments.output, inputs=[arguments.graph])
        if arguments.output is not None:
            check_format(arguments.output)
        graph = read_graph(arguments.graph, arguments)
    where = {
        "device": arguments.device,
        "memory_limit": arguments.memory_limit,
    }
    if arguments.k is not None:
        truss = pyapsp.k_truss(graph, arguments.k, method, **where)
        if arguments.output is not None:
            pyapsp.write(truss, arguments.output)
        edges, vertices = truss.m // 2, len(set(truss.indices.tolist()))
        if arguments.json:
            print_json({"k": arguments.k, "edges": edges, "vertices": vertices})
        else:
            to = f" -> {arguments.output}" if arguments.output else ""
            print(f"the {arguments.k}-truss has {edges:,} edges and {vertices:,} vertices{to}")
        return 0
    trusses = pyapsp.truss_decomposition(graph, method, **where)
    if arguments.output is not None:
        write_table(trusses.to_columns(), arguments.output)
    if arguments.json:
        print_json({"k_max": trusses.k_max, **trusses.stats})
        return 0
    print(trusses.explain())
    print("trussness: edges")
    for k, count in _sizes(trusses):
        print(f"{k:9,}: {count:,}")
    print(took(trusses.stats, arguments.output))
    return 0


def _sizes(trusses: Trusses) -> list[tuple[int, int]]:
    """Return each trussness with the number of its edges."""
    import numpy as np

    values, counts = np.unique(trusses.trussness, return_counts=True)
    return list(zip(values.tolist(), counts.tolist(), strict=True))
