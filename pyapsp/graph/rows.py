"""Arrays of compressed rows: row pointers, tails, and arrays that are read-only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["frozen", "narrow", "sealed", "sorted_rows", "starts_among", "starts_of", "tails_of"]


def sorted_rows(
    n: int,
    tails: NDArray[np.int64],
    heads: NDArray[np.int64],
    weights: NDArray[Any],
    spread: tuple[Any, Any],
    *,
    in_runs: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Return the rows of arcs in any order; of several arcs between two vertices the smallest.

    Parameters
    ----------
    n : int
    tails, heads, weights : ndarray, shape (arcs,)
    spread : tuple
        The extremes of the weights.
    in_runs : bool
        Whether the arcs are a few sequences that are sorted: to merge them takes less time.
    """
    kind: Any = "stable" if in_runs else None
    # tail and head in one number: the tail in the high bits
    bits = n.bit_length()
    places = tails << bits
    places |= heads
    if not (places[1:] > places[:-1]).all():
        if spread[0] == spread[1]:  # the weights need not follow the arcs
            places.sort(kind=kind)
            places = places[np.flatnonzero(np.diff(places, prepend=-1))]
            weights = np.full(places.size, spread[0], weights.dtype)
        else:
            order = np.argsort(places, kind=kind)
            places, weights = places[order], weights[order]
            firsts = np.flatnonzero(np.diff(places, prepend=-1))
            places, weights = places[firsts], np.minimum.reduceat(weights, firsts)
    ends = (places & ((1 << bits) - 1)).astype(np.int32)
    return starts_of(places >> bits, n), sealed(ends), weights


def starts_of(tails: NDArray[Any], n: int) -> NDArray[np.int64]:
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


def narrow(starts: NDArray[np.int64]) -> NDArray[Any]:
    """Return row pointers as int32 if that holds them.

    SciPy would convert the heads to the type of the row pointers.
    """
    return starts.astype(np.int32) if starts[-1] < 2**31 else starts


def tails_of(indptr: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the tail of each arc."""
    return np.arange(indptr.size - 1, dtype=np.int32).repeat(indptr[1:] - indptr[:-1])


def frozen(array: NDArray[Any], copy: bool = True) -> NDArray[Any]:
    """Return `array` if it is read-only and owns its data, else a read-only copy or view."""
    if not copy and array.flags.c_contiguous:
        return sealed(array.view())
    if array.flags.writeable or array.base is not None or not array.flags.c_contiguous:
        return sealed(array.copy())
    return array


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """Make a new array read-only, so that :func:`frozen` need not copy it."""
    array.flags.writeable = False
    return array
