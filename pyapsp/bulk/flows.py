"""Find the variables on which the control flow of a program depends, and their sources."""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast

from pyapsp.bulk.frontend import Symbol
from pyapsp.bulk.resolve import Function, Resolved

__all__ = ["STEPS", "needed", "nodes", "reached"]

#: Assignment operators, and the binary operator of each.
STEPS = {"++": "+", "p++": "+", "--": "-", "p--": "-"}


def needed(
    resolved: Resolved, steady: set[c_ast.Node], node: c_ast.Node, followed: set[Symbol]
) -> list[Symbol]:
    """Return the variables on which the control flow of a part of the program depends.

    Variables from which the followed variables are computed are included.
    """
    inside = list(reached(resolved, node))
    flows = list(_flows(resolved, inside))
    wanted = [each for each in inside if each in steady]
    symbols = {target: None for target, _ in flows if target in followed}
    wanted += [source for target, source in flows if target in followed]
    while wanted:
        for each in reached(resolved, wanted.pop(), returns=True):
            symbol = resolved.symbols.get(each)
            if symbol is not None and symbol not in symbols and symbol.role != "array":
                symbols[symbol] = None
                wanted += [source for target, source in flows if target is symbol]
    return [symbol for symbol in symbols if symbol is not None]


def reached(resolved: Resolved, node: c_ast.Node, *, returns: bool = False) -> Iterator[c_ast.Node]:
    """Yield the nodes of a part of the program and of the functions it calls.

    With `returns`, only the results of these functions are included.
    """
    waiting, seen = [node], {node}
    while waiting:
        for each in nodes(waiting.pop()):
            yield each
            called = resolved.calls.get(each)
            if isinstance(called, Function) and called.node not in seen:
                seen.add(called.node)
                waiting += (
                    [each for each in nodes(called.node.body) if isinstance(each, c_ast.Return)]
                    if returns
                    else [called.node.body]
                )


def _flows(
    resolved: Resolved, inside: list[c_ast.Node]
) -> Iterator[tuple[Symbol | None, c_ast.Node]]:
    """Yield each variable with the expressions assigned to it."""
    for node in inside:
        if isinstance(node, c_ast.Assignment):
            yield resolved.symbols.get(node.lvalue), node.rvalue
        elif isinstance(node, c_ast.UnaryOp) and node.op in STEPS:
            yield resolved.symbols.get(node.expr), node.expr
        elif isinstance(node, c_ast.Decl) and node.init is not None:
            yield resolved.symbols.get(node), node.init
        elif isinstance(node, c_ast.FuncCall) and node.args is not None:
            called = resolved.calls.get(node)
            if isinstance(called, Function):
                yield from zip(called.parameters, node.args.exprs, strict=True)


def nodes(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """Yield a node and all that it contains, in the order of the text."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(child for _, child in reversed(found.children()))
