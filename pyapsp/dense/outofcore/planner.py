"""How to cut a matrix, and how long the run will take: a model fed with measured speeds.

A pass over b pivots updates (n - b) rows of n values with b steps each, and moves every one of
these rows to the device and back. The kernels need n / rate a row and step, the transfers two times
n / bandwidth a row: from some b on the device computes longer than the rows travel. This is the
model of `pyapsp.dense.bandwidth_model`, with what a poster leaves out: the pivot block and its
rows, the way of the first part in and of the last one out, copies on the host, and memory.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
import pyopencl as cl

from pyapsp.dense import bandwidth_model
from pyapsp.dense.outofcore.mapped import pinned
from pyapsp.dense.outofcore.storage import Matrix
from pyapsp.dense.outofcore.worker import Shape
from pyapsp.dense.product import Product, Rectangle, RightFactor
from pyapsp.device import Device, device_errors, event_seconds
from pyapsp.errors import DeviceMemoryError

__all__ = [
    "Cut",
    "Speeds",
    "best_cut",
    "helper_gain",
    "helper_shape",
    "measure",
    "predict",
    "required_bandwidth",
]

# Bytes that are moved to see how fast that goes, and of the right factor of a product; the seconds
# after which no larger product is timed, how often each is, and for how many rows.
_SAMPLE, _FACTOR, _LONG_ENOUGH, _TURNS, _SAMPLED = 2**25, 2**26, 0.1, 3, (16, 64, 192, 1024, 4096)
# Turns of rows that are worth trying; more than this only need memory.
_ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
# Seconds that a part, and a pass, cost beside: the ways between threads, queues and devices.
_PART, _PASS = 1.5e-3, 1e-2
# Floyd-Warshall inside a block runs at this part of the speed of the product.
_CLOSING = 0.8


@dataclass(frozen=True)
class Speeds:
    """What a device and the host do in a second.

    Attributes
    ----------
    products : tuple of (int, float)
        Updates of the product of rectangles, by how many rows it has, fewest first.
    up, down : float
        Bytes to the device and back, each alone; infinite where the device uses host memory.
    read, write : float
        Bytes copied from the matrix and into it.
    shared : bool
        Whether kernels and copies use the same cores.
    """

    products: tuple[tuple[int, float], ...]
    up: float
    down: float
    read: float
    write: float
    shared: bool

    @property
    def product(self) -> float:
        """Updates of a product with enough rows."""
        return self.products[-1][1]

    def product_of(self, rows: int) -> float:
        """Return the updates of a product of that many rows."""
        sizes, rates = zip(*self.products, strict=True)
        return float(np.interp(rows, sizes, rates))


@dataclass(frozen=True)
class Cut:
    """A shape, and what it is expected to cost.

    Attributes
    ----------
    shape : Shape
    separated : bool
    seconds : float
    moved : int
        Bytes to and from the device.
    device_bytes : int
    bound : str
        What takes longest: "kernels", "transfers" or "host".
    shared : float
        The part of the seconds that helpers can share: updating rows.
    copying : float
        The part of the time in which the host copies.
    """

    shape: Shape
    separated: bool
    seconds: float
    moved: int
    device_bytes: int
    bound: str
    shared: float
    copying: float


def measure(device: Device, product: Product, matrix: Matrix, memory: int) -> Speeds:
    """Measure a device, for a fraction of a second, in so many bytes of its memory.

    What the matrix holds is read and written back.
    """
    queue = device.queue()
    item, unit = product.dtype.itemsize, product.unit(product.p)
    heights = sorted({_up(some, unit) for some in _SAMPLED})
    with device_errors(device, memory):
        rates = _product_rates(queue, product, unit, heights, matrix.n, memory)
        up = down = float("inf")
        if not device.capabilities.unified_memory:
            up, down = _bus_rates(queue)
    rows = min(matrix.n, max(1, _SAMPLE // (matrix.n * item)))
    sample = np.zeros((rows, matrix.n), product.dtype)
    seconds = []
    for move in (matrix.read, matrix.write, matrix.read, matrix.write):
        started = time.perf_counter()
        move(0, rows, sample)
        seconds.append(time.perf_counter() - started)
    read, write = (sample.nbytes / max(each, 1e-9) for each in seconds[2:])
    return Speeds(rates, up, down, read, write, shared=device.kind == "cpu")


def _bus_rates(queue: cl.CommandQueue) -> tuple[float, float]:
    """Return the bytes a second to the device and back."""
    near = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, _SAMPLE)
    host, free = pinned(queue, _SAMPLE, np.dtype(np.uint8))
    host[:] = 0
    for _ in range(2):  # the first is to warm up
        there = event_seconds(cl.enqueue_copy(queue, near, host, is_blocking=False))
        back = event_seconds(cl.enqueue_copy(queue, host, near, is_blocking=False))
    free()
    near.release()
    return _SAMPLE / max(there, 1e-9), _SAMPLE / max(back, 1e-9)


def _product_rates(
    queue: cl.CommandQueue,
    product: Product,
    unit: int,
    rows: Sequence[int],
    n: int,
    memory: int,
) -> tuple[tuple[int, float], ...]:
    """Return the updates a second of products that take long enough, for each number of rows."""
    item, write = product.dtype.itemsize, cl.mem_flags.READ_WRITE
    depth = min(_up(1024, unit), _up(n, unit))
    # wider than what caches hold
    columns = min(_up(n, unit), _up(_FACTOR // (depth * item), unit))

    def values(most: int) -> tuple[int, int, int]:
        return (most * columns, most * depth, depth * columns)

    while columns > unit and sum(values(rows[0])) * item > memory:
        columns, depth = _up(columns // 2, unit), min(depth, _up(columns // 2, unit))
    rows = [some for some in rows if sum(values(some)) * item <= memory] or rows[:1]
    buffers = [cl.Buffer(queue.context, write, count * item) for count in values(rows[-1])]
    pattern = np.ones(1, product.dtype)
    for buffer, count in zip(buffers, values(rows[-1]), strict=True):
        cl.enqueue_fill_buffer(queue, buffer, pattern, 0, count * item)
    block, left, right = buffers
    rates: list[tuple[int, float]] = []
    for some in rows:
        seconds = []
        for _ in range(_TURNS):
            target = Rectangle(block, columns, some, columns)
            events = product.multiply(queue, target, left, RightFactor(right, depth, columns))
            queue.finish()
            seconds.append((events[-1].profile.end - events[0].profile.start) * 1e-9)
        rates.append((some, some * columns * depth / max(median(seconds), 1e-9)))
        if sum(seconds) > _LONG_ENOUGH and len(rates) > 2:
            break
    for buffer in buffers:
        buffer.release()
    return tuple(rates)


def best_cut(
    n: int,
    unit: int,
    product: Product,
    speeds: Speeds,
    memory: int,
    largest: int,
    *,
    block: int | None = None,
    rows: int | None = None,
    columns: int | None = None,
    separated: bool | None = None,
) -> Cut:
    """Return the fastest cut within a memory, of those with the given values.

    Parameters
    ----------
    n : int
    unit : int
        What every number is rounded up to a multiple of.
    product : Product
    speeds : Speeds
    memory, largest : int
        Bytes of the device, and of one buffer on it.
    block, rows, columns, separated : optional
        What was asked for.

    Raises
    ------
    DeviceMemoryError
        If none fits; with the bytes of the smallest.
    """
    best, least = None, None
    slots = 1 if math.isinf(speeds.up) else 3
    turns = tuple(math.lcm(unit, turn) for turn in product.turn(product.p))
    for shape in _shapes(product, n, unit, turns, block, rows, columns, slots):
        buffers = shape.buffers(product)
        needed = product.dtype.itemsize * sum(buffers.values())
        each = product.dtype.itemsize * max(buffers["right"], shape.slot)
        least = needed if least is None else min(needed, least)
        if needed > memory or each > largest:
            continue
        for split in (False, True) if separated is None else (separated,):
            cut = predict(shape, product, speeds, separated=split, device_bytes=needed)
            if best is None or cut.seconds < best.seconds:
                best = cut
    if best is None:
        assert least is not None
        raise DeviceMemoryError(least, min(memory, largest), "raise memory_limit")
    return best


def predict(
    shape: Shape, product: Product, speeds: Speeds, *, separated: bool, device_bytes: int
) -> Cut:
    """Return a cut with the seconds that a run of it takes, by the model."""
    item, n, size = product.dtype.itemsize, shape.n, shape.size
    total, moved, shared = 0.0, 0, 0.0
    spent = {"kernels": 0.0, "transfers": 0.0, "host": 0.0}
    for first in range(0, n, shape.block):
        depth = min(shape.block, size - first)
        others = size - depth
        # steps: updates, values up, values down, of how large a part
        close = (depth**3 / _CLOSING, depth**2, depth**2, min(shape.slot, depth**2))
        panel = (depth * depth * others, depth * size, depth * size, shape.slot)
        part = shape.rows * shape.columns
        up = others * (depth if separated else size)
        if shape.columns < size and not separated:
            up += others * depth
        update = (others * depth * size, up, others * size, part)
        for number, (updates, values_up, values_down, one) in enumerate((close, panel, update)):
            rate = speeds.product_of(shape.rows if number == 2 else depth)
            kernels = updates / rate
            # both ways share the bus, and copies of the host its memory
            transfers = values_up * item / speeds.up + values_down * item / speeds.down
            back = values_down * item / speeds.write
            if separated and number == 2:
                back += values_down * item / speeds.read
            host = values_up * item / speeds.read + back
            way = (
                one * item * (1 / speeds.up + 1 / speeds.down + 1 / speeds.read + 1 / speeds.write)
            )
            if speeds.shared:
                taken = kernels + host
            elif number < 2:  # nothing to overlap with
                taken = kernels + transfers + host
            else:
                taken = max(kernels, transfers, host) + way
            if number == 2:
                parts = -(-others // shape.rows) * -(-size // shape.columns)
                taken += parts * _PART
                shared += taken
            total += taken
            moved += (values_up + values_down) * item
            for name, seconds in zip(spent, (kernels, transfers, host), strict=True):
                spent[name] += seconds
    total += _PASS * -(-n // shape.block)
    bound = max(spent, key=spent.__getitem__)
    copying = min(1.0, spent["host"] / total)
    return Cut(shape, separated, total, moved, device_bytes, bound, shared, copying)


def helper_shape(
    cut: Cut, unit: int, product: Product, speeds: Speeds, lead: Speeds, memory: int, largest: int
) -> Shape | None:
    """Return how a further device cuts its rows, None if it has no memory for that.

    It takes as many rows at a time as it updates in the time in which the first device updates its
    part, so that the end of a pass is not late.
    """
    shape, best = cut.shape, None
    share = min(1.0, speeds.product / lead.product)
    slots = 1 if math.isinf(speeds.up) else 3
    turn = math.lcm(unit, product.turn(product.p)[1])
    for rows in sorted({turn * count for count in _ROWS} | {_up(turn // 4, unit)}):
        candidate = replace(shape, rows=rows, columns=shape.size, slots=slots)
        buffers = candidate.buffers(product)
        needed = product.dtype.itemsize * sum(buffers.values())
        each = product.dtype.itemsize * max(buffers["right"], candidate.slot)
        fits = needed <= memory and each <= largest and rows <= shape.size
        if fits and (best is None or rows <= share * shape.rows):
            best = candidate
    return best


def helper_gain(cut: Cut, speeds: Speeds, lead: Speeds) -> float:
    """Return by which part of the first device's speed a further one makes updates faster.

    A CPU has only the time in which it does not copy for the other.
    """
    free = 1 - cut.copying if speeds.shared else 1.0
    return free * speeds.product / lead.product


def required_bandwidth(cut: Cut, speeds: Speeds, item: int) -> float:
    """Return the bytes a second between host and device that keep the kernels busy."""
    return bandwidth_model.required_for_block(2 * speeds.product, cut.shape.block, item)


def _shapes(
    product: Product,
    n: int,
    unit: int,
    turns: Sequence[int],
    block: int | None,
    rows: int | None,
    columns: int | None,
    slots: int,
) -> Iterator[Shape]:
    size = _up(n, unit)
    if product.pitch(size) > size:
        # rows of a multiple of that would meet in few sets of the caches
        size += unit

    def up(value: int) -> int:
        return min(_up(value, unit), size)

    blocks: Sequence[int]
    if block is not None:
        blocks = [up(block)]
    else:
        # so that the passes are about as long: 1, 2, 3, ... of them
        counts = sorted({round(1.25**k) for k in range(48)})
        even = [-(-size // count) for count in counts]
        blocks = sorted({up(b if b < turns[0] else _up(b, turns[0])) for b in even})
    for b in blocks:
        for s in sorted(
            {up(rows)}
            if rows is not None
            else {up(k * turns[1]) for k in _ROWS} | {up(turns[1] // k) for k in (2, 4, 8, 16)}
        ):
            wide = {size} if columns is None else {up(columns)}
            yield from (Shape(n, size, b, s, c, slots) for c in wide)


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
