"""Arrays that stay on a device."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.device.kernels import Stopwatch, residents, upload
from pyapsp.errors import ParameterError


@pytest.fixture
def send(device, there):
    return partial(upload, device.queue(), watch=Stopwatch())


def _constant(count, first=0):
    array = np.arange(first, first + count, dtype=np.int64)
    array.flags.writeable = False
    return array


def _values(device, buffer, dtype, count):
    values = np.empty(count, dtype)
    cl.enqueue_copy(device.queue(), values, buffer)
    return values


def test_a_constant_array_is_copied_once(device, send):
    array = _constant(5000)
    buffer = send(array)
    assert send(array) is buffer
    narrow = send(array, dtype=np.dtype(np.int32))
    assert narrow is not buffer
    assert send(array, dtype=np.dtype(np.int32)) is narrow
    np.testing.assert_array_equal(_values(device, buffer, np.int64, 5000), array)
    np.testing.assert_array_equal(_values(device, narrow, np.int32, 5000), array)


@pytest.mark.parametrize("kind", ["writeable", "view of a writeable one", "of another object"])
def test_an_array_that_may_change_is_copied_each_time(kind, device, send):
    memory = bytearray(_constant(5000).tobytes()) if kind == "of another object" else None
    whole = np.arange(5000) if memory is None else np.frombuffer(memory, np.int64)
    array = whole if kind == "writeable" else whole.view()
    array.flags.writeable = kind == "writeable"
    first = send(array)
    if memory is None:
        whole[17] = -1
    else:
        memory[17 * 8] ^= 1
    second = send(array)
    assert second is not first
    np.testing.assert_array_equal(_values(device, second, np.int64, 5000), whole)


def test_small_arrays_do_not_stay(send, there):
    array = _constant(16)
    assert send(array) is not send(array)
    assert there.bytes_of([array]) == 0


def test_what_is_deleted_leaves_the_device(send, there):
    array, other = _constant(5000), _constant(5000)
    send(array)
    send(other)
    assert there.bytes_of([array]) == array.nbytes
    del array
    assert len(there._kept) == 1
    assert there.bytes_of([other]) == other.nbytes


def test_an_address_that_is_used_again_is_another_array(device, send, there):
    for turn in range(300):
        array = _constant(2500, first=turn)
        np.testing.assert_array_equal(_values(device, send(array), np.int64, 2500), array)
        del array
    assert not there._kept


def test_the_array_unused_for_longest_goes_first(send, there, monkeypatch):
    monkeypatch.setenv("PYAPSP_RESIDENT", "1")
    arrays = [_constant(2**15) for _ in range(4)]  # 256 KiB each
    for each in arrays:
        send(each)
    assert there.bytes_of(arrays) == 2**20
    send(arrays[0])
    arrays.append(_constant(2**15))
    send(arrays[-1])
    assert [there.bytes_of([each]) > 0 for each in arrays] == [True, False, True, True, True]


def test_no_budget_and_a_wrong_one(send, there, monkeypatch):
    array = _constant(5000)
    monkeypatch.setenv("PYAPSP_RESIDENT", "0")
    assert send(array) is not send(array)
    monkeypatch.setenv("PYAPSP_RESIDENT", "much")
    with pytest.raises(ParameterError, match=r"PYAPSP_RESIDENT.*megabytes.*'much'"):
        send(array)


def test_pinned_arrays_stay_beyond_the_budget(send, there, monkeypatch):
    monkeypatch.setenv("PYAPSP_RESIDENT", "0")
    array = _constant(5000)
    there.pin([array])
    there.pin([array])
    buffer = send(array)
    assert send(array) is buffer
    there.unpin([array])
    assert send(array) is buffer
    there.unpin([array])
    assert there.bytes_of([array]) == 0


def test_what_the_garbage_collector_unpins_waits_for_the_lock(send, there):
    array = _constant(5000)
    there.pin([array])
    send(array)
    with there._lock:
        there.unpin([array])  # as a finalizer in this thread would
    assert there.bytes_of([array]) == array.nbytes
    assert not there._pins


def test_memory_that_a_run_needs_is_released(device, send, there):
    pinned, plain = _constant(5000), _constant(6000)
    there.pin([pinned])
    for each in (pinned, plain):
        send(each)
    assert there.nbytes == pinned.nbytes + plain.nbytes
    assert there.shrink(there.nbytes) == 0
    assert there.shrink(pinned.nbytes) == plain.nbytes
    assert there.bytes_of([pinned]) == pinned.nbytes
    assert there.shrink(0) == pinned.nbytes
    assert not there._kept
    np.testing.assert_array_equal(_values(device, send(pinned), np.int64, 5000), pinned)
    assert residents.release_all() == pinned.nbytes


def test_scratch_memory_is_used_again_and_released(there):
    first = there.scratch(100_000)
    assert there.shrink(0) == 0
    size = there._pool.managed_bytes
    assert 16 * there.nbytes <= size  # a run uses it; sizes are rounded up
    del first
    assert there.nbytes == size
    second = there.scratch(99_000)
    assert there._pool.managed_bytes == size
    del second
    assert there.shrink(size) == 0
    assert there.shrink(size - 1) == size
    assert there._pool.managed_bytes == 0


def test_a_pool_beyond_the_budget_does_not_stay(there, monkeypatch):
    monkeypatch.setenv("PYAPSP_RESIDENT", "1")
    some = there.scratch(2**19)
    del some
    there.trim()
    assert there._pool.managed_bytes >= 2**19
    more = there.scratch(2**21)
    there.trim()
    assert there._pool.held_blocks == 0
    assert there._pool.managed_bytes >= 2**21  # what is in use stays
    del more
    there.trim()
    assert there._pool.managed_bytes == 0


def test_threads_get_the_values_of_their_arrays(device, there, monkeypatch):
    monkeypatch.setenv("PYAPSP_RESIDENT", "1")
    arrays = [_constant(2**15, first=100 * each) for each in range(8)]

    def work(turn):
        queue, each = device.queue(), arrays[turn * 7 % len(arrays)]
        values = np.empty(2**15, np.int64)
        cl.enqueue_copy(queue, values, upload(queue, each, Stopwatch()))
        return bool((values == each).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(400)))


def test_large_buffers_are_not_of_the_pool(device, monkeypatch, there):
    """Which rounds their size up: the driver may refuse it, and no plan counts it."""
    monkeypatch.setattr(residents, "_pools", lambda device: True)
    monkeypatch.setattr(residents, "_POOLED", 2**16)
    small, large = (residents.scratch(device, size) for size in (2**16, 2**16 + 1))
    assert not isinstance(small, cl.Buffer)
    assert small.size >= 2**16
    assert isinstance(large, cl.Buffer)
    assert large.size == 2**16 + 1


def test_the_driver_has_allocated_before_a_buffer_is_written(device, monkeypatch, there):
    """The allocation is a command that leaves the content undefined, on a queue of its own."""
    monkeypatch.setattr(residents, "_pools", lambda device: True)
    ends, queue = [], there._queue
    monkeypatch.setattr(
        there, "_queue", SimpleNamespace(finish=lambda: ends.append(queue.finish()))
    )
    first = residents.scratch(device, 4000)
    assert len(ends) == 1
    del first
    again = residents.scratch(device, 4000)
    assert again.size >= 4000
    assert len(ends) == 1  # it is the same memory


class _Owner:
    """What an answer belongs to."""


@pytest.fixture
def lend(device, there, monkeypatch):
    monkeypatch.setattr(residents, "_pools", lambda device: True)
    return partial(residents.lent, device)


def test_the_memory_of_an_answer_is_used_again(lend, there):
    owner, other = _Owner(), _Owner()
    buffer, _ = lend(40_000, owner)
    assert there.nbytes == 0  # it is in use
    del owner
    assert there.nbytes == 40_000
    assert lend(40_001, other)[0] is not buffer
    assert lend(40_000, other)[0] is buffer
    assert there.nbytes == 0


def test_memory_that_left_does_not_come_back(lend, there):
    """Commands of the caller may use it after its owner; the driver knows."""
    owner = _Owner()
    _, leave = lend(40_000, owner)
    leave()
    leave()
    del owner
    assert there.nbytes == 0


def test_memory_of_answers_is_released_with_the_pool(lend, there):
    for release in (lambda: there.shrink(39_999), residents.release_all):
        owner = _Owner()
        lend(40_000, owner)
        del owner
        assert there.shrink(40_000) == 0
        assert release() == 40_000
        assert there.nbytes == 0


def test_memory_of_answers_within_the_budget(lend, there, monkeypatch):
    monkeypatch.setenv("PYAPSP_RESIDENT", "1")
    owners = [_Owner() for _ in range(3)]
    for place in range(3):
        lend(2**19, owners[place])
    del owners[1:]
    assert there.nbytes == 2**20
    there.trim()
    assert there.nbytes == 2**20
    some = there.scratch(2**19)
    there.trim()
    assert there._spare_bytes == 0
    del some
    owners.pop()
    owner = _Owner()
    lend(2**21, owner)
    del owner
    assert there._spare_bytes == 0


@pytest.mark.parametrize("pooled", [False, True])
def test_a_cpu_and_large_answers_keep_no_memory(pooled, device, there, monkeypatch):
    monkeypatch.setattr(residents, "_pools", lambda device: pooled)
    monkeypatch.setattr(residents, "_POOLED", 2**16)
    owner = _Owner()
    residents.lent(device, 2**16 + pooled, owner)
    del owner
    assert there.nbytes == 0
