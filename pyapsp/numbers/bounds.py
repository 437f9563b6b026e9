"""Upper bounds of the distances of a graph; tighter bounds take more time on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps

import numpy as np
import scipy

from pyapsp.graph import Facts, Graph

__all__ = ["PROOFS", "distance_bound", "eccentricity_bound", "hop_bound", "proofs", "proved_bound"]

# For graphs with more arcs these bounds are not computed: it would take as long as solving them.
_MAX_ARCS = 2**26


def _remembered(proof: Callable[[Graph], int | float]) -> Callable[[Graph], int | float]:
    """Compute the bound of a graph once."""

    @wraps(proof)
    def bound(graph: Graph) -> int | float:
        known = _known(graph)
        if proof.__name__ not in known:
            known[proof.__name__] = proof(graph)
        return known[proof.__name__]

    return bound


def distance_bound(graph: Graph | Facts) -> int | float:
    """Return a bound on the absolute value of every finite distance: (n - 1) max |w|."""
    return max(graph.n - 1, 1) * graph.max_magnitude


def proved_bound(graph: Graph) -> int | float:
    """Return the tightest of the bounds that were computed for this graph so far."""
    return min(distance_bound(graph), *_known(graph).values(), float("inf"))


def _known(graph: Graph) -> dict[str, int | float]:
    """Return the bounds that were computed for a graph, by the names of the functions."""
    known: dict[str, int | float] = vars(graph).setdefault("_bounds", {})
    return known


@_remembered
def hop_bound(graph: Graph) -> int | float:
    """Return a tighter bound, from numbers of arcs; it takes two breadth-first searches.

    If every vertex has an arc to every other, no distance exceeds the weight of an arc. Otherwise
    two searches start at the vertex with the most arcs, one forwards and one backwards. A shortest
    path from a vertex that can reach the centre to a vertex that the centre can reach has at most
    as many arcs as the sum of both depths. A path from a vertex that cannot reach the centre leads
    only through such vertices, and visits each of them at most once. So does a path to a vertex
    that the centre cannot reach.
    """
    coarse = distance_bound(graph)
    if graph.has_negative or not 0 < graph.m <= _MAX_ARCS:
        return coarse
    if graph.is_complete:
        return graph.max_magnitude
    centre, depths, most = int(np.argmax(np.diff(graph.indptr))), 0, 0
    for backwards in (False, True) if graph.directed else (False,):
        depth, reached = graph.depth(centre, backwards=backwards)
        most, depths = max(most, graph.n - reached - 1), depths + depth
    hops = depths if graph.directed else 2 * depths
    return min(coarse, max(hops, most) * graph.max_magnitude)


@_remembered
def eccentricity_bound(graph: Graph) -> int | float:
    """Return a bound from the distances of a few vertices, usually the tightest; two Dijkstras.

    In a strongly connected component, the distance between two vertices is at most that of a path
    through its first vertex. A path enters each component at most once, and leaves it by one arc.
    So a distance is at most a sum over connected components of: the largest distance to the first
    vertex, the largest distance from it, and the largest weight of an arc that leaves it.
    """
    coarse = distance_bound(graph)
    if graph.has_negative or not 0 < graph.m <= _MAX_ARCS:
        return coarse
    tails, heads, weights = graph.arcs()
    shape = (graph.n, graph.n)
    ones = np.ones(graph.m, np.int8)
    arcs = scipy.sparse.csr_array((ones, graph.indices, graph.indptr), shape=shape)
    _, part = scipy.sparse.csgraph.connected_components(arcs, connection="strong")
    _, whole = scipy.sparse.csgraph.connected_components(arcs, connection="weak")
    parts, first = np.unique(part, return_index=True)
    inside = part[tails] == part[heads]
    out_of = np.zeros(parts.size)
    np.maximum.at(out_of, part[tails[~inside]], weights[~inside])
    ends = (tails[inside], heads[inside])
    bounds = out_of
    for rows, columns in (ends, ends[::-1]):
        lengths = weights[inside].astype(np.float64)
        within = scipy.sparse.csr_array((lengths, (rows, columns)), shape=shape)
        distances = scipy.sparse.csgraph.dijkstra(within, indices=first, min_only=True)
        farthest = np.zeros(parts.size)
        np.maximum.at(farthest, part, distances)
        bounds = bounds + farthest
    bound = float(np.bincount(whole[first], weights=bounds).max())
    return min(coarse, bound) if bound < 2**52 else coarse  # float64 is exact below


def _hop_seconds(graph: Graph) -> float:
    if graph.is_complete:
        return 0.0  # there are no searches
    return 8e-5 + 1.2e-8 * graph.search_work + 1e-7 * graph.n


def _eccentricity_seconds(graph: Graph) -> float:
    return 2.5e-4 + 4.5e-8 * graph.m + 6e-7 * graph.n


#: The proofs of tighter bounds, and the seconds that the host takes for each with a graph.
PROOFS = ((hop_bound, _hop_seconds), (eccentricity_bound, _eccentricity_seconds))


def proofs(graph: Graph, seconds: float) -> Iterator[int | float]:
    """Yield ever tighter bounds, as far as a proof takes less than this time."""
    for proof, price in PROOFS:
        if price(graph) < seconds:
            yield proof(graph)
