"""bfs-frontier: a launch for each level, which reads only the vertices of the last one."""

from __future__ import annotations

import numpy as np

from pyapsp.device.kernels import Program
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters, register
from pyapsp.traversal.bfs.frontier_queues import Frontiers, FrontierSearch
from pyapsp.traversal.search import Lanes

__all__ = ["BfsFrontier"]


class _Frontiers(Frontiers):
    """`width` work-items for each vertex of the frontier."""

    def expand(self, level: int, size: int) -> None:
        """Enqueue one launch."""
        sizes = np.int32(self.n), np.int32(level), np.int32(size)
        self.launch("bfs_frontier", size * self.parameters.integer("width"), *self.arrays, *sizes)


@register
class BfsFrontier(Lanes[Program], FrontierSearch):
    """Two queues of vertices, the last level and the next.

    Source: F. Busato, thesis, University of Verona, 2018, algorithm 4.
    """

    id = "bfs-frontier"
    summary = "a launch for each level, over a queue of the vertices of the last one"
    source = "Busato 2018, section 7.1, algorithm 4, https://iris.univr.it/handle/11562/979445"
    searcher = _Frontiers

    def defines(
        self, graph: Graph, options: PathOptions, parameters: Parameters
    ) -> dict[str, str | int]:
        """Return the macros of the kernels."""
        return super().defines(graph, options, parameters) | {
            "PYAPSP_LANES": parameters.integer("width")
        }
