"""A matrix in host memory, pinned, so that a device copies parts of it without the host's help.

On a host with two H100 GPUs each device copied 54 GB/s from and to such rows, also of rectangles.
Through memory that is not pinned it copied 8 to 14 GB/s; through smaller pinned memory, two devices
copied 40 GB/s together, because the host read and wrote everything once more. To pin 17 GB took 0.8
s, and 4 s if its pages were not in memory yet, or filled meanwhile. Rows that were pinned in 128
buffers, when they were first copied, made passes slower by a fifth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.outofcore.part import Part
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.device import Device
from pyapsp.device.kernels.mapped import pin
from pyapsp.numbers.precision import infinity

__all__ = ["PinnedRows", "can_pin"]


def can_pin(device: Device, matrix: Matrix) -> bool:
    """Return whether it makes sense: the device has its own memory, and the rows are no file."""
    return not (device.capabilities.unified_memory or matrix.on_disk)


class PinnedRows:
    """The rows of a matrix, pinned for a device until `release`.

    Parameters
    ----------
    device : Device
    matrix : Matrix
        In memory; filled.

    Raises
    ------
    pyopencl.Error
        If the driver does not pin them.
    """

    def __init__(self, device: Device, matrix: Matrix) -> None:
        self._matrix, self._item = matrix, matrix.dtype.itemsize
        self._padding = np.array(infinity(matrix.dtype), matrix.dtype)
        # few and large, because each buffer makes all commands slower
        rows = max(1, device.capabilities.max_allocation // (matrix.n * self._item))
        self._starts = range(matrix.first, matrix.last, rows)
        self._pins: list[Callable[[], None]] = []
        try:
            for start in self._starts:
                memory = self._host(start, min(start + rows, matrix.last))
                self._pins.append(pin(device.context, memory))
        except cl.Error:
            self.release()
            raise

    def release(self) -> None:
        """Unpin the rows; no copy may be on its way."""
        pins, self._pins = self._pins, []
        for release in pins:
            release()

    def bring(self, queue: cl.CommandQueue, part: Part, slot: cl.Buffer) -> cl.Event:
        """Enqueue the copy of a part into a slot, padded with infinity; return its event."""
        if (part.last - part.first, part.high - part.low) != (part.height, part.width):
            cl.enqueue_fill_buffer(queue, slot, self._padding, 0, part.values * self._item)
        for first, last in self._within(part):
            event: cl.Event = cl.enqueue_copy(
                queue, slot, self._host(first, last), **self._places(part, first, last)
            )
        queue.flush()
        return event

    def take(
        self, queue: cl.CommandQueue, part: Part, slot: cl.Buffer, wait_for: Sequence[cl.Event]
    ) -> cl.Event:
        """Enqueue the copy of a part from its slot, after some events; return its event."""
        for first, last in self._within(part):
            event: cl.Event = cl.enqueue_copy(
                queue,
                self._host(first, last),
                slot,
                wait_for=wait_for,
                **self._places(part, first, last),
            )
        queue.flush()
        return event

    def _host(self, first: int, last: int) -> np.ndarray:
        own = self._matrix.first
        rows: np.ndarray = self._matrix.array[first - own : last - own]
        return rows

    def _within(self, part: Part) -> Iterator[tuple[int, int]]:
        """Cut the rows of a part where a buffer ends."""
        inner = (start for start in self._starts if part.first < start < part.last)
        yield from pairwise([part.first, *inner, part.last])

    def _places(self, part: Part, first: int, last: int) -> dict[str, Any]:
        """Return where some rows of a part lie in its slot and in the matrix, in bytes."""
        item = self._item
        return {
            "buffer_origin": (0, first - part.first, 0),
            "host_origin": (part.low * item, 0, 0),
            "region": ((part.high - part.low) * item, last - first, 1),
            "buffer_pitches": (part.width * item,),
            "host_pitches": (self._matrix.n * item,),
            "is_blocking": False,
        }
