"""The base class of the Floyd-Warshall variants: upload, rounds, download, predecessors."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.arcs import ArcWriter
from pyapsp.all_pairs.dense.matrix import DistanceMatrix, Layout, download, upload
from pyapsp.all_pairs.dense.mending import mend_predecessors
from pyapsp.all_pairs.dense.predecessors import Recovery, recovery_seconds
from pyapsp.all_pairs.dense.product import Product
from pyapsp.base.errors import DeviceMemoryError, ParameterError
from pyapsp.base.reuse import empty
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Backlog, Program, Stopwatch, residents, staging
from pyapsp.device.kernels.transfer import in_place
from pyapsp.graph import Facts, Graph
from pyapsp.graph.dense import DenseGraph
from pyapsp.graph.device_matrix import is_there
from pyapsp.graph.families import ARCS
from pyapsp.numbers.checks import check_weights
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsMethod, AllPairsOptions, Rows
from pyapsp.paths.landing import clears, expected
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.registry import Loaded, Parameters, Plan, check_memory, fits
from pyapsp.registry.tuning import Match, tuned_rate
from pyapsp.registry.tuning.method import TunableMethod

__all__ = ["Configuration", "FloydWarshall", "Prepared", "Run", "initial_predecessors"]


@dataclass(frozen=True)
class Configuration:
    """A built variant."""

    parameters: Parameters  # all parameters of the method, with values
    program: Program
    size: int  # rows of the matrix on the device: n, padded to what the kernels need
    rounds: int  # number of calls of `FloydWarshall.enqueue_round`, or of `enqueue_steps`
    steps: int = 1  # number of steps of a round
    scratch: tuple[int, ...] = ()  # bytes of further device buffers
    zeros: bool = True  # whether these buffers are filled with zeros before the first round
    # None: `size` values of the answer's dtype in a row, infinity past n.
    layout: Layout | None = None
    product: Product | None = None  # the product that makes the rounds
    # Values from row to row, without a layout; None: `size`.
    pitch: int | None = None
    # Number of matrices in the first buffer, one after the other, for `batched` methods.
    graphs: int = 1


@dataclass(frozen=True)
class Run:
    """A built variant on a queue.

    The buffers are the distances, the predecessors if the kernels update them, and the scratch.
    """

    configuration: Configuration
    queue: cl.CommandQueue
    buffers: list[cl.Buffer]

    def kernel(self, name: str) -> cl.Kernel:
        """Return a kernel of the variant."""
        return self.configuration.program.kernel(name)


class Prepared(NamedTuple):
    """The state of a plan: the built variant, and what fills the matrix or finds predecessors."""

    configuration: Configuration
    recovery: Recovery | None
    arcs: ArcWriter | None


class FloydWarshall(TunableMethod, AllPairsMethod):
    """Base of the methods that update an n x n matrix on the device in rounds.

    Attributes
    ----------
    carries_predecessors : bool
        Whether the kernels update predecessors together with the distances. Otherwise predecessors
        are computed from the final distances.
    on_round : callable or None
        Called with the events of each step of a round after it was enqueued, in order.
    """

    on_round: Callable[[list[cl.Event]], None] | None = None

    @abstractmethod
    def configure(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> Configuration:
        """Build the kernels for these parameters."""

    @abstractmethod
    def enqueue_round(self, run: Run, number: int) -> list[cl.Event]:
        """Enqueue the kernels of one round."""

    def enqueue_rounds(self, run: Run) -> Iterator[list[cl.Event]]:
        """Enqueue all rounds, step by step; later commands in the queue run after them."""
        for number in range(run.configuration.rounds):
            yield from self.enqueue_steps(run, number)

    def enqueue_steps(self, run: Run, number: int) -> Iterator[list[cl.Event]]:
        """Enqueue the steps of one round, each when it is asked for."""
        yield self.enqueue_round(run, number)

    def work(self, configuration: Configuration, step: int) -> float:
        """Return the updates of a step, counted through all rounds."""
        steps = configuration.rounds * configuration.steps
        return configuration.graphs * configuration.size**3 / steps

    def finish(self, run: Run) -> None:
        """Check the buffers after the last round, before the download."""

    def encode(self, distances: np.ndarray) -> np.ndarray:
        """Return the distances as words of the layout; without a layout they are not changed."""
        return distances

    def decode(self, words: np.ndarray, distances: np.ndarray) -> None:
        """Convert words to distances, in place; without a layout this does nothing."""

    def choose_parameters(
        self, graph: Graph, options: AllPairsOptions, *, rows: bool = True
    ) -> tuple[Parameters, Match | None]:
        """Return the given parameters, completed from a tuning row or from a candidate.

        This is the first set that fits. Tuning rows come first (if `rows`), from the nearest to the
        farthest, then the candidates.

        Returns
        -------
        parameters : dict
        match : Match or None
            The tuning row that was used.

        Raises
        ------
        ParameterError
            If nothing fits.
        """
        # the work does not depend on the arcs, so all families have the same parameters
        return next(self.sets(graph.n, "uniform", options, rows=rows))

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Return n^3 divided by the rate of the tuning rows around n, and the time of predecessors.

        Rows tell the time without predecessors, unless the kernels update these. And they are of
        graphs with `ARCS` arcs a vertex: further ones are written into the matrix.
        """
        rate = tuned_rate(self, graph.n, options)
        if rate is None:
            return None
        seconds = graph.n**3 / rate
        each = _ARC
        if ArcWriter.has_many(graph):
            each = _ARC_IN_PLACE if in_place(options.device.handle) else _ARC_COPIED
        seconds += each * max(graph.m - ARCS * graph.n, 0)
        after = options.predecessors and not self.carries_predecessors
        return seconds + (recovery_seconds(graph.n, options) if after else 0.0)

    def plan(
        self, graph: Graph, options: AllPairsOptions
    ) -> Plan[Graph, AllPairsOptions, Prepared]:
        """Check weights and memory, choose parameters and build the kernels."""
        check_weights(graph, options.dtype)
        started = time.perf_counter()
        recovery = None
        if options.predecessors and not self.carries_predecessors:
            recovery = Recovery(graph, options)
        try:
            configuration, match, needed = self._configured(graph, options, recovery, rows=True)
        except DeviceMemoryError as tuned_needs:
            # tuned parameters may need more memory than the candidates
            try:
                configuration, match, needed = self._configured(
                    graph, options, recovery, rows=False
                )
            except DeviceMemoryError as needs:
                raise min(needs, tuned_needs, key=lambda error: error.needed) from None
        takes = self._takes_arcs(graph, options, configuration)
        arcs = ArcWriter(options.device, options.dtype) if takes else None
        return Plan(
            graph,
            options,
            configuration.parameters,
            needed,
            Prepared(configuration, recovery, arcs),
            time.perf_counter() - started,
            match.describe() if match else None,
        )

    def _configured(
        self, graph: Graph, options: AllPairsOptions, recovery: Recovery | None, *, rows: bool
    ) -> tuple[Configuration, Match | None, int]:
        """Choose parameters, build, and check the memory: of the rounds and of the recovery."""
        parameters, match = self.choose_parameters(graph, options, rows=rows)
        configuration = self.configure(graph, options, parameters)
        layout = _layout(configuration, options)
        matrix = layout.dtype.itemsize * configuration.size * layout.columns
        solving = [matrix, *configuration.scratch]
        if options.predecessors and recovery is None:
            solving.append(_INDEX.itemsize * configuration.size**2)
        phases = [solving]
        if self._takes_arcs(graph, options, configuration):
            phases.append([matrix, *ArcWriter.buffers(graph, options.dtype)])
        if recovery is not None:
            if configuration.layout is not None:
                matrix = options.dtype.itemsize * graph.n**2
            phases.append([matrix, *recovery.buffers])
        for each in phases:
            check_memory(each, options)
        return configuration, match, max(map(sum, phases))

    def _takes_arcs(
        self, graph: Graph, options: AllPairsOptions, configuration: Configuration
    ) -> bool:
        """Return whether the matrix is made of the arcs on the device."""
        if configuration.layout is not None or is_there(graph, options.device):
            return False
        columns = configuration.pitch or configuration.size
        matrix = options.dtype.itemsize * configuration.size * columns
        if _is_staged(graph.n, options, 2) and ArcWriter.suits(graph, options.dtype, matrix):
            return True
        needed = [matrix, *ArcWriter.buffers(graph, options.dtype)]
        many = ArcWriter.has_many(graph) and not isinstance(graph, DenseGraph)
        return many and fits(needed, options)

    def run(self, plan: Plan[Graph, AllPairsOptions, Prepared]) -> Rows:
        """Upload the matrix, run all rounds, download it."""
        with device_errors(plan.options.device, plan.device_bytes):
            answer = self._run(plan)
        self.check_range(plan, answer)
        return answer

    def check_range(self, plan: Plan[Graph, AllPairsOptions, Prepared], answer: Rows) -> None:
        """Raise an error if the words of the layout do not hold every distance."""

    def load(self, plan: Plan[Graph, AllPairsOptions, Prepared]) -> Loaded:
        """Copy the matrix to the device, twice.

        Raises
        ------
        ParameterError
            If predecessors are wanted.
        DeviceMemoryError
            If a second matrix does not fit.
        """
        if plan.options.predecessors:
            raise ParameterError(f"{self.id} finds predecessors only with copies")
        configuration, options = plan.state.configuration, plan.options
        layout = _layout(configuration, options)
        matrix = layout.dtype.itemsize * configuration.size * layout.columns
        check_memory([matrix, matrix, *configuration.scratch], options)
        with device_errors(options.device, plan.device_bytes + matrix):
            return _LoadedMatrix(self, plan)

    def _run(self, plan: Plan[Graph, AllPairsOptions, Prepared]) -> Rows:
        configuration, recovery, arcs = plan.state
        graph, options, watch = plan.input, plan.options, Stopwatch()
        n, size = graph.n, configuration.size
        layout = _layout(configuration, options)
        predecessors = None
        recovered = empty((0, 0) if recovery is None else (n, n), _INDEX)
        words = None if configuration.layout is None else (self.encode, self.decode)
        # to recover predecessors, decoded distances are uploaded again
        again = words is not None and recovery is not None
        answer = options.dtype if again else options.answer or options.dtype
        rest = options.dtype, answer, arcs, words, watch, plan.spare_bytes
        matrix = DistanceMatrix(options.device, (n, size), layout, *rest)
        dtype = answer if matrix.staged else options.dtype
        device_rows = None if words is not None or options.predecessors else options.device_rows
        distances = options.out
        if distances is None or distances.dtype != dtype:
            # the rows that stay on the device need none on the host
            shape = (0, 0) if device_rows is not None and matrix.staged else (n, n)
            distances = empty(shape, dtype)
        if n > 0:
            queue = options.device.queue()
            new = (distances, recovered) if device_rows is None and matrix.staged else ()
            with expected(options.device, *new):
                matrices = [matrix.upload(queue, graph, distances)]
                if options.predecessors and recovery is None:
                    predecessors = initial_predecessors(graph)
                    before = Layout(_INDEX, size, NO_PREDECESSOR)
                    matrices.append(
                        upload(options.device, queue, predecessors, size, before, watch)
                    )
                scratch = [
                    _scratch(options.device, queue, count, configuration.zeros, watch)
                    for count in configuration.scratch
                ]
                self._run_rounds(options, Run(configuration, queue, [*matrices, *scratch]), watch)
                if matrix.staged or device_rows is not None:
                    queue.finish()  # else the download waits, which saves a small call one wait
                    _free(scratch)
                coming: AbstractContextManager[Callable[[], None]]
                if device_rows is None:
                    coming = matrix.arriving(queue, matrices[0], distances)
                else:
                    coming = nullcontext(_nothing)
                    with watch.by_the_host("transfer"):
                        device_rows.take(queue, matrices[0], layout.dtype, layout.columns)
                with coming as arrived:
                    if predecessors is not None:
                        download(queue, predecessors, matrices[1], size, before, watch)
                    _free(scratch)
                    _free(matrices, 1)
                    if recovery is not None:
                        columns = layout.columns
                        if configuration.layout is not None:
                            arrived()
                            _free(matrices)
                            plain = Layout(options.dtype, n, infinity(options.dtype))
                            matrices = [upload(options.device, queue, distances, n, plain, watch)]
                            columns = n
                        source = matrices[0], columns
                        recovery.run(queue, *source, distances, recovered, watch, arrived)
                        predecessors = recovered
            _free(matrices)
        elif options.predecessors:
            predecessors = np.empty((0, 0), _INDEX)
        # a negative diagonal is a negative cycle; then there are no predecessors to repair
        if predecessors is not None and recovery is None and not np.any(np.diagonal(distances) < 0):
            mend_predecessors(graph, distances, predecessors)
        # with `progress` the device is idle between rounds, so only kernel times are added
        kernels = watch.seconds("kernel") if options.progress else watch.span("kernel")
        return Rows(
            distances if device_rows is None else device_rows,
            predecessors,
            stats={
                "kernel_seconds": kernels + watch.seconds("recovery"),
                "transfer_seconds": watch.seconds("transfer"),
                "kernel_hash": configuration.program.hash,
            },
        )

    def _run_rounds(self, options: AllPairsOptions, run: Run, watch: Stopwatch) -> None:
        """Enqueue all rounds."""
        progress, reported = options.progress, -math.inf
        backlog = Backlog(options.device.capabilities.compute_units)
        queue, configuration = run.queue, run.configuration
        steps = configuration.rounds * configuration.steps
        on_host = in_place(queue.device)
        for number, events in enumerate(self.enqueue_rounds(run), start=1):
            # to read the times of all events took the host a third of the time of small rounds
            if progress is not None:
                for event in events:
                    watch.add("kernel", event)
            else:
                if number == 1:
                    watch.add("kernel", events[0])
                if number == steps:
                    watch.add("kernel", events[-1])
            backlog.add(events, self.work(configuration, number - 1))
            if not on_host:
                queue.flush()
                if clears():
                    time.sleep(0)  # other threads get the interpreter's lock
            if self.on_round is not None:
                self.on_round(events)
            # not after each round, because the device is idle during the call
            late = time.monotonic() - reported > _TELL or number == steps
            if progress is not None and late:
                queue.finish()
                progress(number, steps)
                reported = time.monotonic()
        self.finish(run)


def _is_staged(n: int, options: AllPairsOptions, times: int) -> bool:
    """Return whether some matrices of the answer go to the device in pieces, not as a copy."""
    answer = (options.answer or options.dtype).itemsize * n**2
    return staging.suits(options.device.handle, times * answer)


class _LoadedMatrix(Loaded):
    """The matrix on the device, with a copy of it that is there before each run."""

    def __init__(self, method: FloydWarshall, plan: Plan[Graph, AllPairsOptions, Prepared]) -> None:
        configuration, _, arcs = plan.state
        options, graph, watch = plan.options, plan.input, Stopwatch()
        self._method, self._plan, self._queue = method, plan, options.device.queue()
        layout = _layout(configuration, options)
        words = None if configuration.layout is None else (method.encode, method.decode)
        types = options.dtype, options.dtype
        shape = graph.n, configuration.size
        another = layout.dtype.itemsize * configuration.size * layout.columns
        rest = layout, *types, arcs, words, watch, plan.spare_bytes - another
        self._distances = empty((graph.n, graph.n), options.dtype)
        self._buffers: list[cl.Buffer] = []
        if graph.n:
            self._matrix = DistanceMatrix(options.device, shape, *rest)
            first = self._matrix.upload(self._queue, graph, self._distances)
            self._initial = options.device.buffer(first.size)
            cl.enqueue_copy(self._queue, self._initial, first)
            scratch = [
                _scratch(options.device, self._queue, count, configuration.zeros, watch)
                for count in configuration.scratch
            ]
            self._buffers = [first, *scratch]
            self._queue.finish()

    def run(self, times: int = 1) -> None:
        """Restore the matrix and run all rounds."""
        if not self._buffers:
            return
        configuration, options = self._plan.state.configuration, self._plan.options
        run = Run(configuration, self._queue, self._buffers)
        matrix, *scratch = self._buffers
        with device_errors(options.device, self._plan.device_bytes + matrix.size):
            for _ in range(times):
                cl.enqueue_copy(self._queue, matrix, self._initial)
                # a buffer of a pool may have more bytes
                counts = configuration.scratch if configuration.zeros else []
                for buffer, count in zip(scratch, counts, strict=False):
                    zero = np.zeros(1, np.int32)
                    cl.enqueue_fill_buffer(self._queue, buffer, zero, 0, count)
                self._method._run_rounds(options, run, Stopwatch())
            self._queue.finish()

    def answer(self) -> Rows:
        """Copy the distances to the host."""
        configuration, options = self._plan.state.configuration, self._plan.options
        if self._buffers:
            with device_errors(options.device, self._plan.device_bytes):
                matrix = self._buffers[0]
                with self._matrix.arriving(self._queue, matrix, self._distances):
                    pass
        answer = Rows(self._distances, None, stats={"kernel_hash": configuration.program.hash})
        self._method.check_range(self._plan, answer)
        return answer


_INDEX = np.dtype(np.int32)
# Seconds in which the host writes an arc into a matrix, and a device that has it, or gets a copy.
_ARC, _ARC_IN_PLACE, _ARC_COPIED = 6e-9, 2e-9, 0.5e-9
# Seconds between two calls of `progress`.
_TELL = 0.1


def initial_predecessors(graph: Graph) -> np.ndarray:
    """Return the predecessors before the first round: i for every arc (i, j), else -9999."""
    matrix = np.full((graph.n, graph.n), NO_PREDECESSOR, dtype=_INDEX)
    tails = np.repeat(np.arange(graph.n, dtype=_INDEX), np.diff(graph.indptr))
    matrix[tails, graph.indices] = tails
    np.fill_diagonal(matrix, NO_PREDECESSOR)
    return matrix


def _layout(configuration: Configuration, options: AllPairsOptions) -> Layout:
    columns = configuration.pitch or configuration.size
    return configuration.layout or Layout(options.dtype, columns, infinity(options.dtype))


def _nothing() -> None:
    """Wait for distances that are on the host."""


def _scratch(
    device: Device, queue: cl.CommandQueue, count: int, zeros: bool, watch: Stopwatch
) -> cl.Buffer:
    """Make a device buffer of `count` bytes, a multiple of 4 if they are to be zeros."""
    buffer = residents.scratch(device, count)
    if zeros:
        pattern = np.zeros(1, np.int32)
        watch.add("transfer", cl.enqueue_fill_buffer(queue, buffer, pattern, 0, count))
    return buffer


def _free(buffers: list[cl.Buffer], left: int = 0) -> None:
    """Release all but the first `left` buffers."""
    while len(buffers) > left:
        buffers.pop().release()
