"""A model that divides the matrix into parts and predicts the time, from measured speeds.

A pass over b pivots updates (n - b) rows of n values with b steps each, and copies each of these
rows to the device and back. Kernels take n / rate for a row and step, transfers take 2 n /
bandwidth for a row. With a large enough b, kernels take longer than transfers. This is the model of
`pyapsp.all_pairs.dense.bandwidth_model` with some additions: the pivot block and its rows, which
the first device updates alone or during the pass before (look-ahead), the upload of the first and
the download of the last part, copies on the host, and memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import NamedTuple

from pyapsp.all_pairs.dense import bandwidth_model
from pyapsp.all_pairs.dense.outofcore.shape import Shape, up_to
from pyapsp.all_pairs.dense.outofcore.speeds import Speeds
from pyapsp.all_pairs.dense.product import Product
from pyapsp.base.errors import DeviceMemoryError

__all__ = [
    "Cut",
    "CutOptions",
    "Machine",
    "best_cut",
    "helper_gain",
    "helper_shape",
    "predict",
    "required_bandwidth",
]

# Turns of rows that are worth trying; more than this only need memory.
_ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
# Seconds that a part, and a pass, cost beside: the ways between threads, queues and devices. A part
# on a CPU device has one thread and one queue.
_PART, _PART_SHARED, _PASS = 1.5e-3, 5e-4, 1e-2
# Floyd-Warshall inside a block runs at this part of the speed of the product.
_CLOSING = 0.8


@dataclass(frozen=True)
class Machine:
    """What the model knows of a device, for which the product is built.

    It has `memory` bytes that may be used, and `largest` in one buffer. If it `pins`, it copies
    from and to the matrix itself, unless the host takes minima.
    """

    product: Product
    speeds: Speeds
    memory: int
    largest: int
    pins: bool = False

    @property
    def item(self) -> int:
        """Bytes of a value."""
        return self.product.dtype.itemsize

    @property
    def slots(self) -> int:
        """How many parts of the matrix it has at once."""
        return 1 if math.isinf(self.speeds.up) else 3

    def turns(self, unit: int) -> tuple[int, int]:
        """Return the steps, and the rows, of a turn of the product, in multiples of a unit."""
        steps, rows = self.product.turn
        return math.lcm(unit, steps), math.lcm(unit, rows)

    def needed(self, shape: Shape) -> int:
        """Return the bytes that a shape takes."""
        return shape.workers * self.item * sum(shape.values(self.product).values())

    def holds(self, shape: Shape) -> bool:
        """Return whether there is memory for a shape."""
        largest = self.item * max(shape.values(self.product)["right"], shape.slot)
        return self.needed(shape) <= self.memory and largest <= self.largest


@dataclass(frozen=True)
class CutOptions:
    """What a caller wants of a cut; None is left to the model."""

    block: int | None = None
    rows: int | None = None
    columns: int | None = None
    separated: bool | None = None
    ahead: bool | None = None


@dataclass(frozen=True)
class Cut:
    """A shape, and what it is expected to cost."""

    shape: Shape
    separated: bool
    seconds: float
    moved: int  # bytes to and from the device
    device_bytes: int
    bound: str  # what takes longest: "kernels", "transfers" or "host"
    copying: float  # the part of the time in which the host copies


def best_cut(n: int, unit: int, machine: Machine, options: CutOptions, gain: float = 0.0) -> Cut:
    """Return the fastest cut that a device has memory for, of those that were asked for.

    Parameters
    ----------
    n : int
    unit : int
        What every number is rounded up to a multiple of.
    machine : Machine
    options : CutOptions
    gain : float
        As for `predict`.

    Raises
    ------
    DeviceMemoryError
        If none fits; with the bytes of the smallest.
    """
    best, least = None, math.inf
    splits = (False, True) if options.separated is None else (options.separated,)
    for shape in _shapes(n, unit, machine, options):
        least = min(machine.needed(shape), least)
        for separated in splits if machine.holds(shape) else ():
            cut = predict(shape, machine, separated=separated, gain=gain)
            if best is None or cut.seconds < best.seconds:
                best = cut
    if best is None:
        available = min(machine.memory, machine.largest)
        raise DeviceMemoryError(int(least), available, "raise memory_limit")
    return best


class _Work(NamedTuple):
    """What a step of a pass takes: seconds of the kernels, the bus and the host; bytes moved."""

    kernels: float = 0.0
    transfers: float = 0.0
    host: float = 0.0
    moved: float = 0.0

    def plus(self, other: _Work) -> _Work:
        """Return what both take."""
        return _Work(*map(add, self, other))

    @property
    def alone(self) -> float:
        """Seconds with nothing to overlap with."""
        return self.kernels + self.transfers + self.host


def predict(shape: Shape, machine: Machine, *, separated: bool, gain: float = 0.0) -> Cut:
    """Return a cut with the seconds that a run of it takes, by the model.

    Parameters
    ----------
    shape : Shape
    machine : Machine
        The first device.
    separated : bool
    gain : float
        The part of its speed that helpers add to the updates of rows. They wait while a block is
        opened, unless there is look-ahead, and they all use the memory of one host.
    """
    if machine.pins and not separated:
        free = replace(machine.speeds, read=math.inf, write=math.inf)
        machine = replace(machine, speeds=free)
    passes, depth = -(-shape.n // shape.block), min(shape.block, shape.size)
    last = min(depth, shape.size - (passes - 1) * shape.block)
    # most passes are alike: so many pivots, then as many again
    kinds = [(passes - 2, depth, depth), (1, depth, last), (1, last, 0)]
    total, spent = _opened(shape, machine, depth, gain).alone, _Work()
    for count, pivots, following in kinds if passes > 1 else kinds[2:]:
        update = _update(shape, machine, pivots, separated=separated)
        total += count * _pass_seconds(shape, machine, update, pivots, following, gain)
        each = update.plus(_opening(shape, machine, pivots))
        spent = spent.plus(_Work(*(count * some for some in each)))
    bound = max(("kernels", "transfers", "host"), key=lambda name: float(getattr(spent, name)))
    copying = min(1.0, spent.host / total)
    return Cut(shape, separated, total, int(spent.moved), machine.needed(shape), bound, copying)


def _pass_seconds(
    shape: Shape, machine: Machine, update: _Work, pivots: int, following: int, gain: float
) -> float:
    """Return the seconds of a pass, from an open block until the next one is open, too."""
    speeds, ahead = machine.speeds, shape.workers > 1
    others = max(shape.size - pivots, 1)
    after = _opened(shape, machine, following, gain)
    both = update.plus(after) if ahead else update
    kernels, transfers = both.kernels / (1 + gain), both.transfers / (1 + gain)
    parts = -(-others // shape.rows) * -(-shape.size // shape.columns) / (1 + gain)
    parts *= _PART_SHARED if speeds.shared else _PART
    if speeds.shared:
        taken = kernels + transfers + both.host + parts
    else:
        # the first part comes, and the last one goes, while nothing is computed
        one = shape.rows * shape.columns * machine.item
        taken = max(kernels, transfers, both.host, parts)
        taken += one * (1 / min(speeds.up, speeds.read) + 1 / min(speeds.down, speeds.write))
    if gain:  # devices wait for the last part of another, half of it in the mean
        taken += 0.5 * update.kernels * min(1.0, shape.rows / others)
    if ahead:
        # the rows of the next block are updated, and then it is opened, by half of the device
        sooner = update.kernels / (1 + gain) * following / others
        return _PASS + max(taken, sooner + after.kernels + after.alone)
    return _PASS + taken + after.alone


def _work(
    machine: Machine, updates: float, rate: float, up: int, down: int, reads: int = 0
) -> _Work:
    """Return what updates at a rate take, with values to the device and back.

    `reads` are further values that the host reads.
    """
    item, speeds = machine.item, machine.speeds
    return _Work(
        updates / rate,
        up * item / speeds.up + down * item / speeds.down,
        (up + reads) * item / speeds.read + down * item / speeds.write,
        (up + down) * item,
    )


def _opening(shape: Shape, machine: Machine, depth: int) -> _Work:
    """Return what a pivot block and its rows take."""
    rate, size = machine.speeds.product_of(depth), shape.size
    close = _work(machine, depth**3 / _CLOSING, rate, depth**2, depth**2)
    panel = _work(machine, depth * depth * (size - depth), rate, depth * size, depth * size)
    return close.plus(panel)


def _opened(shape: Shape, machine: Machine, depth: int, gain: float) -> _Work:
    """Return what it takes until all devices have the rows of a pivot block."""
    opening = _opening(shape, machine, depth)
    return opening.plus(_work(machine, 0.0, 1.0, depth * shape.size, 0)) if gain else opening


def _update(shape: Shape, machine: Machine, depth: int, *, separated: bool) -> _Work:
    """Return what the other rows take."""
    others, size = shape.size - depth, shape.size
    up = others * (depth if separated else size)
    if shape.columns < size and not separated:
        up += others * depth
    rate = machine.speeds.product_of(shape.rows)
    reads = others * size if separated else 0
    return _work(machine, others * depth * size, rate, up, others * size, reads)


def helper_shape(cut: Cut, unit: int, machine: Machine, lead: Speeds) -> Shape | None:
    """Return how a further device cuts its rows, None if it has no memory for that.

    It takes as many rows at a time as it updates in the time in which the first device updates its
    part, so that the end of a pass is not late.
    """
    shape, best = cut.shape, None
    share, (_, turn) = min(1.0, machine.speeds.product / lead.product), machine.turns(unit)
    for rows in sorted({turn * count for count in _ROWS} | {up_to(turn // 4, unit)}):
        candidate = replace(shape, rows=rows, columns=shape.size, slots=machine.slots)
        fits = rows <= shape.size and machine.holds(candidate)
        if fits and (best is None or rows <= share * shape.rows):
            best = candidate
    return best


def helper_gain(cut: Cut, speeds: Speeds, lead: Speeds) -> float:
    """Return by which part of the first device's speed a further one makes updates faster.

    A CPU has only the time in which it does not copy for the other.
    """
    free = 1 - cut.copying if speeds.shared else 1.0
    return free * speeds.product / lead.product


def required_bandwidth(cut: Cut, machine: Machine) -> float:
    """Return the bytes a second between host and device that keep the kernels busy."""
    updates, block = machine.speeds.product, cut.shape.block
    return bandwidth_model.required_for_block(2 * updates, block, machine.item)


def _shapes(n: int, unit: int, machine: Machine, options: CutOptions) -> Iterator[Shape]:
    """Yield the shapes that are worth trying."""
    size, (steps, rows) = up_to(n, unit), machine.turns(unit)
    if machine.product.pitch(size) > size:
        # rows of a multiple of that would meet in few sets of the caches
        size += unit

    def up(value: int) -> int:
        return min(up_to(value, unit), size)

    blocks: Sequence[int]
    if options.block is not None:
        blocks = [up(options.block)]
    else:
        # so that the passes are about as long: 1, 2, 3, ... of them
        counts = sorted({round(1.25**k) for k in range(48)})
        even = [-(-size // count) for count in counts]
        blocks = sorted({up(b if b < steps else up_to(b, steps)) for b in even})
    if options.rows is not None:
        heights = [up(options.rows)]
    else:
        fewer = {up(rows // k) for k in (2, 4, 8, 16)}
        heights = sorted(fewer | {up(k * rows) for k in _ROWS})
    columns = size if options.columns is None else up(options.columns)
    turns: Sequence[int]
    if options.ahead is not None:
        turns = (2,) if options.ahead else (1,)
    else:
        # kernels of two passes only share a device that is also the host
        turns = (1,) if machine.speeds.shared else (1, 2)
    for workers in turns:
        for block in blocks:
            for height in heights:
                yield Shape(n, size, block, height, columns, machine.slots, workers)
