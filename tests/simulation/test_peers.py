"""The model that libRoadRunner gets; and the command, if it is there."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import pyapsp
from pyapsp.errors import VerificationError
from pyapsp.simulation import peers
from pyapsp.simulation.frontend import read_model
from pyapsp.simulation.generators import luo_rudy_line


def test_a_system_written_as_sbml_is_the_same(tmp_path):
    system = luo_rudy_line(3)
    (tmp_path / "line.xml").write_text(peers.sbml_of(system))
    options = {"duration": 25, "step": 0.01, "every": 100, "method": "euler"}
    written = pyapsp.simulate(read_model(tmp_path / "line.xml"), output=["cell_3__V"], **options)
    right = pyapsp.simulate(system, output=["cell[3].V"], **options)
    np.testing.assert_allclose(written["cell_3__V"], right["cell[3].V"], rtol=1e-12)


class Runner(SimpleNamespace):
    """Answers as libRoadRunner, with a value that pyapsp has computed."""

    def __init__(self, xml):
        super().__init__(xml=xml, g=None)
        self.setIntegrator = self.reset = lambda *name: None
        self.setValue = lambda name, value: setattr(self, "g", value)

    def simulate(self, start, end, rows):
        options = {"duration": end * (1 + 1e-12), "step": 0.01, "every": rows - 1}
        system = luo_rudy_line(2) if self.g is None else peers.luo_rudy()
        output = "V" if self.g is not None else "cell[2].V"
        values = None if self.g is None else {"G_Na": self.g}
        frame = pyapsp.simulate(system, parameters=values, output=[output], **options)
        return np.array([[0, frame[output].iloc[-1] + WRONG]])


WRONG = 0.0


def test_the_command_prints_times_and_checks_values(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "roadrunner", SimpleNamespace(RoadRunner=Runner))
    monkeypatch.setattr(peers, "_TURNS", 1)
    peers.main(["2", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("LR-2: ")
    assert "3 sets, 500 steps" in lines[2]
    monkeypatch.setattr(sys.modules[__name__], "WRONG", 1e-3)
    with pytest.raises(VerificationError):
        peers.main(["2", "3"])
