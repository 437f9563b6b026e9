"""Expressions from formulas in Python's notation, for models that are written in programs."""

from __future__ import annotations

import ast
import math
from functools import cache

from pyapsp.base.errors import ParameterError
from pyapsp.simulation.expressions import ARITIES, Apply, Expression, Name, Number

__all__ = ["formula"]

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "plus",
    ast.Sub: "minus",
    ast.Mult: "times",
    ast.Div: "divide",
    ast.Pow: "power",
}
_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "neq",
    ast.Gt: "gt",
    ast.Lt: "lt",
    ast.GtE: "geq",
    ast.LtE: "leq",
}


@cache
def formula(text: str) -> Expression:
    """Return the expression of a formula.

    Parameters
    ----------
    text : str
        Numbers, names, ``+ - * / **``, comparisons, ``and``, ``or``, ``not``,
        ``value if condition else other``, and the functions of
        :data:`~pyapsp.simulation.expressions.ARITIES`. Sums and products of many terms become
        one operator.

    Raises
    ------
    ParameterError
        The text is no such formula.

    Examples
    --------
    >>> formula("0 if V >= -40 else 2*exp(V)").operator
    'piecewise'
    """
    try:
        return _convert(ast.parse(text, mode="eval").body)
    except RecursionError:
        rule = "nested less deeply: a sum of many terms is also plus(a, b, ...)"
        raise ParameterError.of("text", "formula", rule, f"{text[:40]}...") from None
    except (SyntaxError, ValueError, TypeError) as error:
        raise ParameterError.of("text", "formula", f"a formula ({error})", text) from None


def _number(value: int | float) -> Number:
    """Return a number of float64, which must hold an integer exactly."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number != value:
        raise ValueError(f"float64 does not hold {value}")
    return Number(number)


def _convert(node: ast.expr) -> Expression:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _number(value)
        case ast.Name(id=name):
            return Name(name)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return _number(-value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Apply("minus", (_convert(operand),))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Apply("not", (_convert(operand),))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            operator, first = _BINARY[type(op)], _convert(left)
            if (
                operator in ("plus", "times")
                and isinstance(first, Apply)
                and first.operator == operator
            ):
                return Apply(operator, (*first.operands, _convert(right)))
            return Apply(operator, (first, _convert(right)))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _RELATIONS:
            return Apply(_RELATIONS[type(op)], (_convert(left), _convert(right)))
        case ast.BoolOp(op=ast.And(), values=values):
            return Apply("and", tuple(map(_convert, values)))
        case ast.BoolOp(op=ast.Or(), values=values):
            return Apply("or", tuple(map(_convert, values)))
        case ast.IfExp(test=test, body=body, orelse=other):
            return Apply("piecewise", (_convert(body), _convert(test), _convert(other)))
        case ast.Call(func=ast.Name(id=operator), args=arguments, keywords=[]):
            least, most = ARITIES[operator] if operator in ARITIES else (len(arguments) + 1, None)
            if least <= len(arguments) <= (len(arguments) if most is None else most):
                return Apply(operator, tuple(map(_convert, arguments)))
    raise ValueError(f"{ast.unparse(node)} is not supported")
