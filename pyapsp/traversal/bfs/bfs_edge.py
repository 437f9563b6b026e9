"""bfs-edge: a work-item for each arc, a launch for each level."""

from __future__ import annotations

import numpy as np

from pyapsp.device.kernels import Program, Stopwatch
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters, Plan, register
from pyapsp.traversal.bfs.levels import Levels, LevelSearch
from pyapsp.traversal.bfs.smallest_parents import SmallestParents

__all__ = ["BfsEdge"]


class _Levels(Levels):
    """A work-item for each arc."""

    def __init__(
        self, method: LevelSearch, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch
    ) -> None:
        super().__init__(method, plan, watch)
        self._m = plan.input.m

    def find(self, level: int) -> None:
        """Test all arcs."""
        arrays = *self.arcs, self.levels, self.marks, self.parents, self.last
        sizes = np.int32(self.n), np.int32(level), np.int64(self._m)
        self.launch("bfs_edge", self._m, *arrays, *sizes)

    def lower_parents(self, smallest: SmallestParents) -> None:
        """Enqueue the kernel of the layout of the arcs."""
        smallest.of_arcs(self.arcs, self.levels, self.parents, self._m)


@register
class BfsEdge(LevelSearch):
    """Breadth-first search that tests all arcs for every level.

    Source: Y. Jia et al., GPU Computing Gems, Jade Edition, 2011.
    """

    id = "bfs-edge"
    summary = "a launch for each level, a work-item for each arc"
    source = (
        "Jia et al. 2011, GPU Computing Gems, Jade Edition, chapter 2, "
        "https://experts.illinois.edu/en/publications/"
        "edge-v-node-parallelism-for-graph-centrality-metrics"
    )
    searcher = _Levels

    def arcs(self, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        """Return tails and heads."""
        tails, heads, _ = graph.arcs()
        return tails, heads

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer, with one more for tails."""
        _, *rest = super().buffers(graph, options, parameters)
        return [max(4 * graph.m, 4), *rest]
