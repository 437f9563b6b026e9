"""`DeviceResult`: the result of a call with ``keep="device"``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pyapsp.base.json import Record
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.paths.result import Result

if TYPE_CHECKING:
    import pyopencl.array as cl_array

__all__ = ["DeviceResult"]


class DeviceResult(Result):
    """A result whose distances are in the memory of a device.

    `distances` copies all of them to the host at its first use, and keeps the copy. `row` and
    `path` copy one row, and `diameter` copies none. `pickle` and `copy.deepcopy` make a `Result`,
    whose distances are on the host. What is said of distances holds for predecessors, if a search
    has computed them; those of `solve` are on the host.

    Attributes
    ----------
    device_distances : pyopencl.array.Array
        The (k, n) distances, C-contiguous. Kernels may read them on any queue of its context. Of
        `bfs` they are levels, and -1 if there is no path.
    device_predecessors : pyopencl.array.Array or None
        The (k, n) predecessors; None if they are on the host, or were not computed.
    """

    _rows: DeviceRows
    _before: DeviceRows | None

    def __init__(
        self,
        rows: DeviceRows,
        predecessors: np.ndarray | DeviceRows | None,
        sources: np.ndarray,
        labels: np.ndarray | None,
        stats: dict[str, Any] | Callable[[], Record],
        reasons: tuple[str, ...] | Callable[[], tuple[str, ...]],
        is_converted: bool,
    ) -> None:
        # the fields of a frozen class; what is on the device is not one of them here
        stays = isinstance(predecessors, DeviceRows)
        values: dict[str, Any] = {
            "sources": sources,
            "labels": labels,
            "stats": stats,
            "reasons": reasons,
            "is_converted": is_converted,
        }
        values |= {"_rows": rows, "_before": predecessors if stays else None}
        self.__dict__.update(values if stays else {**values, "predecessors": predecessors})

    @cached_property
    def distances(self) -> np.ndarray:
        """The distances on the host, (k, n)."""
        return self._rows.distances()

    @cached_property
    def predecessors(self) -> np.ndarray | None:
        """The predecessors on the host, (k, n)."""
        return None if self._before is None else self._before.get()

    @property
    def device_distances(self) -> cl_array.Array:
        """The distances on the device."""
        return _array(self._rows)

    @property
    def device_predecessors(self) -> cl_array.Array | None:
        """The predecessors on the device."""
        return None if self._before is None else _array(self._before)

    @property
    def _matrix(self) -> DeviceRows:
        return self._rows

    def _row(self, place: int) -> np.ndarray:
        found: np.ndarray = self._rows[place : place + 1].distances()[0]
        return found

    def _largest(self) -> int | float:
        return self._rows.largest()

    def __copy__(self) -> DeviceResult:
        return self

    def __reduce__(self) -> tuple[type[Result], tuple[object, ...]]:
        # the memory of a device belongs to a process
        return Result, tuple(getattr(self, each.name) for each in fields(Result))


def _array(rows: DeviceRows) -> cl_array.Array:
    rows.device.check_process()  # the array has a queue
    return rows.array
