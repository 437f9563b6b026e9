"""The matrix of distances in host memory or in a file, read and written by ranges of rows.

The matrix may be far larger than memory. Accessed pages of a mapped file count as memory of the
process, and a full disk ends the process by a signal. So the file of a mapping is read and written
by a separate file descriptor. On Linux both have the same content, because both use the page cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from itertools import pairwise

import numpy as np

from pyapsp.all_pairs.dense.outofcore.files import file_behind, transfer
from pyapsp.base.errors import ParameterError
from pyapsp.base.files import disk_space
from pyapsp.base.host import cores

__all__ = ["THREADS", "Matrix"]

# Threads that copy, for several devices at once; more than this do not copy faster.
THREADS = min(24, cores())
# Bytes of a copy for each thread.
_PART = 2**22
# Bytes on which an update works at a time, so that they stay in the cache.
_CHUNK = 2**20


class Matrix(AbstractContextManager["Matrix"]):
    """A matrix of n columns, in memory or mapped from a file, that threads read and write by rows.

    It has n rows, or only those from `first` to `last` - 1, which keep their numbers.

    Ranges that do not overlap may be read and written at the same time.

    A `numpy.memmap`, or a view of one, is *on disk* if the file of its name has the values that are
    written through the mapping. Otherwise (copy-on-write, a temporary file without a name, a file
    that was moved or deleted) a file descriptor would have other data or none. Then the mapping is
    used as ordinary memory, and takes as much memory.

    Parameters
    ----------
    array : (n, n) or (k, n) ndarray
        C-contiguous and writeable. Used in place.
    threads : int, optional
        How many copy one large range.
    first : int, optional
        The number of the first row, of an array with only some of the rows. None: it has all.

    Attributes
    ----------
    array : ndarray
        As given. Touching it on disk makes its pages resident.
    n : int
    first, last : int
    dtype : numpy.dtype
    nbytes : int
    on_disk : bool

    Raises
    ------
    ParameterError
        If the array is not as described.
    """

    def __init__(
        self, array: np.ndarray, *, threads: int = THREADS, first: int | None = None
    ) -> None:
        flags = array.flags
        if not (
            array.ndim == 2
            and (first is not None or array.shape[0] == array.shape[1])
            and flags.c_contiguous
            and flags.writeable
        ):
            rule = "a square C-contiguous writeable array"
            raise ParameterError.of("array", "Matrix", rule, array.shape)
        if threads < 1:
            raise ParameterError.of("threads", "Matrix", "at least 1", threads)
        self.array = array
        self.n: int = array.shape[1]
        self.first = 0 if first is None else first
        self.last = self.first + len(array)
        self.dtype = array.dtype
        self.nbytes = array.nbytes
        self._row = self.n * self.dtype.itemsize
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)
        self._file, self._offset = file_behind(array)

    @property
    def on_disk(self) -> bool:
        """Whether the matrix is a file that is not touched through its mapping."""
        return self._file is not None

    @property
    def filename(self) -> str:
        """The file, of a matrix on disk."""
        assert self._file is not None
        return str(self._file.name)

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
        self._copy("read", first, last, into, columns)

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
        self._copy("write", first, last, source, columns)

    def _copy(self, name: str, first: int, last: int, corner: np.ndarray, columns: slice) -> None:
        """Copy rows from the matrix, to "read", or to it."""
        start, corner = self._checked(name, first, last, corner, columns)

        def copy(some: slice, memory: np.ndarray) -> None:
            if self._file is not None:
                self._move(os.preadv if name == "read" else os.pwritev, some, start, memory)
            elif name == "read":
                memory[...] = self._part(some, start, memory)
            else:
                self._part(some, start, memory)[...] = memory

        self._share(copy, first, corner)

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
        """Sync everything written so far, so that it survives a power loss."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def diagonal(self) -> np.ndarray:
        """Return a copy of the values on the diagonal, one of each row."""
        diagonal = np.empty(self.last - self.first, self.dtype)
        if self._file is None:
            diagonal[...] = np.diagonal(self.array, self.first)
        else:
            for vertex in range(self.first, self.last):
                value = diagonal[vertex - self.first :][:1].reshape(1, 1)
                self._move(os.preadv, slice(vertex, vertex + 1), vertex, value)
        return diagonal

    def rows(self, count: int) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the number of a row with it and the next ones, `count` rows at a time.

        They are valid until the next ones: a view of an array in memory, a copy of a file.
        """
        size = min(count, self.last - self.first)
        buffer = np.empty((size, self.n), self.dtype) if self.on_disk else None
        for first in range(self.first, self.last, count):
            last = min(first + count, self.last)
            if buffer is None:
                yield first, self.array[first - self.first : last - self.first]
                continue
            block = buffer[: last - first]
            self.read(first, last, block)
            yield first, block

    def _checked(
        self, name: str, first: int, last: int, memory: np.ndarray, columns: slice
    ) -> tuple[int, np.ndarray]:
        """Return the first column and the corner of the memory that takes part."""
        owner = f"Matrix.{name}"
        if not self.first <= first <= last <= self.last:
            rule = f"a range within [{self.first}, {self.last})"
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
            got = f"{memory.dtype} {memory.shape}, strides {memory.strides}"
            raise ParameterError.of("into" if name == "read" else "source", owner, rule, got)
        return start, memory[: shape[0], : shape[1]]

    def _part(self, rows: slice, start: int, like: np.ndarray) -> np.ndarray:
        """Return the part of the array in memory."""
        own = slice(rows.start - self.first, rows.stop - self.first)
        part: np.ndarray = self.array[own, start : start + like.shape[1]]
        return part

    def _move(
        self,
        operation: Callable[[int, list[memoryview], int], int],
        rows: slice,
        start: int,
        memory: np.ndarray,
    ) -> None:
        """Move a part of the file."""
        assert self._file is not None
        row = rows.start - self.first
        offset = self._offset + row * self._row + start * self.dtype.itemsize
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
