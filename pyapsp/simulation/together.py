"""Launches that take many steps: by one work-group, or by a crew of groups.

The groups of a crew wait for each other after each phase, which takes a few microseconds where a
launch takes more. OpenCL does not promise that groups can wait: the device must have fences of its
scope, a launch first finds out which groups are running (common/meeting.h), and the results of a
launch whose groups wait for too long are discarded.
"""

from __future__ import annotations

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.device import Device, event_seconds
from pyapsp.simulation.engine import Argument, DeviceEngine

__all__ = ["FORMS", "GroupSize", "Together", "form_of", "together_defines"]

#: How the phases of a step are launched: one by one, or many steps by a group or by a crew.
FORMS = ("launches", "alone", "crew")
# Steps of a launch at first; they double until it takes so many seconds.
_STEPS, _LONG = 64, 0.01
# The crew has at most so many groups for each compute unit; launches with each number of groups.
_CREW, _TRIALS = 8, 2
# The polls of a group before it gives up, some seconds.
_PATIENCE = 2**22


class GroupSize:
    """A size that grows step by step until launches are slower.

    Parameters
    ----------
    step, largest : int
        The first size, which is also the growth, and the last one.
    trials : int
        Launches with a size before the next one is tried.

    Attributes
    ----------
    size : int
        The size to use now.
    settled : bool
        Whether it stays.
    """

    def __init__(self, step: int, largest: int, trials: int = 100) -> None:
        self.size, self.settled = step, step >= largest
        self._step, self._largest, self._trials = step, largest, trials
        self._before = float("inf")
        self._seconds, self._count = 0.0, 0

    def add(self, seconds: float) -> None:
        """Add the time of a launch with the present size."""
        if self.settled:
            return
        self._seconds += seconds
        self._count += 1
        if self._count < self._trials:
            return
        if self._seconds > self._before:
            self.size -= self._step
            self.settled = True
        elif self.size + self._step > self._largest:
            self.settled = True
        else:
            self._before, self._seconds, self._count = self._seconds, 0.0, 0
            self.size += self._step


def form_of(device: Device) -> str:
    """Return the form of launches for a model that is not small."""
    waits = device.capabilities.device_scope_fence and not device.traits.scalar_groups
    return "crew" if waits else "launches"


def together_defines(form: str) -> dict[str, int]:
    """Return the macros of simulation/steps.h for a form."""
    return {"PYAPSP_CREW": int(form == "crew"), "PYAPSP_PATIENCE": _PATIENCE}


class Together:
    """Takes the steps of an engine, many in a launch.

    Parameters
    ----------
    engine : DeviceEngine
    kernel : pyopencl.Kernel
        ``steps`` of simulation/steps.h.
    tables : tuple of pyopencl.Buffer
        Its tables.
    group : int
        Work-items of a group.
    crew : int
        The groups of a crew, at most; 0 if the kernel is for one group.

    Attributes
    ----------
    crew : GroupSize
        The groups of a launch.
    """

    def __init__(
        self,
        engine: DeviceEngine,
        kernel: cl.Kernel,
        tables: tuple[cl.Buffer, ...],
        group: int,
        crew: int,
    ) -> None:
        self._engine, self._kernel, self._tables, self._group = engine, kernel, tables, group
        units = engine.device.capabilities.compute_units
        most = min(crew, units * (1 if engine.device.traits.scalar_groups else _CREW))
        self.crew = GroupSize(max(min(units, most), 1), most, _TRIALS)
        self._counters = engine.device.buffer(12)
        self._old = engine.array(max(engine.layout.states, 1)) if crew else None
        self._long = _STEPS

    def advance(self, first: int, steps: int) -> tuple[int, int]:
        """Take steps, and store their outputs in rows, from the first row on.

        Returns
        -------
        int
            The number of steps that were taken: less than `steps` if a launch stalled.
        int
            Their rows.
        """
        engine, row, done = self._engine, 0, 0
        nodes = np.append(engine.tableau.nodes, 1.0)
        while done < steps:
            some = first + np.arange(done, min(done + self._long, steps))
            times = engine.start + (some[:, None] + nodes) * engine.step
            seconds = self.launch(times, first + done, row, keep=True)
            if seconds is None:
                return done, row
            if len(some) == self._long:
                self.crew.add(seconds / len(some))
                if seconds < _LONG / 2:
                    self._long *= 2
            done += len(some)
            row += int((some % engine.every == 0).sum())
        return done, row

    def launch(
        self, times: NDArray[np.float64], first: int, row: int, *, keep: bool
    ) -> float | None:
        """Take a step for each row of times, and return the seconds; None if the crew stalled."""
        engine, every = self._engine, self._engine.every
        queue, size = engine.queue, engine.layout.states * engine.dtype.itemsize
        clock = engine.constant(times.astype(engine.dtype))
        if self._old is not None:
            cl.enqueue_fill_buffer(queue, self._counters, np.zeros(1, np.int32), 0, 12)
            if size:
                cl.enqueue_copy(queue, self._old, engine.states, byte_count=size)
        numbers = first % every, len(times), every
        outputs = *engine.outputs, np.int32(row)
        more = np.int32(engine.tableau.stages), np.int32(keep), self._counters
        arguments: tuple[Argument, ...] = (*engine.arrays, *self._tables, clock)
        shape = (self.crew.size * self._group,), (self._group,)
        event = self._kernel(queue, *shape, *arguments, *map(np.int32, numbers), *outputs, *more)
        seconds = event_seconds(event)  # a launch is not long, and uses the times
        if self._old is not None:
            counters = np.empty(3, np.int32)
            cl.enqueue_copy(queue, counters, self._counters)
            if counters[2]:
                if size:
                    cl.enqueue_copy(queue, engine.states, self._old, byte_count=size)
                queue.finish()
                return None
        return seconds
