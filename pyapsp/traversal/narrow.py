"""Levels in narrow types, as they come from a device with memory of its own.

The link brings a byte for each vertex in a quarter of the time of an int. Levels and distances are
made from these bytes when they are read: a search fills `NarrowRow`, the answer is `LevelRows`, and
the result of `bfs` has a `LevelResult`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from pyapsp.base.host import copy, share
from pyapsp.base.reuse import empty
from pyapsp.numbers.precision import infinity
from pyapsp.paths import Rows
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.paths.result import Result
from pyapsp.registry import Stats

__all__ = ["LevelResult", "LevelRows", "NarrowRow", "Row", "levels_of", "narrowest"]

_WIDE = np.dtype(np.int32)


def narrowest(most: int) -> np.dtype:
    """Return the narrowest type of levels up to `most`."""
    return np.dtype(np.int8 if most < 2**7 else np.int16 if most < 2**15 else np.int32)


class NarrowRow:
    """The levels of a search from one source.

    Parameters
    ----------
    values : (n,) int32 ndarray, optional
        Array for the levels; by default the search makes one of the `narrowest` type.

    Attributes
    ----------
    values : (n,) ndarray
        The levels; -1 if there is no path.
    direct : bool
        Whether the device writes this array; the search sets it.
    """

    def __init__(self, values: np.ndarray | None = None) -> None:
        self._given, self.direct = values is not None, False
        self.values: np.ndarray = np.empty(0, _WIDE) if values is None else values

    def kind(self, most: int) -> np.dtype:
        """Return the type in which levels up to `most` leave the device."""
        return _WIDE if self.direct else narrowest(most)

    def room(self, n: int, kind: np.dtype) -> np.ndarray:
        """Return the array for n levels of this type, which becomes `values`."""
        if not self._given:
            self.values = np.empty(n, kind)
        return self.values


#: What a search fills.
Row: TypeAlias = HostOrDevice | NarrowRow


def levels_of(rows: Sequence[NarrowRow]) -> np.ndarray:
    """Return the levels of one search or more as (k, n) int32, -1 if there is no path."""
    levels = empty(_shape(rows), _WIDE)
    if len(rows) == 1:
        copy(levels[0], rows[0].values)
        return levels

    def widen(first: int, last: int) -> None:
        for place in range(first, last):
            np.copyto(levels[place], rows[place].values)

    share(widen, len(rows), levels.nbytes)
    return levels


def _shape(rows: Sequence[NarrowRow]) -> tuple[int, int]:
    return len(rows), rows[0].values.size


class _FromLevels:
    """Base of what makes distances from levels when they are read.

    Attributes
    ----------
    narrow : sequence of NarrowRow or None
        One for each source, at least one; None if there are distances and no levels.
    wide : (k, n) int32 ndarray or None
        The array of all rows, if they have one.
    """

    narrow: Sequence[NarrowRow] | None = None
    wide: np.ndarray | None = None

    @property
    def levels(self) -> np.ndarray:
        """The levels, (k, n) int32, -1 if there is no path; an array of the answer or a new one."""
        assert self.narrow is not None
        return levels_of(self.narrow) if self.wide is None else self.wide

    @cached_property
    def distances(self) -> np.ndarray:
        """The distances, (k, n) int32."""
        assert self.narrow is not None
        distances = levels_of(self.narrow)
        flat, unreached = distances.reshape(-1), np.int32(infinity(_WIDE))

        def mark(first: int, last: int) -> None:
            # infinity has all bits of a level, so -1 becomes infinity, and levels do not change
            np.bitwise_and(flat[first:last], unreached, out=flat[first:last])

        share(mark, flat.size, flat.nbytes)
        return distances


class LevelRows(_FromLevels, Rows):
    """An answer with levels."""

    def __init__(
        self,
        narrow: Sequence[NarrowRow],
        wide: np.ndarray | None,
        before: np.ndarray | None,
        stats: Stats,
    ) -> None:
        # the fields of a frozen class; `distances` is not one of them here
        fields = {"predecessors": before, "stats": stats, "checked": True}
        self.__dict__.update(fields, narrow=narrow, wide=wide)


class LevelResult(_FromLevels, Result):
    """A result with levels.

    `dataclasses.replace` makes it from distances, which it then has in place of levels.

    Parameters
    ----------
    distances : LevelRows or ndarray
    *others, **named
        The other fields of `Result`.
    """

    def __init__(self, distances: Any, *others: Any, **named: Any) -> None:
        Result.__init__(self, distances, *others, **named)
        if isinstance(distances, LevelRows):
            del self.__dict__["distances"]
            self.__dict__.update(narrow=distances.narrow, wide=distances.wide)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "wide": None}  # its rows are in `narrow`

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.distances.shape if self.narrow is None else _shape(self.narrow)

    @property
    def _dtype(self) -> np.dtype:
        return _WIDE
