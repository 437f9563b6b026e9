"""Vertices as they are given to functions: by their numbers, or by their labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias, cast

import numpy as np

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.graph.model import Graph
from pyapsp.graph.validation import vertex

__all__ = [
    "Vertex",
    "Vertices",
    "by_number",
    "check_order",
    "check_savable",
    "named",
    "numbered",
    "place_of",
]

# Names of rows that a message shows.
_SHOWN = 4

#: A vertex: its number, or its label if that is text.
Vertex: TypeAlias = int | str
#: What functions take as vertices: one or several, by their numbers or by their labels.
Vertices: TypeAlias = Vertex | Sequence[int] | Sequence[str] | np.ndarray


def by_number(graph: Graph) -> Graph:
    """Return the graph of a call whose vertices are read: from now on integers are numbers.

    What a function makes of the object of its caller is asked for labels. So vertices must be read
    before a derived graph is made, which is not; and the function must not give it numbers.
    """
    vars(graph).pop("is_converted", None)
    return graph


def check_order(
    values: object, axis: int, labels: np.ndarray | None, n: int, owner: str, name: str
) -> None:
    """Raise an error for values of pandas that have the names of other vertices.

    They are taken in their order, as those of any array.

    Parameters
    ----------
    values : array_like
    axis : int
        Along which there is a value for each vertex.
    labels : ndarray or None
    n : int
        The labels of the vertices, and their number.
    owner, name : str
        The function and the argument, for messages.

    Raises
    ------
    ParameterError
        The names are neither 0..n-1 nor the labels, in this order.
    """
    axes = getattr(values, "axes", None)  # of a column or a frame of pandas
    if not isinstance(axes, list) or axis >= len(axes):
        return
    found: list[Hashable] = list(axes[axis])
    known = None if labels is None else labels.tolist()
    if len(found) == n and found not in (list(range(n)), known):
        rule = "in the order of the vertices, with an index of their labels or without one"
        raise ParameterError.of(name, owner, rule, found[:_SHOWN])


def check_savable(labels: np.ndarray | None, name: str, result: str) -> None:
    """Raise an error for labels that NumPy could save as pickled objects only.

    Parameters
    ----------
    labels : ndarray or None
    name, result : str
        The field that has them, and a word for its owner, for the message.

    Raises
    ------
    GraphError
        If they are neither all integers nor all strings.
    """
    if labels is not None and labels.dtype.kind not in "iU":
        raise GraphError(
            f"{name} that are neither all integers nor all strings cannot be saved: "
            f"dataclasses.replace({result}, {name}=None) removes them"
        )


def numbered(graph: Graph, given: Vertices, owner: str, name: str) -> Vertices:
    """Replace labels of vertices by their numbers.

    An integer is the number of a vertex. But if the caller gave another object than a `Graph`, for
    instance a data frame, and labels are integers, it may be meant as a label: then an integer that
    may stand for two vertices is an error.

    Parameters
    ----------
    graph : Graph
    given : Vertices
    owner, name : str
        Names of the function and of the parameter, for messages.

    Returns
    -------
    Vertices
        What has no labels is returned as it is, for the caller to check.

    Raises
    ------
    ParameterError
        If there is no such label, or it is not clear which vertex is meant.
    """
    plain = isinstance(given, np.ndarray) and given.dtype.kind in "iu"
    if graph.labels is None or (plain and not graph.is_converted):
        return given
    if isinstance(given, tuple):
        _refuse_tuple(graph, given, owner, name)
    single, items = _listed(given)
    if all(isinstance(each, int | np.integer) for each in items):
        if not graph.is_converted:
            return given
        numbers = [_of_integer(graph, each, owner, name) for each in items]
        if None in numbers:
            return given
    else:
        numbers = [_of_label(graph, each, owner, name) for each in items]
    found = np.array(numbers, np.int64)
    return found[0] if single else found


def _listed(given: object) -> tuple[bool, list[Hashable]]:
    """Return whether one vertex is given, and a list of those that are."""
    if isinstance(given, np.ndarray):
        return given.ndim == 0, np.atleast_1d(given).tolist()
    if isinstance(given, str) or not isinstance(given, Iterable):
        return True, [given]
    return False, list(given)


def _refuse_tuple(graph: Graph, given: tuple[object, ...], owner: str, name: str) -> None:
    """Raise an error for a tuple that may be one vertex, as in a grid of NetworkX, or several."""
    whole = all(isinstance(each, int | np.integer) for each in given)
    if graph.is_converted and whole and given in graph.numbers:
        raise ParameterError(
            f"{owner}: {name}={given} may be the label of a vertex, or several vertices: "
            f"give [{given}] or {list(given)}"
        )


def _of_label(graph: Graph, label: Hashable, owner: str, name: str) -> int:
    """Return the number of a vertex with a label."""
    try:
        return graph.numbers[label]
    except (KeyError, TypeError):
        rule = "numbers of vertices, or labels"
        raise ParameterError.of(name, owner, rule, label) from None


def _of_integer(graph: Graph, given: Hashable, owner: str, name: str) -> int | None:
    """Return the number of a vertex with an integer as its label, or None if there is none."""
    number, meant = graph.numbers.get(given), cast("int", given)
    if number is not None and number != meant and 0 <= meant < graph.n:
        raise _unclear(owner, name, meant, graph.label(meant))
    return number


def _unclear(owner: str, name: str, meant: int, label: Hashable) -> ParameterError:
    return ParameterError(
        f"{owner}: {name}={meant} may be the label of a vertex, or the number of the one with "
        f"the label {label}: make a pyapsp.Graph first (pyapsp.read, "
        "pyapsp.graph.from_frame, from_networkx), and give numbers (Graph.vertex)"
    )


def place_of(
    labels: np.ndarray | None, is_converted: bool, n: int, given: Vertex, owner: str, name: str
) -> tuple[int, bool]:
    """Return the number of a vertex of a result, and whether it was given by its label.

    Parameters
    ----------
    labels : ndarray or None
        Of all vertices.
    is_converted : bool
        Whether the call was given another object than a `Graph`; the rules are those of `numbered`.
    n : int
    given, owner, name
        As for `numbered`; one vertex.

    Raises
    ------
    ParameterError
        If there is no such vertex, or it is not clear which one is meant.
    """
    whole = isinstance(given, int | np.integer)
    if labels is None or (whole and not is_converted) or isinstance(given, bool):
        return vertex(name, owner, cast("int", given), n), False
    known = labels.tolist()
    place = next((place for place, label in enumerate(known) if label == given), None)
    if place is None:
        if whole:
            return vertex(name, owner, cast("int", given), n), False
        raise ParameterError.of(name, owner, "the label of a vertex", given)
    if whole and place != given and 0 <= int(given) < n:
        raise _unclear(owner, name, int(given), known[int(given)])
    return place, True


def named(labels: np.ndarray | None, path: list[int], by_label: bool) -> list[int] | list[str]:
    """Return a path, by labels if its end was given by one."""
    if labels is None or not by_label:
        return path
    names: list[str] = labels[path].tolist()
    return names
