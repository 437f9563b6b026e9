"""``pyapsp check``: the record says what the answer was compared with, or why there is none."""

from __future__ import annotations

import json

import numpy as np
import pytest
from running import runner

import pyapsp
from pyapsp.cli import areas
from pyapsp.device import model
from pyapsp.graph import Graph, generators

check = runner("check")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyapsp.write(generators.random_graph(40, 160, seed=1), "g.npz")
    pyapsp.write(Graph.from_arcs(2, [0, 1], [1, 0], [1, -2]), "cycle.npz")
    return tmp_path


def record(path):
    return json.loads((path / "r.json").read_text(encoding="utf-8"))


def test_what_verified_an_answer(files, capsys, monkeypatch):
    cases = {
        "all-pairs g.npz --method fw-naive": "SciPy, all rows",
        "all-pairs g.npz --method fw-naive --predecessors": "SciPy, all rows, and a certificate",
        "scc g.npz --method scc-tarjan": "SciPy, all vertices",
        "triangles g.npz": "sets of neighbours, in Python",
    }
    for line, oracle in cases.items():
        assert check(capsys, *line.split(), "-o", "r.json")[0] == 0
        found = record(files)
        assert (found["status"], found["oracle"], found["set"]) == ("ok", oracle, {})
    monkeypatch.setattr("pyapsp.paths.certificate._ORACLE_ARCS", 800)
    assert check(capsys, "all-pairs", "g.npz", "--method", "fw-naive", "-o", "r.json")[0] == 0
    assert record(files)["oracle"] == "SciPy, 5 of 40 rows, and a certificate"


def test_an_option_that_looks_like_a_number(files, capsys):
    options = ["--method", "bfs-helix", "--set", "bitmask=8", "-o", "r.json"]
    assert check(capsys, "bfs", "g.npz", *options)[0] == 0
    assert record(files)["set"] == {"bitmask": "8"}


@pytest.mark.usefixtures("wrong_distances")
def test_a_wrong_answer_is_recorded(files, capsys):
    assert check(capsys, "all-pairs", "g.npz", "-o", "r.json")[0] == 1
    found = record(files)
    assert (found["status"], found["verified"]) == ("wrong", False)
    assert found["why"].startswith("from 0 to 1 it found ")


def test_a_refusal_is_recorded_with_its_reason(files, capsys, monkeypatch):
    monkeypatch.setattr(model, "_capabilities", {})
    monkeypatch.setenv("PYAPSP_HIDE", "fp64 fp16")
    cases = {
        "all-pairs g.npz --method fw-naive --dtype float64": (4, "has no float64"),
        "all-pairs g.npz --method fw-naive --dtype float16": (4, "has no float16"),
        "all-pairs g.npz --method ms-bfs --dtype int32": (3, "needs an unweighted graph"),
        "all-pairs cycle.npz --dtype int32": (6, "negative cycle"),
    }
    for line, (code, why) in cases.items():
        assert check(capsys, *line.split(), "-o", "r.json")[0] == code
        found = record(files)
        assert (found["status"], found["verified"]) == ("refused", None)
        assert why in found["why"]
        assert found["problem"] == "all-pairs"
        assert found["input"]["n"] > 0
        assert found["device"]["name"]
    bench = ["bench", "g.npz", "--method", "fw-naive", "near-far", "--dtype", "float64"]
    assert pyapsp.cli.main([*bench, "-o", "r.json"]) == 4
    found = record(files)
    assert (found["status"], found["method"]) == ("refused", "fw-naive near-far, in turns")


def test_an_area_needs_no_input(files, capsys, monkeypatch):
    assert check(capsys, "sweep", "-o", "r.json")[0] == 0
    found = record(files)
    assert (found["status"], found["oracle"], found["problem"]) == ("ok", "NumPy", "sweep")
    assert found["input"] == {"name": "squares", "n": 100}
    assert found["wall_seconds"] > 0
    monkeypatch.setattr(np, "ravel", lambda array: np.zeros(100))
    assert check(capsys, "sweep", "-o", "r.json")[0] == 1
    assert record(files)["status"] == "wrong"
    monkeypatch.setattr(areas, "find_spec", lambda name: None)
    assert check(capsys, "bulk", "-o", "r.json")[0] == 4
    assert (record(files)["status"], record(files)["why"]) == ("refused", "needs pycparser")
    code, _, error = check(capsys, "bfs")
    assert (code, "needs a GRAPH" in error) == (2, True)
