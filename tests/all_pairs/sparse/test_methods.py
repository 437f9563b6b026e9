"""Every sparse method against SciPy: types, sizes, and graphs of every shape."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyapsp
from pyapsp import verify
from pyapsp.errors import (
    CapabilityError,
    DeviceMemoryError,
    NegativeWeightError,
    PrecisionError,
)
from pyapsp.graph import Graph, generators
from pyapsp.numbers.precision import DTYPES, infinity
from pyapsp.registry import problem

from ..expected import assert_solves, scipy_distances

REQUIRES = {each.id: each.requires for each in pyapsp.methods("all-pairs") if each.by_source}
METHODS = list(REQUIRES)
NON_NEGATIVE = [method for method in METHODS if REQUIRES[method].non_negative]
WEIGHTED = [method for method in METHODS if not REQUIRES[method].unweighted]
ON_THE_DEVICE = [method for method in METHODS if method != "dijkstra-cpu"]


def assert_sound(graph, result, device):
    check = verify.certificate(graph, result, device=device)
    assert check.ok, check.fault
    assert result.predecessors is not None


def refused(method, dtype, device):
    """Whether the device lacks the type; then `solve` must say so."""
    if dtype != "float16" or device.capabilities.fp16:
        return False
    with pytest.raises(CapabilityError, match="has no float16"):
        pyapsp.solve(Graph.from_arcs(2, [0], [1]), method, dtype=dtype, device=device)
    return True


def fitting(graph, method):
    """The graph, or one like it that the method takes."""
    if not REQUIRES[method].unweighted or graph.is_unweighted:
        return graph
    return graph.with_weights(np.ones(graph.m, np.int64))


def whole(seed, n, m, low, high):
    """Make a graph of random arcs, self-loops and parallel arcs among them."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, m)) if n else np.empty((2, 0), int)
    return Graph.from_arcs(n, tails, heads, rng.integers(low, high, len(tails), endpoint=True))


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 67])
@pytest.mark.parametrize("method", METHODS)
def test_sizes(method, n, dtype, device):
    graph = fitting(whole(n, n, 3 * n, 0, 20), method)
    if refused(method, dtype, device):
        return
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert result.distances.dtype == dtype
    assert result.predecessors.dtype == np.int32
    assert_solves(graph, result)
    assert_sound(graph, result, device)
    alone = pyapsp.solve(graph, method, dtype=dtype, device=device)
    assert alone.predecessors is None
    np.testing.assert_array_equal(alone.distances, result.distances)


@pytest.mark.parametrize("method", METHODS)
def test_graphs_without_arcs(method, device):
    for n in (1, 40):
        graph = Graph.from_arcs(n, [], [])
        result = pyapsp.solve(graph, method, dtype="int32", predecessors=True, device=device)
        np.testing.assert_array_equal(result.distances == 0, np.eye(n, dtype=bool))
        assert (result.predecessors == pyapsp.paths.result.NO_PREDECESSOR).all()


ARC = st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from([0, 0, 1, 2, 7]))


@pytest.mark.every(2)
@pytest.mark.parametrize("method", WEIGHTED)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arcs=st.lists(ARC, max_size=30), dtype=st.sampled_from(["int16", "float32", "float64"]))
def test_any_small_graph(method, device, arcs, dtype):
    """Zero weights and cycles of them, self-loops, parallel arcs, isolated vertices."""
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    graph = Graph.from_arcs(9, tails, heads, np.array(weights, np.int64))
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    matrix = np.full((9, 9), np.inf)
    np.minimum.at(matrix, (list(tails), list(heads)), weights)
    np.fill_diagonal(matrix, 0)
    for k in range(9):
        matrix = np.minimum(matrix, matrix[:, k, None] + matrix[k])
    np.testing.assert_array_equal(
        np.where(result.distances < result.infinity, result.distances, np.inf), matrix
    )
    assert_solves(graph, result)
    assert_sound(graph, result, device)


SHAPES = {
    "star": Graph.from_arcs(90, [0] * 89 + list(range(1, 90)), [*range(1, 90)] + [0] * 89),
    "complete": generators.complete(70, seed=1),
    "ring": generators.ring(80, seed=2),
    "grid": generators.grid_2d(8, 9, seed=3),
    "skewed": generators.rmat(6, seed=4),
    "zeros": whole(5, 120, 700, 0, 1),
    "only zeros": whole(6, 70, 150, 0, 0),
    "undirected zeros": whole(7, 90, 150, 0, 1).symmetrized(),
    "falling apart": whole(8, 100, 70, 0, 9),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_shapes(method, shape, device):
    graph = fitting(SHAPES[shape], method)
    for dtype in ("int32", "float64"):
        result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
        assert_solves(graph, result)
        assert_sound(graph, result, device)
    lengths = graph.to_scipy()
    for i, j in itertools.product(range(0, graph.n, 17), range(0, graph.n, 13)):
        path = result.path(i, j)
        assert sum(lengths[a, b] for a, b in itertools.pairwise(path)) == (
            result.distances[i, j] if path else 0
        )
        assert len(set(path)) == len(path)


@pytest.mark.parametrize("method", WEIGHTED)
def test_float_weights_agree_within_rounding(method, device):
    rng = np.random.default_rng(11)
    tails, heads = rng.integers(0, 100, (2, 600))
    graph = Graph.from_arcs(100, tails, heads, rng.random(600))
    for dtype in ("float64", "float32", "float16"):
        if refused(method, dtype, device):
            continue
        result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
        check = verify.against_scipy(graph, result)
        assert check.ok, check
        assert_sound(graph, result, device)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", WEIGHTED)
def test_weights_that_rounding_swallows_keep_predecessors_sound(method, dtype, device):
    # beside a heavy arc the light ones add nothing: like zeros, they could go round
    rng = np.random.default_rng(4)
    n, m = 100, 400
    tails, heads = rng.integers(1, n, (2, m))
    light = np.where(rng.random(m) < 0.3, 0, rng.random(m) * 1e-12)
    graph = Graph.from_arcs(n, [0, *tails, *heads], [1, *heads, *tails], [1e6, *light, *light])
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert_sound(graph, result, device)


@pytest.mark.parametrize("method", NON_NEGATIVE)
def test_negative_weights_are_refused(method, device):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [4, -1])
    with pytest.raises(NegativeWeightError, match=method):
        pyapsp.solve(graph, method, device=device)


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32"])
@pytest.mark.parametrize("method", WEIGHTED)
def test_integers_reach_to_their_infinity(method, dtype, device):
    n, last = 60, infinity(np.dtype(dtype)) - 1
    weights = np.full(n - 1, 200)
    weights[0] = last - 200 * (n - 2)
    path = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), weights)
    result = pyapsp.solve(path, method, dtype=dtype, predecessors=True, device=device)
    assert result.distances[0, n - 1] == last
    assert_solves(path, result)
    assert_sound(path, result, device)
    weights[40] += 1
    with pytest.raises(PrecisionError, match=f"a distance is too large for {dtype}"):
        pyapsp.solve(path.with_weights(weights), method, dtype=dtype, device=device)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
@pytest.mark.parametrize("method", WEIGHTED)
def test_all_bits_of_wide_types_count(method, dtype, device):
    # distances that differ in the low half only, in the high half only, and in both
    n = 40
    rng = np.random.default_rng(3)
    tails, heads = rng.integers(0, n, (2, 300))
    weights = rng.choice([1, 2, 2**31, 2**31 + 1, 2**32, 2**32 + 1, 2**33 - 1], 300)
    graph = Graph.from_arcs(n, tails, heads, weights)
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert_solves(graph, result)
    assert_sound(graph, result, device)


@pytest.mark.parametrize("method", METHODS)
def test_rows_and_types_as_the_caller_wants_them(method, device, tmp_path):
    graph = fitting(whole(1, 50, 300, 0, 9), method)
    everything = pyapsp.solve(graph, method, dtype="int32", device=device)
    some = pyapsp.solve(graph, method, dtype="int32", sources=[7, 3, 7], device=device)
    np.testing.assert_array_equal(some.distances, everything.distances[[7, 3, 7]])
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.int32, (50, 50))
    result = pyapsp.solve(graph, method, out=out, device=device)
    assert result.distances is out
    np.testing.assert_array_equal(out, everything.distances)


@pytest.mark.parametrize("count", [37, 64])
@pytest.mark.parametrize("held", ["uint16", "int32"])
@pytest.mark.parametrize("method", METHODS)
def test_rows_are_written_in_any_type_that_holds_them(method, held, count, device):
    """Blocks are full or not, and some vertices cannot be reached."""
    graph = fitting(whole(5, 70, 150, 1, 9), method)
    expected = scipy_distances(graph)[:count]
    assert np.isinf(expected).any()
    options = problem("all-pairs").ask(graph, pyapsp.method(method), device=device).options
    options = replace(options, dtype=np.dtype(held), answer=np.dtype(np.float64))
    chosen, sources = pyapsp.method(method), np.arange(count)
    session = chosen.start(chosen.plan(graph, replace(options, sources=sources)))
    for dtype in (held, "int64", "float32", "float64"):
        rows = np.zeros((count, graph.n), dtype)
        session.fill(sources, rows, None)
        unreached = rows == infinity(np.dtype(dtype))
        np.testing.assert_array_equal(np.where(unreached, np.inf, rows), expected)


@pytest.mark.parametrize("method", METHODS)
def test_progress_and_cancellation(method, device, assert_cancels):
    seen = []
    graph = fitting(whole(2, 70, 300, 0, 9), method)
    pyapsp.solve(graph, method, progress=lambda *step: seen.append(step), device=device)
    assert seen[-1] == (70, 70)  # sources
    assert seen == sorted(set(seen))
    assert {total for _, total in seen} == {70}
    assert_cancels(pyapsp.solve, graph, method, device=device)
    assert_solves(graph, pyapsp.solve(graph, method, device=device))


@pytest.mark.every(2)
@pytest.mark.parametrize("method", ON_THE_DEVICE)
def test_memory_limit(method, device):
    graph = fitting(whole(3, 200, 900, 0, 9), method)
    for wanted in (False, True):
        options = {"dtype": "float32", "predecessors": wanted, "device": device}
        with pytest.raises(DeviceMemoryError) as caught:
            pyapsp.solve(graph, method, memory_limit=4 * graph.m, **options)
        needed = caught.value.needed
        assert needed > 4 * graph.m
        result = pyapsp.solve(graph, method, memory_limit=needed, **options)
        assert result.stats["peak_device_bytes"] == needed
        assert_solves(graph, result)


@pytest.mark.parametrize("method", METHODS)
def test_the_record(method, device):
    graph = fitting(whole(4, 60, 200, 0, 9), method)
    stats = pyapsp.solve(graph, method, dtype="int32", device=device).stats
    assert stats["method"] == method
    assert stats["kernel_seconds"] > 0
    assert stats["transfer_seconds"] >= 0
    assert stats["kernel_seconds"] + stats["transfer_seconds"] <= stats["wall_seconds"]
    assert isinstance(stats["kernel_hash"], str)
