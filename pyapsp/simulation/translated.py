"""The engine that runs a translated model, and finds the best work-group of each phase.

Source: F. Okuyama's thesis, 2013, section 5.5.2.
"""

from __future__ import annotations

import threading
import time
from functools import cache
from typing import Any

import numpy as np
import pyopencl as cl

from pyapsp.device import Device, event_seconds
from pyapsp.host import cores
from pyapsp.kernels import Program
from pyapsp.kernels.source import flattened, headed
from pyapsp.simulation.engine import DeviceEngine
from pyapsp.simulation.layout import SUMS
from pyapsp.simulation.program import translation

__all__ = ["GroupSize", "TranslatedEngine"]

# Launches with a size of the work-group before the next size is tried, and the largest size.
_TRIALS, _LARGEST = 100, 512
# Work-items for each core, where each has a range of bytecodes.
_SHARES = 1
_building = threading.Lock()


class GroupSize:
    """The size of the work-groups of a phase: larger by a warp every 100 launches, until slower.

    Parameters
    ----------
    warp, largest : int

    Attributes
    ----------
    size : int
        The size to use now.
    settled : bool
        Whether it stays.
    """

    def __init__(self, warp: int, largest: int) -> None:
        self.size, self.settled = warp, warp >= largest
        self._warp, self._largest = warp, largest
        self._before = float("inf")
        self._seconds, self._count = 0.0, 0

    def add(self, seconds: float) -> None:
        """Add the time of a launch with the present size."""
        if self.settled:
            return
        self._seconds += seconds
        self._count += 1
        if self._count < _TRIALS:
            return
        if self._seconds > self._before:
            self.size -= self._warp
            self.settled = True
        elif self.size + self._warp > self._largest:
            self.settled = True
        else:
            self._before, self._seconds, self._count = self._seconds, 0.0, 0
            self.size += self._warp


class TranslatedEngine(DeviceEngine):
    """Integrates a system with a program of its own.

    The parameters are those of `DeviceEngine`.

    Attributes
    ----------
    source : str
        The program.
    build_seconds : float
        The time of compilation; short if the driver had the program in its cache.
    groups : list of GroupSize
        The work-group of each phase.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        device, layout = self.device, self.layout
        self._ranges = device.traits.scalar_groups
        lanes = device.traits.lanes(self.dtype.itemsize) if self._ranges else 1
        made = translation(layout, lanes=lanes, ranges=self._ranges)
        largest = min(device.capabilities.max_work_group_size, _LARGEST)
        largest -= largest % layout.width
        defines = {
            **self._defines,
            "PYAPSP_SINGLE": int(self.dtype == np.float32),
            "PYAPSP_LANES": lanes,
            "PYAPSP_WARP": layout.width,
            "PYAPSP_GROUP": largest,
            "PYAPSP_SUM": max(SUMS.index(layout.options.sum), 1),
        }
        text = f'{flattened("simulation/translated.h")}\n#line 1 "model"\n{made.text}'
        self.source = headed(text, defines)
        started = time.perf_counter()
        program = _built(device, self.source)
        self.build_seconds = time.perf_counter() - started
        slots, values = self.constant(made.slots), self.constant(made.values.astype(self.dtype))
        self._kernels, self.groups = [], list[GroupSize]()
        for number, (count, sums) in enumerate(zip(made.items, made.sums, strict=True)):
            kernel = program.kernel(f"phase_{number}")
            rounds = -(-int(sums[:, 0].max(initial=0)) // layout.width)
            each, items = rounds, count
            if self._ranges:
                each = max(-(-count // (cores() * _SHARES * lanes)) * lanes, 1)
                items = -(-count // each)
            tables = slots, values, self.constant(np.append(sums.ravel(), np.int32(0)))
            self._kernels.append((kernel, items, (*tables, np.int32(each))))
            self.groups.append(GroupSize(layout.width, layout.width if self._ranges else largest))

    def launch(self, phase: int, arguments: tuple[Any, ...]) -> None:
        """Enqueue a phase."""
        kernel, items, more = self._kernels[phase]
        group = self.groups[phase]
        if items == 0:
            return
        if self._ranges:
            kernel(self.queue, (items,), (1,), *arguments, *more)
            return
        size = -(-items // group.size) * group.size
        event: cl.Event = kernel(self.queue, (size,), (group.size,), *arguments, *more)
        if not group.settled:
            group.add(event_seconds(event))


def _built(device: Device, source: str) -> Program:
    with _building:
        return _program(device, source)


@cache
def _program(device: Device, source: str) -> Program:
    return Program(device, source)
