"""ms-bfs: breadth-first search from many sources at once, one bit for each.

A level's counters are summed within each work-item before an atomic adds them, because atomics on
shared counters took longer than the search. Bit planes are converted to numbers once, at the end;
if the device is the host, they are written directly into the array of the caller. From many
sources, the cores of a CPU do not share levels (`ms_bfs_blocks`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.sparse.device_block import RowsTarget, rows_at_once, sum_type
from pyapsp.all_pairs.sparse.ms_bfs_blocks import (
    LINE,
    Blocks,
    CoreSearches,
    blocks_of,
    build_blocks,
)
from pyapsp.all_pairs.sparse.ms_bfs_rows import longest_of, row_defines, vertices_of
from pyapsp.all_pairs.sparse.source_blocks import (
    LEVEL,
    Programs,
    TunableBlocks,
    levels_of,
    lone_levels,
    random_levels,
)
from pyapsp.all_pairs.sparse.totals import Totals
from pyapsp.base.errors import DeviceMemoryError
from pyapsp.device import Device
from pyapsp.device.kernels import Stopwatch, build, upload
from pyapsp.device.kernels.transfer import in_place
from pyapsp.graph import Facts, Graph
from pyapsp.graph.families import ARCS
from pyapsp.paths import AllPairsOptions, Weights
from pyapsp.registry import Parameters, Plan, register
from pyapsp.registry.tuning import tuned_rate
from pyapsp.registry.tuning.lookup import Match

__all__ = ["MsBfs"]

_BITS = 32
# In the tables below, True is for devices with scalar groups (CPUs).
# Blocks take at most one third of the memory, and on CPUs several blocks at most _CACHE bytes for
# each core: with 16 MiB for 16 cores, launches of a few blocks left most of them without work.
_PART, _CACHE = 3, 2**23
# Number of arcs that a row of work-items processes, one after the other.
_PIECE = {True: 4096, False: 256}
# Push if the frontier has less than one sixteenth of all arcs, and none of its vertices has more
# arcs than the second number.
_FEW = {True: (16, 2**31), False: (16, 1024)}
# Numbers of the state of a level, before the flags of its sources: see the kernel file.
_STATE = 16
# Work-items for each compute unit, in rows of them.
_ITEMS = {True: 16, False: 512}
# Arrays of bits beside the planes.
_ARRAYS = 3
# Number of bit planes at the start; if distances are longer, this many are added at a time.
_PLANES = 4
# Ranges of vertices whose sums are computed in parallel, and blocks of a launch: drivers limit the
# third dimension, which is their product.
_RANGES, _BLOCKS = 16, 2**11
# Vertices of a group in the kernel that reads bits.
_VERTICES = 64
# Number of vertex strips for which a work-item writes distances.
_STRIPS = {True: 32, False: 1}

# Time of the predecessors of a block, in that of its distances; measured on real graphs.
_BEFORE = {True: 4.0, False: 0.8}
# Time of an arc of each vertex, in that of a distance: a vertex reads its arcs until all its bits
# are set. Measured with 2 to 128 arcs.
_ARC = {True: 0.2, False: 0.125}
# Time of a level for each vertex, in the same unit: of the levels that a random graph has, in which
# many vertices are incomplete, and of all others, measured on a tree and a mesh. On a GPU the rows
# take longest.
_WAVE, _VISIT = {True: 2.4, False: 0.0}, {True: 0.8, False: 0.4}


@register
class MsBfs(TunableBlocks):
    """Multi-source breadth-first search: a word of sources for each vertex; all weights must be 1.

    Source: M. Then et al., PVLDB 8(4), 2014; S. Beamer et al., SC 2012, for the direction.
    """

    id = "ms-bfs"
    summary = "unweighted graphs: searches as bits, pulled or pushed, distances in bit planes"
    source = "Then et al. 2014, doi:10.14778/2735496.2735507; distances in bit planes: ours"
    requires = Weights(unweighted=True)
    choices: ClassVar[Mapping[str, tuple[int, ...]]] = {"words": (1, 2, 4, 8, 16, 32, 64)}
    slowdown = 0.25  # only the final rows depend on the type

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield the usually fastest parameters, then narrower rows for less memory."""
        yield from ({"words": words} for words in (32, 16, 8, 4, 2, 1))

    def sets(
        self, n: int, family: str, options: AllPairsOptions, *, rows: bool = True
    ) -> Iterator[tuple[Parameters, Match | None]]:
        """Omit rows wider than all sources need, unless the caller set the width.

        Where cores search alone, rows are at most as wide as a line of the caches.
        """
        needed = max(-(-options.count(n) // _BITS), 1)
        for parameters, match in super().sets(n, family, options, rows=rows):
            words = parameters.integer("words")
            if parameters == self.parameters:
                yield parameters, match
            elif words > LINE and blocks_of(n, options.count(n), options, LINE) is not None:
                yield Parameters({"words": LINE}), match
            elif words < 2 * needed:
                yield parameters, match

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the device supports groups as wide as a row."""
        lanes = _shape(options.device, parameters.integer("words"))[0]
        return bool(lanes <= options.device.capabilities.max_work_group_size)

    def rule(self, options: AllPairsOptions) -> str:
        """Return the limit."""
        return f"words must be at most {options.device.capabilities.max_work_group_size}"

    def buffers(self, graph: Graph, options: AllPairsOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer: graph, bits, rows."""
        words = parameters.integer("words")
        arcs = [8 * (graph.n + 1), 4 * graph.m] * (1 + graph.directed)
        if (division := _alone(graph, options, parameters)) is not None:
            return [*arcs, division.bytes(graph.n), 4 * division.launch(graph)]
        blocks = _blocks(graph, options, words)
        rows, sources = blocks * graph.n, blocks * words * _BITS
        pieces = graph.n + graph.m // _PIECE[options.device.traits.scalar_groups]
        bits = [4 * words * rows] * 3 + [4 * words * rows * _PLANES]
        answer = [_answer(graph, options) * sources]
        return [*arcs, 8 * pieces, 4 * pieces, *bits, *[4 * rows] * 3, *answer, 4 * sources]

    def prepare(self, graph: Graph, options: AllPairsOptions, parameters: Parameters) -> Programs:
        """Build the kernels."""
        device, words = options.device, parameters.integer("words")
        if (division := _alone(graph, options, parameters)) is not None:
            return build_blocks(graph, options, division)
        lanes, strips, width, rows = _shape(device, words)
        defines = {
            "PYAPSP_LANES": lanes,
            "PYAPSP_STRIPS": strips,
            "PYAPSP_WIDTH": width,
            "PYAPSP_ROWS": rows,
            "PYAPSP_SCATTERED": int(not device.traits.scalar_groups),
        }
        capabilities = device.capabilities
        standard = capabilities.c_standard if capabilities.device_scope_fence else None
        search = build(device, "all_pairs/sparse/ms_bfs.cl", defines, standard=standard)
        numbers = row_defines(graph, options, words, _STRIPS[device.traits.scalar_groups])
        return Programs(search, build(device, "all_pairs/sparse/ms_bfs_rows.cl", numbers))

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Return the time from the tuning rows around n, and that of many levels in a mesh.

        A distance is written for each source and vertex. To it come the times of arcs and levels.
        Rows tell the time of random graphs with `ARCS` arcs a vertex; with more arcs, there are
        fewer levels. In a deep graph whose sources are far apart, more rows change in a level.
        Rows tell the time without predecessors, which are added. Cores that search alone do not
        wait for launches of levels. On a GPU few sources take at least these.
        """
        rate = tuned_rate(self, graph.n, options, graph.family)
        if rate is None:
            return None
        degree, scalar = graph.m / max(graph.n, 1), options.device.traits.scalar_groups
        levels, usual = levels_of(graph), random_levels(graph.n, degree)
        words = _BITS + _ARC[scalar] * graph.reach * degree
        words += _WAVE[scalar] * min(levels, usual) + _VISIT[scalar] * max(levels - usual, 0)
        # the rows of reached vertices change in all of these, as in those of a random graph; and
        # those that they read are anywhere in memory: if the bits of a core leave the caches, slow
        bits = graph.n * LINE * 4 * (_ARRAYS + int(levels).bit_length())
        words += _WAVE[scalar] * max(bits / _CACHE, 1.0) * graph.reach * lone_levels(graph)
        words /= _BITS + _ARC[scalar] * ARCS + _WAVE[scalar] * random_levels(graph.n, ARCS)
        if options.predecessors:
            words += _BEFORE[scalar]
        work = graph.n * graph.n * rows * words / rate
        if blocks_of(graph.n, rows, options, LINE) is None:
            work += max(levels - usual, 0) * LEVEL
        if not scalar:
            work = max(work, levels * LEVEL)
        return work + self.constant(graph, options, rows)

    def downloads(self, plan: Plan[Graph, AllPairsOptions, Programs]) -> bool:
        """Return False on the host, where kernels write the rows."""
        return not in_place(plan.options.device.handle)

    def open(
        self, plan: Plan[Graph, AllPairsOptions, Programs], watch: Stopwatch
    ) -> _Searches | CoreSearches:
        """Copy the graph to the device."""
        if (division := _alone(plan.input, plan.options, plan.parameters)) is not None:
            return CoreSearches(plan, division, watch)
        return _Searches(plan, watch)


@dataclass(frozen=True)
class _Frontier:
    """The size of a level."""

    # The largest number of arcs that leave one of its vertices, and the sum over all.
    widest: int
    arcs: int
    pairs: int  # number of pairs of a source and a vertex


class _Searches:
    """The levels of all blocks, and the distances and sums from their bits."""

    def __init__(self, plan: Plan[Graph, AllPairsOptions, Programs], watch: Stopwatch) -> None:
        graph, options, words = plan.input, plan.options, plan.parameters.integer("words")
        device = options.device
        self._dtype, self._sum = options.dtype, sum_type(options)
        self._longest = longest_of(options, graph.n)
        self._n, self._m, self._words, self._watch = graph.n, graph.m, words, watch
        self._blocks = _blocks(graph, options, words)
        self.size = self._blocks * words * _BITS
        if not options.totals:
            self.size = min(self.size, rows_at_once(options, graph.n))
        self._planned, self._memory = plan.device_bytes, options.memory
        self._queue = device.queue()
        self._programs: Programs = plan.state
        self._strip = vertices_of(graph, device)[0]
        self._strips = _STRIPS[device.traits.scalar_groups]
        lanes, _, _, rows = _shape(device, words)
        self._group = lanes, rows, 1
        self._most = _ITEMS[device.traits.scalar_groups] * device.capabilities.compute_units
        self._leaving = self._upload(graph.indptr, graph.indices)
        self._entering, entering = self._leaving, graph
        if graph.directed:
            entering = graph.reversed()
            self._entering = self._upload(entering.indptr, entering.indices)
        pieces, owners, joined = _pieces(entering, _PIECE[device.traits.scalar_groups])
        self._pieces, self._count = self._upload(pieces, owners), owners.size
        self._joints, (self._joined,) = joined.size, self._upload(joined)
        self._few, self._widest = _FEW[device.traits.scalar_groups]
        rows, bits = 4 * self._blocks * graph.n, 4 * self._blocks * max(graph.n, 1) * words
        self._seen, self._frontier, self._next = (device.buffer(bits) for _ in range(3))
        self._marks, *self._lists = (self._buffer(rows) for _ in range(3))
        self._planes, self._capacity, self._digits = device.buffer(bits * _PLANES), _PLANES, 0
        self._plane = np.uint64(self._blocks * graph.n * words)
        self._state = np.zeros(_STATE + self._blocks * words, np.uint32)
        # the states of the level before, of this one, and of the next one
        self._states = [self._buffer(self._state.nbytes) for _ in range(3)]
        self._numbers = np.int32(self._state.size)
        self._sources = self._buffer(4 * self.size)
        answer = [options.dtype, *[np.dtype(np.int32)] * options.predecessors]
        answer = [] if options.totals else answer
        self._rows = [RowsTarget(self._queue, (self.size, graph.n), each, watch) for each in answer]

    def solve_block(
        self, sources: np.ndarray, distances: np.ndarray, predecessors: np.ndarray | None
    ) -> int | None:
        """Compute the rows of a block of sources, and return the number of levels."""
        levels = sum(1 for _ in itertools.islice(self.search(sources), self._longest))
        fields = np.int32(-(-(levels + 1).bit_length() // 4))
        sizes = np.int32(self._n), np.int32(self._digits), self._plane, np.int32(sources.size)
        bits = self._seen, self._planes
        with self._rows[0].to(distances) as rows:
            self._each("ms_bfs_rows", self._strip * self._strips, *bits, rows, *sizes, fields)
        if predecessors is not None:
            with self._rows[1].to(predecessors) as rows:
                self._each("ms_bfs_before", 1, *self._entering, *bits, rows, *sizes)
        return levels

    def totals(self, sources: np.ndarray, width: float | None = None) -> Totals:
        """Compute the sums over the rows of a block of sources."""
        count, n = sources.size, self._n
        largest = np.zeros(count, self._dtype)
        pairs = [count]
        for level, (reached, alive) in enumerate(self.search(sources), start=1):
            largest[alive] = level
            pairs.append(reached)
        ranges = min(_RANGES, max(n, 1))
        shape = self._blocks, ranges, self._words * _BITS
        results = [np.empty(shape, kind) for kind in (np.uint64, np.uint32)]
        buffers = [self._buffer(result.nbytes) for result in results]
        sizes = np.int32(n), np.int32(self._digits), self._plane, np.int32(ranges)
        bits = _BITS if self._strip == 1 else 1  # or all sources of a word in a work-item
        items = bits, self._words, self._blocks * ranges
        kernel = self._programs.rows.kernel("ms_bfs_totals")
        arrays = self._seen, self._planes, *buffers
        kernel(self._queue, items, (bits, 1, 1), *arrays, *sizes)
        for result, buffer in zip(results, buffers, strict=True):
            cl.enqueue_copy(self._queue, result, buffer)
        total, reached = (each.sum(axis=1, dtype=np.int64).reshape(-1) for each in results)
        counts = None
        if width is not None:
            bins = (np.arange(len(pairs)) // width).astype(np.int64)
            counts = np.zeros(bins[-1] + 1, np.int64)
            np.add.at(counts, bins, pairs)
        return Totals(largest, total[:count].astype(self._sum), reached[:count], counts)

    def search(self, sources: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield for each level the number of pairs at this distance, and the sources of them.

        The second is a boolean array over the sources.
        """
        sizes = np.int32(self._n), np.int32(sources.size)
        bits = self._seen, self._frontier, self._next, self._planes, self._marks
        strip, group = (self._words * self._strips, 1) if self._strips > 1 else (1, _VERTICES)
        items = -(-self._n * self._words // (strip * group)) * group, self._blocks
        numbers = np.int32(strip), np.int32(self._capacity), self._plane, self._numbers
        clear = self._programs.search.kernel("ms_bfs_clear")
        clear(self._queue, items, (group, 1), *bits, *self._states[1:], *sizes, *numbers)
        self._digits = 0
        cl.enqueue_copy(self._queue, self._sources, sources.astype(np.int32))
        bits = self._seen, self._frontier, self._marks, self._lists[0], self._states[1]
        arrays = self._sources, *bits, self._leaving[0], *sizes
        start = self._programs.search.kernel("ms_bfs_start")
        lanes = -(-sources.size // _VERTICES) * _VERTICES
        start(self._queue, (lanes,), (_VERTICES,), *arrays)
        frontier, pulled = self._read(), False
        for level in itertools.count(1):
            self._ready(level)
            few = frontier.arcs < self._blocks * self._m // self._few
            push = few and frontier.widest <= self._widest
            if push and pulled:
                self._list(level - 1)
            frontier = self._push(level) if push else self._pull(level)
            pulled = not push
            if frontier.pairs == 0:
                return
            alive = np.unpackbits(self._state[_STATE:].view(np.uint8), bitorder="little")
            yield frontier.pairs, alive[: sources.size].astype(bool)

    def _push(self, level: int) -> _Frontier:
        """Search a level from the rows of the list, and replace the list."""
        (before, state, spare), rows = self._states, self._blocks * self._n
        bits, sizes = (self._seen, self._frontier, self._next), (np.int32(self._n), np.int32(level))
        lists = self._marks, *self._lists, before, state
        following = *sizes, spare, self._numbers
        self._over(rows, 1, "ms_bfs_push", *self._leaving, *bits, *lists, *following)
        self._lists.reverse()
        arrays = self._lists[0], *bits, self._planes, state, *sizes, self._plane
        self._over(rows, 1, "ms_bfs_settle", *arrays)
        return self._read()

    def _pull(self, level: int) -> _Frontier:
        """Search a level for all rows; the list is not updated."""
        before, state, spare = self._states
        bits = self._seen, self._frontier, self._next, self._planes, before
        lists = self._marks, state, self._leaving[0], np.int32(self._n)
        place = np.int32(level), self._plane
        sizes = np.int32(self._count), *place
        pieces, heads, more = self._pieces, self._entering[1], (spare, self._numbers)
        over = self._count, self._blocks, "ms_bfs_pull"
        self._over(*over, *pieces, heads, *bits, *lists, *sizes, *more)
        if self._joints:
            rows = self._joined, self._seen, self._next, self._frontier, self._planes
            joined = *rows, *lists, np.int32(self._joints), *place
            self._over(self._joints, self._blocks, "ms_bfs_join", *joined)
        self._frontier, self._next = self._next, self._frontier
        return self._read()

    def _list(self, level: int) -> None:
        """List the rows with new bits at a level."""
        arrays = self._marks, self._next, self._lists[0], self._states[0]
        sizes = np.int32(self._n), np.int32(level), np.int32(self._strips)
        group = _VERTICES // self._strips
        items = -(-self._n // _VERTICES) * group, self._blocks
        self._programs.search.kernel("ms_bfs_list")(self._queue, items, (group, 1), *arrays, *sizes)

    def _read(self) -> _Frontier:
        """Return the state of a level, and make it the previous level."""
        self._states.append(self._states.pop(0))
        cl.enqueue_copy(self._queue, self._state, self._states[0])
        _, widest, *halves = self._state[:6].tolist()
        return _Frontier(widest, halves[0] + (halves[1] << 32), halves[2] + (halves[3] << 32))

    def _ready(self, level: int) -> None:
        """Allocate bit planes for the digits of a level."""
        self._digits = level.bit_length()
        if self._digits > self._capacity:
            bits = 4 * self._blocks * self._n * self._words
            needed = self._planned + 2 * self._capacity * bits  # while planes are copied
            if needed > self._memory:
                hint = f"the distances are longer than {level - 1:,}: set a cutoff, or fewer words"
                raise DeviceMemoryError(needed, self._memory, hint)
            more, zero = self._buffer((self._capacity + _PLANES) * bits), np.zeros(1, np.uint32)
            cl.enqueue_copy(self._queue, more, self._planes)
            place = self._capacity * bits, _PLANES * bits
            cl.enqueue_fill_buffer(self._queue, more, zero, *place)
            self._planes, self._capacity = more, self._capacity + _PLANES

    def _over(
        self, rows: int, blocks: int, kernel: str, *arguments: cl.Buffer | np.generic
    ) -> None:
        """Launch a kernel whose work-items share rows."""
        lanes, height, _ = self._group
        groups = min(-(-rows // height), max(self._most // (lanes * height), 1))
        items = lanes, max(groups, 1) * height, blocks
        self._programs.search.kernel(kernel)(self._queue, items, self._group, *arguments)

    def _each(self, kernel: str, strip: int, *arguments: cl.Buffer | np.generic) -> None:
        """Launch a kernel with a work-item for each (strip of vertices, word, block).

        On CPUs the words of a strip follow each other, because they are in the same cache lines.
        """
        strips, x = -(-self._n // strip), min(_VERTICES, self._group[0] * self._group[1])
        items = -(-strips // x) * x, self._words, self._blocks
        if self._strips > 1:
            items, x = (self._words, strips, self._blocks), 1
        self._programs.rows.kernel(kernel)(self._queue, items, (x, 1, 1), *arguments)

    def _upload(self, *arrays: np.ndarray) -> list[cl.Buffer]:
        return [upload(self._queue, each, self._watch) for each in arrays]

    def _buffer(self, count: int) -> cl.Buffer:
        return cl.Buffer(self._queue.context, cl.mem_flags.READ_WRITE, max(count, 4))


def _alone(graph: Graph, options: AllPairsOptions, parameters: Parameters) -> Blocks | None:
    """Return the blocks that cores search alone; None if they share levels."""
    return blocks_of(graph.n, options.count(graph.n), options, parameters.integer("words"))


def _shape(device: Device, words: int) -> tuple[int, int, int, int]:
    """Return work-items of a row, vectors of a work-item, words of a vector, rows of a group."""
    if device.traits.scalar_groups:
        width = min(device.traits.lanes(4), words)
        return 1, words // width, width, 1
    return words, 1, 1, max(min(256, device.capabilities.max_work_group_size) // words, 1)


def _blocks(graph: Graph, options: AllPairsOptions, words: int) -> int:
    """Return the number of blocks that are searched in parallel: all, or as many as fit."""
    wanted = -(-options.count(graph.n) // (words * _BITS))
    one = graph.n * (words * 4 * (3 + _PLANES) + 12)
    # enough planes for the longest distance; the last are allocated while the others are kept
    most = _PLANES * max(-(-graph.n.bit_length() // _PLANES), 1)
    longest = graph.n * (words * 4 * (3 + 2 * most - _PLANES) + 12)
    capabilities = options.device.capabilities
    room = options.memory // _PART
    if options.device.kind == "cpu":
        room = min(room, _CACHE * capabilities.compute_units)
    answer = _answer(graph, options) * words * _BITS
    largest = max(graph.n * words * 4 * most, answer)
    arcs = (8 * (graph.n + 1) + 4 * graph.m) * (1 + graph.directed) + 12 * (graph.n + graph.m)
    fits = min(
        _BLOCKS,
        room // max(one + answer, 1),
        (options.memory - arcs) // max(longest + answer, 1),
        capabilities.max_allocation // max(largest, 1),
    )
    blocks = max(min(wanted, fits), 1)
    return max(-(-wanted // (-(-wanted // blocks) or 1)), 1)


def _answer(graph: Graph, options: AllPairsOptions) -> int:
    """Return the bytes of a row of the answer on the device; 0 if the device is the host."""
    if options.totals or options.device.kind == "cpu":
        return 0
    return graph.n * (options.dtype.itemsize + 4 * options.predecessors)


def _pieces(graph: Graph, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split the arcs of vertices with more than `most` into pieces.

    Returns
    -------
    starts : (pieces + 1,) int64 ndarray
    owners : (pieces,) int32 ndarray
    joined : int32 ndarray
        The vertices with several pieces.
    """
    degrees, owners = np.diff(graph.indptr), np.arange(graph.n, dtype=np.int32)
    joined = np.flatnonzero(degrees > most).astype(np.int32)
    if not joined.size:
        return graph.indptr, owners, joined
    # most vertices have one piece, so the further ones are inserted
    further = -(-degrees[joined] // most) - 1
    more = np.repeat(joined, further)
    within = 1 + np.arange(more.size) - np.repeat(np.cumsum(further) - further, further)
    starts = np.insert(graph.indptr, more + 1, graph.indptr[more] + most * within)
    return starts, np.insert(owners, more + 1, more), joined
