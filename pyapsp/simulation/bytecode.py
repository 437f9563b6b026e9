"""Bytecode of a stack machine: one for each expression, generated in post order.

A bytecode has a *shape*, the opcodes with their arguments, and two lists of operands in the order
of their use: the slots of variables, and constants. Expressions of the same form have the same
shape, so they can share a bytecode.

Source: F. Okuyama's thesis, 2013, section 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import pairwise

from pyapsp.simulation.expressions import ARITIES, Apply, Expression, Name, Number

__all__ = ["Bytecode", "Op", "Shape", "compiled"]

Op = IntEnum(
    "Op",
    "END CONSTANT VARIABLE ASSIGN CONSTANT_IND VARIABLE_IND ASSIGN_IND SUM TIME JUMP JUMP_UNLESS "
    "PLUS TIMES MAX MIN AND OR XOR POWN MINUS DIVIDE POWER REM QUOTIENT EQ NEQ GT LT GEQ LEQ "
    "NEGATE NOT SQRT EXP LN LOG10 ABS FLOOR CEILING FACTORIAL SIN COS TAN ASIN ACOS ATAN SINH COSH "
    "TANH ASINH ACOSH ATANH",
    start=0,
)
Op.__doc__ = """The opcodes.

CONSTANT, VARIABLE and ASSIGN have one operand, SUM as many slots as the number that follows it.
PLUS to XOR are followed by the number of operands to pop, POWN by the exponent, and the jumps by
the number of instructions to skip. From MINUS on, opcodes pop two operands, and from NEGATE on one.
"""

#: One instruction: the opcode and the number that follows it, 0 if none does.
Instruction = tuple[Op, int]

_NARY = {
    "plus": Op.PLUS,
    "times": Op.TIMES,
    "max": Op.MAX,
    "min": Op.MIN,
    "and": Op.AND,
    "or": Op.OR,
    "xor": Op.XOR,
}
_EMPTY = {"plus": 0.0, "times": 1.0, "and": 1.0, "or": 0.0, "xor": 0.0, "true": 1.0, "false": 0.0}
_CHAINS = {name: Op[name.upper()] for name in ("eq", "neq", "gt", "lt", "geq", "leq")}
_BINARY = {
    "divide": Op.DIVIDE,
    "power": Op.POWER,
    "rem": Op.REM,
    "quotient": Op.QUOTIENT,
}
_UNARY = {name: Op[name.upper()] for name in ("not", "exp", "ln", "abs", "floor", "ceiling")}
_UNARY |= {"factorial": Op.FACTORIAL}
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    _UNARY |= {_name: Op[_name.upper()], f"arc{_name}": Op["A" + _name.upper()]}
_RECIPROCALS = {"sec": "cos", "csc": "sin", "cot": "tan"}
_RECIPROCALS |= {f"{name}h": f"{of}h" for name, of in _RECIPROCALS.items()}
_ONE = Number(1.0)
_CONSTANT, _VARIABLE = (Op.CONSTANT, 0), (Op.VARIABLE, 0)
# Operators that are one instruction behind their operands, by name and number of operands.
_SIMPLE: dict[tuple[str, int], Instruction] = {
    **{(name, 1): (op, 0) for name, op in _UNARY.items()},
    **{(name, 2): (op, 0) for name, op in (_BINARY | _CHAINS).items() if name != "power"},
    **{(name, count): (_NARY[name], count) for name in ("plus", "times") for count in range(2, 9)},
    ("minus", 1): (Op.NEGATE, 0),
    ("minus", 2): (Op.MINUS, 0),
}


@dataclass(frozen=True)
class Shape:
    """The opcodes of a bytecode, without its operands.

    Attributes
    ----------
    instructions : tuple of Instruction
    """

    instructions: tuple[Instruction, ...]

    @cached_property
    def key(self) -> tuple[int, tuple[Instruction, ...]]:
        """Sorts longer bytecodes first, then by their opcodes (the thesis' reordering)."""
        return -len(self.instructions), self.instructions

    @cached_property
    def depth(self) -> int:
        """The number of values on the stack at most."""
        depth = most = 0
        for op, number in self.instructions:
            depth += _effect(op, number)
            most = max(most, depth)
        return most

    @cached_property
    def terms(self) -> int:
        """The number of terms of its sum of many variables, 0 without one."""
        return sum(number for op, number in self.instructions if op == Op.SUM)

    @cached_property
    def term_columns(self) -> slice:
        """The columns of slots that are the terms of its sum."""
        start = 0
        for op, number in self.instructions:
            if op == Op.SUM:
                return slice(start, start + number)
            start += op in (Op.VARIABLE, Op.ASSIGN)
        return slice(0)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.instructions)


@dataclass(frozen=True, slots=True)
class Bytecode:
    """A shape with its operands.

    Attributes
    ----------
    shape : Shape
    slots : tuple of int
        Slots of the variables that are read and assigned.
    constants : tuple of float
    """

    shape: Shape
    slots: tuple[int, ...]
    constants: tuple[float, ...]


def compiled(
    expression: Expression,
    target: int,
    slots: Mapping[str, int],
    values: Mapping[str, float],
    wrong: Callable[[str], Exception],
    many: int = 0,
) -> Bytecode:
    """Return the bytecode of an expression.

    Parameters
    ----------
    expression : Expression
    target : int
        The slot to which the value is assigned.
    slots : mapping of str to int
        The slots of variables.
    values : mapping of str to float
        The values of names that do not change.
    wrong : callable
        Makes the error for a text.
    many : int
        The first sum of at least this many variables becomes one SUM; 0: none does.
    """
    code: list[Instruction] = []
    variables: list[int] = []
    constants: list[float] = []
    labels: dict[int, int] = {}
    jumps: list[tuple[int, int]] = []
    free = 0
    pending: list[object] = [(Op.ASSIGN, 0), expression]
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            code.append(part)
        elif isinstance(part, Number):
            code.append(_CONSTANT)
            constants.append(float(part.value))
        elif isinstance(part, Name):
            name = part.name
            if name in slots:
                code.append(_VARIABLE)
                variables.append(slots[name])
            elif name in values:
                code.append(_CONSTANT)
                constants.append(values[name])
            elif name == "time":
                code.append((Op.TIME, 0))
            else:
                raise wrong(f"the name {name!r} is unknown")
        elif isinstance(part, _Jump):
            jumps.append((len(code), part.label))
            code.append((part.op, 0))
        elif isinstance(part, int):
            labels[part] = len(code)
        elif isinstance(part, Apply):
            operands = part.operands
            _check_arity(part, wrong)
            if (
                many
                and part.operator == "plus"
                and len(operands) >= many
                and all(isinstance(each, Name) and each.name in slots for each in operands)
            ):
                many = 0
                code.append((Op.SUM, len(operands)))
                variables += [slots[each.name] for each in operands if isinstance(each, Name)]
            elif (simple := _SIMPLE.get((part.operator, len(operands)))) is not None:
                pending.append(simple)
                pending.extend(operands[::-1])
            elif part.operator == "piecewise":
                free = _push_pieces(operands, pending, free)
            else:
                pending.extend(reversed(list(_steps(part.operator, operands))))
        else:
            raise wrong(f"{part!r} is no expression")
    for place, label in jumps:
        code[place] = (code[place][0], labels[label] - place - 1)
    variables.append(target)
    return Bytecode(Shape(tuple(code)), tuple(variables), tuple(constants))


@dataclass(frozen=True, slots=True)
class _Jump:
    op: Op
    label: int


def _push_pieces(operands: tuple[Expression, ...], pending: list[object], free: int) -> int:
    """Push the code of a piecewise: conditions in turn, and jumps over the values."""
    end = free
    free += 1
    steps: list[object] = []
    for value, condition in zip(operands[:-1:2], operands[1::2], strict=True):
        steps += [condition, _Jump(Op.JUMP_UNLESS, free), value, _Jump(Op.JUMP, end), free]
        free += 1
    pending.extend(reversed([*steps, operands[-1], end]))
    return free


def _steps(operator: str, operands: tuple[Expression, ...]) -> Iterator[object]:
    """Yield what an operator is compiled to: expressions and instructions."""
    first = operands[0] if operands else None
    if not operands:
        yield Number(_EMPTY[operator])
    elif operator in _NARY:
        yield from operands
        if len(operands) > 1 or operator in ("and", "or", "xor"):
            yield (_NARY[operator], len(operands))
    elif operator in _CHAINS:
        for pair in pairwise(operands):
            yield from pair
            yield (_CHAINS[operator], 0)
        if len(operands) > 2:
            yield (Op.AND, len(operands) - 1)
    elif operator == "minus":
        yield from operands
        yield (Op.NEGATE if len(operands) == 1 else Op.MINUS, 0)
    elif operator == "power" and operands[1] in (Number(2.0), Number(3.0), Number(4.0)):
        yield first
        yield (Op.POWN, int(operands[1].value))
    elif operator in _BINARY:
        yield from operands
        yield (_BINARY[operator], 0)
    elif operator == "root":
        yield operands[1]
        if first == Number(2.0):
            yield (Op.SQRT, 0)
        else:
            yield from (_ONE, first, (Op.DIVIDE, 0), (Op.POWER, 0))
    elif operator == "log":
        yield operands[1]
        if first == Number(10.0):
            yield (Op.LOG10, 0)
        else:
            yield from ((Op.LN, 0), first, (Op.LN, 0), (Op.DIVIDE, 0))
    elif operator in _UNARY:
        yield from (first, (_UNARY[operator], 0))
    elif operator in _RECIPROCALS:
        yield from (_ONE, first, (_UNARY[_RECIPROCALS[operator]], 0), (Op.DIVIDE, 0))
    else:  # the inverse of a reciprocal: the function of 1 / x
        inverse = _UNARY["arc" + _RECIPROCALS[operator.removeprefix("arc")]]
        yield from (_ONE, first, (Op.DIVIDE, 0), (inverse, 0))


def _check_arity(part: Apply, wrong: Callable[[str], Exception]) -> None:
    count = len(part.operands)
    if part.operator not in ARITIES:
        raise wrong(f"the operator {part.operator!r} is unknown")
    least, most = ARITIES[part.operator]
    if count < least or (most is not None and count > most):
        raise wrong(f"the operator {part.operator!r} has {count} operands")
    if part.operator == "piecewise" and count % 2 == 0:
        raise wrong("a piecewise has no value for otherwise")


def _effect(op: Op, number: int) -> int:
    """Return how many values an instruction pushes, less what it pops."""
    if op in (Op.CONSTANT, Op.VARIABLE, Op.CONSTANT_IND, Op.VARIABLE_IND, Op.SUM, Op.TIME):
        return 1
    if op in (Op.ASSIGN, Op.ASSIGN_IND, Op.JUMP, Op.JUMP_UNLESS):
        # the value that a jump carries over the next branch is not there in that branch
        return -1
    if Op.PLUS <= op <= Op.XOR:
        return 1 - number
    return -1 if Op.MINUS <= op <= Op.LEQ else 0
