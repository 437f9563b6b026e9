"""The command profile."""

from __future__ import annotations

import json
import time
from functools import partial

import pytest

from pyapsp.cli import main, profile_device
from pyapsp.errors import CapabilityError
from pyapsp.profiling.benchmarks import suite
from pyapsp.profiling.benchmarks.measuring import Benchmark


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


def test_only_the_parts_that_are_named_run(short, tmp_path, capsys):
    assert profile_device._PARTS == suite.PARTS
    assert main(["profile", "device", "--only", "arithmetic", "copies", "--json"]) == 0
    profile = json.loads(capsys.readouterr().out)
    assert profile["results"] == profile["failed"] == []


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


def busy(number):
    time.sleep(2e-3)
    return number * 1e-2


def metered(before=lambda: None):
    before()
    return Benchmark("add", {"bytes": 4}, "bytes", 8, busy, lambda n: None, metered=True)


def test_energy_without_a_sensor_is_null(short, tmp_path):
    short(metered)
    path = tmp_path / "profile.json"
    assert main(["profile", "device", "--energy", "none", "-o", str(path)]) == 0
    profile = json.loads(path.read_text())
    assert profile["sensor"]["name"] == "none"
    (row,) = profile["results"]
    columns = set(suite._ENERGY)
    assert columns <= set(row)
    assert {row[name] for name in columns} == {None}
    assert row["rate"]


def test_without_the_option_there_are_no_columns_of_energy(short, tmp_path):
    path = tmp_path / "profile.json"
    assert main(["profile", "device", "-o", str(path)]) == 0
    profile = json.loads(path.read_text())
    assert profile["sensor"] is None
    assert not set(suite._ENERGY) & set(profile["results"][0])


def test_energy_of_a_launch(short, toy_sensor, tmp_path, capsys):
    short(metered, partial(toy, "copy"))
    path = tmp_path / "profile.json"
    words = ["profile", "device", "--energy", "rapl", "--train", "0.2", "-o", str(path)]
    assert main(words) == 0
    row, other = json.loads(path.read_text())["results"]
    assert row["watts"] == pytest.approx(100, rel=0.05)
    assert row["joules"] == pytest.approx(row["idle_joules"], rel=0.1)
    assert row["nanojoules"] == pytest.approx(row["joules"] / (8 * row["rounds"]) * 1e9)
    assert row["mips_per_watt"] * row["nanojoules"] == pytest.approx(1e3)
    assert row["energy_delay"] == pytest.approx(row["joules"] ** 2 / row["watts"])
    assert row["launches"] > 1
    assert other["joules"] is None
    assert " W, " in capsys.readouterr().out


def test_a_sensor_that_disappears_is_exit_code_4_and_the_rest_is_kept(
    short, toy_sensor, tmp_path, capsys
):
    def unplug():
        toy_sensor.most = 0

    short(metered, partial(metered, unplug), partial(toy, "copy"))
    path = tmp_path / "profile.json"
    words = ["profile", "device", "--energy", "rapl", "--train", "0.1", "-o", str(path)]
    assert main(words) == 4
    assert "sensor toy: it cannot be read any more" in capsys.readouterr().err
    profile = json.loads(path.read_text())
    assert "unplugged" in profile["sensor"]["error"]
    first, second, third = profile["results"]
    assert first["joules"] > 0
    assert second["joules"] is third["joules"] is None
    assert second["rate"]
    assert third["rate"]


def test_a_train_takes_time(short, capsys):
    assert main(["profile", "device", "--energy", "none", "--train", "0"]) == 2
    assert main(["profile", "device", "--train", "3"]) == 2
    assert "train" in capsys.readouterr().err
