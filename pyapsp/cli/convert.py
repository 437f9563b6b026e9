"""Convert a graph from one file format to another; the suffixes say which."""

from __future__ import annotations

import argparse

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("input", metavar="IN", help="file to read")
    parser.add_argument("output", metavar="OUT", help="file to write")
    parser.add_argument(
        "--weights",
        metavar="RECIPE",
        default="as-is",
        help="unweighted, absolute, or subtract-from:K (the weight becomes K minus it)",
    )
    parser.add_argument(
        "--undirected",
        action="store_true",
        help="let every arc run both ways, with the smaller weight",
    )


def run(arguments: argparse.Namespace) -> int:
    """Read, change as asked, write."""
    from pyapsp.graph import read, reweight, write

    graph = reweight(read(arguments.input), arguments.weights)
    if arguments.undirected:
        graph = graph.symmetrized()
    write(graph, arguments.output)
    print(f"{arguments.output}: {graph!r}")
    return 0
