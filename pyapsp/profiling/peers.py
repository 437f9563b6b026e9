"""Other packages that compute all-pairs shortest paths, to be timed beside ours where installed.

Each is called as its own documentation says, on a graph in the form it wants: making that form is
not counted, since ours is not either until `pyapsp.solve` is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from pyapsp.errors import ParameterError
from pyapsp.graph import Graph

__all__ = ["PEERS", "Peer", "installed", "peer"]

# A call that computes distances, and how to get them from what it returned as an array.
_Prepared = tuple[Callable[[], Any], Callable[[Any], np.ndarray]]


@dataclass(frozen=True)
class Peer:
    """A package to compare with.

    Attributes
    ----------
    name : str
        What it is called in tables.
    what : {"distances", "product"}
        What a call computes: all distances, or one min-plus product of two n x n matrices.
        Floyd-Warshall takes at least as many updates as the product.
    dtype : str
        What it computes in.
    calls : str
        The function, for tables.
    prepare : callable
        Makes of a graph, and whether predecessors are wanted, what is to be timed; with `some`, of
        the sources as well, None for all.
    package : str
        Its name on PyPI; the same name unless given.
    predecessors : bool
        Whether it can give predecessors.
    some : bool
        Whether it can compute the rows of some sources alone.
    unweighted : bool
        Whether it counts arcs, so that all weights must be 1.
    """

    name: str
    what: str
    dtype: str
    calls: str
    prepare: Callable[..., _Prepared]
    package: str = ""
    predecessors: bool = False
    some: bool = False
    unweighted: bool = False

    @property
    def version(self) -> str | None:
        """The installed version, None if there is none."""
        try:
            return version(self.package or self.name)
        except PackageNotFoundError:
            return None


def _scipy(graph: Graph, predecessors: bool) -> _Prepared:
    from scipy.sparse.csgraph import floyd_warshall

    # sparse, so that arcs of weight zero stay arcs
    matrix = graph.to_scipy().astype(np.float64)
    return (
        lambda: floyd_warshall(matrix, return_predecessors=predecessors),
        lambda answer: answer[0] if predecessors else answer,
    )


def _rustworkx(graph: Graph, predecessors: bool) -> _Prepared:
    import rustworkx

    prepared = rustworkx.PyDiGraph.from_adjacency_matrix(graph.to_dense(), null_value=np.inf)
    return lambda: rustworkx.digraph_floyd_warshall_numpy(prepared, weight_fn=float), np.asarray


def _tropical_gemm(graph: Graph, predecessors: bool) -> _Prepared:
    import tropical_gemm

    matrix = _start(graph, np.float32)
    return (
        lambda: tropical_gemm.minplus_matmul(matrix, matrix),
        lambda flat: np.asarray(flat).reshape(matrix.shape),
    )


def _igraph(graph: Graph, predecessors: bool, sources: np.ndarray | None) -> _Prepared:
    prepared = graph.to_igraph()
    weights = None if graph.is_unweighted else "weight"
    rows = None if sources is None else sources.tolist()
    return (
        lambda: prepared.distances(source=rows, weights=weights),
        lambda answer: np.array(answer, float),
    )


def _dijkstra(graph: Graph, predecessors: bool, sources: np.ndarray | None) -> _Prepared:
    from scipy.sparse.csgraph import dijkstra

    matrix = graph.to_scipy().astype(np.float64)
    unweighted = graph.is_unweighted
    return (
        lambda: dijkstra(
            matrix, indices=sources, return_predecessors=predecessors, unweighted=unweighted
        ),
        lambda answer: answer[0] if predecessors else answer,
    )


def _networkit(graph: Graph, predecessors: bool, sources: np.ndarray | None) -> _Prepared:
    import networkit

    tails, heads, weights = graph.arcs()
    arcs = weights.astype(np.float64), (tails.astype(np.uint64), heads.astype(np.uint64))
    weighted = not graph.is_unweighted
    prepared = networkit.GraphFromCoo(arcs, n=graph.n, weighted=weighted, directed=True)

    def call() -> Any:
        if sources is None:
            search = networkit.distance.APSP(prepared)
        else:
            search = networkit.distance.SPSP(prepared, sources.tolist())
        return search.run()

    def distances(search: Any) -> np.ndarray:
        rows = np.array(search.getDistances(asarray=True))
        return np.where(rows < np.finfo(np.float64).max, rows, np.inf)

    return call, distances


def _distance_matrix(graph: Graph, predecessors: bool) -> _Prepared:
    import rustworkx

    tails, heads, _ = graph.arcs()
    prepared = rustworkx.PyDiGraph()
    prepared.add_nodes_from(range(graph.n))
    prepared.add_edges_from_no_data(list(zip(tails.tolist(), heads.tolist(), strict=True)))
    return lambda: rustworkx.distance_matrix(prepared, null_value=np.inf), np.asarray


def _numba(graph: Graph, predecessors: bool) -> _Prepared:
    import numba

    tile = 64

    def update(d: Any, i0: int, j0: int, k0: int, n: int) -> None:
        # one tile through the steps of one pivot tile; slices, so that the last loop is a vector's
        for k in range(k0, min(k0 + tile, n)):
            right = d[k, j0 : j0 + tile]
            for i in range(i0, min(i0 + tile, n)):
                row, through = d[i, j0 : j0 + tile], d[i, k]
                for j in range(row.size):
                    row[j] = min(row[j], through + right[j])

    step = numba.njit(fastmath={"nnan"})(update)

    def floyd_warshall(d: Any) -> None:
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

    return call, np.asarray


def _start(graph: Graph, dtype: Any) -> np.ndarray:
    """Return the matrix before the first step: weights, inf, 0 on the diagonal."""
    matrix = graph.to_dense(dtype)
    np.fill_diagonal(matrix, 0)
    return matrix


PEERS = (
    Peer("scipy", "distances", "float64", "csgraph.floyd_warshall", _scipy, predecessors=True),
    Peer("rustworkx", "distances", "float64", "digraph_floyd_warshall_numpy", _rustworkx),
    Peer("tropical-gemm", "product", "float32", "minplus_matmul", _tropical_gemm),
    Peer("numba", "distances", "float32", "a tiled Floyd-Warshall of 20 lines", _numba),
    Peer("igraph", "distances", "float64", "Graph.distances", _igraph, some=True),
    Peer(
        "scipy-dijkstra",
        "distances",
        "float64",
        "csgraph.dijkstra",
        _dijkstra,
        package="scipy",
        predecessors=True,
        some=True,
    ),
    Peer("networkit", "distances", "float64", "distance.APSP and SPSP", _networkit, some=True),
    Peer(
        "rustworkx-bfs",
        "distances",
        "float64",
        "distance_matrix",
        _distance_matrix,
        package="rustworkx",
        unweighted=True,
    ),
)


def peer(name: str) -> Peer:
    """Return the peer of this name.

    Raises
    ------
    ParameterError
        If there is none.
    """
    for each in PEERS:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in PEERS)
    raise ParameterError.of("peers", "bench", f"some of {known}", name)


def installed() -> tuple[Peer, ...]:
    """Return the peers that are installed here."""
    return tuple(each for each in PEERS if each.version is not None)
