"""Repair of predecessors that form cycles of weight zero and do not lead to the source.

Predecessors are the last vertices of shortest paths, from the kernels or from the final distances.
If every weight is larger than the rounding error, distances decrease from vertex to predecessor, so
that predecessors lead to the source. With weights of zero or below they may form a cycle: a tiled
kernel updates the vertices of a zero-weight cycle in different steps, and each may become the
predecessor of the other. For such vertices new predecessors are found by a breadth-first search
from the vertices with right predecessors, over the tight arcs (d(u) + w = d(v)).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from pyapsp.graph import Graph
from pyapsp.numbers.precision import Tolerance, infinity, largest_finite, tolerance
from pyapsp.paths.result import NO_PREDECESSOR

__all__ = ["mend_predecessors", "mend_rows"]

# Weights above this multiple of the tolerance of a distance make every distance differ by more than
# rounding from that of its predecessor, so that predecessors form no cycle.
_CLEAR = 4
# Vertices of the rows that are searched for cycles at a time.
_BLOCK = 2**22


def mend_predecessors(graph: Graph, distances: np.ndarray, predecessors: np.ndarray) -> int:
    """Repair, in place, the rows whose predecessors do not lead to the source.

    Parameters
    ----------
    graph : Graph
        The graph that was solved; without negative cycles.
    distances : (n, n) ndarray
        Its distances.
    predecessors : (n, n) int32 ndarray
        The predecessors from the kernels.

    Returns
    -------
    int
        The number of rows repaired. The search for such rows takes O(n^2 log h) for paths of h
        arcs, and is omitted if all weights exceed the rounding error. A repair takes O(m) per row.
    """
    return mend_rows(graph, 0, distances, predecessors, tolerance(graph, distances))


def mend_rows(
    graph: Graph,
    first: int,
    distances: np.ndarray,
    predecessors: np.ndarray,
    allowed: Tolerance,
    suspects: np.ndarray | None = None,
) -> int:
    """Repair, in place, those of k rows whose predecessors do not lead to the source.

    Parameters
    ----------
    graph : Graph
        The graph that was solved; without negative cycles.
    first : int
        The source of the first row.
    distances : (k, n) ndarray
        The distances from the sources `first` to ``first + k - 1``.
    predecessors : (k, n) int32 ndarray
        The same rows.
    allowed : Tolerance
        The tolerance of all distances, from `tolerance` or `tolerance_for`.
    suspects : (k,) ndarray, optional
        Non-zero for the rows to check; None means all.

    Returns
    -------
    int
        As `mend_predecessors`.
    """
    if graph.min_weight is None:
        return 0
    if graph.min_weight > 0:
        largest = 0.0 if allowed.exact else largest_finite(distances)
        if graph.min_weight > _CLEAR * (allowed.relative * largest + allowed.absolute):
            return 0
    repaired = 0
    rows = np.arange(len(distances)) if suspects is None else np.flatnonzero(suspects)
    for row, lost in _rows_with_cycles(predecessors, rows):
        if not repaired:  # most answers need no arcs
            tails, heads, weights = graph.arcs()
            weights = weights.astype(distances.dtype)
        distance, before = distances[row], predecessors[row]
        # a lost vertex may use any tight arc, the others keep their predecessor
        usable = lost[heads] & (distance < infinity(distance.dtype))[tails]
        with np.errstate(over="ignore"):  # a sum that is infinite equals no distance
            sums = distance[tails[usable]] + weights[usable]
        usable[usable] = allowed.equal(sums, distance[heads[usable]])
        others = np.flatnonzero(~lost & (before != NO_PREDECESSOR))
        ends = (np.append(tails[usable], before[others]), np.append(heads[usable], others))
        ones = np.ones(ends[0].size, np.int8)
        sound = scipy.sparse.csr_array((ones, ends), shape=(graph.n, graph.n))
        predecessors[row] = scipy.sparse.csgraph.breadth_first_order(sound, first + row)[1]
        repaired += 1
    return repaired


def _rows_with_cycles(
    predecessors: np.ndarray, rows: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the rows with cycles of predecessors, and the vertices that lead into the cycles."""
    n = predecessors.shape[1]
    each = max(_BLOCK // max(n, 1), 1)
    for start in range(0, len(rows), each):
        some = rows[start : start + each]
        block = predecessors[some]
        # column n is the end of every chain; jumps double until all chains have ended
        jump = np.full((len(block), n + 1), n, dtype=np.int32)
        jump[:, :n] = np.where(block == NO_PREDECESSOR, n, block)
        for _ in range(n.bit_length()):
            if (jump == n).all():
                break
            jump = np.take_along_axis(jump, jump, axis=1)
        lost = jump[:, :n] != n
        for row in np.flatnonzero(lost.any(axis=1)):
            yield int(some[row]), lost[row]
