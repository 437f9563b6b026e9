"""Insert probes into OpenCL C: counters of basic blocks, clocks, or records of accesses.

A program is parsed with its types (`opencl_c`), and text is inserted into it. Each kernel gets
three arguments more: the memory of the trace, its room, and that one of how many groups is
recorded. Functions of the program get the state of the item as an argument more.

The operations of a block are those of the source, before the compiler optimises: an operator, a
call of a builtin function or an access is one operation for each element of a vector. The
arithmetic of subscripts in brackets, copies between variables and conversions are none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from clang.cindex import Cursor, CursorKind, Type, TypeKind

from pyapsp.device.kernels.source import flattened
from pyapsp.profiling.edits import Edits, begin, last_child, stop
from pyapsp.profiling.opencl_c import Unit, parse
from pyapsp.profiling.opencl_types import (
    SPACES,
    VECTORS,
    Parameter,
    Space,
    class_of,
    elements_of,
    parameter_of,
    pointed,
)

__all__ = ["PROBES", "Block", "Instrumented", "Parameter", "Probe", "Site", "instrument"]

Probe = Literal["blocks", "warps", "addresses"]
PROBES: tuple[Probe, ...] = ("blocks", "warps", "addresses")
# Kinds of jumps that leave a statement.
_Jumps = frozenset[CursorKind]
_NONE: _Jumps = frozenset()

_K = CursorKind
_GENERIC = 5
_ARRAYS = (
    TypeKind.CONSTANTARRAY,
    TypeKind.INCOMPLETEARRAY,
    TypeKind.VARIABLEARRAY,
    TypeKind.DEPENDENTSIZEDARRAY,
)
_ARITHMETIC = ("int", "float", "double", "half", "special")
_FREE = re.compile(
    r"get_\w+|as_\w+|convert_\w+|mem_fence|read_mem_fence|write_mem_fence|atomic_work_item_fence"
    r"|prefetch|__builtin_prefetch|printf|__builtin_\w*(assume|expect|unreachable)\w*"
)
_BARRIERS = ("barrier", "work_group_barrier", "sub_group_barrier")
_SPECIAL = re.compile(
    r"(native_|half_)\w+|a?(sin|cos|tan)(h|pi)?|atan2(pi)?|sincos|(r|c)?(sq|b)rt|pow[nr]?|rootn"
    r"|exp(2|10|m1)?|log(2|10|1p|b)?|erfc?|[tl]gamma(_r)?|hypot|fmod|remainder|remquo"
)
_ATOMIC = re.compile(r"atom(ic)?_\w+")
_VECTOR_ACCESS = re.compile(r"v(load|store)(a?_half)?(\d*)\w*")
_GROUP_COPY = re.compile(r"async_work_group_\w+|wait_group_events")
# Builtin functions that write to memory through a pointer, but are no accesses here.
_OUT = re.compile(r"fract|modf|sincos|frexp|remquo|lgamma_r")


@dataclass(frozen=True)
class Block:
    """A basic block: source that runs as a whole.

    Attributes
    ----------
    function, file : str
        Where it is.
    line : int
        Of its start.
    operations : mapping of str to int
        Class -> number. Classes are int, float, double, half, special (elementary functions),
        load, store, atomic, "local load" and so on, constant, branch, barrier and assembly.
    """

    function: str
    file: str
    line: int
    operations: Mapping[str, int]

    @property
    def size(self) -> int:
        """The number of operations."""
        return sum(self.operations.values())

    @property
    def arithmetic(self) -> int:
        """The number of arithmetic operations."""
        return sum(self.operations.get(each, 0) for each in _ARITHMETIC)


@dataclass(frozen=True)
class Site:
    """A place of the source that accesses global or local memory.

    Attributes
    ----------
    file, line : str, int
        Where it is.
    text : str
        The source of the accessed expression.
    space : {"global", "local"}
    kind : {"load", "store", "update", "atomic"}
        An update is a load and a store.
    offset, size : int
        Which bytes are accessed, from the recorded address on.
    block : int
        Its block.
    """

    file: str
    line: int
    text: str
    space: str
    kind: str
    offset: int
    size: int
    block: int


@dataclass(frozen=True)
class Instrumented:
    """A program with probes.

    Attributes
    ----------
    text : str
        OpenCL C for the compiler of the device.
    blocks : tuple of Block
    sites : tuple of Site
    kernels : mapping of str to tuple of Parameter
    """

    text: str
    blocks: tuple[Block, ...]
    sites: tuple[Site, ...]
    kernels: Mapping[str, tuple[Parameter, ...]]


def instrument(
    source: str,
    probe: Probe,
    defines: Mapping[str, str | int] | None = None,
    *,
    standard: str | None = None,
    name: str = "<source>",
    clock: str = "profiling/clock.cl",
) -> Instrumented:
    """Return a program with probes.

    Blocks and sites are the same with all probes.

    Parameters
    ----------
    source : str
        OpenCL C; ``#include`` must have been replaced.
    probe : {"blocks", "warps", "addresses"}
        What is recorded; `cl/profiling/probes.h` says how.
    defines : mapping of str to str or int, optional
        Macros that the compiler of the device would predefine.
    standard : str or None
        As for `pyapsp.device.kernels.build`.
    name : str
        The file, for messages.
    clock : str
        The kernel file with the clock of the device.

    Raises
    ------
    ProgramError
        If the program is not OpenCL C, or has a construct that is not supported: goto, statement
        expressions, kernels that are called, copies by groups, pointers without a known address
        space.
    """
    return _instrumented(
        source, probe, tuple((defines or {}).items()), standard, name, flattened(clock)
    )


@lru_cache(64)
def _instrumented(
    source: str,
    probe: Probe,
    defines: tuple[tuple[str, str | int], ...],
    standard: str | None,
    name: str,
    clock: str,
) -> Instrumented:
    unit = parse(source, dict(defines), standard, name)
    writer = _Writer(unit, probe)
    for function in unit.functions():
        writer.function(function)
    head = f"#define PYAPSP_PROBE {PROBES.index(probe) + 1}\n"
    head += (clock + "\n" if probe == "warps" else "") + flattened("profiling/probes.h")
    return Instrumented(
        f"{head}\n{writer.edits.text()}\n",
        tuple(
            Block(each.function, *unit.place(each.line), dict(each.operations))
            for each in writer.blocks
        ),
        tuple(writer.sites),
        writer.kernels,
    )


@dataclass
class _Open:
    """A block whose operations are still counted."""

    function: str
    line: int
    operations: Counter[str] = field(default_factory=Counter)


class _Writer:
    """The walk through the tree of a program."""

    def __init__(self, unit: Unit, probe: Probe) -> None:
        self.blocks: list[_Open] = []
        self.sites: list[Site] = []
        self.kernels: dict[str, tuple[Parameter, ...]] = {}
        self._unit, self._probe = unit, probe
        self._source = unit.text
        self.edits = Edits(unit.text)
        self._functions = {each.spelling: _is_kernel(each, unit.text) for each in unit.functions()}
        self._name, self._kernel = "", False
        self._block = 0
        self._loops = 0
        self._depth = 0
        self._path = "profile_p0"

    def _around(self, node: Cursor, before: str) -> None:
        """Insert text with an opening parenthesis; the caller closes it after the children."""
        self.edits.before(begin(node), before)

    # Functions

    def function(self, node: Cursor) -> None:
        """Edit a function and count its operations."""
        body = next(each for each in node.get_children() if each.kind == _K.COMPOUND_STMT)
        self._name, self._kernel = node.spelling, self._functions[node.spelling]
        self._path, self._depth = "profile_p0", 0
        self._parameters(node)
        self._new(body)
        inside = begin(body) + 1
        if self._kernel:
            self.kernels[node.spelling] = tuple(map(parameter_of, node.get_arguments()))
            self.edits.before(
                inside,
                "profile_t profile_s = profile_start(profile_out, profile_room, profile_every); "
                "profile_t *const profile_ = &profile_s; ",
            )
            if self._probe == "addresses":
                self.edits.before(inside, "const ulong profile_p0 = 0; ")
        self._count_here(inside)
        self._compound(body)
        if self._kernel and self._probe == "warps":
            self.edits.after(stop(body) - 1, " profile_end(profile_); ")

    def _parameters(self, node: Cursor) -> None:
        """Add the parameters of the probes."""
        more = "profile_t *profile_"
        if self._functions[node.spelling]:
            more = "__global uint *profile_out, const uint profile_room, const uint profile_every"
        elif self._probe == "addresses":
            more += ", const ulong profile_p0"
        opening = self._source.index("(", node.location.offset)
        closing = self.edits.closing(opening)
        inner = self._source[opening + 1 : closing].strip()
        if inner in ("", "void"):
            self.edits.replace(opening + 1, closing, more)
        else:
            self.edits.after(closing, f", {more}")

    # Blocks

    def _new(self, node: Cursor) -> int:
        """Begin a block, which what follows belongs to."""
        self.blocks.append(_Open(self._name, node.location.line))
        self._block = len(self.blocks) - 1
        return self._block

    def _count_here(self, place: int) -> None:
        if self._probe == "blocks":
            self.edits.before(place, f"profile_block(profile_, {self._block}); ")

    def _counted(self, node: Cursor) -> None:
        """Visit an expression that is a block of its own: it may be evaluated or not."""
        if not _computes(node):
            self._value(node)
            return
        self._new(node)
        wrapped = self._probe == "blocks"
        if wrapped:
            self._around(node, f"(profile_block(profile_, {self._block}), ")
        self._value(node)
        if wrapped:
            self.edits.after(stop(node), ")")

    def _add(self, kind: str, count: int = 1) -> None:
        self.blocks[self._block].operations[kind] += count

    def _add_typed(self, kind: Type) -> None:
        self._add(*class_of(kind))

    # Statements; each returns the jumps that leave it

    def _statement(self, node: Cursor, start: int | None = None) -> _Jumps:
        start = begin(node) if start is None else start
        kind = node.kind
        if kind == _K.COMPOUND_STMT:
            return self._compound(node)
        if kind == _K.UNEXPOSED_STMT:  # attributes or a pragma before a statement
            return self._statement(last_child(node), min(start, begin(node)))
        if kind == _K.DECL_STMT:
            for each in node.get_children():
                self._declaration(each)
        elif kind == _K.IF_STMT:
            return self._if(node)
        elif kind in (_K.FOR_STMT, _K.WHILE_STMT, _K.DO_STMT):
            return self._loop(node, self.edits.with_pragmas(start))
        elif kind == _K.SWITCH_STMT:
            return self._switch(node)
        elif kind in (_K.CASE_STMT, _K.DEFAULT_STMT):
            return self._case(node)
        elif kind in (_K.BREAK_STMT, _K.CONTINUE_STMT):
            return frozenset((kind,))
        elif kind == _K.RETURN_STMT:
            for each in node.get_children():
                self._value(each)
            if self._kernel and self._probe == "warps":
                self.edits.before(start, "{ profile_end(profile_); ")
                self.edits.after(self.edits.end_of(node), " }")
            return frozenset((kind,))
        elif kind in (_K.GOTO_STMT, _K.LABEL_STMT, _K.INDIRECT_GOTO_STMT):
            raise self._unit.error(node, "goto and labels are not supported in a profile")
        elif kind == _K.ASM_STMT:
            self._add("assembly")
        elif kind != _K.NULL_STMT:
            self._value(node)
        return _NONE

    def _compound(self, node: Cursor) -> _Jumps:
        jumps, left = _NONE, False
        for each in node.get_children():
            if left and each.kind not in (_K.CASE_STMT, _K.DEFAULT_STMT):
                self._new(each)
                self._count_here(self.edits.with_pragmas(begin(each)))
            found = self._statement(each)
            left = bool(found)
            jumps |= found
        return jumps

    def _branch(self, node: Cursor, inside: str = "") -> _Jumps:
        """Visit a statement that is a block of its own, with text at its start."""
        self._new(node)
        compound = node.kind == _K.COMPOUND_STMT
        place = begin(node) + 1 if compound else self.edits.with_pragmas(begin(node))
        if not compound:
            self.edits.before(place, "{ ")
        if inside:
            self.edits.before(place, inside)
        self._count_here(place)
        jumps = self._statement(node)
        if not compound:
            self.edits.after(self.edits.end_of(node), " }")
        return jumps

    def _if(self, node: Cursor) -> _Jumps:
        condition, *branches = node.get_children()
        self._value(condition)
        self._add("branch")
        block, jumps = self._block, _NONE
        for each in branches:
            jumps |= self._branch(each)
        self._block = block
        return jumps

    def _loop(self, node: Cursor, start: int) -> _Jumps:
        first, condition, step, body = self._parts(node)
        block, path = self._block, self._path
        self._loops += 1
        turn, inner = f"profile_n{self._depth}", f"profile_p{self._depth + 1}"
        here = f"profile_mix({path}, {self._loops}, {turn}"
        traced = self._probe == "addresses"
        if traced:
            self.edits.before(start, f"{{ uint {turn} = 0;\n")
        if first is not None:
            if first.kind == _K.DECL_STMT:
                self._statement(first)
            else:
                self._value(first)
        self._depth += 1
        parts = [condition, body, step]
        for each in parts if node.kind != _K.DO_STMT else [body, condition]:
            if each is None:
                continue
            if each is body:
                self._path = inner
                jumps = self._branch(body, f"const ulong {inner} = {here}++); " if traced else "")
            else:
                self._path = f"{here})"
                self._counted(each)
                if each is condition:
                    self._add("branch")
        self._depth -= 1
        self._block, self._path = block, path
        if traced:
            self.edits.after(self.edits.end_of(node), " }")
        return jumps & {_K.RETURN_STMT}

    def _parts(self, node: Cursor) -> tuple[Cursor | None, Cursor | None, Cursor | None, Cursor]:
        """Return initialisation, condition, step and body of a loop."""
        children = list(node.get_children())
        if node.kind == _K.WHILE_STMT:
            return None, children[0], None, children[1]
        if node.kind == _K.DO_STMT:
            return None, children[1], None, children[0]
        opening = self._source.index("(", begin(node))
        ends = self.edits.semicolons(opening)
        parts: list[Cursor | None] = [None, None, None]
        for each in children[:-1]:
            parts[sum(begin(each) > end for end in ends)] = each
        return parts[0], parts[1], parts[2], children[-1]

    def _switch(self, node: Cursor) -> _Jumps:
        value, body = node.get_children()
        self._value(value)
        self._add("branch")
        block = self._block
        jumps = self._statement(body)
        self._block = block
        return jumps - {_K.BREAK_STMT}

    def _case(self, node: Cursor) -> _Jumps:
        """Visit what follows a label of a switch: a block that earlier cases may fall into."""
        inner = last_child(node)
        if inner.kind in (_K.CASE_STMT, _K.DEFAULT_STMT):
            return self._case(inner)
        self._new(inner)
        self._count_here(self.edits.with_pragmas(begin(inner)))
        return self._statement(inner)

    def _declaration(self, node: Cursor) -> None:
        if node.kind != _K.VAR_DECL:
            return
        text = self._source
        start = node.location.offset
        for each in node.get_children():
            if "=" in text[start : begin(each)] and each.kind != _K.TYPE_REF:
                self._value(each)

    # Expressions

    def _value(self, node: Cursor) -> None:
        self._expression(node, "load")

    def _expression(self, node: Cursor, role: str) -> None:
        """Visit an expression.

        `role` is what happens with what it names: "load", "store", "update", or "none" if only its
        address is used.
        """
        kind = node.kind
        children = list(node.get_children())
        if self._is_part(node, children):
            self._named(node, role)
        elif kind in (_K.UNEXPOSED_EXPR, _K.PAREN_EXPR) and len(children) == 1:
            self._expression(children[0], role)
        elif kind == _K.BINARY_OPERATOR:
            self._binary(node, *children)
        elif kind == _K.COMPOUND_ASSIGNMENT_OPERATOR:
            self._expression(children[0], "update")
            self._value(children[1])
            self._add_typed(children[0].type)
        elif kind == _K.UNARY_OPERATOR:
            self._unary(node, children[0], role)
        elif kind == _K.CONDITIONAL_OPERATOR:
            self._value(children[0])
            self._add_typed(children[1].type)
            block = self._block
            for each in children[1:]:
                self._counted(each)
                self._block = block
        elif kind == _K.CALL_EXPR:
            self._call(node)
        elif kind in (_K.ARRAY_SUBSCRIPT_EXPR, _K.MEMBER_REF_EXPR, _K.DECL_REF_EXPR):
            self._named(node, role)
        elif kind == _K.StmtExpr:
            raise self._unit.error(node, "statement expressions are not supported in a profile")
        elif kind != _K.CXX_UNARY_EXPR:  # sizeof evaluates nothing
            for each in children:
                if each.kind != _K.TYPE_REF:
                    self._value(each)

    def _is_part(self, node: Cursor, children: list[Cursor]) -> bool:
        """Whether an expression is some elements of a vector, such as v.xy."""
        return (
            node.kind == _K.UNEXPOSED_EXPR
            and len(children) == 1
            and children[0].type.get_canonical().kind in VECTORS
            and self._source[stop(children[0]) : stop(node)].lstrip(" )\n\t").startswith(".")
        )

    def _binary(self, node: Cursor, left: Cursor, right: Cursor) -> None:
        operator = self._source[stop(left) : begin(right)].strip()
        if operator == "=":
            self._expression(left, "store")
            self._value(right)
            return
        self._value(left)
        if operator in ("&&", "||"):
            self._add("int")
            block = self._block
            self._counted(right)
            self._block = block
            return
        self._value(right)
        if operator != ",":
            self._add_typed(left.type)

    def _unary(self, node: Cursor, child: Cursor, role: str) -> None:
        before = self._source[begin(node) : begin(child)].strip()
        operator = before or self._source[stop(child) : stop(node)].strip()
        if operator == "*":
            self._named(node, role)
        elif operator == "&":
            self._expression(child, "none")
        elif operator in ("++", "--"):
            self._expression(child, "update")
            self._add_typed(child.type)
        else:
            self._value(child)
            if operator in ("-", "~", "!"):
                self._add_typed(child.type)

    def _named(self, node: Cursor, role: str) -> None:
        """Visit an expression that names an object in memory."""
        space = None if role == "none" else self._space(node)
        children = list(node.get_children())
        member = node.kind == _K.MEMBER_REF_EXPR and children
        if children and children[0].type.get_canonical().kind in VECTORS:
            self._elements_of_vector(node, children, role)
            return
        if space in ("global", "local"):
            size = self._record(node, role, space, 0, node.type.get_size(), node.type)
            self._wrap(node, node.type, size)
        elif space == "constant":
            self._add("constant")
        if node.kind == _K.ARRAY_SUBSCRIPT_EXPR:
            self._value(children[0])
            self._value(children[1])
        elif member and children[0].type.get_canonical().kind != TypeKind.POINTER:
            self._expression(children[0], "none")
        elif children and node.kind != _K.DECL_REF_EXPR:
            self._value(children[0])
        if space in ("global", "local"):
            self._close(node)

    def _elements_of_vector(self, node: Cursor, children: list[Cursor], role: str) -> None:
        """Visit some elements of a vector, such as v.x or v.s01, or v[i]."""
        vector = children[0]
        while vector.kind in (_K.UNEXPOSED_EXPR, _K.PAREN_EXPR):
            (vector,) = vector.get_children()
        for each in children[1:]:
            self._value(each)
        space = None if role == "none" else self._space(vector)
        if space not in ("global", "local") or vector.kind == _K.CALL_EXPR:
            self._expression(vector, "none" if space is None else role)
            return
        whole = vector.type.get_canonical()
        item = whole.element_type.get_size()
        names = self._source[stop(vector) : stop(node)].strip(" .\n\t)")
        if children[1:]:  # any of them
            elements = list(range(whole.element_count))
        else:
            elements = elements_of(names, whole.element_count)
        offset = min(elements) * item
        size = (max(elements) + 1) * item - offset
        recorded = self._record(node, role, space, offset, size, node.type)
        self._wrap(vector, vector.type, recorded)
        self._named(vector, "none")
        self._close(vector)

    def _space(self, node: Cursor) -> Space | None:
        """Return the address space of an object; None if it is private or an array."""
        kind = node.type
        if kind.kind == TypeKind.INVALID or kind.get_canonical().kind in _ARRAYS:
            return None
        number = kind.get_address_space()
        if number == _GENERIC and self._probe == "addresses":
            raise self._unit.error(
                node, "pointers without an address space are not supported in a profile"
            )
        return SPACES.get(number)

    def _record(
        self, node: Cursor, role: str, space: str, offset: int, size: int, kind: Type | None
    ) -> int:
        """Add a site, and return its number."""
        many = class_of(kind)[1] if kind is not None else 1
        for each in ("load", "store") if role == "update" else (role,):
            self._add(each if space == "global" else f"local {each}", many)
        text = " ".join(self._source[begin(node) : stop(node)].split())
        where = self._unit.place(node.location.line)
        self.sites.append(Site(*where, text, space, role, offset, size, self._block))
        return len(self.sites) - 1

    def _wrap(self, node: Cursor, kind: Type, site: int) -> None:
        """Let an object be reached through a probe, which records its address."""
        if self._probe == "addresses":
            self.edits.before(
                begin(node), f"(*({self._pointer_to(node, kind)}){self._access(site)}&("
            )

    def _close(self, node: Cursor) -> None:
        if self._probe == "addresses":
            self.edits.after(stop(node), ")))")

    def _access(self, site: int) -> str:
        return f"profile_access(profile_, {site}, {self._path}, (ulong)(size_t)"

    def _pointer_to(self, node: Cursor, kind: Type) -> str:
        spelling: str = kind.spelling
        if "unnamed" in spelling or "anonymous" in spelling:
            raise self._unit.error(node, "accesses to structs without a name are not supported")
        return f"{spelling} *"

    # Calls

    def _call(self, node: Cursor) -> None:
        name, given = node.spelling, list(node.get_arguments())
        if name in self._functions:
            if self._functions[name]:
                raise self._unit.error(node, f"the kernel {name} is called by a function")
            self._add("branch")
            more = "profile_"
            if self._probe == "addresses":
                self._loops += 1
                more += f", profile_mix({self._path}, {self._loops}, 0)"
            for each in given:
                self._value(each)
            self.edits.after(stop(node) - 1, f", {more}" if given else more)
        elif _GROUP_COPY.fullmatch(name):
            raise self._unit.error(node, f"{name} is not supported in a profile")
        elif name in _BARRIERS:
            self._add("barrier")
            timed = self._probe == "warps" and name != "sub_group_barrier"
            if timed:
                self._around(node, "(profile_wait(profile_), ")
            for each in given:
                self._value(each)
            if timed:
                self.edits.after(stop(node), ", profile_go(profile_))")
        elif match := _VECTOR_ACCESS.fullmatch(name):
            self._vector_access(node, given, match[1], match[2] or "", int(match[3] or 1))
        elif _ATOMIC.fullmatch(name) and name != "atomic_work_item_fence":
            self._atomic(node, given)
        else:
            self._builtin(node, name, given)

    def _builtin(self, node: Cursor, name: str, given: list[Cursor]) -> None:
        for each in given:
            if _OUT.fullmatch(name) and pointed(each.type)[1]:
                raise self._unit.error(node, f"{name} with a result in shared memory")
            self._value(each)
        if _SPECIAL.fullmatch(name):
            self._add("special", class_of(node.type)[1])
        elif not _FREE.fullmatch(name) and node.type.kind != TypeKind.VOID:
            self._add_typed(node.type)

    def _atomic(self, node: Cursor, given: list[Cursor]) -> None:
        pointer, *others = given
        kind, target, space = pointer.type, *pointed(pointer.type)
        if space is None:
            raise self._unit.error(node, "atomic operations need a known address space")
        site = self._record(pointer, "atomic", space, 0, max(target.get_size(), 4), None)
        if self._probe == "addresses":
            self.edits.before(begin(pointer), f"(({kind.spelling}){self._access(site)}(")
        self._value(pointer)
        if self._probe == "addresses":
            self.edits.after(stop(pointer), ")))")
        for each in others:
            self._value(each)

    def _vector_access(
        self, node: Cursor, given: list[Cursor], what: str, half: str, many: int
    ) -> None:
        """Visit a vload or vstore: its offset counts vectors."""
        offset, pointer = given[-2:]
        kind, target, space = pointer.type, *pointed(pointer.type)
        size = many * target.get_size()
        step = 4 * size // 3 if many == 3 and half.startswith("a") else size
        for each in given:
            if each != offset and each != pointer:
                self._value(each)
        if space in ("global", "local"):
            site = self._record(node, what, space, 0, size, None)
            self._add(what if space == "global" else f"local {what}", many - 1)
            if self._probe == "addresses":
                start = f"0, ({kind.spelling})profile_access(profile_, {site}, {self._path}, "
                self.edits.before(begin(offset), f"{start}profile_at(")
                self.edits.before(begin(pointer), "(ulong)(size_t)(")
        elif space == "constant":
            self._add("constant", many)
        self._value(offset)
        self._value(pointer)
        if space in ("global", "local") and self._probe == "addresses":
            self.edits.after(stop(pointer), f"), {step}))")


def _is_kernel(node: Cursor, text: str) -> bool:
    """Whether a function is a kernel: the parser does not tell."""
    return re.search(r"\b(__)?kernel\b", text[begin(node) : node.location.offset]) is not None


def _computes(node: Cursor) -> bool:
    """Whether an expression has operations."""
    return any(
        each.kind
        in (
            _K.BINARY_OPERATOR,
            _K.COMPOUND_ASSIGNMENT_OPERATOR,
            _K.UNARY_OPERATOR,
            _K.CONDITIONAL_OPERATOR,
            _K.CALL_EXPR,
            _K.ARRAY_SUBSCRIPT_EXPR,
            _K.MEMBER_REF_EXPR,
        )
        for each in node.walk_preorder()
    )
