"""How long the shortest paths of a graph are at most, by more or less work on the host."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph, csr_array

from pyapsp.graph import Facts, Graph

__all__ = ["distance_bound", "eccentricity_bound", "hop_bound"]

# Graphs with more arcs are not looked at: it would cost as much as solving them.
_MAX_ARCS = 2**26


def distance_bound(graph: Graph | Facts) -> int | float:
    """Return a bound on the absolute value of every finite distance: (n - 1) max |w|."""
    return max(graph.n - 1, 1) * graph.max_magnitude


def hop_bound(graph: Graph) -> int | float:
    """Return a tighter bound, from the fewest arcs: the work of two breadth-first searches.

    Between two vertices of a strongly connected graph there is a path through the vertex with
    the most arcs, of at most as many arcs as its depths in the searches from it, forwards and
    backwards.
    """
    coarse = distance_bound(graph)
    if graph.has_negative or not 0 < graph.m <= _MAX_ARCS:
        return coarse
    shape = (graph.n, graph.n)
    arcs = csr_array((np.ones(graph.m), graph.indices, graph.indptr), shape=shape)
    first, hops = int(np.argmax(np.diff(graph.indptr))), 0
    for turned in (False, True) if graph.directed else (False,):
        order, before = csgraph.breadth_first_order(arcs.T.tocsr() if turned else arcs, first)
        if order.size < graph.n:
            return coarse
        last = order[-1]
        while last != first:
            last, hops = before[last], hops + 1
        if hops >= graph.n - 1:
            return coarse
    return min(coarse, (hops if graph.directed else 2 * hops) * graph.max_magnitude)


def eccentricity_bound(graph: Graph) -> int | float:
    """Return a bound from the distances of a few vertices, mostly the tightest: two Dijkstras.

    Between two vertices of a strongly connected part, a path through its first vertex is no
    shorter than a shortest one. A path passes each part once, and leaves it by one arc. So no
    distance exceeds the sum over the parts that hang together, of the largest distances to and
    from the first vertex and the largest weight that leads out.
    """
    coarse = distance_bound(graph)
    if graph.has_negative or not 0 < graph.m <= _MAX_ARCS:
        return coarse
    tails, heads, weights = graph.arcs()
    shape = (graph.n, graph.n)
    arcs = csr_array((np.ones(graph.m, np.int8), graph.indices, graph.indptr), shape=shape)
    _, part = csgraph.connected_components(arcs, connection="strong")
    _, whole = csgraph.connected_components(arcs, connection="weak")
    parts, first = np.unique(part, return_index=True)
    inside = part[tails] == part[heads]
    out_of = np.zeros(parts.size)
    np.maximum.at(out_of, part[tails[~inside]], weights[~inside])
    ends = (tails[inside], heads[inside])
    bounds = out_of
    for rows, columns in (ends, ends[::-1]):
        within = csr_array((weights[inside].astype(np.float64), (rows, columns)), shape=shape)
        distances = csgraph.dijkstra(within, indices=first, min_only=True)
        farthest = np.zeros(parts.size)
        np.maximum.at(farthest, part, distances)
        bounds = bounds + farthest
    bound = float(np.bincount(whole[first], weights=bounds).max())
    return min(coarse, bound) if bound < 2**52 else coarse  # below it, float64 counts in ones
