"""What the engines on a device share: arrays, the order of launches, outputs, the error of a step.

An engine enqueues the phases of each stage, and between them nothing else, or launches that take
many steps (`ManySteps`). The phase of the derivatives also computes the states of the next stage.
Three arrays of states take turns, so that nothing is copied::

    stage 0   reads y   writes a        stage 1   reads a   writes b        stage 2   ...
    the last stage writes the y of the next step

Source: F. Okuyama's thesis, 2013, sections 5.5.1 and 5.6.1 (outputs are buffered on the device).
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.device import Device
from pyapsp.device.kernels import build
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.simulation.integrate import Plan
from pyapsp.simulation.layout import Layout
from pyapsp.simulation.methods import Reals, Tableau

__all__ = ["Argument", "DeviceEngine", "ManySteps", "real_defines"]

_log = logging.getLogger(__name__)
# Work-items of the small kernels, and of the sum of squares.
_GROUP, _SQUARES = 64, 1024
# Stages as arguments of kernels, the last one for -1: equal arguments are the same object.
_STAGES = tuple(map(np.int32, (*range(8), -1)))
# Steps between two waits for the device, so that a queue does not grow without limit.
_AHEAD = 256

#: What kernels get.
Argument: TypeAlias = cl.Buffer | np.int32 | np.float32 | np.float64


def real_defines(device: Device, dtype: np.dtype) -> dict[str, str | int]:
    """Return the macros of the number type.

    Raises
    ------
    CapabilityError
        If the device does not have the type.
    """
    macros = arithmetic_defines(device, dtype)
    return {
        "PYAPSP_REAL": macros["PYAPSP_VALUE"],
        "PYAPSP_HAS_FP64": int(dtype == np.float64),
    }


class ManySteps(Protocol):
    """Launches that take many steps of an engine each."""

    def advance(self, first: int, steps: int, /) -> tuple[int, int]:
        """Take steps; return how many were taken, and the rows of outputs that they stored."""

    def launch(
        self, times: NDArray[np.float64], first: int, row: int, *, keep: bool
    ) -> float | None:
        """Take a step for each row of times; return the seconds, None if the launch stalled."""


class DeviceEngine(ABC):
    """Integrates a system on a device.

    Parameters
    ----------
    device : Device
    layout : Layout
    tableau : Tableau
    dtype : numpy.dtype
        float64 or float32.
    outputs : sequence of int
        The slots to return.
    plan : Plan
        The start, the length of a step, and the steps from one output to the next.

    Raises
    ------
    CapabilityError
        If the device does not have the number type.
    """

    def __init__(
        self,
        device: Device,
        layout: Layout,
        tableau: Tableau,
        dtype: np.dtype,
        outputs: Sequence[int],
        plan: Plan,
    ) -> None:
        self.device, self.layout, self.tableau, self.dtype = device, layout, tableau, dtype
        self._defines = real_defines(device, dtype)
        self.queue = device.queue()
        self.start, self.step, self.every = plan.start, plan.step, plan.every
        self._h, self._real_h = plan.step, dtype.type(plan.step)
        states = layout.states
        self._states = np.int32(states)
        self._size = (-(-states // _GROUP) * _GROUP,), (_GROUP,)
        small = build(device, "simulation/steps.cl", self._defines)
        self._sample, self._combine = small.kernel("sample"), small.kernel("combine")
        self._error = small.kernel("error")
        self._y, self._a, self._b = (self.array(max(states, 1)) for _ in range(3))
        self._f = self.array(max(layout.functions, 1))
        self._k = self.array(max(tableau.stages * states, 1))
        rows = [tableau.rows[i, : i + 1] for i in range(tableau.stages)]
        self._weights = self.constant(np.concatenate(rows).astype(dtype))
        self._slots = self.constant(np.array([*outputs, 0], np.int32))
        self._count = len(outputs)
        self._rows, self._capacity = self.array(1), 0
        if tableau.error is not None:
            self._error_weights = self.constant(tableau.error.astype(dtype))
            self._partial = self.array(_SQUARES)
        self.together: ManySteps | None = None
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Build the kernels."""

    @property
    def states(self) -> cl.Buffer:
        """The states, in the order of their slots."""
        return self._y

    @property
    def arrays(self) -> tuple[Argument, ...]:
        """The first arguments of the kernel in steps.h."""
        arrays = (self._y, self._a, self._b, self._f, self._k, self._weights)
        return (*arrays, self.dtype.type(self.step), self._states)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Its arguments for outputs."""
        return self._slots, np.int32(self._count), self._rows

    @abstractmethod
    def launch(self, phase: int, arguments: tuple[Argument, ...]) -> None:
        """Enqueue a phase: the arguments are those of ``STAGE_ARGUMENTS`` in stages.h."""

    def array(self, values: int) -> cl.Buffer:
        """Return a buffer for this many numbers, filled with 0."""
        buffer = self.device.buffer(values * self.dtype.itemsize)
        zero = np.zeros(1, self.dtype)
        cl.enqueue_fill_buffer(self.queue, buffer, zero, 0, values * self.dtype.itemsize)
        return buffer

    def constant(self, values: Reals | NDArray[np.int32]) -> cl.Buffer:
        """Return a buffer with a copy of an array that kernels only read."""
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.queue.context, flags, hostbuf=np.ascontiguousarray(values))

    def put(self, states: Reals) -> None:
        """Set the states, in the order of their slots."""
        if states.size:
            cl.enqueue_copy(self.queue, self._y, np.ascontiguousarray(states, self.dtype))

    def get(self) -> Reals:
        """Return the states."""
        states = np.empty(self.layout.states, self.dtype)
        if states.size:
            cl.enqueue_copy(self.queue, states, self._y)
        return states

    def advance(self, first: int, steps: int) -> Reals:
        """Take steps of equal length, from number `first` on.

        Returns
        -------
        (rows, outputs) ndarray
            The outputs before each of these steps whose number is a multiple of `every`.
        """
        every = self.every
        rows = self.reserve(first, steps)
        row = done = 0
        if self.together is not None:
            done, row = self.together.advance(first, steps)
            if done < steps:
                self._one_by_one()
        for step in range(first + done, first + steps):
            wanted = step % every == 0
            self._take(step, row if wanted else None)
            row += wanted
            if step % _AHEAD == 0:
                self.queue.finish()
        return self.rows(rows)

    def _one_by_one(self) -> None:
        """Go on with a launch for each phase.

        On this device, groups that wait for each other stall.
        """
        _log.warning("a launch of several steps stalled on %s: phase by phase", self.device.name)
        self.together = None

    def reserve(self, first: int, steps: int) -> int:
        """Return the number of rows that some steps give, after making space for them."""
        rows = -(-(first + steps) // self.every) + -first // self.every
        if rows > self._capacity:
            self._rows, self._capacity = self.array(max(rows * self._count, 1)), rows
        return rows

    def rows(self, count: int) -> Reals:
        """Return the first rows that are stored on the device."""
        outputs = np.empty((count, self._count), self.dtype)
        if outputs.size:
            cl.enqueue_copy(self.queue, outputs, self._rows)
        else:
            self.queue.finish()
        return outputs

    def sample(self, time: float) -> Reals:
        """Return the outputs for the present states at a time."""
        self.reserve(0, 1)
        if self.together is not None:
            times = np.full((1, self.tableau.stages + 1), time)
            if self.together.launch(times, 0, 0, keep=False) is not None:
                only: Reals = self.rows(1)[0]
                return only
            self._one_by_one()
        self._functions(time, self._y, 0, self.step)
        self._keep(self._y, 0)
        row: Reals = self.rows(1)[0]
        return row

    def begin(self, time: float) -> None:
        """Compute the first slope of an adaptive method."""
        self._functions(time, self._y, 0, 0.0)
        self._slope(0, time, self._y, self._a, 0.0)

    def attempt(self, time: float, step: float, absolute: float, relative: float) -> float:
        """Try a step, and return its error: a root of the mean square, 1 if it is as allowed."""
        assert self.tableau.error is not None, "the method has no error"
        real, last = self.dtype.type, self.tableau.stages - 1
        h, zero = real(step), np.int32(0)
        combine = (self._y, self._k, self._a, self._weights, zero, h, self._states)
        self._combine(self.queue, *self._size, *combine)
        x, out = self._a, self._b
        for stage in range(1, last + 1):
            now = time + float(self.tableau.nodes[stage]) * step
            self._functions(now, x, stage, step)
            self._slope(stage, now, x, out, step)
            x, out = out, x
        # the last stage was at the new states, and out is where it read them
        self._a, self._b = out, x
        error = (self._y, out, self._k, self._error_weights, self._partial)
        counts = np.int32(self.tableau.stages), h, real(absolute), real(relative), self._states
        self._error(self.queue, (_SQUARES,), (_GROUP,), *error, *counts)
        partial = np.empty(_SQUARES, self.dtype)
        cl.enqueue_copy(self.queue, partial, self._partial)
        return float(np.sqrt(partial.sum(dtype=np.float64) / self.layout.states))

    def accept(self) -> None:
        """Go to the states of the last attempt; its last slope is the next first one."""
        self._y, self._a = self._a, self._y
        size = self.layout.states * self.dtype.itemsize
        last = (self.tableau.stages - 1) * size
        cl.enqueue_copy(
            self.queue, self._k, self._k, byte_count=size, src_offset=last, dst_offset=0
        )

    def _take(self, step: int, row: int | None) -> None:
        """Take one step; `row` is where the outputs before it are stored."""
        h, x, out = self.step, self._y, self._a
        for stage, node in enumerate(self.tableau.nodes):
            time = self.start + (step + float(node)) * h
            self._functions(time, x, stage, h)
            if stage == 0 and row is not None:
                self._keep(x, row)
            self._slope(stage, time, x, out, h)
            # y must stay until the step ends; then its array is free
            x, out = out, (self._b if out is self._a else self._a)
        old, self._y = self._y, x
        self._a, self._b = out, old
        if self.layout.resets is not None:
            self._reset(self.start + (step + 1) * h)

    def _reset(self, time: float) -> None:
        """Give the states the values of the resets."""
        self._functions(time, self._y, 0, self.step)
        cl.enqueue_copy(self.queue, self._a, self._y)
        self._phase(len(self.layout.phases), time, self._y, self._a, -1, self.step)
        self._y, self._a = self._a, self._y

    def _functions(self, time: float, x: cl.Buffer, stage: int, h: float) -> None:
        for phase in range(len(self.layout.phases) - 1):
            self._phase(phase, time, x, self._b, stage, h)

    def _slope(self, stage: int, time: float, x: cl.Buffer, out: cl.Buffer, h: float) -> None:
        self._phase(len(self.layout.phases) - 1, time, x, out, stage, h)

    def _phase(
        self, phase: int, time: float, x: cl.Buffer, out: cl.Buffer, stage: int, h: float
    ) -> None:
        real = self.dtype.type
        if h != self._h:
            self._h, self._real_h = h, real(h)
        changing = (real(time), x, self._y, out, _STAGES[stage])
        fixed = (self._f, self._k, self._weights, self._real_h, self._states)
        self.launch(phase, (*changing, *fixed))

    def _keep(self, x: cl.Buffer, row: int) -> None:
        """Store the outputs in a row on the device."""
        if self._count:
            size = (-(-self._count // _GROUP) * _GROUP,), (_GROUP,)
            numbers = np.int32(self._count), np.int32(row), self._states
            self._sample(self.queue, *size, x, self._f, self._slots, self._rows, *numbers)
