"""What the sparse methods share: the answer is found for a block of sources at a time.

A method solves N sources at once, so the device holds O(n N + m) values and never the n x n matrix;
finished rows go to the host. `SourceBlocks` is that loop, with its planning. `DeviceBlock` is for
methods that hold the costs of a block side by side for each vertex: the graph and the costs on the
device, the flag that says whether a round changed anything, rows, and predecessors from costs.

`run` and `row_blocks` are loops over a `Session`. If the output is a mapped file, nothing of size n
x n is in memory. A search may leave any value above the cutoff in its rows, but it must not stop at
the cutoff if weights are negative. Methods that do not derive from `SourceBlocks` compute all rows,
and the rows are selected afterwards.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from pyapsp.checks import check_answer, check_weights, converted
from pyapsp.device import device_errors
from pyapsp.errors import DeviceError
from pyapsp.graph import Facts, Graph
from pyapsp.graph.families import ARCS
from pyapsp.host import empty_beside, flush
from pyapsp.kernels import Stopwatch
from pyapsp.paths import AllPairsMethod, AllPairsOptions, Rows
from pyapsp.precision import holds_all
from pyapsp.progress import of_sources
from pyapsp.registry import Plan
from pyapsp.sparse.totals import Totals, totals_of
from pyapsp.tuning import tuned_rate
from pyapsp.tuning.method import BufferedMethod

__all__ = ["BlockSolver", "Session", "SourceBlocks", "TunableBlocks"]

# Bytes of a mapped file that may wait to be written.
_UNWRITTEN = 64 * 2**20


class BlockSolver(Protocol):
    """A graph, ready to be solved from any sources.

    Attributes
    ----------
    size : int
        How many sources are solved at once, at most.
    """

    size: int

    def solve_block(
        self, sources: np.ndarray, distances: np.ndarray, predecessors: np.ndarray | None
    ) -> None:
        """Find the rows of some sources.

        Parameters
        ----------
        sources : (k,) int64 ndarray
            Vertices, in any order; at most `size`.
        distances : (k, n) ndarray
            Where to put their distances; C-contiguous.
        predecessors : (k, n) int32 ndarray or None
            Where to put their predecessors, if they are wanted.
        """


class SourceBlocks(AllPairsMethod):
    """Base of the methods that solve a block of sources at a time.

    The state of a plan has a ``hash`` that names the code which runs.
    """

    by_source = True

    @abstractmethod
    def open(self, plan: Plan, watch: Stopwatch) -> BlockSolver:
        """Bring the graph to where it is solved; the watch is told of transfers."""

    def start(self, plan: Plan) -> Session:
        """Bring the graph of a plan to where it is solved."""
        return Session(self, plan)

    def run(self, plan: Plan) -> Rows:
        """Solve block after block of the sources, each straight into its rows of the answer."""
        graph, options = plan.input, plan.options
        sources = options.rows(graph.n)
        distances = options.out
        if distances is None:
            distances = np.empty((sources.size, graph.n), options.dtype)
        predecessors = None
        if options.predecessors:
            predecessors = empty_beside(distances, "predecessors", np.int32)
        session, tell = self.start(plan), of_sources(options.progress)
        size, unwritten = session.size, 0
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


class Session:
    """A plan that was started: the graph is where it is solved, and any rows are to be had.

    Device memory is free again when the session is.

    Attributes
    ----------
    size : int
        How many sources are solved at once.
    """

    def __init__(self, method: SourceBlocks, plan: Plan) -> None:
        self._plan, self._watch, self._seconds = plan, Stopwatch(), 0.0
        with self._at_work():
            self._solver = method.open(plan, self._watch)
        self.size = self._solver.size

    def fill(
        self, sources: np.ndarray, distances: np.ndarray, predecessors: np.ndarray | None
    ) -> None:
        """Find the rows of some sources, check them, and hide what is beyond the cutoff.

        Parameters
        ----------
        sources : (k,) int64 ndarray
            Vertices, in any order; as many as there are rows.
        distances : (k, n) ndarray
            Where to put their distances; C-contiguous, of any type that holds them.
        predecessors : (k, n) int32 ndarray or None
            Where to put their predecessors, if they are wanted.

        Raises
        ------
        PrecisionError
            If a distance is past the range of the type.
        """
        graph, options = self._plan.input, self._plan.options
        for start in range(0, sources.size, self.size):
            some = slice(start, start + self.size)
            target, before = distances[some], None if predecessors is None else predecessors[some]
            held = target.dtype == options.dtype
            rows = target if held else np.empty(target.shape, options.dtype)
            with self._at_work():
                self._solver.solve_block(sources[some], rows, before)
            if options.must_check(graph):
                check_answer(graph, rows)
            options.hide(rows, before)
            if not held:
                converted(rows, target.dtype, target)

    def totals(self, sources: np.ndarray, width: Any = None) -> Iterator[tuple[slice, Totals]]:
        """Find the sums over rows, some sources at a time.

        Parameters
        ----------
        sources : (k,) int64 ndarray
            Vertices, in any order.
        width : number, optional
            Count the distances, in bins of this width.

        Yields
        ------
        some : slice
            Which of the sources.
        totals : Totals

        Raises
        ------
        PrecisionError
            If a distance is past the range of the type.
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

    def stats(self) -> dict[str, Any]:
        """Return what `Answer.stats` has, of all rows so far."""
        transfers = self._watch.seconds("transfer")
        return {
            # by the clock of the host: looking at the flag between rounds is part of the work
            "kernel_seconds": max(self._seconds - transfers, 0.0),
            "transfer_seconds": transfers,
            "kernel_hash": self._plan.state.hash,
        }

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Take the time, and translate the errors of the driver."""
        started = time.perf_counter()
        try:
            with device_errors(self._plan.options.device, self._plan.device_bytes):
                yield
        except DeviceError:
            self.__dict__.pop("_solver", None)  # who keeps the error keeps the session
            raise
        self._seconds += time.perf_counter() - started


class TunableBlocks(BufferedMethod, SourceBlocks):
    """Base of those with parameters to choose."""

    def check(self, graph: Graph, options: AllPairsOptions) -> None:
        """Refuse weights that the type does not hold."""
        check_weights(graph, options.dtype)

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Return what the tuning rows around n say of a graph with their arcs, in proportion."""
        rate = tuned_rate(self, graph.n, options, graph.family)
        if rate is None:
            return None
        return graph.n * rows * max(graph.m, graph.n) / (ARCS * rate)
