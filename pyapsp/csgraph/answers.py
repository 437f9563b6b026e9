"""Distances and predecessors in the form of SciPy."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph as scipy_csgraph
from scipy.sparse import csr_array

from pyapsp.all_pairs.near import near_rows
from pyapsp.all_pairs.one import from_one
from pyapsp.all_pairs.solver import solve
from pyapsp.graph import Graph, as_graph
from pyapsp.graph.compressed import SearchRows
from pyapsp.numbers.checks import too_large

__all__ = ["Distances", "Predecessors", "near", "nearest_of", "reached", "solved"]

Distances: TypeAlias = NDArray[np.float64]
Predecessors: TypeAlias = NDArray[np.int32]


def solved(
    graph: Graph,
    directed: bool,
    rows: np.ndarray | None,
    with_predecessors: bool,
    cutoff: float | None = None,
    out: np.ndarray | None = None,
) -> Distances | tuple[Distances, Predecessors]:
    """Return the rows of these vertices, or all, with `pyapsp.solve` or by a search from one."""
    predecessors, near = bool(with_predecessors), None
    if rows is not None and cutoff is not None:
        used = as_graph(graph, directed)
        near = near_rows(used, rows.ravel(), cutoff, predecessors=predecessors)
    if near is not None:
        distances, before = near
    else:
        common: Any = {"directed": directed, "cutoff": cutoff, "predecessors": predecessors}
        if rows is not None and rows.size == 1:
            result = from_one(graph, rows.item(), **common)
        else:
            sources = None if rows is None else rows.ravel()
            result = solve(graph, sources=sources, out=out, **common)
        distances, before = result.distances, result.predecessors
    shape = distances.shape if rows is None else (*rows.shape, graph.n)
    distances = distances.reshape(shape)
    if not with_predecessors:
        return distances
    assert before is not None
    return distances, before.reshape(shape)


def near(arcs: SearchRows, rows: np.ndarray, cutoff: float) -> Distances | None:
    """Return the distances from these vertices, if a search on the host is fastest."""
    found = near_rows(arcs, rows.ravel(), cutoff, predecessors=False)
    return None if found is None else found[0].reshape(*rows.shape, arcs.n)


def reached(graph: Graph, rows: np.ndarray) -> Graph:
    """Return the graph without the arcs that these vertices cannot reach.

    Then negative cycles that they cannot reach raise no error.
    """
    if not graph.has_negative:
        return graph
    tails, heads, weights = graph.arcs()
    ones = csr_array((np.ones(graph.m), graph.indices, graph.indptr), shape=(graph.n, graph.n))
    steps = scipy_csgraph.dijkstra(ones, indices=rows.ravel(), min_only=True)
    taken = np.isfinite(steps)[tails]
    return Graph.from_arcs(graph.n, tails[taken], heads[taken], weights[taken])


def nearest_of(
    graph: Graph, starts: np.ndarray, cutoff: float | None, with_predecessors: bool
) -> Distances | tuple[Distances, Predecessors, Predecessors]:
    """Return distances from the nearest start, by SciPy's function.

    It is one search, which a device cannot divide.

    Raises
    ------
    PrecisionError
        If a distance is too large for float64.
    """
    shape = graph.n, graph.n
    found: Distances | tuple[Distances, Predecessors, Predecessors] = scipy_csgraph.dijkstra(
        csr_array((graph.weights, graph.indices, graph.indptr), shape=shape),
        indices=starts,
        return_predecessors=with_predecessors,
        limit=np.inf if cutoff is None else cutoff,
        min_only=True,
    )
    if cutoff is None and not math.isfinite(graph.n * float(graph.max_weight or 0)):
        distances = found[0] if isinstance(found, tuple) else found
        tails, heads = graph.arcs()[:2]
        if np.any(np.isfinite(distances[tails]) & np.isinf(distances[heads])):
            raise too_large(graph, distances.dtype)
    return found
