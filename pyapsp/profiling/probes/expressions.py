"""Probes in the expressions of OpenCL C: operations are counted, accesses are recorded.

The operations of a block are those of the source, before the compiler optimises: an operator, a
call of a builtin function or an access is one operation for each element of a vector. The
arithmetic of subscripts in brackets, copies between variables and conversions are none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from clang.cindex import Cursor, CursorKind, Type, TypeKind

from pyapsp.profiling.probes.awaited import Awaited
from pyapsp.profiling.probes.blocks import Branch, Probe, Site
from pyapsp.profiling.probes.edits import Edits, bare, begin, stop
from pyapsp.profiling.probes.liveness import Liveness
from pyapsp.profiling.probes.loads import ATOMIC, VECTOR_ACCESS, Loads, is_load
from pyapsp.profiling.probes.opencl_c import Unit
from pyapsp.profiling.probes.opencl_types import (
    ARRAYS,
    SPACES,
    VECTORS,
    Space,
    class_of,
    elements_of,
    pointed,
)

__all__ = ["Expressions", "OpenBlock", "computes"]


_K = CursorKind
_OF_BLOCKS = ("blocks", "order")
_GENERIC = 5
# What makes an expression one that compilers do not know.
_UNKNOWN = (_K.DECL_REF_EXPR, _K.CALL_EXPR)
_FREE = re.compile(
    r"get_\w+|as_\w+|convert_\w+|mem_fence|read_mem_fence|write_mem_fence|atomic_work_item_fence"
    r"|prefetch|__builtin_prefetch|printf|__builtin_\w*(assume|expect|unreachable)\w*"
)
_BARRIERS = ("barrier", "work_group_barrier", "sub_group_barrier")
_SPECIAL = re.compile(
    r"(native_|half_)\w+|a?(sin|cos|tan)(h|pi)?|atan2(pi)?|sincos|(r|c)?(sq|b)rt|pow[nr]?|rootn"
    r"|exp(2|10|m1)?|log(2|10|1p|b)?|erfc?|[tl]gamma(_r)?|hypot|fmod|remainder|remquo"
)
# Loads and stores that are atomic: processors do these as they do others.
_ATOMIC_ACCESS = re.compile(r"atomic_(load|store)(_explicit)?")
# Builtin functions that write to memory through a pointer, but are no accesses here.
_OUT = re.compile(r"fract|modf|sincos|frexp|remquo|lgamma_r")


@dataclass
class OpenBlock:
    """A block whose operations are still counted."""

    function: str
    line: int
    branch: Branch | None = None
    operations: Counter[str] = field(default_factory=Counter)
    vectors: Counter[str] = field(default_factory=Counter)
    minima: Counter[str] = field(default_factory=Counter)
    divisions: int = 0
    saved: int = 0
    control: int | None = None
    around: int | None = None
    carried: tuple[float, float] = (0.0, 0.0)


class Expressions:
    """The walk through the expressions of a program.

    Attributes
    ----------
    blocks : list of OpenBlock
    sites : list of Site
    edits : Edits
        The probes.
    awaited : Awaited
        What its branches wait for.

    Parameters
    ----------
    unit : Unit
        The program.
    probe : {"blocks", "warps", "addresses", "order"}
    """

    def __init__(self, unit: Unit, probe: Probe) -> None:
        self.blocks: list[OpenBlock] = []
        self.sites: list[Site] = []
        self._unit, self._probe = unit, probe
        self._source = unit.text
        self.edits = Edits(unit.text)
        self._functions = {each.spelling for each in unit.functions()}
        self._name, self._kernel = "", False
        self._block = 0
        self._loops = 0
        self._path = "profile_p0"
        self._live: Liveness | None = None
        self._unrolled: int | None = None  # the block around a loop that is unrolled
        # the places of the pointers of atomic operations whose results are not used
        self._unused: set[int] = set()
        self._loads = Loads(unit)
        self.awaited = Awaited()
        self._divided: set[tuple[str, ...]] = set()  # function, dividend and divisor
        # Operands of `&&` -> their blocks; and the `&&` that are the conditions of loops.
        self._operands: dict[int, int] = {}
        self._of_loops: set[int] = set()

    def _around(self, node: Cursor, before: str) -> None:
        """Insert text with an opening parenthesis; the caller closes it after the children."""
        self.edits.before(begin(node), before)

    # Blocks

    def _new(self, node: Cursor, branch: Branch | None = None) -> int:
        """Begin a block, which what follows belongs to."""
        block = OpenBlock(self._name, node.location.line, branch, around=self._unrolled)
        self.blocks.append(block)
        self._block = len(self.blocks) - 1
        return self._block

    def _count_here(self, place: int) -> None:
        if self._probe in _OF_BLOCKS:
            self.edits.before(place, f"profile_block(profile_, {self._block}); ")

    def _counted(self, node: Cursor, branch: Branch | None = None) -> None:
        """Visit an expression that is a block of its own: it may be evaluated or not."""
        if not computes(node):
            self._value(node)
            return
        self._new(node, branch)
        wrapped = self._probe in _OF_BLOCKS
        if wrapped:
            self._around(node, f"(profile_block(profile_, {self._block}), ")
        self._value(node)
        if wrapped:
            self.edits.after(stop(node), ")")

    def _add(self, kind: str, count: int = 1) -> None:
        block = self.blocks[self._block]
        block.operations[kind] += count
        if count > 1:
            block.vectors[kind] += count

    def _add_typed(self, kind: Type) -> None:
        self._add(*class_of(kind))

    def _operation(self, node: Cursor, kind: Type) -> None:
        """Count an operation on a type, and note that it is that of an expression."""
        self._add_typed(kind)
        self.awaited.operation(node, class_of(kind)[0])

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
            self._operation(node, children[0].type)
            operator = self._source[stop(children[0]) : begin(children[1])].strip()
            self._note_division(operator.removesuffix("="), *children)
            self._assigned(children[0], node)
        elif kind == _K.UNARY_OPERATOR:
            self._unary(node, children[0], role)
        elif kind == _K.CONDITIONAL_OPERATOR:
            self._value(children[0])
            self._operation(node, children[1].type)
            self._note_minimum(*children)
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

    def _note_division(self, operator: str, left: Cursor, right: Cursor) -> None:
        """Note a division of integers by a number that no compiler knows.

        Quotient and remainder of two numbers are one operation.
        """
        name, many = class_of(left.type)
        known = not any(each.kind in _UNKNOWN for each in right.walk_preorder())
        if operator not in ("/", "%") or name != "int" or known:
            return
        divided = self._name, self._text(left), self._text(right)
        if divided not in self._divided:
            self._divided.add(divided)
            self.blocks[self._block].divisions += many

    def _note_minimum(self, condition: Cursor, *ways: Cursor) -> None:
        """Note that the comparison and the choice of a minimum of vectors are one operation."""
        condition = bare(condition)
        if condition.kind != _K.BINARY_OPERATOR:
            return
        compared = tuple(condition.get_children())
        name, many = class_of(ways[0].type)
        if many > 1 and {*map(self._text, compared)} == {*map(self._text, ways)}:
            self.blocks[self._block].minima[name] += many

    def _text(self, node: Cursor) -> str:
        """Return the source of an expression without parentheses around it."""
        node = bare(node)
        return self._source[begin(node) : stop(node)]

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
            self._assigned(left, right)
            return
        self._value(left)
        if operator in ("&&", "||"):
            self._add("int")
            block, following = self._block, len(self.blocks)
            before = self._decider(left) if operator == "&&" else block
            branch = Branch(before, awaits=self.awaited.of_branch(left))
            self._counted(right, None if node.hash in self._of_loops else branch)
            self.awaited.way(right)
            if operator == "&&" and len(self.blocks) > following:
                self._operands[right.hash] = following
            self._block = block
            return
        self._value(right)
        if operator != ",":
            self._operation(node, left.type)
            self._note_division(operator, left, right)

    def _conjuncts(self, node: Cursor) -> list[Cursor]:
        """Return `&&` and its operands, if an expression is one; else nothing."""
        node = bare(node)
        if node.kind != _K.BINARY_OPERATOR:
            return []
        left, right = node.get_children()
        return [node, left, right] * (self._source[stop(left) : begin(right)].strip() == "&&")

    def _decider(self, condition: Cursor) -> int:
        """Return the block whose end decides about a condition, if all before it hold."""
        if not (found := self._conjuncts(condition)):
            return self._block
        _, left, right = found
        return self._operands.get(right.hash) or self._decider(left)

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
                self._operation(node, child.type)

    def _named(self, node: Cursor, role: str) -> None:
        """Visit an expression that names an object in memory."""
        space = None if role == "none" else self._space(node)
        children = list(node.get_children())
        member = node.kind == _K.MEMBER_REF_EXPR and children
        if children and children[0].type.get_canonical().kind in VECTORS:
            self._elements_of_vector(node, children, role)
            return
        if space in ("global", "local"):
            many = class_of(node.type)[1]
            cached = not node.type.is_volatile_qualified()
            site = self._record(node, role, space, 0, node.type.get_size(), many, children, cached)
            self._wrap(node, node.type, site)
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
        vector = bare(children[0])
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
        many = class_of(node.type)[1]
        inner = vector.get_children()
        recorded = self._record(node, role, space, offset, size, many, inner)
        self._wrap(vector, vector.type, recorded)
        self._named(vector, "none")
        self._close(vector)

    def _space(self, node: Cursor) -> Space | None:
        """Return the address space of an object; None if it is private or an array."""
        kind = node.type
        if kind.kind == TypeKind.INVALID or kind.get_canonical().kind in ARRAYS:
            return None
        number = kind.get_address_space()
        if number == _GENERIC and self._probe == "addresses":
            raise self._unit.error(
                node, "pointers without an address space are not supported in a profile"
            )
        return SPACES.get(number)

    def _record(
        self,
        node: Cursor,
        role: str,
        space: str,
        offset: int,
        size: int,
        many: int,
        address: Iterable[Cursor],
        cached: bool = True,
    ) -> int:
        """Add a site of so many elements, and return its number.

        `address` are the expressions that give its address.
        """
        for each in ("load", "store") if role == "update" else (role,):
            self._add(each if space == "global" else f"local {each}", many)
        text = " ".join(self._source[begin(node) : stop(node)].split())
        where = self._unit.place(node.location.line)
        is_waited = role != "store" and begin(node) not in self._unused
        level = self._loads.before(self._block, address) if is_waited else None
        self.sites.append(Site(*where, text, space, role, offset, size, self._block, level, cached))
        if is_waited:
            self.awaited.load(node, len(self.sites) - 1)
        return len(self.sites) - 1

    def _assigned(self, target: Cursor, *values: Cursor) -> None:
        """Note what a private variable, or an element of a private array, waits for.

        The other elements of an array are not told from this one.
        """
        names = (each for each in target.walk_preorder() if each.kind == _K.DECL_REF_EXPR)
        variable = next(names, None)
        if variable is not None and not is_load(target):
            others = [] if target.kind == _K.DECL_REF_EXPR else [variable]
            self._has_value(variable.referenced, *values, *others)

    def _ignored(self, node: Cursor) -> None:
        """Note that the value of an expression is not used, nor results of atomic operations."""
        if node.kind == _K.CALL_EXPR:
            if ATOMIC.fullmatch(node.spelling):
                self._unused.add(begin(next(iter(node.get_arguments()))))
            return
        for each in node.get_children():
            self._ignored(each)

    def _has_value(self, variable: Cursor, *values: Cursor) -> None:
        self._loads.assign(variable, self._block, *values)
        self.awaited.assign(variable, *values)

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
            if name in self._unit.kernels:
                raise self._unit.error(node, f"the kernel {name} is called by a function")
            self._add("branch")
            more = "profile_"
            if self._probe == "addresses":
                self._loops += 1
                more += f", profile_mix({self._path}, {self._loops}, 0)"
            for each in given:
                self._value(each)
            self.awaited.call(node)
            self.edits.after(stop(node) - 1, f", {more}" if given else more)
        elif name in _BARRIERS:
            self._add("barrier")
            if self._live is not None:
                self.blocks[self._block].saved += self._live.bytes(begin(node))
            of_group = name != "sub_group_barrier"
            if of_group and self._probe == "warps":
                self._around(node, "(profile_wait(profile_), ")
            elif of_group and self._probe == "addresses":
                self._around(node, "(")
            for each in given:
                self._value(each)
            if of_group and self._probe not in _OF_BLOCKS:
                self.edits.after(stop(node), ", profile_go(profile_))")
        elif match := VECTOR_ACCESS.fullmatch(name):
            self._vector_access(node, given, match[1], match[2] or "", int(match[3] or 1))
        elif ATOMIC.fullmatch(name) and name != "atomic_work_item_fence":
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
            self._operation(node, node.type)

    def _atomic(self, node: Cursor, given: list[Cursor]) -> None:
        pointer, *others = given
        kind, target, space = pointer.type, *pointed(pointer.type)
        if space is None:
            raise self._unit.error(node, "atomic operations need a known address space")
        access = _ATOMIC_ACCESS.fullmatch(node.spelling)
        role = "atomic" if access is None else access[1]
        size = max(target.get_size(), 4)
        site = self._record(pointer, role, space, 0, size, 1, [pointer], cached=False)
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
            site = self._record(node, what, space, 0, size, many, given)
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


def computes(node: Cursor) -> bool:
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
