"""The costs (distances) of blocks of sources on the device: rows and predecessors from costs.

Predecessors are found for a strip of sources at a time: on CPUs one comparison serves 4 or 8
sources. A predecessor with a smaller cost cannot be part of a cycle; vertices without such a
predecessor are settled level by level. If the device is the host, the arrays of the graph are used
as buffers without a copy, and rows are transposed directly into the answer: these copies often took
longer than the search.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.sparse.totals import Totals, bins_of
from pyapsp.device import Device
from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.device.kernels.transfer import in_place, read_back, shared
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import C_TYPES, arithmetic_defines
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.landing import download

__all__ = ["BlockSearch", "DeviceBlock", "RowsTarget", "rows_at_once"]

_TILE = 32
# Work-items of a group in kernels with a work-item for each source and vertex, if the device
# supports it.
_GROUP = 64
# Ranges of vertices whose sums are computed in parallel, and groups of a block that count, up to
# what the 32 bits of a counter hold.
_RANGES, _GROUPS, _COUNTED = 16, 64, 2**32 - 1
# Values of *state of the kernels: see cl/all_pairs/sparse/source_blocks.cl.
_WAITING, _ADVANCED = 1, 2


class DeviceBlock:
    """A graph on the device, and the costs of blocks of sources.

    The cost of vertex v from source number s of a block is entry ``v * width + s`` of the n x width
    values of the block.

    Parameters
    ----------
    graph : Graph
    options : AllPairsOptions
    width : int
        Sources in a block.
    blocks : int
        Number of blocks that are solved in parallel.
    program : Program
        The program that `DeviceBlock.build` returns.
    watch : Stopwatch
        Measures transfers, as phase "transfer".
    **scratch : bool
        As for `buffers`. Rows need `words`, predecessors need both.

    Attributes
    ----------
    queue : pyopencl.CommandQueue
    arcs : list of pyopencl.Buffer
        The index of the first arc of each vertex (long), the heads (int) and the weights.
    sources : pyopencl.Buffer
        The source vertices of the blocks (int), -1 for an empty place.
    costs : pyopencl.Buffer
        blocks x n x width values, the result of a search.
    marks : pyopencl.Buffer
        blocks x n x width ints, scratch memory of a search.
    words : pyopencl.Buffer
        blocks x n x width words of at least 4 bytes, and at least as wide as a value; scratch
        memory of a search.
    flag : pyopencl.Buffer
        An int, see `read_flag`.
    """

    def __init__(
        self,
        graph: Graph,
        options: AllPairsOptions,
        width: int,
        blocks: int,
        program: Program,
        watch: Stopwatch,
        **scratch: bool,
    ) -> None:
        self._device, self.queue = options.device, options.device.queue()
        self._answer = _answer(options)
        self._n, self._width, self._blocks, self._watch = graph.n, width, blocks, watch
        self._program, self._dtype = program, options.dtype
        self._lanes = _lanes(options, width)
        self._sum = sum_type(options)
        self._falls = options.dtype.kind in "iu" and (graph.min_weight or 0) > 0
        self._transposer = _transposer(options.device)
        self._group = min(_GROUP, options.device.capabilities.max_work_group_size)
        self.arcs = self._upload(graph)
        self._entering = self.arcs
        if options.predecessors and graph.directed:
            self._entering = self._upload(graph.reversed())
        block = self.buffers(graph, options, width, blocks, **scratch)[-5:]
        self.costs, self.marks, self.words, self.sources, self.flag = map(self._buffer, block)
        self._state = np.zeros(1, np.int32)

    @staticmethod
    def build(options: AllPairsOptions, width: int) -> Program:
        """Build the kernels of rows and predecessors."""
        x, y = _transposer(options.device)
        defines = arithmetic_defines(options.device, options.dtype, width=_lanes(options, width))
        defines |= {"PYAPSP_GROUP_X": x, "PYAPSP_GROUP_Y": y}
        if (answer := _answer(options)) != options.dtype:
            defines["PYAPSP_ANSWER"] = C_TYPES[answer.name]
        return build(options.device, "all_pairs/sparse/source_blocks.cl", defines)

    @staticmethod
    def buffers(
        graph: Graph,
        options: AllPairsOptions,
        width: int,
        blocks: int,
        *,
        marks: bool = True,
        words: bool = True,
    ) -> list[int]:
        """Return the bytes of each buffer; without `marks` and `words` these are empty."""
        item, entries = options.dtype.itemsize, graph.n * width * blocks
        arcs = [8 * (graph.n + 1), 4 * graph.m, item * graph.m]
        if options.predecessors and graph.directed:
            arcs *= 2
        scratch = [4 * entries * marks, max(item, 4) * entries * words]
        block = [item * entries, *scratch, 4 * width * blocks, 4]
        return [max(count, 4) for count in [*arcs, *block]]

    def begin(self, sources: np.ndarray) -> None:
        """Copy the sources of new blocks to the device."""
        padded = np.full(self._width * self._blocks, -1, np.int32)
        padded[: sources.size] = sources
        cl.enqueue_copy(self.queue, self.sources, padded)

    def read_flag(self) -> int:
        """Wait for all enqueued launches, and return the flag."""
        cl.enqueue_copy(self.queue, self._state, self.flag)
        return int(self._state[0])

    def rows(self, count: int) -> cl.Buffer:
        """Return a buffer with the costs from `count` sources as rows; uses `words`."""
        rows = self.costs
        if self._width > 1:
            rows = self.words
            self._transpose("block_rows", self.costs, rows, count, self._dtype)
        self.queue.finish()  # the caller may use another queue
        return rows

    def read_costs(self, distances: np.ndarray) -> None:
        """Copy the costs into rows of the answer, of any type that holds them; uses `words`."""
        own = distances.dtype in (self._dtype, self._answer)
        kernel = "block_rows" if distances.dtype == self._dtype else "block_rows_of_answer"
        if isinstance(distances, np.ndarray) and own and self._write(distances, kernel, self.costs):
            return
        self._read(distances, self._dtype, "block_rows", self.costs, self.words)

    def read_predecessors(self, predecessors: np.ndarray) -> None:
        """Compute the predecessors from the costs, and copy them into rows.

        This uses `marks` and `words`.

        The costs must be the fixed point of ``c(v) = min(c(u) + w(u, v))`` in the arithmetic of
        their type, with weights that are not negative.
        """
        sizes = np.int32(self._n), np.int32(self._width)
        before, settled = self.words, self.marks
        if not self._falls:
            cl.enqueue_copy(self.queue, self.flag, np.zeros(1, np.int32))
        results = before, settled, self.flag, *sizes
        entering, costs, waits = self._entering, self.costs, np.int32(not self._falls)
        self._launch(
            "block_fall", *entering, self.sources, costs, *results, waits, lanes=self._lanes
        )
        # if weights are positive and sums exact, every vertex has a predecessor of smaller cost
        waiting = 0 if self._falls else self.read_flag() & _WAITING
        while waiting:
            cl.enqueue_copy(self.queue, self.flag, np.zeros(1, np.int32))
            self._launch("block_level", *entering, costs, before, settled, *sizes)
            self._launch("block_settle", *results)
            state = self.read_flag()
            assert state & _ADVANCED, "costs that no tight path attains"
            waiting = state & _WAITING
        rows = "block_rows_of_predecessors"
        if not self._write(predecessors, rows, before):
            self._read(predecessors, predecessors.dtype, rows, before, settled)

    def totals(self, count: int, width: float | None = None) -> Totals:
        """Return the sums over the costs from `count` sources, with a histogram if `width` is set.

        The histogram counts the costs in bins of this width.
        """
        ranges = max(min(_RANGES, self._n), 1)
        kinds = self._dtype, self._sum, np.dtype(np.int32)
        results = [np.empty((self._blocks, ranges, self._width), kind) for kind in kinds]
        buffers = [self._buffer(result.nbytes) for result in results]
        x = min(self._width, self._group)
        items = -(-self._width // x) * x, ranges, self._blocks
        sizes = np.int32(self._n), np.int32(self._width)
        kernel = self._program.kernel("block_totals")
        kernel(self.queue, items, (x, 1, 1), self.costs, *buffers, *sizes)
        for result, buffer in zip(results, buffers, strict=True):
            cl.enqueue_copy(self.queue, result, buffer)
        most, total = results[0].max(axis=1), results[1].sum(axis=1)
        reached = results[2].sum(axis=1, dtype=np.int64)
        largest, totals, many = (each.reshape(-1)[:count] for each in (most, total, reached))
        return Totals(largest, totals, many, None if width is None else self._counts(most, width))

    def _counts(self, largest: np.ndarray, width: float) -> np.ndarray:
        """Return the number of costs in each bin of this width."""
        step, kind = self._dtype.type(width), self._sum.type
        bins = bins_of(kind(largest.max(initial=0)), kind(step))
        counts, part = np.zeros(bins, np.int64), np.empty(bins, np.uint32)
        buffer = self._buffer(part.nbytes)
        group = self._transposer[0] * self._transposer[1]
        entries = self._n * self._width
        items = min(-(-entries // group), _GROUPS) * group
        at_once = max(_COUNTED // max(entries, 1), 1)
        kernel = self._program.kernel("block_histogram")
        for start in range(0, self._blocks, at_once):
            cl.enqueue_fill_buffer(self.queue, buffer, np.zeros(1, np.uint32), 0, part.nbytes)
            sizes = np.int32(self._n), np.int32(self._width), np.int32(bins)
            shape = (items, min(at_once, self._blocks - start)), (group, 1)
            kernel(self.queue, *shape, self.costs, buffer, *sizes, step, np.int32(start))
            cl.enqueue_copy(self.queue, part, buffer)
            counts += part
        return counts

    def _launch(self, kernel: str, *arguments: cl.Buffer | np.generic, lanes: int = 1) -> None:
        """Launch a kernel with a work-item for each (strip of sources, vertex, block)."""
        groups = -(-self._n * self._width // lanes // self._group)
        items = groups * self._group, 1, self._blocks
        self._program.kernel(kernel)(self.queue, items, (self._group, 1, 1), *arguments)

    def _write(self, rows: np.ndarray, kernel: str, block: cl.Buffer) -> bool:
        """Write rows from the blocks, if they are in the memory of the device and transposed."""
        if self._width == 1 or not in_place(self.queue.device):
            return False
        with _as_buffer(self.queue, rows) as target:
            self._transpose(kernel, block, target, len(rows), rows.dtype)
        return True

    def _read(
        self, rows: np.ndarray, dtype: np.dtype, kernel: str, block: cl.Buffer, scratch: cl.Buffer
    ) -> None:
        """Download the rows of the blocks, which have this type on the device."""
        if self._width > 1:
            needed = self._n * self._width * self._blocks * dtype.itemsize
            assert scratch.size >= needed, "planned for totals alone"
            self._transpose(kernel, block, scratch, self._width * self._blocks, dtype)
            block = scratch
        download(self.queue, block, dtype, rows, self._watch)

    def _transpose(
        self, kernel: str, block: cl.Buffer, rows: cl.Buffer, count: int, dtype: np.dtype
    ) -> None:
        """Write the first `count` rows of the blocks into a buffer, in this type."""
        x, y = self._transposer
        items = (-(-self._n // _TILE) * x, -(-self._width // _TILE) * y, self._blocks)
        sizes = np.int32(self._n), np.int32(self._width), np.int32(count)
        none = dtype.type(infinity(dtype))
        self._program.kernel(kernel)(self.queue, items, (x, y, 1), block, rows, *sizes, none)

    def _upload(self, graph: Graph) -> list[cl.Buffer]:
        """Copy arcs to the device."""
        return [
            upload(self.queue, graph.indptr, self._watch),
            upload(self.queue, graph.indices, self._watch),
            upload(self.queue, graph.weights, self._watch, self._dtype),
        ]

    def _buffer(self, count: int) -> cl.Buffer:
        return self._device.buffer(count)


class BlockSearch(ABC):
    """Base of the solvers that keep their costs in a `DeviceBlock`.

    Parameters
    ----------
    block : DeviceBlock
    size : int
        As for `BlockSolver`.
    """

    def __init__(self, block: DeviceBlock, size: int) -> None:
        self._block, self.size = block, size

    @abstractmethod
    def search(self, sources: np.ndarray) -> None:
        """Find the costs from some sources."""

    def solve_block(
        self, sources: np.ndarray, distances: np.ndarray, predecessors: np.ndarray | None
    ) -> None:
        """Compute the rows of some sources."""
        self.search(sources)
        self._block.read_costs(distances)
        if predecessors is not None:
            self._block.read_predecessors(predecessors)

    def rows(self, sources: np.ndarray) -> cl.Buffer:
        """Return a buffer with the rows of some sources, which lasts until the next search."""
        self.search(sources)
        return self._block.rows(sources.size)

    def totals(self, sources: np.ndarray, width: float | None = None) -> Totals:
        """Compute the sums over the rows of some sources."""
        self.search(sources)
        return self._block.totals(sources.size, width)


def rows_at_once(options: AllPairsOptions, n: int) -> int:
    """Return how many rows of n vertices a buffer holds, at least 1.

    If the device is the host, this is the buffer that uses the memory of the answer.
    """
    widest = max(_answer(options).itemsize, 4 * options.predecessors)
    return max(options.device.capabilities.max_allocation // max(widest * n, 1), 1)


class RowsTarget:
    """The buffer for rows of the answer; if the device is the host, this is the array itself.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    shape : tuple of int
        Rows of the buffer, and values of a row.
    dtype : numpy.dtype
    watch : Stopwatch
        Measures transfers, as phase "transfer".
    """

    def __init__(
        self, queue: cl.CommandQueue, shape: tuple[int, int], dtype: np.dtype, watch: Stopwatch
    ) -> None:
        self._queue, self._watch, self._dtype = queue, watch, dtype
        self._buffer = None
        if not in_place(queue.device):
            count = max(dtype.itemsize * shape[0] * shape[1], 4)
            self._buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, count)

    @contextmanager
    def to(self, rows: np.ndarray) -> Iterator[cl.Buffer]:
        """Yield the buffer for these rows; on exit its content is in the array.

        If the device is not the host, the rows may have another type that holds them.
        """
        if self._buffer is not None:
            yield self._buffer
            download(self._queue, self._buffer, self._dtype, rows, self._watch)
            return
        with _as_buffer(self._queue, rows) as buffer:
            yield buffer


@contextmanager
def _as_buffer(queue: cl.CommandQueue, rows: np.ndarray) -> Iterator[cl.Buffer]:
    """Yield a buffer that uses the memory of an array; on exit the array has its content."""
    buffer = shared(queue, rows)
    yield buffer
    read_back(queue, buffer, rows)


def sum_type(options: AllPairsOptions) -> np.dtype:
    """Return the type of the sums of distances in kernels."""
    if options.dtype.kind in "iu":
        return np.dtype(np.int64)
    return np.dtype(np.float64 if options.device.capabilities.fp64 else np.float32)


def _answer(options: AllPairsOptions) -> np.dtype:
    """Return the type in which kernels write rows: that of the answer, if the host has them."""
    answer = options.answer or options.dtype
    own = not in_place(options.device.handle) or answer == np.float16
    return options.dtype if own else answer


def _lanes(options: AllPairsOptions, width: int) -> int:
    """Return the number of sources in a strip, the vector width of the predecessor kernels."""
    return math.gcd(options.device.traits.lanes(max(options.dtype.itemsize, 4)), width)


def _transposer(device: Device) -> tuple[int, int]:
    """Return the group shape of the transpose kernel."""
    if device.traits.scalar_groups:
        return 1, 1
    return 32, min(8, device.capabilities.max_work_group_size // 32)
