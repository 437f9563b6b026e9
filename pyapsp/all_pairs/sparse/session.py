"""Sessions: graphs on devices, from which rows of any sources can be computed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import chain
from typing import Any, Protocol, TypeVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.sparse.totals import Totals, gathered, totals_of
from pyapsp.base.errors import DeviceError
from pyapsp.base.together import Tell, in_turns, together
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.numbers.checks import check_answer, converted, is_near_limit, may_clip
from pyapsp.numbers.precision import holds_all
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.paths.landing import converter, expected
from pyapsp.paths.sharing import each_plan, stats_of
from pyapsp.registry import AnyPlan, Hashed, Plan, Stats

__all__ = ["BlockSolver", "Session", "expected_of"]

_R = TypeVar("_R")


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


class _Blocks(Protocol):
    """What a session needs of a `pyapsp.all_pairs.sparse.source_blocks.SourceBlocks`."""

    def open(self, plan: AnyPlan, watch: Stopwatch) -> BlockSolver: ...
    def downloads(self, plan: AnyPlan) -> bool: ...
    def hides(self, plan: AnyPlan) -> bool: ...


def expected_of(
    method: _Blocks, plan: AnyPlan, *rows: np.ndarray | DeviceRows | None
) -> AbstractContextManager[None]:
    """Clear new rows if they come by `download`; others write rows themselves."""
    first = each_plan(plan)[0]
    return expected(first.options.device, *rows) if method.downloads(first) else nullcontext()


class _Opened:
    """A plan of one device: the graph is there, until `release`.

    Attributes
    ----------
    sources : int
        The number of sources that have been solved.
    """

    def __init__(self, method: _Blocks, plan: Plan[Graph, AllPairsOptions, Hashed]) -> None:
        self._method, self.plan = method, plan
        self.watch, self._seconds, self.sources = Stopwatch(), 0.0, 0
        with self.at_work():
            self.solver: Any = method.open(plan, self.watch)

    def release(self) -> None:
        """Release the memory of the device."""
        self.__dict__.pop("solver", None)

    def fill(
        self,
        sources: np.ndarray,
        target: np.ndarray | DeviceRows,
        before: np.ndarray | None,
    ) -> None:
        """Compute the rows of at most `solver.size` sources, as `Session.fill`."""
        method, plan = self._method, self.plan
        graph, options = plan.input, plan.options
        downloads = method.downloads(plan)
        hidden = options.cutoff is None or method.hides(plan)
        direct = target.dtype == options.dtype or downloads
        if isinstance(target, DeviceRows):
            # the host checks rows, and hides what is beyond the cutoff
            checks = options.must_check(graph)
            checks = checks and may_clip(graph, options.dtype, graph.n * target.shape[0])
            direct = downloads and not checks and hidden
        rows: Any = target if direct else np.empty(target.shape, options.dtype)
        wide = None
        if downloads and target.dtype != options.dtype:
            wide = converter(options.device, target, plan.spare_bytes)
        into: Any = rows if wide is None else wide
        with self.at_work(), expected_of(method, plan, rows, before):
            most = self.solver.solve_block(sources, into, before)
            if wide is not None:
                with self.watch.by_the_host("transfer"):
                    wide.fetch(rows)
        self.sources += sources.size
        if isinstance(rows, DeviceRows):
            return
        near = most is None or is_near_limit(graph, most, rows.dtype)
        if near and options.must_check(graph):
            check_answer(graph, rows)
        if not hidden:
            options.hide(rows, before)
        if isinstance(target, DeviceRows):
            target.put(converted(rows, target.dtype))
        elif not direct:
            converted(rows, target.dtype, target)

    def totals(self, sources: np.ndarray, width: float | None) -> Totals:
        """Compute the sums over rows of at most `solver.size` sources, as `Session.totals`."""
        graph, options = self.plan.input, self.plan.options
        find = getattr(self.solver, "totals", None)
        checked = not options.must_check(graph) or holds_all(graph, options.dtype)
        if find is None or not checked or options.cutoff is not None:
            rows = np.empty((sources.size, graph.n), options.dtype)
            self.fill(sources, rows, None)
            return totals_of(rows, width)
        with self.at_work():
            totals: Totals = find(sources, width)
        self.sources += sources.size
        return totals

    def stats(self) -> Stats:
        """Return the values of `Answer.stats`, as totals over all rows so far."""
        transfers = self.watch.seconds("transfer")
        return {
            # by the clock of the host, because reading the flag between rounds counts as well
            "kernel_seconds": max(self._seconds - transfers, 0.0),
            "transfer_seconds": transfers,
            "kernel_hash": self.plan.state.hash,
        }

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Measure the time, and convert errors of the driver."""
        started = time.perf_counter()
        try:
            with device_errors(self.plan.options.device, self.plan.device_bytes):
                yield
        except DeviceError:
            self.release()  # a stored error refers to this object by its frames
            raise
        self._seconds += time.perf_counter() - started


class Session:
    """A started plan: the graph is on its devices, and rows of any sources can be computed.

    Several devices share the sources: each takes the next block when it is done. Device memory is
    released when the session is deleted.

    Attributes
    ----------
    size : int
        The number of sources that are solved at once, on all devices.
    """

    def __init__(self, method: _Blocks, plan: AnyPlan) -> None:
        self._plans = each_plan(plan)

        def opened(each: AnyPlan) -> Callable[[Tell | None], _Opened]:
            return lambda _: _Opened(method, each)

        self._opened = together([opened(each) for each in self._plans])
        self._first = self._opened[0]
        self._sizes: list[int] = [each.solver.size for each in self._opened]
        if len(self._plans) > 1:  # a solver may have room for more than its part of the sources
            parts = [each.options.count(each.input.n) for each in self._plans]
            self._sizes = list(map(min, self._sizes, parts))
        self.size = sum(self._sizes)

    def fill(
        self,
        sources: np.ndarray,
        distances: np.ndarray | DeviceRows,
        predecessors: np.ndarray | None,
        tell: Tell | None = None,
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
        tell : callable, optional
            Called with the number of rows that are complete, and that of all.

        Raises
        ------
        PrecisionError
            If a distance is too large for its type.
        """

        def work(device: _Opened, blocks: Iterator[slice]) -> None:
            for some in blocks:
                before = None if predecessors is None else predecessors[some]
                device.fill(sources[some], distances[some], before)

        self._in_turns(work, sources.size, tell)

    def _in_turns(
        self, work: Callable[[_Opened, Iterator[slice]], _R], total: int, tell: Tell | None
    ) -> list[_R]:
        """Let the devices work on blocks of sources, and return what each returns."""
        workers = [partial(work, each) for each in self._opened]
        try:
            return in_turns(workers, self._sizes, total, tell)
        except DeviceError:
            for each in self._opened:
                each.release()  # a stored error refers to all of them by its frames
            raise

    def rows_on_device(self, sources: np.ndarray) -> cl.Buffer:
        """Compute at most `size` rows; return the buffer that has them until the next call.

        For methods whose solvers are `BlockSearch`, and one device. The rows are complete, but not
        checked.
        """
        with self._first.at_work():
            rows: cl.Buffer = self._first.solver.rows(sources)
            return rows

    def totals(
        self, sources: np.ndarray, width: float | None = None, tell: Tell | None = None
    ) -> Iterator[tuple[slice, Totals]]:
        """Compute the sums over rows, for a block of sources at a time.

        Several devices compute all blocks before the first is yielded, which has all counts.

        Parameters
        ----------
        sources : (k,) int64 ndarray
            Vertices, in any order.
        width : number, optional
            Also count the distances in bins of this width.
        tell : callable, optional
            Called with the number of sources that are done, and that of all.

        Yields
        ------
        some : slice
            The places of the block in `sources`, in order.
        totals : Totals

        Raises
        ------
        PrecisionError
            If a distance is too large for its type.
        """
        if len(self._opened) == 1:
            for start in range(0, sources.size, self.size):
                some = slice(start, min(start + self.size, sources.size))
                totals = self._first.totals(sources[some], width)
                if tell is not None:
                    tell(some.stop, sources.size)
                yield some, totals
            return

        def work(device: _Opened, blocks: Iterator[slice]) -> list[tuple[int, Totals]]:
            return gathered((each.start, device.totals(sources[each], width)) for each in blocks)

        parts = self._in_turns(work, sources.size, tell)
        for start, totals in gathered(chain.from_iterable(parts)):
            yield slice(start, start + totals.reached.size), totals

    def stats(self) -> Stats:
        """Return the values of `Answer.stats`, as totals over all rows so far."""
        stats = [each.stats() for each in self._opened]
        return stats_of(self._plans, stats, [each.sources for each in self._opened])
