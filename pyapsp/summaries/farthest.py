"""The diameter, by bounds that a few searches give: rarely are all vertices searched from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from pyapsp.errors import ParameterError
from pyapsp.graph import Graph, as_graph
from pyapsp.precision import infinity
from pyapsp.registry import Method
from pyapsp.sparse.totals import totals_of
from pyapsp.summaries.searches import Searches

__all__ = ["diameter"]

# Searches whose distances bound the others, at least; and the part of the vertices that two of them
# must settle, or else vertices are searched from in batches, and only eccentricities kept.
_PIVOTS, _GAIN, _BATCH = 6, 0.1, 512


def diameter(
    graph: Any,
    *,
    directed: bool = True,
    method: str | Method = "auto",
    device: Any = None,
    memory_limit: int | None = None,
) -> int | float:
    """Return the largest distance between two vertices that are connected; exact.

    Where u and v reach each other, no vertex is farther from u than d(u, v) plus the eccentricity
    of v. A search from v so bounds the eccentricities of its strongly connected component, and
    those whose bound is not above the largest distance found need not be searched from. Vertices
    far from those before are searched from to find large distances, vertices in the middle of them
    for small bounds. Exact but for the rounding of sums, where weights are not whole numbers.

    Source: F. W. Takes, W. A. Kosters, determining the diameter of small world networks, CIKM 2011;
    P. Crescenzi et al., on computing the diameter of real-world undirected graphs, TCS 514, 2013.

    Parameters
    ----------
    graph, directed, method, device, memory_limit
        As for `eccentricity`.

    Returns
    -------
    int or float
        0 where no vertex reaches another.

    Raises
    ------
    ParameterError
        If the graph has no vertices.
    PyApspError
        As `eccentricity`.
    """
    options: Any = {"method": method, "device": device, "memory_limit": memory_limit}
    graph = as_graph(graph)
    if graph.n == 0:
        raise ParameterError.of("graph", "diameter", "at least one vertex", "a graph without")
    single = Searches(graph, [0], directed=directed, rows=True, **options)
    graph = single.graph
    # distances to a vertex, not from it
    back = Searches(graph.reversed(), [0], rows=True, **options) if graph.directed else single
    bounds, several = _Bounds(graph), None
    while (left := bounds.open()).size:
        if left.size > _BATCH and bounds.gains(left.size):
            pivot = np.array([bounds.pivot(left)])
            row = single.rows(pivot)
            bounds.add(pivot[0], row[0], row[0] if back is single else back.rows(pivot)[0])
            continue
        if several is None:
            several = Searches(graph, left[:_BATCH], **options)
        for some, totals in several.totals(left[:_BATCH]):
            bounds.settle(left[some], totals.largest)
    found: int | float = bounds.largest.item()
    return found


class _Bounds:
    """What is known of the eccentricities: bounds of those not searched from.

    Attributes
    ----------
    largest : number
        The largest distance found.
    """

    def __init__(self, graph: Graph) -> None:
        weights = graph.to_scipy()
        self._part = connected_components(weights, connection="strong")[1]
        sizes = np.bincount(self._part)
        kind = np.dtype(np.int64 if graph.is_integer else np.float64)
        # paths may leave a component only where arcs have a direction
        longest = graph.n - 1 if graph.directed else sizes[self._part] - 1
        with np.errstate(over="ignore"):  # rounded up, and no larger than a distance can be
            bound = longest * (float(graph.max_magnitude) * (1 + 2**-50))
        bound = np.minimum(bound, float(infinity(kind)))
        self._upper = np.full(graph.n, bound).astype(kind)
        degrees = np.diff(graph.indptr)
        self._upper[degrees == 0] = 0
        self._lower = np.zeros(graph.n, kind)
        self._degrees, self._searched = degrees, np.zeros(graph.n, bool)
        self.largest = kind.type(0)
        self._sizes: list[int] = []

    def open(self) -> np.ndarray:
        """Return the vertices that may be farther from one than any found, the likeliest first."""
        left = np.flatnonzero(~self._searched & (self._upper > self.largest))
        return left[np.argsort(-self._upper[left], kind="stable")]

    def gains(self, count: int) -> bool:
        """Return whether the last two pivots settled enough of the vertices that are open."""
        self._sizes.append(count)
        return len(self._sizes) <= _PIVOTS or count < (1 - _GAIN) * self._sizes[-3]

    def pivot(self, left: np.ndarray) -> int:
        """Return a vertex of the component with most open ones: far out, or in the middle."""
        part = np.argmax(np.bincount(self._part[left]))
        if not self._searched.any():
            return int(left[np.argmax(self._degrees[left])])
        if len(self._sizes) % 2 == 0:
            mine = left[self._part[left] == part]
            return int(mine[np.argmax(self._lower[mine])])
        mine = np.flatnonzero((self._part == part) & ~self._searched)
        return int(mine[np.argmin(self._lower[mine])])

    def add(self, v: int, away: np.ndarray, towards: np.ndarray) -> None:
        """Take in the distances from a vertex, and those to it."""
        part = np.flatnonzero(self._part == self._part[v])
        farthest = self.largest.dtype.type(totals_of(away[None]).largest[0])
        away, towards = away[part].astype(farthest.dtype), towards[part].astype(farthest.dtype)
        self._upper[part] = np.minimum(self._upper[part], towards + farthest)
        self._lower[part] = np.maximum(self._lower[part], np.maximum(towards, farthest - away))
        self.settle(np.array([v]), np.array([farthest]))

    def settle(self, vertices: np.ndarray, farthest: np.ndarray) -> None:
        """Take in eccentricities."""
        self._searched[vertices] = True
        self.largest = max(self.largest, self.largest.dtype.type(farthest.max()))
