"""The efficiency of a graph, and of the neighbourhoods of its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

import numpy as np

from pyapsp.all_pairs import summaries
from pyapsp.graph import Graph
from pyapsp.graph.rows import places_of
from pyapsp.networkx_backend.converted import ConvertedGraph
from pyapsp.networkx_backend.device import device, networkx_errors

__all__ = ["global_efficiency", "local_efficiency"]

# Bytes of the neighborhoods that are searched together, and of a candidate for one of their arcs
# while they are made and searched.
_BLOCK, _CANDIDATE = 2**28, 192


def global_efficiency(G: ConvertedGraph) -> float:
    """Return the mean of 1 / distance over all ordered pairs of different nodes."""
    pairs = len(G) * (len(G) - 1)
    if pairs == 0:
        return 0
    with networkx_errors():
        counts = summaries.distance_histogram(G.weighted(None), device=device())
    return fsum(count / steps for steps, count in enumerate(counts.tolist()) if count) / pairs


def local_efficiency(G: ConvertedGraph) -> float:
    """Return the mean efficiency of the subgraphs that the neighbors of each node induce."""
    graph = G.weighted(None)
    sums = np.empty(graph.m)
    with networkx_errors():
        for first, last in _blocks(graph):
            some = slice(first, last)
            sums[some] = summaries.harmonic_centrality(_neighborhoods(graph, some), device=device())
    tails, _, _ = graph.arcs()
    totals, degrees = np.bincount(tails, sums, graph.n), np.diff(graph.indptr)
    pairs = np.maximum(degrees * (degrees - 1), 1)
    mean: float = fsum((totals / pairs).tolist()) / len(G)
    return mean


def _blocks(graph: Graph) -> Iterator[tuple[int, int]]:
    """Yield ranges of arcs that leave some vertices, whose neighborhoods are searched together.

    A candidate for an arc is any arc that leaves a neighbor: of all neighborhoods there may be n³,
    of one vertex there are at most as many as arcs of the graph.
    """
    degrees = np.diff(graph.indptr)
    candidates = np.append(0, np.cumsum(degrees[graph.indices]))[graph.indptr]
    vertex = 0
    while vertex < graph.n:
        most = candidates[vertex] + _BLOCK // _CANDIDATE
        after = max(int(np.searchsorted(candidates, most, "right")) - 1, vertex + 1)
        yield int(graph.indptr[vertex]), int(graph.indptr[after])
        vertex = after


def _neighborhoods(graph: Graph, some: slice) -> Graph:
    """Return the disjoint union of the subgraphs that the neighbors of some vertices induce.

    Its vertex p is the head of the p-th of some arcs, as a neighbor of the tail.
    """
    tails, heads = (ends[some] for ends in graph.arcs()[:2])
    keys = np.int64(graph.n) * tails + heads
    counts = np.diff(graph.indptr)[heads]
    neighbors = np.repeat(np.arange(heads.size), counts)
    places = places_of(graph.indptr[heads], counts)
    wanted = np.int64(graph.n) * tails[neighbors] + graph.indices[places]
    there = np.minimum(np.searchsorted(keys, wanted), heads.size - 1)
    known = keys[there] == wanted
    return Graph.from_arcs(heads.size, neighbors[known], there[known])
