"""Expressions of models: numbers, names and applications of MathML operators.

The front ends make them, the compilers and interpreters read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "ARITIES",
    "Apply",
    "Expression",
    "Form",
    "Name",
    "Number",
    "built",
    "names",
    "parted",
    "renamed",
]

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
    # what `parted` found
    _parts: tuple[Form, tuple[str, ...]] | None = field(
        default=None, init=False, repr=False, compare=False
    )


Expression = Number | Name | Apply


#: An expression in post order without its names: None for a name, an operator with the number of
#: its operands, or a number; zeros are text, because 0 and -0 are equal and not the same.
Form = tuple[tuple[str, int] | float | str | None, ...]


def parted(expression: Expression) -> tuple[Form, tuple[str, ...]]:
    """Return the form of an expression, and its names in the order in which they occur.

    Equal modules of a model have expressions of the same form.

    Raises
    ------
    TypeError
        A part is no expression.
    """
    if isinstance(expression, Apply) and expression._parts is not None:
        return expression._parts
    form: list[tuple[str, int] | float | str | None] = []
    leaves: list[str] = []
    pending: list[object] = [expression]
    while pending:  # from right to left
        part = pending.pop()
        if isinstance(part, Apply):
            form.append((part.operator, len(part.operands)))
            pending += part.operands
        elif isinstance(part, Name):
            form.append(None)
            leaves.append(part.name)
        elif isinstance(part, Number):
            form.append(float(part.value) or str(float(part.value)))
        else:
            raise TypeError(f"{part!r} is no expression")
    return _remembered(expression, tuple(form[::-1]), tuple(leaves[::-1]))


def _remembered(
    expression: Expression, form: Form, leaves: tuple[str, ...]
) -> tuple[Form, tuple[str, ...]]:
    """Return the parts of an expression, and keep them."""
    if isinstance(expression, Apply):
        object.__setattr__(expression, "_parts", (form, leaves))
    return form, leaves


def built(form: Form, leaves: Iterable[Any]) -> Any:
    """Return the expression of a form with other leaves in place of its names."""
    done: list[Any] = []
    coming = iter(leaves)
    for item in form:
        if item is None:
            done.append(next(coming))
        elif isinstance(item, tuple):
            operator, count = item
            start = len(done) - count
            done[start:] = [Apply(operator, tuple(done[start:]))]
        else:
            done.append(Number(float(item)))
    return done[0]


def renamed(expression: Expression, new: Callable[[str], str]) -> Expression:
    """Return an expression with ``new(name)`` in place of each name."""
    form, leaves = parted(expression)
    leaves = tuple(map(new, leaves))
    made: Expression = built(form, map(Name, leaves))
    _remembered(made, form, leaves)
    return made


def names(expression: Expression) -> tuple[str, ...]:
    """Return each name in an expression, as often as it occurs."""
    return parted(expression)[1]
