"""`DeviceResult`: the result of `solve` whose distances stay on the device."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pyapsp.paths.device_rows import DeviceRows
from pyapsp.paths.result import Result

if TYPE_CHECKING:
    import pyopencl.array as cl_array

__all__ = ["DeviceResult"]


class DeviceResult(Result):
    """A result whose distances are in the memory of a device.

    `distances` copies all of them to the host at its first use, and keeps the copy. `row` and
    `path` copy one row, and `diameter` copies none. `pickle` and `copy.deepcopy` make a `Result`,
    whose distances are on the host.

    Attributes
    ----------
    device_distances : pyopencl.array.Array
        The (k, n) distances, C-contiguous. Kernels may read them on any queue of its context.
    """

    _rows: DeviceRows

    def __init__(
        self,
        rows: DeviceRows,
        predecessors: np.ndarray | None,
        sources: np.ndarray,
        labels: np.ndarray | None,
        stats: dict[str, Any],
        reasons: tuple[str, ...],
    ) -> None:
        # the fields of a frozen class; `distances` is not one of them here
        values = predecessors, sources, labels, stats, reasons
        names = "predecessors", "sources", "labels", "stats", "reasons"
        self.__dict__.update(zip(names, values, strict=True), _rows=rows)

    @cached_property
    def distances(self) -> np.ndarray:
        """The distances on the host, (k, n)."""
        return self._rows.get()

    @property
    def device_distances(self) -> cl_array.Array:
        """The distances on the device."""
        self._rows.device.check_process()  # the array has a queue
        return self._rows.array

    @property
    def _shape(self) -> tuple[int, ...]:
        return self._rows.shape

    @property
    def _dtype(self) -> np.dtype:
        return self._rows.dtype

    def _row(self, place: int) -> np.ndarray:
        found: np.ndarray = self._rows[place : place + 1].get()[0]
        return found

    def _largest(self) -> int | float:
        return self._rows.largest()

    def __copy__(self) -> DeviceResult:
        return self

    def __reduce__(self) -> tuple[type[Result], tuple[object, ...]]:
        # the memory of a device belongs to a process
        return Result, tuple(getattr(self, each.name) for each in fields(Result))
