"""Packages that find shortest paths between all pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from pyapsp.bench.peers.peer import Peer, Prepared, networkit_graph
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions, Rows
from pyapsp.paths.certificate import spread
from pyapsp.registry import Check

__all__ = ["PEERS", "dijkstra", "igraph_distances", "networkit_distances", "rows_of"]

# Number of rows of a product that are checked.
_PRODUCT_ROWS = 8


def _csgraph(name: str, graph: Graph, options: PathOptions) -> Prepared:
    from scipy.sparse import csgraph

    matrix = graph.to_scipy().astype(np.float64)
    search = getattr(csgraph, name)
    unweighted = graph.is_unweighted
    return (
        lambda: search(
            matrix,
            indices=options.sources,
            return_predecessors=options.predecessors,
            unweighted=unweighted,
        ),
        lambda answer: rows_of(answer[0] if options.predecessors else answer),
    )


#: The function without a method: SciPy chooses the one that it expects to be fastest.
_shortest_path = partial(_csgraph, "shortest_path")
dijkstra = partial(_csgraph, "dijkstra")


def _floyd_warshall(graph: Graph, options: PathOptions) -> Prepared:
    from scipy.sparse.csgraph import floyd_warshall

    # sparse, so that arcs of weight zero stay arcs
    matrix = graph.to_scipy().astype(np.float64)
    return (
        lambda: floyd_warshall(matrix, return_predecessors=options.predecessors),
        lambda answer: rows_of(answer[0] if options.predecessors else answer),
    )


def _product(graph: Graph, options: PathOptions) -> Callable[[Rows], Check]:
    """Compare some rows of the product of the matrix with itself with those of NumPy."""
    matrix, rows = _start(graph, np.float32), spread(graph.n, _PRODUCT_ROWS)
    expected = np.array([(matrix[row, :, None] + matrix).min(axis=0) for row in rows])

    def check(answer: Rows) -> Check:
        ok = np.array_equal(answer.distances[rows], expected)
        return Check(ok, None if ok else "the product differs", "NumPy, some rows")

    return check


def _rustworkx(graph: Graph, options: PathOptions) -> Prepared:
    import rustworkx

    prepared = rustworkx.PyDiGraph.from_adjacency_matrix(graph.to_dense(), null_value=np.inf)
    return lambda: rustworkx.digraph_floyd_warshall_numpy(prepared, weight_fn=float), rows_of


def _tropical_gemm(graph: Graph, options: PathOptions) -> Prepared:
    import tropical_gemm

    matrix = _start(graph, np.float32)
    return (
        lambda: tropical_gemm.minplus_matmul(matrix, matrix),
        lambda flat: rows_of(np.asarray(flat).reshape(matrix.shape)),
    )


def igraph_distances(graph: Graph, options: PathOptions) -> Prepared:
    """Prepare igraph's distances from some sources or all."""
    prepared = graph.to_igraph()
    weights = None if graph.is_unweighted else "weight"
    rows = None if options.sources is None else options.sources.tolist()
    return (
        lambda: prepared.distances(source=rows, weights=weights),
        lambda answer: rows_of(np.array(answer, float)),
    )


def networkit_distances(graph: Graph, options: PathOptions) -> Prepared:
    """Prepare NetworKit's distances from some sources or all."""
    import networkit

    prepared = networkit_graph(graph, weighted=not graph.is_unweighted)
    rows = None if options.sources is None else options.sources.tolist()

    def call() -> networkit.distance.APSP:
        apsp, spsp = networkit.distance.APSP, networkit.distance.SPSP
        return (apsp(prepared) if rows is None else spsp(prepared, rows)).run()

    def distances(search: networkit.distance.APSP) -> Rows:
        rows = np.array(search.getDistances(asarray=True))
        return rows_of(np.where(rows < np.finfo(np.float64).max, rows, np.inf))

    return call, distances


def _distance_matrix(graph: Graph, options: PathOptions) -> Prepared:
    import rustworkx

    tails, heads, _ = graph.arcs()
    prepared = rustworkx.PyDiGraph()
    prepared.add_nodes_from(range(graph.n))
    prepared.add_edges_from_no_data(list(zip(tails.tolist(), heads.tolist(), strict=True)))
    return lambda: rustworkx.distance_matrix(prepared, null_value=np.inf), rows_of


def _numba(graph: Graph, options: PathOptions) -> Prepared:
    import numba

    tile = 64

    def update(d: NDArray[np.float32], i0: int, j0: int, k0: int, n: int) -> None:
        # update one tile with one pivot tile; slices, so that the innermost loop is vectorized
        for k in range(k0, min(k0 + tile, n)):
            right = d[k, j0 : j0 + tile]
            for i in range(i0, min(i0 + tile, n)):
                row, through = d[i, j0 : j0 + tile], d[i, k]
                for j in range(row.size):
                    row[j] = min(row[j], through + right[j])

    step = numba.njit(fastmath={"nnan"})(update)

    def floyd_warshall(d: NDArray[np.float32]) -> None:
        n = d.shape[0]
        tiles = (n + tile - 1) // tile
        for pivot in range(tiles):
            step(d, pivot * tile, pivot * tile, pivot * tile, n)
            for other in numba.prange(tiles):
                if other != pivot:
                    step(d, pivot * tile, other * tile, pivot * tile, n)
                    step(d, other * tile, pivot * tile, pivot * tile, n)
            for place in numba.prange(tiles * tiles):
                if place // tiles != pivot and place % tiles != pivot:
                    step(d, place // tiles * tile, place % tiles * tile, pivot * tile, n)

    compiled = numba.njit(parallel=True)(floyd_warshall)
    matrix = _start(graph, np.float32)

    def call() -> np.ndarray:
        distances = matrix.copy()
        compiled(distances)
        return distances

    return call, rows_of


def _start(graph: Graph, dtype: DTypeLike) -> np.ndarray:
    """Return the initial matrix: weights, inf where there is no arc, 0 on the diagonal."""
    matrix = graph.to_dense(dtype)
    np.fill_diagonal(matrix, 0)
    return matrix


def rows_of(distances: ArrayLike) -> Rows:
    """Return distances as an answer."""
    return Rows(np.asarray(distances), None)


PEERS = (
    Peer("scipy", "float64", "scipy.sparse.csgraph.shortest_path", _shortest_path, some=True),
    Peer(
        "scipy-floyd-warshall",
        "float64",
        "scipy.sparse.csgraph.floyd_warshall",
        _floyd_warshall,
        package="scipy",
    ),
    Peer("rustworkx", "float64", "rustworkx.digraph_floyd_warshall_numpy", _rustworkx),
    Peer(
        "tropical-gemm",
        "float32",
        "tropical_gemm.minplus_matmul",
        _tropical_gemm,
        what="product",
        oracle=_product,
    ),
    Peer("numba", "float32", "a tiled Floyd-Warshall of 20 lines, compiled by numba", _numba),
    Peer("igraph", "float64", "igraph.Graph.distances", igraph_distances, some=True),
    Peer(
        "scipy-dijkstra",
        "float64",
        "scipy.sparse.csgraph.dijkstra",
        dijkstra,
        package="scipy",
        some=True,
        non_negative=True,
    ),
    Peer(
        "networkit",
        "float64",
        "networkit.distance.APSP or SPSP",
        networkit_distances,
        some=True,
        non_negative=True,
    ),
    Peer(
        "rustworkx-bfs",
        "float64",
        "rustworkx.distance_matrix",
        _distance_matrix,
        package="rustworkx",
        unweighted=True,
    ),
)
