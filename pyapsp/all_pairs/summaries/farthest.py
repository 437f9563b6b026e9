"""The diameter. Bounds from a few searches make searches from most vertices unnecessary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from pyapsp.all_pairs.sparse.totals import totals_of
from pyapsp.all_pairs.summaries.searches import Searches
from pyapsp.all_pairs.summaries.sharing import shared
from pyapsp.base.dry import is_dry
from pyapsp.base.errors import ParameterError
from pyapsp.device import DeviceLike
from pyapsp.graph import Graph, GraphLike, Weight, as_graph
from pyapsp.graph.names import by_number
from pyapsp.graph.validation import flag
from pyapsp.numbers.precision import infinity
from pyapsp.registry import Method

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["diameter"]

# The least number of pivots, whose distances give bounds; and the fraction of the open vertices
# that the last two pivots must settle. Otherwise the searches continue in batches of this many
# vertices, and only their eccentricities are kept.
_PIVOTS, _GAIN, _BATCH = 6, 0.1, 512


@shared
def diameter(
    graph: GraphLike,
    *,
    directed: bool = True,
    weight: Weight = ...,
    method: str | Method = "auto",
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    comm: MPI.Comm | None = None,
) -> int | float:
    """Return the largest finite distance between two vertices.

    It is exact if all weights are whole numbers that add up in int64; otherwise sums are rounded.

    If u and v reach each other, the eccentricity of u is at most d(u, v) plus the eccentricity of
    v. So a search from v gives a bound for each vertex of its strongly connected component. If the
    bound of a vertex is not above the largest distance found so far, no search from this vertex is
    needed. The next vertex to search from is either far from the earlier ones, which finds large
    distances, or in the middle between them, which gives small bounds.

    Source: F. W. Takes, W. A. Kosters, determining the diameter of small world networks, CIKM 2011;
    P. Crescenzi et al., on computing the diameter of real-world undirected graphs, TCS 514, 2013.

    Parameters
    ----------
    graph, directed, weight, method, device, memory_limit, comm
        As for `eccentricity`.

    Returns
    -------
    int or float
        0 if no vertex reaches another. Pairs without a path are ignored; NetworkX raises an error
        for them.

    Raises
    ------
    ParameterError
        If the graph has no vertices.
    PyApspError
        As `eccentricity`.
    """
    search = partial(Searches, method=method, device=device, memory_limit=memory_limit)
    directed = flag("directed", "diameter", directed)
    graph = by_number(as_graph(graph, directed, weight=weight, copy=False))
    if graph.n == 0:
        raise ParameterError("a graph without vertices has no diameter")
    if graph.is_symmetric:
        graph = graph.symmetrized()  # then the distances to a vertex equal those from it
    if is_dry():
        raise ParameterError("the memory of diameter is not known before it searches")
    single = search(graph, [0], rows=True)
    graph = single.graph
    back = search(graph.reversed(), [0], rows=True) if graph.directed else single
    bounds, several = _Bounds(graph, single.kind), None
    while (left := bounds.open()).size:
        if left.size > _BATCH and bounds.gains(left.size):
            pivot = np.array([bounds.pivot(left)])
            row = single.rows(pivot)
            bounds.add(pivot[0], row[0], row[0] if back is single else back.rows(pivot)[0])
            continue
        batch = bounds.likeliest(left, _BATCH * (1 if comm is None else comm.size))
        if several is None:
            several = search(graph, batch, depth=int(bounds.largest), comm=comm)
        for some, totals in several.totals(batch, None):
            bounds.settle(batch[some], totals.largest)
    largest: int | float = bounds.largest.item()
    return largest


class _Bounds:
    """Bounds of the eccentricities of the vertices that were not searched from.

    Attributes
    ----------
    largest : number
        The largest distance found.
    """

    def __init__(self, graph: Graph, kind: np.dtype) -> None:
        self._graph, self._degrees, self._kind = graph, np.diff(graph.indptr), kind
        self._upper = np.full(graph.n, self._longest(graph.n))
        self._upper[self._degrees == 0] = 0
        self._lower = np.zeros(graph.n, self._kind)
        self._searched = np.zeros(graph.n, bool)
        self.largest = self._kind.type(0)
        self._sizes: list[int] = []
        # in an undirected graph the first search finds its component, usually the largest
        self._part: np.ndarray | None = None
        if graph.directed:
            self._part = connected_components(graph.to_scipy(), connection="strong")[1]

    def _longest(self, vertices: ArrayLike) -> np.ndarray:
        """Return the largest length of a path through this number of vertices."""
        with np.errstate(over="ignore"):  # rounded up, and at most infinity of the type
            length = np.subtract(vertices, 1) * (float(self._graph.max_magnitude) * (1 + 2**-50))
        return np.minimum(length, float(infinity(self._kind))).astype(self._kind)

    def _divide(self, row: np.ndarray) -> None:
        """Find the components, given the distances from a vertex."""
        reached = row < infinity(row.dtype)
        self._part = np.where(reached, 0, -1)
        self._upper[reached] = self._longest(np.count_nonzero(reached))
        rest = np.flatnonzero(~reached & (self._degrees > 0))
        if rest.size:
            parts = connected_components(_within(self._graph, rest), directed=False)[1]
            self._part[rest] = parts + 1
            self._upper[rest] = self._longest(np.bincount(parts))[parts]

    def open(self) -> np.ndarray:
        """Return the vertices whose bound is above the largest distance found."""
        return np.flatnonzero((self._upper > self.largest) & ~self._searched)

    def likeliest(self, left: np.ndarray, count: int) -> np.ndarray:
        """Return some of these vertices, those with the largest bounds."""
        return left[np.argsort(-self._upper[left], kind="stable")[:count]]

    def gains(self, count: int) -> bool:
        """Return whether the last two pivots settled enough of the open vertices."""
        self._sizes.append(count)
        return len(self._sizes) <= _PIVOTS or count < (1 - _GAIN) * self._sizes[-3]

    def pivot(self, left: np.ndarray) -> int:
        """Return a far or a central vertex of the component with the most open vertices."""
        if self._part is None or not self._searched.any():
            return int(left[np.argmax(self._degrees[left])])
        part = np.argmax(np.bincount(self._part[left]))
        if len(self._sizes) % 2 == 0:
            mine = left[self._part[left] == part]
            farthest = mine[self._lower[mine] == self._lower[mine].max()]
            return int(farthest[np.argmax(self._upper[farthest])])
        mine = np.flatnonzero((self._part == part) & ~self._searched)
        return int(mine[np.argmin(self._lower[mine])])

    def add(self, v: int, away: np.ndarray, towards: np.ndarray) -> None:
        """Update the bounds by the distances from a vertex, and those to it."""
        if self._part is None:
            self._divide(away)
        assert self._part is not None
        farthest = self._kind.type(totals_of(away[None]).largest[0])
        same = self._part == self._part[v]
        mine = slice(None) if same.all() else np.flatnonzero(same)
        away, towards = away[mine].astype(self._kind), towards[mine].astype(self._kind)
        self._upper[mine] = np.minimum(self._upper[mine], towards + farthest)
        self._lower[mine] = np.maximum(self._lower[mine], np.maximum(towards, farthest - away))
        self.settle(np.array([v]), np.array([farthest]))

    def settle(self, vertices: np.ndarray, farthest: np.ndarray) -> None:
        """Update the bounds by the eccentricities of these vertices."""
        self._searched[vertices] = True
        self.largest = max(self.largest, self.largest.dtype.type(farthest.max()))


def _within(graph: Graph, vertices: np.ndarray) -> csr_array:
    """Return the arcs between these vertices, which have no arcs to others."""
    counts = np.diff(graph.indptr)[vertices]
    first = np.concatenate([[0], np.cumsum(counts)])
    arcs = np.repeat(graph.indptr[vertices] - first[:-1], counts) + np.arange(first[-1])
    heads = np.searchsorted(vertices, graph.indices[arcs])
    return csr_array((np.ones(heads.size, np.int8), heads, first), shape=(vertices.size,) * 2)
