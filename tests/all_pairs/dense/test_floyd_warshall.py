"""Every dense method against SciPy, for every type, size and parameter set."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.device import event_times
from pyapsp.errors import (
    CapabilityError,
    DeviceMemoryError,
    NegativeWeightError,
    ParameterError,
    PrecisionError,
)
from pyapsp.graph import Graph
from pyapsp.numbers.precision import DTYPES

from ..expected import assert_solves, scipy_distances

DENSE = [method for method in pyapsp.methods("all-pairs") if not method.by_source]
REQUIRES = {method.id: method.requires for method in DENSE}
METHODS = list(REQUIRES)
# those with the whole matrix on the device
# methods whose kernels take seconds to compile, so that most tests of them are slow
HEAVY = {"fw-twolevel", "fw-multidevice"}
LIGHT = [pytest.param(m, marks=pytest.mark.slow) if m in HEAVY else m for m in METHODS]
IN_CORE = [method.id for method in DENSE if not method.multidevice]
# the default tile is 64 on CPUs and 32 on GPUs: both sides of both, and a prime
SIZES = [0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 131]


def random_graph(n, *, density=0.1, low=1, high=100, seed=0):
    """Make a random directed graph without negative cycles: weights low..high, reweighted."""
    rng = np.random.default_rng(seed)
    arc = rng.random((n, n)) < density
    np.fill_diagonal(arc, False)
    tails, heads = np.nonzero(arc)
    weights = rng.integers(max(low, 0), high, tails.size, endpoint=True)
    if low < 0:  # a potential makes weights negative, but no cycle
        potential = rng.integers(low, -low, n)
        weights = weights + potential[tails] - potential[heads]
    return Graph.from_arcs(n, tails, heads, weights)


def bits_of(method):
    """The bits in which a method holds a distance whatever the type of the answer, else None."""
    largest = REQUIRES[method].largest_distance
    return None if largest is None else (largest + 1).bit_length()


def fitting(graph, method, device):
    """The graph, or one like it that the method takes; then `solve` must refuse the given one."""
    requires, weights = REQUIRES[method], graph.weights
    if requires.non_negative and graph.has_negative:
        with pytest.raises(NegativeWeightError, match=method):
            pyapsp.solve(graph, method, device=device)
        graph = graph.with_weights(weights := abs(weights))
    if requires.integer and not graph.is_integer:
        with pytest.raises(PrecisionError, match=f"{method} needs weights that are whole"):
            pyapsp.solve(graph, method, device=device)
        graph = graph.with_weights(weights := np.floor(100 * weights).astype(int))
    largest = requires.largest_distance
    if largest is None:
        return graph
    distances = scipy_distances(graph)
    farthest = int(distances.max(where=np.isfinite(distances), initial=0))
    if max(farthest, graph.max_magnitude) > largest:
        with pytest.raises(PrecisionError, match=rf"{method}.* holds .*: use "):
            pyapsp.solve(graph, method, device=device)
    if farthest > largest:  # rounded down, a path shrinks at least as much as its length
        weights = weights * largest // farthest
    return graph.with_weights(np.minimum(weights, largest))


def is_refused(graph, method, dtype, device):
    """Whether this device lacks the type, or the type the sign; then `solve` must say so."""
    if dtype == "uint16" and graph.has_negative:
        error, text = PrecisionError, "uint16 does not hold the negative weight"
    elif dtype == "float16" and not device.capabilities.fp16:
        error, text = CapabilityError, "has no float16"
    else:
        return False
    with pytest.raises(error, match=text):
        pyapsp.solve(graph, method, dtype=dtype, device=device)
    return True


@pytest.mark.pairwise
@pytest.mark.parametrize("predecessors", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("method", METHODS)
def test_sizes(method, n, dtype, predecessors, device):
    graph = fitting(random_graph(n, low=0, seed=n), method, device)
    if is_refused(graph, method, dtype, device):
        return
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=predecessors, device=device)
    assert result.distances.dtype == dtype
    assert_solves(graph, result)
    if predecessors:
        assert result.predecessors.dtype == np.int32
        assert verify.certificate(graph, result, device=device).ok


@pytest.mark.every(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", LIGHT)
def test_negative_weights(method, dtype, device):
    graph = random_graph(97, low=-40, seed=3)
    assert graph.has_negative
    graph = fitting(graph, method, device)
    if is_refused(graph, method, dtype, device):
        return
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert_solves(graph, result)
    assert verify.certificate(graph, result, device=device).ok


@pytest.mark.every(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", LIGHT)
def test_negative_arcs_do_not_shorten_what_is_unreachable(method, dtype, device):
    # 0 -> 1 -> ... only: everything backwards stays at infinity in spite of negative arcs
    n = 70
    graph = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), np.full(n - 1, -5))
    graph = fitting(graph, method, device)
    if is_refused(graph, method, dtype, device):
        return
    result = pyapsp.solve(graph, method, dtype=dtype, device=device)
    assert_solves(graph, result)
    assert result.distances[n - 1, 0] == result.infinity


@pytest.mark.every(3)
@pytest.mark.parametrize("method", LIGHT)
def test_zero_weight_cycles_keep_predecessors_sound(method, device):
    # blocks of vertices joined by zero arcs both ways: many equal paths, many zero cycles
    rng = np.random.default_rng(5)
    n = 150
    tails, heads = rng.integers(0, n, (2, 6 * n))
    weights = rng.integers(0, 2, tails.size)
    graph = Graph.from_arcs(n, tails, heads, weights, directed=False)
    graph = fitting(graph, method, device)
    result = pyapsp.solve(graph, method, dtype="int32", predecessors=True, device=device)
    assert_solves(graph, result)
    assert verify.certificate(graph, result, device=device).ok
    for i, j in itertools.product(range(0, n, 7), range(0, n, 11)):
        path = result.path(i, j)
        length = sum(graph.to_scipy()[a, b] for a, b in itertools.pairwise(path))
        assert length == result.distances[i, j]
        assert len(set(path)) == len(path)


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("method", LIGHT)
def test_float_weights_agree_within_rounding(method, dtype, device):
    rng = np.random.default_rng(11)
    n = 100
    tails, heads = rng.integers(0, n, (2, 8 * n))
    graph = Graph.from_arcs(n, tails, heads, rng.random(tails.size))
    graph = fitting(graph, method, device)
    if is_refused(graph, method, dtype, device):
        return
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    comparison = verify.against_scipy(graph, result)
    assert comparison.ok, comparison
    assert verify.certificate(graph, result, device=device).ok


LEGAL_SETS = [
    {"tile": tile, "width": width, "rows": rows, "group_x": x, "group_y": y}
    for tile, width, rows, x, y in itertools.product(
        (8, 16, 32, 64, 128), (1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 8, 16, 32), (1, 2, 4, 8, 16)
    )
    if tile % (width * x) == 0 and tile % (rows * y) == 0
]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "start", [0, *(pytest.param(start, marks=pytest.mark.nightly) for start in range(1, 4))]
)
def test_blocked_parameter_sets(start, device):
    """An even sample of the legal sets that this device takes; each is one more compilation."""
    graph = random_graph(51, low=-9, seed=1)
    widest = device.traits.lanes(4)
    ran = 0
    for parameters in LEGAL_SETS[start * 11 :: 44]:
        method = pyapsp.method("fw-blocked", **parameters)
        fits = (
            parameters["width"] <= widest
            and parameters["group_x"] * parameters["group_y"]
            <= device.capabilities.max_work_group_size
            and 16 * parameters["tile"] ** 2 + 12 * parameters["tile"]
            <= device.capabilities.local_memory
        )
        if not fits:
            with pytest.raises(ParameterError, match="fit"):
                pyapsp.solve(graph, method, dtype="int32", predecessors=True, device=device)
            continue
        result = pyapsp.solve(graph, method, dtype="int32", predecessors=True, device=device)
        assert result.stats["parameters"] == parameters
        assert_solves(graph, result)
        assert verify.certificate(graph, result, device=device).ok
        ran += 1
    assert ran > 3


@pytest.mark.slow
@pytest.mark.every(3)
@pytest.mark.parametrize("tile", [8, 16, 32])
def test_blocked_as_published_one_item_per_element(tile, device):
    if tile**2 > device.capabilities.max_work_group_size:
        tile = 16
    method = pyapsp.method("fw-blocked", tile=tile, width=1, rows=1, group_x=tile, group_y=tile)
    graph = random_graph(45, seed=2)
    result = pyapsp.solve(graph, method, device=device)
    assert_solves(graph, result)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        (
            {"tile": 12},
            "The 'tile' parameter of fw-blocked must be one of 8, 16, 32, 64, 128. Got 12",
        ),
        ({"rows": 3}, "The 'rows' parameter of fw-blocked"),
        ({"tile": 16.0}, "The 'tile' parameter of fw-blocked"),
        ({"rows": True}, "The 'rows' parameter of fw-blocked"),
        ({"depth": 1}, "fw-blocked has no parameter 'depth'"),
    ],
)
def test_illegal_parameters(parameters, text):
    with pytest.raises(ParameterError) as caught:
        pyapsp.method("fw-blocked", **parameters)
    assert text in str(caught.value)


def test_parameters_that_do_not_fit_together(device):
    method = pyapsp.method("fw-blocked", tile=8, group_x=32)
    with pytest.raises(ParameterError, match="multiple of width x group_x"):
        pyapsp.solve(random_graph(10), method, device=device)


@pytest.mark.parametrize("method", IN_CORE)
def test_memory_limit(method, device):
    graph = fitting(random_graph(64), method, device)
    least = (bits_of(method) or 32) * 64 * 64 // 8
    with pytest.raises(DeviceMemoryError) as caught:
        pyapsp.solve(graph, method, dtype="float32", memory_limit=least - 1, device=device)
    assert caught.value.needed >= least
    assert caught.value.available == least - 1
    assert "memory_limit" in caught.value.hint
    result = pyapsp.solve(
        graph, method, dtype="float32", memory_limit=caught.value.needed, device=device
    )
    assert result.stats["peak_device_bytes"] == caught.value.needed


@pytest.mark.parametrize("progress", [None, lambda done, total: None])
def test_the_time_of_the_kernels_is_that_of_all_rounds(progress, device):
    method, rounds = pyapsp.method("fw-blocked", tile=16), []
    method.on_round = rounds.append
    stats = pyapsp.solve(random_graph(64), method, progress=progress, device=device).stats
    times = [event_times(event) for events in rounds for event in events]
    span, busy = times[-1][1] - times[0][0], sum(end - start for start, end in times)
    assert len(rounds) == 4
    assert stats["kernel_seconds"] == pytest.approx((busy if progress else span) * 1e-9)


@pytest.mark.parametrize("method", IN_CORE)
def test_matrix_larger_than_the_device_is_refused_before_work(method, device):
    # n of the largest allocation plus one: found out from the sizes, nothing is allocated
    n = int((device.capabilities.max_allocation * 8 // (bits_of(method) or 64)) ** 0.5) + 64
    with pytest.raises(DeviceMemoryError):
        pyapsp.solve(Graph.from_arcs(n, [0], [1]), method, device=device)


@pytest.mark.parametrize("method", METHODS)
def test_progress_and_cancellation(method, device, assert_cancels):
    seen = []
    graph = fitting(random_graph(130), method, device)
    pyapsp.solve(graph, method, progress=lambda *step: seen.append(step), device=device)
    done, totals = zip(*seen, strict=True)
    assert set(totals) == {done[-1]}
    assert list(done) == sorted(done)
    assert_cancels(pyapsp.solve, graph, method, device=device)
    assert_solves(graph, pyapsp.solve(graph, method, device=device))


@pytest.mark.every(3)
@pytest.mark.parametrize("dtype", ["int64", "int16"])
@pytest.mark.parametrize("method", LIGHT)
def test_methods_agree_bit_for_bit_on_integers(method, dtype, device):
    graph = fitting(random_graph(200, low=-5, seed=9), method, device)
    answer, naive = (
        pyapsp.solve(graph, each, dtype=dtype, device=device).distances
        for each in (method, "fw-naive")
    )
    np.testing.assert_array_equal(answer, naive)


@pytest.mark.every(3)
@pytest.mark.parametrize(("dtype", "last"), [("int16", 2**14 - 2), ("uint16", 2**15 - 2)])
@pytest.mark.parametrize("method", LIGHT)
def test_short_integers_reach_to_their_infinity(method, dtype, last, device):
    n = 70
    weights = np.full(n - 1, 200)
    weights[0] = last - 200 * (n - 2)
    path = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), weights)
    if last > (REQUIRES[method].largest_distance or last):
        with pytest.raises(PrecisionError, match=f"{method} holds distances below"):
            pyapsp.solve(path, method, dtype=dtype, device=device)
        return
    result = pyapsp.solve(path, method, dtype=dtype, device=device)
    assert result.infinity == last + 1
    assert result.distances[0, n - 1] == last
    assert_solves(path, result)
    weights[40] += 1
    with pytest.raises(PrecisionError, match=f"a distance is too large for {dtype}"):
        pyapsp.solve(path.with_weights(weights), method, dtype=dtype, device=device)
