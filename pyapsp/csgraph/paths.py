"""SciPy's functions for shortest paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from pyapsp.base.errors import ParameterError
from pyapsp.csgraph.answers import Distances, Predecessors, near, nearest_of, reached, solved
from pyapsp.csgraph.arguments import (
    Matrix,
    can_hold_distances,
    check_non_negative,
    cutoff_of,
    graph_of,
    rows_of,
    search_rows_of,
)
from pyapsp.graph import as_graph
from pyapsp.graph.validation import flag

__all__ = ["bellman_ford", "dijkstra", "floyd_warshall", "johnson", "shortest_path"]

_METHODS = ("auto", "FW", "D", "BF", "J")
_F = TypeVar("_F")


def _typed_as(other: _F) -> Callable[[object], _F]:
    """Let type checkers take a function for another, which has the same parameters."""
    return lambda function: cast("_F", function)


@overload
def shortest_path(
    csgraph: Matrix,
    method: str = ...,
    directed: bool = ...,
    return_predecessors: Literal[False] = ...,
    unweighted: bool = ...,
    overwrite: bool = ...,
    indices: ArrayLike | None = ...,
) -> Distances: ...


@overload
def shortest_path(
    csgraph: Matrix,
    method: str = ...,
    directed: bool = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
    overwrite: bool = ...,
    indices: ArrayLike | None = ...,
) -> tuple[Distances, Predecessors]: ...


@overload
def shortest_path(
    csgraph: Matrix,
    method: str = ...,
    directed: bool = ...,
    return_predecessors: bool = ...,
    unweighted: bool = ...,
    overwrite: bool = ...,
    indices: ArrayLike | None = ...,
) -> Distances | tuple[Distances, Predecessors]: ...


def shortest_path(
    csgraph: Matrix,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
) -> Distances | tuple[Distances, Predecessors]:
    """Compute shortest paths, as `scipy.sparse.csgraph.shortest_path`.

    Parameters
    ----------
    csgraph : array_like or sparse array, (n, n)
        Weights. In a dense array 0, inf and NaN mean "no arc".
    method : {"auto", "FW", "D", "BF", "J"}
        ``"D"``, ``"BF"`` and ``"J"`` call `dijkstra`, `bellman_ford` and `johnson`. With the others
        `pyapsp.solve` selects the method.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    return_predecessors : bool
        Also return the predecessors.
    unweighted : bool
        Count arcs instead of adding weights.
    overwrite : bool
        With ``method="FW"`` write the distances into `csgraph` if it is a C-contiguous float64
        array, and all rows are wanted.
    indices : array_like of int or int, optional
        Return only the rows of these vertices. Negative indices count from the end.

    Returns
    -------
    dist_matrix : ndarray of float64
        (n, n), or with `indices` of shape ``indices.shape + (n,)``.
    predecessors : ndarray of int32
        Of the same shape, -9999 where there is none; only with `return_predecessors`.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle; the error has the vertices of one.
    NegativeWeightError
        If there is a negative weight, and `method` is ``"D"``.
    """
    if method not in _METHODS:
        raise ParameterError.of("method", "shortest_path", f"one of {', '.join(_METHODS)}", method)
    directed = flag("directed", "shortest_path", directed)
    wants = overwrite and method == "FW" and indices is None
    out = csgraph if wants and can_hold_distances(csgraph) else None
    # if the distances are written into the matrix, the graph needs a copy of it
    graph = graph_of(csgraph if out is None else out.copy(), unweighted)
    rows = None if indices is None else rows_of(indices, graph.n, "shortest_path")
    if method == "D":
        check_non_negative(graph)
    if method == "BF" and rows is not None:
        graph = reached(as_graph(graph, directed), rows)
    return solved(graph, directed, rows, return_predecessors, out=out)


@overload
def dijkstra(
    csgraph: Matrix,
    directed: bool = ...,
    indices: ArrayLike | None = ...,
    return_predecessors: Literal[False] = ...,
    unweighted: bool = ...,
    limit: float = ...,
    min_only: bool = ...,
) -> Distances: ...


@overload
def dijkstra(
    csgraph: Matrix,
    directed: bool = ...,
    indices: ArrayLike | None = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
    limit: float = ...,
    min_only: Literal[False] = ...,
) -> tuple[Distances, Predecessors]: ...


@overload
def dijkstra(
    csgraph: Matrix,
    directed: bool = ...,
    indices: ArrayLike | None = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
    limit: float = ...,
    min_only: Literal[True],
) -> tuple[Distances, Predecessors, Predecessors]: ...


@overload
def dijkstra(
    csgraph: Matrix,
    directed: bool = ...,
    indices: ArrayLike | None = ...,
    return_predecessors: bool = ...,
    unweighted: bool = ...,
    limit: float = ...,
    min_only: bool = ...,
) -> Distances | tuple[Distances, Predecessors] | tuple[Distances, Predecessors, Predecessors]: ...


def dijkstra(
    csgraph: Matrix,
    directed: bool = True,
    indices: ArrayLike | None = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
) -> Distances | tuple[Distances, Predecessors] | tuple[Distances, Predecessors, Predecessors]:
    """Compute shortest paths without negative weights, as `scipy.sparse.csgraph.dijkstra`.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, indices
        As for `shortest_path`.
    limit : float
        Distances above it are reported as inf.
    min_only : bool
        Return only the distance of each vertex from the nearest of `indices`.

    Returns
    -------
    dist_matrix : ndarray of float64
        (n, n), with `indices` of shape ``indices.shape + (n,)``, or with `min_only` (n,).
    predecessors : ndarray of int32
        Of the same shape, -9999 where there is none; only with `return_predecessors`.
    sources : (n,) ndarray of int32
        The nearest of `indices`; -9999 if none is within the limit. Only with `min_only` and
        `return_predecessors`.

    Raises
    ------
    NegativeWeightError
        If there is a negative weight.
    """
    directed = flag("directed", "dijkstra", directed)
    cutoff = cutoff_of(limit)
    as_it_is = directed and not (unweighted or return_predecessors or min_only)
    if as_it_is and cutoff is not None and indices is not None:
        arcs = search_rows_of(csgraph)
        found = None if arcs is None else near(arcs, rows_of(indices, arcs.n, "dijkstra"), cutoff)
        if found is not None:
            return found
    graph = graph_of(csgraph, unweighted)
    rows = None if indices is None else rows_of(indices, graph.n, "dijkstra")
    check_non_negative(graph)
    if min_only:
        everything = np.arange(graph.n) if rows is None else rows
        return nearest_of(
            as_graph(graph, directed), np.unique(everything), cutoff, return_predecessors
        )
    return solved(graph, directed, rows, return_predecessors, cutoff)


@overload
def bellman_ford(
    csgraph: Matrix,
    directed: bool = ...,
    indices: ArrayLike | None = ...,
    return_predecessors: Literal[False] = ...,
    unweighted: bool = ...,
) -> Distances: ...


@overload
def bellman_ford(
    csgraph: Matrix,
    directed: bool = ...,
    indices: ArrayLike | None = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
) -> tuple[Distances, Predecessors]: ...


@overload
def bellman_ford(
    csgraph: Matrix,
    directed: bool = ...,
    indices: ArrayLike | None = ...,
    return_predecessors: bool = ...,
    unweighted: bool = ...,
) -> Distances | tuple[Distances, Predecessors]: ...


def bellman_ford(
    csgraph: Matrix,
    directed: bool = True,
    indices: ArrayLike | None = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Distances | tuple[Distances, Predecessors]:
    """Compute shortest paths, as `scipy.sparse.csgraph.bellman_ford`.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, indices
        As for `shortest_path`.

    Returns
    -------
    dist_matrix, predecessors
        As of `shortest_path`.

    Raises
    ------
    NegativeCycleError
        If a negative cycle can be reached from `indices`; the error has the vertices of one.
    """
    return shortest_path(csgraph, "BF", directed, return_predecessors, unweighted, indices=indices)


@_typed_as(bellman_ford)
def johnson(
    csgraph: Matrix,
    directed: bool = True,
    indices: ArrayLike | None = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Distances | tuple[Distances, Predecessors]:
    """Compute shortest paths, as `scipy.sparse.csgraph.johnson`.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, indices
        As for `shortest_path`.

    Returns
    -------
    dist_matrix, predecessors
        As of `shortest_path`.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle anywhere; the error has the vertices of one.
    """
    return shortest_path(csgraph, "J", directed, return_predecessors, unweighted, indices=indices)


@overload
def floyd_warshall(
    csgraph: Matrix,
    directed: bool = ...,
    return_predecessors: Literal[False] = ...,
    unweighted: bool = ...,
    overwrite: bool = ...,
) -> Distances: ...


@overload
def floyd_warshall(
    csgraph: Matrix,
    directed: bool = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
    overwrite: bool = ...,
) -> tuple[Distances, Predecessors]: ...


@overload
def floyd_warshall(
    csgraph: Matrix,
    directed: bool = ...,
    return_predecessors: bool = ...,
    unweighted: bool = ...,
    overwrite: bool = ...,
) -> Distances | tuple[Distances, Predecessors]: ...


def floyd_warshall(
    csgraph: Matrix,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
) -> Distances | tuple[Distances, Predecessors]:
    """Compute shortest paths by Floyd-Warshall, as `scipy.sparse.csgraph.floyd_warshall`.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted
        As for `shortest_path`.
    overwrite : bool
        Write the distances into `csgraph` if it is a C-contiguous float64 array.

    Returns
    -------
    dist_matrix, predecessors
        As of `shortest_path`, for all vertices.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle; the error has the vertices of one.
    """
    return shortest_path(csgraph, "FW", directed, return_predecessors, unweighted, overwrite)
