"""Measured speeds of devices and of the host; the measurement takes less than a second.

Each speed is the best of a few turns, because other work only makes a turn slower.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.outofcore.shape import up_to
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.product import Product, Rectangle, RightFactor
from pyapsp.device import Device, device_errors, event_seconds, event_times
from pyapsp.device.kernels.mapped import pinned

__all__ = ["Speeds", "measure"]

# Bytes that are moved to see how fast that goes, and of the right factor of a product; the seconds
# after which no larger product is timed, how often each is, and for how many rows.
_SAMPLE, _FACTOR, _LONG_ENOUGH, _TURNS, _SAMPLED = 2**25, 2**26, 0.1, 3, (16, 64, 192, 1024, 4096)


@dataclass(frozen=True)
class Speeds:
    """Speeds of a device and of the host, per second."""

    # Updates of the product of rectangles, by how many rows it has, fewest first.
    products: tuple[tuple[int, float], ...]
    # Bytes to the device and back, each alone; infinite where the device uses host memory.
    up: float
    down: float
    # Bytes copied from the matrix and into it.
    read: float
    write: float
    shared: bool  # whether kernels and copies use the same cores

    @property
    def product(self) -> float:
        """Updates of a product with enough rows."""
        return self.products[-1][1]

    def product_of(self, rows: int) -> float:
        """Return the updates of a product of that many rows."""
        sizes, rates = zip(*self.products, strict=True)
        return float(np.interp(rows, sizes, rates))


def measure(device: Device, product: Product, matrix: Matrix, memory: int) -> Speeds:
    """Measure the speeds of a device for less than a second, with `memory` bytes of its memory.

    Values of the matrix are read and written back.
    """
    queue, item = device.queue(), product.dtype.itemsize
    heights = sorted({up_to(some, product.unit) for some in _SAMPLED})
    up = down = float("inf")
    with device_errors(device, memory):
        rates = _product_rates(queue, product, heights, matrix.n, memory)
        if not device.capabilities.unified_memory:
            up, down = _bus_rates(queue)
    rows = min(matrix.last - matrix.first, max(1, _SAMPLE // (matrix.n * item)))
    sample = np.zeros((rows, matrix.n), product.dtype)

    def speed(move: Callable[..., None]) -> float:
        started = time.perf_counter()
        move(matrix.first, matrix.first + rows, sample)
        return sample.nbytes / max(time.perf_counter() - started, 1e-9)

    moves = [(speed(matrix.read), speed(matrix.write)) for _ in range(_TURNS)]
    read, write = map(max, zip(*moves, strict=True))
    return Speeds(rates, up, down, read, write, shared=device.kind == "cpu")


def _bus_rates(queue: cl.CommandQueue) -> tuple[float, float]:
    """Return the bytes a second to the device and back."""
    with ExitStack() as stack:
        near = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, _SAMPLE)
        stack.callback(near.release)
        host, free = pinned(queue, _SAMPLE, np.dtype(np.uint8))
        stack.callback(free)
        host[:] = 0
        turns = [
            [
                event_seconds(cl.enqueue_copy(queue, *ends, is_blocking=False))
                for ends in ((near, host), (host, near))
            ]
            for _ in range(_TURNS)
        ]
    there, back = map(min, zip(*turns, strict=True))
    return _SAMPLE / max(there, 1e-9), _SAMPLE / max(back, 1e-9)


def _product_rates(
    queue: cl.CommandQueue,
    product: Product,
    rows: Sequence[int],
    n: int,
    memory: int,
) -> tuple[tuple[int, float], ...]:
    """Return the updates a second of products that take long enough, for each number of rows."""
    unit, item, write = product.unit, product.dtype.itemsize, cl.mem_flags.READ_WRITE
    depth = min(up_to(1024, unit), up_to(n, unit))
    # wider than what caches hold
    columns = min(up_to(n, unit), up_to(_FACTOR // (depth * item), unit))

    def values(most: int) -> tuple[int, int, int]:
        return (most * columns, most * depth, depth * columns)

    while columns > unit and sum(values(rows[0])) * item > memory:
        columns, depth = up_to(columns // 2, unit), min(depth, up_to(columns // 2, unit))
    rows = [some for some in rows if sum(values(some)) * item <= memory] or rows[:1]
    rates: list[tuple[int, float]] = []
    with ExitStack() as stack:
        buffers = []
        pattern = np.ones(1, product.dtype)
        for count in values(rows[-1]):
            buffers.append(cl.Buffer(queue.context, write, count * item))
            stack.callback(buffers[-1].release)
            cl.enqueue_fill_buffer(queue, buffers[-1], pattern, 0, count * item)
        block, left, right = buffers
        for some in rows:
            seconds = []
            for _ in range(_TURNS):
                target = Rectangle(block, columns, some, columns)
                events = product.multiply(queue, target, left, RightFactor(right, depth, columns))
                (begun, _), (_, ended) = event_times(events[0]), event_times(events[-1])
                seconds.append((ended - begun) * 1e-9)
            rates.append((some, some * columns * depth / max(min(seconds), 1e-9)))
            if sum(seconds) > _LONG_ENOUGH and len(rates) > 2:
                break
    return tuple(rates)
