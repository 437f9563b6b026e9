"""Many routes, with OSMnx.

`osmnx.shortest_path` takes lists of origins and destinations, and calls NetworkX for one pair
after the other. `pyapsp.pairs` takes the same graph.
"""

import networkx as nx
import numpy as np
import osmnx

import pyapsp
from pyapsp.graph import generators


def data(small):
    side = 12 if small else 100
    streets = nx.MultiDiGraph(crs="epsg:4326")
    graph = generators.grid_2d(side, side)
    tails, heads, lengths = graph.arcs()
    ids = 10**9 + np.arange(graph.n)
    arcs = zip(ids[tails].tolist(), ids[heads].tolist(), lengths.astype(float), strict=True)
    streets.add_edges_from((u, v, {"length": length}) for u, v, length in arcs)
    ends = np.random.default_rng(0).choice(ids, 20 if small else 2000, replace=False).tolist()
    return streets, ends[::2], ends[1::2]


def before(streets, origins, destinations):
    return osmnx.shortest_path(streets, origins, destinations, weight="length")


def after(streets, origins, destinations):
    found = pyapsp.pairs(streets, origins, destinations, weight="length", paths=True)
    ids = found.path_columns()["vertex"].tolist()
    return [ids[start:end] for start, end in zip(found.starts, found.starts[1:], strict=False)]


def same(one, other):
    if [(each[0], each[-1]) for each in one] != [(each[0], each[-1]) for each in other]:
        return False
    # several routes may be shortest: compare their lengths; the small input has 10
    streets, *_ = data(small=len(one) == 10)
    lengths = [[nx.path_weight(streets, each, "length") for each in some] for some in (one, other)]
    return np.allclose(*lengths)
