"""The latency and the bandwidth of memory, and what they depend on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import pyopencl as cl

from pyapsp.base.json import Record
from pyapsp.device import Device, device_errors, event_seconds
from pyapsp.device.kernels import build
from pyapsp.device.kernels.mapped import pinned
from pyapsp.profiling.benchmarks.answers import difference, read_back
from pyapsp.profiling.benchmarks.measuring import Benchmark, Prepare, one_launch

__all__ = ["banks", "chain_of", "copies", "memory", "read"]

_STEPS = 32
_GROUP = 256  # work-items of a group on a GPU
_GROUPS_PER_UNIT = 8
_SMALLEST, _LARGEST = 2**12, 2**29
_LARGEST_OF_HOST = 2**28
_QUICK, _QUICK_OF_GPU = 2**24, 2**28  # the largest sizes of a quick run
_LINE = 32  # words between the groups of work-items of the curve of coalescence: 128 bytes
_CONSTANT = 2**13
_MOST_LOADS = 2**17
_MIXED = np.uint32(2654435761)
_LOCAL_WORDS = 4096
_WARP = 32  # work-items of the latency of several lines


def memory(device: Device, *, quick: bool = False) -> Iterator[Prepare]:
    """Yield the benchmarks of the memory of a device.

    Parameters
    ----------
    device : Device
    quick : bool
        Whether to leave out most points of the curves.
    """
    sizes = _sizes(device, quick)
    for size in sizes:
        yield partial(_chase, device, size)
    yield partial(_chase, device, _CONSTANT, constant=True)
    for lines in (1, 2, 4, 8, 16, 32)[:: 5 if quick else 1]:
        yield partial(_lines, device, lines)
    for stream in (read, _write):
        for size in sizes if stream is read else _written(device, sizes):
            metered = size in (sizes[0], sizes[len(sizes) // 2], sizes[-1])
            yield partial(stream, device, size, metered=metered)
    for size in sizes:
        yield partial(_gather, device, size, 0, _scattered(size), "gather", {"bytes": size}, None)
    size = min(_QUICK if quick else _LARGEST, _most(device))
    for shift in range(0, 6, 2 if quick else 1):
        place: Record = {"neighbours": 2**shift, "buffer": size}
        yield partial(_gather, device, size, shift, _LINE, "coalescence", place)
    for shift in range(0, 6, 2 if quick else 1):
        place = {"words": 2**shift, "buffer": size}
        yield partial(_gather, device, size, 0, 2**shift, "stride", place)
    for bytes_each in (1, 2, 4, 8, 16)[:: 2 if quick else 1]:
        yield partial(_copy, device, min(_QUICK if quick else 2**26, _most(device)), bytes_each)
    for stride in (1, 2, 3, 4, 8, 16, 32)[:: 2 if quick else 1]:
        yield partial(banks, device, stride)
    yield partial(banks, device, 1, alone=True)


def copies(device: Device, *, quick: bool = False) -> Iterator[Prepare]:
    """Yield copies between the host and the device, and within the device.

    Parameters
    ----------
    device : Device
    quick : bool
        Whether to leave out most sizes.
    """
    for size in (2**12, 2**20) if quick else (2**12, 2**16, 2**20, 2**24, 2**26):
        for is_pinned in (False, True):
            for to_device in (True, False):
                yield partial(_transfer, device, size, is_pinned=is_pinned, to_device=to_device)
    yield partial(_device_copy, device, min(_QUICK if quick else 2**28, _most(device)))


def _most(device: Device) -> int:
    """Return the size of the largest buffer: a power of two."""
    capabilities = device.capabilities
    largest = _LARGEST_OF_HOST if capabilities.unified_memory else _LARGEST
    most = min(capabilities.max_allocation, capabilities.global_memory // 8, largest)
    return 1 << (most.bit_length() - 1)


def _sizes(device: Device, quick: bool) -> list[int]:
    sizes, size = [], _SMALLEST
    # the caches of a processor are seldom exceeded by our kernels, those of a GPU often
    quick_most = _QUICK if device.capabilities.unified_memory else _QUICK_OF_GPU
    while size <= min(quick_most if quick else _LARGEST, _most(device)):
        sizes.append(size)
        size *= 16 if quick else 2
    return sizes


def _shape(device: Device) -> tuple[int, int]:
    """Return the groups and the work-items of a group that stream through memory."""
    units = device.capabilities.compute_units
    if device.traits.scalar_groups:
        return units, 1
    return units * _GROUPS_PER_UNIT, min(_GROUP, device.capabilities.max_work_group_size)


def _words(count: int) -> np.ndarray:
    """Return the content of a buffer that is read: numbers without a pattern."""
    return np.arange(count, dtype=np.uint32) * _MIXED


def _filled(queue: cl.CommandQueue, values: np.ndarray) -> cl.Buffer:
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(queue.context, flags, hostbuf=values)


def chain_of(device: Device, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return places in so many bytes in a random order, one in each line, and what is in memory.

    The word at each place is the next place; that at the last one is 0, the first one.
    """
    line = max(device.handle.global_mem_cacheline_size, 64) // 4
    places = np.arange(size // (4 * line), dtype=np.uint32) * line
    order = np.random.default_rng(0).permutation(places[1:])
    cycle = np.concatenate([places[:1], order])
    following = np.zeros(size // 4, np.uint32)
    following[cycle] = np.roll(cycle, -1)
    return cycle, following


def _chase(device: Device, size: int, *, constant: bool = False) -> Benchmark:
    """Return the latency of loads in a part of memory."""
    queue = device.queue()
    cycle, following = chain_of(device, size)
    defines: dict[str, str | int] = {"PYAPSP_STEPS": _STEPS}
    if constant:
        defines["PYAPSP_SPACE"] = "__constant"
    with device_errors(device, size):
        kernel = build(device, "profiling/memory.cl", defines).kernel("profiling_chase")
        chain = _filled(queue, following)
        out = _filled(queue, np.zeros(1, np.uint32))
    loads = 0

    def run(rounds: int) -> float:
        nonlocal loads
        loads += rounds * _STEPS
        with device_errors(device, 0):
            return event_seconds(kernel(queue, (1,), (1,), chain, out, np.int32(rounds)))

    def fault(rounds: int) -> str | None:
        last = loads % len(cycle)
        return difference(read_back(queue, out, 1), cycle[last : last + 1])

    name = "constant latency" if constant else "latency of loads"
    least = max(len(cycle) // _STEPS, 1)  # each place at least once, if there are not too many
    least = min(least, _MOST_LOADS // _STEPS)
    return Benchmark(name, {"bytes": size}, "accesses", _STEPS, run, fault, least=least)


def _lines(device: Device, lines: int) -> Benchmark:
    """Return the latency of loads of the first cache whose work-items read so many lines."""
    queue = device.queue()
    line = max(device.handle.global_mem_cacheline_size, 64) // 4
    # one more place than a round has loads: else each round would end where it began
    places = np.arange(_STEPS + 1, dtype=np.uint32) * line
    following = np.zeros(len(places) * line, np.uint32)
    following[places] = np.roll(places, -1)
    begin = np.arange(_WARP) * lines // _WARP
    with device_errors(device, 4 * len(following)):
        kernel = build(device, "profiling/memory.cl", {"PYAPSP_STEPS": _STEPS}).kernel(
            "profiling_chase"
        )
        chain, out = _filled(queue, following), _filled(queue, places[begin])
    loads = 0

    def run(rounds: int) -> float:
        nonlocal loads
        loads += rounds * _STEPS
        with device_errors(device, 0):
            return event_seconds(kernel(queue, (_WARP,), (_WARP,), chain, out, np.int32(rounds)))

    def fault(rounds: int) -> str | None:
        return difference(read_back(queue, out, _WARP), places[(begin + loads) % len(places)])

    return Benchmark("gather latency", {"lines": lines}, "accesses", _STEPS, run, fault)


def _stream_defines(device: Device) -> tuple[int, dict[str, str | int]]:
    """Return the words of a strip, and the macros of the kernels of streams."""
    parts = device.traits.lanes(4) if device.traits.scalar_groups else 4
    return parts, {
        "PYAPSP_VALUE": f"uint{parts if parts > 1 else ''}",
        "PYAPSP_PARTS": parts,
        "PYAPSP_STEPS": _STEPS,
    }


def read(device: Device, size: int, *, metered: bool = False) -> Benchmark:
    """Return the bandwidth of reading so many bytes, the same for all groups."""
    queue, (groups, group) = device.queue(), _shape(device)
    parts, defines = _stream_defines(device)
    strips, items = size // (4 * parts), groups * group
    apart = max(strips // groups, 1)
    with device_errors(device, size):
        kernel = build(device, "profiling/memory.cl", defines).kernel("profiling_read")
        values = _filled(queue, _words(size // 4))
        out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * items)
    scalars = np.uint32(strips - 1), np.uint32(apart)

    run = one_launch(device, queue, kernel, items, group, values, out, *scalars)

    def fault(rounds: int) -> str | None:
        if rounds > 3:
            return None  # NumPy would take too long
        item = np.arange(items, dtype=np.uint32)
        first = item // np.uint32(group) * np.uint32(apart) + item % np.uint32(group)
        sums = np.zeros(items, np.uint32)
        for step in range(rounds * _STEPS):
            place = (first + np.uint32(step * group)) & np.uint32(strips - 1)
            words = place * np.uint32(parts**2) + np.uint32(parts * (parts - 1) // 2)
            sums += words * _MIXED
        return difference(read_back(queue, out, items), sums)

    work = 4.0 * parts * items * _STEPS
    return Benchmark("read bandwidth", {"bytes": size}, "bytes", work, run, fault, metered=metered)


def _written(device: Device, sizes: list[int]) -> list[int]:
    """Return the sizes in which each group can have a part of its own."""
    groups, group = _shape(device)
    parts, _ = _stream_defines(device)
    return [size for size in sizes if size >= 4 * parts * groups * group]


def _write(device: Device, size: int, *, metered: bool = False) -> Benchmark:
    """Return the bandwidth of writing a part of memory, of which each group has its own part."""
    queue, (groups, group) = device.queue(), _shape(device)
    parts, defines = _stream_defines(device)
    strips = 1 << ((size // (4 * parts * groups)).bit_length() - 1)  # of a group
    items, words = groups * group, groups * strips * parts
    with device_errors(device, 4 * words):
        kernel = build(device, "profiling/memory.cl", defines).kernel("profiling_write")
        values = _filled(queue, np.zeros(words, np.uint32))

    run = one_launch(device, queue, kernel, items, group, values, np.uint32(strips - 1))

    def fault(rounds: int) -> str | None:
        written = read_back(queue, values, words).reshape(groups, strips, parts)[:, :, -1]
        place = np.arange(min(rounds * _STEPS * group, strips), dtype=np.uint32)
        expected = np.tile(place + np.uint32(rounds), groups)
        return difference(written[:, place].reshape(-1), expected)

    work = 4.0 * parts * items * _STEPS
    place: Record = {"bytes": 4 * words}
    return Benchmark("write bandwidth", place, "bytes", work, run, fault, metered=metered)


def _scattered(size: int) -> int:
    """Return an odd distance, in words, by which the places of a buffer follow without a pattern.

    No cache expects the next one: it is the golden ratio of the buffer away. All are read.
    """
    return int(size // 4 * (5**0.5 - 1) / 2) | 1


def _gather(
    device: Device,
    size: int,
    shift: int,
    apart: int,
    name: str,
    place: Record,
    neighbours: int | None = 32,
) -> Benchmark:
    """Return the rate of reading words that are more or less far apart.

    `neighbours` is the number of groups for each unit of a device whose groups have one work-item;
    None for one group alone.
    """
    queue, (groups, group) = device.queue(), _shape(device)
    items, words = groups * group, size // 4
    if device.traits.scalar_groups:
        items = 1 if neighbours is None else items * neighbours
    defines: dict[str, str | int] = {"PYAPSP_STEPS": _STEPS}
    with device_errors(device, size):
        kernel = build(device, "profiling/memory.cl", defines).kernel("profiling_gather")
        values = _filled(queue, _words(words))
        out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * items)
    scalars = np.uint32(words - 1), np.int32(shift), np.uint32(apart)

    run = one_launch(device, queue, kernel, items, group, values, out, *scalars)

    def fault(rounds: int) -> str | None:
        if rounds > 3:
            return None  # NumPy would take too long
        item = np.arange(items, dtype=np.uint32)
        first = (item >> shift) * np.uint32(apart) + (item & np.uint32(2**shift - 1))
        stride = (items >> shift) * apart
        sums = np.zeros(items, np.uint32)
        for step in range(rounds * _STEPS):
            at = (first + np.uint32(step * stride % 2**32)) & np.uint32(words - 1)
            sums += at * _MIXED
        return difference(read_back(queue, out, items), sums)

    work, metered = float(items * _STEPS), name == "coalescence"
    return Benchmark(name, place, "accesses", work, run, fault, metered=metered)


def _copy(device: Device, size: int, bytes_each: int) -> Benchmark:
    """Return the bandwidth of a copy by values of so many bytes: read plus written."""
    queue, traits = device.queue(), device.traits
    kinds = {1: "uchar", 2: "ushort", 4: "uint", 8: "uint2", 16: "uint4"}
    parts = max(bytes_each // 4, 1)
    count = size // bytes_each
    groups, group = _shape(device)
    items = 2 ** (groups * group - 1).bit_length()
    stride = 1 if traits.scalar_groups else items
    defines: dict[str, str | int] = {"PYAPSP_VALUE": kinds[bytes_each], "PYAPSP_PARTS": parts}
    with device_errors(device, 2 * size):
        kernel = build(device, "profiling/memory.cl", defines).kernel("profiling_copy")
        source = _words(size // 4)
        from_, to = _filled(queue, source), _filled(queue, np.zeros_like(source))
    scalars = np.uint32(count // items), np.uint32(stride)

    def run(rounds: int) -> float:
        with device_errors(device, 0):
            if rounds <= 3:
                cl.enqueue_fill_buffer(queue, to, np.zeros(1, np.uint32), 0, size)
            event = kernel(queue, (items,), (group,), to, from_, *scalars, np.int32(rounds))
            return event_seconds(event)

    def fault(rounds: int) -> str | None:
        copied = read_back(queue, to, size // 4)
        return difference(copied, source if rounds else np.zeros_like(source))

    place: Record = {"bytes": bytes_each, "buffer": size}
    return Benchmark("access size", place, "bytes", 2.0 * size, run, fault, metered=True)


def banks(device: Device, stride: int, *, alone: bool = False) -> Benchmark:
    """Return the rate of reading local memory with a stride, or its latency."""
    queue, capabilities = device.queue(), device.capabilities
    words = min(_LOCAL_WORDS, 2 ** (capabilities.local_memory // 8).bit_length() // 2)
    group = 1 if alone else min(_GROUP, capabilities.max_work_group_size)
    items = group * (1 if alone else capabilities.compute_units * 4)
    defines: dict[str, str | int] = {"PYAPSP_STEPS": _STEPS, "PYAPSP_WORDS": words}
    with device_errors(device, 4 * items):
        program = build(device, "profiling/memory.cl", defines)
        kernel = program.kernel("profiling_banks")
        out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * items)

    run = one_launch(device, queue, kernel, items, group, out, np.uint32(stride))

    def fault(rounds: int) -> str | None:
        item = np.arange(items) % group
        expected = (item * stride + rounds * _STEPS) % words
        return difference(read_back(queue, out, items), expected.astype(np.uint32))

    if alone:
        return Benchmark("local latency", {"bytes": 4 * words}, "accesses", _STEPS, run, fault)
    work = float(items * _STEPS)
    place: Record = {"stride": stride}
    return Benchmark("bank conflicts", place, "accesses", work, run, fault, metered=True)


def _nothing() -> None:
    """Free nothing."""


def _transfer(device: Device, size: int, *, is_pinned: bool, to_device: bool) -> Benchmark:
    """Return the bandwidth of copies between host and device, by the clock of the host."""
    queue = device.queue()
    source = _words(size // 4)
    with device_errors(device, size):
        buffer = _filled(queue, np.zeros_like(source) if to_device else source)
        if is_pinned:
            host, release = pinned(queue, size // 4, np.dtype(np.uint32))
        else:
            host, release = np.zeros_like(source), _nothing
    host[:] = source if to_device else 0
    both = (buffer, host) if to_device else (host, buffer)

    def run(rounds: int) -> float:
        with device_errors(device, 0):
            started = time.perf_counter()
            for _ in range(rounds):
                cl.enqueue_copy(queue, *both, is_blocking=True)
            return time.perf_counter() - started

    def fault(rounds: int) -> str | None:
        arrived = read_back(queue, buffer, size // 4) if to_device else host
        return difference(arrived, source) if rounds else None

    name = "host to device" if to_device else "device to host"
    place: Record = {"memory": "pinned" if is_pinned else "pageable", "bytes": size}
    return Benchmark(name, place, "bytes", float(size), run, fault, close=release)


def _device_copy(device: Device, size: int) -> Benchmark:
    """Return the bandwidth of the driver's own copy within the device: read plus written."""
    queue, source = device.queue(), _words(size // 4)
    with device_errors(device, 2 * size):
        from_, to = _filled(queue, source), _filled(queue, np.zeros_like(source))

    def run(rounds: int) -> float:
        with device_errors(device, 0):
            events = [cl.enqueue_copy(queue, to, from_) for _ in range(rounds)]
            return sum(event_seconds(event) for event in events)

    def fault(rounds: int) -> str | None:
        return difference(read_back(queue, to, size // 4), source) if rounds else None

    return Benchmark("device copy", {"bytes": size}, "bytes", 2.0 * size, run, fault)
