"""Betweenness of vertices, level by level for 64 sources, on devices whose work-items share loads.

Searches of one work-item each would read scattered memory, and few sources would leave the device
idle. Here the work-items of a group read what belongs to one vertex side by side. Each level costs
launches over the whole graph, so this is for graphs of few levels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.summaries.counting import check_counts
from pyapsp.base.dry import needed
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Program, Stopwatch, build, fill, upload
from pyapsp.device.kernels.residents import scratch, scratches
from pyapsp.graph import Graph
from pyapsp.registry import Options

__all__ = ["sums_by_levels"]

# Levels at most; sources of a batch; work-items of a slice, and of groups for short rows; slices of
# a long row, and the arcs of the longest short one.
_LEVELS, _SOURCES, _ITEMS, _GROUP, _SLICES, _LONGEST = 64, 64, 32, 128, 16, 512


def sums_by_levels(
    graph: Graph,
    sources: np.ndarray,
    options: Options,
    tell: Callable[[int, int], None] | None,
    *,
    endpoints: bool,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the sums over some of the sources for each vertex, and the sources that are left.

    Sources are left from the first batch in which a search has too many levels. None if the device
    has scalar groups or too little memory. The graph, the sources and the options decide, so that
    the bits are the same in each call.

    Parameters
    ----------
    graph : Graph
        Without weights.
    sources : (k,) ndarray of int
        Different vertices.
    options : Options
    tell : callable or None
        Called with the number of sources that are done, and of all.
    endpoints : bool
        Whether a path also leads over its ends.
    """
    device, n = options.device, graph.n
    sizes = [8 * (_LEVELS + 1) * n, 8 * n, 8 * n, *3 * [8 * _SOURCES * n], 8 * n, 4]
    rows = (8 * (n + 1) + 4 * graph.m) * (1 + graph.directed)
    most = device.capabilities
    if (
        device.traits.scalar_groups
        or most.max_work_group_size < _ITEMS * _SLICES
        or rows + sum(sizes) > options.memory
        or max(sizes) > most.max_allocation
    ):
        return None
    needed(rows + sum(sizes), 8 * n)
    with device_errors(device, rows + sum(sizes)):
        return _Searches(graph, device, sizes, endpoints).run(sources, tell)


class _Rows:
    """The rows of a graph on the device, and which of them are long."""

    def __init__(self, graph: Graph, queue: cl.CommandQueue, watch: Stopwatch) -> None:
        degrees = np.diff(graph.indptr)
        long_rows = np.flatnonzero(degrees > _LONGEST)
        self.by_length = long_rows[np.argsort(-degrees[long_rows], kind="stable")].astype(np.int32)
        self.graph = graph  # a device may use the memory of the host
        self.first = upload(queue, graph.indptr, watch)
        self.ends = upload(queue, graph.indices, watch)
        self.vertices = upload(queue, self.by_length, watch) if self.by_length.size else None


class _Searches:
    """What all batches of sources use on the device."""

    def __init__(self, graph: Graph, device: Device, sizes: list[int], endpoints: bool) -> None:
        self.device, self.n, self.endpoints = device, graph.n, np.int32(endpoints)
        self.queue, watch = device.queue(), Stopwatch()
        self.out = _Rows(graph, self.queue, watch)
        self.into = _Rows(graph.reversed(), self.queue, watch) if graph.directed else self.out
        self.words, *self.seen, self.counts, self.shares, self.sums, self.totals, self.state = (
            scratches(device, sizes)
        )
        self.reached = scratch(device, 4)
        self.short, self.long = (self._program(slices) for slices in (1, _SLICES))
        for buffer, kind in ((self.sums, np.float64), (self.state, np.int32)):
            fill(device, self.queue, buffer, kind(0))

    def _program(self, slices: int) -> Program:
        group = _GROUP if slices == 1 else _ITEMS * slices
        defines = {"PYAPSP_GROUP": group, "PYAPSP_SLICES": slices, "PYAPSP_LONGEST": _LONGEST}
        return build(self.device, "all_pairs/summaries/betweenness_levels.cl", defines)

    def _launch(self, name: str, rows: _Rows, *arguments: cl.Buffer | np.generic) -> None:
        """Launch a kernel for the long rows, and for the others."""
        given = np.int32(self.n), rows.first, rows.ends, *arguments
        if rows.vertices is not None:
            group = _ITEMS * _SLICES
            shape = (rows.by_length.size * group,), (group,)
            self.long.kernel(name)(self.queue, *shape, rows.vertices, *given)
        groups = -(-self.n * _ITEMS // _GROUP)
        self.short.kernel(name)(self.queue, (groups * _GROUP,), (_GROUP,), None, *given)

    def run(
        self, sources: np.ndarray, tell: Callable[[int, int], None] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums, and the sources that are left; see `sums_by_levels`."""
        queue, left = self.queue, sources[:0]
        sources = sources.astype(np.int32)
        given = upload(queue, sources, Stopwatch())
        for first in range(0, sources.size, _SOURCES):
            count = min(_SOURCES, sources.size - first)
            last = self._forward(given, first, count)
            if last is None:
                left = sources[first:]
                break
            self._backward(last)
            if tell is not None:
                queue.finish()
                tell(first + count, sources.size)
        shape = (-(-self.n // _GROUP) * _GROUP,), (_GROUP,)
        self.short.kernel("add_sums")(queue, *shape, np.int32(self.n), self.sums, self.totals)
        totals, state = np.empty(self.n), np.empty(1, np.int32)
        cl.enqueue_copy(queue, totals, self.totals)
        cl.enqueue_copy(queue, state, self.state)
        check_counts(int(state[0]))
        return totals, left

    def _forward(self, sources: cl.Buffer, first: int, count: int) -> int | None:
        """Search from a batch of sources; return the last level, or None if there are too many."""
        queue, (seen, after) = self.queue, self.seen
        for buffer, size in ((self.words, self.n), (seen, self.n)):
            fill(self.device, queue, buffer, np.uint64(0), 0, size)
        fill(self.device, queue, self.reached, np.int32(0))
        limits = np.int32(first), np.int32(count)
        begun = sources, *limits, self.words, seen, self.counts
        self.short.kernel("begin")(queue, (_GROUP,), (_GROUP,), *begun)
        reached = np.empty(1, np.int32)
        for level in range(1, _LEVELS + 1):
            words = self.words, np.int32(level), seen, after, self.counts
            self._launch("forward", self.into, *words, self.reached, self.state)
            cl.enqueue_copy(queue, reached, self.reached)
            if reached[0] != level:
                return level - 1
            seen, after = after, seen
        return None

    def _backward(self, last: int) -> None:
        """Add what the shortest paths from the sources of the batch give to each vertex."""
        for level in range(last, -1, -1):
            words = self.words, np.int32(level), self.counts, self.shares, self.sums
            self._launch("backward", self.out, *words, self.endpoints)
