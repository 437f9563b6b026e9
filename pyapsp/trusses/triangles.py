"""`triangles`: the number of triangles of a graph, in all and at each vertex."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.errors import ParameterError
from pyapsp.device import DeviceLike
from pyapsp.graph import Graph, GraphLike, as_structure
from pyapsp.graph.device_graph import device_for
from pyapsp.graph.frames import Tabular
from pyapsp.graph.validation import flag
from pyapsp.paths.result import REASONED, RECORDED, Explained, Reasoned, Recorded
from pyapsp.registry import Limits, Method, Request, request, runs
from pyapsp.trusses.counts import TriangleOptions
from pyapsp.trusses.simple import loops, undirected

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Triangles", "requested", "triangles"]

_OWNER = "triangles"


@dataclass(frozen=True, eq=False, repr=False)
class Triangles(Explained, Tabular):
    """The triangles of a graph: sets of three vertices that are all neighbours.

    Attributes
    ----------
    total : int
        The number of triangles.
    counts : (n,) int64 ndarray or None
        The triangles that each vertex is in; `per_vertex` returns them.
    graph : Graph
        The undirected graph, which may have self-loops.
    stats : dict
        The record of the run: method, device, times in seconds, edges per second, bytes.
    reasons : tuple of str
        What was chosen and why; `explain` returns them as text.
    """

    total: int
    counts: np.ndarray | None
    graph: Graph
    stats: Recorded = RECORDED
    reasons: Reasoned = REASONED

    def _facts(self) -> dict[str, object]:
        return {"total": self.total, "n": self.graph.n, **self._run()}

    @property
    def per_vertex(self) -> np.ndarray:
        """The triangles that each vertex is in, (n,) int64.

        Raises
        ------
        ParameterError
            If only the total was asked for.
        """
        if self.counts is None:
            raise ParameterError("triangles(per_vertex=False) counted the total only")
        return self.counts

    @cached_property
    def degrees(self) -> np.ndarray:
        """The neighbours of each vertex, without itself, (n,) int64."""
        degrees: np.ndarray = np.diff(self.graph.indptr) - loops(self.graph)
        return degrees

    @cached_property
    def clustering(self) -> np.ndarray:
        """The clustering coefficient of each vertex, (n,) float64.

        It is the number of edges between the neighbours of a vertex, divided by the number of pairs
        of neighbours.

        It is 0 for vertices with fewer than two neighbours. Source: D. J. Watts, S. H. Strogatz,
        Nature 393, 1998, doi:10.1038/30918.
        """
        pairs = self.degrees * (self.degrees - 1)
        part: np.ndarray = np.zeros(pairs.size)
        np.divide(2 * self.per_vertex, pairs, out=part, where=pairs > 0)
        return part

    @property
    def average_clustering(self) -> float:
        """The mean of `clustering`; 0 for a graph without vertices."""
        return float(self.clustering.mean()) if self.graph.n else 0.0

    @property
    def transitivity(self) -> float:
        """The part of the paths of two edges that is closed by a third edge; 0 without paths."""
        pairs = int((self.degrees * (self.degrees - 1)).sum())
        return 6 * self.total / pairs if pairs else 0.0

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return the columns ``vertex``, by name, ``triangles`` and ``clustering``, each (n,)."""
        names = np.arange(self.graph.n) if self.graph.labels is None else self.graph.labels
        return {"vertex": names, "triangles": self.per_vertex, "clustering": self.clustering}


def triangles(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    per_vertex: bool = True,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Triangles:
    """Count the triangles of a graph.

    Errors are those of `solve`.

    Parameters
    ----------
    graph : Graph or graph-like
        Anything that `solve` takes; n vertices. Directions and weights are ignored: two vertices
        are neighbours if there is an arc between them. Self-loops are ignored.
    method : str or Method
        ``"auto"``, a method id (see ``pyapsp.methods("triangles")``), or
        ``pyapsp.method(id, group=64, ...)``.
    per_vertex : bool
        False counts only the total, which is faster.
    device, memory_limit
        As for `solve`, but for one device.
    progress : callable, optional
        Called as ``progress(done, total)`` at the end of the run.

    Returns
    -------
    Triangles

    Examples
    --------
    >>> import numpy as np, pyapsp
    >>> arcs = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> found = pyapsp.triangles(arcs)
    >>> found.total, found.per_vertex, found.transitivity
    (1, array([1, 1, 1, 0]), 0.6)
    """
    started = time.perf_counter()
    call = requested(
        graph,
        method,
        per_vertex=per_vertex,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
    )
    solved = runs.solve(call, started)
    counts = solved.answer
    return Triangles(
        counts.total, counts.per_vertex, call.input, solved.record_of(graph), solved.reasons
    )


def requested(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    dtype: DTypeLike | None = None,
    per_vertex: bool = True,
    device: DeviceLike = None,
    **limits: Unpack[Limits],
) -> Request:
    """Check the arguments of `triangles`; `dtype` is the type of the counts, int64."""
    if dtype is not None and np.dtype(dtype) != np.int64:
        raise ParameterError.of("dtype", _OWNER, "int64", dtype)
    per_vertex = flag("per_vertex", _OWNER, per_vertex)
    options = partial(TriangleOptions, per_vertex=per_vertex)
    given, counts = as_structure(graph), np.dtype(np.int64)
    there = device_for(given, device)
    call = request(_OWNER, given, options, counts, method, device=there, **limits)
    return replace(call, input=undirected(call.input, call.options))
