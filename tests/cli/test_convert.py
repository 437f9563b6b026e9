"""``pyapsp convert``."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyapsp.cli import main
from pyapsp.graph import read


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text("source,target,rating\n7,9,-4\n9,7,10\n9,8,3\n")
    return path


@pytest.mark.parametrize(
    ("options", "arcs"),
    [
        ([], [(7, 9, -4), (9, 7, 10), (9, 8, 3)]),
        (["--weights", "as-is"], [(7, 9, -4), (9, 7, 10), (9, 8, 3)]),
        (["--weights", "unweighted"], [(7, 9, 1), (9, 7, 1), (9, 8, 1)]),
        (["--weights", "absolute"], [(7, 9, 4), (9, 7, 10), (9, 8, 3)]),
        (["--weights", "subtract-from:11"], [(7, 9, 15), (9, 7, 1), (9, 8, 8)]),
        # the recipe first, then the smaller of the two costs
        (
            ["--weights", "subtract-from:11", "--undirected"],
            [(7, 9, 1), (8, 9, 8), (9, 7, 1), (9, 8, 8)],
        ),
    ],
)
def test_converts(
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    arcs: list[tuple[int, int, int]],
) -> None:
    target = tmp_path / "out.npz"
    assert main(["convert", str(source), str(target), *options]) == 0
    graph = read(target)
    names = graph.labels
    tails, heads, weights = graph.arcs()
    found = zip(names[tails].tolist(), names[heads].tolist(), weights.tolist(), strict=True)
    assert list(found) == arcs
    assert graph.directed == ("--undirected" not in options)
    assert graph.name == "in"
    assert f"{target}: <Graph 'in': n=3, m={len(arcs)}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "options", "code", "message"),
    [
        ("7,9\n", ["--weights", "squared"], 2, "'weights' parameter"),
        ("7,9,x\n", [], 3, "in.csv:1: "),
        ("7,9,1\n8,9,nan\n", [], 3, "in.csv:2: the weight is nan"),
        (None, [], 3, "in.csv"),
    ],
)
def test_errors_leave_no_file(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: str | None,
    options: list[str],
    code: int,
    message: str,
) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.gr"
    if content is not None:
        source.write_text(content)
    assert main(["convert", str(source), str(target), *options]) == code
    assert message in capsys.readouterr().err
    assert not target.exists()


def test_unknown_suffix(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(source), str(tmp_path / "out.xyz")]) == 3
    assert "known are .mtx .gr" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_names_that_are_dropped_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.gr"
    source.write_text("01234,56789,5\n")
    assert main(["convert", str(source), str(target)]) == 0
    told = capsys.readouterr().err
    assert told.startswith(f"pyapsp: warning: {target}: the names of the vertices are left out")
    assert told.count("\n") == 1
    assert main(["convert", str(source), str(tmp_path / "out.npz")]) == 0
    assert main(["sssp", str(tmp_path / "out.npz"), "--source", "01234"]) == 0
    assert "from 01234: 2 of 2" in capsys.readouterr().out


def test_the_format_may_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At each command that reads a graph file."""
    source, target = tmp_path / "in.edgelist", tmp_path / "out.npz"
    source.write_text("0 1 {'weight': 2}\n1 2 {'weight': 3}\n2 0 {'weight': 4}\n")
    name, answer, record = str(source), str(tmp_path / "all.npz"), str(tmp_path / "record.json")
    lines: list[list[str]] = [
        ["convert", name, str(target)],
        ["solve", name, "-o", answer],
        ["verify", name, answer],
        ["bfs", name],
        ["sssp", name],
        ["scc", name],
        ["triangles", name],
        ["truss", name],
        ["measure", name, "diameter"],
        ["check", "sssp", name],
        ["check", "partition", name],
        ["bench", name, "--peers", "scipy", "-o", record],
    ]
    for line in lines:
        assert main(line) == 3, line
        assert "or name the format" in capsys.readouterr().err
        assert main([*line, "--format", "txt"]) == 0, line
        capsys.readouterr()
    assert read(target).weights.tolist() == [2, 3, 4]
    assert main([*lines[0], "--format", "txtx"]) == 2
    assert "one of mtx, gr, txt, csv, tsv, graph, npz" in capsys.readouterr().err
