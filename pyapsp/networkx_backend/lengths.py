"""Distances and paths of all pairs, as dictionaries of dictionaries."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, islice

import networkx as nx
import numpy as np

from pyapsp.all_pairs.rows import row_blocks
from pyapsp.all_pairs.solver import solve
from pyapsp.graph import Graph
from pyapsp.networkx_backend.converted import ConvertedGraph
from pyapsp.networkx_backend.device import device, networkx_errors
from pyapsp.networkx_backend.rows import Lengths, Node, Paths, Row, dtype_of, levels_of, rows_of
from pyapsp.paths.result import Result

__all__ = [
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "floyd_warshall",
    "floyd_warshall_numpy",
    "floyd_warshall_predecessor_and_distance",
    "johnson",
]

# Before NetworkX 3.7, which added this function, the weight of an edge without one is 1.0 in those
# of Floyd and Warshall, and not 1.
_ONE_IS_WHOLE = hasattr(nx, "floyd_warshall_tree")


def all_pairs_shortest_path_length(
    G: ConvertedGraph, cutoff: float | None = None
) -> Iterator[tuple[Node, Lengths]]:
    """Yield the numbers of edges from each node, the nearest first."""
    rows = _rows(G.weighted(None), levels_of(cutoff))
    return ((G.nodes[row.source], row.lengths(G)) for row in rows)


def all_pairs_dijkstra_path_length(
    G: ConvertedGraph, cutoff: float | None = None, weight: Node | None = "weight"
) -> Iterator[tuple[Node, Lengths]]:
    """Yield the distances from each node, the nearest first."""
    rows = _rows(G.weighted(weight), cutoff)
    return ((G.nodes[row.source], row.lengths(G)) for row in rows)


def all_pairs_bellman_ford_path_length(
    G: ConvertedGraph, weight: Node | None = "weight"
) -> Iterator[tuple[Node, Lengths]]:
    """Yield the distances from each node, the nearest first; weights may be negative."""
    return all_pairs_dijkstra_path_length(G, None, weight)


def all_pairs_shortest_path(
    G: ConvertedGraph, cutoff: float | None = None
) -> Iterator[tuple[Node, Paths]]:
    """Yield the paths with the fewest edges from each node."""
    rows = _rows(G.weighted(None), levels_of(cutoff), predecessors=True)
    return ((G.nodes[row.source], row.paths(G)) for row in rows)


def all_pairs_dijkstra_path(
    G: ConvertedGraph, cutoff: float | None = None, weight: Node | None = "weight"
) -> Iterator[tuple[Node, Paths]]:
    """Yield the shortest paths from each node."""
    rows = _rows(G.weighted(weight), cutoff, predecessors=True)
    return ((G.nodes[row.source], row.paths(G)) for row in rows)


def all_pairs_dijkstra(
    G: ConvertedGraph, cutoff: float | None = None, weight: Node | None = "weight"
) -> Iterator[tuple[Node, tuple[Lengths, Paths]]]:
    """Yield distances and shortest paths from each node."""
    rows = _rows(G.weighted(weight), cutoff, predecessors=True)
    return ((G.nodes[row.source], (row.lengths(G), row.paths(G))) for row in rows)


def all_pairs_bellman_ford_path(
    G: ConvertedGraph, weight: Node | None = "weight"
) -> Iterator[tuple[Node, Paths]]:
    """Yield the shortest paths from each node; weights may be negative."""
    return all_pairs_dijkstra_path(G, None, weight)


def johnson(G: ConvertedGraph, weight: Node | None = "weight") -> dict[Node, Paths]:
    """Return the shortest paths between all nodes; weights may be negative."""
    return dict(all_pairs_dijkstra_path(G, None, weight))


def floyd_warshall(
    G: ConvertedGraph, weight: Node | None = "weight"
) -> dict[Node, defaultdict[Node, float]]:
    """Return the distances between all nodes, inf where there is no path."""
    return _distances(G, _solved(G, weight))


def floyd_warshall_predecessor_and_distance(
    G: ConvertedGraph, weight: Node | None = "weight"
) -> tuple[dict[Node, dict[Node, Node]], dict[Node, defaultdict[Node, float]]]:
    """Return the predecessor of each node on a shortest path from each, and the distances."""
    result = _solved(G, weight, predecessors=True)
    assert result.predecessors is not None
    tails, heads, _ = G.weighted(weight).arcs()
    loops = set(tails[tails == heads].tolist())
    predecessors_of: dict[Node, dict[Node, Node]] = {}
    for source, row in enumerate(result.predecessors):
        last_nodes = {G.nodes[v]: G.nodes[last] for v, last in enumerate(row.tolist()) if last >= 0}
        if source in loops:  # in NetworkX a node with a loop is its own predecessor
            last_nodes[G.nodes[source]] = G.nodes[source]
        if last_nodes:
            predecessors_of[G.nodes[source]] = last_nodes
    return predecessors_of, _distances(G, result)


def floyd_warshall_numpy(
    G: ConvertedGraph, nodelist: list[Node] | None = None, weight: Node | None = "weight"
) -> np.ndarray:
    """Return the matrix of distances, inf where there is no path, in the order of a list."""
    if nodelist is not None:
        if not len(nodelist) == len(G) == len(set(nodelist)):
            raise nx.NetworkXError("nodelist must contain every node in G with no repeats.")
        if missing := set(nodelist) - set(G):
            raise nx.NetworkXError(f"Nodes {missing} in nodelist is not in G")
    with networkx_errors():
        result = solve(G.weighted(weight), dtype=np.float64, device=device())
    if nodelist is None:
        return result.distances
    order = np.array([G.rows[node] for node in nodelist], np.int64)
    return result.distances[np.ix_(order, order)]


def _rows(
    graph: Graph, cutoff: float | None = None, *, predecessors: bool = False
) -> Iterator[Row]:
    """Return the search from each vertex; errors are raised before the first one."""
    with networkx_errors():
        blocks = row_blocks(
            graph, cutoff=cutoff, dtype=dtype_of(graph), predecessors=predecessors, device=device()
        )
        first = list(islice(blocks, 1))
    return (row for block in chain(first, blocks) for row in rows_of(block))


def _solved(G: ConvertedGraph, weight: Node | None, *, predecessors: bool = False) -> Result:
    graph = G.weighted(weight)
    whole = _ONE_IS_WHOLE or (weight is not None and G.complete)
    dtype = dtype_of(graph) if whole else np.float64
    with networkx_errors():
        return solve(graph, dtype=dtype, predecessors=predecessors, device=device())


def _distances(G: ConvertedGraph, result: Result) -> dict[Node, defaultdict[Node, float]]:
    distances, infinity = {}, result.infinity
    for source, row in enumerate(result.distances):
        values = row.tolist()
        if infinity != math.inf:
            values = [math.inf if value == infinity else value for value in values]
        values[source] = 0
        distances[G.nodes[source]] = defaultdict(_infinity, zip(G.nodes, values, strict=True))
    return distances


def _infinity() -> float:
    return math.inf
