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

# Launches with a size of the work-group before the next size is tried, and the largest size, for
# which every kernel has registers. The kernel of many steps is compiled for its size.
_TRIALS, _LARGEST, _STEPS = 100, 256, 512
# The number of STAGE_ARGUMENTS in stages.h.
_STAGE_ARGUMENTS = 10
# Steps in one launch of a small model. What is small on a CPU: seconds of a launch, of a bytecode
# alone and of one in a vector. On other devices: how often a group goes through a phase.
_TOGETHER, _LAUNCH, _ALONE, _VECTOR, _ROUNDS = 256, 50e-6, 8e-9, 2e-9, 3
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
        most = device.capabilities.max_work_group_size // layout.width * layout.width
        largest, together = min(most, _LARGEST), 1 if self._ranges else min(most, _STEPS)
        self._single = self._is_small(together)
        made = translation(layout, lanes=lanes, ranges=self._ranges, single=self._single)
        defines = {
            **self._defines,
            "PYAPSP_SINGLE": int(self.dtype == np.float32),
            "PYAPSP_LANES": lanes,
            "PYAPSP_WARP": layout.width,
            "PYAPSP_GROUP": largest,
            "PYAPSP_SUM": max(SUMS.index(layout.options.sum), 1),
            "PYAPSP_STEPS": together,
        }
        text = f'{flattened("simulation/translated.h")}\n#line 1 "model"\n{made.text}'
        if self._single:
            text += flattened("simulation/steps.h")
        self.source = headed(text, defines)
        started = time.perf_counter()
        program = _built(device, self.source)
        self.build_seconds = time.perf_counter() - started
        self._tables = (
            self.constant(made.slots),
            self.constant(made.values.astype(self.dtype)),
            self.constant(made.sums),
        )
        self.groups = list[GroupSize]()
        self._kernels: list[tuple[cl.Kernel, int]] = []
        if self._single:
            self._steps = program.kernel("steps"), together
            return
        for number, (count, rounds) in enumerate(zip(made.items, made.rounds, strict=True)):
            kernel, each, items = program.new_kernel(f"phase_{number}"), rounds, count
            if self._ranges:
                each = max(-(-count // (cores() * lanes)) * lanes, 1)
                items = -(-count // each)
            fixed: tuple[Any, ...] = (*self._tables, np.int32(each))
            for place, value in enumerate(fixed, start=_STAGE_ARGUMENTS):
                kernel.set_arg(place, value)
            self._kernels.append((kernel, items))
            self.groups.append(GroupSize(layout.width, layout.width if self._ranges else largest))
        self._set: list[list[Any]] = [[None] * _STAGE_ARGUMENTS for _ in self._kernels]

    def _is_small(self, largest: int) -> bool:
        """Return whether one work-group is faster than a launch for each phase."""
        layout = self.layout
        counts = [phase.count for phase in layout.every]
        if self.tableau.error is not None:
            return False
        if self._ranges:
            bundles = [len(bundle) for phase in layout.every for bundle in phase.bundles]
            seconds = sum(count * (_ALONE if count < 4 else _VECTOR) for count in bundles)
            return seconds * (1 - 1 / cores()) < _LAUNCH * len(counts)
        if any(bundle.shape.terms for phase in layout.every for bundle in phase.bundles):
            return False
        return sum(-(-count // largest) for count in counts) <= _ROUNDS * len(counts)

    def advance(self, first: int, steps: int) -> np.ndarray:
        """Take steps of equal length: see `DeviceEngine.advance`."""
        if not self._single:
            return super().advance(first, steps)
        nodes = np.append(self.tableau.nodes, 1.0)
        rows = self.reserve(first, steps)
        row = 0
        for begin in range(first, first + steps, _TOGETHER):
            some = np.arange(begin, min(begin + _TOGETHER, first + steps))
            times = self._start + (some[:, None] + nodes) * self._step
            self._enqueue(times, begin, row, keep=True)
            row += int((some % self._every == 0).sum())
        return self.rows(rows)

    def sample(self, time: float) -> np.ndarray:
        """Return the outputs for the present states at a time."""
        if not self._single:
            return super().sample(time)
        self.reserve(0, 1)
        times = np.full((1, self.tableau.stages + 1), time)
        self._enqueue(times, 0, 0, keep=False)
        row: np.ndarray = self.rows(1)[0]
        return row

    def _enqueue(self, times: np.ndarray, first: int, row: int, *, keep: bool) -> None:
        kernel, group = self._steps
        self._clock = self.constant(times.astype(self.dtype))
        arrays = (self._y, self._a, self._b, self._f, self._k, self._weights)
        sizes = self.dtype.type(self._step), self._states
        when = np.int32(first % self._every), np.int32(len(times)), np.int32(self._every)
        outputs = self._slots, np.int32(self._count), self._rows, np.int32(row)
        more = np.int32(self.tableau.stages), np.int32(keep)
        arguments = (*arrays, *sizes, *self._tables, self._clock, *when, *outputs, *more)
        kernel(self.queue, (group,), (group,), *arguments)
        self.queue.finish()  # a launch is not long, and uses the times

    def launch(self, phase: int, arguments: tuple[Any, ...]) -> None:
        """Enqueue a phase; only arguments that changed are set."""
        kernel, items = self._kernels[phase]
        if items == 0:
            return
        known = self._set[phase]
        for place, value in enumerate(arguments):
            if value is not known[place]:
                kernel.set_arg(place, value)
                known[place] = value
        group = self.groups[phase]
        size = items if self._ranges else -(-items // group.size) * group.size
        event = cl.enqueue_nd_range_kernel(self.queue, kernel, (size,), (group.size,))
        if not group.settled:
            group.add(event_seconds(event))


def _built(device: Device, source: str) -> Program:
    with _building:
        return _program(device, source)


@cache
def _program(device: Device, source: str) -> Program:
    return Program(device, source)
