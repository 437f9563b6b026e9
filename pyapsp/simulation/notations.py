"""Write systems for other packages: SBML, myokit's format, a function for `solve_ivp`.

The operators are those of `pyapsp.simulation.generators`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyapsp.simulation.expressions import Apply, Expression, Name, Number, names
from pyapsp.simulation.system import System
from pyapsp.simulation.values import Sorted, Value, at_start, cycle_error

__all__ = ["identifier", "myokit_of", "right_side", "sbml_of"]


class _Notation(NamedTuple):
    """Operators between operands, and functions that are not ``operator(operands)``."""

    signs: Mapping[str, str]
    calls: Mapping[str, str]


_SIGNS = {
    "plus": " + ", "times": " * ", "minus": " - ", "divide": " / ",
    "eq": " == ", "neq": " != ", "lt": " < ", "leq": " <= ", "gt": " > ", "geq": " >= ",
}  # fmt: skip
_WORDS = {**_SIGNS, "and": " and ", "or": " or "}
_SBML = _Notation({**_SIGNS, "and": " && ", "or": " || "}, {})
_MYOKIT = _Notation(
    _WORDS, {"ln": "log({0})", "root": "{1}^(1/{0})", "piecewise": "if({1}, {0}, {2})"}
)
_PYTHON = _Notation(
    _WORDS, {"ln": "log({0})", "root": "{1}**(1/{0})", "piecewise": "({0} if {1} else {2})"}
)


def identifier(name: str) -> str:
    """Return a name in which all but letters and digits is underscores."""
    return "".join(each if each.isalnum() else "_" for each in name)


def _text(expression: Expression, notation: _Notation) -> str:
    if isinstance(expression, Number):
        return f"({expression.value!r})"
    if isinstance(expression, Name):
        return identifier(expression.name)
    assert isinstance(expression, Apply)
    operator = expression.operator
    parts = [_text(each, notation) for each in expression.operands]
    if call := notation.calls.get(operator):
        return call.format(*parts)
    sign = notation.signs.get(operator)
    if sign is None:
        return f"{operator}({', '.join(parts)})"
    return f"(-{parts[0]})" if len(parts) == 1 else f"({sign.join(parts)})"


def sbml_of(system: System) -> str:
    """Return a system without resets as a document of SBML, Level 3.

    Quantities are parameters. A name keeps its letters; what SBML does not allow in it becomes
    underscores. The model starts at time 0.
    """
    libsbml = importlib.import_module("libsbml")
    document = libsbml.SBMLDocument(3, 1)
    model = document.createModel()
    constants, initial = at_start(system)
    values = {**constants, **initial, **dict.fromkeys(system.functions)}
    for name, value in values.items():
        quantity = model.createParameter()
        quantity.setId(identifier(name))
        quantity.setConstant(name in constants)
        if value is not None:
            quantity.setValue(float(value))
    rules = (
        (system.functions, model.createAssignmentRule),
        (system.derivatives, model.createRateRule),
    )
    for group, create in rules:
        for name, expression in group.items():
            rule = create()
            rule.setVariable(identifier(name))
            rule.setMath(libsbml.parseL3Formula(_text(expression, _SBML)))
    return str(libsbml.writeSBMLToString(document))


def myokit_of(system: System, bound: Mapping[str, str], potential: str) -> str:
    """Return a system without resets as a model of myokit with one component, ``cell``.

    Parameters
    ----------
    system : System
    bound : mapping of str to str
        Names that myokit gives values to, and what it calls them.
    potential : str
        The state that currents between cells depend on.
    """
    constants, initial = at_start(system)
    lines = ["[[model]]", *(f"cell.{identifier(name)} = {v!r}" for name, v in _plain(initial))]
    lines += ["", "[cell]", *(f"{name} = 0 bind {what}" for name, what in bound.items())]
    lines += [f"{identifier(name)} = {value!r}" for name, value in _plain(constants)]
    for name, rule in system.functions.items():
        lines.append(f"{identifier(name)} = {_text(rule, _MYOKIT)}")
    for name, rule in system.derivatives.items():
        lines.append(f"dot({identifier(name)}) = {_text(rule, _MYOKIT)}")
        lines += ["    label membrane_potential"] * (name == potential)
    return "\n".join([*lines, ""])


def _plain(values: Mapping[str, Value]) -> list[tuple[str, float]]:
    return [(name, float(value)) for name, value in values.items()]


def right_side(
    system: System,
) -> Callable[[float, NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]:
    """Return the derivatives of a system without constants and resets, compiled by Numba.

    Returns
    -------
    callable
        ``f(t, y, p)``: `y` has the states and `p` the parameters, in the order of the system.
    """
    numba = importlib.import_module("numba")
    rules = system.functions
    order = Sorted(
        lambda name: [each for each in names(rules[name]) if each in rules],
        lambda cycle: cycle_error(system, cycle),
    )
    for name in rules:
        order.add(name)
    lines = ["def derivatives(time, y, p):"]
    for array, group in (("y", system.initial), ("p", system.parameters)):
        lines += [f"    {identifier(name)} = {array}[{i}]" for i, name in enumerate(group)]
    lines += [f"    {identifier(name)} = {_text(rules[name], _PYTHON)}" for name in order.order]
    slopes = [_text(system.derivatives[name], _PYTHON) for name in system.initial]
    lines.append(f"    return array([{', '.join(slopes)}])")
    scope: dict[str, Any] = {"exp": np.exp, "log": np.log, "array": np.array}
    exec("\n".join(lines), scope)
    compiled: Callable[[float, NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]] = (
        numba.njit(scope["derivatives"])
    )
    return compiled
