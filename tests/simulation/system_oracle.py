"""Systems as Python functions, for SciPy: slow, and written without a look at the simulators."""

from __future__ import annotations

import math
from graphlib import TopologicalSorter

import numpy as np
from scipy.integrate import solve_ivp

from pyapsp.simulation.expressions import Apply, Name, names


def _total(function, poles=()):
    """Return a function of floats that gives what C's function gives where Python's raises."""

    def total(*arguments):
        try:
            return float(function(*arguments))
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return dict(poles).get(arguments, math.nan)

    return total


def _divide(a, b):
    if b:
        return a / b
    return (
        math.nan
        if a == 0 or math.isnan(a) or math.isnan(b)
        else math.copysign(1.0, a) * math.copysign(math.inf, b)
    )


def _power(a, b):
    with np.errstate(all="ignore"):
        return float(np.power(a, b))


def _root(degree, x):
    if x < 0 and degree % 2 == 1:
        return -_power(-x, 1 / degree)
    return math.sqrt(x) if degree == 2 and x >= 0 else _power(x, _divide(1.0, degree))


def _rounded(function):
    return lambda x: float(function(x)) if math.isfinite(x) else x


def _reciprocal(function):
    return lambda x: _divide(1.0, function(x))


def _of_reciprocal(function):
    return lambda x: function(_divide(1.0, x))


_ln = _total(math.log, {(0.0,): -math.inf}.items())
CALLS = {
    "divide": _divide,
    "power": _power,
    "root": _root,
    "ln": _ln,
    "log": lambda base, x: math.log10(x) if base == 10 and x > 0 else _divide(_ln(x), _ln(base)),
    "rem": _total(math.fmod),
    "quotient": lambda a, b: float(math.trunc(_divide(a, b))) if b else math.nan,
    "floor": _rounded(math.floor),
    "ceiling": _rounded(math.ceil),
    "factorial": _total(lambda x: math.gamma(x + 1)),
    "exp": _total(math.exp),
    "abs": abs,
    "sec": _reciprocal(math.cos),
    "csc": _reciprocal(math.sin),
    "cot": _reciprocal(math.tan),
    "sech": _reciprocal(math.cosh),
    "csch": _reciprocal(math.sinh),
    "coth": _reciprocal(math.tanh),
    "arcsec": _of_reciprocal(_total(math.acos)),
    "arccsc": _of_reciprocal(_total(math.asin)),
    "arccot": _of_reciprocal(math.atan),
    "arcsech": _of_reciprocal(_total(math.acosh)),
    "arccsch": _of_reciprocal(math.asinh),
    "arccoth": _of_reciprocal(_total(math.atanh)),
    **{name: _total(getattr(math, name)) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{
        f"arc{name}": _total(getattr(math, f"a{name}"))
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
}
SIGNS = {"plus": "+", "times": "*", "and": " and ", "or": " or ", "eq": "==", "neq": "!="}
SIGNS |= {"gt": ">", "lt": "<", "geq": ">=", "leq": "<="}
EMPTY = {"plus": "0.0", "times": "1.0", "and": "1.0", "or": "0.0", "xor": "0.0"}


class Oracle:
    """Values and derivatives of a system.

    ``names`` are its states in the order of the vectors ``y``.
    """

    def __init__(self, system, **parameters):
        self.system = system
        self.names = list(system.initial)
        self._places = {}
        for name in [
            "time",
            *system.parameters,
            *system.constants,
            *system.functions,
            *self.names,
        ]:
            self._places[name] = f"v{len(self._places)}"
        fixed = {**system.parameters, **parameters}
        rules = {**system.constants, **system.functions}
        start = self._function({**rules, **system.initial}, fixed, [], "start")
        self.start = start(system.start, [])
        self.y0 = np.array([self.start[name] for name in self.names])
        constants = {name: self.start[name] for name in system.constants}
        self.values = self._function(system.functions, {**fixed, **constants}, self.names, "values")
        derivatives = [system.derivatives[name] for name in self.names]
        self._rhs = self._function(
            system.functions, {**fixed, **constants}, self.names, "rhs", derivatives
        )

    def rhs(self, time, y):
        return np.array(self._rhs(time, list(map(float, y))))

    def solve(self, times, method="LSODA", rtol=1e-9, atol=1e-12, **options):
        """Return a dictionary from names to values at times; the first time is the start."""
        times = np.asarray(times, dtype=float)
        if self.names:
            answer = solve_ivp(
                self.rhs, times[[0, -1]], self.y0, method, times, rtol=rtol, atol=atol, **options
            )
            assert answer.success, answer.message
            states = answer.y.T
        else:
            states = np.zeros((len(times), 0))
        rows = [self.values(t, list(map(float, y))) for t, y in zip(times, states, strict=True)]
        return {key: np.array([row[key] for row in rows], dtype=float) for key in rows[0]}

    def step(self, time, y, size):
        """Return the states after a step of the classical Runge-Kutta method, and its resets."""
        k1 = self.rhs(time, y)
        k2 = self.rhs(time + size / 2, y + size / 2 * k1)
        k3 = self.rhs(time + size / 2, y + size / 2 * k2)
        k4 = self.rhs(time + size, y + size * k3)
        y = y + size / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if self.system.resets:
            order = list(self.system.resets)
            resets = self._resets()(time + size, list(map(float, y)))
            for name, value in zip(order, resets, strict=True):
                y[self.names.index(name)] = value
        return y

    def _resets(self):
        if not hasattr(self, "_reset"):
            fixed = {name: self.start[name] for name in self.system.constants}
            self._reset = self._function(
                self.system.functions,
                {**self.system.parameters, **fixed},
                self.names,
                "resets",
                list(self.system.resets.values()),
            )
        return self._reset

    def _function(self, rules, fixed, states, label, answers=None):
        """Return f(time, y): a dictionary of all values, or the list of ``answers``."""
        order = TopologicalSorter(
            {name: [n for n in names(rule) if n in rules] for name, rule in rules.items()}
        ).static_order()
        lines = [f"def {label}(v0, y):"]
        if states:
            lines.append(f"  ({', '.join(self._places[name] for name in states)},) = y")
        lines += [f"  {self._places[name]} = {self._text(rules[name])}" for name in order]
        if answers is None:
            known = ["time", *fixed, *rules, *states]
            items = ", ".join(f"{name!r}: {self._places[name]}" for name in known)
            lines.append(f"  return {{{items}}}")
        else:
            lines.append(f"  return [{', '.join(self._text(answer) for answer in answers)}]")
        scope = {**CALLS, "nan": math.nan, "inf": math.inf, "max": max, "min": min}
        scope |= {self._places[name]: value for name, value in fixed.items()}
        exec(compile("\n".join(lines), label, "exec"), scope)
        return scope[label]

    def _text(self, part):
        if isinstance(part, Name):
            return self._places[part.name]
        if not isinstance(part, Apply):
            return f"({float(part.value)!r})"
        operator, operands = part.operator, [self._text(operand) for operand in part.operands]
        if operator in ("true", "false"):
            return "1.0" if operator == "true" else "0.0"
        if not operands:
            return EMPTY[operator]
        if operator == "piecewise":
            pairs = zip(operands[0:-1:2], operands[1::2], strict=True)
            cases = "".join(f"{value} if {condition} else " for value, condition in pairs)
            return f"({cases}{operands[-1]})"
        if operator == "minus":
            return f"(-{operands[0]})" if len(operands) == 1 else f"({operands[0]}-{operands[1]})"
        if operator == "not":
            return f"(0.0 if {operands[0]} else 1.0)"
        if operator == "xor":
            return f"(1.0 if ({'+'.join(f'bool({o})' for o in operands)})%2 else 0.0)"
        if operator in SIGNS:
            joined = SIGNS[operator].join(operands)
            return f"({joined})" if operator in ("plus", "times") else f"(1.0 if {joined} else 0.0)"
        if operator in ("max", "min"):
            return f"{operator}(({', '.join(operands)},))"
        return f"{operator}({', '.join(operands)})"
