"""Where a rank stores its rows: in its memory, in one file of all ranks, or in its own file."""

from __future__ import annotations

import sys

import numpy as np

from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.base.errors import DeviceMemoryError
from pyapsp.base.host import available_memory, flush
from pyapsp.paths import AllPairsOptions

__all__ = ["Answers"]

# The part of the free memory that rows may use.
_PART = 0.8


class Answers:
    """The rows of a rank, in its memory. Subclasses write them to files.

    Parameters
    ----------
    n : int
    options : AllPairsOptions
        As asked for: dtype, predecessors, sources and cutoff.
    """

    # Bytes of rows that are taken at once.
    _copied = sys.maxsize

    def __init__(self, n: int, options: AllPairsOptions) -> None:
        self.n, self.options = n, options
        self.sources = options.rows(n)
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]] = []

    # -- matrices ----------------------------------------------------------------------------

    def room(self, first: int, last: int, neighbours: int) -> np.ndarray:
        """Return an array for rows of the matrix: in memory, or in a file if that is too small.

        The memory must also hold their predecessors, if they are asked for.

        Parameters
        ----------
        first, last : int
        neighbours : int
            The ranks that share the memory of this host.

        Raises
        ------
        DeviceMemoryError
            If the memory is too small, and there is no file that the rows could be in.
        """
        shape, dtype = (last - first, self.n), self.options.dtype
        value = dtype.itemsize + 4 * self.options.predecessors
        needed, free = shape[0] * shape[1] * value, available_memory()
        if free is None or needed <= _PART * free / neighbours:
            return np.empty(shape, dtype)
        mapped = self._mapped(first, last) if self.options.sources is None else None
        if mapped is None:
            hint = "the host cannot hold the rows of this rank: write to a file, or take more hosts"
            raise DeviceMemoryError(needed, int(_PART * free / neighbours), hint)
        return mapped

    def room_before(self, matrix: Matrix) -> np.ndarray:
        """Return an array for the predecessors of the rows of a matrix."""
        if matrix.on_disk:
            mapped = self._mapped(matrix.first, matrix.last, predecessors=True)
            if mapped is not None:
                return mapped
        return np.empty(matrix.array.shape, np.int32)

    def take(self, matrix: Matrix, before: np.ndarray | None) -> None:
        """Take the rows of the sources that this rank has."""
        options, whole = self.options, self.options.sources is None
        mine = (self.sources >= matrix.first) & (self.sources < matrix.last)
        places = np.flatnonzero(mine)
        count = max(1, self._copied // max(1, self.n * matrix.dtype.itemsize))
        if whole and matrix.on_disk:
            for first, rows in matrix.rows(count) if options.cutoff is not None else ():
                last = first + len(rows)
                tails = None if before is None else before[first - matrix.first :][: len(rows)]
                options.hide(rows, tails)
                matrix.write(first, last, rows)
            matrix.flush()
            flush(matrix.array, before)
            self._in_place(matrix.first, matrix.last)
            return
        for start in range(0, places.size, count):
            some = places[start : start + count]
            numbers = self.sources[some] - matrix.first
            rows_of = slice(numbers[0], numbers[-1] + 1) if whole else numbers
            distances = matrix.array[rows_of]
            tails = None if before is None else before[rows_of]
            options.hide(distances, tails)
            self.put(some, distances, tails)

    # -- rows --------------------------------------------------------------------------------

    def put(self, places: np.ndarray, rows: np.ndarray, before: np.ndarray | None) -> None:
        """Take rows of the answer.

        Parameters
        ----------
        places : (k,) int64 ndarray
            Their numbers in the answer.
        rows : (k, n) ndarray
            Used further.
        before : (k, n) int32 ndarray or None
        """
        self._parts.append((places, rows, before))

    def result(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Return distances, predecessors and the places of these rows, in order."""
        if not self._parts:
            empty = np.empty((0, self.n), self.options.dtype)
            before = np.empty((0, self.n), np.int32) if self.options.predecessors else None
            return empty, before, np.empty(0, np.int64)
        parts = sorted(self._parts, key=lambda each: int(each[0][0]))
        places = np.concatenate([each[0] for each in parts])
        tails = [each[2] for each in parts if each[2] is not None]
        return _joined([each[1] for each in parts]), _joined(tails) if tails else None, places

    def _mapped(self, first: int, last: int, *, predecessors: bool = False) -> np.ndarray | None:
        """Return rows of the file; None if there is none."""
        return None

    def _in_place(self, first: int, last: int) -> None:
        """Note that rows were computed in the file."""


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
