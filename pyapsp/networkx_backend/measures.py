"""Measures computed from distances: eccentricities, averages, closeness."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import networkx as nx
import numpy as np
from scipy.sparse.csgraph import connected_components

from pyapsp.all_pairs import summaries
from pyapsp.all_pairs.sparse.totals import Totals
from pyapsp.all_pairs.summaries.searches import Searches
from pyapsp.device import Device, choose
from pyapsp.graph import Graph
from pyapsp.networkx_backend.converted import ConvertedGraph
from pyapsp.networkx_backend.device import device, networkx_errors
from pyapsp.networkx_backend.rows import Lengths, Node

__all__ = [
    "average_shortest_path_length",
    "barycenter",
    "center",
    "centroid",
    "closeness_centrality",
    "diameter",
    "eccentricity",
    "periphery",
    "radius",
    "wiener_index",
]

_METHODS = ("unweighted", "dijkstra", "bellman-ford", "floyd-warshall", "floyd-warshall-numpy")


def average_shortest_path_length(
    G: ConvertedGraph, weight: Node | None = None, method: str | None = None
) -> float:
    """Return the mean distance of the ordered pairs of different nodes."""
    if method is not None and method not in _METHODS:
        raise ValueError(f"method not supported: {method}")
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept(
            "the null graph has no paths, thus there is no average shortest path length"
        )
    if n == 1:
        return 0
    graph = G.weighted(None if method == "unweighted" else weight)
    if not _is_connected(graph):
        kind = "strongly connected" if G.is_directed() else "connected"
        raise nx.NetworkXError(f"Graph is not {kind}.")
    return _total(graph) / (n * (n - 1))


def wiener_index(G: ConvertedGraph, weight: Node | None = None) -> float:
    """Return the sum of all distances, each pair once where the graph is undirected."""
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    graph = G.weighted(weight)
    if not _is_connected(graph):
        return float("inf")
    return _total(graph) if G.is_directed() else _total(graph) / 2


def eccentricity(
    G: ConvertedGraph,
    v: Node | Iterable[Node] | None = None,
    sp: None = None,
    weight: Node | None = None,
) -> float | Lengths:
    """Return the largest distance from a node, or from each of some nodes."""
    if isinstance(v, Hashable) and v in G:
        return _eccentricities(G, [v], weight)[v]
    return _eccentricities(G, G.nodes if v is None else _known(G, v), weight)


def _eccentricities(G: ConvertedGraph, nodes: list[Node], weight: Node | None) -> Lengths:
    if not nodes:
        return {}
    totals = _sums(G.weighted(weight), [G.rows[node] for node in nodes])
    if (totals.reached < len(G)).any():
        raise _unconnected(G)
    # as in NetworkX, the distance of a node to itself is the integer 0
    return {node: far or 0 for node, far in zip(nodes, totals.largest.tolist(), strict=True)}


def diameter(
    G: ConvertedGraph, e: Lengths | None = None, usebounds: bool = False, weight: Node | None = None
) -> float:
    """Return the largest eccentricity."""
    most: float
    if e is not None:
        return max(e.values())
    graph = G.weighted(weight)
    if not _is_connected(graph):
        raise _unconnected(G)
    with networkx_errors():
        most = summaries.diameter(graph, device=_able(graph))
    return (int if graph.dtype.kind == "i" else float)(most) or 0


def radius(
    G: ConvertedGraph, e: Lengths | None = None, usebounds: bool = False, weight: Node | None = None
) -> float:
    """Return the smallest eccentricity."""
    return min((_eccentricities(G, G.nodes, weight) if e is None else e).values())


def center(
    G: ConvertedGraph, e: Lengths | None = None, usebounds: bool = False, weight: Node | None = None
) -> list[Node]:
    """Return the nodes with the smallest eccentricity."""
    return _with(min, G, e, weight)


def periphery(
    G: ConvertedGraph, e: Lengths | None = None, usebounds: bool = False, weight: Node | None = None
) -> list[Node]:
    """Return the nodes with the largest eccentricity."""
    return _with(max, G, e, weight)


def _with(
    extreme: Callable[..., float], G: ConvertedGraph, e: Lengths | None, weight: Node | None
) -> list[Node]:
    """Return the nodes with the smallest or the largest eccentricity."""
    far = _eccentricities(G, G.nodes, weight) if e is None else e
    wanted = extreme(far.values())
    return [node for node in far if far[node] == wanted]


def centroid(
    G: ConvertedGraph, weight: Node | None = None, attr: None = None, sp: None = None
) -> list[Node]:
    """Return the nodes with the smallest sum of distances to the others."""
    if len(G) == 0:
        return []
    totals = _sums(G.weighted(weight), list(range(len(G))))
    if (totals.reached < len(G)).any():
        raise nx.NetworkXNoPath(
            f"Input graph {G} is disconnected, so every induced subgraph "
            "has infinite barycentricity."
        )
    return [G.nodes[row] for row in np.flatnonzero(totals.total == totals.total.min()).tolist()]


#: The name of `centroid` before NetworkX 3.7.
barycenter = centroid


def closeness_centrality(
    G: ConvertedGraph,
    u: Node | None = None,
    distance: Node | None = None,
    wf_improved: bool = True,
    *,
    sp: None = None,
) -> float | Lengths:
    """Return 1 / (mean distance from the other nodes to a node), for a node or for all nodes."""
    if u is not None and u not in G:
        raise nx.NodeNotFound(f"Source {u} is not in G")
    nodes = G.nodes if u is None else [u]
    centrality: Lengths = {}
    if nodes:
        graph = G.weighted(distance)
        graph = graph.reversed() if G.is_directed() else graph
        totals = _sums(graph, [G.rows[node] for node in nodes])
        for node, total, reached in zip(
            nodes, totals.total.tolist(), totals.reached.tolist(), strict=True
        ):
            centrality[node] = 0.0
            if total > 0 and len(G) > 1:
                centrality[node] = (reached - 1.0) / total
                if wf_improved:
                    centrality[node] *= (reached - 1.0) / (len(G) - 1)
    return centrality if u is None else centrality[u]


def _sums(graph: Graph, rows: list[int]) -> Totals:
    """Return, for each of some rows, the largest distance, the sum, and the number reached."""
    kind = graph.dtype
    largest, total = np.empty(len(rows), kind), np.empty(len(rows), kind)
    reached = np.empty(len(rows), np.int64)
    with networkx_errors():
        searched = Searches(graph, rows, device=_able(graph))
        for some, totals in searched.totals(searched.sources, None):
            largest[some], total[some] = totals.largest, totals.total
            reached[some] = totals.reached
    return Totals(largest, total, reached)


def _total(graph: Graph) -> float:
    """Return the sum of all distances of a connected graph."""
    total: float = sum(_sums(graph, list(range(graph.n))).total.tolist())
    return total


def _is_connected(graph: Graph) -> bool:
    ones = graph.with_weights(np.ones(graph.m, np.int64)).to_scipy()
    count: int = connected_components(ones, connection="strong", return_labels=False)
    return count <= 1


def _unconnected(G: ConvertedGraph) -> nx.NetworkXError:
    why = "digraph is not strongly connected" if G.is_directed() else "graph is not connected"
    return nx.NetworkXError(f"Found infinite path length because the {why}")


def _known(G: ConvertedGraph, bunch: Node | Iterable[Node]) -> list[Node]:
    """Return those of some nodes that are in the graph."""
    if not isinstance(bunch, Iterable):
        raise nx.NetworkXError(f"Node {bunch} is not in the graph.")
    known = []
    for node in bunch:
        try:
            is_known = node in G.rows
        except TypeError:
            text = f"Node {node} in sequence nbunch is not a valid node."
            raise nx.NetworkXError(text) from None
        if is_known:
            known.append(node)
    return known


def _able(graph: Graph) -> Device:
    """Return the device, which must have double precision, as NetworkX computes with it."""
    chosen = choose(device())
    if graph.dtype.kind == "f" and not chosen.capabilities.fp64:
        raise NotImplementedError(f"{chosen.name} has no double precision")
    return chosen
