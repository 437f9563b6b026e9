"""Triangles, clustering and trusses of graphs of NetworkX."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

import networkx as nx
import numpy as np

from pyapsp.networkx_backend.converted import ConvertedGraph, convert_to_nx
from pyapsp.networkx_backend.device import device, networkx_errors
from pyapsp.trusses import triangles as counting
from pyapsp.trusses import truss

__all__ = ["average_clustering", "clustering", "k_truss", "transitivity", "triangles"]

_Value = TypeVar("_Value")


def triangles(G: ConvertedGraph, nodes: Any = None) -> Any:
    """Return the triangles of one node, or of each node as a dictionary."""
    return _chosen(G, nodes, _counted(G).per_vertex.tolist())


def clustering(G: ConvertedGraph, nodes: Any = None, weight: Hashable | None = None) -> Any:
    """Return the clustering coefficient of one node, or of each node as a dictionary."""
    found = _counted(G)
    degrees = found.degrees.tolist()
    values = [
        0 if count == 0 else 2 * count / (degree * (degree - 1))
        for count, degree in zip(found.per_vertex.tolist(), degrees, strict=True)
    ]
    return _chosen(G, nodes, values)


def average_clustering(
    G: ConvertedGraph,
    nodes: Any = None,
    weight: Hashable | None = None,
    count_zeros: bool = True,
) -> float:
    """Return the mean of the clustering coefficients of the nodes."""
    values = list(clustering(G, nodes).values())
    if not count_zeros:
        values = [value for value in values if value > 0]
    return float(sum(values) / len(values))


def transitivity(G: ConvertedGraph) -> float:
    """Return the part of the paths of two edges whose ends are neighbours."""
    with networkx_errors():
        found = counting.triangles(G.weighted(None), per_vertex=False, device=device())
    return found.transitivity if found.total else 0


def k_truss(G: ConvertedGraph, k: int) -> nx.Graph:
    """Return the k-truss with the attributes of graph, nodes and edges."""
    graph = G.weighted(None)
    tails, heads, _ = graph.arcs()
    if (tails == heads).any():
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops, with which NetworkX has no k-truss: "
            "G.remove_edges_from(nx.selfloop_edges(G)) removes them"
        )
    with networkx_errors():
        kept = truss.k_truss(graph, max(k, 2), device=device())
    found = convert_to_nx(G) if G.origin is None else G.origin.copy()
    # both are in order of the rows, so that an arc of the graph is found among those of the truss
    places = tails.astype(np.int64) * graph.n + heads
    kept_tails, kept_heads, _ = kept.arcs()
    gone = ~np.isin(places, kept_tails.astype(np.int64) * graph.n + kept_heads)
    some = gone & (tails < heads)
    ends = zip(tails[some].tolist(), heads[some].tolist(), strict=True)
    found.remove_edges_from([(G.nodes[tail], G.nodes[head]) for tail, head in ends])
    found.remove_nodes_from(list(nx.isolates(found)))
    return found


def _counted(G: ConvertedGraph) -> counting.Triangles:
    with networkx_errors():
        return counting.triangles(G.weighted(None), device=device())


def _chosen(G: ConvertedGraph, nodes: Any, values: list[_Value]) -> _Value | dict[Any, _Value]:
    """Return the value of one node, or a dictionary; as in NetworkX, unknown nodes are left out."""
    if nodes is None:
        return dict(zip(G.nodes, values, strict=True))
    if nodes in G:
        return values[G.rows[nodes]]
    try:
        return {node: values[G.rows[node]] for node in nodes if node in G.rows}
    except TypeError as error:
        raise nx.NetworkXError(f"{nodes} is neither a node nor a sequence of nodes.") from error
