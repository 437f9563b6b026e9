"""What is left of rows of distances when only sums over them are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyapsp.errors import ParameterError
from pyapsp.precision import infinity

__all__ = ["Totals", "bins_of", "totals_of"]

# Bins of a histogram, at most.
_BINS = 2**28


@dataclass(frozen=True)
class Totals:
    """Sums over the distances from some sources, of the vertices that each reaches.

    Attributes
    ----------
    largest : (k,) ndarray
        The largest distance from each source, in the type of the distances; 0 is that to itself.
    total : (k,) ndarray of int64 or float64
        The sum of the distances; float32 on devices without double.
    reached : (k,) ndarray of int64
        How many vertices there are, the source among them.
    counts : (bins,) ndarray of int64 or None
        How many distances there are in each bin, of all sources; the sources themselves in bin 0.
    """

    largest: np.ndarray
    total: np.ndarray
    reached: np.ndarray
    counts: np.ndarray | None = None


def totals_of(rows: np.ndarray, width: Any = None) -> Totals:
    """Return the sums over rows of distances, with counts of distances by `width`."""
    reached = rows < infinity(rows.dtype)
    near = np.where(reached, rows, rows.dtype.type(0))
    kind = np.dtype(np.int64 if rows.dtype.kind in "iu" else np.float64)
    counts = None
    if width is not None:
        bins_of(near.max(initial=0), width)
        # as the kernels: a quotient rounds, and is not what remainders say
        found = near[reached].astype(kind)
        bins = found // int(width) if kind.kind == "i" else np.floor(found / width)
        counts = np.bincount(bins.astype(np.int64)).astype(np.int64)
    largest = near.max(axis=1, initial=0)
    return Totals(
        largest, near.sum(axis=1, dtype=kind), reached.sum(axis=1, dtype=np.int64), counts
    )


def bins_of(largest: Any, width: Any) -> int:
    """Return how many bins of this width there are up to the largest distance.

    Raises
    ------
    ParameterError
        If there are too many to count in.
    """
    whole = np.asarray(largest).dtype.kind in "iu"
    bins = int(largest) // int(width) + 1 if whole else np.floor(float(largest) / width) + 1
    if bins > _BINS:
        rule = f"so wide that {largest} is in one of {_BINS} bins"
        raise ParameterError.of("width", "distance_histogram", rule, width)
    return int(bins)
