"""Values of C expressions, in the types that C computes them in."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TypeAlias

from pycparser import c_ast, c_parser

from pyapsp.bulk.scalars import BITS, FLOATS, TYPEDEFS, Number, base_of, common, wrap

__all__ = [
    "NotConstantError",
    "Value",
    "binary",
    "constant_of",
    "evaluate",
    "parse_expression",
    "unary",
]

#: A number and the OpenCL name of its type.
Value: TypeAlias = tuple[Number, str]

_COMPARE = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_BITWISE: dict[str, Callable[[int, int], int]] = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)([uUlL]*)")
_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39, '"': 34}


class NotConstantError(Exception):
    """The expression `node` has no known constant value."""

    def __init__(self, node: c_ast.Node) -> None:
        super().__init__()
        self.node = node


def _refuse(node: c_ast.Node) -> Value:
    raise NotConstantError(node)


def parse_expression(text: str) -> c_ast.Node:
    """Return the syntax tree of a C expression.

    Raises
    ------
    pycparser.c_parser.ParseError
        The text is not an expression.
    """
    names = set(re.findall(r"[A-Za-z_]\w*", text)) & set(TYPEDEFS)
    declared = "".join(f"typedef int {name};" for name in sorted(names))
    tree = c_parser.CParser().parse(f"{declared}int x = ({text});")
    return tree.ext[-1].init


def constant_of(node: c_ast.Constant) -> Value:
    """Return the value of a literal.

    Raises
    ------
    NotConstantError
        It is a string, or not a number of C.
    """
    text = node.value
    if "char" in node.type:
        body = text[1:-1]
        if len(body) == 1:
            return ord(body), "int"
        if len(body) == 2 and body[1] in _ESCAPES:
            return _ESCAPES[body[1]], "int"
        raise NotConstantError(node)
    if node.type == "string":
        raise NotConstantError(node)
    if match := _INTEGER.fullmatch(text):
        return _integer(match[1], match[2].lower())
    single = text[-1] in "fF" and "x" not in text.lower()
    try:
        digits = text.rstrip("fFlL") if "x" not in text.lower() else text
        value = float.fromhex(digits) if "x" in text.lower() else float(digits)
    except ValueError:
        raise NotConstantError(node) from None
    return (wrap(value, "float"), "float") if single else (value, "double")


def _integer(digits: str, suffix: str) -> Value:
    octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xXbB"
    value = int(digits, 8 if octal else 0)
    decimal = digits[0] != "0" or value == 0
    bases = ["ulong"] if "u" in suffix else ["long", *([] if decimal else ["ulong"])]
    if "l" not in suffix:
        bases = (
            ["uint", "ulong"] if "u" in suffix else ["int", *([] if decimal else ["uint"]), *bases]
        )
    return value, next((base for base in bases if wrap(value, base) == value), "ulong")


def unary(op: str, value: Value, node: c_ast.Node) -> Value:
    """Apply a unary operator."""
    number, base = value
    if op == "!":
        return int(not number), "int"
    promoted = base if base in FLOATS else common(base, "int")
    if op == "-":
        return wrap(-number, promoted), promoted
    if op == "+":
        return number, promoted
    if op == "~" and promoted not in FLOATS:
        return wrap(~int(number), promoted), promoted
    raise NotConstantError(node)


def binary(op: str, left: Value, right: Value, node: c_ast.Node) -> Value:
    """Apply a binary operator other than ``&&`` and ``||``."""
    base = common(left[1], right[1])
    if op in ("<<", ">>"):
        base = common(left[1], "int")
        if base in FLOATS or right[1] in FLOATS or not 0 <= right[0] < BITS[base]:
            raise NotConstantError(node)
        number, count = int(left[0]), int(right[0])
        return wrap(number << count if op == "<<" else number >> count, base), base
    a, b = wrap(left[0], base), wrap(right[0], base)
    if op in _COMPARE:
        return int(_COMPARE[op](a, b)), "int"
    if op in _ARITHMETIC:
        return wrap(_ARITHMETIC[op](a, b), base), base
    if base in FLOATS:
        if op != "/" or b == 0:
            raise NotConstantError(node)
        return wrap(a / b, base), base
    i, k = int(a), int(b)
    if op in _BITWISE:
        return wrap(_BITWISE[op](i, k), base), base
    if k == 0:
        raise NotConstantError(node)
    quotient = abs(i) // abs(k) * (1 if (i < 0) == (k < 0) else -1)  # towards zero
    return wrap(quotient if op == "/" else i - quotient * k, base), base


def evaluate(node: c_ast.Node, other: Callable[[c_ast.Node], Value] = _refuse) -> Value:
    """Return the value of an expression.

    Parameters
    ----------
    node : pycparser.c_ast.Node
    other : callable
        Returns the value of names, calls and other nodes that are not literals or operators.

    Raises
    ------
    NotConstantError
        It has no constant value.
    """
    if isinstance(node, c_ast.Constant):
        return constant_of(node)
    if isinstance(node, c_ast.UnaryOp) and node.op in ("-", "+", "~", "!"):
        return unary(node.op, evaluate(node.expr, other), node)
    if isinstance(node, c_ast.BinaryOp):
        left = evaluate(node.left, other)
        if node.op in ("&&", "||"):
            if bool(left[0]) == (node.op == "||"):
                return int(bool(left[0])), "int"
            return int(bool(evaluate(node.right, other)[0])), "int"
        return binary(node.op, left, evaluate(node.right, other), node)
    if isinstance(node, c_ast.TernaryOp):
        return evaluate(node.iftrue if evaluate(node.cond, other)[0] else node.iffalse, other)
    if isinstance(node, c_ast.Cast) and isinstance(node.to_type.type, c_ast.TypeDecl):
        base = base_of(node.to_type.type.type.names, TYPEDEFS)
        if base is not None and base != "void":
            return wrap(evaluate(node.expr, other)[0], base), base
    return other(node)
