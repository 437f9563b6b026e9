"""Waiting for a short run: by polling, but not for long."""

from __future__ import annotations

import time

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.device.kernels import transfer
from pyapsp.device.kernels.transfer import awaited

STATUS = cl.command_execution_status


class Command:
    """An event that has a status for each time that it is asked; the last one stays."""

    def __init__(self, *found: int) -> None:
        self.found, self.asked = found, 0

    def get_info(self, _: object) -> int:
        self.asked += 1
        return self.found[min(self.asked, len(self.found)) - 1]


class Queue:
    """A queue of a CPU, which counts."""

    def __init__(self, handle: cl.Device) -> None:
        self.device, self.calls = handle, []

    def flush(self) -> None:
        self.calls.append("flush")

    def finish(self) -> None:
        self.calls.append("finish")


@pytest.fixture
def queue(device, monkeypatch):
    monkeypatch.setattr(transfer, "in_place", lambda handle: True)
    return Queue(device.handle)


def test_a_run_is_polled_until_it_ends(queue, monkeypatch):
    monkeypatch.setattr(transfer, "_POLLED", 60)
    last = Command(STATUS.QUEUED, STATUS.SUBMITTED, STATUS.RUNNING, STATUS.COMPLETE)
    awaited(queue, Command(STATUS.RUNNING), last)
    assert last.asked == 4
    assert queue.calls == ["flush", "finish"]


@pytest.mark.parametrize("late", [STATUS.QUEUED, STATUS.SUBMITTED])
def test_a_run_that_does_not_begin_is_not_polled_for_long(late, queue, monkeypatch):
    monkeypatch.setattr(transfer, "_POLLED", 60)
    started = time.monotonic()
    awaited(queue, Command(late), Command(STATUS.QUEUED))
    assert time.monotonic() - started < 30
    assert queue.calls == ["flush", "finish"]


def test_a_long_run_is_not_polled_to_its_end(queue, monkeypatch):
    monkeypatch.setattr(transfer, "_BEGUN", 60)
    started = time.monotonic()
    awaited(queue, Command(STATUS.QUEUED), Command(STATUS.QUEUED))
    assert time.monotonic() - started < 30
    assert queue.calls == ["flush", "finish"]


def test_the_error_of_a_run_ends_the_polling(queue):
    failed = Command(-5)
    awaited(queue, failed, failed)
    assert failed.asked == 1


def test_a_copy_is_complete(device):
    queue, found = device.queue(), np.zeros(1000, np.int32)
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, found.nbytes)
    first = cl.enqueue_fill_buffer(queue, buffer, np.int32(7), 0, found.nbytes)
    awaited(queue, first, cl.enqueue_copy(queue, found, buffer, is_blocking=False))
    assert (found == 7).all()
