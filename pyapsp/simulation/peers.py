"""Beside libRoadRunner: ``python -m pyapsp.simulation.peers [CELLS [SETS]]``.

A line of Luo-Rudy cells is written as SBML. libRoadRunner compiles and integrates it on one core,
and pyapsp on its device, in turns, by the same steps of the classical Runge-Kutta method. Then a
single cell is integrated for many sets of parameters: by libRoadRunner in a loop, and by pyapsp at
once. The extra ``peers`` has libRoadRunner.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pyapsp.errors import CapabilityError, VerificationError
from pyapsp.simulation.expressions import Apply, Expression, Name, Number
from pyapsp.simulation.generators import luo_rudy, luo_rudy_line
from pyapsp.simulation.simulate import simulate
from pyapsp.simulation.system import System
from pyapsp.simulation.values import at_start

__all__ = ["main", "sbml_of"]

_SIGNS = {
    "plus": " + ", "times": " * ", "minus": " - ", "divide": " / ", "and": " && ", "or": " || ",
    "eq": " == ", "neq": " != ", "lt": " < ", "leq": " <= ", "gt": " > ", "geq": " >= ",
}  # fmt: skip
_STEP, _TURNS, _TOLERANCE = 0.01, 3, 1e-9


def sbml_of(system: System) -> str:
    """Return a system without resets as a document of SBML, Level 3.

    Quantities are parameters. A name keeps its letters; what SBML does not allow in it becomes
    underscores. The model starts at time 0.
    """
    libsbml: Any = importlib.import_module("libsbml")
    document = libsbml.SBMLDocument(3, 1)
    model = document.createModel()
    constants, initial = at_start(system)
    values = {**constants, **initial, **dict.fromkeys(system.functions)}
    for name, value in values.items():
        quantity = model.createParameter()
        quantity.setId(_identifier(name))
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
            rule.setVariable(_identifier(name))
            rule.setMath(libsbml.parseL3Formula(_text(expression)))
    return str(libsbml.writeSBMLToString(document))


def _identifier(name: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in name)


def _text(expression: Expression) -> str:
    """Return an expression in the infix notation of libSBML."""
    if isinstance(expression, Number):
        return f"({expression.value!r})"
    if isinstance(expression, Name):
        return _identifier(expression.name)
    assert isinstance(expression, Apply)
    parts = [_text(each) for each in expression.operands]
    sign = _SIGNS.get(expression.operator)
    if sign is None:
        return f"{expression.operator}({', '.join(parts)})"
    return f"(-{parts[0]})" if len(parts) == 1 else f"({sign.join(parts)})"


def _seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = call()
    return time.perf_counter() - started, found


def _loaded(system: System, output: str) -> Any:
    try:
        roadrunner: Any = importlib.import_module("roadrunner")
    except ModuleNotFoundError:
        raise CapabilityError("libRoadRunner is missing: install the extra 'peers'") from None
    runner = roadrunner.RoadRunner(sbml_of(system))
    runner.setIntegrator("rk4")
    runner.timeCourseSelections = ["time", _identifier(output)]
    return runner


def _require_equal(ours: float, theirs: float) -> None:
    if not abs(ours - theirs) <= _TOLERANCE * abs(theirs):
        raise VerificationError(f"{ours} instead of {theirs}")


def _line(cells: int) -> None:
    """Print the time of a step of a line: the difference of a long and a short run."""
    system, output = luo_rudy_line(cells), f"cell[{cells}].V"
    setup, runner = _seconds(lambda: _loaded(system, output))
    rows: dict[str, list[float]] = {"libRoadRunner": [], "pyapsp": []}

    def theirs(steps: int) -> float:
        runner.reset()
        return float(runner.simulate(0, steps * _STEP, steps + 1)[-1, 1])

    def ours(steps: int) -> float:
        duration = steps * _STEP * (1 + 1e-12)
        frame = simulate(system, duration=duration, step=_STEP, output=[output], every=steps)
        return float(frame[output].iloc[-1])

    short, long = 200, 2200
    for turn in range(_TURNS + 1):
        found = {}
        for name, run in (("libRoadRunner", theirs), ("pyapsp", ours)):
            before, _ = _seconds(lambda run=run: run(short))  # type: ignore[misc]
            after, found[name] = _seconds(lambda run=run: run(long))  # type: ignore[misc]
            rows[name] += [(after - before) / (long - short)] if turn else []
        _require_equal(found["pyapsp"], found["libRoadRunner"])
    us = {name: 1e6 * float(np.median(each)) for name, each in rows.items()}
    print(f"LR-{cells}: libRoadRunner compiles the model in {setup:.1f} s")
    print(f"LR-{cells}: {us['libRoadRunner']:.2f} us a step in libRoadRunner", end=", ")
    print(f"{us['pyapsp']:.2f} in pyapsp: {us['libRoadRunner'] / us['pyapsp']:.2f} x")


def _sets(count: int) -> None:
    """Print the time of many sets of parameters of a cell."""
    import pandas as pd

    system, steps = luo_rudy(), 500
    sets = pd.DataFrame({"G_Na": np.random.default_rng(1).uniform(15, 30, count)})
    runner = _loaded(system, "V")

    def theirs() -> list[float]:
        found = []
        for value in sets["G_Na"]:
            runner.reset()
            runner.setValue("G_Na", value)
            found.append(float(runner.simulate(0, steps * _STEP, steps + 1)[-1, 1]))
        return found

    def ours() -> list[float]:
        duration = steps * _STEP * (1 + 1e-12)
        options: dict[str, Any] = {"duration": duration, "step": _STEP, "every": steps}
        frame = simulate(system, parameters=sets, reduce={"end": ("last", "V")}, **options)
        return list(frame["end"])

    _seconds(ours)  # compiles
    fast, right = _seconds(ours)
    slow, found = _seconds(theirs)
    for one, other in zip(right, found, strict=True):
        _require_equal(one, other)
    print(f"{count} sets, {steps} steps: libRoadRunner in a loop {slow:.2f} s", end=", ")
    print(f"pyapsp {fast:.2f} s: {slow / fast:.1f} x")


def main(arguments: list[str]) -> None:
    """Print the times of both."""
    numbers = [*map(int, arguments), *(20, 1000)[len(arguments) :]]
    _line(numbers[0])
    _sets(numbers[1])


if __name__ == "__main__":
    main(sys.argv[1:])
