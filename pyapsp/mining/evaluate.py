"""Evaluate formulas with NumPy, make their truth tables, and write them in other languages.

Comparisons with NaN are false, ``!=`` too, so a template does not hold where a logarithm or a root
does not exist. A minimum or maximum with NaN is NaN. Devices round the results of ``exp``, ``log``
and ``**`` differently; where such a result is compared by ``=`` or ``!=``, values count as equal
within `ULPS` units in the last place of the smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.mining.language import Node

__all__ = ["NUMBA", "OPENCL", "ULPS", "evaluate", "tolerance", "truth_table", "write"]

#: Units in the last place that equality allows after an inexact operation.
ULPS = 32

# operation -> text with its operands; "near" and "apart" are = and != after inexact operations
OPENCL = {
    "true": "YES",
    "false": "NO",
    "not": "(~{0})",
    "and": "({0} & {1})",
    "or": "({0} | {1})",
    "xor": "({0} ^ {1})",
    "same": "(~({0} ^ {1}))",
    "implies": "(~{0} | {1})",
    "=": "IF({0} == {1})",
    "!=": "(IF({0} < {1}) | IF({0} > {1}))",
    "near": "near({0}, {1})",
    "apart": "apart({0}, {1})",
    "<": "IF({0} < {1})",
    "<=": "IF({0} <= {1})",
    "+": "({0} + {1})",
    "-": "({0} - {1})",
    "*": "({0} * {1})",
    "/": "quotient({0}, {1})",
    "**": "pow({0}, {1})",
    "negative": "(-{0})",
    "abs": "fabs({0})",
    "exp": "exp({0})",
    "floor": "floor({0})",
    "log": "log({0})",
    "sqrt": "root({0})",
    "min": "least({0}, {1})",
    "max": "greatest({0}, {1})",
}
NUMBA = OPENCL | {
    "true": "True",
    "false": "False",
    "not": "(not {0})",
    "and": "({0} and {1})",
    "or": "({0} or {1})",
    "xor": "({0} != {1})",
    "same": "({0} == {1})",
    "implies": "(not {0} or {1})",
    "=": "({0} == {1})",
    "!=": "({0} < {1} or {0} > {1})",
    "<": "({0} < {1})",
    "<=": "({0} <= {1})",
    "/": "({0} / {1})",
    "**": "power({0}, {1})",
    "abs": "absolute({0})",
    "sqrt": "root({0})",
}
_LETTERS = "abc"
_NEAR = {"=": "near", "!=": "apart"}


def tolerance(dtype: DTypeLike) -> float:
    """Return the relative difference that equality allows after an inexact operation."""
    return ULPS * float(np.finfo(dtype).eps)


def write(node: Node, dialect: dict[str, str]) -> str:
    """Return a formula as an expression of another language, over the variables a, b and c."""
    if node.op == "variable":
        return _LETTERS[int(node.value)]
    if node.op == "number":
        return f"NUMBER({node.value!r})"
    op = _NEAR[node.op] if node.op in _NEAR and node.inexact else node.op
    return dialect[op].format(*(write(part, dialect) for part in node.parts))


def truth_table(node: Node, arity: int) -> int:
    """Return the assignments for which a Boolean formula holds, as bits.

    Bit s belongs to the assignment in which variable p has the value of bit p of s.
    """
    assignments = np.arange(2**arity)
    values = [(assignments >> place & 1).astype(bool) for place in range(arity)]
    holds = np.broadcast_to(evaluate(node, values), assignments.shape)
    return int((holds.astype(np.int64) << assignments).sum())


def evaluate(node: Node, values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the value of a formula at every instant.

    Parameters
    ----------
    node : Node
    values : sequence of (n,) ndarray
        The variables: bool, float32 or float64.
    """
    if node.op == "variable":
        return values[int(node.value)]
    if node.op in ("true", "false"):
        return np.array(node.op == "true")
    if node.op == "number":
        return np.array(node.value, values[0].dtype)
    parts = [evaluate(part, values) for part in node.parts]
    with np.errstate(all="ignore"):
        if node.op in _NEAR and node.inexact:
            near = _near(*parts)
            return near if node.op == "=" else _apart(*parts) & ~near
        return _MEANING[node.op](*parts)


def _apart(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x < y) | (x > y)


def _near(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    smaller = reduce(np.minimum, (np.abs(x), np.abs(y)))
    allowed = np.result_type(x, y).type(tolerance(np.result_type(x, y)))
    gap = np.abs(x - y)  # infinite between inf and -inf, and so is what is allowed
    near: np.ndarray = (x == y) | ((gap <= allowed * smaller) & (gap < np.inf))
    return near


_MEANING: dict[str, Callable[..., np.ndarray]] = {
    "not": np.logical_not,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "same": np.equal,
    "implies": lambda x, y: ~x | y,
    "=": np.equal,
    "!=": _apart,
    "<": np.less,
    "<=": np.less_equal,
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "negative": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "sqrt": np.sqrt,
    "min": np.minimum,
    "max": np.maximum,
}
