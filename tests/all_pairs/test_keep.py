"""Answers that stay on the device."""

import copy
import gc
import pickle
from unittest import mock

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.device import choose, model
from pyapsp.device.kernels import staging
from pyapsp.errors import (
    DeviceMemoryError,
    NegativeCycleError,
    ParameterError,
    PrecisionError,
)
from pyapsp.graph import Graph
from pyapsp.paths import device_rows
from pyapsp.paths.device_rows import DeviceRows

_N = 61
# A method of each way to the rows: blocks of searches, levels, rounds, words of two values, one
# that leaves rows on the host, and one without a device.
_METHODS = ("near-far", "ms-bfs", "fw-minplus", "fw-packed16", "johnson", "dijkstra-cpu")
_ASKED = (
    {},
    {"sources": [4, 4, 60, 0]},
    {"sources": []},
    {"cutoff": 3},
    {"predecessors": True},
    {"dtype": "uint16"},
    {"dtype": "float32", "predecessors": True, "cutoff": 2},
)


@pytest.fixture(params=["shared", "separate"])
def memory(request, monkeypatch):
    """Treat the memory of the device as what it is, or as separate from that of the host."""
    if request.param == "separate":
        monkeypatch.setattr(staging, "suits", lambda device, count: count > 0)
        for module in ("all_pairs.sparse.device_block", "all_pairs.sparse.ms_bfs"):
            monkeypatch.setattr(f"pyapsp.{module}.in_place", lambda device: False)


def _graph(method="near-far"):
    random = np.random.default_rng(3)
    tails, heads = random.integers(0, _N, (2, 3 * _N))
    heads[heads == 5] = 6
    return Graph.from_arcs(
        _N, tails, heads, random.integers(1, 2 if method == "ms-bfs" else 9, 183)
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("method", _METHODS)
def test_the_answer_is_that_of_the_host(device, memory, method):
    graph = _graph(method)
    for asked in _ASKED:
        want = pyapsp.solve(graph, method, device=device, **asked)
        result = pyapsp.solve(graph, method, device=device, keep="device", **asked)
        assert isinstance(result, pyapsp.DeviceResult)
        assert result.device_distances.dtype == want.distances.dtype
        assert result.device_distances.shape == want.distances.shape
        if want.distances.size:
            np.testing.assert_array_equal(result.device_distances.get(), want.distances)
            np.testing.assert_array_equal(result.row(1), want.distances[1])
            assert result.diameter() == want.diameter()
        np.testing.assert_array_equal(result.distances, want.distances)
        np.testing.assert_array_equal(result.sources, want.sources)
        if asked.get("predecessors"):
            for j in range(_N):
                assert result.path(0, j) == want.path(0, j)


@pytest.mark.parametrize("group", [1, 16])
def test_more_rows_than_a_launch_has_groups(group, device, memory, monkeypatch):
    monkeypatch.setattr(device_rows, "_ROWS", 9)
    monkeypatch.setattr(DeviceRows, "_group", group)
    for method, dtype in (("near-far", "float32"), ("near-far", "uint16"), ("ms-bfs", "float64")):
        want = pyapsp.solve(_graph(method), method, dtype=dtype, device=device)
        result = pyapsp.solve(_graph(method), method, dtype=dtype, device=device, keep="device")
        np.testing.assert_array_equal(result.device_distances.get(), want.distances)


@pytest.mark.parametrize("method", ["near-far", "fw-minplus", "ms-bfs"])
def test_no_row_comes_to_the_host_before_it_is_asked_for(device, memory, method):
    with mock.patch.object(DeviceRows, "get", side_effect=AssertionError("rows were copied")):
        result = pyapsp.solve(_graph(method), method, device=device, keep="device")
        result.diameter()
        assert result.infinity == np.inf
        with pytest.raises(AssertionError, match="rows were copied"):
            result.row(0)


@pytest.mark.parametrize("method", ["near-far", "fw-minplus"])
def test_a_narrower_run_has_the_infinity_of_the_answer(device, memory, method):
    graph = Graph.from_arcs(4, [0, 1], [1, 2], [3, 4])
    for dtype in ("float64", "float32", "int32", "int64"):
        result = pyapsp.solve(graph, dtype=dtype, device=device, keep="device")
        want = pyapsp.solve(graph, dtype=dtype, device=device)
        np.testing.assert_array_equal(result.distances, want.distances)
        narrow = pyapsp.solve(graph, method, dtype="uint16", device=device).distances
        chosen = choose(device)
        rows, queue = DeviceRows(chosen, (4, 4), np.dtype(dtype)), chosen.queue()
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        padded = np.full((4, 7), 9, np.uint16)
        padded[:, :4] = narrow
        rows.take(queue, cl.Buffer(queue.context, flags, hostbuf=padded), padded.dtype, 7)
        np.testing.assert_array_equal(rows.get(), want.distances)


def test_slices_are_views_of_the_same_rows(device):
    chosen = choose(device)
    rows, queue = DeviceRows(chosen, (5, 3), np.dtype(np.float64)), chosen.queue()
    rows.put(np.zeros((5, 3)))
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    answer = np.arange(8, dtype=np.int32).reshape(2, 4)
    rows[1:4][1:].take(queue, cl.Buffer(queue.context, flags, hostbuf=answer), answer.dtype, 4)
    rows[4:].put(np.full((1, 3), 9.0))
    want = [[0, 0, 0], [0, 0, 0], [0, 1, 2], [4, 5, 6], [9, 9, 9]]
    np.testing.assert_array_equal(rows.get(), want)
    np.testing.assert_array_equal(rows[1:4].get(), want[1:4])
    assert rows[1:4].largest() == 6
    square = DeviceRows(chosen, (3, 3), np.dtype(np.int16))
    square.put(np.arange(9, dtype=np.int16).reshape(3, 3))
    assert square.diagonal().tolist() == [0, 4, 8]
    assert rows[:2].largest() == 0


def test_a_result_is_saved(device, tmp_path):
    result = pyapsp.solve(_graph(), device=device, keep="device")
    result.save(tmp_path / "kept.npz")
    loaded = pyapsp.Result.load(tmp_path / "kept.npz")
    np.testing.assert_array_equal(loaded.distances, result.distances)


# PyOpenCL's own kernels: a driver can have something to say about their text.
@pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")
def test_kernels_of_the_user_read_it(device):
    result = pyapsp.solve(_graph(), dtype="float32", device=device, keep="device")
    twice = (2 * result.device_distances).get()
    np.testing.assert_array_equal(twice, 2 * result.distances)


def test_no_vertices(device):
    result = pyapsp.solve(Graph.from_arcs(0, [], [], []), device=device, keep="device")
    assert result.distances.shape == (0, 0)
    with pytest.raises(ParameterError, match="of at least one row"):
        result.diameter()


@pytest.mark.parametrize("method", ["fw-minplus", "johnson"])
def test_errors_are_those_of_the_host(device, memory, method):
    cycle = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], [1, -3, 1])
    with pytest.raises(NegativeCycleError):
        pyapsp.solve(cycle, method, device=device, keep="device")
    far = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [20_000] * 3)
    with pytest.raises(PrecisionError):
        pyapsp.solve(far, method, dtype="uint16", device=device, keep="device")


def test_wrong_arguments(device):
    with pytest.raises(ParameterError, match="'keep' parameter of solve must be one of host, dev"):
        pyapsp.solve(_graph(), device=device, keep="gpu")
    with pytest.raises(ParameterError, match="either out or keep='device'"):
        pyapsp.solve(_graph(), device=device, keep="device", out=np.empty((_N, _N)))


def test_the_answer_is_part_of_the_memory(device):
    answer = 8 * _N**2
    with pytest.raises(DeviceMemoryError) as refused:
        pyapsp.solve(_graph(), device=device, keep="device", memory_limit=answer - 1)
    assert refused.value.needed == answer
    with pytest.raises(DeviceMemoryError):
        pyapsp.solve(_graph(), "fw-naive", device=device, keep="device", memory_limit=answer + 99)


@pytest.mark.parametrize("action", [copy.deepcopy, lambda kept: pickle.loads(pickle.dumps(kept))])
def test_a_copy_for_another_process_is_on_the_host(device, action):
    kept = pyapsp.solve(_graph(), device=device, keep="device", predecessors=True)
    copied = action(kept)
    assert type(copied) is pyapsp.Result
    np.testing.assert_array_equal(copied.distances, kept.distances)
    np.testing.assert_array_equal(copied.predecessors, kept.predecessors)
    assert (copied.path(0, 3), copied.stats) == (kept.path(0, 3), kept.stats)
    assert copied.explain() == kept.explain()


def test_a_shallow_copy_stays_on_the_device(device):
    result = pyapsp.solve(_graph(), device=device, keep="device")
    assert copy.copy(result).device_distances is result.device_distances


@pytest.mark.parametrize("place", [-1, 3, True, 1.0, None, slice(1, 2), "0"], ids=str)
@pytest.mark.parametrize("keep", ["host", "device"])
def test_rows_that_there_are_not(device, keep, place):
    result = pyapsp.solve(_graph(), device=device, keep=keep, sources=[4, 2, 0])
    with pytest.raises(ParameterError, match=r"'place' parameter .* an integer from 0 to 2"):
        result.row(place)
    np.testing.assert_array_equal(result.row(np.int64(2)), result.distances[2])
    empty = pyapsp.solve(_graph(), device=device, keep=keep, sources=[])
    with pytest.raises(ParameterError, match="a row, and there is none"):
        empty.row(0)


@pytest.mark.parametrize(("i", "j"), [(True, 2), (0, True), (-1, 2), (0, 2.0)])
def test_ends_of_paths_are_vertices(device, i, j):
    result = pyapsp.solve(_graph(), device=device, predecessors=True)
    with pytest.raises(ParameterError, match=f"an integer from 0 to {_N - 1}"):
        result.path(i, j)


SLOW = """
kernel void slow(global const float *given, global float *copy, int steps)
{
    float sum = 0;
    for (int step = 0; step < steps && get_global_id(0) == 0; step++)
        sum += native_sin(sum + step);
    copy[get_global_id(0)] = given[get_global_id(0)] + (sum > 1e30f);
}
"""


@pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")  # of the kernel here
def test_a_queue_of_the_caller_may_use_distances_that_were_deleted(device):
    """As any memory of OpenCL, it lasts until the commands that use it have ended."""
    matrix = np.random.default_rng(1).integers(1, 9, (1536, 1536)).astype(np.float32)
    result = pyapsp.solve(matrix, "fw-naive", dtype="float32", keep="device", device=device)
    given = result.device_distances
    expected = given.get()
    assert expected.nbytes > model._LARGE
    copied = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, expected.nbytes)
    queue = cl.CommandQueue(device.context)
    kernel = cl.Program(device.context, SLOW).build().slow
    kernel(queue, (expected.size,), None, given.data, copied, np.int32(10**7))
    queue.flush()
    del result, given
    gc.collect()
    others = [np.full(expected.shape, 7, np.float32) for _ in range(4)]
    found = np.empty_like(expected)
    cl.enqueue_copy(queue, found, copied)
    assert np.array_equal(found, expected)
    assert len(others) == 4
