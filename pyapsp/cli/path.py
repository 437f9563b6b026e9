"""Print a shortest path from a result.

Vertices have the names of the graph file.

For example:
  pyapsp path rome99.npz 1 3353
  pyapsp path rome99.npz 1 3353 --json
"""

from __future__ import annotations

import argparse

from pyapsp.cli.options import add_json, as_utf8
from pyapsp.cli.output import print_json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("result", metavar="RESULT.npz", help="from 'pyapsp solve --predecessors'")
    parser.add_argument("source", metavar="FROM", help="the first vertex")
    parser.add_argument("target", metavar="TO", help="the last vertex")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the length and the vertices of the path, or that there is none."""
    from pyapsp.base.errors import ParameterError
    from pyapsp.paths.result import Result

    result = Result.load(arguments.result)
    if result.predecessors is None:
        raise ParameterError(
            f"{arguments.result} has no predecessors: make it with 'pyapsp solve --predecessors'"
        )
    n = result.distances.shape[1]
    names = [str(label) for label in (range(n) if result.labels is None else result.labels)]
    vertex = {name: number for number, name in enumerate(names)}
    source, target = as_utf8(arguments.source), as_utf8(arguments.target)
    for name in (source, target):
        if name not in vertex:
            raise ParameterError(f"there is no vertex {name!r} in {arguments.result}")
    path = result.path(vertex[source], vertex[target])
    length = None
    if path:
        length = result.distances[(result.sources == path[0]).argmax(), path[-1]]
    if arguments.json:
        print_json({"length": length, "path": [names[v] for v in path]})
    elif path:
        print(f"length {length}: {' -> '.join(names[v] for v in path)}")
    else:
        print(f"no path from {source} to {target}")
    return 0
