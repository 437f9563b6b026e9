"""The shortest-path kernel of GraKeL.

The kernel of two graphs counts the pairs of paths of the same length between vertices of the same
labels. GraKeL searches and counts in Python. `pyapsp.solve_many` solves all graphs together, and
NumPy counts.
"""

import numpy as np
from grakel.kernels import ShortestPath
from scipy.sparse import csr_array

import pyapsp


def data(small):
    rng = np.random.default_rng(0)
    graphs = []
    for n in rng.integers(10, 40, 20 if small else 2000):
        matrix = np.zeros((n, n))
        matrix[np.arange(1, n), (rng.random(n - 1) * np.arange(1, n)).astype(int)] = 1
        graphs.append((matrix + matrix.T, dict(enumerate(rng.integers(0, 5, n).tolist()))))
    return (graphs,)


def before(graphs):
    return ShortestPath(algorithm_type="floyd_warshall").fit_transform(graphs)


def after(graphs):
    found = []
    for number, result in enumerate(pyapsp.solve_many([matrix for matrix, _ in graphs])):
        labels = np.array(list(graphs[number][1].values()))
        tails, heads = np.nonzero(np.isfinite(result.distances) & ~np.eye(len(labels), dtype=bool))
        lengths = result.distances[tails, heads]
        found.append([np.full(len(tails), number), labels[tails], labels[heads], lengths])
    number, *path = np.concatenate(found, axis=1).astype(int)
    kind = np.ravel_multi_index(path, np.max(path, axis=1) + 1)
    counts = csr_array((np.ones(len(kind)), (number, kind)), shape=(len(graphs), kind.max() + 1))
    return (counts @ counts.T).toarray()


def same(one, other):
    return np.array_equal(one, other)
