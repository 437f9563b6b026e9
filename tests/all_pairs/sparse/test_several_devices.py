"""Several devices share the sources of a search, and the rows are those of one device."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest

import pyapsp
from pyapsp import errors
from pyapsp.all_pairs import choice
from pyapsp.all_pairs.sparse import apsp_bfs
from pyapsp.all_pairs.sparse.device_block import BlockSearch
from pyapsp.all_pairs.sparse.near_far import NearFar
from pyapsp.all_pairs.sparse.source_blocks import SourceBlocks
from pyapsp.graph import Graph, model
from pyapsp.paths import AllPairsOptions, sharing
from pyapsp.registry import trials

METHODS = [
    each.id
    for each in pyapsp.methods("all-pairs")
    if issubclass(each, SourceBlocks) and each.multidevice
]


def sparse(n=150, seed=5):
    """Make a graph with ties, zeros, and vertices that are not reached."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, 4 * n))
    return Graph.from_arcs(n, tails, heads, rng.integers(0, 5, tails.size))


GRAPH = sparse()


def graph_for(method):
    return GRAPH.unweighted() if "bfs" in method else GRAPH


def assert_same(one, found):
    np.testing.assert_array_equal(one.distances, found.distances)
    np.testing.assert_array_equal(one.predecessors, found.predecessors)


@pytest.fixture
def turns(monkeypatch):
    """Let each device take many blocks."""
    monkeypatch.setattr(sharing, "_TURNS", 10)


@pytest.fixture
def solvers(monkeypatch):
    """Return the blocks of each of two solvers of near-far."""
    solve, blocks, both = BlockSearch.solve_block, {}, threading.Barrier(2, timeout=10)

    def noted(self, sources, distances, predecessors):
        if self not in blocks:
            both.wait()  # each takes a block
        blocks.setdefault(self, []).append(sources.size)
        return solve(self, sources, distances, predecessors)

    monkeypatch.setattr(BlockSearch, "solve_block", noted)
    return blocks


@pytest.mark.every(2)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cutoff": 4, "dtype": "float32"},
        {"sources": [9, 2, 9, 149, 77, 3, 8], "dtype": "int32"},
        {"sources": [9, 2]},
    ],
    ids=["all", "cutoff", "sources", "few"],
)
def test_the_rows_are_those_of_one_device(method, options, several, device):
    one, found = (
        pyapsp.solve(graph_for(method), method, predecessors=True, device=each, **options)
        for each in (device, several)
    )
    assert_same(one, found)
    rows, used = len(one.distances), min(len(several), len(one.distances))
    assert (len(found.stats["devices"]), sum(found.stats["device_sources"])) == (used, rows)


def test_negative_weights(several, device):
    tails, heads, weights = GRAPH.arcs()
    potential = np.random.default_rng(2).integers(0, 9, GRAPH.n)
    graph = GRAPH.with_weights(weights + potential[tails] - potential[heads])
    for options in ({}, {"cutoff": 3}):
        one, found = (
            pyapsp.solve(graph, "johnson", predecessors=True, device=each, **options)
            for each in (device, several)
        )
        assert_same(one, found)
    broken = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], [1, 1, -3])
    with pytest.raises(errors.NegativeCycleError):
        pyapsp.solve(broken, "johnson", device=several)


@pytest.mark.usefixtures("turns")
def test_each_device_takes_the_next_block(solvers, device):
    told = []
    result = pyapsp.solve(
        GRAPH, "near-far", device=[device, device], progress=lambda *each: told.append(each)
    )
    counts = [sum(blocks) for blocks in solvers.values()]
    assert sorted(counts) == sorted(result.stats["device_sources"])
    assert sum(counts) == 150
    assert max(map(max, solvers.values())) == 8  # a twentieth
    assert len(result.stats["device_seconds"]) == 2
    assert told == sorted(told)
    assert told[-1] == (150, 150)


@pytest.mark.usefixtures("turns")
def test_rows_of_a_file(several, device, tmp_path):
    one = pyapsp.solve(GRAPH, "near-far", predecessors=True, device=device)
    out = np.lib.format.open_memmap(tmp_path / "d.npy", "w+", np.float64, (150, 150))
    result = pyapsp.solve(GRAPH, "near-far", out=out, predecessors=True, device=several)
    assert result.distances is out
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy"), one.distances)
    beside = np.load(tmp_path / "d.npy.predecessors.npy")
    np.testing.assert_array_equal(beside, one.predecessors)


def test_blocks_of_rows(several, device):
    one = pyapsp.solve(GRAPH, "near-far", predecessors=True, device=device)
    blocks = list(pyapsp.row_blocks(GRAPH, "near-far", block=70, predecessors=True, device=several))
    assert [len(each.distances) for each in blocks] == [70, 70, 10]
    for name in ("distances", "predecessors"):
        found = np.concatenate([getattr(each, name) for each in blocks])
        np.testing.assert_array_equal(found, getattr(one, name))
    assert sum(blocks[-1].stats["device_sources"]) == 150


def test_a_solver_with_room_for_all_sources_takes_its_part(monkeypatch, device):
    solve, begun, both = apsp_bfs._Searches.solve_block, [], threading.Barrier(2, timeout=5)

    def noted(self, sources, distances, predecessors):
        if self not in begun:
            begun.append(self)
            both.wait()
        return solve(self, sources, distances, predecessors)

    monkeypatch.setattr(apsp_bfs._Searches, "solve_block", noted)
    found = pyapsp.solve(graph_for("apsp-bfs"), "apsp-bfs", device=[device, device])
    assert min(found.stats["device_sources"]) >= 38


@pytest.mark.usefixtures("turns")
def test_an_error_in_a_later_block_of_rows(device, monkeypatch):
    """No stored error keeps the memory of the device that did not fail."""
    solve, solvers, failed = BlockSearch.solve_block, [], []

    def noted(self, *rest):
        if self not in [each() for each in solvers]:
            solvers.append(weakref.ref(self))
        if failed and self is solvers[1]():
            raise errors.DeviceError("lost")
        time.sleep(0.02)  # until the other one has begun
        return solve(self, *rest)

    monkeypatch.setattr(BlockSearch, "solve_block", noted)
    rows = pyapsp.row_blocks(GRAPH, "near-far", block=40, device=[device, device])
    next(rows)
    failed.append(True)
    with pytest.raises(errors.DeviceError, match="lost") as raised:
        next(rows)
    del rows
    gc.collect()
    assert raised.value.__traceback__ is not None
    assert solvers[0]() is None


@pytest.mark.usefixtures("turns")
def test_an_error_of_one_device_ends_the_run(device, monkeypatch):
    solve, solvers, done = BlockSearch.solve_block, [], []

    def failing(self, sources, distances, predecessors):
        if self not in [each() for each in solvers]:
            solvers.append(weakref.ref(self))
        if self is solvers[-1]() and len(solvers) == 2:
            raise errors.DeviceError("lost")
        done.append(sources)
        time.sleep(0.05)  # until the other one has begun
        return solve(self, sources, distances, predecessors)

    expected = pyapsp.solve(GRAPH, "near-far", device=device).distances
    with monkeypatch.context() as patch:
        patch.setattr(BlockSearch, "solve_block", failing)
        with pytest.raises(errors.DeviceError, match="lost") as raised:
            pyapsp.solve(GRAPH, "near-far", device=[device, device])
        assert 0 < len(done) < 15
    gc.collect()
    assert raised.value.args == ("lost",)
    assert [each() for each in solvers] == [None, None]
    found = pyapsp.solve(GRAPH, "near-far", device=[device, device]).distances
    np.testing.assert_array_equal(found, expected)


def test_a_distance_that_is_too_large(several):
    line = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [9000, 9000, 9000])
    with pytest.raises(errors.PrecisionError, match="too large for int16"):
        pyapsp.solve(line, "near-far", dtype="int16", device=several)


@pytest.mark.usefixtures("turns")
def test_an_exception_of_progress_ends_the_run(assert_cancels, device):
    assert_cancels(pyapsp.solve, GRAPH, "near-far", device=[device, device])


@pytest.mark.usefixtures("turns", "heard")
def test_control_is_back_soon(device, monkeypatch):
    solve, done = BlockSearch.solve_block, []

    def slow(self, sources, distances, predecessors):
        if not done:
            os.kill(os.getpid(), signal.SIGINT)
        done.append(sources)
        time.sleep(0.03)
        return solve(self, sources, distances, predecessors)

    with monkeypatch.context() as patch:
        patch.setattr(BlockSearch, "solve_block", slow)
        with pytest.raises(KeyboardInterrupt):
            pyapsp.solve(GRAPH, "near-far", device=[device, device])
    assert len(done) < 15  # of 20
    one, found = (pyapsp.solve(GRAPH, "near-far", device=each) for each in (device, [device] * 2))
    np.testing.assert_array_equal(one.distances, found.distances)


def test_what_is_refused(device):
    several = [device, device]
    with pytest.raises(errors.CapabilityError, match="takes one device with keep='device'"):
        pyapsp.solve(GRAPH, "near-far", keep="device", device=several)
    pyapsp.solve(GRAPH, "near-far", keep="device", device=[device])
    for method in ("dijkstra-cpu", pyapsp.method("johnson", search="dijkstra-cpu")):
        with pytest.raises(errors.CapabilityError, match="dijkstra-cpu uses one device"):
            pyapsp.solve(GRAPH, method, device=several)


def test_johnson_needs_the_same_types_on_all_devices(device):
    class Other:
        capabilities = replace(device.capabilities, fp64=not device.capabilities.fp64)

    options = AllPairsOptions(device, np.dtype("float32"), helpers=(Other(),))
    negative = replace(GRAPH.facts, has_negative=True)
    method = pyapsp.method("johnson")
    assert "double precision on all devices" in str(method.unmet(negative, options))
    assert method.unmet(GRAPH.facts, options) is None


# -- plans -------------------------------------------------------------------------------------


def test_a_dry_run_counts_a_device_that_is_named_twice(device):
    part = np.arange(38)  # of 150 sources for two devices that take two blocks each
    alone = pyapsp.dry_run(pyapsp.solve, GRAPH, "near-far", sources=part, device=device)
    both = pyapsp.dry_run(pyapsp.solve, GRAPH, "near-far", device=[device, device])
    assert both.device_bytes == 2 * alone.device_bytes
    assert both.answer_bytes == 150**2 * 8


def test_a_device_that_is_named_twice_has_half_its_memory_in_each_part(device):
    options = AllPairsOptions(device, np.dtype("float32"), memory_limit=2**20)
    assert [each.memory for each in options.of_each_device()] == [2**20]
    twice = replace(options, helpers=(device,))
    assert [each.memory for each in twice.of_each_device()] == [2**19, 2**19]
    assert [each.helpers for each in twice.of_each_device()] == [(), ()]
    limit = pyapsp.dry_run(pyapsp.solve, GRAPH, "near-far", device=device).device_bytes // 8
    with pytest.raises(errors.DeviceMemoryError):
        pyapsp.solve(GRAPH, "near-far", device=[device, device], memory_limit=limit)


def test_explain_names_the_devices(several):
    lines = pyapsp.explain(GRAPH, "near-far", device=several).splitlines()
    names = ", ".join(each.name for each in several)
    assert lines[-1] == f"{len(several)} devices share the sources: {names}"
    assert "share" not in pyapsp.explain(GRAPH, "near-far", device=several, sources=[3])


def test_a_large_graph_is_reversed_once(monkeypatch, device):
    turned, turn = [], model.transposed
    monkeypatch.setattr(Graph, "_stores", 100)
    graph = sparse(seed=8)
    assert graph.keeping() is not graph
    assert graph.keeping().keeping().n == graph.n

    def noted(*rows):
        time.sleep(0.02)  # until the other one asks
        turned.append(rows)
        return turn(*rows)

    monkeypatch.setattr(model, "transposed", noted)
    pyapsp.solve(graph, "near-far", predecessors=True, device=[device, device])
    assert len(turned) == 1


# -- what auto takes ---------------------------------------------------------------------------


@pytest.fixture
def predict(monkeypatch):
    """Return a function that sets the seconds of a row of near-far, and of a call."""

    def change(row, call=0.0):
        monkeypatch.setattr(
            NearFar, "predict", lambda self, graph, options, rows: row * rows + call
        )
        choice._ranking.cache_clear()

    yield change
    choice._ranking.cache_clear()


class Another:
    """A device that is equal to no other."""

    def __init__(self, device):
        self._device = device

    def __getattr__(self, name):
        return getattr(self._device, name)


def test_predictions_for_several_devices(predict, device):
    options = AllPairsOptions(device, np.dtype("float32"))
    both = replace(options, helpers=(Another(device),))
    same = replace(options, helpers=(device,))
    method, facts = pyapsp.method("near-far"), GRAPH.facts
    predict(0.01, 0.5)
    assert method.predicted(facts, options, 150) == pytest.approx(2.0)
    assert method.predicted(facts, both, 150) == pytest.approx(1.25 + 1e-3)
    assert method.predicted(facts, same, 150) > method.predicted(facts, options, 150)
    # the host takes the rows of devices with memory of their own
    predict(1e-12)
    assert method.predicted(facts, both, 150) < 1.001e-3
    both.helpers[0].traits = replace(device.traits, scalar_groups=False)
    for kind, bytes_ in (({}, 4), ({"predecessors": True, "answer": np.dtype("float64")}, 12)):
        seconds = 5.5e-11 * bytes_ * 150**2 + 1e-3
        assert method.predicted(facts, replace(both, **kind), 150) == pytest.approx(seconds, 1e-6)


@pytest.mark.parametrize("row", [1e-9, 1e-4])
def test_auto_takes_several_devices_if_there_is_much_to_do(predict, row, device):
    options = AllPairsOptions(device, np.dtype("float64"), helpers=(Another(device),))
    predict(row)
    best = next(each for each in choice.candidates(GRAPH, options) if each.method.id == "near-far")
    assert len(best.helpers) == (row > 1e-8)
    predict(1e-12)
    found = pyapsp.solve(GRAPH, device=[device, device])
    assert (found.stats["method"], "devices" in found.stats) == ("near-far", False)


def test_auto_takes_one_device_for_rows_that_stay_on_it(predict, device):
    predict(1e-4)
    options = AllPairsOptions(device, np.dtype("float64"), helpers=(Another(device),))
    for asked, helpers in ((options, 1), (options.on_device(150), 0)):
        found = choice.candidates(GRAPH, asked)
        assert next(len(each.helpers) for each in found if each.method.id == "near-far") == helpers
    few = replace(options.on_device(150), sources=np.arange(3))
    assert all(not each.helpers for each in choice.candidates(GRAPH, few) if each.method.by_source)
    found = pyapsp.solve(GRAPH, device=[device, device], keep="device")
    one = pyapsp.solve(GRAPH, device=device)
    np.testing.assert_array_equal(found.distances, one.distances)


def test_auto_tries_a_method_on_each_device(monkeypatch, several):
    tried = []
    monkeypatch.setattr(
        trials, "fault_of", lambda method, options, trial: tried.append(options.device)
    )
    monkeypatch.setattr(NearFar, "predict", lambda self, graph, options, rows: 1e-9 * rows + 1e-12)
    choice._ranking.cache_clear()
    monkeypatch.setattr("pyapsp.all_pairs.sparse.source_blocks._ANOTHER", -1.0)
    pyapsp.solve(GRAPH, device=several)
    choice._ranking.cache_clear()
    assert tried == several
