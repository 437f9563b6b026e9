"""Ids of digits that are written in more than one way: as integers, 1, 01 and +1 are one vertex."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pyapsp.errors import FormatError
from pyapsp.graph.io import layout
from pyapsp.graph.io.layout import Layout

__all__ = ["may_differ", "refuse_two"]

# Bytes that are searched at once, so that temporary arrays stay small.
_BLOCK = 2**22
_SIGNED = re.compile(rb'(?:^|[\s,;"])(?:\+|-0)')
_PADDED = re.compile(rb"0[0-9]")
_BEFORE = np.zeros(256, np.bool_)  # the bytes that may come before an id
_BEFORE[list(b' \t\r\n,;"')] = True


def may_differ(content: bytes) -> bool:
    """Return whether a number in the rows of a file has a sign or zeros that it does not need."""
    if (b"+" in content or b"-0" in content) and _SIGNED.search(content):
        return True
    if _PADDED.match(content):
        return True
    found = np.frombuffer(content, np.uint8)
    for start in range(0, found.size, _BLOCK):
        block = found[start : start + _BLOCK + 2]
        zeros = np.flatnonzero(block[1:-1] == ord("0"))
        digit = block[zeros + 2] - np.uint8(ord("0")) < 10  # other bytes become large
        if (_BEFORE[block[zeros]] & digit).any():
            return True
    return False


def refuse_two(path: Path, lines: list[str], found: Layout) -> None:
    """Raise an error if an id is written in two ways in the rows of a file."""
    spelled: dict[int, str] = {}
    for number, line in enumerate(lines[found.start :], found.start + 1):
        if not layout.is_row(line):
            continue
        fields = layout.fields(line, found.separator)
        for token in (fields[found.columns.tail], fields[found.columns.head]):
            first = spelled.setdefault(int(token), token)
            if first != token:
                raise FormatError(
                    path,
                    number,
                    f"the ids {first!r} and {token!r} would be one vertex, because ids of digits "
                    "are integers",
                )
