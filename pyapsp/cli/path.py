"""Print a shortest path from a result.

Vertices are given as they are named in the graph file.

For example:
  pyapsp path rome99.npz 1 3353
"""

from __future__ import annotations

import argparse

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("result", metavar="RESULT.npz", help="from 'pyapsp solve --predecessors'")
    parser.add_argument("source", metavar="FROM")
    parser.add_argument("target", metavar="TO")


def run(arguments: argparse.Namespace) -> int:
    """Print length and vertices, or that there is no path."""
    from pyapsp.errors import ParameterError
    from pyapsp.result import Result

    result = Result.load(arguments.result)
    n = result.distances.shape[1]
    names = [str(label) for label in (range(n) if result.labels is None else result.labels)]
    vertex = {name: number for number, name in enumerate(names)}
    for name in (arguments.source, arguments.target):
        if name not in vertex:
            raise ParameterError(f"there is no vertex {name!r} in {arguments.result}")
    path = result.path(vertex[arguments.source], vertex[arguments.target])
    if not path:
        print(f"no path from {arguments.source} to {arguments.target}")
        return 0
    row = int((result.sources == path[0]).argmax())
    print(f"length {result.distances[row, path[-1]]}: {' -> '.join(names[v] for v in path)}")
    return 0
