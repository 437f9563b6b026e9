"""Memory of answers that are gone, used again and written by the device; forced for small ones."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Barrier

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.all_pairs.choice import suited
from pyapsp.all_pairs.request import Arguments, requested
from pyapsp.base import reuse
from pyapsp.base.reuse import empty, is_new, pinned
from pyapsp.device.kernels import Stopwatch, mapped, staging
from pyapsp.errors import CapabilityError
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions, landing
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.registry import runs
from pyapsp.verify import oracle

_N = 97


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Use the memory of small answers again, and begin without any."""
    monkeypatch.setattr(reuse, "_LARGE", 64)
    monkeypatch.setattr(reuse, "_ASKED", 1e-9)
    monkeypatch.setattr(reuse, "_unused", {})


def _address(array):
    return array.ctypes.data


def _uses(shape, dtype, count):
    """Return an array in memory that this many answers have used, itself included."""
    for _ in range(count - 1):
        empty(shape, dtype)
    return empty(shape, dtype)


def test_memory_is_used_again_when_its_last_array_is_gone():
    first = empty((10, 20), np.float32)
    address, view = _address(first), first[3:5].T
    del first
    second = empty((10, 20), np.float32)
    assert _address(second) != address
    view[...] = 7  # still its own
    del view
    third = empty((20, 10), np.int32)
    assert _address(third) == address
    assert third.shape == (20, 10)
    assert third.dtype == np.int32
    assert third.flags.writeable
    assert third.flags.c_contiguous


@pytest.mark.parametrize(("count", "same"), [(100, True), (80, True), (79, False), (101, False)])
def test_memory_is_used_for_answers_of_nearly_its_size(count, same):
    first = empty((100, 64), np.uint8)
    address = _address(first)
    del first
    assert (_address(empty((count, 64), np.uint8)) == address) is same


def test_small_answers_and_alignment(monkeypatch):
    monkeypatch.setattr(reuse, "_LARGE", 800)
    for count in (99, 100, 101):
        array = empty((count,), np.float64)
        assert _address(array) % 128 == 0
        assert is_new(array)
        del array
    assert [memory.bytes.size for memory in reuse._unused.values()] == [800, 808]


def test_the_memory_that_is_unused_longest_is_released_first(monkeypatch):
    monkeypatch.setattr(reuse, "_KEPT", 250)
    arrays = [empty((100 + k,), np.uint8) for k in range(4)]
    while arrays:
        arrays.pop()
    assert [memory.bytes.size for memory in reuse._unused.values()] == [101, 100]


def test_memory_that_is_too_large_does_not_take_the_place_of_others(monkeypatch):
    monkeypatch.setattr(reuse, "_KEPT", 250)
    empty((100,), np.uint8)
    empty((251,), np.uint8)
    assert [memory.bytes.size for memory in reuse._unused.values()] == [100]
    empty((200,), np.uint8)
    assert [memory.bytes.size for memory in reuse._unused.values()] == [200]


def test_little_memory_is_kept_on_a_host_with_little(monkeypatch):
    monkeypatch.setattr(reuse, "available_memory", lambda: 16 * 101)
    empty((100,), np.uint8)
    empty((101,), np.uint8)
    assert [memory.bytes.size for memory in reuse._unused.values()] == [101]
    monkeypatch.setattr(reuse, "available_memory", lambda: None)
    empty((200,), np.uint8)
    assert [memory.bytes.size for memory in reuse._unused.values()] == [101, 200]


def test_the_system_is_asked_once_in_a_while(monkeypatch):
    asked = []
    monkeypatch.setattr(reuse, "available_memory", lambda: asked.append(1) or 2**20)
    monkeypatch.setattr(reuse, "_ASKED", 3600)
    for _ in range(10):
        empty((100,), np.uint8)
    assert len(asked) <= 2  # the hour may end


def test_threads_never_share_memory():
    barrier = Barrier(8, timeout=60)

    def take(number):
        for turn in range(200):
            barrier.wait()
            array = empty((50,), np.int64)
            array[:] = 1000 * number + turn
            barrier.wait()
            if not (array == 1000 * number + turn).all():
                barrier.abort()
                return False
            del array
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(take, range(8)))


def test_memory_of_garbage_is_kept():
    cycle = [empty((50,), np.int64)]
    cycle.append(cycle)
    address = _address(cycle[0])
    del cycle
    gc.collect()
    assert _address(empty((50,), np.int64)) == address


def test_only_the_first_answer_is_new():
    shape = (30, 30)
    assert is_new(empty(shape, np.int32)[4:])
    assert not is_new(empty(shape, np.int32)[4:])
    assert is_new(np.empty(shape))


def test_memory_is_pinned_at_its_third_use_and_once():
    pins = []

    def pin(context, memory):
        pins.append((context, memory.size))
        return lambda: None

    shape = (10, 100)
    assert not pinned(_uses(shape, np.uint8, 2), "one", pin)
    third = empty(shape, np.uint8)
    assert pinned(third[2:4], "one", pin)
    assert pinned(third, "one", pin)
    assert pinned(third, "two", pin)
    assert pins == [("one", 1000), ("two", 1000)]
    assert not pinned(np.empty(9), "one", pin)


def test_the_memory_that_was_used_last_is_used_first():
    first, second = empty((50,), np.int64), empty((50,), np.int64)
    address = _address(first)
    del second
    del first
    assert _address(empty((50,), np.int64)) == address


def test_a_driver_that_does_not_pin_is_asked_once(device, monkeypatch):
    calls = []

    def refuse(context, memory):
        calls.append(memory.size)
        raise cl.LogicError("pin failed")

    monkeypatch.setattr(mapped, "pin", refuse)
    array = _uses((10, 100), np.uint8, 3)
    assert not mapped.is_pinned(device.context, array)
    assert not mapped.is_pinned(device.context, array)
    assert calls == [1000]


@pytest.fixture
def in_pieces(monkeypatch):
    """Let every answer come from a device with memory of its own; count how the rows come."""
    monkeypatch.setattr(staging, "_PIECE", 4096)
    monkeypatch.setattr(staging, "suits", lambda device, count: count > 0)
    for module in ("all_pairs.sparse.device_block", "all_pairs.sparse.ms_bfs"):
        monkeypatch.setattr(f"pyapsp.{module}.in_place", lambda device: False)
    ways = []
    for name in ("copying", "fetching"):
        real = getattr(staging.Stage, name)

        def told(*given, _name=name, _real=real, **more):
            ways.append(_name)
            return _real(*given, **more)

        monkeypatch.setattr(staging.Stage, name, told)
    return ways


def _graph(unweighted=False):
    random = np.random.default_rng(3)
    tails, heads = random.integers(0, _N, (2, 3 * _N))
    heads[heads == 5] = 6  # vertex 5 cannot be reached
    weights = random.integers(1, 2 if unweighted else 9, tails.size)
    return Graph.from_arcs(_N, tails, heads, weights)


def _solved(calls, *given, **more):
    """Return copies of what the calls return; each result is gone before the next call."""
    for _ in range(calls):
        result = pyapsp.solve(*given, **more)
        before = result.predecessors
        yield result.distances.copy(), None if before is None else before.copy()
        del result, before


@pytest.mark.every(2)
@pytest.mark.parametrize("method", ["fw-minplus", "fw-blocked", "near-far", "ms-bfs"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint16"])
@pytest.mark.parametrize("predecessors", [False, True])
def test_later_answers_are_equal_and_written_by_the_device(
    method, dtype, predecessors, device, in_pieces
):
    graph = _graph(method == "ms-bfs")
    given = {"dtype": dtype, "predecessors": predecessors, "device": device}
    first, *later = _solved(5, graph, method, **given)
    for each in later:
        np.testing.assert_array_equal(each[0], first[0])
        np.testing.assert_array_equal(each[1], first[1])
    half = len(in_pieces) // 5
    assert set(in_pieces[:half]) == {"fetching"}
    assert set(in_pieces[-half:]) == {"copying"}


def test_words_of_a_method_are_decoded_on_the_host(device, in_pieces):
    graph = _graph()
    for distances, _ in _solved(5, graph, "fw-packed16", dtype="float64", device=device):
        np.testing.assert_array_equal(distances, pyapsp.solve(graph, "dijkstra-cpu").distances)
    assert set(in_pieces) == {"fetching"}


@pytest.mark.parametrize(("missing", "way"), [(0, "copying"), (1, "fetching")])
def test_the_device_converts_only_in_memory_that_the_run_may_use(missing, way, device, in_pieces):
    graph, given = _graph(), {"dtype": "float64", "device": device}
    request = requested(graph, Arguments(method="fw-minplus", **given))
    plan = next(iter(runs.Candidates(request))).plan
    limit = plan.device_bytes + 4 * 8 * _N**2 - missing
    *_, last = _solved(5, graph, "fw-minplus", memory_limit=limit, **given)
    assert in_pieces[-1] == way
    np.testing.assert_array_equal(last[0], pyapsp.solve(graph, "dijkstra-cpu").distances)


@pytest.mark.parametrize("name", ["near-far", "ms-bfs", "apsp-tasks"])
@pytest.mark.parametrize("predecessors", [False, True])
@pytest.mark.parametrize(("spare", "way"), [(4 * 8 * _N**2, "copying"), (0, "fetching")])
def test_rows_of_a_search_in_a_narrower_type_are_converted_by_the_device(
    name, predecessors, spare, way, device, in_pieces
):
    graph, method = _graph(name == "ms-bfs"), pyapsp.method(name)
    asked = AllPairsOptions(device, np.dtype(np.float64), predecessors)
    given = suited(method, graph, asked, np.dtype(np.int32))
    used = device.capabilities.global_memory - spare
    plan = replace(method.plan(graph, given), device_bytes=used)
    expected = pyapsp.solve(graph, "dijkstra-cpu", predecessors=predecessors)
    for _ in range(4):
        answer = method.run(plan)
        np.testing.assert_array_equal(answer.distances, expected.distances)
        if predecessors:
            assert oracle(graph, asked)(answer).fault is None
        del answer
    assert way in in_pieces[-2:]
    assert ("copying" in in_pieces) is (way == "copying" or predecessors)


def test_rows_of_a_wider_matrix_are_made_compact(device, in_pieces):
    values = np.arange(6400, dtype=np.int32).reshape(50, 128)
    queue = device.queue()
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, values.nbytes)
    cl.enqueue_copy(queue, buffer, values)
    watch, least = Stopwatch(), 4 * 50 * 101 * 4
    for spare, way in ((least, "copying"), (least - 1, "fetching")):
        rows = _uses((50, 101), np.int32, 3)
        wide = landing.converter(device, rows, spare)
        given = queue, buffer, values.dtype, rows, watch, 128, None, wide
        with landing.arriving(*given):
            pass
        np.testing.assert_array_equal(rows, values[:, :101])
        assert in_pieces[-1] == way


def test_a_type_that_the_device_lacks_is_converted_on_the_host(device, in_pieces, monkeypatch):
    def refuse(*_):
        raise CapabilityError("no such type")

    monkeypatch.setattr(landing, "DeviceRows", refuse)
    first, *_, last = _solved(4, _graph(), "fw-minplus", dtype="float64", device=device)
    np.testing.assert_array_equal(first[0], last[0])
    assert set(in_pieces) == {"fetching"}


def test_rows_that_stay_on_the_device_come_into_pinned_memory(device, in_pieces):
    rows = DeviceRows(device, (40, 50), np.dtype(np.float32))
    values = np.random.default_rng(1).random((40, 50), np.float32)
    rows.put(values)
    for way in ("fetching", "fetching", "copying"):
        np.testing.assert_array_equal(rows.get(), values)
        assert in_pieces.pop() == way


def test_a_view_is_in_the_memory_of_the_whole(device):
    rows = DeviceRows(device, (40, 50), np.dtype(np.int32))
    values = np.arange(2000, dtype=np.int32).reshape(40, 50)
    rows.put(values)
    view = rows[10:20][3:5]
    assert view.buffer is rows.buffer
    np.testing.assert_array_equal(view.get(), values[13:15])


class _Told(cl.CommandQueue):
    """A queue that tells when the host waits for it."""

    waits: list[str]

    def finish(self):
        self.waits.append("finish")
        super().finish()


def test_the_host_waits_for_rows_of_the_device_before_they_come(device, in_pieces, monkeypatch):
    rows = DeviceRows(device, (40, 50), np.dtype(np.float32))
    values = np.random.default_rng(1).random((40, 50), np.float32)
    rows.put(values)
    for _ in range(2):
        rows.get()
    queue = _Told(device.context)
    queue.waits = in_pieces
    monkeypatch.setattr(type(device), "own_queue", lambda _: queue)
    np.testing.assert_array_equal(rows.get(), values)
    assert in_pieces[-2:] == ["finish", "copying"]


@pytest.mark.parametrize("error", [False, True])
def test_the_host_waits_for_rows_at_the_end_of_the_block(error, device, in_pieces, monkeypatch):
    values = np.arange(2000, dtype=np.int32).reshape(40, 50)
    queue = device.queue()
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, values.nbytes)
    cl.enqueue_copy(queue, buffer, values)
    stage, rows, told = staging.stage(queue.context), np.zeros_like(values), _Told(queue.context)
    told.waits = []
    monkeypatch.setattr(stage, "_queue", told)
    with suppress(KeyboardInterrupt), stage.copying(buffer, rows):
        assert not told.waits
        if error:
            raise KeyboardInterrupt
    assert told.waits == ["finish"]
    np.testing.assert_array_equal(rows, values)


def test_pages_in_use_are_not_cleared(device, in_pieces):
    shape = (64, 128)
    array = empty(shape, np.float64)
    with landing.expected(device, array):
        assert landing._coming
    array[...] = 5
    del array
    deadline = time.monotonic() + 30
    while not reuse._unused and time.monotonic() < deadline:
        time.sleep(1e-3)  # a thread that cleared pages may still hold a view
    again = empty(shape, np.float64)
    with landing.expected(device, again):
        assert not landing._coming
    assert (again == 5).all()
