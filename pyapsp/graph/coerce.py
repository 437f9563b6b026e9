"""Conversion of any graph-like object to a `Graph`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.graph import convert, frames, validation
from pyapsp.graph.attributes import Weight
from pyapsp.graph.dense import from_array
from pyapsp.graph.io import read
from pyapsp.graph.model import Graph

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import polars
    import pyopencl.array
    import scipy.sparse
    import sparse

__all__ = ["GraphLike", "as_graph", "as_structure", "has_attributes"]

# The device of memory of the host, in DLPack.
_HOST = 1
_FRAMES = ("pandas", "DataFrame"), ("polars", "DataFrame")

#: What `as_graph` takes, and so every function of this package that takes a graph.
GraphLike: TypeAlias = Union[
    Graph,
    str,
    "os.PathLike[str]",
    ArrayLike,
    "scipy.sparse.sparray",
    "scipy.sparse.spmatrix",
    "sparse.SparseArray",
    "pyopencl.array.Array",
    "networkx.Graph",
    "igraph.Graph",
    "pandas.DataFrame",
    "polars.DataFrame",
]


def as_graph(
    source: GraphLike, directed: bool = True, *, weight: Weight = ..., copy: bool = True
) -> Graph:
    """Convert a graph-like object to a graph.

    Parameters
    ----------
    source : object
        A :class:`Graph`, the path of a file, a sparse array or matrix of SciPy or PyData, a
        dense array, matrix or masked array (zeros and inf are no arcs), an array of PyOpenCL or
        with DLPack, a NetworkX or igraph graph, or an edge list in a data frame of pandas or
        polars.
    directed : bool, default True
        False makes the graph undirected, with the smaller weight of the two arcs. True does not
        change it: an undirected NetworkX graph stays undirected.
    weight : hashable, callable or None, optional
        The edge attribute of NetworkX or igraph, or the column of a data frame or of a file, with
        the weight. A function is called as ``weight(tail, head, attributes)`` for each edge, and
        returns the weight, or None for no edge. None: all weights are 1. By default ``"weight"``.
    copy : bool, default True
        False may share the memory of `source`. Then it must not change while the graph is used.

    Raises
    ------
    GraphError
        `source` is none of these, or describes no valid graph; or no weight is named, nothing is
        called ``"weight"``, and there are other numbers.
    ParameterError
        `directed` is neither True nor False, or `source` has nothing that `weight` can name.
    """
    directed = validation.flag("directed", "as_graph", directed)
    copy = validation.flag("copy", "as_graph", copy)
    graph = _recognise(source, weight, copy)
    graph = graph if directed else graph.symmetrized()
    # ranks are given the graph that rank 0 has made of another object
    if not isinstance(source, Graph) or source.is_converted:
        graph.__dict__["is_converted"] = True
    return graph


def as_structure(source: GraphLike, directed: bool = True) -> Graph:
    """Convert a graph-like object for a call that uses no weights.

    If the object has attributes, it is not asked which of them is the weight.

    Parameters and errors are those of `as_graph`, with ``copy=False``.
    """
    weight = None if has_attributes(source) else ...
    return as_graph(source, directed, weight=weight, copy=False)


def has_attributes(source: GraphLike) -> bool:
    """Return whether the edges of an object in memory have attributes with names."""
    known = ("networkx", "Graph"), ("igraph", "Graph"), *_FRAMES
    own = isinstance(source, Graph)  # which every call asks
    return not own and any(convert.is_kind(source, *kind) for kind in known)


def _recognise(source: GraphLike, weight: Weight, copy: bool) -> Graph:
    """Return the graph with the weights that are asked for."""
    # the matrices come early, because the other tests take long beside a small graph
    source = convert.in_scipy(source)
    nameless = _of_matrix(source, copy)
    if nameless is not None:
        if weight is None:
            return convert.reweight(nameless, "unweighted")
        if weight is not ...:
            rule = "... (its weights) or None (1) for an object whose weights have no names"
            raise ParameterError.of("weight", "as_graph", rule, weight)
        return nameless
    if isinstance(source, str | os.PathLike):
        if not (isinstance(weight, str | EllipsisType) or weight is None):
            raise ParameterError.of("weight", "as_graph", "a name or None for a file", weight)
        return read(source, weight=weight)
    if convert.is_kind(source, "networkx", "Graph"):
        return convert.from_networkx(source, weight=weight)
    if convert.is_kind(source, "igraph", "Graph"):
        return convert.from_igraph(source, weight=weight)
    if any(convert.is_kind(source, *kind) for kind in _FRAMES):
        return frames.from_frame(source, weight=weight)
    raise GraphError(
        f"an object of type {type(source).__name__} does not describe a graph: give a file name, "
        "a matrix of NumPy or SciPy, a graph of NetworkX or igraph, a data frame with a row for "
        "each arc, or a pyapsp.Graph"
    )


def _of_matrix(source: GraphLike, copy: bool) -> Graph | None:
    """Return a graph, or the graph of a matrix; None for any other object."""
    if isinstance(source, Graph):
        return source
    if convert.is_sparse(source):
        return convert.from_scipy(source, copy=copy)
    if isinstance(source, list | tuple):
        _refuse_arcs(source)
    if isinstance(source, np.ndarray | list | tuple):
        return Graph.from_dense(source) if copy else from_array(source)
    if convert.is_kind(source, "pyopencl.array", "Array"):
        from pyapsp.graph.device_matrix import from_device_array  # imports PyOpenCL

        return from_device_array(source, copy)
    if hasattr(source, "__dlpack__"):
        array = _from_dlpack(source)
        return Graph.from_dense(array) if copy else from_array(array)
    return None


def _refuse_arcs(rows: Sequence[object]) -> None:
    """Raise an error for two or three tuples that may be arcs: they have the shape of a matrix."""
    if len(rows) in (2, 3) and all(
        isinstance(row, tuple)
        and len(row) == len(rows)
        and all(isinstance(end, int | np.integer) for end in row[:2])
        for row in rows
    ):
        raise GraphError(
            "these tuples may be arcs or the rows of a matrix: give arcs to "
            "pyapsp.Graph.from_arcs, and a matrix as an array or a list of lists"
        )


def _from_dlpack(source: Any) -> np.ndarray:
    """Return an array of another library; one on a device is copied to the host.

    Raises
    ------
    GraphError
        The library does not make this copy.
    """
    try:
        if source.__dlpack_device__()[0] == _HOST:
            return np.from_dlpack(source)
        return np.from_dlpack(source, device="cpu", copy=True)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        raise GraphError(
            f"the {type(source).__name__} was not copied to the host by DLPack ({error}): give a "
            "NumPy array of it"
        ) from None
