"""Conversion of any graph-like object to a `Graph`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from pyapsp.base.errors import GraphError
from pyapsp.graph import convert, frames, validation
from pyapsp.graph.dense import from_array
from pyapsp.graph.io import read
from pyapsp.graph.model import Graph

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import polars
    import scipy.sparse
    import sparse

__all__ = ["GraphLike", "as_graph"]

#: What `as_graph` takes, and so every function of this package that takes a graph.
GraphLike: TypeAlias = Union[
    Graph,
    str,
    "os.PathLike[str]",
    ArrayLike,
    "scipy.sparse.sparray",
    "scipy.sparse.spmatrix",
    "sparse.SparseArray",
    "networkx.Graph",
    "igraph.Graph",
    "pandas.DataFrame",
    "polars.DataFrame",
]


def as_graph(source: GraphLike, directed: bool = True, *, copy: bool = True) -> Graph:
    """Convert a graph-like object to a graph.

    Parameters
    ----------
    source : object
        A :class:`Graph`, the path of a file, a sparse array or matrix of SciPy or PyData, a
        dense array, matrix or masked array (zeros and inf are no arcs), a NetworkX or igraph graph,
        or an edge list in a data frame of pandas or polars.
    directed : bool, default True
        False makes the graph undirected, with the smaller weight of the two arcs. True does not
        change it: an undirected NetworkX graph stays undirected.
    copy : bool, default True
        False may share the memory of `source`. Then it must not change while the graph is used.

    Raises
    ------
    GraphError
        `source` is none of these, or describes no valid graph.
    ParameterError
        `directed` is neither True nor False.
    """
    directed = validation.flag("directed", "as_graph", directed)
    graph = _recognise(source, copy)
    return graph if directed else graph.symmetrized()


def _recognise(source: GraphLike, copy: bool) -> Graph:
    if isinstance(source, Graph):
        return source
    # the matrices come early, because the other tests take long beside a small graph
    source = convert.in_scipy(source)
    if convert.is_sparse(source):
        return convert.from_scipy(source, copy=copy)
    if isinstance(source, np.ndarray | list | tuple):
        return Graph.from_dense(source) if copy else from_array(source)
    if isinstance(source, str | os.PathLike):
        return read(source)
    if convert.is_kind(source, "networkx", "Graph"):
        return convert.from_networkx(source)
    if convert.is_kind(source, "igraph", "Graph"):
        return convert.from_igraph(source)
    if any(convert.is_kind(source, library, "DataFrame") for library in ("pandas", "polars")):
        return frames.from_frame(source)
    raise GraphError(
        f"an object of type {type(source).__name__} does not describe a graph: give a file name, "
        "a matrix of NumPy or SciPy, a graph of NetworkX or igraph, a data frame with a row for "
        "each arc, or a pyapsp.Graph"
    )
