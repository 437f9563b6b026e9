"""Random graphs for the tests of this folder."""

from __future__ import annotations

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
