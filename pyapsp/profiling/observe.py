"""Observe the launches and the copies of whatever runs in this process.

While it observes, functions of PyOpenCL are replaced by others that call them and keep their
events. At other times nothing is changed, and nothing is slower.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from math import prod
from typing import Any, cast

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import DeviceError
from pyapsp.base.json import Record
from pyapsp.device import Device, event_times
from pyapsp.device.kernels import Program
from pyapsp.profiling.traces.criteria import Span
from pyapsp.profiling.traces.record import Argument
from pyapsp.profiling.traces.reduction import overlapping

__all__ = ["Command", "Launched", "Timeline", "observing"]

_BETWEEN = ("write", "read")


@dataclass(frozen=True)
class Command:
    """A command that the device has run."""

    kind: str  # "kernel", "write", "read", "copy", "fill" or "map"
    name: str  # that of the kernel, or the kind
    queue: int  # number of the queue, in the order of their first commands
    # Seconds by the clock of the device.
    start: float
    end: float
    # Bytes that are moved; for a kernel its work-items.
    size: int

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start


@dataclass(frozen=True)
class Launched:
    """A launch before it happens."""

    # Where the kernel is from; None if pyapsp has not built it.
    program: Program | None
    kernel: cl.Kernel
    queue: cl.CommandQueue
    items: tuple[int, ...]
    group: tuple[int, ...] | None
    arguments: Sequence[Argument]
    moved: bool = False  # whether the items begin at an offset


@dataclass
class Timeline:
    """The commands of a run."""

    untimed: int = 0  # commands in older queues without profiling, or that failed
    _pending: list[tuple[str, str, int, int, cl.Event]] = field(default_factory=list)
    _queues: dict[int, int] = field(default_factory=dict)
    _buffers: dict[int, int] = field(default_factory=dict)
    _read: list[Command] | None = None

    def add(self, kind: str, name: str, queue: cl.CommandQueue, size: int, event: cl.Event) -> None:
        """Add a command that was enqueued."""
        number = self._queues.setdefault(queue.int_ptr, len(self._queues))
        self._pending.append((kind, name, number, size, event))

    def saw(self, *objects: object) -> None:
        """Note the buffers among some objects."""
        for each in objects:
            if isinstance(each, cl.MemoryObjectHolder):
                known = self._buffers.get(each.int_ptr, 0)
                self._buffers[each.int_ptr] = max(known, each.size)

    @property
    def commands(self) -> list[Command]:
        """All commands, by the time at which they started; waits for them."""
        if self._read is None:
            found = []
            for kind, name, queue, size, event in self._pending:
                try:
                    start, end = event_times(event)
                except DeviceError:
                    self.untimed += 1
                    continue
                found.append(Command(kind, name, queue, start * 1e-9, end * 1e-9, size))
            self._read = sorted(found, key=lambda each: each.start)
        return self._read

    @property
    def launches(self) -> dict[str, list[Command]]:
        """The launches of each kernel, by its name; largest sum of seconds first."""
        found: dict[str, list[Command]] = {}
        for each in self.commands:
            if each.kind == "kernel":
                found.setdefault(each.name, []).append(each)
        return dict(sorted(found.items(), key=lambda pair: -sum(each.seconds for each in pair[1])))

    def longest(self, kernel: str) -> int:
        """Return the number of the longest launch of a kernel, from 1."""
        seconds = [each.seconds for each in self.launches[kernel]]
        return 1 + seconds.index(max(seconds))

    @property
    def kernels(self) -> list[Span]:
        """When kernels ran."""
        return [Span(each.start, each.end) for each in self.commands if each.kind == "kernel"]

    @property
    def copies(self) -> dict[str, float]:
        """The bytes that `criteria.transfer` takes, by name."""
        moved = [each for each in self.commands if each.kind in _BETWEEN]
        spans = [(Span(each.start, each.end), float(each.size)) for each in moved]
        return {
            "copied": float(sum(each.size for each in moved)),
            "overlapping": overlapping(spans, self.kernels),
            "allocated": float(sum(self._buffers.values())),
        }

    def chrome(self) -> Record:
        """Return the events for the trace viewer of Chromium browsers and for Perfetto."""
        commands = self.commands
        first = commands[0].start if commands else 0.0
        return {
            "displayTimeUnit": "ns",
            "traceEvents": [
                {
                    "name": each.name,
                    "cat": each.kind,
                    "ph": "X",
                    "ts": (each.start - first) * 1e6,
                    "dur": (each.end - each.start) * 1e6,
                    "pid": 1,
                    "tid": each.queue,
                    "args": {"items" if each.kind == "kernel" else "bytes": each.size},
                }
                for each in commands
            ],
        }


@contextmanager
def observing(before: Callable[[Launched], None] | None = None) -> Iterator[Timeline]:
    """Keep the events of all commands that are enqueued in the block.

    Parameters
    ----------
    before : callable, optional
        Called before each launch. What it enqueues itself is not observed.

    Examples
    --------
    >>> with observing() as timeline:  # doctest: +SKIP
    ...     pyapsp.solve(graph)
    >>> len(timeline.commands)  # doctest: +SKIP
    12
    """
    observer = _Observer(before)
    before_us = [(owner, name, getattr(owner, name)) for owner, name, _ in observer.changes]
    try:
        for owner, name, change in observer.changes:
            original: Callable[..., object] = getattr(owner, name)
            setattr(owner, name, wraps(original)(change(original)))
        yield observer.timeline
    finally:
        for owner, name, function in before_us:
            setattr(owner, name, function)


class _Queues:
    """Takes the place of the class of queues: those that it makes have profiling.

    It is no subclass, so that the class of all queues is the same, and no function, so that
    `isinstance` and definitions of subclasses take it.
    """

    def __init__(self, original: Callable[..., object]) -> None:
        self._original = cast("type[cl.CommandQueue]", original)

    def __call__(
        self, context: cl.Context, device: cl.Device | None = None, properties: object = None
    ) -> cl.CommandQueue:
        flags: Any = 0 if properties is None else properties
        if isinstance(flags, int):  # OpenCL 2 has lists, too
            flags |= cl.command_queue_properties.PROFILING_ENABLE
        return self._original(context, device, flags)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type[cl.CommandQueue]]:
        return (self._original,)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._original)


class _Observer:
    """The functions that take the place of those of PyOpenCL."""

    def __init__(self, before: Callable[[Launched], None] | None) -> None:
        self.timeline = Timeline()
        self._before, self._busy = before, False
        # kernel -> place -> argument, of those that are set before a launch
        self._set: dict[cl.Kernel, dict[int, Argument]] = defaultdict(dict)
        self.changes: tuple[tuple[object, str, Callable[..., Callable[..., object]]], ...] = (
            (cl, "CommandQueue", _Queues),
            (cl, "enqueue_copy", self._copy),
            (cl, "enqueue_fill_buffer", self._fill),
            (cl, "enqueue_map_buffer", self._map),
            (cl, "enqueue_nd_range_kernel", self._enqueue),
            (cl.Kernel, "__call__", self._launch),
            (cl.Kernel, "set_arg", self._set_argument),
            (cl.Kernel, "set_args", self._set_arguments),
            (Device, "own_queue", self._own_queue),
        )

    def _own_queue(
        self, original: Callable[[Device], cl.CommandQueue]
    ) -> Callable[[Device], cl.CommandQueue]:
        """Give threads queues whose events have times."""
        queues = threading.local()

        def own_queue(device: Device) -> cl.CommandQueue:
            own: dict[Device, cl.CommandQueue] = queues.__dict__.setdefault("own", {})
            if device not in own:
                own[device] = device.queue()
            return own[device]

        return own_queue

    def _launch(self, original: Callable[..., cl.Event]) -> Callable[..., cl.Event]:
        """Observe the calls of kernels."""

        def call(
            kernel: cl.Kernel,
            queue: cl.CommandQueue,
            items: Sequence[int],
            group: Sequence[int] | None,
            *arguments: np.generic,
            **more: object,
        ) -> cl.Event:
            if self._busy:
                return original(kernel, queue, items, group, *arguments, **more)
            size = _whole(items, group, more.get("g_times_l"))
            self._precede(kernel, queue, size, group, arguments, more.get("global_offset"))
            event = original(kernel, queue, items, group, *arguments, **more)
            self._set.pop(kernel, None)  # it has the arguments of this launch now
            self.timeline.saw(*arguments)
            self.timeline.add("kernel", kernel.function_name, queue, prod(size), event)
            return event

        return call

    def _precede(
        self,
        kernel: cl.Kernel,
        queue: cl.CommandQueue,
        items: tuple[int, ...],
        group: Sequence[int] | None,
        arguments: Sequence[Argument],
        offset: object,
    ) -> None:
        """Call what was asked to be called before each launch."""
        if self._before is None:
            return
        program = Program.of(kernel)
        shape = items, None if group is None else tuple(group)
        self._busy = True
        try:
            self._before(
                Launched(program, kernel, queue, *shape, arguments, moved=offset is not None)
            )
        finally:
            self._busy = False

    def _set_argument(self, original: Callable[..., None]) -> Callable[..., None]:
        def set_arg(kernel: cl.Kernel, index: int, arg: Argument) -> None:
            original(kernel, index, arg)
            self._set[kernel][index] = arg

        return set_arg

    def _set_arguments(self, original: Callable[..., None]) -> Callable[..., None]:
        def set_args(kernel: cl.Kernel, *arguments: Argument) -> None:
            original(kernel, *arguments)
            self._set[kernel] = dict(enumerate(arguments))

        return set_args

    def _enqueue(self, original: Callable[..., cl.Event]) -> Callable[..., cl.Event]:
        """Observe launches of kernels whose arguments were set before."""

        def enqueue(
            queue: cl.CommandQueue,
            kernel: cl.Kernel,
            global_work_size: Sequence[int],
            local_work_size: Sequence[int] | None,
            global_work_offset: Sequence[int] | None = None,
            wait_for: Sequence[cl.Event] | None = None,
            g_times_l: bool = False,
            **more: object,
        ) -> cl.Event:
            offset, group = global_work_offset, local_work_size
            items = _whole(global_work_size, group, g_times_l)
            known = self._set.get(kernel, {})
            if not self._busy and len(known) == kernel.num_args:
                ordered = [known[place] for place in sorted(known)]
                self.timeline.saw(*ordered)
                self._precede(kernel, queue, items, group, ordered, offset)
            shape = global_work_size, group, offset
            event = original(queue, kernel, *shape, wait_for, g_times_l, **more)
            if not self._busy:
                self.timeline.add("kernel", kernel.function_name, queue, prod(items), event)
            return event

        return enqueue

    def _copy(self, original: Callable[..., cl.Event]) -> Callable[..., cl.Event]:
        def copy(
            queue: cl.CommandQueue,
            dest: object,
            src: object,
            *,
            byte_count: int | None = None,
            **more: object,
        ) -> cl.Event:
            given = {} if byte_count is None else {"byte_count": byte_count}
            event = original(queue, dest, src, **given, **more)
            self.timeline.saw(dest, src)
            if not self._busy:
                if not isinstance(src, cl.MemoryObjectHolder):
                    kind, size = "write", _bytes(src)
                elif not isinstance(dest, cl.MemoryObjectHolder):
                    kind, size = "read", _bytes(dest)
                else:
                    kind, size = "copy", min(_bytes(src), _bytes(dest))
                self.timeline.add(kind, kind, queue, byte_count or size, event)
            return event

        return copy

    def _fill(self, original: Callable[..., cl.Event]) -> Callable[..., cl.Event]:
        def fill(
            queue: cl.CommandQueue,
            mem: cl.MemoryObject,
            pattern: object,
            offset: int,
            size: int,
            *arguments: object,
            **more: object,
        ) -> cl.Event:
            event = original(queue, mem, pattern, offset, size, *arguments, **more)
            if not self._busy:
                self.timeline.add("fill", "fill", queue, size, event)
            return event

        return fill

    def _map(
        self, original: Callable[..., tuple[np.ndarray, cl.Event]]
    ) -> Callable[..., tuple[np.ndarray, cl.Event]]:
        def enqueue_map(
            queue: cl.CommandQueue, *arguments: object, **more: object
        ) -> tuple[np.ndarray, cl.Event]:
            array, event = original(queue, *arguments, **more)
            if not self._busy:
                self.timeline.add("map", "map", queue, array.nbytes, event)
            return array, event

        return enqueue_map


def _whole(
    items: Sequence[int], group: Sequence[int] | None, multiplied: object
) -> tuple[int, ...]:
    """Return the items of a launch, which may be given as groups."""
    if multiplied and group is not None:
        return tuple(a * b for a, b in zip(items, group, strict=True))
    return tuple(items)


def _bytes(memory: object) -> int:
    if isinstance(memory, cl.MemoryObjectHolder):
        return int(memory.size)
    return np.asarray(memory).nbytes
