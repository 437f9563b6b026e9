"""ms-bfs on CPUs from many sources: each core searches blocks of sources alone, in one launch.

Launches of a level that all cores share take longer than a small graph needs, and the more cores,
the longer: 0.09 ms each on 16. Here a core takes a block, searches it and writes its rows, then it
takes the next. All blocks have about the same number of sources.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from pyapsp.all_pairs.sparse.device_block import RowsTarget, rows_at_once
from pyapsp.all_pairs.sparse.ms_bfs_rows import longest_of, row_defines, vertices_of
from pyapsp.all_pairs.sparse.source_blocks import Programs
from pyapsp.base.host import aligned
from pyapsp.device.kernels import Stopwatch, build, upload
from pyapsp.device.kernels.transfer import hand_back, in_place, shared
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Plan

__all__ = ["LINE", "Blocks", "CoreSearches", "blocks_of", "build_blocks"]

_BITS = 32
# Sources for each core from which on cores search alone: in graphs of at most _SMALL vertices, and
# in larger ones. Each core reads all arcs. With few sources this takes longer than launches.
_SMALL, _LEAST = 2**15, {True: 128, False: 512}
# Pairs of a source and a vertex that a core processes in a launch, which the host cannot stop; arcs
# that take as long as a vertex.
_PAIRS, _ARCS = 2**27, 32
# Push if the frontier has less than one eighth of the arcs that a pull may read. It reads them one
# after the other, and stops at a complete vertex.
_FEW = 8
# Bytes of a row of the answer that are written at a time, one page of memory; and most vertices,
# because their bits are in the stack.
_PAGE, _VERTICES = 4096, 1024
# Words of a row that are fastest, as many as a line of the caches has.
LINE = 16
# The bits take at most one third of the memory.
_PART = 3
# Arrays of bits beside the planes, and lists of vertices: see the kernel file.
_ARRAYS, _LISTS = 3, 3
# Place of the largest number of levels in the state of the kernel; numbers of the state of a core.
_LEVELS, _LINE = 1, 16


@dataclass(frozen=True)
class Blocks:
    """How sources are divided into blocks."""

    size: int  # sources of a block, a multiple of those of a word
    words: int  # words of a row, a multiple of those of a vector
    vector: int  # words of a vector
    digits: int  # planes, enough for the longest distance
    cores: int
    count: int  # the number of blocks

    def bytes(self, n: int) -> int:
        """Return the bytes of the bits and of the lists of all cores, which share a buffer."""
        bits = 4 * self.words * (_ARRAYS + self.digits)
        return self.cores * n * (bits + 4 * _LISTS)

    def launch(self, graph: Graph) -> int:
        """Return the number of sources of a launch."""
        pairs = self.size * (graph.n + graph.m // _ARCS)
        return self.size * min(self.cores * max(_PAIRS // pairs, 1), self.count)


def blocks_of(n: int, count: int, options: AllPairsOptions, words: int) -> Blocks | None:
    """Return the blocks of `count` sources in a graph of n vertices.

    Parameters
    ----------
    n, count : int
    options : AllPairsOptions
    words : int
        The largest number of words of a row.

    Returns
    -------
    Blocks or None
        None if cores must share blocks: there are too few sources, or the bits do not fit in
        memory; or if the device has other cores than those of the host.
    """
    device = options.device
    cores = device.capabilities.compute_units
    alone = device.traits.scalar_groups and in_place(device.handle) and not options.totals
    if not alone or count < _LEAST[n <= _SMALL] * cores:
        return None
    blocks = cores * -(-count // (cores * words * _BITS))
    size = _BITS * -(-count // (blocks * _BITS))
    vector = min(device.traits.lanes(4), words, 1 << (size // _BITS - 1).bit_length())
    division = Blocks(
        size=size,
        words=vector * -(-size // (vector * _BITS)),
        vector=vector,
        digits=n.bit_length(),
        cores=cores,
        count=blocks,
    )
    most = min(options.memory // _PART, device.capabilities.max_allocation)
    return division if division.bytes(n) <= most else None


def build_blocks(graph: Graph, options: AllPairsOptions, blocks: Blocks) -> Programs:
    """Build the kernel, which searches and writes rows."""
    vertices = min(_PAGE // options.dtype.itemsize, _VERTICES)
    strips = vertices // vertices_of(graph, options.device)[0]
    capabilities = options.device.capabilities
    helps = capabilities.device_scope_fence
    defines = row_defines(graph, options, blocks.words, strips)
    defines |= {"PYAPSP_BITS": blocks.vector, "PYAPSP_HELPS": int(helps)}
    standard = capabilities.c_standard if helps else None
    file = "all_pairs/sparse/ms_bfs.cpu.cl"
    program = build(options.device, file, defines, standard=standard)
    return Programs(program, program)


class CoreSearches:
    """The searches of all blocks, with their rows."""

    def __init__(
        self, plan: Plan[Graph, AllPairsOptions, Programs], blocks: Blocks, watch: Stopwatch
    ) -> None:
        graph, options = plan.input, plan.options
        self._blocks, self._queue = blocks, options.device.queue()
        self.size = min(blocks.launch(graph), rows_at_once(options, graph.n))
        self._kernel = plan.state.search.kernel("ms_bfs_blocks")
        entering = graph.reversed() if graph.directed else graph
        arcs = graph.indptr, graph.indices, entering.indptr, entering.indices
        self._arcs = [upload(self._queue, each, watch) for each in arcs]
        self._scratch = options.device.buffer(blocks.bytes(graph.n))
        self._n, self._few = np.int32(graph.n), np.int64(_FEW)
        self._longest = np.int32(longest_of(options, graph.n))
        types = [options.dtype, *[np.dtype(np.int32)] * options.predecessors]
        shape = self.size, graph.n
        self._rows = [RowsTarget(self._queue, shape, each, watch) for each in types]

    def solve_block(
        self, sources: np.ndarray, distances: np.ndarray, predecessors: np.ndarray | None
    ) -> int:
        """Compute the rows of some sources, and return the largest number of levels."""
        targets = [distances] if predecessors is None else [distances, predecessors]
        places = _LINE * (1 + self._blocks.cores)
        arrays = aligned((sources.size,), np.int32), aligned((places,), np.int32)
        vertices, state = arrays
        vertices[:], state[:] = sources, 0
        blocks, sizes = self._blocks, (self._n, np.int32(sources.size))
        with ExitStack() as stack:
            own = [shared(self._queue, each) for each in arrays]
            rows = [
                stack.enter_context(target.to(each))
                for target, each in zip(self._rows, targets, strict=True)
            ]
            before = rows[-1] if predecessors is not None else None
            numbers = np.int32(blocks.size), np.int32(blocks.digits), self._few, self._longest
            memory = self._scratch, own[1], own[0], rows[0], before
            self._kernel(self._queue, (blocks.cores,), (1,), *self._arcs, *memory, *sizes, *numbers)
            hand_back(self._queue, own[1], state)
        return int(state[_LEVELS])
