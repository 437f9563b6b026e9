"""``pyapsp papers``: measure, and report beside the published figures."""

from __future__ import annotations

import csv
import json
import sys

import pytest

from pyapsp.cli import main, papers
from pyapsp.profiling import papers as experiments
from pyapsp.profiling import sweeps
from pyapsp.report.papers import SOURCES


def run(capsys, *arguments):
    """Run the command; return exit code, standard output and standard error."""
    try:
        code = main(["papers", *map(str, arguments)])
    except SystemExit as stop:  # argparse
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_names_of_the_help_are_the_names_there_are():
    assert tuple(experiments.EXPERIMENTS) == papers._EXPERIMENTS
    assert tuple(SOURCES) == papers._SOURCES
    known = frozenset().union(*(each.settings for each in experiments.EXPERIMENTS.values()))
    assert known == set(papers._SETTINGS)
    made_from = {experiment for _, parts in SOURCES.values() for experiment, _ in parts}
    assert made_from == set(experiments.EXPERIMENTS)


def test_what_is_measured_is_reported(tmp_path, capsys, device):
    # memory for half of the matrix: the kernels of GPUs need a larger one
    n = 256 if device.traits.scalar_groups else 1024
    out, folder = tmp_path / "x.json", tmp_path / "made" / "report"
    code, text, _ = run(
        capsys, "measure", "matsumoto-blocks", "--n", n, "--repeat", 1, "--blocks", n // 8,
        "--device", device.id, "-o", out,
    )  # fmt: skip
    assert code == 0
    assert text.startswith(f"matsumoto-blocks, n = {n}: 4 runs, all verified")
    written = json.loads(out.read_text())
    assert written["schema"] == 4
    assert "commit" in written
    record = written["runs"][0]
    code, text, _ = run(capsys, "report", "matsumoto", out, "-o", folder)
    assert code == 0
    assert set(text.splitlines()) == {str(path) for path in folder.rglob("*.*")}
    assert {path.name for path in folder.rglob("*.*")} == {
        *("index.html", "index.md"),
        *("bandwidth.csv", "bandwidth.svg", "blocks.csv", "blocks.svg"),
    }
    with open(folder / "exhibits" / "blocks.csv", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    assert int(row["b"]) == n // 8
    assert float(row["GFlop/s: ours"]) == pytest.approx(2 * n**3 / record["kernel_seconds"] / 1e9)


def test_a_wrong_answer_is_exit_code_1_and_leaves_no_file(tmp_path, capsys, monkeypatch, device):
    monkeypatch.setattr(sweeps.Reference, "difference", lambda self, graph, result: 3.0)
    out = tmp_path / "x.json"
    code, _, error = run(
        capsys, "measure", "okuyama-times", "--n", 40, "--device", device.id, "-o", out
    )
    assert code == 1
    assert "is wrong, with a difference of 3" in error
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("measure", "okuyama", "--n", 40), 2, "invalid choice"),
        (("measure", "okuyama-times"), 2, "--n"),
        (("measure", "okuyama-times", "--n", 1), 2, "'n' parameter"),
        (("measure", "okuyama-times", "--n", 40, "--blocks", 64), 2, "'blocks' parameter"),
        (("report", "okuyama", "nowhere.json"), 3, "nowhere.json"),
        (("report", "nobody", "x.json"), 2, "invalid choice"),
        ((), 2, "PART"),
    ],
)
def test_mistakes_have_their_exit_codes(tmp_path, capsys, arguments, code, words):
    output = ("-o", tmp_path / "out") if arguments else ()
    found, _, error = run(capsys, *arguments, *output)
    assert found == code
    assert words in error


def test_the_missing_extra_is_named(tmp_path, capsys, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("pyapsp.report")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pandas", None)
    code, _, error = run(capsys, "report", "okuyama", "x.json", "-o", tmp_path / "out")
    assert code == 3
    assert "pandas" in error
    assert "'report'" in error
