"""The tree of shortest paths, computed from the distances. Weights must not be negative."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.arithmetic import arithmetic_defines
from pyapsp.graph import Graph
from pyapsp.kernels import Program, Stopwatch, build, upload
from pyapsp.paths import PathOptions
from pyapsp.traversal.search import Launcher

__all__ = ["Tree"]

# Work-items of a group, if the device supports it.
_GROUP = 64
# Values of *state of the kernels: see cl/sparse/source_blocks.cl.
_WAITING, _ADVANCED = 1, 2


class Tree:
    """Finds for each vertex v a predecessor u with ``d(v) = d(u) + w(u, v)``.

    It uses the kernels for blocks of sources, with a block of one. A vertex takes a predecessor
    that is nearer to the source, if there is one. Otherwise the arcs to v have weight zero (or are
    lost in rounding). These vertices are added level by level, so that predecessors form no cycle.

    Parameters
    ----------
    graph : Graph
    options : PathOptions
    program : Program
        The program that `build` returns.
    queue : pyopencl.CommandQueue
    arcs : sequence of pyopencl.Buffer
        The leaving arcs of each vertex. In an undirected graph they are also the entering arcs.
    watch : Stopwatch
        Measures transfers, as phase "transfer".
    """

    def __init__(
        self,
        graph: Graph,
        options: PathOptions,
        program: Program,
        queue: cl.CommandQueue,
        arcs: list[cl.Buffer],
        watch: Stopwatch,
    ) -> None:
        self._queue, self._watch = queue, watch
        self._n, self._entering = graph.n, arcs
        group = min(_GROUP, options.device.capabilities.max_work_group_size)
        self._launch = Launcher(queue, program, group)
        self._falls = options.dtype.kind in "iu" and (graph.min_weight or 0) > 0
        if graph.directed:
            entering = graph.reversed()
            weights = entering.weights.astype(options.dtype, copy=False)
            arrays = entering.indptr, entering.indices, weights
            self._entering = [upload(queue, each, watch) for each in arrays]
        flags = cl.mem_flags.READ_WRITE
        self._before, self._settled, self._source, self._state = (
            cl.Buffer(queue.context, flags, size) for size in _sizes(graph.n)
        )

    @staticmethod
    def build(options: PathOptions) -> Program:
        """Build the kernels."""
        defines = arithmetic_defines(options.device, options.dtype)
        defines |= {"PYAPSP_GROUP_X": 1, "PYAPSP_GROUP_Y": 1}
        return build(options.device, "sparse/source_blocks.cl", defines)

    @staticmethod
    def buffers(graph: Graph, options: PathOptions) -> list[int]:
        """Return the bytes of each buffer."""
        item = options.dtype.itemsize
        arcs = [8 * (graph.n + 1), 4 * graph.m, item * graph.m] if graph.directed else []
        return [*arcs, *_sizes(graph.n), item * graph.n]

    def find(self, source: int, distances: np.ndarray, predecessors: np.ndarray) -> None:
        """Find the predecessors of a row.

        Parameters
        ----------
        source : int
        distances : (n,) ndarray
            The fixed point of ``d(v) = min(d(u) + w(u, v))`` in the arithmetic of their type.
            Distances beyond a cutoff are infinity.
        predecessors : (n,) int32 ndarray
            Array for the predecessors.
        """
        costs = upload(self._queue, distances, self._watch)
        cl.enqueue_copy(self._queue, self._source, np.array([source], np.int32))
        sizes = np.int32(self._n), np.int32(1)
        found = self._before, self._settled, self._state, *sizes
        # if weights are positive and sums exact, every vertex has a nearer predecessor
        levels = not self._falls
        self._clear()
        self._launch(
            "block_fall", self._n, *self._entering, self._source, costs, *found, np.int32(levels)
        )
        waiting = levels and self._read_state() & _WAITING
        while waiting:
            self._clear()
            self._launch("block_level", self._n, *self._entering, costs, *found[:2], *sizes)
            self._launch("block_settle", self._n, *found)
            state = self._read_state()
            assert state & _ADVANCED, "distances that no tight path attains"
            waiting = state & _WAITING
        with self._watch.by_the_host("transfer"):
            cl.enqueue_copy(self._queue, predecessors, self._before)

    def _clear(self) -> None:
        cl.enqueue_copy(self._queue, self._state, np.zeros(1, np.int32))

    def _read_state(self) -> int:
        state = np.empty(1, np.int32)
        cl.enqueue_copy(self._queue, state, self._state)
        return int(state[0])


def _sizes(n: int) -> list[int]:
    """Return the bytes of each buffer: predecessors, settled flags, source and state."""
    return [4 * n, 4 * n, 4, 4]
