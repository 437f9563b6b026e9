"""``pyapsp triangles`` and ``pyapsp truss``: what they print and write."""

from __future__ import annotations

import csv
import json

import pytest
from running import run

import pyapsp
from pyapsp.graph import Graph


@pytest.fixture
def graph_file(device, tmp_path, monkeypatch):
    """A triangle a, b, c, and an edge to d."""
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    path = tmp_path / "g.npz"
    graph = Graph.from_arcs(4, [0, 1, 2, 2], [1, 2, 0, 3], labels=list("abcd"), name="four")
    pyapsp.write(graph, path)
    return path


def rows(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_triangles(graph_file, tmp_path, capsys):
    out, record = tmp_path / "t.csv", tmp_path / "r.json"
    code, text, error = run(capsys, "triangles", graph_file, "-o", out, "--record", record)
    assert (code, error) == (0, "")
    assert "1 triangles of n = 4 vertices and 4 edges: transitivity 0.6" in text
    assert rows(out)[:2] == [["vertex", "triangles", "clustering"], ["a", "1", "1.0"]]
    assert rows(out)[4] == ["d", "0", "0.0"]
    assert json.loads(record.read_text())["problem"] == "triangles"
    _, text, _ = run(capsys, "triangles", graph_file, "--json", "--method", "triangles-hash")
    told = json.loads(text)
    assert (told["triangles"], told["transitivity"], told["method"]) == (1, 0.6, "triangles-hash")


def test_trusses(graph_file, tmp_path, capsys):
    out = tmp_path / "t.csv"
    code, text, error = run(capsys, "truss", graph_file, "-o", out)
    assert (code, error) == (0, "")
    assert "        2: 1\n        3: 3\n" in text
    assert rows(out) == [
        ["source", "target", "trussness"],
        *(["a", "b", "3"], ["a", "c", "3"], ["b", "c", "3"], ["c", "d", "2"]),
    ]
    assert json.loads(run(capsys, "truss", graph_file, "--json")[1])["k_max"] == 3


def test_one_truss_is_written_as_a_graph(graph_file, tmp_path, capsys):
    out = tmp_path / "three.npz"
    code, text, _ = run(capsys, "truss", graph_file, "-k", "3", "-o", out)
    assert (code, text) == (0, f"the 3-truss has 3 edges and 3 vertices -> {out}\n")
    assert pyapsp.read(out) == pyapsp.k_truss(pyapsp.read(graph_file), 3)
    told = json.loads(run(capsys, "truss", graph_file, "-k", "4", "--json")[1])
    assert told == {"k": 4, "edges": 0, "vertices": 0}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["triangles", "-o", "t.npz"], 2, "OUT.csv"),
        (["triangles", "--method", "fw-mm"], 2, "triangles-bitmap"),
        (["truss", "-o", "t.npz"], 2, "OUT.csv"),
        (["truss", "-k", "1"], 2, "an integer of at least 2"),
        (["truss", "--memory-limit", "100"], 5, "memory"),
    ],
)
def test_mistakes_end_in_one_line(arguments, code, said, graph_file, capsys):
    command, *more = arguments
    found, text, error = run(capsys, command, graph_file, *more)
    assert (found, text) == (code, "")
    assert said in error
    assert error.count("\n") == 1
