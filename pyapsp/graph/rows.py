"""Arrays of compressed rows: row pointers, tails, and arrays that are read-only."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from pyapsp.graph.validation import Span

__all__ = [
    "distinct",
    "frozen",
    "has_reverse",
    "narrow",
    "placed",
    "places_of",
    "sealed",
    "sorted_rows",
    "starts_among",
    "starts_of",
    "tails_of",
    "transposed",
]

_BLOCK = 2**17  # arcs for which temporary arrays stay in the CPU cache


def places_of(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of ranges with these starts and lengths, one range after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def has_reverse(tails: np.ndarray, heads: np.ndarray, n: int) -> NDArray[np.bool_]:
    """Return for each arc whether its reverse is there, too.

    Parameters
    ----------
    tails, heads : (m,) ndarray of int
    n : int
        More than the largest vertex.
    """
    there = tails.astype(np.int64) * n + heads
    return np.isin(there, heads.astype(np.int64) * n + tails)


def placed(n: int, *arcs: tuple[np.ndarray, np.ndarray]) -> NDArray[np.int64]:
    """Return tail and head of each arc in one number: the tail in the high bits.

    Parameters
    ----------
    n : int
    *arcs : tuple of ndarray
        Tails and heads of some arcs, int32 or int64. All numbers are in one array.
    """
    places = np.empty(sum(tails.size for tails, _ in arcs), np.int64)
    start = 0
    for tails, heads in arcs:
        part = places[start : start + tails.size]
        np.left_shift(tails, n.bit_length(), out=part, dtype=np.int64)
        part |= heads
        start += tails.size
    return places


def sorted_rows(
    n: int,
    places: NDArray[np.int64],
    weights: np.ndarray,
    spread: Span,
    *,
    in_runs: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.int32], np.ndarray]:
    """Return the rows of arcs in any order; of several arcs between two vertices the smallest.

    Parameters
    ----------
    n : int
    places : ndarray, shape (arcs,)
        The arcs as `placed` returns them. It is overwritten: the arcs may take most of the memory.
    weights : ndarray, shape (arcs,)
        If there are fewer, they repeat. If all are equal, only their type is used.
    spread : tuple
        The extremes of the weights.
    in_runs : bool
        Whether the arcs are a few sequences that are sorted: to merge them takes less time.
    """
    kind: Literal["stable"] | None = "stable" if in_runs else None
    bits = n.bit_length()
    alike = spread[0] == spread[1]  # the weights need not follow the arcs
    if not _rise(places):
        if alike:
            places.sort(kind=kind)
        else:
            weights = _sort(places, 2 * bits, weights, spread, kind)
        count = _merge(places, None if alike else weights)
        places = places[:count]
        if not alike:
            weights.resize(count, refcheck=False)  # without a copy
            sealed(weights)
    elif weights.size < places.size and not alike:
        weights = np.resize(weights, places.size)
    ends = np.empty(places.size, np.int32)
    np.bitwise_and(places, (1 << bits) - 1, out=ends, casting="unsafe")
    places >>= bits
    starts = starts_of(places, n)
    del places
    if alike:
        weights = sealed(np.full(ends.size, spread[0], weights.dtype))
    return sealed(starts), sealed(ends), weights


def _sort(
    places: NDArray[np.int64],
    bits: int,
    weights: np.ndarray,
    spread: Span,
    kind: Literal["stable"] | None,
) -> np.ndarray:
    """Sort numbers of so many bits in their array, and return the weights in the same order."""
    if weights.dtype.kind == "i":
        least = int(spread[0])
        low = (int(spread[1]) - least).bit_length()
        if bits + low < 64:
            # with the weight in its low bits, a number takes half of the time of an order
            places <<= low
            repeated = places.reshape(-1, weights.size)
            repeated |= weights - least
            places.sort(kind=kind)
            found = places & ((1 << low) - 1)
            found += least
            places >>= low
            return found
    order = np.argsort(places, kind=kind)
    places[...] = places[order]
    return weights.take(order, mode="wrap")


def _rise(places: NDArray[np.int64]) -> bool:
    """Return whether each number is above the one before it."""
    after = places[1:]
    return all(
        (after[start : start + _BLOCK] > places[:-1][start : start + _BLOCK]).all()
        for start in range(0, after.size, _BLOCK)
    )


def _merge(places: NDArray[np.int64], weights: np.ndarray | None) -> int:
    """Move the distinct of sorted numbers to the front, and the smallest weight of each.

    The return value is how many they are.
    """
    start = count = 0
    while start < places.size:
        stop = places.size
        if stop - start > _BLOCK:  # equal ones are in one block
            stop = int(places.searchsorted(places[start + _BLOCK - 1], side="right"))
        block = places[start:stop]
        firsts = distinct(block).nonzero()[0]
        kept = slice(count, count + firsts.size)
        if weights is not None:
            weights[kept] = np.minimum.reduceat(weights[start:stop], firsts)
        places[kept] = block[firsts]
        start, count = stop, kept.stop
    return count


def distinct(ordered: np.ndarray) -> NDArray[np.bool_]:
    """Return which of sorted numbers are not equal to the one before."""
    first = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def starts_of(tails: np.ndarray, n: int) -> NDArray[np.int64]:
    """Row pointers of arcs that are sorted by tail."""
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=n), out=starts[1:])
    return starts


def starts_among(kept: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row pointers of the arcs that are kept, from those of all arcs."""
    # sums in int64 take ten times as long
    before = np.zeros(kept.size + 1, np.int32 if kept.size < 2**31 else np.int64)
    np.cumsum(kept, dtype=before.dtype, out=before[1:])
    return before[starts].astype(np.int64)


def narrow(starts: NDArray[np.int64]) -> np.ndarray:
    """Return row pointers as int32 if that holds them.

    SciPy would convert the heads to the type of the row pointers.
    """
    return starts.astype(np.int32) if starts[-1] < 2**31 else starts


def transposed(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: np.ndarray
) -> tuple[NDArray[np.int64], NDArray[np.int32], np.ndarray]:
    """Return the rows of the transposed matrix, in new arrays."""
    n = indptr.size - 1
    columns = scipy.sparse.csr_array((weights, indices, narrow(indptr)), shape=(n, n)).tocsc()
    starts = columns.indptr.astype(np.int64, copy=False)
    return starts, columns.indices.astype(np.int32, copy=False), columns.data


def tails_of(indptr: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the tail of each arc."""
    return np.arange(indptr.size - 1, dtype=np.int32).repeat(indptr[1:] - indptr[:-1])


def frozen(array: np.ndarray, copy: bool = True) -> np.ndarray:
    """Return `array` if it is read-only and owns its data, else a read-only copy or view."""
    if not copy and array.flags.c_contiguous:
        return sealed(array.view())
    if array.flags.writeable or array.base is not None or not array.flags.c_contiguous:
        return sealed(array.copy())
    return array


def sealed(array: np.ndarray) -> np.ndarray:
    """Make a new array read-only, so that :func:`frozen` need not copy it."""
    array.flags.writeable = False
    return array
