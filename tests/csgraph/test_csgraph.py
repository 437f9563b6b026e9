"""SciPy's functions on a device: the same answers, and each difference pinned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph as scipy_csgraph

from pyapsp import csgraph, errors


@pytest.fixture(autouse=True)
def _on_device(device, monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)


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


CALLS = [
    (csgraph.floyd_warshall, scipy_csgraph.floyd_warshall, {}),
    (csgraph.shortest_path, scipy_csgraph.shortest_path, {"method": "FW"}),
    (csgraph.shortest_path, scipy_csgraph.shortest_path, {"method": "auto"}),
]


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


@pytest.mark.parametrize("indices", [0, 5, -1, [4], [2, 2, -3], [[1, 2], [3, 4]], []])
def test_indices(indices):
    matrix = random_matrix()
    everything = csgraph.shortest_path(matrix)
    got, before = csgraph.shortest_path(matrix, indices=indices, return_predecessors=True)
    np.testing.assert_array_equal(got, everything[np.asarray(indices, dtype=int)])
    assert before.shape == got.shape


@pytest.mark.parametrize("indices", [30, -31, [0, 99], 0.5])
def test_bad_indices(indices):
    with pytest.raises(errors.ParameterError, match="indices"):
        csgraph.shortest_path(random_matrix(), indices=indices)


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


def test_overwrite_reuses_the_array_and_the_default_does_not():
    matrix = random_matrix()
    kept = matrix.copy()
    expected = scipy_csgraph.floyd_warshall(matrix)
    csgraph.floyd_warshall(matrix)
    np.testing.assert_array_equal(matrix, kept)
    got = csgraph.floyd_warshall(matrix, overwrite=True)
    assert got is matrix
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("matrix", [np.ones((2, 3)), np.ones(4), [[1, 2], [3]]])
def test_wrong_shapes(matrix):
    with pytest.raises(errors.GraphError):
        csgraph.floyd_warshall(matrix)


def test_unknown_and_unavailable_methods():
    with pytest.raises(ValueError, match="method"):
        csgraph.shortest_path(random_matrix(), "dijkstra")
    with pytest.raises(errors.CapabilityError, match="'D'"):
        csgraph.shortest_path(random_matrix(), "D")


# -- the differences listed in pyapsp.csgraph ----------------------------------------------------


def test_difference_tiny_dense_weights_are_kept():
    matrix = np.array([[0, 1e-9], [0, 0]])
    assert csgraph.floyd_warshall(matrix)[0, 1] == 1e-9
    assert scipy_csgraph.floyd_warshall(matrix)[0, 1] == np.inf


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.coo_matrix])
def test_difference_every_sparse_format_is_accepted(kind, form):
    matrix = random_matrix(12)
    got = csgraph.floyd_warshall(kind(matrix).asformat(form))
    np.testing.assert_array_equal(got, scipy_csgraph.floyd_warshall(matrix))


def test_difference_undirected_takes_the_smaller_weight():
    matrix = sparse.csr_array(np.array([[0, 5.0], [2.0, 0]]))
    for method in ("FW", "auto"):
        got = csgraph.shortest_path(matrix, method, directed=False)
        np.testing.assert_array_equal(got, [[0, 2], [2, 0]])


def test_difference_negative_self_loop_is_a_negative_cycle():
    matrix = np.array([[-1.0, 2.0], [0, 0]])
    with pytest.raises(errors.NegativeCycleError) as caught:
        csgraph.floyd_warshall(matrix)
    assert caught.value.cycle == [0, 0]


def test_difference_unmasked_zeros_are_arcs():
    matrix = np.ma.masked_equal(np.array([[9, 7, 9], [9, 9, 0], [9, 9, 9]]), 9)
    got = csgraph.floyd_warshall(matrix)
    np.testing.assert_array_equal(got, scipy_csgraph.dijkstra(matrix))
    assert got[0, 2] == 7
    assert scipy_csgraph.floyd_warshall(matrix)[0, 2] == np.inf


def test_explicit_zeros_of_sparse_arrays_are_arcs():
    matrix = sparse.csr_array(([7.0, 0.0], ([0, 1], [1, 2])), shape=(3, 3))
    np.testing.assert_array_equal(
        csgraph.floyd_warshall(matrix), scipy_csgraph.floyd_warshall(matrix)
    )
    assert csgraph.floyd_warshall(matrix)[0, 2] == 7


def test_difference_nan_in_sparse_arrays_is_an_error():
    matrix = sparse.csr_array(([1.0, np.nan], ([0, 1], [1, 2])), shape=(3, 3))
    with pytest.raises(errors.GraphError, match="weight of the arc 1 -> 2 is nan"):
        csgraph.floyd_warshall(matrix)


def test_integers_are_rounded_to_float64_as_scipy_does():
    matrix = np.array([[0, 2**53 + 1], [0, 0]])
    assert csgraph.floyd_warshall(matrix)[0, 1] == scipy_csgraph.floyd_warshall(matrix)[0, 1]


def test_difference_duplicates_are_parallel_arcs():
    matrix = sparse.coo_array(([3.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert csgraph.floyd_warshall(matrix)[0, 1] == 2


def test_negative_cycle_error_is_scipys_too():
    matrix = np.array([[0, 1.0, 0], [0, 0, -3.0], [1.0, 0, 0]])
    with pytest.raises(scipy_csgraph.NegativeCycleError) as caught:
        csgraph.shortest_path(matrix)
    assert caught.value.weight == -1
