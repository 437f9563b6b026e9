"""SciPy's `scipy.sparse.csgraph` shortest paths, on an OpenCL device.

The functions take SciPy's positional arguments and give SciPy's answers: float64 distances, inf
where there is no path, int32 predecessors with -9999 for none. The device is the one that
`pyapsp.device.choose` picks (``PYAPSP_DEVICE``).

Differences from SciPy 1.17, each pinned by a test:

- dense weights below 1e-8 are arcs; SciPy drops them;
- every sparse format is accepted;
- ``directed=False`` takes the smaller of the two weights in every method;
- a negative self-loop is a negative cycle;
- an unmasked zero in a masked array is an arc of weight zero in floyd_warshall too; SciPy drops
  it there, and keeps it in dijkstra;
- duplicate entries of a sparse array are parallel arcs, of which the shortest counts; SciPy sums
  them;
- NaN and -inf stored in a sparse array are errors;
- NegativeCycleError carries a cycle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from pyapsp.errors import CapabilityError, GraphError, ParameterError
from pyapsp.graph import Graph, as_graph
from pyapsp.result import Result
from pyapsp.solver import solve

__all__ = ["floyd_warshall", "shortest_path"]

_METHODS = ("auto", "FW", "D", "BF", "J")


def shortest_path(
    csgraph: Any,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Compute shortest paths, as `scipy.sparse.csgraph.shortest_path`.

    Parameters
    ----------
    csgraph : array_like or sparse array, (n, n)
        Weights. In a dense array 0, inf and NaN mean "no arc".
    method : {"auto", "FW"}
        ``"auto"`` leaves the choice to `pyapsp.solve`, ``"FW"`` is Floyd-Warshall.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    return_predecessors : bool
        Also return the predecessors.
    unweighted : bool
        Count arcs instead of adding weights.
    overwrite : bool
        Allowed for compatibility; the input is never changed.
    indices : array_like of int or int, optional
        Only the rows of these vertices. Negative indices count from the end.

    Returns
    -------
    dist_matrix : ndarray of float64
        (n, n), or with `indices` of shape ``indices.shape + (n,)``.
    predecessors : ndarray of int32
        Of the same shape, -9999 where there is none; only with `return_predecessors`.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle; it carries one.
    CapabilityError
        If `method` is one of SciPy's that is not available here.
    """
    if method not in _METHODS:
        raise ParameterError.of("method", "shortest_path", f"one of {', '.join(_METHODS)}", method)
    if method not in ("auto", "FW"):
        raise CapabilityError(f"method {method!r} of shortest_path is not available; use 'FW'")
    graph = _graph(csgraph, unweighted)
    rows = None if indices is None else _indices(indices, graph.n)
    result = solve(
        graph,
        "auto",  # which is Floyd-Warshall, too
        directed=directed,
        predecessors=return_predecessors,
        sources=None if rows is None else rows.ravel(),
    )
    shape = None if rows is None else (*rows.shape, graph.n)
    return _matrices(result, return_predecessors, shape)


def floyd_warshall(
    csgraph: Any,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Compute shortest paths by Floyd-Warshall, as `scipy.sparse.csgraph.floyd_warshall`.

    Parameters
    ----------
    csgraph : array_like or sparse array, (n, n)
        Weights. In a dense array 0, inf and NaN mean "no arc".
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    return_predecessors : bool
        Also return the predecessors.
    unweighted : bool
        Count arcs instead of adding weights.
    overwrite : bool
        Put the distances into `csgraph` where it is a C-contiguous float64 array.

    Returns
    -------
    dist_matrix : (n, n) ndarray of float64
    predecessors : (n, n) ndarray of int32
        -9999 where there is none; only with `return_predecessors`.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle; it carries one.
    """
    result = solve(
        _graph(csgraph, unweighted),
        "fw-blocked",
        directed=directed,
        predecessors=return_predecessors,
        out=csgraph if overwrite and _can_hold_distances(csgraph) else None,
    )
    return _matrices(result, return_predecessors, None)


def _graph(csgraph: Any, unweighted: bool) -> Graph:
    if issparse(csgraph) or isinstance(csgraph, Graph):
        graph = as_graph(csgraph)
    else:
        try:
            graph = Graph.from_dense(csgraph, nan_is_no_arc=True)
        except ValueError as error:
            if isinstance(error, GraphError):
                raise
            raise GraphError(f"no matrix of weights: {error}") from None
    if unweighted:
        return graph.with_weights(np.ones(graph.m))
    return graph.with_weights(graph.weights.astype(np.float64))  # as SciPy, which rounds here


def _indices(indices: Any, n: int) -> np.ndarray:
    rows = np.asarray(indices)
    if rows.size and rows.dtype.kind not in "iu":
        raise ParameterError.of("indices", "shortest_path", "integers", indices)
    rows = np.where(rows < 0, rows + n, rows).astype(np.int64)
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        raise ParameterError.of("indices", "shortest_path", f"vertices in [-{n}, {n})", indices)
    return rows


def _can_hold_distances(csgraph: Any) -> bool:
    return (
        type(csgraph) is np.ndarray
        and csgraph.dtype == np.float64
        and csgraph.flags.c_contiguous
        and csgraph.flags.writeable
    )


def _matrices(
    result: Result, with_predecessors: bool, shape: tuple[int, ...] | None
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    distances = result.distances if shape is None else result.distances.reshape(shape)
    if not with_predecessors:
        return distances
    assert result.predecessors is not None
    before = result.predecessors if shape is None else result.predecessors.reshape(shape)
    return distances, before
