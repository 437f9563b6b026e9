"""The matrix of a graph with few arcs, made on the device."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import Stopwatch, build, fill, upload
from pyapsp.graph import Graph

__all__ = ["ArcWriter"]

_GROUP, _LANES = 64, 8
_WORDS = {2: "ushort", 4: "uint", 8: "ulong"}
# A matrix is made from arcs if they have at most one in so many of its bytes.
_PART = 4


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
        self._program = build(device, "all_pairs/dense/arcs.cl", defines)

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
        fill(self._device, queue, matrix, self._dtype.type(infinity))
        self.write_rows(queue, graph, (0, graph.n), matrix, columns, 0, watch)

    def write_rows(
        self,
        queue: cl.CommandQueue,
        graph: Graph,
        rows: tuple[int, int],
        matrix: cl.Buffer,
        columns: int,
        row: int,
        watch: Stopwatch,
    ) -> None:
        """Enqueue the commands that write the arcs of some vertices into rows that are infinity.

        Parameters
        ----------
        queue, graph, matrix, columns, watch
            As for `write`.
        rows : (int, int)
            The first vertex, and one past the last.
        row : int
            The row of the matrix for the first vertex.
        """
        first, last = rows
        low, high = int(graph.indptr[first]), int(graph.indptr[last])
        starts = graph.indptr[first : last + 1]
        arcs = [
            upload(queue, starts - low if low else starts, watch),
            upload(queue, graph.indices[low:high], watch),
            upload(queue, graph.weights[low:high], watch, self._dtype),
        ]
        place = np.int32(last - first), np.int64(columns), np.int32(first), np.int64(row * columns)

        def launch(name: str, items: int, *arguments: cl.Buffer) -> None:
            shape = (-(-items // _GROUP) * _GROUP,), (_GROUP,)
            self._program.kernel(name)(queue, *shape, *arguments, matrix, *place)

        launch("arcs_diagonal", last - first)
        launch("arcs_write", (last - first) * _LANES, *arcs)
