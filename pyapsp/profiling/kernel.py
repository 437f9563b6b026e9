"""Profile one kernel of a file: its time, its criteria, and what limits it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from statistics import median
from typing import cast
from zlib import crc32

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import ParameterError
from pyapsp.base.json import Record
from pyapsp.device import Device, device_errors, event_seconds
from pyapsp.device.kernels import Program, assemble
from pyapsp.device.kernels.source import headed, root
from pyapsp.profiling.arguments import arguments_of
from pyapsp.profiling.benchmarks.characterisation import Characterisation
from pyapsp.profiling.benchmarks.disassembly import Loop, Registers, loops_of_kernel, registers_of
from pyapsp.profiling.model import analyse
from pyapsp.profiling.traces.analysis import Analyst, LaunchTrace
from pyapsp.profiling.traces.criteria import WEIGHTS, Criteria, quality, transfer
from pyapsp.profiling.traces.record import Argument, Recorder, Shape

__all__ = [
    "Measured",
    "described",
    "group_of",
    "measured",
    "profile_kernel",
    "source_of",
    "with_includes",
]

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]')
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b")
_OWNER = "profile kernel"
_GROUP = 64
_SHOWN = 10
_LOOPS = 3


@dataclass(frozen=True)
class Measured:
    """What is known of a launch, and of its compiled kernel."""

    trace: LaunchTrace
    seconds: float  # without probes
    registers: Registers | None
    loops: list[Loop]


def source_of(file: str, defines: Mapping[str, str | int], folders: Sequence[str] = ()) -> str:
    """Return a file with its includes and with macros.

    Parameters
    ----------
    file : str
        A path, or the name of a kernel file of pyapsp, e.g. ``"traversal/bfs/bfs_harish.cl"``.
    defines : mapping of str to str or int
    folders : sequence of str
        Where its includes are, after its own folder.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    if not Path(file).exists() and (root() / file).exists():
        return assemble(file, defines)
    where = [Path(file).parent, *map(Path, folders), Path()]
    return headed("\n".join(_lines(_text(Path(file)), file, where, [Path(file)])), defines)


def with_includes(text: str, folders: Sequence[str]) -> str:
    """Return a source without a file, with its includes.

    Parameters
    ----------
    text : str
    folders : sequence of str
        Where they are.
    """
    return "\n".join(_lines(text, "<source>", [*map(Path, folders), Path()], []))


def profile_kernel(
    device: Device,
    file: str,
    kernel: str,
    words: Sequence[str],
    items: Sequence[int],
    group: Sequence[int] | None = None,
    *,
    folders: Sequence[str] = (),
    defines: Mapping[str, str | int] | None = None,
    standard: str = "CL1.2",
    width: int | None = None,
    profile: Mapping[str, object] | None = None,
) -> Record:
    """Run a kernel and describe it.

    Parameters
    ----------
    device : Device
    file, kernel : str
        The file, as for `source_of`, and the name of the kernel.
    words : sequence of str
        The arguments, as for `arguments_of`.
    items, group : sequence of int
        The work-items of the launch and of a group. By default, a group has the size that the
        kernel requires, or the largest divisor of the first size up to 64.
    folders : sequence of str
        As for `source_of`.
    defines : mapping of str to str or int, optional
        Macros.
    standard : {"CL1.2", "CL2.0", "CL3.0"}
        The version of OpenCL C.
    width : int, optional
        Items of a warp.
    profile : mapping, optional
        The profile of the device, for what limits the kernel.

    Returns
    -------
    dict
        As `described`, with the ``seconds`` of the kernel without probes.

    Raises
    ------
    ParameterError
        If there is no such kernel, or an argument or a size does not fit.
    ProgramError
        If the file is not OpenCL C, or has a construct that is not supported.
    """
    source = source_of(file, defines or {}, folders)
    analyst, queue = Analyst(device, width), device.queue()
    recorder = Recorder(device, source, kernel, standard=standard, name=file, width=analyst.width)
    parameters = recorder.instrumented("blocks").parameters
    # before any program with probes: the compiler's messages are about the user's lines
    program = Program(device, source, standard)
    built = program.kernel(kernel)
    shape = _shape(device, built, items, group)
    with device_errors(device, 0):
        arguments = arguments_of(queue.context, parameters, words)
        launch = measured(analyst, recorder, queue, built, shape, arguments, arguments)
    characterisation = None if profile is None else Characterisation.of(profile)
    return {"file": file, **described(launch, characterisation)}


def measured(
    analyst: Analyst,
    recorder: Recorder,
    queue: cl.CommandQueue,
    kernel: cl.Kernel,
    shape: Shape,
    arguments: Sequence[Argument],
    given: Sequence[object],
) -> Measured:
    """Trace a launch, and time it without probes.

    Parameters
    ----------
    analyst, recorder, queue, kernel, shape
    arguments : sequence
        Those of the kernel with probes.
    given : sequence
        Those of the kernel itself, for which PyOpenCL also takes arrays.
    """
    query = cl.kernel_work_group_info.LOCAL_MEM_SIZE
    local = cast(int, kernel.get_work_group_info(query, analyst.device.handle))
    times: list[float] = []

    def clean() -> None:
        # PyOpenCL takes local memory and arrays, too, but does not say so
        everything = cast("list[np.generic]", list(given))
        times.append(event_seconds(kernel(queue, shape.items, shape.group, *everything)))

    registers = registers_of(kernel)
    used = None if registers is None else registers.count
    trace = analyst.trace(recorder, queue, shape, arguments, local, used, clean)
    return Measured(trace, median(times[1:]), registers, loops_of_kernel(kernel))


def described(launch: Measured, device: Characterisation | None, host_sync: float = 1.0) -> Record:
    """Return what is known of a launch, in JSON values.

    Returns
    -------
    dict
        ``kernel``, ``items``, ``group``, ``seconds``; ``operations``; ``criteria`` (null: not
        known), ``quality`` (of those that are known), ``sites`` and ``divergent`` lines; of the
        compiled kernel, where the driver gives its code, ``registers`` of a work-item and bytes
        that are ``spilled`` (null: not known), and its largest innermost ``loops`` with their
        instructions by mnemonic; with a device also ``limits``: see `model.Analysis`.
    """
    trace, seconds, registers = launch.trace, launch.seconds, launch.registers
    values = trace.criteria
    limits = None if device is None else analyse(trace, seconds, device, host_sync)
    known = {
        **asdict(values),
        "host_sync": host_sync,
        "transfer": transfer(0, 0, 0),
        "intensity": None if limits is None else limits.intensity,
    }
    whole = Criteria(**known)
    return {
        "kernel": trace.kernel,
        "items": list(trace.shape.items),
        "group": list(trace.shape.group),
        "local_bytes": trace.local_bytes,
        "seconds": seconds,
        "recorded": trace.recorded,
        "operations": dict(trace.operations),
        "accesses": asdict(trace.accesses),
        "footprint": trace.footprint,
        "waiting": trace.waiting,
        "criteria": {name: known[name] for name in WEIGHTS},
        "quality": quality(whole),
        "sites": [
            {
                **asdict(each.site),
                "executions": each.executions,
                "efficiency": each.efficiency,
                "wasted": each.wasted,
            }
            for each in trace.sites[:_SHOWN]
        ],
        "divergent": [
            {"function": block.function, "file": block.file, "line": block.line, "idle": idle}
            for block, idle in trace.divergent[:_SHOWN]
        ],
        "registers": None if registers is None else registers.count,
        "spilled": None if registers is None else registers.spilled,
        "loops": [
            {"instruction_set": each.instruction_set, "mix": each.mix()}
            for each in launch.loops[:_LOOPS]
        ],
        "limits": None if limits is None else asdict(limits),
    }


def _shape(
    device: Device, kernel: cl.Kernel, items: Sequence[int], group: Sequence[int] | None
) -> Shape:
    """Return the sizes of a launch. Of wrong ones, drivers do not say what is wrong."""
    if len(items) > 3 or min(items) < 1:
        raise ParameterError.of("global", _OWNER, "one to three sizes of at least 1", items)
    group = group or group_of(device, kernel, items)
    most, required = device.handle.max_work_group_size, _required(device, kernel)
    if len(group) != len(items) or min(group) < 1 or prod(group) > most:
        rule = f"{len(items)} sizes of at least 1, and at most {most:,} items"
        raise ParameterError.of("local", _OWNER, rule, group)
    if any(required) and [*group, 1, 1][:3] != required:
        rule = f"the size that the kernel requires, {required}"
        raise ParameterError.of("local", _OWNER, rule, group)
    return Shape(tuple(items), tuple(group))


def _required(device: Device, kernel: cl.Kernel) -> list[int]:
    query = cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE
    return list(cast("list[int]", kernel.get_work_group_info(query, device.handle)))


def group_of(device: Device, kernel: cl.Kernel, items: Sequence[int]) -> list[int]:
    """Return a size of groups that a kernel can have, for a launch that leaves it to the driver."""
    required = _required(device, kernel)
    if all(required):
        return required[: len(items)]
    first = next(size for size in range(min(_GROUP, items[0]), 0, -1) if items[0] % size == 0)
    return [first, *[1] * (len(items) - 1)]


def _lines(text: str, name: str, folders: Sequence[Path], around: Sequence[Path]) -> list[str]:
    """Return the lines of a file; each include is replaced by the file.

    An include that is not found stays: only the preprocessor knows whether it is needed. One of a
    file in itself goes: only a guard would end it.
    """
    lines = [f'#line 1 "{name}"']
    for number, line in enumerate(text.splitlines(), start=1):
        match = _INCLUDE.match(line)
        found = (
            [each / match[1] for each in folders if (each / match[1]).is_file()] if match else []
        )
        if not found:
            lines.append(line)
            continue
        included = found[0].resolve()
        if included not in around:
            inner = _text(included)
            inside = [found[0].parent, *folders]
            new = _lines(inner, str(found[0]), inside, [*around, included])
            lines += _once(included, new)
        lines.append(f'#line {number + 1} "{name}"')
    return lines


def _once(file: Path, lines: list[str]) -> list[str]:
    """Return the lines of an included file, with a guard in place of `#pragma once`."""
    if not any(map(_ONCE.match, lines)):
        return lines
    guard = f"PYAPSP_ONCE_{crc32(bytes(file)):08X}"
    plain = ["" if _ONCE.match(each) else each for each in lines]
    return [f"#ifndef {guard}", f"#define {guard}", *plain, "#endif"]


def _text(file: Path) -> str:
    """Return a file, of which only comments may have letters outside ASCII, in any encoding."""
    return file.read_text(encoding="utf-8", errors="replace")
