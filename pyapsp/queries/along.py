"""A second weight, summed along paths that were found by the first."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import EllipsisType
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.graph import Graph, GraphLike, as_graph, has_attributes
from pyapsp.graph.attributes import Weight, WeightFunction

__all__ = ["Along", "sums_along", "with_weights_along"]

#: A second weight: as ``weight``, or the graph or matrix that has it, or an array of it.
Along: TypeAlias = "Hashable | WeightFunction | GraphLike | ArrayLike"


def with_weights_along(
    source: GraphLike, graph: Graph, weight: Weight, along: Along, directed: bool
) -> Graph:
    """Return the arcs that shortest paths may have, with the second weight.

    Of parallel arcs, and of the two arcs of an edge if directions do not count, these are the ones
    with the smallest first weight; of several such, the one with the smallest second weight.

    Parameters
    ----------
    source : graph-like
        What the caller gave.
    graph : Graph
        It, as it was searched.
    weight, directed
        With which it was made of `source`.
    along : object
        See `pyapsp.pairs`.

    Raises
    ------
    ParameterError
        If `along` does not fit to this kind of source.
    GraphError
        If an arc has no second weight.
    """
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        rule = "absent for a file: read it into a data frame, or give a Graph and an array"
        raise ParameterError.of("along", "pairs", rule, along)
    if has_attributes(source):
        chosen = _of_shortest(graph, weight, cast("Hashable | WeightFunction", along))
        return as_graph(source, directed, weight=chosen, copy=False)
    own = as_graph(source, weight=weight, copy=False)
    tails, heads, weights = own.arcs()
    second = _second(own, along)
    shortest, _ = _looked_up(graph, tails, heads)
    kept = weights == shortest
    return Graph.from_arcs(
        graph.n, tails[kept], heads[kept], second[kept], directed=directed and own.directed
    )


def sums_along(second: Graph, starts: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """Return the sum of the weights of `second` along each path, in the order of its arcs.

    Parameters
    ----------
    second : Graph
    starts : (p + 1,) ndarray
        The path of pair i is ``vertices[starts[i]:starts[i + 1]]``.
    vertices : ndarray

    Returns
    -------
    (p,) ndarray of float64
        inf for an empty path.

    Raises
    ------
    GraphError
        If `second` lacks an arc of a path.
    """
    lengths = np.diff(starts)
    pairs = np.repeat(np.arange(lengths.size), lengths)
    steps = np.flatnonzero(pairs[1:] == pairs[:-1])
    tails, heads = vertices[steps], vertices[steps + 1]
    values, known = _looked_up(second, tails, heads)
    if not known.all():
        missing = int(np.argmin(known))
        raise _lacks(second, tails[missing], heads[missing])
    sums = np.bincount(pairs[steps], values, lengths.size)
    sums[lengths == 0] = np.inf
    return sums


def _of_shortest(graph: Graph, weight: Weight, along: Hashable | WeightFunction) -> WeightFunction:
    """Return a function of an edge: its second weight, or None if it is not the shortest."""
    names = range(graph.n) if graph.labels is None else graph.labels.tolist()
    tails, heads, weights = graph.arcs()
    ends = zip(map(names.__getitem__, tails), map(names.__getitem__, heads), strict=True)
    shortest = dict(zip(ends, weights.tolist(), strict=True))
    first = "weight" if isinstance(weight, EllipsisType) else weight

    def chosen(
        tail: Hashable, head: Hashable, attributes: Mapping[Hashable, object]
    ) -> float | None:
        if callable(first):
            length = first(tail, head, attributes)
        else:
            length = cast("float", attributes.get(first, 1))
        if length is None or shortest.get((tail, head)) != length:
            return None
        if callable(along):
            return along(tail, head, attributes)
        if along not in attributes:
            raise GraphError(f"the edge from {tail!r} to {head!r} has no {along!r}")
        return cast("float", attributes[along])

    return chosen


def _second(own: Graph, along: Along) -> np.ndarray:
    """Return the second weight of each arc of a graph or matrix without attributes."""
    if isinstance(along, np.ndarray | list | tuple) and np.ndim(along) == 1:
        values = np.asarray(along)
        if values.size != own.m:
            rule = f"a value for each of the {own.m:,} arcs, in the order of Graph.indices"
            raise ParameterError.of("along", "pairs", rule, f"{values.size:,} values")
        return values
    if isinstance(along, str) or callable(along):
        rule = "an array, a matrix or a graph, because the weights here have no names"
        raise ParameterError.of("along", "pairs", rule, along)
    other = as_graph(cast("GraphLike", along), copy=False)
    if other.n != own.n:
        rule = f"a graph of {own.n:,} vertices"
        raise ParameterError.of("along", "pairs", rule, f"one of {other.n:,}")
    tails, heads, _ = own.arcs()
    values, known = _looked_up(other, tails, heads)
    if not known.all():
        missing = int(np.argmin(known))
        raise _lacks(own, tails[missing], heads[missing])
    return values


def _looked_up(graph: Graph, tails: np.ndarray, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of arcs of a graph, and which of them it has."""
    sources, targets, weights = graph.arcs()
    if not weights.size:
        return np.zeros(tails.size), np.zeros(tails.size, bool)
    keys = sources.astype(np.int64) * graph.n + targets
    order = np.argsort(keys, kind="stable")
    wanted = tails.astype(np.int64) * graph.n + heads
    places = order[np.searchsorted(keys, wanted, sorter=order).clip(max=keys.size - 1)]
    return weights[places], keys[places] == wanted


def _lacks(graph: Graph, tail: int, head: int) -> GraphError:
    names = range(graph.n) if graph.labels is None else graph.labels
    return GraphError(f"the arc from {names[tail]} to {names[head]} has no second weight")
