"""Harmonic centrality: sums of one over the distance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyapsp.all_pairs.summaries.searches import Searches
from pyapsp.base.progress import of_sources
from pyapsp.device import DeviceLike
from pyapsp.graph import GraphLike, Vertices, Weight, as_graph
from pyapsp.registry import Method, check_limits

__all__ = ["harmonic_centrality"]

# Distances that are on the host at once.
_VALUES = 2**22


def harmonic_centrality(
    graph: GraphLike,
    sources: Vertices | None = None,
    *,
    directed: bool = True,
    weight: Weight = ...,
    method: str | Method = "auto",
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Return the harmonic centrality of vertices: the sum of 1 / distance from the others to each.

    Unlike the closeness it needs no rule for vertices that are not reached: they add 0. So do, as
    in NetworkX, other vertices at distance 0.

    Parameters
    ----------
    graph, sources, directed, weight, method, device, memory_limit, progress
        As for `eccentricity`.

    Returns
    -------
    (k,) ndarray of float64

    Raises
    ------
    PyApspError
        As `solve`.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], [2, 2, 3, 3])
    >>> pyapsp.harmonic_centrality(graph).round(3)
    array([0.7  , 0.833, 0.533])
    """
    memory_limit = check_limits(memory_limit, progress, "harmonic_centrality")
    graph = as_graph(graph, weight=weight, copy=False)
    searched = Searches(
        graph.reversed() if graph.directed else graph,
        sources,
        directed=directed,
        method=method,
        device=device,
        memory_limit=memory_limit,
        rows=True,
    )
    tell, total = of_sources(progress), searched.sources.size
    sums, some = np.zeros(total), max(_VALUES // max(graph.n, 1), 1)
    for start in range(0, total, some):
        rows = searched.rows(searched.sources[start : start + some])
        other = (rows != 0) & (rows < searched.infinity)
        inverse = np.divide(1, rows, out=np.zeros(rows.shape), where=other)
        sums[start : start + some] = inverse.sum(axis=1)
        if tell is not None:
            tell(min(start + some, total), total)
    return sums
