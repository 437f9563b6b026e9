"""Which loads and operations the condition of a branch waits for, one after the other.

A processor goes on while values are loaded, until it has guessed the way of a branch wrongly. What
the next branch needs begins only then: that of the same turn of a loop, and for the end of a loop
that of its first turn, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from clang.cindex import Cursor, CursorKind

from pyapsp.profiling.probes.edits import bare

__all__ = ["Awaited"]

_K = CursorKind
# Sites of loads and classes of operations, in the order in which they wait for each other, each
# with the loop that it is in. Negative numbers are parameters of functions, for what the callers
# have waited for.
_Step = int | str
_Chain = tuple[tuple[_Step, int], ...]
# Cycles of most processors, to tell which of two chains is longer: operations of integers, others,
# and loads.
_OF_INT, _OF_OTHERS, _OF_LOAD = 1, 4, 5


class Awaited:
    """What values of the functions of a program need, in the order of the source."""

    def __init__(self) -> None:
        self._sites: dict[int, int] = {}  # expression -> the site of its load
        self._operations: dict[int, str] = {}  # expression -> the class of its operation
        self._values: dict[int, _Chain] = {}  # variable -> what its last value has waited for
        self._returned: dict[str, _Chain] = {}  # function -> that of its result
        self._parameters: dict[int, int] = {}  # parameter -> its number
        self._passed: dict[int, _Chain] = {}  # that number -> what its values have waited for
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

    def operation(self, node: Cursor, kind: str) -> None:
        """Note that an expression is an operation of a class."""
        self._operations[node.hash] = kind

    def way(self, condition: Cursor) -> None:
        """Note that an expression gives the way of a branch: its operation is a part of that."""
        self._operations.pop(bare(condition).hash, None)

    def assign(self, variable: Cursor, *values: Cursor) -> None:
        """Note that a variable has a value that is made of some expressions."""
        self._values[variable.hash] = self._longest(values)

    def result(self, function: str, value: Cursor) -> None:
        """Note that a function returns a value."""
        chain = self._chain(value)
        self._returned[function] = max(self._returned.get(function, ()), chain, key=_cycles)

    def call(self, node: Cursor) -> None:
        """Note what a function is called with."""
        for parameter, value in zip(
            node.referenced.get_arguments(), node.get_arguments(), strict=False
        ):
            number = self._number_of(parameter)
            chain = _within(self._chain(value), self._loops[-1:])
            self._passed[number] = max(self._passed.get(number, ()), chain, key=_cycles)

    def resolved(self, steps: tuple[_Step, ...]) -> tuple[_Step, ...]:
        """Return steps with those for parameters, when all functions were visited."""
        found: tuple[_Step, ...] = ()
        for each in steps:
            passed = each if isinstance(each, int) and each < 0 else None
            if passed is None:
                found += (each,)
            else:
                found += self.resolved(_steps(self._passed.get(passed, ())))
        return found

    def of_branch(self, condition: Cursor) -> tuple[_Step, ...]:
        """Return for what of this turn of a loop a condition waits."""
        return self._of(condition, self._loops[-1:])

    def of_loop(self, condition: Cursor) -> tuple[_Step, ...]:
        """Return that for the condition of the loop that is visited, with what is before it."""
        return self._of(condition, self._loops[-2:])

    def _of(self, condition: Cursor, loops: list[int]) -> tuple[_Step, ...]:
        self.way(condition)
        return _steps(_within(self._chain(condition), loops))

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
            chain += tuple((step, here) for step, _ in result if isinstance(step, str) or step >= 0)
        if node.hash in self._sites:
            chain += ((self._sites[node.hash], here),)
        elif node.hash in self._operations:
            chain += ((self._operations[node.hash], here),)
        return chain

    def _number_of(self, parameter: Cursor) -> int:
        return self._parameters.setdefault(parameter.hash, -len(self._parameters) - 1)

    def _longest(self, nodes: Iterable[Cursor]) -> _Chain:
        return max(map(self._chain, nodes), key=_cycles, default=())


def _within(chain: _Chain, loops: list[int]) -> _Chain:
    return tuple(each for each in chain if each[1] in loops)


def _steps(chain: _Chain) -> tuple[_Step, ...]:
    return tuple(step for step, _ in chain)


def _cycles(chain: _Chain) -> int:
    of = {"int": _OF_INT}
    return sum(of.get(step, _OF_OTHERS) if isinstance(step, str) else _OF_LOAD for step, _ in chain)
