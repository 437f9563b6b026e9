"""Expressions of models: numbers, names and applications of MathML operators.

The front ends make them, the compilers and interpreters read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["ARITIES", "Apply", "Expression", "Name", "Number", "names"]

#: How many operands each operator takes, at least and at most (None: any number). The names are
#: those of content MathML. ``minus`` of one operand is the negative; ``root`` has (degree, x) and
#: ``log`` (base, x); ``piecewise`` has (value, condition, value, condition, …, otherwise).
ARITIES: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("plus", "times", "and", "or", "xor"), (0, None)),
    **dict.fromkeys(("max", "min"), (1, None)),
    **dict.fromkeys(("eq", "neq", "gt", "lt", "geq", "leq"), (2, None)),
    **dict.fromkeys(("divide", "power", "root", "log", "rem", "quotient"), (2, 2)),
    "minus": (1, 2),
    **dict.fromkeys(("not", "exp", "ln", "abs", "floor", "ceiling", "factorial"), (1, 1)),
    **{
        prefix + function + suffix: (1, 1)
        for prefix in ("", "arc")
        for function in ("sin", "cos", "tan", "sec", "csc", "cot")
        for suffix in ("", "h")
    },
    "piecewise": (1, None),
    "true": (0, 0),
    "false": (0, 0),
}


@dataclass(frozen=True, slots=True)
class Number:
    """A constant in float64."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """A quantity of the model, or the time: ``Name("time")``."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator of :data:`ARITIES` with its operands."""

    operator: str
    operands: tuple[Expression, ...]


Expression = Number | Name | Apply


def names(expression: Expression) -> Iterator[str]:
    """Yield each name in an expression, as often as it occurs."""
    pending = [expression]
    while pending:
        part = pending.pop()
        if isinstance(part, Name):
            yield part.name
        elif isinstance(part, Apply):
            pending.extend(reversed(part.operands))
