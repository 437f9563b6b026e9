"""The distances before the first pass."""

from __future__ import annotations

import numpy as np

from pyapsp.all_pairs.dense.matrix import initial_rows
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.base.errors import ParameterError
from pyapsp.base.host import share
from pyapsp.graph import Graph
from pyapsp.numbers.checks import check_weights

__all__ = ["fill"]

# Bytes of rows that `fill` prepares at a time.
_BLOCK = 2**24


def fill(matrix: Matrix, graph: Graph, rows: int | None = None) -> None:
    """Write the distances before the first pass, a block of rows at a time.

    The weights, infinity where there is no arc, and on the diagonal 0 or a negative self-loop: what
    `initial_distances` gives.

    Parameters
    ----------
    matrix : Matrix
        Of n columns.
    graph : Graph
        With n vertices.
    rows : int, optional
        Rows in a block; by default about 16 MiB.

    Raises
    ------
    ParameterError
        If the sizes differ.
    PrecisionError
        If the dtype cannot hold a weight.
    DiskSpaceError
        If the disk is full: a new file is all hole, and takes its room only now.
    """
    n = graph.n
    if matrix.n != n:
        raise ParameterError.of("matrix", "fill", f"of {n} columns", matrix.n)
    check_weights(graph, matrix.dtype)
    size = len(matrix.array) * n * matrix.dtype.itemsize
    if rows is None:
        rows = max(1, _BLOCK // max(1, n * matrix.dtype.itemsize))
    if not matrix.on_disk:
        share(lambda *some: _fill_memory(matrix, graph, rows, *some), len(matrix.array), size)
        return
    buffer = np.empty((min(rows, n), n), matrix.dtype)
    for first in range(matrix.first, matrix.last, rows):
        last = min(first + rows, matrix.last)
        block = buffer[: last - first]
        initial_rows(graph, first, last, block)
        matrix.write(first, last, block)


def _fill_memory(matrix: Matrix, graph: Graph, rows: int, low: int, high: int) -> None:
    """Write rows low to high - 1 of an array, a block at a time."""
    for start in range(low, high, rows):
        block = matrix.array[start : min(start + rows, high)]
        first = matrix.first + start
        initial_rows(graph, first, first + len(block), block)
