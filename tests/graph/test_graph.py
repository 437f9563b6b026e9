"""The Graph class: its invariants, its cached facts and its constructors."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pandas
import pytest
import scipy.sparse
from scipy.sparse import csgraph

from pyapsp.errors import GraphError, ParameterError, PrecisionError
from pyapsp.graph import Graph, as_graph
from pyapsp.graph.dense import DenseGraph, from_array
from pyapsp.numbers.bounds import hop_bound


@pytest.fixture
def graph() -> Graph:
    return Graph.from_arcs(4, [2, 0, 0, 3], [0, 3, 1, 3], [5, -2, 7, 0], labels=list("abcd"))


def test_arrays_are_sorted_typed_and_counted(graph: Graph) -> None:
    assert (graph.n, graph.m) == (4, 4)
    assert graph.indptr.tolist() == [0, 2, 2, 3, 4]
    assert graph.indices.tolist() == [1, 3, 0, 3]
    assert graph.weights.tolist() == [7, -2, 5, 0]
    assert (graph.indptr.dtype, graph.indices.dtype, graph.dtype) == (np.int64, np.int32, np.int64)
    assert [a.tolist() for a in graph.arcs()] == [[0, 0, 2, 3], [1, 3, 0, 3], [7, -2, 5, 0]]
    assert graph.labels.tolist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("attribute", ["indptr", "indices", "weights", "labels"])
def test_nothing_can_be_changed(graph: Graph, attribute: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(graph, attribute)[0] = 1
    with pytest.raises(AttributeError, match="immutable"):
        setattr(graph, attribute, None)
    with pytest.raises(AttributeError, match="immutable"):
        delattr(graph, attribute)


def test_the_caller_keeps_his_arrays() -> None:
    indptr, indices, weights = np.array([0, 1, 1]), np.array([1], np.int32), np.array([3.0])
    graph = Graph(indptr, indices, weights)
    indptr[:], indices[:], weights[:] = 9, 9, 9
    assert graph.to_dense(no_arc=0).tolist() == [[0, 3], [0, 0]]
    matrix = np.array([[0, 2.0], [3, 0]])
    dense = Graph.from_dense(matrix)
    matrix[:] = 0
    assert dense.weights.tolist() == [2, 3]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_facts_agree_with_numpy(seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    n, m = 13, 60
    tails, heads = rng.integers(n, size=(2, m))
    weights = rng.integers(-5, 9, m).astype(dtype) if seed % 2 else rng.normal(size=m).astype(dtype)
    graph = Graph.from_arcs(n, tails, heads, weights)
    expected = np.full((n, n), np.inf)
    np.minimum.at(expected, (tails, heads), weights.astype(float))
    np.testing.assert_array_equal(graph.to_dense(), expected)
    finite = expected[np.isfinite(expected)]
    assert graph.m == finite.size
    assert graph.min_weight == finite.min()
    assert graph.max_weight == finite.max()
    assert graph.has_negative == (finite < 0).any()
    assert graph.is_integer == (finite == np.rint(finite)).all()
    assert graph.is_unweighted == (finite == 1).all()
    assert graph.is_symmetric == (expected == expected.T).all()
    assert (np.diff(graph.indices)[np.diff(graph.arcs()[0]) == 0] > 0).all()
    np.testing.assert_array_equal(graph.reversed().to_dense(), expected.T)
    both = graph.symmetrized()
    np.testing.assert_array_equal(both.to_dense(), np.minimum(expected, expected.T))
    assert both.is_symmetric
    assert not both.directed
    assert both.dtype == graph.dtype == dtype
    assert both.reversed() == both
    np.testing.assert_array_equal(graph.to_scipy().toarray() != 0, graph.to_dense(no_arc=0) != 0)


@pytest.mark.parametrize("place", [0, 1023, 1024, 4999])
def test_one_fraction_anywhere_is_seen(place):
    weights = np.arange(1.0, 5001.0)
    whole = Graph.from_arcs(5000, np.arange(5000), np.roll(np.arange(5000), 1), weights)
    weights[place] += 0.5
    assert whole.is_integer
    assert not whole.with_weights(weights).is_integer


def test_a_small_graph_keeps_its_reversed_graph(monkeypatch):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [5, 6])
    assert graph.reversed() is graph.reversed()
    assert graph.with_weights(np.array([7, 8])).reversed().weights.tolist() == [7, 8]
    assert graph.reversed().reversed() == graph
    assert "_reversed" not in vars(pickle.loads(pickle.dumps(graph)))
    monkeypatch.setattr(Graph, "_stores", 1)
    large = Graph.from_arcs(3, [0, 1], [1, 2], [5, 6])
    assert large.reversed() is not large.reversed()


def test_a_small_graph_keeps_its_undirected_graph(monkeypatch):
    graph = Graph.from_arcs(3, [0, 1, 1], [1, 0, 2], [5, 4, 6], labels=["a", "b", "c"])
    both = graph.symmetrized()
    assert graph.symmetrized() is both
    assert both.weights.tolist() == [4, 4, 6, 6]
    assert both.labels.tolist() == ["a", "b", "c"]
    assert graph.with_weights([7, 8, 9]).symmetrized().weights.tolist() == [7, 7, 9, 9]
    assert "_symmetrized" not in vars(pickle.loads(pickle.dumps(graph)))
    monkeypatch.setattr(Graph, "_stores", 1)
    large = Graph.from_arcs(3, [0, 1], [1, 2], [5, 6])
    assert large.symmetrized() is not large.symmetrized()
    equal = Graph.from_arcs(3, [0, 1], [1, 0], [5, 5])
    both = equal.symmetrized()
    assert equal.symmetrized() is both
    assert both.indices is equal.indices
    assert equal.with_weights([5, 3]).symmetrized().weights.tolist() == [3, 3]


def test_the_largest_weight_of_a_matrix_needs_no_list_of_arcs():
    for weights, largest in ([[0, 3], [-2, 0]], 3), ([[0, -1], [-4, 0]], -1), ([[0, 0]] * 2, None):
        graph = DenseGraph(np.array(weights, np.float32))
        assert graph.max_weight == largest
        assert ("_listed" in vars(graph)) == (largest == -1)


@pytest.mark.parametrize("draw", ["ones", "whole", "fractions"])
def test_undirected_graphs_are_those_of_all_arcs_and_their_reverses(draw):
    rng = np.random.default_rng(3)
    for n in (1, 2, 7, 40):
        m = 3 * n
        weights = {"ones": np.ones(m), "whole": rng.integers(-4, 5, m), "fractions": rng.random(m)}
        graph = Graph.from_arcs(n, *rng.integers(0, n, (2, m)), weights[draw])
        tails, heads, values = graph.arcs()
        ends = np.r_[tails, heads], np.r_[heads, tails]
        found = graph.symmetrized()
        assert found == Graph(
            *_rows(Graph.from_arcs(n, *ends, np.r_[values, values])), directed=False
        )
        assert not any(each.flags.writeable for each in _rows(found))


def _rows(graph):
    return graph.indptr, graph.indices, graph.weights


def test_facts_without_arcs() -> None:
    for n in (0, 1, 3):
        graph = Graph.from_arcs(n, [], [])
        assert (graph.n, graph.m, graph.min_weight, graph.max_weight) == (n, 0, None, None)
        assert not graph.has_negative
        assert graph.is_symmetric
        assert graph.is_unweighted
        assert graph.to_dense().shape == (n, n)
        assert graph.reversed() == graph


def test_duplicates_keep_the_minimum_and_infinity_is_no_arc() -> None:
    graph = Graph.from_arcs(3, [0, 0, 0, 1], [1, 1, 1, 2], [4.0, 2.0, 3.0, np.inf])
    assert [a.tolist() for a in graph.arcs()] == [[0], [1], [2.0]]
    exact = Graph([0, 2, 2], [0, 1], [np.inf, 5.0])
    assert exact == Graph([0, 1, 1], [1], [5.0])


def test_unweighted_arcs_have_integer_weight_one() -> None:
    graph = Graph.from_arcs(2, [0], [1])
    assert graph.is_unweighted
    assert graph.dtype == np.int64


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("bool", "int64"),
        ("int8", "int64"),
        ("uint16", "int64"),
        ("uint64", "int64"),
        (">i4", "int64"),
        ("float16", "float32"),
        ("float32", "float32"),
        (">f8", "float64"),
    ],
)
def test_weights_come_in_three_types(given: str, kept: str) -> None:
    graph = Graph.from_arcs(2, [0], [1], np.ones(1, given))
    assert graph.dtype == kept
    assert graph.dtype.isnative


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, np.nan], "the arc 2 -> 0 is nan"),
        ([1.0, -np.inf], "the arc 2 -> 0 is -inf"),
        ([1, 2, 3], "do not make a list of arcs"),
        ([[1, 2]], "do not make a list of arcs"),
        ([1, 2j], "not complex128"),
        (["1", "2"], "not <U1"),
        (np.array([1, 2**63], np.uint64), "does not fit into int64"),
        (np.zeros(2, [("a", "f8")]), "real numbers"),
        (np.array([1, 2], "m8[s]"), "not timedelta64"),
        (np.array([1, 2], object), "not object"),
        ([[1, 2], [3]], "the weights are no array"),
    ],
)
def test_bad_weights_are_named(weights: object, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Graph.from_arcs(3, [0, 2], [1, 0], weights)


@pytest.mark.parametrize(
    ("tails", "heads", "message"),
    [
        ([0, 3], [1, 1], "tails .* 0..2: arc number 1 has 3"),
        ([0, 1], [-1, 1], "heads .* 0..2: arc number 0 has -1"),
        ([0.0, 1.0], [1, 1], "array of integers"),
        ([[0, 1]], [1, 1], "array of integers"),
        ([0], [1, 1], "do not make a list of arcs"),
    ],
)
def test_bad_ends_are_named(tails: object, heads: object, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Graph.from_arcs(3, tails, heads)


def test_what_is_masked_is_refused_outside_of_matrices() -> None:
    """A masked entry could mean no arc or no number, so it is refused; an empty mask is allowed."""
    masked, whole = np.ma.array([0, 1, 2], mask=[0, 1, 0]), np.ma.array([1, 2, 0], mask=False)
    graph = Graph.from_arcs(3, [0, 1, 2], whole, whole)
    assert graph == Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], [1, 2, 0])
    for make, message in (
        (lambda: Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], masked), "weights"),
        (lambda: Graph.from_arcs(3, masked, [1, 2, 0]), "tails"),
        (lambda: Graph.from_arcs(3, [0, 1, 2], masked), "heads"),
        (lambda: graph.with_weights(masked), "weights"),
        (lambda: Graph(masked, [0, 1], [1, 1]), "indptr"),
        (lambda: Graph([0, 1, 2, 3], masked, [1, 1, 1]), "indices"),
    ):
        with pytest.raises(GraphError, match=f"{message}.* must not be masked"):
            make()


@pytest.mark.parametrize(
    "weights", [[2**53 + 1, 0.5], [2**63 + 1, -1], [0.5, -(2**60) - 1], [2**63, 2**53 + 1, -1]]
)
def test_an_integer_is_not_rounded_because_of_its_neighbours(weights: list[float]) -> None:
    """NumPy converts such a list to floats."""
    heads = np.arange(len(weights))
    with pytest.raises(GraphError, match="does not fit into float64"):
        Graph.from_arcs(3, np.zeros_like(heads), heads, weights)
    rows = [[0] * 3, [0] * 3, [*weights, 0][:3]]
    with pytest.raises(GraphError, match="does not fit into float64"):
        Graph.from_dense(rows)
    exact = Graph.from_arcs(2, [0, 1], [1, 0], [2**60, 0.5])
    assert exact.weights.tolist() == [2**60, 0.5]


@pytest.mark.parametrize("directed", ["no", "False", None, 0, 1.0, np.array([True, False])])
def test_a_direction_is_true_or_false(directed: object) -> None:
    graph = Graph.from_arcs(2, [0], [1])
    for make in (
        lambda: Graph.from_arcs(2, [0], [1], directed=directed),
        lambda: Graph.from_dense([[0, 1], [1, 0]], directed=directed),
        lambda: Graph(graph.indptr, graph.indices, graph.weights, directed=directed),
        lambda: as_graph(graph, directed=directed),
    ):
        with pytest.raises(ParameterError, match="'directed' parameter"):
            make()
    assert not Graph.from_arcs(2, [0], [1], directed=np.False_).directed


@pytest.mark.parametrize("n", [-1, 2**31, 1.5, "3", None])
def test_bad_vertex_counts(n: object) -> None:
    with pytest.raises(ParameterError, match="'n' parameter"):
        Graph.from_arcs(n, [], [])


@pytest.mark.parametrize(
    ("indptr", "indices", "weights", "message"),
    [
        ([], [], [], "indptr must be"),
        ([[0]], [], [], "indptr must be"),
        ([0.0, 1.0], [0], [1], "indptr must be"),
        ([0, 2], [0], [1], "rise from 0"),
        ([1, 1], [0], [1], "rise from 0"),
        ([0, 2, 1, 3], [0, 1, 2], [1, 1, 1], "rise from 0"),
        ([0, 1], [1], [1], "heads of the arcs must lie in 0..0"),
        ([0, 1], [0], [1, 2], "do not go with 2 weights"),
        ([0, 0, 2], [1, 0], [1, 1], "row 1 has 0 after 1"),
        ([0, 2, 2], [1, 1], [1, 1], "row 0 has 1 after 1"),
        ([0, 1, 1], [0], [np.nan], "the arc 0 -> 0 is nan"),
    ],
)
def test_the_exact_constructor_refuses(
    indptr: object, indices: object, weights: object, message: str
) -> None:
    with pytest.raises(GraphError, match=message):
        Graph(indptr, indices, weights)


def test_rows_may_start_below_the_end_of_the_row_before() -> None:
    graph = Graph([0, 1, 1, 2, 3], [3, 2, 0], [1, 1, 1])
    assert graph.arcs()[0].tolist() == [0, 2, 3]


@pytest.mark.parametrize("weights", [[1, 2], [1.0, np.inf]])
def test_undirected_needs_both_arcs(weights: list[float]) -> None:
    with pytest.raises(GraphError, match="both arcs"):
        Graph([0, 1, 2], [1, 0], weights, directed=False)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "1 labels do not go with 2"),
        (["a", "a"], "'a' occurs more than once"),
        ([np.nan, 1], "equal to themselves, which nan is not"),
        (np.array([np.nan, np.nan]), "equal to themselves, which nan is not"),
        ([pandas.NaT, 1], "equal to themselves, which NaT is not"),
        ([pandas.NA, 1], "equal to themselves, which <NA> is not"),
        (np.ma.array([5, 6], mask=[0, 1]), "masked"),
        (5, "a sequence, not 5"),
        (np.array([[1], [2]]), "hashable"),
        ([[], []], "hashable"),
    ],
)
def test_bad_labels(labels: list[object], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Graph.from_arcs(2, [], [], labels=labels)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([7, -1], "i"),
        (["b", "a"], "U"),
        ([(0, 1), (0, 2)], "O"),
        ([1, "1"], "O"),
        ([2**70, 1], "O"),
    ],
)
def test_labels_are_kept_as_they_are(labels: list[object], kind: str) -> None:
    graph = Graph.from_arcs(2, [], [], labels=labels)
    assert graph.labels is not None
    assert graph.labels.dtype.kind == kind
    assert graph.labels.tolist() == labels


def test_times_as_labels_stay_times() -> None:
    """`tolist` converts times in nanoseconds to integers."""
    times = np.array(["2020-01-01", "2021-01-01"], "M8[ns]")
    assert Graph.from_arcs(2, [], [], labels=times).labels.tolist() == list(times)


def test_labels_that_say_nothing_are_none() -> None:
    assert Graph.from_arcs(3, [], [], labels=range(3)).labels is None


def test_equality(graph: Graph) -> None:
    same = Graph.from_arcs(4, *graph.arcs(), labels=list("abcd"), name="other name")
    assert same == graph
    assert hash(same) == hash(graph)
    others = [
        Graph.from_arcs(4, *graph.arcs()),
        Graph.from_arcs(4, *graph.arcs(), labels=list("abce")),
        graph.with_weights(graph.weights.astype(float)),
        graph.with_weights([7, -2, 5, 1]),
        graph.reversed(),
        graph.symmetrized(),
        Graph.from_arcs(5, *graph.arcs(), labels=list("abcde")),
        "graph",
    ]
    assert all(graph != other for other in others)


def test_content_hash_tells_contents_apart(graph: Graph) -> None:
    unlabelled = Graph.from_arcs(4, *graph.arcs(), name="x")
    assert graph.content_hash == unlabelled.content_hash
    both = graph.symmetrized()
    hashes = {
        graph.content_hash,
        graph.reversed().content_hash,
        graph.with_weights([7, -2, 5, 1]).content_hash,
        both.content_hash,
        Graph(both.indptr, both.indices, both.weights).content_hash,
        Graph.from_arcs(5, *graph.arcs()).content_hash,
    }
    assert len(hashes) == 6
    pinned = Graph.from_arcs(2, [0], [1], [3]).content_hash
    assert pinned == "d9020a5b5e2740b48442421572ba58307ec5bec9835dd4459a12d5e282be1975"


def test_with_weights_keeps_the_rest(graph: Graph) -> None:
    other = graph.with_weights([1, 2, 3, 4])
    assert other.weights.tolist() == [1, 2, 3, 4]
    assert other.labels.tolist() == graph.labels.tolist()
    with pytest.raises(GraphError, match="do not go with"):
        graph.with_weights([1])


def test_from_dense_conventions() -> None:
    matrix = [[0, 1e-9, np.inf], [0, 5, 0], [-3, 0, 0]]
    graph = Graph.from_dense(matrix)
    assert [a.tolist() for a in graph.arcs()] == [[0, 1, 2], [1, 1, 0], [1e-9, 5, -3]]
    zeros = Graph.from_dense(matrix, no_arc=np.inf)
    assert zeros.m == 8
    assert zeros.min_weight == -3
    undirected = Graph.from_dense(matrix, directed=False)
    assert undirected.to_dense()[0, 2] == undirected.to_dense()[2, 0] == -3
    assert Graph.from_dense(np.array(matrix)[:, :0][:0]).n == 0
    assert Graph.from_dense(np.array([[0, 1], [1, 0]], bool)).dtype == np.int64


def test_from_dense_nan() -> None:
    matrix = [[0, np.nan], [2.0, 0]]
    with pytest.raises(GraphError, match="the arc 0 -> 1 is nan"):
        Graph.from_dense(matrix)
    assert Graph.from_dense(matrix, nan_is_no_arc=True).weights.tolist() == [2]


def test_from_dense_masked_keeps_zeros() -> None:
    matrix = np.ma.masked_array([[1.0, 0, np.nan], [4, 5, 0], [0, 0, np.inf]])
    matrix.mask = [[True, False, True], [False, True, False], [True, False, False]]
    graph = Graph.from_dense(matrix)
    assert [a.tolist() for a in graph.arcs()] == [[0, 1, 1, 2], [1, 0, 2, 1], [0, 4, 0, 0]]
    assert Graph.from_dense(np.ma.masked_array([[0.0]])).m == 1
    with pytest.raises(GraphError, match="is nan"):
        Graph.from_dense(np.ma.masked_array([[np.nan]]))


@pytest.mark.parametrize("shape", [(2, 3), (4,), (2, 2, 2), ()])
def test_from_dense_must_be_square(shape: tuple[int, ...]) -> None:
    with pytest.raises(GraphError, match="square"):
        Graph.from_dense(np.zeros(shape))


def test_to_dense_never_loses_weights(graph: Graph) -> None:
    narrow = graph.to_dense(np.int8, no_arc=99)
    assert narrow.dtype == np.int8
    assert narrow.tolist() == [[99, 7, 99, -2], [99] * 4, [5, 99, 99, 99], [99, 99, 99, 0]]
    with pytest.raises(ParameterError, match="'no_arc' parameter"):
        graph.to_dense(np.int32)
    with pytest.raises(PrecisionError, match="uint8 cannot hold the weight -2"):
        graph.to_dense(np.uint8, no_arc=0)
    with pytest.raises(PrecisionError, match=r"int64 cannot hold the weight 0\.5"):
        Graph.from_arcs(1, [0], [0], [0.5]).to_dense(np.int64, no_arc=0)
    with pytest.raises(PrecisionError, match="int64 cannot hold the weight 9"):
        Graph.from_arcs(1, [0], [0], [2.0**63]).to_dense(np.int64, no_arc=0)
    for dtype in (bool, "S", object, complex):
        with pytest.raises(ParameterError, match="'dtype' parameter"):
            graph.to_dense(dtype)
    for no_arc in ("x", None, [9], np.nan):
        with pytest.raises(ParameterError, match="'no_arc' parameter"):
            graph.to_dense(np.int64, no_arc)
    for out in (np.zeros((3, 3)), [[0.0] * 4] * 4):
        with pytest.raises(ParameterError, match="'out' parameter"):
            graph.to_dense(out=out)


@pytest.mark.parametrize("no_arc", ["x", None, [9], 9j])
def test_what_is_no_arc_is_a_number(no_arc: object) -> None:
    with pytest.raises(ParameterError, match="'no_arc' parameter"):
        Graph.from_dense([[0, 9], [9, 0]], no_arc=no_arc)


def test_to_scipy_is_a_copy_with_explicit_zeros(graph: Graph) -> None:
    matrix = graph.to_scipy()
    assert isinstance(matrix, scipy.sparse.csr_array)
    assert (matrix.shape, matrix.nnz) == ((4, 4), 4)
    matrix.data[:] = 1
    assert graph.max_weight == 7


def test_repr(graph: Graph) -> None:
    assert repr(graph) == "<Graph: n=4, m=4, directed, int64 weights -2..7>"
    empty = Graph.from_arcs(0, [], [], directed=False, name="nothing")
    assert repr(empty) == "<Graph 'nothing': n=0, m=0, undirected, int64 weights>"


def test_optional_libraries_are_not_imported() -> None:
    code = (
        "import sys, pyapsp.graph; from scipy.sparse import eye_array;"
        "pyapsp.graph.as_graph(eye_array(3));"
        "print({'networkx', 'pandas', 'igraph', 'pooch', 'pyopencl'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.int8])
@pytest.mark.parametrize("kind", ["full", "sparse", "ones", "negative", "fractions", "empty"])
def test_a_matrix_that_is_not_copied_is_the_same_graph(dtype: type, kind: str) -> None:
    """The properties of a graph do not depend on whether its arcs were listed before."""
    random = np.random.default_rng(5)
    matrix = random.integers(1, 100, (70, 70)).astype(dtype)
    if kind == "sparse":
        matrix[random.random((70, 70)) < 0.8] = 0
    elif kind == "ones":
        matrix = (random.random((70, 70)) < 0.3).astype(dtype)
    elif kind == "negative":
        matrix[3] *= -1
    elif kind == "fractions" and np.dtype(dtype).kind == "f":
        matrix[9, 8] += 0.5
    elif kind == "empty":
        matrix = matrix[:0, :0]
    if np.dtype(dtype).kind == "f" and matrix.size:
        matrix[5, 6] = matrix[60, 2] = np.inf
    listed, lazy = Graph.from_dense(matrix), as_graph(matrix, copy=False)
    assert type(lazy) is not Graph
    assert lazy.facts == listed.facts
    for name in ("n", "m", "dtype", "max_magnitude", "has_negative", "directed", "labels"):
        assert getattr(lazy, name) == getattr(listed, name), name
    np.testing.assert_array_equal(lazy.indptr, listed.indptr)
    some = [(np.float64, np.inf), (np.int32, 10**6), (np.float32, -1)]
    # no float has these values
    for target, no_arc in (*some, (np.int32, 2**30 - 1), (np.int64, 2**62 - 1)):
        if np.dtype(target).kind == "i" and not listed.is_integer:
            with pytest.raises(PrecisionError):
                lazy.to_dense(target, no_arc)
        else:
            expected = listed.to_dense(target, no_arc)
            np.testing.assert_array_equal(lazy.to_dense(target, no_arc), expected)
    assert (lazy.min_weight, lazy.max_weight) == (listed.min_weight, listed.max_weight)
    assert lazy == listed
    assert lazy.symmetrized() == listed.symmetrized()
    assert not lazy.indices.flags.writeable


def test_a_matrix_that_is_not_copied_is_refused_like_any_other() -> None:
    for wrong in (np.nan, -np.inf):
        matrix = np.ones((40, 40))
        matrix[30, 20] = wrong
        with pytest.raises(GraphError, match="30 -> 20"):
            as_graph(matrix, copy=False)
    with pytest.raises(GraphError, match="square"):
        as_graph(np.ones((2, 3)), copy=False)


def test_rows_in_order_are_taken_as_they_are() -> None:
    """A CSR matrix is a graph without a sort; others are put into order."""
    matrix = scipy.sparse.random_array((300, 300), density=0.05, rng=2, format="csr")
    matrix.sum_duplicates()
    expected = Graph.from_arcs(300, *matrix.nonzero(), matrix.data)
    borrowed = as_graph(matrix, copy=False)
    assert borrowed == expected == as_graph(matrix)
    assert np.shares_memory(borrowed.weights, matrix.data)
    assert not borrowed.weights.flags.writeable
    assert matrix.data.flags.writeable
    assert not np.shares_memory(as_graph(matrix).weights, matrix.data)
    assert as_graph(matrix.tocsc()) == expected
    turned = matrix[:, ::-1].copy()
    turned.indices, turned.data = turned.indices[::-1].copy(), turned.data[::-1].copy()
    turned.indptr = (turned.indptr[-1] - turned.indptr)[::-1].copy()
    assert as_graph(turned, copy=False) == as_graph(turned.toarray())
    both = matrix + matrix.T
    assert as_graph(both, False) == Graph.from_arcs(300, *both.nonzero(), both.data).symmetrized()
    assert as_graph(matrix, False) == expected.symmetrized()


def test_a_graph_whose_degrees_agree_need_not_be_symmetric() -> None:
    """In a directed cycle every vertex has one arc in and one out, of the same weight."""
    cycle = Graph.from_arcs(5, range(5), [1, 2, 3, 4, 0])
    assert not cycle.is_symmetric
    assert cycle.symmetrized().m == 10
    both = Graph.from_arcs(5, [*range(5), 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, *range(5)])
    assert both.is_symmetric
    assert not both.with_weights([2, *[1] * 9]).is_symmetric


@pytest.mark.parametrize(
    "other", [lambda graph: pickle.loads(pickle.dumps(graph)), copy.deepcopy, copy.copy]
)
def test_copies_cannot_be_changed(other):
    """Facts are computed once, and would be those of other weights."""
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [1, 2], labels="abc")
    assert graph.max_weight == 2
    found = other(graph)
    arrays = found.indptr, found.indices, found.weights, found.labels
    assert not any(array.flags.writeable for array in arrays)
    assert found.vertex("b") == 1
    assert found.content_hash == graph.content_hash


def test_reach_and_depth_from_a_few_searches() -> None:
    ring = np.arange(64)
    one_way = Graph.from_arcs(64, ring, np.roll(ring, -1))
    assert (one_way.facts.reach, one_way.facts.depth) == (1.0, None)
    assert (one_way.sounded.reach, one_way.sounded.depth) == (1.0, 64)
    pairs = Graph.from_arcs(64, ring, ring ^ 1)
    assert (pairs.sounded.reach, pairs.sounded.depth) == (1 / 32, 1)
    path = Graph.from_arcs(64, ring[:-1], ring[1:])
    assert (path.sounded.reach, path.sounded.depth) == (1.0, 64)
    # most vertices lead nowhere, few to nearly all others
    few = Graph.from_arcs(64, np.repeat(ring[40:48], 64), np.tile(ring, 8))
    assert 0.1 < few.sounded.reach < 0.5
    for without in (Graph.from_arcs(3, [], []), Graph.from_arcs(0, [], [])):
        assert without.sounded == without.facts
    other = np.random.default_rng(1).permutation(64)
    mixed = Graph.from_arcs(64, other, np.roll(other, -1))
    assert one_way.facts.spread is None
    assert one_way.sounded.spread < 1 / 16
    assert 0.2 < mixed.sounded.spread < 0.5
    loops = Graph.from_arcs(4096, np.arange(4096), np.arange(4096))
    assert loops.sounded.spread < 1e-3
    dense = DenseGraph(np.ones((3, 3)))
    assert dense.sounded == dense.facts == dense.sounded_within(1)


def test_reach_and_depth_within_a_cutoff() -> None:
    ring = np.arange(64)
    one_way = Graph.from_arcs(64, ring, np.roll(ring, -1))
    found = one_way.sounded_within(7.5)
    assert (found.reach, found.depth) == (1 / 8, 8)
    assert one_way.sounded_within(1e9) == one_way.sounded
    heavy = one_way.with_weights(np.full(64, 2.5))
    assert heavy.sounded_within(7.5) == replace(heavy.facts, reach=1 / 16)
    # here searches do not end at the cutoff
    lowered = one_way.with_weights(np.append(np.full(63, 2.5), -1))
    assert lowered.sounded_within(7.5) == lowered.sounded
    without = Graph.from_arcs(3, [], [])
    assert without.sounded_within(7.5) == without.facts


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_depth_of_a_search_in_a_matrix_and_in_a_list(dtype, order) -> None:
    rng = np.random.default_rng(5)
    for n, share in product((1, 2, 30, 700), (0.001, 0.05, 0.3, 1.0)):
        weights = np.array(rng.integers(1, 9, (n, n)), dtype, order=order)
        weights[rng.random((n, n)) >= share] = 0
        if dtype != "int16":
            weights[rng.random((n, n)) < 0.1] = np.inf
        dense, listed = DenseGraph(weights), Graph.from_dense(weights)
        for vertex, backwards in product(rng.integers(0, n, 4).tolist(), (False, True)):
            found = dense.depth(vertex, backwards=backwards)
            assert found == listed.depth(vertex, backwards=backwards)
            hops = csgraph.dijkstra(
                listed.to_scipy().T if backwards else listed.to_scipy(),
                unweighted=True,
                indices=vertex,
            )
            reached = hops[np.isfinite(hops)]
            assert found == (reached.max(), reached.size)
        assert hop_bound(dense) == hop_bound(listed)
        assert "_listed" not in vars(dense)
    path = DenseGraph(np.eye(300, k=1).astype(dtype))
    assert [path.depth(0), path.depth(0, backwards=True), path.depth(240)] == [
        (299, 300),
        (0, 1),
        (59, 60),
    ]
    assert path.depth(299, backwards=True) == (299, 300)


@pytest.mark.parametrize("absent", [0, np.inf])
@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_a_graph_with_all_arcs(n, absent) -> None:
    """Loops do not count, and a pair without an arc does, whatever the number of arcs."""
    full = np.random.default_rng(n).integers(1, 9, (n, n)).astype(float)
    empty, some = full.copy(), full.copy()
    np.fill_diagonal(empty, absent)
    some[: n // 2, : n // 2][np.eye(n // 2, dtype=bool)] = absent
    for weights in (full, empty, some):
        for without in (0, 1):
            weights[n - 2 : n - 1, n - 1 :] = absent if without else 5
            dense, listed = DenseGraph(weights), Graph.from_dense(weights)
            assert dense.m == listed.m
            assert dense.is_complete == listed.is_complete == (n < 2 or not without)
            assert hop_bound(dense) == hop_bound(listed)
            for dtype, no_arc in ((np.float64, np.inf), (np.int32, 2**30 - 1)):
                filled = [graph.to_dense(dtype, no_arc) for graph in (dense, listed)]
                np.testing.assert_array_equal(*filled)


def test_the_family_of_a_matrix() -> None:
    """It is that of the listed graph, also if the degrees are not counted."""
    rng, found = np.random.default_rng(3), set()
    for n, degree in product((1, 5, 12, 40, 200), (0, 1, 4, 8, 9, 12, 100)):
        weights = np.zeros((n, n))
        weights[:, :degree] = 1
        for each in (weights, weights.T, rng.permuted(weights, axis=1)):
            dense = DenseGraph(np.ascontiguousarray(each))
            found.add(dense.family)
            assert dense.family == Graph.from_dense(each).family
    assert found == {"uniform", "mesh", "power-law"}


@pytest.mark.parametrize("rows", [[[0, 1], [1]], [[0, 1], 1], [[0, [1]], [1, 0]]], ids=str)
def test_rows_of_different_lengths(rows) -> None:
    for convert in (as_graph, from_array, Graph.from_dense):
        with pytest.raises(GraphError, match="the weights are no array"):
            convert(rows)


@pytest.mark.parametrize("diagonal", [0, 1])
def test_weights_are_rounded_whatever_numpy_raises(diagonal) -> None:
    """float32 rounds 1e-44, which the caller may have made an error of NumPy."""
    dense = DenseGraph(np.array([[diagonal, 1e-44], [1, diagonal]]))
    sparse = Graph.from_arcs(2, [0, 1], [1, 0], [1e-44, 1])
    with np.errstate(all="raise"):
        for graph in (dense, sparse):
            assert graph.to_dense(np.float32)[0, 1] == np.float32(1e-44) > 0


def test_some_arcs_of_a_graph() -> None:
    """`with_arcs` keeps the vertices, their labels, and the arcs that are chosen."""
    graph = Graph.from_arcs(4, [0, 0, 2, 3], [1, 3, 1, 0], [5, 6, 7, 8], labels=[9, 4, 7, 2])
    some = graph.with_arcs(np.array([False, True, True, False]))
    expected = Graph.from_arcs(4, [0, 2], [3, 1], [6, 7], labels=[9, 4, 7, 2])
    assert some == expected
    assert some.labels is not None
    assert some.labels.tolist() == [9, 4, 7, 2]


@pytest.mark.parametrize(
    "kept",
    [[True], [True] * 5, [[True] * 4], [0, 1, 1, 0], [0, 1], np.ma.array([True] * 4, mask=1)],
)
def test_arcs_that_cannot_be_chosen(kept: object) -> None:
    """Numbers would choose arcs by their places, and a mask would be dropped."""
    graph = Graph.from_arcs(4, [0, 0, 2, 3], [1, 3, 1, 0])
    with pytest.raises(GraphError, match="the arcs to keep must"):
        graph.with_arcs(kept)


def test_both_arcs_of_an_edge_are_chosen_or_none() -> None:
    """Among them loops, and edges of different weights."""
    graph = Graph.from_arcs(3, [0, 1, 1], [1, 2, 1], [5, 6, 7], directed=False)
    tails, heads, _ = graph.arcs()
    some = graph.with_arcs(tails + heads != 3)
    assert some == Graph.from_arcs(3, [0, 1], [1, 1], [5, 7], directed=False)
    assert graph.with_arcs(np.zeros(graph.m, bool)).m == 0
    with pytest.raises(GraphError, match="needs both arcs of an edge"):
        graph.with_arcs(tails <= heads)


@pytest.mark.parametrize("labels", [[5, 3, 5], np.array([5, 3, 5])])
def test_labels_in_any_order_are_distinct(labels: object) -> None:
    """Whole numbers that do not ascend are labels, unless one comes twice."""
    assert Graph.from_arcs(3, [0], [1], labels=np.array([5, 3, 4])).labels.tolist() == [5, 3, 4]
    with pytest.raises(GraphError, match="5 occurs more than once"):
        Graph.from_arcs(3, [0], [1], labels=labels)


@pytest.mark.parametrize("claim", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_rows_in_any_order_of_columns(dtype, claim, monkeypatch) -> None:
    matrix = scipy.sparse.csr_array(
        (np.array([5, 3, 4, 7, 1], dtype), [2, 0, 1, 0, 1], [0, 2, 3, 5])
    )
    matrix.has_sorted_indices = claim  # SciPy believes it
    right = Graph.from_arcs(3, [0, 0, 1, 2, 2], [2, 0, 1, 0, 1], [5, 3, 4, 7, 1])
    for own in (False, True):
        with monkeypatch.context() as patched:
            patched.setattr(Graph, "from_arcs", None)  # it sorts all arcs, which takes long
            found = as_graph(matrix, copy=own)
        assert found.indices.tolist() == [0, 2, 1, 0, 1]
        assert found.weights.tolist() == right.weights.tolist() == [3, 5, 4, 7, 1]
    assert matrix.indices.tolist() == [2, 0, 1, 0, 1]
    twice = scipy.sparse.csr_array((np.array([5, 3, 4], dtype), [2, 0, 2], [0, 3, 3, 3]))
    assert as_graph(twice).weights.tolist() == [3, 4]
