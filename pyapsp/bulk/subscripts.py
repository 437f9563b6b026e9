"""Check that subscripts whose values are known lie in their arrays.

A value is known if it is constant: literals, macros, constants, variables that are initialised and
never assigned, and parameters that get such a value. Of a counter, the first and the last value are
known if the bounds of its loop are, and if the body surely runs with both. What only runs under a
condition that is known to be false is not checked.

Not known are, for instance, subscripts that are loaded from arrays or changed in loops on the way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

from pycparser import c_ast

from pyapsp.bulk.constants import NotConstantError, Value, evaluate
from pyapsp.bulk.flows import STEPS, nodes
from pyapsp.bulk.frontend import Symbol
from pyapsp.bulk.resolve import Function, Resolved
from pyapsp.bulk.scalars import wrap

__all__ = ["check_subscripts"]

_JUMPS = (c_ast.Return, c_ast.Break, c_ast.Continue)


@dataclass(frozen=True)
class _Place:
    """A variable, and the element at which an address in it lies; None if that is not known."""

    symbol: Symbol
    at: int | None


def check_subscripts(resolved: Resolved) -> None:
    """Raise an error if a known subscript is outside of its array.

    Parameters
    ----------
    resolved : Resolved

    Raises
    ------
    ProgramError
        The message names the array, the subscript and the length.
    """
    _Walk(resolved).call(resolved.entry, {}, {})


class _Walk:
    """Visits the statements that may run, in their order; each call on its own."""

    def __init__(self, resolved: Resolved) -> None:
        self._resolved, self._unit = resolved, resolved.unit
        self._assigned = {
            symbol
            for function in resolved.functions.values()
            for symbol in _assigned(resolved, function.node.body)
        }
        self._values: dict[Symbol, Value] = {}
        # the first and the last value of the counters of the loops around, while these surely run
        self._ends: dict[Symbol, tuple[Value, Value]] = {}
        self._bound: dict[Symbol, _Place] = {}

    def call(
        self, function: Function, bound: dict[Symbol, _Place], values: dict[Symbol, Value]
    ) -> None:
        """Visit a function whose parameters are these places and these known values."""
        outer = self._bound, self._values
        self._bound, self._values = bound, values
        self._statement(function.node.body)
        self._bound, self._values = outer

    # Statements return whether they surely leave the statements around.

    def _statement(self, node: c_ast.Node | None) -> bool:
        if node is None:
            return False
        handler = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if handler is not None:
            leaves: bool = handler(node)
            return leaves
        self._expression(node)
        return isinstance(node, _JUMPS)

    def _on_compound(self, node: c_ast.Compound) -> bool:
        return any(self._statement(each) for each in node.block_items or [])

    def _on_decl(self, node: c_ast.Decl) -> bool:
        symbol = self._resolved.symbols.get(node)
        if symbol is not None and node.init is not None:
            self._expression(node.init)
            if symbol.type.is_scalar and symbol not in self._assigned:
                self._keep(self._values, symbol, node.init)
        return False

    def _on_if(self, node: c_ast.If) -> bool:
        self._expression(node.cond)
        known = self._known(node.cond)
        if known is not None:
            return self._statement(node.iftrue if known[0] else node.iffalse)
        with self._perhaps():
            left = [self._statement(each) for each in (node.iftrue, node.iffalse)]
        return all(left)

    def _on_switch(self, node: c_ast.Switch) -> bool:
        self._expression(node.cond)
        with self._perhaps():
            for each in getattr(node.stmt, "block_items", [node.stmt]) or []:
                is_label = isinstance(each, (c_ast.Case, c_ast.Default))
                any(self._statement(item) for item in (each.stmts if is_label else [each]))
        return False

    def _on_for(self, node: c_ast.For) -> bool:
        self._statement(node.init)
        first = self._first(node)
        if node.cond is not None:
            self._expression(node.cond)
            known = self._known(node.cond, dict([first] if first else []))
            if known is not None and not known[0]:
                return False
        ends = self._ends_of(node, *first) if first else None
        if first and ends:
            self._ends[first[0]] = ends
            self._statement(node.stmt)
            del self._ends[first[0]]
        with self._perhaps():
            if not ends:
                self._statement(node.stmt)
            self._statement(node.next)
        return False

    def _on_while(self, node: c_ast.While) -> bool:
        self._expression(node.cond)
        known = self._known(node.cond)
        if known is None or known[0]:
            with self._perhaps():
                self._statement(node.stmt)
        return False

    def _on_dowhile(self, node: c_ast.DoWhile) -> bool:
        with self._perhaps():
            self._statement(node.stmt)
            self._expression(node.cond)
        return False

    @contextmanager
    def _perhaps(self) -> Iterator[None]:
        """Visit what may not run with the first or the last value of a counter."""
        before, self._ends = self._ends, {}
        yield
        self._ends = before

    # Counters

    def _first(self, node: c_ast.For) -> tuple[Symbol, Value] | None:
        """Return the counter of a loop and its known first value."""
        start = node.init
        if isinstance(start, c_ast.DeclList) and len(start.decls) == 1:
            symbol, value = self._resolved.symbols.get(start.decls[0]), start.decls[0].init
        elif isinstance(start, c_ast.Assignment) and start.op == "=":
            symbol, value = self._resolved.symbols.get(start.lvalue), start.rvalue
        else:
            return None
        if symbol is None or symbol.role == "array" or not symbol.type.is_scalar or value is None:
            return None
        kept: dict[Symbol, Value] = {}
        self._keep(kept, symbol, value)
        return (symbol, kept[symbol]) if kept else None

    def _ends_of(self, node: c_ast.For, symbol: Symbol, first: Value) -> tuple[Value, Value] | None:
        """Return the first and the last value of a counter; None if they are not known."""
        cond, following, base = node.cond, node.next, symbol.type.base
        body = list(nodes(node.stmt))
        if any(isinstance(each, _JUMPS) for each in body):
            return None
        if symbol in _assigned(self._resolved, node.stmt) or not isinstance(cond, c_ast.BinaryOp):
            return None
        if self._resolved.symbols.get(cond.left) is not symbol:
            return None
        limit, step = self._known(cond.right), self._step(following, symbol)
        if limit is None or not isinstance(limit[0], int) or not isinstance(first[0], int):
            return None
        ways = {"<": (1, 0), "<=": (1, 1), ">": (-1, 0), ">=": (-1, -1), "!=": (0, 0)}
        way, beyond = ways.get(cond.op, (0, 0))
        if step == 0 or cond.op not in ways or way * step < 0:
            return None
        stop = limit[0] + beyond
        if way == 0 and (stop - first[0]) % step:
            return None
        values = range(first[0], stop, step)
        if not values or wrap(values[-1], base) != values[-1]:
            return None
        return first, (values[-1], base)

    def _step(self, node: c_ast.Node | None, symbol: Symbol) -> int:
        """Return what a loop adds to its counter in each round; 0 if that is not known."""
        amount: Value | None = (1, "int")
        if isinstance(node, c_ast.UnaryOp) and node.op in STEPS:
            target, op = node.expr, STEPS[node.op]
        elif isinstance(node, c_ast.Assignment) and node.op in ("+=", "-="):
            target, op, amount = node.lvalue, node.op[0], self._known(node.rvalue)
        else:
            return 0
        if amount is None or not isinstance(amount[0], int):
            return 0
        if self._resolved.symbols.get(target) is not symbol:
            return 0
        return amount[0] if op == "+" else -amount[0]

    # Expressions

    def _expression(self, node: c_ast.Node | None) -> None:
        """Check the accesses of an expression."""
        if node is None or isinstance(node, c_ast.Typename):
            return
        if isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"):
            self._expression(node.left)
            known = self._known(node.left)
            if known is None or bool(known[0]) == (node.op == "&&"):
                with self._perhaps():
                    self._expression(node.right)
        elif isinstance(node, c_ast.TernaryOp):
            self._expression(node.cond)
            known = self._known(node.cond)
            with self._perhaps():
                if known is None or known[0]:
                    self._expression(node.iftrue)
                if known is None or not known[0]:
                    self._expression(node.iffalse)
        elif isinstance(node, c_ast.UnaryOp) and node.op == "sizeof":
            return
        elif isinstance(node, c_ast.UnaryOp) and node.op == "&":
            self._offsets(node.expr)
            self._place(node.expr, end=True)
        elif isinstance(node, c_ast.FuncCall):
            self._called(node)
        elif isinstance(node, c_ast.ArrayRef) or (
            isinstance(node, c_ast.UnaryOp) and node.op == "*"
        ):
            self._offsets(node)
            self._access(node)
        else:
            for _, child in node.children():
                self._expression(child)

    def _called(self, node: c_ast.FuncCall) -> None:
        arguments = [] if node.args is None else node.args.exprs
        function = self._resolved.calls[node]
        if not isinstance(function, Function):
            for each in arguments:
                self._expression(each)
            return
        bound: dict[Symbol, _Place] = {}
        values: dict[Symbol, Value] = {}
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            if parameter.type.pointer:
                self._offsets(argument)
                bound[parameter] = self._place(argument)
            else:
                self._expression(argument)
                if parameter not in self._assigned:
                    self._keep(values, parameter, argument)
        self.call(function, bound, values)

    def _offsets(self, node: c_ast.Node) -> None:
        """Check the accesses in the subscripts of an address."""
        if isinstance(node, c_ast.ArrayRef):
            self._offsets(node.name)
            self._expression(node.subscript)
        elif isinstance(node, c_ast.BinaryOp):
            self._offsets(node.left)
            self._expression(node.right)
        elif isinstance(node, c_ast.UnaryOp):
            self._offsets(node.expr)

    def _access(self, node: c_ast.Node) -> None:
        """Check an element's address, with the first and the last value of each counter in it."""
        inside = {self._resolved.symbols.get(each) for each in nodes(node)}
        counters = [each for each in self._ends if each in inside]
        outer = self._values
        for values in product(*(self._ends[each] for each in counters)):
            self._values = {**outer, **dict(zip(counters, values, strict=True))}
            place = self._place(node)
            size = math.prod(place.symbol.type.dims)
            if place.at is not None and not 0 <= place.at < size:
                raise self._unit.error(
                    node,
                    f"this is element {place.at} of {place.symbol.name}, whose length is {size}",
                )
        self._values = outer

    def _place(self, node: c_ast.Node, *, end: bool = False) -> _Place:
        """Return where an address lies; with `end`, it may be that behind the last element."""
        if isinstance(node, c_ast.ID):
            symbol = self._resolved.symbols[node]
            return self._bound.get(symbol, _Place(symbol, 0))
        if isinstance(node, c_ast.UnaryOp):
            return self._place(node.expr, end=node.op == "&")
        is_subscript = isinstance(node, c_ast.ArrayRef)
        inner, offset = (node.name, node.subscript) if is_subscript else (node.left, node.right)
        place, known = self._place(inner), self._known(offset)
        kind = self._resolved.types[inner]
        if known is None:
            return _Place(place.symbol, None)
        number = int(known[0])
        if is_subscript and not kind.pointer and not 0 <= number < kind.dims[0] + end:
            raise self._unit.error(
                offset,
                f"this subscript of {place.symbol.name} is {number}, but the length is "
                f"{kind.dims[0]}",
            )
        if place.at is None:
            return place
        steps = -number if not is_subscript and node.op == "-" else number
        return _Place(place.symbol, place.at + steps * kind.element().size)

    # Known values

    def _keep(self, values: dict[Symbol, Value], symbol: Symbol, node: c_ast.Node) -> None:
        """Store the value that a variable gets, if it is known."""
        known = self._known(node)
        values.pop(symbol, None)
        if known is not None:
            values[symbol] = wrap(known[0], symbol.type.base), symbol.type.base

    def _known(self, node: c_ast.Node, more: dict[Symbol, Value] | None = None) -> Value | None:
        """Return the value of an expression; None if it is not known."""
        values = {**self._values, **(more or {})}

        def named(each: c_ast.Node) -> Value:
            symbol = self._resolved.symbols.get(each)
            if symbol is None or symbol.role == "table":
                return self._unit.value(each)
            if symbol not in values:
                raise NotConstantError(each)
            return values[symbol]

        try:
            return evaluate(node, named)
        except NotConstantError:
            return None


def _assigned(resolved: Resolved, node: c_ast.Node) -> set[Symbol]:
    """Return the scalar variables that a part of the program may change."""
    found = set()
    for each in nodes(node):
        if isinstance(each, c_ast.Assignment):
            found.add(resolved.symbols.get(each.lvalue))
        elif isinstance(each, c_ast.UnaryOp) and each.op in (*STEPS, "&"):
            found.add(resolved.symbols.get(each.expr))
    return {symbol for symbol in found if symbol is not None}
