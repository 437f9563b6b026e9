"""What scalar code, branches, the turns of loops and the starts of groups cost.

The rates of the arithmetic suite are those of full vectors. The kernels of graphs have few: their
operations are of single values, and their branches follow the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.base.json import Record
from pyapsp.device import Device, device_errors, event_seconds
from pyapsp.device.kernels import Program, build
from pyapsp.profiling.benchmarks.answers import difference, read_back
from pyapsp.profiling.benchmarks.disassembly import loops_of
from pyapsp.profiling.benchmarks.measuring import Benchmark, Prepare, one_launch

__all__ = ["control", "cores", "graph", "groups_of_units"]

_STEPS = 32
_GROUP = 256  # work-items of a group on a GPU
_GROUPS_PER_UNIT = 4
# The graph of `profiling_rows`: 6 KiB.
_ROWS, _LENGTH, _VALUES = 64, 8, 1024
# Operations of a round for each head, for each row, and beside the rows.
_OF_HEAD, _OF_ROW, _OF_ROUND = 8, 8, 5
_FACTOR, _SUMMAND = 1664525, 1013904223
_STARTED = 32  # groups of a round
# Rounds of a group in launches that are divided among the cores: 0.05 to 4 ms for one core.
_OF_LAUNCH = (8, 32, 128, 512)
_LAUNCHES = 8  # of a run, at least
_MARKS = 4096
_TURNS = 1024  # of a loop
_JUMP = r"j(?!mp)\w+"


def control(device: Device) -> Iterator[Prepare]:
    """Yield the benchmarks of scalar code, of branches, of starts of groups, and of turns of loops.

    Parameters
    ----------
    device : Device
    """
    yield partial(_rows, device)
    for ways in (1, 0):
        yield partial(_branches, device, ways)
    yield partial(_groups, device)
    for is_known in (False, True):
        yield partial(_turns, device, is_known)


def cores(device: Device) -> Iterator[Prepare]:
    """Yield the benchmarks of how many cores of a CPU take part in launches.

    Parameters
    ----------
    device : Device
    """
    if device.traits.scalar_groups:
        for rounds in _OF_LAUNCH:
            yield partial(_cores, device, rounds)


def groups_of_units(device: Device) -> tuple[int, int]:
    """Return the groups that fill a device, or one core of it, and the work-items of a group."""
    units = device.capabilities.compute_units
    if device.traits.scalar_groups:
        return 1, 1
    return units * _GROUPS_PER_UNIT, min(_GROUP, device.capabilities.max_work_group_size)


def graph() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ends of rows, heads of arcs, and values of vertices."""
    random = np.random.default_rng(0)
    ends = np.arange(_ROWS + 1, dtype=np.uint32) * np.uint32(_LENGTH)
    heads = random.integers(0, _VALUES, _ROWS * _LENGTH).astype(np.uint32)
    return ends, heads, random.integers(0, 2**16, _VALUES).astype(np.uint32)


def _rows(device: Device) -> Benchmark:
    """Return the rate of operations of single values, with data in the first cache."""
    queue, shape = device.queue(), groups_of_units(device)
    run, fault, work = _launch_of_rows(device, queue, *shape)
    return Benchmark("scalar code", {}, "operations", work, run, fault, metered=True)


def _cores(device: Device, rounds: int) -> Benchmark:
    """Return the rate of operations of single values in launches that all cores may take part in.

    Cores that sleep begin later than the first one, or not at all: others have done the work. The
    median of all launches counts, not that of the run which other programs disturb least.
    """
    queue = device.queue()
    launch, right, work = _launch_of_rows(device, queue, _STARTED, 1)

    times: list[float] = []

    def run(launches: int) -> float:
        times.extend(launch(rounds) for _ in range(launches))
        return launches * median(times) if launches else 0.0

    def fault(launches: int) -> str | None:
        return right(rounds) if launches else None

    work *= rounds
    place: Record = {"operations": work}
    return Benchmark("cores", place, "operations", work, run, fault, least=_LAUNCHES)


def _launch_of_rows(
    device: Device, queue: cl.CommandQueue, groups: int, group: int
) -> tuple[Callable[[int], float], Callable[[int], str | None], float]:
    """Return `run` and `fault` of a benchmark of single values, and the operations of a round."""
    items, arrays = groups * group, graph()
    _, heads, values = arrays
    with device_errors(device, 4 * items):
        kernel = build(device, "profiling/control.cl", {}).kernel("profiling_rows")
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        buffers = [cl.Buffer(queue.context, flags, hostbuf=each) for each in arrays]
        out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * items)
    scalars = np.uint32(_ROWS), values.max()
    run = one_launch(device, queue, kernel, items, group, *buffers, out, *scalars)

    def fault(rounds: int) -> str | None:
        total = int(values[heads].sum()) * rounds % 2**32
        return difference(read_back(queue, out, items), np.full(items, total, np.uint32))

    return run, fault, float(items * ((_OF_HEAD * _LENGTH + _OF_ROW) * _ROWS + _OF_ROUND))


def _after(numbers: NDArray[np.uint32], steps: int) -> NDArray[np.uint32]:
    """Return the numbers after some steps of the generator of `profiling_branches`."""
    factor, summand, base, offset = 1, 0, _FACTOR, _SUMMAND
    while steps:
        if steps % 2:
            factor, summand = factor * base % 2**32, (summand * base + offset) % 2**32
        base, offset, steps = base * base % 2**32, (base + 1) * offset % 2**32, steps // 2
    return numbers * np.uint32(factor) + np.uint32(summand)


def _branches(device: Device, ways: int) -> Benchmark:
    """Return the rate of branches that go the same way, or at random.

    They go other ways in each launch: predictors remember those of the launch before.
    """
    queue, (groups, group) = device.queue(), groups_of_units(device)
    items = groups * group
    defines = {"PYAPSP_STEPS": _STEPS}
    with device_errors(device, 8 * items):
        program = build(device, "profiling/control.cl", defines)
        kernel = program.kernel("profiling_branches")
        out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 8 * items)
    launch = one_launch(device, queue, kernel, items, group, out, np.uint32(ways))
    random, first = np.random.default_rng(0), np.zeros(items, np.uint32)

    def run(rounds: int) -> float:
        first[:] = random.integers(2**32, size=items)
        with device_errors(device, 0):
            cl.enqueue_copy(queue, out, np.append(np.zeros_like(first), first))
        return launch(rounds)

    def fault(rounds: int) -> str | None:
        # one of the last steps stored the number: that none of 128 did has a chance of 2^-128
        steps = rounds * _STEPS
        last = min(steps, 128)
        number, stored = _after(first, steps - last), np.zeros(items, np.uint32)
        for _ in range(last):
            number = number * np.uint32(_FACTOR) + np.uint32(_SUMMAND)
            stored = np.where(number >> np.uint32(31) < ways, number, stored)
        return difference(read_back(queue, out, 2 * items), np.append(stored, number))

    place: Record = {"ways": "random" if ways else "one"}
    work = float(items * _STEPS)
    return Benchmark("branches", place, "branches", work, run, fault, lambda: _counted(program))


def _counted(program: Program) -> Record:
    """Compare the branches of a round with the conditional jumps of the compiled loop."""
    found: Record = {"operations": _STEPS, "counted": None, "counts_agree": None}
    loops = [each for each in loops_of(program) if each.instruction_set == "x86"]
    if loops:
        counted = max(each.count(_JUMP) for each in loops)
        # one is that of the loop
        found |= {"counted": counted, "counts_agree": counted == _STEPS + 1}
    return found


def _groups(device: Device) -> Benchmark:
    """Return the rate at which groups of one work-item start that do almost nothing."""
    queue = device.queue()
    kernel = build(device, "profiling/launch.cl", {}).kernel("profiling_groups")
    out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * _MARKS)

    def run(rounds: int) -> float:
        with device_errors(device, 0):
            cl.enqueue_fill_buffer(queue, out, np.zeros(1, np.uint32), 0, 4 * _MARKS)
            if not rounds:
                return 0.0
            event = kernel(queue, (_STARTED * rounds,), (1,), out, np.uint32(_MARKS - 1))
            return event_seconds(event)

    def fault(rounds: int) -> str | None:
        expected = (np.arange(_MARKS) < _STARTED * rounds).astype(np.uint32)
        return difference(read_back(queue, out, _MARKS), expected)

    return Benchmark("groups", {}, "groups", float(_STARTED), run, fault)


def _turns(device: Device, is_known: bool) -> Benchmark:
    """Return the rate of turns of a loop with a store, whose bound is in memory or is not."""
    queue = device.queue()
    defines = {"PYAPSP_KNOWN": int(is_known)}
    kernel = build(device, "profiling/control.cl", defines).kernel("profiling_turns")
    with device_errors(device, 4 * _TURNS):
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        out = cl.Buffer(queue.context, flags, hostbuf=np.zeros(_TURNS, np.uint32))
        bound = cl.Buffer(queue.context, flags, hostbuf=np.array([_TURNS], np.uint32))

    run = one_launch(device, queue, kernel, 1, 1, out, bound)

    def fault(rounds: int) -> str | None:
        expected = (np.arange(_TURNS) + rounds - 1) * bool(rounds)
        return difference(read_back(queue, out, _TURNS), expected.astype(np.uint32))

    place: Record = {"bound": "private" if is_known else "memory"}
    return Benchmark("turns", place, "turns", float(_TURNS), run, fault)
