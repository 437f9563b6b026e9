"""Predecessors of the graphs of a batch, from their distances."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.batch.form import Buffers, raw_defines
from pyapsp.all_pairs.dense.predecessors import Recovery
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch, build
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import check_memory

__all__ = ["Search", "find_predecessors"]

# Work-items for a row on a GPU.
_ITEMS = 64


class Search:
    """Computes predecessors of many small graphs on the device.

    Parameters
    ----------
    n : int
    options : AllPairsOptions
    """

    def __init__(self, n: int, options: AllPairsOptions) -> None:
        traits = options.device.traits
        # predecessors are 4 bytes, whatever the distances
        width = traits.lanes(max(options.dtype.itemsize, 4)) if traits.scalar_groups else 1
        self._n, self._items = n, 1 if traits.scalar_groups else _ITEMS
        defines = arithmetic_defines(options.device, options.dtype, width=width)
        defines |= {**raw_defines(options), "PYAPSP_ITEMS": self._items}
        self._program = build(options.device, "all_pairs/dense/batch_predecessors.cl", defines)

    def enqueue(
        self, queue: cl.CommandQueue, buffers: Buffers, graphs: int, *, zero_is_arc: bool
    ) -> cl.Event:
        """Enqueue the search; it sets `Remark.UNSOUND` for graphs where it failed."""
        kernel = self._program.kernel("batch_predecessors")
        arrays = (buffers.weights, buffers.distances, buffers.before, buffers.remarks)
        sizes = ((graphs * self._n * self._items,), (self._items,))
        event: cl.Event = kernel(queue, *sizes, *arrays, np.int32(self._n), np.int32(zero_is_arc))
        return event


def find_predecessors(graph: Graph, options: AllPairsOptions, distances: np.ndarray) -> np.ndarray:
    """Return the predecessors of final distances, also with arcs of weight zero or below.

    Parameters
    ----------
    graph : Graph
        Without negative cycles.
    options : AllPairsOptions
    distances : (n, n) ndarray

    Returns
    -------
    (n, n) int32 ndarray
    """
    if graph.n == 0:
        return np.empty((0, 0), np.int32)
    recovery = Recovery(graph, options)
    sizes = [distances.nbytes, *recovery.buffers]
    check_memory(sizes, options)
    with device_errors(options.device, sum(sizes)):
        queue, flags = options.device.queue(), cl.mem_flags
        copied = flags.READ_ONLY | flags.COPY_HOST_PTR
        matrix = cl.Buffer(queue.context, copied, hostbuf=np.ascontiguousarray(distances))
        before = np.empty((graph.n, graph.n), np.int32)
        recovery.run(queue, matrix, graph.n, distances, before, Stopwatch())
        matrix.release()
    return before
