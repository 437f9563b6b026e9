"""What a file says of its graph, as arrays. Readers return it; `graph_of` makes the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyapsp.graph.compressed import Sparse
from pyapsp.graph.convert import from_scipy
from pyapsp.graph.io.source import LineError
from pyapsp.graph.model import Graph

__all__ = ["ArcList", "Contents", "Matrix", "Rows", "graph_of"]


@dataclass(frozen=True)
class ArcList:
    """Arcs in any order, as :meth:`pyapsp.Graph.from_arcs` takes them.

    Attributes
    ----------
    n : int
    tails, heads : ndarray of int, shape (arcs,)
    weights : ndarray, shape (arcs,), or None
        None: all weights are 1.
    labels : ndarray, shape (n,), or None
    directed : bool
        False: each arc is an edge.
    """

    n: int
    tails: NDArray[np.signedinteger]
    heads: NDArray[np.signedinteger]
    weights: NDArray[np.generic] | None
    labels: NDArray[np.generic] | None = None
    directed: bool = True


@dataclass(frozen=True)
class Rows:
    """The arrays of a saved :class:`Graph`, not checked."""

    indptr: NDArray[np.generic]
    indices: NDArray[np.generic]
    weights: NDArray[np.generic]
    labels: NDArray[np.generic] | None
    directed: bool
    name: str | None


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix of SciPy; its index arrays are not checked."""

    matrix: Sparse


Contents: TypeAlias = ArcList | Rows | Matrix


def graph_of(contents: Contents, name: str) -> Graph:
    """Make the graph of a file; a saved graph may have another name than the file.

    Raises
    ------
    LineError
        The arrays of an archive describe no graph.
    """
    if isinstance(contents, ArcList):
        return Graph.from_arcs(
            contents.n,
            contents.tails,
            contents.heads,
            contents.weights,
            directed=contents.directed,
            labels=contents.labels,
            name=name,
        )
    try:
        if isinstance(contents, Matrix):
            return from_scipy(contents.matrix, name=name)
        return Graph(
            contents.indptr,
            contents.indices,
            contents.weights,
            directed=contents.directed,
            labels=contents.labels,
            name=name if contents.name is None else contents.name,
        )
    except (ValueError, TypeError) as error:
        raise LineError(None, f"the archive holds no graph: {error}") from None
