"""A Hornet that holds the remaining graph: its edges are deleted in each step."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from pyapsp.base.errors import CapabilityError
from pyapsp.dynamic import Hornet
from pyapsp.dynamic.rows import HornetRows
from pyapsp.graph import Graph
from pyapsp.registry import Plan
from pyapsp.traversal.kernels import MOST_COUNTED, Launcher
from pyapsp.trusses.decomposition import TrussOptions
from pyapsp.trusses.intersections import Intersections
from pyapsp.trusses.rows import Rows, buffer, zeros
from pyapsp.trusses.step_programs import StepPrograms

__all__ = ["DELTA", "RemainingInHornet"]

#: The kernel file of counts and updates of supports, relative to the kernel root.
DELTA = "trusses/truss_delta.cl"


class RemainingInHornet:
    """What is left of a graph. Making it uploads the rows, and builds kernels of the container.

    Parameters
    ----------
    plan : Plan
    queue : pyopencl.CommandQueue
        The container has a queue of its own; when a method returns, it has nothing to do.
    rows : Rows
        Both arcs of each edge, with its number.
    edges : int
    tails, ends : pyopencl.Buffer
        The vertices of each edge.
    marks, supports : pyopencl.Buffer
        Those of the edges, as in `Steps`.
    listed : pyopencl.Buffer
        The edges that the last step removed.
    """

    def __init__(
        self,
        plan: Plan[Graph, TrussOptions, StepPrograms],
        queue: cl.CommandQueue,
        rows: Rows,
        edges: int,
        tails: cl.Buffer,
        ends: cl.Buffer,
        marks: cl.Buffer,
        supports: cl.Buffer,
        listed: cl.Buffer,
    ) -> None:
        self._plan, self._device, self._edges = plan, plan.options.device, edges
        self._queue = queue
        self._ends, self._marks, self._supports = (tails, ends), marks, supports
        self._list = listed
        self._hornet = Hornet.from_graph(self._numbered(rows), weight="int32", device=self._device)
        self._rows = HornetRows(self._hornet)
        self._longest = int(self._hornet.degree().max(initial=0))

    def _numbered(self, rows: Rows) -> Graph:
        """Return the graph without self-loops, whose weights are the numbers of the edges."""
        graph: Graph = self._plan.input
        assert rows.values is not None
        ids = np.empty(rows.m, np.int32)
        cl.enqueue_copy(self._queue, ids, rows.values)
        simple = ids >= 0
        before = np.concatenate([[0], np.cumsum(simple)])
        arcs = graph.indices[simple], ids[simple].astype(np.int64)
        # its two arcs of an edge have one weight
        return Graph(before[graph.indptr], *arcs, directed=False, copy=False)

    @staticmethod
    def buffers(n: int, m: int) -> list[int]:
        """Return about the bytes of blocks, vertices, and the batches of the removals."""
        return [12 * m, 12 * m, 4 * n, 4 * n, 60 * m]

    def remove(self, removed: int) -> tuple[cl.Buffer, cl.Buffer]:
        """Delete the edges of the list, and return their rows: offsets, and heads."""
        ends = [buffer(self._queue, removed) for _ in range(2)]
        group, program = self._plan.parameters.integer("group"), self._plan.state.weak
        launch = Launcher(self._queue, program, group)
        items = min(removed, self._plan.state.items)
        launch("edges_ends", items, self._list, *self._ends, *ends, np.int32(removed))
        self._queue.finish()
        pairs = [cl_array.Array(self._queue, removed, np.int32, data=each) for each in ends]
        self._hornet.delete_edges(*pairs, stable=True)
        self._rows.queue.finish()
        u, v = (each.get() for each in pairs)
        tails, heads = np.concatenate([u, v]), np.concatenate([v, u])
        order = np.lexsort((heads, tails))
        first = np.zeros(self._hornet.n + 1, np.int32)
        np.cumsum(np.bincount(tails, minlength=self._hornet.n), out=first[1:])
        sent = buffer(self._queue, first.size), buffer(self._queue, order.size)
        for to, array in zip(sent, (first, heads[order]), strict=True):
            cl.enqueue_copy(self._queue, to, array)
        return sent

    def count(self, left: int) -> None:
        """Count the triangles of each edge that is left; the supports are 0 before."""
        remaining, count = buffer(self._queue, left), zeros(self._queue, 1)
        group, program = self._plan.parameters.integer("group"), self._plan.state.weak
        launch, edges = Launcher(self._queue, program, group), np.int32(self._edges)
        items = min(self._edges, self._plan.state.items)
        launch("edges_left", items, self._marks, remaining, count, edges)
        self.run(0, remaining, left, (count, count))

    def run(
        self, number: int, listed: cl.Buffer, items: int, gone: tuple[cl.Buffer, cl.Buffer]
    ) -> None:
        """Enqueue a pass of the kernels over the edges of a list; 0 counts triangles."""
        defines = self._rows.defines()
        if self._rows.slots > MOST_COUNTED:
            raise CapabilityError(f"the container has {self._rows.slots:,} slots")
        macros = {"PYAPSP_PASS": number} | {name: int(value) for name, value in defines.items()}
        # built once, or again if an update has opened more arenas than kernels know
        each = Intersections(self._device, DELTA, self._plan.parameters, macros)
        arrays = *self._rows.arguments(weights=True), *gone, *self._ends, listed, self._supports
        each(self._queue, arrays, items, self._longest)
