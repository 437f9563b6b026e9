"""The rows of a rank, and the pivot rows at hand, which may be those of another rank.

Ranks share the rows in order, in whole pivot blocks:

    rank 0   rows     0 .. 2b - 1     blocks 0, 1
    rank 1   rows    2b .. 4b - 1     blocks 2, 3
    ...

So each pivot block is in the rows of one rank, its *owner*, and a file of the matrix has the rows
of a rank in one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pyapsp.all_pairs.dense.outofcore.storage import Matrix

__all__ = ["Band", "shares"]


def shares(n: int, block: int, weights: Sequence[float]) -> list[tuple[int, int]]:
    """Return the rows of each rank, first and one past the last, about in proportion to weights.

    Parameters
    ----------
    n, block : int
        The rows of the matrix and of a pivot block.
    weights : sequence of float
        The speed of each rank.
    """
    blocks, ends, total = -(-n // block), np.cumsum(weights), float(sum(weights))
    bounds = [0, *(round(blocks * float(end) / total) for end in ends)]
    rows = [min(bound * block, n) for bound in bounds]
    return list(pairwise(rows))


class Band:
    """What a `Worker` sees of the matrix on a rank: its own rows, and received pivot rows.

    It has the methods of `Matrix` that a worker uses. Only own rows can be written.

    Parameters
    ----------
    own : Matrix
        The rows of the rank.
    block : int
        The largest number of pivot rows.

    Attributes
    ----------
    n : int
    dtype : numpy.dtype
    own : Matrix
    """

    def __init__(self, own: Matrix, block: int) -> None:
        self.own, self.n, self.dtype = own, own.n, own.dtype
        self._block = min(block, own.n)
        self._received: np.ndarray | None = None
        self._first = 0

    def holds(self, first: int) -> bool:
        """Return whether a row is one of the rank."""
        return self.own.first <= first < self.own.last

    def panel(self, first: int, depth: int) -> np.ndarray:
        """Return the array from which pivot rows are broadcast, or into which they are received."""
        last = min(first + depth, self.n)
        if self.holds(first) and not self.own.on_disk:
            rows: np.ndarray = self.own.array[first - self.own.first : last - self.own.first]
            return rows
        if self._received is None:
            self._received = np.empty((self._block, self.n), self.dtype)
        received = self._received[: last - first]
        if self.holds(first):
            self.own.read(first, last, received)
        self._first = first
        return received

    def read(self, first: int, last: int, into: np.ndarray, columns: slice = slice(None)) -> None:
        """Copy rows of the rank, or received rows."""
        if self.holds(first) or first == last:
            self.own.read(first, last, into, columns)
            return
        assert self._received is not None
        start, stop, _ = columns.indices(self.n)
        rows = self._received[first - self._first : last - self._first, start:stop]
        into[: len(rows), : stop - start] = rows

    def write(
        self, first: int, last: int, source: np.ndarray, columns: slice = slice(None)
    ) -> None:
        """As `Matrix.write`."""
        self.own.write(first, last, source, columns)

    def minimum(
        self, first: int, last: int, source: np.ndarray, columns: slice = slice(None)
    ) -> None:
        """As `Matrix.minimum`."""
        self.own.minimum(first, last, source, columns)
