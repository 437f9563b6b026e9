"""sssp-h-bf: H-BF of Busato and Bombieri, frontiers of Bellman-Ford with all their options.

A marked graph has the class of each arc in its head, so the kernels hold at most 2^30 vertices.
Distances of 8 bytes are computed in int32 where that is proved exact. Where it is not, they do not
fit beside a round in one word, and duplicates are removed by tags.

Negative cycles are looked for after 8, 16, 32, ... rounds, and if the source gets a negative
distance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.arithmetic import arithmetic_defines
from pyapsp.checks import converted
from pyapsp.device import Device
from pyapsp.errors import CapabilityError, PyApspError
from pyapsp.graph import Facts, Graph
from pyapsp.kernels import Program, Stopwatch, build, upload
from pyapsp.paths import PathOptions
from pyapsp.precision import infinity
from pyapsp.registry import Plan, register
from pyapsp.result import NO_PREDECESSOR
from pyapsp.traversal.cycles import check_distances, look_for_cycle, refuse_reached_cycle
from pyapsp.traversal.search import Launcher, Search
from pyapsp.traversal.tree import held_type

__all__ = ["SsspHBf"]

# Two bits of a head are the class of the arc.
_LARGEST = 2**30 - 1
# The first round after which a negative cycle is looked for.
_FIRST_LOOK = 8
# Work-items that a compute unit of a GPU has at the same time, and the width of its warps.
_RESIDENT, _NARROWEST, _WIDEST = 2048, 4, 32
# Vertices that a group collects.
_HELD = 1024
# The forms of `duplicates`, as the kernels number them.
_FORMS = ("kept", "atomic64", "cas64", "tag32")
# The layout of the counts.
_FOUND, _HEAVY, _NEGATIVE, _COUNTS = 0, 1, 2, 4


@register
class SsspHBf(Search):
    """Bellman-Ford from a frontier; each optimisation is a parameter.

    ``classes``: arcs to vertices with one entering or no leaving arc, and self-loops, take no
    atomic. ``duplicates``: how vertices are kept from entering a frontier twice. ``staged``:
    vertices are collected in local memory. ``width``: work-items of a vertex, 0 to choose them in
    each round. ``load``: vertices that a warp takes in turn. ``heavy``: vertices with more arcs are
    relaxed by all groups together; 0 for none.

    Source: F. Busato, N. Bombieri, IEEE TPDS 27(8), 2016.
    """

    id = "sssp-h-bf"
    problem = "sssp"
    summary = "Bellman-Ford from a frontier: classes of arcs, no duplicates, dynamic warps"
    source = "Busato and Bombieri 2016, doi:10.1109/TPDS.2015.2485994"
    weighted = True
    choices: ClassVar[Mapping[str, Sequence[Any]]] = {
        **Search.choices,
        "classes": (0, 1),
        "duplicates": _FORMS,
        "staged": (0, 1),
        "width": (0, 1, 2, 4, 8, 16, 32, 64),
        "load": (1, 8, 32, 128),
        "heavy": (0, 256, 1024, 4096, 16384),
    }

    def candidates(self, options: PathOptions) -> Iterator[dict[str, Any]]:
        """Yield the values of the thesis; on CPUs one work-item for each vertex."""
        scalar = options.device.traits.scalar_groups
        form = "atomic64" if options.device.capabilities.int64_atomics else "tag32"
        for candidate in super().candidates(options):
            yield candidate | {
                "classes": 1,
                "duplicates": form,
                "staged": 1,
                "width": 1 if scalar or candidate["group"] < _NARROWEST else 0,
                "load": 1 if scalar else 32,
                "heavy": 0 if scalar else 4096,
            }

    def fits(self, parameters: Mapping[str, Any], options: PathOptions) -> bool:
        """Return whether no warp is split between groups, and the device has the atomics."""
        atomics = options.device.capabilities.int64_atomics
        packed = parameters["duplicates"] in ("atomic64", "cas64")
        width = parameters["width"] or _NARROWEST
        fitting = width <= parameters["group"] and (atomics or not packed)
        return fitting and super().fits(parameters, options)

    def rule(self, options: PathOptions) -> str:
        """Return the limits."""
        return (
            f"{super().rule(options)}, and at least width; atomic64 and cas64 need 64-bit atomics"
        )

    def unmet(self, about: Graph | Facts, options: Any) -> PyApspError | None:
        """Return the error of a graph that is too large, or of distances that need wide atomics."""
        if about.n > _LARGEST or about.m > 2**31 - 1:
            return CapabilityError(
                f"{self.id} counts in 32 bits and keeps two of a vertex, and the graph has "
                f"{about.n:,} vertices and {about.m:,} arcs"
            )
        wide = held_type(about, options.dtype).itemsize == 8
        if wide and not options.device.capabilities.int64_atomics:
            return CapabilityError(
                f"{options.device.name} has no 64-bit atomics, which {self.id} needs for "
                f"{options.dtype}: use sssp-bellman-ford"
            )
        return super().unmet(about, options)

    def buffers(
        self, graph: Graph, options: PathOptions, parameters: Mapping[str, Any]
    ) -> list[int]:
        """Return the bytes of each buffer: arcs, arcs that enter leaves, and those of `_own`."""
        item = held_type(graph, options.dtype).itemsize
        sizes = [8 * (graph.n + 1), 4 * graph.m, item * graph.m]
        if parameters["classes"] and graph.m:
            leaves, _, tails, _ = _entering_leaves(graph)
            leaf = [4 * leaves.size, 4 * (leaves.size + 1), 4 * tails.size, item * tails.size]
            sizes += [4 * graph.m, 4 * graph.n, *(leaf if leaves.size else [])]
        sizes += _own(graph, options, parameters)
        return [max(size, 4) for size in sizes]

    def prepare(self, graph: Graph, options: PathOptions, parameters: Mapping[str, Any]) -> Program:
        """Build the kernels."""
        device, dtype = options.device, held_type(graph, options.dtype)
        standard = (
            device.capabilities.c_standard if device.capabilities.device_scope_fence else None
        )
        defines = arithmetic_defines(device, dtype, guard=graph.has_negative) | {
            "PYAPSP_GROUP": parameters["group"],
            "PYAPSP_CLASSES": parameters["classes"],
            "PYAPSP_DUPLICATES": _FORMS.index(_form(dtype, parameters)),
            "PYAPSP_STAGED": parameters["staged"],
            "PYAPSP_WIDE": int(dtype.itemsize == 8),
            "PYAPSP_HALF": int(dtype == np.float16),
            "PYAPSP_HELD": _HELD,
        }
        return build(device, "traversal/sssp_h_bf.cl", defines, standard=standard)

    def open(self, plan: Plan, watch: Stopwatch) -> _Frontiers:
        """Copy the graph to the device, and set the classes of arcs."""
        return _Frontiers(plan, watch)


def _form(dtype: np.dtype, parameters: Mapping[str, Any]) -> str:
    """Return how duplicates are removed: a word has no place for 8 bytes and a round."""
    form: str = parameters["duplicates"]
    return "tag32" if dtype.itemsize == 8 and form in ("atomic64", "cas64") else form


def _own(graph: Graph, options: PathOptions, parameters: Mapping[str, Any]) -> list[int]:
    """Return the bytes of words, tags, two frontiers, heavy vertices, counts and a row."""
    dtype = held_type(graph, options.dtype)
    form = _form(dtype, parameters)
    word = 8 if form in ("atomic64", "cas64") else max(dtype.itemsize, 4)
    frontier = 4 * _capacity(graph, parameters)
    tags = 4 * graph.n * (form == "tag32")
    heavy = frontier * (parameters["heavy"] > 0)
    row = max(dtype.itemsize, 4 * options.predecessors) * graph.n
    return [word * graph.n, tags, frontier, frontier, heavy, 4 * _COUNTS, row]


def _capacity(graph: Graph, parameters: Mapping[str, Any]) -> int:
    """Return the number of places in a frontier."""
    return max(graph.n, graph.m if parameters["duplicates"] == "kept" else 0)


def _has_leaves_both_ways(graph: Graph) -> bool:
    """Return whether a vertex with one arc has only its neighbour's.

    An edge of negative weight is a negative cycle, and must not be left out.
    """
    return not graph.directed and not graph.has_negative


def _entering_leaves(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
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


class _Frontiers:
    """A graph on the device, with the frontiers of a search.

    Attributes
    ----------
    rounds : int
        Rounds of all searches so far.
    """

    rounds = 0

    def __init__(self, plan: Plan, watch: Stopwatch) -> None:
        graph, options, parameters = plan.input, plan.options, plan.parameters
        device, self._watch, self._graph = options.device, watch, graph
        self._dtype = held_type(graph, options.dtype)
        self._checks, self._parameters = options.check, parameters
        self._queue = device.queue()
        self._launch = Launcher(self._queue, plan.state, parameters["group"])
        self._capacity = _capacity(graph, parameters)
        self._resident = _resident(device)
        weights = graph.weights.astype(self._dtype, copy=False)
        self._first, self._heads, self._weights = (
            upload(self._queue, each, watch) for each in (graph.indptr, graph.indices, weights)
        )
        self._leaves: tuple[Any, ...] = ()
        if parameters["classes"] and graph.m:
            self._mark(device, weights)
        sizes = [max(size, 4) for size in _own(graph, options, parameters)]
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
        both, width = _has_leaves_both_ways(graph), min(self._parameters["group"], _WIDEST)
        turns = np.int32(both), np.int32(width), np.int32(n)
        self._launch("hbf_mark", n * width, self._first, heads, self._weights, degrees, *turns)
        self._queue.finish()
        self._heads = heads
        leaves, starts, tails, taken = _entering_leaves(graph)
        if leaves.size:
            held = [upload(self._queue, each, self._watch) for each in (leaves, starts, tails)]
            entering = upload(self._queue, weights[taken], self._watch)
            self._leaves = *held, entering, leaves.size

    def search(self, source: int, distances: np.ndarray) -> None:
        """Relax frontiers until one is empty, and find the distances of leaves.

        Raises
        ------
        NegativeCycleError
            If the source reaches a negative cycle.
        PrecisionError
            If rounding makes a cycle look negative.
        """
        n, signed = self._graph.n, self._graph.has_negative
        start = self._words, self._tags, self._now, self._counts, np.int32(source), np.int32(n)
        self._launch("hbf_start", n, *start)
        size, done = 1, 0
        while size:
            done += 1
            size, negative = self._round(source, done, size)
            if negative or done > 2 * n:
                refuse_reached_cycle(self._graph, self._distances())
            if signed and done >= _FIRST_LOOK and done & (done - 1) == 0:
                check_distances(self._graph, self._distances())
        self.rounds += done
        if self._leaves:
            *arrays, count = self._leaves
            ends = np.int32(source), np.int32(count)
            self._launch("hbf_leaves", count, *arrays, self._words, *ends)
        found = self._distances()
        if signed and (found <= -infinity(self._dtype)).any():
            look_for_cycle(self._graph, found)
        converted(found[None], distances.dtype, distances[None])

    def _round(self, source: int, number: int, size: int) -> tuple[int, bool]:
        """Relax a frontier; return the size of the next, and whether the source was lowered."""
        parameters, graph = self._parameters, (self._first, self._heads, self._weights)
        width, load = parameters["width"] or self._width(size), parameters["load"]
        state = np.zeros(_COUNTS, np.int32)
        cl.enqueue_copy(self._queue, self._counts, state)
        turn = np.int32(self._capacity), np.int32(source), np.int32(number)
        shape = np.int32(size), np.int32(width), np.int32(load), np.int32(parameters["heavy"])
        found = self._next, self._heavies, self._counts
        arrays = *graph, self._words, self._tags
        self._launch(
            "hbf_expand", -(-size // load) * width, *arrays, self._now, *found, *turn, *shape
        )
        if parameters["heavy"]:
            self._launch("hbf_expand_heavy", self._resident, *arrays, *found, *turn)
        self._now, self._next = self._next, self._now
        cl.enqueue_copy(self._queue, state, self._counts)
        if state[_FOUND] > self._capacity:
            counts, n = self._counts, self._graph.n
            cl.enqueue_copy(self._queue, counts, np.zeros(_COUNTS, np.int32))
            ends = np.int32(source), np.int32(n)
            self._launch("hbf_reached", n, self._words, self._now, counts, *ends)
            negative = state[_NEGATIVE]
            cl.enqueue_copy(self._queue, state, counts)
            state[_NEGATIVE] = negative
        return int(state[_FOUND]), bool(state[_NEGATIVE])

    def _width(self, size: int) -> int:
        """Return the work-items of a vertex: as many as there are, between two limits."""
        each = max(self._resident // size, 1)
        widest: int = min(_WIDEST, self._parameters["group"])
        return min(max(1 << (each.bit_length() - 1), _NARROWEST), widest)

    def _distances(self) -> np.ndarray:
        """Return the distances so far."""
        found = np.empty(self._graph.n, self._dtype)
        n = np.int32(self._graph.n)
        self._launch("hbf_distances", self._graph.n, self._words, self._row, n)
        with self._watch.by_the_host("transfer"):
            cl.enqueue_copy(self._queue, found, self._row)
        return found

    def read_predecessors(
        self, source: int, distances: np.ndarray, predecessors: np.ndarray
    ) -> None:
        """Search the tree of shortest paths.

        Raises
        ------
        PrecisionError
            If rounding leaves a vertex without a predecessor.
        """
        graph = self._first, self._heads, self._weights, self._words
        held = self._distances()
        predecessors[:] = NO_PREDECESSOR
        cl.enqueue_copy(self._queue, self._row, predecessors)
        cl.enqueue_copy(self._queue, self._now, np.array([source], np.int32))
        size, total = 1, 0
        state = np.zeros(_COUNTS, np.int32)
        while size:
            total += size
            state[:] = 0
            cl.enqueue_copy(self._queue, self._counts, state)
            ends = np.int32(source), np.int32(size)
            found = self._row, self._now, self._next, self._counts
            self._launch("hbf_parents", size, *graph, *found, *ends)
            self._now, self._next = self._next, self._now
            cl.enqueue_copy(self._queue, state, self._counts)
            size = int(state[_FOUND])
        if self._checks and total < (held < infinity(self._dtype)).sum():
            refuse_reached_cycle(self._graph, held)
        with self._watch.by_the_host("transfer"):
            cl.enqueue_copy(self._queue, predecessors, self._row)


def _resident(device: Device) -> int:
    """Return the number of work-items that a device runs at the same time, about."""
    units = device.capabilities.compute_units
    return int(units * (1 if device.traits.scalar_groups else _RESIDENT))
