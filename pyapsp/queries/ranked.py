"""`yen`: the k shortest paths without loops, of many pairs of vertices."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl
from numpy.typing import DTypeLike

from pyapsp.base.host import as_type
from pyapsp.device import DeviceLike
from pyapsp.device.kernels import upload
from pyapsp.graph import Graph, GraphLike, Vertices, Weight
from pyapsp.graph.validation import integer
from pyapsp.numbers.checks import too_large
from pyapsp.paths import PathOptions
from pyapsp.queries.searches import searched
from pyapsp.queries.sharing import launched, on_each_device, portions, start
from pyapsp.queries.targets import PairPaths, ends_of
from pyapsp.queries.workers import LOST, STATE, USED, Workers, asked, values_of
from pyapsp.registry.ranks import sources_on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["RankedPaths", "yen"]

# Vertices of the paths of a launch, at least those of one path; searches of the first launch for a
# work-item, and of any launch.
_VALUES, _FIRST, _MOST = 2**20, 4, 2**16


@dataclass(frozen=True, eq=False, repr=False)
class RankedPaths(PairPaths[tuple[np.generic, list[int]]]):
    """The result of `yen`, with ``sources``, ``targets``, ``labels`` and ``by_label``."""

    _dtype: np.dtype  # of the lengths

    def paths(self, pair: int | None = None) -> list[list[Any]]:
        """Return the paths of a pair, the shortest first, each with both ends.

        Parameters
        ----------
        pair : int, optional
            Its number from 0. It is needed only if there are several pairs.

        Returns
        -------
        list of list of int, or of labels if the targets were given by labels

        Raises
        ------
        ParameterError
            If there is no such pair.
        """
        return [self._path(np.array(path)) for _, path in self._of(pair, "paths")]

    def distances(self, pair: int | None = None) -> np.ndarray:
        """Return the lengths of the paths of a pair, whose number is as for `paths`.

        Raises
        ------
        ParameterError
            If there is no such pair.
        """
        return np.array([length for length, _ in self._of(pair, "distances")], self._dtype)

    def path_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each vertex of each path, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray
            Columns ``pair``, its number from 0; ``rank`` of the path from 1; and ``vertex``, from
            the source to the target.
        """
        lengths = [[len(path) for _, path in some] for some in self._found]
        vertices = [vertex for some in self._found for _, path in some for vertex in path]
        ranks = [np.repeat(np.arange(1, len(some) + 1), some) for some in lengths]
        return {
            "pair": np.repeat(np.arange(len(lengths)), [sum(some) for some in lengths]),
            "rank": np.concatenate([np.empty(0, np.int64), *ranks]),
            "vertex": self._named(np.array(vertices, np.int64)),
        }

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each path, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray
            Columns ``source``, ``target``, ``rank`` from 1, ``distance``, and ``arcs``, the number
            of arcs.
        """
        counts = [len(some) for some in self._found]
        paths = list(chain.from_iterable(self._found))
        return {
            "source": self._named(np.repeat(self.sources, counts)),
            "target": self._named(np.repeat(self.targets, counts)),
            "rank": np.array([rank for count in counts for rank in range(1, count + 1)], np.int64),
            "distance": np.array([length for length, _ in paths], self._dtype),
            "arcs": np.array([len(path) - 1 for _, path in paths], np.int64),
        }


@sources_on_ranks(pairs=True)
def yen(
    graph: GraphLike,
    sources: Vertices,
    targets: Vertices,
    k: int,
    *,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> RankedPaths:
    """Find the k shortest paths without loops from ``sources[i]`` to ``targets[i]``, for each i.

    A path has a loop if it has a vertex twice. The searches of all pairs run together.

    Errors are those of `pairs`.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; no negative weights.
    sources, targets : int, str, or sequence of these
        As for `pairs`.
    k : int
        The number of paths of a pair; fewer if there are no more. Of equally long ones, which are
        found does not depend on the device.
    directed, weight, dtype, device, memory_limit
        As for `pairs`.
    progress : callable, optional
        Called as ``progress(done, k)`` after each of k rounds; an exception that it raises ends the
        run.
    comm : mpi4py.MPI.Comm, optional
        As for `pairs`.

    Returns
    -------
    RankedPaths

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 0, 1, 2, 1], [1, 2, 3, 3, 2], [1, 5, 9, 1, 2])
    >>> found = pyapsp.yen(graph, 0, 3, 2)
    >>> found.paths()
    [[0, 1, 2, 3], [0, 2, 3]]
    >>> found.distances()
    array([4., 6.])
    """
    common = None, directed, weight, dtype, device, memory_limit, progress
    graph, options = asked("yen", graph, *common, several=True, predecessors=True)
    tails, heads, by_label = ends_of(sources, targets, graph, "yen")
    most, lengths = integer("k", "yen", k, 1), _Lengths(graph, options.dtype)
    # the searches of spurs, if there are any
    workers = on_each_device(partial(_Search, graph), options) if most > 1 else []
    first = searched(graph, options, tails, heads, None, others=workers)
    starts, vertices = first.routes.joined()
    ranked = []
    for begin, end in pairwise(starts):
        path: list[int] = vertices[begin:end].tolist()
        ranked.append(_Ranked([(lengths.of(path), path)] if path else []))
    for done in range(1, most):
        if progress is not None:
            progress(done, most)
        wanted = [(each, spur) for each in ranked for spur in each.spurs()]
        if wanted and done == 1:  # if there is none now, there is none later
            start(workers, None)
        ways = _found(workers, [spur for _, spur in wanted])
        for (each, spur), way in zip(wanted, ways, strict=True):
            if way:
                path = [*spur.root, *way]
                each.offer(lengths.of(path), path, len(spur.root))
        if not sum(each.take() for each in ranked):
            break
    if progress is not None:
        progress(most, most)
    paths = [each.paths for each in ranked]
    return RankedPaths(tails, heads, graph.labels, by_label, paths, options.dtype)


@dataclass(frozen=True)
class _Spur:
    """A search for a path that leaves a known one."""

    root: list[int]  # the vertices before the spur, which are avoided
    # The spur, and the end.
    start: int
    target: int
    taken: list[int]  # vertices that follow the spur in known paths


@dataclass
class _Ranked:
    """The paths of a pair: those that are known, and candidates for the next."""

    paths: list[tuple[np.generic, list[int]]]  # lengths and vertices, the shortest first
    _offers: list[tuple[np.generic, list[int], int]] = field(default_factory=list)
    _left: int = 0  # where the last path leaves the one it comes from
    _ended: bool = False

    def spurs(self) -> Iterator[_Spur]:
        """Yield the searches that the last path makes possible."""
        if self._ended or not self.paths:
            return
        last = self.paths[-1][1]
        for place in range(self._left, len(last) - 1):
            root = last[: place + 1]
            taken = {path[place + 1] for _, path in self.paths if path[: place + 1] == root}
            yield _Spur(root[:-1], root[-1], last[-1], sorted(taken))

    def offer(self, length: np.generic, path: list[int], left: int) -> None:
        """Add a candidate."""
        heapq.heappush(self._offers, (length, path, left))

    def take(self) -> bool:
        """Make the shortest candidate a path; return False if there is none."""
        if not self._offers:
            self._ended = True
            return False
        length, path, self._left = heapq.heappop(self._offers)
        self.paths.append((length, path))
        return True


class _Lengths:
    """The lengths of paths."""

    def __init__(self, graph: Graph, dtype: np.dtype) -> None:
        tails, heads, weights = graph.arcs()
        self._n, self._weights = graph.n, as_type(weights, dtype)
        self._arcs = tails.astype(np.int64) * graph.n + heads  # in ascending order

    def of(self, path: Sequence[int]) -> np.generic:
        """Return the sum of the weights, added from the first arc on."""
        vertices = np.array(path, np.int64)
        arcs = np.searchsorted(self._arcs, vertices[:-1] * self._n + vertices[1:])
        total: np.generic = np.append(self._weights.dtype.type(0), self._weights[arcs]).cumsum(
            dtype=self._weights.dtype
        )[-1]
        return total


def _found(workers: Sequence[_Search], spurs: Sequence[_Spur]) -> list[list[int]]:
    """Return the path of each search, from its spur to its target; empty if there is none."""
    found: list[list[int]] = [[] for _ in spurs]
    waiting = list(range(len(spurs)))
    while waiting:
        parts, end = [], 0
        for count in portions(workers, len(waiting)):
            parts.append(waiting[end : end + min(count, _MOST)])
            end += len(parts[-1])
        parts, left = [part for part in parts if part], []
        paths = launched(workers, _Search.paths, [[spurs[each] for each in part] for part in parts])
        for place, path in zip(chain(*parts), chain(*paths), strict=True):
            if path is None:
                left.append(place)
            else:
                found[place] = path
        waiting = left + waiting[end:]
    return found


class _Search(Workers):
    """A graph on the device, for searches from spurs."""

    def __init__(self, graph: Graph, options: PathOptions) -> None:
        self._size = values_of(options, _VALUES, graph.n, 4)
        super().__init__(
            graph,
            options,
            "queries/spurs.cl",
            _MOST,
            4 * self._size,
            {"PYAPSP_BANNED": 1},
            wanted=True,
            first=_FIRST,
        )

    def allocate(self) -> None:
        """Allocate the state of a launch, and the vertices of its paths."""
        self._state = self.device.buffer(4 * STATE)
        self._vertices = self.device.buffer(4 * self._size)

    def paths(self, spurs: Sequence[_Spur]) -> list[list[int] | None]:
        """Return the path of each search; empty if there is none, None if there was no room."""
        rows, vertices = self.timed(lambda: self._launched(spurs), len(spurs))
        if rows[:, 0].min() < 0:
            self.wanted = max(len(spurs) // 8, 1)
        return [
            None if begin < 0 else vertices[begin : begin + length].tolist()
            for begin, length in rows.tolist()
        ]

    def _launched(self, spurs: Sequence[_Spur]) -> tuple[np.ndarray, np.ndarray]:
        """Search; return place and length of each path, and the vertices of the paths."""
        lists = [part for spur in spurs for part in (spur.root, spur.taken)]
        bounds = np.zeros(len(lists) + 1, np.int32)
        np.cumsum([len(part) for part in lists], out=bounds[1:])
        ends = np.array([(spur.start, spur.target) for spur in spurs], np.int32)
        banned = np.fromiter(chain.from_iterable(lists), np.int32, int(bounds[-1]))
        state, rows = np.zeros(STATE, np.int32), np.zeros((len(spurs), 2), np.int32)
        cl.enqueue_copy(self.queue, self._state, state)
        places = self.device.buffer(rows.nbytes)
        sent = [upload(self.queue, each.ravel(), self.watch) for each in (ends, bounds, banned)]
        self.launch(
            "find_spurs",
            self.count,
            *self.arcs,
            sent[0],
            np.int32(len(spurs)),
            *sent[1:],
            self.n,
            self.farthest,
            self.checks,
            *self.memory,
            self._state,
            places,
            self._vertices,
            np.int32(self._size),
        )
        cl.enqueue_copy(self.queue, state, self._state)
        if state[LOST]:
            raise too_large(self.graph, self.options.dtype)
        cl.enqueue_copy(self.queue, rows, places)
        vertices = np.empty(state[USED], np.int32)
        if vertices.size:
            cl.enqueue_copy(self.queue, vertices, self._vertices)
        return rows, vertices
