"""The distances that SciPy finds, and comparisons with them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph


def scipy_distances(graph):
    if graph.n == 0:
        return np.empty((0, 0))
    if graph.m == 0:
        return np.where(np.eye(graph.n, dtype=bool), 0.0, np.inf)
    return csgraph.johnson(graph.to_scipy().astype(float))


def assert_solves(graph, result):
    expected = scipy_distances(graph)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(result.distances < result.infinity, finite)
    np.testing.assert_array_equal(result.distances[finite], expected[finite])
