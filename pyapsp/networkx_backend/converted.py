"""Conversion between graphs of NetworkX and graphs of this package."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import networkx as nx
import numpy as np

from pyapsp.graph import Graph
from pyapsp.numbers.precision import infinity

__all__ = ["ConvertedGraph", "convert_from_nx", "convert_to_nx", "weights_of"]

_Result = TypeVar("_Result")
# Whole numbers up to here are floats without rounding.
_EXACT = 2**53


class ConvertedGraph:
    """A graph of NetworkX with one edge attribute, or none.

    NetworkX makes and caches these objects. A user can pass one to functions of NetworkX.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        The shortest of parallel edges is used.
    weight : hashable, optional
        The edge attribute with the weights; an edge without it has weight 1. None: all weights are
        1.

    Attributes
    ----------
    nodes : list
        The nodes in the order of NetworkX; the index of a node is its row number.
    rows : dict
        Node -> row number.
    weight : hashable or None
    complete : bool
        Whether every edge has the attribute.
    origin : networkx.Graph or None
        The graph that was converted, if its other attributes are needed, too.

    Raises
    ------
    NotImplementedError
        If NetworkX supports the weights and this package does not; see `weights_of`.
    """

    __networkx_backend__ = "pyapsp"

    def __init__(
        self, graph: nx.Graph, weight: Hashable | None = None, *, keep: bool = False
    ) -> None:
        self.origin = graph if keep else None
        self.nodes = list(graph)
        self.rows = {node: row for row, node in enumerate(self.nodes)}
        self.weight = weight
        self._size: int = graph.number_of_edges()
        self._words = str(graph)
        ends = [(self.rows[tail], self.rows[head]) for tail, head in graph.edges()]
        tails, heads = np.array(ends, np.int64).reshape(-1, 2).T
        weights, self.complete = weights_of(graph, weight)
        self._graph = Graph.from_arcs(
            len(self.nodes), tails, heads, weights, directed=graph.is_directed()
        )

    def __str__(self) -> str:
        return self._words

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        try:
            return node in self.rows
        except TypeError:  # as in NetworkX: an unhashable object is not a node
            return False

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""
        return self._graph.directed

    def is_multigraph(self) -> bool:
        """Return False: of parallel edges the shortest is kept."""
        return False

    def number_of_edges(self) -> int:
        """Return the number of edges of the graph of NetworkX."""
        return self._size

    def weighted(self, weight: Hashable | None) -> Graph:
        """Return the graph with the weights of an edge attribute, or all 1 for None.

        Raises
        ------
        NetworkXError
            If another attribute was converted.
        """
        if weight is None:
            return self._unweighted
        if weight != self.weight and self.origin is not None:
            return ConvertedGraph(self.origin, weight).weighted(weight)
        if weight != self.weight:
            raise nx.NetworkXError(
                f"this graph was converted with the edge attribute {self.weight!r}, not {weight!r}"
            )
        return self._graph

    @cached_property
    def _unweighted(self) -> Graph:
        return self._graph.with_weights(np.ones(self._graph.m, np.int64))


def weights_of(graph: nx.Graph, weight: Hashable | None) -> tuple[np.ndarray, bool]:
    """Return the weights of the edges, and whether every edge has the attribute.

    Parameters
    ----------
    graph : networkx.Graph
        A graph with m edges.
    weight : hashable or None
        The attribute; an edge without it has weight 1. None: all weights are 1.

    Returns
    -------
    weights : (m,) ndarray of int64 or float64
        int64 if all are Python or NumPy integers; then all distances are integers, too.
    complete : bool

    Raises
    ------
    NotImplementedError
        If a weight is None (NetworkX hides the edge), not a number, infinite or NaN, of a type that
        NetworkX adds with other rounding (Fraction, Decimal, numpy.float32), or an integer so large
        that sums would not be exact.
    """
    if weight is None:
        return np.ones(graph.number_of_edges(), np.int64), False
    values = [value for *_, value in graph.edges(data=weight, default=_ABSENT)]
    kinds = set(map(type, values))
    complete = type(_ABSENT) not in kinds
    if not complete:
        values = [1 if value is _ABSENT else value for value in values]
        kinds = kinds - {type(_ABSENT)} | {int}
    for kind in kinds:
        if kind is type(None):
            raise NotImplementedError("a weight is None, which hides the edge")
        # NumPy counts timedelta64 as an integer
        if not issubclass(kind, int | float | np.integer) or issubclass(kind, np.timedelta64):
            raise NotImplementedError(f"a weight is of type {kind.__module__}.{kind.__qualname__}")
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        return _whole(values, len(graph)), complete
    for value in values:
        if isinstance(value, int | np.integer) and abs(int(value)) > _EXACT:
            raise NotImplementedError(f"the weight {value} would be rounded to a float")
    weights = np.array(values, np.float64)
    if not np.isfinite(weights).all():
        raise NotImplementedError("a weight is infinite or NaN")
    return weights, complete


def convert_from_nx(
    graph: nx.Graph,
    *,
    edge_attrs: Mapping[Hashable, object] | None = None,
    preserve_edge_attrs: bool = False,
    **preserved: object,
) -> ConvertedGraph:
    """Convert a graph of NetworkX.

    Parameters
    ----------
    graph : networkx.Graph
    edge_attrs : dict, optional
        The edge attribute to keep, at most one, with the value that edges without it have (1).
    preserve_edge_attrs : bool
        Whether the function returns a graph with all attributes. They are kept in the given graph.
    **preserved
        Other options of NetworkX; no function here needs them.

    Raises
    ------
    NotImplementedError
        For the same weights as `ConvertedGraph`.
    """
    if isinstance(graph, ConvertedGraph):
        return graph
    weight = next(iter(edge_attrs)) if edge_attrs else None
    return ConvertedGraph(graph, weight, keep=preserve_edge_attrs)


def convert_to_nx(result: _Result, *, name: str | None = None) -> _Result | nx.Graph:
    """Convert a graph back to NetworkX; any other result is returned unchanged.

    Parameters
    ----------
    result : object
    name : str, optional
        Name of the function that returned it.

    Returns
    -------
    networkx.Graph or networkx.DiGraph
        It has the nodes and the converted edge attribute. Parallel edges become one.
    """
    if not isinstance(result, ConvertedGraph):
        return result
    graph = nx.DiGraph() if result.is_directed() else nx.Graph()
    graph.add_nodes_from(result.nodes)
    for tail, head, value in zip(
        *(array.tolist() for array in result.weighted(result.weight).arcs()), strict=True
    ):
        data = {} if result.weight is None else {result.weight: value}
        graph.add_edges_from([(result.nodes[tail], result.nodes[head], data)])
    return graph


class _Absent:
    """The value of an edge without the attribute."""


_ABSENT = _Absent()


def _whole(values: Sequence[int | np.integer], n: int) -> np.ndarray:
    longest = max((abs(int(value)) for value in values), default=0) * max(n - 1, 1)
    if longest >= infinity(np.dtype(np.int64)):
        raise NotImplementedError(f"distances up to {longest} may not fit into 64 bits")
    return np.array([int(value) for value in values], np.int64)
