"""Plans that later calls with a graph on a device use again."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.errors import DeviceMemoryError
from pyapsp.graph import generators
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.registry import planning
from pyapsp.registry.tuning.method import BufferedMethod
from pyapsp.traversal.bfs import bfs_direction_optimising
from pyapsp.traversal.components.component_methods import ComponentOptions
from pyapsp.traversal.sssp import sssp_delta_stepping
from pyapsp.trusses.counts import TriangleOptions
from pyapsp.trusses.decomposition import TrussOptions

GRAPH = generators.random_graph(300, seed=1)
CALLS = {
    "bfs": lambda graph, **more: pyapsp.bfs(graph, 3, **more).levels,
    "parents": lambda graph, **more: pyapsp.bfs(graph, 3, **more).parents,
    "named": lambda graph, **more: pyapsp.bfs(graph, 3, "bfs-frontier", **more).levels,
    "sssp": lambda graph, **more: pyapsp.sssp(graph, 3, **more).distances,
    "float32": lambda graph, **more: pyapsp.sssp(graph, 3, dtype="float32", **more).distances,
    "weak": lambda graph, **more: pyapsp.weakly_connected_components(graph, **more).labels,
    "strong": lambda graph, **more: pyapsp.strongly_connected_components(graph, **more).labels,
}


@pytest.fixture
def there(device):
    with pyapsp.DeviceGraph(GRAPH, device) as graph:
        # facts that are found later change plans
        assert graph.symmetrized().n == pyapsp.bfs(graph, 0).stats["input"]["n"]
        yield graph


@pytest.fixture
def plans(monkeypatch):
    """Return a list with the id of each method that plans from now on."""
    made, plan = [], BufferedMethod.plan

    def counted(self, data, options):
        made.append(self.id)
        return plan(self, data, options)

    monkeypatch.setattr(BufferedMethod, "plan", counted)
    return made


@pytest.mark.parametrize("keep", ["host", "device"])
@pytest.mark.parametrize("name", CALLS)
def test_later_calls_use_the_plan_of_the_others(name, keep, there, plans):
    call = CALLS[name]
    expected = call(GRAPH, device=there.device)
    for _ in range(2):  # the first call finds facts of the graph
        call(there, keep=keep)
    plans.clear()
    np.testing.assert_array_equal(call(there, keep=keep), expected)
    assert not plans


@pytest.mark.parametrize(
    ("name", "module", "steps"),
    [
        ("float32", sssp_delta_stepping, ("_own", "_delta", "_list_length", "type_on_device")),
        ("parents", bfs_direction_optimising, ("_own", "_groups", "_mode", "offset_type")),
    ],
)
def test_later_searches_find_no_sizes_again(name, module, steps, there, monkeypatch):
    call = CALLS[name]
    for _ in range(2):
        expected = call(there)
    for step in steps:
        monkeypatch.setattr(module, step, None)
    np.testing.assert_array_equal(call(there), expected)


@pytest.mark.parametrize("method", pyapsp.methods("triangles"), ids=lambda each: each.id)
@pytest.mark.parametrize("per_vertex", [True, False])
def test_later_counts_of_triangles_use_the_plan(method, per_vertex, there, plans):
    def count(graph):
        return pyapsp.triangles(graph, method.id, per_vertex=per_vertex, device=there.device)

    for _ in range(2):
        count(there)
    plans.clear()
    found = count(there)
    assert not plans
    expected = count(GRAPH)
    assert found.total == expected.total
    if per_vertex:
        np.testing.assert_array_equal(found.per_vertex, expected.per_vertex)


@pytest.mark.parametrize("method", pyapsp.methods("truss"), ids=lambda each: each.id)
def test_later_trusses_use_the_plan(method, there, plans):
    def find(graph, k):
        if k is None:
            return pyapsp.truss_decomposition(graph, method.id, device=there.device).trussness
        return pyapsp.k_truss(graph, k, method.id, device=there.device).indices

    for k in None, 3, 4:
        for _ in range(2):
            find(there, k)
        plans.clear()
        found = find(there, k)
        assert not plans
        np.testing.assert_array_equal(found, find(GRAPH, k))


def test_other_sources_use_the_plan_and_have_their_own_answer(there, plans):
    first = pyapsp.bfs(there, 0, keep="device")
    levels = first.levels
    plans.clear()
    for source in range(1, 20):
        found = pyapsp.bfs(there, source, keep="device")
        np.testing.assert_array_equal(found.levels, pyapsp.bfs(GRAPH, source).levels)
        assert found.explain() == first.explain()
        assert found.stats["source"] == source
        assert found.stats["build_seconds"] == 0
    assert plans.count("bfs-direction-optimising") == 19  # those of the plain graph
    np.testing.assert_array_equal(first.device_levels.get(), levels)


@pytest.mark.parametrize(
    "other",
    [
        {"source": [3, 4]},
        {"method": pyapsp.method("bfs-direction-optimising", walk=1024)},
        {"method": "bfs-direction-optimising", "parents": False},
        {"memory_limit": 2**26},
        {"directed": False},
        {"keep": "device"},
    ],
)
def test_other_arguments_have_their_own_plan(other, there, plans):
    given = {"source": 3}
    pyapsp.bfs(there, **given)
    plans.clear()
    wanted = pyapsp.bfs(GRAPH, **given | other, device=there.device)
    assert plans == ["bfs-direction-optimising"]
    found = pyapsp.bfs(there, **given | other)
    assert plans == ["bfs-direction-optimising"] * 2
    np.testing.assert_array_equal(found.levels, wanted.levels)
    assert found.explain() == wanted.explain()
    pyapsp.bfs(there, **given)
    assert len(plans) == 2


def test_a_fact_that_is_found_later_changes_the_plan(there, plans):
    pyapsp.bfs(there, 3)
    plans.clear()
    vars(there)["_has_every_reverse"] = False
    pyapsp.bfs(there, 3)
    assert plans


def test_another_database_changes_the_plan(there, plans, monkeypatch):
    pyapsp.bfs(there, 3)
    plans.clear()
    monkeypatch.setattr(planning, "databases", lambda: ())
    pyapsp.bfs(there, 3)
    assert plans


def test_a_plain_graph_has_no_plans(device, plans):
    for _ in range(2):
        pyapsp.bfs(GRAPH, 3, device=device)
    assert len(plans) == 2


def test_released_graphs_have_no_plans(device, plans):
    there = pyapsp.DeviceGraph(GRAPH, device)
    pyapsp.bfs(there, 3)
    assert there.plans
    there.release()
    assert not there.plans


def test_a_graph_with_plans_does_not_wait_for_the_garbage_collector(device):
    gc.collect()
    gc.disable()
    there = pyapsp.DeviceGraph(GRAPH, device)
    gone = weakref.ref(there)
    try:
        for call in CALLS.values():
            call(there, keep="device")
        for plan in there.plans.values():
            assert plan.input is None
            assert plan.options is None
        del there, plan
        assert gone() is None
    finally:
        gc.enable()


def test_the_number_of_plans_is_limited(there, monkeypatch):
    monkeypatch.setattr(planning, "_MOST", 4)
    for megabytes in range(64, 80):
        pyapsp.bfs(there, 3, memory_limit=megabytes * 2**20)
        assert 1 <= len(there.plans) <= 4


def test_memory_that_lacks_is_an_error_each_time(there):
    for _ in range(2):
        with pytest.raises(DeviceMemoryError):
            pyapsp.bfs(there, 3, "bfs-frontier", memory_limit=100)


def test_a_dry_run_after_a_call_needs_the_same_memory(there):
    before = pyapsp.dry_run(pyapsp.bfs, there, 3)
    pyapsp.bfs(there, 3)
    assert pyapsp.dry_run(pyapsp.bfs, there, 3) == before


def test_threads_share_plans(there):
    expected = [pyapsp.sssp(GRAPH, source).distances for source in range(8)]

    def search(number):
        return pyapsp.sssp(there, number % 8, keep="device").distances

    with ThreadPoolExecutor(4) as pool:
        for number, found in enumerate(pool.map(search, range(64))):
            np.testing.assert_array_equal(found, expected[number % 8])


def test_every_option_is_decisive_or_has_no_part_in_a_plan(device):
    one, i4 = np.array([3]), np.dtype(np.int32)
    rows = DeviceRows(device, (1, 300), i4)
    other = {
        "device": pyapsp.device.choose(cl.Context([device.handle])),
        "dtype": np.dtype(np.float32),
        "memory_limit": 5,
        "predecessors": True,
        "sources": np.array([3, 4]),
        "cutoff": 2.0,
        "targets": one,
        "check": False,
        "device_rows": rows,
        "helpers": (device,),
        "weak": True,
        "device_labels": rows,
        "per_vertex": False,
        "k": 3,
    }
    # where a plan and its run write, and whom they tell
    no_part = {"progress", "device_predecessors"}
    paths = PathOptions(device, i4, sources=one)
    others = ComponentOptions, TriangleOptions, TrussOptions
    for options in paths, *(each(device, i4) for each in others):
        names = {each.name for each in fields(options)} - no_part
        for name in names:
            assert replace(options, **{name: other[name]}).decisive != options.decisive, name
