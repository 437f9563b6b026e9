"""What equal modules of a model share: expressions of the same form are compiled once."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.errors import ModelError
from pyapsp.simulation import bytecode, values
from pyapsp.simulation.expressions import (
    Apply,
    Name,
    Number,
    names,
    parted,
    renamed,
)
from pyapsp.simulation.formulas import formula
from pyapsp.simulation.generators import luo_rudy_line
from pyapsp.simulation.schedule import check, compile_model
from pyapsp.simulation.system import System
from pyapsp.simulation.values import at_start


def test_parts_of_an_expression():
    expression = formula("a*exp(2 - b) if a < time else c")
    form, found = parted(expression)
    assert found == names(expression) == ("a", "b", "a", "time", "c")
    assert parted(formula("x*exp(2 - x) if time < x else x"))[0] == form
    assert parted(formula("a*exp(3 - b) if a < time else c"))[0] != form
    assert parted(formula("a*exp(2 + b) if a < time else c"))[0] != form


def test_zeros_have_their_signs():
    zeros = {"x": Number(0.0), "y": Number(-0.0)}
    ones = {f"over {name}": Apply("divide", (Number(1.0), zero)) for name, zero in zeros.items()}
    system = System("zeros", {}, {**zeros, **ones}, {}, {}, {})
    found = at_start(system)[0]
    assert np.signbit([found["x"], found["y"]]).tolist() == [False, True]
    assert (found["over x"], found["over y"]) == (np.inf, -np.inf)
    codes = compile_model(System("zeros", {}, {}, {}, {}, ones), {}).codes
    assert np.signbit(codes.bundles[0].constants).tolist() == [[False, False], [False, True]]


def test_a_renamed_expression_has_the_same_form():
    expression = formula("a*exp(-a) + b")
    new = renamed(expression, {"a": "c", "b": "time"}.__getitem__)
    assert new == formula("c*exp(-c) + time")
    assert parted(new) == parted(formula("c*exp(-c) + time"))
    assert parted(new)[0] is parted(expression)[0]


def test_names_of_other_kinds_make_other_code():
    """The same form of a variable, a constant and the time."""
    functions = {f"f_{name}": formula(f"{name}*2 - {name}") for name in ("x", "p", "time")}
    system = System("kinds", {"p": 5.0}, {}, {"x": Number(1)}, {"x": Number(0)}, functions)
    codes = compile_model(system, {"p": 5.0}).codes
    rows = [codes.bundles[bundle].row(row) for bundle, row in codes.places.tolist()]
    x, p, t, slope = ((each.slots.tolist()[0], each.constants.tolist()[0]) for each in rows)
    assert (x, p, t, slope) == (
        ([0, 0, 1], [2.0]),
        ([2], [5.0, 2.0, 5.0]),
        ([3], [2.0]),
        ([0], [0.0]),
    )
    assert len({bundle.shape for bundle in codes.bundles}) == 4
    assert codes.reads.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("work", [(bytecode, "_template"), (values, "evaluated")])
def test_work_does_not_grow_with_the_cells(work, monkeypatch):
    original, calls = getattr(*work), []

    def counted(*arguments):
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(*work, counted)
    counts = []
    for cells in (10, 30):
        calls.clear()
        system = luo_rudy_line(cells)
        compile_model(system, at_start(system)[0])
        counts.append(len(calls))
    assert counts[0] == counts[1] < 50


@pytest.mark.parametrize("part", ["x", 0.5, None])
def test_a_part_that_is_no_expression(part):
    nested = Apply("plus", (Name("x"), Apply("exp", (part,))))
    system = System("parts", {}, {}, {"x": Number(1)}, {"x": nested}, {})
    with pytest.raises(ModelError, match=f"derivative of 'x': {part!r} is no expression"):
        check(system)
