"""Answers that stay on the device: every method of `bfs`, of `sssp`, and of components."""

from __future__ import annotations

import gc
import itertools
import pickle
import weakref
from unittest import mock

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import pyapsp
from pyapsp.device import model
from pyapsp.device.kernels import residents
from pyapsp.errors import DeviceMemoryError, ParameterError, PrecisionError
from pyapsp.graph import Graph
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.traversal.components import scc_colouring

BFS = [cls.id for cls in pyapsp.methods("bfs")]
SSSP = [cls.id for cls in pyapsp.methods("sssp")]
SCC = [cls.id for cls in pyapsp.methods("scc")]
# The methods whose rows go through the memory of the host.
THROUGH_HOST = {"bfs-streamed", "sssp-h-bf"}
_N = 61


@pytest.fixture(params=["shared", "separate"])
def memory(request, monkeypatch):
    """Treat the memory of the device as what it is, or as separate from that of the host."""
    if request.param == "separate":
        method = "pyapsp.traversal.bfs.bfs_direction_optimising"
        monkeypatch.setattr(f"{method}.in_place", lambda device: False)
        monkeypatch.setattr(f"{method}._LONG", 0)


def _graph():
    """Draw a graph in which some vertices cannot be reached."""
    random = np.random.default_rng(3)
    tails, heads = random.integers(0, _N, (2, 3 * _N))
    heads[heads == 5] = 6
    return Graph.from_arcs(_N, tails, heads, random.integers(1, 9, tails.size))


def _same(array, wanted):
    """Whether an array of the device has the values, the type and the shape of one of the host."""
    assert isinstance(array, cl_array.Array)
    assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape)
    if wanted.size:
        np.testing.assert_array_equal(array.get(), wanted)


@pytest.mark.parametrize("method", BFS)
def test_levels_and_parents(device, quick, memory, method):
    for source in 3, [4, 4, 60, 5], []:
        want = pyapsp.bfs(_graph(), source, method, device=device)
        result = pyapsp.bfs(_graph(), source, method, device=device, keep="device")
        _same(result.device_levels, want.levels)
        _same(result.device_parents, want.parents)
        if want.levels.size:
            assert want.levels.min() == -1  # otherwise the values of such vertices are not tested
        np.testing.assert_array_equal(result.levels, want.levels)
        np.testing.assert_array_equal(result.parents, want.parents)
        np.testing.assert_array_equal(result.rows.distances, want.rows.distances)
        assert result.stats["work"] == want.stats["work"]


@pytest.mark.parametrize("method", SSSP)
def test_distances_and_predecessors(device, quick, method):
    sources = 3, [4, 4, 60, 5]
    types = "float64", "float32", "int32", "uint16", "int16"
    for dtype, source in itertools.product(types, sources):
        asked = {"dtype": dtype, "predecessors": True, "device": device}
        want = pyapsp.sssp(_graph(), source, method, **asked)
        result = pyapsp.sssp(_graph(), source, method, **asked, keep="device")
        _same(result.device_distances, want.distances)
        _same(result.device_predecessors, want.predecessors)
        np.testing.assert_array_equal(result.distances, want.distances)
        np.testing.assert_array_equal(result.predecessors, want.predecessors)
        assert result.infinity == want.infinity
        assert result.stats["work"] == want.stats["work"]
        first = int(want.sources[0])
        assert all(result.path(v, first) == want.path(v, first) for v in range(_N))


@pytest.mark.parametrize("method", SSSP)
@pytest.mark.parametrize("limit", [{"cutoff": 6}, {"targets": [7, 8]}], ids=str)
def test_distances_within_limits(device, quick, method, limit):
    asked = {**limit, "predecessors": True, "device": device}
    want = pyapsp.sssp(_graph(), [2, 9], method, **asked)
    result = pyapsp.sssp(_graph(), [2, 9], method, **asked, keep="device")
    assert (want.distances == want.infinity).any()
    _same(result.device_distances, want.distances)
    _same(result.device_predecessors, want.predecessors)


@pytest.mark.parametrize("method", [*BFS, *SSSP])
def test_no_row_is_on_the_host_before_it_is_read(device, quick, memory, method):
    refuse = AssertionError("a row was on the host")
    search = pyapsp.bfs if method in BFS else pyapsp.sssp
    more = {"parents": True} if method in BFS else {"predecessors": True}
    with (
        mock.patch.object(DeviceRows, "fetch", side_effect=refuse),
        mock.patch.object(DeviceRows, "put", side_effect=refuse),
    ):
        if method in THROUGH_HOST:
            with pytest.raises(AssertionError, match="was on the host"):
                search(_graph(), 1, method, device=device, keep="device", **more)
            return
        result = search(_graph(), 1, method, device=device, keep="device", **more)
        with pytest.raises(AssertionError, match="was on the host"):
            result.path(2)


@pytest.mark.parametrize("method", SCC)
def test_components(device, quick, method):
    weak = pyapsp.method(method).requires.symmetric
    find = pyapsp.weakly_connected_components if weak else pyapsp.strongly_connected_components
    want = find(_graph(), method, device=device)
    result = find(_graph(), method, device=device, keep="device")
    _same(result.device_labels, want.labels)
    assert want.device_labels is None
    np.testing.assert_array_equal(result.labels, want.labels)
    assert (result.count, result.largest) == (want.count, want.largest)
    assert result.stats["work"] == want.stats["work"]
    copied = pickle.loads(pickle.dumps(result))
    assert copied.device_labels is None
    np.testing.assert_array_equal(copied.labels, want.labels)
    nothing = find(Graph.from_arcs(0, [], [], []), method, device=device, keep="device")
    assert nothing.labels.shape == nothing.device_labels.shape == (0,)


@pytest.mark.parametrize("method", ["scc-hooking", "scc-colouring"])
def test_no_label_is_on_the_host_before_it_is_read(device, quick, method):
    weak = pyapsp.method(method).requires.symmetric
    find = pyapsp.weakly_connected_components if weak else pyapsp.strongly_connected_components
    refuse = AssertionError("the labels were on the host")
    with (
        mock.patch.object(DeviceRows, "fetch", side_effect=refuse),
        mock.patch.object(DeviceRows, "put", side_effect=refuse),
    ):
        result = find(_graph(), method, device=device, keep="device")
        with pytest.raises(AssertionError, match="were on the host"):
            _ = result.count


def test_labels_of_the_device_come_without_a_wait_of_their_own(device, monkeypatch):
    monkeypatch.setattr(scc_colouring, "deliver", None)
    want = pyapsp.strongly_connected_components(_graph(), "scc-tarjan", device=device)
    found = pyapsp.strongly_connected_components(
        _graph(), "scc-colouring", device=device, keep="device"
    )
    _same(found.device_labels, want.labels)


def test_wrong_arguments_of_components(device):
    for find in pyapsp.strongly_connected_components, pyapsp.weakly_connected_components:
        rule = f"'keep' parameter of {find.__name__} must be one of host, device"
        with pytest.raises(ParameterError, match=rule):
            find(_graph(), device=device, keep="gpu")
        with pytest.raises(DeviceMemoryError):
            find(_graph(), device=device, keep="device", memory_limit=4 * _N - 1)


def test_without_keep_there_is_nothing_on_the_device(device):
    found = pyapsp.bfs(_graph(), 0, device=device)
    assert found.device_levels is None
    assert found.device_parents is None
    found = pyapsp.sssp(_graph(), 0, device=device)
    assert found.device_distances is None
    assert found.device_predecessors is None
    found = pyapsp.bfs(_graph(), 0, device=device, parents=False, keep="device")
    assert found.device_parents is None
    assert found.parents is None


@pytest.mark.parametrize("wide", [False, True])
def test_many_vertices(device, wide, monkeypatch):
    """Several groups of work-items share a row on a GPU, or where it is treated as one."""
    n = 100_003
    if wide:
        monkeypatch.setattr(DeviceRows, "_group", property(lambda self: 256))
    tails = np.arange(n - 1)
    path = Graph.from_arcs(n, tails, tails + 1, np.full(n - 1, 7))
    result = pyapsp.sssp(path, [n - 4, n // 2], dtype="int32", device=device, keep="device")
    want = pyapsp.sssp(path, [n - 4, n // 2], dtype="int32", device=device)
    _same(result.device_distances, want.distances)
    assert result.rows.diameter() == 7 * (n - 1 - n // 2)


@pytest.mark.parametrize("method", ["sssp-near-far", "sssp-bellman-ford", "sssp-delta-stepping"])
def test_distances_that_are_too_large(device, method):
    far = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [20_000] * 3)
    with pytest.raises(PrecisionError):
        pyapsp.sssp(far, 0, method, dtype="uint16", device=device, keep="device")
    checked = pyapsp.sssp(far, 3, method, dtype="uint16", device=device, keep="device")
    assert checked.distances.tolist() == [2**15 - 1] * 3 + [0]
    unchecked = {"dtype": "uint16", "device": device, "keep": "device", "check": False}
    assert pyapsp.sssp(far, 0, method, **unchecked).distances[1] == 20_000


def test_the_answer_is_part_of_the_memory(device):
    answer = 2 * 2 * 4 * _N
    with pytest.raises(DeviceMemoryError) as refused:
        pyapsp.bfs(_graph(), [0, 1], device=device, keep="device", memory_limit=answer - 1)
    assert refused.value.needed == answer
    with pytest.raises(DeviceMemoryError):
        pyapsp.bfs(_graph(), [0, 1], device=device, keep="device", memory_limit=answer + 99)


def test_wrong_arguments(device):
    for search in pyapsp.bfs, pyapsp.sssp:
        rule = f"'keep' parameter of {search.__name__} must be one of host, device"
        with pytest.raises(ParameterError, match=rule):
            search(_graph(), 0, device=device, keep="gpu")


def test_a_copy_for_another_process_is_on_the_host(device):
    kept = pyapsp.bfs(_graph(), [0, 5], device=device, keep="device")
    copied = pickle.loads(pickle.dumps(kept))
    assert copied.device_levels is None
    np.testing.assert_array_equal(copied.levels, kept.device_levels.get())
    np.testing.assert_array_equal(copied.parents, kept.device_parents.get())


def test_a_result_is_saved(device, tmp_path):
    kept = pyapsp.bfs(_graph(), [0, 5], device=device, keep="device")
    kept.save(tmp_path / "kept.npz")
    loaded = pyapsp.Result.load(tmp_path / "kept.npz")
    np.testing.assert_array_equal(loaded.distances, kept.rows.distances)
    np.testing.assert_array_equal(loaded.predecessors, kept.parents)


@pytest.mark.parametrize(
    "call",
    [
        lambda **where: pyapsp.bfs(_graph(), 3, **where).device_parents,
        lambda **where: pyapsp.sssp(_graph(), [3, 4], **where).device_distances,
        lambda **where: pyapsp.weakly_connected_components(_graph(), **where).device_labels,
        lambda **where: pyapsp.solve(_graph(), **where).device_distances,
    ],
)
def test_the_memory_of_an_answer_does_not_wait_for_the_garbage_collector(device, call, monkeypatch):
    rows, make = [], DeviceRows.__init__

    def made(self, *arguments, **options):
        make(self, *arguments, **options)
        rows.append(weakref.ref(self))

    monkeypatch.setattr(DeviceRows, "__init__", made)
    gc.collect()
    gc.disable()
    try:
        array = call(device=device, keep="device")
        assert rows
        del array
        assert [each() for each in rows] == [None] * len(rows)
    finally:
        gc.enable()


def _of_colouring(graph, **where):
    return pyapsp.strongly_connected_components(graph, "scc-colouring", **where).labels


@pytest.mark.parametrize(
    "call",
    [
        lambda graph, **where: pyapsp.bfs(graph, 3, **where).levels,
        lambda graph, **where: pyapsp.sssp(graph, 3, dtype="uint16", **where).distances,
        lambda graph, **where: pyapsp.weakly_connected_components(graph, **where).labels,
        _of_colouring,
    ],
)
@pytest.mark.parametrize("keep", ["host", "device"])
def test_later_calls_use_the_queue_of_the_first(device, monkeypatch, call, keep):
    graph, made, new = _graph(), [], model._new_queue
    expected = call(graph, device=device, keep=keep)
    monkeypatch.setattr(model, "_new_queue", lambda *rest: made.append(1) or new(*rest))
    np.testing.assert_array_equal(call(graph, device=device, keep=keep), expected)
    assert not made


def _weak_of(graph, source, **where):
    return pyapsp.weakly_connected_components(graph, **where)


@pytest.mark.parametrize(
    ("call", "of"),
    [
        (pyapsp.bfs, "device_levels"),
        (pyapsp.sssp, "device_distances"),
        (
            lambda graph, _, **more: pyapsp.weakly_connected_components(graph, **more),
            "device_labels",
        ),
    ],
    ids=["bfs", "sssp", "weak"],
)
def test_answers_that_are_deleted_leave_their_memory_to_the_next(
    device, there, monkeypatch, call, of
):
    monkeypatch.setattr(residents, "_pools", lambda device: True)
    graph, kept = _graph(), call(_graph(), 3, device=device, keep="device")
    expected = pickle.loads(pickle.dumps(kept)).to_columns()
    for source in range(1000):
        call(graph, source % _N, device=device, keep="device")
    assert sum(map(len, there._spare.values())) == 1 + (of == "device_levels")  # and parents
    # an array of a caller is not written by later calls, even if it was deleted
    array = getattr(call(graph, 5, device=device, keep="device"), of)
    values, memory = array.get(), array.base_data
    del array
    gc.collect()
    for source in range(5):
        call(graph, source + 20, device=device, keep="device")
    after = np.empty_like(values)
    cl.enqueue_copy(device.queue(), after, memory)
    np.testing.assert_array_equal(after, values)
    for name, column in kept.to_columns().items():
        np.testing.assert_array_equal(column, expected[name])
