"""The base classes of the searches from one source: planning, and a search for each source.

A method defines its parameters, its buffers and how its kernels are built. `Search` plans and runs
it. `Search.open` returns a `Searcher`: the graph on the device, on which `search` runs from any
vertex.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import ParameterError
from pyapsp.base.progress import of_sources
from pyapsp.base.reuse import empty
from pyapsp.base.together import in_turns
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.numbers.checks import check_answer, check_weights
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathMethod, PathOptions, Rows
from pyapsp.paths.device_rows import DeviceRows, HostOrDevice, may_be_clipped
from pyapsp.paths.landing import deliver, writes
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.paths.sharing import each_plan, shared, stats_of
from pyapsp.registry import Hashed, Loaded, ParameterValues, Plan, Stats
from pyapsp.registry.tuning.method import BufferedMethod
from pyapsp.traversal.kernels import WidthInGroup
from pyapsp.traversal.narrow import LevelRows, NarrowRow, Row
from pyapsp.traversal.request import NO_LEVEL, sourced

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
    multidevice = True
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
        return shared(super().plan, graph, sourced(graph, options))

    def run(self, plan: Plan[Graph, PathOptions, _State]) -> Rows:
        """Search from each source, check its row, and apply the cutoff."""
        graph, options = plan.input, plan.options
        sources, plans = options.rows(graph.n), each_plan(plan)
        on_device, fills = options.device_rows, self._fills(options)
        # rows on their way to a device take turns in one row of the host
        shape = sources.size if on_device is None else 1, graph.n
        distances, predecessors = self._rows(options, shape)
        parts = [_Part(self, each, distances, predecessors, fills=fills) for each in plans]
        is_narrow, leaves = any(each.narrow for each in parts), any(each.leaves for each in parts)
        wide = leaves or parts[0].direct
        rows: list[NarrowRow] = []
        if is_narrow:
            # one row may stay narrow
            rows = [NarrowRow(row) for row in distances] if wide else [NarrowRow()]
        workers = [partial(each.fill, rows) for each in parts]
        in_turns(workers, [1] * len(parts), sources.size, of_sources(options.progress))
        if leaves and not is_narrow:
            self.settle(graph, options, distances)
        stats = stats_of(plans, [each.stats() for each in parts], [each.sources for each in parts])
        stats.setdefault("more", {})["rounds"] = sum(each.rounds for each in parts)
        work = [each.work for each in parts]
        if options.cutoff is None and options.targets is None and None not in work:
            stats["work"] = sum(filter(None, work))
        if is_narrow:
            return LevelRows(rows, distances if wide else None, predecessors, stats)
        if on_device is not None:
            distances, predecessors = on_device, options.device_predecessors
        return Rows(distances, predecessors, stats=stats, checked=True)

    def _fills(self, options: PathOptions) -> bool:
        """Return whether searchers write the rows of an answer that stays on the device."""
        whole = options.cutoff is None and options.targets is None
        return options.device_rows is not None and whole and self.fills_device_rows

    def _rows(self, options: PathOptions, shape: tuple[int, int]) -> tuple[Any, Any]:
        """Return rows that searchers write: distances, and predecessors."""
        if self._fills(options):
            return options.device_rows, options.device_predecessors
        distances = empty(shape, options.dtype)
        return distances, empty(shape, np.int32) if options.predecessors else None

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
            If predecessors are wanted, the method copies arcs during a search, or there are several
            devices.
        """
        if not self.resident or plan.options.helpers:
            return super().load(plan)
        if plan.options.predecessors:
            raise ParameterError(f"{self.id} finds predecessors only with copies")
        with device_errors(plan.options.device, plan.device_bytes):
            return _LoadedSearch(self, plan, self.open(plan, Stopwatch()))


class _Part:
    """The searches of one device, into rows of the answer.

    Parameters
    ----------
    method : Search
    plan : Plan
        For this device.
    distances, predecessors : (k, n) ndarray or DeviceRows
        A row for each source; if they are on their way to a device, one for all.
    fills : bool
        Whether they are on the device.

    Attributes
    ----------
    narrow, leaves : bool
        As `Search.narrow` and `Search.leaves`.
    direct : bool
        Whether the device writes the rows of the host without its help.
    sources : int
        The number of sources that have been searched.
    """

    def __init__(
        self,
        method: Search[Any],
        plan: Plan[Graph, PathOptions, Any],
        distances: Any,
        predecessors: Any,
        *,
        fills: bool,
    ) -> None:
        self._method, self._plan, self._rows = method, plan, (distances, predecessors)
        self.narrow, self.leaves = method.narrow(plan), method.leaves(plan)
        self.direct = not fills and writes(plan.options.device, distances)
        self._fills = fills
        self._watch = Stopwatch()
        self._searcher: Searcher | None = None
        self._seconds = self._sent = 0.0
        self.sources = 0

    def fill(self, rows: list[NarrowRow], places: Iterator[slice]) -> None:
        """Search from some sources, one after the other.

        Parameters
        ----------
        rows : list of NarrowRow
            Those of all sources; empty if no device has narrow rows.
        places : iterator of slice
            The places of the sources, one each.
        """
        try:
            for place in places:
                self._fill(place, rows)
                self.sources += 1
        except BaseException:
            if self._searcher is not None:  # rows may be on their way; the first error counts
                with suppress(Exception):
                    self._method.finish(self._searcher)
            raise
        if self._searcher is not None and self.leaves:
            with self._at_work():
                self._method.finish(self._searcher)

    def _fill(self, place: slice, rows: list[NarrowRow]) -> None:
        """Search from one source."""
        method, options = self._method, self._plan.options
        source = int(options.rows(self._plan.input.n)[place.start])
        # rows of the host that are copied to these take turns in one array
        kept = None if self._fills else options.device_rows
        here = place if kept is None else slice(1)
        distances, predecessors = self._rows
        row, before = distances[here], None if predecessors is None else predecessors[here]
        target: Row = _one(row)
        if self.narrow:
            rows[place.start].direct = self.direct
            target = rows[place.start]
        searcher = self._opened()
        with self._at_work():
            method.find(searcher, source, target, None if before is None else _one(before))
        if self.narrow:
            return
        self._settle(row)
        if before is not None:
            self._find_predecessors(source, row, before)
        if kept is not None:
            kept[place].put(row)
            if before is not None and options.device_predecessors is not None:
                options.device_predecessors[place].put(before)
        if rows:  # those of other devices have levels
            row[row == infinity(row.dtype)] = NO_LEVEL

    def _opened(self) -> Searcher:
        """Return the graph on the device, which is copied for the first source."""
        if self._searcher is None:
            with device_errors(self._plan.options.device, self._plan.device_bytes):
                self._searcher = self._method.open(self._plan, self._watch)
                self._sent = self._watch.seconds("transfer")
        return self._searcher

    def _settle(self, row: HostOrDevice) -> None:
        """Check a row, and apply the cutoff, unless `Search.run` does so after all searches."""
        method, graph, options = self._method, self._plan.input, self._plan.options
        if isinstance(row, DeviceRows):
            checks = method.weighted and options.must_check(graph)
            if checks and may_be_clipped(graph, row):
                check_answer(graph, row.get())
        elif not self.leaves:
            method.settle(graph, options, row)

    def _find_predecessors(self, source: int, row: HostOrDevice, before: HostOrDevice) -> None:
        """Fill the row of the predecessors."""
        options = self._plan.options
        with self._at_work():
            self._opened().read_predecessors(source, _one(row), _one(before))
        if isinstance(row, np.ndarray) and isinstance(before, np.ndarray):
            options.hide(row, before)
            if options.targets is not None:
                before[row == infinity(row.dtype)] = NO_PREDECESSOR

    @property
    def rounds(self) -> int:
        """Levels or rounds of all searches."""
        return 0 if self._searcher is None else self._searcher.rounds

    @property
    def work(self) -> int | None:
        """The units of work, if the searcher counts them."""
        return getattr(self._searcher, "work", None) if self.sources else 0

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Measure the time, and convert errors of the driver."""
        started = time.perf_counter()
        with device_errors(self._plan.options.device, self._plan.device_bytes):
            yield
        self._seconds += time.perf_counter() - started

    def stats(self) -> Stats:
        """Return the values of `Answer.stats`."""
        transfers = self._watch.seconds("transfer")
        return {
            # by the clock of the host, because reading the flag between rounds counts as well
            "kernel_seconds": max(self._seconds - (transfers - self._sent), 0.0),
            "transfer_seconds": transfers,
            "kernel_hash": self._plan.state.hash,
        }


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
