"""What is left of rows of distances when only sums over them are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyapsp.precision import infinity

__all__ = ["Totals", "totals_of"]


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
        bins = np.floor_divide(near[reached], width, dtype=kind)
        counts = np.bincount(bins.astype(np.int64)).astype(np.int64)
    largest = near.max(axis=1, initial=0)
    return Totals(
        largest, near.sum(axis=1, dtype=kind), reached.sum(axis=1, dtype=np.int64), counts
    )
