"""Compute the constants and initial values of a system, for one or many sets of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gamma

from pyapsp.base.errors import ModelError
from pyapsp.simulation.expressions import Apply, Expression, Form, Name, Number, names, parted
from pyapsp.simulation.system import System

__all__ = ["Sorted", "Value", "at_start", "cycle_error", "evaluated"]

#: A float64, or an array with one for each set of parameters.
Value: TypeAlias = float | np.float64 | NDArray[np.float64]


def _all_of(compare: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    """Return a function that compares neighbours, as ``a < b < c`` does."""

    def chain(*operands: Value) -> Value:
        pairs = pairwise(operands)
        return reduce(np.logical_and, [compare(*pair) for pair in pairs]) * 1.0

    return chain


def _logical(combine: np.ufunc, empty: bool) -> Callable[..., Value]:
    def apply(*operands: Value) -> Value:
        value: Value = reduce(combine, [each != 0 for each in operands], np.bool_(empty)) * 1.0
        return value

    return apply


def _piecewise(*operands: Value) -> Value:
    value = operands[-1]
    for piece, condition in zip(operands[-3::-2], operands[-2::-2], strict=True):
        value = np.where(condition != 0, piece, value)
    return value[()] if isinstance(value, np.ndarray) else value


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "plus": lambda *x: sum(x[1:], x[0]) if x else 0.0,
    "times": lambda *x: reduce(np.multiply, x, 1.0),
    "max": lambda *x: reduce(np.fmax, x),
    "min": lambda *x: reduce(np.fmin, x),
    "and": _logical(np.logical_and, True),
    "or": _logical(np.logical_or, False),
    "xor": _logical(np.logical_xor, False),
    "not": lambda x: (x == 0) * 1.0,
    "eq": _all_of(np.equal),
    "neq": _all_of(np.not_equal),
    "gt": _all_of(np.greater),
    "lt": _all_of(np.less),
    "geq": _all_of(np.greater_equal),
    "leq": _all_of(np.less_equal),
    "true": lambda: 1.0,
    "false": lambda: 0.0,
    "minus": lambda *x: -x[0] if len(x) == 1 else x[0] - x[1],
    "divide": np.divide,
    "power": lambda x, y: _power(x, y),
    "root": lambda degree, x: np.sqrt(x) if np.all(degree == 2) else np.power(x, 1 / degree),
    "log": lambda base, x: np.log10(x) if np.all(base == 10) else np.log(x) / np.log(base),
    "rem": np.fmod,
    "quotient": lambda x, y: np.trunc(x / y),
    "exp": np.exp,
    "ln": np.log,
    "abs": np.abs,
    "floor": np.floor,
    "ceiling": np.ceil,
    "factorial": lambda x: gamma(x + 1),
    "piecewise": _piecewise,
}
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    _FUNCTIONS |= {_name: getattr(np, _name), f"arc{_name}": getattr(np, f"arc{_name}")}
for _name, _of in (("sec", "cos"), ("csc", "sin"), ("cot", "tan")):
    for _h in ("", "h"):
        _FUNCTIONS[_name + _h] = lambda x, f=_FUNCTIONS[_of + _h]: 1 / f(x)
        _FUNCTIONS[f"arc{_name}{_h}"] = lambda x, f=_FUNCTIONS[f"arc{_of}{_h}"]: f(1 / x)


def _power(x: Value, y: Value) -> Value:
    """Return the power as bytecodes compute it: small whole powers are products."""
    if np.ndim(y) == 0 and y in (2, 3, 4):
        square = x * x
        return square if y == 2 else square * x if y == 3 else square * square
    return np.power(x, y)


def evaluated(expression: Expression, value: Callable[[str], Value]) -> Value:
    """Return the value of an expression.

    Parameters
    ----------
    expression : Expression
    value : callable
        Returns the value of a name.
    """
    done: list[Value] = []
    pending: list[Expression | int] = [expression]
    applied: list[Apply] = []
    while pending:
        part = pending.pop()
        if isinstance(part, Number):
            done.append(np.float64(part.value))
        elif isinstance(part, Name):
            done.append(value(part.name))
        elif isinstance(part, Apply):
            applied.append(part)
            pending.append(len(part.operands))
            pending.extend(reversed(part.operands))
        else:
            start = len(done) - part
            done[start:] = [_FUNCTIONS[applied.pop().operator](*done[start:])]
    return done[0]


class Sorted:
    """Names in an order in which each follows those that it depends on.

    Parameters
    ----------
    needs : callable
        Returns the names that a name depends on.
    error : callable
        Makes the error for a cycle, from its names.

    Attributes
    ----------
    order : list of str
        The names so far.
    """

    def __init__(
        self, needs: Callable[[str], Iterable[str]], error: Callable[[list[str]], Exception]
    ) -> None:
        self._needs, self._error = needs, error
        self.order: list[str] = []
        self._state: dict[str, bool] = {}  # whether a name is in the order

    def add(self, name: str) -> None:
        """Append a name, after all that it depends on."""
        pending = [(name, iter((name,)))]
        path: list[str] = []
        while pending:
            owner, coming = pending[-1]
            for each in coming:
                if each not in self._state:
                    self._state[each] = False
                    path.append(each)
                    pending.append((each, iter(self._needs(each))))
                    break
                if not self._state[each]:
                    raise self._error([*path[path.index(each) :], each])
            else:
                pending.pop()
                if pending:
                    self._state[owner] = True
                    self.order.append(path.pop())


def cycle_error(system: System, cycle: list[str]) -> ModelError:
    """Return the error for names that depend on each other."""
    shown = cycle if len(cycle) <= 12 else [*cycle[:11], f"… {len(cycle) - 12} more …", cycle[-1]]
    return ModelError(system.name, f"cycle of {cycle[0]!r}", " -> ".join(shown))


def at_start(
    system: System, chosen: Mapping[str, Value] | None = None
) -> tuple[dict[str, Value], dict[str, Value]]:
    """Return what does not change, and the states at the start.

    Parameters
    ----------
    system : System
        Its names are checked by `pyapsp.simulation.schedule`.
    chosen : mapping of str to float or (n,) ndarray, optional
        Values to use for parameters, and for the initial values of states.

    Returns
    -------
    values : dict
        The value of each parameter and constant.
    initial : dict
        The value of each state.

    Raises
    ------
    ModelError
        If values depend on each other in a cycle.
    """
    chosen = chosen or {}
    values: dict[str, Value] = {name: np.float64(each) for name, each in system.parameters.items()}
    values |= {"time": np.float64(system.start)}
    values |= chosen
    rules = {**system.constants, **system.functions, **system.initial}

    def needs(name: str) -> Iterable[str]:
        return () if name in values else names(rules[name])

    order = Sorted(needs, lambda cycle: cycle_error(system, cycle))
    for name in (*system.constants, *system.initial):
        order.add(name)
    known: dict[tuple[Form | int, ...], Value] = {}  # of equal forms of the same values
    with np.errstate(all="ignore"):
        for name in order.order:
            if name in values:
                continue
            form, used = parted(rules[name])
            key: tuple[Form | int, ...] = (form, *[id(values[each]) for each in used])
            if key not in known:
                known[key] = evaluated(rules[name], values.__getitem__)
            values[name] = known[key]
    constant = {name: values[name] for name in (*system.parameters, *system.constants)}
    return constant, {name: values[name] for name in system.initial}
