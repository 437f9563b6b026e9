"""Offsets with the statistics of the inputs of [B] table 5.3, of any size.

The matrices themselves are not here. A stand-in has the number of rows and of entries, the
deviation and the largest row of the table, or as much of them as its size allows. The order of the
rows is random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from papers.published import Published
from pyapsp.traversal.partitioning.offsets import Offsets

__all__ = ["NAMES", "Shape", "shape", "stand_in"]

#: The inputs, in the order of the table.
NAMES = (
    "great-britain_osm",
    "cit-Patents",
    "web-NotreDame",
    "regular8",
    "circuit5M",
    "as-Skitter",
    "kron_g500-logn20",
)
# A scaled row is at most this part of all entries.
_PART = 8
# The largest deviation, as a part of that of rows which are either empty or the largest.
_SPREAD = 0.5
_STEPS, _BANDS = 50, 2000


@dataclass(frozen=True)
class Shape:
    """The statistics of an input, as published."""

    rows: int
    entries: int
    deviation: float
    largest: int


def shape(name: str) -> Shape:
    """Return the published statistics of an input."""
    rows = Published("busato_traversal/partition").rows(exhibit="table 5.3", input=name)
    quantities = {row["quantity"]: row["value"] for row in rows}
    return Shape(
        quantities["rows"],
        quantities["entries"],
        quantities["standard deviation"],
        quantities["largest row"],
    )


def stand_in(name: str, units: int) -> Offsets:
    """Return the stand-in of one of `NAMES`: with so many units, or those of the input if fewer."""
    full = shape(name)
    units = min(units, full.entries)
    rows = max(round(full.rows * units / full.entries), 1)
    largest = min(full.largest, max(units // _PART, 1))
    sizes = _sizes(rows, units, full.deviation, largest)
    sizes = np.random.default_rng(53).permutation(sizes)
    return Offsets.of_sizes(sizes, f"{name}-{units}")


def _sizes(rows: int, units: int, deviation: float, largest: int) -> np.ndarray:
    """Return sizes with a sum and, as near as possible, a deviation and the largest size.

    They are on a curve ``scale * rank ** -power``, cut off at the largest. The power decides the
    deviation.
    """
    if deviation == 0:
        return _whole(np.full(rows, units / rows), units)
    # without this bound nearly all rows of a small stand-in would be empty
    deviation = min(deviation, _SPREAD * np.sqrt(largest * units / rows))
    # sums over ranks in bands that widen, because there may be millions of ranks
    ends = np.unique(np.geomspace(1, rows + 1, _BANDS).astype(np.int64)) - 1
    counts = np.diff(ends)
    middles = (ends[:-1] + ends[1:]) / (2 * rows)

    def scale(power: float) -> float:
        values = middles**-power
        return _solve(lambda x: float((counts * np.minimum(x * values, largest)).sum()), units)

    def spread(power: float) -> float:
        sizes = np.minimum(scale(power) * middles**-power, largest)
        return float(np.sqrt((counts * (sizes - units / rows) ** 2).sum() / rows))

    power = _solve(spread, deviation, most=4.0)
    ranks = (np.arange(rows) + 0.5) / rows
    return _whole(np.minimum(scale(power) * ranks**-power, largest), units)


def _solve(increasing: Callable[[float], float], value: float, most: float = 0.0) -> float:
    """Return where an increasing function has a value: at most `most`, or anywhere if that is 0."""
    low, high = 0.0, most or 1.0
    while not most and increasing(high) < value and high < 2**60:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < value else (low, middle)
    return high


def _whole(sizes: np.ndarray, units: int) -> np.ndarray:
    """Return whole numbers near sizes, with the sum `units`."""
    ends = np.rint(np.cumsum(sizes) * (units / sizes.sum())).astype(np.int64)
    whole: np.ndarray = np.diff(ends, prepend=0)
    return whole
