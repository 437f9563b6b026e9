"""Floyd-Warshall of netneurotools.

`distance_wei_floyd` calls `shortest_path` of SciPy. In a block of `pyapsp.patch` this call runs on
the device, and returns the predecessors, too.
"""

import numpy as np
from netneurotools.metrics import distance_wei_floyd

import pyapsp


def data(small):
    rng = np.random.default_rng(0)
    n = 150 if small else 2000
    lengths = np.triu(np.where(rng.random((n, n)) < 0.3, 1 - rng.random((n, n)), 0), 1)
    return (lengths + lengths.T,)


def before(lengths):
    return distance_wei_floyd(lengths)


def after(lengths):
    with pyapsp.patch():
        return distance_wei_floyd(lengths)


def same(one, other):
    return np.allclose(one[0], other[0]) and np.array_equal(one[1], other[1])
