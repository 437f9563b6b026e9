"""near-far: every shape of group, thresholds that hardly rise, blocks and launches, sums."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.sparse import device_block, near_far
from pyapsp.all_pairs.sparse.near_far import NearFar
from pyapsp.device import Device
from pyapsp.errors import DeviceMemoryError, ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.numbers.precision import DTYPES, infinity
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters
from pyapsp.registry.tuning import database

from .answers import GRAPHS, assert_solves, assert_totals

# One work-item, and groups of one crew and of several.
SHAPES = [(16, 1), (8, 64), (32, 32)]


def whole(seed, n, m, low=0, high=9):
    """Make a graph of random arcs, self-loops and parallel arcs among them."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, m))
    return Graph.from_arcs(n, tails, heads, rng.integers(low, high, m, endpoint=True))


def star(leaves, weight=1):
    ends = np.arange(1, leaves + 1)
    return Graph.from_arcs(
        leaves + 1, np.zeros(leaves, int), ends, ends % 7 * weight, directed=False
    )


# -- parameters --------------------------------------------------------------------------------


def test_few_sources_are_in_narrow_blocks(device, monkeypatch):
    units = device.capabilities.compute_units
    monkeypatch.setattr(
        NearFar, "candidates", lambda *_: iter([{"sources": 32, "group": 1, "delta": 200}])
    )
    monkeypatch.setattr(database, "shipped_databases", list)
    graph = whole(1, 300, 900)

    def width(count, **given):
        method = pyapsp.method("near-far", **given)
        sources = np.arange(count) % 300
        result = pyapsp.solve(graph, method, sources=sources, device=device)
        assert_solves(graph, result, device)
        return result.stats["parameters"]["sources"]

    assert [width(each * units) for each in (1, 3, 8, 16, 33)] == [2, 4, 8, 16, 32]
    assert width(8 * units + 1) == 16
    assert width(1, sources=16) == 16


@pytest.mark.every(4)
@pytest.mark.parametrize("group", NearFar.choices["group"])
@pytest.mark.parametrize("sources", NearFar.choices["sources"])
def test_every_block_and_group(sources, group, device):
    graph = whole(1, 90, 400)
    if 1 < group < sources:
        with pytest.raises(ParameterError, match="group must be 1, or at least sources"):
            pyapsp.solve(
                graph, pyapsp.method("near-far", sources=sources, group=group), device=device
            )
        return
    for delta in (25, 6400):
        method = pyapsp.method("near-far", sources=sources, group=group, delta=delta)
        result = pyapsp.solve(graph, method, dtype="int32", predecessors=True, device=device)
        assert result.stats["parameters"] == method.parameters
        assert_solves(graph, result, device)


def test_groups_beyond_the_device(device, monkeypatch):
    few = dataclasses.replace(device.capabilities, max_work_group_size=64)
    monkeypatch.setattr(Device, "capabilities", few)
    with pytest.raises(ParameterError, match="at least sources; and at most 64"):
        pyapsp.solve(star(9), pyapsp.method("near-far", group=128), device=device)
    method = pyapsp.method("near-far", group=64, sources=8)
    assert_solves(star(9), pyapsp.solve(star(9), method, device=device), device)


def test_wide_types_need_wide_atomics_in_groups(device, monkeypatch):
    lacking = dataclasses.replace(device.capabilities, int64_atomics=False)
    monkeypatch.setattr(Device, "capabilities", lacking)
    method = pyapsp.method("near-far", group=64, sources=8)
    with pytest.raises(ParameterError, match="group must be 1"):
        pyapsp.solve(star(9), method, dtype="float64", device=device)
    assert_solves(star(9), pyapsp.solve(star(9), method, dtype="float32", device=device), device)
    alone = pyapsp.solve(star(9), "near-far", dtype="int64", device=device)
    assert alone.stats["parameters"]["group"] == 1
    assert_solves(star(9), alone, device)


# -- the order of the search -------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("delta", [0, 1e-30, 1, 1e4, np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_any_delta_ends_and_is_right(delta, dtype, shape, device, monkeypatch):
    """Also if delta is lost in rounding next to a distance, or larger than every distance."""
    monkeypatch.setattr(near_far, "mean_step", lambda *_: np.dtype(dtype).type(delta))
    graph = whole(2, 80, 300, 0, 2**20)
    method = pyapsp.method("near-far", sources=shape[0], group=shape[1])
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert_solves(graph, result, device)


@pytest.mark.every(2)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "int64"])
def test_integers_near_their_infinity(dtype, shape, device, monkeypatch):
    """The threshold and the offers may pass infinity, but not wrap round."""
    last = infinity(np.dtype(dtype)) - 1
    weights = [last, last - 1, 1, last, 1, last]
    graph = Graph.from_arcs(6, [0, 0, 1, 1, 2, 3], [2, 1, 2, 3, 4, 5], weights)
    method = pyapsp.method("near-far", sources=shape[0], group=shape[1], delta=6400)
    options = {"dtype": dtype, "cutoff": last - 1, "device": device}
    result = pyapsp.solve(graph, method, **options)
    finite = result.distances < result.infinity
    exact = np.array(
        [
            [0, last - 1, -1, -1, -1, -1],
            [-1, 0, 1, -1, 2, -1],
            [-1, -1, 0, -1, 1, -1],
            [-1, -1, -1, 0, -1, -1],
            [-1, -1, -1, -1, 0, -1],
            [-1, -1, -1, -1, -1, 0],
        ]
    )
    np.testing.assert_array_equal(np.where(finite, result.distances.astype(np.int64), -1), exact)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_near_the_largest_float(dtype, device):
    heavy = float(np.finfo(dtype).max) / 1.5
    graph = Graph.from_arcs(4, [0, 1, 2, 0], [1, 2, 3, 3], [heavy, heavy / 9, heavy / 9, heavy])
    graph = graph.with_weights(graph.weights.astype(dtype))
    result = pyapsp.solve(graph, "near-far", dtype=dtype, device=device)
    assert verify.against_scipy(graph, result).ok


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_zero_weights_only(dtype, shape, device):
    graph = whole(3, 70, 140, 0, 0)
    method = pyapsp.method("near-far", sources=shape[0], group=shape[1])
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert_solves(graph, result, device)


@pytest.mark.parametrize("shape", [(8, 1), (8, 32), (8, 64), (64, 64)], ids=str)
def test_many_arcs_are_shared_among_the_crews(shape, device):
    """Degrees at, above and below 8 for each crew, which is what a crew walks alone."""
    crews = max(shape[1] // shape[0], 1)
    method = pyapsp.method("near-far", sources=shape[0], group=shape[1])
    for leaves in (8 * crews, 8 * crews + 1, 300):
        graph = star(leaves)
        result = pyapsp.solve(graph, method, sources=range(0, leaves, 9), device=device)
        assert_solves(graph, result, device)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sources_repeated_and_in_any_order(shape, device):
    graph, sources = whole(4, 60, 250), [7, 7, 3, 59, 7, 0, 3] * 5
    method = pyapsp.method("near-far", sources=shape[0], group=shape[1])
    result = pyapsp.solve(graph, method, sources=sources, predecessors=True, device=device)
    assert_solves(graph, result, device)


# -- blocks and launches -----------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(8, 1), (8, 32)], ids=str)
def test_several_blocks_of_several_launches(shape, device, monkeypatch):
    monkeypatch.setattr(near_far, "_BLOCKS", 1)
    graph = whole(5, 131, 600)
    method = pyapsp.method("near-far", sources=shape[0], group=shape[1])
    steps = []
    result = pyapsp.solve(
        graph,
        method,
        predecessors=True,
        device=device,
        progress=lambda *step: steps.append(step),
    )
    launches = -(-17 // min(device.capabilities.compute_units, 17))
    assert len(steps) == launches
    assert steps[-1] == (131, 131)
    assert_solves(graph, result, device)


@pytest.mark.parametrize("sources", [8, 32])
def test_rows_are_turned_by_groups(sources, device, monkeypatch):
    """As on a GPU with memory of its own: rows and predecessors of several blocks."""
    monkeypatch.setattr(Device, "traits", dataclasses.replace(device.traits, scalar_groups=False))
    monkeypatch.setattr(device_block, "in_place", lambda handle: False)
    method = pyapsp.method("near-far", sources=sources, group=32)
    for graph in (whole(5, 131, 600), whole(6, 33, 90, 1)):
        result = pyapsp.solve(graph, method, dtype="int32", predecessors=True, device=device)
        assert_solves(graph, result, device)


@pytest.mark.parametrize(("visits", "blocks"), [(0, 1), (3 * 8 * 731, 3), (10**9, 17)])
def test_a_launch_looks_at_few_vertices_and_arcs(visits, blocks, device, monkeypatch):
    """The host cannot stop it."""
    monkeypatch.setattr(near_far, "_VISITS", {True: visits, False: visits})
    monkeypatch.setattr(near_far, "_LEAST", {True: 1, False: 1})
    graph, steps = whole(5, 131, 600), []
    method = pyapsp.method("near-far", sources=8)
    pyapsp.solve(graph, method, device=device, progress=lambda *step: steps.append(step))
    assert len(steps) == -(-17 // min(blocks * device.capabilities.compute_units, 17))


@pytest.mark.parametrize(("scalar", "blocks"), [(True, 4), (False, 8)])
def test_a_launch_of_a_cpu_ends_sooner(scalar, blocks, device, monkeypatch):
    """One of a GPU needs more blocks."""
    traits = dataclasses.replace(device.traits, scalar_groups=scalar)
    monkeypatch.setattr(Device, "traits", traits)
    monkeypatch.setattr(near_far, "_LEAST", {True: 1, False: 1})
    hundredth = {scalar: visits // 100 for scalar, visits in near_far._VISITS.items()}
    monkeypatch.setattr(near_far, "_VISITS", hundredth)
    graph, units = Graph.from_arcs(3000, [0], [1]), device.capabilities.compute_units
    sources = np.zeros(64 * units, np.int64)
    options = AllPairsOptions(device, np.dtype(np.float32), sources=sources, totals=True)
    found = near_far._blocks(graph, options, Parameters(sources=8, group=1, delta=0))
    assert found == blocks * units


def test_memory_decides_how_many_blocks(device):
    graph = whole(6, 400, 1600)
    method = pyapsp.method("near-far", sources=8)
    runs = {}
    for limit in (10**6, 10**7, None):
        steps = []
        result = pyapsp.solve(
            graph,
            method,
            dtype="int32",
            memory_limit=limit,
            device=device,
            progress=lambda *step, to=steps: to.append(step),
        )
        assert limit is None or result.stats["peak_device_bytes"] <= limit
        assert_solves(graph, result, device)
        runs[limit] = len(steps)
    assert runs[10**6] > runs[10**7] >= runs[None] == 1
    with pytest.raises(DeviceMemoryError):
        pyapsp.solve(graph, method, memory_limit=20_000, device=device)


def test_memory_is_what_was_planned(device, monkeypatch):
    """No buffer is larger than its plan says, with and without rows and predecessors."""
    taken = []

    class Counted(near_far.cl.Buffer):
        def __init__(self, context, flags, size=0, hostbuf=None):
            super().__init__(context, flags, size, hostbuf=hostbuf)
            if hostbuf is None:
                taken.append(size)
            elif flags & near_far.cl.mem_flags.READ_ONLY:  # the graph's, where it is the host's
                taken.append(hostbuf.nbytes)

    for module in (near_far, device_block):
        monkeypatch.setattr(module.cl, "Buffer", Counted)
    graph = whole(7, 300, 900)
    for paths, totals in ((False, False), (True, False), (False, True)):
        options = AllPairsOptions(device, np.dtype("int16"), predecessors=paths, totals=totals)
        for sources, group in SHAPES:
            method = NearFar(sources=sources, group=group)
            plan = method.plan(graph, options)
            taken.clear()
            session = method.start(plan)
            assert sum(taken) == plan.device_bytes
            rows = np.empty((5, 300), np.int16)
            before = np.empty((5, 300), np.int32) if paths else None
            if not totals:
                session.fill(np.arange(5), rows, before)
                assert sum(taken) == plan.device_bytes


# -- any graph ---------------------------------------------------------------------------------

WEIGHT = st.sampled_from([0, 0, 1, 2, 7, 100])
ARC = st.tuples(st.integers(0, 44), st.integers(0, 44), WEIGHT)
HUB = st.lists(WEIGHT, min_size=0, max_size=45)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    arcs=st.lists(ARC, max_size=90),
    out_of_hub=HUB,
    directed=st.booleans(),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from(["int16", "int32", "float32", "float64"]),
)
def test_any_graph(device, arcs, out_of_hub, directed, shape, dtype):
    """Zero weights and cycles of them, isolated vertices, self-loops, parallel arcs, a hub."""
    arcs = [*arcs, *((0, head, weight) for head, weight in enumerate(out_of_hub))]
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    graph = Graph.from_arcs(45, tails, heads, np.array(weights, np.int64), directed=directed)
    method = pyapsp.method("near-far", sources=shape[0], group=shape[1])
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert_solves(graph, result, device)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    arcs=st.lists(ARC, max_size=90),
    out_of_hub=HUB,
    potential=st.lists(st.integers(0, 50), min_size=45, max_size=45),
)
def test_any_graph_with_negative_weights(device, arcs, out_of_hub, potential):
    arcs = [*arcs, *((0, head, weight) for head, weight in enumerate(out_of_hub))]
    tails, heads, weights = map(list, zip(*arcs, strict=True)) if arcs else ([], [], [])
    level = np.array(potential)
    lowered = np.array(weights, np.int64) + level[tails] - level[heads]
    graph = Graph.from_arcs(45, tails, heads, lowered)
    result = pyapsp.solve(graph, "johnson", dtype="int32", predecessors=True, device=device)
    expected = csgraph.johnson(graph.to_scipy().astype(float))
    assert_solves(graph, result, device, expected)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name == "connected-131072"))
        for name in GRAPHS
        if not name.startswith("negative")
    ],
)
def test_data_sets(name, load, device):
    graph, sources, expected = load(name)
    result = pyapsp.solve(
        graph, "near-far", sources=sources, dtype="int32", predecessors=True, device=device
    )
    assert_solves(graph, result, device, expected)


# -- sums --------------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums(shape, dtype, device, monkeypatch):
    if dtype == "float16" and not device.capabilities.fp16:
        return
    monkeypatch.setattr(near_far, "_BLOCKS", 1)
    method = NearFar(sources=shape[0], group=shape[1])
    sources = np.append(np.arange(67), [3, 3, 66])
    for graph in (whole(8, 67, 200), whole(9, 67, 60), Graph.from_arcs(67, [], [])):
        assert_totals(method, graph, dtype, device, sources)
        assert_totals(method, graph, dtype, device, sources, width=3)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("width", [1, 5])
def test_more_bins_than_a_group_counts(width, dtype, device):
    graph = Graph.from_arcs(40, np.arange(39), np.arange(1, 40), np.full(39, 397))
    assert 397 * 39 // width > 2048
    assert_totals(NearFar(), graph, dtype, device, np.arange(40), width)


@pytest.mark.parametrize("blocks", [1, 3])
def test_launches_whose_counts_a_counter_holds(blocks, device, monkeypatch):
    """A counter of 32 bits holds those of so many blocks."""
    monkeypatch.setattr(device_block, "_COUNTED", blocks * 16 * 60)
    method = NearFar(sources=16, group=1)
    assert_totals(method, whole(5, 60, 200), "int32", device, np.arange(60), width=3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bins_of_a_fraction(dtype, device):
    """Quarters and their sums are exact, so there is one right bin for each."""
    graph = whole(10, 60, 240, 1, 40)
    graph = graph.with_weights(graph.weights / 4)
    assert_totals(NearFar(), graph, dtype, device, np.arange(60), width=0.75)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33])
def test_sums_over_few_vertices(n, device):
    """Fewer vertices than ranges that are summed side by side, and one more."""
    assert_totals(NearFar(), generators.ring(n, seed=1), "int32", device, np.arange(n), width=1)


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", [each for each in DTYPES if each != "float16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nothing_is_found_beyond_the_cutoff(shape, dtype, device, monkeypatch):
    """The search itself leaves it out, so that it ends there."""
    monkeypatch.setattr(AllPairsOptions, "hide", None)  # not called
    sources, n = np.arange(0, 200, 7), 200
    graph = whole(4, n, 800, low=0, high=9)
    method = pyapsp.method("near-far", sources=shape[0], group=shape[1])
    for cutoff in (0, 7, 11.5):
        more = {"sources": sources, "dtype": dtype, "cutoff": cutoff, "device": device}
        found = pyapsp.solve(graph, method, predecessors=True, **more)
        expected = csgraph.dijkstra(graph.to_scipy(), indices=sources, limit=cutoff)
        distances = found.distances.astype(float)
        distances[found.distances == found.infinity] = np.inf
        np.testing.assert_array_equal(distances, expected)
        reached = np.isfinite(expected)
        reached[np.arange(sources.size), sources] = False
        np.testing.assert_array_equal(found.predecessors >= 0, reached)
        for row, source in enumerate(sources[:3]):
            for vertex in np.flatnonzero(reached[row])[:5]:
                path = found.path(int(source), int(vertex))
                assert path[0] == source
                assert path[-1] == vertex
