"""How often a processor predicts the branches of a launch wrongly.

A predictor knows the last ways that a branch went, and how often it went each way after these:
T.-Y. Yeh, Y. N. Patt, Two-level adaptive training branch prediction, MICRO 1991,
doi:10.1145/123465.123475. Processors do not tell how theirs works. This one expects the way that
the branch goes more often in all other places after the same last ways, with the number of these
that is best for the branch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyapsp.profiling.probes.blocks import Block

__all__ = ["wrong_predictions"]

_Whole = NDArray[np.int64]
# How many decisions before one are known.
_HISTORIES = (0, 2, 4, 8, 16)
_NEVER = np.iinfo(np.int64).max


def wrong_predictions(order: _Whole, blocks: Sequence[Block]) -> NDArray[np.float64]:
    """Return what part of the decisions about each block is predicted wrongly.

    A loop that has the same number of turns each time is always predicted.

    Parameters
    ----------
    order : ndarray of int64
        The numbers of the blocks that were executed.
    blocks : sequence of Block

    Returns
    -------
    ndarray of shape (blocks,)
        0 for blocks about which no branch decides.
    """
    places = _places(order, len(blocks))
    found = np.zeros(len(blocks))
    for number, block in enumerate(blocks):
        if block.branch is not None and len(places[block.branch.outer]):
            outer, inner = places[block.branch.outer], places[number]
            decide = _turns if block.branch.loop else _ways
            found[number] = _wrong(decide(outer, inner))
    return found


def _places(order: _Whole, blocks: int) -> list[_Whole]:
    """Return where each block is in the order."""
    ends = np.cumsum(np.bincount(order, minlength=blocks))
    return np.split(np.argsort(order, kind="stable"), ends[:-1])


def _ways(outer: _Whole, inner: _Whole) -> NDArray[np.bool_]:
    """Return whether a block runs, each time that it is decided."""
    following = np.append(inner, _NEVER)[np.searchsorted(inner, outer)]
    return np.asarray(following < np.append(outer[1:], _NEVER))


def _turns(outer: _Whole, inner: _Whole) -> NDArray[np.bool_]:
    """Return whether a loop has another turn, each time that it is decided.

    It is never decided if it always has the same number of turns.
    """
    turns = np.diff(np.append(np.searchsorted(inner, outer), len(inner)))
    if (turns == turns[0]).all():
        return np.zeros(0, bool)
    goes_on = np.ones(turns.sum() + len(outer), bool)
    goes_on[np.cumsum(turns + 1) - 1] = False
    return goes_on


def _wrong(taken: NDArray[np.bool_]) -> float:
    """Return what part of decisions is predicted wrongly."""
    return min(_wrong_after(taken, bits) for bits in _HISTORIES) / max(len(taken), 1)


def _wrong_after(taken: NDArray[np.bool_], bits: int) -> float:
    """Return how many decisions are predicted wrongly if so many before are known."""
    history = np.zeros(len(taken), np.int64)
    for back in range(1, min(bits, len(taken) - 1) + 1):
        history[back:] |= taken[:-back].astype(np.int64) << (back - 1)
    ways = np.bincount(2 * history + taken, minlength=2 << bits).reshape(-1, 2)
    rarer, usual = ways.min(1), ways.max(1)
    # without one of the usual way, there may be as many of the other, or more
    guessed = np.where(usual == rarer, usual, (usual == rarer + 1) * usual / 2)
    return float((rarer + guessed).sum())
