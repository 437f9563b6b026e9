"""Analytics on a container and on compressed sparse rows, with the same kernels."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import CapabilityError, GraphError, ParameterError, PrecisionError
from pyapsp.device import device_errors
from pyapsp.dynamic.arguments import vertex_there
from pyapsp.dynamic.calls import Run
from pyapsp.dynamic.ranks import katz, pagerank
from pyapsp.dynamic.rows import CsrRows, Rows, RowsLike, rows_of
from pyapsp.graph import Weight, validation
from pyapsp.graph.names import check_order

__all__ = [
    "SEMIRINGS",
    "CsrRows",
    "bfs",
    "connected_components",
    "distances",
    "katz",
    "pagerank",
    "spmv",
]

#: Sums and products of a matrix-vector product.
SEMIRINGS = ("plus-times", "min-plus")
_VALUES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long"}


def _value(rows: Rows, x: np.ndarray) -> str:
    if x.dtype.name not in _VALUES:
        raise ParameterError.of("x", "spmv", f"of a type of {', '.join(_VALUES)}", x.dtype.name)
    if x.dtype == np.float64 and not rows.device.capabilities.fp64:
        raise CapabilityError(f"float64 needs double precision: {rows.device.without('fp64')}")
    return _VALUES[x.dtype.name]


def bfs(graph: RowsLike, source: int) -> NDArray[np.int32]:
    """Return the number of edges from a vertex to every vertex; -1 where there is no path.

    Parameters
    ----------
    graph : Hornet, CsrRows or graph-like
    source : int

    Raises
    ------
    ParameterError
        `source` is no vertex, or it was deleted.

    Source: F. Busato, thesis, Verona 2018, section 18.4.5.
    """
    rows = rows_of(graph, weights=False)
    source = vertex_there("source", "bfs", source, rows.there)
    with device_errors(rows.device, 16 * rows.n):
        run = Run(rows, rows.program())
        start = np.full(rows.n, -1, np.int32)
        start[source] = 0
        distance = run.upload(start)
        levels = [run.filled(source, rows.n, np.int32), run.buffer(4 * rows.n)]
        counts = [run.filled(1, 1, np.int32), run.filled(0, 1, np.int32)]
        size, level = 1, 0
        while size:
            now, later = level % 2, (level + 1) % 2
            cl.enqueue_fill_buffer(rows.queue, counts[later], np.zeros(1, np.int32), 0, 4)
            written = distance, levels[later], counts[later], np.int32(level + 1)
            run.over_rows("rows_search", *written, of=(levels[now], counts[now], size))
            size = int(run.fetch(counts[later], 1, np.int32)[0])
            level += 1
        return run.fetch(distance, rows.n, np.int32)


def distances(graph: RowsLike, source: int, *, weight: Weight = ...) -> NDArray[np.int32]:
    """Return the length of a shortest path from a vertex to every vertex; -1 where there is none.

    Source: R. Bellman, Quarterly of Applied Mathematics 16, 1958, with the frontiers of F. Busato,
    N. Bombieri, TPDS 27, 2016, doi:10.1109/TPDS.2015.2485994.

    Parameters
    ----------
    graph : Hornet, CsrRows or graph-like
        With non-negative weights of an integer type, or without weights: then all are 1.
    source : int
    weight : hashable, callable or None, optional
        The edge attribute or column with the weight, as for `pyapsp.solve`.

    Raises
    ------
    ParameterError
        The weights are of another type, or `source` is no vertex or was deleted.
    PrecisionError
        The weight of an edge that is reached is negative, or a length is not below 2^31 - 2.
    """
    rows = rows_of(graph, weight=weight, owner="distances")
    if rows.weight is None:
        return bfs(rows, source)
    if rows.weight.kind not in "iu":
        raise ParameterError.of("graph", "distances", "of integer weights", rows.weight.name)
    source = vertex_there("source", "distances", source, rows.there)
    with device_errors(rows.device, 20 * rows.n):
        run, most = Run(rows, rows.program()), np.iinfo(np.int32).max
        start = np.full(rows.n, most, np.int32)
        start[source] = 0
        distance, marks = run.upload(start), run.filled(0, rows.n, np.int32)
        levels = [run.filled(source, rows.n, np.int32), run.buffer(4 * rows.n)]
        counts = [run.filled(1, 1, np.int32), run.filled(0, 1, np.int32)]
        negative = run.filled(0, 1, np.int32)
        size, turn = 1, 0
        while size:
            now, later = turn % 2, (turn + 1) % 2
            cl.enqueue_fill_buffer(rows.queue, counts[later], np.zeros(1, np.int32), 0, 4)
            written = distance, marks, levels[later], counts[later], negative, np.int32(turn + 1)
            frontier = levels[now], counts[now], size
            run.over_rows("rows_relax", *written, of=frontier, weights=True)
            size = int(run.fetch(counts[later], 1, np.int32)[0])
            turn += 1
        answer = run.fetch(distance, rows.n, np.int32)
        if run.fetch(negative, 1, np.int32)[0]:
            raise PrecisionError("lengths need weights of at least 0, and one is negative")
    if (answer == most - 1).any():
        raise PrecisionError("a length is not below 2^31 - 2, which int32 needs")
    answer[answer == most] = -1
    return answer


def spmv(
    graph: RowsLike, x: ArrayLike, *, semiring: str = "plus-times", weight: Weight = ...
) -> np.ndarray:
    """Return the product of the adjacency matrix and a vector.

    Source: F. Busato, thesis, Verona 2018, section 18.4.6.

    Parameters
    ----------
    graph : Hornet, CsrRows or graph-like
        Row v has the edges of v; edges without weights have the weight 1.
    x : array_like, shape (n,)
        float32, float64, int32 or int64: the type of the answer, to which weights are converted.
    semiring : {"plus-times", "min-plus"}
        "min-plus": y[v] is the smallest weight + x[head] of the edges of v. It is infinity if there
        is no edge. In an integer type, its largest value means infinity, in x too, and a larger
        sum is infinity.
    weight : hashable, callable or None, optional
        The edge attribute or column with the weight, as for `pyapsp.solve`.

    Returns
    -------
    (n,) ndarray

    Raises
    ------
    GraphError
        `x` has another shape.
    ParameterError
        `x` is of another type, or of integers though the weights are floats; or it is a column of
        pandas whose index has other vertices, or in another order.
    PrecisionError
        A sum may not fit into the integer type: in "plus-times" the absolute values of the products
        of a row add up to more than it holds; in "min-plus" a sum is too small.
    """
    rows = rows_of(graph, weight=weight, owner="spmv")
    semiring = validation.choice("semiring", "spmv", semiring, SEMIRINGS)
    vector = np.ascontiguousarray(validation.array("the vector", x))
    vector = vector.astype(vector.dtype.newbyteorder("="), copy=False)
    if vector.shape != (rows.n,):
        raise GraphError(f"a vector of shape {vector.shape} does not go with {rows.n} vertices")
    check_order(x, 0, rows.labels, rows.n, "spmv", "x")
    value = _value(rows, vector)
    defines: dict[str, str | int] = {
        "PYAPSP_VALUE": value,
        "PYAPSP_MIN_PLUS": int(semiring == "min-plus"),
        "PYAPSP_HAS_FP64": int(rows.device.capabilities.fp64),
    }
    if vector.dtype.kind == "i":
        if rows.weight is not None and rows.weight.kind == "f":
            raise ParameterError.of("x", "spmv", "of floats, as the weights are", value)
        defines["PYAPSP_INTEGERS"] = 1
        defines["PYAPSP_NONE"] = "LONG_MAX" if value == "long" else "INT_MAX"
        if rows.weight is None:
            defines["PYAPSP_WEIGHT"] = "int"
    with device_errors(rows.device, 2 * vector.nbytes):
        run = Run(rows, rows.program(**defines))
        sent, answer = run.upload(vector), run.buffer(vector.nbytes)
        lost = [run.filled(0, 1, np.int32)] if vector.dtype.kind == "i" else []
        weighted = rows.weight is not None
        name = "rows_product" if weighted else "rows_sum"
        run.over_rows(name, sent, answer, *lost, weights=weighted)
        product = run.fetch(answer, rows.n, vector.dtype)
        if lost and run.fetch(lost[0], 1, np.int32)[0]:
            raise PrecisionError(f"a sum may not fit into {vector.dtype}: use a wider type of x")
        return product


def connected_components(graph: RowsLike) -> NDArray[np.int32]:
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
    rows = rows_of(graph, weights=False)
    with device_errors(rows.device, 12 * rows.n):
        run = Run(rows, rows.program())
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
