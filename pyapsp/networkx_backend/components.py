"""Components of graphs and digraphs.

Weak components, and those of undirected graphs, are found on the device. Strong ones are found on
the host: on the device, a search needs a launch for each level, and a round for each component if
these are far apart. The time of SciPy's search is linear in the arcs for every graph. It also
numbers components so that those reachable from one come before it, as NetworkX yields them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import networkx as nx
import numpy as np
from scipy.sparse import csgraph

from pyapsp.networkx_backend.converted import ConvertedGraph
from pyapsp.networkx_backend.device import device, networkx_errors
from pyapsp.traversal.components.components import Components
from pyapsp.traversal.components.components import (
    weakly_connected_components as found_on_the_device,
)

__all__ = [
    "condensation",
    "connected_components",
    "is_connected",
    "is_strongly_connected",
    "is_weakly_connected",
    "node_connected_component",
    "number_connected_components",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "strongly_connected_components",
    "weakly_connected_components",
]

_NULL = "Connectivity is undefined for the null graph."


def connected_components(G: ConvertedGraph) -> Iterator[set[Hashable]]:
    """Yield the nodes of each component, in the order of their first nodes."""
    return _members(G, _weak(G).labels)


def weakly_connected_components(G: ConvertedGraph) -> Iterator[set[Hashable]]:
    """Yield the nodes of each component, in the order of their first nodes."""
    return connected_components(G)


def number_connected_components(G: ConvertedGraph) -> int:
    """Return the number of components."""
    return _weak(G).count


def number_weakly_connected_components(G: ConvertedGraph) -> int:
    """Return the number of components if edges had no direction."""
    return number_connected_components(G)


def is_connected(G: ConvertedGraph) -> bool:
    """Return whether there is a path between any two nodes."""
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept(_NULL)
    return _weak(G).count == 1


def is_weakly_connected(G: ConvertedGraph) -> bool:
    """Return whether there is a path between any two nodes if edges had no direction."""
    return is_connected(G)


def node_connected_component(G: ConvertedGraph, n: Hashable) -> set[Hashable]:
    """Return the nodes of the component of a node."""
    row = G.rows[n]  # as in NetworkX, a KeyError if there is no such node
    labels = _weak(G).labels
    return {G.nodes[other] for other in np.flatnonzero(labels == labels[row]).tolist()}


def _weak(G: ConvertedGraph) -> Components:
    with networkx_errors():
        return found_on_the_device(G.weighted(None), device=device())


def strongly_connected_components(G: ConvertedGraph) -> Iterator[set[Hashable]]:
    """Yield the nodes of each component; components reachable from it come before it."""
    return _members(G, _labels(G))


def number_strongly_connected_components(G: ConvertedGraph) -> int:
    """Return the number of components."""
    return int(_labels(G).max(initial=-1)) + 1


def is_strongly_connected(G: ConvertedGraph) -> bool:
    """Return whether there is a path from every node to every other."""
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept(_NULL)
    return number_strongly_connected_components(G) == 1


def condensation(G: ConvertedGraph, scc: None = None) -> nx.DiGraph:
    """Return the graph with a node for each component, in the order of the components."""
    labels = _labels(G)
    graph = nx.DiGraph(mapping=dict(zip(G.nodes, labels.tolist(), strict=True)))
    members = enumerate(_members(G, labels))
    graph.add_nodes_from((number, {"members": nodes}) for number, nodes in members)
    tails, heads, _ = G.weighted(None).arcs()
    ends = np.stack([labels[tails], labels[heads]], axis=1)
    graph.add_edges_from(np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0).tolist())
    return graph


def _labels(G: ConvertedGraph) -> np.ndarray:
    """Return the component of each node, in reverse topological order of the components."""
    if len(G) == 0:
        return np.zeros(0, np.int32)
    graph = G.weighted(None)
    labels: np.ndarray = csgraph.connected_components(graph.to_scipy(), connection="strong")[1]
    tails, heads, _ = graph.arcs()
    if np.any(labels[tails] < labels[heads]):  # SciPy does not document this order
        raise NotImplementedError("SciPy numbers components in another order")
    return labels


def _members(G: ConvertedGraph, labels: np.ndarray) -> Iterator[set[Hashable]]:
    """Yield the nodes of each component."""
    nodes = [G.nodes[row] for row in np.argsort(labels, kind="stable").tolist()]
    ends = np.cumsum(np.bincount(labels)).tolist()
    for start, end in zip([0, *ends], ends, strict=False):
        yield set(nodes[start:end])
