"""Packages that search from a source, find components, or list the owners of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pyapsp.bench.peers.all_pairs import dijkstra, igraph_distances, networkit_distances, rows_of
from pyapsp.bench.peers.peer import Peer, Prepared, networkit_graph
from pyapsp.graph import Graph
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathOptions, Rows
from pyapsp.registry import Options
from pyapsp.traversal.components.component_methods import Labels, numbered
from pyapsp.traversal.partitioning.offsets import Offsets
from pyapsp.traversal.partitioning.technique import Owners

if TYPE_CHECKING:
    import networkit

__all__ = ["PEERS"]


def _scipy_bfs(graph: Graph, options: PathOptions) -> Prepared:
    from scipy.sparse.csgraph import breadth_first_order

    matrix, sources = graph.to_scipy(), options.rows(graph.n).tolist()

    def levels(orders: list[tuple[np.ndarray, np.ndarray]]) -> Rows:
        rows = np.full((len(orders), graph.n), infinity(np.dtype(np.int32)), np.int32)
        for row, (order, before) in zip(rows, orders, strict=True):
            row[order[0]] = 0
            for vertex in order[1:]:
                row[vertex] = row[before[vertex]] + 1
        return rows_of(rows)

    return lambda: [breadth_first_order(matrix, source) for source in sources], levels


def _igraph_bfs(graph: Graph, options: PathOptions) -> Prepared:
    prepared, sources = graph.to_igraph(), options.rows(graph.n).tolist()
    return (
        lambda: prepared.distances(source=sources),
        lambda steps: _levels(np.array(steps, float)),
    )


def _networkit_bfs(graph: Graph, options: PathOptions) -> Prepared:
    import networkit

    prepared, sources = networkit_graph(graph, weighted=False), options.rows(graph.n).tolist()

    def call() -> list[networkit.distance.BFS]:
        return [networkit.distance.BFS(prepared, source, False).run() for source in sources]

    def levels(searches: list[networkit.distance.BFS]) -> Rows:
        rows = np.array([search.getDistances() for search in searches])
        return _levels(np.where(rows < np.finfo(np.float64).max, rows, np.inf))

    return call, levels


def _levels(steps: np.ndarray) -> Rows:
    """Return levels from numbers of steps, which are inf where there is no path."""
    unreached = infinity(np.dtype(np.int32))
    return rows_of(np.where(np.isfinite(steps), steps, unreached).astype(np.int32))


def _scipy_scc(graph: Graph, options: Options) -> Prepared:
    from scipy.sparse.csgraph import connected_components

    matrix = graph.to_scipy()
    return (
        lambda: connected_components(matrix, connection="strong"),
        lambda answer: _labels(answer[1]),
    )


def _igraph_scc(graph: Graph, options: Options) -> Prepared:
    prepared = graph.to_igraph()
    return (
        lambda: prepared.connected_components(mode="strong"),
        lambda components: _labels(components.membership),
    )


def _networkit_scc(graph: Graph, options: Options) -> Prepared:
    import networkit

    prepared = networkit_graph(graph, weighted=False)
    return (
        lambda: networkit.components.StronglyConnectedComponents(prepared).run(),
        lambda components: _labels(components.getPartition().getVector()),
    )


def _labels(labels: ArrayLike) -> Labels:
    return Labels(labels=numbered(np.asarray(labels)))


def _scipy_rows(offsets: Offsets, options: Options) -> Prepared:
    """Prepare the conversion of a matrix from rows to a list: it makes the row of each entry."""
    from scipy.sparse import csr_array

    entries = np.ones(offsets.units, np.int8), np.zeros(offsets.units, np.int32), offsets.values
    matrix = csr_array(entries, shape=(offsets.n, 1))
    return (lambda: matrix.tocoo(copy=False), lambda entries: Owners(owners=entries.row))


PEERS = (
    Peer(
        "scipy",
        "int32",
        "scipy.sparse.csgraph.breadth_first_order",
        _scipy_bfs,
        problem="bfs",
        some=True,
    ),
    Peer("igraph", "int32", "igraph.Graph.distances", _igraph_bfs, problem="bfs", some=True),
    Peer("networkit", "int32", "networkit.distance.BFS", _networkit_bfs, problem="bfs", some=True),
    Peer(
        "scipy",
        "float64",
        "scipy.sparse.csgraph.dijkstra",
        dijkstra,
        problem="sssp",
        some=True,
        non_negative=True,
    ),
    Peer(
        "igraph", "float64", "igraph.Graph.distances", igraph_distances, problem="sssp", some=True
    ),
    Peer(
        "networkit",
        "float64",
        "networkit.distance.SPSP",
        networkit_distances,
        problem="sssp",
        some=True,
        non_negative=True,
    ),
    Peer("scipy", "int32", "scipy.sparse.csgraph.connected_components", _scipy_scc, problem="scc"),
    Peer("igraph", "int32", "igraph.Graph.connected_components", _igraph_scc, problem="scc"),
    Peer(
        "networkit",
        "int32",
        "networkit.components.StronglyConnectedComponents",
        _networkit_scc,
        problem="scc",
    ),
    Peer("scipy", "int32", "scipy.sparse.csr_array.tocoo", _scipy_rows, problem="partition"),
)
