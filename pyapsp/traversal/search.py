"""The base classes of the searches from one source: planning, and a search for each source.

A method defines its parameters, its buffers and how its kernels are built. `Search` plans and runs
it. `Search.open` returns a `Searcher`: the graph on the device, on which `search` runs from any
vertex.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import ParameterError
from pyapsp.base.progress import of_sources
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.numbers.checks import check_answer, check_weights
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathMethod, PathOptions, Rows
from pyapsp.paths.device_rows import DeviceRows, HostOrDevice, may_be_clipped
from pyapsp.paths.landing import deliver, room
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.registry import Hashed, Loaded, ParameterValues, Plan, Stats
from pyapsp.registry.tuning.method import BufferedMethod
from pyapsp.traversal.kernels import WidthInGroup
from pyapsp.traversal.narrow import LevelRows, NarrowRow, Row
from pyapsp.traversal.request import sourced

__all__ = ["Lanes", "Search", "Searcher", "StoredParents"]

# Work-items of a group.
_GROUPS = (1, 32, 64, 128, 256, 512, 1024)
_GPU_GROUPS, _CPU_GROUPS = (256, 128, 64, 32, 1), (64, 32, 1)
# Work-items of a vertex, and the number that is usually fastest on GPUs.
_WIDTHS, _WIDTH = (1, 2, 4, 8, 16, 32, 64), 4


_State = TypeVar("_State", bound=Hashed)


class Searcher(Protocol):
    """A graph on the device.

    Attributes
    ----------
    rounds : int
        Levels or rounds of all searches so far.
    """

    rounds: int

    def search(self, source: int) -> None:
        """Search from a vertex; the distances stay on the device."""

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the distances of the last search.

        Parameters
        ----------
        distances : (n,) ndarray or DeviceRows
            Array for the distances; C-contiguous. One row on the device, if the method
            `fills_device_rows`.
        """

    def read_predecessors(
        self, source: int, distances: HostOrDevice, predecessors: HostOrDevice
    ) -> None:
        """Find the predecessors of the last search.

        Parameters
        ----------
        source : int
        distances : (n,) ndarray or DeviceRows
            The distances of that search; infinity beyond the cutoff, or beyond all targets.
        predecessors : (n,) int32 ndarray or DeviceRows
            Array for the predecessors; C-contiguous. On the device if the distances are.
        """


class Search(BufferedMethod, PathMethod, Generic[_State]):
    """Base of the methods that search from one source after the other.

    Attributes
    ----------
    weighted : bool
        Whether the method uses weights. Then the dtype must hold them.
    fills_device_rows : bool
        Whether its searchers write rows that stay on the device. Otherwise rows of the host are
        copied to them.
    resident : bool
        Whether the whole graph is on the device during a search.
    """

    choices: ClassVar[ParameterValues] = {"group": _GROUPS}
    weighted: ClassVar[bool] = False
    fills_device_rows: ClassVar[bool] = True
    resident: ClassVar[bool] = True

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield groups of 256 work-items and smaller ones, on CPUs of 64."""
        for group in _CPU_GROUPS if options.device.traits.scalar_groups else _GPU_GROUPS:
            yield {"group": group}

    @abstractmethod
    def open(self, plan: Plan[Graph, PathOptions, _State], watch: Stopwatch) -> Searcher:
        """Copy the graph to the device; the watch measures transfers."""

    def find(self, searcher: Searcher, source: int, row: Row, before: HostOrDevice | None) -> None:
        """Search from a vertex. The array for the predecessors is filled later, or already here."""
        assert not isinstance(row, NarrowRow)
        searcher.search(source)
        searcher.read_distances(row)

    def finish(self, searcher: Searcher) -> None:
        """Wait for rows of `find` that are on their way to the host; none by default."""

    def leaves(self, plan: Plan[Graph, PathOptions, _State]) -> bool:
        """Return whether the rows of several sources are complete only after `finish`.

        Then there is no cutoff, and there are no targets.
        """
        return False

    def narrow(self, plan: Plan[Graph, PathOptions, _State]) -> bool:
        """Return whether `find` fills a `NarrowRow`, not an array, and also the predecessors."""
        return False

    def check(self, graph: Graph, options: PathOptions) -> None:
        """Raise an error if the method uses weights and the type does not hold them."""
        if self.weighted:
            check_weights(graph, options.dtype)

    def plan(self, graph: Graph, options: PathOptions) -> Plan[Graph, PathOptions, _State]:
        """Check weights and memory, choose sources and parameters and build the kernels."""
        return super().plan(graph, sourced(graph, options))

    def run(self, plan: Plan[Graph, PathOptions, _State]) -> Rows:
        """Search from each source, check its row, and apply the cutoff."""
        graph, options = plan.input, plan.options
        sources, watch, seconds, sent = options.rows(graph.n), Stopwatch(), 0.0, 0.0
        on_device, fills = options.device_rows, self._fills(options)
        # rows on their way to a device take turns in one row of the host
        shape = sources.size if on_device is None else 1, graph.n
        is_narrow, leaves = self.narrow(plan), self.leaves(plan)
        distances, direct, predecessors = self._rows(options, shape)
        narrow: list[NarrowRow] = []
        if is_narrow:
            rows = distances if direct or leaves else [None]
            narrow = [NarrowRow(row, direct=direct) for row in rows]
        tell, searcher = of_sources(options.progress), None
        try:
            for place, source in enumerate(sources.tolist()):
                here = slice(place, place + 1) if on_device is None or fills else slice(1)
                row = distances[here]
                before = None if predecessors is None else predecessors[here]
                with device_errors(options.device, plan.device_bytes):
                    if searcher is None:
                        searcher = self.open(plan, watch)
                        sent = watch.seconds("transfer")
                    started = time.perf_counter()
                    target = narrow[place] if narrow else _one(row)
                    self.find(searcher, source, target, None if before is None else _one(before))
                seconds += time.perf_counter() - started
                if isinstance(row, DeviceRows):
                    checks = self.weighted and options.must_check(graph)
                    if checks and may_be_clipped(graph, row):
                        check_answer(graph, row.get())
                elif not leaves and not narrow:
                    self.settle(graph, options, row)
                if before is not None and not narrow:
                    started = time.perf_counter()
                    with device_errors(options.device, plan.device_bytes):
                        assert searcher is not None
                        searcher.read_predecessors(source, _one(row), _one(before))
                    seconds += time.perf_counter() - started
                    if isinstance(row, np.ndarray):
                        options.hide(row, before)
                        if options.targets is not None:
                            before[row == infinity(row.dtype)] = NO_PREDECESSOR
                if on_device is not None and not fills:
                    on_device[place : place + 1].put(row)
                    if before is not None and options.device_predecessors is not None:
                        options.device_predecessors[place : place + 1].put(before)
                if tell is not None:
                    tell(place + 1, sources.size)
        except BaseException:
            if searcher is not None:  # rows may be on their way; the first error counts
                with suppress(Exception):
                    self.finish(searcher)
            raise
        started = time.perf_counter()
        if searcher is not None:
            with device_errors(options.device, plan.device_bytes):
                self.finish(searcher)
        seconds += time.perf_counter() - started
        if leaves and not narrow:
            self.settle(graph, options, distances)
        transfers = watch.seconds("transfer")
        stats: Stats = {
            # by the clock of the host, because reading the flag between rounds counts as well
            "kernel_seconds": max(seconds - (transfers - sent), 0.0),
            "transfer_seconds": transfers,
            "kernel_hash": plan.state.hash,
            "more": {"rounds": 0 if searcher is None else searcher.rounds},
        }
        whole = options.cutoff is None and options.targets is None
        if whole and (work := getattr(searcher, "work", None)) is not None:
            stats["work"] = work
        if narrow:
            wide = distances if direct or leaves else None
            return LevelRows(narrow, wide, predecessors, stats)
        if on_device is not None:
            distances, predecessors = on_device, options.device_predecessors
        return Rows(distances, predecessors, stats=stats, checked=True)

    def _fills(self, options: PathOptions) -> bool:
        """Return whether searchers write the rows of an answer that stays on the device."""
        whole = options.cutoff is None and options.targets is None
        return options.device_rows is not None and whole and self.fills_device_rows

    def _rows(self, options: PathOptions, shape: tuple[int, int]) -> tuple[Any, bool, Any]:
        """Return rows that searchers write: distances, whether as `room` says, predecessors."""
        if self._fills(options):
            assert options.device_rows is not None
            return options.device_rows, False, options.device_predecessors
        distances, direct = room(options.device, shape, options.dtype)
        predecessors = None
        if options.predecessors:
            predecessors, _ = room(options.device, shape, np.dtype(np.int32))
        return distances, direct, predecessors

    def settle(self, graph: Graph, options: PathOptions, row: np.ndarray) -> None:
        """Check the distances of a source, (1, n), and hide those beyond the cutoff or targets.

        Without a cutoff and targets, they may be those of several sources.
        """
        # as with a cutoff: without negative weights, too large is beyond all targets
        known = not graph.has_negative and options.reaches_targets(row[0])
        if self.weighted and options.must_check(graph) and not known:
            check_answer(graph, row)
        options.hide_beyond_targets(row[0])
        options.hide(row, None)

    def load(self, plan: Plan[Graph, PathOptions, _State]) -> Loaded:
        """Copy the graph to the device.

        Raises
        ------
        ParameterError
            If predecessors are wanted, or the method copies arcs during a search.
        """
        if not self.resident:
            return super().load(plan)
        if plan.options.predecessors:
            raise ParameterError(f"{self.id} finds predecessors only with copies")
        with device_errors(plan.options.device, plan.device_bytes):
            return _LoadedSearch(self, plan, self.open(plan, Stopwatch()))


def _one(rows: HostOrDevice) -> HostOrDevice:
    """Return one row as searchers get it."""
    if isinstance(rows, DeviceRows):
        return rows
    one: np.ndarray = rows[0]
    return one


class _LoadedSearch(Loaded):
    """A graph on the device, and the searches from each source of a plan."""

    def __init__(
        self, method: Search[Any], plan: Plan[Graph, PathOptions, Any], searcher: Searcher
    ) -> None:
        self._method, self._plan, self._searcher = method, plan, searcher
        self._sources = plan.options.rows(plan.input.n).tolist()
        self._last: int | None = None  # the place of the source whose distances are on the device

    def _search(self, place: int) -> None:
        self._searcher.search(self._sources[place])
        self._last = place

    def run(self, times: int = 1) -> None:
        """Search from all sources."""
        options = self._plan.options
        with device_errors(options.device, self._plan.device_bytes):
            for _ in range(times):
                for place in range(len(self._sources)):
                    self._search(place)
            options.device.drain()

    def answer(self) -> Rows:
        """Copy the distances of the last search; search from the other sources once more."""
        graph, options, sources = self._plan.input, self._plan.options, self._sources
        distances = np.empty((len(sources), graph.n), options.dtype)
        for place in reversed(range(len(sources))):
            with device_errors(options.device, self._plan.device_bytes):
                if place != self._last:
                    self._search(place)
                self._searcher.read_distances(distances[place])
                self._method.finish(self._searcher)
            self._method.settle(graph, options, distances[place : place + 1])
        return Rows(distances, None, stats={"kernel_hash": self._plan.state.hash}, checked=True)


class Lanes(WidthInGroup, Search[_State]):
    """Base of the searches in which adjacent work-items share the arcs of a vertex."""

    choices: ClassVar[ParameterValues] = {"width": _WIDTHS, "group": _GROUPS}

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield several work-items for each vertex; on CPUs one."""
        width = 1 if options.device.traits.scalar_groups else _WIDTH
        for candidate in super().candidates(options):
            yield {"width": min(width, candidate["group"]), **candidate}


class StoredParents:
    """Base of the searchers whose kernels store the parents.

    Parameters
    ----------
    plan : Plan
    watch : Stopwatch
        Measures transfers, as phase "transfer".

    Attributes
    ----------
    rounds : int
        Levels or rounds of all searches so far.
    queue : pyopencl.CommandQueue
    n : int
        Vertices.
    parents : pyopencl.Buffer
        n ints, or 1 without predecessors. A subclass makes it.
    """

    parents: cl.Buffer

    def __init__(self, plan: Plan[Graph, PathOptions, Hashed], watch: Stopwatch) -> None:
        self.rounds, self.n = 0, plan.input.n
        self.queue, self.watch = plan.options.device.queue(), watch

    def download(self, buffer: cl.Buffer, row: HostOrDevice) -> None:
        """Copy a buffer to a row of the answer."""
        deliver(self.queue, buffer, row, self.watch)

    def read_predecessors(
        self, source: int, distances: HostOrDevice, predecessors: HostOrDevice
    ) -> None:
        """Download the parents."""
        self.download(self.parents, predecessors)
