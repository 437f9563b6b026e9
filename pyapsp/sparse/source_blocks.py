"""What the sparse methods share: the answer is found for a block of sources at a time.

A method solves N sources at once, so the device holds O(n N + m) values and never the n x n matrix;
finished rows go to the host. `SourceBlocks` is that loop, with its planning. `DeviceBlock` is for
methods that hold the costs of a block side by side for each vertex: the graph and the costs on the
device, the flag that says whether a round changed anything, rows, and predecessors from costs.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import pyopencl as cl

from pyapsp.device import Device, device_errors
from pyapsp.errors import DeviceMemoryError, ParameterError
from pyapsp.graph import Graph
from pyapsp.kernels import Program, Stopwatch, build
from pyapsp.precision import arithmetic_defines, check_weights
from pyapsp.registry import Answer, Method, Options, Plan, check_memory
from pyapsp.tuning import Match, tuned

__all__ = ["BlockSolver", "DeviceBlock", "SourceBlocks", "TunableBlocks", "upload"]

_TILE = 32
# Work-items of a group where one stands for a source and a vertex, if the device has as many.
_GROUP = 64
# What *state of the kernels says: see cl/sparse/source_blocks.cl.
_WAITING, _ADVANCED = 1, 2


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


class SourceBlocks(Method):
    """Base of the methods that solve a block of sources at a time.

    The state of a plan has a ``hash`` that names the code which runs.
    """

    @abstractmethod
    def open(self, plan: Plan, watch: Stopwatch) -> BlockSolver:
        """Bring the graph to where it is solved; the watch is told of transfers."""

    def run(self, plan: Plan) -> Answer:
        """Solve block after block of sources; the rows of the answer are all vertices."""
        graph, options, watch = plan.graph, plan.options, Stopwatch()
        sources = np.arange(graph.n)
        shape = (sources.size, graph.n)
        distances = np.empty(shape, options.dtype) if options.out is None else options.out
        predecessors = np.empty(shape, np.int32) if options.predecessors else None
        elsewhere, started = 0.0, time.perf_counter()
        with device_errors(options.device, plan.device_bytes):
            solver = self.open(plan, watch)
            for start in range(0, sources.size, solver.size):
                some = slice(start, start + solver.size)
                before = None if predecessors is None else predecessors[some]
                solver.solve_block(sources[some], distances[some], before)
                if options.progress is not None:
                    called = time.perf_counter()
                    options.progress(start // solver.size + 1, -(-sources.size // solver.size))
                    elsewhere += time.perf_counter() - called
            seconds = time.perf_counter() - started - elsewhere
            transfers = watch.seconds("transfer")
        return Answer(
            distances,
            predecessors,
            {
                # by the clock of the host: looking at the flag between rounds is part of the work
                "kernel_seconds": max(seconds - transfers, 0.0),
                "transfer_seconds": transfers,
                "kernel_hash": plan.state.hash,
            },
        )


class TunableBlocks(SourceBlocks):
    """Base of those with parameters to choose.

    Attributes
    ----------
    carries_predecessors : bool
        Whether asking for predecessors changes the kernels that have the parameters.
    """

    choices: ClassVar[Mapping[str, Sequence[Any]]] = {}
    carries_predecessors: ClassVar[bool] = False

    @abstractmethod
    def candidates(self, options: Options) -> Iterator[dict[str, Any]]:
        """Yield complete parameter sets, from the one likely fastest to the least demanding."""

    @abstractmethod
    def fits(self, parameters: Mapping[str, Any], options: Options) -> bool:
        """Return whether parameters are legal together and within the limits of the device."""

    @abstractmethod
    def rule(self, options: Options) -> str:
        """Return in words what `fits` asks, with the numbers of the device, for messages."""

    @abstractmethod
    def buffers(self, graph: Graph, options: Options, parameters: Mapping[str, Any]) -> list[int]:
        """Return the bytes of each device buffer that a run will allocate."""

    @abstractmethod
    def prepare(self, graph: Graph, options: Options, parameters: Mapping[str, Any]) -> Any:
        """Build the kernels, and return the state of the plan."""

    def plan(self, graph: Graph, options: Options) -> Plan:
        """Check weights and memory, choose parameters and build the kernels."""
        check_weights(graph, options.dtype)
        started = time.perf_counter()
        too_much: DeviceMemoryError | None = None
        for parameters, match in self._sets(graph, options):
            buffers = self.buffers(graph, options, parameters)
            try:
                check_memory(buffers, options)
            except DeviceMemoryError as error:
                if too_much is None or error.needed < too_much.needed:
                    too_much = error
                continue
            state = self.prepare(graph, options, parameters)
            seconds = time.perf_counter() - started
            row = match.describe() if match else None
            return Plan(graph, options, parameters, sum(buffers), state, seconds, row)
        if too_much is not None:
            raise too_much
        raise ParameterError(
            f"no parameters of {self.id} with {self.parameters or 'the defaults'} fit "
            f"{options.device.name}: {self.rule(options)}"
        )

    def _sets(
        self, graph: Graph, options: Options
    ) -> Iterator[tuple[dict[str, Any], Match | None]]:
        """Yield what was tuned and then the candidates, completed by what was asked for."""
        found = tuned(self, graph.n, options)
        if found is not None:
            yield found
        for candidate in self.candidates(options):
            parameters = candidate | self.parameters
            if self.fits(parameters, options):
                yield parameters, None


class DeviceBlock:
    """A graph on the device, and the costs of a block of sources.

    The cost of vertex v from the source in place s is entry ``v * width + s``.

    Parameters
    ----------
    graph : Graph
    options : Options
    width : int
        Sources in a block.
    program : Program
        Of `DeviceBlock.build`.
    watch : Stopwatch
        Told of transfers, as phase "transfer".

    Attributes
    ----------
    queue : pyopencl.CommandQueue
    arcs : list of pyopencl.Buffer
        Where the arcs of each vertex begin (long), their heads (int) and their weights.
    sources : pyopencl.Buffer
        The vertices of the block (int), -1 in places that are empty.
    costs : pyopencl.Buffer
        n x width values: what a search fills.
    marks : pyopencl.Buffer
        n x width ints for the use of a search.
    words : pyopencl.Buffer
        n x width words of at least 4 bytes, at least as wide as a value, for the use of a search.
    flag : pyopencl.Buffer
        An int, see `read_flag`.
    """

    def __init__(
        self, graph: Graph, options: Options, width: int, program: Program, watch: Stopwatch
    ) -> None:
        self.queue = options.device.queue()
        self._n, self._width, self._watch = graph.n, width, watch
        self._program, self._dtype = program, options.dtype
        self._transposer = _transposer(options.device)
        self._group = min(_GROUP, options.device.capabilities.max_work_group_size)
        self.arcs = self._upload(graph)
        self._entering = self.arcs
        if options.predecessors and graph.directed:
            self._entering = self._upload(graph.reversed())
        block = self.buffers(graph, options, width)[-5:]
        self.costs, self.marks, self.words, self.sources, self.flag = map(self._buffer, block)
        self._state = np.zeros(1, np.int32)

    @staticmethod
    def build(options: Options) -> Program:
        """Build the kernels of rows and predecessors."""
        x, y = _transposer(options.device)
        defines = arithmetic_defines(options.device, options.dtype)
        defines |= {"PYAPSP_GROUP_X": x, "PYAPSP_GROUP_Y": y}
        return build(options.device, "sparse/source_blocks.cl", defines)

    @staticmethod
    def buffers(graph: Graph, options: Options, width: int) -> list[int]:
        """Return the bytes of each buffer."""
        item, entries = options.dtype.itemsize, graph.n * width
        arcs = [8 * (graph.n + 1), 4 * graph.m, item * graph.m]
        if options.predecessors and graph.directed:
            arcs *= 2
        block = [item * entries, 4 * entries, max(item, 4) * entries, 4 * width, 4]
        return [max(count, 4) for count in [*arcs, *block]]

    def begin(self, sources: np.ndarray) -> None:
        """Bring the vertices of a new block to the device."""
        padded = np.full(self._width, -1, np.int32)
        padded[: sources.size] = sources
        cl.enqueue_copy(self.queue, self.sources, padded)

    def read_flag(self) -> int:
        """Return the flag, when all that was enqueued is done."""
        cl.enqueue_copy(self.queue, self._state, self.flag)
        return int(self._state[0])

    def read_costs(self, distances: np.ndarray) -> None:
        """Put the costs into rows of the answer; uses `words`."""
        self._read(distances, "block_rows", self.costs, self.words)

    def read_predecessors(self, predecessors: np.ndarray) -> None:
        """Find the predecessors from the costs, and put them into rows; uses `marks` and `words`.

        The costs must be the fixed point of ``c(v) = min(c(u) + w(u, v))`` in the arithmetic of
        their type, with weights that are not negative.
        """
        sizes = np.int32(self._n), np.int32(self._width)
        before, settled = self.words, self.marks
        cl.enqueue_copy(self.queue, self.flag, np.zeros(1, np.int32))
        found = before, settled, self.flag, *sizes
        self._launch("block_fall", *self._entering, self.sources, self.costs, *found)
        waiting = self.read_flag() & _WAITING
        while waiting:
            cl.enqueue_copy(self.queue, self.flag, np.zeros(1, np.int32))
            self._launch("block_level", *self._entering, self.costs, before, settled, *sizes)
            self._launch("block_settle", *found)
            state = self.read_flag()
            assert state & _ADVANCED, "costs that no tight path attains"
            waiting = state & _WAITING
        self._read(predecessors, "block_rows_of_predecessors", before, settled)

    def _launch(self, kernel: str, *arguments: Any) -> None:
        """Launch a kernel with a work-item for each (source, vertex)."""
        x = min(self._width, self._group)
        y = self._group // x
        items = (-(-self._width // x) * x, -(-self._n // y) * y)
        self._program.kernel(kernel)(self.queue, items, (x, y), *arguments)

    def _read(self, rows: np.ndarray, kernel: str, block: cl.Buffer, scratch: cl.Buffer) -> None:
        """Download a block as rows, as many as there are."""
        if self._width > 1:
            x, y = self._transposer
            items = (-(-self._n // _TILE) * x, -(-self._width // _TILE) * y)
            sizes = np.int32(self._n), np.int32(self._width)
            self._program.kernel(kernel)(self.queue, items, (x, y), block, scratch, *sizes)
            block = scratch
        self._watch.add("transfer", cl.enqueue_copy(self.queue, rows, block))

    def _upload(self, graph: Graph) -> list[cl.Buffer]:
        """Bring arcs to the device."""
        weights = graph.weights.astype(self._dtype)
        arrays = graph.indptr, graph.indices, weights
        return [upload(self.queue, array, self._watch) for array in arrays]

    def _buffer(self, count: int) -> cl.Buffer:
        return cl.Buffer(self.queue.context, cl.mem_flags.READ_WRITE, count)


def upload(queue: cl.CommandQueue, array: np.ndarray, watch: Stopwatch) -> cl.Buffer:
    """Return a device buffer with the content of an array, of at least 4 bytes."""
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, max(array.nbytes, 4))
    if array.size:
        watch.add("transfer", cl.enqueue_copy(queue, buffer, array))
    return buffer


def _transposer(device: Device) -> tuple[int, int]:
    """Return the shape of the groups that transpose."""
    if device.traits.scalar_groups:
        return 1, 1
    return 32, min(8, device.capabilities.max_work_group_size // 32)
