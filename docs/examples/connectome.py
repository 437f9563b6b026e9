"""Weighted distances of a connectome, with bctpy.

`distance_wei` returns the distances and the number of edges of the shortest paths. pyapsp returns
predecessors, from which the edges are counted.
"""

import bct
import numpy as np

import pyapsp


def data(small):
    rng = np.random.default_rng(0)
    n = 40 if small else 500
    lengths = np.triu(np.where(rng.random((n, n)) < 0.3, 1 - rng.random((n, n)), 0), 1)
    return (lengths + lengths.T,)


def before(lengths):
    return bct.distance_wei(lengths)


def after(lengths):
    result = pyapsp.solve(lengths, predecessors=True)
    rows, at = np.indices(lengths.shape)
    edges = np.zeros(lengths.shape)
    while (on_the_way := (at := result.predecessors[rows, at]) >= 0).any():
        edges += on_the_way
        at = np.where(on_the_way, at, rows)
    return result.distances, edges


def same(one, other):
    return np.allclose(one[0], other[0]) and np.array_equal(one[1], other[1])
