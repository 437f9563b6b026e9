"""Other packages that solve the same problems, for comparison if they are installed.

Each is called as its documentation recommends, with the input in its own form. The time to convert
the input to that form is not counted, nor is the time to make a `Graph` for our methods.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from pyapsp.errors import ParameterError
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions, Rows
from pyapsp.precision import infinity
from pyapsp.registry import Check
from pyapsp.traversal.component_methods import Labels, numbered
from pyapsp.traversal.partitioning.offsets import Offsets
from pyapsp.traversal.partitioning.technique import Owners
from pyapsp.trusses.counts import Counts
from pyapsp.trusses.decomposition import Trussness
from pyapsp.trusses.products import adjacency, triangles_by_products, trussness_by_products
from pyapsp.trusses.simple import edges
from pyapsp.verify import spread

__all__ = ["PEERS", "Peer", "installed", "peer"]

# Number of rows of a product that are checked.
_PRODUCT_ROWS = 8
# A call, and a function that makes an answer from its result.
_Prepared = tuple[Callable[[], Any], Callable[[Any], Any]]


@dataclass(frozen=True)
class Peer:
    """A package to compare with.

    Attributes
    ----------
    name : str
        Its name in tables.
    dtype : str
        The number type in which it computes.
    calls : str
        The name of the function, for tables.
    prepare : callable
        Takes an input and the options of a request; returns the call to be timed, and a function
        that makes an `Answer` from its result.
    problem : str
        The id of the problem that it solves.
    what : {"answer", "product"}
        What a call computes: the answer, or one min-plus product of two n x n matrices.
        Floyd-Warshall needs at least as many updates as the product.
    package : str
        Its name on PyPI. Default: `name`.
    some : bool
        Whether it can compute only the rows of some sources.
    unweighted : bool
        Whether it counts arcs, so that all weights must be 1.
    oracle : callable or None
        A function like `Problem.oracle`, if a call computes something other than the answer.
    """

    name: str
    dtype: str
    calls: str
    prepare: Callable[[Any, Any], _Prepared]
    problem: str = "all-pairs"
    what: str = "answer"
    package: str = ""
    some: bool = False
    unweighted: bool = False
    oracle: Callable[[Any, Any], Callable[[Any], Check]] | None = None

    @property
    def version(self) -> str | None:
        """The installed version; None if it is not installed."""
        try:
            return version(self.package or self.name)
        except PackageNotFoundError:
            return None

    def unfit(self, graph: Graph, options: Any) -> str | None:
        """Return why it cannot run on this input; None if it can."""
        if self.version is None:
            return "not installed"
        if graph.n == 0:
            return "nothing to do"
        if getattr(options, "sources", None) is not None and not self.some:
            return "computes all rows"
        if self.unweighted and not graph.is_unweighted:
            return "counts arcs"
        return None


def _rows(distances: Any) -> Rows:
    return Rows(np.asarray(distances), None)


def _scipy(graph: Graph, options: PathOptions) -> _Prepared:
    from scipy.sparse.csgraph import shortest_path

    matrix = graph.to_scipy().astype(np.float64)
    unweighted = graph.is_unweighted
    return (
        # without a method, SciPy chooses the one that it expects to be fastest
        lambda: shortest_path(
            matrix,
            indices=options.sources,
            return_predecessors=options.predecessors,
            unweighted=unweighted,
        ),
        lambda answer: _rows(answer[0] if options.predecessors else answer),
    )


def _floyd_warshall(graph: Graph, options: PathOptions) -> _Prepared:
    from scipy.sparse.csgraph import floyd_warshall

    # sparse, so that arcs of weight zero stay arcs
    matrix = graph.to_scipy().astype(np.float64)
    return (
        lambda: floyd_warshall(matrix, return_predecessors=options.predecessors),
        lambda answer: _rows(answer[0] if options.predecessors else answer),
    )


def _product(graph: Graph, options: PathOptions) -> Callable[[Rows], Check]:
    """Compare some rows of the product of the matrix with itself with those of NumPy."""
    matrix, rows = _start(graph, np.float32), spread(graph.n, _PRODUCT_ROWS)
    expected = np.array([(matrix[row, :, None] + matrix).min(axis=0) for row in rows])

    def check(answer: Rows) -> Check:
        ok = np.array_equal(answer.distances[rows], expected)
        return Check(ok, None if ok else "the product differs", "NumPy, some rows")

    return check


def _rustworkx(graph: Graph, options: PathOptions) -> _Prepared:
    import rustworkx

    prepared = rustworkx.PyDiGraph.from_adjacency_matrix(graph.to_dense(), null_value=np.inf)
    return lambda: rustworkx.digraph_floyd_warshall_numpy(prepared, weight_fn=float), _rows


def _tropical_gemm(graph: Graph, options: PathOptions) -> _Prepared:
    import tropical_gemm

    matrix = _start(graph, np.float32)
    return (
        lambda: tropical_gemm.minplus_matmul(matrix, matrix),
        lambda flat: _rows(np.asarray(flat).reshape(matrix.shape)),
    )


def _igraph(graph: Graph, options: PathOptions) -> _Prepared:
    prepared = graph.to_igraph()
    weights = None if graph.is_unweighted else "weight"
    rows = None if options.sources is None else options.sources.tolist()
    return (
        lambda: prepared.distances(source=rows, weights=weights),
        lambda answer: _rows(np.array(answer, float)),
    )


def _dijkstra(graph: Graph, options: PathOptions) -> _Prepared:
    from scipy.sparse.csgraph import dijkstra

    matrix = graph.to_scipy().astype(np.float64)
    unweighted = graph.is_unweighted
    return (
        lambda: dijkstra(
            matrix,
            indices=options.sources,
            return_predecessors=options.predecessors,
            unweighted=unweighted,
        ),
        lambda answer: _rows(answer[0] if options.predecessors else answer),
    )


def _networkit(graph: Graph, options: PathOptions) -> _Prepared:
    import networkit

    prepared = _for_networkit(graph, weighted=not graph.is_unweighted)

    def call() -> Any:
        if options.sources is None:
            search = networkit.distance.APSP(prepared)
        else:
            search = networkit.distance.SPSP(prepared, options.sources.tolist())
        return search.run()

    def distances(search: Any) -> Rows:
        rows = np.array(search.getDistances(asarray=True))
        return _rows(np.where(rows < np.finfo(np.float64).max, rows, np.inf))

    return call, distances


def _for_networkit(graph: Graph, *, weighted: bool) -> Any:
    import networkit

    tails, heads, weights = graph.arcs()
    arcs = weights.astype(np.float64), (tails.astype(np.uint64), heads.astype(np.uint64))
    return networkit.GraphFromCoo(arcs, n=graph.n, weighted=weighted, directed=True)


def _distance_matrix(graph: Graph, options: PathOptions) -> _Prepared:
    import rustworkx

    tails, heads, _ = graph.arcs()
    prepared = rustworkx.PyDiGraph()
    prepared.add_nodes_from(range(graph.n))
    prepared.add_edges_from_no_data(list(zip(tails.tolist(), heads.tolist(), strict=True)))
    return lambda: rustworkx.distance_matrix(prepared, null_value=np.inf), _rows


def _numba(graph: Graph, options: PathOptions) -> _Prepared:
    import numba

    tile = 64

    def update(d: Any, i0: int, j0: int, k0: int, n: int) -> None:
        # update one tile with one pivot tile; slices, so that the innermost loop is vectorized
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

    return call, _rows


def _start(graph: Graph, dtype: Any) -> np.ndarray:
    """Return the initial matrix: weights, inf where there is no arc, 0 on the diagonal."""
    matrix = graph.to_dense(dtype)
    np.fill_diagonal(matrix, 0)
    return matrix


def _scipy_bfs(graph: Graph, options: PathOptions) -> _Prepared:
    from scipy.sparse.csgraph import breadth_first_order

    matrix, sources = graph.to_scipy(), options.rows(graph.n).tolist()

    def levels(found: list[tuple[np.ndarray, np.ndarray]]) -> Rows:
        rows = np.full((len(found), graph.n), infinity(np.dtype(np.int32)), np.int32)
        for row, (order, before) in zip(rows, found, strict=True):
            row[order[0]] = 0
            for vertex in order[1:]:
                row[vertex] = row[before[vertex]] + 1
        return _rows(rows)

    return lambda: [breadth_first_order(matrix, source) for source in sources], levels


def _igraph_bfs(graph: Graph, options: PathOptions) -> _Prepared:
    prepared, sources = graph.to_igraph(), options.rows(graph.n).tolist()
    return (
        lambda: prepared.distances(source=sources),
        lambda found: _levels(np.array(found, float)),
    )


def _networkit_bfs(graph: Graph, options: PathOptions) -> _Prepared:
    import networkit

    prepared, sources = _for_networkit(graph, weighted=False), options.rows(graph.n).tolist()

    def call() -> list[Any]:
        return [networkit.distance.BFS(prepared, source, False).run() for source in sources]

    def levels(found: list[Any]) -> Rows:
        rows = np.array([search.getDistances() for search in found])
        return _levels(np.where(rows < np.finfo(np.float64).max, rows, np.inf))

    return call, levels


def _levels(steps: np.ndarray) -> Rows:
    """Return levels from numbers of steps, which are inf where there is no path."""
    unreached = infinity(np.dtype(np.int32))
    return _rows(np.where(np.isfinite(steps), steps, unreached).astype(np.int32))


def _labels(found: Any) -> Labels:
    return Labels(labels=numbered(np.asarray(found)))


def _scipy_scc(graph: Graph, options: Any) -> _Prepared:
    from scipy.sparse.csgraph import connected_components

    matrix = graph.to_scipy()
    return (
        lambda: connected_components(matrix, connection="strong"),
        lambda found: _labels(found[1]),
    )


def _scipy_rows(given: Offsets, options: Any) -> _Prepared:
    """Prepare the conversion of a matrix from rows to a list: it makes the row of each entry."""
    from scipy.sparse import csr_array

    entries = np.ones(given.units, np.int8), np.zeros(given.units, np.int32), given.values
    matrix = csr_array(entries, shape=(given.n, 1))
    return (lambda: matrix.tocoo(copy=False), lambda found: Owners(owners=found.row))


def _scipy_triangles(graph: Graph, options: Any) -> _Prepared:
    matrix = adjacency(graph)
    return lambda: triangles_by_products(matrix), _counts


def _igraph_triangles(graph: Graph, options: Any) -> _Prepared:
    prepared = graph.to_igraph().simplify()

    def counts(found: Any) -> Counts:
        corners = np.array(found, np.int64).reshape(-1)
        return _counts(np.bincount(corners, minlength=graph.n))

    return prepared.list_triangles, counts


def _networkit_triangles(graph: Graph, options: Any) -> _Prepared:
    import networkit

    (tails, heads, _), chosen = graph.arcs(), edges(graph)
    ends = tails[chosen].astype(np.uint64), heads[chosen].astype(np.uint64)
    arcs = np.ones(ends[0].size), ends
    prepared = networkit.GraphFromCoo(arcs, n=graph.n, weighted=False, directed=False)
    degrees = np.bincount(np.concatenate(ends).astype(np.int64), minlength=graph.n)

    def call() -> Any:
        return networkit.centrality.LocalClusteringCoefficient(prepared, turbo=True).run()

    def counts(found: Any) -> Counts:
        pairs = np.array(found.scores()) * (degrees * (degrees - 1) / 2)
        return _counts(np.rint(pairs).astype(np.int64))

    return call, counts


def _counts(of_vertices: np.ndarray) -> Counts:
    return Counts(total=int(of_vertices.sum()) // 3, per_vertex=of_vertices)


def _scipy_truss(graph: Graph, options: Any) -> _Prepared:
    matrix = adjacency(graph)
    return (
        lambda: trussness_by_products(graph, matrix, options.k),
        lambda found: Trussness(values=found),
    )


def _networkx_truss(graph: Graph, options: Any) -> _Prepared:
    import networkx as nx

    (tails, heads, _), chosen = graph.arcs(), edges(graph)
    tails, heads = tails[chosen].astype(np.int64), heads[chosen].astype(np.int64)
    prepared = nx.Graph()
    prepared.add_edges_from(zip(tails.tolist(), heads.tolist(), strict=True))

    def call() -> list[tuple[int, list[tuple[int, int]]]]:
        found, left = [], prepared
        for k in itertools.count(3) if options.k is None else (options.k,):
            left = nx.k_truss(left, k)  # trusses are nested
            if not left.size():
                break
            found.append((k, list(left.edges)))
        return found

    def answer(found: list[tuple[int, list[tuple[int, int]]]]) -> Trussness:
        places = tails * graph.n + heads
        values = np.full(places.size, 2 if options.k in (None, 2) else 0, np.int32)
        for k, ends in found:
            low, high = np.sort(np.array(ends, np.int64)).T
            values[np.searchsorted(places, low * graph.n + high)] = k
        return Trussness(values=values)

    return call, answer


def _igraph_scc(graph: Graph, options: Any) -> _Prepared:
    prepared = graph.to_igraph()
    return (
        lambda: prepared.connected_components(mode="strong"),
        lambda found: _labels(found.membership),
    )


def _networkit_scc(graph: Graph, options: Any) -> _Prepared:
    import networkit

    prepared = _for_networkit(graph, weighted=False)

    def call() -> Any:
        return networkit.components.StronglyConnectedComponents(prepared).run()

    return call, lambda found: _labels(found.getPartition().getVector())


PEERS = (
    Peer("scipy", "float64", "csgraph.shortest_path", _scipy, some=True),
    Peer(
        "scipy-floyd-warshall",
        "float64",
        "csgraph.floyd_warshall",
        _floyd_warshall,
        package="scipy",
    ),
    Peer("rustworkx", "float64", "digraph_floyd_warshall_numpy", _rustworkx),
    Peer(
        "tropical-gemm",
        "float32",
        "minplus_matmul",
        _tropical_gemm,
        what="product",
        oracle=_product,
    ),
    Peer("numba", "float32", "a tiled Floyd-Warshall of 20 lines", _numba),
    Peer("igraph", "float64", "Graph.distances", _igraph, some=True),
    Peer("scipy-dijkstra", "float64", "csgraph.dijkstra", _dijkstra, package="scipy", some=True),
    Peer("networkit", "float64", "distance.APSP and SPSP", _networkit, some=True),
    Peer(
        "rustworkx-bfs",
        "float64",
        "distance_matrix",
        _distance_matrix,
        package="rustworkx",
        unweighted=True,
    ),
    Peer("scipy", "int32", "csgraph.breadth_first_order", _scipy_bfs, problem="bfs", some=True),
    Peer("igraph", "int32", "Graph.distances", _igraph_bfs, problem="bfs", some=True),
    Peer("networkit", "int32", "distance.BFS", _networkit_bfs, problem="bfs", some=True),
    Peer("scipy", "float64", "csgraph.dijkstra", _dijkstra, problem="sssp", some=True),
    Peer("igraph", "float64", "Graph.distances", _igraph, problem="sssp", some=True),
    Peer("networkit", "float64", "distance.SPSP", _networkit, problem="sssp", some=True),
    Peer("scipy", "int32", "csgraph.connected_components", _scipy_scc, problem="scc"),
    Peer("igraph", "int32", "Graph.connected_components", _igraph_scc, problem="scc"),
    Peer("networkit", "int32", "StronglyConnectedComponents", _networkit_scc, problem="scc"),
    Peer("scipy", "int64", "csr_array products", _scipy_triangles, problem="triangles"),
    Peer("igraph", "int64", "Graph.list_triangles", _igraph_triangles, problem="triangles"),
    Peer(
        "networkit",
        "int64",
        "centrality.LocalClusteringCoefficient",
        _networkit_triangles,
        problem="triangles",
    ),
    Peer("scipy", "int32", "csr_array products", _scipy_truss, problem="truss"),
    Peer("networkx", "int32", "k_truss for every k", _networkx_truss, problem="truss"),
    Peer("scipy", "int32", "csr_array.tocoo", _scipy_rows, problem="partition"),
)


def peer(problem: str, name: str) -> Peer:
    """Return the peer of this name for a problem.

    Raises
    ------
    ParameterError
        If there is none.
    """
    found = [each for each in PEERS if each.problem == problem]
    for each in found:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in found) or "none"
    raise ParameterError.of("peers", "bench", f"some of {known}", name)


def installed() -> tuple[Peer, ...]:
    """Return the peers that are installed here."""
    return tuple(each for each in PEERS if each.version is not None)
