"""Isomap of scikit-learn.

`Isomap` calls `shortest_path` of SciPy for the distances along the graph of nearest neighbours. In
a block of `pyapsp.patch` this call runs on the device. The rest of the time is that of the
eigenvectors.
"""

import numpy as np
from sklearn.manifold import Isomap

import pyapsp


def data(small):
    rng = np.random.default_rng(0)
    angle, height = rng.random((2, 200 if small else 3000))
    roll = np.stack([angle * np.cos(9 * angle), height, angle * np.sin(9 * angle)], axis=1)
    return (roll,)


def before(points):
    return Isomap(n_neighbors=8).fit(points)


def after(points):
    with pyapsp.patch():
        return Isomap(n_neighbors=8).fit(points)


def same(one, other):
    # the sign of an eigenvector is arbitrary
    embeddings = np.abs(one.embedding_), np.abs(other.embedding_)
    return np.allclose(one.dist_matrix_, other.dist_matrix_) and np.allclose(*embeddings)
