"""Bounds of distances: never below the largest distance, and what they allow a type to hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import johnson

from pyapsp.graph import Graph
from pyapsp.numbers.bounds import distance_bound, eccentricity_bound, hop_bound, proofs
from pyapsp.numbers.precision import DTYPES, holds_all, infinity, narrower


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 12))
    arcs = draw(
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 400)))
    )
    tails, heads, weights = np.array(arcs, np.int64).reshape(-1, 3).T
    return Graph.from_arcs(n, tails, heads, weights)


def largest(graph):
    """The largest finite distance, by SciPy."""
    if graph.m == 0:
        return 0
    distances = johnson(graph.to_scipy().astype(float))
    return distances.max(where=np.isfinite(distances), initial=0)


@given(graphs())
def test_no_bound_is_below_a_distance(graph):
    farthest = largest(graph)
    for bound in (distance_bound, hop_bound, eccentricity_bound):
        assert bound(graph) >= farthest, bound.__name__
    assert all(bound >= farthest for bound in proofs(graph, 1.0))


def test_a_path_beside_the_centre_has_each_vertex_once():
    """The star has the vertex with the most arcs, and a path of four vertices has three arcs."""
    graph = Graph.from_arcs(7, [0, 1, 0, 2, 3, 4, 5], [1, 0, 2, 0, 4, 5, 6])
    assert hop_bound(graph) == largest(graph) == 3


@pytest.mark.parametrize("weight", [3, 2**52])
def test_the_distances_of_two_arcs_bound_those_of_a_star(weight):
    """Sums of weights from 2^52 on may be rounded, so that they prove nothing."""
    ends, centre = np.arange(1, 9), np.zeros(8, int)
    arcs = np.concatenate([centre, ends]), np.concatenate([ends, centre])
    graph = Graph.from_arcs(9, *arcs, np.full(16, weight))
    tight = 2 * weight if weight == 3 else distance_bound(graph)
    assert eccentricity_bound(graph) == tight


@given(graphs())
def test_a_narrower_type_holds_every_distance(graph):
    bound = eccentricity_bound(graph)
    narrow = narrower(graph, np.dtype(np.float64), bound)
    assert narrow is not None
    assert infinity(narrow) > largest(graph)
    shorter = [np.dtype(name) for name in DTYPES if np.dtype(name).itemsize < narrow.itemsize]
    assert all(infinity(each) <= bound for each in shorter if each.kind in "iu")


@pytest.mark.parametrize("weight", [2**14 - 3, 2**14 - 2, 2**14 - 1, 2**14])
def test_the_border_of_a_type(weight):
    """The bound of a path of two vertices is its weight."""
    graph = Graph.from_arcs(2, [0], [1], [weight])
    int16 = np.dtype(np.int16)
    assert holds_all(graph, int16) == (weight < infinity(int16) == 2**14 - 1)


@pytest.mark.parametrize("missing", [0, 1])
def test_the_bound_of_a_complete_graph_takes_no_time(missing):
    weights = np.random.default_rng(2).integers(1, 99, (40, 40))
    weights[3, 5 : 5 + missing] = 0
    graph = Graph.from_dense(weights)
    assert list(proofs(graph, 1e-9)) == [weights.max()] * (not missing)
