"""The work of a rank whose rows stay in the memory of its device.

The rows are in parts, each as high as a pivot block, in a buffer of its own, so that a pivot block
is a part. Only panels move: the owner downloads the rows of a part for the broadcast, the other
ranks upload them. The steps are those of `Worker`, and give the same bits.

    device of rank 0   part 0: rows 0 .. b - 1       n values each, padded to `size`
                       part 1: rows b .. 2b - 1
    two right factors, b x size, for even and odd passes
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.multidevice.panel import Lane, RowPanel, panel_values
from pyapsp.all_pairs.dense.outofcore.schedule import Schedule
from pyapsp.all_pairs.dense.outofcore.shape import up_to
from pyapsp.all_pairs.dense.product import Product, Rectangle
from pyapsp.cluster.band import Band
from pyapsp.cluster.ranks import Ranks
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels.mapped import pinned
from pyapsp.numbers.precision import infinity

__all__ = ["Residence", "ResidentWorker", "bytes_of"]

# Bytes of rows that are copied between host and device at once.
_STRIPE = 2**26


def bytes_of(product: Product, rows: int, n: int, block: int) -> int:
    """Return the device memory that a rank needs for its rows."""
    unit = product.unit
    size, depth = up_to(n, unit) + unit, up_to(block, unit)
    values = up_to(rows, block) * size + depth * size
    values += 2 * (sum(panel_values(product, size, depth)) + depth * depth)
    return values * product.dtype.itemsize


class Residence:
    """The rows of a rank on its device, and the pinned memory of the panel at hand.

    Parameters
    ----------
    ranks : Ranks
        All of them make theirs together.
    device : Device
    product : Product
    band : Band
        Its rows are copied to the device, and back by `download`.
    block : int
    """

    def __init__(
        self, ranks: Ranks, device: Device, product: Product, band: Band, block: int
    ) -> None:
        self.device, self.product, self.band, self.block = device, product, band, block
        self.unit, self.item = product.unit, band.dtype.itemsize
        self.size = up_to(band.n, self.unit)
        # rows of panels have one length on all ranks, but the pitch depends on the device as well
        if any(ranks.all(product.pitch(self.size) > self.size)):
            self.size += self.unit
        self.depth = up_to(min(block, self.size), self.unit)
        self.queue, self._stack = device.queue(), ExitStack()
        self.parts: dict[int, cl.Buffer] = {}
        self.moved = 0

    @property
    def bytes(self) -> int:
        """Device memory in use."""
        rows = self.band.own.last - self.band.own.first
        return bytes_of(self.product, rows, self.band.n, self.block)

    def __enter__(self) -> Residence:
        with device_errors(self.device, self.bytes):
            own = self.band.own
            for first in range(own.first, own.last, self.block):
                self.parts[first] = self.buffer(self.depth * self.size)
            self.incoming = self.buffer(self.depth * self.size)
            self._panel, free = pinned(self.queue, self.depth * self.size, self.band.dtype)
            self._stack.callback(free)
            self.upload()
        return self

    def __exit__(self, *_: object) -> None:
        with device_errors(self.device, self.bytes):
            self.queue.finish()
            self._stack.close()

    def buffer(self, values: int) -> cl.Buffer:
        """Return a device buffer that is released at the end."""
        flags = cl.mem_flags.READ_WRITE
        buffer = cl.Buffer(self.device.context, flags, max(values, 1) * self.item)
        self._stack.callback(buffer.release)
        return buffer

    def rows(self, first: int) -> Rectangle:
        """Return the part that begins with a row."""
        return Rectangle(self.parts[first], self.size, self.depth, self.size)

    def panel(self, first: int, depth: int) -> np.ndarray:
        """Return the memory from which pivot rows are broadcast, or into which they come."""
        return self._panel[: depth * self.size]

    def upload(self) -> None:
        """Copy the rows of the band to the device."""
        self._each_stripe(self._send)

    def download(self) -> None:
        """Copy the rows from the device to the band."""
        self._each_stripe(self._receive)

    def _send(self, part: cl.Buffer, place: int, first: int, last: int, rows: np.ndarray) -> None:
        rows[...] = infinity(self.band.dtype)
        self.band.own.read(first, last, rows)
        cl.enqueue_copy(self.queue, part, rows, dst_offset=place, is_blocking=False)
        self.queue.finish()

    def _receive(
        self, part: cl.Buffer, place: int, first: int, last: int, rows: np.ndarray
    ) -> None:
        cl.enqueue_copy(self.queue, rows, part, src_offset=place, is_blocking=False)
        self.queue.finish()
        self.band.own.write(first, last, rows)

    def _each_stripe(self, work: Callable[[cl.Buffer, int, int, int, np.ndarray], None]) -> None:
        """Call `work` for some rows at a time: the part, their place, and pinned memory."""
        own, row = self.band.own, self.size * self.item
        count = max(1, min(self.depth, _STRIPE // row))
        with device_errors(self.device, self.bytes):
            for first, part in self.parts.items():
                end = min(first + self.block, own.last)
                for start in range(0, self.depth, count):
                    high = min(count, self.depth - start)
                    rows = self._panel[: high * self.size].reshape(high, self.size)
                    low, last = min(first + start, end), min(first + start + high, end)
                    if last > low or work == self._send:
                        work(part, start * row, low, last, rows)
                        self.moved += rows.nbytes


class ResidentWorker:
    """The work of one parity of passes: a right factor, and the kernels that use it.

    It has the methods of `Worker` that `Passes` calls.
    """

    def __init__(self, residence: Residence) -> None:
        self._at, self.unit = residence, residence.unit
        self._queue = residence.device.queue()
        depth = residence.depth
        self._panel = RowPanel(residence.product, residence.size, depth, residence.buffer)
        self._lane = Lane(self._queue, residence.buffer(depth * depth))

    def close_pivot(self, first: int, depth: int) -> None:
        """Run Floyd-Warshall inside a pivot block."""
        with self._errors():
            self._panel.close_pivot(self._queue, self._at.rows(first), first, depth)
            self._queue.finish()

    def panel(self, first: int, depth: int) -> None:
        """Multiply the rows of a closed pivot block by it, and keep them as a right factor."""
        size = self._at.size
        with self._errors():
            self._panel.multiply(self._queue, Rectangle(self._at.parts[first], size, depth, size))
            self._queue.finish()

    def publish(self, first: int, depth: int) -> None:
        """Download the rows of a pivot block for the broadcast."""
        at = self._at
        memory = at.panel(first, depth)
        with self._errors():
            cl.enqueue_copy(at.queue, memory, at.parts[first], is_blocking=False)
            at.queue.finish()
        at.moved += memory.nbytes

    def fetch(self, first: int, depth: int) -> None:
        """Upload received rows of a pivot block, as a right factor."""
        at = self._at
        memory = at.panel(first, depth)
        with self._errors():
            sent = cl.enqueue_copy(at.queue, at.incoming, memory, is_blocking=False)
            at.queue.flush()
            cl.enqueue_barrier(self._queue, wait_for=[sent])
            rows = Rectangle(at.incoming, at.size, depth, at.size)
            self._panel.take(self._queue, rows, first, depth)
            self._queue.finish()
        at.moved += memory.nbytes

    def update(self, schedule: Schedule, mine: object) -> None:
        """Update rows by the pivot block at hand, as long as there are any."""
        with self._errors():
            while schedule.more(mine):
                for first, last in schedule.ranges(self._at.block, mine):
                    self._panel.update(self._lane, self._at.rows(first))
                    self._queue.flush()
                    schedule.done(first, last)
            self._queue.finish()

    def _errors(self) -> AbstractContextManager[None]:
        return device_errors(self._at.device, self._at.bytes)
