"""Arrays of the host on the device."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.kernels.launch import Stopwatch

__all__ = ["in_place", "upload"]


def in_place(device: cl.Device) -> bool:
    """Return whether a device writes to the memory of the host as to its own."""
    return bool(device.type & cl.device_type.CPU)


def upload(queue: cl.CommandQueue, array: np.ndarray, watch: Stopwatch) -> cl.Buffer:
    """Return a device buffer with the content of an array, of at least 4 bytes.

    Where the device is the host, an array that nobody may write to is the buffer.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    array : ndarray
        C-contiguous.
    watch : Stopwatch
        Told of the transfer, as phase "transfer".
    """
    flags = cl.mem_flags
    if array.size and not array.flags.writeable and in_place(queue.device):
        return cl.Buffer(queue.context, flags.READ_ONLY | flags.USE_HOST_PTR, hostbuf=array)
    buffer = cl.Buffer(queue.context, flags.READ_WRITE, max(array.nbytes, 4))
    if array.size:
        with watch.by_the_host("transfer"):
            cl.enqueue_copy(queue, buffer, array)
    return buffer
