"""Predecessors that lead back to their source, also round cycles of weight zero.

The kernels carry the last vertex of the shortest path they know. When every weight is larger than
rounding, distances fall along these vertices, so they end at the source. With weights of zero or
below they may not: a tiled kernel finds the two vertices of a zero-weight cycle in different steps,
and each may have been found through the other. Then the rows concerned get a breadth-first tree
of the arcs that attain their distances instead.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from pyapsp.graph import Graph
from pyapsp.precision import infinity, tolerance
from pyapsp.result import NO_PREDECESSOR

__all__ = ["mend_predecessors"]


def mend_predecessors(graph: Graph, distances: np.ndarray, predecessors: np.ndarray) -> int:
    """Rebuild, in place, the rows whose predecessors do not lead to the source.

    Parameters
    ----------
    graph : Graph
        What was solved; without negative cycles.
    distances : (n, n) ndarray
        Its distances.
    predecessors : (n, n) int32 ndarray
        What the kernels carried.

    Returns
    -------
    int
        The number of rows rebuilt. Looking for them costs O(n^2 log h) for paths of h arcs, and
        is left out where all weights exceed rounding; a row costs O(m).
    """
    if graph.min_weight is None:
        return 0
    allowed = tolerance(graph, distances)
    finite = distances < infinity(distances.dtype)
    largest = float(np.abs(distances).max(where=finite, initial=0))
    slack = allowed.relative * largest + allowed.absolute
    if graph.min_weight > 2 * slack:
        return 0
    tails, heads, weights = graph.arcs()
    weights = weights.astype(distances.dtype)
    broken = _rows_with_cycles(predecessors)
    for row in broken:
        reached, distance = finite[row], distances[row]
        usable = reached[tails]  # then the head is reached, too
        with np.errstate(invalid="ignore", over="ignore"):
            tight = np.abs(distance[tails] + weights - distance[heads]) <= slack
        keep = usable & tight & (tails != heads)
        arcs = (np.ones(np.count_nonzero(keep), np.int8), (tails[keep], heads[keep]))
        predecessors[row] = breadth_first_order(csr_array(arcs, shape=(graph.n, graph.n)), row)[1]
    return len(broken)


def _rows_with_cycles(predecessors: np.ndarray) -> np.ndarray:
    """Return the rows in which following the predecessors never ends."""
    n = len(predecessors)
    broken = []
    each = max(2**22 // n, 1)
    for start in range(0, n, each):
        block = predecessors[start : start + each]
        # column n is the end of every chain; jumps double until all chains are there
        jump = np.full((len(block), n + 1), n, dtype=np.int32)
        jump[:, :n] = np.where(block == NO_PREDECESSOR, n, block)
        for _ in range(n.bit_length()):
            if (jump == n).all():
                break
            jump = np.take_along_axis(jump, jump, axis=1)
        broken.append(start + np.flatnonzero((jump != n).any(axis=1)))
    return np.concatenate(broken)
