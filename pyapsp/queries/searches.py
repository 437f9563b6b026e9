"""Searches from sources to targets, each by one work-item, on a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import upload
from pyapsp.graph import Graph
from pyapsp.graph.rows import places_of
from pyapsp.numbers.checks import too_large, weight_lost
from pyapsp.paths import PathOptions
from pyapsp.queries.sharing import launched, on_each_device, portions, start
from pyapsp.queries.workers import LOST, STATE, USED, Workers, values_of

__all__ = ["Found", "fill", "searched"]

# Distances of a launch and values of its paths, at least those of one search or path; and searches
# of the first launch for a work-item.
_DISTANCES, _VALUES, _FIRST = 2**22, 2**20, 4
_FILE = "queries/targets.cl"


def searched(
    graph: Graph,
    options: PathOptions,
    tails: np.ndarray,
    heads: np.ndarray,
    tell: Callable[[int, int], None] | None,
    *,
    counts: bool = False,
    others: Sequence[Workers] = (),
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
    others : sequence of Workers
        Those that the call starts later, for dry runs.
    """
    found = Found(
        np.empty(tails.size, options.dtype),
        _Routes(tails.size),
        np.empty(tails.size, np.uint64) if counts else None,
    )
    waiting, total = np.argsort(tails, kind="stable"), np.unique(tails).size
    if not tails.size:
        return found

    def make(options: PathOptions) -> _Search:
        return _Search(graph, options, total, tails.size, counts=counts)

    def search(worker: _Search, some: np.ndarray) -> np.ndarray:
        left = worker.timed(lambda: worker.pairs(some, tails, heads, found), worker.wanted)
        if left.size:  # there was no room for all paths
            worker.wanted = max(worker.wanted // 8, 1)
        return left

    each = 8 if counts else options.dtype.itemsize
    answer = None if options.predecessors else each * tails.size
    workers, open_sources = on_each_device(make, options), total
    start(workers, answer, others)
    while waiting.size:
        parts = []
        for worker, most in zip(workers, portions(workers, open_sources), strict=True):
            # the pairs of one source may be those of several devices
            parts.append(_first_sources(waiting[: worker.most], tails, max(most, 1)))
            waiting = waiting[parts[-1].size :]
        left = launched(workers, search, [part for part in parts if part.size])
        waiting = np.concatenate([*left, waiting])
        rest = tails[waiting]  # in order
        open_sources = int(np.count_nonzero(rest[1:] != rest[:-1])) + bool(rest.size)
        if tell is not None:
            tell(total - open_sources, total)
    return found


def fill(
    graph: Graph,
    options: PathOptions,
    sources: np.ndarray,
    targets: np.ndarray,
    rows: np.ndarray,
    tell: Callable[[int, int], None] | None,
) -> None:
    """Find the distances from all sources to all targets, in launches of some sources."""
    done, total = 0, sources.size

    def make(options: PathOptions) -> _Search:
        return _Search(graph, options, total, total * targets.size, targets.size)

    def search(worker: _Search, some: slice) -> None:
        chosen = sources[some]
        rows[some] = worker.timed(lambda: worker.rectangle(chosen, targets), chosen.size)

    workers = on_each_device(make, options)
    start(workers, rows.nbytes)
    while done < total:
        parts = []
        for worker, most in zip(workers, portions(workers, total - done), strict=True):
            size = min(most, max(worker.most // targets.size, 1))
            parts.append(slice(done, done + size))
            done += size
        launched(workers, search, [part for part in parts if part.start < part.stop])
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
        self._paths = options.predecessors
        self._size = values_of(options, _VALUES, graph.n, 4) if self._paths else 0
        width = options.dtype.itemsize + 8 * self._paths + 8 * counts
        self.most = min(values_of(options, _DISTANCES, each or 1, width), distances)
        ends = 4 * (2 * self.most if each is None else each + self.most // each)
        spare = 4 * self._size + self.most * width + ends
        defines = {"PYAPSP_PAIRS": int(each is None)}
        super().__init__(
            graph, options, _FILE, searches, spare, defines, True, counts, first=_FIRST
        )

    def allocate(self) -> None:
        """Allocate the state of a launch, and the vertices of its paths."""
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
        lengths, rows = np.empty(count, self.options.dtype), np.zeros((count, 2), np.int32)
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

    def rectangle(self, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Find the distances from some sources to all targets."""
        found = np.empty((sources.size, targets.size), self.options.dtype)
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
            raise too_large(self.graph, self.options.dtype)
        return int(state[USED])

    def _sent(self, numbers: np.ndarray) -> cl.Buffer:
        """Return a buffer with vertices."""
        return upload(self.queue, numbers.astype(np.int32), self.watch)
