"""sssp-delta-stepping: near and far entries; groups relax in rounds of their own.

A launch of the kernel decides from the state of the last launch what it does, so that the host
enqueues a batch of launches before it reads the state. The kernel file has the method and its
cost.

If the type of the distances has 8 bytes, and int32 is proved to hold the same numbers, the search
uses int32. On a device that shares the memory of the host, the arcs are read where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import CapabilityError, PyApspError
from pyapsp.base.host import share
from pyapsp.device.kernels import Stopwatch, build
from pyapsp.device.kernels.residents import scratches
from pyapsp.device.kernels.transfer import in_place, settled, uploaded
from pyapsp.graph import Facts, Graph
from pyapsp.numbers.checks import convert
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import DeviceRows, HostOrDevice
from pyapsp.paths.leaving import AWAY, Leaving
from pyapsp.registry import Parameters, ParameterValues, Plan, register
from pyapsp.traversal.kernels import (
    MOST_COUNTED,
    KernelArgument,
    offset_type,
    standard_of_fences,
)
from pyapsp.traversal.narrow import NarrowRow, Row
from pyapsp.traversal.search import Searcher
from pyapsp.traversal.sssp.tree import (
    NonNegativeSearch,
    Programs,
    Tree,
    type_on_device,
    without_atomics,
    word_defines,
    word_of,
)

__all__ = ["SsspDeltaStepping"]

# Entries, and vertices, are counted in 32 bits with their double.
_LARGEST = 2**30
# A batch has half as many launches as all batches before it, but at least and at most so many.
# Random graphs with a million vertices take 14 to 16 launches. If each batch were twice as long as
# the one before, 24 would be enqueued.
_BATCH, _LONGEST_BATCH = 8, 128
# Work-items for each compute unit of a GPU; a CPU has one.
_ITEMS = 2048
# Arcs of a piece of a vertex, on GPUs and on CPUs.
_CHUNK, _SCALAR_CHUNK = 1024, 4096
# Entries in each of the three lists of a group, and the part of the local memory that they take.
_LIST, _SCALAR_LIST, _PART = 1024, 8192, 2
# Entries in each list of all groups, for each vertex, and at least.
_ROOM, _LEAST_ROOM = 1.0, 1024
# Vertices of a list from the present one to that whose arcs are prefetched.
_AHEAD = 8
# Targets whose distances are read after each batch.
_WATCHED = 16
# Vertices from which rows leave a device while the next search runs.
_LONG = 2**18
# The layout of the state, see the kernel file.
_RECORDS, _RECORD, _BOUNDS = 4, 16, 4
_COUNTS, _STEPS, _LIMIT = [0, 1, 2, 3, 5, 6], 8, 2


@dataclass(frozen=True)
class _Steps(Programs):
    """The kernels, and what each search of a plan needs."""

    dtype: np.dtype  # of the distances on the device
    offsets: np.dtype  # their type there
    weights: np.dtype
    sizes: list[int]  # those of `_own`
    shape: tuple[tuple[int], tuple[int]]  # work-items of a launch, and of a group
    delta: float  # the step of the threshold
    numbers: tuple[np.generic, ...]  # the last arguments of a step, except for the turn


@register
class SsspDeltaStepping(NonNegativeSearch):
    """Delta-stepping with two lists, without a read by the host between rounds.

    Parameters: ``delta`` is the step of the threshold, in mean weights over the mean number of arcs
    of a vertex; ``walk`` is the number of arcs up to which a group relaxes entries alone.

    Source: U. Meyer, P. Sanders, Journal of Algorithms 49(1), 2003.
    """

    id = "sssp-delta-stepping"
    summary = "the threshold rises by delta; groups relax near vertices in rounds of their own"
    source = "Meyer and Sanders 2003, doi:10.1016/S0196-6774(03)00076-2"
    choices: ClassVar[ParameterValues] = {
        "group": (1, 32, 64, 128, 256, 512, 1024),
        "delta": (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 10**9),
        "walk": (0, 256, 1024, 4096, 16384, 65536),
    }

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield groups of 256 work-items and others, and on CPUs one."""
        if options.device.traits.scalar_groups:
            yield {"group": 1, "delta": 8, "walk": 65536}
            return
        for group in (256, 128, 64, 32, 1):
            yield {"group": group, "delta": 32, "walk": 256}

    def unmet(self, about: Graph | Facts, options: PathOptions) -> PyApspError | None:
        """Return the error of a graph that is too large, or of distances that need wide atomics."""
        if about.m > MOST_COUNTED or about.n > _LARGEST:
            return CapabilityError(
                f"{self.id} counts in 32 bits, and the graph has {about.n:,} vertices and "
                f"{about.m:,} arcs"
            )
        error = without_atomics(self.id, about, options, "sssp-near-far")
        return super().unmet(about, options) if error is None else error

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer: arcs, those of `_own`, and predecessors."""
        offsets, weights = offset_type(options.device), _weights(graph, options)
        sizes = [offsets.itemsize * (graph.n + 1), 4 * graph.m, weights.itemsize * graph.m]
        sizes += _own(graph, options, parameters)
        if options.predecessors:
            sizes += Tree.buffers(graph.n)
        return [max(size, 4) for size in sizes]

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> _Steps:
        """Build the kernels, and find what their launches have in common."""
        device, inner = options.device, type_on_device(graph, options.dtype)
        offsets, weights = offset_type(device), _weights(graph, options)
        group, held = parameters.integer("group"), _list_length(options, parameters)
        defines = word_defines(device, inner, offsets, weights) | {
            "PYAPSP_GROUP": group,
            "PYAPSP_CHUNK": _chunk(parameters),
            "PYAPSP_HELD": held,
            "PYAPSP_AHEAD": _AHEAD * device.traits.prefetches * (group == 1),
        }
        file, standard = "traversal/sssp/sssp_delta_stepping.cl", standard_of_fences(device)
        units = device.capabilities.compute_units
        groups = units if device.traits.scalar_groups else max(units * _ITEMS // group, 1)
        delta = _delta(graph, inner, parameters.integer("delta"))
        mean = max(graph.m / max(graph.n, 1), 1)
        width = 1
        while 2 * width <= min(group, 32) and 4 * width <= mean:
            width *= 2
        keep = min(int(parameters.integer("walk") / mean), held)
        return _Steps(
            build(device, file, defines, standard=standard),
            Tree.build(device, inner, offsets, weights) if options.predecessors else None,
            dtype=inner,
            offsets=offsets,
            weights=weights,
            sizes=[max(size, 4) for size in _own(graph, options, parameters)],
            shape=((groups * group,), (group,)),
            delta=delta,
            numbers=(
                *map(np.int32, (graph.n, _room(graph), _pieces(graph, parameters))),
                inner.type(delta),
                options.farthest_in(inner),
                *map(np.int32, (keep, width)),
            ),
        )

    def open(self, plan: Plan[Graph, PathOptions, Programs], watch: Stopwatch) -> _Entries:
        """Copy the graph to the device."""
        return _Entries(plan, watch)

    def find(self, searcher: Searcher, source: int, row: Row, before: HostOrDevice | None) -> None:
        """Search from a vertex, and copy the distances."""
        assert isinstance(searcher, _Entries)
        if isinstance(row, DeviceRows):
            searcher.search(source, row)
            return
        assert not isinstance(row, NarrowRow)
        searcher.search(source)
        searcher.read_distances(row)

    def leaves(self, plan: Plan[Graph, PathOptions, Programs]) -> bool:
        """Return whether several long rows come from a device, no value in a wider word."""
        return _leave(plan.input, plan.options)

    def finish(self, searcher: Searcher) -> None:
        """Wait for distances that are on their way to the host."""
        assert isinstance(searcher, _Entries)
        searcher.finish()


def _weights(graph: Graph, options: PathOptions) -> np.dtype:
    """Return the type of the weights on the device: that of `Graph` if they are used in place."""
    needs = graph.dtype == np.float64 and not options.device.capabilities.fp64
    if in_place(options.device.handle) and not needs:
        return graph.dtype
    return type_on_device(graph, options.dtype)


def _chunk(parameters: Parameters) -> int:
    """Return the number of arcs of a piece."""
    return _CHUNK if parameters.integer("group") > 1 else _SCALAR_CHUNK


def _list_length(options: PathOptions, parameters: Parameters) -> int:
    """Return the number of entries in a list of a group."""
    most = _LIST if parameters.integer("group") > 1 else _SCALAR_LIST
    entry = 3 * (4 + options.dtype.itemsize)
    while most > 16 and _PART * most * entry > options.device.capabilities.local_memory:
        most //= 2
    return most


def _room(graph: Graph) -> int:
    """Return the number of entries in a list."""
    return max(int(_ROOM * graph.n), _LEAST_ROOM)


def _pieces(graph: Graph, parameters: Parameters) -> int:
    """Return the number of pieces in a list: at least those of any one vertex, or none fits.

    Less than two for each chunk are needed, unless a vertex is cut twice in a launch.
    """
    return max(2 * (graph.m // _chunk(parameters)), 1)


def _own(graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
    """Return the bytes of words, entries, offers, pieces, their offers, lost, state and bounds."""
    inner, pieces = type_on_device(graph, options.dtype), _pieces(graph, parameters)
    item, word = inner.itemsize, word_of(inner)
    lists = [16 * _room(graph), 4 * item * _room(graph), 16 * pieces, 2 * item * pieces]
    lost = 4 * -(-graph.n // 32)
    return [word * graph.n, *lists, lost, 4 * _RECORDS * _RECORD, word * _RECORDS * _BOUNDS]


def _delta(graph: Graph, dtype: np.dtype, factor: int) -> float:
    """Return the step of the threshold: at least 1 in integers."""
    if graph.m == 0:
        return 1
    mean = graph.mean_weight * graph.n / graph.m
    if dtype.kind in "iu":
        return max(min(round(factor * mean), infinity(dtype) - 1), 1)
    with np.errstate(over="ignore"):
        return float(min(factor * mean, np.finfo(dtype).max))


def _leave(graph: Graph, options: PathOptions) -> bool:
    """Return whether rows leave the device while the next search runs."""
    whole = options.cutoff is None and options.targets is None and options.device_rows is None
    long = graph.n >= _LONG and options.count(graph.n) > 1 and not in_place(options.device.handle)
    return whole and long and type_on_device(graph, options.dtype).itemsize >= 4


class _Entries:
    """A graph on the device, and the lists of a search from one of its vertices.

    Attributes
    ----------
    rounds : int
        Launches that relaxed entries, in all searches so far.
    """

    rounds = 0

    def __init__(self, plan: Plan[Graph, PathOptions, Programs], watch: Stopwatch) -> None:
        graph, options, steps = plan.input, plan.options, plan.state
        assert isinstance(steps, _Steps)
        device, self._watch = options.device, watch
        self._n, self._dtype, self._shape = graph.n, steps.dtype, steps.shape
        self._queue = device.own_queue()
        self._arcs = uploaded(
            *(self._queue, watch, (graph.indptr, steps.offsets), (graph.indices, None)),
            (graph.weights, steps.weights),
        )
        self._own = scratches(device, steps.sizes)
        settled(self._queue, *self._own)
        self._words, self._state, self._bounds = self._own[0], self._own[6], self._own[7]
        targets = [] if options.targets is None else options.targets.tolist()
        self._targets = targets if len(targets) <= _WATCHED else []
        self._start, self._step = map(steps.search.kernel, ("sssp_start", "sssp_step"))
        self._delta = steps.delta
        self._fixed: tuple[KernelArgument, ...] = (*self._arcs, *self._own, *steps.numbers)
        self._tree = Tree.planned(plan, self._arcs, self._dtype)
        self._leaving: Leaving | None = None
        self._left: cl.Event | None = None
        if _leave(graph, options):
            size = AWAY * self._dtype.itemsize * graph.n
            self._leaving = Leaving(
                device, size, lambda values, row: convert(values[None], row[None])
            )

    def search(self, source: int, row: DeviceRows | None = None) -> None:
        """Launch steps until no entries are left, and copy the distances to a row of the device.

        The copy follows each batch of launches: most searches end with the first or the second, and
        the host waits once for a batch.
        """
        words, vertices, offers, _, _, lost, state, bounds = self._own
        start = words, vertices, offers, lost, state, bounds, np.int32(source), np.int32(self._n)
        if self._left is not None:
            cl.enqueue_barrier(self._queue, wait_for=[self._left])
        self._start(self._queue, *self._shape, *start)
        turn, batch, copy = 0, _BATCH, None
        found = self._queue, self._words, self._dtype, self._n, word_of(self._dtype)
        records = np.empty((_RECORDS, _RECORD), np.int32)
        while True:
            for _ in range(batch):
                self._step(self._queue, *self._shape, *self._fixed, np.int32(turn % _RECORDS))
                turn += 1
            if row is not None:
                self._queue.flush()
                copy = copy or row.copying(*found)  # made while the first launches run
                copy()
            cl.enqueue_copy(self._queue, records, self._state)
            record = records[turn % _RECORDS].tolist()
            if not any(record[each] for each in _COUNTS) or self._knows_targets(turn):
                break
            batch = min(max(_BATCH, turn // 2), _LONGEST_BATCH)
        self.rounds += record[_STEPS]

    def _knows_targets(self, turn: int) -> bool:
        """Return whether no entry that is left can lower the distance of a target.

        When the threshold was raised, no entry was nearer than the threshold less delta, and
        weights are not negative.
        """
        if not self._targets:
            return False
        word = np.empty(1, self._dtype if self._dtype.itemsize >= 4 else np.int32)
        cl.enqueue_copy(
            self._queue,
            word,
            self._bounds,
            src_offset=word.itemsize * (turn % _RECORDS * _BOUNDS + _LIMIT),
        )
        limit = self._values(word)[0]
        # the threshold is rounded if it is a float
        rounding = 0 if self._dtype.kind in "iu" else 2 * float(np.spacing(limit))
        known = limit.item() - self._value(self._delta) - rounding
        for target in self._targets:
            cl.enqueue_copy(self._queue, word, self._words, src_offset=word.itemsize * target)
            if not self._values(word)[0].item() <= known:
                return False
        return True

    def _value(self, number: float) -> int | float:
        """Return a number as the kernels have it."""
        value: int | float = self._dtype.type(number).item()
        return value

    def _values(self, words: np.ndarray) -> np.ndarray:
        """Return the distances in words."""
        if self._dtype.itemsize >= 4:
            return words
        return words.astype(np.uint16).view(self._dtype)

    def read_predecessors(
        self, source: int, distances: HostOrDevice, predecessors: HostOrDevice
    ) -> None:
        """Find the predecessors from the distances."""
        assert self._tree is not None, "planned without predecessors"
        farthest = None
        if self._targets and isinstance(distances, np.ndarray):  # others may be too far
            known = distances[distances < infinity(distances.dtype)]
            farthest = self._dtype.type(known.max())
        self._tree.find(self._words, source, predecessors, self._watch, farthest)

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the distances into a row; the device may hold them in another type.

        If there are several sources, they may arrive while the next search runs, until `finish`.
        """
        assert isinstance(distances, np.ndarray)
        if self._leaving is not None:
            ready = cl.enqueue_marker(self._queue)
            self._queue.flush()
            self._left = self._leaving.take(self._words, self._dtype, ready, distances)
            return
        row = distances
        if self._dtype != distances.dtype:
            row = np.empty(self._n, self._dtype)
        words = row if self._dtype.itemsize >= 4 else np.empty(self._n, np.int32)
        with self._watch.by_the_host("transfer"):
            cl.enqueue_copy(self._queue, words, self._words)
        if words is not row:
            row[...] = self._values(words)
        if row is not distances:

            def convert_part(first: int, last: int) -> None:
                convert(row[None, first:last], distances[None, first:last])

            share(convert_part, self._n, distances.nbytes)

    def finish(self) -> None:
        """Wait for distances that are on their way to the host."""
        if self._leaving is not None:
            with self._watch.by_the_host("transfer"):
                self._leaving.finish()
