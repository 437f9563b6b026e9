"""Compute shortest paths of a graph file from one source.

For example:
  pyapsp sssp rome99.gr --source 1
  pyapsp sssp rome99.gr --source 1 -o distances.csv --dtype auto
  pyapsp sssp graph.mtx --source 7 -o rows.npz --method sssp-near-far --set delta=400 --cutoff 99
"""

from __future__ import annotations

import argparse

from pyapsp.cli.options import add_cutoff, add_dtype
from pyapsp.cli.searches import add_search, finish, search_arguments

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_search(parser)
    add_dtype(parser)
    add_cutoff(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, save, and print a summary."""
    import pyapsp

    graph, options = search_arguments(arguments)
    result = pyapsp.sssp(
        graph,
        dtype=arguments.dtype,
        cutoff=arguments.cutoff,
        predecessors=arguments.output is not None,
        **options,
    )
    return finish(arguments, result, "distance")
