"""bfs-direction-optimising: pushes or pulls; one group finds small levels alone.

A launch of the kernel decides from the state of the last launch what it does, so that the host
enqueues a batch of launches before it reads the state. The kernel file has the method and its
cost.

Pulling needs the entering arcs. In a symmetric graph these are the leaving arcs. If nothing is
known about a graph with many arcs for each vertex, all arcs are tested first, which takes a third
of a search that pushes alone. A graph that is not symmetric is reversed only for many sources,
because reversing takes as long as several searches.

On a device that shares the memory of the host, the arcs are read where they are, and the levels and
parents are written into the arrays of the answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import CapabilityError, PyApspError, StallError
from pyapsp.device.kernels import Program, Stopwatch, build
from pyapsp.device.kernels.residents import scratch, scratches
from pyapsp.device.kernels.transfer import awaited, hand_back, in_place, read_back, shared, uploaded
from pyapsp.graph import Facts, Graph
from pyapsp.numbers.arithmetic import C_TYPES
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import DeviceRows, HostOrDevice
from pyapsp.paths.landing import deliver
from pyapsp.paths.leaving import AWAY, Leaving
from pyapsp.registry import Parameters, ParameterValues, Plan, register
from pyapsp.traversal.bfs.smallest_parents import SmallestParents
from pyapsp.traversal.kernels import MOST_COUNTED, KernelArgument, offset_type, search_defines
from pyapsp.traversal.narrow import NarrowRow, Row
from pyapsp.traversal.search import Search, Searcher
from pyapsp.traversal.symmetry import Symmetry, known_symmetric

__all__ = ["BfsDirectionOptimising"]

_FILE = "traversal/bfs/bfs_direction_optimising.cl"
# A graph that is not known to be symmetric is reversed for so many sources.
_MANY = 16
# Mean number of arcs of a vertex, and number of arcs, from which pulling may pay for the test.
# Graphs with fewer arcs for each vertex, as grids and roads, have many small levels.
_DENSE, _LARGE = 8, 2**18
# Launches of the first batch. A batch is twice as long as the one before, up to the limit.
_BATCH, _LONGEST_BATCH = 8, 128
# Compute units of a CPU where one walks through larger levels than all of them push.
_FEW = 2
# Work-groups for each compute unit of a GPU; a CPU has one.
_GROUPS = 2
# The largest part of the arcs' memory that the bit maps of groups take.
_PART = 4
# Arcs of a piece of a vertex, on GPUs and on CPUs.
_CHUNK, _SCALAR_CHUNK = 1024, 4096
# Arcs of a frontier up to which a walk goes on, even if a pull would find the next level.
_STROLL = 2**17
# Vertices of the queue from the present one to that whose arcs are prefetched.
_AHEAD = 6
# What follows a vertex is prefetched if, of so many arcs, one in four or more join numbers that
# differ by at most 16, and the graph has more vertices than caches hold. A grid takes two thirds of
# the time; if its vertices are shuffled, prefetches would take a sixth more.
_ARCS, _SHARE, _CLOSE, _UNCACHED = 256, 4, 16, 2**17
# Vertices from which levels come to the host in the narrowest type.
_LONG = 2**18
# Arcs of a graph whose search is a short run.
_SHORT = 2**16
# The layout of the state, see the kernel file.
_RECORDS, _RECORD, _FOUND, _LEVEL, _REST, _STALLED = 4, 16, 2, 7, 10, (4, 12)


@dataclass(frozen=True)
class _Programs:
    """The kernels, and what each search of a plan needs."""

    search: Program
    push: Program | None  # for the case that the graph turns out not to be symmetric
    symmetry: Symmetry | None
    mode: _Mode
    offsets: np.dtype  # their type on the device
    sizes: list[int]  # those of `_own`
    shape: tuple[tuple[int], tuple[int]]  # work-items of a launch, and of a group
    limits: tuple[np.int32, ...]  # the last arguments of a step
    batch: int  # launches of the first batch

    @property
    def hash(self) -> str:
        return self.search.hash


class _Mode(Enum):
    """Where the entering arcs are from."""

    NONE = "push alone"
    SAME = "the graph is symmetric"
    TEST = "the graph is tested"
    TURN = "the graph is reversed"


@register
class BfsDirectionOptimising(Search[_Programs]):
    """Breadth-first search that changes between push and pull without a read by the host.

    Parameters: ``alpha`` and ``beta`` decide when the direction changes (``alpha=0`` never pulls),
    ``walk`` is the number of vertices and arcs up to which one group finds a level alone, and
    ``march`` the number up to which ``crew`` groups find it, which wait for each other.

    Source: S. Beamer, K. Asanović, D. Patterson, SC 2012.
    """

    id = "bfs-direction-optimising"
    problem = "bfs"
    summary = "pushes from small levels, pulls into large ones; one group finds runs of tiny levels"
    source = "Beamer, Asanović and Patterson 2012, doi:10.1109/SC.2012.50"
    carries_predecessors = True
    choices: ClassVar[ParameterValues] = {
        "group": (1, 32, 64, 128, 256, 512, 1024),
        "alpha": (0, 5, 15, 45, 10**9),
        "beta": (1, 18, 54, 10**9),
        "walk": (0, 1024, 2048, 4096, 16384, 65536, 2**20),
        "crew": (0, 4, 8, 16, 32, 64),
        "march": (0, 16384, 65536, 2**18),
    }

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield large groups, and on CPUs one work-item, which walks through more arcs."""
        scalar = options.device.traits.scalar_groups
        few = options.device.capabilities.compute_units <= _FEW
        # on CPUs a walk takes half as long for an arc as a push, which needs atomics
        walk = 4096 if not scalar else 2**20 if few else 65536
        some = {"alpha": 15, "beta": 18, "walk": walk, "crew": 0, "march": 0}
        more = {"walk": 1024, "crew": 32, "march": 65536}
        for group in (1,) if scalar else (512, 1024, 256, 128, 64, 32, 1):
            if group > 1 and options.device.capabilities.device_scope_fence:
                yield {"group": group, **some, **more}
            yield {"group": group, **some}

    def fits(self, parameters: Parameters, options: PathOptions) -> bool:
        """Return whether the device has such groups, and those of a crew can wait."""
        can_wait = (
            options.device.capabilities.device_scope_fence and parameters.integer("group") > 1
        )
        return super().fits(parameters, options) and (can_wait or not parameters.integer("crew"))

    def rule(self, options: PathOptions) -> str:
        """Return the limits."""
        return f"{super().rule(options)}, and crew=0 if group=1 or without device_scope_fence"

    def unmet(self, about: Graph | Facts, options: PathOptions) -> PyApspError | None:
        """Return the error of a graph with nearly 2^31 arcs, which are counted in 32 bits."""
        if max(about.m, about.n) > MOST_COUNTED:
            return CapabilityError(
                f"{self.id} counts in 32 bits, and the graph has {about.n:,} vertices and "
                f"{about.m:,} arcs"
            )
        return super().unmet(about, options)

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer: arcs, entering arcs, and those of `_own`."""
        first = offset_type(options.device).itemsize * (graph.n + 1)
        arcs = [first, 4 * graph.m]
        mode = _mode(graph, options, parameters)
        if mode is _Mode.TURN:
            arcs *= 2
        own = *_own(graph, options, parameters, mode), *_spaces(graph, options)
        return [max(size, 4) for size in (*arcs, *own)]

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> _Programs:
        """Build the kernels, and find what their launches have in common."""
        device, mode = options.device, _mode(graph, options, parameters)
        offsets, group, walk = offset_type(device), *parameters.integers("group", "walk")

        def built(pulls: bool) -> Program:
            defines: dict[str, str | int] = {
                **parameters.macros("group", "crew"),
                **search_defines(options),
                "PYAPSP_OFFSET": C_TYPES[offsets.name],
                "PYAPSP_PULL": int(pulls),
                "PYAPSP_CHUNK": _chunk(parameters),
                "PYAPSP_AHEAD": _AHEAD * device.traits.prefetches,
                "PYAPSP_NEAR": int(device.traits.prefetches and group == 1 and _is_near(graph)),
                "PYAPSP_STROLL": _STROLL,
            }
            standard = device.capabilities.c_standard if parameters.integer("crew") else None
            return build(device, _FILE, defines, standard=standard)

        tests = mode is _Mode.TEST
        return _Programs(
            built(mode is not _Mode.NONE),
            built(False) if tests else None,
            Symmetry(device, group, offsets) if tests else None,
            mode,
            offsets=offsets,
            sizes=[max(size, 4) for size in _own(graph, options, parameters, mode)],
            shape=((group * _groups(graph, options, group),), (group,)),
            limits=tuple(map(np.int32, parameters.integers("walk", "march", "alpha", "beta"))),
            # a walk finds all levels of a graph with few arcs
            batch=1 if max(graph.n, graph.m) <= walk else _BATCH,
        )

    def open(self, plan: Plan[Graph, PathOptions, _Programs], watch: Stopwatch) -> _Search:
        """Copy the graph to the device."""
        return _Search(plan, watch)

    def narrow(self, plan: Plan[Graph, PathOptions, _Programs]) -> bool:
        """Return whether many levels come from a device, and there is no limit on the distance."""
        return plan.options.count(plan.input.n) > 0 and _is_narrow(plan.input, plan.options)

    def leaves(self, plan: Plan[Graph, PathOptions, _Programs]) -> bool:
        """Return whether there are several rows of levels in the narrowest type."""
        return bool(_spaces(plan.input, plan.options))

    def find(self, searcher: Searcher, source: int, row: Row, before: HostOrDevice | None) -> None:
        """Search from a vertex, and find the predecessors with the levels."""
        assert isinstance(searcher, _Search)
        searcher.fill(source, row, before)

    def finish(self, searcher: Searcher) -> None:
        """Wait for the levels."""
        assert isinstance(searcher, _Search)
        searcher.finish()


def _mode(graph: Graph, options: PathOptions, parameters: Parameters) -> _Mode:
    """Return whether and how the search gets entering arcs."""
    symmetric = known_symmetric(graph)
    if parameters.integer("alpha") == 0:
        return _Mode.NONE
    if symmetric:
        return _Mode.SAME
    if options.sources is not None and options.sources.size >= _MANY:
        return _Mode.TURN
    many = graph.m >= max(_DENSE * graph.n, _LARGE)
    return _Mode.TEST if many and symmetric is None else _Mode.NONE


def _is_near(graph: Graph) -> bool:
    """Return whether many neighbours have close numbers, by some arcs."""
    if graph.n < _UNCACHED or graph.m < _ARCS:
        return False
    arcs = np.arange(_ARCS) * (graph.m // _ARCS)
    tails = np.searchsorted(graph.indptr, arcs, side="right") - 1
    close = np.abs(graph.indices[arcs] - tails) <= _CLOSE
    return bool(_SHARE * np.count_nonzero(close) >= _ARCS)


def _chunk(parameters: Parameters) -> int:
    """Return the number of arcs of a piece."""
    return _CHUNK if parameters.integer("group") > 1 else _SCALAR_CHUNK


def _own(graph: Graph, options: PathOptions, parameters: Parameters, mode: _Mode) -> list[int]:
    """Return the bytes of levels, parents, queue, pieces, bit maps, maps of groups, and state."""
    # a vertex that is in pieces has more than one, and less than two for each chunk
    pieces = 2 * (graph.m // _chunk(parameters))
    words = -(-graph.n // 32)
    rows = 4 * graph.n, 4 * graph.n * options.predecessors, 4 * graph.n
    # a group of one work-item has a bit map, if it pushes alone
    alone = parameters.integer("group") == 1 and mode in (_Mode.NONE, _Mode.TEST)
    maps = _groups(graph, options, parameters.integer("group")) * alone
    state = max(4 * (_RECORDS + 1) * _RECORD, Symmetry.bytes(options.device))
    return [*rows, 8 * pieces, 8 * words, 4 * words * maps, state]


def _is_narrow(graph: Graph, options: PathOptions) -> bool:
    """Return whether levels come to the host in the narrowest type."""
    whole = options.cutoff is None and options.targets is None and options.device_rows is None
    return whole and graph.n >= _LONG and not in_place(options.device.handle)


def _spaces(graph: Graph, options: PathOptions) -> list[int]:
    """Return the bytes of levels on their way to the host while the next search runs."""
    leave = options.count(graph.n) > 1 and _is_narrow(graph, options)
    return [max(4 * graph.n, 4)] * 2 * leave


def _groups(graph: Graph, options: PathOptions, group: int) -> int:
    """Return the number of groups: few, because each takes work as long as there is some."""
    units = options.device.capabilities.compute_units
    if group > 1:
        return units if options.device.traits.scalar_groups else _GROUPS * units
    most = (8 * graph.n + 4 * graph.m) // _PART // max(graph.n // 8, 1)
    return max(min(units, most), 1)


def _nothing() -> None:
    """Send nothing."""


class _Search:
    """A graph on the device, and the state of a search from one of its vertices.

    Attributes
    ----------
    rounds : int
        Levels of all searches so far; after each search one level is empty.
    work : int
        Arcs that leave the vertices that were reached, summed over the searches.
    """

    def __init__(self, plan: Plan[Graph, PathOptions, _Programs], watch: Stopwatch) -> None:
        graph, options, programs = plan.input, plan.options, plan.state
        self.rounds = self.work = 0
        self._n, self._m, self._watch = graph.n, graph.m, watch
        # whether the device writes the rows of the answer where they are
        self._shares = in_place(options.device.handle) and options.device_rows is None
        self._queue, self._device = options.device.own_queue(), options.device.name
        self._offsets, self._shape = programs.offsets, programs.shape
        self._limits, self._batch = programs.limits, programs.batch
        self._arcs = self._entering = self._uploaded(graph.indptr, graph.indices)
        if programs.mode is _Mode.TURN:
            entering = graph.reversed()
            self._entering = self._uploaded(entering.indptr, entering.indices)
        sizes = programs.sizes
        # the rows of the answer take the place of the first two, if the device can write to them
        device = options.device
        self._levels = None if self._shares else scratch(device, sizes[0])
        written = self._shares and options.predecessors
        self._parents = None if written else scratch(device, sizes[1])
        self._own = scratches(device, sizes[2:])
        # levels on their way to the host, and the event after which there is room for others
        spaces = scratches(device, _spaces(graph, options))
        self._spaces = deque[tuple[cl.Buffer, cl.Event | None]]((each, None) for each in spaces)
        self._leaving = Leaving(options.device, AWAY * 4 * graph.n) if spaces else None
        self._parents_left: cl.Event | None = None
        # sends the last levels on their way, best while the next search runs
        self._send: Callable[[], None] = _nothing
        self._state, kernels = self._own[-1], programs.search
        if programs.symmetry is not None and not programs.symmetry.holds(
            graph, self._queue, self._arcs, self._state
        ):
            assert programs.push is not None
            kernels = programs.push
        self._pulls = kernels is programs.search and programs.mode is not _Mode.NONE
        self._smallest = (
            SmallestParents(self._queue, options, self._offsets) if options.predecessors else None
        )
        names = "bfs_start", "bfs_step", "bfs_narrow"
        self._start, self._step, self._narrow = map(kernels.kernel, names)

    def search(self, source: int) -> None:
        """Find the levels of all vertices, which stay on the device."""
        if self._levels is None:  # until now the device wrote into the memory of the host
            self._levels = cl.Buffer(
                self._queue.context, cl.mem_flags.READ_WRITE, max(4 * self._n, 4)
            )
        self._find(source, (self._levels, self._parents, *self._own), [])

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the levels."""
        self._download(self._levels, distances)

    def fill(self, source: int, distances: Row, predecessors: HostOrDevice | None = None) -> None:
        """Find the levels of all vertices, and their parents."""
        queue = self._queue
        levels, parents = self._levels, self._parents
        rows: list[tuple[cl.Buffer, np.ndarray]] = []
        if self._shares:
            assert isinstance(distances, np.ndarray)
            levels = shared(queue, distances)
            rows.append((levels, distances))
            if predecessors is not None:
                assert isinstance(predecessors, np.ndarray)
                parents = shared(queue, predecessors)
        if self._parents_left is not None:
            cl.enqueue_barrier(queue, wait_for=[self._parents_left])
        then = None
        if isinstance(distances, DeviceRows):
            assert levels is not None
            then = partial(distances.copying, queue, levels, distances.dtype, self._n)
        state = self._find(source, (levels, parents, *self._own), rows, then)
        if predecessors is not None:
            assert self._smallest is not None
            assert levels is not None
            assert parents is not None
            if self._pulls:
                self._smallest.of_entering(self._entering, levels, parents, self._n)
            else:
                self._smallest.of_rows(self._arcs, levels, parents, self._n)
            if self._shares:
                assert isinstance(predecessors, np.ndarray)
                read_back(queue, parents, predecessors)
        if isinstance(distances, NarrowRow):
            self._take(distances, int(state[_LEVEL]) - 1)
        elif not self._shares and then is None:
            self._download(self._levels, distances)
        if predecessors is None or self._shares:
            return
        if self._leaving is None:
            self._download(self._parents, predecessors)
            return
        assert isinstance(predecessors, np.ndarray)
        assert parents is not None
        ready = cl.enqueue_marker(queue)
        queue.flush()
        self._parents_left = self._leaving.take(parents, predecessors.dtype, ready, predecessors)

    def _find(
        self,
        source: int,
        arrays: tuple[cl.Buffer | None, ...],
        rows: list[tuple[cl.Buffer, np.ndarray]],
        then: Callable[[], Callable[[], object]] | None = None,
    ) -> np.ndarray:
        """Find the levels, and return the last record of the state; the rest as for `_advanced`."""
        n, entering, source_ = np.int32(self._n), self._entering[0], np.int32(source)
        first = self._arcs[0], entering, *arrays, source_, n, np.int32(self._m)
        self._start(self._queue, *self._shape, *first)
        state = self._advanced((*self._arcs, *self._entering, *arrays, n), rows, then)
        self.rounds += int(state[_LEVEL])
        self.work += self._m - int(state[_REST])
        return state

    def _take(self, row: NarrowRow, most: int) -> None:
        """Bring levels up to `most` in the narrowest type, or in that of an array to be written.

        If there are several sources, they arrive while the next search runs, until `finish`.
        """
        kind, given = row.kind(most), (self._queue, *self._shape)
        size = np.int32(self._n), np.int32(kind.itemsize)
        if self._leaving is None:
            space = self._own[0]  # the queue is not needed any more
            self._narrow(*given, self._levels, space, *size)
            self._download(space, row.room(self._n, kind))
            return
        space, last = self._spaces.popleft()
        wait = None if last is None else [last]
        ready = self._narrow(*given, self._levels, space, *size, wait_for=wait)
        leaving = self._leaving

        def send() -> None:
            self._queue.flush()
            self._spaces.append((space, leaving.take(space, kind, ready, row.values)))

        self._send = send

    def _send_last(self) -> None:
        """Send the last levels on their way to the host, if they are not."""
        send, self._send = self._send, _nothing
        send()

    def finish(self) -> None:
        """Wait for rows that are on their way to the host."""
        if self._leaving is not None:
            with self._watch.by_the_host("transfer"):
                try:
                    self._send_last()
                finally:
                    self._leaving.finish()

    def _advanced(
        self,
        arguments: tuple[KernelArgument, ...],
        rows: list[tuple[cl.Buffer, np.ndarray]],
        then: Callable[[], Callable[[], object]] | None,
    ) -> np.ndarray:
        """Launch steps until a frontier is empty; return the record of that frontier.

        The rows are the arrays in which the device writes. `then` is called while the first batch
        runs. What the function that it returns enqueues follows each batch: it is rarely in vain,
        for most searches end with the first. The host waits once for a batch.
        """
        turn, batch, limits, follow = 0, self._batch, self._limits, None
        state = np.empty((_RECORDS + 1, _RECORD), np.int32)
        while True:
            last = turn + batch
            steps = [
                self._step(self._queue, *self._shape, *arguments, np.int32(each), *limits)
                for each in range(turn, last)
            ]
            turn = last
            # an event of a copy that is not kept waits for the copy
            events = [cl.enqueue_copy(self._queue, state, self._state, is_blocking=False)]
            events += [hand_back(self._queue, buffer, row) for buffer, row in rows]
            if then is not None:
                self._queue.flush()
                follow = follow or then()
                follow()
            self._send_last()
            if self._m <= _SHORT:
                awaited(self._queue, steps[0], events[-1])
            else:
                self._queue.finish()
            if state[_STALLED]:
                raise StallError(
                    f"{BfsDirectionOptimising.id} stalled on {self._device}: a group of the crew "
                    "waited while the others did not run. The answer was discarded; use crew=0"
                )
            record = state[turn % _RECORDS]
            if record[_FOUND] == 0:
                return np.array(record)
            batch = min(max(2 * batch, _BATCH), _LONGEST_BATCH)

    def read_predecessors(
        self, source: int, distances: HostOrDevice, predecessors: HostOrDevice
    ) -> None:
        """Do nothing: the search has found them."""

    def _download(self, buffer: cl.Buffer | None, row: HostOrDevice) -> None:
        assert buffer is not None
        deliver(self._queue, buffer, row, self._watch)

    def _uploaded(self, first: np.ndarray, heads: np.ndarray) -> list[cl.Buffer]:
        return uploaded(self._queue, self._watch, (first, self._offsets), (heads, None))
