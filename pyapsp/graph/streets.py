"""Rows that stand for an arc and its reverse: two costs (pgRouting), or a column ``oneway``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyapsp.graph.rows import has_reverse
from pyapsp.graph.validation import lost

__all__ = ["PlaceError", "refuse_missing", "two_ways"]

# Words that tell in a row whether its arc has no reverse, as OpenStreetMap has them.
_ONE_WAY = dict.fromkeys(("true", "yes", "1", "t", "y"), True)
_ONE_WAY |= dict.fromkeys(("false", "no", "0", "f", "n", ""), False)


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
