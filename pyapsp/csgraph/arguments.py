"""The arguments of SciPy's functions, as the other modules need them."""

from __future__ import annotations

import math
from numbers import Real
from typing import TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse, sparray, spmatrix

from pyapsp.base.errors import GraphError, NegativeWeightError, ParameterError
from pyapsp.graph import Graph, as_graph, compressed
from pyapsp.graph.convert import in_scipy
from pyapsp.graph.dense import from_array
from pyapsp.graph.validation import array

__all__ = [
    "Matrix",
    "can_hold_distances",
    "check_non_negative",
    "cutoff_of",
    "graph_of",
    "rows_of",
    "search_rows_of",
]

#: What SciPy's functions take as a graph.
Matrix: TypeAlias = Graph | ArrayLike | sparray | spmatrix


def graph_of(csgraph: Matrix, unweighted: bool) -> Graph:
    """Return the graph, with weights rounded to float64, as SciPy does."""
    if isinstance(csgraph, Graph):
        graph = csgraph
        if graph.dtype != np.float64:
            graph = csgraph.with_weights(csgraph.weights.astype(np.float64))
    elif issparse(csgraph := in_scipy(csgraph)):
        graph = as_graph(_in_float64(csgraph), copy=False)
    else:
        try:
            masked = isinstance(csgraph, np.ma.MaskedArray)
            values = csgraph if masked else array("the weights", csgraph)
            graph = from_array(_rounded(values), nan_is_no_arc=True)
        except (TypeError, ValueError) as error:
            if isinstance(error, GraphError):
                raise
            raise GraphError(f"no matrix of weights: {error}") from None
    return graph.with_weights(np.ones(graph.m)) if unweighted else graph


def search_rows_of(csgraph: Matrix) -> compressed.SearchRows | None:
    """Return the rows of a CSR matrix that a search can read as they are; else None."""
    if not issparse(csgraph):
        return None
    matrix = cast("compressed.Sparse", csgraph)
    return compressed.search_rows(matrix) if matrix.format == "csr" else None


def _in_float64(matrix: compressed.Sparse) -> compressed.Sparse:
    """Return a sparse matrix with weights in float64, if they are numbers."""
    # the type of weights is unknown if they are no array; a matrix by keys has no such attribute
    known = isinstance(getattr(matrix, "data", np.empty(0)), np.ndarray)
    if not known or matrix.dtype != np.float64:
        compressed.sparse(matrix)  # SciPy's conversions do not check index arrays
    return _rounded(matrix)


def _rounded(values: np.ndarray | sparray) -> np.ndarray | sparray:
    """Convert an array or sparse array of numbers to float64; `Graph` refuses any other array.

    SciPy accepts object arrays only if they are masked, and converts None to NaN.
    """
    numbers = values.dtype.kind in "biuf"
    if values.dtype.kind == "O" and isinstance(values, np.ma.MaskedArray):
        numbers = all(isinstance(each, Real) for each in values.compressed())
    return values.astype(np.float64, copy=False) if numbers else values


def cutoff_of(limit: float) -> float | None:
    """Return `limit` as a cutoff; None if there is none."""
    try:
        cutoff = math.nan if isinstance(limit, str | bytes | np.timedelta64) else float(limit)
    except (TypeError, ValueError, OverflowError):
        cutoff = math.nan
    if not cutoff >= 0:
        raise ParameterError.of("limit", "dijkstra", "a non-negative number", limit)
    return None if cutoff == np.inf else cutoff


def rows_of(indices: ArrayLike, n: int, owner: str) -> np.ndarray:
    """Return `indices` as vertices in 0..n-1, in the same shape."""
    if type(indices) is int and -n <= indices < n:  # the checks of arrays take 10 µs
        return np.array(indices % n, np.int64)
    try:
        rows = array("the indices", indices)
    except ValueError:  # rows of different lengths
        raise ParameterError.of("indices", owner, "integers", indices) from None
    if np.ma.is_masked(indices) or (rows.size and rows.dtype.kind not in "iu"):
        raise ParameterError.of("indices", owner, "integers", indices)
    if rows.size and (rows.min() < -n or rows.max() >= n):
        rule = f"vertices in [-{n}, {n})" if n else "empty for a graph without vertices"
        raise ParameterError.of("indices", owner, rule, indices)
    rows = rows.astype(np.int64)  # n may be beyond the type of the caller
    return np.where(rows < 0, rows + n, rows)


def check_non_negative(graph: Graph) -> None:
    """Raise an error for a negative weight."""
    if graph.has_negative:
        raise NegativeWeightError(
            f"dijkstra needs non-negative weights, and one is {graph.min_weight}: use johnson"
        )


def can_hold_distances(csgraph: Matrix) -> TypeGuard[NDArray[np.float64]]:
    """Return whether distances can be written into an argument."""
    return (
        type(csgraph) is np.ndarray
        and csgraph.dtype == np.float64
        and csgraph.flags.c_contiguous
        and csgraph.flags.writeable
    )
