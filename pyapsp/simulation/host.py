"""The interpreter on one core of the host, compiled by Numba: the oracle and the baseline.

Source: F. Okuyama's thesis, 2013, section 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import CapabilityError
from pyapsp.simulation.bytecode import Op
from pyapsp.simulation.image import encode
from pyapsp.simulation.integrate import Plan
from pyapsp.simulation.layout import Layout
from pyapsp.simulation.methods import Reals, Tableau

__all__ = ["HostEngine"]

# The words of the bytecodes, the slots of sums, constants, and where each bytecode begins.
_Operands: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], Reals, NDArray[np.int32]]
# The same, and where the phases of functions, derivatives and resets end.
_Code: TypeAlias = tuple[
    NDArray[np.int32], NDArray[np.int32], Reals, NDArray[np.int32], NDArray[np.int64]
]


# The functions `_evaluate` and `fixed`, compiled.
_Evaluate: TypeAlias = Callable[[_Operands, int, int, Reals, Reals, float, Reals, Reals], None]
_Fixed: TypeAlias = Callable[
    [
        _Code,
        tuple[Reals, NDArray[np.float64]],
        tuple[Reals, Reals, Reals, Reals, Reals, Reals],
        tuple[tuple[float, float, int], int, int],
        tuple[NDArray[np.int64], Reals],
    ],
    None,
]


class HostEngine:
    """Integrates a system on one core.

    The parameters are those of `DeviceEngine`, without a device. The layout has width 1; its
    bytecodes are interpreted in the order of the phases.
    """

    def __init__(
        self, layout: Layout, tableau: Tableau, dtype: np.dtype, outputs: Sequence[int], plan: Plan
    ) -> None:
        image = encode(layout)
        self._tableau, self._dtype = tableau, dtype
        ends = np.array([first + count for first, count in image.phases], np.int64)
        last = len(layout.phases) - 1
        derivatives = image.phases[last][0]
        self._code = (
            image.words,
            image.indices,
            image.values.astype(dtype),
            image.starts,
            np.array([derivatives, ends[last], ends[-1]], np.int64),
        )
        self._states, depth = layout.states, layout.depth
        self._outputs = np.array(outputs, np.int64)
        self._clock = float(plan.start), float(plan.step), int(plan.every)
        self._x = np.zeros(layout.states, dtype)
        self._k = np.zeros((tableau.stages, layout.states), dtype)
        self._f, self._stack = np.zeros(max(layout.functions, 1), dtype), np.zeros(depth + 1, dtype)
        self._rest = np.zeros(layout.states, dtype), np.zeros(2, dtype)
        self._evaluate, self._fixed = _compiled()

    def put(self, states: Reals) -> None:
        """Set the states, in the order of their slots."""
        self._x[:] = states

    def get(self) -> Reals:
        """Return the states."""
        return self._x.copy()

    def advance(self, first: int, steps: int) -> Reals:
        """Take steps of equal length, from number `first` on.

        Returns
        -------
        (rows, outputs) ndarray
            The outputs before each of these steps whose number is a multiple of `every`.
        """
        every = self._clock[2]
        rows = np.zeros((-(-(first + steps) // every) + -first // every, len(self._outputs)))
        rows = rows.astype(self._dtype)
        self._fixed(
            self._code,
            (self._tableau.rows.astype(self._dtype), self._tableau.nodes),
            (self._x, self._f, self._k, self._stack, *self._rest),
            (self._clock, first, steps),
            (self._outputs, rows),
        )
        return rows

    def sample(self, time: float) -> Reals:
        """Return the outputs for the present states at a time."""
        words, indices, values, starts, ends = self._code
        operands = (words, indices, values, starts)
        t = self._dtype.type(time)
        self._evaluate(operands, 0, ends[0], self._x, self._f, t, self._k[0], self._stack)
        inside = self._outputs < self._states
        row = np.empty(len(self._outputs), self._dtype)
        row[inside] = self._x[self._outputs[inside]]
        row[~inside] = self._f[self._outputs[~inside] - self._states]
        return row

    def begin(self, time: float) -> None:
        """Compute the first slope of an adaptive method."""
        self._slope(0, time, self._x)

    def attempt(self, time: float, step: float, absolute: float, relative: float) -> float:
        """Try a step, and return its error: a root of the mean square, 1 if it is as allowed."""
        assert self._tableau.error is not None, "the method has no error"
        real, rows = self._dtype.type, self._tableau.rows.astype(self._dtype)
        error = self._tableau.error.astype(self._dtype)
        for stage in range(self._tableau.stages - 1):
            weights = rows[stage, : stage + 1]
            self._new = self._x + real(step) * (weights @ self._k[: stage + 1])
            node = float(self._tableau.nodes[stage + 1])
            self._slope(stage + 1, time + node * step, self._new)
        larger = np.maximum(abs(self._x), abs(self._new))
        scaled = real(step) * (error @ self._k) / (real(absolute) + real(relative) * larger)
        return float(np.sqrt(np.mean(np.square(scaled, dtype=np.float64))))

    def accept(self) -> None:
        """Go to the states of the last attempt; its last slope is the next first one."""
        self._x[:] = self._new
        self._k[0] = self._k[-1]

    def _slope(self, stage: int, time: float, states: Reals) -> None:
        words, indices, values, starts, ends = self._code
        t, k = self._dtype.type(time), self._k[stage]
        operands = (words, indices, values, starts)
        self._evaluate(operands, 0, ends[1], states, self._f, t, k, self._stack)


@cache
def _compiled() -> tuple[_Evaluate, _Fixed]:
    try:
        import numba
    except ModuleNotFoundError:
        raise CapabilityError(
            "engine 'host' needs Numba; install the extra 'simulation' of pyapsp"
        ) from None
    compiler = numba.njit(nogil=True, error_model="numpy")
    evaluate = compiler(_evaluate)

    def fixed(
        code: _Code,
        tableau: tuple[Reals, NDArray[np.float64]],
        arrays: tuple[Reals, Reals, Reals, Reals, Reals, Reals],
        when: tuple[tuple[float, float, int], int, int],
        wanted: tuple[NDArray[np.int64], Reals],
    ) -> None:
        words, indices, values, starts, ends = code
        weights, nodes = tableau
        x, f, k, stack, at, clock = arrays
        (start, h, every), first, steps = when
        outputs, rows = wanted
        stages, n = k.shape
        operands = (words, indices, values, starts)
        clock[1] = h  # in the type of the states, as the time
        last = stages + (ends[2] > ends[1])
        for step in range(first, first + steps):
            at[:] = x
            for stage in range(last):
                resets = stage == stages
                clock[0] = start + (step + (1.0 if resets else nodes[stage])) * h
                out = x if resets else k[stage]
                begin = 0
                for part in range(2):  # one call in the text, which is compiled into it
                    end = ends[0] if part == 0 else ends[2] if resets else ends[1]
                    evaluate(operands, begin, end, at, f, clock[0], out, stack)
                    begin = ends[1] if resets else end
                    if part == 0 and stage == 0 and step % every == 0:
                        row = step // every - (first + every - 1) // every
                        for j in range(len(outputs)):
                            slot = outputs[j]
                            rows[row, j] = at[slot] if slot < n else f[slot - n]
                if resets:
                    continue
                for j in range(n):
                    total = weights[stage, 0] * k[0, j]
                    for i in range(1, stage + 1):
                        total += weights[stage, i] * k[i, j]
                    at[j] = x[j] + clock[1] * total
                if stage == stages - 1:
                    x[:] = at

    return evaluate, compiler(fixed)


def _evaluate(
    operands: _Operands,
    first: int,
    last: int,
    x: Reals,
    f: Reals,
    t: float,
    out: Reals,
    stack: Reals,
) -> None:
    """Interpret the bytecodes of some work-items in turn."""
    words, indices, values, starts = operands
    states = len(x)
    for item in range(first, last):
        pc = starts[item]
        top = -1
        while True:
            op = words[pc]
            pc += 1
            if op == Op.END:
                break
            if op == Op.CONSTANT:
                top += 1
                stack[top] = values[words[pc]]
                pc += 1
            elif op == Op.VARIABLE:
                slot = words[pc]
                pc += 1
                top += 1
                stack[top] = x[slot] if slot < states else f[slot - states]
            elif op == Op.ASSIGN:
                slot = words[pc]
                pc += 1
                if slot < states:
                    out[slot] = stack[top]
                else:
                    f[slot - states] = stack[top]
                top -= 1
            elif op == Op.SUM:
                terms, place = words[pc], words[pc + 1]
                pc += 2
                top += 1
                stack[top] = 0
                for i in range(place, place + terms):
                    slot = indices[i]
                    stack[top] += x[slot] if slot < states else f[slot - states]
            elif op == Op.TIME:
                top += 1
                stack[top] = t
            elif op == Op.JUMP:
                pc += words[pc] + 1
            elif op == Op.JUMP_UNLESS:
                pc += 1 if stack[top] != 0 else words[pc] + 1
                top -= 1
            elif op == Op.POWN:
                base = stack[top]
                square = base * base
                power = words[pc]
                pc += 1
                stack[top] = square if power == 2 else square * (base if power == 3 else square)
            elif op <= Op.XOR:
                count = words[pc]
                pc += 1
                top -= count - 1
                value = stack[top]
                if op >= Op.AND:
                    true = value != 0
                    for i in range(top + 1, top + count):
                        other = stack[i] != 0
                        if op == Op.AND:
                            true = true and other
                        elif op == Op.OR:
                            true = true or other
                        else:
                            true = true != other
                    stack[top] = 1 if true else 0
                else:
                    for i in range(top + 1, top + count):
                        if op == Op.PLUS:
                            value += stack[i]
                        elif op == Op.TIMES:
                            value *= stack[i]
                        elif op == Op.MAX:
                            value = stack[i] if stack[i] > value or value != value else value
                        else:
                            value = stack[i] if stack[i] < value or value != value else value
                    stack[top] = value
            elif op == Op.MINUS:
                top -= 1
                stack[top] = stack[top] - stack[top + 1]
            elif op == Op.DIVIDE:
                top -= 1
                stack[top] = stack[top] / stack[top + 1]
            elif op == Op.POWER:
                top -= 1
                stack[top] = math.pow(stack[top], stack[top + 1])
            elif op == Op.REM:
                top -= 1
                stack[top] = np.fmod(stack[top], stack[top + 1])
            elif op == Op.QUOTIENT:
                top -= 1
                stack[top] = np.trunc(stack[top] / stack[top + 1])
            elif op == Op.EQ:
                top -= 1
                stack[top] = 1 if stack[top] == stack[top + 1] else 0
            elif op == Op.NEQ:
                top -= 1
                stack[top] = 1 if stack[top] != stack[top + 1] else 0
            elif op == Op.GT:
                top -= 1
                stack[top] = 1 if stack[top] > stack[top + 1] else 0
            elif op == Op.LT:
                top -= 1
                stack[top] = 1 if stack[top] < stack[top + 1] else 0
            elif op == Op.GEQ:
                top -= 1
                stack[top] = 1 if stack[top] >= stack[top + 1] else 0
            elif op == Op.LEQ:
                top -= 1
                stack[top] = 1 if stack[top] <= stack[top + 1] else 0
            elif op == Op.NEGATE:
                stack[top] = -stack[top]
            elif op == Op.NOT:
                stack[top] = 1 if stack[top] == 0 else 0
            elif op == Op.SQRT:
                stack[top] = math.sqrt(stack[top])
            elif op == Op.EXP:
                stack[top] = math.exp(stack[top])
            elif op == Op.LN:
                stack[top] = math.log(stack[top])
            elif op == Op.LOG10:
                stack[top] = math.log10(stack[top])
            elif op == Op.ABS:
                stack[top] = abs(stack[top])
            elif op == Op.FLOOR:
                stack[top] = np.floor(stack[top])
            elif op == Op.CEILING:
                stack[top] = np.ceil(stack[top])
            elif op == Op.FACTORIAL:
                stack[top] = math.gamma(stack[top] + 1)
            elif op == Op.SIN:
                stack[top] = math.sin(stack[top])
            elif op == Op.COS:
                stack[top] = math.cos(stack[top])
            elif op == Op.TAN:
                stack[top] = math.tan(stack[top])
            elif op == Op.ASIN:
                stack[top] = math.asin(stack[top])
            elif op == Op.ACOS:
                stack[top] = math.acos(stack[top])
            elif op == Op.ATAN:
                stack[top] = math.atan(stack[top])
            elif op == Op.SINH:
                stack[top] = math.sinh(stack[top])
            elif op == Op.COSH:
                stack[top] = math.cosh(stack[top])
            elif op == Op.TANH:
                stack[top] = math.tanh(stack[top])
            elif op == Op.ASINH:
                stack[top] = math.asinh(stack[top])
            elif op == Op.ACOSH:
                stack[top] = math.acosh(stack[top])
            elif op == Op.ATANH:
                stack[top] = math.atanh(stack[top])
