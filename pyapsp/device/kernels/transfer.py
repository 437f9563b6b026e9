"""Copies from arrays of the host to buffers of the device, and memory that both share."""

from __future__ import annotations

import time
from functools import cache, partial
from typing import Any, cast

import numpy as np
import pyopencl as cl
from pyopencl.tools import PooledBuffer

from pyapsp.device.kernels import staging
from pyapsp.device.kernels.launch import Stopwatch
from pyapsp.device.kernels.residents import Residents, residents
from pyapsp.device.quirks import maps_late

__all__ = [
    "awaited",
    "hand_back",
    "in_place",
    "read_back",
    "send",
    "settled",
    "shared",
    "upload",
    "uploaded",
]


# Seconds for which the end of a short run is polled, and those after which it should have begun.
_POLLED, _BEGUN = 5e-4, 5e-5
# Bytes that a driver allocates in less time than the host waits for it.
_ALLOCATED = 2**20


@cache
def in_place(device: cl.Device) -> bool:
    """Return whether a device uses the memory of the host as its own."""
    return bool(device.type & cl.device_type.CPU)


def upload(
    queue: cl.CommandQueue, array: np.ndarray, watch: Stopwatch, dtype: np.dtype | None = None
) -> cl.Buffer:
    """Return a device buffer with the content of an array; it has at least 4 bytes.

    If the array never changes, the buffer stays on the device for later calls (`residents`). If the
    device is the host's CPU, the memory of a read-only array is used without a copy. So no kernel
    may write to the buffer of a read-only array.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    array : ndarray
        C-contiguous.
    watch : Stopwatch
        The time of the transfer is added to its phase "transfer".
    dtype : numpy.dtype, optional
        The type of the values in the buffer, which must be able to hold them; by default that of
        the array.
    """
    return uploaded(queue, watch, (array, dtype))[0]


def uploaded(
    queue: cl.CommandQueue, watch: Stopwatch, *arrays: tuple[np.ndarray, np.dtype | None]
) -> list[cl.Buffer]:
    """Return the buffers of `upload` for several arrays and types, which are sent together.

    So threads need not wait for the last pieces of each: the row pointers and heads of 31 million
    arcs took 5.8 ms together, and 7.2 one after the other.
    """
    typed = [(array, array.dtype if dtype is None else dtype) for array, dtype in arrays]
    there = residents(queue.context)
    buffers, new = list[cl.Buffer](), list[tuple[cl.Buffer, np.ndarray, np.dtype]]()
    for array, dtype in typed:
        buffer = _present(queue, array, dtype, there)
        if buffer is None:
            size = max(dtype.itemsize * array.size, 4)
            buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size)
            if array.size:
                new.append((buffer, array, dtype))
        buffers.append(buffer)
    if new:
        with watch.by_the_host("transfer"):
            send(queue, *new)
    for buffer, array, dtype in new:
        if not array.flags.writeable:
            there.add(array, dtype, buffer)
    return buffers


def _present(
    queue: cl.CommandQueue, array: np.ndarray, dtype: np.dtype, there: Residents
) -> cl.Buffer | None:
    """Return a buffer that needs no copy, if there is one: only read-only arrays have it."""
    if array.flags.writeable:
        return None
    if array.size and dtype == array.dtype and in_place(queue.device):
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.USE_HOST_PTR
        return cl.Buffer(queue.context, flags, hostbuf=array)
    return there.find(array, dtype)


def send(queue: cl.CommandQueue, *copies: tuple[cl.Buffer, np.ndarray, np.dtype]) -> None:
    """Copy arrays that are not empty to buffers, in pieces if they are large.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    *copies : (pyopencl.Buffer, ndarray, numpy.dtype)
        The buffer, the array, and the type of the values in the buffer.
    """
    if not staging.suits(queue.device, sum(kind.itemsize * each.size for _, each, kind in copies)):
        for buffer, array, dtype in copies:
            cl.enqueue_copy(queue, buffer, array.astype(dtype, copy=False))
        return

    def fill(values: np.ndarray, first: int, last: int, piece: np.ndarray) -> None:
        np.copyto(piece, values[first:last], casting="unsafe")

    sent = [
        staging.Sent(buffer, dtype, (array.size, 1), partial(fill, array.reshape(-1, 1)))
        for buffer, array, dtype in copies
    ]
    staging.stage(queue.context).send(queue, *sent)


def awaited(queue: cl.CommandQueue, first: cl.Event, last: cl.Event) -> None:
    """Wait for the end of a queue, first without sleep: for a run of a few groups at most.

    A thread that sleeps and is woken up loses 0.1 ms, which is more than the kernel of a small
    graph takes: its CPU has been halted, and its caches are cold. A thread that polls occupies a
    CPU. So it sleeps soon if the run does not begin, because the driver may wait for that CPU.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    first, last : pyopencl.Event
        The events of a kernel at the begin of the run, and of its last command.
    """
    if in_place(queue.device):
        queue.flush()
        status, started = cl.command_execution_status, time.perf_counter()
        while _status(last) > status.COMPLETE:
            seconds = time.perf_counter() - started
            late = seconds > _BEGUN and _status(first) > status.RUNNING
            if late or seconds > _POLLED:
                break
    queue.finish()


def _status(event: cl.Event) -> int:
    """Return the status of a command, which falls from QUEUED to COMPLETE, or below it."""
    return cast(int, event.get_info(cl.event_info.COMMAND_EXECUTION_STATUS))


def settled(queue: cl.CommandQueue, *buffers: cl.Buffer) -> None:
    """Wait until large new buffers have memory. Drivers may allocate it at their first use.

    Buffers of `scratch` may be from a pool, whose memory has been allocated.
    """
    new = [each for each in buffers if not isinstance(each, PooledBuffer)]
    if sum(each.size for each in new) >= _ALLOCATED:
        undefined = cl.mem_migration_flags.CONTENT_UNDEFINED
        cl.enqueue_migrate_mem_objects(queue, new, undefined)
        queue.finish()


def shared(queue: cl.CommandQueue, array: np.ndarray) -> cl.Buffer:
    """Return a buffer in the memory of a writeable C-contiguous array, for a device `in_place`.

    The array must not be used before `read_back`, or the end of what `hand_back` enqueues.
    """
    flags = cl.mem_flags
    return cl.Buffer(queue.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=array)


@cache
def _maps_late(device: cl.Device) -> bool:
    return maps_late(device.platform.name)


def hand_back(queue: cl.CommandQueue, buffer: cl.Buffer, array: np.ndarray) -> cl.Event:
    """Enqueue that the array of a `shared` buffer gets the content of the buffer."""
    # PyOpenCL first reads a shape as a number, and a tuple costs it a C++ exception
    size: Any = array.size
    wanted, wait = (0, size, array.dtype), _maps_late(queue.device)
    mapped, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, *wanted, is_blocking=wait)
    released: cl.Event = mapped.base.release(queue)
    return released


def read_back(queue: cl.CommandQueue, buffer: cl.Buffer, array: np.ndarray) -> None:
    """Wait until the array of a `shared` buffer has the content of the buffer."""
    hand_back(queue, buffer, array)
    queue.finish()
