"""Betweenness by rows of distances, on devices whose work-items share loads.

The rows are those of near-far, which stay on the device. A work-group counts the paths of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.sparse.near_far import NearFar
from pyapsp.all_pairs.summaries.launches import fitting
from pyapsp.base.dry import needed
from pyapsp.base.errors import DeviceMemoryError, PrecisionError
from pyapsp.device import device_errors
from pyapsp.device.kernels import Program, Stopwatch, build, fill, upload
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Options

__all__ = ["Kind", "check_counts", "sums_by_rows"]

# Work-items of a group, groups for each compute unit; the most rows of a group in a launch, which
# the host cannot stop.
_GROUP, _GROUPS, _ROWS = 128, 16, 4


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What is counted."""

    # Whether the weights, which are positive, are used. Otherwise each arc has length 1.
    weighted: bool
    endpoints: bool = False  # whether a path also leads over its ends
    arcs: bool = False  # whether the sums are for arcs, and not for vertices


def check_counts(state: int) -> None:
    """Raise the error that kernels have noted.

    Raises
    ------
    PrecisionError
    """
    if state & 1:
        raise PrecisionError("there are more shortest paths than float64 can count, above 1.8e308")
    if state:
        raise PrecisionError("a weight is lost in the sum with a distance that is much larger")


def sums_by_rows(
    graph: Graph,
    sources: np.ndarray,
    options: Options,
    tell: Callable[[int, int], None] | None,
    kind: Kind,
) -> np.ndarray | None:
    """Return the sums over the sources for each vertex or arc.

    None if the device has scalar groups, or no atomic minimum of 8 bytes, or too little memory.

    Parameters
    ----------
    graph : Graph
    sources : (k,) ndarray of int
        Different vertices.
    options : Options
    tell : callable or None
        Called with the number of sources that are done, and of all.
    kind : Kind
    """
    device, n, size = options.device, graph.n, graph.m if kind.arcs else graph.n
    most = device.capabilities
    if device.traits.scalar_groups or not most.int64_atomics or most.max_work_group_size < _GROUP:
        return None
    each = [8 * n, 8 * n, 4 * n, 4 * n, 4 * n, 8 * size]
    groups = min(most.compute_units * _GROUPS, fitting(options, each), sources.size)
    if groups < 1:
        return None
    sizes = [groups * one for one in each]
    graph = graph if kind.weighted else graph.unweighted()
    left = options.memory - sum(sizes) - 4 * sources.size
    if graph.directed:
        left -= 8 * (n + 1) + 12 * graph.m
    if left <= 0:
        return None
    searched = AllPairsOptions(device, options.dtype, memory_limit=left, sources=sources)
    method = NearFar()
    try:
        plan = method.plan(graph, searched)
    except DeviceMemoryError:
        return None
    defines = arithmetic_defines(device, options.dtype)
    defines |= {"PYAPSP_GROUP": _GROUP, "PYAPSP_ARCS": int(kind.arcs)}
    program = build(device, "all_pairs/summaries/betweenness_rows.cl", defines)
    memory = options.memory - left + plan.device_bytes
    needed(memory, 8 * size)
    with device_errors(device, memory):
        session = method.start(plan)
        counting = _Counting(graph, program, groups, sizes, kind.endpoints)
        for start in range(0, sources.size, session.size):
            some = sources[start : start + session.size]
            counting.add(session.rows_on_device(some), some)
            if tell is not None:
                counting.queue.finish()
                tell(start + some.size, sources.size)
        return counting.sums()


class _Counting:
    """The graph and the sums on the device.

    Parameters
    ----------
    graph : Graph
    program : Program
    groups : int
        The number of work-groups, each with its own sums.
    sizes : list of int
        Bytes of the buffers; the last is that of the sums.
    endpoints : bool
    """

    def __init__(
        self, graph: Graph, program: Program, groups: int, sizes: list[int], endpoints: bool
    ) -> None:
        device, self._watch = program.device, Stopwatch()
        self._program, self._groups, self._endpoints = program, groups, np.int32(endpoints)
        self._sizes = np.int32(graph.n), np.int64(graph.m)
        self._size = sizes[-1] // 8 // groups
        self.queue = device.queue()
        self._graphs = graph, graph.reversed()  # a device may use the memory of the host
        self._arcs = [
            upload(self.queue, array, self._watch, dtype)
            for each in self._graphs
            for array, dtype in (
                (each.indptr, None),
                (each.indices, None),
                (each.weights, np.dtype(np.float64)),
            )
        ]
        self._buffers = [device.buffer(size) for size in sizes]
        self._state = device.buffer(4)
        fill(device, self.queue, self._state, np.int32(0), 0, 1)
        shape = (groups * _GROUP,), (_GROUP,)
        sums = self._buffers[-1], np.int64(groups * self._size)
        program.kernel("clear_sums")(self.queue, *shape, *sums)

    def add(self, rows: cl.Buffer, sources: np.ndarray) -> None:
        """Add what the shortest paths from some sources give."""
        given = upload(self.queue, sources.astype(np.int32), self._watch)
        kernel, step = self._program.kernel("betweenness"), self._groups * _ROWS
        for begin in range(0, sources.size, step):
            end = min(begin + step, sources.size)
            groups = min(self._groups, end - begin)
            limits = np.int32(begin), np.int32(end), *self._sizes
            memory = rows, *self._buffers, self._state
            shape = (groups * _GROUP,), (_GROUP,)
            kernel(self.queue, *shape, *self._arcs, given, *limits, *memory, self._endpoints)
            self.queue.finish()

    def sums(self) -> np.ndarray:
        """Return the sums of all groups."""
        sums, state = np.empty(self._size), np.empty(1, np.int32)
        shape = (self._groups * _GROUP,), (_GROUP,)
        sizes = np.int32(self._groups), np.int64(self._size)
        self._program.kernel("add_sums")(self.queue, *shape, self._buffers[-1], *sizes)
        cl.enqueue_copy(self.queue, sums, self._buffers[-1])
        cl.enqueue_copy(self.queue, state, self._state)
        check_counts(int(state[0]))
        return sums
