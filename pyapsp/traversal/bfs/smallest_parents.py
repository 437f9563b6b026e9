"""The rule of parents: of all that a vertex can have, the one with the smallest number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import Stopwatch, build
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import C_TYPES
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathOptions
from pyapsp.registry import Plan
from pyapsp.traversal.kernels import Hashed, Launcher
from pyapsp.traversal.search import StoredParents

__all__ = ["BfsSearcher", "SmallestParents", "search_defines"]

_OFFSETS: np.dtype = np.dtype(np.int64)

# Work-items of a group, if the device supports it, and of a vertex on GPUs.
_GROUP, _LANES = 64, 8


def search_defines(options: PathOptions) -> dict[str, str | int]:
    """Return the macros of kernels that find levels."""
    return {
        "PYAPSP_PREDECESSORS": int(options.predecessors),
        "PYAPSP_INFINITY": int(infinity(options.dtype)),
    }


class SmallestParents:
    """Replaces the parents of a search by the smallest ones, with the arcs on the device.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    options : PathOptions
    offsets : numpy.dtype
        Type of the offsets of rows: int32 or int64.
    """

    def __init__(
        self, queue: cl.CommandQueue, options: PathOptions, offsets: np.dtype = _OFFSETS
    ) -> None:
        device = options.device
        group = min(_GROUP, device.capabilities.max_work_group_size)
        self._lanes = 1 if device.traits.scalar_groups else min(_LANES, group)
        defines: dict[str, str | int] = {
            "PYAPSP_GROUP": group,
            "PYAPSP_LANES": self._lanes,
            "PYAPSP_OFFSET": C_TYPES[offsets.name],
            **search_defines(options),
        }
        program = build(device, "traversal/bfs/smallest_parents.cl", defines)
        self._launch = Launcher(queue, program, group)

    def of_rows(
        self,
        arcs: Sequence[cl.Buffer],
        levels: cl.Buffer,
        parents: cl.Buffer,
        rows: int,
        start: int = 0,
        stride: int = 1,
    ) -> None:
        """Look at the arcs that leave the vertices from `start` on: offsets and heads."""
        numbers = np.int32(start), np.int32(rows), np.int32(stride)
        self._launch("parents_of_rows", rows * self._lanes, *arcs, levels, parents, *numbers)

    def of_arcs(
        self, arcs: Sequence[cl.Buffer], levels: cl.Buffer, parents: cl.Buffer, m: int
    ) -> None:
        """Look at all arcs: tails and heads."""
        self._launch("parents_of_arcs", m, *arcs, levels, parents, np.int64(m))

    def of_entering(
        self, arcs: Sequence[cl.Buffer], levels: cl.Buffer, parents: cl.Buffer, n: int
    ) -> None:
        """Look at the arcs that enter each vertex: offsets and tails."""
        self._launch("parents_of_entering", n, *arcs, levels, parents, np.int32(n))


class BfsSearcher(StoredParents):
    """Base of the searchers whose kernels store some parent of each vertex.

    Parameters
    ----------
    plan, watch
        As for `StoredParents`.
    offsets : numpy.dtype
        As for `SmallestParents`.
    """

    def __init__(
        self,
        plan: Plan[Graph, PathOptions, Hashed],
        watch: Stopwatch,
        offsets: np.dtype = _OFFSETS,
    ) -> None:
        super().__init__(plan, watch)
        options = plan.options
        self._smallest = (
            SmallestParents(self.queue, options, offsets) if options.predecessors else None
        )

    @abstractmethod
    def lower_parents(self, smallest: SmallestParents) -> None:
        """Enqueue the kernels of the layout of the arcs."""

    def read_predecessors(
        self, source: int, distances: np.ndarray, predecessors: np.ndarray
    ) -> None:
        """Make each parent the smallest, and download the parents."""
        assert self._smallest is not None
        self.lower_parents(self._smallest)
        super().read_predecessors(source, distances, predecessors)
