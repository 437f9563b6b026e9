"""The distances from one vertex, by what is known to be faster."""

from __future__ import annotations

from typing import Any

from pyapsp.distances.solver import solve
from pyapsp.graph import Graph
from pyapsp.result import Result
from pyapsp.traversal.sssp import sssp

__all__ = ["from_one"]

# So many arcs, in a graph that is no mesh, are worth launches over the whole device for one source.
# Measured on CPU devices: below, a group that solves a block of sources by itself is faster.
_ARCS = 2**18


def from_one(graph: Graph, source: int, **options: Any) -> Result:
    """Solve for one source.

    Parameters
    ----------
    graph : Graph
    source : int
    **options
        Those that `solve` and `sssp` share, and so are the errors of `solve`.

    Returns
    -------
    Result
        One row.
    """
    wide = graph.m >= _ARCS and graph.family != "mesh"
    if wide and not graph.has_negative:
        return sssp(graph, [source], **options).rows
    return solve(graph, sources=[source], **options)
