"""What all front ends need for expressions: checked applications, substitution, limits."""

from __future__ import annotations

import math
from itertools import pairwise

from pyapsp.base.spelling import is_plain
from pyapsp.simulation.expressions import ARITIES, Apply, Expression, Name, Number

__all__ = ["TIME", "apply", "measure", "number", "piecewise"]

TIME = Name("time")

_RELATIONS = ("eq", "gt", "lt", "geq", "leq")


def number(text: str) -> float:
    """Return the value of a number in a document.

    Raises
    ------
    ValueError
        The text is no number, or none that float64 can hold.
    """
    value = float(text)
    if not is_plain(text) or not math.isfinite(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def apply(operator: str, *operands: Expression) -> Expression:
    """Return an operator of MathML with its operands.

    ``root`` of one operand is the square root, ``log`` of one operand has base 10. A relation of
    three or more operands holds if it holds between all neighbours.

    Raises
    ------
    ValueError
        There is no such operator, or it does not take so many operands.
    """
    if operator == "implies" and len(operands) == 2:
        return Apply("or", (Apply("not", operands[:1]), operands[1]))
    if operator not in ARITIES or operator == "piecewise":
        raise ValueError("this operator is not supported")
    if operator in ("root", "log") and len(operands) == 1:
        operands = (Number(2.0 if operator == "root" else 10.0), *operands)
    if operator in _RELATIONS and len(operands) > 2:
        return Apply("and", tuple(Apply(operator, pair) for pair in pairwise(operands)))
    least, most = ARITIES[operator]
    if len(operands) < least or (most is not None and len(operands) > most):
        raise ValueError(f"it does not take {len(operands)} operands")
    return Apply(operator, operands)


def piecewise(
    pieces: list[tuple[Expression, Expression]], otherwise: Expression | None
) -> Expression:
    """Return (value, condition) pieces as one expression, NaN where no condition holds."""
    last = Number(math.nan) if otherwise is None else otherwise
    if not pieces:
        return last
    return Apply("piecewise", (*(part for piece in pieces for part in piece), last))


def measure(expression: Expression) -> tuple[int, int]:
    """Return the number of nodes of an expression, written as a tree, and its depth.

    A part that occurs many times is visited once, so the time is that of what is in memory.
    """
    known: dict[int, tuple[int, int]] = {}

    def visit(part: Expression) -> tuple[int, int]:
        if not isinstance(part, Apply):
            return 1, 1
        if id(part) not in known:
            below = [visit(operand) for operand in part.operands]
            size = 1 + sum(one for one, _ in below)
            known[id(part)] = (size, 1 + max((depth for _, depth in below), default=0))
        return known[id(part)]

    return visit(expression)
