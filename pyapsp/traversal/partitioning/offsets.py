"""`Offsets`: items that own units, the input of the problem ``partition``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from types import EllipsisType
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.base.json import Record
from pyapsp.graph import Graph, read, validation
from pyapsp.registry import Requirements

__all__ = ["FAMILIES", "Offsets", "OffsetsLike", "as_offsets", "draw", "read_offsets"]

#: ``uniform``: sizes from 0 to 16; ``power-law``: a few items own most units; ``mesh``: 1 to 4
#: units, as the vertices of a road network; ``gaps``: long runs of empty items; ``single``: one
#: item owns nearly all units.
FAMILIES = ("uniform", "power-law", "mesh", "gaps", "single")
_OWNER = "partition"
_MOST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Offsets:
    """Items that own units: item i owns the units ``values[i]`` to ``values[i + 1]``."""

    values: np.ndarray  # (n + 1,) int32: the first is 0, and none is smaller than the one before
    name: str | None = "offsets"  # for records
    # One of `FAMILIES`; the kind of tuning rows to prefer.
    family: str = "uniform"

    @property
    def n(self) -> int:
        """Number of items."""
        return self.values.size - 1

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.values[-1])

    @cached_property
    def hash(self) -> str:
        """First 16 hexadecimal digits of the SHA-256 of the offsets."""
        return hashlib.sha256(np.ascontiguousarray(self.values).tobytes()).hexdigest()[:16]

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of units of each item, (n,) int32."""
        return np.diff(self.values)

    @property
    def mean(self) -> float:
        """The mean size of an item; 0 without items."""
        return self.units / self.n if self.n else 0.0

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the sizes; 0 without items."""
        return float(self.sizes.std(dtype=np.float64)) if self.n else 0.0

    @cached_property
    def largest(self) -> int:
        """The size of the largest item; 0 without items."""
        return int(self.sizes.max(initial=0))

    def about(self) -> Record:
        """Return the facts for records."""
        return {
            "name": self.name,
            "n": self.n,
            "units": self.units,
            "mean": self.mean,
            "deviation": self.deviation,
            "largest": self.largest,
            "empty": int((self.sizes == 0).sum()),
            "family": self.family,
            "hash": self.hash,
        }

    @classmethod
    def of_sizes(cls, sizes: ArrayLike, name: str = "offsets", family: str = "uniform") -> Offsets:
        """Return the offsets of items of these sizes.

        Parameters
        ----------
        sizes : (n,) array-like of int
        name, family : str
        """
        counts = np.asarray(sizes)
        values = np.zeros(counts.size + 1, np.int64)
        np.cumsum(counts, out=values[1:])
        return as_offsets(values, name, family)


#: What `as_offsets` takes.
OffsetsLike: TypeAlias = Offsets | Graph | ArrayLike


def as_offsets(
    data: OffsetsLike, name: str | None = "offsets", family: str | None = None
) -> Offsets:
    """Return checked offsets.

    Parameters
    ----------
    data : Offsets, Graph or (n + 1,) array-like of int
        For a graph the items are its vertices, and the units their arcs. ``[0]`` has neither items
        nor units.
    name : str, optional
        Of an array.
    family : str, optional
        Of an array. Default: from the sizes, see `FAMILIES`.

    Raises
    ------
    ParameterError
        If the array does not have one dimension, is empty, is not of integers, does not start at
        0, decreases, or has 2^31 units or more.
    """
    if isinstance(data, Offsets):
        return data
    if isinstance(data, Graph):
        name, family, data = data.name, _family_of_graph(data), data.indptr
    try:
        values = validation.array("offsets", data)
    except GraphError as error:
        raise ParameterError(f"{_OWNER}: {error}") from None
    if values.ndim != 1:
        rule = "an array of one dimension"
        raise ParameterError.of("offsets", _OWNER, rule, f"{values.ndim} dimensions")
    if values.size == 0:
        rule = "an array of n + 1 integers for n items"
        raise ParameterError.of("offsets", _OWNER, rule, "none")
    if values.dtype.kind not in "iu":
        raise ParameterError.of("offsets", _OWNER, "an array of integers", f"{values.dtype} values")
    if values[0] != 0:
        raise ParameterError.of("offsets", _OWNER, "0 at its start", f"{values[0]}")
    falling = np.flatnonzero(values[1:] < values[:-1])
    if falling.size:
        i = int(falling[0])
        pair = f"{values[i + 1]} after {values[i]} at index {i + 1}"
        raise ParameterError.of("offsets", _OWNER, "an array that never decreases", pair)
    if values[-1] > _MOST:
        rule = "an array with less than 2^31 units"
        raise ParameterError.of("offsets", _OWNER, rule, f"{values[-1]:,} units")
    if values.size > _MOST:
        rule = "an array with less than 2^31 items"
        raise ParameterError.of("offsets", _OWNER, rule, f"{values.size - 1:,} items")
    starts = np.ascontiguousarray(values, np.int32)
    if starts is values or starts.base is not None:
        starts = starts.copy()  # changes of the caller's array must not change the input
    starts.flags.writeable = False
    return Offsets(starts, name, _family_of(Offsets(starts)) if family is None else family)


def read_offsets(
    path: str,
    *,
    weight: str | EllipsisType | None = ...,
    format: str | None = None,  # noqa: A002 - the name in `pyapsp.read`
) -> Offsets:
    """Return the offsets of the graph in a file: vertices own the arcs that leave them.

    Arguments and errors are those of `pyapsp.read`.
    """
    return as_offsets(read(path, weight=weight, format=format))


def draw(size: int, family: str, seed: int, requires: Requirements | None = None) -> Offsets:
    """Return random offsets of a family, see `FAMILIES`, with `size` items.

    Raises
    ------
    ParameterError
        If there is no such family.
    """
    validation.choice("family", "offsets.draw", family, FAMILIES)
    rng = np.random.default_rng(seed)
    name = f"{family}-{size}-{seed}"
    if family == "power-law":
        sizes = np.minimum(rng.zipf(1.8, size), max(16 * size, 16))
    elif family == "mesh":
        sizes = rng.choice([1, 2, 3, 4], size, p=[0.15, 0.65, 0.15, 0.05])
    elif family == "gaps":
        run = max(size // 8, 1)
        filled = np.repeat(rng.random(-(-size // run)) < 0.3, run)[:size]
        sizes = np.where(filled & (rng.random(size) < 0.5), rng.integers(1, 65, size), 0)
        sizes[rng.integers(size) if size else slice(0)] = 5  # never without any unit
    elif family == "single":
        sizes = (rng.random(size) < 0.01).astype(int)
        sizes[rng.integers(size) if size else slice(0)] = 8 * size
    else:
        sizes = rng.integers(0, 17, size)
        sizes[:1] = 8
    return Offsets.of_sizes(sizes, name, family)


def _family_of_graph(graph: Graph) -> str:
    return graph.family if graph.family in FAMILIES else _family_of(Offsets(graph.indptr))


def _family_of(offsets: Offsets) -> str:
    """Return the family whose sizes are most like those of the offsets."""
    if offsets.n == 0:
        return FAMILIES[0]
    if 2 * offsets.largest > offsets.units:
        return "single"
    if 2 * int((offsets.sizes == 0).sum()) > offsets.n:
        return "gaps"
    if offsets.deviation > 2 * offsets.mean:
        return "power-law"
    return "mesh" if offsets.largest <= 4 else "uniform"
