"""The distances from one vertex, by `sssp` or by `solve`, whichever is faster."""

from __future__ import annotations

from typing import Any

from pyapsp.distances.solver import solve
from pyapsp.graph import Graph
from pyapsp.result import Result
from pyapsp.traversal.sssp import sssp

__all__ = ["from_one"]

# From this number of arcs, kernel launches over the whole device are faster for one source. Below,
# one work-group for a block of sources is faster. Measured on CPUs.
_ARCS = 2**18


def from_one(graph: Graph, source: int, **options: Any) -> Result:
    """Solve for one source.

    Parameters
    ----------
    graph : Graph
    source : int
    **options
        Parameters that both `solve` and `sssp` have. The errors are those of `solve`.

    Returns
    -------
    Result
        It has one row.
    """
    if graph.m >= _ARCS and not graph.has_negative:
        return sssp(graph, [source], **options).rows
    return solve(graph, sources=[source], **options)
