"""Bytecode of a stack machine: one for each expression, generated in post order.

A bytecode has a *shape*, the opcodes with their arguments, and two lists of operands in the order
of their use: the slots of variables, and constants. A *bundle* is bytecodes of the same shape, with
their operands as columns of two tables::

    shape      VARIABLE CONSTANT TIMES ASSIGN        slots      constants
                                                     4 0        0.5          bytecode 0
                                                     5 1        0.25         bytecode 1

Expressions of the same form are compiled once: only their operands differ.

Source: F. Okuyama's thesis, 2013, section 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyapsp.simulation.expressions import ARITIES, Apply, Expression, Form, Number, built, parted

__all__ = ["Bundle", "Codes", "Op", "Shape", "compiled"]

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
Instruction: TypeAlias = tuple[Op, int]

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
# What a name is to code: a variable, a constant, or the time.
_KINDS = (Op.VARIABLE, Op.CONSTANT, Op.TIME)
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
    """The opcodes of a bytecode, without its operands."""

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


@dataclass(frozen=True)
class Bundle:
    """Bytecodes of the same shape."""

    shape: Shape
    # (n, p): the slots that each bytecode reads and assigns, in the order of their use.
    slots: NDArray[np.int32]
    constants: NDArray[np.float64]  # (n, q)

    def __len__(self) -> int:
        return len(self.slots)

    def row(self, number: int) -> Bundle:
        """Return a bundle with one of the bytecodes."""
        only = slice(number, number + 1)
        return Bundle(self.shape, self.slots[only], self.constants[only])


@dataclass(frozen=True)
class Codes:
    """Numbered bytecodes."""

    bundles: list[Bundle]  # one for each shape
    places: NDArray[np.int32]  # (n, 2): bundle and row of each bytecode
    reads: NDArray[np.int64]  # (m, 2): the number of a bytecode, and a slot that it reads


def compiled(
    expressions: Iterable[Expression],
    targets: Sequence[int],
    slots: Mapping[str, int],
    values: Mapping[str, float],
    wrong: Callable[[int, str], Exception],
    many: int = 0,
) -> Codes:
    """Return the bytecodes of expressions.

    Parameters
    ----------
    expressions : iterable of Expression
    targets : sequence of int
        The slot to which the value of each is assigned.
    slots : mapping of str to int
        The slots of variables.
    values : mapping of str to float
        The values of names that do not change.
    wrong : callable
        Makes the error from the number of an expression and a text.
    many : int
        The first sum of at least this many variables becomes one SUM; 0: none does.
    """
    parts = [parted(each) for each in expressions]
    ends = [0, *accumulate(len(names) for _, names in parts)]
    operands = _operands(parts, ends[-1], slots, values, wrong)
    kinds = np.repeat(_KINDS, (len(slots), len(values), 1))[operands].astype(np.uint8).tobytes()
    members: dict[tuple[Form, bytes], list[int]] = {}
    for number, (start, end) in enumerate(pairwise(ends)):
        members.setdefault((parts[number][0], kinds[start:end]), []).append(number)
    starts, into = np.array(ends), np.array(targets, np.int32)
    fixed = np.array([*[0.0] * len(slots), *values.values()], np.float64)
    tables: dict[Shape, list[tuple[list[int], NDArray[np.int32], NDArray[np.float64]]]] = {}
    for (form, kind), numbers in members.items():
        try:
            made = _template(form, kind, many)
        except ValueError as error:
            raise wrong(numbers[0], str(error)) from None
        begin = starts[numbers, None]
        used = np.empty((len(numbers), len(made.variables) + 1), np.int32)
        used[:, :-1], used[:, -1] = operands[begin + made.variables], into[numbers]
        constants = np.empty((len(numbers), len(made.constants)))
        constants[:] = made.constants
        constants[:, made.named] = fixed[operands[begin + made.names]]
        tables.setdefault(made.shape, []).append((numbers, used, constants))
    bundles: list[Bundle] = []
    places = np.empty((len(parts), 2), np.int32)
    for shape, each in tables.items():
        rows, *columns = map(np.concatenate, zip(*each, strict=True))
        places[rows, 0], places[rows, 1] = len(bundles), np.arange(len(rows))
        bundles.append(Bundle(shape, *columns))
    reads = operands < len(slots)
    readers = np.repeat(np.arange(len(parts)), np.diff(starts))
    return Codes(bundles, places, np.stack((readers[reads], operands[reads]), axis=1))


def _operands(
    parts: Sequence[tuple[Form, tuple[str, ...]]],
    count: int,
    slots: Mapping[str, int],
    values: Mapping[str, float],
    wrong: Callable[[int, str], Exception],
) -> NDArray[np.int32]:
    """Return the numbers of all names in expressions: slots, then values, then the time."""
    numbered = {"time": len(slots) + len(values)}
    numbered |= zip(values, range(len(slots), len(slots) + len(values)), strict=True)
    numbered |= slots
    every = chain.from_iterable(names for _, names in parts)
    try:
        return np.fromiter(map(numbered.__getitem__, every), np.int32, count)
    except KeyError as error:
        name = error.args[0]
        number = next(number for number, (_, names) in enumerate(parts) if name in names)
        raise wrong(number, f"the name {name!r} is unknown") from None


@dataclass(frozen=True, slots=True)
class _Operand:
    """A name in a form: its kind, and its place among the names."""

    op: Op
    place: int


@dataclass(frozen=True, slots=True)
class _Template:
    """The bytecode of a form."""

    shape: Shape
    # The places of the variables that it reads, among the names of the form.
    variables: NDArray[np.int64]
    constants: NDArray[np.float64]  # those that are numbers in the form
    # Which of the constants have names, and the places of these.
    named: NDArray[np.int64]
    names: NDArray[np.int64]


@lru_cache(maxsize=256)
def _template(form: Form, kinds: bytes, many: int) -> _Template:
    """Compile a form whose names are of some kinds.

    Raises
    ------
    ValueError
        An operator is unknown or has a wrong number of operands.
    """
    operands = [_Operand(Op(kind), place) for place, kind in enumerate(kinds)]
    code: list[Instruction] = []
    variables: list[int] = []
    constants: list[float] = []
    named: dict[int, int] = {}  # the places of names, by their number among the constants
    labels: dict[int, int] = {}
    jumps: list[tuple[int, int]] = []
    free = 0
    pending: list[_Part] = [(Op.ASSIGN, 0), built(form, operands)]
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            code.append(part)
        elif isinstance(part, _Operand):
            code.append((part.op, 0))
            if part.op == Op.VARIABLE:
                variables.append(part.place)
            elif part.op == Op.CONSTANT:
                named[len(constants)] = part.place
                constants.append(0.0)
        elif isinstance(part, Apply):
            _check_arity(part)
            below: tuple[Expression | _Operand, ...] = part.operands
            if (
                many
                and part.operator == "plus"
                and len(below) >= many
                and all(isinstance(each, _Operand) and each.op == Op.VARIABLE for each in below)
            ):
                many = 0
                code.append((Op.SUM, len(below)))
                variables += [each.place for each in below if isinstance(each, _Operand)]
            elif (simple := _SIMPLE.get((part.operator, len(below)))) is not None:
                pending.append(simple)
                pending += below[::-1]
            elif part.operator == "piecewise":
                free = _push_pieces(part.operands, pending, free)
            else:
                pending += reversed(list(_steps(part.operator, part.operands)))
        elif isinstance(part, Number):
            code.append((Op.CONSTANT, 0))
            constants.append(part.value)
        elif isinstance(part, _Jump):
            jumps.append((len(code), part.label))
            code.append((part.op, 0))
        else:
            assert isinstance(part, int)
            labels[part] = len(code)
    for place, label in jumps:
        code[place] = (code[place][0], labels[label] - place - 1)
    places = [np.array(each, int) for each in (variables, [*named], [*named.values()])]
    return _Template(Shape(tuple(code)), places[0], np.array(constants, np.float64), *places[1:])


@dataclass(frozen=True, slots=True)
class _Jump:
    op: Op
    label: int


# What is still to be compiled; a number is a label.
_Part: TypeAlias = Expression | _Operand | Instruction | _Jump | int


def _push_pieces(operands: tuple[Expression, ...], pending: list[_Part], free: int) -> int:
    """Push the code of a piecewise: conditions in turn, and jumps over the values."""
    end = free
    free += 1
    steps: list[_Part] = []
    for value, condition in zip(operands[:-1:2], operands[1::2], strict=True):
        steps += [condition, _Jump(Op.JUMP_UNLESS, free), value, _Jump(Op.JUMP, end), free]
        free += 1
    pending.extend(reversed([*steps, operands[-1], end]))
    return free


def _steps(operator: str, operands: tuple[Expression, ...]) -> Iterator[_Part]:
    """Yield what an operator is compiled to: expressions and instructions."""
    if not operands:
        yield Number(_EMPTY[operator])
        return
    first = operands[0]
    if operator in _NARY:
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


def _check_arity(part: Apply) -> None:
    count = len(part.operands)
    if part.operator not in ARITIES:
        raise ValueError(f"the operator {part.operator!r} is unknown")
    least, most = ARITIES[part.operator]
    if count < least or (most is not None and count > most):
        raise ValueError(f"the operator {part.operator!r} has {count} operands")
    if part.operator == "piecewise" and count % 2 == 0:
        raise ValueError("a piecewise has no value for otherwise")


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
