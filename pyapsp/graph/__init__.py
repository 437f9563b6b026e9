"""Graphs: the model, its validation, converters, readers and writers, generators, data sets."""

from __future__ import annotations

from pyapsp.graph import datasets, generators
from pyapsp.graph.attributes import Weight
from pyapsp.graph.coerce import GraphLike, as_graph, as_structure, has_attributes
from pyapsp.graph.convert import from_igraph, from_networkx, from_scipy, reweight
from pyapsp.graph.frames import from_frame
from pyapsp.graph.graphs import Graphs
from pyapsp.graph.io import read, write
from pyapsp.graph.model import Facts, Graph
from pyapsp.graph.names import Vertex, Vertices

__all__ = [
    "Facts",
    "Graph",
    "GraphLike",
    "Graphs",
    "Vertex",
    "Vertices",
    "Weight",
    "as_graph",
    "as_structure",
    "datasets",
    "from_frame",
    "from_igraph",
    "from_networkx",
    "from_scipy",
    "generators",
    "has_attributes",
    "read",
    "reweight",
    "write",
]
