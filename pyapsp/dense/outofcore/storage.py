"""The matrix of distances in host memory or in a file, read and written by ranges of rows.

The matrix may be far larger than memory. Pages of a mapped file that are touched count as memory
of the process, and a full disk shows as a signal that kills it. So the file behind a mapping is
read and written through a descriptor of its own. Linux keeps both views equal, because both are
the page cache.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from io import FileIO
from itertools import pairwise
from typing import Any

import numpy as np

from pyapsp.errors import DiskSpaceError, ParameterError
from pyapsp.graph import Graph
from pyapsp.precision import check_weights, infinity

__all__ = ["THREADS", "Matrix", "disk_space", "fill", "transfer"]

# Threads that copy; more than this do not copy faster.
THREADS = min(8, len(os.sched_getaffinity(0)))
# Bytes that are worth a thread of their own.
_PART = 2**22
# Bytes on which an update works at a time, so that they stay in the cache.
_CHUNK = 2**20
# Bytes of rows that `fill` prepares at a time.
_BLOCK = 2**24
# Buffers in one call of preadv or pwritev: IOV_MAX of Linux.
_BUFFERS = 1024


@contextmanager
def disk_space(path: str | os.PathLike[str], needed: int, hint: str) -> Iterator[None]:
    """Turn "no space left" and "quota exceeded" into a `DiskSpaceError`.

    Parameters
    ----------
    path : path-like
        A file or folder on the disk.
    needed : int
        Bytes that are about to be written.
    hint : str
        What to do about it.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, DiskSpaceError) or error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskSpaceError(needed, shutil.disk_usage(path).free, hint) from error


def transfer(
    operation: Callable[[int, Any, int], int], file: FileIO, offset: int, rows: np.ndarray
) -> None:
    """Move rows that are neighbours in a file and need not be so in memory.

    Parameters
    ----------
    operation : callable
        `os.preadv` or `os.pwritev`.
    file : FileIO
    offset : int
        Of the first row in the file, in bytes.
    rows : (k, w) ndarray
        Each row contiguous in memory.

    Raises
    ------
    OSError
        If the operation fails, or the file ends before the last row.
    """
    memory = rows.view(np.uint8)
    if memory.size == 0:
        return
    if memory.flags.c_contiguous:
        memory = memory.reshape(1, -1)
    for first in range(0, len(memory), _BUFFERS):
        buffers = list(memory[first : first + _BUFFERS])
        done = 0
        while done < len(buffers):
            # not more than about 2 GiB at a time, and any less
            count = operation(file.fileno(), buffers[done:], offset)
            if count == 0:
                raise OSError(errno.EIO, "the file ends too early", file.name)
            offset += count
            while done < len(buffers) and count >= buffers[done].size:
                count -= buffers[done].size
                done += 1
            if count:
                buffers[done] = buffers[done][count:]


class Matrix:
    """An n x n array, in memory or mapped from a file, that threads read and write by rows.

    Ranges that do not overlap may be read and written at the same time.

    A `numpy.memmap`, or a view of one, is *on disk* if the file of its name shows what is written
    through the mapping. Otherwise (copy-on-write, a temporary file without a name, a file moved or
    deleted since) the descriptor would reach other data, or none. The mapping is then used as
    plain memory, which is right, and takes the room of plain memory.

    Parameters
    ----------
    array : (n, n) ndarray
        C-contiguous and writeable. Used in place.
    threads : int, optional
        How many copy one large range.

    Attributes
    ----------
    array : ndarray
        As given. Touching it on disk makes its pages resident.
    n : int
    dtype : numpy.dtype
    nbytes : int
    on_disk : bool

    Raises
    ------
    ParameterError
        If the array is not as described.
    """

    def __init__(self, array: np.ndarray, *, threads: int = THREADS) -> None:
        flags = array.flags
        if not (
            array.ndim == 2
            and array.shape[0] == array.shape[1]
            and flags.c_contiguous
            and flags.writeable
        ):
            rule = "a square C-contiguous writeable array"
            raise ParameterError.of("array", "Matrix", rule, array.shape)
        if threads < 1:
            raise ParameterError.of("threads", "Matrix", "at least 1", threads)
        self.array = array
        self.n = len(array)
        self.dtype = array.dtype
        self.nbytes = array.nbytes
        self._row = self.n * self.dtype.itemsize
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)
        self._file, self._offset = _behind(array)

    @property
    def on_disk(self) -> bool:
        """Whether the matrix is a file that is not touched through its mapping."""
        return self._file is not None

    @property
    def filename(self) -> str:
        """The file, of a matrix on disk."""
        assert self._file is not None
        return str(self._file.name)

    def __enter__(self) -> Matrix:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads and close the descriptor; the array stays as it is."""
        self._pool.shutdown()
        if self._file is not None:
            self._file.close()

    def read(self, first: int, last: int, into: np.ndarray, columns: slice = slice(None)) -> None:
        """Copy rows from the matrix.

        Parameters
        ----------
        first, last : int
            Rows first to last - 1.
        into : ndarray
            At least (last - first, width) values of the dtype of the matrix, each row contiguous.
            Its corner is written.
        columns : slice, optional
            Which `width` columns, with step 1; all of them by default.

        Raises
        ------
        ParameterError
            If a range or `into` does not fit.
        OSError
            If the file cannot be read.
        """
        start, into = self._checked("read", first, last, into, columns)

        def copy(some: slice, memory: np.ndarray) -> None:
            if self._file is None:
                memory[...] = self._part(some, start, memory)
            else:
                self._move(os.preadv, some, start, memory)

        self._share(copy, first, into)

    def write(
        self, first: int, last: int, source: np.ndarray, columns: slice = slice(None)
    ) -> None:
        """Copy rows into the matrix: `read` in the other direction.

        Raises
        ------
        ParameterError
            If a range or `source` does not fit.
        DiskSpaceError
            If the file has holes and the disk is full.
        OSError
            If the file cannot be written.
        """
        start, source = self._checked("write", first, last, source, columns)

        def copy(some: slice, memory: np.ndarray) -> None:
            if self._file is None:
                self._part(some, start, memory)[...] = memory
            else:
                self._move(os.pwritev, some, start, memory)

        self._share(copy, first, source)

    def minimum(
        self, first: int, last: int, source: np.ndarray, columns: slice = slice(None)
    ) -> None:
        """Replace rows of the matrix by the minimum of them and `source`, entry by entry.

        Parameters, errors: as `write`.
        """
        start, source = self._checked("minimum", first, last, source, columns)

        def update(some: slice, memory: np.ndarray) -> None:
            if self._file is None:
                before = self._part(some, start, memory)
                np.minimum(before, memory, out=before)
                return
            count = max(1, _CHUNK // (memory.shape[1] * self.dtype.itemsize))
            scratch = np.empty((min(count, len(memory)), memory.shape[1]), self.dtype)
            for begin in range(0, len(memory), count):
                new = memory[begin : begin + count]
                old = scratch[: len(new)]
                rows = slice(some.start + begin, some.start + begin + len(new))
                self._move(os.preadv, rows, start, old)
                np.minimum(old, new, out=old)
                self._move(os.pwritev, rows, start, old)

        self._share(update, first, source)

    def flush(self) -> None:
        """Return when everything written so far would survive a loss of power."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def diagonal(self) -> np.ndarray:
        """Return a copy of the n values on the diagonal."""
        diagonal = np.empty(self.n, self.dtype)
        if self._file is None:
            diagonal[...] = np.diagonal(self.array)
        else:
            for vertex in range(self.n):
                value = diagonal[vertex : vertex + 1].reshape(1, 1)
                self._move(os.preadv, slice(vertex, vertex + 1), vertex, value)
        return diagonal

    def rows(self, count: int) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the number of a row with a copy of it and the next ones, `count` rows at a time."""
        for first in range(0, self.n, count):
            block = np.empty((min(count, self.n - first), self.n), self.dtype)
            self.read(first, first + len(block), block)
            yield first, block

    def _checked(
        self, name: str, first: int, last: int, memory: np.ndarray, columns: slice
    ) -> tuple[int, np.ndarray]:
        """Return the first column and the corner of the memory that takes part."""
        owner = f"Matrix.{name}"
        if not 0 <= first <= last <= self.n:
            rule = f"a range within [0, {self.n})"
            raise ParameterError.of("first, last", owner, rule, (first, last))
        start, stop, step = columns.indices(self.n)
        if step != 1 or stop < start:
            raise ParameterError.of("columns", owner, "a slice with step 1", columns)
        shape = (last - first, stop - start)
        if not (
            memory.ndim == 2
            and memory.dtype == self.dtype
            and memory.shape[0] >= shape[0]
            and memory.shape[1] >= shape[1]
            and (memory.strides[1] == self.dtype.itemsize or memory.size == 0)
        ):
            rule = f"at least {shape} values of {self.dtype}, contiguous within a row"
            given = f"{memory.dtype} {memory.shape}, strides {memory.strides}"
            raise ParameterError.of("into" if name == "read" else "source", owner, rule, given)
        return start, memory[: shape[0], : shape[1]]

    def _part(self, rows: slice, start: int, like: np.ndarray) -> np.ndarray:
        """Return the part of the array in memory."""
        part: np.ndarray = self.array[rows, start : start + like.shape[1]]
        return part

    def _move(
        self,
        operation: Callable[[int, Any, int], int],
        rows: slice,
        start: int,
        memory: np.ndarray,
    ) -> None:
        """Move a part of the file."""
        assert self._file is not None
        offset = self._offset + rows.start * self._row + start * self.dtype.itemsize
        with disk_space(self._file.name, memory.nbytes, "make room for the file of the matrix"):
            if memory.shape[1] == self.n:
                transfer(operation, self._file, offset, memory)
                return
            for number in range(len(memory)):
                place = offset + number * self._row
                transfer(operation, self._file, place, memory[number : number + 1])

    def _share(
        self, work: Callable[[slice, np.ndarray], None], first: int, memory: np.ndarray
    ) -> None:
        """Do the work in parts, of neighbouring rows each, in several threads if it is large."""
        rows = len(memory)
        parts = max(1, min(self._threads, rows, memory.nbytes // _PART))
        bounds = [rows * part // parts for part in range(parts + 1)]
        shares = [
            (slice(first + begin, first + end), memory[begin:end])
            for begin, end in pairwise(bounds)
            if end > begin and memory.size > 0
        ]
        if not shares:
            return
        others = [self._pool.submit(work, *share) for share in shares[1:]]
        try:
            work(*shares[0])
        finally:
            # the caller may free the memory as soon as this returns, with an error or without
            wait(others)
        for other in others:
            other.result()


def fill(matrix: Matrix, graph: Graph, rows: int | None = None) -> None:
    """Write the distances before the first pass, a block of rows at a time.

    The weights, infinity where there is no arc, and on the diagonal 0 or a negative self-loop: what
    `initial_distances` gives.

    Parameters
    ----------
    matrix : Matrix
        Of n rows.
    graph : Graph
        With n vertices.
    rows : int, optional
        Rows in a block; by default about 16 MiB.

    Raises
    ------
    ParameterError
        If the sizes differ.
    PrecisionError
        If the dtype cannot hold a weight.
    DiskSpaceError
        If the disk is full: a new file is all hole, and takes its room only now.
    """
    n = graph.n
    if matrix.n != n:
        raise ParameterError.of("matrix", "fill", f"of {n} rows", matrix.n)
    check_weights(graph, matrix.dtype)
    if rows is None:
        rows = max(1, _BLOCK // max(1, n * matrix.dtype.itemsize))
    buffer = np.empty((min(rows, n), n), matrix.dtype)
    for first in range(0, n, rows):
        last = min(first + rows, n)
        block = buffer[: last - first]
        block[...] = infinity(matrix.dtype)
        arcs = slice(graph.indptr[first], graph.indptr[last])
        tails = np.repeat(np.arange(len(block)), np.diff(graph.indptr[first : last + 1]))
        block[tails, graph.indices[arcs]] = graph.weights[arcs]
        diagonal = np.einsum("ii->i", block[:, first:last])
        np.minimum(diagonal, 0, out=diagonal)
        matrix.write(first, last, block)


def _behind(array: np.ndarray) -> tuple[FileIO | None, int]:
    """Return the file behind a mapped array and the offset of the array in it, or (None, 0)."""
    mapped = array
    while isinstance(mapped.base, np.ndarray):
        mapped = mapped.base
    if not isinstance(mapped, np.memmap) or mapped.filename is None or array.size == 0:
        return None, 0
    # a view has the offset of what it is a view of
    address, origin = (each.__array_interface__["data"][0] for each in (array, mapped))
    offset = mapped.offset + address - origin
    try:
        file = FileIO(mapped.filename, "r+")
    except OSError:
        return None, 0
    # the names of files change: look whether this one shows a byte as the mapping has it
    byte = array.reshape(-1)[:1].view(np.uint8)[:1]
    before = int(byte[0])
    shown = []
    for value in (before ^ 0xFF, before):
        byte[0] = value
        shown.append(os.pread(file.fileno(), 1, offset))
    if shown == [bytes([before ^ 0xFF]), bytes([before])]:
        return file, offset
    file.close()
    return None, 0
