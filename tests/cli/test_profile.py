"""The command profile."""

from __future__ import annotations

import json
from functools import partial

import pytest

from pyapsp.cli import main
from pyapsp.errors import CapabilityError
from pyapsp.profiling import suite
from pyapsp.profiling.measuring import Benchmark


def toy(name, fault=None):
    return Benchmark(name, {"bytes": 4}, "bytes", 8, lambda n: n * 1e-2, lambda n: fault)


def refused():
    raise CapabilityError("no such type")


@pytest.fixture
def short(monkeypatch):
    """Two benchmarks instead of the suite."""

    def use(*prepared):
        some = [("memory", each) for each in prepared]
        monkeypatch.setattr(suite, "_benchmarks", lambda device, *, quick: iter(some))

    use(partial(toy, "copy"), refused)
    return use


def test_the_profile_is_printed_and_written(short, tmp_path, capsys):
    path = tmp_path / "profile.json"
    assert main(["profile", "device", "-o", str(path)]) == 0
    out = capsys.readouterr().out
    assert "copy" in out
    assert "bytes/s" in out
    assert "left out: no such type" in out
    profile = json.loads(path.read_text())
    assert profile["schema"] == "pyapsp device profile"
    assert profile["schema_version"] == 1
    assert profile["device"]["name"]
    assert profile["device"]["driver"]
    assert profile["begun"] <= profile["ended"]
    (row,) = profile["results"]
    assert row["rate"] == pytest.approx(800)
    assert row["doubling"] == pytest.approx(2)
    assert profile["failed"] == [{"part": "memory", "wrong": False, "error": "no such type"}]
    assert profile["made"]["command"].startswith("pyapsp profile device")


def test_a_wrong_answer_is_exit_code_1_and_the_rest_is_kept(short, capsys):
    short(partial(toy, "bad", "place 0 has 1, and not 2"), partial(toy, "good"))
    assert main(["profile", "device", "--json"]) == 1
    profile = json.loads(capsys.readouterr().out)
    assert [row["benchmark"] for row in profile["results"]] == ["good"]
    assert profile["failed"][0]["wrong"]
    assert "benchmark bad (bytes 4), 0 rounds: place 0" in profile["failed"][0]["error"]


def test_the_output_is_checked_before_the_run(short, capsys):
    assert main(["profile", "device", "-o", "/no/such/folder/profile.json"]) != 0
    assert "folder does not exist" in capsys.readouterr().err
