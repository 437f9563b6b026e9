"""The efficiency of a graph, and of the neighbourhoods of its nodes."""

from __future__ import annotations

from math import fsum

import numpy as np

from pyapsp.all_pairs import summaries
from pyapsp.graph import Graph
from pyapsp.networkx_backend.converted import ConvertedGraph
from pyapsp.networkx_backend.device import device, networkx_errors

__all__ = ["global_efficiency", "local_efficiency"]

# Candidates for arcs that are looked up together.
_BLOCK = 2**22


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
    with networkx_errors():
        sums = summaries.harmonic_centrality(_neighborhoods(graph), device=device())
    tails, _, _ = graph.arcs()
    totals, degrees = np.bincount(tails, sums, graph.n), np.diff(graph.indptr)
    pairs = np.maximum(degrees * (degrees - 1), 1)
    mean: float = fsum((totals / pairs).tolist()) / len(G)
    return mean


def _neighborhoods(graph: Graph) -> Graph:
    """Return the disjoint union of the subgraphs that the neighbors of each vertex induce.

    Its vertex p is the head of arc p of the graph, as a neighbor of the tail.
    """
    tails, heads, _ = graph.arcs()
    keys = np.int64(graph.n) * tails + heads
    counts = np.diff(graph.indptr)[heads]
    ends = np.append(0, np.cumsum(counts))
    arcs = [np.empty((2, 0), np.int64)]
    first = 0
    while first < graph.m:
        last = max(int(np.searchsorted(ends, ends[first] + _BLOCK, "right")) - 1, first + 1)
        some = np.repeat(np.arange(first, last), counts[first:last])
        # the arcs of each head, one after the other
        places = np.arange(ends[first], ends[last]) - ends[some] + graph.indptr[heads[some]]
        wanted = np.int64(graph.n) * tails[some] + heads[places]
        there = np.minimum(np.searchsorted(keys, wanted), graph.m - 1)
        found = keys[there] == wanted
        arcs.append(np.stack([some[found], there[found]]))
        first = last
    return Graph.from_arcs(graph.m, *np.concatenate(arcs, axis=1))
