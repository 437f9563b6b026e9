"""The rows of few sources up to a cutoff, for callers that need no record.

Such a search takes less time than the steps of `solve` around it.
"""

from __future__ import annotations

import numpy as np

from pyapsp.all_pairs.choice import suits_host_search
from pyapsp.all_pairs.sparse.dijkstra_cpu import Threads
from pyapsp.base.dry import is_dry
from pyapsp.base.host import cores
from pyapsp.base.reuse import empty
from pyapsp.device import choose
from pyapsp.graph import Graph
from pyapsp.graph.compressed import SearchRows
from pyapsp.paths import AllPairsOptions

__all__ = ["near_rows"]


def near_rows(
    graph: Graph | SearchRows, sources: np.ndarray, cutoff: float, *, predecessors: bool
) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Return the distances of `solve` in float64, and predecessors, if it takes ``dijkstra-cpu``.

    Parameters
    ----------
    graph : Graph or SearchRows
    sources : (k,) int64 ndarray
    cutoff : float
    predecessors : bool

    Returns
    -------
    distances, predecessors : (k, n) ndarray
        Or None, where `solve` searches otherwise.
    """
    dtype, shape = np.dtype(np.float64), (sources.size, graph.n)
    options = AllPairsOptions(choose(), dtype, predecessors, sources=sources, cutoff=cutoff)
    options = options.computed_in(dtype)
    if is_dry() or not suits_host_search(graph, options):
        return None
    distances = empty(shape, dtype)
    before = empty(shape, np.dtype(np.int32)) if predecessors else None
    Threads(graph, options, cores()).solve_block(sources, distances, before)
    return distances, before
