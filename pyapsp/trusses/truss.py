"""`k_truss` and `truss_decomposition`: subgraphs in which every edge is in many triangles."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array

from pyapsp.device import DeviceLike
from pyapsp.graph import Graph, GraphLike, as_structure
from pyapsp.graph.device_graph import device_for
from pyapsp.graph.frames import Tabular
from pyapsp.graph.rows import starts_among
from pyapsp.graph.validation import integer
from pyapsp.numbers.precision import only_int32
from pyapsp.paths.result import REASONED, RECORDED, Explained, Reasoned, Recorded
from pyapsp.registry import Limits, Method, Request, request, runs
from pyapsp.trusses.decomposition import TrussOptions
from pyapsp.trusses.simple import edges, undirected

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Trusses", "k_truss", "requested", "truss_decomposition"]

_TRUSS, _DECOMPOSITION = "k_truss", "truss_decomposition"


@dataclass(frozen=True, eq=False, repr=False)
class Trusses(Explained, Tabular):
    """The trussness of each edge of a graph.

    Attributes
    ----------
    graph : Graph
        The undirected graph, which may have self-loops.
    tails, heads : (edges,) int32 ndarray
        The edges (u, v) with u < v, in the order of u and then v.
    trussness : (edges,) int32 ndarray
        The largest k such that the edge is in the k-truss; at least 2.
    stats : dict
        The record of the run: method, device, times in seconds, edges per second, bytes.
    reasons : tuple of str
        What was chosen and why; `explain` returns them as text.
    """

    graph: Graph
    tails: np.ndarray
    heads: np.ndarray
    trussness: np.ndarray
    stats: Recorded = RECORDED
    reasons: Reasoned = REASONED

    def _facts(self) -> dict[str, object]:
        about = {"k_max": self.k_max, "n": self.graph.n, "edges": self.trussness.size}
        return about | self._run()

    @property
    def k_max(self) -> int:
        """The largest k with a k-truss that is not empty; 0 for a graph without edges."""
        return int(self.trussness.max(initial=0))

    def truss(self, k: int) -> Graph:
        """Return the k-truss, as `k_truss` does.

        Raises
        ------
        ParameterError
            If `k` is no integer of at least 2.
        """
        return _subgraph(self.graph, self.trussness >= _checked(k, "Trusses.truss"))

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return the columns ``source``, ``target``, by name, and ``trussness``, each (edges,)."""
        names = self.graph.labels
        ends = (self.tails, self.heads) if names is None else (names[self.tails], names[self.heads])
        return {"source": ends[0], "target": ends[1], "trussness": self.trussness}


def k_truss(
    graph: GraphLike,
    k: int,
    method: str | Method = "auto",
    *,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Graph:
    """Find the k-truss: the largest subgraph in which each edge is in k - 2 triangles or more.

    Errors are those of `solve`.

    Parameters
    ----------
    graph : Graph or graph-like
        Anything that `solve` takes; n vertices. Directions are ignored: there is an edge between
        two vertices if there is an arc between them. It has the smaller weight of the two arcs.
        Self-loops are ignored.
    k : int
        At least 2. The 2-truss has all edges.
    method : str or Method
        ``"auto"``, a method id (see ``pyapsp.methods("truss")``), or
        ``pyapsp.method(id, group=64, ...)``.
    device, memory_limit, progress
        As for `triangles`.

    Returns
    -------
    Graph
        Undirected, with the same n vertices and labels, and the edges of the truss.

    Examples
    --------
    >>> import numpy as np, pyapsp
    >>> arcs = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> pyapsp.k_truss(arcs, 3).m // 2
    3
    """
    k = _checked(k, _TRUSS)
    call = requested(
        graph, method, k=k, device=device, memory_limit=memory_limit, progress=progress
    )
    _, answer = runs.run(call)
    both_ways: Graph = call.input
    return both_ways.with_checked_arcs(answer.values > 0, answer.starts)


def truss_decomposition(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trusses:
    """Find the trussness of each edge: the largest k such that it is in the k-truss.

    Parameters and errors are those of `k_truss`.

    Returns
    -------
    Trusses

    Examples
    --------
    >>> import numpy as np, pyapsp
    >>> arcs = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> found = pyapsp.truss_decomposition(arcs)
    >>> found.trussness, found.k_max
    (array([3, 3, 3, 2], dtype=int32), 3)
    """
    started = time.perf_counter()
    call = requested(graph, method, device=device, memory_limit=memory_limit, progress=progress)
    solved, both_ways = runs.solve(call, started), call.input
    chosen, (tails, heads, _) = edges(both_ways), both_ways.arcs()
    ends, values = (tails[chosen], heads[chosen]), solved.answer.values[chosen]
    return Trusses(both_ways, *ends, values, solved.record_of(graph), solved.reasons)


def requested(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    dtype: DTypeLike | None = None,
    k: int | None = None,
    device: DeviceLike = None,
    **limits: Unpack[Limits],
) -> Request:
    """Check the arguments of `k_truss`, or with ``k=None`` of `truss_decomposition`.

    `dtype` is the type of the trussness, int32.
    """
    owner = _DECOMPOSITION if k is None else _TRUSS
    trussness = only_int32(dtype, owner)
    given = as_structure(graph)
    # a k-truss has at least k vertices
    most = None if k is None else min(k, given.n + 1)
    options = partial(TrussOptions, k=most)
    there = device_for(given, device)
    call = request("truss", given, options, trussness, method, owner=owner, device=there, **limits)
    return replace(call, input=undirected(given, call.options))


def _checked(k: int, owner: str) -> int:
    return integer("k", owner, k, 2)


def _subgraph(graph: Graph, in_truss: np.ndarray) -> Graph:
    """Return the graph with these of its edges."""
    tails, heads, _ = graph.arcs()
    upper, n = tails < heads, graph.n
    starts = starts_among(upper, graph.indptr)
    matrix = csr_array((in_truss, heads[upper], starts), shape=(n, n))
    arcs = upper.copy()
    arcs[upper] = in_truss
    # the reverses of the edges, in the order of their rows, are the columns of the matrix
    arcs[tails > heads] = matrix.tocsc().data
    return graph.with_checked_arcs(arcs)
