"""Copies of large matrices between the host and a device with memory of its own.

A blocking copy of a matrix into new memory of the host reaches 4 GB/s, for three reasons: the
driver copies through a small buffer of its own, one thread at a time, and the system clears each
page at its first use. Here a matrix moves in pieces, through memory that the device reads and
writes itself (*pinned*)::

    device matrix --link--> [piece][piece][piece] --threads--> rows of the answer
                                 pinned memory

The main thread enqueues the copies of the link and waits for them in their order. Other threads
copy finished pieces into the rows, and convert them to the type of the answer: to send narrow
values and to widen them on the host takes as long as to send wide values, because both are bounded
by the writes to the memory of the host, and the device needs no memory for the wide ones.

Measured on 16 cores with a link of 55 GB/s: threads write 47 GB/s into memory in use and 22 GB/s
into new memory. So the pages of an answer are cleared by `Stage.expect`, while kernels run.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from functools import cache

import numpy as np
import pyopencl as cl

from pyapsp.host import cores, threads
from pyapsp.kernels.mapped import pinned

__all__ = ["Place", "Stage", "stage", "suits"]

#: Copies a piece into rows, or part of one row, of an array: ``place(piece, target)``. The piece
#: may have more columns than the target.
Place = Callable[[np.ndarray, np.ndarray], object]
#: Writes rows first to last - 1 of a matrix: ``fill(first, last, piece)``.
Fill = Callable[[int, int, np.ndarray], object]

# A copy of fewer bytes is faster without pieces.
_LARGE = 2**22
# Bytes of pinned memory of a device, and the largest and smallest piece. A piece is smaller if
# there would be less than two for each thread.
_PINNED, _PIECE, _LEAST = 2**26, 2**21, 2**18
# Pieces begin at multiples of this many bytes.
_ALIGNED = 128
# Bytes of new memory that a thread touches at a time, and the smallest page of any system.
_STRETCH, _PAGE = 2**21, 2**12


def suits(device: cl.Device, count: int) -> bool:
    """Return whether a copy of this many bytes should go in pieces."""
    shares = device.type & cl.device_type.CPU or device.host_unified_memory
    return not shares and count >= _LARGE


@cache
def stage(context: cl.Context) -> Stage:
    """Return the stage of a context, which is made at the first call."""
    return Stage(context)


class Stage:
    """The pinned memory of a device, and the copies through it; one at a time.

    Parameters
    ----------
    context : pyopencl.Context
        Of one device.
    """

    def __init__(self, context: cl.Context) -> None:
        # the array keeps its mapping alive
        self._memory, _ = pinned(cl.CommandQueue(context), _PINNED, np.dtype(np.uint8))
        self._copying, self._expecting = threading.Lock(), threading.Lock()
        self._enough, self._touching = threading.Event(), list[Future[None]]()

    def expect(self, array: np.ndarray) -> None:
        """Touch the pages of a new array in other threads, until `fetch` or `forget` is called.

        Its content is lost. Nothing may write to it before one of these has ended this.
        """
        if isinstance(array, np.memmap) or not array.flags.c_contiguous:
            return
        memory, enough = array.reshape(-1).view(np.uint8), threading.Event()
        starts = iter(range(0, memory.size, _STRETCH))

        def touch() -> None:
            for start in starts:  # threads may share the iterator of a range
                if enough.is_set():
                    return
                memory[start : start + _STRETCH : _PAGE].fill(0)

        with self._expecting:
            self._end()
            self._enough = enough
            self._touching = [threads().submit(touch) for _ in range(max(cores() // 2, 1))]

    def forget(self) -> None:
        """End the work of `expect`, and wait for it."""
        with self._expecting:
            self._end()

    def _end(self) -> None:
        self._enough.set()
        wait(self._touching)
        self._touching = []

    def fetch(
        self,
        queue: cl.CommandQueue,
        matrix: cl.Buffer,
        dtype: np.dtype,
        columns: int,
        rows: np.ndarray,
        place: Place,
        *,
        whole: bool = False,
    ) -> None:
        """Copy the first rows of a matrix of the device to the host.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
            Its earlier commands end first.
        matrix : pyopencl.Buffer
        dtype : numpy.dtype
            The type of its values.
        columns : int
            The number of values in a row of the matrix.
        rows : (k, n) ndarray
            Where `place` puts them.
        place : callable
            Other threads call it, at the same time for different rows.
        whole : bool
            Whether a piece must be whole rows. Otherwise it may be a part of a row that is longer
            than a piece.
        """
        self.forget()
        height, width = rows.shape
        with self._copying:
            size, slots = self._slots(dtype.itemsize * columns, height, whole=whole)
            busy: list[Future[object] | None] = [None] * len(slots)
            coming: deque[tuple[cl.Event, int, np.ndarray, np.ndarray]] = deque()

            def land() -> None:
                event, slot, piece, target = coming.popleft()
                event.wait()
                busy[slot] = threads().submit(place, piece, target)

            try:
                turns = itertools.cycle(range(len(slots)))
                for some, part in _parts(height, width, columns, size // dtype.itemsize):
                    slot, target = next(turns), rows[some, part]
                    if (done := busy[slot]) is not None:
                        done.result()
                    across = columns if target.shape[1] == width else target.shape[1]
                    piece = _shaped(slots[slot], dtype, (len(target), across))
                    start = dtype.itemsize * (some.start * columns + part.start)
                    event = cl.enqueue_copy(
                        queue, piece, matrix, src_offset=start, is_blocking=False
                    )
                    queue.flush()
                    coming.append((event, slot, piece, target))
                    if 2 * len(coming) > len(slots):
                        land()
                while coming:
                    land()
                for each in busy:
                    if each is not None:
                        each.result()
            finally:
                # after an error, nothing may use the pieces or the rows any more
                wait([each for each in busy if each is not None])
                queue.finish()

    def send(
        self,
        queue: cl.CommandQueue,
        matrix: cl.Buffer,
        dtype: np.dtype,
        shape: tuple[int, int],
        fill: Fill,
    ) -> None:
        """Write the first rows of a matrix of the device.

        Parameters
        ----------
        queue, matrix, dtype
            As for `fetch`.
        shape : tuple of int
            The number of rows to write, and the values in a row of the matrix.
        fill : callable
            Other threads call it, at the same time for different rows. The piece has all columns.
        """
        height, columns = shape
        row = dtype.itemsize * columns
        with self._copying:
            size, slots = self._slots(row, height, whole=True)
            filling: deque[tuple[Future[object], int, np.ndarray]] = deque()

            def push() -> cl.Event:
                done, first, piece = filling.popleft()
                done.result()
                event = cl.enqueue_copy(
                    queue, matrix, piece, dst_offset=row * first, is_blocking=False
                )
                queue.flush()
                return event

            try:
                turns = itertools.cycle(slots)
                for some, _ in _parts(height, columns, columns, size // dtype.itemsize):
                    if len(filling) == len(slots):
                        push().wait()
                    piece = _shaped(next(turns), dtype, (some.stop - some.start, columns))
                    done = threads().submit(fill, some.start, some.stop, piece)
                    filling.append((done, some.start, piece))
                while filling:
                    push()
            finally:
                wait([done for done, *_ in filling])
                queue.finish()

    def _slots(self, row: int, height: int, *, whole: bool) -> tuple[int, list[np.ndarray]]:
        """Return the bytes of a piece of rows of `row` bytes, and the memory of as many as fit."""
        size = min(max(row * height // (2 * cores()), _LEAST), _PIECE)
        size = -(-max(size, row if whole else 0) // _ALIGNED) * _ALIGNED
        count = len(self._memory) // size
        return size, [self._memory[slot * size : (slot + 1) * size] for slot in range(count)]


def _shaped(memory: np.ndarray, dtype: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    """Return the first bytes of a piece as an array."""
    return memory[: dtype.itemsize * shape[0] * shape[1]].view(dtype).reshape(shape)


def _parts(height: int, width: int, columns: int, most: int) -> Iterator[tuple[slice, slice]]:
    """Cut rows into parts of at most `most` values: several rows each, or ranges of one row."""
    if columns <= most:
        each = most // columns
        for first in range(0, height, each):
            yield slice(first, min(first + each, height)), slice(0, width)
        return
    for row in range(height):
        for low in range(0, width, most):
            yield slice(row, row + 1), slice(low, min(low + most, width))
