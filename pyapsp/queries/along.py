"""A second weight, summed along paths that were searched by the first."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from types import EllipsisType
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.graph import Graph, GraphLike, as_graph, has_attributes
from pyapsp.graph.attributes import Weight, WeightFunction
from pyapsp.graph.io import read_columns

__all__ = ["Along", "of_columns", "second_weights", "sums_along"]

#: A second weight: as ``weight``, or the graph or matrix that has it, or an array of it.
Along: TypeAlias = "Hashable | WeightFunction | GraphLike | ArrayLike"
#: Returns the graph with the second weight, given the ends of the arcs that are needed.
Second: TypeAlias = Callable[[np.ndarray, np.ndarray], Graph]


def second_weights(
    source: GraphLike, graph: Graph, weight: Weight, along: Along, directed: bool
) -> Second:
    """Check a second weight, and return a function that finds it.

    Of parallel arcs, and of the two arcs of an edge if directions do not count, it is that of the
    arc with the smallest first weight; of several such, the smallest second weight.

    Parameters
    ----------
    source : graph-like
        What the caller gave.
    graph : Graph
        It, as it is searched.
    weight, directed
        With which it was made of `source`.
    along : object
        See `pyapsp.pairs`.

    Raises
    ------
    ParameterError
        If `along` does not fit to this kind of source.
    GraphError
        If an arc of a matrix or a graph has no second weight, or one that is not finite.
    """
    if isinstance(source, str | os.PathLike):
        if not isinstance(along, str):
            raise _refused("the name of a column of the file", along)
        in_file = of_columns(source, graph, weight, along, directed)
        return lambda tails, heads: in_file
    if has_attributes(source):
        if not isinstance(along, Hashable) or isinstance(along, Graph):
            raise _refused("the name of an attribute or a column, or a function", along)
        columns = list(getattr(source, "columns", ()))
        if "reverse_cost" in columns:
            raise _refused("absent for a data frame with the costs of reverse arcs", along)
        if columns and not callable(along) and along not in columns:
            raise _refused(f"one of {columns}", along)

        def of_attributes(tails: np.ndarray, heads: np.ndarray) -> Graph:
            chosen = _of_shortest(graph, tails, heads, weight, along)
            return as_graph(source, directed, weight=chosen, copy=False)

        return of_attributes
    own = as_graph(source, weight=weight, copy=False)
    second = _of_arcs(own, source, along)
    found = _of_arrays(graph, *own.arcs(), second, directed=directed and own.directed)
    return lambda tails, heads: found


def of_columns(
    path: str | os.PathLike[str],
    graph: Graph,
    weight: Weight,
    along: str,
    directed: bool,
    form: str | None = None,
) -> Graph:
    """Return the graph with a second weight that is a column of a file.

    Parameters
    ----------
    path : path-like
        An edge list.
    graph, weight, along, directed
        As for `second_weights`.
    form : str, optional
        Its format, as for `pyapsp.read`.

    Raises
    ------
    FormatError, OSError, ParameterError
        As `pyapsp.graph.io.read_columns`.
    GraphError
        A second weight is not finite.
    """
    first = cast("str | EllipsisType | None", weight)
    arcs, second = read_columns(path, first, along, form=form)
    ones = np.ones(arcs.tails.size, np.int64)
    weights = ones if arcs.weights is None else arcs.weights
    both = directed and arcs.directed
    return _of_arrays(graph, arcs.tails, arcs.heads, weights, second, directed=both)


def _of_arrays(
    graph: Graph,
    tails: np.ndarray,
    heads: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    *,
    directed: bool,
) -> Graph:
    """Return the graph with the second weights of the arcs that are as long as in the graph."""
    if not np.isfinite(second).all():
        arc = int(np.argmin(np.isfinite(second)))
        raise _lacks(graph, tails[arc], heads[arc], "a second weight that is not finite")
    shortest = first == _looked_up(graph, tails, heads)[0]
    arcs = tails[shortest], heads[shortest], second[shortest]
    return Graph.from_arcs(graph.n, *arcs, directed=directed)


def sums_along(
    second: Second, graph: Graph, starts: np.ndarray, vertices: np.ndarray
) -> np.ndarray:
    """Return the sum of the second weight along each path, in the order of its arcs.

    Parameters
    ----------
    second : callable
        The result of `second_weights`.
    graph : Graph
        The graph of the paths.
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
        If an arc of a path has no second weight.
    """
    lengths = np.diff(starts)
    pairs = np.repeat(np.arange(lengths.size), lengths)
    steps = np.flatnonzero(pairs[1:] == pairs[:-1])
    tails, heads = vertices[steps], vertices[steps + 1]
    values = _known(graph, second(tails, heads), tails, heads)
    sums = np.bincount(pairs[steps], values, lengths.size).astype(np.float64, copy=False)
    sums[lengths == 0] = np.inf
    return sums


def _of_shortest(
    graph: Graph, tails: np.ndarray, heads: np.ndarray, weight: Weight, along: Along
) -> WeightFunction:
    """Return the function of an edge that gives its second weight if it is the shortest of these.

    For all other edges it returns None.
    """
    names = range(graph.n) if graph.labels is None else graph.labels.tolist()
    first = "weight" if weight is ... else weight
    lengths, _ = _looked_up(graph, tails, heads)
    shortest = {
        (names[tail], names[head]): length
        for tail, head, length in zip(tails.tolist(), heads.tolist(), lengths.tolist(), strict=True)
    }
    if not graph.directed:
        shortest |= {(head, tail): length for (tail, head), length in shortest.items()}

    def chosen(
        tail: Hashable, head: Hashable, attributes: Mapping[Hashable, object]
    ) -> float | None:
        if (tail, head) not in shortest:
            return None
        length = first(tail, head, attributes) if callable(first) else attributes.get(first, 1)
        if length != shortest[tail, head]:
            return None
        if callable(along):
            return cast("float | None", along(tail, head, attributes))
        if along not in attributes:
            raise GraphError(f"the edge from {tail!r} to {head!r} has no {along!r}")
        return cast("float", attributes[cast("Hashable", along)])

    return chosen


def _of_arcs(own: Graph, source: GraphLike, along: Along) -> np.ndarray:
    """Return the second weight of each arc of a graph or matrix without attributes."""
    rule = "a graph or a matrix, because the weights here have no names"
    if isinstance(source, Graph):
        rule = f"a graph, or a value for each of the {own.m:,} arcs in the order of Graph.indices"
    if isinstance(along, str) or callable(along):
        raise _refused(rule, along)
    tails, heads, _ = own.arcs()
    if isinstance(along, Graph) or hasattr(along, "tocsr"):
        other = as_graph(cast("GraphLike", along), copy=False)
        if other.n != own.n:
            raise _refused(f"a graph of {own.n:,} vertices", f"one of {other.n:,}")
        return _known(own, other, tails, heads)
    try:
        values = np.asarray(along)
    except ValueError as error:  # a list of rows that differ in length
        raise _refused(rule, str(error)) from None
    if values.dtype.kind not in "iuf":
        raise _refused(rule, along)
    if values.shape == (own.n, own.n):
        return values[tails, heads]
    if not isinstance(source, Graph) or values.shape != (own.m,):
        raise _refused(rule, f"an array of shape {values.shape}")
    return values


def _known(graph: Graph, second: Graph, tails: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Return the second weights of arcs, all of which must have one."""
    values, known = _looked_up(second, tails, heads)
    if not known.all():
        missing = int(np.argmin(known))
        raise _lacks(graph, tails[missing], heads[missing], "no second weight")
    return values


def _looked_up(graph: Graph, tails: np.ndarray, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of arcs of a graph, and which of them it has."""
    sources, targets, weights = graph.arcs()
    if not weights.size:
        return np.zeros(tails.size), np.zeros(tails.size, bool)
    keys = sources.astype(np.int64) * graph.n + targets
    order = None if (keys[1:] >= keys[:-1]).all() else np.argsort(keys, kind="stable")
    wanted = tails.astype(np.int64) * graph.n + heads
    places = np.searchsorted(keys, wanted, sorter=order).clip(max=keys.size - 1)
    places = places if order is None else order[places]
    return weights[places], keys[places] == wanted


def _refused(rule: str, along: object) -> ParameterError:
    return ParameterError.of("along", "pairs", rule, along)


def _lacks(graph: Graph, tail: int, head: int, what: str) -> GraphError:
    names = range(graph.n) if graph.labels is None else graph.labels
    return GraphError(f"the arc from {names[tail]} to {names[head]} has {what}")
