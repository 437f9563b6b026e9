"""What launches, barriers, divergent paths and atomic operations cost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pyopencl as cl

from pyapsp.base.json import Record
from pyapsp.device import Device, device_errors, event_seconds
from pyapsp.device.kernels import build
from pyapsp.profiling.benchmarks.answers import difference, read_back
from pyapsp.profiling.benchmarks.measuring import Benchmark, Prepare, one_launch
from pyapsp.profiling.benchmarks.memory import chain_of

__all__ = ["additions", "scheduling"]

_STEPS = 32
_GROUP = 256
_WORDS = 1024
_KEPT = 8  # vectors that are live across barriers
_VECTOR = 64  # their bytes: those of the strips of matrices that a work-item has
_CHAIN = 2**20  # bytes of the words of the latency of atomic operations
_LINES = 128  # fewer than the first cache has
_APART = 32  # words from a line to the next one, so that no core prefetches it
_MULTIPLIER, _OPERAND = 5, 3


def scheduling(device: Device, *, quick: bool = False) -> Iterator[Prepare]:
    """Yield the benchmarks of launches, barriers, paths and atomic operations.

    Parameters
    ----------
    device : Device
    quick : bool
        Whether to leave out every second point of the curves.
    """
    every = 2 if quick else 1
    units = device.capabilities.compute_units
    for place in ({"waiting": "at the end"}, {"waiting": "for each"}, {"clock": "device"}):
        yield partial(_launches, device, place)
    yield partial(_launches, device, {"clock": "device", "groups": units}, units)
    most = min(device.capabilities.max_work_group_size, _WORDS)
    for group in (32, 64, 128, 256, 512, 1024)[::every]:
        if group <= most:
            yield partial(_barriers, device, group)
            yield partial(_barriers, device, group, _KEPT)
    for paths in (1, 2, 4, 8, 16, 32)[::every]:
        yield partial(_paths, device, paths)
    for local in (False, True):
        for distinct in (False, True):
            yield partial(additions, device, local=local, distinct=distinct)
    for distinct in (False, True):
        yield partial(_shared, device, distinct)
        yield partial(_lines, device, distinct)
    yield partial(_chained, device)


def _launches(device: Device, place: Mapping[str, str | int], groups: int = 1) -> Benchmark:
    """Return the time of launches of an empty kernel, in groups of one work-item.

    One after the other, or waiting for each, by the clock of the host; or the time that they take
    by the clock of the device.
    """
    queue = device.queue()
    kernel = build(device, "profiling/launch.cl", {}).kernel("profiling_empty")
    out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4)

    def run(rounds: int) -> float:
        with device_errors(device, 0):
            cl.enqueue_fill_buffer(queue, out, np.zeros(1, np.uint32), 0, 4)
            queue.finish()
            started, events = time.perf_counter(), []
            for _ in range(rounds):
                events.append(kernel(queue, (groups,), (1,), out))
                if place.get("waiting") == "for each":
                    queue.finish()
            queue.finish()
            elapsed = time.perf_counter() - started
            return sum(map(event_seconds, events)) if "clock" in place else elapsed

    def fault(rounds: int) -> str | None:
        return difference(read_back(queue, out, 1), np.array([groups * min(rounds, 1)]))

    return Benchmark("launch", dict(place), "launches", 1, run, fault)


def _barriers(device: Device, group: int, kept: int = 0) -> Benchmark:
    """Return the time of a barrier, with one group on each unit, or that of values across it.

    On a CPU there is one group: it is not known how many cores take part in a launch.
    """
    queue = device.queue()
    items = group * (1 if device.traits.scalar_groups else device.capabilities.compute_units)
    defines = {"PYAPSP_WORDS": _WORDS, "PYAPSP_KEPT": kept}
    kernel = build(device, "profiling/scheduling.cl", defines).kernel("profiling_barriers")
    out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * items)

    run = one_launch(device, queue, kernel, items, group, out)

    def fault(rounds: int) -> str | None:
        if kept and rounds > 3:
            return None  # NumPy would take too long
        item = np.arange(items, dtype=np.uint32) % np.uint32(group)
        last = (item + np.uint32(rounds)) % np.uint32(group) + np.uint32(rounds)
        for number in range(kept):
            value = item
            for turn in range(1, rounds + 1):
                passed = (item + np.uint32(turn)) % np.uint32(group) + np.uint32(turn)
                value = (value ^ passed) + np.uint32(number)
            last = last + value
        return difference(read_back(queue, out, items), last)

    # the groups pass their barriers at the same time
    if not kept:
        return Benchmark("barrier", {"work-items": group}, "barriers", 2, run, fault)
    state = group * kept * _VECTOR
    place: Record = {"of a work-item": kept * _VECTOR, "bytes": state}
    return Benchmark("saved values", place, "bytes", 2.0 * state, run, fault)


def _shared(device: Device, distinct: bool) -> Benchmark:
    """Return the rate of additions of all units to one word in turns, or to words of their own."""
    queue, items = device.queue(), device.capabilities.compute_units
    defines = {"PYAPSP_STEPS": _STEPS}
    kernel = build(device, "profiling/scheduling.cl", defines).kernel("profiling_shared")
    sizes = 4 * items * _APART, 4 * items
    counters, out = (cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size) for size in sizes)
    scalars = np.uint32(_APART * distinct), np.uint32(0)

    def run(rounds: int) -> float:
        with device_errors(device, 0):
            cl.enqueue_fill_buffer(queue, counters, np.zeros(1, np.uint32), 0, sizes[0])
            event = kernel(queue, (items,), (1,), counters, out, *scalars, np.int32(rounds))
            return event_seconds(event)

    def fault(rounds: int) -> str | None:
        expected = np.zeros(items * _APART, np.uint32)
        expected[:: _APART if distinct else len(expected)] = rounds * (1 if distinct else items)
        return difference(read_back(queue, counters, len(expected)), expected)

    place: Record = {"counters": "one for each work-item" if distinct else "one"}
    return Benchmark("shared word", place, "operations", float(items), run, fault)


def _lines(device: Device, distinct: bool) -> Benchmark:
    """Return the rate of additions of a unit to many words, in lines that all use or in its own."""
    queue, items = device.queue(), min(device.capabilities.compute_units, _APART)
    defines = {"PYAPSP_LINES": _LINES, "PYAPSP_APART": _APART}
    kernel = build(device, "profiling/scheduling.cl", defines).kernel("profiling_lines")
    words = _LINES * _APART * (items if distinct else 1)
    lines, out = (cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * n) for n in (words, items))

    def run(rounds: int) -> float:
        with device_errors(device, 0):
            cl.enqueue_fill_buffer(queue, lines, np.zeros(1, np.uint32), 0, 4 * words)
            arguments = lines, out, np.uint32(distinct), np.int32(rounds)
            return event_seconds(kernel(queue, (items,), (1,), *arguments))

    def fault(rounds: int) -> str | None:
        expected = np.zeros((words // _LINES // _APART, _LINES, _APART), np.uint32)
        item = np.arange(items)
        expected[item if distinct else 0, :, item] = rounds % 2**32
        return difference(read_back(queue, lines, words), expected.ravel())

    place: Record = {"lines": "one for each work-item" if distinct else "of all"}
    return Benchmark("shared lines", place, "operations", float(_LINES), run, fault)


def _chained(device: Device) -> Benchmark:
    """Return the latency of atomic operations on words all over memory.

    That of one word depends on how far the part of the cache is that has it.
    """
    queue = device.queue()
    cycle, following = chain_of(device, _CHAIN)
    with device_errors(device, _CHAIN):
        kernel = build(device, "profiling/scheduling.cl", {"PYAPSP_STEPS": _STEPS}).kernel(
            "profiling_chained"
        )
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        chain = cl.Buffer(queue.context, flags, hostbuf=following)
        out = cl.Buffer(queue.context, flags, hostbuf=np.zeros(1, np.uint32))
    launch = one_launch(device, queue, kernel, 1, 1, chain, out, np.uint32(0))
    done = 0

    def run(rounds: int) -> float:
        nonlocal done
        done += rounds * _STEPS
        return launch(rounds)

    def fault(rounds: int) -> str | None:
        last = done % len(cycle)
        return difference(read_back(queue, out, 1), cycle[last : last + 1])

    return Benchmark("atomic latency", {"memory": "global"}, "operations", _STEPS, run, fault)


def _paths(device: Device, paths: int) -> Benchmark:
    """Return the rate of steps when the work-items of a group take different paths."""
    queue, capabilities = device.queue(), device.capabilities
    group = min(_GROUP, capabilities.max_work_group_size)
    items = group * capabilities.compute_units * 4
    defines = {"PYAPSP_STEPS": _STEPS}
    kernel = build(device, "profiling/scheduling.cl", defines).kernel("profiling_paths")
    out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * items)
    scalars = np.uint32(paths), np.uint32(_MULTIPLIER), np.uint32(_OPERAND)

    run = one_launch(device, queue, kernel, items, group, out, *scalars)

    def fault(rounds: int) -> str | None:
        if rounds > 3:
            return None  # NumPy would take too long
        value = np.arange(items, dtype=np.uint32)
        path = np.arange(items, dtype=np.uint32) % group & np.uint32(paths - 1)
        mixed = (path + np.uint32(1)) * np.uint32(0x9E3779B1)
        for step in range(rounds * _STEPS):
            mix = (mixed >> np.uint32(step % _STEPS)) & np.uint32(1)
            value = np.where(mix, value ^ np.uint32(_OPERAND), value | np.uint32(_OPERAND))
            value *= np.uint32(_MULTIPLIER)
        return difference(read_back(queue, out, items), value)

    place: Record = {"paths": paths}
    work = float(2 * items * _STEPS)
    return Benchmark("divergence", place, "operations", work, run, fault, metered=True)


def additions(device: Device, *, local: bool, distinct: bool) -> Benchmark:
    """Return the rate of atomic additions to one counter, or to one of each work-item.

    The latter is that of one core on a CPU.
    """
    queue, capabilities = device.queue(), device.capabilities
    group = min(_GROUP, capabilities.max_work_group_size)
    is_alone = device.traits.scalar_groups and distinct
    items = group * (1 if is_alone else capabilities.compute_units * 4)
    defines = {"PYAPSP_STEPS": _STEPS, "PYAPSP_LOCAL": int(local), "PYAPSP_WORDS": _WORDS}
    kernel = build(device, "profiling/scheduling.cl", defines).kernel("profiling_counters")
    counters, out = (cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * items) for _ in range(2))

    def run(rounds: int) -> float:
        with device_errors(device, 0):
            cl.enqueue_fill_buffer(queue, counters, np.zeros(1, np.uint32), 0, 4 * items)
            event = kernel(
                queue, (items,), (group,), counters, out, np.uint32(distinct), np.int32(rounds)
            )
            return event_seconds(event)

    def fault(rounds: int) -> str | None:
        counted = read_back(queue, counters, items)
        if distinct:
            expected = np.full(items, rounds * _STEPS % 2**32, np.uint32)
        elif local:
            expected = np.full(items, rounds * _STEPS * group % 2**32, np.uint32)
        else:
            expected = np.zeros(items, np.uint32)
            expected[0] = rounds * _STEPS * items % 2**32
        return difference(counted, expected)

    place: Record = {
        "memory": "local" if local else "global",
        "counters": "one for each work-item" if distinct else "one",
    }
    return Benchmark("atomic additions", place, "operations", float(items * _STEPS), run, fault)
