"""Copy arrays of the host to the device."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.kernels.launch import Stopwatch

__all__ = ["in_place", "upload"]


def in_place(device: cl.Device) -> bool:
    """Return whether a device uses the memory of the host as its own."""
    return bool(device.type & cl.device_type.CPU)


def upload(queue: cl.CommandQueue, array: np.ndarray, watch: Stopwatch) -> cl.Buffer:
    """Return a device buffer with the content of an array; it has at least 4 bytes.

    If the device is the host's CPU, the memory of a read-only array is used without a copy.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    array : ndarray
        C-contiguous.
    watch : Stopwatch
        The time of the transfer is added to its phase "transfer".
    """
    flags = cl.mem_flags
    if array.size and not array.flags.writeable and in_place(queue.device):
        return cl.Buffer(queue.context, flags.READ_ONLY | flags.USE_HOST_PTR, hostbuf=array)
    buffer = cl.Buffer(queue.context, flags.READ_WRITE, max(array.nbytes, 4))
    if array.size:
        with watch.by_the_host("transfer"):
            cl.enqueue_copy(queue, buffer, array)
    return buffer
