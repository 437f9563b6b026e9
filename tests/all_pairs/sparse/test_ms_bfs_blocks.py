"""ms-bfs on CPUs from many sources, where each core searches blocks alone.

On other devices the same calls share levels, and have the same answers.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.all_pairs.sparse import ms_bfs_blocks, ms_bfs_rows
from pyapsp.all_pairs.sparse.ms_bfs import MsBfs
from pyapsp.all_pairs.sparse.ms_bfs_blocks import LINE, CoreSearches, blocks_of
from pyapsp.base.host import aligned
from pyapsp.device import model
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.result import NO_PREDECESSOR

from .answers import assert_solves, expected_rows
from .test_ms_bfs import SHAPES, arcs_of, assert_solves_within, both_kinds, line, solve

# Divisors of the arcs: any frontier is pushed, none is, or the direction changes.
FEW = [0, 2**40, 3]


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Cores search alone from the first source on."""
    monkeypatch.setattr(ms_bfs_blocks, "_LEAST", both_kinds(1e-9))


@pytest.fixture
def cores(device, monkeypatch):
    """More cores than most machines have: groups that find no block, or take several."""
    listed = dataclasses.replace(device.capabilities, compute_units=5)
    monkeypatch.setitem(model._capabilities, device.handle, listed)
    return 5


def options_of(device, **options):
    return AllPairsOptions(device, np.dtype("int32"), **options)


@pytest.mark.parametrize("words", [1, 2, 8])
@pytest.mark.parametrize("few", FEW)
@pytest.mark.parametrize("shape", SHAPES)
def test_bits_are_those_of_shared_levels(shape, few, words, device, cores, monkeypatch):
    monkeypatch.setattr(ms_bfs_blocks, "_FEW", few)
    result = solve(SHAPES[shape], device, words)
    assert_solves(SHAPES[shape], result, device)
    monkeypatch.setattr(ms_bfs_blocks, "_LEAST", both_kinds(2**31))
    shared = solve(SHAPES[shape], device, words)
    np.testing.assert_array_equal(result.distances, shared.distances)
    np.testing.assert_array_equal(result.predecessors, shared.predecessors)


@pytest.mark.parametrize("fence", [True, False])
@pytest.mark.parametrize("predecessors", [False, True])
def test_cores_write_the_rows_of_others(predecessors, fence, device, cores, monkeypatch):
    """The kernel runs again after the search, when no block is left and no row is written."""
    if not (device.traits.scalar_groups and device.capabilities.device_scope_fence):
        pytest.skip("cores do not search alone, or have no fence")
    listed = dataclasses.replace(device.capabilities, device_scope_fence=fence)
    monkeypatch.setitem(model._capabilities, device.handle, listed)
    n, strip, made = 300, 64, []
    monkeypatch.setattr(ms_bfs_blocks, "_VERTICES", strip)
    monkeypatch.setattr(
        ms_bfs_blocks, "aligned", lambda *about: made.append(aligned(*about)) or made[-1]
    )
    method, options = MsBfs(words=2), options_of(device, predecessors=predecessors)
    solver = method.open(method.plan(arcs_of(5, n, 900), options), Stopwatch())
    kernel, answer = solver._kernel, [np.empty((n, n), np.int32) for _ in range(1 + predecessors)]
    expected, blocks = [], []

    def twice(queue, *arguments):
        kernel(queue, *arguments)
        queue.finish()
        state, expected[:] = made[1].reshape(1 + cores, -1), [each.copy() for each in answer]
        assert (state[1:, 0] <= 0).all()
        last = state[1:, 2] > 0  # cores whose bits are those of a block
        blocks[:] = state[1:, 1][last]
        state[1:, 0] = last * -(-n // strip) * (1 + predecessors)
        for each in answer:
            each[:] = -1
        kernel(queue, *arguments)

    monkeypatch.setattr(solver, "_kernel", twice)
    solver.solve_block(np.arange(n), answer[0], answer[1] if predecessors else None)
    assert blocks
    for first in blocks:
        some = slice(first, first + solver._blocks.size)
        for each, right in zip(answer, expected, strict=True):
            np.testing.assert_array_equal(each[some], right[some] if fence else -1)


def test_the_form_is_that_of_cpus_and_of_rows(device, monkeypatch):
    graph, method = line(90), MsBfs(words=1)
    for options, alone in [
        (options_of(device), device.traits.scalar_groups),
        (options_of(device, totals=True), False),
    ]:
        solver = method.open(method.plan(graph, options), Stopwatch())
        assert isinstance(solver, CoreSearches) == alone


@pytest.mark.every(4)
@pytest.mark.parametrize("least", [4, 9])
@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "int64", "float32", "float64"])
def test_rows_that_pass_the_caches_or_not(dtype, least, device, monkeypatch):
    """The first values up to a line, vectors, and what remains, at all places of a line."""
    monkeypatch.setattr(ms_bfs_rows, "_STREAMED", least)
    for n in (3, 37, 150):
        graph = arcs_of(n, n, 2 * n)
        result = pyapsp.solve(graph, pyapsp.method("ms-bfs"), dtype=dtype, device=device)
        assert_solves(graph, result, device)


@pytest.mark.parametrize("few", FEW)
@pytest.mark.parametrize("n", [16, 17, 256, 257, 300])
def test_long_distances(n, few, device, monkeypatch):
    monkeypatch.setattr(ms_bfs_blocks, "_FEW", few)
    graph = line(n, directed=True)
    assert_solves(graph, solve(graph, device), device)


@pytest.mark.parametrize("n", [2**15, 2**15 + 1])
def test_more_vertices_than_half_a_word_counts(n, device):
    graph = arcs_of(8, n, 3 * n)
    result = solve(graph, device, 1, sources=[0, 1, n - 1], predecessors=False)
    assert_solves(graph, result, device)


@pytest.mark.parametrize("cutoff", [0, 0.5, 1, 40, 40.5])
def test_a_cutoff(cutoff, device):
    graph = line(90)
    result = solve(graph, device, dtype="int16", cutoff=cutoff)
    expected = expected_rows(graph)
    assert_solves_within(result, np.where(expected > cutoff, np.inf, expected))


def test_the_search_ends_where_the_type_does(device, monkeypatch):
    monkeypatch.setattr(ms_bfs_rows, "infinity", lambda _: 100)
    method, options = MsBfs(words=1), options_of(device, predecessors=True)
    solver = method.open(method.plan(line(150), options), Stopwatch())
    distances, before = np.empty((2, 150), np.int32), np.empty((2, 150), np.int32)
    assert solver.solve_block(np.array([0, 50]), distances, before) == 99
    exact = np.abs(np.arange(150) - [[0], [50]])
    np.testing.assert_array_equal(distances[exact < 100], exact[exact < 100])
    assert (distances[exact >= 100] == np.iinfo(np.int32).max // 2).all()
    np.testing.assert_array_equal(before == NO_PREDECESSOR, (exact >= 100) | (exact == 0))


def test_launches_end_soon(device, cores, monkeypatch):
    """The same vertex is a source of several blocks, and of several launches."""
    graph = arcs_of(5, 131, 400)
    sources, steps = np.append(np.arange(131), [7, 7, 0] * 40), []
    monkeypatch.setattr(ms_bfs_blocks, "_PAIRS", 1)
    result = solve(graph, device, 1, sources=sources, progress=lambda *step: steps.append(step))
    assert_solves(graph, result, device)
    if device.traits.scalar_groups:
        assert steps == [(32 * cores, 251), (251, 251)]


def test_launches_of_graphs_with_many_arcs_end_soon(device, cores, monkeypatch):
    """A launch has fewer blocks if a block has more arcs to read."""
    options = options_of(device)
    if device.traits.scalar_groups:
        division = blocks_of(100, 3200 * cores, options, 1)
        monkeypatch.setattr(ms_bfs_blocks, "_PAIRS", 320 * division.size)
        few, many = (arcs_of(5, 100, m) for m in (40, 7000))
        assert division.launch(few) == 3 * cores * division.size
        assert division.launch(many) == cores * division.size


@pytest.mark.parametrize("least", [1e-9, 2**31], ids=["blocks", "levels"])
@pytest.mark.parametrize("predecessors", [False, True])
def test_rows_of_a_launch_fit_in_an_allocation(predecessors, least, device, cores, monkeypatch):
    """Where the device is the host a buffer of rows is the memory of the answer."""
    n, created = 400, []
    graph = arcs_of(5, n, 1600)
    most = 100 * n * 4
    short = dataclasses.replace(device.capabilities, max_allocation=most)
    monkeypatch.setitem(model._capabilities, device.handle, short)
    monkeypatch.setattr(ms_bfs_blocks, "_LEAST", both_kinds(least))
    buffer = cl.Buffer

    def recorded(*arguments, **named):
        created.append(made := buffer(*arguments, **named))
        return made

    with monkeypatch.context() as solving:
        solving.setattr(cl, "Buffer", recorded)
        result = solve(graph, device, 1, predecessors=predecessors)
    assert_solves(graph, result, device)
    assert 0 < max(each.size for each in created) <= most


def test_cores_share_levels_where_memory_is_short(device, cores):
    graph = line(2000)
    options = options_of(device)
    if device.traits.scalar_groups:
        needed = 3 * blocks_of(2000, 320, options, 8).bytes(2000)
        short = dataclasses.replace(options, memory_limit=needed - 3)
        assert blocks_of(2000, 320, short, 8) is None
        enough = dataclasses.replace(options, memory_limit=needed)
        assert blocks_of(2000, 320, enough, 8) == blocks_of(2000, 320, options, 8)
    limit = 2_000_000
    result = solve(graph, device, 8, sources=range(320), memory_limit=limit)
    assert result.stats["peak_device_bytes"] <= limit
    assert_solves(graph, result, device)


@pytest.mark.parametrize("count", [1, 32, 33, 100, 1000, 4039])
@pytest.mark.parametrize("words", [1, 2, 16, 64])
def test_blocks_have_about_the_same_number_of_sources(words, count, device, cores):
    blocks = blocks_of(5000, count, options_of(device), words)
    if not device.traits.scalar_groups:
        assert blocks is None
        return
    assert blocks.size % 32 == 0
    assert blocks.size <= 32 * blocks.words < 2 * blocks.size
    assert blocks.words % blocks.vector == 0
    assert blocks.words <= words
    assert 2**blocks.digits > 5000
    rounds = -(-count // (cores * 32 * words))
    assert -(-count // blocks.size) <= rounds * cores
    assert (blocks.size - 32) * rounds * cores < count


@pytest.mark.parametrize("words", [{}, {"words": 64}])
def test_rows_are_at_most_a_line_wide_unless_the_caller_says_more(words, device):
    graph = arcs_of(9, 2048, 4000)
    method = pyapsp.method("ms-bfs", **words)
    result = pyapsp.solve(graph, method, dtype="int32", device=device)
    if device.traits.scalar_groups:
        used = result.stats["parameters"]["words"]
        assert used == 64 if words else used <= LINE
    assert_solves(graph, result, device)


def test_without_arcs(device):
    graph = Graph.from_arcs(70, [], [])
    assert_solves(graph, solve(graph, device), device)
