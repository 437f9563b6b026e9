"""One call of the analytics: its buffers, and launches over rows."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
from numpy.typing import DTypeLike, NDArray

from pyapsp.device.kernels import Program
from pyapsp.dynamic.rows import Rows
from pyapsp.dynamic.store import Argument, Scalar

__all__ = ["Run"]


class Run:
    """Buffers and launches of one call."""

    def __init__(self, rows: Rows, program: Program) -> None:
        self.rows, self._program = rows, program
        self._longer = self.buffer(4 * max(rows.n, 1))
        self._counts = self.buffer(8)  # of a list, and of the long rows
        self._all = self.upload(np.array([rows.n], np.int32))

    def buffer(self, size: int) -> cl.Buffer:
        """Return a new buffer."""
        return cl.Buffer(self.rows.device.context, cl.mem_flags.READ_WRITE, max(size, 4))

    def upload(self, array: np.ndarray) -> cl.Buffer:
        """Return a new buffer with the content of an array."""
        buffer = self.buffer(array.nbytes)
        if array.nbytes:
            cl.enqueue_copy(self.rows.queue, buffer, array)
        return buffer

    def filled(self, value: float, count: int, dtype: DTypeLike) -> cl.Buffer:
        """Return a new buffer of equal values."""
        return self.upload(np.full(max(count, 1), value, dtype))

    def fetch(
        self, buffer: cl.Buffer, count: int, dtype: type[Scalar] | np.dtype[Scalar]
    ) -> NDArray[Scalar]:
        """Copy a buffer to the host."""
        array = np.empty(count, dtype)
        if count:
            cl.enqueue_copy(self.rows.queue, array, buffer)
        return array

    def launch(self, name: str, items: int, *arguments: Argument) -> None:
        """Enqueue a kernel."""
        group = self.rows.group
        size = max(min(-(-items // group) * group, self.rows.items), group)
        self._program.kernel(name)(self.rows.queue, (size,), (group,), *arguments)

    def over_rows(
        self,
        name: str,
        *arguments: Argument,
        of: tuple[cl.Buffer, cl.Buffer, int] | None = None,
        weights: bool = False,
    ) -> None:
        """Enqueue a kernel over all rows, or over those of a list: buffer, count, most of them."""
        rows = self.rows
        longer, count = self._longer, self._counts
        listed, counted, most = of or (longer, self._all, rows.n)
        behind = *arguments, *rows.arguments(weights=weights)
        limit = rows.limit
        cl.enqueue_fill_buffer(rows.queue, count, np.zeros(1, np.int32), 0, 4)
        first = listed, counted, np.int32(of is not None), np.int32(rows.lanes), np.int32(limit)
        self.launch(name, most * rows.lanes, *first, longer, count, *behind)
        if rows.group > 1:
            # nothing is longer than this limit
            whole = np.int32(1), np.int32(rows.group), np.int32(2**31 - 1)
            self.launch(name, rows.items, longer, count, *whole, listed, self._all, *behind)
