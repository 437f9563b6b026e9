"""The undirected graph of a directed one that has both arcs of each edge."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from pyapsp.graph import compressed
from pyapsp.graph.model import Graph
from pyapsp.graph.rows import sealed
from pyapsp.graph.symmetry import is_symmetric, union

__all__ = ["both_ways"]


def both_ways(graph: Graph) -> Graph:
    """Return the undirected graph of one in which every arc has its reverse; it is stored.

    It has the same arrays of arcs. Its weights are those of `Graph.symmetrized`. They are made when
    they are first read: to compare the weights of all edges takes longer than to count triangles.
    """
    if not graph.directed:
        return graph
    made: Graph = graph.__dict__.setdefault("_both_ways", _BothWays(graph))
    return made


class _BothWays(Graph):
    """An undirected graph whose weights are made when they are read."""

    def __init__(self, graph: Graph) -> None:
        # not the graph, which refers to this one: both would stay until a search for cycles
        self.__dict__.update(
            indptr=graph.indptr,
            indices=graph.indices,
            directed=False,
            labels=graph.labels,
            name=graph.name,
            _directed=graph.weights,
        )

    _directed: np.ndarray

    @property
    def dtype(self) -> np.dtype:
        """Type of the weights: int64, float32 or float64."""
        return self._directed.dtype

    @cached_property
    def weights(self) -> np.ndarray:  # type: ignore[override]  # an attribute of other graphs
        """The smaller weight of the two arcs of each edge, (m,)."""
        rows, given = (self.indptr, self.indices), self._directed
        least, most = spread = compressed.extremes(given)
        if least == most or is_symmetric(*rows, given):
            return given
        return sealed(union(*rows, given, spread)[2])

    def __reduce__(self) -> tuple[Callable[..., Graph], tuple[object, ...]]:
        return Graph._of_new_rows, (
            *(self.indptr, self.indices, self.weights, False, self.labels, self.name),
        )
