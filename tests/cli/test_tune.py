"""The tune command: table, database, export, resumption after a kill, exit codes."""

from __future__ import annotations

import argparse
import dataclasses
import json
import signal
import subprocess
import sys
import time

import pytest
from running import runner

import pyapsp
from pyapsp.all_pairs import quick
from pyapsp.cli import main, tune
from pyapsp.errors import VerificationError
from pyapsp.graph import generators
from pyapsp.registry.tuning import Row, database
from pyapsp.registry.tuning.database import load, merge
from pyapsp.registry.tuning.sample import Sample
from pyapsp.registry.tuning.tuner import Tuner

run = runner("tune")

SMALL = ("fw-blocked", "--n", "70", "--max-configurations", "2", "--repeat", "1")


@pytest.fixture(autouse=True)
def folder(device, tmp_path, monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path / "own"))
    return tmp_path / "own"


@pytest.mark.slow
def test_what_is_known_is_timed_again(folder, device, capsys):
    """Of two methods one was tuned, with an impossible rate: the set stays, the rate does not."""
    assert run(capsys, *SMALL, "--dtype", "int32")[0] == 0
    (before,) = load(folder / "database.json")
    merge(folder / "database.json", [dataclasses.replace(before, rate=1e30)])
    journal = (folder / "journal.jsonl").read_bytes()
    code, text, _ = run(
        capsys, "fw-blocked", "fw-recursive", "--n", "70", "--dtype", "int32", "--known"
    )
    assert code == 0
    assert "fw-recursive int32 n = 70: not tuned" in text
    assert "in turns, n = 70" in text
    (after,) = load(folder / "database.json")
    assert after.parameters == before.parameters
    assert 0 < after.rate < 1e15
    assert (folder / "journal.jsonl").read_bytes() == journal


def test_the_best_is_kept_and_used(folder, device, capsys):
    code, text, _ = run(capsys, *SMALL, "--dtype", "int32", "float32", "--predecessors")
    assert code == 0
    assert text.count("with predecessors on") == 2
    assert "in turns, n = 70" in text
    assert "int32 n = 70 with predecessors on" in text
    assert "x default" in text
    assert text.count("2 sets measured (0 of them before)") == 2
    assert str(folder / "database.json") in text
    rows = load(folder / "database.json")
    assert [(row.dtype, row.predecessors, row.n) for row in rows] == [
        ("float32", True, 70),
        ("int32", True, 70),
    ]
    result = pyapsp.solve(
        generators.random_graph(70), "fw-blocked", dtype="int32", predecessors=True
    )
    assert result.stats["parameters"] == rows[1].parameters
    assert result.stats["tuning"]["database"] == "user"


def test_json_has_the_rows_and_nothing_else_is_printed(folder, device, capsys):
    code, text, _ = run(capsys, *SMALL, "--json")
    assert code == 0
    told = json.loads(text)
    (row,) = load(folder / "database.json")
    assert told["rows"] == [json.loads(json.dumps(dataclasses.asdict(row)))]
    assert told["wrong"] == []
    assert told["databases"] == [str(folder / "database.json")]


def test_the_number_type_is_one_that_the_problem_has(folder, capsys):
    methods = ("scc-forward-backward", "bfs-edge", "sssp-bellman-ford")
    options = ("--n", "70", "--max-configurations", "1", "--repeat", "1")
    assert run(capsys, *methods, *options)[0] == 0
    rows = load(folder / "database.json")
    assert {row.method: row.dtype for row in rows} == dict(
        zip(methods, ("int32", "int32", "float32"), strict=True)
    )


def test_export_merges_into_a_database(folder, tmp_path, device, capsys):
    exported = tmp_path / "dense.json"
    other = Row("m", "p", "cpu", "a", "d", "int32", False, "uniform", 9, {"x": 1}, 1.0)
    merge(exported, [other])
    assert run(capsys, *SMALL, "--export", exported)[0] == 0
    mine = load(folder / "database.json")
    assert set(map(repr, load(exported))) == {repr(other), *map(repr, mine)}
    before = exported.read_bytes()
    # resumed: nothing new is measured, so the row stays as it was
    code, text, _ = run(capsys, *SMALL, "--export", exported, "--resume")
    assert code == 0
    assert "2 sets measured (2 of them before)" in text
    assert exported.read_bytes() == before
    code, text, _ = run(capsys, *SMALL, "--restart")
    assert "2 sets measured (0 of them before)" in text


@pytest.mark.slow
def test_a_killed_run_is_resumed(folder, device, capsys):
    command = [sys.executable, "-m", "pyapsp", "tune", "fw-blocked", "--n", "70", "--repeat", "1"]
    journal = folder / "journal.jsonl"
    done = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while done < 2 and process.poll() is None:
            time.sleep(0.05)
            text = journal.read_text() if journal.exists() else ""
            done = text.count('"state": "ok"') + text.count('"state": "slow"')
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    with open(journal, "ab") as file:
        file.write(b'{"subject": {"method"')  # as if killed while writing
    measured = sum(
        json.loads(line)["state"] in ("ok", "slow", "failed")
        for line in journal.read_text().splitlines()[:-1]
    )
    limit = str(measured + 1)
    code, text, _ = run(
        capsys, "fw-blocked", "--n", "70", "--repeat", "1", "--max-configurations", limit
    )
    assert code == 0
    assert f"{limit} sets measured ({measured} of them before)" in text


HANGING = """
import sys, time
from pyapsp.cli import main
from pyapsp.errors import VerificationError
from pyapsp.registry.tuning.tuner import Tuner
measure = Tuner._outcome
def hang(self, parameters):
    if len(self._journal.outcomes) == 1:
        time.sleep(60)
    return measure(self, parameters)
Tuner._outcome = hang
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_set_that_hangs_ends_the_process_and_is_left_out(folder, device, capsys):
    arguments = ["tune", "fw-blocked", "--n", "70", "--repeat", "1", "--max-configurations", "3"]
    for _ in range(2):
        command = [sys.executable, "-c", HANGING, *arguments, "--stall", "5"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1
        assert "Timeout" in done.stderr
    code, text, _ = run(capsys, *arguments[1:])
    assert code == 0
    assert "3 sets measured (2 of them before)" in text
    assert "1 failed" in text


def test_journal_elsewhere(folder, tmp_path, capsys):
    assert run(capsys, *SMALL, "--journal", tmp_path / "j")[0] == 0
    assert (tmp_path / "j").exists()
    assert [path.name for path in folder.glob("[!.]*")] == ["database.json"]


def test_a_wrong_set_is_a_failed_check(capsys, monkeypatch):
    plain = Tuner._verify
    bad = []

    def verify(self, parameters, sample):
        bad.append(parameters)
        plain(self, parameters, sample)
        if len(bad) == 1:
            raise VerificationError("from 0 to 1 it found 3, not 2")

    monkeypatch.setattr(Tuner, "_verify", verify)
    code, text, _ = run(capsys, *SMALL)
    assert code == 1
    assert "WRONG with " in text
    assert "1 wrong" in text
    listed = " ".join(f"{name}={value}" for name, value in bad[0].items())
    assert f"WRONG with {listed}" in text


@pytest.fixture
def few(monkeypatch, tmp_path, row_of):
    """Quick tuning of one part; the shipped rows are of another device."""
    part = quick.Part("int32", False, "uniform", 70)
    monkeypatch.setattr(quick, "parts", lambda kind: iter([part]))
    of_another = {"device": "another", "architecture": "another", "parameters": {}}
    row = row_of(**of_another, method="fw-blocked", dtype="int32", n=64, rate=1e9)
    merge(tmp_path / "shipped.json", [row])
    monkeypatch.setattr(database, "shipped_databases", lambda: [tmp_path / "shipped.json"])


def test_quick(few, folder, device, capsys):
    code, text, _ = run(capsys, "--quick")
    assert code == 0
    assert f"{device}, at most 60 s" in text
    assert "matrix, int32, n = 70: fw-blocked " in text
    assert "1 rows in " in text
    (row,) = load(folder / "database.json")
    assert (row.method, row.device, row.quick) == ("fw-blocked", device.plain_name, True)
    # a longer tuning replaces the row, and is not replaced
    assert run(capsys, *SMALL, "--dtype", "int32")[0] == 0
    longer = load(folder / "database.json")
    assert [row.quick for row in longer] == [False]
    code, text, _ = run(capsys, "--quick", "--json", "--device", device.id)
    assert code == 0
    assert json.loads(text) == {
        "rows": [],
        "wrong": [],
        "left": ["matrix, int32, n = 70: rows of a longer tuning: fw-blocked"],
        "databases": [str(folder / "database.json")],
    }
    assert load(folder / "database.json") == longer


def test_a_wrong_answer_of_a_quick_tuning_is_a_failed_check(few, folder, capsys, monkeypatch):
    def check(self, answer):
        raise VerificationError("from 0 to 1 it is 3, not 2")

    monkeypatch.setattr(Sample, "check", check)
    code, text, _ = run(capsys, "--quick")
    assert code == 1
    assert "WRONG: fw-blocked with " in text
    assert "3, not 2" in text
    assert not (folder / "database.json").exists()


@pytest.mark.parametrize(
    "option",
    [
        "--dtype float32",
        "--family mesh",
        "-n 1024",
        "--predecessors",
        "--strategy auto",
        "--objective time",
        "--energy",
        "--train 3",
        "--budget 60",
        "--max-configurations 3",
        "--repeat 3",
        "--stall 600",
        "--seed 0",
        "--export x.json",
        "--journal j",
        "--resume",
        "--restart",
        "--known",
    ],
)
def test_quick_refuses_what_does_nothing_beside_it(option, few, folder, capsys):
    code, _, error = run(capsys, "--quick", *option.split())
    assert code == 2
    assert f"{option.split()[0]} does nothing beside --quick" in error
    assert not folder.exists()


def test_every_option_acts_or_is_refused_beside_quick():
    whole = argparse.ArgumentParser()
    tune.configure(whole)
    options = vars(whole.parse_args([])).keys()
    acting = {"method", "quick", "device", "progress", "json"}
    assert options - acting == set(tune._LONGER)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--quick", "fw-blocked"], 2, "--quick chooses the methods: leave out fw-blocked"),
        (["--quick", "--device", "no such device"], 4, "no such device"),
        (["fw-magic"], 2, "'method' parameter of method"),
        (["fw-naive"], 2, "fw-naive has no parameters to tune"),
        (["fw-blocked", "--dtype", "complex64"], 2, "'dtype' parameter of tune"),
        (["fw-blocked", "--n", "0"], 2, "'n' parameter of tune"),
        (["fw-blocked", "--n", "many"], 2, "invalid int"),
        (["fw-blocked", "--budget", "0"], 2, "'budget' parameter of tune"),
        (["fw-blocked", "--budget", "nan"], 2, "'budget' parameter of tune"),
        (["fw-blocked", "--stall", "-1"], 2, "'stall' parameter of tune"),
        (["fw-blocked", "--max-configurations", "0"], 2, "'max-configurations' parameter"),
        (["fw-blocked", "--repeat", "0"], 2, "'repeat' parameter of tune"),
        (["fw-blocked", "--seed", "-1"], 2, "'seed' parameter of tune"),
        (["fw-blocked", "--strategy", "guess"], 2, "'strategy' parameter of tune"),
        (["fw-blocked", "--resume", "--restart"], 2, "not allowed with"),
        ([], 2, "METHOD"),
        (["fw-blocked", "--device", "no such device"], 4, "no such device"),
        (["fw-blocked", "--export", "/nonexistent/folder/d.json"], 3, "does not exist"),
        (["fw-blocked", "--journal", "/nonexistent/folder/j"], 3, "does not exist"),
    ],
)
def test_exit_codes(arguments, code, message, folder, capsys):
    got, _, error = run(capsys, *arguments)
    assert got == code
    assert message in error
    assert "Traceback" not in error
    assert not (folder / "database.json").exists()


def test_what_is_no_database_is_found_before_the_work(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Tuner, "run", None)
    (tmp_path / "notes.json").write_text('{"a": 1}')
    code, _, error = run(capsys, *SMALL, "--export", tmp_path / "notes.json")
    assert (code, "notes.json: not a tuning database" in error) == (3, True)
    assert (tmp_path / "notes.json").read_text() == '{"a": 1}'
    (folder / "database.json").write_text("{")
    code, _, error = run(capsys, *SMALL)
    assert (code, "database.json" in error) == (3, True)


def test_a_folder_that_cannot_be_made(tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path / "file" / "own"))
    assert run(capsys, *SMALL)[0] == 3


def test_usage_lists_it(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "tune" in capsys.readouterr().out
