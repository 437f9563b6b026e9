"""A model that divides the matrix into parts and predicts the time, from measured speeds.

A pass over b pivots updates (n - b) rows of n values with b steps each, and copies each of these
rows to the device and back. Kernels take n / rate for a row and step, transfers take
2 n / bandwidth for a row. With a large enough b, kernels take longer than transfers. This is the
model of `pyapsp.dense.bandwidth_model` with some additions: the pivot block and its rows, the
upload of the first and the download of the last part, copies on the host, and memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pyapsp.dense import bandwidth_model
from pyapsp.dense.outofcore.shape import Shape, up_to
from pyapsp.dense.outofcore.speeds import Speeds
from pyapsp.dense.product import Product
from pyapsp.errors import DeviceMemoryError

__all__ = [
    "Asked",
    "Cut",
    "Machine",
    "best_cut",
    "helper_gain",
    "helper_shape",
    "predict",
    "required_bandwidth",
]

# Turns of rows that are worth trying; more than this only need memory.
_ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
# Seconds that a part, and a pass, cost beside: the ways between threads, queues and devices.
_PART, _PASS = 1.5e-3, 1e-2
# Floyd-Warshall inside a block runs at this part of the speed of the product.
_CLOSING = 0.8


@dataclass(frozen=True)
class Machine:
    """What the model knows of a device.

    Attributes
    ----------
    product : Product
        Built for it.
    speeds : Speeds
    memory, largest : int
        Bytes that may be used, and in one buffer.
    """

    product: Product
    speeds: Speeds
    memory: int
    largest: int

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
        steps, rows = self.product.turn(self.product.p)
        return math.lcm(unit, steps), math.lcm(unit, rows)

    def needed(self, shape: Shape) -> int:
        """Return the bytes that a shape takes."""
        return self.item * sum(shape.buffers(self.product).values())

    def holds(self, shape: Shape) -> bool:
        """Return whether there is memory for a shape."""
        largest = self.item * max(shape.buffers(self.product)["right"], shape.slot)
        return self.needed(shape) <= self.memory and largest <= self.largest


@dataclass(frozen=True)
class Asked:
    """What a caller wants of a cut; None is left to the model."""

    block: int | None = None
    rows: int | None = None
    columns: int | None = None
    separated: bool | None = None


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

    def helped(self, gain: float) -> float:
        """Return the seconds if helpers add this part of the first device's speed to updates."""
        return self.seconds - self.shared * (1 - 1 / (1 + gain))


def best_cut(n: int, unit: int, machine: Machine, asked: Asked, gain: float = 0.0) -> Cut:
    """Return the fastest cut that a device has memory for, of those that were asked for.

    The first device alone closes the pivot blocks and multiplies their rows. With helpers these
    take a larger part of the time, so that smaller blocks are faster.

    Parameters
    ----------
    n : int
    unit : int
        What every number is rounded up to a multiple of.
    machine : Machine
    asked : Asked
    gain : float
        As for `Cut.helped`.

    Raises
    ------
    DeviceMemoryError
        If none fits; with the bytes of the smallest.
    """
    best, least = None, math.inf
    splits = (False, True) if asked.separated is None else (asked.separated,)
    for shape in _shapes(n, unit, machine, asked):
        least = min(machine.needed(shape), least)
        for separated in splits if machine.holds(shape) else ():
            cut = predict(shape, machine, separated=separated)
            if best is None or cut.helped(gain) < best.helped(gain):
                best = cut
    if best is None:
        available = min(machine.memory, machine.largest)
        raise DeviceMemoryError(int(least), available, "raise memory_limit")
    return best


def predict(shape: Shape, machine: Machine, *, separated: bool) -> Cut:
    """Return a cut with the seconds that a run of it takes, by the model."""
    item, n, size, speeds = machine.item, shape.n, shape.size, machine.speeds
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
    needed = machine.needed(shape)
    return Cut(shape, separated, total, moved, needed, bound, shared, copying)


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


def _shapes(n: int, unit: int, machine: Machine, asked: Asked) -> Iterator[Shape]:
    """Yield the shapes that are worth trying."""
    size, (steps, rows) = up_to(n, unit), machine.turns(unit)
    if machine.product.pitch(size) > size:
        # rows of a multiple of that would meet in few sets of the caches
        size += unit

    def up(value: int) -> int:
        return min(up_to(value, unit), size)

    blocks: Sequence[int]
    if asked.block is not None:
        blocks = [up(asked.block)]
    else:
        # so that the passes are about as long: 1, 2, 3, ... of them
        counts = sorted({round(1.25**k) for k in range(48)})
        even = [-(-size // count) for count in counts]
        blocks = sorted({up(b if b < steps else up_to(b, steps)) for b in even})
    if asked.rows is not None:
        heights = [up(asked.rows)]
    else:
        fewer = {up(rows // k) for k in (2, 4, 8, 16)}
        heights = sorted(fewer | {up(k * rows) for k in _ROWS})
    columns = size if asked.columns is None else up(asked.columns)
    for block in blocks:
        yield from (Shape(n, size, block, height, columns, machine.slots) for height in heights)
