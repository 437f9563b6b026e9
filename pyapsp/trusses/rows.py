"""Rows of arcs on the device: the graph, its orientation, what is left of it, numbers of edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import Program, Stopwatch, build_warps, transfer
from pyapsp.device.kernels.scan import Scan
from pyapsp.graph import Graph
from pyapsp.traversal.kernels import Launcher

__all__ = ["Rows", "Selection", "buffer", "uploaded", "zeros"]

# Arcs of a work-item: groups of one take more of them.
_EACH, _EACH_ALONE = 10, 4096
# Work-items of a launch that goes over all vertices, for each compute unit.
_ITEMS = 2048


@dataclass(frozen=True)
class Rows:
    """Compressed rows on the device."""

    # n + 1 ints: the arcs of vertex v are `first[v] .. first[v + 1]`.
    first: cl.Buffer
    heads: cl.Buffer  # m ints, in increasing order in each row
    n: int
    m: int
    # An int for each arc: its tail in oriented rows, else the number of its edge.
    values: cl.Buffer | None = None


def buffer(queue: cl.CommandQueue, ints: int) -> cl.Buffer:
    """Return a new buffer of at least one int."""
    return cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * max(ints, 1))


def zeros(queue: cl.CommandQueue, ints: int) -> cl.Buffer:
    """Return a new buffer of at least one int, all 0."""
    cleared = buffer(queue, ints)
    cl.enqueue_fill_buffer(queue, cleared, np.zeros(1, np.int32), 0, 4 * max(ints, 1))
    return cleared


def uploaded(queue: cl.CommandQueue, graph: Graph, watch: Stopwatch) -> Rows:
    """Return the rows of a graph with fewer than 2^31 arcs."""
    arrays = (graph.indptr, np.dtype(np.int32)), (graph.indices, None)
    first, heads = transfer.uploaded(queue, watch, *arrays)
    return Rows(first, heads, graph.n, graph.m)


class Selection:
    """Rows with some of the arcs of other rows. Making it builds the kernels.

    Parameters
    ----------
    device : Device
    oriented : bool
        Whether arcs are chosen by the degrees of their ends, else by marks of their edges.
    """

    def __init__(self, device: Device, oriented: bool) -> None:
        alone = device.traits.scalar_groups
        limits = device.capabilities
        self._group = 1 if alone else min(128, limits.max_work_group_size)
        # two local arrays have an int for each arc of a chunk
        fits = limits.local_memory // (2 * 4 * self._group) - 2
        self._chunk = self._group * min(_EACH_ALONE if alone else _EACH, fits)
        self._items = limits.compute_units * (1 if alone else _ITEMS)
        defines = {"PYAPSP_GROUP": self._group, "PYAPSP_WARP": 1, "PYAPSP_BY": int(not oriented)}
        defines["PYAPSP_EACH"] = self._chunk // self._group
        self._program: Program = build_warps(
            device, "trusses/rows.cl", defines, optimise=_optimises(device, self._group)
        )
        self._scan = Scan(device, self._group)

    def buffers(self, n: int, m: int) -> list[int]:
        """Return the bytes of each buffer that a call allocates beside the new rows."""
        chunks = -(-m // self._chunk)
        arcs = [4 * (chunks + 1), 4 * chunks, *self._scan.buffers(chunks)]
        return [*arcs, 4 * n, 4 * n, 4 * n, *self._scan.buffers(n)[1:]]

    def __call__(
        self,
        queue: cl.CommandQueue,
        rows: Rows,
        most: int,
        marks: cl.Buffer | None = None,
        mark: int = 0,
    ) -> Rows:
        """Enqueue the kernels, and return the new rows.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        rows : Rows
            Every edge has both arcs. With marks, its values are the numbers of the edges.
        most : int
            No more arcs are kept; an error in it would write out of bounds.
        marks : pyopencl.Buffer, optional
            An int for each edge.
        mark : int
            Arcs of edges with this mark are kept.
        """
        n, m = np.int32(rows.n), np.int32(rows.m)
        heads, values = buffer(queue, most), buffer(queue, most)
        if rows.m == 0:
            return Rows(zeros(queue, rows.n + 1), heads, rows.n, 0, values)
        launch = Launcher(queue, self._program, self._group)
        chunks, items = -(-rows.m // self._chunk), min(self._items, rows.n)
        parts, totals = self._parts(queue, rows), buffer(queue, chunks)
        ids = rows.first if rows.values is None else rows.values
        tests = rows.first, rows.heads, ids, ids if marks is None else marks, np.int32(mark), parts
        launch("rows_count", chunks * self._group, *tests, totals, m)
        before = self._scan(queue, totals, chunks)
        begins, ends, sizes = (buffer(queue, rows.n) for _ in range(3))
        written = before, begins, ends, heads, values
        launch("rows_write", chunks * self._group, *tests, *written, m)
        launch("rows_sizes", items, rows.first, begins, ends, sizes, n)
        return Rows(self._scan(queue, sizes, rows.n), heads, rows.n, most, values)

    def numbered(self, queue: cl.CommandQueue, rows: Rows, up: Rows) -> Rows:
        """Return the rows with the number of the edge of each arc: its place in oriented rows."""
        ids = buffer(queue, rows.m)
        if rows.m:
            chunks = -(-rows.m // self._chunk)
            parts, arrays = self._parts(queue, rows), (up.first, up.heads, ids, np.int32(rows.m))
            launch = Launcher(queue, self._program, self._group)
            launch("rows_ids", chunks * self._group, rows.first, rows.heads, parts, *arrays)
        return Rows(rows.first, rows.heads, rows.n, rows.m, ids)

    def spread(self, queue: cl.CommandQueue, rows: Rows, of_edges: cl.Buffer) -> cl.Buffer:
        """Return for each arc the int of its edge, and 0 for self-loops."""
        of_arcs, items = buffer(queue, rows.m), min(self._items, rows.m)
        launch = Launcher(queue, self._program, self._group)
        launch("rows_spread", items, rows.values, of_edges, of_arcs, np.int32(rows.m))
        return of_arcs

    def _parts(self, queue: cl.CommandQueue, rows: Rows) -> cl.Buffer:
        """Return the vertex at which each chunk of arcs begins."""
        chunks = -(-rows.m // self._chunk)
        parts, sizes = buffer(queue, chunks + 1), map(np.int32, (rows.n, rows.m, chunks))
        launch = Launcher(queue, self._program, self._group)
        launch("rows_parts", chunks + 1, rows.first, parts, *sizes)
        return parts


def _optimises(device: Device, group: int) -> bool:
    """Return whether kernels with barriers may be optimised."""
    return group == 1 or device.traits.optimises_barriers
