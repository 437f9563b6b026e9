"""The rows of a table of arcs as arcs between the vertices 0..n-1.

The ids of ends become numbers. A row may stand for an arc and its reverse: with two costs
(pgRouting), or by a column ``oneway`` or ``directed``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import GraphError
from pyapsp.graph import compressed
from pyapsp.graph.rows import distinct, has_reverse
from pyapsp.graph.validation import MAX_VERTICES, lost

__all__ = ["PlaceError", "directions", "refuse_missing", "relabel", "two_ways"]

# Ids are numbered by a table if it has at most so many places for each. A place takes five bytes.
_DENSE = 3
# Ids of both ends that are numbered together.
_FEW = 2**14
# Words that tell in a row whether its arc has no reverse, as OpenStreetMap has them.
_ONE_WAY = dict.fromkeys(("true", "yes", "1", "t", "y"), True)
_ONE_WAY |= dict.fromkeys(("false", "no", "0", "f", "n", ""), False)
# Words that tell in a row whether its arc is directed, as Gephi and Cytoscape have them; and those
# that tell it only in a column that has no other purpose.
_DIRECTED = {"directed": True, "true": True, "undirected": False, "false": False}
_MAY_BE_DIRECTED = {word: said for word, said in _ONE_WAY.items() if word}


def relabel(tails: np.ndarray, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replace the ids of an edge list by their numbers in sorted order.

    Parameters
    ----------
    tails, heads : ndarray, shape (arcs,)
        Ids, all integers (sorted by value) or all strings.

    Returns
    -------
    labels : ndarray, shape (n,)
        The distinct ids, sorted. Integers are int64 unless their type holds larger ones.
    tails, heads : ndarray of int32 or int64, shape (arcs,)
        The row of each id in `labels`.
    """
    kind = np.result_type(tails, heads)
    if kind.kind in "iu":
        return _numbered(tails.astype(kind, copy=False), heads.astype(kind, copy=False))
    ids = _of_one_kind(np.concatenate([tails, heads]))
    if ids.dtype.kind == "i":
        return _numbered(ids[: len(tails)], ids[len(tails) :])
    labels, rows = np.unique(ids, return_inverse=True)
    return labels, rows[: len(tails)], rows[len(tails) :]


def _of_one_kind(ids: np.ndarray) -> np.ndarray:
    """Return ids of any type as int64 or strings; objects if strings of NumPy would change them."""
    # `tolist` would convert a date to a number of nanoseconds
    names: list[Hashable] = [None] if ids.dtype.kind in "mM" else ids.tolist()
    texts = [value for value in names if isinstance(value, str)]
    if len(texts) == len(names):
        # NumPy strings of fixed length lose NUL at the end
        cut = any(text.endswith("\0") for text in texts)
        return np.array(texts, dtype=object if cut else np.str_)
    if all(type(value) is int and -(2**63) <= value < 2**63 for value in names):
        return np.array(names, dtype=np.int64)
    raise GraphError(
        "the ids of an edge list must be all integers or all strings, integers within int64"
    )


def _numbered(tails: np.ndarray, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the result of `relabel` for integers of one type."""
    if tails.size > _FEW:
        labels, (tails, heads) = _by_value([tails, heads])
        return labels, tails, heads
    # one column takes half of the time of two
    labels, (rows,) = _by_value([np.concatenate([tails, heads])])
    return labels, rows[: tails.size], rows[tails.size :]


def _by_value(columns: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the distinct integers of columns, sorted, and the places of all among them.

    An edge list may take most of the memory, so temporary arrays are as large as one column.
    """
    spans = [compressed.extremes(column) for column in columns]
    least, most = min(int(low) for low, _ in spans), max(int(high) for _, high in spans)
    find: Callable[[np.ndarray], np.ndarray]
    if most - least < _DENSE * sum(column.size for column in columns):
        # a table of all integers between takes less time than a sort
        labels, find = _by_table(columns, least, most)
    else:
        labels = _distinct(np.concatenate([_distinct(column) for column in columns]))
        find = partial(_searched, labels)
    kind = np.int32 if labels.size <= MAX_VERTICES else np.int64

    def rows(column: np.ndarray) -> np.ndarray:
        found = np.empty(column.size, kind)

        def fill(start: int, stop: int) -> None:
            found[start:stop] = find(column[start:stop])

        compressed.in_blocks(fill, column.size)
        return found

    held = labels.astype(np.int64, copy=False) if np.can_cast(labels.dtype, np.int64) else labels
    return held, [rows(column) for column in columns]


def _by_table(
    columns: list[np.ndarray], least: int, most: int
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Return the distinct integers from `least` to `most`, and a function that numbers some."""
    kind = columns[0].dtype
    wide = kind if kind.itemsize == 8 else np.dtype(np.int64)

    def places(ids: np.ndarray) -> NDArray[np.int64]:
        # a narrow type does not hold every difference
        return (ids.astype(wide, copy=False) - least).astype(np.int64, copy=False)

    occurs = np.zeros(most - least + 1, np.bool_)
    for column in columns:

        def mark(start: int, stop: int, column: np.ndarray = column) -> None:
            occurs[places(column[start:stop])] = True

        compressed.in_blocks(mark, column.size)
    labels = occurs.nonzero()[0].astype(wide, copy=False) + least
    number: np.ndarray = np.cumsum(occurs, dtype=np.int32 if occurs.size < 2**31 else np.int64)
    number -= 1
    return labels, lambda ids: number[places(ids)]


def _distinct(ids: np.ndarray) -> np.ndarray:
    """Return the distinct integers, sorted; `numpy.unique` takes three times as long."""
    ordered = np.sort(ids)
    return ordered[distinct(ordered)]


def _searched(labels: np.ndarray, ids: np.ndarray) -> NDArray[np.int64]:
    """Return the places of some ids among all.

    They are searched in sorted order, for which the CPU cache has the next labels.
    """
    order = np.argsort(ids)
    found = np.empty(ids.size, np.int64)
    found[order] = labels.searchsorted(ids[order])
    return found


class PlaceError(ValueError):
    """A row is wrong.

    Parameters
    ----------
    place : int
        Number of the row, from 0.
    message : str
    """

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


def two_ways(
    tails: NDArray[np.signedinteger],
    heads: NDArray[np.signedinteger],
    costs: np.ndarray,
    back: np.ndarray,
) -> tuple[NDArray[np.signedinteger], NDArray[np.signedinteger], np.ndarray]:
    """Return arcs and their reverses with the costs of both; where one is negative, none.

    Raises
    ------
    PlaceError
        A whole number among fractions does not fit into float64.
    """
    every = np.append(costs, back)
    changed = lost(costs, every[: costs.size]) | lost(back, every[costs.size :])
    if changed.any():
        message = "a cost does not fit into float64, which the others need"
        raise PlaceError(int(changed.argmax()), message)
    there = every >= 0
    return np.append(tails, heads)[there], np.append(heads, tails)[there], every[there]


def directions(words: Sequence[str], name: str | None) -> NDArray[np.bool_]:
    """Return which arcs are directed.

    Parameters
    ----------
    words : sequence of str
        For each arc, whether it is directed.
    name : str or None
        The column with the words, if it tells nothing else. None: if none of its words is known,
        it tells other things, and all arcs are directed.

    Raises
    ------
    PlaceError
        A word is not known.
    """
    known = _DIRECTED if name is None else _DIRECTED | _MAY_BE_DIRECTED
    told = [known.get(word.strip().casefold()) for word in words]
    if name is None and all(each is None for each in told):
        return np.ones(len(told), np.bool_)
    if None in told:
        place = told.index(None)
        raise PlaceError(place, f"an arc is Directed or Undirected, not {words[place]!r}")
    return np.array(told, np.bool_)


def refuse_missing(
    tails: NDArray[np.signedinteger],
    heads: NDArray[np.signedinteger],
    words: Sequence[str],
    name: str,
) -> None:
    """Refuse arcs that are not one-way, and whose reverse is not there.

    Parameters
    ----------
    tails, heads : (arcs,) ndarray of int
    words : sequence of str
        For each arc, whether it is one-way.
    name : str
        The column with the words.

    Raises
    ------
    PlaceError
        There is such an arc, or a word is not known.
    """
    size = 1 + int(max(tails.max(initial=0), heads.max(initial=0)))
    both = has_reverse(tails, heads, size)
    for place, word in enumerate(words):
        one_way = _ONE_WAY.get(word.strip().casefold())
        if one_way is None:
            raise PlaceError(place, f"{name!r} must be true or false, not {word!r}")
        if not one_way and not both[place]:
            raise PlaceError(
                place,
                f"by the column {name!r} this arc goes both ways, and there is no row for its "
                "reverse: write a row for each arc, or drop the column",
            )
