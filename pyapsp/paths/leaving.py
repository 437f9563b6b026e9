"""Rows of an answer that leave a device while it computes the next ones.

The device writes a row into pinned memory, in the type in which it is shortest. Threads of the host
copy it from there to the answer, whose new pages take longer to clear than the search that found
the row::

    device row --link--> [row][row][row] --threads--> rows of the answer
                          pinned memory
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, wait
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyopencl as cl

from pyapsp.base.host import threads
from pyapsp.device import Device
from pyapsp.device.kernels.mapped import pinned

__all__ = ["Leaving"]

# Bytes of the pinned memory at most, and values that a thread copies.
_PINNED, _PART = 2**27, 2**20
# Pieces of memory begin at multiples of this many bytes.
_ALIGNED = 128

# Pinned memory that is not in use, one piece for each context.
_idle: dict[cl.Context, np.ndarray] = {}


class _Gone(NamedTuple):
    """A row on its way, its bytes in the pinned memory, and the copies to the answer."""

    first: int
    last: int
    copies: list[Future[None]]


class Leaving:
    """The rows on their way from a device to the host.

    `finish` must be called before the rows are read, also after an error.

    Parameters
    ----------
    device : Device
    size : int
        Bytes of pinned memory that would be enough; a row that does not fit comes without it.
    """

    def __init__(self, device: Device, size: int) -> None:
        self._link, self._size = device.queue(), max(min(size, _PINNED), _ALIGNED)
        self._next, self._gone = 0, deque[_Gone]()

    @cached_property
    def _memory(self) -> np.ndarray:
        memory = _idle.pop(self._link.context, None)
        if memory is None or memory.size < self._size:
            # the array keeps its mapping alive
            memory, _ = pinned(self._link, self._size, np.dtype(np.uint8))
        return memory

    def take(
        self, values: cl.Buffer, dtype: np.dtype, ready: cl.Event, row: np.ndarray
    ) -> cl.Event:
        """Begin to copy the first values of a buffer into a row.

        Parameters
        ----------
        values : pyopencl.Buffer
        dtype : numpy.dtype
            Its type, which the type of the row holds.
        ready : pyopencl.Event
            When it is over, and the queue of its command is flushed, the values are there.
        row : (n,) ndarray

        Returns
        -------
        pyopencl.Event
            When it is over, the buffer may be written again.
        """
        count = dtype.itemsize * row.size
        first, last = self._room(count)
        piece = self._memory[first : first + count] if last else np.empty(count, np.uint8)
        piece = piece.view(dtype)
        event = cl.enqueue_copy(self._link, piece, values, is_blocking=False, wait_for=[ready])
        self._link.flush()

        def place(start: int) -> None:
            event.wait()
            some = slice(start, start + _PART)
            np.copyto(row[some], piece[some])

        copies = [threads().submit(place, start) for start in range(0, row.size, _PART)]
        self._gone.append(_Gone(first, last, copies))
        return event

    def _room(self, count: int) -> tuple[int, int]:
        """Return the first and the last byte, plus one, of free memory; 0, 0 if there is none."""
        count = -(-count // _ALIGNED) * _ALIGNED
        if count > self._memory.size:
            return 0, 0
        first = self._next if self._next + count <= self._memory.size else 0
        last = self._next = first + count
        while any(first < each.last and each.first < last for each in self._gone):
            _end(self._gone.popleft())
        return first, last

    def finish(self) -> None:
        """Wait for all rows, and leave the memory to others."""
        try:
            self._link.finish()
        finally:
            wait([copy for each in self._gone for copy in each.copies])
        if "_memory" in self.__dict__:
            _idle[self._link.context] = self.__dict__.pop("_memory")
        while self._gone:
            _end(self._gone.popleft())


def _end(gone: _Gone) -> None:
    """Wait for the copies of a row, and raise their error."""
    for copy in gone.copies:
        copy.result()
