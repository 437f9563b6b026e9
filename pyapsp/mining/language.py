"""The language of templates: formulas over one to three variables, parsed and checked.

From loosest to tightest::

    ->  or  and  not  = != < <= > >=  |  ^  &  + -  * /  ! ~ -(unary)  **

``and``, ``or``, ``not`` bind looser than comparisons, and ``&``, ``|``, ``^`` tighter. So ``a = b &
c`` means that a equals the conjunction. Boolean templates have variables with two values; numeric
templates have numbers, ``abs exp floor log max min sqrt``, and may combine comparisons. ``**`` is
the power.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pyapsp.base.errors import ParameterError

__all__ = ["INEXACT", "KINDS", "Formula", "Node", "parse"]

KINDS = ("boolean", "numeric")
# name -> number of arguments
_FUNCTIONS = {"abs": 1, "exp": 1, "floor": 1, "log": 1, "max": 2, "min": 2, "sqrt": 1}
#: Operations whose results devices round differently.
INEXACT = frozenset({"exp", "log", "**"})
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>->|\*\*|==|!=|<=|>=|[-+*/=<>|^&!~(),]))"
)
_WORDS = {"and": "and", "or": "or", "not": "not", "true": "true", "false": "false"}
# binary operators from loosest to tightest: sign -> operation
_LEVELS: tuple[dict[str, str], ...] = (
    {"->": "implies"},
    {"or": "or"},
    {"and": "and"},
    {"=": "=", "==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="},
    {"|": "or"},
    {"^": "xor"},
    {"&": "and"},
    {"+": "+", "-": "-"},
    {"*": "*", "/": "/"},
)
_COMPARISONS = 3
_LOGIC = frozenset({"implies", "or", "and", "xor"})
# Longer or deeper formulas are mistakes, and recursion must end before Python's limit.
_DEEPEST, _LONGEST = 24, 120


@dataclass(frozen=True)
class Node:
    """An operation with its operands.

    Attributes
    ----------
    op : str
        An operation of the language, or ``"variable"``, ``"number"``, ``"true"``, ``"false"``,
        ``"negative"``.
    parts : tuple of Node
    value : float
        The number, or the place of the variable.
    truth : bool
        Whether the result is a truth value, and not a number.
    """

    op: str
    parts: tuple[Node, ...] = ()
    value: float = 0
    truth: bool = True

    @property
    def inexact(self) -> bool:
        """Whether devices may round the result differently."""
        return self.op in INEXACT or any(part.inexact for part in self.parts)


@dataclass(frozen=True)
class Formula:
    """A checked template.

    Attributes
    ----------
    text : str
    kind : {"boolean", "numeric"}
    names : tuple of str
        Its variables, in the order in which they appear; one to three.
    root : Node
    """

    text: str
    kind: str
    names: tuple[str, ...]
    root: Node


def parse(text: str, kind: str) -> Formula:
    """Parse and check a template.

    Parameters
    ----------
    text : str
        For example ``"a = b & c"`` or ``"x < sqrt(y)"``.
    kind : {"boolean", "numeric"}

    Raises
    ------
    ParameterError
        If the text is no formula of this kind with one to three variables; the message has the
        column.
    """
    if kind not in KINDS:
        raise ParameterError.of("kind", "a template", f"one of {', '.join(KINDS)}", kind)
    if not isinstance(text, str):
        raise ParameterError.of("template", "mine", "a text", text)
    parser = _Parser(text, kind)
    root = parser.level(0)
    if parser.kind_here != "end":
        raise parser.error(f"{parser.here!r} is not expected")
    if not root.truth:
        raise parser.error("the template is a number, and not a statement")
    if not 1 <= len(parser.names) <= 3:
        raise parser.error(f"a template has one to three variables, not {len(parser.names)}")
    return Formula(text.strip(), kind, tuple(parser.names), root)


class _Parser:
    """A recursive descent over the tokens of a template."""

    def __init__(self, text: str, kind: str) -> None:
        self.text, self.boolean = text, kind == "boolean"
        self.names: list[str] = []
        self.kind_here, self.here, self.start, self.end = "", "", 0, 0
        self.depth = self.tokens = 0
        self.step()

    def error(self, message: str) -> ParameterError:
        return ParameterError(f"template {self.text!r}, column {self.start + 1}: {message}")

    def step(self) -> None:
        """Go to the next token."""
        self.tokens += 1
        if self.tokens > _LONGEST:
            raise self.error("the formula is too long")
        if not self.text[self.end :].strip():
            self.kind_here, self.here, self.start = "end", "the end", len(self.text)
            return
        token = _TOKEN.match(self.text, self.end)
        if token is None:
            gap = len(self.text[self.end :]) - len(self.text[self.end :].lstrip())
            self.start = self.end + gap
            raise self.error(f"{self.text[self.start]!r} is no sign of the language")
        self.kind_here = str(token.lastgroup)
        self.here, self.start, self.end = token[self.kind_here], token.start(1), token.end()
        self.start = token.start(self.kind_here)

    def take(self, sign: str) -> None:
        if self.here != sign or self.kind_here != "sign":
            raise self.error(f"{sign!r} is expected, not {self.here!r}")
        self.step()

    def nested(self, parse: Callable[[], Node]) -> Node:
        """Parse an inner formula."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error("the formula is nested too deeply")
        node = parse()
        self.depth -= 1
        return node

    def level(self, number: int) -> Node:
        """Parse the operators of a level and of the tighter ones."""
        if number == len(_LEVELS):
            return self.prefixed()
        if number == _COMPARISONS and self.here == "not":
            self.step()
            return Node("not", (self.want(self.nested(partial(self.level, number)), True),))
        left, signs = self.level(number + 1), _LEVELS[number]
        while self.here in signs:
            op = signs[self.here]
            self.step()
            # an implication groups to the right
            inner = number if op == "implies" else number + 1
            left = self.binary(op, left, self.nested(partial(self.level, inner)))
            if number == _COMPARISONS and self.here in signs:
                raise self.error("comparisons are not chained: write a < b and b < c")
        return left

    def binary(self, op: str, left: Node, right: Node) -> Node:
        if op in _LOGIC:
            return Node(op, (self.want(left, True), self.want(right, True)))
        if op in ("=", "!="):
            if left.truth != right.truth:
                raise self.error(f"{op!r} compares a statement with a number")
            if left.truth:
                return Node("same" if op == "=" else "xor", (left, right))
            return Node(op, (left, right))
        parts = (self.want(left, False), self.want(right, False))
        if op in ("<", "<="):
            return Node(op, parts)
        if op in (">", ">="):
            return Node(op.replace(">", "<"), parts[::-1])
        return Node(op, parts, truth=False)

    def want(self, node: Node, truth: bool) -> Node:
        if node.truth != truth:
            raise self.error(
                "a statement is expected, not a number"
                if truth
                else "a number is expected, not a statement"
            )
        return node

    def prefixed(self) -> Node:
        """Parse signs before an operand, and its power."""
        if self.here in ("!", "~"):
            self.step()
            return Node("not", (self.want(self.nested(self.prefixed), True),))
        if self.here == "-":
            self.step()
            return Node("negative", (self.want(self.nested(self.prefixed), False),), truth=False)
        base = self.operand()
        if self.here == "**":
            self.step()
            parts = (self.want(base, False), self.want(self.nested(self.prefixed), False))
            return Node("**", parts, truth=False)
        return base

    def operand(self) -> Node:
        kind, here = self.kind_here, self.here
        if kind == "number":
            if self.boolean:
                raise self.error("a Boolean template has no numbers: write true or false")
            if not abs(float(here)) < 3e38:
                raise self.error("the number is too large")
            self.step()
            return Node("number", value=float(here), truth=False)
        if kind == "sign" and here == "(":
            self.step()
            inside = self.nested(partial(self.level, 0))
            self.take(")")
            return inside
        if kind != "name" or here in ("and", "or", "not"):
            raise self.error(f"an operand is expected, not {here!r}")
        if here in _FUNCTIONS:
            return self.call(here)
        self.step()
        if here in _WORDS:
            return Node(here)
        if here not in self.names:
            self.names.append(here)
        return Node("variable", value=self.names.index(here), truth=self.boolean)

    def call(self, name: str) -> Node:
        self.step()
        self.take("(")
        parts = [self.want(self.nested(partial(self.level, 0)), False)]
        for _ in range(_FUNCTIONS[name] - 1):
            self.take(",")
            parts.append(self.want(self.nested(partial(self.level, 0)), False))
        self.take(")")
        return Node(name, tuple(parts), truth=False)
