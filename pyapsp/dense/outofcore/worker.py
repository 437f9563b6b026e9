"""One device at work on a matrix that it does not hold: its buffers, its kernels, its transfers.

What a pass needs of a device is a list of *steps*. A step brings a part of the matrix into a slot
(a device buffer, with a staging buffer on the host where the device has memory of its own),
computes on it, and takes it back. There are several slots, and three queues: while one step
computes, the next one comes in and the one before goes out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

from pyapsp.dense.outofcore.mapped import map_buffer, pinned
from pyapsp.dense.outofcore.schedule import Schedule
from pyapsp.dense.outofcore.storage import Matrix
from pyapsp.dense.product import Product, Rectangle, RightFactor
from pyapsp.device import Device, device_errors
from pyapsp.precision import infinity

__all__ = ["Shape", "Worker"]

#: Enqueues the kernels of a step on the buffer of a slot, and returns their events.
Compute: TypeAlias = Callable[[cl.Buffer], list[cl.Event]]


@dataclass(frozen=True)
class Shape:
    """How a matrix is cut for one device; all in values.

    Attributes
    ----------
    n : int
        Rows and columns of the matrix.
    size : int
        The same, padded to what the kernels need.
    block : int
        Pivots of a pass.
    rows : int
        Rows that are updated at a time.
    columns : int
        Columns that are updated at a time: `size`, or fewer.
    slots : int
        Parts of the matrix that are on the device at once: one comes in, one is computed, one goes
        out. Where the device is the host, copies beside kernels would only take their cores.
    """

    n: int
    size: int
    block: int
    rows: int
    columns: int
    slots: int = 3

    @property
    def slot(self) -> int:
        """Values in a slot: a part of rows, and at least a few columns of a pivot block."""
        return max(self.rows * self.columns, self.rows * self.block)

    def panel_columns(self, unit: int) -> int:
        """Return how many columns of the pivot rows are multiplied at a time."""
        return min(max(self.slot // (4 * self.block) // unit, 1) * unit, self.size)

    def buffers(self, product: Product) -> dict[str, int]:
        """Return the values in each device buffer, by what it is for."""
        return {
            "right": self.block * self.size,
            "slots": self.slots * self.slot,
            "lefts": 2 * self.rows * self.block,
            # while a pivot block is closed, and while its rows are
            "pivot": self.block * self.block
            + max(
                sum(product.scratch(self.block)),
                self.block * (self.block + self.panel_columns(product.unit(product.p))),
            ),
        }


@dataclass(frozen=True)
class Part:
    """A rectangle of the matrix: rows first to last - 1, columns low to high - 1.

    It lies row-major in a slot, padded with infinity to `height` rows of `width` values.
    """

    first: int
    last: int
    low: int
    high: int
    height: int
    width: int

    @property
    def values(self) -> int:
        """Values that it takes in a slot."""
        return self.height * self.width

    def shaped(self, memory: np.ndarray) -> np.ndarray:
        """Return the begin of some memory as rows and columns."""
        return memory[: self.values].reshape(self.height, self.width)

    def on(self, block: cl.Buffer) -> Rectangle:
        """Return the part as it lies in a slot."""
        return Rectangle(block, self.width, self.height, self.width)


@dataclass(frozen=True)
class Step:
    """What to bring, what to compute, what to take back.

    Attributes
    ----------
    bring : Part or None
        None: the slot is filled with infinity if something is taken back by minimum.
    compute : Compute
    take : Part or None
    minimum : bool
        The matrix is replaced by the minimum of it and what is taken back.
    finished : callable or None
        Called when the matrix has it.
    """

    bring: Part | None
    compute: Compute
    take: Part | None
    minimum: bool = False
    finished: Callable[[], None] | None = None


class Worker:
    """A device with the buffers for one shape of cut.

    Parameters
    ----------
    device : Device
    product : Product
        Built for it.
    shape : Shape
    matrix : Matrix
    separated : bool
        The device multiplies, and the host takes the minimum with the matrix, which then need not
        travel to the device.
    """

    def __init__(
        self,
        device: Device,
        product: Product,
        shape: Shape,
        matrix: Matrix,
        *,
        separated: bool = False,
    ) -> None:
        self.device, self.product, self.shape = device, product, shape
        self._matrix, self._separated = matrix, separated
        self.unit = product.unit(product.p)
        self._item = product.dtype.itemsize
        self._infinity = np.array(infinity(product.dtype), product.dtype)
        # bytes that came and went
        self.moved = 0
        self._buffers: dict[str, cl.Buffer] = {}
        self._slots: list[_Slot] = []
        self._first = self._depth = 0

    def __enter__(self) -> Worker:
        with device_errors(self.device, self.bytes):
            self._queue, self._up, self._down = (self.device.queue() for _ in range(3))
            values = self.shape.buffers(self.product)
            self._buffers = {
                "right": self._allocate(values["right"]),
                "old": self._allocate(values["lefts"] // 2),
                "left": self._allocate(values["lefts"] // 2),
            }
            self._slots = [_Slot(self, self.shape.slot) for _ in range(self.shape.slots)]
        self._loader, self._saver = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        return self

    def __exit__(self, *_: object) -> None:
        self._loader.shutdown()
        self._saver.shutdown()
        slots, buffers = self._slots, self._buffers
        self._slots, self._buffers = [], {}
        with device_errors(self.device, self.bytes), ExitStack() as stack:
            # each of them, whatever becomes of the others
            for slot in slots:
                stack.callback(slot.release)
            for buffer in buffers.values():
                stack.callback(buffer.release)

    @property
    def bytes(self) -> int:
        """Device memory in use at most."""
        return self._item * sum(self.shape.buffers(self.product).values())

    def close(self, first: int, depth: int) -> None:
        """Run Floyd-Warshall inside a pivot block."""
        with device_errors(self.device, self.bytes):
            counts = (depth * depth, *self.product.scratch(depth))
            buffers = [self._allocate(count) for count in counts]
            try:
                self._bring_pivot(buffers[0], first, depth)
                for number in range(-(-depth // self.product.p["block"])):
                    self.product.round(self._queue, buffers, depth, number)
                self._run(
                    Step(None, self._copy(part, buffers[0], first, inwards=False), part)
                    for part in self._pivot_parts(first, depth)
                )
            finally:
                self._free(buffers)

    def panel(self, first: int, depth: int) -> None:
        """Multiply the rows of a closed pivot block by it, and keep them as a right factor."""
        self.fetch(first, depth)
        product, queue, right = self.product, self._queue, self._right
        wide = self.shape.panel_columns(self.unit)
        with device_errors(self.device, self.bytes):
            counts = (depth * depth, depth * depth, depth * wide)
            buffers = [self._allocate(count) for count in counts]
            try:
                pivot, left = Rectangle(buffers[0], depth, depth, depth), buffers[1]
                product.unpack_right(queue, right.at(0, first), pivot)
                product.pack_left(queue, pivot, left)
                for low, width in self._beside(wide):
                    here, columns = right.at(0, low), Rectangle(buffers[2], width, depth, width)
                    product.unpack_right(queue, here, columns)
                    product.multiply(queue, columns, left, here)
                    product.pack_right(queue, columns, here)
                queue.flush()
                self._run(
                    Step(None, self._unpack(part, first), part)
                    for part in self._row_parts(first, depth)
                )
            finally:
                self._free(buffers)

    def fetch(self, first: int, depth: int) -> None:
        """Bring the rows of a pivot block, as a right factor."""
        self._first, self._depth = first, depth
        with device_errors(self.device, self.bytes):
            self._run(
                Step(part, self._pack(part, first), None) for part in self._row_parts(first, depth)
            )

    @property
    def _right(self) -> RightFactor:
        """The rows of the pivot block at hand."""
        return RightFactor(self._buffers["right"], self._depth, self.shape.size)

    def _pack(self, part: Part, first: int) -> Compute:
        """Return what puts a part of the pivot rows into the right factor."""
        right = self._right.at(part.first - first, part.low)
        return lambda block: self.product.pack_right(self._queue, part.on(block), right)

    def _unpack(self, part: Part, first: int) -> Compute:
        """Return what takes a part of the pivot rows from the right factor."""
        right = self._right.at(part.first - first, part.low)
        return lambda block: self.product.unpack_right(self._queue, right, part.on(block))

    def update(self, schedule: Schedule, mine: object) -> None:
        """Update rows by the pivot block at hand, as long as there are any."""
        with device_errors(self.device, self.bytes):
            while schedule.more(mine):
                self._run(
                    step
                    for rows in schedule.ranges(self.shape.rows, self.unit, mine)
                    for step in self._updates(*rows, partial(schedule.done, *rows))
                )

    def _updates(self, first: int, last: int, finished: Callable[[], None]) -> Iterator[Step]:
        """Yield the steps for some rows: their left factor, then their columns, range by range."""
        size, wide, pivot, depth = self.shape.size, self.shape.columns, self._first, self._depth
        height = _padded(last - first, self.unit)

        def part(low: int, width: int) -> Part:
            return Part(first, last, low, min(low + width, self.shape.n), height, width)

        if wide >= size and not self._separated:
            here = part(0, size)

            def whole(block: cl.Buffer) -> list[cl.Event]:
                rows = here.on(block)
                events = self._left(rows.part(pivot, depth))
                for low, width in self._beside(size):
                    events += self._multiply(rows.part(low, width), low)
                return events

            yield Step(here, whole, here, finished=finished)
            return

        pivots = part(pivot, depth)
        others = list(self._beside(wide))
        done = None if others else finished
        yield Step(pivots, lambda block: self._left(pivots.on(block)), pivots, finished=done)
        for number, (low, width) in enumerate(others):
            some = part(low, width)

            def compute(block: cl.Buffer, some: Part = some) -> list[cl.Event]:
                return self._multiply(some.on(block), some.low)

            yield Step(
                None if self._separated else some,
                compute,
                some,
                minimum=self._separated,
                finished=finished if number == len(others) - 1 else None,
            )

    def _beside(self, wide: int) -> Iterator[tuple[int, int]]:
        """Cut the columns beside the pivots into ranges of at most `wide`: the first, how many."""
        end = self._first + self._depth
        for start, stop in ((0, self._first), (end, self.shape.size)):
            for low in range(start, stop, wide):
                yield low, min(wide, stop - low)

    def _left(self, columns: Rectangle) -> list[cl.Event]:
        """Multiply the pivot columns of some rows by the closed pivot, and pack them."""
        left, queue, product = self._buffers["left"], self._queue, self.product
        old = Rectangle(self._buffers["old"], self._depth, columns.rows, self._depth)
        events = product.pack_left(queue, columns, left)
        events += product.copy(queue, columns, old)
        events += product.multiply(queue, old, left, self._right.at(0, self._first))
        events += product.copy(queue, old, columns)
        events += product.pack_left(queue, old, left)
        return events

    def _multiply(self, columns: Rectangle, low: int) -> list[cl.Event]:
        """Update columns of some rows: those of the matrix from `low` on."""
        right = self._right.at(0, low)
        return self.product.multiply(self._queue, columns, self._buffers["left"], right)

    def _bring_pivot(self, pivot: cl.Buffer, first: int, depth: int) -> None:
        self._run(
            Step(part, self._copy(part, pivot, first, inwards=True), None)
            for part in self._pivot_parts(first, depth)
        )

    def _pivot_parts(self, first: int, depth: int) -> Iterator[Part]:
        """Cut a pivot block into ranges of rows that fit a slot."""
        end = min(first + depth, self.shape.n)
        lines = self.shape.slot // depth // self.unit * self.unit
        for start in range(first, end, lines):
            # the last one brings the padding of the block, too
            height = min(lines, first + depth - start)
            yield Part(start, min(start + height, end), first, end, height, depth)

    def _copy(self, part: Part, pivot: cl.Buffer, first: int, *, inwards: bool) -> Compute:
        """Return what copies between a slot and rows of the pivot block on the device."""
        place = (part.first - first) * part.width * self._item
        count = part.values * self._item

        def copy(block: cl.Buffer) -> list[cl.Event]:
            if inwards:
                event = cl.enqueue_copy(
                    self._queue, pivot, block, byte_count=count, dst_offset=place
                )
            else:
                event = cl.enqueue_copy(
                    self._queue, block, pivot, byte_count=count, src_offset=place
                )
            return [event]

        return copy

    def _free(self, buffers: list[cl.Buffer]) -> None:
        self._queue.finish()
        for buffer in buffers:
            buffer.release()

    def _row_parts(self, first: int, depth: int) -> Iterator[Part]:
        """Cut the rows of a pivot block into parts that fit a slot, as those of all other rows."""
        n, size = self.shape.n, self.shape.size
        end, lines, wide = first + depth, self.shape.rows, self.shape.columns
        for start in range(first, min(end, n), lines):
            # the last one brings the padding of the block, too
            height = min(lines, end - start)
            for low in range(0, size, wide):
                width = min(wide, size - low)
                last = min(start + height, n)
                yield Part(start, last, low, min(low + width, n), height, width)

    def _run(self, steps: Iterable[Step]) -> None:
        """Run steps: each is brought while the one before is computed and those before go out."""
        if len(self._slots) == 1:
            [slot] = self._slots
            for step in steps:
                slot.save(step, self._compute(step, slot, slot.load(step)))
            return
        free = deque(self._slots)
        coming: deque[tuple[Step, _Slot, Future[Any]]] = deque()
        going: deque[tuple[_Slot, Future[Any]]] = deque()

        def compute() -> None:
            step, slot, brought = coming.popleft()
            computed = self._compute(step, slot, brought.result())
            going.append((slot, self._saver.submit(slot.save, step, computed)))

        try:
            for step in steps:
                if not free:
                    slot, taken = going.popleft()
                    taken.result()
                    free.append(slot)
                slot = free.popleft()
                coming.append((step, slot, self._loader.submit(slot.load, step)))
                if len(coming) > 1:
                    compute()
            while coming:
                compute()
        finally:
            # nothing may use the slots any more, after an error neither
            failures = [future for _, future in going if future.exception() is not None]
            for _, _, future in coming:
                future.exception()
        for failure in failures:
            failure.result()

    def _compute(self, step: Step, slot: _Slot, brought: cl.Event | None) -> cl.Event:
        """Enqueue the kernels of a step, and return the event of the last one."""
        if brought is not None:
            cl.enqueue_barrier(self._queue, wait_for=[brought])
        computed = step.compute(slot.buffer)[-1]
        self._queue.flush()
        return computed

    def _allocate(self, values: int) -> cl.Buffer:
        size = max(values, 1) * self._item
        return cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, size)


class _Slot:
    """A device buffer for a part of the matrix, and the way there and back."""

    def __init__(self, worker: Worker, values: int) -> None:
        self._worker = worker
        self.buffer = worker._allocate(values)
        self._staging: np.ndarray | None = None
        if not worker.device.capabilities.unified_memory:
            dtype = worker.product.dtype
            self._staging, self._free_staging = pinned(worker._queue, values, dtype)

    def release(self) -> None:
        self.buffer.release()
        if self._staging is not None:
            self._free_staging()

    def load(self, step: Step) -> cl.Event | None:
        """Bring what a step asks for, and return the event of its last command."""
        worker, part = self._worker, step.bring
        if part is None:
            if not step.minimum:
                return None
            assert step.take is not None
            count = step.take.values * worker._item
            event: cl.Event = cl.enqueue_fill_buffer(
                worker._up, self.buffer, worker._infinity, 0, count
            )
            worker._up.flush()
            return event
        dtype = worker.product.dtype
        worker.moved += part.values * worker._item
        if self._staging is None:
            access = cl.map_flags.WRITE_INVALIDATE_REGION
            memory, unmap = map_buffer(worker._up, self.buffer, access, part.values, dtype)
            try:
                self._read(part, part.shaped(memory))
            finally:
                event = unmap()
        else:
            memory = part.shaped(self._staging)
            self._read(part, memory)
            event = cl.enqueue_copy(worker._up, self.buffer, memory, is_blocking=False)
        worker._up.flush()
        return event

    def save(self, step: Step, computed: cl.Event) -> None:
        """Wait for the kernels of a step, and take its part back into the matrix."""
        worker, part = self._worker, step.take
        if part is None:
            computed.wait()
        else:
            worker.moved += part.values * worker._item
            put = worker._matrix.minimum if step.minimum else worker._matrix.write
            place = (part.first, part.last)
            columns = slice(part.low, part.high)
            if self._staging is None:
                dtype, read = worker.product.dtype, cl.map_flags.READ
                memory, unmap = map_buffer(
                    worker._down, self.buffer, read, part.values, dtype, [computed]
                )
                try:
                    put(*place, part.shaped(memory), columns)
                finally:
                    unmap().wait()
            else:
                memory = part.shaped(self._staging)
                # a copy that blocks would keep other threads out of the driver
                copied = cl.enqueue_copy(
                    worker._down, memory, self.buffer, wait_for=[computed], is_blocking=False
                )
                worker._down.flush()
                copied.wait()
                put(*place, memory, columns)
        if step.finished is not None:
            step.finished()

    def _read(self, part: Part, memory: np.ndarray) -> None:
        height, width = part.last - part.first, part.high - part.low
        self._worker._matrix.read(part.first, part.last, memory, slice(part.low, part.high))
        memory[height:] = self._worker._infinity
        memory[:height, width:] = self._worker._infinity


def _padded(count: int, unit: int) -> int:
    return -(-count // unit) * unit
