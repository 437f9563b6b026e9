"""Several devices share the sources of `bfs` and `sssp`, and the rows are those of one device."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.device import choose
from pyapsp.device.kernels import residents
from pyapsp.errors import CapabilityError, DeviceError, ParameterError, PrecisionError
from pyapsp.graph import Graph, generators
from pyapsp.registry import runs
from pyapsp.traversal import kernels
from pyapsp.traversal.bfs import bfs_direction_optimising
from pyapsp.traversal.request import requested
from pyapsp.traversal.sssp import sssp_delta_stepping

GRAPH = generators.random_graph(130, 420, max_weight=9, seed=3)
SOURCES = np.random.default_rng(1).integers(0, 130, 23)
BFS, SSSP = ([each.id for each in pyapsp.methods(name)] for name in ("bfs", "sssp"))


@pytest.mark.every(2)
@pytest.mark.parametrize("method", [*BFS, *SSSP])
def test_the_rows_are_those_of_one_device(method, several, device):
    search, more = pyapsp.bfs, {}
    if method in SSSP:
        search, more = pyapsp.sssp, {"predecessors": True, "cutoff": 12}
    for sources in (SOURCES, SOURCES[:2], SOURCES[:1], []):
        one, found = (
            search(GRAPH, sources, method, device=each, **more) for each in (device, several)
        )
        np.testing.assert_array_equal(one.rows.distances, found.rows.distances)
        np.testing.assert_array_equal(one.rows.predecessors, found.rows.predecessors)
    found = search(GRAPH, SOURCES, method, device=several, **more)
    counts = found.stats["device_sources"]
    assert (len(counts), sum(counts)) == (len(several), 23)
    assert (
        found.stats["work"] == search(GRAPH, SOURCES, method, device=device, **more).stats["work"]
    )
    assert "devices share the sources" in found.explain()


@pytest.mark.parametrize("options", [{"targets": [5, 9]}, {"dtype": "int32"}, {"dtype": "float32"}])
def test_options(options, several, device):
    options = {"predecessors": True, **options}
    one, found = (pyapsp.sssp(GRAPH, SOURCES, device=each, **options) for each in (device, several))
    np.testing.assert_array_equal(one.distances, found.distances)
    np.testing.assert_array_equal(one.predecessors, found.predecessors)


@pytest.fixture
def apart(monkeypatch):
    """Let the device have a memory of its own, so that rows leave it while it searches."""
    for each in (bfs_direction_optimising, sssp_delta_stepping, kernels):
        monkeypatch.setattr(each, "in_place", lambda handle: False)
    for each in (bfs_direction_optimising, sssp_delta_stepping):
        monkeypatch.setattr(each, "_LONG", 1)


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("parents", [True, False])
def test_rows_leave_each_device(parents, several, device):
    expected = pyapsp.bfs(GRAPH, SOURCES, "bfs-frontier", device=device)
    found = pyapsp.bfs(
        GRAPH,
        SOURCES,
        "bfs-direction-optimising",
        parents=parents,
        device=several,
    )
    assert "narrow" in vars(found.rows)
    np.testing.assert_array_equal(found.levels, expected.levels)
    np.testing.assert_array_equal(found.rows.distances, expected.rows.distances)
    if parents:
        np.testing.assert_array_equal(found.parents, expected.parents)
    one, rows = (
        pyapsp.sssp(GRAPH, SOURCES, "sssp-delta-stepping", device=each)
        for each in (device, several)
    )
    np.testing.assert_array_equal(one.distances, rows.distances)


@pytest.mark.usefixtures("apart")
def test_narrow_rows_of_one_device_beside_those_of_another(monkeypatch, device):
    """One of the devices has no narrow rows: it writes distances, which become levels."""
    asked, method = [], bfs_direction_optimising.BfsDirectionOptimising
    monkeypatch.setattr(method, "narrow", lambda self, plan: len(asked) or asked.append(plan))
    leaves = method.leaves
    monkeypatch.setattr(
        method, "leaves", lambda self, plan: plan is not asked[0] and leaves(self, plan)
    )
    open_ = method.open

    def opened(self, plan, watch):
        searcher = open_(self, plan, watch)
        if plan is asked[0]:
            searcher._leaving = None
        return searcher

    monkeypatch.setattr(method, "open", opened)
    slow = slowed(monkeypatch, [], name=method.id)
    found = pyapsp.bfs(GRAPH, SOURCES[:9], slow, device=[device, device])
    expected = pyapsp.bfs(GRAPH, SOURCES[:9], "bfs-frontier", device=device)
    assert min(found.stats["device_sources"]) > 0
    np.testing.assert_array_equal(found.levels, expected.levels)
    np.testing.assert_array_equal(found.rows.distances, expected.rows.distances)
    np.testing.assert_array_equal(found.parents, expected.parents)


def slowed(monkeypatch, found, before=lambda done: None, name="bfs-frontier"):
    """Let the searches of a method be slow, so that no device does all of them; count them."""
    method = pyapsp.method(name)
    find = type(method).find

    def slow(self, searcher, *rest):
        before(found)
        found.append(searcher)
        time.sleep(0.02)
        return find(self, searcher, *rest)

    monkeypatch.setattr(type(method), "find", slow)
    return method


def test_the_graph_stays_on_each_device(monkeypatch, there, device):
    both = [device, choose(cl.Context([device.handle]))]
    graph, method = generators.random_graph(3000, 30000, seed=1), slowed(monkeypatch, [])
    pyapsp.bfs(graph, [1, 2, 3, 4, 5, 6], method, device=both)
    assert residents.residents(device.context) is there
    for each in both:
        assert residents.residents(each.context).bytes_of([graph.indices]) > 0


def test_progress(several):
    told = []
    pyapsp.bfs(GRAPH, SOURCES, device=several, progress=lambda *each: told.append(each))
    assert told == sorted(told)
    assert told[-1] == (23, 23)


def test_an_exception_of_progress_ends_the_run(monkeypatch, device):
    done = []
    method = slowed(monkeypatch, done)

    def stop(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pyapsp.bfs(GRAPH, SOURCES, method, device=[device, device], progress=stop)
    assert len(done) < 15


def test_an_error_of_one_device_ends_the_run(monkeypatch, device):
    done = []

    def fail(searchers):
        if len(searchers) > 4:
            raise DeviceError("lost")

    with monkeypatch.context() as patch:
        method = slowed(patch, done, fail)
        with pytest.raises(DeviceError, match="lost"):
            pyapsp.bfs(GRAPH, SOURCES, method, device=[device, device])
    assert len(done) < 15
    one, found = (pyapsp.bfs(GRAPH, SOURCES, device=each) for each in (device, [device] * 2))
    np.testing.assert_array_equal(one.levels, found.levels)


@pytest.mark.usefixtures("heard")
def test_control_is_back_soon(monkeypatch, device):
    done = []

    def interrupt(searchers):
        if not searchers:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        method = slowed(patch, done, interrupt)
        with pytest.raises(KeyboardInterrupt):
            pyapsp.bfs(GRAPH, SOURCES, method, device=[device, device])
    assert len(done) < 15


def test_what_is_refused(device):
    several = [device, device]
    for search in (pyapsp.bfs, pyapsp.sssp):
        with pytest.raises(CapabilityError, match="takes one device with keep='device'"):
            search(GRAPH, SOURCES, keep="device", device=several)
        with pytest.raises(ParameterError, match="at least one device"):
            search(GRAPH, SOURCES, device=[])
        assert search(GRAPH, SOURCES, keep="device", device=[device]).rows is not None
    line = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [9000, 9000, 9000])
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.sssp(line, [0, 1], dtype="int16", device=several)
    loaded = requested("bfs", GRAPH, sources=SOURCES, device=several)
    with pytest.raises(ParameterError, match="cannot run its kernels without its copies"):
        runs.load(loaded)


def test_a_dry_run_counts_a_device_that_is_named_twice(device):
    one, both = (
        pyapsp.dry_run(pyapsp.sssp, GRAPH, SOURCES, device=each) for each in (device, [device] * 2)
    )
    assert both.device_bytes == 2 * one.device_bytes
    assert both.answer_bytes == one.answer_bytes
