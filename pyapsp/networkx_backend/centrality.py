"""Centralities that count paths or add inverse distances, and the cells of centers."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from random import Random

import networkx as nx
import numpy as np

from pyapsp.all_pairs import summaries
from pyapsp.device import choose
from pyapsp.graph import Graph
from pyapsp.networkx_backend.converted import ConvertedGraph
from pyapsp.networkx_backend.device import device, networkx_errors
from pyapsp.networkx_backend.rows import Lengths, Node
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.queries.cells import cells_of
from pyapsp.queries.targets import distances
from pyapsp.queries.workers import asked

__all__ = [
    "betweenness_centrality",
    "edge_betweenness_centrality",
    "harmonic_centrality",
    "voronoi_cells",
]


def betweenness_centrality(
    G: ConvertedGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: Node | None = None,
    endpoints: bool = False,
    seed: Random | None = None,
) -> Lengths:
    """Return the share of the shortest paths that lead over each node."""
    with networkx_errors():
        values = summaries.betweenness_centrality(
            G.weighted(weight),
            sources=_drawn(G, None if k == len(G) else k, seed),
            normalized=bool(normalized),
            endpoints=bool(endpoints),
            weight=...,
            device=device(),
        )
    return dict(zip(G.nodes, values.tolist(), strict=True))


def edge_betweenness_centrality(
    G: ConvertedGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: Node | None = None,
    seed: Random | None = None,
) -> dict[tuple[Node, Node], float]:
    """Return the share of the shortest paths that lead over each edge."""
    graph = G.weighted(weight)
    with networkx_errors():
        values = summaries.edge_betweenness_centrality(
            graph,
            sources=_drawn(G, k, seed),
            normalized=bool(normalized),
            weight=...,
            device=device(),
        )
    tails, heads, _ = graph.arcs()
    # NetworkX lists an edge at that of its ends which comes first
    listed = np.ones(graph.m, bool) if graph.directed else tails <= heads
    return {
        (G.nodes[tail], G.nodes[head]): value
        for tail, head, value in zip(
            tails[listed].tolist(), heads[listed].tolist(), values[listed].tolist(), strict=True
        )
    }


def _drawn(G: ConvertedGraph, k: int | None, seed: Random | None) -> list[int] | None:
    """Return the rows of k nodes, which are drawn as NetworkX draws them."""
    if k is None:
        return None
    assert seed is not None  # the dispatcher of NetworkX makes the generator
    return [G.rows[node] for node in seed.sample(G.nodes, k)]


def harmonic_centrality(
    G: ConvertedGraph,
    nbunch: Node | Iterable[Node] | None = None,
    distance: Node | None = None,
    sources: Node | Iterable[Node] | None = None,
) -> Lengths:
    """Return the sum of 1 / distance from other nodes, or some of them, to each node."""
    nodes = _bunch(G, nbunch)
    rows, graph = [G.rows[node] for node in nodes], G.weighted(distance)
    with networkx_errors():
        if sources is None:
            sums = summaries.harmonic_centrality(graph, rows, device=device())
        else:
            starts = [G.rows[node] for node in _bunch(G, sources)]
            far = distances(graph, starts, rows, device=device())
            sums = np.divide(1, far, out=np.zeros(far.shape), where=far > 0).sum(axis=0)
    # as in NetworkX, the sum of nothing is the integer 0
    return {node: value or 0 for node, value in zip(nodes, sums.tolist(), strict=True)}


def _bunch(G: ConvertedGraph, bunch: Node | Iterable[Node] | None) -> list[Node]:
    """Return the different nodes of a bunch that are in the graph."""
    if bunch is None:
        return G.nodes
    if isinstance(bunch, Hashable) and bunch in G:
        return [bunch]
    if not isinstance(bunch, Iterable):
        raise nx.NetworkXError(f"Node {bunch} is not in the graph.")
    return [node for node in dict.fromkeys(bunch) if node in G]


def voronoi_cells(
    G: ConvertedGraph, center_nodes: Collection[Node], weight: Node | None = "weight"
) -> dict[Node, set[Node]]:
    """Return for each center the nodes to which it is the nearest."""
    if not center_nodes:
        raise ValueError("sources must not be empty")
    for node in center_nodes:
        if node not in G:
            raise nx.NodeNotFound(f"Node {node} not found in graph")
    graph = G.weighted(weight)
    starts = np.unique([G.rows[node] for node in center_nodes])
    nearest = _nearest(graph, starts)
    cells: dict[Node, set[Node]] = {}
    for node, start in zip(G.nodes, nearest.tolist(), strict=True):
        center = "unreachable" if start == NO_PREDECESSOR else G.nodes[start]
        cells.setdefault(center, set()).add(node)
    return cells


def _nearest(graph: Graph, starts: np.ndarray) -> np.ndarray:
    """Return the nearest start of each vertex."""
    with networkx_errors():
        dtype = np.int64 if graph.dtype.kind == "i" else np.float64
        graph, options = asked(
            "voronoi_cells",
            graph,
            cutoff=None,
            directed=True,
            weight=...,
            dtype=dtype,
            device=choose(device()),
            memory_limit=None,
        )
        return cells_of(graph, options, starts).targets[:, 0]
