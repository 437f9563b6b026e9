"""All distances of a street network, with spaghetti.

`spaghetti` searches from one vertex after the other, in Python, when distances of points are first
asked for. It stores them in `distance_matrix`, and does not search if they are there.
"""

import numpy as np
import spaghetti

import pyapsp


def data(small):
    lines = 4 if small else 30
    lattice = spaghetti.regular_lattice((0, 0, 1000, 1000), lines, exterior=True)
    return (spaghetti.Network(lattice),)


def before(network):
    network.full_distance_matrix(n_processes=1)
    return network.distance_matrix


def after(network):
    tails, heads = np.array(list(network.arc_lengths)).T
    lengths = list(network.arc_lengths.values())
    graph = pyapsp.Graph.from_arcs(len(network.vertex_list), tails, heads, lengths)
    network.distance_matrix = pyapsp.solve(graph, directed=False).distances
    return network.distance_matrix


def same(one, other):
    return np.allclose(one, other)
