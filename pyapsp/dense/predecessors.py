"""Predecessors that lead back to their source, also round cycles of weight zero.

The kernels carry the last vertex of the shortest path they know. When every weight is larger than
rounding, distances fall along these vertices, so they end at the source. With weights of zero or
below they may not: a tiled kernel finds the two vertices of a zero-weight cycle in different steps,
and each may have been found through the other. Such vertices are then reached anew, breadth first
over the arcs that attain their distances, from those whose predecessors are sound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyopencl as cl
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from pyapsp.graph import Graph
from pyapsp.kernels import Stopwatch, build
from pyapsp.precision import arithmetic_defines, infinity, tolerance
from pyapsp.registry import Options
from pyapsp.result import NO_PREDECESSOR

__all__ = ["Recovery", "mend_predecessors"]


# Sources that are treated at once: their distances are held a second time, transposed.
_SPAN = 1024
_TILE = 32


class Recovery:
    """Predecessors from distances: the tail of the arc that best explains each distance.

    For methods whose kernels compute distances alone. It takes n m' steps on the device, where m'
    counts the arcs that are as long as the distance between their ends.

    Parameters
    ----------
    graph : Graph
        What is solved.
    options : Options

    Attributes
    ----------
    buffers : list of int
        Bytes of the device buffers that `run` allocates.
    """

    def __init__(self, graph: Graph, options: Options) -> None:
        self._graph = graph
        traits = options.device.traits
        if traits.scalar_groups:
            # predecessors are 4 bytes, whatever the distances
            width, shape = traits.lanes(max(options.dtype.itemsize, 4)), (4, 1, 1)
        else:
            width, shape = 1, (1, 32, min(8, options.device.capabilities.max_work_group_size // 32))
        defines = arithmetic_defines(
            options.device, options.dtype, width=width, guard=graph.has_negative
        )
        strips, *self._group = shape
        defines |= {
            "PYAPSP_STRIPS": strips,
            "PYAPSP_GROUP_X": self._group[0],
            "PYAPSP_GROUP_Y": self._group[1],
            "PYAPSP_SLACK": "double" if options.dtype == np.float64 else "float",
        }
        self._own = strips * width
        self._program = build(options.device, "dense/predecessors.cl", defines)
        # arcs by head, so that a work-item reads the arcs into its vertex one after the other
        into = graph.to_scipy().tocsc()
        self._arcs = [
            into.indptr.astype(np.int64),
            into.indices.astype(np.int32),
            into.data.astype(options.dtype),
        ]
        rows = -(-graph.n // _TILE) * _TILE
        sources = self._own * self._group[0]
        self._span = min(_SPAN, -(-graph.n // sources) * sources)
        self._span = -(-self._span // _TILE) * _TILE
        self.buffers = [max(array.nbytes, 4) for array in self._arcs]
        self.buffers += [
            4 * max(graph.n, 1),
            max(options.dtype.itemsize * rows * self._span, 4),
            max(4 * graph.n**2, 4),
        ]

    def run(
        self,
        queue: cl.CommandQueue,
        matrix: cl.Buffer,
        columns: int,
        distances: np.ndarray,
        watch: Stopwatch,
    ) -> np.ndarray:
        """Find the predecessors of distances that are on the device.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        matrix : pyopencl.Buffer
            Final distances, `columns` values in a row.
        columns : int
        distances : (n, n) ndarray
            The same on the host.
        watch : Stopwatch
            Told of what runs, as phases "recovery" and "transfer".

        Returns
        -------
        (n, n) int32 ndarray
        """
        n, span = self._graph.n, np.int32(self._span)
        # twice what is allowed: no arc may be lost, and one too many costs little
        allowed = tolerance(self._graph, distances)
        wide = np.float64 if distances.dtype == np.float64 else np.float32
        with np.errstate(over="ignore"):
            slack = (wide(2 * allowed.relative), wide(2 * allowed.absolute))
        flags = cl.mem_flags.READ_WRITE
        arcs, (kept, slab, before) = (
            [],
            [cl.Buffer(queue.context, flags, count) for count in self.buffers[3:]],
        )
        for array, count in zip(self._arcs, self.buffers, strict=False):
            arcs.append(cl.Buffer(queue.context, flags, count))
            if array.size:
                watch.add("transfer", cl.enqueue_copy(queue, arcs[-1], array))
        group, tiles = tuple(self._group), -(-n // _TILE)
        sift = self._program.kernel("predecessors_sift")
        transpose = self._program.kernel("predecessors_slab")
        search = self._program.kernel("predecessors_search")
        size, pitch = np.int32(n), np.int32(columns)
        watch.add("recovery", sift(queue, (n,), None, matrix, pitch, *arcs, kept, *slack))
        for start in range(0, n, self._span):
            place = (size, np.int32(start), span)
            items = (tiles * group[0], self._span // _TILE * group[1])
            event = transpose(queue, items, group, matrix, pitch, *place, slab)
            watch.add("recovery", event)
            items = (self._span // self._own, tiles * group[1])
            watch.add("recovery", search(queue, items, group, before, *place, slab, *arcs, kept))
        result = np.empty((n, n), np.int32)
        watch.add("transfer", cl.enqueue_copy(queue, result, before))
        for buffer in [*arcs, kept, slab, before]:
            buffer.release()
        return result


def mend_predecessors(graph: Graph, distances: np.ndarray, predecessors: np.ndarray) -> int:
    """Repair, in place, the rows whose predecessors do not lead to the source.

    Parameters
    ----------
    graph : Graph
        What was solved; without negative cycles.
    distances : (n, n) ndarray
        Its distances.
    predecessors : (n, n) int32 ndarray
        What the kernels carried.

    Returns
    -------
    int
        The number of rows repaired. Looking for them costs O(n^2 log h) for paths of h arcs, and
        is left out where all weights exceed rounding; a row costs O(m).
    """
    if graph.min_weight is None:
        return 0
    allowed = tolerance(graph, distances)
    finite = distances < infinity(distances.dtype)
    largest = float(np.abs(distances).max(where=finite, initial=0))
    if graph.min_weight > 4 * (allowed.relative * largest + allowed.absolute):
        return 0
    tails, heads, weights = graph.arcs()
    weights = weights.astype(distances.dtype)
    repaired = 0
    for row, lost in _rows_with_cycles(predecessors):
        distance, before = distances[row], predecessors[row]
        # into a lost vertex every arc in equality may lead, into others the one they have
        usable = lost[heads] & finite[row][tails]
        with np.errstate(over="ignore"):  # a sum that is infinite equals no distance
            sums = distance[tails[usable]] + weights[usable]
        usable[usable] = allowed.equal(sums, distance[heads[usable]])
        kept = np.flatnonzero(~lost & (before != NO_PREDECESSOR))
        ends = (np.append(tails[usable], before[kept]), np.append(heads[usable], kept))
        arcs = csr_array((np.ones(ends[0].size, np.int8), ends), shape=(graph.n, graph.n))
        predecessors[row] = breadth_first_order(arcs, row)[1]
        repaired += 1
    return repaired


def _rows_with_cycles(predecessors: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the rows in which some predecessors go round, and the vertices that lead there."""
    n = len(predecessors)
    each = max(2**22 // n, 1)
    for start in range(0, n, each):
        block = predecessors[start : start + each]
        # column n is the end of every chain; jumps double until all chains are there
        jump = np.full((len(block), n + 1), n, dtype=np.int32)
        jump[:, :n] = np.where(block == NO_PREDECESSOR, n, block)
        for _ in range(n.bit_length()):
            if (jump == n).all():
                break
            jump = np.take_along_axis(jump, jump, axis=1)
        lost = jump[:, :n] != n
        for row in np.flatnonzero(lost.any(axis=1)):
            yield start + int(row), lost[row]
