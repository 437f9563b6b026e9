"""Triangles and trusses in SciPy, the peers of ours, against NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyapsp.trusses.products import adjacency, triangles_by_products, trussness_by_products

from .drawn import random_graphs


def plain(graph):
    """Return the graph of NetworkX, without loops and directions."""
    tails, heads, _ = graph.arcs()
    simple = nx.Graph(zip(tails.tolist(), heads.tolist(), strict=True))
    simple.add_nodes_from(range(graph.n))
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    return simple


@settings(deadline=None, max_examples=20)
@given(graph=random_graphs(25, 150))
def test_triangles(graph):
    counts = triangles_by_products(adjacency(graph))
    assert counts.tolist() == [nx.triangles(plain(graph), v) for v in range(graph.n)]


@settings(deadline=None, max_examples=20)
@given(graph=random_graphs(25, 150), k=st.integers(3, 6))
def test_trusses(graph, k):
    simple, (tails, heads, _) = plain(graph), graph.arcs()
    every = trussness_by_products(graph, adjacency(graph))
    one = trussness_by_products(graph, adjacency(graph), k)
    expected = np.where(tails == heads, 0, 2)
    for order in range(3, every.max(initial=2) + 2):
        edges = nx.k_truss(simple, order).edges
        inside = [tails[a] != heads[a] and (tails[a], heads[a]) in edges for a in range(graph.m)]
        expected[inside] = order
    np.testing.assert_array_equal(every, expected)
    np.testing.assert_array_equal(one, np.where(expected >= k, k, 0))
