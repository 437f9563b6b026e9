"""``python -m papers``: measure, and report beside the published figures."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import pytest
from papers import EXPERIMENTS, SETTINGS, SOURCES, contender
from papers.__main__ import main

from pyapsp.registry import Check


def run(capsys, *arguments):
    """Run the command; return exit code, standard output and standard error."""
    try:
        code = main([*map(str, arguments)])
    except SystemExit as stop:  # argparse
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_everything_is_listed(capsys):
    code, text, _ = run(capsys, "list")
    assert code == 0
    lines = text.splitlines()
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == list(SOURCES)
    for name, experiment in EXPERIMENTS.items():
        place = lines.index(f"    {name}: {experiment.exhibits}")
        expected = [", ".join(experiment.methods)] if experiment.methods else []
        expected += [f"{each}: {SETTINGS[each].summary}" for each in experiment.settings]
        told = lines[place + 1 : place + 1 + len(expected)]
        assert told == [f"        {each}" for each in expected]


def test_what_is_measured_is_reported(tmp_path, capsys, device):
    # memory for half of the matrix: the kernels of GPUs need a larger one
    n = 256 if device.traits.scalar_groups else 1024
    out, folder = tmp_path / "x.json", tmp_path / "made" / "report"
    code, text, _ = run(
        capsys, "measure", "matsumoto-blocks", "--n", n, "--repeat", 1, "--set", f"blocks={n // 8}",
        "--device", device.id, "-o", out,
    )  # fmt: skip
    assert code == 0
    assert text.startswith(f"matsumoto-blocks, n = {n}: 4 runs, all verified")
    written = json.loads(out.read_text())
    assert written["schema"] == 4
    assert "commit" in written
    assert written["environment"]["numpy"] == np.__version__
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
    wrong = Check(False, "from 1 to 2 it found 3, not 4", "SciPy", 1.0)
    monkeypatch.setattr(contender, "oracle", lambda graph, options: lambda answer: wrong)
    out = tmp_path / "x.json"
    code, _, error = run(
        capsys, "measure", "okuyama-times", "--n", 40, "--device", device.id, "-o", out
    )
    assert code == 1
    assert "the answer is wrong: from 1 to 2 it found 3" in error
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("measure", "okuyama", "--n", 40), 2, "'experiment' parameter"),
        (("measure", "okuyama-times"), 2, "--n"),
        (("measure", "okuyama-times", "--n", 1), 2, "'n' parameter"),
        (("measure", "okuyama-times", "--n", 40, "--set", "blocks=64"), 2, "'blocks' parameter"),
        (("measure", "matsumoto-blocks", "--n", 40, "--set", "blocks"), 2, "not name=number"),
        (("measure", "matsumoto-blocks", "--n", 40, "--set", "blocks=1.5"), 2, "Got 1.5"),
        (("report", "okuyama", "nowhere.json"), 3, "nowhere.json"),
        (("report", "nobody", "x.json"), 2, "'source' parameter"),
        ((), 2, "PART"),
    ],
)
def test_mistakes_have_their_exit_codes(tmp_path, capsys, arguments, code, words):
    output = ("-o", tmp_path / "out") if arguments else ()
    found, _, error = run(capsys, *arguments, *output)
    assert found == code
    assert words in error


def test_the_missing_extra_is_named(tmp_path, capsys, monkeypatch):
    without = ("pyapsp.bench.report", "papers")
    for module in [name for name in sys.modules if name.startswith(without)]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pandas", None)
    code, _, error = run(capsys, "report", "okuyama", "x.json", "-o", tmp_path / "out")
    assert code == 3
    assert "pandas" in error
    assert "'report'" in error


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("measure okuyama-times", 2),
        ("report okuyama none.json -o o", 3),
        ("measure okuyama-times -n 32 --device none-such -o o.json", 4),
    ],
)
def test_a_cause_has_its_code(words, code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, *words.split())[0] == code
    assert list(tmp_path.iterdir()) == []
