"""The common part of the sparse methods: they compute the rows of a block of sources at a time.

A method solves N sources at once. The device holds O(n N + m) values and never the n x n matrix.
Finished rows are downloaded. `SourceBlocks` has this loop and its planning. `DeviceBlock` is for
methods that store the costs of a vertex from all sources of a block in adjacent entries. It has the
graph and the costs on the device, the flag whether a round has changed anything, and the kernels
for rows, and for predecessors from costs.

`run` and `row_blocks` are loops over a `Session`. If the output is a mapped file, nothing of size n
x n is in memory. A search that does not `hide` values beyond the cutoff may leave any such value in
its rows. If weights are negative, it must not stop at the cutoff itself. Methods that do not derive
from `SourceBlocks` compute all rows, and the rows are selected afterwards.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.sparse.totals import Totals, totals_of
from pyapsp.base.errors import DeviceError
from pyapsp.base.host import flush
from pyapsp.base.progress import of_sources
from pyapsp.base.reuse import empty, empty_beside
from pyapsp.device import device_errors
from pyapsp.device.kernels import Program, Stopwatch
from pyapsp.graph import Facts, Graph
from pyapsp.graph.families import ARCS
from pyapsp.numbers.checks import check_answer, check_weights, converted, is_near_limit, may_clip
from pyapsp.numbers.precision import holds_all
from pyapsp.paths import AllPairsMethod, AllPairsOptions, Rows
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.paths.landing import converter, expected
from pyapsp.registry import AnyPlan, Hashed, Plan, Stats
from pyapsp.registry.tuning import tuned_rate
from pyapsp.registry.tuning.method import BufferedMethod

__all__ = [
    "LEVEL",
    "BlockSolver",
    "Programs",
    "Session",
    "SourceBlocks",
    "TunableBlocks",
    "levels_of",
    "random_levels",
    "usual_sources",
]

# Time of the predecessors of a block, in that of its distances; measured on real graphs. True is
# for devices with scalar groups (CPUs).
_BEFORE = {True: 0.75, False: 0.4}
# Seconds of a call that do not depend on the number of sources.
_CALL = {True: 1e-3, False: 4e-4}
#: Seconds of a level of a search whose launches the host waits for, however few vertices it has:
#: measured on a path, on two cores of a CPU, and on meshes and random graphs, on a GPU.
LEVEL = 1e-4
# A mapped file is flushed after this many bytes.
_UNWRITTEN = 64 * 2**20


class BlockSolver(Protocol):
    """A prepared graph that can be solved from any sources.

    Attributes
    ----------
    size : int
        The largest number of sources that are solved at once.
    """

    size: int

    def solve_block(
        self, sources: np.ndarray, distances: np.ndarray, predecessors: np.ndarray | None
    ) -> int | None:
        """Compute the rows of a block of sources.

        Parameters
        ----------
        sources : (k,) int64 ndarray
            Vertices, in any order; at most `size`.
        distances : (k, n) ndarray
            Array for the distances; C-contiguous, of the type of the plan, unless the method
            `downloads`.
        predecessors : (k, n) int32 ndarray or None
            Array for the predecessors, if they are wanted.

        Returns
        -------
        int or None
            A number that no finite distance in the rows exceeds; None if none is known.
        """


@dataclass(frozen=True)
class Programs:
    """The kernels of the search, and of the rows and sums after it."""

    search: Program
    rows: Program

    @property
    def hash(self) -> str:
        """The hash of those of the search."""
        return self.search.hash


class SourceBlocks(AllPairsMethod):
    """Base of the methods that solve a block of sources at a time."""

    by_source = True

    @abstractmethod
    def open(self, plan: AnyPlan, watch: Stopwatch) -> BlockSolver:
        """Copy the graph to the device, if the method uses one; the watch measures transfers."""

    def downloads(self, plan: AnyPlan) -> bool:
        """Return whether all rows come by `download`, in any type that holds the distances."""
        return False

    def hides(self, plan: AnyPlan) -> bool:
        """Return whether the search leaves out values beyond the cutoff itself."""
        return False

    def start(self, plan: AnyPlan) -> Session:
        """Start a session for a plan, with the graph on the device."""
        return Session(self, plan)

    def run(self, plan: Plan[Graph, AllPairsOptions, Hashed]) -> Rows:
        """Solve the sources in blocks, each directly into its rows of the answer."""
        graph, options = plan.input, plan.options
        sources = options.rows(graph.n)
        distances: Any = options.device_rows if options.out is None else options.out
        if distances is None:
            distances = empty((sources.size, graph.n), options.answer or options.dtype)
        predecessors = None
        if options.predecessors:
            predecessors = empty_beside(distances, "predecessors", np.int32)
        tell, unwritten = of_sources(options.progress), 0
        with _expected(self, plan, distances, predecessors):
            session = self.start(plan)
            size = session.size
            for start in range(0, sources.size, size):
                some = slice(start, start + size)
                before = None if predecessors is None else predecessors[some]
                session.fill(sources[some], distances[some], before)
                unwritten += distances[some].nbytes
                if unwritten >= _UNWRITTEN or start + size >= sources.size:
                    flush(distances, predecessors)
                    unwritten = 0
                if tell is not None:
                    tell(min(start + size, sources.size), sources.size)
        return Rows(distances, predecessors, stats=session.stats(), checked=True)


def _expected(
    method: SourceBlocks,
    plan: Plan[Graph, AllPairsOptions, Hashed],
    *rows: np.ndarray | DeviceRows | None,
) -> AbstractContextManager[None]:
    """Clear new rows if they come by `download`; others write rows themselves."""
    return expected(plan.options.device, *rows) if method.downloads(plan) else nullcontext()


class Session:
    """A started plan: the graph is on the device, and rows of any sources can be computed.

    Device memory is released when the session is deleted.

    Attributes
    ----------
    size : int
        The number of sources that are solved at once.
    """

    def __init__(self, method: SourceBlocks, plan: Plan[Graph, AllPairsOptions, Hashed]) -> None:
        self._method, self._plan = method, plan
        self._watch, self._seconds = Stopwatch(), 0.0
        with self._at_work():
            self._solver = method.open(plan, self._watch)
        self.size = self._solver.size

    def fill(
        self,
        sources: np.ndarray,
        distances: np.ndarray | DeviceRows,
        predecessors: np.ndarray | None,
    ) -> None:
        """Compute the rows of these sources, check them, and apply the cutoff.

        Parameters
        ----------
        sources : (k,) int64 ndarray
            Vertices, in any order.
        distances : (k, n) ndarray or DeviceRows
            Array for the distances; C-contiguous, of any type that holds them.
        predecessors : (k, n) int32 ndarray or None
            Array for the predecessors, if they are wanted.

        Raises
        ------
        PrecisionError
            If a distance is too large for its type.
        """
        graph, options = self._plan.input, self._plan.options
        for start in range(0, sources.size, self.size):
            some = slice(start, start + self.size)
            target, before = distances[some], None if predecessors is None else predecessors[some]
            downloads = self._method.downloads(self._plan)
            hidden = options.cutoff is None or self._method.hides(self._plan)
            direct = target.dtype == options.dtype or downloads
            if isinstance(target, DeviceRows):
                # the host checks rows, and hides what is beyond the cutoff
                checks = options.must_check(graph)
                checks = checks and may_clip(graph, options.dtype, graph.n * target.shape[0])
                direct = downloads and not checks and hidden
            rows: Any = target if direct else np.empty(target.shape, options.dtype)
            wide = None
            if downloads and target.dtype != options.dtype:
                wide = converter(options.device, target, self._plan.spare_bytes)
            into: Any = rows if wide is None else wide
            with self._at_work(), _expected(self._method, self._plan, rows, before):
                most = self._solver.solve_block(sources[some], into, before)
                if wide is not None:
                    with self._watch.by_the_host("transfer"):
                        wide.fetch(rows)
            if isinstance(rows, DeviceRows):
                continue
            near = most is None or is_near_limit(graph, most, rows.dtype)
            if near and options.must_check(graph):
                check_answer(graph, rows)
            if not hidden:
                options.hide(rows, before)
            if isinstance(target, DeviceRows):
                target.put(converted(rows, target.dtype))
            elif not direct:
                converted(rows, target.dtype, target)

    def rows_on_device(self, sources: np.ndarray) -> cl.Buffer:
        """Compute at most `size` rows; return the buffer that has them until the next call.

        For methods whose solvers are `BlockSearch`. The rows are complete, but not checked.
        """
        with self._at_work():
            solver: Any = self._solver
            rows: cl.Buffer = solver.rows(sources)
            return rows

    def totals(
        self, sources: np.ndarray, width: float | None = None
    ) -> Iterator[tuple[slice, Totals]]:
        """Compute the sums over rows, for a block of sources at a time.

        Parameters
        ----------
        sources : (k,) int64 ndarray
            Vertices, in any order.
        width : number, optional
            Also count the distances in bins of this width.

        Yields
        ------
        some : slice
            The places of the block in `sources`.
        totals : Totals

        Raises
        ------
        PrecisionError
            If a distance is too large for its type.
        """
        graph, options = self._plan.input, self._plan.options
        find = getattr(self._solver, "totals", None)
        checked = not options.must_check(graph) or holds_all(graph, options.dtype)
        for start in range(0, sources.size, self.size):
            some = slice(start, start + self.size)
            if find is not None and checked and options.cutoff is None:
                with self._at_work():
                    totals = find(sources[some], width)
            else:
                rows = np.empty((sources[some].size, graph.n), options.dtype)
                self.fill(sources[some], rows, None)
                totals = totals_of(rows, width)
            yield some, totals

    def stats(self) -> Stats:
        """Return the values of `Answer.stats`, as totals over all rows so far."""
        transfers = self._watch.seconds("transfer")
        return {
            # by the clock of the host, because reading the flag between rounds counts as well
            "kernel_seconds": max(self._seconds - transfers, 0.0),
            "transfer_seconds": transfers,
            "kernel_hash": self._plan.state.hash,
        }

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Measure the time, and convert errors of the driver."""
        started = time.perf_counter()
        try:
            with device_errors(self._plan.options.device, self._plan.device_bytes):
                yield
        except DeviceError:
            self.__dict__.pop("_solver", None)  # a stored error refers to the session by its frames
            raise
        self._seconds += time.perf_counter() - started


def usual_sources(options: AllPairsOptions) -> int:
    """Return the usual number of sources of a block on CPUs, where these are a vector."""
    return max(8, options.device.traits.lanes(options.dtype.itemsize))


def random_levels(n: int, degree: float) -> float:
    """Return about the number of levels of a search in a random graph."""
    return 2 * math.log(max(n, 2)) / math.log(max(degree, 2))


def levels_of(graph: Facts) -> float:
    """Return about the number of levels of a search: the depth, or without an estimate a guess.

    Then only meshes are deep: with at most two arcs for each vertex a mesh may be a path.
    """
    if graph.depth is not None:
        return graph.depth
    if graph.family == "mesh":
        levels = graph.n if graph.m <= 2 * graph.n else 2 * graph.n**0.5
        return min(levels, max(graph.reach * graph.n, 1))
    return random_levels(graph.n, graph.m / max(graph.n, 1))


class TunableBlocks(BufferedMethod, SourceBlocks):
    """Base of the methods with parameters."""

    growth = 1.0  # rates are those of n^3 updates, and searches take n m steps

    def check(self, graph: Graph, options: AllPairsOptions) -> None:
        """Raise an error if the type does not hold the weights."""
        check_weights(graph, options.dtype)

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Predict from the tuning rows around n, in proportion to sources and `steps`.

        Rows tell the time without predecessors, unless the kernels find these.
        """
        rate = tuned_rate(self, graph.n, options, graph.family)
        if rate is None:
            return None
        after = options.predecessors and not self.carries_predecessors
        more = 1 + _BEFORE[options.device.traits.scalar_groups] * after
        sources = self.full(options, rows)
        work = graph.n * sources * self.steps(graph, options, rows) * more / (ARCS * rate)
        return work + self.constant(graph, options, rows)

    def full(self, options: AllPairsOptions, rows: int) -> float:
        """Return how many sources in full vectors take as long as these; on GPUs as many.

        On CPUs the vectors of few sources are narrow, or in part empty: a vector of 2 sources took
        a quarter of the time of 16.
        """
        if not options.device.traits.scalar_groups:
            return rows
        at_once = options.device.capabilities.compute_units * usual_sources(options)
        return max(rows, math.sqrt(rows * at_once))

    def constant(self, graph: Facts, options: AllPairsOptions, rows: int) -> float:
        """Return the seconds of a call that the rate does not show, since it is that of n rows.

        There are more than n rows if sources occur twice.
        """
        return _CALL[options.device.traits.scalar_groups] * max(0, 1 - rows / max(graph.n, 1))

    def steps(self, graph: Facts, options: AllPairsOptions, rows: int) -> float:
        """Return the steps of a search: the arcs that it reaches, and at least n."""
        return max(graph.reach * graph.m, graph.n)
