"""The matrix of a graph, made of its arcs on the device."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import Stopwatch, build, fill
from pyapsp.device.kernels.transfer import uploaded
from pyapsp.graph import Facts, Graph

__all__ = ["ArcWriter"]

_GROUP, _LANES = 64, 8
_WORDS = {2: "ushort", 4: "uint", 8: "ulong"}
# A matrix is made from arcs if they have at most one in so many of its bytes.
_PART = 4
# Arcs that the host writes in less time than the device needs for three launches and copies.
_MANY = 2**15


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
        one = device.traits.scalar_groups
        self._group, self._lanes = (1, 1) if one else (_GROUP, _LANES)
        defines: dict[str, str | int] = {
            "PYAPSP_GROUP": self._group,
            "PYAPSP_LANES": self._lanes,
            "PYAPSP_WORD": _WORDS[dtype.itemsize],
            "PYAPSP_SIGN": int(dtype.kind != "u"),
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

    @classmethod
    def has_many(cls, graph: Graph | Facts) -> bool:
        """Return whether the arcs are so many that the host would need long to write them."""
        return graph.m >= _MANY

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
        starts, heads, weights = graph.indptr, graph.indices, graph.weights
        if rows != (0, graph.n):  # the arrays of the graph itself stay there for later calls
            low, high = int(starts[first]), int(starts[last])
            starts = starts[first : last + 1] - low
            heads, weights = heads[low:high], weights[low:high]
        arcs = uploaded(queue, watch, (starts, None), (heads, None), (weights, self._dtype))
        place = np.int32(last - first), np.int64(columns), np.int32(first), np.int64(row * columns)

        def launch(name: str, items: int, *arguments: cl.Buffer) -> None:
            shape = (-(-items // self._group) * self._group,), (self._group,)
            self._program.kernel(name)(queue, *shape, *arguments, matrix, *place)

        launch("arcs_diagonal", last - first)
        launch("arcs_write", (last - first) * self._lanes, *arcs)
