"""Triangles and trusses by sets of neighbours, in Python: what answers are compared with.

No method and no package that is timed counts in this way.
"""

from __future__ import annotations

import numpy as np

from pyapsp.graph import Graph
from pyapsp.trusses.simple import edges

__all__ = ["triangles_by_sets", "trussness_by_sets"]


def triangles_by_sets(graph: Graph) -> np.ndarray:
    """Return the triangles of each vertex of an undirected graph, (n,) int64."""
    later: list[set[int]] = [set() for _ in range(graph.n)]
    degrees = np.diff(graph.indptr)
    for u, v in _edges(graph):
        # towards the larger degree, so that no set is large
        low, high = (u, v) if (degrees[u], u) < (degrees[v], v) else (v, u)
        later[low].add(high)
    counts = [0] * graph.n
    for u, others in enumerate(later):
        for v in others:
            common = others & later[v]
            counts[u] += len(common)
            counts[v] += len(common)
            for w in common:
                counts[w] += 1
    return np.array(counts, np.int64)


def trussness_by_sets(graph: Graph, k: int | None = None) -> np.ndarray:
    """Return the trussness of each arc, as `Trussness.values`.

    The edges in the fewest triangles are removed, one after the other.

    Parameters
    ----------
    graph : Graph
        Undirected.
    k : int, optional
        Only this truss: k for its edges, and 0 for the others.
    """
    near: list[set[int]] = [set() for _ in range(graph.n)]
    pairs = _edges(graph)
    for u, v in pairs:
        near[u].add(v)
        near[v].add(u)
    left = {(u, v): len(near[u] & near[v]) for u, v in pairs}
    trussness = {}
    while left:
        fewest = min(left.values())
        weak = [edge for edge, triangles in left.items() if triangles == fewest]
        for edge in weak:
            del left[edge]
            trussness[edge] = fewest + 2
            u, v = edge
            near[u].remove(v)
            near[v].remove(u)
            for w in near[u] & near[v]:
                for other in ((min(u, w), max(u, w)), (min(v, w), max(v, w))):
                    left[other] -= 1
                    if left[other] == fewest:
                        weak.append(other)
    tails, heads, _ = graph.arcs()
    ends = zip(np.minimum(tails, heads).tolist(), np.maximum(tails, heads).tolist(), strict=True)
    values = np.array([trussness.get(edge, 0) for edge in ends], np.int32)
    return values if k is None else np.where(values >= k, k, 0).astype(np.int32)


def _edges(graph: Graph) -> list[tuple[int, int]]:
    """Return the edges (u, v) with u < v."""
    (tails, heads, _), chosen = graph.arcs(), edges(graph)
    return list(zip(tails[chosen].tolist(), heads[chosen].tolist(), strict=True))
