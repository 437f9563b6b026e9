"""Accessibility, with pandana.

What can be reached within 1 km of each crossing? pandana answers it with contraction hierarchies:
they take a while to make, and pay off after many questions about the same streets. OSMnx gives the
streets of a city as such a table.
"""

import numpy as np
import pandana
import pandas as pd

import pyapsp
from pyapsp.graph import from_frame, generators


def data(small):
    side = 20 if small else 256
    nodes = pd.DataFrame({"x": np.arange(side**2) % side, "y": np.arange(side**2) // side})
    tails, heads, lengths = generators.grid_2d(side, side).arcs()
    streets = pd.DataFrame({"source": tails, "target": heads, "weight": lengths.astype(float)})
    shops = np.random.default_rng(0).integers(0, 5, side**2)
    return nodes, streets, shops


def before(nodes, streets, shops):
    ends = streets["source"], streets["target"], streets[["weight"]]
    network = pandana.Network(nodes["x"], nodes["y"], *ends, twoway=False)
    network.set(nodes.index, pd.Series(shops))
    return network.aggregate(1000, type="sum", decay="flat").to_numpy()


def after(nodes, streets, shops):
    return pyapsp.accessibility(from_frame(streets), shops, 1000)


def same(one, other):
    return np.allclose(one, other)
