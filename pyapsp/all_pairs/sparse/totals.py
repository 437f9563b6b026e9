"""Sums over rows of distances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from pyapsp.base.errors import ParameterError
from pyapsp.numbers.precision import infinity

__all__ = ["Totals", "bins_of", "gathered", "totals_of"]

# The largest number of bins of a histogram.
_BINS = 2**28


@dataclass(frozen=True)
class Totals:
    """Sums over the finite distances from k sources."""

    # (k,): the largest finite distance from each source, in the type of the distances; at least 0.
    largest: np.ndarray
    # (k,) int64 or float64: the sum of the finite distances; float32 on devices without double.
    total: np.ndarray
    # (k,) int64: the number of vertices that the source reaches, including itself.
    reached: np.ndarray
    # (bins,) int64 or None: the number of distances in each bin, over all sources. Bin 0 includes
    # the sources.
    counts: np.ndarray | None = None


def totals_of(rows: np.ndarray, width: float | None = None) -> Totals:
    """Return the sums over rows of distances, and counts of distances in bins of `width`."""
    reached = rows < infinity(rows.dtype)
    near = np.where(reached, rows, rows.dtype.type(0))
    kind = np.dtype(np.int64 if rows.dtype.kind in "iu" else np.float64)
    counts = None
    if width is not None:
        bins_of(near.max(initial=0), width)
        # same as the kernels: divide and round down, because a remainder may differ by rounding
        finite = near[reached].astype(kind)
        bins = finite // int(width) if kind.kind == "i" else np.floor(finite / width)
        counts = np.bincount(bins.astype(np.int64)).astype(np.int64)
    largest = near.max(axis=1, initial=0)
    with np.errstate(over="ignore"):  # a sum that is too large is inf, as on a device
        total = near.sum(axis=1, dtype=kind)
    return Totals(largest, total, reached.sum(axis=1, dtype=np.int64), counts)


def gathered(blocks: Iterable[tuple[int, Totals]]) -> list[tuple[int, Totals]]:
    """Return blocks in the order of their sources; the first has all counts, which may be large.

    Parameters
    ----------
    blocks : iterable of (int, Totals)
        Each with the place of its first source.
    """
    found: list[tuple[int, Totals]] = []
    counts: np.ndarray | None = None
    for start, totals in blocks:
        if totals.counts is not None:
            counts = totals.counts if counts is None else _added(counts, totals.counts)
            totals = replace(totals, counts=counts[:0])
        found.append((start, totals))
    found.sort(key=itemgetter(0))
    if counts is not None:
        start, totals = found[0]
        found[0] = start, replace(totals, counts=counts)
    return found


def _added(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sum of counts, which may have different numbers of bins."""
    longer, shorter = sorted((one, other), key=len, reverse=True)
    total = longer.copy()
    total[: shorter.size] += shorter
    return total


def bins_of(largest: int | np.generic, width: float) -> int:
    """Return the number of bins of this width up to the largest distance.

    Raises
    ------
    ParameterError
        If there are too many bins.
    """
    whole = np.asarray(largest).dtype.kind in "iu"
    bins = int(largest) // int(width) + 1 if whole else np.floor(float(largest) / width) + 1
    if bins > _BINS:
        rule = f"so wide that {largest} is in one of {_BINS} bins"
        raise ParameterError.of("width", "distance_histogram", rule, np.asarray(width).item())
    return int(bins)
