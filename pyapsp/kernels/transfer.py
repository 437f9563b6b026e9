"""Copies between arrays of the host and buffers of the device."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.quirks import maps_late
from pyapsp.kernels import staging
from pyapsp.kernels.launch import Stopwatch

__all__ = [
    "OnDevice",
    "awaited",
    "download",
    "expected",
    "hand_back",
    "in_place",
    "read_back",
    "send",
    "settled",
    "shared",
    "upload",
]


# Seconds for which the end of a short run is polled, and those after which it should have begun.
_POLLED, _BEGUN = 5e-4, 5e-5


class OnDevice(Protocol):
    """Rows that stay on the device, in place of an array of the host.

    Attributes
    ----------
    shape : tuple of int
        Rows, and values of a row.
    """

    shape: tuple[int, int]

    def take(self, queue: cl.CommandQueue, found: cl.Buffer, dtype: np.dtype, columns: int) -> None:
        """Copy the first rows of a buffer with values of this type, `columns` from row to row."""


def in_place(device: cl.Device) -> bool:
    """Return whether a device uses the memory of the host as its own."""
    return bool(device.type & cl.device_type.CPU)


def upload(
    queue: cl.CommandQueue, array: np.ndarray, watch: Stopwatch, dtype: np.dtype | None = None
) -> cl.Buffer:
    """Return a device buffer with the content of an array; it has at least 4 bytes.

    If the device is the host's CPU, the memory of a read-only array is used without a copy.

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
    flags, dtype = cl.mem_flags, array.dtype if dtype is None else dtype
    same = dtype == array.dtype
    if array.size and same and not array.flags.writeable and in_place(queue.device):
        return cl.Buffer(queue.context, flags.READ_ONLY | flags.USE_HOST_PTR, hostbuf=array)
    count = dtype.itemsize * array.size
    buffer = cl.Buffer(queue.context, flags.READ_WRITE, max(count, 4))
    if not array.size:
        return buffer
    with watch.by_the_host("transfer"):
        send(queue, buffer, array, dtype)
    return buffer


def send(queue: cl.CommandQueue, buffer: cl.Buffer, array: np.ndarray, dtype: np.dtype) -> None:
    """Copy an array that is not empty to a buffer, as values of a type; in pieces if it is large.

    Parameters
    ----------
    queue, array, dtype
        As for `upload`.
    buffer : pyopencl.Buffer
    """
    if staging.suits(queue.device, dtype.itemsize * array.size):
        values = array.reshape(-1, 1)

        def fill(first: int, last: int, piece: np.ndarray) -> None:
            np.copyto(piece, values[first:last], casting="unsafe")

        staging.stage(queue.context).send(queue, buffer, dtype, values.shape, fill)
    else:
        cl.enqueue_copy(queue, buffer, array.astype(dtype, copy=False))


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
    found: Any = event.get_info(cl.event_info.COMMAND_EXECUTION_STATUS)
    return int(found)


def settled(queue: cl.CommandQueue, *buffers: cl.Buffer) -> None:
    """Wait until new buffers have memory. Drivers may allocate it at their first use."""
    undefined = cl.mem_migration_flags.CONTENT_UNDEFINED
    cl.enqueue_migrate_mem_objects(queue, list(buffers), undefined)
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


def download(
    queue: cl.CommandQueue,
    buffer: cl.Buffer,
    dtype: np.dtype,
    rows: np.ndarray | OnDevice,
    place: staging.Place,
    watch: Stopwatch,
) -> None:
    """Copy a buffer to rows of the host, in pieces if it is large; or to rows on the device.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    buffer : pyopencl.Buffer
        At least as many values as the rows, in the same order.
    dtype : numpy.dtype
        The type of these values.
    rows : (k, n) ndarray or OnDevice
        C-contiguous.
    place : callable
        Copies values into rows of the type that the rows have.
    watch : Stopwatch
        The time of the transfer is added to its phase "transfer".
    """
    queue.finish()  # the time of the kernels is not that of the transfer
    with watch.by_the_host("transfer"):
        if not isinstance(rows, np.ndarray):
            rows.take(queue, buffer, dtype, rows.shape[1])
        elif staging.suits(queue.device, rows.nbytes):
            staged = staging.stage(queue.context)
            staged.fetch(queue, buffer, dtype, rows.shape[1], rows, place)
        elif dtype == rows.dtype:
            cl.enqueue_copy(queue, rows, buffer)
        else:
            values = np.empty(rows.shape, dtype)
            cl.enqueue_copy(queue, values, buffer)
            place(values, rows)


@contextmanager
def expected(device: Device, rows: np.ndarray | OnDevice) -> Iterator[None]:
    """Clear the pages of rows in other threads during the block, if `download` will be in pieces.

    Clearing takes longer than the copy, and the host waits for kernels meanwhile. Only `download`
    may write to the rows in the block.
    """
    if not isinstance(rows, np.ndarray) or not staging.suits(device.handle, rows.nbytes):
        yield
        return
    staged = staging.stage(device.context)
    staged.expect(rows)
    try:
        yield
    finally:
        staged.forget()
