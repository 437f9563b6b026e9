"""From unified bytecodes to OpenCL C.

Each bundle of a phase becomes one block of C, which computes bytecode i of the bundle. An operand
that is the same in all bytecodes is written into the text, and so is one that is an affine function
of i, ``f[40 + i]``. All others are in tables, which are data and not text: the program of a model
with 5,000 equal cells is as long as that of one with 5.

The text is made by running the stack machine on expressions in place of numbers. A jump becomes a
ternary, a deep expression a variable.

Source: F. Okuyama's thesis, 2013, section 5.5.2, figures 5.8 and 5.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pyapsp.simulation.bytecode import Bundle, Op

__all__ = ["Tables", "literal", "translate"]

# An expression with more levels of parentheses is stored in a variable: compilers have a limit.
_LEVELS = 32
_OPERATORS = {
    Op.MINUS: "{0} - {1}",
    Op.DIVIDE: "{0} / {1}",
    Op.EQ: "{0} == {1}",
    Op.NEQ: "{0} != {1}",
    Op.GT: "{0} > {1}",
    Op.LT: "{0} < {1}",
    Op.GEQ: "{0} >= {1}",
    Op.LEQ: "{0} <= {1}",
}
_CALLS = {
    Op.POWER: "POWER({0}, {1})",
    Op.REM: "fmod({0}, {1})",
    Op.QUOTIENT: "trunc({0} / {1})",
    Op.NEGATE: "-{0}",
    Op.LN: "log({0})",
    Op.ABS: "fabs({0})",
    Op.CEILING: "ceil({0})",
    Op.FACTORIAL: "tgamma({0} + 1)",
}
_JOINED = {Op.PLUS: " + ", Op.TIMES: " * ", Op.AND: " & ", Op.OR: " | ", Op.XOR: " ^ "}
_POWERS = {2: "({0} * {0})", 3: "({0} * {0} * {0})", 4: "(({0} * {0}) * ({0} * {0}))"}
_LOGICAL = (Op.AND, Op.OR, Op.XOR)

_Number = TypeVar("_Number", np.int32, np.float64)


class Tables:
    """The tables of a program: slots and constants that are not in its text."""

    def __init__(self) -> None:
        self._slots: list[NDArray[np.int32]] = [np.zeros(1, np.int32)]
        self._values: list[NDArray[np.float64]] = [np.zeros(1)]
        self._places: dict[bytes, int] = {}
        self._filled = {"slots": 1, "values": 1}

    def slots(self, column: NDArray[np.int32]) -> int:
        """Return where a column of slots is; equal ones are stored once."""
        return self._add("slots", self._slots, np.ascontiguousarray(column, np.int32))

    def values(self, column: NDArray[np.float64]) -> int:
        """Return where a column of constants is."""
        return self._add("values", self._values, np.ascontiguousarray(column, np.float64))

    def _add(self, kind: str, parts: list[NDArray[_Number]], column: NDArray[_Number]) -> int:
        key = kind.encode() + column.tobytes()
        if key not in self._places:
            self._places[key] = self._filled[kind]
            self._filled[kind] += column.size
            parts.append(column.ravel())
        return self._places[key]

    @property
    def whole(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """All slots in int32, and all constants in float64."""
        return np.concatenate(self._slots), np.concatenate(self._values)


@dataclass(frozen=True)
class _Part:
    """An expression: its text, how deep it is, and whether it is a truth value."""

    text: str
    levels: int = 0
    mask: bool = False


def translate(bundle: Bundle, states: int, tables: Tables, *, lanes: int = 1) -> list[str]:
    """Return the statements that compute bytecode i of a bundle, as lines.

    Parameters
    ----------
    bundle : Bundle
    states : int
        The number of states; later slots are those of functions.
    tables : Tables
        Operands are added to them.
    lanes : int
        How many bytecodes the lines compute: i to i + lanes - 1, in vectors.
    """
    return _Translation(bundle, states, tables, lanes).lines


class _Translation:
    def __init__(self, bundle: Bundle, states: int, tables: Tables, lanes: int) -> None:
        self.lines: list[str] = []
        self._bundle, self._states, self._tables, self._lanes = bundle, states, tables, lanes
        self._type = "real" if lanes == 1 else "reals"
        self._slot = self._constant = self._temporary = 0
        self._known: dict[bytes, str] = {}
        self._run(0, len(bundle.shape.instructions), [])

    def _run(self, first: int, last: int, stack: list[_Part]) -> None:
        """Run instructions on expressions."""
        code, place = self._bundle.shape.instructions, first
        while place < last:
            op, number = code[place]
            place += 1
            if op == Op.JUMP_UNLESS:
                condition = self._as_mask(stack.pop())
                middle = place + number  # the instruction before it jumps over the other branch
                end = middle + code[middle - 1][1]
                self._run(place, middle - 1, stack)
                then = self._as_real(stack.pop())
                self._run(middle, end, stack)
                other = self._as_real(stack.pop())
                text = f"({condition.text} ? {then.text} : {other.text})"
                levels = 1 + max(condition.levels, then.levels, other.levels)
                self._push(stack, _Part(text, levels))
                place = end
            else:
                self._step(op, number, stack)

    def _step(self, op: Op, number: int, stack: list[_Part]) -> None:
        if op == Op.CONSTANT:
            column = self._bundle.constants[:, self._constant]
            self._constant += 1
            stack.append(_Part(self._number(column)))
        elif op == Op.VARIABLE:
            stack.append(_Part(self._load(self._next_slots())))
        elif op == Op.TIME:
            stack.append(_Part(f"(({self._type})t)"))
        elif op == Op.SUM:
            self._slot += number
            stack.append(_Part("total"))
        elif op == Op.ASSIGN:
            self._assign(self._next_slots(), self._as_real(stack.pop()))
        elif op == Op.POWN:
            name = self._named(self._as_real(stack.pop()))
            stack.append(_Part(_POWERS[number].format(name), 1))
        elif Op.PLUS <= op <= Op.XOR:
            self._join(op, number, stack)
        elif op == Op.NOT:
            part = self._as_mask(stack.pop())
            self._push(stack, _Part(f"(!{part.text})", part.levels + 1, mask=True))
        else:
            count = 2 if Op.MINUS <= op <= Op.LEQ else 1
            parts = [self._as_real(each) for each in stack[-count:]]
            del stack[-count:]
            form = _OPERATORS.get(op) or _CALLS.get(op, op.name.lower() + "({0})")
            if op == Op.POWER and self._lanes > 1:
                form = form.lower()  # the function of simulation/power.h
            text = "(" + form.format(*(each.text for each in parts)) + ")"
            levels = 1 + max(each.levels for each in parts)
            self._push(stack, _Part(text, levels, mask=Op.EQ <= op <= Op.LEQ))

    def _join(self, op: Op, number: int, stack: list[_Part]) -> None:
        """Join the operands of an operator that has any number of them, from left to right."""
        parts = stack[-number:]
        del stack[-number:]
        logical = op in _LOGICAL
        parts = [self._as_mask(each) if logical else self._as_real(each) for each in parts]
        levels = 1 + max(each.levels for each in parts)
        if op in _JOINED:
            text = "(" + _JOINED[op].join(each.text for each in parts) + ")"
        else:
            text = parts[0].text
            for each in parts[1:]:
                text = f"f{op.name.lower()}({text}, {each.text})"
            levels += number
        self._push(stack, _Part(text, levels, mask=logical))

    def _push(self, stack: list[_Part], part: _Part) -> None:
        if part.levels > _LEVELS:
            part = _Part(self._named(self._as_real(part)))
        stack.append(part)

    def _named(self, part: _Part) -> str:
        """Return the name of a variable with the value of an expression."""
        name = f"e{self._temporary}"
        self._temporary += 1
        self.lines.append(f"const {self._type} {name} = {part.text};")
        return name

    def _as_real(self, part: _Part) -> _Part:
        if not part.mask:
            return part
        text = f"({part.text} ? ({self._type})1 : ({self._type})0)"
        return _Part(text, part.levels + 1)

    def _as_mask(self, part: _Part) -> _Part:
        return part if part.mask else _Part(f"({part.text} != 0)", part.levels + 1, mask=True)

    def _number(self, column: NDArray[np.float64]) -> str:
        """Return the text of a constant."""
        if (column.view(np.int64) == column.view(np.int64)[0]).all():
            return f"(({self._type}){literal(float(column[0]))})"
        place = self._tables.values(column)
        return self._values_at(f"VALUE({place} + i)", f"{place} + i")

    def _values_at(self, scalar: str, place: str) -> str:
        if self._lanes == 1:
            return scalar
        each = ", ".join(f"VALUE({place} + {lane})" for lane in range(self._lanes))
        return f"(({self._type})({each}))"

    def _next_slots(self) -> NDArray[np.int32]:
        column = self._bundle.slots[:, self._slot]
        self._slot += 1
        return column

    def _load(self, column: NDArray[np.int32]) -> str:
        """Return the name of a variable of the block with the value of a variable."""
        key = column.tobytes()
        if key not in self._known:
            stride = _affine(column)[1]
            array, place = self._place(column)
            if self._lanes == 1 or stride == 0:
                text = f"({self._type}){array.format(place.format('i'))}"
            elif stride == 1:
                start = place.format("i")
                text = f"LOAD({array[0]} + {start})"
            else:
                each = (array.format(place.format(f"(i + {k})")) for k in range(self._lanes))
                text = f"({self._type})({', '.join(each)})"
            self._known[key] = self._named(_Part(text))
        return self._known[key]

    def _place(self, column: NDArray[np.int32]) -> tuple[str, str]:
        """Return the forms of an access: the array for a place, and the place for an index."""
        inside = column < self._states
        array, first = "f[{}]", self._states
        if inside.all():
            array, first = "x[{}]", 0
        elif inside.any():
            array, first = "VARIABLE_AT({})", 0
        base, stride = _affine(column)
        if stride is None:
            return array, f"SLOT({self._tables.slots(column - first)} + {{}})"
        if stride == 0:
            return array, str(base - first)
        return array, f"{base - first} + " + ("{}" if stride == 1 else f"{stride} * {{}}")

    def _assign(self, column: NDArray[np.int32], part: _Part) -> None:
        name = self._named(part)
        array, place = self._place(column)
        state = array[0] == "x"
        if self._lanes == 1:
            where = place.format("i")
            kind = "ASSIGN_STATE" if state else "ASSIGN_FUNCTION"
            self.lines.append(f"{kind}({where}, {name});")
        elif _affine(column)[1] == 1:
            kind = "ASSIGN_STATES" if state else "ASSIGN_FUNCTIONS"
            self.lines.append(f"{kind}({place.format('i')}, {name});")
        else:
            kind = "ASSIGN_STATE" if state else "ASSIGN_FUNCTION"
            for lane in range(self._lanes):
                where = place.format(f"(i + {lane})")
                self.lines.append(f"{kind}({where}, {name}.s{lane:x});")
        self._known[column.tobytes()] = name


def _affine(column: NDArray[np.int32]) -> tuple[int, int | None]:
    """Return base and stride of slots base + i stride; None if they are not of that form."""
    base = int(column[0])
    if len(column) == 1:
        return base, 0
    steps = np.diff(column)
    return base, int(steps[0]) if (steps == steps[0]).all() else None


def literal(value: float) -> str:
    """Return a number in C; `REAL` adds the suffix of its type."""
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value)
    return f"REAL({text})" if value >= 0 and text[0] != "-" else f"(-REAL({text[1:]}))"
