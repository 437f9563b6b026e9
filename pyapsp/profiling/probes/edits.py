"""Text that is inserted into a program, and places in it."""

from __future__ import annotations

import re

from clang.cindex import Cursor, CursorKind

__all__ = ["Edits", "bare", "begin", "last_child", "stop"]

_K = CursorKind
# The pragmas of one line, up to where a statement begins: after the line or in it.
_PRAGMAS = re.compile(r"^[ \t]*(#[ \t]*pragma\b[^\n]*(\n\s*)?)\Z", re.MULTILINE)
_LONGEST_LINE = 400


class Edits:
    """The source of a program, and what is inserted into it.

    Parameters
    ----------
    source : str
    """

    def __init__(self, source: str) -> None:
        self._source = source
        # (place, 0 after or 1 before what is there, number of the edit, end of the old text, text)
        self._edits: list[tuple[int, int, int, int, str]] = []

    def text(self) -> str:
        """Return the text with all edits."""
        parts, at = [], 0
        for place, _, _, end, text in sorted(self._edits):
            # what comes before a pragma is on a line of its own
            apart = "\n" if self._source[place : place + 1] == "#" else ""
            parts += [self._source[at:place], text + apart]
            at = end
        return "".join([*parts, self._source[at:]])

    def before(self, place: int, text: str) -> None:
        """Insert text before what is at a place."""
        self._edits.append((place, 1, len(self._edits), place, text))

    def after(self, place: int, text: str) -> None:
        """Insert text after what ends at a place."""
        self._edits.append((place, 0, len(self._edits), place, text))

    def replace(self, place: int, end: int, text: str) -> None:
        """Replace the text between two places."""
        self._edits.append((place, 1, len(self._edits), end, text))

    def with_pragmas(self, start: int) -> int:
        """Return where the pragmas begin that are before a statement."""
        while match := _PRAGMAS.search(self._source, max(start - _LONGEST_LINE, 0), start):
            start = match.start(1)
        return start

    def begin_of(self, node: Cursor) -> int:
        """Return where a statement begins."""
        place = begin(node)
        if node.kind == _K.CALL_EXPR:
            name = next(node.get_children())
            # Clang has no place for the name of its builtin function for pointers to global memory
            if not name.extent.start.line:
                place = self._source.rindex(node.spelling, 0, place)
        return place

    def end_of(self, node: Cursor) -> int:
        """Return the end of a statement with its semicolon."""
        kind = node.kind
        if kind in (_K.COMPOUND_STMT, _K.DECL_STMT, _K.NULL_STMT):
            return stop(node)
        if kind in (
            _K.IF_STMT,
            _K.FOR_STMT,
            _K.WHILE_STMT,
            _K.SWITCH_STMT,
            _K.CASE_STMT,
            _K.DEFAULT_STMT,
            _K.UNEXPOSED_STMT,
        ):
            return self.end_of(last_child(node))
        return self._source.index(";", stop(node)) + 1

    def closing(self, opening: int) -> int:
        """Return the place of the parenthesis that closes one."""
        depth = 0
        for place in range(opening, len(self._source)):
            depth += {"(": 1, ")": -1}.get(self._source[place], 0)
            if not depth:
                return place
        raise AssertionError("the parser accepted an open parenthesis")

    def semicolons(self, opening: int) -> list[int]:
        """Return the places of the semicolons in the parentheses of a for."""
        found, depth = [], 0
        for place in range(opening, self.closing(opening)):
            depth += {"(": 1, ")": -1, "{": 1, "}": -1}.get(self._source[place], 0)
            if self._source[place] == ";" and depth == 1:
                found.append(place)
        return found


def begin(node: Cursor) -> int:
    """Return where an expression or statement begins."""
    return int(node.extent.start.offset)


def stop(node: Cursor) -> int:
    """Return the place after it."""
    return int(node.extent.end.offset)


def last_child(node: Cursor) -> Cursor:
    """Return the last child."""
    return list(node.get_children())[-1]


def bare(node: Cursor) -> Cursor:
    """Return an expression without parentheses and conversions around it."""
    while node.kind in (_K.UNEXPOSED_EXPR, _K.PAREN_EXPR):
        (node,) = node.get_children()
    return node
