"""The base classes of the searches from one source: planning, and a search for each source.

A method defines its parameters, its buffers and how its kernels are built. `Search` plans and runs
it. `Search.open` returns a `Searcher`: the graph on the device, on which `search` runs from any
vertex.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np
import pyopencl as cl

from pyapsp.base.progress import of_sources
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.numbers.checks import check_answer, check_weights
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathMethod, PathOptions, Rows
from pyapsp.paths.landing import room
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.registry import (
    ParameterValues,
    Plan,
    Stats,
)
from pyapsp.registry.tuning.method import BufferedMethod
from pyapsp.traversal.kernels import Hashed, WidthInGroup
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

    def search(self, source: int, distances: np.ndarray) -> None:
        """Search from a vertex.

        Parameters
        ----------
        source : int
        distances : (n,) ndarray
            Array for the distances; C-contiguous.
        """

    def read_predecessors(
        self, source: int, distances: np.ndarray, predecessors: np.ndarray
    ) -> None:
        """Find the predecessors of the last search.

        Parameters
        ----------
        source : int
        distances : (n,) ndarray
            The distances of that search; infinity beyond the cutoff, or beyond all targets.
        predecessors : (n,) int32 ndarray
            Array for the predecessors; C-contiguous.
        """


class Search(BufferedMethod, PathMethod, Generic[_State]):
    """Base of the methods that search from one source after the other.

    Attributes
    ----------
    weighted : bool
        Whether the method uses weights. Then the dtype must hold them.
    """

    area = "traversal"
    choices: ClassVar[ParameterValues] = {"group": _GROUPS}
    weighted: ClassVar[bool] = False

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield groups of 256 work-items and smaller ones, on CPUs of 64."""
        for group in _CPU_GROUPS if options.device.traits.scalar_groups else _GPU_GROUPS:
            yield {"group": group}

    @abstractmethod
    def open(self, plan: Plan[Graph, PathOptions, _State], watch: Stopwatch) -> Searcher:
        """Copy the graph to the device; the watch measures transfers."""

    def find(self, searcher: Searcher, source: int, row: Row, before: np.ndarray | None) -> None:
        """Search from a vertex. The array for the predecessors is filled later, or already here."""
        assert isinstance(row, np.ndarray)
        searcher.search(source, row)

    def finish(self, searcher: Searcher) -> None:
        """Wait for rows of `find` that are on their way to the host; none by default."""

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
        shape = sources.size, graph.n
        distances, direct = room(options.device, shape, options.dtype)
        predecessors = None
        if options.predecessors:
            predecessors, _ = room(options.device, shape, np.dtype(np.int32))
        narrow: list[NarrowRow] = []
        if self.narrow(plan):
            rows = distances if direct else [None] * sources.size
            narrow = [NarrowRow(row) for row in rows]
        tell, searcher = of_sources(options.progress), None
        try:
            for place, source in enumerate(sources.tolist()):
                row = distances[place : place + 1]
                before = None if predecessors is None else predecessors[place : place + 1]
                with device_errors(options.device, plan.device_bytes):
                    if searcher is None:
                        searcher = self.open(plan, watch)
                        sent = watch.seconds("transfer")
                    started = time.perf_counter()
                    target = narrow[place] if narrow else row[0]
                    self.find(searcher, source, target, None if before is None else before[0])
                seconds += time.perf_counter() - started
                if not narrow:
                    # as with a cutoff: without negative weights, too large is beyond all targets
                    known = not graph.has_negative and options.reaches_targets(row[0])
                    if self.weighted and options.must_check(graph) and not known:
                        check_answer(graph, row)
                    options.hide_beyond_targets(row[0])
                    options.hide(row, None)
                if before is not None and not narrow:
                    started = time.perf_counter()
                    with device_errors(options.device, plan.device_bytes):
                        assert searcher is not None
                        searcher.read_predecessors(source, row[0], before[0])
                    seconds += time.perf_counter() - started
                    options.hide(row, before)
                    if options.targets is not None:
                        before[row == infinity(row.dtype)] = NO_PREDECESSOR
                if tell is not None:
                    tell(place + 1, sources.size)
        finally:  # rows may be on their way also after an error
            started = time.perf_counter()
            if searcher is not None:
                with device_errors(options.device, plan.device_bytes):
                    self.finish(searcher)
            seconds += time.perf_counter() - started
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
            return LevelRows(narrow, distances if direct else None, predecessors, stats)
        return Rows(distances, predecessors, stats=stats, checked=True)


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

    def download(self, buffer: cl.Buffer, row: np.ndarray) -> None:
        """Copy a buffer to the host."""
        with self.watch.by_the_host("transfer"):
            cl.enqueue_copy(self.queue, row, buffer)

    def read_predecessors(
        self, source: int, distances: np.ndarray, predecessors: np.ndarray
    ) -> None:
        """Download the parents."""
        self.download(self.parents, predecessors)
