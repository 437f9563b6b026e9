"""Distances and paths from one node, as dictionaries."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from pyapsp.all_pairs.one import from_one
from pyapsp.networkx_backend import lengths
from pyapsp.networkx_backend.converted import ConvertedGraph
from pyapsp.networkx_backend.device import device, networkx_errors
from pyapsp.networkx_backend.rows import Lengths, Node, Paths, Row, dtype_of, levels_of, rows_of
from pyapsp.traversal.bfs.bfs import bfs

__all__ = [
    "dijkstra_path",
    "dijkstra_path_length",
    "shortest_path",
    "shortest_path_length",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path_length",
]


def single_source_shortest_path_length(
    G: ConvertedGraph, source: Node, cutoff: float | None = None
) -> Lengths:
    """Return the numbers of edges from a node, the nearest first."""
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} is not in G")
    with networkx_errors():
        rows = bfs(G.weighted(None), [G.rows[source]], parents=False, device=device()).rows
    levels = levels_of(cutoff)
    if levels is not None:
        rows.distances[rows.distances > levels] = rows.infinity
    return next(rows_of(rows)).lengths(G)


def dijkstra_path(
    G: ConvertedGraph, source: Node, target: Node, weight: Node | None = "weight"
) -> list[Node]:
    """Return a shortest path from a node to another."""
    return _to_target(G, _row(G, source, None, weight, target=target), target)[1]


def dijkstra_path_length(
    G: ConvertedGraph, source: Node, target: Node, weight: Node | None = "weight"
) -> float:
    """Return the distance from a node to another."""
    lengths = _row(G, source, None, weight, target=target, predecessors=False).lengths(G)
    if target not in lengths:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return lengths[target]


def single_source_dijkstra_path_length(
    G: ConvertedGraph, source: Node, cutoff: float | None = None, weight: Node | None = "weight"
) -> Lengths:
    """Return the distances from a node, the nearest first."""
    return _row(G, source, cutoff, weight, predecessors=False).lengths(G)


def single_source_dijkstra_path(
    G: ConvertedGraph, source: Node, cutoff: float | None = None, weight: Node | None = "weight"
) -> Paths:
    """Return the shortest paths from a node."""
    return _row(G, source, cutoff, weight).paths(G)


def single_source_dijkstra(
    G: ConvertedGraph,
    source: Node,
    target: Node | None = None,
    cutoff: float | None = None,
    weight: Node | None = "weight",
) -> tuple[Lengths, Paths] | tuple[float, list[Node]]:
    """Return distances and shortest paths from a node, or those to a target."""
    row = _row(G, source, cutoff, weight, target=target)
    return (row.lengths(G), row.paths(G)) if target is None else _to_target(G, row, target)


def shortest_path(
    G: ConvertedGraph,
    source: Node | None = None,
    target: Node | None = None,
    weight: Node | None = None,
    method: str = "dijkstra",
) -> Iterator[tuple[Node, Paths]] | Paths | list[Node]:
    """Return shortest paths from a node, or from each, to a node, or to each."""
    _check_method(method)
    if source is not None and target is not None:
        known = weight is None or method == "dijkstra"
        return _between(G, source, target, weight, known=known)[1]
    if source is not None:
        return single_source_dijkstra_path(G, source, None, weight)
    if target is not None:
        paths = _row(G, target, None, weight, backwards=True).paths(G)
        return {node: path[::-1] for node, path in paths.items()}
    return lengths.all_pairs_dijkstra_path(G, None, weight)


def shortest_path_length(
    G: ConvertedGraph,
    source: Node | None = None,
    target: Node | None = None,
    weight: Node | None = None,
    method: str = "dijkstra",
) -> Iterator[tuple[Node, Lengths]] | Lengths | float:
    """Return the distances from a node, or from each, to a node, or to each."""
    _check_method(method)
    if source is not None and target is not None:
        return _between(G, source, target, weight, known=weight is None, predecessors=False)[0]
    if source is not None:
        return single_source_dijkstra_path_length(G, source, None, weight)
    if target is not None:
        row = _row(G, target, None, weight, backwards=True, predecessors=False)
        return row.lengths(G)
    return lengths.all_pairs_dijkstra_path_length(G, None, weight)


def _check_method(method: str) -> None:
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")


def _between(
    G: ConvertedGraph,
    source: Node,
    target: Node,
    weight: Node | None,
    *,
    known: bool,
    predecessors: bool = True,
) -> tuple[float, list[Node]]:
    """Return the distance between two nodes, and a path if it is wanted, else none.

    As in NetworkX, the function and its method decide whether a target must be `known`: otherwise
    there is no path to one that is not in the graph.
    """
    if known and source in G and target not in G:
        raise nx.NodeNotFound(f"Target {target} is not in G")
    row = _row(G, source, None, weight, target=target, predecessors=predecessors)
    distance = row.lengths(G).get(target)
    if distance is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return distance, row.paths(G)[target] if predecessors else []


def _to_target(G: ConvertedGraph, row: Row, target: Node) -> tuple[float, list[Node]]:
    """Return the distance of a target, and a shortest path to it."""
    lengths = row.lengths(G)
    if target not in lengths:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return lengths[target], row.paths(G)[target]


def _row(
    G: ConvertedGraph,
    source: Node,
    cutoff: float | None,
    weight: Node | None,
    *,
    target: Node | None = None,
    predecessors: bool = True,
    backwards: bool = False,
) -> Row:
    """Return the search from a node, which may stop at a target or walk edges backwards."""
    if source not in G:
        raise nx.NodeNotFound(f"Node {source} not found in graph")
    graph = G.weighted(weight)
    graph = graph.reversed() if backwards and G.is_directed() else graph
    with networkx_errors():
        result = from_one(
            graph,
            G.rows[source],
            targets=[G.rows[target]] if target in G else None,
            cutoff=cutoff,
            dtype=dtype_of(graph),
            predecessors=predecessors,
            device=device(),
        )
    return next(rows_of(result))
