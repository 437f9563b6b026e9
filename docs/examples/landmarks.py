"""Landmarks of Isomap, with SciPy.

For many points, Isomap needs the distances from some landmarks only. scikit-learn makes the graph
of nearest neighbours, SciPy searches it. The search is the same call in a block of `pyapsp.patch`.
"""

import numpy as np
from scipy.sparse.csgraph import dijkstra
from sklearn.neighbors import kneighbors_graph

import pyapsp


def data(small):
    rng = np.random.default_rng(0)
    angle, height = rng.random((2, 500 if small else 20_000))
    roll = np.stack([angle * np.cos(9 * angle), height, angle * np.sin(9 * angle)], axis=1)
    return kneighbors_graph(roll, 8, mode="distance"), np.arange(100 if small else 500)


def before(neighbors, landmarks):
    return dijkstra(neighbors, directed=False, indices=landmarks)


def after(neighbors, landmarks):
    with pyapsp.patch():
        return dijkstra(neighbors, directed=False, indices=landmarks)


def same(one, other):
    return np.allclose(one, other)
