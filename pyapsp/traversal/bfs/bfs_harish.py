"""bfs-harish: flags of vertices, two launches for each level."""

from __future__ import annotations

import numpy as np

from pyapsp.graph import Graph
from pyapsp.registry import register
from pyapsp.traversal.bfs.levels import Levels, LevelSearch

__all__ = ["BfsHarish"]


class _Levels(Levels):
    """Two launches for a level."""

    def find(self, level: int) -> None:
        """Expand and update."""
        sizes = np.int32(self.n), np.int32(level)
        arrays = *self.arcs, self.levels, self.marks, self.parents
        self.launch("bfs_harish_expand", self.n, *arrays, *sizes)
        self.launch("bfs_harish_update", self.n, self.marks, self.last, *sizes)


@register
class BfsHarish(LevelSearch):
    """A work-item for each vertex; flags mark vertices as frontier, updated or visited.

    Source: P. Harish and P. J. Narayanan, HiPC 2007.
    """

    id = "bfs-harish"
    summary = "flags of vertices; one kernel expands the frontier, one makes the next"
    source = "Harish and Narayanan 2007, doi:10.1007/978-3-540-77220-0_21"
    start = "bfs_harish_start"
    rows = 3
    searcher = _Levels

    def arcs(self, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the first arc of each vertex, and the heads."""
        return graph.indptr, graph.indices
