"""Search a graph file breadth-first: the number of arcs from a source to each vertex.

For example:
  pyapsp bfs rome99.gr --source 1
  pyapsp bfs rome99.gr --source 1 -o levels.csv --undirected
  pyapsp bfs graph.mtx --source 7 -o levels.npz --method bfs-edge --set group=128
"""

from __future__ import annotations

import argparse

from pyapsp.cli.searches import add_search, finish, search_arguments

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_search(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, save, and print a summary."""
    import pyapsp

    graph, options = search_arguments(arguments)
    result = pyapsp.bfs(graph, parents=arguments.output is not None, **options)
    return finish(arguments, result, "level")
