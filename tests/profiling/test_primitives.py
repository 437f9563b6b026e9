"""Scores of primitives."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from pyapsp.cli import main
from pyapsp.errors import ParameterError, VerificationError
from pyapsp.profiling import primitives
from pyapsp.profiling.primitives import IMPLEMENTATIONS, score

OWN_SCAN = next(each for each in IMPLEMENTATIONS if each.name == "pyapsp Scan, 8 each")


def test_a_score(device):
    row = score(OWN_SCAN, device, 256)
    assert (row["primitive"], row["n"], row["errors"]) == ("prefix scan", 256, [])
    assert 0 < row["quality"] <= 1
    assert row["seconds"] > 0
    assert row["criteria"]["transfer"] == 0.5


def test_a_wrong_answer(device):
    wrong = replace(OWN_SCAN, reference=lambda numbers: numbers)
    with pytest.raises(VerificationError, match="pyapsp Scan, 8 each: wrong prefix scan"):
        score(wrong, device, 256)


def test_sizes(device):
    with pytest.raises(ParameterError, match="a power of two"):
        score(OWN_SCAN, device, 100)


def test_the_command_goes_on(device, monkeypatch, tmp_path, capsys):
    wrong = replace(OWN_SCAN, reference=lambda numbers: numbers)
    monkeypatch.setattr(primitives, "IMPLEMENTATIONS", (wrong, OWN_SCAN))
    out = tmp_path / "out.json"
    words = ["profile", "primitives", "-n", "256", "--device", device.id, "-o", str(out)]
    assert main(words) == 1
    record = json.loads(out.read_text())
    assert len(record["rows"]) == len(record["failed"]) == 1
    assert record["weights"] is None
    assert "no weights" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS, ids=lambda each: each.name)
def test_answers(device, implementation):
    numbers = np.random.default_rng(5).integers(0, 100, 1024).astype(np.int32)
    compute, read = implementation.prepare(device, numbers)
    assert (read(compute()) == implementation.reference(numbers)).all()
