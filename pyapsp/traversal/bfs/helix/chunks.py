"""Searches by chunks of the arcs of a frontier: ``cl/traversal/bfs/bfs_helix_device.cl``."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import Program, Stopwatch
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Plan
from pyapsp.traversal.bfs.helix.form import RING, SIZES
from pyapsp.traversal.bfs.helix.lists import Frontiers

__all__ = ["ChunkSearch"]


class ChunkSearch(Frontiers):
    """Three launches for each level."""

    def __init__(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> None:
        super().__init__(plan, watch)
        self._frontiers, self._begins, self._totals = self._more
        self._packed = self._parameters.word("prefix") == "packed"
        self._read_totals = np.empty(2 * RING, np.int32)
        self._sizes = np.int32(self.n), np.int32(max(self.m, 1))

    def _started(self) -> None:
        """Compute the sums of the first frontier."""
        self._offsets(0)

    def _look(self) -> np.ndarray:
        """Wait, and return the state, with the sizes of the frontiers from their totals."""
        state = super()._look()
        cl.enqueue_copy(self.queue, self._read_totals, self._totals)
        state[SIZES : SIZES + RING] = self._read_totals[::2]
        return state

    def _offsets(self, level: int) -> None:
        rows, _ = self._graph
        arrays = rows, self._lists, self._frontiers, self._totals, self._state
        self.launch("helix_offsets", 1, *arrays, np.int32(level), *self._sizes)

    def _expand(self, level: int, count: int | None) -> None:
        rows, heads = self._graph
        number, (capacity, room) = np.int32(level), self._sizes
        shared = self._frontiers, self._totals, self._begins
        most = self._most_groups
        self.launch("helix_partition", most, *shared, self._state, number, capacity)
        arrays = heads, *shared, self._arcs, self._state
        self.launch("helix_expand", most, *arrays, number, capacity, room)
        lists = self._arcs, self._frontiers, self._lists, self._totals, self._state
        self.launch("helix_filter", most, rows, *self._found, *lists, number, capacity, room)
        if not self._packed:
            self._offsets(level)

    def _again(self, level: int) -> None:
        """List the vertices of the level, which all have been found, and compute their sums."""
        self._reset(level)
        self._collect(level, 0)
        self._offsets(level)
