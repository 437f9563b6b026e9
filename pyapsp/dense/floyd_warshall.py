"""What every Floyd-Warshall variant shares: the matrix on the device, before and after."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl

from pyapsp.dense.predecessors import mend_predecessors
from pyapsp.device import device_errors
from pyapsp.errors import DeviceMemoryError
from pyapsp.graph import Graph
from pyapsp.kernels import Program, Stopwatch
from pyapsp.precision import check_weights, infinity
from pyapsp.registry import Answer, Method, Options, Plan
from pyapsp.result import NO_PREDECESSOR

__all__ = [
    "Configuration",
    "FloydWarshall",
    "initial_distances",
    "initial_predecessors",
]


@dataclass(frozen=True)
class Configuration:
    """A built variant.

    Attributes
    ----------
    parameters : dict
        Every parameter of the method, resolved.
    program : Program
    size : int
        Rows of the matrix on the device: n, padded to what the kernels need.
    rounds : int
        How many times `FloydWarshall.enqueue_round` has to be called.
    """

    parameters: dict[str, int]
    program: Program
    size: int
    rounds: int


class FloydWarshall(Method):
    """Base of the methods that update an n x n matrix on the device in rounds."""

    @abstractmethod
    def configure(self, graph: Graph, options: Options) -> Configuration:
        """Choose what is not given, and build the kernels."""

    @abstractmethod
    def enqueue_round(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        matrices: list[cl.Buffer],
        number: int,
    ) -> list[cl.Event]:
        """Enqueue the kernels of one round on the distances (and predecessors)."""

    def plan(self, graph: Graph, options: Options) -> Plan:
        """Check weights and memory, choose parameters and build the kernels."""
        check_weights(graph, options.dtype)
        started = time.perf_counter()
        configuration = self.configure(graph, options)
        seconds = time.perf_counter() - started
        each = [options.dtype.itemsize * configuration.size**2]
        if options.predecessors:
            each.append(_INDEX.itemsize * configuration.size**2)
        _check_memory(each, options)
        return Plan(graph, options, configuration.parameters, sum(each), configuration, seconds)

    def run(self, plan: Plan) -> Answer:
        """Upload the matrix, run all rounds, download it."""
        with device_errors(plan.options.device, plan.device_bytes):
            return self._run(plan, plan.state)

    def _run(self, plan: Plan, configuration: Configuration) -> Answer:
        n, options, watch = plan.graph.n, plan.options, Stopwatch()
        distances = np.empty((n, n), options.dtype) if options.out is None else options.out
        initial_distances(plan.graph, distances)
        host = [distances]
        padding: list[int | float] = [infinity(options.dtype)]
        if options.predecessors:
            host.append(initial_predecessors(plan.graph))
            padding.append(NO_PREDECESSOR)
        if n > 0:
            queue = options.device.queue()
            matrices = [
                _upload(queue, array, configuration.size, pad, watch)
                for array, pad in zip(host, padding, strict=True)
            ]
            for number in range(configuration.rounds):
                for event in self.enqueue_round(configuration, queue, matrices, number):
                    watch.add("kernel", event)
                if options.progress is not None:
                    queue.finish()
                    options.progress(number + 1, configuration.rounds)
            for array, matrix in zip(host, matrices, strict=True):
                watch.add("transfer", _copy(queue, array, matrix, array, configuration.size))
                matrix.release()
        # a negative diagonal is a negative cycle, for which there are no predecessors to mend
        if options.predecessors and not np.any(np.diagonal(distances) < 0):
            mend_predecessors(plan.graph, distances, host[1])
        return Answer(
            distances,
            host[1] if options.predecessors else None,
            {
                "kernel_seconds": watch.seconds("kernel"),
                "transfer_seconds": watch.seconds("transfer"),
                "kernel_hash": configuration.program.hash,
            },
        )


_INDEX = np.dtype(np.int32)


def initial_distances(graph: Graph, matrix: np.ndarray) -> None:
    """Fill the matrix before the first round: the weights, infinity, 0 on the diagonal.

    A negative self-loop stays on the diagonal: it is a negative cycle.
    """
    graph.to_dense(no_arc=infinity(matrix.dtype), out=matrix)
    diagonal = np.einsum("ii->i", matrix)
    np.minimum(diagonal, 0, out=diagonal)


def initial_predecessors(graph: Graph) -> np.ndarray:
    """Return the predecessors before the first round: i for every arc (i, j), else -9999."""
    matrix = np.full((graph.n, graph.n), NO_PREDECESSOR, dtype=_INDEX)
    tails = np.repeat(np.arange(graph.n, dtype=_INDEX), np.diff(graph.indptr))
    matrix[tails, graph.indices] = tails
    np.fill_diagonal(matrix, NO_PREDECESSOR)
    return matrix


def _upload(
    queue: cl.CommandQueue, array: np.ndarray, size: int, pad: int | float, watch: Stopwatch
) -> cl.Buffer:
    """Make a size x size device matrix with the array in its corner and padding around it."""
    bytes_all = array.dtype.itemsize * size**2
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, bytes_all)
    if size > len(array):
        pattern = np.array(pad, array.dtype)
        watch.add("transfer", cl.enqueue_fill_buffer(queue, buffer, pattern, 0, bytes_all))
    watch.add("transfer", _copy(queue, buffer, array, array, size))
    return buffer


def _copy(queue: cl.CommandQueue, to: Any, from_: Any, array: np.ndarray, size: int) -> cl.Event:
    """Copy between an n x n host array and the corner of a size x size device matrix."""
    rows, row_bytes = len(array), array.dtype.itemsize * len(array)
    # the type stubs do not know the names of the rectangle's arguments
    event: cl.Event = cl.enqueue_copy(  # type: ignore[call-overload]
        queue,
        to,
        from_,
        buffer_origin=(0, 0),
        host_origin=(0, 0),
        region=(row_bytes, rows),
        buffer_pitches=(array.dtype.itemsize * size,),
        host_pitches=(row_bytes,),
    )
    return event


def _check_memory(each: list[int], options: Options) -> None:
    """Refuse a run whose matrices do not fit, before anything is allocated."""
    capabilities = options.device.capabilities
    available = capabilities.global_memory
    hint = f"use a narrower dtype or a device with more memory than {options.device.name}"
    if options.memory_limit is not None and options.memory_limit < available:
        available, hint = options.memory_limit, "raise memory_limit or use a narrower dtype"
    if sum(each) > available:
        raise DeviceMemoryError(sum(each), available, hint)
    if max(each) > capabilities.max_allocation:
        raise DeviceMemoryError(
            max(each),
            capabilities.max_allocation,
            f"that is the largest single allocation of {options.device.name}",
        )
