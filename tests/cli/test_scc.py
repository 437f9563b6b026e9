"""``pyapsp scc``: components by the names in the file, as text, CSV, archive and JSON."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from running import runner

import pyapsp
from pyapsp.graph import Graph

run = runner("scc")


@pytest.fixture(autouse=True)
def _on_device(device, monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)


@pytest.fixture
def graph_file(tmp_path):
    """Two cycles, of three and of two vertices, and two vertices on none."""
    names = ["a", "b", "c", "d", "e", "alone, far", "between"]
    tails, heads = [0, 1, 2, 3, 4, 2, 6], [1, 2, 0, 4, 3, 6, 3]
    path = tmp_path / "g.npz"
    pyapsp.write(Graph.from_arcs(7, tails, heads, labels=names, name="seven"), path)
    return path


def test_what_is_printed(graph_file, capsys):
    code, text, error = run(capsys, graph_file)
    assert (code, error) == (0, "")
    *_, counts, times = text.splitlines()
    assert counts == (
        "4 strongly connected components of n = 7, m = 7: the largest has 3 vertices, 2 have one"
    )
    assert "M arcs/s" in times
    assert "method scc-" in text
    assert ": auto" in text


def test_a_table(graph_file, tmp_path, capsys):
    table = tmp_path / "out.csv"
    assert run(capsys, graph_file, "-o", table)[0] == 0
    with open(table, newline="") as file:
        rows = list(csv.reader(file))
    names = ["a", "b", "c", "d", "e", "alone, far", "between"]
    numbers = ["0", "0", "0", "1", "1", "2", "3"]
    assert rows == [["vertex", "component"], *map(list, zip(names, numbers, strict=True))]


def test_vertices_without_names_are_numbers(tmp_path, capsys):
    pyapsp.write(Graph.from_arcs(3, [0, 2], [2, 0]), tmp_path / "g.npz")
    assert run(capsys, tmp_path / "g.npz", "-o", tmp_path / "out.csv")[0] == 0
    text = (tmp_path / "out.csv").read_text()
    assert text == "vertex,component\n0,0\n1,1\n2,0\n"


def test_an_archive_the_record_and_json(graph_file, tmp_path, capsys):
    out, record = tmp_path / "out.npz", tmp_path / "record.json"
    arguments = ["-o", out, "--record", record, "--json", "--method", "scc-forward-backward"]
    code, text, _ = run(capsys, graph_file, *arguments, "--set", "trim=full", "--set", "group=32")
    assert code == 0
    told, kept = json.loads(text), json.loads(record.read_text())
    assert (told["components"], told["largest"], told["trivial"]) == (4, 3, 2)
    assert told["parameters"] == kept["parameters"] == {"width": 1, "group": 32, "trim": "full"}
    assert kept["input"]["name"] == "seven"
    found = pyapsp.Components.load(out)
    assert np.array_equal(found.labels, [0, 0, 0, 1, 1, 2, 3])
    assert found.stats["kernel_hash"] == kept["kernel_hash"]


def test_progress_is_shown(graph_file, capsys):
    assert "component known of" in run(capsys, graph_file, "--progress")[2]
    assert run(capsys, graph_file, "--no-progress")[2] == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--set", "trim=1"], 2, "--set needs --method"),
        (["--method", "fw-mm"], 2, "scc-forward-backward"),
        (["--method", "scc-forward-backward", "--set", "trim=9"], 2, "0, 1, 2, 3, full"),
        (["--memory-limit", "100"], 5, "memory"),
        (["-o", "nowhere/out.npz"], 3, "nowhere"),
    ],
)
def test_mistakes_end_in_one_line(arguments, code, said, graph_file, capsys):
    found, text, error = run(capsys, graph_file, *arguments)
    assert (found, text) == (code, "")
    assert said in error
    assert error.count("\n") == 1
