"""dijkstra-cpu: parallel threads, narrow types, and running without Numba."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.sparse import dijkstra_cpu
from pyapsp.errors import CapabilityError, PrecisionError
from pyapsp.graph import Graph, generators
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions


def test_the_compiler_runs_in_planning(device):
    graph = generators.random_graph(30, 90, seed=1)
    for wanted in (False, True):
        method = pyapsp.method("dijkstra-cpu")
        plan = method.plan(graph, AllPairsOptions(device, np.dtype("i2"), predecessors=wanted))
        method.run(plan)
        assert len(plan.state.search.signatures) == 1


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_any_number_of_threads(threads, device):
    """n is no multiple of what a thread takes at a time, nor of a block."""
    graph = generators.random_graph(203, 1500, seed=2)
    method = pyapsp.method("dijkstra-cpu", threads=threads)
    seen = []
    result = pyapsp.solve(
        graph, method, predecessors=True, device=device, progress=lambda *step: seen.append(step)
    )
    np.testing.assert_array_equal(
        result.distances, csgraph.dijkstra(graph.to_scipy().astype(float))
    )
    assert verify.certificate(graph, result, device=device).ok
    assert len(seen) == -(-203 // (64 * threads))
    assert seen[-1] == (203, 203)


@pytest.mark.parametrize("cutoff", [0, 300, None])
def test_few_sources_use_few_threads(cutoff, device, monkeypatch):
    """No thread is started where searches visit few vertices; the rows are the same."""
    started = []

    class Counted(dijkstra_cpu.ThreadPoolExecutor):
        def submit(self, *task):
            started.append(task)
            return super().submit(*task)

    graph, sources = generators.random_graph(2000, 8000, 99, seed=4), np.arange(0, 2000, 97)
    method = pyapsp.method("dijkstra-cpu", threads=4)
    pyapsp.solve(graph, method, sources=[0], device=device)  # compiled
    monkeypatch.setattr(dijkstra_cpu, "ThreadPoolExecutor", Counted)
    found = pyapsp.solve(graph, method, sources=sources, cutoff=cutoff, device=device)
    expected = csgraph.dijkstra(
        graph.to_scipy(), indices=sources, limit=np.inf if cutoff is None else cutoff
    )
    np.testing.assert_array_equal(found.distances, expected)
    assert len(started) == (0 if cutoff == 0 else 4)


def test_by_default_there_is_a_thread_for_each_core(device):
    result = pyapsp.solve(generators.ring(9), "dijkstra-cpu", device=device)
    assert result.stats["parameters"] == {"threads": len(os.sched_getaffinity(0))}
    assert result.stats["peak_device_bytes"] == 0


def test_threads_run_at_the_same_time(device):
    """While a search goes on, other threads do too: it does not hold the interpreter's lock."""
    graph = generators.random_graph(2000, seed=1)
    plan = pyapsp.method("dijkstra-cpu", threads=1).plan(
        graph, AllPairsOptions(device, np.dtype("f8"))
    )
    rows = np.full((2000, 2000), -1.0)
    search, before = plan.state.search, np.empty((0, 0), np.int32)
    arcs = graph.indptr, graph.indices, graph.weights.astype(float)
    ends = np.float64(np.inf), np.float64(np.inf), 2**63 - 1
    thread = threading.Thread(
        target=search, args=(*arcs, np.arange(2000)[:, None], rows, before, False, *ends)
    )
    thread.start()
    while thread.is_alive() and rows[3, 3] != 0:
        time.sleep(0.001)
    assert rows[-1, -1] == -1  # there was time to look before the search was over
    thread.join()
    assert rows[-1, -1] == 0


def test_sums_beyond_float16_are_infinite(device):
    line = Graph.from_arcs(3, [0, 1], [1, 2], [40000.0, 40000.0])
    if not device.capabilities.fp16:
        with pytest.raises(CapabilityError, match="has no float16"):
            pyapsp.solve(line, "dijkstra-cpu", dtype="float16", device=device)
        return
    result = pyapsp.solve(line, "dijkstra-cpu", dtype="float16", device=device, check=False)
    assert result.distances[0].tolist() == [0, 40000, np.inf]
    with pytest.raises(PrecisionError, match="too large for float16"):
        pyapsp.solve(line, "dijkstra-cpu", dtype="float16", device=device)


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int64", "float32", "float64"])
def test_a_search_ends_at_the_cutoff(dtype, device, monkeypatch):
    monkeypatch.setattr(AllPairsOptions, "hide", None)  # not called
    graph, sources = generators.random_graph(203, 900, 9, seed=2), np.arange(0, 203, 9)
    for cutoff in (0, 7, 11.5):
        found = pyapsp.solve(
            graph,
            "dijkstra-cpu",
            sources=sources,
            cutoff=cutoff,
            dtype=dtype,
            predecessors=True,
            device=device,
        )
        expected = csgraph.dijkstra(graph.to_scipy(), indices=sources, limit=cutoff)
        reached = np.isfinite(expected)
        np.testing.assert_array_equal(found.distances[reached], expected[reached])
        assert (found.distances[~reached] == found.infinity).all()
        reached[np.arange(sources.size), sources] = False
        np.testing.assert_array_equal(found.predecessors >= 0, reached)


@pytest.mark.parametrize("cutoff", [None, 30])
def test_a_row_of_several_sources_has_the_nearest_of_them(cutoff, device):
    graph = generators.random_graph(203, 900, 9, seed=2)
    sources = np.random.default_rng(1).permutation(203)[:12].reshape(3, 4)
    options = AllPairsOptions(device, np.dtype("i4"), cutoff=cutoff)
    rows, cells = np.empty((3, 203), np.int32), np.empty((3, 203), np.int32)
    search = dijkstra_cpu.HostSearch(graph, options)
    visited = search.fill(sources, rows, cells, cells=True)
    limit = np.inf if cutoff is None else cutoff
    each = csgraph.dijkstra(graph.to_scipy(), indices=np.sort(sources), limit=limit)
    expected, there = each.min(axis=1), np.isfinite(each.min(axis=1))
    smallest = np.take_along_axis(np.sort(sources), each.argmin(axis=1), axis=1)
    np.testing.assert_array_equal(rows[there], expected[there])
    assert (rows[~there] == infinity(np.dtype("i4"))).all()
    np.testing.assert_array_equal(cells, np.where(there, smallest, -9999))
    assert visited == there.sum()


@pytest.mark.parametrize("most", [0, 1, 7, 1000])
def test_a_search_stops_after_so_many_visits(most, device):
    graph = generators.random_graph(203, 900, 9, seed=2)
    search = dijkstra_cpu.HostSearch(graph, AllPairsOptions(device, np.dtype("f8")))
    rows = np.empty((2, 203))
    visited = search.fill(np.array([[5], [6]]), rows, None, most=most)
    assert visited == min(most, np.isfinite(rows).sum())


INTERRUPTED = """
import os, signal, sys
import pyapsp
from pyapsp.graph import generators

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1] and self in sys.meta_path:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
graph = generators.ring(3, max_weight=1)
try:
    pyapsp.solve(graph, "dijkstra-cpu")
except KeyboardInterrupt:
    print(pyapsp.solve(graph, "dijkstra-cpu").distances[0])
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["numba.core.typing.templates", "numba.core.lowering"])
def test_an_interrupt_while_numba_is_imported(module, device):
    """SIGINT comes where this module is looked for; the next call in the process works."""
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module],
        capture_output=True,
        text=True,
        env=os.environ | {"PYAPSP_DEVICE": device.id},
        check=False,
    )
    assert ended.stderr == ""
    assert ended.stdout == "[0. 1. 2.]\n"


def test_without_numba(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    for method in ("dijkstra-cpu", pyapsp.method("johnson", search="dijkstra-cpu")):
        with pytest.raises(CapabilityError, match="install the extra 'sparse'"):
            pyapsp.solve(generators.ring(9), method, device=device)
