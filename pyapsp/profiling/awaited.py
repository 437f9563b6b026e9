"""Which loads the condition of a branch waits for, each with the value of the one before.

A processor goes on while values are loaded, until it has guessed the way of a branch wrongly. The
loads for the next branch begin only then: those of the same turn of a loop, and for the end of a
loop those that its first turn needs.
"""

from __future__ import annotations

from collections.abc import Iterable

from clang.cindex import Cursor, CursorKind

__all__ = ["Awaited"]

_K = CursorKind
# Sites, in the order in which they wait for each other, each with the loop that it is in. Negative
# numbers are parameters of functions, whose values the callers have loaded.
_Chain = tuple[tuple[int, int], ...]


class Awaited:
    """The loads that values of the functions of a program need, in the order of the source."""

    def __init__(self) -> None:
        self._sites: dict[int, int] = {}  # expression -> the site of its load
        self._values: dict[int, _Chain] = {}  # variable -> loads of its last value
        self._returned: dict[str, _Chain] = {}  # function -> loads of its result
        self._parameters: dict[int, int] = {}  # parameter -> its number
        self._passed: dict[int, tuple[int, ...]] = {}  # that number -> the sites before a call
        self._loops = [0]  # those around what is visited, the innermost last
        self._number = 0

    def enter(self) -> None:
        """Enter a loop, or the body of a function."""
        self._number += 1
        self._loops.append(self._number)

    def leave(self) -> None:
        """Leave the innermost loop, or a function."""
        self._loops.pop()

    def load(self, node: Cursor, site: int) -> None:
        """Note that an expression is a load."""
        self._sites[node.hash] = site

    def assign(self, variable: Cursor, *values: Cursor) -> None:
        """Note that a variable has a value that is made of some expressions."""
        self._values[variable.hash] = self._longest(values)

    def result(self, function: str, value: Cursor) -> None:
        """Note that a function returns a value."""
        chain = self._chain(value)
        self._returned[function] = max(self._returned.get(function, ()), chain, key=len)

    def call(self, node: Cursor) -> None:
        """Note what a function is called with."""
        for parameter, value in zip(
            node.referenced.get_arguments(), node.get_arguments(), strict=False
        ):
            number = self._number_of(parameter)
            known = self._passed.get(number, ())
            self._passed[number] = max(known, self.of_branch(value), key=len)

    def resolved(self, awaits: tuple[int, ...]) -> tuple[int, ...]:
        """Return sites with those for parameters, when all functions were visited."""
        found: tuple[int, ...] = ()
        for each in awaits:
            found += self.resolved(self._passed.get(each, ())) if each < 0 else (each,)
        return found

    def of_branch(self, condition: Cursor) -> tuple[int, ...]:
        """Return the sites of the loads of this turn of a loop that a condition waits for."""
        return self._of(condition, self._loops[-1:])

    def of_loop(self, condition: Cursor) -> tuple[int, ...]:
        """Return those for the condition of the loop that is visited, with those before it."""
        return self._of(condition, self._loops[-2:])

    def _of(self, condition: Cursor, loops: list[int]) -> tuple[int, ...]:
        return tuple(site for site, loop in self._chain(condition) if loop in loops)

    def _chain(self, node: Cursor) -> _Chain:
        here, children = self._loops[-1], list(node.get_children())
        if node.kind == _K.DECL_REF_EXPR and node.hash not in self._sites:
            of = node.referenced
            if of.kind == _K.PARM_DECL and of.hash not in self._values:
                return ((self._number_of(of), self._loops[1]),)
            return self._values.get(of.hash, ())
        chain = self._longest(children)
        if node.kind == _K.CALL_EXPR:
            result = self._returned.get(node.spelling, ())
            chain += tuple((site, here) for site, _ in result if site >= 0)
        if node.hash in self._sites:
            chain += ((self._sites[node.hash], here),)
        return chain

    def _number_of(self, parameter: Cursor) -> int:
        return self._parameters.setdefault(parameter.hash, -len(self._parameters) - 1)

    def _longest(self, nodes: Iterable[Cursor]) -> _Chain:
        return max(map(self._chain, nodes), key=len, default=())
