"""Check that the addresses that a program uses do not depend on its data.

A program is *oblivious* if the address of each access is the same for every input, or the access is
skipped. Values loaded from arrays are *tainted*. So are values computed from tainted values, and
values assigned in one branch of a tainted condition. Tainted subscripts are errors, and so are
loops with accesses whose number of rounds is tainted. A tainted ``if`` around an access is allowed:
instances for which it is false skip the access.

The analysis follows the control flow, and analyses each call with the taint of its arguments.
Constant tables (``const`` arrays with initial values) are the same for all instances, so a value
loaded from one is tainted only if the subscript is.

Source: D. Takafuji's thesis, 2020, section 4.2, for what oblivious means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from pycparser import c_ast

from pyapsp.bulk.frontend import Symbol
from pyapsp.bulk.resolve import Function, Resolved

__all__ = ["Accesses", "check"]


@dataclass(frozen=True)
class _Taint:
    """The reason why a value depends on data: the access that it comes from."""

    name: str
    node: c_ast.Node


_State: TypeAlias = dict[Symbol, _Taint]


@dataclass
class Accesses:
    """The global arrays that are accessed, and the conditions that do not depend on data."""

    loaded: set[Symbol] = field(default_factory=set)
    stored: set[Symbol] = field(default_factory=set)
    # Conditions that do not depend on data in at least one call.
    steady: set[c_ast.Node] = field(default_factory=set)


@dataclass
class _Loop:
    """A loop, or a switch, that is being analysed."""

    node: c_ast.Node
    depth: int  # taint of the conditions outside
    level: int = 0  # sets of assigned variables outside, and that of the loop
    is_switch: bool = False
    taint: _Taint | None = None  # why the number of rounds depends on data
    skips: _Taint | None = None  # why the rest of a round may be left out
    late: set[Symbol] = field(default_factory=set)  # variables that depend on whether it is
    access: tuple[str, c_ast.Node] | None = None
    breaks: list[_State] = field(default_factory=list)
    continues: list[_State] = field(default_factory=list)


@dataclass
class _Call:
    """A function that is being analysed."""

    depth: int
    loops: int
    bound: dict[Symbol, Symbol]  # parameters that are arrays -> the variable passed
    taint: _Taint | None = None  # why it may return early
    result: _Taint | None = None
    returns: list[_State] = field(default_factory=list)


def check(resolved: Resolved) -> Accesses:
    """Raise an error if a program is not oblivious.

    Returns
    -------
    Accesses

    Raises
    ------
    ProgramError
        A subscript, or a loop around accesses, depends on data; the message names both.
    """
    flow = _Flow(resolved)
    flow.call(resolved.entry, {}, {})
    return flow.accesses


class _Flow:
    """Executes a program with taint instead of values.

    A state maps each tainted variable to its reason; None is the state of unreachable code.
    """

    def __init__(self, resolved: Resolved) -> None:
        self._resolved, self._unit = resolved, resolved.unit
        self.accesses = Accesses()
        self._conditions: list[_Taint | None] = []
        self._loops: list[_Loop] = []
        self._calls: list[_Call] = []
        self._assigned: list[set[Symbol]] = []

    def call(
        self, function: Function, state: _State, bound: dict[Symbol, Symbol]
    ) -> tuple[_State, _Taint | None]:
        """Return the state after a call, and the taint of its result."""
        call = _Call(len(self._conditions), len(self._loops), bound)
        self._calls.append(call)
        self._assigned.append(set())
        after = self._statement(function.node.body, state)
        out = _join([*call.returns, after]) or {}
        assigned = self._assigned.pop()
        self._mark(assigned)
        if call.taint is not None:
            out = {**dict.fromkeys(assigned, call.taint), **out}
        self._calls.pop()
        return out, call.result or call.taint

    # Statements

    def _statement(self, node: c_ast.Node | None, state: _State | None) -> _State | None:
        if node is None or state is None:
            return state
        handler = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if handler is not None:
            after: _State | None = handler(node, dict(state))
            return after
        if isinstance(node, (c_ast.EmptyStatement, c_ast.Pragma)):
            return state
        state = dict(state)
        self._taint(node, state)
        return state

    def _sequence(self, nodes: list[c_ast.Node] | None, state: _State | None) -> _State | None:
        for node in nodes or []:
            state = self._statement(node, state)
        return state

    def _on_compound(self, node: c_ast.Compound, state: _State) -> _State | None:
        return self._sequence(node.block_items, state)

    def _on_decllist(self, node: c_ast.DeclList, state: _State) -> _State | None:
        return self._sequence(node.decls, state)

    def _on_decl(self, node: c_ast.Decl, state: _State) -> _State:
        symbol = self._resolved.symbols.get(node)
        if symbol is not None:
            state.pop(symbol, None)
            for each in _initial_values(node.init):
                self._assign(symbol, self._taint(each, state), state, whole=False)
        return state

    def _on_if(self, node: c_ast.If, state: _State) -> _State | None:
        taint = self._decide(node.cond, state)
        self._conditions.append(taint)
        self._assigned.append(set())
        out = _join([self._statement(node.iftrue, state), self._statement(node.iffalse, state)])
        assigned = self._assigned.pop()
        self._conditions.pop()
        self._mark(assigned)
        return out if out is None else self._merged(out, assigned, taint)

    def _on_for(self, node: c_ast.For, state: _State) -> _State | None:
        begin = self._statement(node.init, state)
        return self._loop(node, begin or {}, node.cond, node.next, node.stmt)

    def _on_while(self, node: c_ast.While, state: _State) -> _State | None:
        return self._loop(node, state, node.cond, None, node.stmt)

    def _on_dowhile(self, node: c_ast.DoWhile, state: _State) -> _State | None:
        return self._loop(node, state, node.cond, None, node.stmt, first=False)

    def _loop(
        self,
        node: c_ast.Node,
        state: _State,
        condition: c_ast.Node | None,
        following: c_ast.Node | None,
        body: c_ast.Node,
        *,
        first: bool = True,
    ) -> _State | None:
        """Repeat a loop until its initial state no longer changes."""
        head, known = state, None
        while True:
            loop = _Loop(node, len(self._conditions), len(self._assigned) + 1)
            self._loops.append(loop)
            self._conditions.append(known)
            self._assigned.append(set())
            now, leaves = dict(head), []
            if condition is not None and first:
                loop.taint = self._decide(condition, now)
                leaves.append(dict(now))
            end = _join([self._statement(body, now), *loop.continues])
            if end is not None:
                end = self._merged(end, loop.late, loop.skips)
                if following is not None:
                    self._taint(following, end)
                if condition is not None and not first:
                    loop.taint = loop.taint or self._decide(condition, end)
                    leaves.append(dict(end))
            self._loops.pop()
            self._conditions.pop()
            assigned = self._assigned.pop()
            self._mark(assigned)
            if loop.taint is not None and loop.access is not None:
                self._refuse_loop(condition or node, loop.taint, loop.access)
            again = _join([head, end]) or {}
            if again.keys() == head.keys() and bool(loop.taint) == bool(known):
                out = _join([*leaves, *loop.breaks])
                return out if out is None else self._merged(out, assigned, loop.taint)
            head, known = again, loop.taint

    def _refuse_loop(self, node: c_ast.Node, taint: _Taint, access: tuple[str, c_ast.Node]) -> None:
        raise self._unit.error(
            node,
            f"not oblivious: the number of rounds of this loop depends on {_reason(taint)}, and "
            f"the loop accesses {access[0]} in line {access[1].coord.line}",
        )

    def _on_switch(self, node: c_ast.Switch, state: _State) -> _State | None:
        taint = self._decide(node.cond, state)
        loop = _Loop(node, len(self._conditions), is_switch=True)
        self._loops.append(loop)
        self._conditions.append(taint)
        self._assigned.append(set())
        now: _State | None = None
        complete = False
        items = getattr(node.stmt, "block_items", [node.stmt]) or []
        for item in items:
            if isinstance(item, (c_ast.Case, c_ast.Default)):
                complete = complete or isinstance(item, c_ast.Default)
                now = self._sequence(item.stmts, _join([now, state]))
            else:
                now = self._statement(item, now)
        assigned = self._assigned.pop()
        self._conditions.pop()
        self._loops.pop()
        self._mark(assigned)
        out = _join([now, *loop.breaks, *([] if complete else [state])])
        return out if out is None else self._merged(out, assigned, taint or loop.taint)

    def _on_break(self, node: c_ast.Break, state: _State) -> None:
        loop = self._loops[-1]
        loop.taint = loop.taint or loop.skips or self._condition(loop.depth)
        loop.breaks.append(state)

    def _on_continue(self, node: c_ast.Continue, state: _State) -> None:
        loop = next(each for each in reversed(self._loops) if not each.is_switch)
        loop.skips = loop.skips or self._condition(loop.depth)
        # what this round assigned before is the same with and without the rest of the round,
        # except in the branch that leaves it out
        loop.late.update(*self._assigned[loop.level :])
        loop.continues.append(state)

    def _on_return(self, node: c_ast.Return, state: _State) -> None:
        call = self._calls[-1]
        if node.expr is not None:
            call.result = call.result or self._taint(node.expr, state)
        for loop in self._loops[call.loops :]:
            loop.taint = loop.taint or loop.skips or self._condition(loop.depth)
            call.taint = call.taint or loop.taint
        call.taint = call.taint or self._condition(call.depth)
        call.returns.append(state)

    # Expressions

    def _taint(self, node: c_ast.Node, state: _State) -> _Taint | None:
        """Return the taint of a number, and apply the effects of the expression to the state."""
        if isinstance(node, c_ast.Assignment):
            taint = self._taint(node.rvalue, state)
            if node.op != "=":
                taint = taint or self._taint(node.lvalue, state)
            return self._store(node.lvalue, taint, state)
        if isinstance(node, c_ast.UnaryOp) and node.op in ("++", "--", "p++", "p--"):
            return self._store(node.expr, self._taint(node.expr, state), state)
        if isinstance(node, c_ast.UnaryOp) and node.op == "sizeof":
            return None
        if isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"):
            return self._branches(node.left, [node.right], state)
        if isinstance(node, c_ast.TernaryOp):
            return self._branches(node.cond, [node.iftrue, node.iffalse], state)
        if isinstance(node, c_ast.FuncCall):
            return self._called(node, state)
        if isinstance(node, c_ast.ExprList):
            return [self._taint(each, state) for each in node.exprs][-1]
        if self._is_place(node):
            symbol = self._place(node, state)
            return None if symbol is None else self._load(symbol, node, state)
        taints = [self._taint(each, state) for _, each in node.children() if _is_expression(each)]
        return next(filter(None, taints), None)

    def _decide(self, node: c_ast.Node, state: _State) -> _Taint | None:
        """Return the taint of a condition."""
        taint = self._taint(node, state)
        if taint is None:
            self.accesses.steady.add(node)
        return taint

    def _is_place(self, node: c_ast.Node) -> bool:
        return isinstance(node, (c_ast.ID, c_ast.ArrayRef)) or (
            isinstance(node, c_ast.UnaryOp) and node.op == "*"
        )

    def _branches(
        self, condition: c_ast.Node, choices: list[c_ast.Node], state: _State
    ) -> _Taint | None:
        """Return the taint of the value of one of several expressions."""
        taint = self._decide(condition, state)
        self._conditions.append(taint)
        self._assigned.append(set())
        states, taints = [], []
        for each in choices:
            states.append(dict(state))
            taints.append(self._taint(each, states[-1]))
        assigned = self._assigned.pop()
        self._conditions.pop()
        self._mark(assigned)
        state |= self._merged(_join([state, *states]) or {}, assigned, taint)
        return taint or next(filter(None, taints), None)

    def _place(self, node: c_ast.Node, state: _State) -> Symbol | None:
        """Check the subscripts of an address, and return its variable."""
        if isinstance(node, c_ast.ID):
            symbol = self._resolved.symbols.get(node)
            bound = self._calls[-1].bound
            return None if symbol is None else bound.get(symbol, symbol)
        if isinstance(node, c_ast.ArrayRef):
            inner, offset = node.name, node.subscript
        elif isinstance(node, c_ast.BinaryOp):
            inner, offset = node.left, node.right
        else:
            return self._place(node.expr, state)
        symbol = self._place(inner, state)
        taint = self._taint(offset, state)
        if taint is not None and symbol is not None:
            raise self._unit.error(
                offset,
                f"not oblivious: this subscript of {symbol.name} depends on {_reason(taint)}",
            )
        return symbol

    def _load(self, symbol: Symbol, node: c_ast.Node, state: _State) -> _Taint | None:
        if symbol.role == "array":
            self.accesses.loaded.add(symbol)
            self._access(symbol, node)
            return _Taint(symbol.name, node)
        return state.get(symbol)

    def _store(self, node: c_ast.Node, taint: _Taint | None, state: _State) -> _Taint | None:
        symbol = self._place(node, state)
        assert symbol is not None  # assignments to constants are errors of an earlier pass
        if symbol.role == "array":
            self.accesses.stored.add(symbol)
            self._access(symbol, node)
        else:
            self._assign(symbol, taint, state, whole=isinstance(node, c_ast.ID))
        return taint

    def _assign(self, symbol: Symbol, taint: _Taint | None, state: _State, *, whole: bool) -> None:
        self._mark({symbol})
        for loop in self._loops:
            if loop.skips is not None:
                loop.late.add(symbol)
        if taint is not None:
            state[symbol] = taint
        elif whole:
            state.pop(symbol, None)

    def _called(self, node: c_ast.FuncCall, state: _State) -> _Taint | None:
        arguments = [] if node.args is None else node.args.exprs
        function = self._resolved.calls[node]
        if not isinstance(function, Function):
            return next(filter(None, [self._taint(each, state) for each in arguments]), None)
        bound = {}
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            if parameter.type.pointer:
                symbol = self._place(argument, state)
                assert symbol is not None
                bound[parameter] = symbol
            else:
                self._assign(parameter, self._taint(argument, state), state, whole=True)
        after, result = self.call(function, dict(state), bound)
        state.clear()
        state |= after
        return result

    # Bookkeeping

    def _access(self, symbol: Symbol, node: c_ast.Node) -> None:
        for loop in self._loops:
            if loop.access is None and not loop.is_switch:
                loop.access = symbol.name, node

    def _condition(self, depth: int) -> _Taint | None:
        return next(filter(None, self._conditions[depth:]), None)

    def _mark(self, symbols: set[Symbol]) -> None:
        if self._assigned:
            self._assigned[-1] |= symbols

    def _merged(self, state: _State, assigned: set[Symbol], taint: _Taint | None) -> _State:
        """Return the state after the branches of a tainted condition."""
        return state if taint is None else {**dict.fromkeys(assigned, taint), **state}


def _reason(taint: _Taint) -> str:
    return f"{taint.name}, which is loaded in line {taint.node.coord.line}"


def _join(states: list[_State | None]) -> _State | None:
    """Return the variables tainted in any of the states; None if all are unreachable."""
    reached = [state for state in states if state is not None]
    return {key: taint for state in reached for key, taint in state.items()} if reached else None


def _initial_values(node: c_ast.Node | None) -> Iterator[c_ast.Node]:
    if isinstance(node, c_ast.InitList):
        for each in node.exprs:
            yield from _initial_values(each)
    elif node is not None:
        yield node


def _is_expression(node: c_ast.Node) -> bool:
    return not isinstance(node, (c_ast.Typename, c_ast.TypeDecl, c_ast.IdentifierType))
