"""Rows of distances as the dictionaries of NetworkX."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pyapsp.graph import Graph
from pyapsp.networkx_backend.converted import ConvertedGraph
from pyapsp.result import Result

__all__ = ["Lengths", "Node", "Paths", "Row", "dtype_of", "levels_of", "rows_of"]

Node: TypeAlias = Hashable
Lengths: TypeAlias = dict[Node, float]
Paths: TypeAlias = dict[Node, list[Node]]


@dataclass(frozen=True)
class Row:
    """What is reached from a source: it comes first, and then the nearest.

    Attributes
    ----------
    source : int
    reached : list of int
    distances : list of int or float
        To each of these; as in NetworkX that to the source is an integer, even among floats.
    before : list of int or None
        For each vertex of the graph the last one before it.
    """

    source: int
    reached: list[int]
    distances: list[float]
    before: list[int] | None

    def lengths(self, G: ConvertedGraph) -> Lengths:
        """Return node to distance."""
        return dict(zip(map(G.nodes.__getitem__, self.reached), self.distances, strict=True))

    def paths(self, G: ConvertedGraph) -> Paths:
        """Return node to the nodes of a path."""
        assert self.before is not None
        paths = {self.source: [G.nodes[self.source]]}
        for v in self.reached:
            ahead = []
            while v not in paths:  # its predecessor may come later, if it is as near
                ahead.append(v)
                v = self.before[v]
            for u in reversed(ahead):
                paths[u] = [*paths[v], G.nodes[u]]
                v = u
        return {G.nodes[v]: paths[v] for v in self.reached}


def rows_of(block: Result) -> Iterator[Row]:
    """Yield the rows of a result."""
    for place, source in enumerate(block.sources.tolist()):
        distances = block.distances[place]
        reached = np.flatnonzero(distances < block.infinity)
        reached = reached[np.argsort(distances[reached], kind="stable")]
        reached = reached[reached != source]
        before = None if block.predecessors is None else block.predecessors[place].tolist()
        found = distances[reached].tolist()
        yield Row(source, [source, *reached.tolist()], [0, *found], before)


def dtype_of(graph: Graph) -> Any:
    """Return the type of distances: whole numbers stay so, in the narrowest type that does."""
    return "auto" if graph.dtype.kind == "i" else np.float64


def levels_of(cutoff: float | None) -> float | None:
    """Return the last level of a search that goes on as long as the cutoff is above its level."""
    return cutoff if cutoff is None or math.isinf(cutoff) else math.ceil(cutoff)
