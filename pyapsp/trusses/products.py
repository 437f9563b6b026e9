"""Triangles and trusses by products of the adjacency matrix with itself, in SciPy."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from pyapsp.graph import Graph

__all__ = ["adjacency", "triangles_by_products", "trussness_by_products"]


def adjacency(graph: Graph) -> csr_array:
    """Return the matrix of an undirected graph with ones for the edges, int64, without loops."""
    matrix = graph.to_scipy()
    matrix.data = np.ones(graph.m, np.int64)
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    return matrix


def triangles_by_products(matrix: csr_array) -> np.ndarray:
    """Return the triangles of each vertex, (n,) int64."""
    counts: np.ndarray = (matrix * (matrix @ matrix)).sum(axis=1) // 2
    return counts


def trussness_by_products(graph: Graph, left: csr_array, k: int | None = None) -> np.ndarray:
    """Return the trussness of each arc, as `Trussness.values`.

    The entries of (A A) * A are the triangles of edges. Those below k - 2 are removed until there
    is none, as in the reference of the Graph Challenge.

    Parameters
    ----------
    graph : Graph
    left : csr_array
        Its `adjacency`.
    k : int, optional
        Only this truss: k for its edges, and 0 for the others.
    """
    tails, heads, _ = graph.arcs()
    places = tails.astype(np.int64) * graph.n + heads
    trussness = np.where(tails == heads, 0, 2).astype(np.int32)
    now, last = (3, np.inf) if k is None else (k, k)
    while left.nnz and now <= last:
        supports = (left @ left).multiply(left).tocsr() + left  # 1 for edges in no triangle
        weak = supports.data <= now - 2
        if weak.any():
            supports.data[:] = ~weak
            supports.eliminate_zeros()
            left = supports
            continue
        rows, columns = left.nonzero()
        trussness[np.searchsorted(places, rows.astype(np.int64) * graph.n + columns)] = now
        now += 1
    if k is not None:
        trussness[trussness != k] = 0
    return trussness
