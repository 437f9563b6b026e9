"""The frontiers of H-BF: a graph with classes of arcs on the device, and a search on it.

Negative cycles are looked for after 8, 16, 32, ... rounds, and if the source gets a negative
distance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import Program, Stopwatch, upload
from pyapsp.graph import Graph
from pyapsp.numbers.checks import converted
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.registry import Parameters, Plan
from pyapsp.traversal.kernels import KernelArgument, Launcher, resident
from pyapsp.traversal.sssp.cycles import check_distances, look_for_cycle, refuse_reached_cycle
from pyapsp.traversal.sssp.merged import Chunks
from pyapsp.traversal.sssp.tree import type_on_device

__all__ = ["NARROWEST", "PACKED", "Frontiers", "entering_leaves", "own_buffers"]

#: The forms that pack a distance and a round into a word of 8 bytes.
PACKED = ("atomic64", "cas64")
#: The smallest width of a warp that is chosen by the size of the frontier.
NARROWEST = 4
_WIDEST = 32
# The first round after which a negative cycle is looked for.
_FIRST_LOOK = 8
# The layout of the counts.
_FOUND, _HEAVY, _NEGATIVE, _RELAXED, _AVOIDED, _COUNTS = 0, 1, 2, 3, 4, 8


def own_buffers(graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
    """Return the bytes of words, tags, two frontiers, heavy vertices, counts and a row."""
    dtype = type_on_device(graph, options.dtype)
    form = parameters.word("duplicates")
    word = 8 if form in PACKED else max(dtype.itemsize, 4)
    frontier = 4 * _capacity(graph, parameters)
    tags = 4 * graph.n * (form in ("tag32", "table") or options.predecessors)
    heavy = frontier * (parameters.integer("heavy") > 0)
    row = max(dtype.itemsize, 4 * options.predecessors) * graph.n
    return [word * graph.n, tags, frontier, frontier, heavy, 4 * _COUNTS, row]


def _capacity(graph: Graph, parameters: Parameters) -> int:
    """Return the number of places in a frontier."""
    return max(graph.n, graph.m if parameters.word("duplicates") in ("kept", "table") else 0)


def _has_leaves_both_ways(graph: Graph) -> bool:
    """Return whether a vertex with one arc has only its neighbour's.

    An edge of negative weight is a negative cycle, and must not be left out.
    """
    return not graph.directed and not graph.has_negative


def entering_leaves(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the leaves that an arc enters, in order, and these arcs.

    Returns
    -------
    leaves : (k,) int32 ndarray
    starts : (k + 1,) int32 ndarray
        The arcs that enter leaf i have the places starts[i]:starts[i + 1].
    tails : int32 ndarray
    arcs : int64 ndarray
        Their places in the graph.
    """
    leaving = np.diff(graph.indptr)
    is_leaf = (leaving == 0) | (_has_leaves_both_ways(graph) & (leaving == 1))
    tails, heads, _ = graph.arcs()
    taken = np.flatnonzero(is_leaf[heads] & (tails != heads))
    taken = taken[np.argsort(heads[taken], kind="stable")]
    leaves, starts = np.unique(heads[taken], return_index=True)
    starts = np.append(starts, taken.size).astype(np.int32)
    return leaves.astype(np.int32), starts, tails[taken].astype(np.int32), taken


class Frontiers:
    """A graph on the device, with the frontiers of a search.

    Attributes
    ----------
    rounds : int
        Rounds of all searches so far.
    """

    rounds = 0

    def __init__(
        self,
        plan: Plan[Graph, PathOptions, Program],
        watch: Stopwatch,
        on_counts: Callable[[dict[str, int]], None] | None = None,
    ) -> None:
        graph, options, parameters = plan.input, plan.options, plan.parameters
        device, self._watch, self._graph = options.device, watch, graph
        self._dtype = type_on_device(graph, options.dtype)
        self._checks, self._parameters = options.check, parameters
        self._queue = device.queue()
        self._launch = Launcher(self._queue, plan.state, parameters.integer("group"))
        self._capacity = _capacity(graph, parameters)
        self._resident = resident(device)
        self._tell = on_counts
        weights = graph.weights.astype(self._dtype, copy=False)
        self._first, self._heads, self._weights = (
            upload(self._queue, each, watch) for each in (graph.indptr, graph.indices, weights)
        )
        self._leaves: tuple[Any, ...] = ()
        if parameters.integer("classes") and graph.m:
            self._mark(device, weights)
        self._chunks: Chunks | None = None
        if parameters.word("split") == "merge-path":
            self._chunks = Chunks(graph, options, parameters, self._launch, self._queue)
        sizes = [max(size, 4) for size in own_buffers(graph, options, parameters)]
        (
            self._words,
            self._tags,
            self._now,
            self._next,
            self._heavies,
            self._counts,
            self._row,
        ) = map(device.buffer, sizes)

    def _mark(self, device: Device, weights: np.ndarray) -> None:
        """Set the classes of arcs, and copy the arcs that enter leaves."""
        graph, n = self._graph, self._graph.n
        heads, degrees = device.buffer(4 * graph.m), device.buffer(4 * n)
        cl.enqueue_copy(self._queue, heads, self._heads)
        cl.enqueue_copy(self._queue, degrees, np.zeros(n, np.int32))
        self._launch("hbf_degrees", graph.m, heads, degrees, np.int64(graph.m))
        both, width = _has_leaves_both_ways(graph), min(self._parameters.integer("group"), _WIDEST)
        turns = np.int32(both), np.int32(width), np.int32(n)
        self._launch("hbf_mark", n * width, self._first, heads, self._weights, degrees, *turns)
        self._queue.finish()
        self._heads = heads
        leaves, starts, tails, taken = entering_leaves(graph)
        if leaves.size:
            sent = [upload(self._queue, each, self._watch) for each in (leaves, starts, tails)]
            entering = upload(self._queue, weights[taken], self._watch)
            self._leaves = *sent, entering, leaves.size

    def search(self, source: int) -> None:
        """Relax frontiers until one is empty, and find the distances of leaves.

        Errors are those of `refuse_reached_cycle`.
        """
        n, signed = self._graph.n, self._graph.has_negative
        start = self._words, self._tags, self._now, self._counts, np.int32(source), np.int32(n)
        self._launch("hbf_start", n, *start)
        size, done = 1, 0
        self._report = {"relaxations": 0, "entries": 0, "duplicates": 0}
        while size:
            done += 1
            self._report["entries"] += size
            size, negative = self._round(source, done, size)
            if negative or done > 2 * n:
                refuse_reached_cycle(self._graph, self._distances())
            if signed and done >= _FIRST_LOOK and done & (done - 1) == 0:
                check_distances(self._graph, self._distances())
        self.rounds += done
        if self._tell is not None:
            self._tell(self._report)
        if self._leaves:
            *arrays, count = self._leaves
            ends = np.int32(source), np.int32(count)
            self._launch("hbf_leaves", count, *arrays, self._words, *ends)

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the distances; errors are those of `look_for_cycle`."""
        assert isinstance(distances, np.ndarray)
        row = self._distances()
        if self._graph.has_negative and (row <= -infinity(self._dtype)).any():
            look_for_cycle(self._graph, row)
        converted(row[None], distances.dtype, distances[None])

    def _round(self, source: int, number: int, size: int) -> tuple[int, bool]:
        """Relax a frontier; return the size of the next, and whether the source was lowered."""
        parameters, graph = self._parameters, (self._first, self._heads, self._weights)
        width, load = parameters.integer("width") or self._width(size), parameters.integer("load")
        state = np.zeros(_COUNTS, np.int32)
        cl.enqueue_copy(self._queue, self._counts, state)
        turn = np.int32(self._capacity), np.int32(source), np.int32(number)
        shape = (
            np.int32(size),
            np.int32(width),
            np.int32(load),
            np.int32(parameters.integer("heavy")),
        )
        lists = self._next, self._heavies, self._counts
        arrays = *graph, self._words, self._tags
        if self._chunks is not None:
            made = self._chunks.of(self._first, self._now, size)
            places = self._now, self._next, self._counts, *made
            items = self._chunks.items
            self._launch("hbf_expand_merged", items, *arrays, *places, *turn, np.int32(size))
        else:
            self._launch(
                "hbf_expand", -(-size // load) * width, *arrays, self._now, *lists, *turn, *shape
            )
        if parameters.integer("heavy"):
            self._launch("hbf_expand_heavy", self._resident, *arrays, *lists, *turn)
        self._now, self._next = self._next, self._now
        cl.enqueue_copy(self._queue, state, self._counts)
        self._report["relaxations"] += int(state[_RELAXED])
        size, duplicates = int(state[_FOUND]), int(state[_AVOIDED])
        if not 0 <= size <= self._capacity:  # the count may wrap
            ends = np.int32(source), np.int32(self._graph.n)
            size, _ = self._counted("hbf_reached", self._graph.n, self._words, self._now, *ends)
        elif size and parameters.word("duplicates") == "table":
            entries = np.int32(size)
            self._launch("hbf_look_up", size, self._now, self._tags, entries)
            lists = self._now, self._tags, self._next
            size, duplicates = self._counted("hbf_filter", size, *lists, entries)
            self._now, self._next = self._next, self._now
        self._report["duplicates"] += duplicates
        return size, bool(state[_NEGATIVE])

    def _counted(self, kernel: str, items: int, *arguments: KernelArgument) -> tuple[int, int]:
        """Launch a kernel that makes a frontier; return its size, and the duplicates left out."""
        state = np.zeros(_COUNTS, np.int32)
        cl.enqueue_copy(self._queue, self._counts, state)
        arrays = [each for each in arguments if not isinstance(each, np.int32)]
        self._launch(kernel, items, *arrays, self._counts, *arguments[len(arrays) :])
        cl.enqueue_copy(self._queue, state, self._counts)
        return int(state[_FOUND]), int(state[_AVOIDED])

    def _width(self, size: int) -> int:
        """Return the work-items of a vertex: as many as there are, between two limits."""
        each = max(self._resident // size, 1)
        widest: int = min(_WIDEST, self._parameters.integer("group"))
        return min(max(1 << (each.bit_length() - 1), NARROWEST), widest)

    def _distances(self) -> np.ndarray:
        """Return the distances so far."""
        row = np.empty(self._graph.n, self._dtype)
        n = np.int32(self._graph.n)
        self._launch("hbf_distances", self._graph.n, self._words, self._row, n)
        with self._watch.by_the_host("transfer"):
            cl.enqueue_copy(self._queue, row, self._row)
        return row

    def read_predecessors(
        self, source: int, distances: HostOrDevice, predecessors: HostOrDevice
    ) -> None:
        """Search the tree of shortest paths.

        Raises
        ------
        PrecisionError
            If rounding leaves a vertex without a predecessor.
        """
        assert isinstance(predecessors, np.ndarray)
        graph = self._first, self._heads, self._weights, self._words
        row = self._distances()
        predecessors[:] = NO_PREDECESSOR
        cl.enqueue_copy(self._queue, self._row, predecessors)
        cl.enqueue_copy(self._queue, self._tags, predecessors)
        cl.enqueue_copy(self._queue, self._now, np.array([source], np.int32))
        size, total, level = 1, 0, 0
        state = np.zeros(_COUNTS, np.int32)
        while size:
            total, level = total + size, level + 1
            state[:] = 0
            cl.enqueue_copy(self._queue, self._counts, state)
            ends = np.int32(source), np.int32(size), np.int32(level)
            lists = self._row, self._tags, self._now, self._next, self._counts
            self._launch("hbf_parents", size, *graph, *lists, *ends)
            self._now, self._next = self._next, self._now
            cl.enqueue_copy(self._queue, state, self._counts)
            size = int(state[_FOUND])
        if self._checks and total < (row < infinity(self._dtype)).sum():
            refuse_reached_cycle(self._graph, row)
        with self._watch.by_the_host("transfer"):
            cl.enqueue_copy(self._queue, predecessors, self._row)
