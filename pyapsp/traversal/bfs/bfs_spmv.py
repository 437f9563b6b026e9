"""bfs-spmv: each level is the product of the adjacency matrix with the vector of the last level."""

from __future__ import annotations

import numpy as np

from pyapsp.device.kernels import Program
from pyapsp.graph import Graph
from pyapsp.registry import register
from pyapsp.traversal.bfs.levels import Levels, LevelSearch
from pyapsp.traversal.bfs.smallest_parents import SmallestParents
from pyapsp.traversal.search import Lanes

__all__ = ["BfsSpmv"]


class _Levels(Levels):
    """The arcs are those that enter each vertex."""

    def lower_parents(self, smallest: SmallestParents) -> None:
        """Enqueue the kernel of the layout of the arcs."""
        smallest.of_entering(self.arcs, self.levels, self.parents, self.n)


@register
class BfsSpmv(Lanes[Program], LevelSearch):
    """A sparse matrix times a vector for each level, over (or, and).

    Source: Y. Deng, B. D. Wang and S. Mu, ICCAD 2009.
    """

    id = "bfs-spmv"
    summary = "each level a product of the transposed matrix of arcs with the last level"
    source = (
        "Deng, Wang and Mu 2009, ICCAD, pages 539-546; "
        "Busato 2018, section 4.3, https://iris.univr.it/handle/11562/979445"
    )
    searcher = _Levels

    def arcs(self, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the first entering arc of each vertex, and the tails."""
        entering = graph.reversed()
        return entering.indptr, entering.indices
