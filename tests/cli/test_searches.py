"""The commands that search from a source: what they find, write and refuse."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.cli import main
from pyapsp.graph import Graph, generators
from pyapsp.paths.result import Result


@pytest.fixture
def folder(device, tmp_path, monkeypatch):
    """A folder with graphs, that is the current one."""
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    monkeypatch.chdir(tmp_path)
    pyapsp.write(generators.random_graph(40, 90, seed=6), "g.gr")
    pyapsp.write(Graph.from_arcs(2, [0, 1], [1, 0], [1, -2]), "cycle.gr")
    pyapsp.write(Graph.from_arcs(0, [], []), "null.gr")
    (tmp_path / "named.csv").write_text("source,target,weight\nb,c,2\nb,a,7\nc,a,1\nx,b,1\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("locale", [{}, {"PYTHONUTF8": "0"}], ids=str)
def test_names_in_a_locale_without_letters(folder, locale):
    (folder / "umlaut.txt").write_text("ä b 1\nb ä 2\n", encoding="utf-8")
    (folder / "list").write_text("ä\n", encoding="utf-8")

    def said(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "pyapsp", *(part.encode() for part in arguments)],
            capture_output=True,
            env={**os.environ, "LC_ALL": "C", **locale},
        )
        return done.returncode, (done.stdout + done.stderr).decode()

    code, text = said("solve", "umlaut.txt", "--sources", "ä", "-o", "ö.npz", "--predecessors")
    assert code == 0
    assert "ö.npz" in text
    assert said("path", "ö.npz", "ä", "b") == (0, "length 1.0: ä -> b\n")
    assert said("path", "ö.npz", "ü", "b") == (2, "pyapsp: there is no vertex 'ü' in ö.npz\n")
    for name in ("ä", "@list"):
        code, text = said("bfs", "umlaut.txt", "--source", name)
        assert code == 0
        assert "from ä: 2 of 2 vertices" in text
    (folder / "list").write_bytes(b"\xe4")
    code, text = said("bfs", "umlaut.txt", "--source", "@list")
    assert code == 3
    assert "list: not UTF-8" in text


@pytest.mark.parametrize("command", ["bfs", "sssp"])
def test_a_result_that_path_and_verify_read(command, folder, capsys):
    graph = pyapsp.read("g.gr")
    assert main([command, "g.gr", "--source", "3", "-o", "out.npz", "--record", "r.json"]) == 0
    said = capsys.readouterr().out
    result = Result.load("out.npz")
    reached = int((result.distances < result.infinity).sum())
    assert 1 < reached < graph.n
    assert f"from 3: {reached} of 40 vertices reached" in said
    assert result.sources.tolist() == [2]
    lengths = graph if command == "sssp" else graph.with_weights(np.ones(graph.m, np.int64))
    assert verify.certificate(lengths, result).ok
    assert verify.against_scipy(lengths, result).ok
    record = json.loads((folder / "r.json").read_text())
    assert (record["problem"], record["source"], record["unit"]) == (command, 2, "arcs")
    farthest = int(np.where(result.distances < result.infinity, result.distances, -1).argmax())
    assert main(["path", "out.npz", "3", str(farthest + 1), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["length"] == result.distances.ravel()[farthest]


@pytest.mark.parametrize(
    ("command", "options", "expected"),
    [
        ("bfs", [], {"b": ("0", ""), "c": ("1", "b"), "a": ("1", "b"), "x": ("", "")}),
        (
            "bfs",
            ["--undirected"],
            {"b": ("0", ""), "c": ("1", "b"), "a": ("1", "b"), "x": ("1", "b")},
        ),
        (
            "sssp",
            ["--dtype", "int32"],
            {"b": ("0", ""), "c": ("2", "b"), "a": ("3", "c"), "x": ("", "")},
        ),
        (
            "sssp",
            ["--cutoff", "2"],
            {"b": ("0.0", ""), "c": ("2.0", "b"), "a": ("", ""), "x": ("", "")},
        ),
    ],
)
def test_a_line_for_each_vertex_with_the_names_of_the_file(command, options, expected, folder):
    assert main([command, "named.csv", "--source", "b", "-o", "out.csv", *options]) == 0
    head, *lines = csv.reader((folder / "out.csv").read_text().splitlines())
    assert (
        head
        == {
            "bfs": ["vertex", "level", "parent"],
            "sssp": ["vertex", "distance", "predecessor"],
        }[command]
    )
    assert {name: (length, before) for name, length, before in lines} == expected


def test_the_default_source_has_the_most_leaving_arcs(folder, capsys):
    assert main(["bfs", "named.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = pyapsp.read("named.csv").labels.tolist()
    assert names[found["source"]] == "b"
    assert (found["reached"], found["largest_level"]) == (3, 1)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("bfs g.gr --source 99", 2, "'--source' parameter of bfs must be vertices of the graph"),
        ("sssp g.gr --source @g.gr", 2, "--source"),
        ("bfs null.gr", 2, "no vertex to search from"),
        ("bfs g.gr -o out.txt", 2, "must be OUT.npz or OUT.csv"),
        ("bfs g.gr --method sssp-near-far", 2, "'method' parameter of bfs"),
        ("sssp g.gr --set delta=100", 2, "--set needs --method"),
        ("sssp g.gr --cutoff -1", 2, "'cutoff' parameter of sssp"),
        ("sssp cycle.gr", 6, "negative cycle of weight -1"),
        ("bfs absent.gr", 3, "absent.gr"),
    ],
)
def test_mistakes_end_in_one_line(line, code, message, folder, capsys):
    assert main(line.split()) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
