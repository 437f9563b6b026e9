"""Rows of an answer that leave a device while it computes the next ones.

The device writes a row into pinned memory, in the type in which it is shortest. Threads of the host
copy it from there to the answer, whose new pages take longer to clear than the search that found
the row::

    device row --link--> [row][row][row] --threads--> rows of the answer
                          pinned memory

If the memory of the answer is pinned, because earlier answers were in it, the device writes that.
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
from pyapsp.device.kernels.mapped import is_pinned, pinned
from pyapsp.device.kernels.staging import Place

__all__ = ["AWAY", "Leaving"]

#: Rows of the answer for which there should be pinned memory.
AWAY = 4

# Bytes of the pinned memory at most. Values that a thread copies: to hand a task to a thread takes
# 0.05 ms, and the searches of a graph of a million vertices 0.4 ms.
_PINNED, _PART = 2**27, 2**21
# Pieces of memory begin at multiples of this many bytes.
_ALIGNED = 128

# Pinned memory that is not in use, one piece for each context.
_idle: dict[cl.Context, np.ndarray] = {}


class _Row(NamedTuple):
    """A row, and its values on their way: when the event is over, they are on the host."""

    event: cl.Event
    values: np.ndarray
    target: np.ndarray


class _Place(NamedTuple):
    """Bytes of the pinned memory, and the copies after which they are free."""

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
    place : callable
        Copies values into a row, or a part into that of the row: ``place(values, target)``.
    """

    def __init__(
        self,
        device: Device,
        size: int,
        place: Place = lambda values, target: np.copyto(target, values),
    ) -> None:
        self._link, self._size = device.queue(), max(min(size, _PINNED), _ALIGNED)
        self._place = place
        self._next, self._used = 0, deque[_Place]()
        # rows that no thread copies yet, and the copies of the threads that will
        self._rows: list[_Row] = []
        self._copies: list[Future[None]] = []

    @cached_property
    def _memory(self) -> np.ndarray:
        memory = _idle.pop(self._link.context, None)
        if memory is None or memory.size < self._size:
            try:
                # the array keeps its mapping alive
                memory, _ = pinned(self._link, self._size, np.dtype(np.uint8))
            except cl.Error:
                memory = np.empty(0, np.uint8)  # rows come without it
        return memory

    def take(
        self, values: cl.Buffer, dtype: np.dtype, ready: cl.Event, row: np.ndarray
    ) -> cl.Event:
        """Begin to copy the first values of a buffer into a row.

        Parameters
        ----------
        values : pyopencl.Buffer
        dtype : numpy.dtype
            The type of these values.
        ready : pyopencl.Event
            When it is over, the values are there; the queue of its command is flushed.
        row : (n,) ndarray

        Returns
        -------
        pyopencl.Event
            When it is over, the buffer may be written again.
        """
        if dtype == row.dtype and is_pinned(self._link.context, row):
            event = cl.enqueue_copy(self._link, row, values, is_blocking=False, wait_for=[ready])
            self._link.flush()
            return event
        count = dtype.itemsize * row.size
        first, last = self._room(count)
        while not last and len(self._used) >= AWAY:
            self._end()  # or the rows on their way would be memory without a limit
        piece = self._memory[first : first + count] if last else np.empty(count, np.uint8)
        piece = piece.view(dtype)
        event = cl.enqueue_copy(self._link, piece, values, is_blocking=False, wait_for=[ready])
        self._link.flush()
        self._rows.append(_Row(event, piece, row))
        self._used.append(_Place(first, last, self._copies))
        if sum(each.target.size for each in self._rows) >= _PART:
            self._share()
        return event

    def _room(self, count: int) -> tuple[int, int]:
        """Return the first and the last byte, plus one, of free memory; 0, 0 if there is none."""
        count = -(-count // _ALIGNED) * _ALIGNED
        if count > self._memory.size:
            return 0, 0
        first = self._next if self._next + count <= self._memory.size else 0
        last = self._next = first + count
        while any(first < each.last and each.first < last for each in self._used):
            self._end()
        return first, last

    def _share(self) -> None:
        """Let threads copy the rows that have been taken since the last time."""
        rows, copies = self._rows, self._copies
        self._rows, self._copies = [], []

        def place(some: list[_Row]) -> None:
            for event, values, target in some:
                event.wait()
                self._place(values, target)

        if len(rows) > 1:
            copies.append(threads().submit(place, rows))
            return
        for event, values, target in rows:
            for start in range(0, target.size, _PART):
                part = slice(start, start + _PART)
                copies.append(threads().submit(place, [_Row(event, values[part], target[part])]))

    def _end(self) -> None:
        """Wait for the copies of the first row, and raise their error."""
        place = self._used.popleft()
        if place.copies is self._copies:
            self._share()
        for copy in place.copies:
            copy.result()

    def finish(self) -> None:
        """Wait for all rows, and leave the memory to others."""
        try:
            self._share()
            self._link.finish()
        finally:
            wait([copy for each in self._used for copy in each.copies])
        memory = self.__dict__.pop("_memory", None)
        if memory is not None and memory.size:
            _idle[self._link.context] = memory
        while self._used:
            self._end()
