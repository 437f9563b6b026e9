"""The matrix of a graph with few arcs, made on the device."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.graph import Graph
from pyapsp.kernels import Stopwatch, build, upload

__all__ = ["ArcWriter"]

_GROUP, _LANES = 64, 8
_WORDS = {2: "ushort", 4: "uint", 8: "ulong"}
# A matrix is made from arcs if they have at most one in so many of its bytes.
_PART = 4
# Bytes that a command fills: some drivers do not return from a fill of very many elements.
_FILLED = 2**30


class ArcWriter:
    """Writes the arcs of a graph into a matrix. Making it builds the kernels.

    Parameters
    ----------
    device : Device
    dtype : numpy.dtype
        Type of the matrix; it holds the weights.
    """

    def __init__(self, device: Device, dtype: np.dtype) -> None:
        self._device, self._dtype = device, dtype
        defines: dict[str, str | int] = {
            "PYAPSP_GROUP": _GROUP,
            "PYAPSP_LANES": _LANES,
            "PYAPSP_WORD": _WORDS[dtype.itemsize],
        }
        self._program = build(device, "dense/arcs.cl", defines)

    @staticmethod
    def buffers(graph: Graph, dtype: np.dtype) -> list[int]:
        """Return the bytes of the buffers of `write`."""
        return [8 * (graph.n + 1), max(4 * graph.m, 4), max(dtype.itemsize * graph.m, 4)]

    @classmethod
    def suits(cls, graph: Graph, dtype: np.dtype, matrix: int) -> bool:
        """Return whether the arcs have few bytes, compared with those of the matrix."""
        return _PART * sum(cls.buffers(graph, dtype)) <= matrix

    def write(
        self,
        queue: cl.CommandQueue,
        graph: Graph,
        matrix: cl.Buffer,
        columns: int,
        infinity: int | float,
        watch: Stopwatch,
    ) -> None:
        """Enqueue the commands that fill a matrix.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        graph : Graph
        matrix : pyopencl.Buffer
        columns : int
            Values from row to row.
        infinity : int or float
            The value of all entries without an arc.
        watch : Stopwatch
            The time of the copies is added to its phase "transfer".
        """
        pattern = np.full(1, infinity, self._dtype)
        for start in range(0, matrix.size, _FILLED):
            count = min(_FILLED, matrix.size - start)
            cl.enqueue_fill_buffer(queue, matrix, pattern, start, count)
        arcs = [
            upload(queue, graph.indptr, watch),
            upload(queue, graph.indices, watch),
            upload(queue, graph.weights, watch, self._dtype),
        ]
        n = np.int32(graph.n), np.int64(columns)

        def launch(name: str, items: int, *arguments: cl.Buffer) -> None:
            shape = (-(-items // _GROUP) * _GROUP,), (_GROUP,)
            self._program.kernel(name)(queue, *shape, *arguments, matrix, *n)

        launch("arcs_diagonal", graph.n)
        launch("arcs_write", graph.n * _LANES, *arcs)
