"""Graphs from and to SciPy, NumPy, NetworkX, pandas and igraph."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import igraph
import networkx
import numpy as np
import pandas
import pytest
import scipy.sparse

from pyapsp import csgraph
from pyapsp.errors import (
    FormatError,
    GraphError,
    ParameterError,
    PrecisionError,
    PyApspError,
)
from pyapsp.graph import (
    Graph,
    as_graph,
    from_frame,
    from_igraph,
    from_networkx,
    from_scipy,
    generators,
    read,
    reweight,
    write,
)
from pyapsp.graph.frames import frame_of

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]
TWO = Graph.from_arcs(2, [0], [1])
DENSE = np.array([[0, 3, 0, 1.5], [0, 2, 0, 0], [-1, 0, 0, 0], [0, 0, 7, 0]])


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("layout", FORMATS)
def test_every_sparse_format(layout: str, kind: str) -> None:
    matrix = getattr(scipy.sparse, f"{layout}_{kind}")(DENSE)
    for graph in (from_scipy(matrix), as_graph(matrix)):
        assert graph == Graph.from_dense(DENSE)
    both = np.where(DENSE == 0, np.inf, DENSE)
    both = np.minimum(both, both.T)
    for graph in (from_scipy(matrix, directed=False), as_graph(matrix, directed=False)):
        np.testing.assert_array_equal(graph.to_dense(), both)
        assert not graph.directed


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "lil", "dok"])
def test_explicit_zeros_are_arcs(layout: str) -> None:
    entries = scipy.sparse.coo_array(([0, 5], ([0, 1], [1, 0])), shape=(2, 2))
    graph = from_scipy(entries.asformat(layout))
    assert [a.tolist() for a in graph.arcs()] == [[0, 1], [1, 0], [0, 5]]


def test_padding_zeros_are_no_arcs() -> None:
    block = scipy.sparse.bsr_array(DENSE, blocksize=(2, 2))
    assert block.data.size > np.count_nonzero(DENSE)
    assert from_scipy(block) == Graph.from_dense(DENSE)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_duplicate_entries_keep_the_minimum(layout: str) -> None:
    if layout == "coo":
        matrix = scipy.sparse.coo_array(([4, 2, 3], ([0, 0, 0], [1, 1, 1])), shape=(2, 2))
    else:
        kind = getattr(scipy.sparse, f"{layout}_array")
        matrix = kind(([4, 2, 3], [1, 1, 1], [0, 3, 3]), shape=(2, 2))
    graph = from_scipy(matrix)
    assert graph.m == 1
    assert graph.weights.tolist() == [2]


@pytest.mark.parametrize(
    "matrix",
    [
        scipy.sparse.coo_array((2, 3)),
        scipy.sparse.csr_array([[0, np.nan], [0, 0]]),
        scipy.sparse.csr_array([[0, 1j], [0, 0]]),
    ],
)
def test_bad_sparse_matrices(matrix: object) -> None:
    with pytest.raises(GraphError):
        from_scipy(matrix)


def damaged(layout: str, part: str, value: object) -> scipy.sparse.sparray:
    """Return a matrix of 4 x 4 whose array `part` was replaced or whose one number was set."""
    matrix = scipy.sparse.csr_array(np.kron(DENSE, np.ones((2, 2)))).asformat(layout)
    if isinstance(value, tuple):
        place, number = value
        getattr(matrix, part)[place] = number
    else:
        setattr(matrix, part, value(getattr(matrix, part)))
    return matrix


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("indptr", (1, 10**6), "indptr must rise"),
        ("indptr", (2, -1), "indptr must rise"),
        ("indptr", (0, 1), "indptr must rise"),
        ("indptr", (-1, 10**8), "indptr must rise"),
        ("indptr", lambda array: array[:-1], "indptr must have"),
        ("indptr", lambda array: array.astype(float), "indptr must be a one-dimensional"),
        ("indices", (0, 10**8), "and one is 100000000"),
        ("indices", (-1, -1), "and one is -1"),
        ("indices", lambda array: array.astype(np.uint16), "indices must be a one-dimensional"),
        ("indices", lambda array: array[:, None], "indices must be a one-dimensional"),
        ("indices", lambda array: array.tolist(), "indices must be a one-dimensional"),
        ("data", lambda array: array.tolist(), "must be an array, not list"),
        ("data", lambda array: array[:-1], "do not go with"),
        ("data", lambda array: array.reshape(-1, 1), "do not go with"),
    ],
)
@pytest.mark.parametrize("door", [from_scipy, csgraph.dijkstra, csgraph.floyd_warshall])
def test_wrong_index_arrays(
    door: Callable, layout: str, part: str, value: object, message: str
) -> None:
    """Each would have SciPy's conversions read or write outside of an array."""
    with pytest.raises(GraphError, match=message):
        door(damaged(layout, part, value))


def test_room_behind_the_last_row_is_no_fault() -> None:
    matrix = scipy.sparse.csr_array(DENSE)
    indices, data = np.append(matrix.indices, -7), np.append(matrix.data, np.nan)
    spare = scipy.sparse.csr_array(matrix)
    spare.indices, spare.data = indices, data
    assert from_scipy(spare) == Graph.from_dense(DENSE)
    assert spare.indices is indices
    assert spare.data is data


@pytest.mark.parametrize("door", [from_scipy, csgraph.dijkstra])
@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("offsets", lambda array: array[:1], "1 offsets do not go with diagonals"),
        ("offsets", lambda array: array + 0.5, "offsets must be a one-dimensional"),
        ("data", lambda array: array[0], "do not go with diagonals"),
    ],
)
def test_wrong_diagonals(door: Callable, part: str, value: object, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        door(damaged("dia", part, value))


def test_index_arrays_in_a_mapped_file(tmp_path: Path) -> None:
    matrix = scipy.sparse.csr_array(DENSE)
    mapped = np.memmap(tmp_path / "indices", np.int32, "w+", shape=matrix.indices.shape)
    mapped[:] = matrix.indices
    matrix.indices = mapped
    assert from_scipy(matrix) == Graph.from_dense(DENSE)


@pytest.mark.parametrize("make", [from_scipy, from_networkx, from_igraph, from_frame])
@pytest.mark.parametrize("source", [None, 3, DENSE, Graph.from_dense(DENSE), "graph.mtx"])
def test_an_object_of_another_library(make: Callable, source: object) -> None:
    with pytest.raises(GraphError, match=f"is wanted, not {type(source).__name__}"):
        make(source)


@pytest.mark.parametrize(
    ("name", "kept"), [("city", "city"), (3, "3"), (None, None), (("a", 1), "('a', 1)")]
)
def test_names_are_text(name: object, kept: str | None, tmp_path: Path) -> None:
    """A name must be text, as in records and files."""
    nodes, vertices = networkx.empty_graph(1), igraph.Graph(1)
    nodes.graph["name"] = vertices["name"] = name
    for graph in (as_graph(nodes), as_graph(vertices)):
        assert graph.name == kept
        write(graph, tmp_path / "graph.npz")
        assert read(tmp_path / "graph.npz").name == (kept or "graph")
    if not isinstance(name, str | None):
        with pytest.raises(GraphError, match="name of a graph must be text"):
            Graph.from_arcs(1, [], [], name=name)


@pytest.mark.parametrize("rows", [[(0, 1, 2.5), (1, 2, 3), (2, 0, 1)], ((0, 1), (1, 0))])
def test_tuples_that_may_be_arcs(rows: object) -> None:
    with pytest.raises(GraphError, match="these tuples may be arcs or the rows of a matrix"):
        as_graph(rows)
    listed = [list(row) for row in rows]
    assert as_graph(listed).m == as_graph(np.array(rows)).m == np.count_nonzero(listed)
    # SciPy takes them for a matrix
    assert csgraph.floyd_warshall(rows).shape == (len(rows), len(rows))


def test_wrong_lists_of_a_lil_matrix() -> None:
    for part, row, message in (
        ("rows", None, "must be lists"),
        ("rows", [1, 2, 0], "differ in length"),
        ("data", [1.0], "differ in length"),
        ("rows", [1, 99], "99"),
    ):
        matrix = scipy.sparse.lil_array(DENSE)
        getattr(matrix, part)[0] = row
        with pytest.raises(GraphError, match=message):
            from_scipy(matrix)


@pytest.mark.parametrize(
    "source",
    [DENSE, DENSE.tolist(), DENSE.view(np.matrix), np.ma.masked_equal(DENSE, 0)],
    ids=["array", "list", "matrix", "masked"],
)
def test_as_graph_of_dense(source: object) -> None:
    graph = as_graph(source)
    assert graph == Graph.from_dense(DENSE)


def test_as_graph_of_graphs_and_files(tmp_path: Path) -> None:
    graph = Graph.from_dense(DENSE)
    assert as_graph(graph) is graph
    assert as_graph(graph, directed=False) == graph.symmetrized()
    path = tmp_path / "graph.mtx"
    write(graph, path)
    assert as_graph(path) == as_graph(str(path)) == read(path)
    assert as_graph(path).content_hash == graph.content_hash
    with pytest.raises(FormatError, match="unknown suffix"):
        as_graph("graph.xyz")


@pytest.mark.parametrize(
    "source",
    [
        *(None, 3, {0: {1: 2}}, [[1, 2], [3]], [["a"]], np.zeros(3)),
        np.zeros((2, 2), [("weight", "f8"), ("length", "i4")]),
        np.zeros((2, 2), "m8[s]"),
        np.array([[0, None], [1, 0]], object),
    ],
)
def test_as_graph_refuses(source: object) -> None:
    with pytest.raises(GraphError):
        as_graph(source)


@pytest.mark.parametrize(
    "kind", [networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph]
)
def test_from_networkx(kind: type) -> None:
    source = kind(name="city")
    source.add_nodes_from(["z", (1, 2), 5, "alone"])
    source.add_edge("z", (1, 2), weight=4, cost=0.5)
    source.add_edge((1, 2), 5)
    if source.is_multigraph():
        source.add_edge("z", (1, 2), weight=3)
    graph = as_graph(source)
    assert graph == from_networkx(source)
    assert graph.name == "city"
    assert graph.directed == source.is_directed()
    assert graph.labels.tolist() == ["z", (1, 2), 5, "alone"]
    expected = np.full((4, 4), np.inf)
    expected[0, 1] = 3 if source.is_multigraph() else 4
    expected[1, 2] = 1
    if not graph.directed:
        expected = np.minimum(expected, expected.T)
    np.testing.assert_array_equal(graph.to_dense(), expected)
    assert from_networkx(source, weight="cost").min_weight == 0.5
    assert from_networkx(source, weight=None).is_unweighted


@pytest.mark.parametrize(
    "weight",
    [
        *("far", None, float("nan"), 1j, np.complex64(3 + 4j), np.complex128(3)),
        *(np.timedelta64(3, "s"), np.datetime64("2020-01-01"), 2**63 + 1, np.uint64(2**63 + 1)),
        np.longdouble(1) / 3,
    ],
)
@pytest.mark.parametrize("beside", [None, 1, 0.5])
def test_what_is_no_weight(weight: object, beside: float | None) -> None:
    """The weight is that of an edge of NetworkX or igraph, or is in a data frame."""
    ends = [(0, 1)] if beside is None else [(0, 1), (1, 2)]
    weights = [weight] if beside is None else [weight, beside]
    nodes = networkx.Graph()
    nodes.add_weighted_edges_from((*each, value) for each, value in zip(ends, weights, strict=True))
    vertices = igraph.Graph(3, ends, edge_attrs={"weight": weights})
    sources, targets = zip(*ends, strict=True)
    columns = {"source": sources, "target": targets}
    frame = pandas.DataFrame(columns | {"weight": pandas.Series(weights, dtype=object)})
    for source in (nodes, vertices, frame):
        with pytest.raises(GraphError, match="weight"):
            as_graph(source)


def test_integers_beside_fractions_are_exact() -> None:
    source = networkx.DiGraph()
    source.add_weighted_edges_from([(0, 1, 2**60), (1, 2, np.uint64(2**63)), (2, 0, 0.5)])
    assert from_networkx(source).weights.tolist() == [2.0**60, 2.0**63, 0.5]
    source.add_edge(0, 2, weight=np.int64(2**53 + 1))
    with pytest.raises(GraphError, match="edge number 1 does not fit into float64"):
        from_networkx(source)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("labels", [None, list("fabecd")])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_there_and_back(directed: bool, labels: list[str] | None, dtype: type) -> None:
    rng = np.random.default_rng(3)
    tails, heads = rng.integers(6, size=(2, 20))
    weights = rng.integers(-3, 9, 20).astype(dtype)
    graph = Graph.from_arcs(6, tails, heads, weights, directed=directed, labels=labels, name="six")
    for back in (as_graph(graph.to_networkx()), as_graph(graph.to_igraph())):
        assert back == graph
        assert back.name == "six"
    assert from_scipy(graph.to_scipy(), directed=directed).to_dense().tolist() == (
        graph.to_dense().tolist()
    )
    frame = graph.to_pandas()
    assert list(frame.columns) == ["source", "target", "weight"]
    back = from_frame(frame, directed=directed)
    order = np.argsort(labels) if labels else np.arange(6)
    assert back.to_dense().tolist() == graph.to_dense()[np.ix_(order, order)].tolist()
    assert back.dtype == graph.dtype


@pytest.mark.parametrize("n", [0, 3])
def test_empty_there_and_back(n: int) -> None:
    graph = Graph.from_arcs(n, [], [], directed=False)
    assert as_graph(graph.to_networkx()) == as_graph(graph.to_igraph()) == graph
    assert from_scipy(graph.to_scipy(), directed=False) == graph


def test_networkx_agrees_on_distances() -> None:
    graph = generators.small_world(20, seed=4)
    lengths = dict(networkx.all_pairs_dijkstra_path_length(graph.to_networkx()))
    expected = scipy.sparse.csgraph.shortest_path(graph.to_scipy())
    assert [[lengths[i][j] for j in range(20)] for i in range(20)] == expected.tolist()


def test_from_igraph() -> None:
    source = igraph.Graph(3, [(0, 1), (0, 1), (2, 0)], directed=True)
    assert as_graph(source) == Graph.from_arcs(3, [0, 2], [1, 0])
    source.es["weight"] = [3, 2, 5]
    source.vs["name"] = ["x", "y", "z"]
    graph = from_igraph(source)
    assert graph.weights.tolist() == [2, 5]
    assert graph.labels.tolist() == ["x", "y", "z"]
    assert from_igraph(source, weight=None).is_unweighted
    source.es["weight"] = [3, None, 5]
    with pytest.raises(GraphError, match="edge number 1 is no real number: None"):
        from_igraph(source)


@pytest.mark.parametrize(
    ("recipe", "weights"),
    [
        ("as-is", [4, -3, 0]),
        ("unweighted", [1, 1, 1]),
        ("absolute", [4, 3, 0]),
        ("subtract-from:11", [7, 14, 11]),
        ("subtract-from:-1", [-5, 2, -1]),
    ],
)
def test_reweight(recipe: str, weights: list[int]) -> None:
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], [4, -3, 0], labels=list("xyz"))
    changed = reweight(graph, recipe)
    assert changed.weights.tolist() == weights
    assert changed.dtype == np.int64
    assert changed.labels.tolist() == ["x", "y", "z"]
    if recipe != "unweighted":
        floats = reweight(graph.with_weights([0.5, -0.5, 1]), recipe)
        assert floats.dtype == np.float64


def test_reweight_does_not_wrap() -> None:
    graph = Graph.from_arcs(2, [0, 1], [1, 0], [-2, 3])
    assert reweight(graph, f"subtract-from:{2**63 - 3}").max_weight == 2**63 - 1
    for number in (2**63 - 2, 2**70, -(2**63) + 2):
        with pytest.raises(PrecisionError, match="int64"):
            reweight(graph, f"subtract-from:{number}")
    with pytest.raises(PrecisionError, match="int64"):
        reweight(graph.with_weights([0, -(2**63)]), "absolute")


@pytest.mark.parametrize(
    "recipe", ["", "subtract-from", "subtract-from:x", "abs", "subtract-from:"]
)
def test_reweight_refuses(recipe: str) -> None:
    with pytest.raises(ParameterError, match="'weights' parameter"):
        reweight(Graph.from_arcs(1, [], []), recipe)


@pytest.mark.parametrize(
    ("package", "owner", "call"),
    [
        ("pandas", "Graph.to_pandas", lambda owner: TWO.to_pandas()),
        ("igraph", "Graph.to_igraph", lambda owner: TWO.to_igraph()),
        ("pandas", "Reach.to_frame", lambda owner: frame_of({}, "pandas", owner)),
        ("polars", "Reach.to_frame", lambda owner: frame_of({}, "polars", owner)),
    ],
)
def test_a_package_that_is_not_installed(package, owner, call, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(PyApspError, match=f"^{owner} needs {package}: pip install {package}$"):
        call(owner)
