"""Triangles, clustering and trusses of graphs of NetworkX."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

import networkx as nx
import numpy as np

from pyapsp.networkx_backend.converted import ConvertedGraph, convert_to_nx
from pyapsp.networkx_backend.device import device, networkx_errors
from pyapsp.networkx_backend.rows import Node
from pyapsp.trusses import triangles as counting
from pyapsp.trusses import truss

__all__ = ["average_clustering", "clustering", "k_truss", "transitivity", "triangles"]

_Value = TypeVar("_Value")


def triangles(
    G: ConvertedGraph, nodes: Node | Iterable[Node] | None = None
) -> int | dict[Node, int]:
    """Return the triangles of one node, or of each node as a dictionary."""
    return _chosen(G, nodes, _counted(G).per_vertex.tolist())


def clustering(
    G: ConvertedGraph, nodes: Node | Iterable[Node] | None = None, weight: Hashable | None = None
) -> float | dict[Node, float]:
    """Return the clustering coefficient of one node, or of each node as a dictionary."""
    counts = _counted(G)
    degrees = counts.degrees.tolist()
    values = [
        0 if count == 0 else 2 * count / (degree * (degree - 1))
        for count, degree in zip(counts.per_vertex.tolist(), degrees, strict=True)
    ]
    return _chosen(G, nodes, values)


def average_clustering(
    G: ConvertedGraph,
    nodes: Node | Iterable[Node] | None = None,
    weight: Hashable | None = None,
    count_zeros: bool = True,
) -> float:
    """Return the mean of the clustering coefficients of the nodes."""
    coefficients = clustering(G, nodes)
    assert isinstance(coefficients, dict)
    values = list(coefficients.values())
    if not count_zeros:
        values = [value for value in values if value > 0]
    return float(sum(values) / len(values))


def transitivity(G: ConvertedGraph) -> float:
    """Return the part of the paths of two edges whose ends are neighbours."""
    with networkx_errors():
        counts = counting.triangles(G.weighted(None), per_vertex=False, device=device())
    return counts.transitivity if counts.total else 0


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
        rest = truss.k_truss(graph, max(k, 2), device=device())
    result: nx.Graph = convert_to_nx(G) if G.origin is None else G.origin.copy()
    # both are in order of the rows, so that an arc of the graph is found among those of the truss
    places = tails.astype(np.int64) * graph.n + heads
    rest_tails, rest_heads, _ = rest.arcs()
    gone = ~np.isin(places, rest_tails.astype(np.int64) * graph.n + rest_heads)
    some = gone & (tails < heads)
    ends = zip(tails[some].tolist(), heads[some].tolist(), strict=True)
    result.remove_edges_from([(G.nodes[tail], G.nodes[head]) for tail, head in ends])
    result.remove_nodes_from(list(nx.isolates(result)))
    return result


def _counted(G: ConvertedGraph) -> counting.Triangles:
    with networkx_errors():
        return counting.triangles(G.weighted(None), device=device())


def _chosen(
    G: ConvertedGraph, nodes: Node | Iterable[Node] | None, values: list[_Value]
) -> _Value | dict[Node, _Value]:
    """Return the value of one node, or a dictionary; as in NetworkX, unknown nodes are left out."""
    if nodes is None:
        return dict(zip(G.nodes, values, strict=True))
    if isinstance(nodes, Hashable) and nodes in G:
        return values[G.rows[nodes]]
    try:
        if isinstance(nodes, Iterable):
            return {node: values[G.rows[node]] for node in nodes if node in G.rows}
    except TypeError:  # it is no node
        pass
    raise nx.NetworkXError(f"{nodes} is neither a node nor a sequence of nodes.")
