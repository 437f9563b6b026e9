"""Analytics on a container and on compressed sparse rows, with the same kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike, NDArray

from pyapsp.device import device_errors
from pyapsp.dynamic.rows import CsrRows, Rows, rows_of
from pyapsp.errors import CapabilityError, GraphError, ParameterError
from pyapsp.graph import validation
from pyapsp.kernels import Program

__all__ = ["SEMIRINGS", "CsrRows", "bfs", "connected_components", "pagerank", "spmv"]

#: Sums and products of a matrix-vector product.
SEMIRINGS = ("plus-times", "min-plus")
_VALUES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long"}


class _Run:
    """Buffers and launches of one call.

    Parameters
    ----------
    rows : Rows
    program : Program
    """

    def __init__(self, rows: Rows, program: Program) -> None:
        self.rows, self._program = rows, program
        self._longer = self.buffer(4 * max(rows.n, 1))
        self._counts = self.buffer(8)  # of a list, and of the long rows
        self._all = self.upload(np.array([rows.n], np.int32))

    def buffer(self, size: int) -> cl.Buffer:
        """Return a new buffer."""
        return cl.Buffer(self.rows.device.context, cl.mem_flags.READ_WRITE, max(size, 4))

    def upload(self, array: NDArray[Any]) -> cl.Buffer:
        """Return a new buffer with the content of an array."""
        buffer = self.buffer(array.nbytes)
        if array.nbytes:
            cl.enqueue_copy(self.rows.queue, buffer, array)
        return buffer

    def filled(self, value: Any, count: int, dtype: Any) -> cl.Buffer:
        """Return a new buffer of equal values."""
        return self.upload(np.full(max(count, 1), value, dtype))

    def fetch(self, buffer: cl.Buffer, count: int, dtype: Any) -> NDArray[Any]:
        """Copy a buffer to the host."""
        array = np.empty(count, dtype)
        if count:
            cl.enqueue_copy(self.rows.queue, array, buffer)
        return array

    def launch(self, name: str, items: int, *arguments: Any) -> None:
        """Enqueue a kernel."""
        group = self.rows.group
        size = max(min(-(-items // group) * group, self.rows.items), group)
        self._program.kernel(name)(self.rows.queue, (size,), (group,), *arguments)

    def over_rows(
        self,
        name: str,
        *arguments: Any,
        of: tuple[cl.Buffer, cl.Buffer, int] | None = None,
        weights: bool = False,
    ) -> None:
        """Enqueue a kernel over all rows, or over those of a list: buffer, count, most of them."""
        rows = self.rows
        longer, count = self._longer, self._counts
        listed, counted, most = of or (longer, self._all, rows.n)
        given = *arguments, *rows.arguments(weights=weights)
        limit = rows.limit
        cl.enqueue_fill_buffer(rows.queue, count, np.zeros(1, np.int32), 0, 4)
        first = listed, counted, np.int32(of is not None), np.int32(rows.lanes), np.int32(limit)
        self.launch(name, most * rows.lanes, *first, longer, count, *given)
        if rows.group > 1:
            # nothing is longer than this limit
            whole = np.int32(1), np.int32(rows.group), np.int32(2**31 - 1)
            self.launch(name, rows.items, longer, count, *whole, listed, self._all, *given)


def _value(rows: Rows, x: NDArray[Any]) -> str:
    if x.dtype.name not in _VALUES:
        raise ParameterError.of("x", "spmv", f"of a type of {', '.join(_VALUES)}", x.dtype.name)
    if x.dtype == np.float64 and not rows.device.capabilities.fp64:
        raise CapabilityError(f"float64 needs double precision: {rows.device.without('fp64')}")
    return _VALUES[x.dtype.name]


def bfs(graph: Any, source: int) -> NDArray[np.int32]:
    """Return the number of edges from a vertex to every vertex; -1 where there is no path.

    Parameters
    ----------
    graph : Hornet, CsrRows or graph-like
    source : int

    Source: F. Busato, thesis, Verona 2018, section 18.4.5.
    """
    rows = rows_of(graph)
    source = validation.vertex("source", "bfs", source, rows.n)
    with device_errors(rows.device, 16 * rows.n):
        run = _Run(rows, rows.program())
        start = np.full(rows.n, -1, np.int32)
        start[source] = 0
        distance = run.upload(start)
        levels = [run.filled(source, rows.n, np.int32), run.buffer(4 * rows.n)]
        counts = [run.filled(1, 1, np.int32), run.filled(0, 1, np.int32)]
        size, level = 1, 0
        while size:
            now, later = level % 2, (level + 1) % 2
            cl.enqueue_fill_buffer(rows.queue, counts[later], np.zeros(1, np.int32), 0, 4)
            found = distance, levels[later], counts[later], np.int32(level + 1)
            run.over_rows("rows_search", *found, of=(levels[now], counts[now], size))
            size = int(run.fetch(counts[later], 1, np.int32)[0])
            level += 1
        return run.fetch(distance, rows.n, np.int32)


def spmv(graph: Any, x: ArrayLike, *, semiring: str = "plus-times") -> NDArray[Any]:
    """Return the product of the adjacency matrix and a vector.

    Parameters
    ----------
    graph : Hornet, CsrRows or graph-like
        Row v has the edges of v; edges without weights have the weight 1.
    x : array_like, shape (n,)
        float32, float64, int32 or int64: the type of the answer.
    semiring : {"plus-times", "min-plus"}
        "min-plus": y[v] is the smallest weight + x[head] of the edges of v. It is infinity if there
        is no edge. In an integer type, its largest value means infinity, in x too.

    Returns
    -------
    (n,) ndarray

    Source: F. Busato, thesis, Verona 2018, section 18.4.6.
    """
    rows = rows_of(graph)
    if semiring not in SEMIRINGS:
        raise ParameterError.of("semiring", "spmv", f"one of {', '.join(SEMIRINGS)}", semiring)
    vector = np.ascontiguousarray(validation.array("the vector", x))
    if vector.shape != (rows.n,):
        raise GraphError(f"a vector of shape {vector.shape} does not go with {rows.n} vertices")
    value = _value(rows, vector)
    defines: dict[str, str | int] = {
        "PYAPSP_VALUE": value,
        "PYAPSP_MIN_PLUS": int(semiring == "min-plus"),
        "PYAPSP_HAS_FP64": int(rows.device.capabilities.fp64),
    }
    if vector.dtype.kind == "i":
        defines["PYAPSP_NONE"] = "LONG_MAX" if value == "long" else "INT_MAX"
    with device_errors(rows.device, 2 * vector.nbytes):
        run = _Run(rows, rows.program(**defines))
        given, answer = run.upload(vector), run.buffer(vector.nbytes)
        weighted = rows.weight is not None
        name = "rows_product" if weighted else "rows_sum"
        run.over_rows(name, given, answer, weights=weighted)
        return run.fetch(answer, rows.n, vector.dtype)


def pagerank(
    graph: Any, *, damping: float = 0.85, tolerance: float = 1e-6, limit: int = 100
) -> NDArray[np.float32]:
    """Return the PageRank of every vertex, from edges without weights; their sum is 1.

    Parameters
    ----------
    graph : Hornet, CsrRows or graph-like
        An undirected one is faster: its vertices read what they are given.
    damping : float
        In [0, 1].
    tolerance : float
        The iteration ends if the sum of all changes is at most this.
    limit : int
        The most iterations.

    Returns
    -------
    (n,) float32 ndarray
        0 for deleted vertices.

    Source: L. Page, S. Brin, R. Motwani, T. Winograd, The PageRank citation ranking, Stanford 1999.
    """
    rows = rows_of(graph)
    damping = validation.probability("damping", "pagerank", damping)
    limit = validation.integer("limit", "pagerank", limit, 1)
    if not validation.is_real(tolerance) or not tolerance >= 0:
        raise ParameterError.of("tolerance", "pagerank", "a number of at least 0", tolerance)
    there = np.ones(rows.n, bool)
    if hasattr(graph, "vertices"):
        there[:] = False
        there[graph.vertices] = True
    count = int(there.sum())
    if count == 0:
        return np.zeros(rows.n, np.float32)
    with device_errors(rows.device, 12 * rows.n):
        run = _Run(rows, rows.program())
        rank, given = run.filled(0, rows.n, np.float32), run.filled(0, rows.n, np.float32)
        share = run.buffer(4 * rows.n)
        groups = min(-(-rows.n // rows.group), rows.items // rows.group)
        sums = run.buffer(8 * groups)

        def renew(base: float, factor: float) -> tuple[float, float]:
            sizes = np.int32(rows.n), np.float32(base), np.float32(factor)
            arguments = given, rank, share, sums, *sizes, *rows.arguments()
            run.launch("rows_rank", rows.n, *arguments)
            parts = run.fetch(sums, 2 * groups, np.float32).astype(float)
            return parts[::2].sum(), parts[1::2].sum()

        _, hanging = renew(1 / count, 0)
        for _ in range(limit):
            if rows.symmetric:
                run.over_rows("rows_sum", share, given)
            else:
                zero = np.zeros(1, np.int32)
                cl.enqueue_fill_buffer(rows.queue, given, zero, 0, 4 * rows.n)
                run.over_rows("rows_push", share, given)
            change, hanging = renew((1 - damping + damping * hanging) / count, damping)
            if change <= tolerance:
                break
        return run.fetch(rank, rows.n, np.float32)


def connected_components(graph: Any) -> NDArray[np.int32]:
    """Return the least vertex of the component of each vertex, whatever the directions of edges.

    Parameters
    ----------
    graph : Hornet, CsrRows or graph-like

    Returns
    -------
    (n,) int32 ndarray
        Deleted vertices are components of their own.

    Source: Y. Shiloach, U. Vishkin, J. Algorithms 3, 1982, doi:10.1016/0196-6774(82)90008-6.
    """
    rows = rows_of(graph)
    with device_errors(rows.device, 12 * rows.n):
        run = _Run(rows, rows.program())
        start = np.arange(rows.n, dtype=np.int32)
        now, later, changed = run.upload(start), run.upload(start), run.filled(0, 1, np.int32)
        while rows.n:
            cl.enqueue_fill_buffer(rows.queue, changed, np.zeros(1, np.int32), 0, 4)
            run.over_rows("rows_hook", now, later, changed)
            run.launch("rows_shorten", rows.n, later, now, np.int32(rows.n))
            if not run.fetch(changed, 1, np.int32)[0]:
                break
            cl.enqueue_copy(rows.queue, later, now, byte_count=4 * rows.n)
        return run.fetch(now, rows.n, np.int32)
