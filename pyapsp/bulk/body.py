"""Write the body of a function of the program as OpenCL C."""

from __future__ import annotations

import re
from typing import Protocol

import numpy as np
from pycparser import c_ast
from pycparser.c_generator import CGenerator

from pyapsp.bulk.constants import Value
from pyapsp.bulk.frontend import Symbol
from pyapsp.bulk.library import CONSTANTS, Twin
from pyapsp.bulk.resolve import Function, Resolved
from pyapsp.bulk.scalars import FLOATS, Type

__all__ = ["Body", "Forms", "literal"]

_INDENT = "    "
# Operators that need no parentheses inside those of a lower rank.
_RANKS = {"*": 5, "/": 5, "+": 4, "-": 4}
_RANKS |= dict.fromkeys(("<", ">", "<=", ">=", "==", "!="), 2) | {"&&": 1, "||": 1}
_SPACES = {"array": "global", "table": "constant", "local": "private", "parameter": "private"}


class Forms(Protocol):
    """The methods of the program that a body calls."""

    resolved: Resolved
    memory: str
    constants: dict[str, None]
    tables: dict[Symbol, None]

    def form(self, function: Function, spaces: tuple[str, ...]) -> tuple[str, list[Symbol]]:
        """Return the name of a function for arrays in these address spaces, and what it uses."""
        ...

    def name_of(self, name: str) -> str:
        """Return the name that a global name has in OpenCL C."""
        ...

    def local_name(self, symbol: Symbol) -> str:
        """Return the name of a local variable."""
        ...

    def element(self, base: str) -> str:
        """Return the type of elements in the memory of the program, from their type in C."""
        ...

    def passed(self, touches: bool) -> dict[str, str]:
        """Return the additional parameters of a function: name -> declaration."""
        ...


class Body(CGenerator):  # type: ignore[misc]
    """Writes the body of a function; `uses` collects the global variables it needs."""

    def __init__(self, program: Forms, function: Function, spaces: tuple[str, ...]) -> None:
        super().__init__(reduce_parentheses=True)
        self._program, self._resolved = program, program.resolved
        self._function = function
        pointers = [each for each in function.parameters if each.type.pointer]
        self._spaces = dict(zip(pointers, spaces, strict=True)) if spaces else {}
        self.uses: dict[Symbol, None] = {}

    def parameter(self, symbol: Symbol) -> str:
        """Return the declaration of a parameter."""
        name, kind = self._program.local_name(symbol), symbol.type
        if not kind.pointer:
            return f"{kind.base} {name}"
        space, const = self._spaces[symbol], "const " if symbol.constant else ""
        if space == "global":
            return f"__{self._program.memory} {const}{self._program.element(kind.base)} *{name}"
        if not kind.dims:
            const = "" if space == "constant" else const
            prefix = "" if space == "private" else f"__{space} "
            return f"{prefix}{const}{kind.base} *{name}"
        dims = "".join(f"[{each}]" for each in kind.dims)
        return f"{'__constant ' if space == 'constant' else const}{kind.base} {name}[]{dims}"

    # Statements

    def text(self) -> str:
        """Return the body of the function with its braces."""
        return "\n".join(self._statement(self._function.node.body, "")) + "\n"

    def _statement(self, node: c_ast.Node | None, indent: str) -> list[str]:
        """Return the lines of a statement."""
        if node is None or isinstance(node, c_ast.EmptyStatement):
            return [f"{indent};"]
        handler = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if handler is None:
            text = self.visit(node)
            if text and not isinstance(node, c_ast.Pragma):
                text = text.removesuffix(";") + ";"
            return [indent + text] if text else []
        lines: list[str] = handler(node, indent)
        return lines

    def _within(self, node: c_ast.Node | None, indent: str) -> list[str]:
        """Return the lines controlled by a loop or a condition, in braces or indented."""
        if isinstance(node, c_ast.Compound):
            return self._statement(node, indent)
        return self._statement(node, indent + _INDENT) or [f"{indent}{_INDENT};"]

    def _controlled(self, head: str, node: c_ast.Node | None, indent: str) -> list[str]:
        lines = self._within(node, indent)
        if isinstance(node, c_ast.Compound):
            return [f"{indent}{head} {{", *lines[1:]]
        return [f"{indent}{head}", *lines]

    def _on_compound(self, node: c_ast.Compound, indent: str) -> list[str]:
        lines = [f"{indent}{{"]
        for each in node.block_items or []:
            lines += self._statement(each, indent + _INDENT)
        return [*lines, f"{indent}}}"]

    def _on_decllist(self, node: c_ast.DeclList, indent: str) -> list[str]:
        return [line for each in node.decls for line in self._statement(each, indent)]

    def _on_if(self, node: c_ast.If, indent: str) -> list[str]:
        lines = self._controlled(f"if ({self._condition(node)})", node.iftrue, indent)
        if node.iffalse is None:
            return lines
        closing = isinstance(node.iftrue, c_ast.Compound)
        head = f"{lines.pop().strip()} else" if closing else "else"
        if isinstance(node.iffalse, c_ast.If):
            chained = self._on_if(node.iffalse, indent)
            return [*lines, f"{indent}{head} {chained[0].strip()}", *chained[1:]]
        return lines + self._controlled(head, node.iffalse, indent)

    def _condition(self, node: c_ast.If) -> str:
        return str(self.visit(node.cond))

    def _on_for(self, node: c_ast.For, indent: str) -> list[str]:
        parts = [
            "" if part is None else self.visit(part) for part in (node.init, node.cond, node.next)
        ]
        head = "; ".join(parts) if parts[1] or parts[2] else f"{parts[0]};;"
        return self._controlled(f"for ({head})", node.stmt, indent)

    def _on_while(self, node: c_ast.While, indent: str) -> list[str]:
        return self._controlled(f"while ({self.visit(node.cond)})", node.stmt, indent)

    def _on_dowhile(self, node: c_ast.DoWhile, indent: str) -> list[str]:
        lines = self._controlled("do", node.stmt, indent)
        closing = isinstance(node.stmt, c_ast.Compound)
        head = f"{lines.pop().strip()} while" if closing else "while"
        return [*lines, f"{indent}{head} ({self.visit(node.cond)});"]

    def _on_switch(self, node: c_ast.Switch, indent: str) -> list[str]:
        return self._controlled(f"switch ({self.visit(node.cond)})", node.stmt, indent)

    def _on_case(self, node: c_ast.Case, indent: str) -> list[str]:
        return self._labelled(f"case {self.visit(node.expr)}:", node, indent)

    def _on_default(self, node: c_ast.Default, indent: str) -> list[str]:
        return self._labelled("default:", node, indent)

    def _labelled(self, label: str, node: c_ast.Case | c_ast.Default, indent: str) -> list[str]:
        lines = [line for each in node.stmts for line in self._statement(each, indent + _INDENT)]
        return [f"{indent}{label}", *lines]

    def visit_DeclList(self, n: c_ast.DeclList) -> str:
        first, *others = n.decls  # a declaration in the head of a loop
        return ", ".join(
            [self.visit_Decl(first), *(self.visit_Decl(each, True) for each in others)]
        )

    # Names and places

    def _space(self, symbol: Symbol) -> str:
        return self._spaces.get(symbol, _SPACES[symbol.role])

    def _name(self, symbol: Symbol) -> str:
        if symbol.role in ("local", "parameter"):
            return self._program.local_name(symbol)
        if symbol.role == "array":
            self.uses[symbol] = None
        else:
            self._program.tables[symbol] = None
        return self._program.name_of(symbol.name)

    def visit_ID(self, n: c_ast.ID) -> str:
        symbol = self._resolved.symbols.get(n)
        if symbol is not None:
            name = self._name(symbol)
            return f"{name}[0]" if symbol.role == "array" and symbol.type.is_scalar else name
        if n.name in self._resolved.unit.enumerators:
            return literal(self._resolved.unit.constants[n.name])
        if n.name in self._resolved.unit.constants:
            self._program.constants[n.name] = None
            return self._program.name_of(n.name)
        if n.name not in CONSTANTS:
            raise self._resolved.unit.error(n, f"{n.name} is not declared")
        return literal(CONSTANTS[n.name])

    def _place(self, node: c_ast.Node) -> tuple[Symbol, list[str]] | None:
        """Return the variable and the terms of the offset of an address; None for a macro."""
        if isinstance(node, c_ast.ID):
            symbol = self._resolved.symbols.get(node)
            return None if symbol is None else (symbol, [])
        if isinstance(node, c_ast.UnaryOp):
            return self._place(node.expr)
        inner, offset, sign = (
            (node.name, node.subscript, "+")
            if isinstance(node, c_ast.ArrayRef)
            else (node.left, node.right, node.op)
        )
        place = self._place(inner)
        if place is None:
            return None
        stride = self._resolved.types[inner].element().size
        number = self.visit(offset)
        if isinstance(offset, c_ast.Constant) and number == "0":
            return place
        simple = isinstance(offset, (c_ast.ID, c_ast.Constant, c_ast.ArrayRef))
        if stride != 1:
            number = f"{number if simple else f'({number})'} * {stride}"
        elif sign == "-" and not simple:
            number = f"({number})"
        before = place[1]
        return place[0], [*before, f"{sign} {number}" if before or sign == "-" else number]

    def _global(self, node: c_ast.Node) -> tuple[str, str] | None:
        """Return name and offset of an address in global memory; None for other memory."""
        place = self._place(node)
        if place is None or self._space(place[0]) != "global":
            return None
        return self._name(place[0]), " ".join(place[1])

    def visit_ArrayRef(self, n: c_ast.ArrayRef) -> str:
        element = self._global(n)
        if element is None:
            return str(super().visit_ArrayRef(n))
        name, offset = element
        if not self._resolved.types[
            n
        ].is_scalar:  # a part of an array, as an argument of a function
            return f"{name} + AT({offset})" if offset else name
        return f"{name}[AT({offset})]" if offset else f"{name}[0]"

    def visit_UnaryOp(self, n: c_ast.UnaryOp) -> str:
        if n.op == "sizeof":
            return literal(self._resolved.unit.value(n))
        element = self._global(n) if n.op in ("*", "&") else None
        if element is None:
            return str(super().visit_UnaryOp(n))
        name, offset = element
        if n.op == "&":
            return f"{name} + AT({offset})" if offset else name
        return f"{name}[AT({offset})]" if offset else f"{name}[0]"

    def visit_BinaryOp(self, n: c_ast.BinaryOp) -> str:
        kind = self._resolved.types.get(n)
        element = self._global(n) if kind is not None and kind.pointer else None
        if element is not None:
            name, offset = element
            return f"{name} + AT({offset})" if offset else name
        left, right = self._operand(n.left, n.op, True), self._operand(n.right, n.op, False)
        return f"{left} {n.op} {right}"

    def _operand(self, node: c_ast.Node, op: str, is_left: bool) -> str:
        """Return an operand, in parentheses if the precedence of operators is not obvious."""
        text = self._visit_argument(node)
        if isinstance(node, c_ast.BinaryOp):
            inner, outer = _RANKS.get(node.op, 0), _RANKS.get(op, 0)
            bare = inner > outer > 0 or (
                inner == outer and is_left and (outer > 2 or node.op == op)
            )
            return text if bare else f"({text})"
        return f"({text})" if isinstance(node, (c_ast.TernaryOp, c_ast.Assignment)) else text

    # Calls

    def visit_FuncCall(self, n: c_ast.FuncCall) -> str:
        arguments = [] if n.args is None else n.args.exprs
        function = self._resolved.calls[n]
        if isinstance(function, Twin):
            return self._twin(function, arguments)
        spaces, texts = [], []
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            text = self._argument(parameter, argument)
            if parameter.type.pointer:
                place = self._place(argument)
                assert place is not None  # a macro is not an array
                spaces.append(self._space(place[0]))
            texts.append(text)
        name, uses = self._program.form(function, tuple(spaces))
        texts += [self._name(each) for each in uses]
        texts += self._program.passed(bool(uses) or "global" in spaces)
        return f"{name}({', '.join(texts)})"

    def _argument(self, parameter: Symbol, node: c_ast.Node) -> str:
        return self._visit_argument(node)

    def _visit_argument(self, node: c_ast.Node) -> str:
        text = self.visit(node)
        return f"({text})" if isinstance(node, c_ast.ExprList) else str(text)

    def _twin(self, twin: Twin, arguments: list[c_ast.Node]) -> str:
        texts = []
        for wanted, node in zip(twin.arguments, arguments, strict=True):
            text, base = self._visit_argument(node), self._resolved.types[node].base
            if wanted == "any":
                wanted = base if base in FLOATS else "double"
            texts.append(text if base == wanted else f"({wanted})({text})")
        call = f"{twin.name}({', '.join(texts)})"
        return f"({twin.result}){call}" if twin.name == "abs" else call

    # Types, literals and statements

    def visit_Constant(self, n: c_ast.Constant) -> str:
        if "char" in n.type:
            return str(n.value)
        text = re.sub(r"(?i)ll", "L", str(n.value))
        is_float = self._resolved.types.get(n, Type("int")).base in FLOATS
        return text.rstrip("lL") if is_float else text

    def visit_Cast(self, n: c_ast.Cast) -> str:
        base = self._resolved.unit.type_of(n.to_type).base
        return f"({base}){self._parenthesize_unless_simple(n.expr)}"

    def visit_Decl(self, n: c_ast.Decl, no_type: bool = False) -> str:
        symbol = self._resolved.symbols.get(n)
        if symbol is None:
            return ""  # a prototype, or an enumeration
        text, node = self._name(symbol), n.type
        if not no_type:
            text = f"{'const ' if symbol.constant else ''}{symbol.type.base} {text}"
        for length in symbol.type.dims:
            text += f"[{length if node.dim is None else self.visit(node.dim)}]"
            node = node.type
        if n.init is None:
            return text
        initial = self.visit(n.init)
        return f"{text} = " + (f"{{{initial}}}" if isinstance(n.init, c_ast.InitList) else initial)

    def visit_Pragma(self, n: c_ast.Pragma) -> str:
        return f"#pragma {n.string}" if (n.string or "").startswith("unroll") else ""


def literal(value: Value) -> str:
    """Return a number as a literal of OpenCL C."""
    number, base = value
    if base in FLOATS:
        if number != number or number in (float("inf"), float("-inf")):
            text = "NAN" if number != number else "INFINITY"
            return f"({'-' if number < 0 else ''}{text})"
        text = f"{np.float32(number)!s}f" if base == "float" else repr(float(number))
        return f"({text})" if number < 0 else text
    if number == -(2**63):
        return "(-9223372036854775807L - 1)"
    if number == -(2**31) and base == "int":
        return "(-2147483647 - 1)"
    suffix = {"uint": "u", "long": "L", "ulong": "UL"}.get(base, "")
    return f"({number}{suffix})" if number < 0 else f"{number}{suffix}"
