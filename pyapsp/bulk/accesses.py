"""Count the accesses of a program to arrays: its running time t on the memory machine.

The accesses of an oblivious program can be counted without data. For an ``if`` on data both
branches count, as for work-items that run in lock-step. Only variables on which the control flow
depends are followed. A loop or a call that begins with the same values of these is counted once, so
counting nested loops takes about as long as counting single ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from pycparser import c_ast

from pyapsp.bulk.constants import NotConstantError, Value, binary, constant_of, unary
from pyapsp.bulk.flows import STEPS, needed, nodes
from pyapsp.bulk.frontend import Symbol
from pyapsp.bulk.resolve import Function
from pyapsp.bulk.scalars import wrap
from pyapsp.bulk.translate import Translation

__all__ = ["count_accesses"]

# A part of the program, the values of the variables it depends on, and what parameters stand for.
_Key: TypeAlias = tuple[c_ast.Node, tuple[Value | None, ...], tuple[tuple[Symbol, Symbol], ...]]
# Most rounds of loops that are executed; a loop may not end, or be too irregular to count.
_MOST_ROUNDS = 1_000_000


class _UncountedError(Exception):
    """The number of accesses cannot be found, or not in a reasonable time."""


class _Leave(Exception):  # noqa: N818
    """A jump: to the end of a loop, to its next round, or out of a function."""


class _Break(_Leave):
    pass


class _Continue(_Leave):
    pass


class _Return(_Leave):
    def __init__(self, value: Value | None) -> None:
        super().__init__()
        self.value = value


def count_accesses(translation: Translation) -> int | None:
    """Return the number of accesses of an instance to its arrays.

    Parameters
    ----------
    translation : Translation

    Returns
    -------
    int or None
        Loads and stores of global variables. None if counting would take too long, or if the
        control flow depends on local arrays.
    """
    counter = _Counter(translation)
    try:
        counter.call(translation.resolved.entry, {})
    except (_UncountedError, RecursionError):
        return None
    return counter.count


class _Counter:
    """Executes a program without its data."""

    def __init__(self, translation: Translation) -> None:
        self._resolved = translation.resolved
        self._unit = self._resolved.unit
        self._steady = translation.accesses.steady
        entry = self._resolved.entry.node
        self._followed = set(needed(self._resolved, self._steady, entry, set()))
        self._values: dict[Symbol, Value] = {}
        self._bound: dict[Symbol, Symbol] = {}
        self._cache: dict[_Key, tuple[int, list[Value | None], Value | None]] = {}
        self._needed: dict[c_ast.Node, list[Symbol]] = {}
        self._rounds = 0
        self.count = 0

    def call(self, function: Function, bound: dict[Symbol, Symbol]) -> Value | None:
        """Count a call whose parameters already have their values."""
        outer, self._bound = self._bound, bound
        try:
            self._statement(function.node.body)
        except _Return as leave:
            return leave.value
        finally:
            self._bound = outer
        return None

    def _once(self, node: c_ast.Node, work: Callable[[], Value | None]) -> Value | None:
        """Execute a part, or apply the cached effect it had with the same initial values."""
        if node not in self._needed:
            self._needed[node] = needed(self._resolved, self._steady, node, self._followed)
        names = self._needed[node]
        before = tuple(self._values.get(each) for each in names)
        key = node, before, tuple(self._bound.items())
        if key not in self._cache:
            count = self.count
            result: Value | None = work()
            after = [self._values.get(each) for each in names]
            self._cache[key] = self.count - count, after, result
            return result
        count, after, result = self._cache[key]
        self.count += count
        for symbol, value in zip(names, after, strict=True):
            self._set(symbol, value)
        return result

    def _set(self, symbol: Symbol, value: Value | None) -> None:
        if value is None or symbol not in self._followed or not symbol.type.is_scalar:
            self._values.pop(symbol, None)
        else:
            self._values[symbol] = wrap(value[0], symbol.type.base), symbol.type.base

    # Statements

    def _statement(self, node: c_ast.Node | None) -> None:
        handler = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if handler is not None:
            handler(node)
        elif node is not None and not isinstance(node, (c_ast.EmptyStatement, c_ast.Pragma)):
            self._value(node)

    def _on_compound(self, node: c_ast.Compound) -> None:
        for each in node.block_items or []:
            self._statement(each)

    def _on_decllist(self, node: c_ast.DeclList) -> None:
        for each in node.decls:
            self._statement(each)

    def _on_decl(self, node: c_ast.Decl) -> None:
        symbol = self._resolved.symbols.get(node)
        if symbol is not None:
            items = node.init.exprs if isinstance(node.init, c_ast.InitList) else [node.init]
            values = [self._value(each) for each in items if each is not None]
            self._set(symbol, values[0] if symbol.type.is_scalar and values else None)

    def _on_if(self, node: c_ast.If) -> None:
        self._choose(
            node.cond,
            lambda: self._statement(node.iftrue),
            lambda: self._statement(node.iffalse),
        )

    def _on_for(self, node: c_ast.For) -> None:
        def loop() -> None:
            self._statement(node.init)
            self._loop(node.cond, node.next, node.stmt)

        self._once(node, loop)

    def _on_while(self, node: c_ast.While) -> None:
        self._once(node, lambda: self._loop(node.cond, None, node.stmt))

    def _on_dowhile(self, node: c_ast.DoWhile) -> None:
        self._once(node, lambda: self._loop(node.cond, None, node.stmt, first=False))

    def _loop(
        self,
        condition: c_ast.Node | None,
        following: c_ast.Node | None,
        body: c_ast.Node,
        *,
        first: bool = True,
    ) -> None:
        while True:
            if condition is not None and first:
                value = self._value(condition)
                if value is None:
                    self._irregular(condition, [condition, body, following])
                    return
                if not value[0]:
                    return
            first = True
            self._rounds += 1
            if self._rounds > _MOST_ROUNDS:
                raise _UncountedError
            try:
                self._statement(body)
            except _Break:
                return
            except _Continue:
                pass
            if following is not None:
                self._value(following)

    def _irregular(self, condition: c_ast.Node, parts: list[c_ast.Node | None]) -> None:
        """Skip a loop on data, which has no accesses."""
        if condition in self._steady:
            raise _UncountedError
        for node in parts:
            for each in nodes(node) if node is not None else ():
                symbol = self._resolved.symbols.get(each)
                if symbol is not None:
                    self._set(symbol, None)

    def _on_switch(self, node: c_ast.Switch) -> None:
        self._value(node.cond)
        if node.cond in self._steady:
            raise _UncountedError
        for each in getattr(node.stmt, "block_items", None) or [node.stmt]:
            for item in each.stmts if isinstance(each, (c_ast.Case, c_ast.Default)) else [each]:
                self._perhaps([partial(self._statement, item)])

    def _on_break(self, node: c_ast.Break) -> None:
        raise _Break

    def _on_continue(self, node: c_ast.Continue) -> None:
        raise _Continue

    def _on_return(self, node: c_ast.Return) -> None:
        raise _Return(None if node.expr is None else self._value(node.expr))

    def _choose(self, condition: c_ast.Node, *ways: Callable[[], Value | None]) -> Value | None:
        """Execute the branch that a condition selects, or both if it depends on data."""
        value = self._value(condition)
        if value is not None:
            return ways[0 if value[0] else 1]()
        if condition in self._steady and any(
            self._resolved.symbols.get(each) in self._followed for each in nodes(condition)
        ):
            raise _UncountedError
        self._perhaps(ways)
        return None

    def _perhaps(self, ways: Iterable[Callable[[], Value | None]]) -> None:
        """Execute every branch; variables that differ afterwards are unknown."""
        before, ends = dict(self._values), []
        for way in ways:
            self._values = dict(before)
            with suppress(_Leave):
                way()
            ends.append(self._values)
        if len(ends) == 1:
            ends.append(before)
        self._values = {key: value for key, value in ends[0].items() if ends[1].get(key) == value}

    # Expressions

    def _value(self, node: c_ast.Node) -> Value | None:
        """Return the value of an expression, if it is known, and count its accesses."""
        handler = getattr(self, f"_of_{type(node).__name__.lower()}")
        try:
            value: Value | None = handler(node)
        except NotConstantError:
            return None
        return value

    def _of_constant(self, node: c_ast.Constant) -> Value:
        return constant_of(node)

    def _of_id(self, node: c_ast.ID) -> Value | None:
        symbol = self._resolved.symbols.get(node)
        if symbol is None or symbol.role == "table":
            return self._unit.value(node)
        return self._load(self._place(node), node)

    def _of_arrayref(self, node: c_ast.ArrayRef) -> Value | None:
        return self._load(self._place(node), node)

    def _load(self, place: tuple[Symbol, list[Value | None]], node: c_ast.Node) -> Value | None:
        symbol, subscripts = place
        if symbol.role == "array":
            self.count += 1
        elif symbol.role == "table" and symbol.type.dims:
            initial: c_ast.Node = symbol.node.init
            for each in subscripts:
                if each is None or not isinstance(initial, c_ast.InitList):
                    return None
                at = int(each[0])
                if not 0 <= at < len(initial.exprs):
                    return None
                initial = initial.exprs[at]
            value = self._unit.value(initial)
            return wrap(value[0], symbol.type.base), symbol.type.base
        elif isinstance(node, c_ast.ID):
            return self._values.get(symbol)
        return None

    def _place(self, node: c_ast.Node) -> tuple[Symbol, list[Value | None]]:
        """Return the variable that an address lies in, and its subscripts."""
        if isinstance(node, c_ast.ID):
            symbol = self._resolved.symbols[node]
            return self._bound.get(symbol, symbol), []
        if isinstance(node, c_ast.UnaryOp):
            return self._place(node.expr)[0], [None]
        inner, offset = (
            (node.name, node.subscript)
            if isinstance(node, c_ast.ArrayRef)
            else (node.left, node.right)
        )
        symbol, before = self._place(inner)
        return symbol, [*before, self._value(offset)]

    def _of_unaryop(self, node: c_ast.UnaryOp) -> Value | None:
        if node.op == "sizeof":
            return self._unit.value(node)
        if node.op == "*":
            return self._load(self._place(node), node)
        value = self._value(node.expr)
        if node.op in STEPS:
            after = value and binary(STEPS[node.op], value, (1, "int"), node)
            self._store(node.expr, after)
            return value if node.op.startswith("p") else after
        return value and unary(node.op, value, node)

    def _of_binaryop(self, node: c_ast.BinaryOp) -> Value | None:
        if node.op in ("&&", "||"):
            left = self._value(node.left)
            if left is not None and bool(left[0]) == (node.op == "||"):
                return int(bool(left[0])), "int"
            right = self._value(node.right)
            return None if left is None or right is None else (int(bool(right[0])), "int")
        left, right = self._value(node.left), self._value(node.right)
        return None if left is None or right is None else binary(node.op, left, right, node)

    def _of_ternaryop(self, node: c_ast.TernaryOp) -> Value | None:
        value: Value | None = self._choose(
            node.cond, lambda: self._value(node.iftrue), lambda: self._value(node.iffalse)
        )
        return value

    def _of_assignment(self, node: c_ast.Assignment) -> Value | None:
        value = self._value(node.rvalue)
        if node.op != "=":
            before = self._value(node.lvalue)
            if before is not None and value is not None:
                value = binary(node.op[:-1], before, value, node)
            else:
                value = None
        self._store(node.lvalue, value)
        return value

    def _store(self, node: c_ast.Node, value: Value | None) -> None:
        symbol = self._place(node)[0]
        if symbol.role == "array":
            self.count += 1
        else:
            self._set(symbol, value if isinstance(node, c_ast.ID) else None)

    def _of_cast(self, node: c_ast.Cast) -> Value | None:
        base, value = self._unit.type_of(node.to_type).base, self._value(node.expr)
        return None if value is None or base == "void" else (wrap(value[0], base), base)

    def _of_exprlist(self, node: c_ast.ExprList) -> Value | None:
        return [self._value(each) for each in node.exprs][-1]

    def _of_funccall(self, node: c_ast.FuncCall) -> Value | None:
        arguments = [] if node.args is None else node.args.exprs
        function = self._resolved.calls[node]
        if not isinstance(function, Function):
            for each in arguments:
                self._value(each)
            return None
        bound = {}
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            if parameter.type.pointer:
                bound[parameter] = self._place(argument)[0]
                self._set(bound[parameter], None)
            else:
                self._set(parameter, self._value(argument))
        return self._once(function.node, lambda: self.call(function, bound))
