"""bfs-streamed: the arcs stay in the memory of the host, and are sent in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import WIDTHS, Program, Stopwatch, build
from pyapsp.graph import Graph
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.registry import Parameters, ParameterValues, Plan, register
from pyapsp.traversal.bfs.searcher import BfsSearcher
from pyapsp.traversal.bfs.smallest_parents import SmallestParents
from pyapsp.traversal.kernels import Launcher, search_defines
from pyapsp.traversal.search import Lanes

__all__ = ["BfsStreamed", "blocks_of"]


@register
class BfsStreamed(Lanes[Program]):
    """Breadth-first search that sends the arcs of each level to the device.

    It is the last choice: for graphs whose arcs do not fit the memory of the device. `block` is the
    number of arcs of a block.
    """

    id = "bfs-streamed"
    problem = "bfs"
    summary = "sends the arcs in blocks, level after level: for graphs larger than the device"
    source = (
        "blocks of arcs: Kyrola, Blelloch and Guestrin 2012, "
        "https://www.usenix.org/conference/osdi12/technical-sessions/presentation/kyrola"
    )
    carries_predecessors = True
    fills_device_rows = False
    resident = False
    choices: ClassVar[ParameterValues] = {
        "block": (2**8, 2**12, 2**16, 2**20, 2**24, 2**27),
        "width": WIDTHS,
        "group": Lanes.choices["group"],
    }

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield blocks from the largest to the smallest."""
        for block in reversed(self.choices["block"]):
            for each in super().candidates(options):
                yield {"block": block, **each}

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of levels, parents, a block, its offsets, and three ints a block."""
        block = parameters.integer("block")
        most = -(-graph.m // block) - (-graph.n // block)
        rows = [4 * graph.n, 4 * graph.n * options.predecessors]
        sent = [4 * min(block, graph.m), 4 * min(block, graph.n) + 4]
        return [max(size, 4) for size in (*rows, *sent, *[4 * most] * 3)]

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Program:
        """Build the kernels."""
        defines = parameters.macros("group", "width") | search_defines(options)
        return build(options.device, "traversal/bfs/bfs_streamed.cl", defines)

    def open(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> _Stream:
        """Make the blocks."""
        return _Stream(self, plan, watch)


@dataclass(frozen=True)
class _Block:
    """Arcs begin .. end, and the vertices first .. last that own them, in parts or whole."""

    begin: int
    end: int
    first: int
    last: int


def blocks_of(indptr: np.ndarray, size: int) -> list[_Block]:
    """Return blocks of at most `size` arcs and vertices, which together have all arcs.

    Parameters
    ----------
    indptr : (n + 1,) int64 ndarray
    size : int
    """
    n, m = indptr.size - 1, int(indptr[-1])
    blocks, begin = [], 0
    while begin < m:
        first = int(np.searchsorted(indptr, begin, "right")) - 1
        end = min(begin + size, int(indptr[min(first + size, n)]))
        last = int(np.searchsorted(indptr, end - 1, "right")) - 1
        blocks.append(_Block(begin, end, first, last))
        begin = end
    return blocks


class _Stream(BfsSearcher):
    """The levels and parents on the device, and a block of arcs."""

    def __init__(
        self, method: BfsStreamed, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch
    ) -> None:
        super().__init__(plan, watch, np.dtype(np.int32))
        graph, parameters = plan.input, plan.parameters
        self._graph, self._width = graph, parameters.integer("width")
        self._launch = Launcher(self.queue, plan.state, parameters.integer("group"))
        self._blocks = blocks_of(graph.indptr, parameters.integer("block"))
        self._firsts = np.array([each.first for each in self._blocks], np.int32)
        self._lasts = np.array([each.last for each in self._blocks], np.int32)
        sizes = method.buffers(graph, plan.options, parameters)
        buffers = (plan.options.device.buffer(size) for size in sizes)
        self._levels, self.parents, self._heads, self._offsets, *self._ends, self._flags = buffers
        if self._blocks:
            for buffer, ends in zip(self._ends, (self._firsts, self._lasts), strict=True):
                cl.enqueue_copy(self.queue, buffer, ends)
        self._present = -1  # the block on the device

    def search(self, source: int) -> None:
        """Find the levels of all vertices."""
        rows, n = (self._levels, self.parents), np.int32(self._graph.n)
        self._launch("bfs_streamed_start", int(n), *rows, np.int32(source), n)
        flags, level = (self._firsts <= source) & (source <= self._lasts), 0
        while flags.any():
            wanted = np.flatnonzero(flags).tolist()
            # what is there already comes first
            for number in sorted(wanted, key=lambda each: each != self._present):
                self._find(number, level)
            level += 1
            flags = self._flagged(level)

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the levels, and count them."""
        assert isinstance(distances, np.ndarray)
        self.download(self._levels, distances)
        # the last level may have no arcs, and so no flag
        reached = distances < infinity(distances.dtype)
        self.rounds += int(distances.max(where=reached, initial=0)) + 1

    def lower_parents(self, smallest: SmallestParents) -> None:
        """Send all blocks once more."""
        for number in sorted(range(len(self._blocks)), key=lambda each: each != self._present):
            block = self._sent(number)
            arcs, rows = (self._offsets, self._heads), block.last - block.first + 1
            smallest.of_rows(arcs, self._levels, self.parents, rows, block.first)

    def _sent(self, number: int) -> _Block:
        """Return a block after copying it to the device, if another one is there."""
        block, graph = self._blocks[number], self._graph
        if number != self._present:
            size = block.end - block.begin
            offsets = graph.indptr[block.first : block.last + 2] - block.begin
            cl.enqueue_copy(self.queue, self._heads, graph.indices[block.begin : block.end])
            offsets = np.clip(offsets, 0, size).astype(np.int32)
            cl.enqueue_copy(self.queue, self._offsets, offsets)
            self._present = number
        return block

    def _find(self, number: int, level: int) -> None:
        """Enqueue the search from the vertices of a level that have arcs in a block."""
        block = self._sent(number)
        vertices = block.last - block.first + 1
        arrays = self._offsets, self._heads, self._levels, self.parents
        sizes = np.int32(block.first), np.int32(vertices), np.int32(level)
        self._launch("bfs_streamed_find", vertices * self._width, *arrays, *sizes)

    def _flagged(self, level: int) -> np.ndarray:
        """Return which blocks have arcs of a level."""
        flags = np.zeros(len(self._blocks), np.int32)
        cl.enqueue_copy(self.queue, self._flags, flags)
        n, sizes = self._graph.n, (self._graph.n, len(self._blocks), level)
        arrays = self._levels, *self._ends, self._flags
        self._launch("bfs_streamed_flag", n, *arrays, *map(np.int32, sizes))
        cl.enqueue_copy(self.queue, flags, self._flags)
        return flags > 0
