"""A registered problem has every feature, without changes to other files."""

from __future__ import annotations

import csv
import dataclasses
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pyapsp
from pyapsp.bench.report import write_report
from pyapsp.cli import main
from pyapsp.errors import ParameterError
from pyapsp.graph import generators
from pyapsp.registry import Check, index, runs
from pyapsp.registry.tuning.tuner import Tuner

ROOT = Path(__file__).resolve().parents[2]
TOY = Path(__file__).with_name("toy.py")


@pytest.fixture
def toy(monkeypatch):
    """The problem, for this test alone."""
    pyapsp.methods()  # all others are registered before
    monkeypatch.setattr(index, "_methods", dict(index._methods))
    monkeypatch.setattr(index, "_problems", dict(index._problems))
    spec = importlib.util.spec_from_file_location("toy", TOY)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "toy", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def graph():
    return generators.random_graph(300, seed=2)


def test_it_is_enumerated(toy, capsys):
    assert "toy" in [problem.id for problem in pyapsp.problems()]
    assert [method.id for method in pyapsp.methods("toy")] == ["toy-degrees"]
    assert pyapsp.method("toy-degrees", group=64).parameters == {"group": 64}
    with pytest.raises(ParameterError):
        pyapsp.solve([[0, 1], [0, 0]], "toy-degrees")
    assert main(["methods"]) == 0
    assert "toy: how many arcs leave each vertex" in capsys.readouterr().out


def test_it_runs_with_a_record(toy, graph, device):
    found = runs.solve(toy.ask(graph, device=device))
    np.testing.assert_array_equal(found.answer.values, np.diff(graph.indptr))
    assert (found.record["unit"], found.record["work"]) == ("vertices", 300)
    assert toy.oracle(graph, None)(found.answer).ok


def test_it_is_tuned_and_the_row_is_found(toy, device, tmp_path, monkeypatch):
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path))
    options = ["--family", "mesh", "--dtype", "int32", "--device", device.id, "--repeat", "1"]
    assert main(["tune", "toy-degrees", "-n", "900", *options]) == 1  # wrong=1 is wrong
    (row,) = json.loads((tmp_path / "database.json").read_text())["rows"]
    assert (row["method"], row["family"], row["parameters"]["wrong"]) == ("toy-degrees", "mesh", 0)
    assert row["rate"] > 0
    given = toy.TOY.sample(900, "mesh", 1, None)
    record = runs.solve(toy.ask(given, device=device)).record
    assert record["tuning"]["family"] == "mesh"
    assert record["parameters"] == row["parameters"]


def test_the_tuner_leaves_wrong_sets_out(toy, device, tmp_path):
    tuner = Tuner(toy.ToyDegrees, device, np.dtype(np.int32), 400, journal=tmp_path / "journal")
    report = tuner.run()
    states = {(each.parameters["wrong"], each.state) for each in report.outcomes}
    assert (1, "wrong") in states
    assert (0, "wrong") not in states
    assert report.complete


def test_it_is_benched_checked_and_tabulated(toy, graph, device, tmp_path, capsys):
    path, bench, record = (tmp_path / name for name in ("g.npz", "bench.json", "record.json"))
    pyapsp.write(graph, path)
    common = ["--device", device.id, "-o"]
    assert main(["bench", str(path), "--problem", "toy", "--peers", *common, str(bench)]) == 0
    assert " vertices/s" in capsys.readouterr().out
    assert main(["check", "toy", str(path), *common, str(record)]) == 0
    assert "checked with NumPy: right" in capsys.readouterr().out
    wrong = ["--method", "toy-degrees", "--set", "wrong=1"]
    lost = tmp_path / "lost.json"
    assert main(["check", "toy", str(path), *wrong, *common, str(lost)]) == 1
    assert json.loads(lost.read_text())["status"] == "wrong"
    write_report([bench, record], tmp_path / "report")
    (row,) = csv.DictReader((tmp_path / "report/tables/toy.csv").read_text().splitlines())
    assert (row["method"], row["unit"], row["verified"]) == ("toy-degrees", "vertices", "True")
    assert "vertices/s" in (tmp_path / "report/runs.md").read_text()
    assert "toy: runs" in (tmp_path / "report/index.html").read_text()


@pytest.mark.usefixtures("unseen")
def test_it_is_part_of_the_self_test(toy, device, monkeypatch):
    from pyapsp.cli import selftest

    assert selftest._outcome(dict(selftest._checks())["toy-degrees"], device) == ("ok", None)
    wrong = dataclasses.replace(toy.TOY, oracle=lambda *given: lambda answer: BROKEN)
    monkeypatch.setitem(index._problems, "toy", wrong)
    state, fault = selftest._outcome(dict(selftest._checks())["toy-degrees"], device)
    assert (state, "broken" in fault) == ("FAILED", True)


BROKEN = Check(False, "broken", "nothing")


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11), reason="Snakemake 9 needs Python 3.11")
def test_the_workflow_runs_it(tmp_path):
    checkout = tmp_path / "checkout"
    for folder in ("config", "workflow", "data"):
        shutil.copytree(ROOT / folder, checkout / folder)
    shutil.copy(ROOT / "Snakefile", checkout)
    shutil.copy(TOY, checkout)
    (checkout / "sitecustomize.py").write_text("import toy\n")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores=2", "toy", "--config", "datasets=[rmat-7]"],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(checkout), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    record = checkout / "results/checked/toy/rmat-7/toy-degrees/int32/auto.json"
    assert json.loads(record.read_text())["verified"] is True
