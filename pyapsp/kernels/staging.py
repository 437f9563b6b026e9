"""Copies of large matrices between the host and a device with memory of its own.

A blocking copy of a matrix into new memory of the host reaches 4 GB/s, for three reasons: the
driver copies through a small buffer of its own, one thread at a time, and the system clears each
page at its first use. Here a matrix moves in pieces, through memory that the device reads and
writes itself (*pinned*)::

    device matrix --link--> [piece][piece][piece] --threads--> rows of the answer
                                 pinned memory

Each thread takes the next piece, starts its way through the link, and meanwhile copies its last
one into the rows, converted to the type of the answer: to send narrow values and to widen them on
the host takes as long as to send wide values, because both are bounded by the writes to the memory
of the host, and the device needs no memory for the wide ones. Threads share only the list of
pieces: with one thread for the link and a queue of tasks for the others, each hand-over waited for
the interpreter's lock, and pieces of 2 MiB came at 15 GB/s.

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

# Arrays of fewer bytes are copied faster without pieces: up to there, memory that was used before
# is used again, and its pages need no clearing.
_LARGE = 2**24
# Pieces of a thread, one that it copies and one that is on its way, and bytes of a piece on the
# host. Each piece takes a thread some 0.15 ms of the interpreter's lock, so that small pieces cost
# more than the copies; few pieces leave threads without work. Arrays of at least _HUGE bytes whose
# values are converted have pieces of twice the size: 1 GiB of uint16 became 2 GiB of float64 in
# 289, 154, 82 and 45 ms with pieces of 1, 2, 4 and 8 MiB, but 32 MiB came slower with 8 MiB.
_AHEAD, _PIECE, _HUGE = 2, 2**22, 2**27
# The largest number of threads that only copy. More compete for the lock: 64 MiB came through 4, 8
# and 16 threads with 18, 21 and 18 GB/s, 512 MiB with 22, 29 and 25. Threads that convert are as
# many as there are cores, if each has some pieces.
_COPYING = 8
# Bytes of pinned memory of a device, at most.
_PINNED = 2**27
# Pieces begin at multiples of this many bytes.
_ALIGNED = 128
# Bytes of new memory that a thread touches at a time, and the smallest page of any system.
_STRETCH, _PAGE = 2**21, 2**12


def suits(device: cl.Device, count: int) -> bool:
    """Return whether an array of the host of this many bytes is copied in pieces."""
    shares = device.type & cl.device_type.CPU or device.host_unified_memory
    return not shares and count >= _LARGE


_making = threading.Lock()


def stage(context: cl.Context) -> Stage:
    """Return the stage of a context, which is made at the first call and kept."""
    with _making:  # what one stage expects, another one could not end
        return _made(context)


@cache
def _made(context: cl.Context) -> Stage:
    return Stage(context)


class Stage:
    """The pinned memory of a device, and the copies through it; one at a time.

    Parameters
    ----------
    context : pyopencl.Context
        Of one device.
    """

    def __init__(self, context: cl.Context) -> None:
        self._queue, self._memory = cl.CommandQueue(context), np.empty(0, np.uint8)
        self._copying, self._expecting = threading.Lock(), threading.Lock()
        self._enough, self._touching = threading.Event(), list[Future[None]]()

    def expect(self, *arrays: np.ndarray) -> None:
        """Touch the pages of new arrays in other threads, until `fetch` or `forget` is called.

        Their content is lost. Nothing may write to them before one of these has ended this.
        """
        enough, stretches = threading.Event(), list[np.ndarray]()
        for array in arrays:
            if not isinstance(array, np.memmap) and array.flags.c_contiguous:
                memory = array.reshape(-1).view(np.uint8)
                starts = range(0, memory.size, _STRETCH)
                stretches += [memory[start : start + _STRETCH : _PAGE] for start in starts]
        rest = iter(stretches)  # threads may share the iterator of a list

        def touch() -> None:
            for stretch in rest:
                if enough.is_set():
                    return
                stretch.fill(0)

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
        for each in self._touching:
            each.cancel()  # it may wait behind the copies of another run
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
            Threads call it, at the same time for different rows.
        whole : bool
            Whether a piece must be whole rows. Otherwise it may be a part of a row that is longer
            than a piece.
        """
        self.forget()
        height, width = rows.shape
        wider = max(dtype.itemsize, rows.itemsize) / dtype.itemsize
        count = int(wider * dtype.itemsize * columns * height)
        converts = rows.dtype != dtype
        piece = (2 if converts and count >= _HUGE else 1) * _PIECE
        size = _size(int(piece / wider), dtype.itemsize * columns if whole else 0)
        parts = _parts(height, width, columns, size // dtype.itemsize)
        lock = threading.Lock()

        def bring(slots: list[np.ndarray], stopped: threading.Event) -> None:
            def start(slot: np.ndarray) -> tuple[cl.Event, np.ndarray, np.ndarray] | None:
                with lock:
                    if stopped.is_set() or (some := next(parts, None)) is None:
                        return None
                    target = rows[some]
                    across = columns if target.shape[1] == width else target.shape[1]
                    piece = _shaped(slot, dtype, (len(target), across))
                    first = dtype.itemsize * (some[0].start * columns + some[1].start)
                    event = cl.enqueue_copy(
                        queue, piece, matrix, src_offset=first, is_blocking=False
                    )
                    queue.flush()
                return event, piece, target

            turns = itertools.cycle(slots)
            coming = start(next(turns))
            while coming is not None:
                event, piece, target = coming
                coming = start(next(turns))  # it comes while this one is placed
                event.wait()
                place(piece, target)

        most = min(count // (_AHEAD * piece), cores() if converts else _COPYING)
        self._together(queue, size, most, bring)

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
            Threads call it, at the same time for different rows. The piece has all columns.
        """
        height, columns = shape
        row = dtype.itemsize * columns
        size = _size(_PIECE, row)
        parts = _parts(height, columns, columns, size // dtype.itemsize)
        lock = threading.Lock()

        def take(slots: list[np.ndarray], stopped: threading.Event) -> None:
            going: deque[cl.Event] = deque()
            for slot in itertools.cycle(slots):
                with lock:
                    some = None if stopped.is_set() else next(parts, None)
                if some is None:
                    for event in going:
                        event.wait()  # its destructor waits with the interpreter's lock
                    return
                if len(going) == len(slots):
                    going.popleft().wait()
                first, last = some[0].start, some[0].stop
                piece = _shaped(slot, dtype, (last - first, columns))
                fill(first, last, piece)
                with lock:
                    event = cl.enqueue_copy(
                        queue, matrix, piece, dst_offset=row * first, is_blocking=False
                    )
                    queue.flush()
                going.append(event)

        self._together(queue, size, min(row * height // (_AHEAD * size), _COPYING), take)

    def _together(
        self,
        queue: cl.CommandQueue,
        size: int,
        most: int,
        work: Callable[[list[np.ndarray], threading.Event], None],
    ) -> None:
        """Let at most so many threads work, each with pieces of its own; wait for them."""
        assert _AHEAD * size <= _PINNED, "a row is longer than the pinned memory"
        workers = max(min(most, cores(), _PINNED // (_AHEAD * size)), 1)
        stopped = threading.Event()

        def run(number: int, slots: list[np.ndarray]) -> None:
            try:
                work(slots[number : number + _AHEAD * workers : workers], stopped)
            except BaseException:
                stopped.set()
                raise

        with self._copying:
            slots = self._slots(size, _AHEAD * workers)
            done = []
            try:
                for number in range(workers):
                    done.append(threads().submit(run, number, slots))
                wait(done)
            finally:
                # after an interruption, nothing may use the pieces or the rows any more
                stopped.set()
                wait(done)
                queue.finish()
        for each in done:
            each.result()

    def _slots(self, size: int, count: int) -> list[np.ndarray]:
        """Return pieces of the pinned memory, which grows if it is too small."""
        if self._memory.size < size * count:
            # the array keeps its mapping alive
            self._memory, _ = pinned(self._queue, size * count, np.dtype(np.uint8))
        return [self._memory[start : start + size] for start in range(0, size * count, size)]


def _size(piece: int, row: int) -> int:
    """Return the bytes of a piece; `row` is the bytes of a row, if a row must not be divided."""
    return -(-max(piece, row) // _ALIGNED) * _ALIGNED


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
