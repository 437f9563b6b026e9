"""SciPy's `scipy.sparse.csgraph`, with its shortest paths and components on an OpenCL device.

The functions take SciPy's arguments, and return what SciPy returns: float64 distances, inf if there
is no path, int32 predecessors, -9999 for none. The device is the one that `pyapsp.device.choose`
selects (``PYAPSP_DEVICE``). All other names of SciPy's module are imported from SciPy, so that this
module can replace it. `NegativeCycleError` is SciPy's, and the base class of the one of pyapsp.

``docs/differences.md`` lists all differences from SciPy 1.17. It is generated from the tests in
``tests/csgraph/test_differences.py``.

A function need not use the algorithm of its name: `pyapsp.solve` selects the method with the
shortest predicted time. If there are several shortest paths, or several nearest sources, SciPy may
return another one. ``directed=False`` always takes the smaller of the two weights. SciPy 1.17 does
so too, but its documentation does not guarantee it.

``breadth_first_order`` is SciPy's, because it is faster than the conversion to a `Graph`.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph as scipy_csgraph
from scipy.sparse import csr_array, issparse

from pyapsp.distances.one import from_one
from pyapsp.distances.solver import solve
from pyapsp.errors import GraphError, NegativeWeightError, ParameterError
from pyapsp.graph import Graph, as_graph, validation
from pyapsp.graph.dense import from_array
from pyapsp.graph.validation import flag
from pyapsp.result import NO_PREDECESSOR
from pyapsp.traversal.components import (
    strongly_connected_components,
    weakly_connected_components,
)

__all__ = [
    "bellman_ford",
    "connected_components",
    "dijkstra",
    "floyd_warshall",
    "johnson",
    "shortest_path",
]

_Distances: TypeAlias = NDArray[np.float64]
_Predecessors: TypeAlias = NDArray[np.int32]

_METHODS = ("auto", "FW", "D", "BF", "J")


def __getattr__(name: str) -> Any:
    if name in scipy_csgraph.__all__:
        return getattr(scipy_csgraph, name)
    raise AttributeError(f"module 'pyapsp.csgraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *scipy_csgraph.__all__})


@overload
def shortest_path(
    csgraph: Any,
    method: str = ...,
    directed: bool = ...,
    return_predecessors: Literal[False] = ...,
    unweighted: bool = ...,
    overwrite: bool = ...,
    indices: Any = ...,
) -> _Distances: ...


@overload
def shortest_path(
    csgraph: Any,
    method: str = ...,
    directed: bool = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
    overwrite: bool = ...,
    indices: Any = ...,
) -> tuple[_Distances, _Predecessors]: ...


@overload
def shortest_path(
    csgraph: Any,
    method: str = ...,
    directed: bool = ...,
    return_predecessors: bool = ...,
    unweighted: bool = ...,
    overwrite: bool = ...,
    indices: Any = ...,
) -> _Distances | tuple[_Distances, _Predecessors]: ...


def shortest_path(
    csgraph: Any,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
) -> _Distances | tuple[_Distances, _Predecessors]:
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
    held = overwrite and method == "FW" and indices is None and _can_hold_distances(csgraph)
    # if the distances are written into the matrix, the graph needs a copy of it
    graph = _graph(csgraph.copy() if held else csgraph, unweighted)
    rows = None if indices is None else _indices(indices, graph.n, "shortest_path")
    if method == "D":
        _check_non_negative(graph)
    if method == "BF" and rows is not None:
        graph = _reached(as_graph(graph, directed), rows)
    out = csgraph if held else None
    return _solved(graph, directed, rows, return_predecessors, out=out)


@overload
def dijkstra(
    csgraph: Any,
    directed: bool = ...,
    indices: Any = ...,
    return_predecessors: Literal[False] = ...,
    unweighted: bool = ...,
    limit: float = ...,
    min_only: bool = ...,
) -> _Distances: ...


@overload
def dijkstra(
    csgraph: Any,
    directed: bool = ...,
    indices: Any = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
    limit: float = ...,
    min_only: Literal[False] = ...,
) -> tuple[_Distances, _Predecessors]: ...


@overload
def dijkstra(
    csgraph: Any,
    directed: bool = ...,
    indices: Any = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
    limit: float = ...,
    min_only: Literal[True],
) -> tuple[_Distances, _Predecessors, _Predecessors]: ...


@overload
def dijkstra(
    csgraph: Any,
    directed: bool = ...,
    indices: Any = ...,
    return_predecessors: bool = ...,
    unweighted: bool = ...,
    limit: float = ...,
    min_only: bool = ...,
) -> (
    _Distances | tuple[_Distances, _Predecessors] | tuple[_Distances, _Predecessors, _Predecessors]
): ...


def dijkstra(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
) -> (
    _Distances | tuple[_Distances, _Predecessors] | tuple[_Distances, _Predecessors, _Predecessors]
):
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
    cutoff = _cutoff(limit)
    graph = _graph(csgraph, unweighted)
    rows = None if indices is None else _indices(indices, graph.n, "dijkstra")
    _check_non_negative(graph)
    if min_only:
        everything = np.arange(graph.n) if rows is None else rows
        return _nearest(
            as_graph(graph, directed), np.unique(everything), cutoff, return_predecessors
        )
    return _solved(graph, directed, rows, return_predecessors, cutoff)


@overload
def bellman_ford(
    csgraph: Any,
    directed: bool = ...,
    indices: Any = ...,
    return_predecessors: Literal[False] = ...,
    unweighted: bool = ...,
) -> _Distances: ...


@overload
def bellman_ford(
    csgraph: Any,
    directed: bool = ...,
    indices: Any = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
) -> tuple[_Distances, _Predecessors]: ...


@overload
def bellman_ford(
    csgraph: Any,
    directed: bool = ...,
    indices: Any = ...,
    return_predecessors: bool = ...,
    unweighted: bool = ...,
) -> _Distances | tuple[_Distances, _Predecessors]: ...


def bellman_ford(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> _Distances | tuple[_Distances, _Predecessors]:
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


@overload
def johnson(
    csgraph: Any,
    directed: bool = ...,
    indices: Any = ...,
    return_predecessors: Literal[False] = ...,
    unweighted: bool = ...,
) -> _Distances: ...


@overload
def johnson(
    csgraph: Any,
    directed: bool = ...,
    indices: Any = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
) -> tuple[_Distances, _Predecessors]: ...


@overload
def johnson(
    csgraph: Any,
    directed: bool = ...,
    indices: Any = ...,
    return_predecessors: bool = ...,
    unweighted: bool = ...,
) -> _Distances | tuple[_Distances, _Predecessors]: ...


def johnson(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> _Distances | tuple[_Distances, _Predecessors]:
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
    csgraph: Any,
    directed: bool = ...,
    return_predecessors: Literal[False] = ...,
    unweighted: bool = ...,
    overwrite: bool = ...,
) -> _Distances: ...


@overload
def floyd_warshall(
    csgraph: Any,
    directed: bool = ...,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = ...,
    overwrite: bool = ...,
) -> tuple[_Distances, _Predecessors]: ...


@overload
def floyd_warshall(
    csgraph: Any,
    directed: bool = ...,
    return_predecessors: bool = ...,
    unweighted: bool = ...,
    overwrite: bool = ...,
) -> _Distances | tuple[_Distances, _Predecessors]: ...


def floyd_warshall(
    csgraph: Any,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
) -> _Distances | tuple[_Distances, _Predecessors]:
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
        Write the distances into `csgraph` if it is a C-contiguous float64 array.

    Returns
    -------
    dist_matrix : (n, n) ndarray of float64
    predecessors : (n, n) ndarray of int32
        -9999 where there is none; only with `return_predecessors`.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle; the error has the vertices of one.
    """
    return shortest_path(csgraph, "FW", directed, return_predecessors, unweighted, overwrite)


@overload
def connected_components(
    csgraph: Any,
    directed: bool = ...,
    connection: str = ...,
    return_labels: Literal[True] = ...,
) -> tuple[int, NDArray[np.int32]]: ...


@overload
def connected_components(
    csgraph: Any, directed: bool = ..., connection: str = ..., *, return_labels: Literal[False]
) -> int: ...


@overload
def connected_components(
    csgraph: Any, directed: bool = ..., connection: str = ..., return_labels: bool = ...
) -> int | tuple[int, NDArray[np.int32]]: ...


def connected_components(
    csgraph: Any, directed: bool = True, connection: str = "weak", return_labels: bool = True
) -> int | tuple[int, NDArray[np.int32]]:
    """Find connected components, as `scipy.sparse.csgraph.connected_components`.

    Parameters
    ----------
    csgraph : array_like or sparse array, (n, n)
        As for `shortest_path`; weights are ignored.
    directed : bool
        False: an arc may be walked both ways, and `connection` is ignored.
    connection : {"weak", "strong"}
        Whether two vertices of a component are joined if directions are ignored, or reach each
        other.
    return_labels : bool
        Also return the component of each vertex.

    Returns
    -------
    n_components : int
    labels : (n,) ndarray of int32
        Components are numbered from 0 in the order of their smallest vertices. Only with
        `return_labels`.
    """
    kind = connection.lower() if isinstance(connection, str) else connection
    if kind not in ("weak", "strong"):
        rule = "'weak' or 'strong'"
        raise ParameterError.of("connection", "connected_components", rule, connection)
    directed = flag("directed", "connected_components", directed)
    held = issparse(csgraph) or isinstance(csgraph, np.ma.MaskedArray)
    graph = _graph(_pattern(csgraph) if held else csgraph, unweighted=True)
    is_strong = directed and kind == "strong"
    found = (strongly_connected_components if is_strong else weakly_connected_components)(graph)
    return (found.count, found.labels) if return_labels else found.count


def _graph(csgraph: Any, unweighted: bool) -> Graph:
    """Return the graph, with weights rounded to float64, as SciPy does."""
    if isinstance(csgraph, Graph):
        graph = csgraph.with_weights(csgraph.weights.astype(np.float64))
    elif issparse(csgraph):
        validation.sparse(csgraph)  # SciPy's conversions do not check index arrays
        graph = as_graph(_rounded(csgraph), copy=False)
    else:
        try:
            values = csgraph if isinstance(csgraph, np.ma.MaskedArray) else np.asarray(csgraph)
            graph = from_array(_rounded(values), nan_is_no_arc=True)
        except (TypeError, ValueError) as error:
            if isinstance(error, GraphError):
                raise
            raise GraphError(f"no matrix of weights: {error}") from None
    return graph.with_weights(np.ones(graph.m)) if unweighted else graph


def _pattern(csgraph: Any) -> csr_array | np.ma.MaskedArray:
    """Return 1 at each entry that is stored or not masked; as in SciPy, each is an arc."""
    if isinstance(csgraph, np.ma.MaskedArray):
        known = csgraph.dtype.kind in "biuf"
        # an infinite weight, too; other types are refused as they are
        return np.ma.array(np.ones(csgraph.shape), mask=csgraph.mask) if known else csgraph
    validation.sparse(csgraph)
    rows = csr_array(csgraph)
    return csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)


def _rounded(values: Any) -> Any:
    """Convert an array or sparse array of numbers to float64; `Graph` refuses any other array.

    SciPy accepts object arrays only if they are masked, and converts None to NaN.
    """
    numbers = values.dtype.kind in "biuf"
    if values.dtype.kind == "O" and isinstance(values, np.ma.MaskedArray):
        numbers = all(isinstance(each, Real) for each in values.compressed())
    return values.astype(np.float64, copy=False) if numbers else values


def _cutoff(limit: Any) -> float | None:
    try:
        cutoff = math.nan if isinstance(limit, str | bytes | np.timedelta64) else float(limit)
    except (TypeError, ValueError, OverflowError):
        cutoff = math.nan
    if not cutoff >= 0:
        raise ParameterError.of("limit", "dijkstra", "a non-negative number", limit)
    return None if cutoff == np.inf else cutoff


def _indices(indices: Any, n: int, owner: str) -> np.ndarray:
    try:
        rows = np.asarray(indices)
    except ValueError:  # rows of different lengths
        raise ParameterError.of("indices", owner, "integers", indices) from None
    if np.ma.is_masked(indices) or (rows.size and rows.dtype.kind not in "iu"):
        raise ParameterError.of("indices", owner, "integers", indices)
    rows = np.where(rows < 0, rows + n, rows).astype(np.int64)
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        rule = f"vertices in [-{n}, {n})" if n else "empty for a graph without vertices"
        raise ParameterError.of("indices", owner, rule, indices)
    return rows


def _check_non_negative(graph: Graph) -> None:
    if graph.has_negative:
        raise NegativeWeightError(
            f"dijkstra needs non-negative weights, and one is {graph.min_weight}: use johnson"
        )


def _solved(
    graph: Graph,
    directed: bool,
    rows: np.ndarray | None,
    with_predecessors: bool,
    cutoff: float | None = None,
    out: np.ndarray | None = None,
) -> _Distances | tuple[_Distances, _Predecessors]:
    options: dict[str, Any] = {
        "directed": directed,
        "predecessors": bool(with_predecessors),
        "cutoff": cutoff,
    }
    if rows is not None and rows.size == 1:
        result = from_one(graph, rows.item(), **options)
    else:
        sources = None if rows is None else rows.ravel()
        result = solve(graph, sources=sources, out=out, **options)
    shape = result.distances.shape if rows is None else (*rows.shape, graph.n)
    distances = result.distances.reshape(shape)
    if not with_predecessors:
        return distances
    assert result.predecessors is not None
    return distances, result.predecessors.reshape(shape)


def _reached(graph: Graph, rows: np.ndarray) -> Graph:
    """Return the graph without the arcs that these vertices cannot reach.

    Then negative cycles that they cannot reach raise no error.
    """
    if not graph.has_negative:
        return graph
    tails, heads, weights = graph.arcs()
    ones = csr_array((np.ones(graph.m), graph.indices, graph.indptr), shape=(graph.n, graph.n))
    steps = scipy_csgraph.dijkstra(ones, indices=rows.ravel(), min_only=True)
    taken = np.isfinite(steps)[tails]
    return Graph.from_arcs(graph.n, tails[taken], heads[taken], weights[taken])


def _nearest(
    graph: Graph, starts: np.ndarray, cutoff: float | None, with_predecessors: bool
) -> _Distances | tuple[_Distances, _Predecessors, _Predecessors]:
    """Return distances from the nearest start.

    They are the distances from an added vertex that has an arc of weight zero to each start.
    """
    n = graph.n
    tails, heads, weights = graph.arcs()
    joined = Graph.from_arcs(
        n + 1,
        np.append(tails, np.full(starts.size, n)),
        np.append(heads, starts),
        np.append(weights, np.zeros(starts.size)),
    )
    result = solve(joined, sources=[n], cutoff=cutoff, predecessors=with_predecessors)
    distances = result.distances[0, :n].copy()
    if not with_predecessors:
        return distances
    assert result.predecessors is not None
    before = result.predecessors[0, :n].copy()
    before[starts] = NO_PREDECESSOR  # a start has none, also if another start is at distance 0
    nearest = np.where(before < 0, np.arange(n), before)
    for _ in range(n.bit_length()):
        nearest = nearest[nearest]
    nearest[np.isinf(distances)] = NO_PREDECESSOR
    return distances, before, nearest.astype(np.int32)


def _can_hold_distances(csgraph: Any) -> bool:
    return (
        type(csgraph) is np.ndarray
        and csgraph.dtype == np.float64
        and csgraph.flags.c_contiguous
        and csgraph.flags.writeable
    )
