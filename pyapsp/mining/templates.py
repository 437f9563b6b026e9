"""Sets of templates, and the statements that a dictionary entry is checked against.

An entry of the dictionary is a set of one to three variables, in the order of the trace. A template
with several variables becomes a statement for each order in which they can take its places; orders
that say the same are one statement. So each row is read once for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from itertools import permutations
from typing import TypeAlias

from pyapsp.base.errors import ParameterError
from pyapsp.mining.evaluate import OPENCL, truth_table, write
from pyapsp.mining.language import KINDS, Formula, Node, parse

__all__ = ["MOST", "SETS", "Batch", "Statement", "TemplateSet", "template_set"]

#: What a statement says: its truth table, or its operations with ordered operands.
Key: TypeAlias = float | str | tuple["Key", ...]
#: The most statements of a batch: the bits of the word that says which of them still hold.
MOST = 32
_SYMMETRIC = frozenset({"and", "or", "xor", "same", "=", "!=", "+", "*", "min", "max"})

# Table 20.1. The relations of set I hold between pairs: a single number has nothing to compare.
_SET_I = {
    "boolean": ("a = true", "a = false"),
    "numeric": ("a = b", "a != b", "a < b", "a > b", "a <= b", "a >= b"),
}
_SET_II = {
    "boolean": (
        *("a = true", "a = false", "a = b", "a != b"),
        *("a = b & c", "a = b | c", "a = b ^ c"),
    ),
    "numeric": (
        *("a = 7", "a != 0", "a < 10", "a <= 10"),
        *("a = b", "a <= b", "a < sqrt(b)", "a = log(b)", "a < b + 1", "a = b * 2"),
        *("a = b ** c", "a = min(b, c)", "a = max(b, c)", "a < b * c", "a <= b + c"),
    ),
}
_AUXILIARY = {1: ("a", "!a"), 2: ("a = b", "a != b")}


@dataclass(frozen=True)
class Statement:
    """A template whose variables are those of an entry, in one order.

    `order` has the place in the entry of each variable of the template, and `root` is the formula
    over these places. A hidden one only serves inference, and is not reported.
    """

    formula: Formula
    order: tuple[int, ...]
    root: Node
    hidden: bool = False

    @cached_property
    def key(self) -> Key:
        """What it says: statements with the same key hold for the same entries."""
        if self.formula.kind == "boolean":
            return truth_table(self.root, len(self.order))
        return _canonical(self.root)

    def about(self, names: Sequence[str]) -> str:
        """Return the statement about the variables of an entry, as text."""
        actual = dict(zip(self.formula.names, (names[place] for place in self.order), strict=True))
        return re.sub(r"[A-Za-z_]\w*", lambda word: actual.get(word[0], word[0]), self.formula.text)


@dataclass(frozen=True)
class Batch:
    """Statements about the same entries, which one kernel checks."""

    kind: str  # "boolean" or "numeric"
    arity: int
    statements: tuple[Statement, ...]  # at most `MOST`

    @cached_property
    def reordered(self) -> dict[tuple[int, ...], list[int]]:
        """Bits of the statements about an entry whose variables are in another order.

        The order is that of `numpy.argsort`: which place comes first, second and third. An order is
        missing if a statement belongs to another batch.
        """
        bits, bits_of = self._bits, {}
        for order in permutations(range(self.arity)):
            ranks = [order.index(place) for place in range(self.arity)]
            keys = [replace(each, root=_moved(each.root, ranks)).key for each in self.statements]
            if all(key in bits for key in keys):
                bits_of[order] = [bits[key] for key in keys]
        return bits_of

    @cached_property
    def checks(self) -> str:
        """The statements in OpenCL C, for the kernel."""
        return " ".join(
            f"CHECK({bit}, {write(each.root, OPENCL)})" for bit, each in enumerate(self.statements)
        )

    @property
    def full(self) -> int:
        """The word in which all statements hold."""
        return (1 << len(self.statements)) - 1

    @property
    def shown(self) -> int:
        """The bits of the statements that are reported."""
        return sum(1 << bit for bit, each in enumerate(self.statements) if not each.hidden)

    def bit(self, text: str) -> int | None:
        """Return the bit of the statement that says the same as a template; None: no such one."""
        return self._bits.get(_says(text, self.kind))

    @cached_property
    def _bits(self) -> dict[Key, int]:
        return {each.key: bit for bit, each in enumerate(self.statements)}


@dataclass(frozen=True)
class TemplateSet:
    """Templates to mine.

    Parameters
    ----------
    boolean, numeric : sequence of str
        Formulas of the language of `pyapsp.mining.language`; repeated ones count once.
    name : str

    Raises
    ------
    ParameterError
        If a template is not a formula of its kind with one to three variables, or there is none.

    Examples
    --------
    >>> own = TemplateSet(boolean=["request -> grant"], numeric=["0 <= x and x < 256"])
    >>> [batch.arity for batch in own.batches()]
    [1, 2]
    """

    boolean: Sequence[str] = ()
    numeric: Sequence[str] = ()
    name: str = "own"
    _formulas: tuple[Formula, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for kind in KINDS:
            texts = getattr(self, kind)
            if isinstance(texts, str) or not isinstance(texts, Sequence):
                raise ParameterError.of(kind, "TemplateSet", "a sequence of texts", texts)
            object.__setattr__(self, kind, tuple(texts))
        formulas = tuple(parse(text, kind) for kind in KINDS for text in getattr(self, kind))
        if not formulas:
            raise ParameterError("a template set has at least one template")
        object.__setattr__(self, "_formulas", formulas)

    def batches(self, *, inference: bool = False) -> list[Batch]:
        """Return the statements in batches: numeric first, then Boolean, by their arity.

        Parameters
        ----------
        inference : bool
            Whether to add the hidden statements that inference about Booleans needs.
        """
        return list(_batches(self, inference))


SETS = {name: TemplateSet(**each, name=name) for name, each in (("I", _SET_I), ("II", _SET_II))}


def template_set(templates: str | TemplateSet) -> TemplateSet:
    """Return a set by its name, ``"I"`` or ``"II"``, or the set itself.

    Raises
    ------
    ParameterError
        If there is no such set.
    """
    if isinstance(templates, TemplateSet):
        return templates
    if not isinstance(templates, str) or templates not in SETS:
        rule = f"a TemplateSet or one of {', '.join(SETS)}"
        raise ParameterError.of("templates", "mine", rule, templates)
    return SETS[templates]


# Cached, because the same set may be mined for each of many short traces.
@lru_cache(maxsize=64)
def _batches(templates: TemplateSet, inference: bool) -> tuple[Batch, ...]:
    batches = []
    for kind in reversed(KINDS):
        arities = sorted({len(each.names) for each in templates._formulas if each.kind == kind})
        needed = range(1, arities[-1]) if inference and kind == "boolean" and arities else ()
        for arity in sorted({*arities, *needed}):
            statements = _statements(templates, kind, arity)
            if arity in needed:
                known = {each.key for each in statements}
                hidden = [_statement(parse(text, kind), True) for text in _AUXILIARY[arity]]
                statements += [each for each in hidden if each.key not in known]
            batches += [
                Batch(kind, arity, tuple(statements[first : first + MOST]))
                for first in range(0, len(statements), MOST)
            ]
    return tuple(batches)


def _statements(templates: TemplateSet, kind: str, arity: int) -> list[Statement]:
    statements: dict[Key, Statement] = {}
    for formula in templates._formulas:
        if (formula.kind, len(formula.names)) != (kind, arity):
            continue
        for order in permutations(range(arity)):
            each = Statement(formula, order, _moved(formula.root, order))
            statements.setdefault(each.key, each)
    return list(statements.values())


@cache
def _says(text: str, kind: str) -> Key:
    """Return the key of a template."""
    formula = parse(text, kind)
    return Statement(formula, tuple(range(len(formula.names))), formula.root).key


def _statement(formula: Formula, hidden: bool) -> Statement:
    return Statement(formula, tuple(range(len(formula.names))), formula.root, hidden)


def _moved(node: Node, places: Sequence[int]) -> Node:
    """Return a formula with each variable p replaced by ``places[p]``."""
    if node.op == "variable":
        return replace(node, value=places[int(node.value)])
    return replace(node, parts=tuple(_moved(part, places) for part in node.parts))


def _canonical(node: Node) -> tuple[Key, ...]:
    """Return a key in which operands that may change places are sorted."""
    parts = [_canonical(part) for part in node.parts]
    if node.op in _SYMMETRIC:
        parts.sort(key=repr)
    return (node.op, node.value, *parts)
