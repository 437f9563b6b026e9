"""Parse a C file: its syntax tree, its variables, and the function to be run in bulk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from pyapsp.base.errors import ProgramError
from pyapsp.bulk.constants import NotConstantError, Value, evaluate, parse_expression
from pyapsp.bulk.library import CONSTANTS
from pyapsp.bulk.preprocess import Text, preprocess
from pyapsp.bulk.scalars import BYTES, TYPEDEFS, Type, base_of

__all__ = ["Symbol", "Unit", "read"]

_OPAQUE = ("FILE", "time_t", "clock_t", "va_list")
_PRELUDE = "".join(f"typedef int {name};" for name in (*TYPEDEFS, *_OPAQUE))
_PLACE = re.compile(r"(.*?):(\d+):(\d+): (.*)", re.DOTALL)


@dataclass(eq=False)
class Symbol:
    """A variable."""

    name: str  # its name in the C program
    type: Type
    # "array": a global variable, also a scalar, of which each instance has its own copy; "table": a
    # shared constant with initial values; "local", "parameter": of a function.
    role: str
    node: c_ast.Decl
    constant: bool = False  # whether it is declared const


@dataclass
class Unit:
    """A parsed C file."""

    path: str
    text: Text
    functions: dict[str, c_ast.FuncDef] = field(default_factory=dict)
    # The global variables, in the order of the file.
    variables: dict[str, Symbol] = field(default_factory=dict)
    # Global variables of unsupported types: the error to raise if one is used.
    refused: dict[str, ProgramError] = field(default_factory=dict)
    # Constant macros and enumerators of the file.
    constants: dict[str, Value] = field(default_factory=dict)
    enumerators: set[str] = field(default_factory=set)  # the names of the enumerators
    enums: dict[str, str] = field(default_factory=dict)  # the type of each named enumeration
    # Names of arithmetic types.
    typedefs: dict[str, str] = field(default_factory=lambda: dict(TYPEDEFS))
    entry: str = ""  # the function after `#pragma kernel`

    def error(self, node: c_ast.Node | None, message: str) -> ProgramError:
        """Return an error at the place of a node."""
        if node is None or node.coord is None:
            return ProgramError(message, self.path)
        path, line = str(node.coord.file), node.coord.line
        column = None
        if node.coord.column is not None:
            column = self.text.column(path, line, node.coord.column)
        return ProgramError(message, path, line, column)

    def value(self, node: c_ast.Node) -> Value:
        """Return the value of a constant expression.

        Raises
        ------
        NotConstantError
            The expression is not constant.
        """
        return evaluate(node, self._named)

    def _named(self, node: c_ast.Node) -> Value:
        if isinstance(node, c_ast.ID):
            for known in (self.constants, CONSTANTS):
                if node.name in known and node.name not in self.variables:
                    return known[node.name]
            symbol = self.variables.get(node.name)
            if symbol is not None and symbol.role == "table" and symbol.type.is_scalar:
                return self.value(symbol.node.init)
        is_size = isinstance(node, c_ast.UnaryOp) and node.op == "sizeof"
        if is_size and isinstance(node.expr, c_ast.Typename):
            kind = self.type_of(node.expr)
            return kind.size * BYTES[kind.base], "ulong"
        raise NotConstantError(node)

    def type_of(self, decl: c_ast.Decl | c_ast.Typename, *, parameter: bool = False) -> Type:
        """Return the type of a declaration.

        Raises
        ------
        ProgramError
            The type is not supported.
        """
        node, dims, pointer = decl.type, [], False
        if parameter and isinstance(node, (c_ast.PtrDecl, c_ast.ArrayDecl)):
            node, pointer = node.type, True
        while isinstance(node, c_ast.ArrayDecl):
            dims.append(self._length(node, decl))
            node = node.type
        if isinstance(node, c_ast.PtrDecl):
            raise self.error(
                decl,
                "pointer variables are not supported: where they point could depend on data; "
                "use subscripts",
            )
        if isinstance(node, c_ast.TypeDecl) and isinstance(node.type, c_ast.Enum):
            return Type(self._base_of_enum(node.type), tuple(dims), pointer)
        if not isinstance(node, c_ast.TypeDecl) or not isinstance(node.type, c_ast.IdentifierType):
            kind = type(getattr(node, "type", node)).__name__.lower()
            raise self.error(decl, f"only arithmetic types and arrays are supported, not {kind}")
        base = base_of(node.type.names, self.typedefs)
        if base is None or (base == "void" and (dims or pointer)):
            raise self.error(decl, f"the type {' '.join(node.type.names)!r} is not supported")
        return Type(base, tuple(dims), pointer)

    def _base_of_enum(self, node: c_ast.Enum) -> str:
        """Return the type of an enumeration, that of GCC and Clang."""
        if node.values is None:
            if node.name not in self.enums:
                raise self.error(node, f"enum {node.name} is not defined")
            return self.enums[node.name]
        values = [self.constants[each.name][0] for each in node.values.enumerators]
        return "int" if min(values) < 0 else "uint"

    def enumerate(self, node: c_ast.Node) -> None:
        """Add the enumerators in a node; those in functions are known in the whole file.

        Raises
        ------
        ProgramError
            One is no whole number of 32 bits, or its name is taken.
        """
        if isinstance(node, c_ast.Enum) and node.values is not None:
            value = -1
            for each in node.values.enumerators:
                value = value + 1 if each.value is None else self._enumerator(each)
                known = self.constants.get(each.name, (value, "int"))
                if known != (value, "int") or each.name in self.variables:
                    raise self.error(each, f"the name {each.name} is taken")
                if not -(2**31) <= value < 2**31:
                    raise self.error(each, "an enumerator must fit into int")
                self.constants[each.name] = value, "int"
                self.enumerators.add(each.name)
            if node.name is not None:
                self.enums[node.name] = self._base_of_enum(node)
        for _, child in node.children():
            self.enumerate(child)

    def _enumerator(self, node: c_ast.Enumerator) -> int:
        try:
            value = self.value(node.value)[0]
        except NotConstantError:
            value = None
        if not isinstance(value, int):
            raise self.error(node, "an enumerator must be a constant whole number")
        return value

    def _length(self, node: c_ast.ArrayDecl, decl: c_ast.Decl) -> int:
        try:
            if node.dim is None and isinstance(decl.init, c_ast.InitList):
                return len(decl.init.exprs)
            number = 0 if node.dim is None else self.value(node.dim)[0]
        except NotConstantError:
            raise self.error(node.dim, "the length of an array must be constant") from None
        if not isinstance(number, int) or number < 1:
            raise self.error(decl, "the length of an array must be a positive whole number")
        return number


def read(path: str, defines: Mapping[str, str | int | float]) -> Unit:
    """Parse a C file and find its global variables and functions.

    Parameters
    ----------
    path : str
    defines : mapping of str to str, int or float
        Macros defined before the first line.

    Raises
    ------
    ProgramError
        The file is not valid C, or has no ``#pragma kernel``.
    OSError
        The file cannot be read.
    """
    unit = Unit(path, preprocess(path, defines))
    for name, body in unit.text.constants.items():
        unit.constants[name] = unit.value(parse_expression(body))
    try:
        tree = CParser().parse(f"{_PRELUDE}\n{unit.text.text}", path)
    except ParseError as error:
        raise _syntax_error(unit, str(error)) from None
    entries = list(_entries(unit, tree))
    for node in tree.ext:
        unit.enumerate(node)
        if isinstance(node, c_ast.FuncDef):
            unit.functions[node.decl.name] = node
        elif isinstance(node, c_ast.Typedef) and isinstance(node.type, c_ast.TypeDecl):
            if isinstance(node.type.type, c_ast.Enum):
                unit.typedefs[node.name] = unit.type_of(node).base
            elif isinstance(node.type.type, c_ast.IdentifierType) and node.name not in TYPEDEFS:
                base = base_of(node.type.type.names, unit.typedefs)
                unit.typedefs |= {node.name: base} if base else {}
        elif (
            isinstance(node, c_ast.Decl) and node.name and not isinstance(node.type, c_ast.FuncDecl)
        ):
            _declare(unit, node)
    if len(entries) != 1:
        several = "several calls have" if entries else "no call has"
        raise unit.error(
            entries[1][0] if entries else None,
            f"{several} '#pragma kernel' in the line before; exactly one must have it",
        )
    place, unit.entry = entries[0]
    if unit.entry not in unit.functions:
        raise unit.error(place, f"the function {unit.entry} is not defined in this file")
    return unit


def _declare(unit: Unit, node: c_ast.Decl) -> None:
    """Add a global variable."""
    try:
        kind = unit.type_of(node)
    except ProgramError as error:
        unit.refused[node.name] = error
        return
    constant = "const" in node.quals or "const" in _innermost(node).quals
    role = "table" if constant and node.init is not None else "array"
    before = unit.variables.get(node.name)
    if before is None or before.node.init is None:
        unit.variables[node.name] = Symbol(node.name, kind, role, node, constant)


def _innermost(node: c_ast.Node) -> c_ast.TypeDecl:
    while not isinstance(node, c_ast.TypeDecl):
        node = node.type
    return node


def _entries(unit: Unit, tree: c_ast.Node) -> Iterator[tuple[c_ast.Node, str]]:
    """Yield place and name of each function that follows ``#pragma kernel``."""
    items = list(dict(tree.children()).values())
    for node, following in zip_longest(items, items[1:]):
        if isinstance(node, c_ast.Pragma) and (node.string or "").split() == ["kernel"]:
            if isinstance(following, c_ast.FuncDef):
                yield node, following.decl.name
            elif isinstance(following, c_ast.FuncCall) and isinstance(following.name, c_ast.ID):
                if following.args is not None:
                    raise unit.error(
                        following,
                        "the function run in bulk takes no arguments: its inputs are the global "
                        "variables",
                    )
                yield node, following.name.name
            else:
                raise unit.error(
                    node, "after '#pragma kernel' comes the call, or the definition, of a function"
                )
        yield from _entries(unit, node)


def _syntax_error(unit: Unit, text: str) -> ProgramError:
    match = _PLACE.match(text)
    if match is None:
        return ProgramError(f"not valid C: {text.removeprefix(f'{unit.path}: ')}", unit.path)
    path, line, column = match[1], int(match[2]), int(match[3])
    column = unit.text.column(path, line, column)
    return ProgramError(f"not valid C here ({match[4]})", path, line, column)
