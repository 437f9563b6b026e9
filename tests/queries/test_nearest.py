"""`nearest` against sorted rows of SciPy; ties, types, tables, wrong arguments."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.errors import NegativeWeightError, ParameterError, PrecisionError
from pyapsp.graph import Graph
from pyapsp.queries import cells

from .drawn import drawn


def sorted_rows(graph, targets, k, cutoff=None):
    """Return targets and distances of the k nearest, by all rows, ties by the smaller number."""
    limit = np.inf if cutoff is None else cutoff
    rows = csgraph.dijkstra(graph.to_scipy().astype(float).T, indices=targets, limit=limit).T
    order = np.argsort(rows, axis=1, kind="stable")[:, :k]
    near = np.take_along_axis(rows, order, axis=1)
    found = np.where(np.isfinite(near), np.asarray(targets)[order], -9999)
    missing = (0, 0), (0, k - order.shape[1])
    return (
        np.pad(found, missing, constant_values=-9999),
        np.pad(near, missing, constant_values=np.inf),
    )


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_many_graphs_as_scipy_does(k, device):
    rng = np.random.default_rng(k)
    for seed in range(40):
        graph = drawn(seed, n=5 + 3 * seed, degree=1.5 + seed % 4)
        targets = np.unique(rng.integers(0, graph.n, 1 + seed % 12))
        for cutoff in (None, 3):
            found = pyapsp.nearest(graph, targets[::-1], k, cutoff=cutoff, device=device)
            expected, near = sorted_rows(graph, targets, k, cutoff)
            np.testing.assert_array_equal(found.distances, near)
            np.testing.assert_array_equal(found.targets, expected)


@pytest.fixture(params=["Numba", "SciPy"])
def searching(request, monkeypatch):
    """Which of the two searches on the host."""
    if request.param == "SciPy":
        monkeypatch.setitem(sys.modules, "numba", None)


def test_the_nearest_one_is_found_on_the_host(searching, device, monkeypatch):
    """And the device finds the same."""

    def found(seed):
        graph = drawn(seed, n=5 + 3 * seed, degree=1.5 + seed % 4)
        targets = np.random.default_rng(seed).integers(0, graph.n, 1 + seed % 12)
        cutoff, dtype = (None, 3)[seed % 2], (None, "int64", "int16")[seed % 3]
        return pyapsp.nearest(graph, targets, cutoff=cutoff, dtype=dtype, device=device)

    with monkeypatch.context() as patched:
        patched.setattr("pyapsp.queries.cells.build", None)
        on_host = [found(seed) for seed in range(40)]
    monkeypatch.setattr("pyapsp.queries.cells._on_host", lambda *given: None)
    for seed, each in enumerate(on_host):
        on_device = found(seed)
        assert on_device.distances.dtype == each.distances.dtype
        np.testing.assert_array_equal(on_device.targets, each.targets)
        np.testing.assert_array_equal(on_device.distances, each.distances)


# Targets 0 and 1 are as near to all others; some arcs make a path no longer.
_FAR = np.array([1, 0, *range(2, 300)]), np.array([2, 2, *range(3, 301)])
_CHAIN = _FAR, np.ones(300)
_ZEROS = ([0, 3, 1, 2, 2], [3, 2, 2, 4, 5]), [1, 0, 1, 0, 3]
_ROUNDED = ([0, 3, 1, 2, 2], [3, 2, 2, 4, 5]), [2.0**60, 1, 2.0**60, 1, 2.0**61]


@pytest.mark.parametrize("arcs", [_CHAIN, _ZEROS, _ROUNDED], ids=["chain", "zeros", "rounded"])
def test_ties_are_passed_along(arcs, searching, device, monkeypatch):
    """Search may find start 1 first; it is as near as start 0 to the vertices beyond 1."""
    monkeypatch.setattr("pyapsp.queries.cells.build", None)
    (tails, heads), weights = (np.array(each) for each in arcs[0]), np.array(arcs[1])
    for order in (slice(None), slice(None, None, -1)):
        graph = Graph.from_arcs(301, heads[order], tails[order], weights[order])
        found = pyapsp.nearest(graph, [0, 1], device=device)
        beyond = np.unique(heads[heads > 1])
        assert found.targets[[0, 1], 0].tolist() == [0, 1]
        assert set(found.targets[beyond, 0].tolist()) == {0}


def test_too_many_ties_are_left_to_the_device(searching, device, monkeypatch):
    (tails, heads), weights = _ZEROS
    graph = Graph.from_arcs(6, heads, tails, weights)
    monkeypatch.setattr("pyapsp.queries.cells._TIES", 0)
    launches, build = [], cells.build
    monkeypatch.setattr(cells, "build", lambda *given: launches.append(given) or build(*given))
    assert pyapsp.nearest(graph, [0, 1], device=device).targets[:, 0].tolist() == [0, 1, *[0] * 4]
    assert len(launches) == 1


def test_weights_that_are_rounded(device):
    for seed in range(20):
        graph = drawn(seed, n=80, kind="real")
        found = pyapsp.nearest(graph, range(0, 80, 9), 4, device=device)
        # the sums begin at the other end
        _, near = sorted_rows(graph, range(0, 80, 9), 4)
        np.testing.assert_allclose(found.distances, near)


def test_all_vertices_are_targets(device):
    graph = drawn(4)
    graph = graph.with_weights(graph.weights + 1)
    found = pyapsp.nearest(graph, range(60), 60, device=device)
    expected, near = sorted_rows(graph, range(60), 60)
    np.testing.assert_array_equal(found.targets, expected)
    np.testing.assert_array_equal(found.distances, near)


def test_labels_that_are_replaced_again_and_again(device):
    """In a star the rays are found ever shorter."""
    n = 120
    tails = np.repeat(np.arange(n - 1), np.arange(n - 1, 0, -1))
    heads = np.concatenate([np.arange(v + 1, n) for v in range(n - 1)])
    graph = Graph.from_arcs(n, heads, tails, (heads - tails) * (n - tails))
    found = pyapsp.nearest(graph, [0, 1, 2], 3, device=device)
    expected, near = sorted_rows(graph, [0, 1, 2], 3)
    np.testing.assert_array_equal(found.targets, expected)
    np.testing.assert_array_equal(found.distances, near)


def test_large_graphs_are_searched_on_the_device_if_it_is_a_cpu(monkeypatch, device):
    graph = drawn(4, n=200)
    targets = range(0, 200, 9)
    expected = pyapsp.nearest(graph, targets, device=device)
    monkeypatch.setattr("pyapsp.queries.cells._FEW", 0)
    if device.traits.scalar_groups:
        monkeypatch.setattr("pyapsp.queries.cells._on_host", None)
    found = pyapsp.nearest(graph, targets, device=device)
    np.testing.assert_array_equal(found.targets, expected.targets)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("delta", [0, 1, 1e300])
@pytest.mark.parametrize("kind", ["real", "whole"])
def test_the_step_of_the_limit_changes_no_bit(delta, kind, monkeypatch, device):
    for seed in range(10):
        graph = drawn(seed, n=90, kind=kind)
        found = []
        for each in (4, delta):
            monkeypatch.setattr("pyapsp.queries.cells._DELTA", each)
            found.append(pyapsp.nearest(graph, range(0, 90, 7), 3, device=device))
        np.testing.assert_array_equal(found[0].targets, found[1].targets)
        np.testing.assert_array_equal(found[0].distances, found[1].distances)


def test_launches_continue_each_other(monkeypatch, device):
    graph = drawn(4, n=200)
    expected = pyapsp.nearest(graph, range(9), 3, device=device)
    monkeypatch.setattr("pyapsp.queries.cells._FIRST", 7)
    monkeypatch.setattr("pyapsp.queries.cells.longer", lambda count, seconds: count)
    found = pyapsp.nearest(graph, range(9), 3, device=device)
    np.testing.assert_array_equal(found.targets, expected.targets)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["float32", "int64", "int16", "auto"])
def test_every_type(dtype, device):
    graph = drawn(4)
    found = pyapsp.nearest(graph, [3, 1], 2, dtype=dtype, device=device)
    expected, near = sorted_rows(graph, [1, 3], 2)
    np.testing.assert_array_equal(found.targets, expected)
    reached = found.distances < found.infinity
    np.testing.assert_array_equal(reached, np.isfinite(near))
    np.testing.assert_array_equal(found.distances[reached], near[reached])


def test_distances_beyond_the_type(device):
    line = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [9000, 9000, 9000], directed=False)
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.nearest(line, [0], dtype="int16", device=device)
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.nearest(line, [0, 3], 2, dtype="int16", device=device)
    long = Graph.from_arcs(3, [0, 1], [1, 2], [2**61, 2**61 - 1])
    with pytest.raises(PrecisionError, match="too large for int64"):
        pyapsp.nearest(long, [2], dtype="int64", device=device)
    # no vertex needs the far target
    found = pyapsp.nearest(line, [0, 3], 1, dtype="int16", device=device)
    assert found.distances[:, 0].tolist() == [0, 9000, 9000, 0]


def test_labels(device):
    edges = {"source": ["a", "a", "b"], "target": ["b", "c", "c"], "weight": [1, 5, 2]}
    graph = pyapsp.graph.from_frame(edges)
    frame = pyapsp.nearest(graph, [1, 2], 2, device=device).to_frame()
    assert frame.vertex.tolist() == ["a", "a", "b", "b", "c"]
    assert frame["rank"].tolist() == [1, 2, 1, 2, 1]
    assert frame.target.tolist() == ["b", "c", "b", "c", "c"]
    assert frame.distance.tolist() == [1, 3, 0, 2, 0]
    back = pyapsp.nearest(graph.reversed(), [0, 1], device=device)
    assert back.targets[:, 0].tolist() == [0, 1, 1]
    assert repr(back) == "<Nearest: n=3, k=1>"


def test_nothing_to_do(device):
    found = pyapsp.nearest(drawn(1), [], 3, device=device)
    assert found.targets.shape == (60, 3)
    assert (found.targets == -9999).all()
    assert np.isinf(found.distances).all()
    assert pyapsp.nearest(Graph.from_arcs(0, [], []), [], device=device).targets.shape == (0, 1)


def test_wrong_arguments(device):
    graph = drawn(1)
    with pytest.raises(ParameterError, match="'k' parameter of nearest must"):
        pyapsp.nearest(graph, [1], 0)
    with pytest.raises(ParameterError, match="'targets' parameter of nearest must"):
        pyapsp.nearest(graph, [60])
    with pytest.raises(NegativeWeightError, match="nearest needs non-negative weights"):
        pyapsp.nearest(Graph.from_arcs(2, [0], [1], [-1]), 0, device=device)
