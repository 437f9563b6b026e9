"""Loops whose turns wait for each other: a load needs what the turn before has loaded.

A processor works on several turns of a loop at once, unless each begins with what the one before it
has loaded: the next place of a chain, or of two lists that are merged. Such a turn takes as long as
the longest cycle of values, over the turns that the cycle is about: J. Llosa, A. Gonzalez, E.
Ayguade, M. Valero, Swing modulo scheduling, PACT 1996, doi:10.1109/PACT.1996.554030, section 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from clang.cindex import Cursor, CursorKind, TypeKind

from pyapsp.profiling.probes.edits import bare, begin, stop
from pyapsp.profiling.probes.opencl_types import SPACES

__all__ = ["recurrence"]

_K = CursorKind
_LOOPS = (_K.FOR_STMT, _K.WHILE_STMT, _K.DO_STMT)
_OPERATORS = (_K.BINARY_OPERATOR, _K.UNARY_OPERATOR, _K.CONDITIONAL_OPERATOR)
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_LONGEST = 8  # values of a cycle at most


@dataclass(frozen=True)
class _Step:
    """A value that another one is computed from."""

    source: int
    target: int
    place: int  # of the assignment
    loads: int
    operations: int


def recurrence(loop: Cursor, source: str, loads: Callable[[Cursor], int]) -> tuple[float, float]:
    """Return the loads and the operations that a turn of a loop waits for, one after the other.

    Parameters
    ----------
    loop : clang.cindex.Cursor
    source : str
        The program.
    loads : callable
        Returns how many loads in a row an expression has itself, without its parts.

    Returns
    -------
    loads, operations : float
        0 if no load waits for the turn before.
    """
    steps: list[_Step] = []
    for each in loop.get_children():
        _visit(each, source, loads, steps)
    following = defaultdict(list)
    assigned: dict[int, int] = {}
    for step in steps:
        following[step.source].append(step)
        assigned[step.target] = min(assigned.get(step.target, step.place), step.place)
    longest = (0.0, 0.0)
    # paths of steps from a value, with the values on them
    open_ = [([step], {step.source}) for step in steps if step.source in assigned]
    while open_:
        path, seen = open_.pop()
        last = path[-1].target
        if last == path[0].source:
            turns = sum(assigned[each.source] >= each.place for each in path) or 1
            some = sum(each.loads for each in path), sum(each.operations for each in path)
            if some[0]:
                longest = max(longest, (some[0] / turns, some[1] / turns))
        elif last not in seen and len(path) < _LONGEST:
            open_ += [([*path, step], seen | {last}) for step in following[last]]
    return longest


def _visit(node: Cursor, source: str, loads: Callable[[Cursor], int], steps: list[_Step]) -> None:
    """Add the steps of the assignments in a statement, but for those of loops inside."""
    if node.kind in _LOOPS:
        return
    children = list(node.get_children())
    if node.kind == _K.VAR_DECL and children:
        _assign(node, children[-1:], 0, begin(node), source, loads, steps)
    elif node.kind == _K.COMPOUND_ASSIGNMENT_OPERATOR:
        _assign(_variable(children[0]), children, 1, begin(node), source, loads, steps)
    elif node.kind == _K.BINARY_OPERATOR:
        left, right = children
        if source[stop(left) : begin(right)].strip() == "=":
            _assign(_variable(left), [right], 0, begin(node), source, loads, steps)
    for each in children:
        _visit(each, source, loads, steps)


def _assign(
    variable: Cursor | None,
    values: list[Cursor],
    operations: int,
    place: int,
    source: str,
    loads: Callable[[Cursor], int],
    steps: list[_Step],
) -> None:
    if variable is None or variable.type.get_address_space() in SPACES:
        return
    # a sum of signed ints is extended when it is the place of a load; one that is loaded already is
    is_sum = operations > 0 or bare(values[0]).kind == _K.BINARY_OPERATOR
    operations += is_sum and variable.type.get_canonical().kind == TypeKind.INT
    for value in values:
        for variable_of, (some, others) in _sources(value, source, loads).items():
            steps.append(_Step(variable_of, variable.hash, place, some, others + operations))


def _variable(node: Cursor) -> Cursor | None:
    """Return the variable that an expression names, if it is one."""
    node = bare(node)
    return node.referenced if node.kind == _K.DECL_REF_EXPR else None


def _sources(
    node: Cursor, source: str, loads: Callable[[Cursor], int]
) -> dict[int, tuple[int, int]]:
    """Return the variables of an expression, each with the loads and operations after it.

    A comparison whose value is a number is two operations: one takes it from the flags. A choice
    takes the flags of a comparison as they are.
    """
    if node.kind == _K.DECL_REF_EXPR:
        of = node.referenced
        is_value = of is not None and of.kind in (_K.VAR_DECL, _K.PARM_DECL)
        return {of.hash: (loads(node), 0)} if is_value else {}
    found: dict[int, tuple[int, int]] = {}
    own = int(node.kind in _OPERATORS) + _is_comparison(node, source)
    for number, each in enumerate(node.get_children()):
        is_condition = node.kind == _K.CONDITIONAL_OPERATOR and number == 0
        flags = is_condition and _is_comparison(bare(each), source)
        for variable, (some, others) in _sources(each, source, loads).items():
            length = some + loads(node), others + own - flags
            found[variable] = max(found.get(variable, (0, 0)), length)
    return found


def _is_comparison(node: Cursor, source: str) -> bool:
    if node.kind != _K.BINARY_OPERATOR:
        return False
    left, right = node.get_children()
    return source[stop(left) : begin(right)].strip() in _COMPARISONS
