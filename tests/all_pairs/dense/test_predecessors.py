"""Predecessors from distances, in core and by slabs, and corrected where they form a cycle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.dense import predecessors as module
from pyapsp.all_pairs.dense.mending import mend_predecessors, mend_rows
from pyapsp.all_pairs.dense.predecessors import Recovery
from pyapsp.device.kernels import Stopwatch
from pyapsp.errors import DeviceMemoryError
from pyapsp.graph import Graph, dense
from pyapsp.numbers.precision import Tolerance, largest_finite, tolerance, tolerance_for
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.result import NO_PREDECESSOR as NONE

# 0 -> 1 at weight 5, 1 <-> 2 at weight 0, 3 apart
ZERO_CYCLE = Graph.from_arcs(4, [0, 1, 2], [1, 2, 1], [5, 0, 0])
INFINITY = 2**30 - 1
DISTANCES = np.full((4, 4), INFINITY, dtype=np.int32)
DISTANCES[0, :3], DISTANCES[1, 1:3], DISTANCES[2, 1:3], DISTANCES[3, 3] = (0, 5, 5), 0, 0, 0
SOUND = np.array(
    [[NONE, 0, 1, NONE], [NONE, NONE, 1, NONE], [NONE, 2, NONE, NONE], [NONE] * 4], dtype=np.int32
)


def test_only_the_broken_row_is_rebuilt():
    broken = SOUND.copy()
    broken[0, 1] = 2  # 1 from 2 and 2 from 1: tight arcs, but never from 0
    assert mend_predecessors(ZERO_CYCLE, DISTANCES, broken) == 1
    np.testing.assert_array_equal(broken, SOUND)


def test_sound_rows_are_kept():
    before = SOUND.copy()
    assert mend_predecessors(ZERO_CYCLE, DISTANCES, before) == 0
    np.testing.assert_array_equal(before, SOUND)


def test_positive_weights_need_no_look():
    graph = ZERO_CYCLE.with_weights([5, 1, 1])
    untouched = np.full((4, 4), 7, dtype=np.int32)  # would be out of range if looked at
    assert mend_predecessors(graph, DISTANCES, untouched) == 0
    assert (untouched == 7).all()


def test_weights_within_rounding_are_treated_like_zeros():
    graph = Graph.from_arcs(4, [0, 1, 2], [1, 2, 1], [1e6, 1e-12, 1e-12])
    distances = np.where(DISTANCES < INFINITY, DISTANCES * 2e5, np.inf).astype(np.float32)
    broken = SOUND.copy()
    broken[0, 1] = 2
    assert mend_predecessors(graph, distances, broken) == 1
    np.testing.assert_array_equal(broken, SOUND)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", ["fw-naive", "fw-blocked"])
def test_small_weights_beside_a_heavy_arc(method, dtype, device):
    # what is rounding for the heavy arc is a detour of many arcs among the light ones
    rng = np.random.default_rng(4)
    n = 130
    tails, heads = rng.integers(0, n - 2, (2, 5 * n))
    weights = np.where(rng.random(5 * n) < 0.3, 0, rng.random(5 * n) * 1e-6)
    graph = Graph.from_arcs(
        n, [*tails, *heads, n - 2], [*heads, *tails, n - 1], [*weights, *weights, 1e4]
    )
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    outcome = verify.certificate(graph, result, device=device)
    assert outcome.ok, outcome.fault


@pytest.mark.parametrize("method", ["fw-minplus", "fw-blocked"])
@pytest.mark.parametrize(
    ("dtype", "heavy"), [("float32", 2e38), ("float64", 1e308), ("float64", 1e60)]
)
def test_heavy_arcs_beside_negative_ones_keep_their_tails(dtype, heavy, method, device):
    """The sum of a weight and a distance may be infinite where both are finite."""
    graph = Graph.from_arcs(5, [0, 2, 3], [1, 3, 4], [heavy, -1.5, 0.5])
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert result.predecessors[0, 1] == 0
    assert result.path(2, 4) == [2, 3, 4]


def test_the_memory_of_recovery_is_planned(device):
    """For packed words the matrix is uploaded again; it and the predecessors are counted."""
    n = 120
    graph = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1, np.int64))
    result = pyapsp.solve(graph, "fw-packed8", predecessors=True, device=device)
    assert result.stats["peak_device_bytes"] >= n * n * (8 + 4)


def random_arcs(n, m, seed):
    """Return arcs among the first n - 2 of n vertices; the last two are isolated."""
    rng = np.random.default_rng(seed)
    return rng, *rng.integers(0, n - 2, (2, m))


def graph_of(kind, n=70):
    rng, tails, heads = random_arcs(n, 6 * n, seed=3)
    if kind == "complete":  # every arc is as long as the distance
        tails, heads = (ends.ravel() for ends in np.indices((n, n)))
        return Graph.from_arcs(n, tails, heads)
    if kind == "star":  # most arcs end in one vertex
        tails, heads = np.append(tails, np.arange(n)), np.append(heads, np.full(n, 5))
        return Graph.from_arcs(n, tails, heads)
    if kind == "negative":
        height = rng.integers(0, 20, n)
        weights = rng.integers(0, 30, tails.size) + height[tails] - height[heads]
        return Graph.from_arcs(n, tails, heads, weights)
    weights = {
        "whole": lambda: rng.integers(1, 60, tails.size),
        "zeros": lambda: rng.integers(0, 3, tails.size),
        "real": lambda: rng.random(tails.size),
        "wide": lambda: 10.0 ** rng.integers(-12, 4, tails.size),
    }[kind]()
    return Graph.from_arcs(n, tails, heads, weights)


def by_slabs(graph, result, device, rows):
    """Return the predecessors for the distances of a result, found by slabs of so many rows."""
    distances, n = result.distances, graph.n
    before = np.full((n, n), -1, np.int32)
    read, written = np.zeros(n, int), []

    def deliver(first, last, into):
        assert into.shape == (last - first, n)
        read[first:last] += 1
        into[...] = distances[first:last]

    def take(first, last, some):
        assert some.shape == (last - first, n)
        written.extend(range(first, last))
        before[first:last] = some

    options = AllPairsOptions(device, distances.dtype, predecessors=True)
    recovery = rows if isinstance(rows, Recovery) else Recovery(graph, options, rows)
    largest = max((largest_finite(row) for row in distances), default=0)
    recovery.run_slabs(device.queue(), deliver, take, Stopwatch(), largest_distance=largest)
    assert written == list(range(n))
    assert ((read == 2) | (read == 3)).all()
    return before


def in_core(graph, result, device):
    """Return the predecessors for the distances of a result, found from all of them at once."""
    distances, n = result.distances, graph.n
    padded = np.zeros((n, n + 3), distances.dtype)  # 0 would be the shortest distance of all
    padded[:, :n] = distances
    queue, flags = device.queue(), cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    matrix = cl.Buffer(queue.context, flags, hostbuf=padded)
    recovery = Recovery(graph, AllPairsOptions(device, distances.dtype, predecessors=True))
    before = np.empty((n, n), np.int32)
    recovery.run(queue, matrix, n + 3, distances, before, Stopwatch())
    return before


@pytest.fixture(params=["scalar groups", "wide groups"])
def shape(request, device, monkeypatch):
    """Return a function that lets kernels be built as for CPUs, or as for GPUs."""
    traits = replace(device.traits, scalar_groups=request.param == "scalar groups")
    return lambda: monkeypatch.setattr(type(device), "traits", traits)


KINDS = {
    "whole": ("float32", "float64", "int32", "int64", "uint16", "int16"),
    "zeros": ("float32", "int64", "uint16"),
    "negative": ("float32", "float64", "int32", "int16"),
    "real": ("float32", "float64"),
    "wide": ("float32", "float64"),
    "complete": ("float32", "uint16"),
    "star": ("float64", "int32"),
}


@pytest.mark.every(8)
@pytest.mark.parametrize(
    ("kind", "dtype"), [(kind, dtype) for kind, dtypes in KINDS.items() for dtype in dtypes]
)
def test_slabs_of_any_height_give_what_the_whole_matrix_gives(
    kind, dtype, device, shape, monkeypatch
):
    graph = graph_of(kind)
    result = pyapsp.solve(graph, "fw-blocked", dtype=dtype, device=device)
    shape()
    result = replace(result, predecessors=in_core(graph, result, device))
    outcome = verify.certificate(graph, result, device=device)
    assert outcome.ok, outcome.fault
    for rows, stripe in ((1, 2**20), (13, 2**20), (33, 1), (69, 5 * 8 * graph.n), (200, 2**20)):
        monkeypatch.setattr(module, "_STRIPE", stripe)
        distances = by_slabs(graph, result, device, rows)
        np.testing.assert_array_equal(distances, result.predecessors, str((rows, stripe)))


@pytest.mark.every(2)
@pytest.mark.parametrize(("kind", "first_pass"), [("whole", False), ("complete", True)])
def test_few_arcs_need_no_first_pass_on_a_gpu(kind, first_pass, device, monkeypatch):
    graph, sifted, sift = graph_of(kind), [], Recovery._sift
    result = pyapsp.solve(graph, "fw-blocked", dtype="uint16", device=device)
    monkeypatch.setattr(type(device), "traits", replace(device.traits, scalar_groups=False))
    monkeypatch.setattr(Recovery, "_sift", lambda *given: (sifted.append(given), sift(*given))[1])
    in_core(graph, result, device)
    assert len(sifted) == first_pass
    by_slabs(graph, result, device, 200)  # what the ranks of a run agree on is needed
    assert len(sifted) == first_pass + 1


def _matrix(kind):
    """Return weights of 150 vertices, of which some are no arcs."""
    rng = np.random.default_rng(len(kind))
    matrix = rng.random((150, 150)) if "fractions" in kind else rng.integers(1, 99, (150, 150))
    if "float32" in kind:
        matrix = matrix.astype(np.float32)
    if "holes" in kind:
        matrix[rng.random(matrix.shape) < 0.9] = 0
    if "inf" in kind:
        matrix = matrix.astype(float)
        matrix[rng.random(matrix.shape) < 0.9] = np.inf
    if "short" in kind:
        matrix //= 50
    if "negative" in kind:
        height = rng.integers(0, 50, 150)
        matrix = matrix + height[:, None] - height
    return np.asfortranarray(matrix) if "columns" in kind else matrix


@pytest.mark.parametrize(
    "kind",
    [
        "whole",
        "whole holes",
        "whole inf",
        "fractions",
        "fractions float32 holes",
        "fractions inf",
        "whole negative",
        "whole short negative",
        "fractions negative",
        "whole columns holes",
    ],
)
@pytest.mark.parametrize("dtype", [None, "float32"])
def test_arcs_of_a_dense_matrix_are_not_listed(kind, dtype, device, monkeypatch):
    """To list them takes longer than to solve it."""
    matrix = _matrix(kind)
    given = {"dtype": dtype, "predecessors": True, "device": device}
    negative = "negative" in kind
    methods = ["fw-minplus"] if negative or "whole" not in kind else ["fw-minplus", "fw-packed16"]
    monkeypatch.setattr(dense, "_BLOCK", 1000)
    for method in methods:
        with monkeypatch.context() as patch:
            if not negative:  # rows that may have cycles are corrected by means of the list
                patch.setattr(Graph, "from_dense", lambda *_, **__: pytest.fail("arcs were listed"))
            result = pyapsp.solve(matrix, method, **given)
        outcome = verify.certificate(matrix, result, device=device)
        assert outcome.ok, outcome.fault


@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_slabs_of_graphs_without_arcs(n, device):
    graph = Graph.from_arcs(n, [], [])
    result = pyapsp.solve(graph, "fw-blocked", dtype="float32", device=device)
    for rows in (1, 7):
        assert (by_slabs(graph, result, device, rows) == NONE).all()
    assert (
        Recovery.within(graph, AllPairsOptions(device, np.dtype("float32")), 2**24).slab_rows >= n
    )


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_zero_cycles_are_mended_by_slabs(dtype, device):
    """Two vertices of a zero-weight cycle can each be the last before the other."""
    n = 60
    ring = np.arange(n)
    graph = Graph.from_arcs(
        n + 1, [*ring, *ring, n], [*(ring + 1) % n, *(ring - 1) % n, 7], [0] * 2 * n + [5]
    )
    result = pyapsp.solve(graph, "fw-minplus", dtype=dtype, predecessors=True, device=device)
    for rows in (1, 17, 61):
        distances = replace(result, predecessors=by_slabs(graph, result, device, rows))
        outcome = verify.certificate(graph, distances, device=device)
        assert outcome.ok, outcome.fault


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("kind", "dtype", "looked_at"),
    [("real", "float32", 0), ("whole", "int32", 0), ("zeros", "int32", 68)],
)
def test_only_rows_that_do_not_fall_are_looked_at(
    kind, dtype, looked_at, device, shape, monkeypatch
):
    """The device finds the rows in which predecessors may form a cycle: few for random weights."""
    graph, seen = graph_of(kind), []
    result = pyapsp.solve(graph, "fw-blocked", dtype=dtype, device=device)
    shape()
    monkeypatch.setattr(module, "mend_rows", lambda *given: seen.extend(given[-1]))
    by_slabs(graph, result, device, 20)
    assert np.count_nonzero(seen) == looked_at


def test_with_a_negative_cycle_nothing_is_mended(device, monkeypatch):
    graph = graph_of("zeros")
    result = pyapsp.solve(graph, "fw-blocked", dtype="int32", device=device)
    mended = []
    monkeypatch.setattr(module, "mend_rows", lambda *given: mended.append(given))
    result.distances[3, 3] = -1
    in_core(graph, result, device)
    assert not mended


def test_rows_are_mended_by_themselves():
    exact = Tolerance(0, 0)
    broken = SOUND[:2].copy()
    broken[0, 1] = 2
    apart = broken.copy()
    assert mend_rows(ZERO_CYCLE, 0, DISTANCES[:2], apart, exact, np.array([0, 1])) == 0
    np.testing.assert_array_equal(apart, broken)
    assert mend_rows(ZERO_CYCLE, 0, DISTANCES[:2], apart, exact, np.array([1, 0])) == 1
    np.testing.assert_array_equal(apart, SOUND[:2])
    # from 4 on the way is 4 -> 0 -> 1 <-> 2
    graph = Graph.from_arcs(5, [0, 1, 2, 4], [1, 2, 1, 0], [5, 0, 0, 1])
    distances = np.array([[1, 6, 6, INFINITY, 0]], np.int32)
    row = np.array([[4, 2, 1, NONE, NONE]], np.int32)
    assert mend_rows(graph, 4, distances, row, exact) == 1
    np.testing.assert_array_equal(row, [[4, 0, 1, NONE, NONE]])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "uint16"])
def test_rounding_is_known_from_the_largest_distance(dtype):
    rng = np.random.default_rng(0)
    tails, heads = rng.integers(0, 40, (2, 200))
    distances = rng.integers(0, 9000, (40, 40)).astype(dtype)
    distances[rng.random((40, 40)) < 0.1] = np.inf if dtype[0] == "f" else np.iinfo(dtype).max // 2
    for weights in (rng.integers(1, 9, 200), rng.random(200), rng.random(200) - 0.1):
        graph = Graph.from_arcs(40, tails, heads, weights)
        distances[3, 4] = 9008
        assert largest_finite(distances) == 9008
        if dtype[0] != "u":
            distances[3, 4] = -9008
        largest = max(largest_finite(distances[start : start + 7]) for start in range(0, 40, 7))
        assert largest == 9008
        assert tolerance_for(graph, np.dtype(dtype), largest) == tolerance(graph, distances)


@pytest.mark.parametrize("kind", ["whole", "complete"])
def test_the_memory_decides_how_high_slabs_are(kind, device, monkeypatch):
    graph = graph_of(kind)
    options = AllPairsOptions(device, np.dtype("float32"), predecessors=True)
    one, whole = (sum(Recovery(graph, options, rows).buffers) for rows in (1, graph.n))
    with pytest.raises(DeviceMemoryError, match="one source at a time"):
        Recovery.within(graph, options, one - 1)
    for available in (one, (one + whole) // 2, whole, 10 * whole):
        recovery = Recovery.within(graph, options, available)
        rows = recovery.slab_rows
        assert sum(recovery.buffers) <= available
        assert recovery.buffers == Recovery(graph, options, rows).buffers
        assert rows == graph.n or sum(Recovery(graph, options, rows + 1).buffers) > available
        assert (rows > 1) == (available > one)
    for limit in (max(Recovery(graph, options, 40).buffers), 64):
        smaller = replace(device.capabilities, max_allocation=limit)
        monkeypatch.setattr(type(device), "capabilities", smaller)
        if limit == 64:
            with pytest.raises(DeviceMemoryError, match="largest single allocation"):
                Recovery.within(graph, options, whole)
        else:
            assert 40 <= Recovery.within(graph, options, whole).slab_rows < graph.n


def test_not_all_arcs_need_to_fit(device):
    graph = graph_of("complete", 300)
    recovery = Recovery(graph, AllPairsOptions(device, np.dtype("float32"), predecessors=True), 1)
    assert sum(recovery.buffers) < 4 * graph.m  # their heads alone would be more


@pytest.mark.parametrize("kind", ["whole", "complete", "zeros"])
def test_no_more_memory_is_used_than_told(kind, device, monkeypatch):
    graph, now, most = graph_of(kind), 0, 0

    class Counted(cl.Buffer):
        def __init__(self, context, flags, size):
            super().__init__(context, flags, size)
            nonlocal now, most
            now += size
            most = max(most, now)

        def __del__(self):
            nonlocal now
            now -= self.size

    result = pyapsp.solve(graph, "fw-blocked", dtype="int32", device=device)
    options = AllPairsOptions(device, result.distances.dtype, predecessors=True)
    monkeypatch.setattr(module, "_buffer", lambda queue, size: Counted(queue.context, 0, size))
    for rows in (1, 20, graph.n):
        most, recovery = 0, Recovery(graph, options, rows)
        by_slabs(graph, result, device, recovery)
        assert (now, most) == (0, sum(recovery.buffers))
    most = 0
    in_core(graph, result, device)
    assert (now, most) == (0, sum(Recovery(graph, options).buffers))
