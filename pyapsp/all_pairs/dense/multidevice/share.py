"""The rows of one device, and its commands in a pass.

Blocks of rows lie one after the other in a few large buffers, the *slabs*, so that a kernel launch
updates many of them: with a launch for each block of 256 rows, two GPUs took twice as long for
n = 32,768, because the host did not enqueue them in time. Rows are updated in two queues, so that
one fills the compute units that the end of a launch in the other leaves idle. Each slab has its
queue. Row panels are made in a third queue, before the other rows are updated, or taken there. A
fourth one copies them:

    owner of k + 1    lanes    | block k+1 |                    | the others with panel k | ...
                      pivot                | close and multiply |
                      link                                      | to the host |
    other devices     lanes    | all blocks with panel k                                  | ...
                      link                                                    | from there |
                      pivot                                                              | take |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.arcs import ArcWriter
from pyapsp.all_pairs.dense.matrix import initial_rows
from pyapsp.all_pairs.dense.multidevice.division import Division
from pyapsp.all_pairs.dense.multidevice.panel import Lane, RowPanel, panel_values
from pyapsp.all_pairs.dense.product import Product, Rectangle
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Stopwatch, fill, staging
from pyapsp.device.kernels.mapped import map_buffer
from pyapsp.graph import Graph
from pyapsp.numbers.checks import convert
from pyapsp.numbers.precision import infinity

__all__ = ["Share", "share_bytes"]

_LANES = 2


def share_bytes(
    product: Product, division: Division, device: Device, member: int, graph: Graph
) -> list[int]:
    """Return the bytes of the buffers of a share, with those of the arcs that its rows have."""
    item = product.dtype.itemsize
    values = _values(division, _slabs(division, device, member, item))
    counts = [*values.slabs, *values.incoming, *[values.left] * _LANES]
    counts += 2 * panel_values(product, division.size, division.block)
    sizes = [item * count for count in counts]
    if ArcWriter.suits(graph, product.dtype, item * graph.n**2):
        arcs = 0
        for first, last in map(division.rows, division.blocks(member)):
            arcs += int(graph.indptr[last] - graph.indptr[first])
            sizes.append(8 * (last - first + 1))
        sizes += [4 * arcs, item * arcs]
    return sizes


def _slabs(division: Division, device: Device, member: int, item: int) -> list[list[int]]:
    """Cut the blocks of a device into slabs: the numbers of the blocks of each."""
    blocks, each = division.blocks(member), item * division.block * division.size
    most = max(1, device.capabilities.max_allocation // each)
    count = max(-(-len(blocks) // most), min(_LANES, len(blocks)))
    height = -(-len(blocks) // count)
    return [blocks[start : start + height] for start in range(0, len(blocks), height)]


class _Values(NamedTuple):
    """The values in the buffers of a share, but for those of its row panels."""

    slabs: list[int]
    incoming: list[int]  # of a row panel from another device; nothing if there is none
    left: int  # of the left factor of a lane


def _values(division: Division, slabs: Sequence[Sequence[int]]) -> _Values:
    size, depth, heights = division.size, division.block, [len(blocks) for blocks in slabs]
    return _Values(
        [height * depth * size for height in heights],
        [depth * size] if len(division.members) > 1 else [],
        max(heights) * depth * depth,
    )


class Share:
    """The blocks of a device, as a context manager. One thread at a time uses it.

    Parameters
    ----------
    device : Device
    product : Product
        Built for it.
    division : Division
    member : int
        Which of the members of the division it is.
    needed : int
        Bytes of device memory, for the message of an error.

    Attributes
    ----------
    device : Device
    blocks : list of int
        The numbers of its blocks of rows.
    bytes : int
        The parameter `needed`.
    """

    def __init__(
        self, device: Device, product: Product, division: Division, member: int, needed: int
    ) -> None:
        self.device, self.blocks, self.bytes = device, division.blocks(member), needed
        self._product, self._division = product, division
        self._item, self._dtype = product.dtype.itemsize, product.dtype
        self._slabs = _slabs(division, device, member, self._item)
        # where a block is: its slab, and its first row there
        self._place = {
            block: (slab, place * division.block)
            for slab, blocks in enumerate(self._slabs)
            for place, block in enumerate(blocks)
        }

    def __enter__(self) -> Share:
        values = _values(self._division, self._slabs)
        panel = self._product, self._division.size, self._division.block, self._buffer
        with ExitStack() as stack, device_errors(self.device, self.bytes):
            self._stack = stack
            self._buffers = [self._buffer(count) for count in values.slabs]
            self._incoming = [self._buffer(count) for count in values.incoming]
            self._panels = [RowPanel(*panel) for _ in range(2)]
            self._lanes = [
                Lane(self.device.queue(), self._buffer(values.left)) for _ in range(_LANES)
            ]
            self._pivot, self._link = self.device.queue(), self.device.queue()
            # the last commands of the lanes in a pass, and those that end the making of a panel
            self._ended: dict[int, list[cl.Event]] = {}
            self._last: dict[int, cl.Event] = {}
            self._ready: dict[int, cl.Event] = {}
            self._packed: list[cl.Event] = []
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with device_errors(self.device, self.bytes), self._stack:
            self.finish()

    def finish(self) -> None:
        """Wait for all commands."""
        for queue in (*(lane.queue for lane in self._lanes), self._pivot, self._link):
            queue.finish()

    # -- passes ------------------------------------------------------------------------------

    def make_panel(self, number: int) -> None:
        """Enqueue the making of a row panel, from a block of this device.

        The block has been updated with all panels before.
        """
        place = self._division.pivots(number)
        rows = self._rectangle(*self._place[number], place[1])
        # its own update, and those that still use the panel of two passes ago
        self._follow(self._pivot, list(self._last.values()))
        panel = self._panels[number % 2]
        panel.close_pivot(self._pivot, rows, *place)
        self._ready[number] = panel.multiply(self._pivot, rows)[-1]
        self._pivot.flush()
        # a GPU begins the groups of a kernel after those of all kernels before it, so that each of
        # these short kernels would wait for an update of a block
        for lane in self._lanes:
            self._follow(lane.queue, [self._ready[number]])

    def send(self, number: int, memory: np.ndarray) -> cl.Event:
        """Enqueue the copy of a row panel of this device to the host; return its event."""
        size, (slab, row) = self._division.size, self._place[number]
        rows, start = memory[: self._division.pivots(number)[1] * size], row * size * self._item
        self._follow(self._link, [self._ready[number]])
        event: cl.Event = cl.enqueue_copy(
            self._link, rows, self._buffers[slab], src_offset=start, is_blocking=False
        )
        self._link.flush()
        return event

    def receive(self, number: int, memory: np.ndarray) -> cl.Event:
        """Enqueue the copy of a row panel to this device; return the event after which it is there.

        All updates with the panel before are enqueued.
        """
        (incoming,), size = self._incoming, self._division.size
        place = self._division.pivots(number)
        count = place[1] * size
        self._follow(self._link, self._packed)
        event: cl.Event = cl.enqueue_copy(self._link, incoming, memory[:count], is_blocking=False)
        self._link.flush()
        self._follow(self._pivot, [event, *self._ended.get(number - 2, ())])
        rows = Rectangle(incoming, size, place[1], size)
        self._packed = self._panels[number % 2].take(self._pivot, rows, *place)[-1:]
        self._ready[number] = self._packed[-1]
        self._pivot.flush()
        return event

    def update(self, number: int, blocks: Sequence[int]) -> None:
        """Enqueue the update of blocks of this device with a row panel."""
        for slab, row, height in self._ranges(blocks):
            turn = slab % _LANES
            lane = self._lanes[turn]
            # the order of the commands of a lane keeps the passes of a slab in order
            self._follow(lane.queue, [self._ready[number]])
            rows = self._rectangle(slab, row, height)
            self._last[turn] = self._panels[number % 2].update(lane, rows)[-1]
            lane.queue.flush()

    def _ranges(self, blocks: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Yield rows of blocks that follow each other: slab, first row, how many."""
        height = self._division.block
        slab, first, end = -1, 0, 0
        for at, row in sorted(self._place[block] for block in blocks):
            if (at, row) != (slab, end):
                if end > first:
                    yield slab, first, end - first
                slab, first = at, row
            end = row + height
        if end > first:
            yield slab, first, end - first

    def end_pass(self, number: int) -> None:
        """Note that all updates with a row panel are enqueued; wait for those of the one before."""
        self._ended[number] = list(self._last.values())
        for event in self._ended.get(number - 1, ()):
            event.wait()
        self._ended.pop(number - 2, None)
        self._ready.pop(number - 2, None)

    # -- rows --------------------------------------------------------------------------------

    def fill(self, graph: Graph) -> None:
        """Write the distances before the first pass."""
        n, size, queue = graph.n, self._division.size, self._lanes[0].queue
        nothing = self._dtype.type(infinity(self._dtype))
        sparse = ArcWriter.suits(graph, self._dtype, self._item * n * n)
        writer = ArcWriter(self.device, self._dtype) if sparse else None
        for buffer, blocks in zip(self._buffers, self._slabs, strict=True):
            staged = staging.suits(self.device.handle, buffer.size)
            if writer is None and not staged:
                self._fill_mapped(queue, graph, buffer, blocks)
                continue
            fill(self.device, queue, buffer, nothing)
            for block in blocks:
                _, row = self._place[block]
                some = self._division.rows(block)
                if writer is not None:
                    writer.write_rows(queue, graph, some, buffer, size, row, Stopwatch())
                    continue
                shape, write = (some[1] - some[0], size), partial(self._initial, graph, some[0])
                stage = staging.stage(self.device.context)
                stage.send(queue, staging.Sent(buffer, self._dtype, shape, write, row))
        queue.finish()

    def _initial(self, graph: Graph, begin: int, first: int, last: int, rows: np.ndarray) -> None:
        """Fill rows begin + first to begin + last - 1 of the matrix before the first pass."""
        initial_rows(graph, begin + first, begin + last, rows[:, : graph.n])
        rows[:, graph.n :] = infinity(self._dtype)

    def _fill_mapped(
        self, queue: cl.CommandQueue, graph: Graph, buffer: cl.Buffer, blocks: Sequence[int]
    ) -> None:
        """Fill a slab that the host can reach."""
        size, access = self._division.size, cl.map_flags.WRITE_INVALIDATE_REGION
        count = buffer.size // self._item
        memory, unmap = map_buffer(queue, buffer, access, count, self._dtype)
        try:
            rows, filled = memory.reshape(-1, size), 0
            for block in blocks:
                (first, last), (_, row) = self._division.rows(block), self._place[block]
                filled = row + last - first
                self._initial(graph, first, 0, last - first, rows[row:filled])
            rows[filled:] = infinity(self._dtype)
        finally:
            unmap().wait()

    def deliver(self, distances: np.ndarray) -> None:
        """Copy the rows of all blocks to the answer, of any type that holds them."""
        size, queue = self._division.size, self._lanes[0].queue
        targets = {block: distances[slice(*self._division.rows(block))] for block in self.blocks}
        if staging.suits(self.device.handle, sum(each.nbytes for each in targets.values())):
            matrices = [
                (self._buffers[slab], row, targets[block])
                for block, (slab, row) in self._place.items()
            ]
            stage = staging.stage(self.device.context)
            with stage.fetching(queue, matrices, self._dtype, size, convert):
                pass  # at the end of the block all rows are there
            return
        for buffer, blocks in zip(self._buffers, self._slabs, strict=True):
            count = buffer.size // self._item
            memory, unmap = map_buffer(queue, buffer, cl.map_flags.READ, count, self._dtype)
            try:
                for block in blocks:
                    (_, row), target = self._place[block], targets[block]
                    convert(memory.reshape(-1, size)[row : row + len(target)], target)
            finally:
                unmap().wait()

    def _buffer(self, values: int) -> cl.Buffer:
        """Return device memory that is freed at the end."""
        buffer = self.device.buffer(max(values, 1) * self._item)
        self._stack.callback(buffer.release)
        return buffer

    def _rectangle(self, slab: int, row: int, rows: int) -> Rectangle:
        """Return rows of a slab."""
        size = self._division.size
        return Rectangle(self._buffers[slab], size, rows, size, row=row)

    @staticmethod
    def _follow(queue: cl.CommandQueue, events: Sequence[cl.Event]) -> None:
        """Let later commands of a queue wait for events."""
        if events:
            cl.enqueue_barrier(queue, wait_for=list(events))
