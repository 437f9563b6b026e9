"""johnson: negative weights of every type, names of negative cycles, and each inner search."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.sparse.johnson import Johnson
from pyapsp.all_pairs.sparse.johnson import _Lowered as Lowered
from pyapsp.device import Device
from pyapsp.errors import DeviceMemoryError, NegativeCycleError, PrecisionError
from pyapsp.graph import Graph, generators
from pyapsp.graph.negative_cycle import find_negative_cycle
from pyapsp.paths import AllPairsOptions

from . import answers

SEARCHES = Johnson.choices["search"]


def negative(n, m, seed=0, most=30, zeros=False):
    """Make a graph with negative weights and no negative cycle: a potential moves the weights."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, m))
    weights = rng.integers(0, 2 if zeros else most, m)
    potential = rng.integers(-most, most, n)
    return Graph.from_arcs(n, tails, heads, weights + potential[tails] - potential[heads])


def assert_solves(graph, result, device):
    expected = csgraph.johnson(graph.to_scipy().astype(float))
    answers.assert_solves(graph, result, device, expected)


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "int16"])
@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_and_type(search, dtype, device):
    if dtype == "float16" and not device.capabilities.fp16:
        dtype = "float32"
    method = pyapsp.method("johnson", search=search)
    for graph in (negative(90, 500, 1), negative(70, 300, 2, zeros=True), negative(80, 90, 3)):
        assert graph.has_negative
        result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
        assert result.distances.dtype == dtype
        assert result.stats["parameters"] == {"search": search}
        assert_solves(graph, result, device)


def test_without_a_sign_negative_weights_are_refused(device):
    with pytest.raises(PrecisionError, match="uint16 does not hold the negative weight"):
        pyapsp.solve(negative(20, 60), "johnson", dtype="uint16", device=device)


ARC = st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(-3, 6))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arcs=st.lists(ARC, max_size=16), dtype=st.sampled_from(["int32", "float64"]))
def test_any_small_graph_with_or_without_a_negative_cycle(device, arcs, dtype):
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    graph = Graph.from_arcs(8, tails, heads, np.array(weights, np.int64))
    if find_negative_cycle(graph) is None:
        result = pyapsp.solve(graph, "johnson", dtype=dtype, predecessors=True, device=device)
        assert_solves(graph, result, device)
        return
    with pytest.raises(NegativeCycleError) as caught:
        pyapsp.solve(graph, "johnson", dtype=dtype, device=device)
    cycle, lengths = caught.value.cycle, graph.to_scipy()
    assert cycle[0] == cycle[-1]
    assert sum(lengths[a, b] for a, b in itertools.pairwise(cycle)) == caught.value.weight < 0


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6), n=st.integers(2, 25), scale=st.sampled_from([1e-3, 1, 1e3, 1e8]))
def test_rounding_stays_within_bounds(device, seed, n, scale):
    """Weights that are no whole numbers, small beside the potentials or large."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, 4 * n))
    potential = scale * rng.standard_normal(n)
    weights = rng.random(4 * n) + potential[tails] - potential[heads]
    weights[tails == heads] = 1.5
    graph = Graph.from_arcs(n, tails, heads, weights)
    assume(find_negative_cycle(graph) is None)
    result = pyapsp.solve(graph, "johnson", predecessors=True, device=device)
    check = verify.against_scipy(graph, result)
    assert check.ok, check
    check = verify.certificate(graph, result, device=device)
    assert check.ok, check.fault


def test_a_long_negative_cycle_is_named_with_the_labels_of_the_file(device):
    n = 300
    names = [f"v{vertex}" for vertex in range(n)]
    weights = np.ones(n, np.int64)
    weights[17] = -n
    graph = Graph.from_arcs(n, np.arange(n), (np.arange(n) + 1) % n, weights, labels=names)
    with pytest.raises(NegativeCycleError, match=r"weight -1: v\d+ -> v\d+") as caught:
        pyapsp.solve(graph, "johnson", dtype="int32", device=device)
    assert len(set(caught.value.cycle)) == n


def test_a_short_negative_cycle_is_found_in_few_rounds(device, monkeypatch):
    from pyapsp.all_pairs.sparse import johnson

    looks = []
    goes_round = johnson._goes_round
    monkeypatch.setattr(
        johnson, "_goes_round", lambda parents: looks.append(parents) or goes_round(parents)
    )
    ring = generators.ring(500, seed=1)
    tails, heads, weights = ring.arcs()
    graph = Graph.from_arcs(500, [*tails, 8, 7], [*heads, 7, 8], [*weights, 3, -4])
    with pytest.raises(NegativeCycleError, match="weight -1: "):
        pyapsp.solve(graph, "johnson", device=device)
    assert 1 <= len(looks) <= 3  # after 1, 2 and 4 rounds, of 500


def test_an_undirected_negative_edge_is_a_cycle(device):
    graph = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [3, -1, 2], directed=False)
    with pytest.raises(NegativeCycleError):
        pyapsp.solve(graph, "johnson", device=device)


def test_a_negative_self_loop_is_a_cycle(device):
    with pytest.raises(NegativeCycleError, match="1 -> 1"):
        pyapsp.solve(Graph.from_arcs(3, [0, 1], [1, 1], [5, -1]), "johnson", device=device)


def test_potentials_that_fall_for_many_rounds(device):
    """A line on which every vertex is reached by more and more arcs: n - 1 rounds."""
    n = 260
    graph = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), np.full(n - 1, -5))
    result = pyapsp.solve(graph, "johnson", dtype="int32", predecessors=True, device=device)
    assert_solves(graph, result, device)
    assert result.distances[0, n - 1] == -5 * (n - 1)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_potentials_larger_than_the_type_of_the_answer(dtype, device):
    """A line down to the end of the type, and up again: without a sign it is twice as long."""
    step = (int(np.iinfo(dtype).max // 2) - 1) // 4
    graph = Graph.from_arcs(12, range(8), range(1, 9), [-step] * 4 + [step] * 4)
    result = pyapsp.solve(graph, "johnson", dtype=dtype, predecessors=True, device=device)
    for (i, j), steps in {(0, 4): -4, (4, 8): 4, (0, 8): 0, (1, 5): -2}.items():
        assert int(result.distances[i, j]) == steps * step
    assert verify.certificate(graph, result, device=device).ok


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("dtype", ["int16", "int32"])
def test_distances_beyond_the_type_are_refused(dtype, sign, device):
    last = int(np.iinfo(dtype).max // 2) - 1
    graph = Graph.from_arcs(6, range(5), range(1, 6), [sign * last] * 4 + [-1])
    with pytest.raises(PrecisionError, match=f"a distance is too large for {dtype}"):
        pyapsp.solve(graph, "johnson", dtype=dtype, device=device)
    # unlooked at they are at the end of the range, and not wrapped round it
    result = pyapsp.solve(graph, "johnson", dtype=dtype, device=device, check=False)
    assert result.distances[0].tolist() == [0, sign * last, *[sign * (last + 1)] * 4]


def test_potentials_beyond_every_integer(device):
    graph = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [-(2**62) + 2] * 3)
    with pytest.raises(PrecisionError, match="a distance is too large for int64"):
        pyapsp.solve(graph, "johnson", dtype="int64", device=device)
    closed = Graph.from_arcs(4, [0, 1, 2, 3], [1, 2, 3, 0], [-(2**62) + 2] * 4)
    with pytest.raises(NegativeCycleError, match=f"weight {-4 * (2**62 - 2)}"):
        pyapsp.solve(closed, "johnson", dtype="int64", device=device)


def test_rounding_that_makes_a_cycle_negative_is_said_to(device):
    """A cycle of five arcs with an exact sum just above 0. Rounded potentials fall forever."""
    weights = [
        -16538946.43162227,
        -5146344.67479119,
        16124802.784533683,
        -2488675.904089544,
        8049164.225969322,
        -6485536.338549344,
    ]
    graph = Graph.from_arcs(6, [0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 0, 3], weights)
    assert find_negative_cycle(graph) is None
    with pytest.raises(PrecisionError, match="rounding in float64 made a cycle"):
        pyapsp.solve(graph, "johnson", device=device)


def test_without_64_bit_floats(device, monkeypatch):
    poor = dataclasses.replace(device.capabilities, fp64=False, int64_atomics=False)
    monkeypatch.setattr(Device, "capabilities", property(lambda self: poor))
    graph = negative(60, 300, 4)
    halves = graph.with_weights(graph.weights + 0.5)
    for each in (graph, halves):
        result = pyapsp.solve(each, "johnson", dtype="float32", predecessors=True, device=device)
        assert verify.against_scipy(each, result).ok
        assert verify.certificate(each, result, device=device).ok


def test_graphs_without_negative_weights_go_to_the_search(device):
    graph = generators.random_graph(60, 300, seed=1)
    options = {"dtype": "int16", "predecessors": True, "device": device}
    result = pyapsp.solve(graph, "johnson", **options)
    direct = pyapsp.solve(graph, "near-far", **options)
    np.testing.assert_array_equal(result.distances, direct.distances)
    assert result.stats["peak_device_bytes"] == direct.stats["peak_device_bytes"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("search", ["near-far", "dijkstra-cpu", "apsp-tasks"])
def test_every_vertex_within_the_cutoff_is_found(search, dtype, device):
    """Among them those at the cutoff, and behind vertices beyond it."""
    graph, method = negative(90, 500, 1), pyapsp.method("johnson", search=search)
    if dtype != "int32":
        graph = graph.with_weights(graph.weights / 10)  # sums are rounded
    options = {"dtype": dtype, "sources": range(0, 90, 7), "device": device}
    whole = pyapsp.solve(graph, method, **options)
    finite = whole.distances[whole.distances < whole.infinity]
    for cutoff in np.sort(finite[finite >= 0])[::150].tolist():
        near = pyapsp.solve(graph, method, cutoff=cutoff, predecessors=True, **options)
        within = whole.distances <= cutoff
        np.testing.assert_array_equal(near.distances[within], whole.distances[within])
        assert (near.distances[~within] == near.infinity).all()


@pytest.mark.parametrize("search", ["near-far", "dijkstra-cpu"])
def test_the_search_ends_at_the_cutoff_and_the_range_of_the_potentials(search, device, monkeypatch):
    counts, solve_block = [], Lowered.solve_block

    def noted(self, sources, distances, predecessors):
        solve_block(self, sources, distances, predecessors)
        counts.extend(np.isfinite(distances).sum(axis=1).tolist())

    monkeypatch.setattr(Lowered, "solve_block", noted)
    ends = np.arange(300)
    weights = np.where(ends == 2, -3.5, 1.25)  # the potentials are from -3.5 to 0
    way = Graph.from_arcs(301, ends, ends + 1, weights)
    method = pyapsp.method("johnson", search=search)
    found = pyapsp.solve(way, method, sources=[0, 50], cutoff=10, device=device)
    # behind the negative arc, d is 1.25 (v - 3) - 1; where there is none, 1.25 (v - 50)
    assert np.isfinite(found.distances).sum(axis=1).tolist() == [12, 9]
    assert all(9 <= count <= 20 for count in counts)


def test_memory_of_potentials_counts(device):
    """With few sources at once, the potentials need more than the search."""
    graph = negative(400, 30000, 5)
    method = pyapsp.method("johnson", search="dijkstra-cpu")
    plan = method.plan(graph, AllPairsOptions(device, np.dtype("i4")))
    assert plan.device_bytes == 8 * 401 + 8 * graph.m + 3 * 4 * 400 + 4
    limited = AllPairsOptions(device, np.dtype("i4"), memory_limit=plan.device_bytes - 1)
    with pytest.raises(DeviceMemoryError):
        method.plan(graph, limited)
