"""bfs-virtual-warp: several work-items for each vertex, a launch for each level."""

from __future__ import annotations

import numpy as np

from pyapsp.device.kernels import Program
from pyapsp.graph import Graph
from pyapsp.registry import register
from pyapsp.traversal.bfs.levels import LevelSearch
from pyapsp.traversal.search import Lanes

__all__ = ["BfsVirtualWarp"]


@register
class BfsVirtualWarp(Lanes[Program], LevelSearch):
    """Adjacent work-items, a virtual warp, share the arcs of a vertex.

    Source: S. Hong et al., PPoPP 2011.
    """

    id = "bfs-virtual-warp"
    summary = "a launch for each level, `width` work-items for each vertex"
    source = "Hong et al. 2011, doi:10.1145/1941553.1941590"

    def arcs(self, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the first arc of each vertex, and the heads."""
        return graph.indptr, graph.indices
