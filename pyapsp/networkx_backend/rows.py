"""Rows of distances as the dictionaries of NetworkX."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pyapsp.graph import Graph
from pyapsp.networkx_backend.converted import ConvertedGraph
from pyapsp.paths.result import Result

__all__ = ["Lengths", "Node", "Paths", "Row", "dtype_of", "levels_of", "rows_of"]

Node: TypeAlias = Hashable
Lengths: TypeAlias = dict[Node, float]
Paths: TypeAlias = dict[Node, list[Node]]


@dataclass(frozen=True)
class Row:
    """The vertices reached from a source, in order of distance; the source is the first."""

    source: int
    reached: list[int]
    # The distance of each of these. As in NetworkX, that of the source is an integer, even if the
    # others are floats.
    distances: list[float]
    before: list[int] | None  # the predecessor of each vertex of the graph

    def lengths(self, G: ConvertedGraph) -> Lengths:
        """Return a dictionary from node to distance."""
        return dict(zip(map(G.nodes.__getitem__, self.reached), self.distances, strict=True))

    def paths(self, G: ConvertedGraph) -> Paths:
        """Return a dictionary from node to the list of nodes of a path."""
        assert self.before is not None
        paths = {self.source: [G.nodes[self.source]]}
        for v in self.reached:
            ahead = []
            while v not in paths:  # at equal distance, the predecessor may come later in the order
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
        lengths = distances[reached].tolist()
        yield Row(source, [source, *reached.tolist()], [0, *lengths], before)


def dtype_of(graph: Graph) -> str | type[np.float64]:
    """Return the type of distances: for integer weights the narrowest integer type that fits."""
    return "auto" if graph.dtype.kind == "i" else np.float64


def levels_of(cutoff: float | None) -> float | None:
    """Return the last level of a search that continues while its level is below the cutoff."""
    return cutoff if cutoff is None or math.isinf(cutoff) else math.ceil(cutoff)
