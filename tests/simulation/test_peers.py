"""The models that other simulators get; and the command, with stand-ins for them."""

from __future__ import annotations

import os
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.integrate
from system_oracle import Oracle

import pyapsp
from pyapsp.device import choose
from pyapsp.errors import VerificationError
from pyapsp.simulation import notations, peers
from pyapsp.simulation.frontend import read_model
from pyapsp.simulation.generators import luo_rudy, luo_rudy_line


def test_a_system_written_as_sbml_is_the_same(tmp_path):
    system = luo_rudy_line(3)
    (tmp_path / "line.xml").write_text(notations.sbml_of(system))
    options = {"duration": 25, "step": 0.01, "every": 100, "method": "euler"}
    written = pyapsp.simulate(read_model(tmp_path / "line.xml"), output=["cell_3__V"], **options)
    right = pyapsp.simulate(system, output=["cell[3].V"], **options)
    np.testing.assert_allclose(written["cell_3__V"], right["cell[3].V"], rtol=1e-12)


STATES = [  # near rest, and in an action potential
    [-80.0, 0.01, 0.9, 0.9, 0.01, 0.9, 0.01, 2e-4],
    [30.0, 0.9, 0.1, 0.1, 0.5, 0.5, 0.2, 3e-3],
]


@pytest.mark.parametrize("y", STATES)
@pytest.mark.parametrize("time", [0.0, 22.0])
def test_a_system_as_a_function_has_the_same_derivatives(y, time):
    system = luo_rudy()
    found = notations.right_side(system)(time, np.array(y), np.array([*system.parameters.values()]))
    np.testing.assert_allclose(found, Oracle(system).rhs(time, np.array(y)), rtol=1e-12)


class Text(dict):
    """Values of the variables in a text of myokit, with some given."""

    def __init__(self, text, **given):
        self.rules = dict(line.partition(" = ")[::2] for line in text.splitlines())
        super().__init__(given)

    def __missing__(self, name):
        rule = self.rules[name].replace("if(", "choose(").replace("^", "**")
        scope = {"exp": np.exp, "log": np.log, "choose": lambda c, one, other: one if c else other}
        self[name] = eval(rule, scope, self)
        return self[name]


@pytest.mark.parametrize("y", STATES)
@pytest.mark.parametrize("time", [0.0, 22.0])
def test_a_system_as_text_of_myokit_has_the_same_derivatives(y, time):
    system = luo_rudy()
    text = notations.myokit_of(system, {"time": "time"}, "V")
    states = dict(zip(system.initial, y, strict=True))
    values = Text(text, time=time, **states)
    right = Oracle(system).rhs(time, np.array(y))
    for name, slope in zip(system.initial, right, strict=True):
        assert values[f"dot({name})"] == pytest.approx(slope, rel=1e-12)
    assert re.search(r"dot\(V\) = .*\n    label membrane_potential\n", text)
    assert "\ntime = 0 bind time\n" in text
    assert "\ncell.V = -84.5\n" in text


class Runner(SimpleNamespace):
    """Answers as libRoadRunner, with a value that pyapsp has computed."""

    def __init__(self, xml):
        super().__init__(xml=xml, given={})
        self.setIntegrator = self.reset = lambda *name: None
        self.setValue = self.given.__setitem__

    def simulate(self, start, end, rows):
        options = {"duration": end * (1 + 1e-12), "step": 0.01, "every": rows - 1}
        system, output = (luo_rudy(), "V") if self.given else (luo_rudy_line(2), "cell[2].V")
        frame = pyapsp.simulate(system, parameters=self.given, output=[output], **options)
        return np.array([[0, frame[output].iloc[-1] * (1 + WRONG["libRoadRunner"])]])


class Strand(SimpleNamespace):
    """Answers as a simulation of myokit, with values that pyapsp has computed."""

    def __init__(self, model, pulse, cells, precision):
        super().__init__(model=model, pulse=pulse, cells=cells, dtype=precision, reset=list)
        self.set_conductance = lambda value: setattr(self, "conductance", value)
        self.set_paced_cells = lambda count: setattr(self, "paced", count)
        self.set_step_size = lambda step: setattr(self, "step", step)

    def run(self, duration, log, log_interval):
        assert self.paced == 1
        level, start, length = self.pulse.scheduled
        current = float(re.search(r"\nstim_current = (.*)\n", self.model)[1])
        given = {"stim_start": start, "stim_duration": length, "stim_current": level * current}
        frame = pyapsp.simulate(
            luo_rudy_line(self.cells),
            duration=log_interval * (1 + 1e-12),
            step=self.step,
            every=round(log_interval / self.step),
            method="euler",
            dtype=self.dtype,
            parameters={**given, "G_gap": self.conductance},
            output=[f"cell[{self.cells}].V"],
        )
        assert duration > log_interval
        return {log[0]: frame.iloc[:, 1] * (1 + WRONG["myokit"])}


class Protocol(SimpleNamespace):
    def schedule(self, *values):
        self.scheduled = values


WRONG = {"libRoadRunner": 0.0, "myokit": 0.0, "solve_ivp": 0.0}


@pytest.fixture
def stand_ins(monkeypatch):
    monkeypatch.setitem(sys.modules, "roadrunner", SimpleNamespace(RoadRunner=Runner))
    myokit = SimpleNamespace(
        OpenCL=SimpleNamespace(info=lambda: drivers.append(os.environ.get("OCL_ICD_VENDORS"))),
        drivers=(drivers := []),
        Protocol=Protocol,
        SimulationOpenCL=Strand,
        SINGLE_PRECISION="float32",
        DOUBLE_PRECISION="float64",
        parse_model=str,
    )
    monkeypatch.setitem(sys.modules, "myokit", myokit)
    solve = scipy.integrate.solve_ivp

    def solve_ivp(*arguments, **options):
        answer = solve(*arguments, **options)
        answer.y *= 1 + WRONG["solve_ivp"]
        return answer

    monkeypatch.setattr(scipy.integrate, "solve_ivp", solve_ivp)
    for name, value in (("_TURNS", 1), ("_LINE_STEPS", (2, 120)), ("_STRAND_STEPS", (2, 240))):
        monkeypatch.setattr(peers, name, value)
    return myokit


@pytest.mark.slow
def test_the_command_prints_times(stand_ins, capsys):
    peers.main(["2", "3", "3"])
    lines = capsys.readouterr().out.splitlines()
    starts = ["LR-2: ", "LR-2: ", "3 sets, 500 steps", "3 sets, 100 ms", "strand of 3, float64"]
    for line, start in zip(lines, [*starts, "strand of 3, float32"], strict=True):
        assert line.startswith(start)
    assert all(stand_ins.drivers)
    assert stand_ins.OpenCL.load_selection_bytes()[1].decode() == choose().handle.name


@pytest.mark.every(3)
@pytest.mark.parametrize("name", WRONG)
def test_the_command_checks_the_values(name, stand_ins, monkeypatch):
    monkeypatch.setitem(WRONG, name, 1e-2)
    with pytest.raises(VerificationError):
        peers.main(["2", "3", "3"])


@pytest.mark.slow
def test_a_peer_that_is_not_there_is_said_to_be_missing(stand_ins, monkeypatch, capsys):
    for name in ("roadrunner", "myokit"):
        monkeypatch.setitem(sys.modules, name, None)
    peers.main(["2", "3", "3"])
    missing = "{} is missing: install the extra 'peers'"
    first, second, sets, *strands = capsys.readouterr().out.splitlines()
    assert first == second == missing.format("libRoadRunner")
    assert sets.startswith("3 sets, 100 ms")
    assert strands == [missing.format("myokit")] * 2
