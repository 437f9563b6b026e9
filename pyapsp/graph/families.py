"""Kinds of graphs that ask for different methods and parameters, and which kind a graph is of."""

from __future__ import annotations

import numpy as np

from pyapsp.graph.generators import grid_2d, power_law, random_graph
from pyapsp.graph.model import Graph

__all__ = ["ARCS", "FAMILIES", "draw"]

#: ``uniform``: every vertex has about as many arcs, and they lead anywhere; ``power-law``: few
#: vertices have most of the arcs; ``mesh``: arcs lead to neighbours, so that paths are long.
FAMILIES = ("uniform", "power-law", "mesh")

#: Arcs of a vertex, in the mean, in graphs that are drawn.
ARCS = 4


def draw(family: str, n: int, seed: int, *, arcs: int = ARCS, max_weight: int = 20) -> Graph:
    """Return a random graph of a family, with about n vertices.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    n : int
        Vertices; a mesh has the next smaller square number.
    seed : int
    arcs : int
        Of a vertex, in the mean; a mesh has 4.
    max_weight : int
        Weights are uniform in 1..max_weight.
    """
    if family == "power-law":
        most = max(n - 1, 0)
        return power_law(n, min(arcs * n, n * most), max_weight=max_weight, seed=seed)
    if family == "uniform" or n == 0:  # a mesh has at least one row
        return random_graph(n, min(arcs * n, n * (n - 1)), max_weight, seed)
    side = int(np.sqrt(n))
    mesh = grid_2d(side, side, seed)
    return mesh.with_weights(1 + mesh.weights % max_weight)
