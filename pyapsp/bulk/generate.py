"""Write OpenCL C for the bulk execution of a program, with one work-item for each instance."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from pycparser import c_ast

from pyapsp.bulk.body import Body, literal
from pyapsp.bulk.frontend import Symbol
from pyapsp.bulk.library import CONSTANTS, is_reserved, is_word
from pyapsp.bulk.oblivious import Accesses
from pyapsp.bulk.resolve import Function, Resolved

__all__ = ["ARRANGEMENTS", "Arrangement", "Array", "Generator", "generate"]

Arrangement: TypeAlias = Literal["column", "row"]
ARRANGEMENTS: tuple[Arrangement, ...] = ("column", "row")

_ADDRESSES = {
    "column": (
        "element i of instance j is at i * instances + j, so that neighbouring\n"
        " *           work-items access neighbouring addresses",
        "#define AT(i) ((int)(i) * instances)",
    ),
    "row": (
        "element i of instance j is at j * size + i, the arrays one after the\n *           other",
        "#define AT(i) (i)",
    ),
}
_WIDTH = 96
_OWN_NAMES = frozenset({"AT", "bulk", "instance", "instances"})


@dataclass(frozen=True)
class Array:
    """A global variable of the program, of which every instance has its own copy."""

    name: str
    dtype: np.dtype[np.generic]
    # Shape for one instance; () for a scalar.
    shape: tuple[int, ...]
    # Whether the program reads it, and whether it writes to it.
    loaded: bool
    stored: bool
    # Its initial values in the C program; elements after these are 0.
    initial: tuple[int | float, ...] = ()

    @property
    def size(self) -> int:
        """Number of elements of one instance."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Number of bytes of one instance."""
        return self.size * self.dtype.itemsize


def generate(
    resolved: Resolved, accesses: Accesses, arrays: Iterable[Array], arrangement: Arrangement
) -> str:
    """Return the OpenCL C of a program.

    Parameters
    ----------
    resolved : Resolved
    accesses : Accesses
        The accesses of the program to its arrays.
    arrays : iterable of Array
        The arguments of the kernel after the number of instances, in this order.
    arrangement : {"column", "row"}

    Returns
    -------
    str
        The text, with one kernel ``bulk(int instances, <arrays>)``.
    """
    return Generator(resolved, accesses, arrangement).text(list(arrays))


class Generator:
    """Collects the functions of the program, one version for each kind of call.

    Attributes
    ----------
    memory : str
        The address space of its arrays.
    purpose : str
        The purpose, as a comment at the top of the text.
    body : type of Body
    """

    memory = "global"
    purpose = "One work-item runs the program for one instance."
    body: type[Body] = Body

    def __init__(self, resolved: Resolved, accesses: Accesses, arrangement: Arrangement) -> None:
        self.resolved, self.unit = resolved, resolved.unit
        self.column = arrangement == "column"
        self._layout, self.macro = _ADDRESSES[arrangement]
        self._arrangement = arrangement
        self._readonly = accesses.loaded - accesses.stored - set(_passed(resolved))
        self._forms: dict[tuple[Function, tuple[str, ...]], tuple[str, list[Symbol]]] = {}
        self._functions: list[str] = []
        self.constants: dict[str, None] = {}
        self.tables: dict[Symbol, None] = {}
        used = accesses.loaded | accesses.stored
        self.arrays = [each for each in self.unit.variables.values() if each in used]
        self._taken = {each.name for each in self.unit.variables.values()} | _OWN_NAMES

    def text(self, arrays: list[Array]) -> str:
        """Return the whole text."""
        name, uses = self.form(self.resolved.entry, ())
        tables = [self._table(symbol) for symbol in self.tables]
        lines = [
            f"/* {name} of {Path(self.unit.path).name}, for many instances at once.",
            " *",
            f" * Purpose   {self.purpose}",
            " *",
            f" * Layout    {self._arrangement}-wise: {self._layout}.",
            " *",
            *(f" *             {_described(each)}" for each in arrays),
            " */",
            "#pragma OPENCL FP_CONTRACT OFF",
        ]
        if self._has_double():
            lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
        lines += ["", *self._constant_lines(), self.macro, "", *tables, *([""] if tables else [])]
        return "\n".join([*lines, *self._functions, self.kernel(name, uses)]) + "\n"

    def form(self, function: Function, spaces: tuple[str, ...]) -> tuple[str, list[Symbol]]:
        """Return the name of a function for arrays in these address spaces, and what it uses.

        Its text is written at the first request, after those of the functions it calls.
        """
        key = function, spaces
        if key not in self._forms:
            body = self.body(self, function, spaces)
            text = body.text()
            name = self.name_of(function.name)
            if any(other is function for other, _ in self._forms):
                name += "_" + "_".join(spaces)
            uses = [each for each in self.arrays if each in body.uses]
            head = [body.parameter(each) for each in function.parameters]
            head += [self.declared(each) for each in uses]
            head += self.passed(bool(uses) or "global" in spaces).values()
            arguments = _wrapped(f"{function.result.base} {name}(", head or ["void"])
            self._functions.append(f"{arguments})\n{text}")
            self._forms[key] = name, uses
        return self._forms[key]

    def name_of(self, name: str) -> str:
        """Return a name that is not used in OpenCL C or in the generated text."""
        while is_reserved(name) or name in _OWN_NAMES:
            name = f"c_{name}"
        return name

    def local_name(self, symbol: Symbol) -> str:
        """Return the name of a local variable, which differs from those of global variables."""
        name = symbol.name
        while is_word(name) or name in self._taken:
            name = f"c_{name}"
        return name

    def element(self, base: str) -> str:
        """Return the type of elements in the memory of the program, from their type in C."""
        return base

    def passed(self, touches: bool) -> dict[str, str]:
        """Return the additional parameters of every function."""
        return {"instances": "const int instances"} if self.column and touches else {}

    def declared(self, symbol: Symbol, *, restrict: bool = False) -> str:
        """Return the declaration of the pointer to a global variable."""
        const = "const " if symbol in self._readonly else ""
        word = "restrict " if restrict else ""
        base = self.element(symbol.type.base)
        return f"__{self.memory} {const}{base} *{word}{self.name_of(symbol.name)}"

    def first(self, symbol: Symbol) -> str:
        """Return the address of an instance's first element."""
        stride = "instance" if self.column else f"(size_t)instance * {symbol.type.size}"
        return f"{self.name_of(symbol.name)} + {stride}"

    def kernel(self, name: str, uses: list[Symbol]) -> str:
        """Return the text of the kernel, which calls the function of this name."""
        call = ", ".join([*map(self.first, uses), *self.passed(bool(uses))])
        declared = [self.declared(each, restrict=True) for each in uses]
        head = ",\n                   ".join(["const int instances", *declared])
        return (
            f"__kernel void bulk({head})\n{{\n"
            f"    const int instance = get_global_id(0);\n"
            f"    if (instance < instances)\n"
            f"        {name}({call});\n}}"
        )

    def _constant_lines(self) -> list[str]:
        """Return the definitions of the macros that are used, directly or by other macros."""
        wanted = set(self.constants)
        for name, body in reversed(self.unit.text.constants.items()):
            if name in wanted:
                wanted |= set(re.findall(r"[A-Za-z_]\w*", body))
        lines = []
        for name, body in self.unit.text.constants.items():
            if name in wanted:
                named = re.sub(r"[A-Za-z_]\w*", self._in_macro, body)
                lines += [f"#undef {name}"] if name in CONSTANTS else []
                lines.append(f"#define {self.name_of(name)} {named}")
        return lines + [""] * bool(lines)

    def _in_macro(self, match: re.Match[str]) -> str:
        name = match[0]
        if name in self.unit.constants:
            return self.name_of(name)
        if name in CONSTANTS:
            return literal(CONSTANTS[name])
        return self.unit.typedefs.get(name, name)

    def _table(self, symbol: Symbol) -> str:
        body = Body(self, self.resolved.entry, ())
        dims = "".join(f"[{each}]" for each in symbol.type.dims)
        initial = body.visit(symbol.node.init)
        if isinstance(symbol.node.init, c_ast.InitList):
            initial = f"{{{initial}}}"
        return f"__constant {symbol.type.base} {self.name_of(symbol.name)}{dims} = {initial};"

    def _has_double(self) -> bool:
        bases = {each.base for each in self.resolved.types.values()}
        bases |= {each.type.base for each in self.resolved.symbols.values()}
        return "double" in bases


def _passed(resolved: Resolved) -> Iterable[Symbol]:
    """Yield the variables passed to functions that may write to them."""
    for call, function in resolved.calls.items():
        if isinstance(function, Function) and call.args is not None:
            for parameter, argument in zip(function.parameters, call.args.exprs, strict=True):
                if parameter.type.pointer and not parameter.constant:
                    yield from (
                        resolved.symbols[node]
                        for node in _names(argument)
                        if node in resolved.symbols
                    )


def _names(node: c_ast.Node) -> Iterable[c_ast.ID]:
    if isinstance(node, c_ast.ID):
        yield node
    for _, child in node.children():
        yield from _names(child)


def _wrapped(head: str, arguments: list[str]) -> str:
    """Return the head of a function, on several lines if it is too long for one."""
    lines = [head]
    for number, each in enumerate(arguments):
        comma = "," if number < len(arguments) - 1 else ""
        if number and len(lines[-1]) + len(each) > _WIDTH:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * len(head))
        lines[-1] += f"{each}{comma} " if comma else each
    return "\n".join(lines)


def _described(array: Array) -> str:
    dims = "".join(f"[{each}]" for each in array.shape)
    use = " and ".join(["read"] * array.loaded + ["written"] * array.stored)
    return f"{array.name}{dims}   {array.dtype}, {use}"
