"""Random graphs for the tests of this folder, and what a path of them must be."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pyapsp.graph import Graph


def drawn(seed, n=60, degree=2.5, kind="whole"):
    """Make a graph with loops, parallel arcs, zeros, ties and vertices that are not reached."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, int(degree * n)))
    weights = rng.integers(0, 5, tails.size)
    if kind == "real":
        weights = rng.random(tails.size) * (weights > 0)
    return Graph.from_arcs(n, tails, heads, weights, directed=bool(seed % 3))


def assert_path(path, arcs, tail, head, distance):
    """Check the ends and the length of a path, which is empty if there is none."""
    if np.isinf(distance):
        assert path == []
        return
    assert (path[0], path[-1]) == (tail, head)
    length = 0.0
    for arc in pairwise(path):
        length += arcs[arc]
    assert length == distance
