"""The work of one device in a pass over a matrix in host memory.

It runs Floyd-Warshall on a pivot block, multiplies the rows of the block by it, keeps them on the
device as the right factor, and updates other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack
from functools import partial

import pyopencl as cl

from pyapsp.all_pairs.dense.outofcore.part import Part
from pyapsp.all_pairs.dense.outofcore.pinning import PinnedRows
from pyapsp.all_pairs.dense.outofcore.schedule import Schedule
from pyapsp.all_pairs.dense.outofcore.shape import Shape, up_to
from pyapsp.all_pairs.dense.outofcore.steps import Compute, Step, Steps
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.product import Product, Rectangle, RightFactor
from pyapsp.device import Device, device_errors

__all__ = ["Worker"]


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
        The device multiplies, and the host takes the minimum with the matrix, which is then not
        uploaded.
    pinned : PinnedRows or None
        The rows of the matrix, if the device copies them itself.

    Attributes
    ----------
    device, product, shape
        The parameters.
    unit : int
        What the sizes of parts are multiples of.
    """

    def __init__(
        self,
        device: Device,
        product: Product,
        shape: Shape,
        matrix: Matrix,
        *,
        separated: bool = False,
        pinned: PinnedRows | None = None,
    ) -> None:
        self.device, self.product, self.shape = device, product, shape
        self._matrix, self._separated, self._pinned = matrix, separated, pinned
        self.unit = product.unit
        self._item = product.dtype.itemsize
        self._buffers: dict[str, cl.Buffer] = {}
        self._first = self._depth = self._turn = 0

    def __enter__(self) -> Worker:
        values, queues = self.shape.values(self.product), self.shape.queues
        sizes = {"right": values["right"]}
        sizes |= {f"left {turn}": values["lefts"] // queues for turn in range(queues)}
        with ExitStack() as stack, device_errors(self.device, self.bytes):
            for name, count in sizes.items():
                self._buffers[name] = self._allocate(count)
                stack.callback(self._buffers[name].release)
            self._steps = Steps(self.device, self._matrix, self.shape, self._pinned)
            stack.callback(self._steps.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._buffers.clear()
        with device_errors(self.device, self.bytes):
            # the steps end first, because they use the buffers; each is freed, also after an error
            self._stack.close()

    @property
    def moved(self) -> int:
        """Bytes that came and went."""
        return self._steps.moved

    @property
    def _queue(self) -> cl.CommandQueue:
        return self._steps.queues[0]

    @property
    def bytes(self) -> int:
        """Device memory in use at most."""
        return self._item * sum(self.shape.values(self.product).values())

    def close_pivot(self, first: int, depth: int) -> None:
        """Run Floyd-Warshall inside a pivot block."""
        with device_errors(self.device, self.bytes):
            counts = (depth * depth, *self.product.scratch(depth))
            buffers = [self._allocate(count) for count in counts]
            try:
                self._steps.run(
                    Step(part, self._copy(part, buffers[0], first, inwards=True), None)
                    for part in self._pivot_parts(first, depth)
                )
                self.product.rounds(self._queue, buffers, depth)
                self._steps.run(
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
            counts = [depth * depth, depth * wide]
            if not self.shape.block_fits_slot:
                counts.append(depth * depth)
            buffers = [self._allocate(count) for count in counts]
            try:
                # no step uses the slots meanwhile
                block = self._steps.slot if self.shape.block_fits_slot else buffers[2]
                pivot, left = Rectangle(block, depth, depth, depth), buffers[0]
                product.unpack_right(queue, right.at(0, first), pivot)
                product.pack_left(queue, pivot, left)
                for low, width in self._beside(wide):
                    here, columns = right.at(0, low), Rectangle(buffers[1], width, depth, width)
                    product.unpack_right(queue, here, columns)
                    product.multiply(queue, columns, left, here)
                    product.pack_right(queue, columns, here)
                queue.flush()
                self._steps.run(
                    Step(None, self._unpack(part, first), part)
                    for part in self._row_parts(first, depth)
                )
            finally:
                self._free(buffers)

    def fetch(self, first: int, depth: int) -> None:
        """Bring the rows of a pivot block, as a right factor."""
        self._first, self._depth = first, depth
        with device_errors(self.device, self.bytes):
            self._steps.run(
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

    def update(self, schedule: Schedule, mine: Hashable) -> None:
        """Update rows by the pivot block at hand, as long as there are any."""
        with device_errors(self.device, self.bytes):
            while schedule.more(mine):
                self._steps.run(
                    step
                    for rows in schedule.ranges(self.shape.rows, mine)
                    for step in self._updates(*rows, partial(schedule.done, *rows))
                )

    def _updates(self, first: int, last: int, finished: Callable[[], None]) -> Iterator[Step]:
        """Yield the steps for some rows: their left factor, then their columns, range by range."""
        size, wide, pivot, depth = self.shape.size, self.shape.columns, self._first, self._depth
        height = up_to(last - first, self.unit)

        def part(low: int, width: int) -> Part:
            return Part(first, last, low, min(low + width, self.shape.n), height, width)

        if wide >= size and not self._separated:
            here, turn = part(0, size), self._turn
            self._turn = (turn + 1) % self.shape.queues

            def whole(block: cl.Buffer) -> list[cl.Event]:
                rows = here.on(block)
                events = self._left(rows.part(pivot, depth), turn)
                for low, width in self._beside(size):
                    events += self._multiply(rows.part(low, width), low, turn)
                return events

            yield Step(here, whole, here, finished=finished, turn=turn)
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

    def _left(self, columns: Rectangle, turn: int = 0) -> list[cl.Event]:
        """Multiply the pivot columns of some rows by the closed pivot, and pack them."""
        left, product = self._buffers[f"left {turn}"], self.product
        queue, pivot = self._steps.queues[turn], self._right.at(0, self._first)
        events = product.pack_left(queue, columns, left)
        events += product.multiply(queue, columns, left, pivot)
        events += product.pack_left(queue, columns, left)
        return events

    def _multiply(self, columns: Rectangle, low: int, turn: int = 0) -> list[cl.Event]:
        """Update columns of some rows: those of the matrix from `low` on."""
        left, right = self._buffers[f"left {turn}"], self._right.at(0, low)
        return self.product.multiply(self._steps.queues[turn], columns, left, right)

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

    def _allocate(self, values: int) -> cl.Buffer:
        size = max(values, 1) * self._item
        return cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, size)
