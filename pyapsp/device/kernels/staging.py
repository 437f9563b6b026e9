"""Copies of large matrices between the host and a device with memory of its own.

A blocking copy of a matrix into new memory of the host reaches 4 GB/s, for three reasons: the
driver copies through a small buffer of its own, one thread at a time, and the system clears each
page at its first use. Here a matrix moves in pieces, through memory that the device reads and
writes itself (*pinned*)::

    device matrix --link--> [piece][piece][piece] --threads--> rows of the answer
                                 pinned memory

First two pieces for each thread are sent on their way. Each thread waits for the next piece, copies
it into the rows, and sends a further one on its way in its place. The copy converts
to the type of the answer: to send narrow values and to widen them on the host takes as long as to
send wide values, because both are bounded by the writes to the memory of the host, and the device
needs no memory for the wide ones. Threads share only the list of pieces: whatever they hand over
waits for the interpreter's lock. When each sent its own pieces from the start, 64 MiB came in 3.1
ms, now in 2.0.

On the way to the device, threads fill the pieces, and the calling thread sends one after the other.
One driver returns from the call that sends a piece when the piece is copied, so that threads which
send wait for each other, and the link for the next of them: 130 MB left in 6.1 ms from 16 threads
that sent what they had filled, in 4.5 ms from 8, and leave in 3.9 ms.

Measured on 16 cores with a link of 55 GB/s: threads write 47 GB/s into memory in use and 22 GB/s
into new memory, whose pages are cleared at their first use (see `pyapsp.paths.landing`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
import pyopencl as cl

from pyapsp.base.host import cores, threads
from pyapsp.device.kernels.mapped import is_pinned, pinned

__all__ = ["Place", "Sent", "Stage", "stage", "suits"]

#: Copies a piece into rows, or part of one row, of an array: ``place(piece, target)``. The piece
#: may have more columns than the target.
Place = Callable[[np.ndarray, np.ndarray], object]
#: Writes rows first to last - 1 of a matrix: ``fill(first, last, piece)``.
Fill = Callable[[int, int, np.ndarray], object]

# Arrays of fewer bytes are copied faster without pieces: up to there, memory that was used before
# is used again, and its pages need no clearing. 4 MiB left in one copy in 0.36 ms, in pieces in
# 0.6; `solve` of 8 MiB took 4.1 ms with copies, 3.2 with pieces.
_LARGE = 2**23
# Bytes of a piece on the host. Each piece takes a thread some 0.15 ms of the interpreter's lock, so
# that small pieces cost more than the copies; few pieces leave threads without work. Arrays of at
# least _HUGE bytes whose values are converted have pieces of twice the size: 1 GiB of uint16 became
# 2 GiB of float64 in 289, 154, 82 and 45 ms with pieces of 1, 2, 4 and 8 MiB, but 32 MiB came
# slower with 8 MiB. An array has at least _LEAST pieces.
_PIECE, _HUGE, _LEAST = 2**22, 2**27, 4
# Pieces for each thread.
_AHEAD = 2
# The largest number of threads that only copy. More compete for the lock: 64 MiB came through 4, 8
# and 16 threads with 18, 21 and 18 GB/s, 512 MiB with 22, 29 and 25, and 130 MB left through 6, 8
# and 12 with 31, 33 and 28. Threads that convert what has come are as many as there are cores, if
# each has some pieces.
_COPYING = 8
# Bytes of pinned memory of a device, at most.
_PINNED = 2**27
# Pieces begin at multiples of this many bytes.
_ALIGNED = 128


class Sent(NamedTuple):
    """Rows that `Stage.send` writes."""

    matrix: cl.Buffer
    dtype: np.dtype  # of the values of the matrix
    shape: tuple[int, int]  # the number of rows to write, and the values in a row of the matrix
    # Threads call it, at the same time for different rows. The piece has all columns.
    fill: Fill
    first_row: int = 0  # the row of the matrix that is row 0 for `fill`

    @property
    def row(self) -> int:
        """The bytes of a row."""
        return self.dtype.itemsize * self.shape[1]

    @property
    def nbytes(self) -> int:
        """The bytes of all rows."""
        return self.row * self.shape[0]


def suits(device: cl.Device, count: int) -> bool:
    """Return whether an array of the host of this many bytes is copied in pieces."""
    if count < _LARGE:
        return False
    return not (device.type & cl.device_type.CPU or device.host_unified_memory)


@cache
def stage(context: cl.Context) -> Stage:
    """Return the stage of a context, which is made at the first call and kept."""
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
        self._copying = threading.Lock()

    @contextmanager
    def fetching(
        self,
        queue: cl.CommandQueue,
        matrices: Sequence[tuple[cl.Buffer, int, np.ndarray]],
        dtype: np.dtype,
        columns: int,
        place: Place,
        *,
        whole: bool = False,
    ) -> Iterator[None]:
        """Copy rows of matrices of the device to the host, during the block.

        At the end of the block this thread helps, and waits for the rest. The block must not use
        the stage.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
            Its earlier commands end first.
        matrices : sequence of (pyopencl.Buffer, int, (k, n) ndarray)
            Matrix, its first row to copy, and the rows where `place` puts the values. All rows have
            one type and one n.
        dtype : numpy.dtype
            The type of the values of the matrices.
        columns : int
            The number of values in a row of a matrix.
        place : callable
            Threads call it, at the same time for different rows.
        whole : bool
            Whether a piece must be whole rows. Otherwise it may be a part of a row that is longer
            than a piece.
        """
        targets = [rows for *_, rows in matrices]
        height, width, answer = sum(map(len, targets)), targets[0].shape[1], targets[0].dtype
        wider = max(dtype.itemsize, answer.itemsize) / dtype.itemsize
        count = int(wider * dtype.itemsize * columns * height)
        converts = answer != dtype
        piece = min((2 if converts and count >= _HUGE else 1) * _PIECE, -(-count // _LEAST))
        size = _size(max(int(piece / wider), 1), dtype.itemsize * columns if whole else 0)
        most = size // dtype.itemsize
        parts = (
            (matrix, first_row, rows, some)
            for matrix, first_row, rows in matrices
            for some in _parts(len(rows), width, columns, most)
        )
        pieces = -(-count // piece)
        coming = deque[tuple[cl.Event, np.ndarray, np.ndarray, np.ndarray]]()
        lock, link = threading.Lock(), self._queue

        def start(slot: np.ndarray) -> None:
            if (part := next(parts, None)) is None:
                return
            matrix, first_row, rows, some = part
            target = rows[some]
            across = columns if columns <= most else target.shape[1]
            piece = _shaped(slot, dtype, (len(target), across))
            first = dtype.itemsize * ((first_row + some[0].start) * columns + some[1].start)
            event = cl.enqueue_copy(link, piece, matrix, src_offset=first, is_blocking=False)
            link.flush()
            coming.append((event, piece, target, slot))

        def bring(stopped: threading.Event) -> None:
            while True:
                with lock:
                    if stopped.is_set() or not coming:
                        return
                    event, piece, target, slot = coming.popleft()
                event.wait()
                place(piece, target)
                with lock:
                    start(slot)

        queue.finish()
        workers = min(cores() if converts else _COPYING, pieces)
        with self._pieces(link, size, min(_AHEAD * workers, pieces)) as slots:
            for slot in slots:
                start(slot)
            with _together(min(workers, len(slots)), bring):
                yield

    @contextmanager
    def bringing(
        self, queue: cl.CommandQueue, matrix: cl.Buffer, rows: np.ndarray
    ) -> Iterator[None]:
        """Copy rows from the begin of a matrix of their type and width, during the block.

        The device writes them if they are pinned; otherwise they come in pieces.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
            Its earlier commands end first.
        matrix : pyopencl.Buffer
        rows : (k, n) ndarray
            C-contiguous.
        """
        queue.finish()
        if is_pinned(queue.context, rows):
            coming = self.copying(matrix, rows)
        else:
            given = queue, [(matrix, 0, rows)], rows.dtype, rows.shape[1]
            coming = self.fetching(*given, lambda piece, target: np.copyto(target, piece))
        with coming:
            yield

    @contextmanager
    def copying(self, matrix: cl.Buffer, rows: np.ndarray) -> Iterator[None]:
        """Copy the begin of a matrix to pinned rows, during the block, without the host's help.

        Parameters
        ----------
        matrix : pyopencl.Buffer
            All commands that write it have ended.
        rows : (k, n) ndarray
            C-contiguous.
        """
        queue = self._queue
        try:
            cl.enqueue_copy(queue, rows, matrix, is_blocking=False)
            queue.flush()
            yield
        finally:
            queue.finish()  # after an error, too, nothing may write to the rows any more

    def send(self, queue: cl.CommandQueue, *sent: Sent) -> None:
        """Write rows of matrices of the device, one matrix after the other without a pause.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
            Its earlier commands end first.
        *sent : Sent
            At least one.
        """
        count = sum(each.nbytes for each in sent)
        most = min(_PIECE, -(-count // _LEAST))
        size = max(_size(most, each.row) for each in sent)
        workers = min(cores(), _COPYING, -(-count // size))
        every = list(_cut(sent, size, workers))
        parts = iter(every)  # threads may share the iterator of a list
        free = SimpleQueue[tuple[np.ndarray, cl.Event | None] | None]()
        filled = SimpleQueue[tuple[Sent, int, np.ndarray, np.ndarray] | None]()

        def fill() -> None:
            try:
                for each, first, last in parts:
                    if (taken := free.get()) is None:
                        return
                    slot, going = taken
                    if going is not None:
                        going.wait()
                    piece = _shaped(slot, each.dtype, (last - first, each.shape[1]))
                    each.fill(first, last, piece)
                    filled.put((each, first, piece, slot))
            except BaseException:
                filled.put(None)
                raise

        done = list[Future[None]]()
        with self._pieces(queue, size, _AHEAD * workers) as slots:
            for slot in slots:
                free.put((slot, None))
            try:
                for _ in range(workers):
                    done.append(threads().submit(fill))
                for _ in range(len(every)):
                    if (ready := filled.get()) is None:
                        break
                    each, first, piece, slot = ready
                    start = each.row * (each.first_row + first)
                    event = cl.enqueue_copy(
                        queue, each.matrix, piece, dst_offset=start, is_blocking=False
                    )
                    queue.flush()
                    free.put((slot, event))
            finally:
                # after an error or an interruption, nothing may use the pieces any more
                every.clear()
                for _ in done:
                    free.put(None)
                wait(done)
        for task in done:
            task.result()

    @contextmanager
    def _pieces(self, queue: cl.CommandQueue, size: int, most: int) -> Iterator[list[np.ndarray]]:
        """Yield at most so many pieces of the pinned memory, which nobody else uses meanwhile."""
        assert size <= _PINNED, "a row is longer than the pinned memory"
        with self._copying:
            try:
                yield self._slots(size, max(min(most, _PINNED // size), 1))
            finally:
                queue.finish()  # after an error, too, nothing may use the pieces any more

    def _slots(self, size: int, count: int) -> list[np.ndarray]:
        """Return pieces of the pinned memory, which grows if it is too small."""
        if self._memory.size < size * count:
            # the array keeps its mapping alive
            self._memory, _ = pinned(self._queue, size * count, np.dtype(np.uint8))
        return [self._memory[start : start + size] for start in range(0, size * count, size)]


@contextmanager
def _together(workers: int, work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Let so many threads work during the block; this thread works at its end.

    Parameters
    ----------
    workers : int
    work : callable
        ``work(stopped)`` returns when nothing is left to begin, or the event is set.
    """
    stopped, done = threading.Event(), list[Future[None]]()

    def run() -> None:
        try:
            work(stopped)
        except BaseException:
            stopped.set()
            raise

    try:
        for _ in range(min(workers, cores()) - 1):
            done.append(threads().submit(run))
        yield
        run()
        wait(done)
    finally:
        # after an interruption, nothing may use the rows any more
        stopped.set()
        wait(done)
    for each in done:
        each.result()


def _size(piece: int, row: int) -> int:
    """Return the bytes of a piece; `row` is the bytes of a row, if a row must not be divided."""
    return -(-max(piece, row) // _ALIGNED) * _ALIGNED


def _shaped(memory: np.ndarray, dtype: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    """Return the first bytes of a piece as an array."""
    return memory[: dtype.itemsize * shape[0] * shape[1]].view(dtype).reshape(shape)


def _cut(sent: Iterable[Sent], size: int, workers: int) -> Iterator[tuple[Sent, int, int]]:
    """Cut rows into pieces of at most so many bytes; yield the first row of each, and the end.

    The first piece of each thread is shorter, and each of another length. So the device need not
    wait for whole pieces, and threads do not enqueue their pieces at the same time.
    """
    number = 0
    for each in sent:
        first, height = 0, each.shape[0]
        while first < height:
            number += 1
            rows = size * min(number, workers) // workers // each.row
            last = min(first + max(rows, 1), height)
            yield each, first, last
            first = last


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
