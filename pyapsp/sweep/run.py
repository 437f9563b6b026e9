"""Run a sweep on a device: upload, arrange, compute, arrange back and download slices of tasks.

Rounds of a `Repeat` are enqueued before the host knows whether they are needed. Each has a flag,
and a round that is not needed does nothing. If the device has its own memory, three slices are in
progress; there is one copy of arranged arrays and scratch arrays. Slices give the same bits as the
whole sweep with the same number of lanes. With another number of lanes the code is different and
may round differently.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Program, Stopwatch, build
from pyapsp.sweep.arrays import Array, Repeat, Step
from pyapsp.sweep.forms import Form, Shape
from pyapsp.sweep.plan import FLAGS, Plan, is_arranged
from pyapsp.sweep.source import FAULT, PREFIX

__all__ = ["PHASES", "Kernels", "Run", "Slice", "require_right"]

#: The phases in which times are reported.
PHASES = ("upload", "arrangement", "kernel", "readback")
_ITEMS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
_TILE = 32
_GROUP = 256
_ZERO = np.zeros(1, np.int32)


@dataclass(frozen=True)
class Slice:
    """Some consecutive tasks of the sweep, from number `first` on.

    The arrays are inputs to read and outputs to write, each with the tasks on its first axis;
    C-contiguous.
    """

    first: int
    tasks: int
    arrays: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Kernels:
    """A program of the steps in one form, and how to launch each."""

    form: Form
    program: Program
    shapes: Mapping[Step, Shape]
    repeats: bool
    checked: bool


def require_right(fault: NDArray[np.int32], arrays: Sequence[Array], steps: Sequence[Step]) -> None:
    """Raise the error of a wrong access that a kernel has recorded.

    Raises
    ------
    ParameterError
        There is one; the message names step, array, entry, length and task.
    """
    kind, number, task, entry, step = fault.tolist()
    if not kind:
        return
    array = arrays[number]
    where = f"step {steps[step].name!r} of the body, in task {task},"
    what = f"entry {entry} of {array.role} {array.name!r}, whose length is {array.size}"
    if kind == 1:
        raise ParameterError(f"{where} accesses {what}")
    raise ParameterError(
        f"{where} reads {what}, before anything is written there: write it first, or give the "
        "array a fill"
    )


def _arrangement(device: Device, itemsize: int, lanes: int) -> tuple[Program, int]:
    """Return the kernels that arrange entries of a size, and their group size."""
    group = 1
    if not device.traits.scalar_groups:
        group = min(_GROUP, device.capabilities.max_work_group_size)
    defines: dict[str, str | int] = {
        "PYAPSP_ITEM": _ITEMS[itemsize],
        "PYAPSP_LANES": lanes,
        "PYAPSP_TILE": _TILE,
        "PYAPSP_GROUP": group,
    }
    return build(device, "sweep/arrangement.cl", defines), group


class Run:
    """Buffers and queues of one sweep.

    Parameters
    ----------
    device : Device
    arrays : sequence of Array
    steps : sequence of Step or Repeat
    kernels : Kernels
    plan : Plan
    common : mapping of str to ndarray
        The common arrays.
    """

    def __init__(
        self,
        device: Device,
        arrays: Sequence[Array],
        steps: Sequence[Step | Repeat],
        kernels: Kernels,
        plan: Plan,
        common: Mapping[str, np.ndarray],
    ) -> None:
        self._device, self._arrays, self._steps = device, arrays, steps
        self._kernels, self._plan = kernels, plan
        self._queue = device.queue()
        self._watches = {name: Stopwatch() for name in ("up", "device", "down")}
        self._arrangements: dict[int, tuple[Program, int]] = {}
        overlap = plan.slots > 1
        self._up, self._down = (device.queue() if overlap else self._queue for _ in range(2))
        with device_errors(device, plan.device_bytes):
            self._common = {name: self._bring(value) for name, value in common.items()}
            self._own = {
                array.name: self._allocate(array.nbytes * plan.tasks)
                for array in arrays
                if array.role == "scratch" or is_arranged(array, plan.form)
            }
            self._flags = self._allocate(4 * FLAGS)
            self._fault = self._allocate(4 * FAULT)
            cl.enqueue_fill_buffer(self._queue, self._fault, _ZERO, 0, 4 * FAULT).wait()
            self._slots = [_Slot(self) for _ in range(plan.slots)]

    def process(self, slices: Iterable[Slice]) -> Generator[Slice, None, None]:
        """Yield slices in order, each when its outputs are on the host."""
        with device_errors(self._device, self._plan.device_bytes):
            if self._plan.slots == 1:
                for each in slices:
                    [slot] = self._slots
                    slot.save(each, self._compute(each, slot, slot.load(each)))
                    self._require_right()
                    yield each
            else:
                yield from self._overlapped(slices)

    def seconds(self) -> dict[str, float]:
        """Return the device time of each phase; phases may overlap."""
        with device_errors(self._device, self._plan.device_bytes):
            return {
                phase: sum(watch.seconds(phase) for watch in self._watches.values())
                for phase in PHASES
            }

    def _require_right(self) -> None:
        """Raise the error of a wrong access in the slices that are computed, in checked builds."""
        if self._kernels.checked:
            fault = np.empty(FAULT, np.int32)
            cl.enqueue_copy(self._down, fault, self._fault)
            require_right(fault, self._arrays, list(self._kernels.shapes))

    def close(self) -> None:
        """Free the buffers."""
        for slot in self._slots:
            slot.release()
        for buffer in (*self._common.values(), *self._own.values(), self._flags, self._fault):
            buffer.release()

    def _overlapped(self, slices: Iterable[Slice]) -> Generator[Slice, None, None]:
        free = deque(self._slots)
        coming: deque[tuple[Slice, _Slot, Future[list[cl.Event]]]] = deque()
        going: deque[tuple[Slice, _Slot, Future[None]]] = deque()
        with ThreadPoolExecutor(1) as loader, ThreadPoolExecutor(1) as saver:

            def compute() -> None:
                each, slot, brought = coming.popleft()
                computed = self._compute(each, slot, brought.result())
                going.append((each, slot, saver.submit(slot.save, each, computed)))

            def finish() -> Slice:
                each, slot, taken = going.popleft()
                taken.result()
                self._require_right()
                free.append(slot)
                return each

            for each in slices:
                if not free:
                    yield finish()
                slot = free.popleft()
                coming.append((each, slot, loader.submit(slot.load, each)))
                if len(coming) > 1:
                    compute()
            while coming:
                compute()
            while going:
                yield finish()

    def _compute(self, each: Slice, slot: _Slot, brought: list[cl.Event]) -> cl.Event | None:
        """Enqueue what is between upload and readback, and return an event if queues differ."""
        if self._plan.slots > 1:
            cl.enqueue_barrier(self._queue, wait_for=brought)
        tasks = each.tasks
        for array in self._arrays:
            if array.role == "input" and is_arranged(array, self._plan.form):
                rows, lanes = slot.rows[array.name], self._own[array.name]
                self._arrange("interleave", array, rows, lanes, tasks)
            if array.fill is not None:
                pattern = np.asarray(array.fill).astype(array.dtype)
                buffer = self._buffer(array, slot)
                size = array.nbytes * -(-tasks // self._plan.form.lanes) * self._plan.form.lanes
                event = cl.enqueue_fill_buffer(self._queue, buffer, pattern, 0, size)
                self._watches["device"].add("kernel", event)
        launch = _Launch(self, each, [self._buffer(array, slot) for array in self._arrays])
        for step in self._steps:
            if isinstance(step, Repeat):
                self._repeat(step, launch)
            else:
                launch(step, 0)
        for array in self._arrays:
            if array.role == "output" and is_arranged(array, self._plan.form):
                rows, lanes = slot.rows[array.name], self._own[array.name]
                self._arrange("separate", array, lanes, rows, tasks)
        if self._plan.slots == 1:
            return None
        done: cl.Event = cl.enqueue_marker(self._queue)
        self._queue.flush()
        return done

    def _repeat(self, repeat: Repeat, launch: _Launch) -> None:
        """Enqueue rounds of steps in advance; a round that was not requested does nothing."""
        flags, ahead, done = np.empty(FLAGS, np.int32), 1, 0
        while True:
            ahead = min(ahead, FLAGS, repeat.limit - done)
            cl.enqueue_fill_buffer(self._queue, self._flags, _ZERO, 0, 4 * FLAGS)
            for round_ in range(ahead):
                for step in repeat.steps:
                    launch(step, round_)
            read = cl.enqueue_copy(self._queue, flags, self._flags, is_blocking=True)
            self._watches["device"].add("readback", read)
            done += ahead
            if not flags[:ahead].all():
                return
            if done >= repeat.limit:
                rule = "enough rounds for every task"
                raise ParameterError.of("limit", "Repeat", rule, repeat.limit)
            ahead *= 2

    def _arrange(
        self, name: str, array: Array, before: cl.Buffer, after: cl.Buffer, tasks: int
    ) -> None:
        lanes = self._plan.form.lanes
        itemsize = array.dtype.itemsize
        if itemsize not in self._arrangements:
            self._arrangements[itemsize] = _arrangement(self._device, itemsize, lanes)
        program, group = self._arrangements[itemsize]
        groups = -(-array.size // _TILE) * -(-tasks // lanes)
        sizes = np.int32(array.size), np.int32(tasks)
        size = groups * group, group
        event = program.kernel(name)(self._queue, size[:1], size[1:], before, after, *sizes)
        self._watches["device"].add("arrangement", event)

    def _buffer(self, array: Array, slot: _Slot) -> cl.Buffer:
        """Return the kernel argument for an array."""
        for buffers in (self._common, self._own, slot.rows):
            if array.name in buffers:
                return buffers[array.name]
        raise KeyError(array.name)

    def _allocate(self, size: int) -> cl.Buffer:
        return cl.Buffer(self._device.context, cl.mem_flags.READ_WRITE, size)

    def _bring(self, value: np.ndarray) -> cl.Buffer:
        buffer = self._allocate(value.nbytes)
        event = cl.enqueue_copy(self._queue, buffer, value, is_blocking=True)
        self._watches["up"].add("upload", event)
        return buffer


class _Launch:
    """Launches steps for one slice."""

    def __init__(self, run: Run, each: Slice, buffers: list[cl.Buffer]) -> None:
        self._run, self._tasks = run, each.tasks
        self._arguments: tuple[cl.Buffer | np.int32, ...] = (
            *buffers,
            np.int32(each.first),
            np.int32(each.tasks),
        )

    def __call__(self, step: Step, round_: int) -> None:
        run, shape = self._run, self._run._kernels.shapes[step]
        kernel = run._kernels.program.kernel(PREFIX + step.name)
        size = (shape.groups(step, self._tasks) * shape.items,)
        again: tuple[cl.Buffer | np.int32, ...] = ()
        if run._kernels.repeats:
            again = (run._flags, np.int32(round_))
        if run._kernels.checked:
            again += (run._fault,)
        event = kernel(run._queue, size, (shape.items,), *self._arguments, *again)
        run._watches["device"].add("kernel", event)


class _Slot:
    """The rows of a slice on the device, with upload and download."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._moved = [array for array in run._arrays if array.role in ("input", "output")]
        tasks = run._plan.tasks
        self.rows = {array.name: run._allocate(array.nbytes * tasks) for array in self._moved}

    def load(self, each: Slice) -> list[cl.Event]:
        """Upload the inputs, and return the events."""
        run, events = self._run, []
        for array in self._moved:
            if array.role == "input":
                value = each.arrays[array.name]
                event = cl.enqueue_copy(run._up, self.rows[array.name], value, is_blocking=False)
                events.append(run._watches["up"].add("upload", event))
        run._up.flush()
        return events

    def save(self, each: Slice, computed: cl.Event | None) -> None:
        """Wait for the kernels, and download the outputs."""
        run, events = self._run, []
        if computed is not None:
            # a copy that waits in the driver would block other threads in it
            computed.wait()
        for array in self._moved:
            if array.role == "output":
                value = each.arrays[array.name]
                event = cl.enqueue_copy(run._down, value, self.rows[array.name], is_blocking=False)
                events.append(run._watches["down"].add("readback", event))
        run._down.flush()
        for event in events:
            event.wait()

    def release(self) -> None:
        """Free the buffers."""
        for buffer in self.rows.values():
            buffer.release()
