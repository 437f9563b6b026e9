"""Buffers as arrays of the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pyopencl as cl

from pyapsp.base import reuse

__all__ = ["is_pinned", "map_buffer", "pin", "pinned"]


def map_buffer(
    queue: cl.CommandQueue,
    buffer: cl.Buffer,
    access: Any,
    values: int,
    dtype: np.dtype,
    wait_for: Sequence[cl.Event] | None = None,
) -> tuple[np.ndarray, Callable[[], cl.Event]]:
    """Map the begin of a buffer, when the events are over, and wait for it.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    buffer : pyopencl.Buffer
    access : pyopencl.map_flags
    values : int
    dtype : numpy.dtype
    wait_for : sequence of pyopencl.Event, optional

    Returns
    -------
    array : (values,) ndarray
    release : callable
        Enqueues the end of the mapping, and returns its event.
    """
    array, _ = cl.enqueue_map_buffer(queue, buffer, access, 0, (values,), dtype, wait_for=wait_for)
    memory = cast("cl.MemoryMap", array.base)
    return array, lambda: memory.release(queue)


def pinned(
    queue: cl.CommandQueue, values: int, dtype: np.dtype
) -> tuple[np.ndarray, Callable[[], None]]:
    """Allocate memory of the host that the device reads and writes itself.

    Returns
    -------
    array : (values,) ndarray
    release : callable
        Frees it.
    """
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
    buffer = cl.Buffer(queue.context, flags, values * dtype.itemsize)
    access = cl.map_flags.READ | cl.map_flags.WRITE
    array, unmap = map_buffer(queue, buffer, access, values, dtype)

    def release() -> None:
        unmap().wait()
        buffer.release()

    return array, release


def pin(context: cl.Context, memory: np.ndarray) -> Callable[[], None]:
    """Pin memory of the host for devices, so that they copy from and to it without a detour.

    A buffer with ``CL_MEM_USE_HOST_PTR`` pins it as long as the buffer lives. No command uses this
    buffer: copies name the memory of the host, which OpenCL allows as long as the buffer is not in
    use. So the driver need not give it memory of the device.

    Returns
    -------
    release : callable
        Ends this; no copy may be on its way.

    Raises
    ------
    pyopencl.Error
        If the driver does not pin it.
    """
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    buffer = cl.Buffer(context, flags, hostbuf=memory)
    return buffer.release


def is_pinned(context: cl.Context, array: np.ndarray) -> bool:
    """Return whether devices can write an array themselves; memory of `reuse.empty` may be pinned.

    Parameters
    ----------
    context : pyopencl.Context
    array : ndarray
        C-contiguous.
    """
    try:
        return reuse.pinned(array, context, pin)
    except cl.Error:  # the array can be written in another way
        return False
