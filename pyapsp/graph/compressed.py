"""Checks and facts of compressed rows: order of heads, degrees, extremes of weights.

The cores share the work on a large array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError
from pyapsp.base.host import as_type, share
from pyapsp.graph.rows import tails_of
from pyapsp.graph.validation import MAX_VERTICES, Span, array, in_range, square, vertex_count

#: A sparse matrix of any format.
Sparse: TypeAlias = "scipy.sparse.sparray | scipy.sparse.spmatrix"

_T = TypeVar("_T")

__all__ = [
    "SearchRows",
    "Sparse",
    "csr",
    "depth",
    "extremes",
    "in_blocks",
    "most_arcs",
    "rows",
    "search_rows",
    "sparse",
    "squared_arcs",
    "whole",
    "within",
]

_LARGE, _BYTES = 2**21, 8  # values from which several threads share them, and bytes of a value
_FEW = 2**10  # values among which there mostly is a fraction, if there is any
_BLOCK = 2**17  # values of a block that stays in the CPU cache while it is read several times
_SMALL, _DEEP = 2**17, 16  # arcs and levels of a search without SciPy


def sparse(matrix: Sparse) -> tuple[int, NDArray[np.int64] | None]:
    """Check the index arrays of a SciPy sparse matrix of any format.

    SciPy's compiled conversions do not check whether an index is out of range. This function checks
    the same as SciPy's ``check_format(full_check=True)``, but does not change the matrix and does
    not copy the column indices.

    Returns
    -------
    n : int
    starts : (n + 1,) int64 ndarray or None
        The row pointers, if it is a CSR matrix and the columns of each row are strictly increasing.

    Raises
    ------
    GraphError
        The matrix is not square, or its index arrays do not describe a matrix.
    """
    n, starts = square(matrix.shape), None
    if matrix.format == "lil":
        lists = [*matrix.rows, *matrix.data]
        if not all(isinstance(each, list) for each in lists):
            raise GraphError("the rows and entries of a LIL matrix must be lists")
        lengths = list(map(len, lists))
        if lengths[:n] != lengths[n:]:
            raise GraphError("the lists of columns and of entries of a LIL matrix differ in length")
    elif matrix.format in ("csr", "csc", "bsr"):
        starts = _compressed(matrix, n)
    elif matrix.format == "dia":
        offsets, entries = _indices("offsets", matrix.offsets), np.asarray(matrix.data)
        if entries.ndim != 2 or len(entries) != offsets.size:
            raise GraphError(
                f"{offsets.size} offsets do not go with diagonals of shape {entries.shape}"
            )
    return n, starts


def _indices(what: str, array: ArrayLike) -> np.ndarray:
    """Return an index array of a SciPy matrix, of a shape and type that SciPy's loops can read."""
    found = np.asarray(array)
    indexes = isinstance(array, np.ndarray) and found.dtype in (np.int32, np.int64)
    if not indexes or found.ndim != 1:
        raise GraphError(
            f"{what} must be a one-dimensional array of int32 or int64, "
            f"not {found.ndim}-dimensional of {found.dtype}"
        )
    return found


def _compressed(matrix: Sparse, n: int) -> NDArray[np.int64] | None:
    """Check the arrays of a CSR matrix, or of a CSC or BSR one with its own rows and columns.

    The result is the row pointers of a CSR matrix with columns in order, otherwise None.
    """
    starts, places = _indices("indptr", matrix.indptr), _indices("indices", matrix.indices)
    entries = matrix.data
    if not isinstance(entries, np.ndarray):
        raise GraphError(
            f"the entries of the matrix must be an array, not {type(entries).__name__}"
        )
    block = entries.shape[1:]
    if len(entries) != places.size or len(block) != (2 if matrix.format == "bsr" else 0):
        raise GraphError(f"{places.size} indices do not go with entries of shape {entries.shape}")
    count, columns = (n // side for side in block or (1, 1))
    if starts.size != count + 1:
        raise GraphError(f"indptr must have {count + 1} values, not {starts.size}")
    starts = as_type(starts, np.int64)
    if starts[0] != 0 or starts[-1] > places.size or _falls(starts):
        raise GraphError(f"indptr must rise from 0 to at most the number of indices, {places.size}")
    used, fall = places[: starts[-1]], None
    if matrix.format == "csr":
        inside, fall = rows(starts, used, columns)
    else:
        inside = in_range(used, columns)
    if not inside:
        outside = used[(used < 0) | (used >= columns)][0]
        raise GraphError(f"indices must lie in 0..{columns - 1}, and one is {outside}")
    return starts if matrix.format == "csr" and fall is None else None


@dataclass(frozen=True, eq=False)
class SearchRows:
    """The arrays of a matrix for a search: those of a `Graph`, but rows may be in any order."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float64]
    has_negative: ClassVar[bool] = False

    @property
    def n(self) -> int:
        """The number of vertices."""
        return self.indptr.size - 1


def search_rows(matrix: Sparse) -> SearchRows | None:
    """Return the rows of a CSR matrix without a negative weight, for a search for distances.

    Of several arcs between two vertices a search takes the shortest, in any order, and it walks no
    arc of infinite weight. So it needs less than a `Graph`, whose checks take longer than a search
    of few vertices. Arrays of the right types are those of the matrix, but read-only.

    Returns
    -------
    SearchRows or None
        None if `Graph` would refuse the matrix or convert its weights, or there is no arc.
    """
    arrays = matrix.indptr, matrix.indices, matrix.data
    if not all(type(each) is np.ndarray and each.flags.c_contiguous for each in arrays):
        return None
    starts, heads, weights = arrays
    wide = np.int32, np.int64
    if starts.dtype not in wide or heads.dtype not in wide or weights.dtype != np.float64:
        return None
    n, m = starts.size - 1, heads.size
    if matrix.shape != (n, n) or not 0 < n <= MAX_VERTICES or heads.shape != weights.shape or not m:
        return None
    if starts.ndim != 1 or heads.ndim != 1 or starts[0] != 0 or starts[-1] != m or _falls(starts):
        return None

    def fits(start: int, stop: int) -> bool:
        # the minimum of NaN and a number is NaN
        return in_range(heads[start:stop], n) and bool(weights[start:stop].min() >= 0)

    if not all(in_blocks(fits, m)):
        return None
    views = as_type(starts, np.int64).view(), as_type(heads, np.int32).view(), weights.view()
    for view in views:
        view.flags.writeable = False
    return SearchRows(*views)


def _falls(starts: NDArray[np.signedinteger]) -> bool:
    """Return whether a row pointer is below the one before it."""

    def falls_in(start: int, stop: int) -> bool:
        # much faster than `any` for a small array
        return bool(np.count_nonzero(starts[start + 1 : stop + 1] < starts[start:stop]))

    return any(in_blocks(falls_in, starts.size - 1))


def csr(indptr: ArrayLike, indices: ArrayLike, weights_length: int) -> int:
    """Check the pattern of a compressed sparse row matrix and return its n.

    Raises
    ------
    GraphError
        `indptr` does not rise from 0 to the number of arcs, a head is outside 0..n-1, or the
        heads of a row are not strictly increasing.
    """
    starts, heads = array("indptr", indptr), array("indices", indices)
    if starts.ndim != 1 or starts.size == 0 or starts.dtype.kind not in "iu":
        raise GraphError("indptr must be a one-dimensional array of n + 1 integers")
    n = vertex_count(starts.size - 1)
    starts = as_type(starts, np.int64)
    if heads.shape != (weights_length,):
        raise GraphError(f"indices of shape {heads.shape} do not go with {weights_length} weights")
    if starts[0] != 0 or starts[-1] != heads.size or _falls(starts):
        raise GraphError(f"indptr must rise from 0 to the number of arcs, {heads.size}")
    if heads.size and heads.dtype.kind not in "iu":
        raise GraphError(f"indices must be integers, not {heads.dtype}")
    inside, below = rows(starts, heads, n)
    if not inside:
        arc = int(((heads < 0) | (heads >= n)).argmax())
        raise GraphError(
            f"the heads of the arcs must lie in 0..{n - 1}: arc number {arc} has {heads[arc]}"
        )
    if below is not None:
        row = int(np.searchsorted(starts, below, side="right")) - 1
        raise GraphError(
            f"the heads of a row must be strictly increasing: row {row} has {heads[below]} "
            f"after {heads[below - 1]}"
        )
    return n


def rows(starts: NDArray[np.int64], heads: np.ndarray, columns: int) -> tuple[bool, int | None]:
    """Return whether all heads are in range, and the first arc that is out of order in its row.

    Parameters
    ----------
    starts : (n + 1,) int64 ndarray
        Row pointers that rise from 0 to the number of arcs. NumPy would convert those of another
        type at each use as an index.
    heads : ndarray of int
    columns : int

    Returns
    -------
    inside : bool
        Whether all heads lie in [0, columns).
    fall : int or None
        The first arc whose head is not above the one before it in its row.
    """

    def look(start: int, stop: int) -> tuple[bool, int | None]:
        begin = max(start, 1)  # the first arc has none before it
        falls = heads[begin:stop] <= heads[begin - 1 : stop - 1]
        first, last = starts.searchsorted([begin, stop])
        falls[starts[first:last] - begin] = False  # the head may fall where a row begins
        fall = begin + int(falls.argmax()) if np.count_nonzero(falls) else None
        return in_range(heads[start:stop], columns), fall

    found = in_blocks(look, heads.size)
    inside = all(inside for inside, _ in found)
    return inside, next((fall for _, fall in found if fall is not None), None)


def most_arcs(starts: NDArray[np.int64]) -> int:
    """Return the largest number of arcs of a row."""

    def most_in(start: int, stop: int) -> int:
        return int((starts[start + 1 : stop + 1] - starts[start:stop]).max())

    return max(in_blocks(most_in, starts.size - 1))


def squared_arcs(starts: NDArray[np.int64]) -> int:
    """Return the sum of the squares of the numbers of arcs of all rows."""

    def squared_in(start: int, stop: int) -> int:
        part = starts[start + 1 : stop + 1] - starts[start:stop]
        return int(np.dot(part, part))

    return sum(in_blocks(squared_in, starts.size - 1))


def extremes(values: np.ndarray) -> Span:
    """Return the smallest and the largest value; both NaN if a value is; 0 if empty."""
    if values.size == 0:
        zero = values.dtype.type(0)
        return zero, zero

    def ends_of(start: int, stop: int) -> Span:
        part = values[start:stop]
        return part.min(), part.max()

    found = in_blocks(ends_of, values.size)
    if len(found) == 1:
        return found[0]
    return np.min([low for low, _ in found]), np.max([high for _, high in found])


def whole(values: np.ndarray) -> bool:
    """Return whether all floats are whole numbers."""

    def whole_in(start: int, stop: int) -> bool:
        part = values[start:stop]
        return bool(np.count_nonzero(part == np.floor(part)) == part.size)

    if values.size > _FEW and not whole_in(0, _FEW):
        return False
    return all(in_blocks(whole_in, values.size))


def in_blocks(function: Callable[[int, int], _T], size: int) -> list[_T]:
    """Return ``function(start, stop)`` for each block of an array, in order.

    The cores share the blocks of a large array. NumPy lets them run at the same time.
    """
    if 0 < size <= _BLOCK:
        return [function(0, size)]
    starts = range(0, size, _BLOCK)
    found: dict[int, _T] = {}

    def part(first: int, last: int) -> None:
        for block in range(first, last):
            start = starts[block]
            found[block] = function(start, min(start + _BLOCK, size))

    share(part, len(starts), _BYTES * size if size >= _LARGE else 0)
    return [found[block] for block in range(len(starts))]


def depth(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], vertex: int, backwards: bool
) -> tuple[int, int]:
    """Return the depth of a search, and how many vertices it reaches; see `Graph.depth`.

    NumPy takes twice as long as SciPy, but the import of SciPy's module takes as long as a hundred
    searches of a small graph.
    """
    found = _shallow(indptr, indices, vertex, backwards) if indices.size <= _SMALL else None
    if found is not None:
        return found
    n = indptr.size - 1
    arcs = scipy.sparse.csr_array((np.ones(indices.size), indices, indptr), shape=(n, n))
    given = arcs.T.tocsr() if backwards else arcs
    order, before = scipy.sparse.csgraph.breadth_first_order(given, vertex)
    last, levels = order[-1], 0
    while last != vertex:
        last, levels = before[last], levels + 1
    return levels, order.size


def within(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: np.ndarray, cutoff: float
) -> Callable[[int], tuple[int, int]]:
    """Return a search that stops at a distance, with the results of `depth`.

    The depth is the largest distance, which is the number of arcs if all weights are 1.
    """
    lengths = as_type(weights, np.float64)
    n = indptr.size - 1
    given = scipy.sparse.csr_array((lengths, indices, indptr), shape=(n, n))

    def search(vertex: int) -> tuple[int, int]:
        distances = scipy.sparse.csgraph.dijkstra(given, indices=vertex, limit=cutoff)
        near = distances[np.isfinite(distances)]
        return int(near.max()), near.size

    return search


def _shallow(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], vertex: int, backwards: bool
) -> tuple[int, int] | None:
    """Return the result of `depth`, or None if the search has many levels."""
    n, ends = indptr.size - 1, (tails_of(indptr), indices)
    tails, heads = reversed(ends) if backwards else ends
    left = np.ones(n, bool)
    left[vertex] = False
    frontier, new, reached, levels = ~left, 1, 1, 0
    while new and reached < n:
        if levels == _DEEP:
            return None
        frontier_heads = heads.compress(frontier.take(tails))
        frontier = np.zeros(n, bool)
        frontier[frontier_heads] = True
        frontier &= left
        left ^= frontier
        new = int(np.count_nonzero(frontier))
        reached += new
        levels += new > 0
    return levels, reached
