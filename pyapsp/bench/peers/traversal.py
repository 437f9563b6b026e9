"""Packages that search from a source, find components, or list the owners of entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyapsp.bench.peers.all_pairs import (
    dijkstra,
    igraph_distances,
    networkit_distances,
    rows_of,
)
from pyapsp.bench.peers.peer import Peer, Prepared, networkit_graph
from pyapsp.graph import Graph
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathOptions, Rows
from pyapsp.traversal.components.component_methods import Labels, numbered
from pyapsp.traversal.partitioning.offsets import Offsets
from pyapsp.traversal.partitioning.technique import Owners

__all__ = ["PEERS"]


def _scipy_bfs(graph: Graph, options: PathOptions) -> Prepared:
    from scipy.sparse.csgraph import breadth_first_order

    matrix, sources = graph.to_scipy(), options.rows(graph.n).tolist()

    def levels(found: list[tuple[np.ndarray, np.ndarray]]) -> Rows:
        rows = np.full((len(found), graph.n), infinity(np.dtype(np.int32)), np.int32)
        for row, (order, before) in zip(rows, found, strict=True):
            row[order[0]] = 0
            for vertex in order[1:]:
                row[vertex] = row[before[vertex]] + 1
        return rows_of(rows)

    return lambda: [breadth_first_order(matrix, source) for source in sources], levels


def _igraph_bfs(graph: Graph, options: PathOptions) -> Prepared:
    prepared, sources = graph.to_igraph(), options.rows(graph.n).tolist()
    return (
        lambda: prepared.distances(source=sources),
        lambda found: _levels(np.array(found, float)),
    )


def _networkit_bfs(graph: Graph, options: PathOptions) -> Prepared:
    import networkit

    prepared, sources = networkit_graph(graph, weighted=False), options.rows(graph.n).tolist()

    def call() -> list[Any]:
        return [networkit.distance.BFS(prepared, source, False).run() for source in sources]

    def levels(found: list[Any]) -> Rows:
        rows = np.array([search.getDistances() for search in found])
        return _levels(np.where(rows < np.finfo(np.float64).max, rows, np.inf))

    return call, levels


def _levels(steps: np.ndarray) -> Rows:
    """Return levels from numbers of steps, which are inf where there is no path."""
    unreached = infinity(np.dtype(np.int32))
    return rows_of(np.where(np.isfinite(steps), steps, unreached).astype(np.int32))


def _scipy_scc(graph: Graph, options: Any) -> Prepared:
    from scipy.sparse.csgraph import connected_components

    matrix = graph.to_scipy()
    return (
        lambda: connected_components(matrix, connection="strong"),
        lambda found: _labels(found[1]),
    )


def _igraph_scc(graph: Graph, options: Any) -> Prepared:
    prepared = graph.to_igraph()
    return (
        lambda: prepared.connected_components(mode="strong"),
        lambda found: _labels(found.membership),
    )


def _networkit_scc(graph: Graph, options: Any) -> Prepared:
    import networkit

    prepared = networkit_graph(graph, weighted=False)

    def call() -> Any:
        return networkit.components.StronglyConnectedComponents(prepared).run()

    return call, lambda found: _labels(found.getPartition().getVector())


def _labels(found: Any) -> Labels:
    return Labels(labels=numbered(np.asarray(found)))


def _scipy_rows(given: Offsets, options: Any) -> Prepared:
    """Prepare the conversion of a matrix from rows to a list: it makes the row of each entry."""
    from scipy.sparse import csr_array

    entries = np.ones(given.units, np.int8), np.zeros(given.units, np.int32), given.values
    matrix = csr_array(entries, shape=(given.n, 1))
    return (lambda: matrix.tocoo(copy=False), lambda found: Owners(owners=found.row))


PEERS = (
    Peer("scipy", "int32", "csgraph.breadth_first_order", _scipy_bfs, problem="bfs", some=True),
    Peer("igraph", "int32", "Graph.distances", _igraph_bfs, problem="bfs", some=True),
    Peer("networkit", "int32", "distance.BFS", _networkit_bfs, problem="bfs", some=True),
    Peer("scipy", "float64", "csgraph.dijkstra", dijkstra, problem="sssp", some=True),
    Peer("igraph", "float64", "Graph.distances", igraph_distances, problem="sssp", some=True),
    Peer("networkit", "float64", "distance.SPSP", networkit_distances, problem="sssp", some=True),
    Peer("scipy", "int32", "csgraph.connected_components", _scipy_scc, problem="scc"),
    Peer("igraph", "int32", "Graph.connected_components", _igraph_scc, problem="scc"),
    Peer("networkit", "int32", "StronglyConnectedComponents", _networkit_scc, problem="scc"),
    Peer("scipy", "int32", "csr_array.tocoo", _scipy_rows, problem="partition"),
)
