"""`pairs` and `distances`: shortest paths between vertices that are named at both ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import pyopencl as cl
from numpy.typing import DTypeLike

from pyapsp.base.errors import ParameterError
from pyapsp.base.host import shares_memory
from pyapsp.base.progress import of_sources
from pyapsp.base.shown import Shown
from pyapsp.device import DeviceLike
from pyapsp.device.kernels import upload
from pyapsp.graph import Graph, GraphLike, Vertices, Weight
from pyapsp.graph.frames import Tabular
from pyapsp.graph.rows import places_of
from pyapsp.graph.validation import flag, integer, output, vertex
from pyapsp.numbers.checks import too_large, weight_lost
from pyapsp.numbers.precision import infinity, is_exact
from pyapsp.paths import PathOptions, vertices_of, vertices_or_all
from pyapsp.queries.along import Along, second_weights, sums_along
from pyapsp.queries.workers import LOST, STATE, USED, Workers, asked, longer, values_of

__all__ = ["Found", "PairPaths", "Pairs", "distances", "ends_of", "pairs", "searched"]

# Distances of a launch and values of its paths, at least those of one search or path; and searches
# of the first launch for a work-item.
_DISTANCES, _VALUES, _FIRST = 2**22, 2**20, 4
_FILE = "queries/targets.cl"

_Path = TypeVar("_Path")


@dataclass(frozen=True, eq=False, repr=False)
class _PairResult(Shown, Tabular):
    """Base of results for pairs of vertices.

    Attributes
    ----------
    sources, targets : (p,) int64 ndarray
        The vertices of each pair.
    labels : (n,) ndarray or None
        The labels of the vertices.
    """

    sources: np.ndarray
    targets: np.ndarray
    labels: np.ndarray | None

    def _named(self, numbers: np.ndarray) -> np.ndarray:
        names: np.ndarray = numbers if self.labels is None else self.labels[numbers]
        return names


@dataclass(frozen=True, eq=False, repr=False)
class PairPaths(_PairResult, Generic[_Path]):
    """Base of results with several paths of each pair, which are in lists."""

    _found: list[list[_Path]]

    def _facts(self) -> dict[str, object]:
        return {"pairs": self.sources.size, "paths": sum(map(len, self._found))}

    def _of(self, pair: int, name: str) -> list[_Path]:
        owner = f"{type(self).__name__}.{name}"
        return self._found[vertex("pair", owner, pair, self.sources.size)]


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(_PairResult):
    """The result of `pairs`, with the ``sources``, ``targets`` and ``labels`` of the pairs.

    Attributes
    ----------
    distances : (p,) ndarray
        The distance of each pair, `infinity` without a path.
    starts : (p + 1,) int64 ndarray or None
        The path of pair i is ``vertices[starts[i]:starts[i + 1]]``, both ends included; it is empty
        if there is none.
    vertices : int32 ndarray or None
        The vertices of all paths; None without ``paths=True``.
    along : (p,) float64 ndarray or None
        The sum of a second weight along each path, inf if there is none; None without ``along=``.
    """

    distances: np.ndarray
    starts: np.ndarray | None
    vertices: np.ndarray | None
    along: np.ndarray | None = None

    @property
    def infinity(self) -> int | float:
        """The distance of a pair without a path, in this dtype."""
        return infinity(self.distances.dtype)

    def _facts(self) -> dict[str, object]:
        steps = None if self.vertices is None else self.vertices.size
        return {"pairs": self.sources.size, "vertices": steps}

    def path(self, pair: int) -> list[int]:
        """Return the vertices of a shortest path of a pair, both ends included.

        Returns
        -------
        list of int
            ``[]`` if there is no path.

        Raises
        ------
        ParameterError
            If there is no such pair, or the result has no paths.
        """
        if self.starts is None or self.vertices is None:
            raise ParameterError("Pairs.path needs paths: call pairs(paths=True)")
        last = self.sources.size - 1
        if last < 0:
            raise ParameterError.of("pair", "Pairs.path", "a pair, and there is none", pair)
        place = integer("pair", "Pairs.path", pair, 0, last)
        found: list[int] = self.vertices[slice(*self.starts[place : place + 2])].tolist()
        return found

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each pair, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray, shape (p,)
            Columns ``source``, ``target``, ``distance``, missing without a path; and ``arcs``, the
            number of arcs of the path, with ``paths=True``; and ``along``.
        """
        reached = self.distances < self.infinity
        columns = {
            "source": self._named(self.sources),
            "target": self._named(self.targets),
            "distance": np.ma.array(self.distances, mask=~reached),
        }
        if self.starts is not None:
            columns["arcs"] = np.ma.array(np.diff(self.starts) - 1, mask=~reached)
        if self.along is not None:
            columns["along"] = np.ma.array(self.along, mask=~reached)
        return columns

    def path_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each vertex of each path, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray
            Columns ``pair``, its number from 0, and ``vertex``, from the source to the target.

        Raises
        ------
        ParameterError
            If the result has no paths.
        """
        if self.starts is None or self.vertices is None:
            raise ParameterError("Pairs.path_columns needs paths: call pairs(paths=True)")
        numbers = np.repeat(np.arange(self.sources.size), np.diff(self.starts))
        return {"pair": numbers, "vertex": self._named(self.vertices)}


def pairs(
    graph: GraphLike,
    sources: Vertices,
    targets: Vertices,
    *,
    paths: bool = False,
    along: Along | None = None,
    cutoff: float | None = None,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Pairs:
    """Find the distance from ``sources[i]`` to ``targets[i]``, for each i, and a shortest path.

    There is one search for each different source. It ends when its last target is found. Errors are
    those of `within`.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; no negative weights.
    sources, targets : int or sequence of int
        Vertices; both of one length, or one of them a single vertex. Pairs may be repeated.
    paths : bool
        Also find the paths. Of several shortest paths it is the one that `within` tells.
    along : hashable, callable, graph-like or (m,) array-like of float, optional
        A second weight, to sum along the path of each pair; needs ``paths=True``. For a graph of
        NetworkX or igraph or a data frame, the name or function of it, as for `weight`; for a
        `Graph` or a matrix, another with the second weight; for a `Graph` also a value for each arc
        in the order of ``Graph.indices``. Of parallel edges the one with the smallest first weight
        counts, of several such the one with the smallest second weight.
    cutoff : float, optional
        The largest distance; pairs that are farther have no path.
    directed, weight, dtype, device, memory_limit
        As for `solve`.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of searches; an exception that it raises
        ends the run.

    Returns
    -------
    Pairs

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 0, 2], [1, 2, 1], [7, 1, 2])
    >>> found = pyapsp.pairs(graph, [0, 2, 1], [1, 1, 3], paths=True)
    >>> found.distances
    array([ 3.,  2., inf])
    >>> found.path(0)
    [0, 2, 1]
    >>> minutes = graph.with_weights([60, 5, 4])
    >>> pyapsp.pairs(graph, 0, 1, paths=True, along=minutes).along
    array([9.])
    """
    paths, source = flag("paths", "pairs", paths), graph
    if along is not None and not paths:
        raise ParameterError.of("along", "pairs", "absent without paths=True", along)
    common = cutoff, directed, weight, dtype, device, memory_limit, progress
    graph, options = asked("pairs", graph, *common, predecessors=paths)
    tails, heads = ends_of(sources, targets, graph, "pairs")
    second = None if along is None else second_weights(source, graph, weight, along, directed)
    found = searched(graph, options, tails, heads, of_sources(progress))
    if not paths:
        return Pairs(tails, heads, graph.labels, found.distances, None, None)
    starts, path = found.routes.joined()
    sums = None if second is None else sums_along(second, graph, starts, path)
    return Pairs(tails, heads, graph.labels, found.distances, starts, path, sums)


def ends_of(
    sources: Vertices,
    targets: Vertices,
    graph: Graph,
    owner: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices of pairs, as `pairs` takes them.

    Raises
    ------
    ParameterError
        If they are no vertices, or their numbers differ.
    """
    tails = vertices_of(graph, sources, owner)
    heads = vertices_of(graph, targets, owner, "targets")
    if tails.size != heads.size and np.ndim(sources) and np.ndim(targets):
        rule = f"of the length of sources, {tails.size}"
        raise ParameterError.of("targets", owner, rule, heads.size)
    both = np.broadcast_arrays(tails, heads)
    return np.array(both[0]), np.array(both[1])


def searched(
    graph: Graph,
    options: PathOptions,
    tails: np.ndarray,
    heads: np.ndarray,
    tell: Callable[[int, int], None] | None,
    *,
    counts: bool = False,
) -> Found:
    """Search for pairs, once for each different source.

    Parameters
    ----------
    graph : Graph
    options : PathOptions
        With predecessors, paths are found too.
    tails, heads : (p,) ndarray
        The vertices of each pair.
    tell : callable or None
        Called with the number of searches.
    counts : bool
        Whether the shortest paths are counted; weights must be above zero.
    """
    found = Found(
        np.empty(tails.size, options.dtype),
        _Routes(tails.size),
        np.empty(tails.size, np.uint64) if counts else None,
    )
    waiting, total = np.argsort(tails, kind="stable"), np.unique(tails).size
    if tails.size:
        search = _Search(graph, options, total, tails.size, counts=counts)
        wanted = _FIRST * search.count
    while waiting.size:
        some = _first_sources(waiting[: search.most], tails, wanted)
        started = time.perf_counter()
        with search.at_work():
            left = search.pairs(some, tails, heads, found)
        wanted = longer(wanted, time.perf_counter() - started)
        if left.size:  # there was no room for all paths
            wanted = max(wanted // 8, 1)
        waiting = (
            np.concatenate([left, waiting[some.size :]]) if left.size else waiting[some.size :]
        )
        if tell is not None:
            rest = tails[waiting]  # in order
            tell(total - int(np.count_nonzero(rest[1:] != rest[:-1])) - bool(rest.size), total)
    return found


def distances(
    graph: GraphLike,
    sources: Vertices | None = None,
    targets: Vertices | None = None,
    *,
    cutoff: float | None = None,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    out: np.ndarray | None = None,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Return the distance from each source to each target, as a matrix.

    No row of n values is written. If there are fewer targets than sources, and sums of weights are
    exact, the searches start at the targets.

    Errors are those of `pairs`.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; no negative weights.
    sources, targets : int or sequence of int, optional
        Vertices, in any order; by default all.
    cutoff, directed, weight, dtype, device, memory_limit, progress
        As for `pairs`.
    out : (k, t) ndarray, optional
        Array for the distances, of their dtype; it may be a memory map. If `dtype` is None, the
        dtype of this array is used. After an error the content is undefined.

    Returns
    -------
    (k, t) ndarray
        inf, or infinity of an integer type as for `solve`, without a path.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 0, 2], [1, 2, 1], [7, 1, 2])
    >>> pyapsp.distances(graph, [0, 2], [1, 3])
    array([[ 3., inf],
           [ 2., inf]])
    """
    dtype = out.dtype if dtype is None and isinstance(out, np.ndarray) else dtype
    copy = isinstance(out, np.ndarray) and shares_memory(graph, out)
    common = cutoff, directed, weight, dtype, device, memory_limit, progress
    graph, options = asked("distances", graph, *common, copy=copy)
    tails, heads = (
        vertices_or_all(graph, each, "distances", name)
        for name, each in (("sources", sources), ("targets", targets))
    )
    shape = tails.size, heads.size
    if out is None:
        rows = np.empty(shape, options.dtype)
    else:
        rows = output("distances", out, shape, options.dtype, contiguous=False)
    if 0 in shape:
        return rows
    if heads.size < tails.size and is_exact(graph, options.dtype):
        _fill(graph.reversed(), options, heads, tails, rows.T, of_sources(progress))
    else:
        _fill(graph, options, tails, heads, rows, of_sources(progress))
    return rows


def _fill(
    graph: Graph,
    options: PathOptions,
    sources: np.ndarray,
    targets: np.ndarray,
    rows: np.ndarray,
    tell: Callable[[int, int], None] | None,
) -> None:
    """Find the distances from all sources to all targets, in launches of some sources."""
    done, total = 0, sources.size
    search = _Search(graph, options, total, total * targets.size, targets.size)
    most = max(search.most // targets.size, 1)
    wanted = min(_FIRST * search.count, most)
    while done < total:
        some, started = sources[done : done + wanted], time.perf_counter()
        with search.at_work():
            rows[done : done + some.size] = search.rows(some, targets)
        done += some.size
        wanted = min(longer(some.size, time.perf_counter() - started), most)
        if tell is not None:
            tell(done, total)


def _first_sources(waiting: np.ndarray, tails: np.ndarray, wanted: int) -> np.ndarray:
    """Return those of the pairs that wait which have the first so many sources."""
    changes = np.flatnonzero(np.diff(tails[waiting]))
    return waiting[: changes[wanted - 1] + 1] if changes.size >= wanted else waiting


class _Routes:
    """The paths of pairs, as they are found.

    Parameters
    ----------
    count : int
        The number of pairs.
    """

    def __init__(self, count: int) -> None:
        self._lengths = np.zeros(count, np.int64)
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, numbers: np.ndarray, rows: np.ndarray, vertices: np.ndarray) -> None:
        """Add the paths of some pairs: place and length of each in `vertices`, without gaps."""
        order = np.argsort(rows[:, 0], kind="stable")
        order = order[rows[order, 1] > 0]
        self._lengths[numbers] = rows[:, 1]
        self._parts.append((numbers[order], vertices))

    def joined(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where each path begins, and the vertices of all."""
        starts = np.zeros(self._lengths.size + 1, np.int64)
        np.cumsum(self._lengths, out=starts[1:])
        whole = np.empty(starts[-1], np.int32)
        for numbers, path in self._parts:
            lengths = self._lengths[numbers]
            whole[places_of(starts[numbers], lengths)] = path
        return starts, whole


@dataclass(frozen=True)
class Found:
    """What is found for pairs."""

    distances: np.ndarray  # (p,)
    routes: _Routes
    # (p,) uint64: the number of shortest paths; the largest number stands for more.
    counts: np.ndarray | None


class _Search(Workers):
    """A graph on the device, for searches to targets.

    Parameters
    ----------
    graph : Graph
    options : PathOptions
    searches, distances : int
        The numbers of searches and of distances to come.
    each : int, optional
        The number of targets of every source; by default each source has its own.
    counts : bool
        Whether the shortest paths of pairs are counted.
    """

    def __init__(
        self,
        graph: Graph,
        options: PathOptions,
        searches: int,
        distances: int,
        each: int | None = None,
        *,
        counts: bool = False,
    ) -> None:
        self._graph, self._options = graph, options
        self._paths = options.predecessors
        self._size = values_of(options, _VALUES, graph.n, 4) if self._paths else 0
        width = options.dtype.itemsize + 8 * self._paths + 8 * counts
        self.most = min(values_of(options, _DISTANCES, each or 1, width), distances)
        ends = 4 * (2 * self.most if each is None else each + self.most // each)
        spare = 4 * self._size + self.most * width + ends
        defines = {"PYAPSP_PAIRS": int(each is None)}
        super().__init__(
            graph, options, _FILE, searches, spare, defines, wanted=True, counts=counts
        )
        with self.at_work():
            self._state = self.device.buffer(4 * STATE)
            self._vertices = self.device.buffer(4 * self._size) if self._paths else None

    def pairs(
        self,
        some: np.ndarray,
        tails: np.ndarray,
        heads: np.ndarray,
        found: Found,
    ) -> np.ndarray:
        """Find these pairs, in the order of their sources; return those that had no room."""
        count, first = some.size, np.flatnonzero(np.diff(tails[some], prepend=-1))
        starts = upload(self.queue, np.append(first, count).astype(np.int32), self.watch)
        lengths, rows = np.empty(count, self._options.dtype), np.zeros((count, 2), np.int32)
        costs = self.device.buffer(lengths.nbytes)
        ends = self._sent(tails[some[first]]), np.int32(first.size), self._sent(heads[some])
        if found.counts is not None:
            numbers = np.empty(count, np.uint64)
            several = self.device.buffer(numbers.nbytes)
            self._launched(*ends, starts, costs, several)
            cl.enqueue_copy(self.queue, numbers, several)
            found.counts[some] = numbers
        elif self._vertices is None:
            self._launched(*ends, starts, costs)
        else:
            places = self.device.buffer(rows.nbytes)
            more = places, self._vertices, np.int32(self._size)
            vertices = np.empty(self._launched(*ends, starts, costs, *more), np.int32)
            cl.enqueue_copy(self.queue, rows, places)
            if vertices.size:
                cl.enqueue_copy(self.queue, vertices, self._vertices)
            there = rows[:, 0] >= 0
            found.routes.add(some[there], rows[there], vertices)
        cl.enqueue_copy(self.queue, lengths, costs)
        found.distances[some] = lengths
        return some[rows[:, 0] < 0]

    def rows(self, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Find the distances from some sources to all targets."""
        found = np.empty((sources.size, targets.size), self._options.dtype)
        costs = self.device.buffer(found.nbytes)
        ends = np.int32(sources.size), self._sent(targets), np.int32(targets.size)
        self._launched(self._sent(sources), *ends, costs)
        cl.enqueue_copy(self.queue, found, costs)
        return found

    def _launched(
        self,
        sources: cl.Buffer,
        searches: np.generic,
        targets: cl.Buffer,
        starts: cl.Buffer | np.generic,
        costs: cl.Buffer,
        *more: cl.Buffer | np.generic,
    ) -> int:
        """Launch searches; return the number of vertices of their paths."""
        state = np.zeros(STATE, np.int32)
        cl.enqueue_copy(self.queue, self._state, state)
        limits = self.n, self.farthest, self.checks
        given = *self.arcs, sources, searches, targets, starts, *limits, *self.memory
        self.launch("find_targets", self.count, *given, self._state, costs, *more)
        cl.enqueue_copy(self.queue, state, self._state)
        if state[LOST] & 2:
            raise weight_lost()
        if state[LOST]:
            raise too_large(self._graph, self._options.dtype)
        return int(state[USED])

    def _sent(self, numbers: np.ndarray) -> cl.Buffer:
        """Return a buffer with vertices."""
        return upload(self.queue, numbers.astype(np.int32), self.watch)
