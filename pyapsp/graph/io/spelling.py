"""Ids of digits that integers would change: 01234 is no 1234, and 1 and 01 would be one vertex."""

from __future__ import annotations

import re
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.host import share
from pyapsp.graph.columns import Columns

__all__ = ["as_written", "may_differ"]

_Rows: TypeAlias = NDArray[np.signedinteger]

# Bytes that are searched at once, so that temporary arrays stay small.
_BLOCK = 2**18
_SIGNED = re.compile(rb'(?:^|[\s,;"])(?:\+|-0(?!\.))')  # -0.5 is a weight
_FOLLOWED = re.compile(_SIGNED.pattern + rb"\S*[ \t,;]+\S")  # by another column
_PADDED = re.compile(rb"0[0-9]")
_BEFORE = np.frombuffer(b' \t\r\n,;"', np.uint8)  # the bytes that may come before an id


def may_differ(content: bytes, columns: Columns) -> bool:
    """Return whether a number in the rows of a file has a sign or zeros that it does not need.

    Signs in the last column do not count if ids come before a weight: +1 is a common weight.
    """
    ends = max(columns.tail, columns.head)
    pattern = _SIGNED if columns.weight is None or columns.weight < ends else _FOLLOWED
    # one byte is found ten times as fast as two
    signed = b"+" in content or (b"-" in content and b"-0" in content)
    if signed and pattern.search(content):
        return True
    if _PADDED.match(content):
        return True
    found, padded = np.frombuffer(content, np.uint8), [False]

    def look(first: int, last: int) -> None:
        for block in range(first, last):
            piece = found[block * _BLOCK : (block + 1) * _BLOCK + 2]
            zero = piece[1:-1] == ord("0")
            zero &= piece[2:] - np.uint8(ord("0")) < 10  # a digit; other bytes become large
            zero &= piece[:-2] - np.uint8(ord("0")) > 9
            if zero.any():
                padded[0] |= bool(np.isin(piece[:-2][zero], _BEFORE).any())

    share(look, -(-found.size // _BLOCK), found.size)
    return padded[0]


def as_written(
    labels: NDArray[np.int64], tails: _Rows, heads: _Rows, texts: NDArray[np.object_]
) -> tuple[NDArray[np.int64] | NDArray[np.str_], _Rows, _Rows]:
    """Return labels as they are written, sorted as text, and the ends of arcs among them.

    They stay integers if all are plain.

    Parameters
    ----------
    labels, tails, heads : ndarray
        The distinct ids, sorted, and the ends of arcs among them.
    texts : (2 * arcs,) ndarray of str
        How the ids of all tails and then of all heads are written.

    Raises
    ------
    ValueError
        An id is written in two ways.
    """
    ends, spelled = np.concatenate([tails, heads]), np.empty(labels.size, object)
    spelled[ends] = texts
    if (spelled[ends] != texts).any():
        raise ValueError
    names: list[str] = spelled.tolist()
    if names == list(map(str, labels.tolist())):
        return labels, tails, heads
    written = np.array(names)
    order = np.argsort(written)
    place = np.empty(order.size, tails.dtype)
    place[order] = np.arange(order.size, dtype=tails.dtype)
    return written[order], place[tails], place[heads]
