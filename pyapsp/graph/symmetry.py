"""Whether each arc of a graph has its reverse, of the same weight; the rows with both."""

from __future__ import annotations

import secrets

import numpy as np
import scipy
from numpy.typing import NDArray

from pyapsp.graph.rows import narrow, placed, sorted_rows, tails_of, transposed
from pyapsp.graph.validation import Span

__all__ = ["is_symmetric", "union"]

# Arcs of a block, for which temporary arrays stay small.
_BLOCK = 2**19
# Up to this number of arcs, the transpose takes less time than random vectors.
_FEW = 2**16
# The difference of two integers below it is an int64, even if 1 is added.
_LARGE = 2**62


def is_symmetric(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: np.ndarray | None
) -> bool:
    """Return whether a matrix of weights equals its transpose.

    Let W be the matrix, with the bits of each weight as an integer, and a and b random vectors of n
    integers. All arithmetic is modulo 2^64. If W is symmetric, the number a W b - b W a is 0. If W
    is not, this number is 0 with a probability below 2^-40, and below 2^-57 without weights,
    because a and b are drawn anew for each call. Two products of a matrix and a vector take a fifth
    of the time of a transposition, unless the matrix is small: then it is compared with its
    transpose.

    Source: R. Freivalds, probabilistic machines can use less running time, IFIP Congress 1977.

    Parameters
    ----------
    indptr : (n + 1,) int64 ndarray
    indices : (m,) int32 ndarray
        Heads, in increasing order in each row.
    weights : (m,) int64, float32 or float64 ndarray, optional
        None: all weights are equal.
    """
    n = indptr.size - 1
    if indices.size <= _FEW:
        values = np.zeros(indices.size, np.int8) if weights is None else weights
        starts, heads, back = transposed(indptr, indices, values)
        alike = (starts == indptr).all() and (heads == indices).all()
        return bool(alike and (weights is None or (back == weights).all()))
    drawn = np.random.default_rng(secrets.randbits(128))
    a, b = drawn.integers(-(2**63), 2**63, (2, n), np.int64)
    key = drawn.integers(-(2**63), 2**63, dtype=np.int64)
    longest = int(np.diff(indptr).max(initial=0))
    ones = np.ones(max(min(_BLOCK, indices.size), longest) if weights is None else 0, np.int64)
    difference, low = 0, 0
    while low < n:
        # rows with at most _BLOCK arcs, or one row
        limit = indptr[low] + _BLOCK
        high = max(int(np.searchsorted(indptr, limit, side="right")) - 1, low + 1)
        arcs = slice(int(indptr[low]), int(indptr[high]))
        count = arcs.stop - arcs.start
        values = ones[:count] if weights is None else _bits(weights[arcs], key)
        # NumPy's integers wrap around
        starts = (indptr[low : high + 1] - arcs.start).astype(np.int32)
        rows = scipy.sparse.csr_array((values, indices[arcs], starts), shape=(high - low, n))
        difference += int(np.dot(a[low:high], rows @ b)) - int(np.dot(b[low:high], rows @ a))
        low = high
    return difference % 2**64 == 0


def union(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: np.ndarray,
    spread: Span,
) -> tuple[NDArray[np.int64], NDArray[np.int32], np.ndarray]:
    """Return the rows of a matrix and its transpose, with the smaller one of two weights.

    SciPy merges rows, in a quarter of the time of a sort of all arcs. But it takes a missing weight
    as 0. So it looks for the largest of the numbers (1 + greatest weight - weight), which are
    above 0. If such numbers may be rounded or overflow, all arcs are sorted.

    Parameters
    ----------
    indptr, indices, weights
        As for `is_symmetric`.
    spread : tuple
        The smallest and the largest weight.

    Returns
    -------
    tuple of ndarray
        Row pointers, heads and weights, in new arrays.
    """
    n, (least, most) = indptr.size - 1, spread
    above: np.ndarray
    if alike := least == most:
        above = np.ones(indices.size, np.int8)
    elif weights.dtype.kind == "i" and least > -_LARGE and most < _LARGE:
        above = most + 1 - weights
    else:
        starts, heads, back = transposed(indptr, indices, weights)
        places = placed(n, (tails_of(indptr), indices), (tails_of(starts), heads))
        return sorted_rows(n, places, np.concatenate([weights, back]), spread, in_runs=True)
    rows = scipy.sparse.csr_array((above, indices, narrow(indptr)), shape=(n, n))
    found = rows.maximum(rows.T.tocsr())
    smaller = np.full(found.nnz, most, weights.dtype) if alike else most + 1 - found.data
    return found.indptr.astype(np.int64), found.indices.astype(np.int32), smaller


def _bits(weights: np.ndarray, key: np.int64) -> NDArray[np.int64]:
    """Return an integer for each weight; they are equal only if the weights are.

    None is 0, which is no arc, but with a probability of 2^-64 for each weight: the key is random.
    Two weights may differ in their highest bits only. Then products modulo 2^64 would differ in few
    bits. So the high bits are also added to the low ones.
    """
    wide = weights.astype(np.int64 if weights.dtype.kind == "i" else np.float64)
    np.add(wide, 0, out=wide)  # -0.0 equals 0.0
    bits = wide.view(np.uint64)
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    return bits.view(np.int64) ^ key
