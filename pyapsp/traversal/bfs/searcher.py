"""The base of the searchers whose kernels store some parent of each vertex."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.registry import Hashed, Plan
from pyapsp.traversal.bfs.smallest_parents import SmallestParents
from pyapsp.traversal.search import StoredParents

__all__ = ["BfsSearcher"]

_OFFSETS: np.dtype = np.dtype(np.int64)


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
        self, source: int, distances: HostOrDevice, predecessors: HostOrDevice
    ) -> None:
        """Make each parent the smallest, and download the parents."""
        assert self._smallest is not None
        self.lower_parents(self._smallest)
        super().read_predecessors(source, distances, predecessors)
