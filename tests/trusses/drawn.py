"""Undirected graphs for the tests of triangles and trusses."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from pyapsp.graph import Graph


def undirected(n, edges):
    tails, heads = zip(*edges, strict=True) if edges else ((), ())
    return Graph.from_arcs(n, np.array(tails, int), np.array(heads, int), directed=False)


@st.composite
def random_graphs(draw, most, edges):
    """Draw graphs of at most so many vertices and edges."""
    n = draw(st.integers(1, most))
    vertex = st.integers(0, n - 1)
    return undirected(n, draw(st.lists(st.tuples(vertex, vertex), max_size=edges)))
