"""Profile everything that a call does: a timeline, and the criteria of each kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import cast

import numpy as np
import pyopencl as cl
from pyopencl.array import Array

from pyapsp.base.errors import CapabilityError, PyApspError
from pyapsp.base.json import Record
from pyapsp.device import Device, choose, device_errors
from pyapsp.device.kernels import Program
from pyapsp.device.kernels.source import headed
from pyapsp.profiling.arguments import SCALARS
from pyapsp.profiling.benchmarks.characterisation import Characterisation
from pyapsp.profiling.kernel import Measured, described, group_of, measured, with_includes
from pyapsp.profiling.observe import Command, Launched, Timeline, observing
from pyapsp.profiling.probes.opencl_types import Parameter
from pyapsp.profiling.traces.analysis import Analyst, mean
from pyapsp.profiling.traces.criteria import host_sync, transfer
from pyapsp.profiling.traces.record import Argument, Recorder, Shape

__all__ = ["built", "profile_run", "typed"]

_MACRO = re.compile(r"(?<!\S)-D\s*(\w+)(=(\S*))?")
_FOLDER = re.compile(r"-I\s*('[^']*'|\"[^\"]*\"|\S+)")
_STANDARD = re.compile(r"-cl-std=(\S+)")
# Versions that are as another, and the least number of each version after 1.2.
_AS = {"CL1.0": "CL1.2", "CL1.1": "CL1.2"}
_FROM = ((300, "CL3.0"), (200, "CL2.0"))
# Launches 1, 2, 4, 8, ... of a kernel are traced, and so many at most.
_TRACED = 6
_CALLS = 3  # of which each launch counts with its shortest time, which other programs disturb least


@dataclass
class _Kernel:
    """A kernel, its launches so far, and the traces of some."""

    launches: int = 0
    traces: list[_Traced] = field(default_factory=list)
    error: str | None = None


@dataclass(frozen=True)
class _Traced:
    """A launch that was traced."""

    number: int  # of the launches of its kernel, from 1
    launch: Measured


def profile_run(
    call: Callable[[], object],
    *,
    traces: bool = True,
    most: int | None = None,
    width: int | None = None,
    profile: Mapping[str, object] | None = None,
) -> tuple[Record, Timeline]:
    """Run a call, and describe what it did on devices.

    Parameters
    ----------
    call : callable
        Runs twice, first with traces of launches and then without, for the timeline.
    traces : bool
        False: it runs once, without traces.
    most : int, optional
        Trace only so many kernels, those that take most time, and only the longest launch of each;
        the call then runs five times. By default, the launches 1, 2, 4, 8 ... of all are traced.
    width : int, optional
        Items of a warp.
    profile : mapping, optional
        The profile of the device, for what limits the kernels.

    Returns
    -------
    record : dict
        ``seconds`` from the start of the first command to the end of the last, ``kernels``
        (largest sum of ``seconds`` first; ``trace``: as `described` has it, of the longest launch
        that was traced, with the mean of the criteria; ``traced``: the number of this launch, from
        1; ``error``: why it could not be traced),
        ``commands`` of other kinds, ``host_sync`` and ``transfer``.
    timeline : Timeline
    """
    tracer = _Tracer(width)
    if traces and most is not None:
        tracer.only(_longest([_launches(call) for _ in range(_CALLS)], most))
    if traces:
        with observing(tracer.before):
            call()
    with observing() as timeline:
        call()
    characterisation = None if profile is None else Characterisation.of(profile)
    commands = timeline.commands
    waited = host_sync(timeline.kernels) if timeline.kernels else 1.0
    others: dict[str, list[Command]] = {}
    for each in commands:
        if each.kind != "kernel":
            others.setdefault(each.name, []).append(each)
    rows: list[Record] = [
        {
            "kernel": name,
            "launches": len(mine),
            "seconds": _seconds(mine),
            "error": tracer.error(name) if traces else None,
            **_described(tracer.kernels.get(name), characterisation, waited),
        }
        for name, mine in timeline.launches.items()
    ]
    whole = max((each.end for each in commands), default=0.0)
    record: Record = {
        "seconds": whole - (commands[0].start if commands else 0.0),
        "host_sync": waited,
        "transfer": transfer(**timeline.copies),
        "copies": timeline.copies,
        "untimed": timeline.untimed,
        "kernels": rows,
        "commands": {
            kind: {
                "commands": len(mine),
                "seconds": _seconds(mine),
                "bytes": sum(each.size for each in mine),
            }
            for kind, mine in others.items()
        },
    }
    return record, timeline


def _launches(call: Callable[[], object]) -> dict[str, list[Command]]:
    with observing() as timeline:
        call()
    return timeline.launches


def _longest(calls: Sequence[Mapping[str, Sequence[Command]]], most: int) -> dict[str, int]:
    """Return the kernels that take most time, and the number of the longest launch of each."""
    seconds = {
        name: [
            min(each.seconds for each in launches)
            for launches in zip(*(call.get(name, ()) for call in calls), strict=False)
        ]
        for name in calls[0]
    }
    names = sorted(seconds, key=lambda name: -sum(seconds[name]))[:most]
    return {name: 1 + seconds[name].index(max(seconds[name])) for name in names if seconds[name]}


def _seconds(commands: Sequence[Command]) -> float:
    return sum(each.seconds for each in commands)


class _Tracer:
    """Traces some launches of each kernel before they happen, or those that are wanted, by name."""

    def __init__(self, width: int | None) -> None:
        self.kernels: dict[str, _Kernel] = {}
        self._width = width
        self._wanted: Mapping[str, int] | None = None
        self._recorders: dict[tuple[str, str, str | None, str], Recorder] = {}
        self._analysts: dict[str, Analyst] = {}

    def only(self, wanted: Mapping[str, int]) -> None:
        """Trace, from now on, only a launch of each of some kernels, by its number."""
        self.kernels.clear()
        self._wanted = wanted

    def error(self, kernel: str) -> str | None:
        """Return why no launch of a kernel was traced."""
        if self._wanted is not None and kernel not in self._wanted:
            return "others take more time"
        if kernel not in self.kernels:
            return "its arguments were set before the call"
        found = self.kernels[kernel]
        if not found.traces and found.error is None:
            return "it had fewer launches than before"
        return found.error

    def before(self, launch: Launched) -> None:
        """Trace a launch, and time its kernel without probes; buffers are restored."""
        name = launch.kernel.function_name
        found = self.kernels.setdefault(name, _Kernel())
        found.launches += 1
        if self._wanted is None:
            traced = found.launches & (found.launches - 1) == 0
        else:
            traced = found.launches == self._wanted.get(name)
        if not traced or len(found.traces) >= _TRACED or found.error is not None:
            return
        try:
            found.traces.append(_Traced(found.launches, self._traced(launch)))
        except (PyApspError, cl.Error) as error:
            found.error = str(error)

    def _traced(self, launch: Launched) -> Measured:
        if launch.moved:
            raise CapabilityError("launches whose items begin at an offset are not traced")
        device, source, standard = built(launch)
        if device.id not in self._analysts:
            self._analysts[device.id] = Analyst(device, self._width)
        analyst = self._analysts[device.id]
        kernel, queue, name = launch.kernel, launch.queue, launch.kernel.function_name
        key = device.id, source, standard, name
        if key not in self._recorders:
            recorder = Recorder(device, source, name, standard=standard, width=analyst.width)
            self._recorders[key] = recorder
        recorder = self._recorders[key]
        group = launch.group or group_of(device, kernel, launch.items)
        shape = Shape(launch.items, tuple(group))
        arguments = typed(recorder.program("blocks")[0].parameters, launch.arguments)
        return measured(analyst, recorder, queue, kernel, shape, arguments, launch.arguments)


def built(launch: Launched) -> tuple[Device, str, str | None]:
    """Return for what, from what, and as what version of OpenCL C a kernel was built.

    Raises
    ------
    CapabilityError
        If its source is not known.
    """
    if launch.program is not None:
        return launch.program.device, launch.program.source, launch.program.standard
    device = choose(launch.queue.context)
    program = cast("cl.Program", launch.kernel.get_info(cl.kernel_info.PROGRAM))
    source = str(program.get_info(cl.program_info.SOURCE) or "")
    if not source:
        raise CapabilityError(
            "its source is not known: it was built from a binary. PYOPENCL_NO_CACHE=1 in the "
            "environment avoids this"
        )
    asked = cl.program_build_info.OPTIONS
    options = str(program.get_build_info(device.handle, asked))  # type: ignore[no-untyped-call]
    standard = _STANDARD.search(options)
    version = _default(device) if standard is None else _AS.get(standard[1], standard[1])
    if version not in (None, "CL1.2", "CL2.0", "CL3.0"):
        raise CapabilityError(f"programs of {version} are not traced")
    macros = {name: value if given else 1 for name, given, value in _MACRO.findall(options)}
    source = with_includes(source, [each.strip("'\"") for each in _FOLDER.findall(options)])
    return device, headed(source, macros), version


@cache
def _default(device: Device) -> str | None:
    """Return the version of OpenCL C that a compiler takes without an option.

    By the standard, it is the latest 1.x; some compilers take 3.0.
    """
    source = "__kernel void version(__global int *x) { x[0] = __OPENCL_C_VERSION__; }"
    queue, found = device.queue(), np.empty(1, np.int32)
    with device_errors(device, found.nbytes):
        x = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, found.nbytes)
        Program(device, source).kernel("version")(queue, (1,), (1,), x)
        cl.enqueue_copy(queue, found, x)
    return next((each for least, each in _FROM if found[0] >= least), None)


def typed(parameters: Sequence[Parameter], arguments: Sequence[Argument]) -> list[Argument]:
    """Return arguments in which numbers of Python have the types of the parameters.

    Raises
    ------
    CapabilityError
        If there are not as many, or the kernel may write to an image.
    """
    if any("image" in each.type and "read_only" not in each.type for each in parameters):
        raise CapabilityError("kernels that write to images are not traced")
    if len(parameters) != len(arguments):  # kernels of PyOpenCL get each array and its offset
        parts = (
            (each.base_data, np.int64(each.offset)) if isinstance(each, Array) else (each,)
            for each in arguments
        )
        arguments = list(chain.from_iterable(parts))
    if len(parameters) != len(arguments):
        raise CapabilityError(f"{len(arguments)} arguments for {len(parameters)} parameters")
    return [
        SCALARS[parameter.type](argument)
        if isinstance(argument, int | float) and parameter.type in SCALARS
        else argument
        for parameter, argument in zip(parameters, arguments, strict=True)
    ]


def _described(kernel: _Kernel | None, device: Characterisation | None, waited: float) -> Record:
    if kernel is None or not kernel.traces:
        return {"traced": None, "trace": None}
    longest = max(kernel.traces, key=lambda each: each.launch.seconds)
    values = mean([(each.launch.trace.criteria, each.launch.seconds) for each in kernel.traces])
    launch = replace(longest.launch, trace=replace(longest.launch.trace, criteria=values))
    return {"traced": longest.number, "trace": described(launch, device, waited)}
