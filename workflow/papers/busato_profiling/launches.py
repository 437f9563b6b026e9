"""One launch of a call, with what its buffers held, so that it can be traced and repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias, cast

import numpy as np
import pyopencl as cl

from pyapsp.device import Device, device_errors, event_seconds
from pyapsp.device.kernels import Program
from pyapsp.errors import CapabilityError
from pyapsp.profiling.kernel import group_of
from pyapsp.profiling.observe import Launched, observing
from pyapsp.profiling.run import built, typed
from pyapsp.profiling.traces.analysis import Analyst, LaunchTrace
from pyapsp.profiling.traces.record import Argument, Recorder, Shape
from pyapsp.profiling.traces.units import width_of

__all__ = ["Replay", "SavedLaunch", "longest_launch"]

#: The bytes of a buffer, a number, local memory, or None for no buffer.
Saved: TypeAlias = "np.ndarray | np.generic | cl.LocalMemory | None"


@dataclass(frozen=True)
class SavedLaunch:
    """A launch."""

    device: Device
    source: str
    standard: str | None  # the version of OpenCL C
    kernel: str
    shape: Shape
    recorder: Recorder  # of the kernel
    arguments: tuple[Saved, ...]  # one array for places that have the same buffer


def longest_launch(call: Callable[[], object]) -> SavedLaunch:
    """Return the longest launch of the kernel that takes most of the time of a call.

    Parameters
    ----------
    call : callable
        Runs twice.

    Raises
    ------
    CapabilityError
        If the launch cannot be repeated.
    """
    name, number, launches, saved = "", 0, 0, list[SavedLaunch]()

    def before(launch: Launched) -> None:
        nonlocal launches
        if launch.kernel.function_name == name:
            launches += 1
            if launches == number:
                saved.append(_saved(launch))

    with observing(before) as timeline:
        call()
        name = next(iter(timeline.launches))
        number = timeline.longest(name)
        call()
    if not saved:
        raise CapabilityError(f"{name}: launch {number} does not happen in each call")
    return saved[0]


class Replay:
    """A launch that can be repeated; each time its buffers have the same content before.

    Parameters
    ----------
    saved : SavedLaunch
    """

    def __init__(self, saved: SavedLaunch) -> None:
        self._saved, self._queue = saved, saved.device.queue()
        self._kernel = Program(saved.device, saved.source, saved.standard).kernel(saved.kernel)
        self._copies: list[tuple[cl.Buffer, cl.Buffer]] = []
        buffers: dict[int, cl.Buffer] = {}
        self._arguments: list[Argument] = []
        with device_errors(saved.device, 0):
            for each in saved.arguments:
                if isinstance(each, np.ndarray):
                    if id(each) not in buffers:
                        buffers[id(each)] = self._filled(each)
                        self._copies.append((buffers[id(each)], self._filled(each)))
                    self._arguments.append(buffers[id(each)])
                else:
                    self._arguments.append(each)
            # PyOpenCL takes local memory, too, but does not say so
            self._kernel.set_args(*cast("list[cl.Buffer]", self._arguments))

    def _filled(self, content: np.ndarray) -> cl.Buffer:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self._queue.context, flags, hostbuf=content)

    def restore(self, times: int = 1) -> None:
        """Give the buffers that the kernel writes their content back, and wait for it."""
        with device_errors(self._saved.device, 0):
            for _ in range(times):
                self._restore()
            self._queue.finish()

    def run(self, times: int = 1) -> None:
        """Restore the buffers and launch the kernel, so many times, and wait for the end."""
        with device_errors(self._saved.device, 0):
            for _ in range(times):
                self._restore()
                self._launch()
            self._queue.finish()

    @property
    def restores(self) -> bool:
        """Whether there is anything to restore."""
        return bool(self._copies)

    def _restore(self) -> None:
        for buffer, copy in self._copies:
            cl.enqueue_copy(self._queue, buffer, copy)

    def _launch(self) -> cl.Event:
        shape = self._saved.shape
        return cl.enqueue_nd_range_kernel(self._queue, self._kernel, shape.items, shape.group)

    def results(self) -> list[np.ndarray]:
        """Run once, and return the content of all buffers.

        Buffers that the kernel does not write are not restored any more.
        """
        device = self._saved.device
        with device_errors(device, 0):
            self._restore()
            self._launch()
            contents, written = [], []
            for buffer, copy in self._copies:
                after, before = (np.empty(buffer.size, np.uint8) for _ in range(2))
                cl.enqueue_copy(self._queue, after, buffer)
                cl.enqueue_copy(self._queue, before, copy)
                contents.append(after)
                if not np.array_equal(before, after):
                    written.append((buffer, copy))
            self._copies = written
        return contents

    def traced(self) -> tuple[LaunchTrace, float]:
        """Return the trace of the launch, and the seconds of the kernel without probes."""
        saved, times = self._saved, list[float]()
        query = cl.kernel_work_group_info.LOCAL_MEM_SIZE
        local = cast(int, self._kernel.get_work_group_info(query, saved.device.handle))
        trace = Analyst(saved.device).trace(
            saved.recorder,
            self._queue,
            saved.shape,
            self._arguments,
            local,
            clean=lambda: times.append(event_seconds(self._launch())),
        )
        return trace, median(times[1:])


def _saved(launch: Launched) -> SavedLaunch:
    name = launch.kernel.function_name
    if launch.moved:
        raise CapabilityError(f"{name}: launches whose items begin at an offset are not repeated")
    device, source, standard = built(launch)
    recorder = Recorder(device, source, name, standard=standard, width=width_of(device))
    group = launch.group or group_of(device, launch.kernel, launch.items)
    contents: dict[int, np.ndarray] = {}
    arguments: list[Saved] = []
    for each in typed(recorder.program("blocks")[0].parameters, launch.arguments):
        if isinstance(each, cl.MemoryObjectHolder):
            if each.int_ptr not in contents:
                contents[each.int_ptr] = np.empty(each.size, np.uint8)
                cl.enqueue_copy(launch.queue, contents[each.int_ptr], each)
            arguments.append(contents[each.int_ptr])
        else:
            arguments.append(each)
    shape = Shape(launch.items, tuple(group))
    return SavedLaunch(device, source, standard, name, shape, recorder, tuple(arguments))
