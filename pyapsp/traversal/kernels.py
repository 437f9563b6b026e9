"""What kernels over a graph have in common: launches, types of offsets, limits, measurements."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyopencl as cl

from pyapsp.base.json import Json
from pyapsp.device import Device
from pyapsp.device.kernels import Program, Stopwatch
from pyapsp.device.kernels.transfer import in_place
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathOptions
from pyapsp.registry import Options, Parameters, Stats
from pyapsp.registry.tuning.method import TunableMethod

__all__ = [
    "MOST_COUNTED",
    "KernelArgument",
    "Launcher",
    "WidthInGroup",
    "measured",
    "offset_type",
    "resident",
    "search_defines",
    "standard_of_fences",
]

#: Arcs, or vertices, that kernels can count in 32 bits. Loops count on by up to all work-items.
MOST_COUNTED = 2**31 - 2**20
# Work-items that a compute unit of a GPU runs at the same time.
_ITEMS = 2048

#: A buffer (None is the null pointer), or a number with its type.
KernelArgument: TypeAlias = cl.Buffer | np.generic | None


class Launcher:
    """Launches kernels of a program in work-groups of one size.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    program : Program
    group : int
        Work-items of a group.
    """

    def __init__(self, queue: cl.CommandQueue, program: Program, group: int) -> None:
        self._queue, self._program, self._group = queue, program, group

    def __call__(self, kernel: str, items: int, *arguments: KernelArgument) -> None:
        """Launch at least `items` work-items; do nothing for zero items."""
        groups = -(-items // self._group)
        if groups:
            shape = (groups * self._group,), (self._group,)
            self._program.kernel(kernel)(self._queue, *shape, *arguments)


class WidthInGroup(TunableMethod):
    """Base of the methods in which ``width`` work-items of a group share the arcs of a vertex."""

    def fits(self, parameters: Parameters, options: Options) -> bool:
        """Return whether no vertex is split between groups, and the device supports the size."""
        return parameters.integer("width") <= parameters.integer("group") and super().fits(
            parameters, options
        )

    def rule(self, options: Options) -> str:
        """Return the conditions of `fits` as text."""
        return f"{super().rule(options)}, and at least width"


def resident(device: Device) -> int:
    """Return about how many work-items a device runs at the same time."""
    units = device.capabilities.compute_units
    return units if device.traits.scalar_groups else units * _ITEMS


def offset_type(device: Device) -> np.dtype:
    """Return the type of the offsets of rows: that of `Graph` if they are used in place."""
    return np.dtype(np.int64 if in_place(device.handle) else np.int32)


def search_defines(options: PathOptions) -> dict[str, str | int]:
    """Return the macros of kernels that find levels."""
    return {
        "PYAPSP_PREDECESSORS": int(options.predecessors),
        "PYAPSP_INFINITY": int(infinity(options.dtype)),
    }


def standard_of_fences(device: Device) -> str | None:
    """Return the standard of OpenCL C for fences of the whole device; None if it has none."""
    capabilities = device.capabilities
    return capabilities.c_standard if capabilities.device_scope_fence else None


def measured(
    watch: Stopwatch, started: float, kernel_hash: str, more: dict[str, Json] | None = None
) -> Stats:
    """Return the measurements of a run whose kernels are timed by the clock of the host.

    Parameters
    ----------
    watch : Stopwatch
    started : float
        The value of `time.perf_counter` at the start.
    kernel_hash : str
    more : dict, optional
        Values that only this method reports.
    """
    seconds = watch.since(started)
    stats: Stats = {
        "kernel_seconds": seconds["kernel_seconds"],
        "transfer_seconds": seconds["transfer_seconds"],
        "kernel_hash": kernel_hash,
    }
    if more is not None:
        stats["more"] = more
    return stats
