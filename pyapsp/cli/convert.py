"""Convert a graph from one file format to another; the suffixes of the files give the formats.

For example:
  pyapsp convert graph.mtx graph.gr
  pyapsp convert lines.edgelist graph.npz --format txt
  pyapsp convert ratings.csv costs.npz --weights subtract-from:11 --undirected
"""

from __future__ import annotations

import argparse

from pyapsp.cli.options import (
    add_format,
    add_json,
    add_undirected,
    add_weight,
    check_named,
    read_graph,
)
from pyapsp.cli.output import check_outputs, show_written

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("input", metavar="IN", help="file to read")
    parser.add_argument("output", metavar="OUT", help="file to write")
    add_format(parser)
    parser.add_argument(
        "--weights",
        metavar="RECIPE",
        default="as-is",
        help="as-is (default), unweighted, absolute, or subtract-from:K (K minus the weight)",
    )
    add_weight(parser)
    add_undirected(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, change the weights or directions, and write."""
    from pyapsp.graph import reweight, write
    from pyapsp.graph.convert import check_recipe
    from pyapsp.graph.io import check_format

    check_recipe(arguments.weights)
    check_named(arguments, arguments.input)
    check_outputs(arguments.output)
    check_format(arguments.output)
    graph = reweight(read_graph(arguments.input, arguments), arguments.weights)
    if arguments.undirected:
        graph = graph.symmetrized()
    write(graph, arguments.output)
    show_written(graph, arguments)
    return 0
