"""SciPy's functions on a device: the same answers, and each difference pinned."""

from __future__ import annotations

import inspect
import sys
import types

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph as scipy_csgraph

import pyapsp
from pyapsp import csgraph, errors
from pyapsp.all_pairs import choice
from pyapsp.csgraph.arguments import graph_of
from pyapsp.graph import compressed
from pyapsp.graph.convert import from_scipy


def random_matrix(n=30, low=1, high=20, density=0.15, seed=0):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(low, high, (n, n)) * (rng.random((n, n)) < density)
    np.fill_diagonal(matrix, 0)
    return matrix.astype(float)


def paths_sum_up(matrix, distances, before):
    for i, j in np.ndindex(distances.shape):
        if before[i, j] < 0:
            assert i == j or np.isinf(distances[i, j])
        else:
            assert distances[i, before[i, j]] + matrix[before[i, j], j] == distances[i, j]


FUNCTIONS = ["shortest_path", "floyd_warshall", "dijkstra", "bellman_ford", "johnson"]
CALLS = [
    *((getattr(csgraph, name), getattr(scipy_csgraph, name), {}) for name in FUNCTIONS[1:]),
    *(
        (csgraph.shortest_path, scipy_csgraph.shortest_path, {"method": method})
        for method in ("auto", "FW", "D", "BF", "J")
    ),
]


@pytest.mark.parametrize("name", [*FUNCTIONS, "connected_components"])
def test_signatures_are_those_of_scipy(name):
    ours, theirs = (
        [(each.name, each.kind, each.default) for each in signature(getattr(module, name))]
        for module in (csgraph, scipy_csgraph)
    )
    assert ours == theirs


def signature(function):
    return inspect.signature(function).parameters.values()


def test_every_name_of_scipy_is_here_and_no_other():
    ours = {name for name in scipy_csgraph.__all__ if hasattr(csgraph, name)}
    assert ours == set(scipy_csgraph.__all__) == set(dir(csgraph))
    differ = {name for name in ours if getattr(csgraph, name) is not getattr(scipy_csgraph, name)}
    assert differ == {*FUNCTIONS, "connected_components"} == set(csgraph.__all__)
    assert issubclass(errors.NegativeCycleError, csgraph.NegativeCycleError)
    missing = "no_such"
    with pytest.raises(AttributeError, match="no attribute 'no_such'"):
        getattr(csgraph, missing)


def test_paths_are_made_of_predecessors_by_scipy():
    matrix = sparse.csr_array(random_matrix())
    distances, before = csgraph.shortest_path(matrix, return_predecessors=True)
    np.testing.assert_array_equal(csgraph.construct_dist_matrix(matrix, before), distances)
    tree = csgraph.reconstruct_path(matrix, before[3]).toarray()
    reached = np.flatnonzero(before[3] >= 0)
    np.testing.assert_array_equal(
        tree[before[3, reached], reached], matrix.toarray()[before[3, reached], reached]
    )


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("unweighted", [True, False])
@pytest.mark.parametrize(("ours", "theirs", "keywords"), CALLS)
def test_equal_to_scipy(ours, theirs, keywords, directed, unweighted):
    matrix = random_matrix()
    keywords = {**keywords, "directed": directed, "unweighted": unweighted}
    got, before = ours(matrix, return_predecessors=True, **keywords)
    expected, their_before = theirs(matrix, return_predecessors=True, **keywords)
    np.testing.assert_array_equal(got, expected)
    assert (got.dtype, before.dtype) == (expected.dtype, their_before.dtype)
    np.testing.assert_array_equal(before == -9999, their_before == -9999)
    arcs = np.where(matrix == 0, np.inf, 1 if unweighted else matrix)
    paths_sum_up(arcs if directed else np.minimum(arcs, arcs.T), got, before)
    np.testing.assert_array_equal(ours(matrix, **keywords), expected)


def test_positional_order_is_that_of_scipy():
    matrix = random_matrix()
    for arguments in ((False,), (True, False), (False, True, True), (True, True, False, False)):
        got = csgraph.floyd_warshall(matrix, *arguments)
        expected = scipy_csgraph.floyd_warshall(matrix, *arguments)
        assert type(got) is type(expected)
        if isinstance(got, tuple):
            np.testing.assert_array_equal(got[1] == -9999, expected[1] == -9999)
            got, expected = got[0], expected[0]
        np.testing.assert_array_equal(got, expected)
    got = csgraph.shortest_path(matrix, "FW", False, False, True, False, [3, 1])
    expected = scipy_csgraph.shortest_path(matrix, "D", False, False, True, False, [3, 1])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("connection", ["weak", "strong", "STRONG"])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_components(convert, connection, directed):
    for matrix in (
        random_matrix(density=0.04),
        random_matrix(density=0.1, low=-9),
        *(np.zeros((n, n)) for n in (1, 3)),
    ):
        given = convert(matrix)
        options = {"directed": directed, "connection": connection}
        count, labels = csgraph.connected_components(given, **options)
        expected, theirs = scipy_csgraph.connected_components(given, **options)
        assert count == expected == csgraph.connected_components(given, directed, connection, False)
        assert (type(count), labels.dtype) == (type(expected), theirs.dtype)
        assert len({*zip(labels.tolist(), theirs.tolist(), strict=True)}) == count
        assert labels[0] == 0
    with pytest.raises(errors.ParameterError, match="connection"):
        csgraph.connected_components(given, connection="some")
    with pytest.raises(errors.ParameterError, match="directed"):
        csgraph.connected_components(given, directed="no")


FROM_SOURCES = ["shortest_path", "dijkstra", "bellman_ford", "johnson"]


@pytest.mark.parametrize("indices", [0, 5, -1, [4], [2, 2, -3], [[1, 2], [3, 4]], []])
@pytest.mark.parametrize("name", FROM_SOURCES)
def test_indices(name, indices):
    matrix = random_matrix()
    arguments = {"indices": indices, "return_predecessors": True}
    got, before = getattr(csgraph, name)(matrix, **arguments)
    expected, their_before = getattr(scipy_csgraph, name)(matrix, **arguments)
    np.testing.assert_array_equal(got, expected)
    assert before.shape == their_before.shape
    np.testing.assert_array_equal(before == -9999, their_before == -9999)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint64"])
def test_indices_of_a_type_that_does_not_hold_n(dtype):
    path = sparse.diags_array(np.ones(999), offsets=1, shape=(1000, 1000), format="csr")
    indices = np.array([1, 0 if dtype.startswith("u") else -100], dtype)
    expected = scipy_csgraph.dijkstra(path, indices=indices.astype(np.int64))
    np.testing.assert_array_equal(csgraph.dijkstra(path, indices=indices), expected)
    with pytest.raises(errors.ParameterError, match="indices"):
        csgraph.dijkstra(path[:50, :50], indices=np.array([100], dtype))


@pytest.mark.parametrize("indices", [30, -31, [0, 99], 0.5, [0, [1]], np.ma.array([0], mask=[1])])
@pytest.mark.parametrize("name", FROM_SOURCES)
def test_bad_indices(name, indices):
    with pytest.raises(errors.ParameterError, match="indices"):
        getattr(csgraph, name)(random_matrix(), indices=indices)


@pytest.mark.parametrize("flag", ["no", None, 0, 2.5, [], np.False_])
@pytest.mark.parametrize("name", ["dijkstra", "bellman_ford", "johnson"])
def test_what_counts_as_true(name, flag):
    """As in SciPy any object does, or does not; but ``directed="no"`` would be True."""
    matrix = random_matrix()
    np.testing.assert_array_equal(
        getattr(csgraph, name)(matrix, unweighted=flag),
        getattr(scipy_csgraph, name)(matrix, unweighted=flag),
    )
    found = getattr(csgraph, name)(matrix, return_predecessors=flag)
    assert isinstance(found, tuple) is bool(flag)
    if not isinstance(flag, np.bool_):
        with pytest.raises(errors.ParameterError, match="'directed' parameter"):
            getattr(csgraph, name)(matrix, directed=flag)


@pytest.mark.parametrize(
    "limit", [0, 1, 7.5, 12, np.inf, np.float32(7.5), np.int8(3), np.array(3), 2**70]
)
def test_limit(limit):
    matrix = random_matrix()
    for indices in (None, [3, 1]):
        arguments = {"indices": indices, "limit": limit, "return_predecessors": True}
        got, before = csgraph.dijkstra(matrix, **arguments)
        expected, their_before = scipy_csgraph.dijkstra(matrix, **arguments)
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(before == -9999, their_before == -9999)


@pytest.mark.parametrize(
    "limit", [-1, -np.inf, None, "3", [3, 4], 3j, pytest.param(10**400, id="huge")]
)
def test_bad_limits(limit):
    with pytest.raises(errors.ParameterError, match="'limit' parameter of dijkstra"):
        csgraph.dijkstra(random_matrix(), limit=limit)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        scipy_csgraph.dijkstra(random_matrix(), limit=limit)


# zero weights, whole numbers, and such that round
WEIGHT = st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0, 7.0, 0.1, 0.7])


@st.composite
def sparse_graphs(draw, negative=False):
    """Draw a matrix with self-loops, isolated vertices, zeros, and maybe negative weights."""
    n = draw(st.integers(1, 9))
    vertex = st.integers(0, n - 1)
    found = draw(st.dictionaries(st.tuples(vertex, vertex), WEIGHT, max_size=30))
    whole = draw(st.booleans())
    potential = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    rows, columns = zip(*found, strict=True) if found else ((), ())
    weights = np.array(list(found.values()), float)
    if whole or negative:
        weights = np.floor(weights)
    if negative:  # and no negative cycle
        ends = np.array([(0, 0), *found]).T[:, 1:]
        weights += np.array(potential)[ends[0]] - np.array(potential)[ends[1]]
    kind = int if whole else float
    return sparse.csr_array((weights.astype(kind), (rows, columns)), shape=(n, n))


def lengths(matrix, directed=True, unweighted=False):
    """The dense matrix of arcs, inf where there is none."""
    arcs = np.full(matrix.shape, np.inf)
    entries = matrix.tocoo()
    arcs[entries.row, entries.col] = 1 if unweighted else entries.data
    return arcs if directed else np.minimum(arcs, arcs.T)


def floyd(arcs):
    """Distances by three loops."""
    distances = np.where(np.eye(len(arcs), dtype=bool), np.minimum(arcs, 0), arcs)
    for k in range(len(arcs)):
        distances = np.minimum(distances, distances[:, k, None] + distances[k])
    return distances


def assert_rows(got, before, arcs, sources, limit=np.inf):
    """Compare with three loops, and walk the predecessors back to the sources."""
    expected = floyd(arcs)[sources]
    expected = np.where(expected > limit + 1e-9, np.inf, expected)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    for row, source in enumerate(sources):
        for end in range(len(arcs)):
            if end == source or not np.isfinite(expected[row, end]):
                assert before[row, end] == -9999
                continue
            length, vertex, steps = 0.0, end, 0
            while vertex != source:
                assert steps < len(arcs)
                length += arcs[before[row, vertex], vertex]
                vertex, steps = before[row, vertex], steps + 1
            assert length == pytest.approx(expected[row, end], abs=1e-9)


properties = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(params=["matrix", "sources"])
def _way(request, monkeypatch):
    """Let "auto" take a method for the matrix, or one for the sources alone."""
    monkeypatch.setattr(choice, "_UPDATES", {"matrix": np.inf, "sources": 0}[request.param])


@pytest.mark.every(2)
@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("name", FROM_SOURCES)
@properties
@given(data=st.data())
def test_any_small_graph(name, data):
    matrix = data.draw(sparse_graphs())
    directed, unweighted = data.draw(st.booleans()), data.draw(st.booleans())
    n = matrix.shape[0]
    indices = data.draw(st.none() | st.lists(st.integers(-n, n - 1), min_size=1, max_size=4))
    arguments = {"directed": directed, "unweighted": unweighted, "indices": indices}
    got, before = getattr(csgraph, name)(matrix, return_predecessors=True, **arguments)
    sources = np.arange(n) if indices is None else np.arange(n)[indices]
    assert_rows(got, before, lengths(matrix, directed, unweighted), sources)
    assert (got.dtype, before.dtype) == (np.float64, np.int32)
    if directed:
        theirs = getattr(scipy_csgraph, name)(matrix, **arguments)
        np.testing.assert_allclose(got, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("name", ["shortest_path", "bellman_ford", "johnson"])
@properties
@given(data=st.data())
def test_any_small_graph_with_negative_weights(name, data):
    matrix = data.draw(sparse_graphs(negative=True))
    n = matrix.shape[0]
    indices = data.draw(st.none() | st.lists(st.integers(0, n - 1), min_size=1, max_size=4))
    got, before = getattr(csgraph, name)(matrix, indices=indices, return_predecessors=True)
    sources = np.arange(n) if indices is None else np.array(indices)
    assert_rows(got, before, lengths(matrix), sources)
    theirs = getattr(scipy_csgraph, name)(matrix, indices=indices)
    np.testing.assert_allclose(got, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("_way")
@properties
@given(data=st.data())
def test_nearest_of_several(data):
    matrix = data.draw(sparse_graphs())
    directed, unweighted = data.draw(st.booleans()), data.draw(st.booleans())
    n = matrix.shape[0]
    vertices = st.integers(-n, n - 1)
    indices = data.draw(st.none() | vertices | st.lists(vertices, max_size=4))
    limit = data.draw(st.sampled_from([np.inf, 0, 2, 3.5]))
    arguments = {
        "indices": indices, "directed": directed, "unweighted": unweighted, "limit": limit
    }  # fmt: skip
    got = csgraph.dijkstra(matrix, min_only=True, **arguments)
    again, before, nearest = csgraph.dijkstra(
        matrix, min_only=True, return_predecessors=True, **arguments
    )
    np.testing.assert_array_equal(got, again)
    assert (before.dtype, nearest.dtype) == (np.int32, np.int32)
    starts = np.unique(np.arange(n) if indices is None else np.arange(n)[np.array(indices, int)])
    arcs = lengths(matrix, directed, unweighted)
    distances = floyd(arcs)
    expected = distances[starts].min(axis=0, initial=np.inf)
    expected[expected > limit] = np.inf
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(nearest == -9999, np.isinf(expected))
    for vertex in np.flatnonzero(np.isfinite(expected)):
        source = nearest[vertex]
        assert source in starts
        assert distances[source, vertex] == pytest.approx(expected[vertex], abs=1e-9)
        if vertex in starts:
            assert (source, before[vertex]) == (vertex, -9999)
        else:
            last = before[vertex]
            assert nearest[last] == source
            assert got[last] + arcs[last, vertex] == pytest.approx(got[vertex], abs=1e-9)
    if directed:
        theirs = scipy_csgraph.dijkstra(matrix, min_only=True, **arguments)
        np.testing.assert_allclose(got, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("_way")
def test_nearest_along_lines_and_of_starts_that_are_zero_apart():
    ends = np.arange(40)
    line = sparse.csr_array((np.ones(40), (ends, ends + 1)), shape=(41, 41))
    vertices = np.arange(41)
    for starts in ([0], [0, 25]):
        source = np.where(vertices < starts[-1], 0, starts[-1])
        got, before, nearest = csgraph.dijkstra(line, True, starts, True, min_only=True)
        np.testing.assert_array_equal(got, vertices - source)
        np.testing.assert_array_equal(nearest, source)
        np.testing.assert_array_equal(
            before, np.where(np.isin(vertices, starts), -9999, vertices - 1)
        )
    rows, columns = np.nonzero(~np.eye(5, dtype=bool))
    zeros = sparse.csr_array((np.zeros(20), (rows, columns)), shape=(5, 5))
    for starts in ([1], [0, 4], [4, 3, 2, 1, 0]):
        got, before, nearest = csgraph.dijkstra(zeros, True, starts, True, min_only=True)
        np.testing.assert_array_equal(got, np.zeros(5))
        np.testing.assert_array_equal(nearest[starts], starts)
        np.testing.assert_array_equal(before[starts], np.full(len(starts), -9999))
        assert np.isin(nearest, starts).all()


def test_nearest_beyond_float64():
    line = np.array([[0, 1e308, 0], [0, 0, 1e308], [0, 0, 0]])
    with pytest.raises(errors.PrecisionError, match="too large for float64"):
        csgraph.dijkstra(line, True, [0], min_only=True)
    got, before, nearest = csgraph.dijkstra(line, True, [0, 2], True, min_only=True)
    np.testing.assert_array_equal(got, [0, 1e308, 0])
    np.testing.assert_array_equal(before, [-9999, 0, -9999])
    np.testing.assert_array_equal(nearest, [0, 0, 2])
    np.testing.assert_array_equal(
        csgraph.dijkstra(line, True, [1], min_only=True), [np.inf, 0, 1e308]
    )


def test_nearest_of_none():
    for ours, theirs in zip(
        csgraph.dijkstra(random_matrix(), True, [], True, min_only=True),
        scipy_csgraph.dijkstra(random_matrix(), True, [], True, min_only=True),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_a_negative_cycle_that_bellman_ford_does_not_reach():
    matrix = np.array([[0, 2.0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1.0], [0, 0, -3.0, 0]])
    for ours, theirs in (
        (csgraph.bellman_ford, scipy_csgraph.bellman_ford),
        (lambda *a, **k: csgraph.shortest_path(*a, method="BF", **k), scipy_csgraph.bellman_ford),
    ):
        for indices in (0, [1, 0], []):
            np.testing.assert_array_equal(
                ours(matrix, indices=indices), theirs(matrix, indices=indices)
            )
        for indices in (None, 2, [0, 3]):
            for function in (ours, theirs):
                with pytest.raises(scipy_csgraph.NegativeCycleError):
                    function(matrix, indices=indices)
    for function in (csgraph.johnson, scipy_csgraph.johnson):
        with pytest.raises(scipy_csgraph.NegativeCycleError):
            function(matrix, indices=0)
    # walked both ways, the arc of -3 is a cycle of its own
    matrix[2, 3] = 0
    with pytest.raises(errors.NegativeCycleError):
        csgraph.bellman_ford(matrix, directed=False, indices=3)
    assert csgraph.bellman_ford(matrix, directed=False, indices=0)[1] == 2


def test_negative_weights():
    matrix = random_matrix()
    potential = np.random.default_rng(1).integers(0, 15, len(matrix))
    matrix = np.where(matrix > 0, matrix + potential[:, None] - potential, 0)
    expected = scipy_csgraph.floyd_warshall(matrix)
    np.testing.assert_array_equal(csgraph.floyd_warshall(matrix), expected)


def test_nan_and_inf_in_dense_arrays_mean_no_arc():
    matrix = random_matrix()
    matrix[matrix == 0] = np.inf
    matrix[::2][matrix[::2] == np.inf] = np.nan
    np.testing.assert_array_equal(
        csgraph.floyd_warshall(matrix), scipy_csgraph.floyd_warshall(matrix)
    )


@pytest.mark.parametrize(
    ("name", "keywords", "changed"),
    [
        ("floyd_warshall", {"overwrite": True}, True),
        ("floyd_warshall", {"overwrite": True, "return_predecessors": True}, True),
        ("shortest_path", {"overwrite": True, "method": "FW"}, True),
        ("floyd_warshall", {}, False),
    ],
)
def test_overwriting(name, keywords, changed):
    matrix = random_matrix()
    for function in (getattr(csgraph, name), getattr(scipy_csgraph, name)):
        given = matrix.copy()
        got = function(given, **keywords)
        got = got[0] if isinstance(got, tuple) else got
        np.testing.assert_array_equal(got, scipy_csgraph.dijkstra(matrix))
        assert np.shares_memory(got, given) == changed
        assert np.array_equal(given, matrix) != changed


@pytest.mark.parametrize("matrix", [np.ones((2, 3)), np.ones(4), [[1, 2], [3]]])
def test_wrong_shapes(matrix):
    with pytest.raises(errors.GraphError):
        csgraph.floyd_warshall(matrix)


def test_unknown_methods():
    with pytest.raises(ValueError, match="method"):
        csgraph.shortest_path(random_matrix(), "dijkstra")


def test_explicit_zeros_of_sparse_arrays_are_arcs():
    matrix = sparse.csr_array(([7.0, 0.0], ([0, 1], [1, 2])), shape=(3, 3))
    np.testing.assert_array_equal(
        csgraph.floyd_warshall(matrix), scipy_csgraph.floyd_warshall(matrix)
    )
    assert csgraph.floyd_warshall(matrix)[0, 2] == 7


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.longdouble, object])
def test_numbers_are_rounded_to_float64_as_scipy_does(kind):
    dense = np.array([[0, 2**63 - 1], [0, 0]], dtype=kind)
    expected = 2.0**63
    for matrix in (np.ma.masked_equal(dense, 0), sparse.csr_array(dense.astype(float))):
        assert csgraph.dijkstra(matrix)[0, 1] == scipy_csgraph.dijkstra(matrix)[0, 1] == expected
    if kind is not object:
        assert csgraph.floyd_warshall(dense)[0, 1] == expected


@pytest.mark.parametrize("name", ["dijkstra", "floyd_warshall"])
def test_objects(name):
    """SciPy takes objects only in masked arrays, and converts None to NaN there."""
    ours, theirs = getattr(csgraph, name), getattr(scipy_csgraph, name)
    dense = np.array([[0, 3], [1, 0]], dtype=object)
    masked = np.ma.array(dense, mask=[[1, 0], [0, 1]])
    np.testing.assert_array_equal(ours(masked), theirs(masked))
    for value in (3, None, "1"):
        dense[0, 1] = value
        with pytest.raises(TypeError):
            theirs(dense)
        with pytest.raises(errors.GraphError):
            ours(dense)
    for value in (None, "1", 2j):
        masked[0, 1] = value
        with pytest.raises(errors.GraphError):
            ours(masked)


@pytest.mark.parametrize(
    "matrix", [[["a", "b"], ["c", "d"]], np.array([[0, object()], [1, 0]]), None, "file.gr"]
)
def test_what_are_no_numbers(matrix):
    with pytest.raises(errors.GraphError):
        csgraph.floyd_warshall(matrix)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_undirected_takes_the_smaller_weight(name):
    matrix = sparse.csr_array(np.array([[0, 5.0, 9], [2.0, 0, 1], [0, 6, 0]]))
    got = getattr(csgraph, name)(matrix, directed=False)
    np.testing.assert_array_equal(got, [[0, 2, 3], [2, 0, 1], [3, 1, 0]])
    np.testing.assert_array_equal(got, getattr(scipy_csgraph, name)(matrix, directed=False))


class SparseArray:
    """What SciPy uses of the arrays of PyData's library `sparse`."""

    def __init__(self, entries, fill_value=0.0):
        self.entries, self.fill_value = sparse.coo_array(entries), fill_value
        self.dtype = self.entries.dtype

    def to_scipy_sparse(self, accept_fv=None):
        accepted = np.atleast_1d(0 if accept_fv is None else accept_fv)
        if not np.isclose(self.fill_value, accepted, equal_nan=True).any():
            raise ValueError(f"fill value {self.fill_value}")
        return self.entries


@pytest.mark.parametrize("fill", [0.0, np.inf, np.nan])
def test_arrays_of_pydata(fill, monkeypatch):
    """SciPy takes them in all these functions; what is not stored is no arc."""
    library = types.ModuleType("sparse")
    library.SparseArray = SparseArray
    monkeypatch.setitem(sys.modules, "sparse", library)
    matrix = random_matrix(12)
    array = SparseArray(matrix, fill)
    for ours, theirs, keywords in CALLS:
        for options in ({}, {"directed": False}, {"unweighted": True}):
            expected = theirs(array, **keywords, **options)
            assert np.array_equal(ours(array, **keywords, **options), expected)
    count, labels = csgraph.connected_components(array)
    expected_count, expected = scipy_csgraph.connected_components(array)
    assert count == expected_count
    assert np.array_equal(labels, expected)
    distances = scipy_csgraph.dijkstra(array)
    assert np.array_equal(pyapsp.solve(array).distances, distances)
    assert np.array_equal(pyapsp.sssp(array, 3).distances, distances[3])
    assert from_scipy(array).m == np.count_nonzero(matrix)
    for ours in (csgraph.dijkstra, csgraph.connected_components, pyapsp.solve):
        with pytest.raises(errors.GraphError, match="fill value 7"):
            ours(SparseArray(matrix, 7.0))


def test_a_graph_in_float64_is_not_converted():
    matrix = sparse.csr_array(np.array([[0, 2.5], [0, 0]]))
    graph = from_scipy(matrix)
    assert graph_of(graph, False) is graph
    whole = from_scipy(matrix.astype(np.int32))
    assert graph_of(whole, False).dtype == np.float64
    assert whole.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_wrong_indices_are_refused_in_any_type(dtype, kind):
    """SciPy's conversions read beyond arrays."""
    matrix = sparse.csr_array(np.eye(4, dtype=dtype)).asformat(kind)
    matrix.indices = matrix.indices.copy()
    matrix.indices[0] = 1 << 20
    with pytest.raises(errors.GraphError, match="indices must lie in 0"):
        csgraph.dijkstra(matrix, indices=0, limit=2.0)


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_lists_that_differ_in_length_are_refused_in_any_type(dtype):
    matrix = sparse.lil_array(np.eye(4, dtype=dtype))
    matrix.rows[0] = [0, 1]
    with pytest.raises(errors.GraphError, match="differ in length"):
        csgraph.dijkstra(matrix, indices=0, limit=2.0)


def test_index_arrays_are_checked_once(monkeypatch):
    checked = []
    plain = compressed.rows
    monkeypatch.setattr(compressed, "rows", lambda *args: checked.append(1) or plain(*args))
    assert graph_of(sparse.csr_array(np.eye(4)), False).m == 4
    assert len(checked) == 1
