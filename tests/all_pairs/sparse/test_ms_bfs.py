"""ms-bfs: both directions and the change between them, pieces of rows, planes, blocks, sums.

Cores share all levels here, and in `test_ms_bfs_blocks.py` none.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import pyapsp
from pyapsp.all_pairs.sparse import ms_bfs, ms_bfs_blocks, ms_bfs_rows, session
from pyapsp.all_pairs.sparse.ms_bfs import MsBfs
from pyapsp.device import Device, model
from pyapsp.device.kernels import Stopwatch
from pyapsp.errors import DeviceMemoryError, GraphError, ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.numbers import precision
from pyapsp.numbers.precision import DTYPES
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.registry import Parameters, problem

from .answers import GRAPHS, assert_solves, assert_totals, expected_rows

# What makes a frontier small enough to be pushed: any, none.
ALWAYS, NEVER = (1e-9, 2**31), (2**62, 0)


def unweighted(graph):
    return graph.with_weights(np.ones(graph.m, np.int64))


def arcs_of(seed, n, m, directed=True):
    """Make a graph of random arcs, self-loops and parallel arcs among them."""
    tails, heads = np.random.default_rng(seed).integers(0, n, (2, m))
    return Graph.from_arcs(n, tails, heads, directed=directed)


def line(n, directed=False):
    return Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), directed=directed)


def tailed(core, tail):
    """Make a dense core with a long tail: levels of a few arcs, then of many, then of a few."""
    dense = unweighted(generators.complete(core))
    tails, heads, _ = dense.arcs()
    ends = np.arange(core, core + tail)
    return Graph.from_arcs(
        core + tail,
        np.concatenate([tails, ends - 1]),
        np.concatenate([heads, ends]),
        directed=False,
    )


SHAPES = {
    "grid": unweighted(generators.grid_2d(9, 8)),
    "skewed": unweighted(generators.rmat(7, 8, seed=1)),
    "one way": unweighted(generators.ring(40)),
    "tailed": tailed(24, 30),
    "falling apart": arcs_of(2, 90, 80),
    "undirected": arcs_of(3, 90, 150, directed=False),
    "star": Graph.from_arcs(95, [0] * 94, range(1, 95), directed=False),
    "loops": Graph.from_arcs(40, range(40), range(40)),
}


def solve(graph, device, words=2, **options):
    options = {"dtype": "int32", "predecessors": True} | options
    return pyapsp.solve(graph, pyapsp.method("ms-bfs", words=words), device=device, **options)


@pytest.fixture(autouse=True)
def shared(monkeypatch):
    monkeypatch.setattr(ms_bfs_blocks, "_LEAST", both_kinds(2**31))


@pytest.fixture
def directions(monkeypatch):
    """The direction of each level, in the order of levels."""
    taken = []
    for name in ("_push", "_pull"):
        real = getattr(ms_bfs._Searches, name)

        def spy(self, *arguments, real=real, name=name):
            taken.append(name)
            return real(self, *arguments)

        monkeypatch.setattr(ms_bfs._Searches, name, spy)
    return taken


def both_kinds(value):
    """What a constant of the module says, whatever the device is."""
    return {True: value, False: value}


def test_distances_are_looked_at_only_if_the_search_was_ended(device, monkeypatch):
    """Levels tell the largest distance, however many vertices there are."""
    length = int(precision.infinity(np.dtype("int16")))
    looked = []
    monkeypatch.setattr(session, "check_answer", lambda *given: looked.append(given))
    many = Graph.from_arcs(3 * length, [0, 1, 5], [1, 2, 6])
    result = pyapsp.solve(many, "ms-bfs", dtype="int16", sources=[0, 5], device=device)
    assert (result.distances[0, :4] == [0, 1, 2, length]).all()
    assert not looked
    path = Graph.from_arcs(length + 1, np.arange(length), np.arange(1, length + 1))
    pyapsp.solve(path, "ms-bfs", dtype="int16", sources=[0], device=device)
    assert len(looked) == 1


# -- parameters --------------------------------------------------------------------------------


@pytest.mark.every(4)
@pytest.mark.parametrize("words", MsBfs.choices["words"])
def test_every_width(words, device):
    graph = arcs_of(4, 300, 900)
    result = solve(graph, device, words)
    assert result.stats["parameters"] == {"words": words}
    assert_solves(graph, result, device)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
@pytest.mark.parametrize("n", [3, 5, 37, 61])
def test_what_remains_of_a_row_behind_its_vectors_is_infinite(n, dtype, device):
    """One compiler made 31744 of infinity: that of half precision, read as an integer."""
    graph = arcs_of(n, n, n)
    result = pyapsp.solve(graph, "ms-bfs", dtype=dtype, device=device)
    expected = csgraph.dijkstra(graph.to_scipy())
    assert np.isinf(expected[:, -1]).any()
    reached = result.distances < result.infinity
    np.testing.assert_array_equal(np.where(reached, result.distances, np.inf), expected)


@pytest.mark.parametrize("weight", [0, 2, -1, 0.5])
def test_weights_are_refused(weight, device):
    weights = np.ones(30)
    weights[7] = weight
    graph = Graph.from_arcs(31, range(30), range(1, 31), weights)
    with pytest.raises(GraphError, match="ms-bfs needs an unweighted graph"):
        pyapsp.solve(graph, "ms-bfs", device=device)


def test_rows_wider_than_groups(device, monkeypatch):
    """A row of bits is one work-item wide on CPUs, and a word for each elsewhere."""
    few = dataclasses.replace(device.capabilities, max_work_group_size=16)
    monkeypatch.setattr(Device, "capabilities", few)
    scattered = dataclasses.replace(device.traits, scalar_groups=False)
    monkeypatch.setattr(Device, "traits", scattered)
    with pytest.raises(ParameterError, match="words must be at most 16"):
        solve(line(9), device, 32)
    assert_solves(SHAPES["grid"], solve(SHAPES["grid"], device, 16), device)


# -- directions --------------------------------------------------------------------------------


@pytest.mark.parametrize("items", ["one for a row", "one for a word"])
@pytest.mark.parametrize("few", [ALWAYS, NEVER, (2, 2**31), (2, 9)], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_directions(shape, few, items, device, directions, monkeypatch):
    if items == "one for a word":
        scattered = dataclasses.replace(device.traits, scalar_groups=False)
        monkeypatch.setattr(Device, "traits", scattered)
    monkeypatch.setattr(ms_bfs, "_FEW", both_kinds(few))
    result = solve(SHAPES[shape], device, 2)
    if few == ALWAYS:
        assert "_pull" not in directions
    if few == NEVER:
        assert "_push" not in directions
    assert_solves(SHAPES[shape], result, device)


def test_the_direction_changes_with_the_frontier(device, directions):
    """From the end of a tail through a dense core: few arcs, then many, then few."""
    graph = tailed(40, 12)
    result = solve(graph, device, sources=[51])
    assert_solves(graph, result, device)
    kinds = "".join(name[3] for name in directions)  # s or l
    assert kinds.startswith("s" * 10)
    assert "sl" in kinds
    directions.clear()
    assert_solves(graph, solve(graph, device, sources=[0]), device)
    assert "ls" in "".join(name[3] for name in directions)


@pytest.mark.parametrize("words", [1, 4])
@pytest.mark.parametrize("few", [ALWAYS, NEVER, (3, 2**31)], ids=str)
@pytest.mark.parametrize("piece", [1, 3, 50])
@pytest.mark.parametrize("shape", ["skewed", "star", "tailed", "grid"])
def test_arcs_in_pieces(shape, piece, few, words, device, monkeypatch):
    monkeypatch.setattr(ms_bfs, "_PIECE", both_kinds(piece))
    monkeypatch.setattr(ms_bfs, "_FEW", both_kinds(few))
    assert_solves(SHAPES[shape], solve(SHAPES[shape], device, words), device)


@pytest.mark.parametrize("few", [NEVER, (3, 2**31)], ids=str)
@pytest.mark.parametrize("shape", ["skewed", "star", "tailed"])
def test_arcs_in_pieces_of_rows_of_work_items(shape, few, device, monkeypatch):
    scattered = dataclasses.replace(device.traits, scalar_groups=False)
    monkeypatch.setattr(Device, "traits", scattered)
    monkeypatch.setattr(ms_bfs, "_PIECE", both_kinds(3))
    monkeypatch.setattr(ms_bfs, "_FEW", both_kinds(few))
    assert_solves(SHAPES[shape], solve(SHAPES[shape], device, 2), device)


def test_a_degree_that_is_cut_for_good(device, directions):
    """More arcs than a piece has on any device, seen from the leaves and from the middle."""
    leaves = max(ms_bfs._PIECE.values()) + 500
    graph = Graph.from_arcs(leaves + 1, [0] * leaves, range(1, leaves + 1), directed=False)
    sources = [0, 1, leaves // 2, leaves]
    assert_solves(graph, solve(graph, device, sources=sources), device)
    assert "_pull" in directions


# -- planes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("few", [ALWAYS, NEVER], ids=str)
@pytest.mark.parametrize("n", [16, 17, 256, 257, 300])
def test_long_distances(n, few, device, monkeypatch):
    """Up to and past what 4 and 8 digits hold."""
    monkeypatch.setattr(ms_bfs, "_FEW", both_kinds(few))
    for graph in (line(n), line(n, directed=True)):
        result = solve(graph, device, sources=[0, n // 2, n - 1])
        assert_solves(graph, result, device)


@pytest.mark.parametrize("n", [15, 254, 255, 256, 4200])
def test_digits_of_a_work_item_with_one_vertex(n, device, monkeypatch):
    """Up to two fields of four digits, and more, have loops of their own there."""
    scattered = dataclasses.replace(device.traits, scalar_groups=False)
    monkeypatch.setattr(Device, "traits", scattered)
    sources = np.array([0, n // 2, n - 1])
    result = solve(line(n), device, sources=sources, predecessors=False)
    np.testing.assert_array_equal(result.distances, abs(np.arange(n) - sources[:, None]))


@pytest.mark.every(6)
@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "int64", "float32", "float64"])
def test_very_long_distances(dtype, device):
    """Up to 13 digits; backwards there are none at all."""
    sources = np.array([[0], [2500], [4999]])
    steps = np.arange(5000.0) - sources
    for directed in (False, True):
        graph = line(5000, directed)
        options = {"sources": sources.ravel(), "dtype": dtype, "predecessors": False}
        result = solve(graph, device, 1, **options)
        distances = np.where(result.distances < result.infinity, result.distances, np.inf)
        expected = np.where(steps < 0, np.inf if directed else -steps, steps)
        np.testing.assert_array_equal(distances, expected)


def test_long_distances_between_many_vertices(device):
    """More than 2^15 vertices, a tail of 300 and two that nothing reaches."""
    core = 2**15
    ends = np.arange(core, core + 300)
    tails = np.concatenate([np.zeros(core - 1, int), ends - 1])
    heads = np.concatenate([np.arange(1, core), ends])
    graph = Graph.from_arcs(core + 302, tails, heads, directed=False)
    result = solve(graph, device, 1, sources=[core + 299, 0, core + 301])
    assert result.distances.max(where=result.distances < result.infinity, initial=0) == 302
    assert_solves(graph, result, device)


@pytest.mark.parametrize("n", [2**15, 2**15 + 1])
def test_more_vertices_than_half_a_word_counts(n, device):
    star = Graph.from_arcs(n, [0] * (n - 1), range(1, n), directed=False)
    result = solve(star, device, 1, sources=[0, 5, n - 1], dtype="uint16")
    expected = np.full((3, n), 2)
    expected[:, 0] = 1
    expected[0] = 1
    expected[[0, 1, 2], [0, 5, n - 1]] = 0
    np.testing.assert_array_equal(result.distances, expected)
    before = np.zeros((3, n), np.int32)
    before[1, 0], before[2, 0] = 5, n - 1
    before[[0, 1, 2], [0, 5, n - 1]] = NO_PREDECESSOR
    np.testing.assert_array_equal(result.predecessors, before)


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "int64"])
def test_the_search_ends_where_the_type_does(dtype, device, monkeypatch):
    monkeypatch.setattr(ms_bfs_rows, "infinity", lambda _: 100)
    options = AllPairsOptions(device, np.dtype(dtype), predecessors=True)
    method = MsBfs(words=1)
    solver = method.open(method.plan(line(150), options), Stopwatch())
    distances, before = np.empty((2, 150), dtype), np.empty((2, 150), np.int32)
    solver.solve_block(np.array([0, 50]), distances, before)
    exact = np.abs(np.arange(150) - [[0], [50]])
    reached = exact < 100
    np.testing.assert_array_equal(distances[reached], exact[reached])
    assert (distances[~reached] == np.iinfo(dtype).max // 2).all()
    np.testing.assert_array_equal(before == NO_PREDECESSOR, ~reached | (exact == 0))


@pytest.mark.parametrize("cutoff", [0, 0.5, 1, 40, 40.5])
def test_a_cutoff(cutoff, device, directions):
    graph = line(150)
    result = solve(graph, device, dtype="int16", cutoff=cutoff)
    expected = expected_rows(graph)
    assert_solves_within(result, np.where(expected > cutoff, np.inf, expected))
    assert len(directions) == max(int(cutoff), 1)


def assert_solves_within(result, expected):
    distances = np.where(result.distances < result.infinity, result.distances, np.inf)
    np.testing.assert_array_equal(distances, expected)
    there = np.isfinite(expected) & (expected > 0)
    np.testing.assert_array_equal(result.predecessors != NO_PREDECESSOR, there)


# -- words ---------------------------------------------------------------------------------------


@pytest.mark.every(6)
@pytest.mark.parametrize(
    ("count", "widest"), [(1, 1), (32, 1), (33, 2), (100, 4), (500, 16)], ids=str
)
def test_rows_are_no_wider_than_the_sources(count, widest, device):
    graph = line(2048)
    result = pyapsp.solve(graph, "ms-bfs", dtype="int32", sources=range(count), device=device)
    assert result.stats["parameters"]["words"] <= widest
    expected = np.abs(np.arange(2048) - np.arange(count)[:, None])
    np.testing.assert_array_equal(result.distances, expected)
    options = solve(graph, device, 8, sources=range(count))
    assert options.stats["parameters"] == {"words": 8}
    np.testing.assert_array_equal(options.distances, expected)


def test_rows_get_narrower_where_memory_is_short(device):
    n = 2**17
    star = Graph.from_arcs(n, [0] * (n - 1), range(1, n), directed=False)
    options = {"sources": range(500), "method": "ms-bfs", "device": device}
    eccentricities = pyapsp.eccentricity(star, **options, memory_limit=2**25)
    assert eccentricities.tolist() == [1] + 499 * [2]
    with pytest.raises(DeviceMemoryError):
        pyapsp.eccentricity(
            star, **options | {"method": pyapsp.method("ms-bfs", words=16)}, memory_limit=2**25
        )


# -- blocks and launches -----------------------------------------------------------------------


@pytest.mark.parametrize("few", [ALWAYS, NEVER, (3, 2**31)], ids=str)
def test_several_blocks(few, device, monkeypatch):
    """One launch for all, where the same vertex is in the frontiers of several blocks."""
    monkeypatch.setattr(ms_bfs, "_FEW", both_kinds(few))
    graph = arcs_of(5, 131, 400)
    sources = np.append(np.arange(131), [7, 7, 0])
    steps = []
    result = solve(graph, device, 1, sources=sources, progress=lambda *step: steps.append(step))
    assert steps == [(134, 134)]
    assert_solves(graph, result, device)


def test_a_launch_has_as_many_blocks_as_its_third_dimension(device, monkeypatch):
    """Drivers limit it to 65,535 groups: of sums, a block has a group for each range."""
    assert ms_bfs._BLOCKS * ms_bfs._RANGES < 2**16
    monkeypatch.setattr(ms_bfs, "_BLOCKS", 2)
    graph, steps = arcs_of(5, 131, 400), []
    solve(graph, device, 1, progress=lambda *step: steps.append(step))
    assert steps == [(64, 131), (128, 131), (131, 131)]


def test_memory_decides_how_many_blocks(device):
    graph = arcs_of(6, 400, 1600)
    one = solve(graph, device, 1, predecessors=False, sources=range(32)).stats["peak_device_bytes"]
    launches = []
    for limit in (2 * one, 9 * one, None):
        steps = []
        result = solve(
            graph,
            device,
            1,
            predecessors=False,
            memory_limit=limit,
            progress=lambda *step, to=steps: to.append(step),
        )
        assert limit is None or result.stats["peak_device_bytes"] <= limit
        assert_solves(graph, result, device)
        launches.append(len(steps))
    assert launches[0] > launches[1] > launches[2] == 1


def test_long_distances_stay_within_the_memory(device, monkeypatch):
    """Planes that come while searching are there in the limit, too."""
    live = [0, 0]

    class Counted(ms_bfs.cl.Buffer):
        taken = 0

        def __init__(self, context, flags, size=0, hostbuf=None):
            super().__init__(context, flags, size, hostbuf=hostbuf)
            self.taken = 0 if hostbuf is not None else size
            live[0] += self.taken
            live[1] = max(live)

        def __del__(self):
            live[0] -= self.taken

    monkeypatch.setattr(ms_bfs.cl, "Buffer", Counted)
    graph, limit = line(1100), 3_100_000
    if device.kind != "cpu":  # where the rows of a block are on the device, too
        limit += 1100 * 512 * 8
    result = solve(graph, device, 16, memory_limit=limit, predecessors=False)
    assert live[1] <= limit
    assert_solves(graph, result, device)


def test_planes_beyond_the_memory_are_refused(device):
    """A block of one word has room for all planes; one of 16 words has it for the first alone."""
    graph = line(1100)
    options = AllPairsOptions(device, np.dtype(np.int32), memory_limit=1)
    limit = sum(MsBfs().buffers(graph, options, Parameters(words=16))) + 300_000
    with pytest.raises(DeviceMemoryError, match=r"longer than 15: .* fewer words"):
        solve(graph, device, 16, memory_limit=limit)
    assert_solves(graph, solve(graph, device, 1, memory_limit=limit), device)


# -- any graph ---------------------------------------------------------------------------------

ARC = st.tuples(st.integers(0, 44), st.integers(0, 44))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    arcs=st.lists(ARC, max_size=120),
    out_of_hub=st.lists(st.integers(0, 44), max_size=60),
    directed=st.booleans(),
    few=st.sampled_from([ALWAYS, NEVER, (2, 2**31), (4, 5)]),
    piece=st.sampled_from([2, 5, 4096]),
    words=st.sampled_from([1, 2]),
    dtype=st.sampled_from(["int16", "int32", "float32", "float64"]),
)
def test_any_graph(device, arcs, out_of_hub, directed, few, piece, words, dtype):
    """Isolated vertices, self-loops, parallel arcs, a hub; any direction and any pieces."""
    arcs = [*arcs, *((0, head) for head in out_of_hub)]
    tails, heads = zip(*arcs, strict=True) if arcs else ((), ())
    graph = Graph.from_arcs(45, tails, heads, directed=directed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ms_bfs, "_FEW", both_kinds(few))
        patch.setattr(ms_bfs, "_PIECE", both_kinds(piece))
        result = solve(graph, device, words, dtype=dtype)
    assert_solves(graph, result, device)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n == "connected-131072")) for n in GRAPHS],
)
def test_data_sets(name, load, device):
    graph, sources, expected = load(name, weights=1)
    result = pyapsp.solve(
        graph, "ms-bfs", sources=sources, dtype="int16", predecessors=True, device=device
    )
    assert_solves(graph, result, device, expected)


# -- sums --------------------------------------------------------------------------------------


@pytest.mark.parametrize("few", [ALWAYS, NEVER], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(dtype, few, device, monkeypatch):
    if dtype == "float16" and not device.capabilities.fp16:
        return
    monkeypatch.setattr(ms_bfs, "_FEW", both_kinds(few))
    for graph in (SHAPES["tailed"], SHAPES["falling apart"], Graph.from_arcs(40, [], [])):
        sources = np.append(np.arange(graph.n), [3, 3, graph.n - 1])
        for width in (None, 1, 3):
            assert_totals(MsBfs(words=1), graph, dtype, device, sources, width)


def test_sums_of_several_launches(device):
    graph = arcs_of(7, 400, 1200)
    method, sources = MsBfs(words=1), np.arange(400)
    session = assert_totals(method, graph, "int32", device, sources, 1, memory_limit=120_000)
    assert session.size < 400


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33])
def test_sums_over_few_vertices(n, device):
    """Fewer vertices than ranges that are summed side by side, and one more."""
    assert_totals(MsBfs(words=1), line(n), "int32", device, np.arange(n), width=1)


def test_sums_of_long_distances(device):
    graph = line(300)
    assert_totals(MsBfs(words=4), graph, "int32", device, np.arange(300), width=7)


@pytest.mark.slow
def test_more_digits_than_at_first_in_many_vertices(device):
    # the bits of so many vertices lie in memory of the host, which is freed with their buffer
    vertices = np.arange(1, 2**14)
    tree = np.where(vertices < 2**14 - 20, (vertices - 1) // 2, vertices - 1)
    graph = Graph.from_arcs(2**14, tree, vertices, np.ones(vertices.size, np.int64), directed=False)
    sources = np.arange(1024)
    rows = csgraph.dijkstra(graph.to_scipy(), unweighted=True, indices=sources)
    assert rows.max() > 31
    found = pyapsp.distance_histogram(graph, sources, device=device)
    np.testing.assert_array_equal(found, np.bincount(rows[rows > 0].astype(int)))


def test_blocks_in_parallel_grow_with_the_cores_of_a_cpu(device, monkeypatch):
    graph = unweighted(generators.random_graph(6000, 60_000, seed=1))
    options = problem("all-pairs").ask(graph, "ms-bfs", dtype="uint16", device=device).options

    def blocks(units):
        listed = dataclasses.replace(device.capabilities, compute_units=units)
        with monkeypatch.context() as patch:
            patch.setitem(model._capabilities, device.handle, listed)
            return ms_bfs._blocks(graph, options, 4)

    if device.kind == "cpu":
        assert blocks(1) < blocks(2) < blocks(8)
    else:
        assert blocks(1) == blocks(8)
