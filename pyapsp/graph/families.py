"""Families of graphs for which different methods and parameters are fastest."""

from __future__ import annotations

import numpy as np

from pyapsp.graph.generators import grid_2d, power_law, random_graph
from pyapsp.graph.model import Graph
from pyapsp.graph.validation import choice

__all__ = ["ARCS", "FAMILIES", "draw"]

#: ``uniform``: all vertices have about the same number of arcs, with random heads; ``power-law``:
#: few vertices have most of the arcs; ``mesh``: arcs join neighbours, so that paths are long.
FAMILIES = ("uniform", "power-law", "mesh")

#: Mean number of arcs of a vertex in random graphs.
ARCS = 4


def draw(family: str, n: int, seed: int, *, arcs: int = ARCS, max_weight: int = 20) -> Graph:
    """Return a random graph of a family, with about n vertices.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    n : int
        Number of vertices; for a mesh it is rounded down to a square number.
    seed : int
    arcs : int
        Mean number of arcs of a vertex; a mesh has 4.
    max_weight : int
        The largest weight. Weights of random graphs are uniform in 1..max_weight. Those of a mesh
        are 1 + w % max_weight, where w is the length of a street of `grid_2d`, 100 to 150 m.

    Raises
    ------
    ParameterError
        If there is no such family.
    """
    choice("family", "families.draw", family, FAMILIES)
    if family == "power-law":
        most = max(n - 1, 0)
        return power_law(n, min(arcs * n, n * most), max_weight=max_weight, seed=seed)
    if family == "uniform" or n == 0:  # a mesh has at least one row
        return random_graph(n, min(arcs * n, n * (n - 1)), max_weight, seed)
    side = int(np.sqrt(n))
    mesh = grid_2d(side, side, seed)
    return mesh.with_weights(1 + mesh.weights % max_weight)
