"""The certificate must hold for right answers and fail for every wrong one."""

from __future__ import annotations

import dataclasses
import itertools
import tracemalloc

import numpy as np
import pytest

import pyapsp
from pyapsp.errors import CapabilityError, GraphError, VerificationError
from pyapsp.graph import Graph, generators
from pyapsp.graph.negative_cycle import find_negative_cycle
from pyapsp.numbers.precision import DTYPES, tolerance
from pyapsp.paths import PathOptions, Rows
from pyapsp.paths import certificate as verify
from pyapsp.paths.result import Result


def graph_with(low, n=40, seed=2):
    """Make a random graph whose smallest weight is about `low`, without negative cycles."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, 5 * n))
    weights = rng.integers(max(low, 0), 30, tails.size)
    if low < 0:
        potential = rng.integers(0, -low + 1, n)
        weights = weights + potential[tails] - potential[heads]
    return Graph.from_arcs(n, tails, heads, weights)


KINDS = {"positive": 1, "zeros": 0, "negative": -20}


@pytest.fixture(params=KINDS)
def graph(request):
    return graph_with(KINDS[request.param])


def changed(result, **arrays):
    return dataclasses.replace(result, **arrays)


def can_hold(graph, dtype, device):
    """Whether the type can hold the answer; other tests check the errors if not."""
    return not (
        (dtype == "float16" and not device.capabilities.fp16)
        or (dtype == "uint16" and graph.has_negative)
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_holds_for_right_answers(graph, dtype, device):
    if not can_hold(graph, dtype, device):
        return
    result = pyapsp.solve(graph, dtype=dtype, predecessors=True, device=device)
    outcome = verify.certificate(graph, result, device=device)
    assert outcome.ok
    assert outcome.fault is None
    assert outcome.oracle == "its certificate"
    outcome.require()
    comparison = verify.against_scipy(graph, result)
    assert comparison.ok
    assert comparison.max_error == 0


@pytest.mark.parametrize("dtype", ["int32", "int16", "uint16", "float16"])
@pytest.mark.parametrize("by", [-1, 1])
def test_fails_for_each_single_wrong_distance(graph, by, dtype, device):
    if not can_hold(graph, dtype, device):
        return
    result = pyapsp.solve(graph, dtype=dtype, device=device)
    rng = np.random.default_rng(0)
    for i, j in rng.integers(0, graph.n, (25, 2)):
        wrong = result.distances.copy()
        value = wrong[i, j].item() + by
        # "unreachable" has no larger neighbour, and 0 no smaller one without a sign
        too_large = value > result.infinity or wrong[i, j] == result.infinity == float("inf")
        wrong[i, j] = 5 if too_large or (value < 0 and dtype == "uint16") else value
        outcome = verify.certificate(graph, changed(result, distances=wrong), device=device)
        assert not outcome.ok
        with pytest.raises(VerificationError):
            outcome.require()
        assert not verify.against_scipy(graph, changed(result, distances=wrong)).ok


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float64", np.nan),
        ("float64", -np.inf),
        ("float32", -np.inf),
        ("int32", -(2**31)),
        ("int32", 2**31 - 1),
        ("int64", 2**63 - 1),
        ("int16", -(2**15)),
        ("int16", 2**14),
        ("uint16", 2**15),
        ("float16", np.nan),
    ],
)
def test_fails_for_what_no_distance_can_be(graph, dtype, value, device):
    if not can_hold(graph, dtype, device):
        return
    result = pyapsp.solve(graph, dtype=dtype, device=device)
    for where in ((3, 4), (3, 3), 3):  # one distance, a diagonal, a whole row
        wrong = result.distances.copy()
        wrong[where] = value
        assert not verify.certificate(graph, changed(result, distances=wrong), device=device).ok


def test_fails_for_a_row_whose_only_fault_is_its_diagonal(device):
    graph = Graph.from_arcs(2, [0], [1], [5])
    result = pyapsp.solve(graph, dtype="float64", device=device)
    # every other condition holds: the arc from 0 to 1 is tight
    wrong = changed(result, distances=np.array([[-1.0, 4.0], [np.inf, 0.0]]))
    outcome = verify.certificate(graph, wrong, device=device)
    assert outcome.fault is not None
    assert outcome.fault.startswith("the distance of a vertex to itself is not 0: row 0")


def test_fails_for_a_graph_whose_weights_the_dtype_cannot_hold(device):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [2, 3])
    result = pyapsp.solve(graph, dtype="int32", device=device)
    for weights in ([2.7, 3.9], [2**32 + 2, 3]):
        outcome = verify.certificate(graph.with_weights(weights), result, device=device)
        assert not outcome.ok
        assert outcome.fault


def test_fails_for_reached_reported_as_unreachable(graph, device):
    result = pyapsp.solve(graph, dtype="float64", device=device)
    wrong = result.distances.copy()
    i, j = np.argwhere(np.isfinite(wrong) & ~np.eye(graph.n, dtype=bool))[17]
    wrong[i, j] = np.inf
    outcome = verify.certificate(graph, changed(result, distances=wrong), device=device)
    assert not outcome.ok
    assert verify.against_scipy(graph, changed(result, distances=wrong)).max_error == np.inf


def test_a_zero_cycle_cannot_vouch_for_itself(device):
    # 1 <-> 2 at weight 0: their distances from 0 may be lowered together and stay tight
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 1], [5, 0, 0])
    result = pyapsp.solve(graph, dtype="int32", device=device)
    assert result.distances[0].tolist() == [0, 5, 5]
    wrong = result.distances.copy()
    wrong[0] = [0, 3, 3]
    outcome = verify.certificate(graph, changed(result, distances=wrong), device=device)
    assert outcome.fault.startswith("no path has this length: row 0, column 1")


def test_fails_for_wrong_predecessors(graph, device):
    result = pyapsp.solve(graph, dtype="int32", predecessors=True, device=device)
    rng = np.random.default_rng(0)
    for i, j in rng.integers(0, graph.n, (25, 2)):
        wrong = result.predecessors.copy()
        # a vertex with no tight arc into j
        tight = (result.distances[i] + graph.to_dense(no_arc=10**6)[:, j]) == result.distances[i, j]
        wrong[i, j] = next(v for v in range(graph.n) if not tight[v] or v == j)
        outcome = verify.certificate(graph, changed(result, predecessors=wrong), device=device)
        assert not outcome.ok
        assert "predecessors" in outcome.fault


def test_predecessors_that_go_round_a_zero_cycle_fail(device):
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 1], [5, 0, 0])
    result = pyapsp.solve(graph, dtype="int32", predecessors=True, device=device)
    wrong = result.predecessors.copy()
    wrong[0, 1], wrong[0, 2] = 2, 1  # tight arcs, but never from 0
    outcome = verify.certificate(graph, changed(result, predecessors=wrong), device=device)
    assert "the predecessors are no shortest path" in outcome.fault


def test_rows_of_sources_and_blocks(graph, device, monkeypatch):
    monkeypatch.setattr(verify, "_BLOCK_BYTES", 3 * graph.n * 8)
    result = pyapsp.solve(graph, sources=[7, 3, 39, 0], predecessors=True, device=device)
    assert verify.certificate(graph, result, device=device).ok
    assert verify.against_scipy(graph, result).ok
    wrong = result.distances.copy()
    wrong[3, 5] -= 1
    fault = verify.certificate(graph, changed(result, distances=wrong), device=device).fault
    assert "row 0, column" in fault


def test_checks_take_what_was_solved(device):
    matrix = np.array([[0, 7, 1], [0, 0, 0], [0, 2, 0]])
    result = pyapsp.solve(matrix, device=device)
    distances = result.distances.copy()
    distances[0, 1] += 1
    wrong = changed(result, distances=distances)
    for given in (matrix, Graph.from_dense(matrix).to_scipy()):
        assert verify.certificate(given, result, device=device).ok
        assert not verify.certificate(given, wrong, device=device).ok
        assert verify.against_scipy(given, result).ok
        assert not verify.against_scipy(given, wrong).ok
    with pytest.raises(GraphError, match="int does not describe a graph"):
        verify.certificate(7, result, device=device)


def test_another_graph_is_refused(device):
    result = pyapsp.solve(np.ones((3, 3)), device=device)
    with pytest.raises(GraphError, match="3 vertices, the graph has 4"):
        verify.certificate(Graph.from_arcs(4, [0], [1]), result, device=device)


@pytest.mark.parametrize("n", [0, 1])
def test_trivial_graphs(n, device):
    graph = Graph.from_arcs(n, [], [])
    result = pyapsp.solve(graph, predecessors=True, device=device)
    assert verify.certificate(graph, result, device=device).ok
    assert verify.against_scipy(graph, result).ok


def test_tolerance_is_zero_for_whole_numbers_and_small_for_others():
    whole = Graph.from_arcs(3, [0, 1], [1, 2], [3.0, 4.0])
    distances = np.array([[0, 3, 7], [np.inf, 0, 4], [np.inf, np.inf, 0]], dtype=np.float32)
    assert tolerance(whole, distances).exact
    tenth = whole.with_weights([0.3, 0.4])
    allowed = tolerance(tenth, distances)
    assert 0 < allowed.relative <= 3 * np.finfo(np.float32).eps
    assert allowed.absolute == 0
    assert not tolerance(whole, distances * 2.0**24).exact


def test_some_rows_with_negative_weights_have_twice_the_tolerance():
    """Partial sums are distances themselves only if the answer has a row for every vertex."""
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [-(2**61), 2**60])
    distances = pyapsp.solve(graph, "johnson", dtype="int64").distances
    whole, some = (verify._tolerance(graph, each) for each in (distances, distances[:1]))
    assert some.absolute == 2 * whole.absolute > 0


def test_float_answers_off_by_more_than_rounding_fail(device):
    rng = np.random.default_rng(3)
    n = 40
    tails, heads = rng.integers(0, n, (2, 5 * n))
    graph = Graph.from_arcs(n, tails, heads, rng.random(tails.size) + 0.1)
    result = pyapsp.solve(graph, dtype="float64", device=device)
    assert verify.certificate(graph, result, device=device).ok
    wrong = result.distances.copy()
    i, j = np.argwhere(np.isfinite(wrong) & (wrong > 0))[11]
    for factor in (1 - 1e-11, 1 + 1e-11):
        wrong[i, j] = result.distances[i, j] * factor
        assert not verify.certificate(graph, changed(result, distances=wrong), device=device).ok
        assert not verify.against_scipy(graph, changed(result, distances=wrong)).ok


def test_half_precision_judges_large_distances(device):
    # |a| + |b| is infinite in float16; what is off by more than rounding must still fail
    if not device.capabilities.fp16:
        with pytest.raises(CapabilityError):
            pyapsp.solve(np.eye(3), dtype="float16", device=device)
        return
    graph = Graph.from_arcs(4, [0, 1, 2, 0], [1, 2, 3, 3], [20001.5, 20003.5, 19999.5, 60100.5])
    result = pyapsp.solve(graph, dtype="float16", device=device)
    assert verify.certificate(graph, result, device=device).ok
    wrong = result.distances.copy()
    wrong[0, 2] *= np.float16(0.9)
    assert not verify.certificate(graph, changed(result, distances=wrong), device=device).ok


class TestNegativeCycle:
    """The search behind NegativeCycleError."""

    def test_none(self):
        assert find_negative_cycle(graph_with(-20)) is None
        assert find_negative_cycle(Graph.from_arcs(0, [], [])) is None

    @pytest.mark.parametrize("length", [1, 2, 3, 17, 64])
    def test_long_cycles_far_from_anything(self, length):
        n = 100
        ring = np.arange(length)
        weights = np.full(length, 3)
        weights[-1] = -3 * (length - 1) - 1
        extra = np.arange(length, n - 1)
        graph = Graph.from_arcs(
            n, [*ring, *extra], [*np.roll(ring, -1), *(extra + 1)], [*weights, *(-extra)]
        )
        cycle, weight = find_negative_cycle(graph)
        assert weight == -1
        assert sorted(cycle[:-1]) == list(range(length))
        assert all((b - a) % length == 1 % length for a, b in itertools.pairwise(cycle))

    def test_weights_beyond_64_bits_of_sum(self):
        big = 2**62
        graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], [big, -big, -1])
        cycle, weight = find_negative_cycle(graph)
        assert len(cycle) == 4
        assert weight == -1


def test_result_type_is_exported():
    assert Result is pyapsp.Result


@pytest.mark.parametrize("reads", [0, 10**9])
def test_a_large_graph_with_negative_weights_is_checked_by_its_certificate_alone(
    device, monkeypatch, reads
):
    """SciPy would go through all arcs as often as there are vertices, before its first row."""
    monkeypatch.setattr(verify, "_ORACLE_READS", reads)
    graph = generators.random_graph(60, 240, seed=3)
    graph = graph.with_weights(graph.weights.astype(np.int64) - graph.arcs()[0] + graph.arcs()[1])
    assert graph.has_negative
    answer = pyapsp.solve(graph, dtype=np.int64, device=device)
    options = PathOptions(device, answer.distances.dtype)
    check = verify.oracle(graph, options)
    rows = Rows(answer.distances, None, stats={})
    found = check(rows)
    assert found.ok
    assert found.oracle == ("SciPy, all rows" if reads else "a certificate")
    assert found.max_error == (0 if reads else None)
    rows.distances[5, 7] -= 1
    assert not check(rows).ok


def test_an_oracle_keeps_no_answer(device, monkeypatch):
    """For an answer that passed, it stores only what identifies an equal answer, not a copy."""
    graph = generators.random_graph(600, 2400, seed=3)
    result = pyapsp.solve(graph, device=device, predecessors=True)
    oracle = verify.oracle(graph, PathOptions(device, np.dtype(np.float64), predecessors=True))
    answer = Rows(result.distances, result.predecessors, stats={})
    tracemalloc.start()
    try:
        assert oracle(answer).ok
        assert tracemalloc.get_traced_memory()[0] < result.distances.nbytes / 8
    finally:
        tracemalloc.stop()
    calls, certificate = [], verify.certificate
    monkeypatch.setattr(
        verify, "certificate", lambda *a, **k: calls.append(a) or certificate(*a, **k)
    )
    assert oracle(answer).ok
    assert not calls
    vertex = np.flatnonzero(result.predecessors[0] >= 0)[0]
    result.predecessors[0, vertex] = vertex
    assert not oracle(answer).ok
    assert len(calls) == 1


@pytest.mark.parametrize(("weights", "wrong"), [([2**53 + 1, 1], (0, 2)), ([2**53, 3], (0, 1))])
def test_integers_that_float64_does_not_hold_are_proved_by_the_certificate(device, weights, wrong):
    """SciPy's distances are rounded: a right answer differs, and a wrong one may not."""
    graph = pyapsp.Graph.from_arcs(3, [0, 1], [1, 2], weights)
    answer = pyapsp.solve(graph, dtype="int64", device=device)
    assert verify.against_scipy(graph, answer).ok
    check = verify.oracle(graph, PathOptions(device, answer.distances.dtype))
    rows = Rows(answer.distances, None, stats={})
    found = check(rows)
    assert found.ok
    assert found.oracle == "SciPy, all rows, and a certificate"
    rows.distances[wrong] += 1
    assert not check(rows).ok
