"""How many loads values need, one after the other: each with the value of another one.

Warps wait once for the loads of a block that have as many loads before them (`level` of a site).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from clang.cindex import Cursor, CursorKind, TypeKind

from pyapsp.profiling.probes.edits import bare, begin
from pyapsp.profiling.probes.opencl_c import Unit
from pyapsp.profiling.probes.opencl_types import ARRAYS, SPACES

__all__ = ["ATOMIC", "VECTOR_ACCESS", "Loads", "is_load"]

_K = CursorKind
# Expressions that may name an object in memory, and the spaces that an item waits for.
_OBJECTS = (_K.ARRAY_SUBSCRIPT_EXPR, _K.UNARY_OPERATOR, _K.MEMBER_REF_EXPR, _K.DECL_REF_EXPR)
_WAITED = ("global", "local")
#: Builtin functions that access memory.
ATOMIC = re.compile(r"atom(ic)?_\w+")
VECTOR_ACCESS = re.compile(r"v(load|store)(a?_half)?(\d*)\w*")


class Loads:
    """The loads that values of a program need, in the order of the source.

    Parameters
    ----------
    unit : Unit
        The program.
    """

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._functions = {each.spelling for each in unit.functions()}
        self._depths: dict[str, int] = {}  # function -> loads in a row
        # variable -> block of its last value, and how many loads this needs there, one by one
        self._variables: dict[int, tuple[int, int]] = {}

    def assign(self, variable: Cursor, block: int, *values: Cursor) -> None:
        """Note what the value of a variable is computed from in a block."""
        self._variables[variable.hash] = block, self.before(block, values)

    def before(self, block: int, values: Iterable[Cursor]) -> int:
        """Return how many loads of a block one of the values needs at most."""
        return max((self._chain(each, block) for each in values), default=0)

    def own(self, node: Cursor) -> int:
        """Return how many loads in a row an expression has itself, without its parts."""
        if node.kind == _K.CALL_EXPR and node.spelling in self._functions:
            name = node.spelling
            if name not in self._depths:
                (body,) = (each for each in self._unit.functions() if each.spelling == name)
                self._depths[name] = self._depth(body)
            return self._depths[name]
        return int(is_load(node))

    def _depth(self, node: Cursor) -> int:
        return self.own(node) + max(map(self._depth, node.get_children()), default=0)

    def _chain(self, node: Cursor, block: int) -> int:
        if node.kind == _K.DECL_REF_EXPR:
            place, length = self._variables.get(node.referenced.hash, (-1, 0))
            return (length if place == block else 0) + is_load(node)
        if node.kind == _K.UNARY_OPERATOR and self._unit.text[begin(node)] == "&":
            (place,) = node.get_children()
            return self.before(block, bare(place).get_children())
        return self.before(block, node.get_children()) + is_load(node)


def is_load(node: Cursor) -> bool:
    """Whether an expression is the value of an object in global or local memory."""
    if node.kind == _K.CALL_EXPR:
        return bool(ATOMIC.fullmatch(node.spelling) or VECTOR_ACCESS.fullmatch(node.spelling))
    if node.kind not in _OBJECTS or node.type.kind == TypeKind.INVALID:
        return False
    kind = node.type.get_canonical().kind
    return kind not in ARRAYS and SPACES.get(node.type.get_address_space()) in _WAITED
