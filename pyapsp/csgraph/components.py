"""SciPy's function for connected components."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from pyapsp.base.errors import ParameterError
from pyapsp.csgraph.arguments import Matrix, graph_of
from pyapsp.graph import compressed
from pyapsp.graph.compressed import Sparse
from pyapsp.graph.convert import PADDED, arcs_of, in_scipy
from pyapsp.graph.validation import flag
from pyapsp.traversal.components.components import (
    strongly_connected_components,
    weakly_connected_components,
)

__all__ = ["connected_components"]


@overload
def connected_components(
    csgraph: Matrix,
    directed: bool = ...,
    connection: str = ...,
    return_labels: Literal[True] = ...,
) -> tuple[int, NDArray[np.int32]]: ...


@overload
def connected_components(
    csgraph: Matrix, directed: bool = ..., connection: str = ..., *, return_labels: Literal[False]
) -> int: ...


@overload
def connected_components(
    csgraph: Matrix, directed: bool = ..., connection: str = ..., return_labels: bool = ...
) -> int | tuple[int, NDArray[np.int32]]: ...


def connected_components(
    csgraph: Matrix, directed: bool = True, connection: str = "weak", return_labels: bool = True
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
    csgraph = in_scipy(csgraph)
    has_pattern = issparse(csgraph) or isinstance(csgraph, np.ma.MaskedArray)
    graph = graph_of(_pattern(csgraph) if has_pattern else csgraph, unweighted=True)
    is_strong = directed and kind == "strong"
    find = strongly_connected_components if is_strong else weakly_connected_components
    components = find(graph)
    return (components.count, components.labels) if return_labels else components.count


def _pattern(csgraph: Matrix) -> csr_array | np.ma.MaskedArray:
    """Return 1 at each entry that is stored or not masked; as in SciPy, each is an arc."""
    if isinstance(csgraph, np.ma.MaskedArray):
        known = csgraph.dtype.kind in "biuf"
        # an infinite weight, too; other types are refused as they are
        return np.ma.array(np.ones(csgraph.shape), mask=csgraph.mask) if known else csgraph
    return _stored(csgraph)


def _stored(matrix: Sparse) -> csr_array:
    """Return 1 at each stored entry; zeros that fill a BSR or DIA matrix are none."""
    compressed.sparse(matrix)
    if matrix.format in PADDED:
        tails, heads, _ = arcs_of(matrix)
        return csr_array((np.ones(tails.size), (tails, heads)), shape=matrix.shape)
    rows = csr_array(matrix)
    return csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)
