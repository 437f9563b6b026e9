"""Rows that leave a device while it computes the next ones."""

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.base import reuse
from pyapsp.paths import leaving
from pyapsp.paths.leaving import Leaving

_N = 1000


class _Rows:
    """Rows of several types, made on a device in two buffers by turns."""

    def __init__(self, device, count=24):
        rng = np.random.default_rng(3)
        self.queue, self.kinds = (
            device.queue(),
            [np.dtype(f"i{1 << (k % 3)}") for k in range(count)],
        )
        self.values = [rng.integers(-1, 120, _N).astype(kind) for kind in self.kinds]
        self.buffers = [cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 4 * _N) for _ in "ab"]
        self.answer = np.full((count, _N), -7, np.int32)

    def leave(self, away):
        free = [None, None]
        for place, (kind, values) in enumerate(zip(self.kinds, self.values, strict=True)):
            buffer = self.buffers[place % 2]
            wait = free[place % 2] and [free[place % 2]]
            ready = cl.enqueue_copy(self.queue, buffer, values, is_blocking=False, wait_for=wait)
            self.queue.flush()
            free[place % 2] = away.take(buffer, kind, ready, self.answer[place])


@pytest.fixture
def idle(monkeypatch):
    """Return the pinned memory that is not in use, at first none."""
    monkeypatch.setattr(leaving, "_idle", {})
    return leaving._idle


# all rows fit, some do, none does
@pytest.mark.parametrize("size", [2**20, 9 * _N, 4 * _N + 200, _N + 100, 1])
@pytest.mark.parametrize("part", [2**20, 3 * _N, 300])
def test_rows_arrive_in_any_memory(size, part, device, idle, monkeypatch):
    monkeypatch.setattr(leaving, "_PART", part)
    rows = _Rows(device)
    for _ in range(2):
        rows.answer[:] = -7
        away = Leaving(device, size)
        rows.leave(away)
        away.finish()
        np.testing.assert_array_equal(rows.answer, rows.values)


def test_rows_arrive_without_pinned_memory(device, idle, monkeypatch):
    def refuse(*_):
        raise cl.MemoryError("map", -4, "no pinned memory")

    monkeypatch.setattr(leaving, "pinned", refuse)
    rows, away = _Rows(device), Leaving(device, 2**20)
    rows.leave(away)
    assert len(away._used) <= leaving.AWAY
    away.finish()
    np.testing.assert_array_equal(rows.answer, rows.values)
    assert not idle


def test_memory_is_used_again(device, idle):
    first, other = Leaving(device, 2**14), Leaving(device, 2**14)
    _Rows(device).leave(first)
    _Rows(device).leave(other)
    assert first._memory is not other._memory
    first.finish()
    memory = idle[device.context]
    assert Leaving(device, 2**13)._memory is memory
    assert Leaving(device, 2**13)._memory is not memory
    other.finish()
    assert Leaving(device, 2**15)._memory.size == 2**15


def test_rows_in_pinned_memory_are_written_by_the_device(device, idle, monkeypatch):
    monkeypatch.setattr(reuse, "_LARGE", 64)
    monkeypatch.setattr(reuse, "_unused", {})
    monkeypatch.setattr(leaving, "_PART", _N)
    rows, placed = _Rows(device), []

    def place(values, target):
        placed.append(values.dtype)
        target[...] = values

    for count in (24, 24, 16, 16):
        rows.answer = None
        rows.answer = reuse.empty((24, _N), np.int32)
        away = Leaving(device, 2**16, place)
        rows.leave(away)
        away.finish()
        np.testing.assert_array_equal(rows.answer, rows.values)
        assert len(placed) == count
        placed.clear()


def test_no_memory_without_rows(device, idle):
    Leaving(device, 2**14).finish()
    assert not idle


def test_the_error_of_a_copy_is_raised_after_all_of_them(device, idle, monkeypatch):
    monkeypatch.setattr(leaving, "_PART", _N)  # a task for each row
    rows, away, done = _Rows(device, 6), Leaving(device, 2**16), []

    def fail(target, source):
        done.append(1)
        raise MemoryError("no page")

    monkeypatch.setattr(np, "copyto", fail)
    rows.leave(away)
    with pytest.raises(MemoryError, match="no page"):
        away.finish()
    assert len(done) == 6
