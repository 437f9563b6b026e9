"""Which private variables of a function are live across its barriers.

A processor (CPU) runs the work-items of a group as a loop, which a barrier cuts in two. What a
work-item needs after the barrier is in memory in between: P. Jaaskelainen et al., International
Journal of Parallel Programming 43(5), 2015, doi:10.1007/s10766-014-0320-y, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clang.cindex import Cursor, CursorKind

from pyapsp.profiling.probes.edits import begin, stop
from pyapsp.profiling.probes.opencl_types import SPACES

__all__ = ["Liveness"]

_K = CursorKind
_LOOPS = (_K.FOR_STMT, _K.WHILE_STMT, _K.DO_STMT)


@dataclass
class _Variable:
    """A private variable: where its scope begins and ends, its bytes, and where it is used."""

    start: int
    end: int
    size: int
    uses: list[int] = field(default_factory=list)

    def is_live(self, place: int, loops: list[tuple[int, int]]) -> bool:
        """Whether its value is needed after a place, or in the next turn of a loop around it."""
        if not self.start < place < self.end:
            return False
        # one of the body of a loop has a new value in each turn, and all work-items of a group have
        # the same counter of a loop with a barrier
        outer = [first for first, end in loops if self.start < first < place < end]
        needed = min(outer, default=place)
        return any(use >= needed for use in self.uses)


class Liveness:
    """The private variables of a function.

    Parameters
    ----------
    function : clang.cindex.Cursor
    """

    def __init__(self, function: Cursor) -> None:
        self._variables: dict[int, _Variable] = {}
        self._loops: list[tuple[int, int]] = []
        self._visit(function, stop(function))

    def bytes(self, place: int) -> int:
        """Return the bytes that are live at a place of the function."""
        live = [each for each in self._variables.values() if each.is_live(place, self._loops)]
        return sum(each.size for each in live)

    def _visit(self, node: Cursor, end: int) -> None:
        """Visit a node in a scope that ends at a place."""
        if node.kind in _LOOPS:
            self._loops.append((begin(node), stop(node)))
        if node.kind == _K.COMPOUND_STMT or node.kind in _LOOPS:
            end = stop(node)
        if node.kind == _K.VAR_DECL and node.type.get_address_space() not in SPACES:
            size = node.type.get_size()
            self._variables[node.hash] = _Variable(node.location.offset, end, size)
        elif node.kind == _K.DECL_REF_EXPR and node.referenced.hash in self._variables:
            self._variables[node.referenced.hash].uses.append(begin(node))
        for each in node.get_children():
            self._visit(each, end)
