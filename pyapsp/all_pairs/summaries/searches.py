"""A graph on the device, for searches of which only sums over rows are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast
from zlib import crc32

import numpy as np
from scipy.sparse.csgraph import reverse_cuthill_mckee

from pyapsp.all_pairs.sparse.session import Session
from pyapsp.all_pairs.sparse.source_blocks import SourceBlocks
from pyapsp.all_pairs.sparse.totals import Totals
from pyapsp.all_pairs.summaries.sharing import Team, team_of
from pyapsp.base.dry import needed
from pyapsp.base.errors import ParameterError
from pyapsp.base.progress import of_sources
from pyapsp.device import Device, DeviceLike
from pyapsp.graph import Graph, GraphLike, Vertices, Weight, as_graph
from pyapsp.graph.device_graph import devices_for
from pyapsp.graph.validation import flag
from pyapsp.numbers.bounds import distance_bound
from pyapsp.numbers.precision import holds_all, infinity
from pyapsp.paths import AllPairsOptions, vertices_or_all
from pyapsp.registry import Method, check_limits, method_of
from pyapsp.registry import method as find_method

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Searches"]

# Vertices are reordered so that neighbours are close if the mean number of arcs of a vertex is at
# most _ARCS, there are at least _SOURCES sources, and arcs become shorter by the factor _SHORTER.
_ARCS, _SOURCES, _SHORTER = 16, 1024, 2
# Sources whose bits fit in one word; vertices and arcs that a CPU processes in the time of the
# launches of a level; and the mean number of arcs from which a graph probably has few levels.
_ONE_WORD, _LEVEL, _SMALL_WORLD = 32, 500_000, 8


class Searches:
    """Searches from vertices of a graph, which stays on the device from the first one on.

    Parameters
    ----------
    graph, directed, weight, device, memory_limit
        As for `solve`.
    sources : (k,) sequence of int, optional
        The vertices to search from, or any sequence of the same length; by default all vertices.
    method : str or Method
        ``"auto"``, or a method derived from `SourceBlocks`.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of sources that `totals` has done.
    comm : Team, optional
        The processes that share the sources of `totals`. All of them have the same graph.
    rows : bool
        Whether the caller will use `rows`.
    depth : int, optional
        An estimate of the largest number of levels, if there is one.

    Attributes
    ----------
    graph : Graph
        The graph, made undirected if `directed` is False.
    sources : (k,) int64 ndarray
    infinity : int or float
        The distance of an unreachable vertex, in the type of the distances on the device.
    kind : numpy.dtype
        The type of sums: int64 if all weights are whole numbers, and are stored as integers or add
        up in int64 along every path; else float64.

    Raises
    ------
    PyApspError
        As `solve`.
    """

    def __init__(
        self,
        graph: GraphLike,
        sources: Vertices | None = None,
        directed: bool = True,
        weight: Weight = ...,
        method: str | Method = "auto",
        device: DeviceLike | Sequence[DeviceLike] = None,
        memory_limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
        comm: MPI.Comm | Team | None = None,
        *,
        rows: bool = False,
        depth: int | None = None,
    ) -> None:
        memory_limit = check_limits(memory_limit, progress, "a summary")
        directed = flag("directed", "a summary", directed)
        self.graph = graph = as_graph(graph, directed, weight=weight, copy=False)
        self.sources = vertices_or_all(graph, sources, "a summary")
        self.kind = _kind(graph)
        chosen = devices_for(graph, device, "a summary")
        dtype = _dtype_on_device(graph, self.kind, chosen)
        # if a distance may be too large for its type, whole rows are needed to check that
        totals = not rows and holds_all(graph, dtype)
        self._options = AllPairsOptions(
            chosen[0],
            dtype,
            memory_limit=memory_limit,
            sources=self.sources,
            totals=totals,
            helpers=tuple(chosen[1:]),
        )
        self.infinity = infinity(dtype)
        self._place: np.ndarray | None = None
        self._tell = of_sources(progress)
        self._method = _method(method, graph, self._options, depth)
        self._team = team = team_of(comm)
        if team is not None:
            team.same(sources=crc32(self.sources.tobytes()), rows=rows)
        # with `rows` the order of the vertices must stay
        if not rows and self.sources.size >= _SOURCES:
            order = None
            if self._method.id != "ms-bfs" and (team is None or team.rank == 0):
                order = _order(graph)
            if team is not None:
                # ranks exchange sums by places in the order; each may have another method
                order = team.share(order)
            if order is not None:
                graph, self._place = _permuted(graph, order), np.argsort(order)
        options = self._options if team is None else team.part(self._options, graph.n)
        self._plan = self._method.plan(graph, options) if graph.n else None

    @property
    def device_bytes(self) -> int:
        """The memory of the device that the searches need."""
        return 0 if self._plan is None else self._plan.device_bytes

    @cached_property
    def _session(self) -> Session:
        assert self._plan is not None
        return self._method.start(self._plan)

    def totals(
        self, vertices: np.ndarray, answer: int | None, width: float | None = None
    ) -> Iterator[tuple[np.ndarray, Totals]]:
        """Yield sums over the rows of vertices in blocks: places in `vertices`, and their sums.

        A dry run ends here, with the bytes of the answer that is made of them.
        """
        if self._plan is None or not vertices.size:
            return
        needed(self.device_bytes, answer)
        places = vertices if self._place is None else self._place[vertices]
        order = np.arange(places.size) if self._place is None else np.argsort(places)
        if self._team is not None:
            for some, totals in self._team.totals(self._session, places[order], width, self._tell):
                yield order[some], totals
            return
        for some, totals in self._session.totals(places[order], width, self._tell):
            yield order[some], totals

    def rows(self, vertices: np.ndarray) -> np.ndarray:
        """Return the distances from some vertices, a row for each."""
        rows = np.empty((vertices.size, self.graph.n), self._options.dtype)
        self._session.fill(vertices, rows, None)
        return rows


def _method(
    method: str | Method, graph: Graph, options: AllPairsOptions, depth: int | None
) -> SourceBlocks:
    """Return the method to search with."""
    if method == "auto":
        method = "johnson" if graph.has_negative else "near-far"
        if graph.is_unweighted and graph.m:
            method = _breadth_first(graph, options, depth)
    chosen = cast("SourceBlocks", method_of("all-pairs", method, "a summary"))
    if not chosen.by_source:
        name = method if isinstance(method, str) else method.id
        raise ParameterError.of("method", "a summary", "one that searches from sources", name)
    error = chosen.unmet(graph.facts, options)
    if error is not None:
        raise error
    return chosen


def _breadth_first(graph: Graph, options: AllPairsOptions, depth: int | None) -> str | Method:
    """Return the method for an unweighted graph."""
    count = options.count(graph.n)
    if options.device.traits.scalar_groups:
        alone = count * (graph.n + graph.m)
        few = count <= _ONE_WORD and graph.m < _SMALL_WORLD * graph.n
        if few if depth is None else alone < depth * _LEVEL:
            return find_method("apsp-bfs", sources=1 if count == 1 else 4)
    return "ms-bfs"


def _kind(graph: Graph) -> np.dtype:
    """Return the type of sums; see `Searches`."""
    # by this bound alone, because the type of an answer must not depend on earlier calls
    within = graph.dtype.kind == "i" or distance_bound(graph) < infinity(np.dtype(np.int64))
    return np.dtype(np.int64 if graph.is_integer and within else np.float64)


def _dtype_on_device(graph: Graph, kind: np.dtype, devices: Sequence[Device]) -> np.dtype:
    """Return the type of the distances on the devices: one that holds every path, if possible."""
    if kind.kind == "i":
        return np.dtype(np.int32 if holds_all(graph, np.dtype(np.int32)) else np.int64)
    doubles = all(each.capabilities.fp64 for each in devices)
    return np.dtype(np.float64 if doubles else np.float32)


def _order(graph: Graph) -> np.ndarray | None:
    """Return an order that puts neighbours close together; None if it helps little."""
    if graph.m == 0 or graph.m > _ARCS * graph.n:
        return None
    order = reverse_cuthill_mckee(graph.to_scipy(), symmetric_mode=False)
    place = np.argsort(order)
    tails, heads, _ = graph.arcs()
    length = np.abs(tails - heads).mean()
    shorter = np.abs(place[tails] - place[heads]).mean()
    return order if shorter * _SHORTER < length else None


def _permuted(graph: Graph, order: np.ndarray) -> Graph:
    """Return the graph whose vertex i is vertex ``order[i]``."""
    tails, heads, weights = graph.arcs()
    place = np.argsort(order)
    return Graph.from_arcs(graph.n, place[tails], place[heads], weights)
