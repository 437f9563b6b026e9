"""Buffers filled with a value, of any size."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels.program import build

__all__ = ["fill"]

# Values that a command of any driver counts, and the bytes that one command fills: some drivers do
# not return from a fill of very many elements.
_COUNTED, _FILLED = 2**31, 2**30
_WORDS = {2: ("ushort", np.uint16), 4: ("uint", np.uint32), 8: ("ulong", np.uint64)}
# Work-items of the kernel, in groups.
_ITEMS, _GROUP = 2**20, 64


def fill(
    device: Device,
    queue: cl.CommandQueue,
    buffer: cl.Buffer,
    value: np.generic,
    first: int = 0,
    last: int | None = None,
) -> None:
    """Enqueue commands that set values of a buffer.

    Parameters
    ----------
    device : Device
    queue : pyopencl.CommandQueue
    buffer : pyopencl.Buffer
    value : numpy scalar
        Its type is that of the values in the buffer; of 2, 4 or 8 bytes.
    first, last : int
        The first value, and one past the last; by default all that the buffer holds.
    """
    item = value.dtype.itemsize
    last = buffer.size // item if last is None else last
    if last <= _COUNTED:
        pattern = np.full(1, value)
        for start in range(first * item, last * item, _FILLED):
            count = min(_FILLED, last * item - start)
            cl.enqueue_fill_buffer(queue, buffer, pattern, start, count)
        return
    name, word = _WORDS[item]
    kernel = build(device, "device/fill.cl", {"PYAPSP_WORD": name}).kernel("fill")
    place = np.int64(first), np.int64(last - first)
    kernel(queue, (_ITEMS,), (_GROUP,), buffer, *place, value.view(word))
