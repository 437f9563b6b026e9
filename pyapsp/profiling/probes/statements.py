"""Probes in the functions and statements of OpenCL C: where blocks begin, and which loops run.

Functions get the arguments of the probes. A block begins at the start of a function, a branch, the
body of a loop, and after a statement that may be left by a jump.
"""

from __future__ import annotations

import re

from clang.cindex import Cursor, CursorKind

from pyapsp.profiling.probes.blocks import Branch, Probe
from pyapsp.profiling.probes.edits import begin, last_child, stop
from pyapsp.profiling.probes.expressions import Expressions, computes
from pyapsp.profiling.probes.liveness import Liveness
from pyapsp.profiling.probes.opencl_c import Unit
from pyapsp.profiling.probes.opencl_types import Parameter, parameter_of
from pyapsp.profiling.probes.recurrences import recurrence

__all__ = ["Statements"]

_K = CursorKind
# Kinds of jumps that leave a statement.
_Jumps = frozenset[CursorKind]
_NONE: _Jumps = frozenset()
_UNROLL = re.compile(r"#\s*pragma\s+(?:clang\s+loop\s+)?unroll\s*\(?\s*(\w*)")


class Statements(Expressions):
    """The walk through the functions and statements of a program.

    Attributes
    ----------
    parameters : tuple of Parameter
        Those of the kernel that was visited.
    """

    def __init__(self, unit: Unit, probe: Probe) -> None:
        super().__init__(unit, probe)
        self.parameters: tuple[Parameter, ...] = ()
        self._depth = 0

    # Functions

    def function(self, node: Cursor) -> None:
        """Edit a function and count its operations."""
        body = _body(node)
        self._name, self._kernel = node.spelling, node.spelling in self._unit.kernels
        self._path, self._depth = "profile_p0", 0
        self._unrolled = None
        self._live = Liveness(node)
        self._parameters(node)
        self._new(body)
        inside = begin(body) + 1
        if self._kernel:
            self.parameters = tuple(map(parameter_of, node.get_arguments()))
            self.edits.before(
                inside,
                "profile_t profile_s = profile_start(profile_out, profile_room, profile_every); "
                "profile_t *const profile_ = &profile_s; ",
            )
            if self._probe == "addresses":
                self.edits.before(inside, "const ulong profile_p0 = 0; ")
        self._count_here(inside)
        self.awaited.enter()
        self._compound(body)
        self.awaited.leave()
        if self._kernel and self._probe == "warps":
            self.edits.after(stop(body) - 1, " profile_end(profile_); ")

    def declaration(self, node: Cursor) -> None:
        """Edit a declaration of a function that has its body elsewhere."""
        self._kernel = node.spelling in self._unit.kernels
        self._parameters(node)

    def without_body(self, node: Cursor) -> None:
        """Let a function do nothing."""
        body = _body(node)
        self.edits.replace(begin(body) + 1, stop(body) - 1, "")

    def _parameters(self, node: Cursor) -> None:
        """Add the parameters of the probes."""
        more = "profile_t *profile_"
        if self._kernel:
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

    # Statements; each returns the jumps that leave it

    def _statement(self, node: Cursor, start: int | None = None) -> _Jumps:
        start = self.edits.begin_of(node) if start is None else start
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
                if self._name not in self._unit.used:
                    self._ignored(each)
                self._value(each)
                self.awaited.result(self._name, each)
            if self._kernel and self._probe == "warps":
                self.edits.before(start, "{ profile_end(profile_); ")
                self.edits.after(self.edits.end_of(node), " }")
            return frozenset((kind,))
        elif kind in (_K.GOTO_STMT, _K.LABEL_STMT, _K.INDIRECT_GOTO_STMT):
            raise self._unit.error(node, "goto and labels are not supported in a profile")
        elif kind == _K.ASM_STMT:
            self._add("assembly")
        elif kind != _K.NULL_STMT:
            if kind == _K.CALL_EXPR:
                self._ignored(node)
            self._value(node)
        return _NONE

    def _compound(self, node: Cursor) -> _Jumps:
        jumps, left = _NONE, False
        for each in node.get_children():
            if left and each.kind not in (_K.CASE_STMT, _K.DEFAULT_STMT):
                self._new(each)
                self._count_here(self.edits.with_pragmas(self.edits.begin_of(each)))
            found = self._statement(each)
            left = bool(found)
            jumps |= found
        return jumps

    def _branch(self, node: Cursor, branch: Branch | None, inside: str = "") -> _Jumps:
        """Visit a statement that is a block of its own, with text at its start."""
        self._new(node, branch)
        compound = node.kind == _K.COMPOUND_STMT
        place = begin(node) + 1 if compound else self.edits.with_pragmas(self.edits.begin_of(node))
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
        decides = Branch(self._decider(condition), awaits=self.awaited.of_branch(condition))
        for each, branch in zip(branches, (decides, None), strict=False):
            jumps |= self._branch(each, branch)
        self._block = block
        return jumps

    def _loop(self, node: Cursor, start: int) -> _Jumps:
        first, condition, step, body = self._parts(node)
        block, path, unrolled = self._block, self._path, self._unrolled
        if unrolled is None and self._is_unrolled(start, begin(node)):
            self._unrolled = block
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
        self.awaited.enter()
        awaits: tuple[int | str, ...] = ()
        control: list[int] = []
        inside = 0
        parts = [condition, body, step]
        for each in parts if node.kind != _K.DO_STMT else [body, condition]:
            if each is None:
                continue
            if each is body:
                self._path = inner
                text = f"const ulong {inner} = {here}++); " if traced else ""
                inside = len(self.blocks)
                jumps = self._branch(body, Branch(block, loop=True), text)
            else:
                self._path = f"{here})"
                control += [len(self.blocks)] * computes(each)
                # one decision ends a loop, whichever of the operands of its condition does not hold
                operand = each
                while found := self._conjuncts(operand):
                    self._of_loops.add(found[0].hash)
                    operand = found[1]
                self._counted(each)
                if each is condition:
                    self._add("branch")
                    awaits = self.awaited.of_loop(condition)
        for number in control:
            self.blocks[number].control = inside
        self.blocks[inside].branch = Branch(block, loop=True, awaits=awaits)
        self.blocks[inside].carried = recurrence(node, self._source, self._loads.own)
        self._depth -= 1
        self.awaited.leave()
        self._block, self._path, self._unrolled = block, path, unrolled
        if traced:
            self.edits.after(self.edits.end_of(node), " }")
        return jumps & {_K.RETURN_STMT}

    def _is_unrolled(self, first: int, start: int) -> bool:
        """Return whether a pragma before a loop asks for more than one turn at once."""
        asked = _UNROLL.findall(self._source[first:start])
        return bool(asked) and asked[-1] != "1"

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
        self._count_here(self.edits.with_pragmas(self.edits.begin_of(inner)))
        return self._statement(inner)

    def _declaration(self, node: Cursor) -> None:
        if node.kind != _K.VAR_DECL:
            return
        text = self._source
        start = node.location.offset
        for each in node.get_children():
            if "=" in text[start : begin(each)] and each.kind != _K.TYPE_REF:
                self._value(each)
                self._has_value(node, each)


def _body(function: Cursor) -> Cursor:
    return next(each for each in function.get_children() if each.kind == _K.COMPOUND_STMT)
