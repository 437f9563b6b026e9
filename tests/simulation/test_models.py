"""Models of the thesis: their phases, and the command line."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

import pyapsp
from pyapsp.cli import main
from pyapsp.simulation.generators import luo_rudy, luo_rudy_line
from pyapsp.simulation.layout import Optimisations, arrange
from pyapsp.simulation.program import translation
from pyapsp.simulation.schedule import compile_model
from pyapsp.simulation.values import at_start


def phases(system, *, merge):
    model = compile_model(system, at_start(system)[0], merge=merge)
    layout = arrange(model, Optimisations(merge=merge), 32)
    return [len(each) for each in model.phases], [len(each.bundles) for each in layout.phases]


def test_phases_of_luo_rudy_lines():
    """Table 5.6: 2,399, 399 and 800 bytecodes in LR-100; the shapes are as many as in any line."""
    assert phases(luo_rudy_line(100), merge=True)[0] == [2399, 399, 800]
    plain, merged = (phases(luo_rudy_line(10), merge=merge) for merge in (False, True))
    assert merged[0] == [239, 39, 80]
    assert len(plain[0]) == 5  # table 5.7: five phases before merging, three after
    assert phases(luo_rudy_line(100), merge=True)[1] == merged[1]


def test_a_program_does_not_grow_with_the_cells():
    texts = []
    for cells in (20, 40):
        system = luo_rudy_line(cells)
        model = compile_model(system, at_start(system)[0], merge=True)
        made = translation(arrange(model, Optimisations(), 32), lanes=1, ranges=False)
        texts.append(len(made.text))
    assert abs(texts[0] - texts[1]) < 200


def test_an_action_potential(device):
    """A beat of the Luo-Rudy cell, which is excited if sodium channels conduct."""
    sets = pd.DataFrame({"G_Na": [0.0, 23.0]})
    keep = {"rest": ("min", "V"), "peak": ("max", "V"), "up": ("crossing", "V", 0.0)}
    found = pyapsp.simulate(
        luo_rudy(), duration=150, step=0.01, every=20, parameters=sets, reduce=keep, device=device
    )
    assert found["peak"].iloc[1] == pytest.approx(50, abs=8)
    assert (found["rest"] < -80).all()
    assert found["up"].isna().tolist() == [True, False]


SBML = """<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1">
  <model id="decay" timeUnits="second">
    <listOfCompartments><compartment id="c" size="1" constant="true" spatialDimensions="3"/>
    </listOfCompartments>
    <listOfSpecies><species id="S" compartment="c" initialConcentration="4"
      hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/></listOfSpecies>
    <listOfParameters><parameter id="k" value="0.5" constant="true"/></listOfParameters>
    <listOfRules><rateRule variable="S"><math xmlns="http://www.w3.org/1998/Math/MathML">
      <apply><times/><apply><minus/><ci>k</ci></apply><ci>S</ci></apply></math></rateRule>
    </listOfRules>
  </model>
</sbml>
"""


@pytest.fixture
def decay(tmp_path, monkeypatch, device):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "decay.xml").write_text(SBML)
    return tmp_path


LINE = ["simulate", "decay.xml", "--duration", "2", "--step", "0.01", "--every", "100"]


def test_command_line(decay, capsys):
    assert main([*LINE, "--quantity", "S", "--set", "k=1"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    np.testing.assert_allclose(found["S"], 4 * np.exp([0, -1, -2]), rtol=1e-9)
    assert main([*LINE, "--integrator", "dopri5", "-o", "run.csv", "--progress"]) == 0
    assert "step 200 of 200" in capsys.readouterr().err
    np.testing.assert_allclose(pd.read_csv("run.csv")["S"], 4 * np.exp([0, -0.5, -1]), rtol=1e-4)


def test_many_sets_by_the_command_line(decay, capsys):
    (decay / "sets.csv").write_text("k\n0.5\n1\n")
    reductions = ["--reduce", "end=last:S", "--reduce", "low=crossing:S:9"]
    assert main([*LINE, "--parameters", "sets.csv", "--set", "S=2", *reductions]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    np.testing.assert_allclose(found["end"], 2 * np.exp([-1, -2]), rtol=1e-9)
    assert found["low"].isna().all()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--set", "q=1"], 2),
        (["--reduce", "a=last:S"], 2),
        (["-o", "run.txt"], 2),
        (["--parameters", "decay.xml"], 3),
    ],
)
def test_faults_by_the_command_line(decay, capsys, options, code):
    assert main([*LINE, *options]) == code
    assert capsys.readouterr().err.count("\n") == 1
