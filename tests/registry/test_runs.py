"""What a run does beside its method: memory that it needs, and its record."""

import dataclasses
import gc
import pickle
import weakref

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.device import choose
from pyapsp.device.kernels.residents import Residents, residents
from pyapsp.device.quirks import RUNTIME_SETTINGS
from pyapsp.errors import CapabilityError, DeviceMemoryError
from pyapsp.graph import Graph, generators
from pyapsp.registry import problem, runs
from pyapsp.registry.record import _environment, reasons
from pyapsp.traversal.bfs.bfs_frontier import BfsFrontier

GRAPH = generators.random_graph(3000, seed=1)


@pytest.fixture
def short(monkeypatch):
    """Let runs fail for want of memory; return how many times, and count the runs."""
    run, counts = BfsFrontier.run, {"fail": 1, "runs": 0}

    def failing(self, plan):
        counts["runs"] += 1
        if counts["runs"] <= counts["fail"]:
            raise DeviceMemoryError(1, 1, "the driver has none")
        return run(self, plan)

    monkeypatch.setattr(BfsFrontier, "run", failing)
    return counts


def _bfs(device, method="bfs-frontier", **more):
    return pyapsp.bfs(GRAPH, 0, method, device=device, **more)


def test_graphs_on_the_device_make_room_for_a_run(device, there, short):
    short["fail"] = 0
    expected = _bfs(device).levels
    assert there.bytes_of([GRAPH.indices]) > 0
    short.update(fail=2, runs=1)  # the next run fails, that after it does not
    np.testing.assert_array_equal(_bfs(device).levels, expected)
    assert short["runs"] == 3


def test_without_graphs_on_the_device_the_error_is_raised(device, there, short):
    with pytest.raises(DeviceMemoryError, match="the driver has none"):
        _bfs(device)
    assert short["runs"] == 1


def test_memory_that_lacks_twice_is_an_error(device, there, short):
    short["fail"] = 0
    _bfs(device)
    short.update(fail=3, runs=1)
    with pytest.raises(DeviceMemoryError):
        _bfs(device)
    assert short["runs"] == 3


def test_a_run_that_has_the_memory_releases_nothing(device, there, monkeypatch):
    needed = _bfs(device).stats["peak_device_bytes"]
    released, shrink = [], Residents.shrink
    monkeypatch.setattr(
        Residents, "shrink", lambda self, most: released.append(most) or shrink(self, most)
    )
    _bfs(device, memory_limit=needed + there.nbytes)
    assert not released
    _bfs(device, memory_limit=needed + there.nbytes - 1)
    assert released


def test_a_run_leaves_other_graphs_the_memory_beside_its_own(device, there):
    other = generators.random_graph(3001, seed=2)
    pyapsp.bfs(other, 0, "bfs-frontier", device=device)
    _bfs(device)
    needed = _bfs(device).stats["peak_device_bytes"]
    assert there.bytes_of([other.indices]) > 0
    _bfs(device, memory_limit=needed)
    assert there.bytes_of([other.indices]) == 0


def test_a_run_on_several_devices_has_the_memory_of_each(device, there, monkeypatch):
    trimmed, trim = [], Residents.trim
    monkeypatch.setattr(Residents, "trim", lambda self: trimmed.append(self) or trim(self))
    both = [device, choose(cl.Context([device.handle]))]
    other = generators.random_graph(3001, seed=2)
    for each in both:
        pyapsp.bfs(other, 0, "bfs-frontier", device=each)
    found = pyapsp.bfs(GRAPH, [0, 1], "bfs-frontier", device=both)
    kept = [residents(each.context) for each in both]
    assert all(each.bytes_of([other.indices]) > 0 for each in kept)
    needed = found.stats["peak_device_bytes"]
    pyapsp.bfs(GRAPH, [0, 1], "bfs-frontier", device=both, memory_limit=needed)
    assert [each.bytes_of([other.indices]) for each in kept] == [0, 0]
    assert trimmed[-2:] == kept


def test_a_graph_on_the_device_is_not_removed_for_its_own_run(device, there):
    needed = _bfs(device).stats["peak_device_bytes"]
    buffer = there.find(GRAPH.indices, GRAPH.indices.dtype)
    assert buffer is not None
    _bfs(device, memory_limit=needed)
    assert there.find(GRAPH.indices, GRAPH.indices.dtype) is buffer


@pytest.mark.parametrize("convert", [Graph.to_scipy, Graph.to_dense, Graph.to_networkx])
def test_a_converted_graph_does_not_stay_for_the_record(convert, device):
    matrix, made = convert(generators.random_graph(30, seed=3)), []
    for call in (
        lambda: pyapsp.bfs(matrix, 0, device=device).rows,
        lambda: pyapsp.triangles(matrix, device=device),
        lambda: pyapsp.weakly_connected_components(matrix, device=device),
        lambda: pyapsp.truss_decomposition(matrix, device=device),
    ):
        made.append(call())
    assert not any(callable(each.__dict__["stats"]) for each in made)


@pytest.fixture
def counted(monkeypatch):
    """Return the names of graphs that were hashed."""
    hashed, found = [], Graph.content_hash.func

    def noted(self):
        hashed.append(self.name)
        return found(self)

    monkeypatch.setattr(Graph, "content_hash", property(noted))
    return hashed


@pytest.mark.parametrize(
    "call",
    [
        lambda graph, device: pyapsp.bfs(graph, 0, device=device).rows,
        lambda graph, device: pyapsp.sssp(graph, 0, device=device).rows,
        lambda graph, device: pyapsp.triangles(graph, device=device),
        lambda graph, device: pyapsp.truss_decomposition(graph, device=device),
        lambda graph, device: pyapsp.weakly_connected_components(graph, device=device),
    ],
)
def test_the_record_is_made_when_it_is_read(call, device, counted):
    graph = generators.random_graph(60, seed=3)
    assert graph.name is not None
    result = call(graph, device)
    assert not counted
    assert result.explain()
    assert not counted
    assert result.stats["work"] > 0
    assert counted
    assert result.stats is result.stats
    again = pickle.loads(pickle.dumps(call(graph, device)))
    assert again.stats["input"] == result.stats["input"]
    assert repr(again) == repr(result)


def test_a_result_without_a_run_has_an_empty_record():
    result = pyapsp.Result(np.zeros((1, 1)), None, np.zeros(1, np.int64))
    assert result.stats == {}
    result.stats["method"] = "none"
    assert pyapsp.Result(np.zeros((1, 1)), None, np.zeros(1, np.int64)).stats == {}


def test_a_problem_without_a_choice(device):
    """What a problem yields for an input is its own matter: nothing, too."""
    request = dataclasses.replace(
        problem("bfs").ask(GRAPH, device=device),
        problem=dataclasses.replace(problem("bfs"), choices=lambda request: iter(())),
    )
    with pytest.raises(CapabilityError, match="no method of bfs can run"):
        runs.run(request)


@pytest.mark.parametrize("keep", ["host", "device"])
def test_reasons_are_made_when_they_are_read(keep, device, monkeypatch):
    made = []

    def counted(*arguments):
        made.append(arguments)
        return reasons(*arguments)

    monkeypatch.setattr(runs, "reasons", counted)
    graph = generators.random_graph(50, seed=1)
    found = [
        pyapsp.sssp(graph, 0, device=device, keep=keep),
        pyapsp.weakly_connected_components(graph, device=device, keep=keep),
        pyapsp.solve(graph, device=device, keep=keep),
        pyapsp.triangles(graph, device=device),
        pyapsp.truss_decomposition(graph, device=device),
    ]
    assert not made
    for each in found:
        assert each.explain() == pickle.loads(pickle.dumps(each)).explain()
        assert each.explain().startswith("method ")
    assert len(made) == len(found)


def test_a_result_whose_reasons_are_not_read_keeps_no_graph(device):
    graph = generators.random_graph(50, seed=1)
    gone = weakref.ref(graph)
    found = pyapsp.bfs(graph, 0, device=device)
    assert found.stats["input"]["n"] == 50  # until then, what makes the record keeps it
    del graph
    gc.collect()
    assert gone() is None
    assert found.explain().startswith("method ")


def test_settings_of_a_runtime_are_in_the_record(monkeypatch):
    """The same kernels take other times with them."""
    _environment.cache_clear()
    for name in RUNTIME_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    without = _environment()
    monkeypatch.setenv("POCL_AFFINITY", "1")
    _environment.cache_clear()
    found = _environment()
    _environment.cache_clear()
    assert found == {**without, "POCL_AFFINITY": "1"}
