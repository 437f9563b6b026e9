from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import textwrap
import time

import numpy
import pytest

from pyapsp.cli import doctor as command
from pyapsp.device import devices, doctor, selftest
from pyapsp.registry.tuning import database
from pyapsp.registry.tuning.database import merge


def call(*arguments):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args(arguments))


@pytest.fixture
def impostor(tmp_path, monkeypatch):
    """Put a `pyopencl` of the test's own before the real one in the processes of the doctor."""

    def install(source):
        package = tmp_path / "pyopencl"
        package.mkdir()
        (package / "__init__.py").write_text(textwrap.dedent(source))
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        monkeypatch.setenv("PYTHONPATH", path)
        monkeypatch.chdir(tmp_path)

    return install


def test_a_healthy_machine(device, capsys):
    assert call("--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"]
    assert told["packages"]["numpy"] == numpy.__version__
    assert "libOpenCL" in told["loader"]
    assert [each["id"] for each in told["devices"]] == [each.id for each in devices()]
    mine = next(each for each in told["devices"] if each["id"] == device.id)
    assert mine["works"], mine["error"]
    assert mine["error"] is None
    assert mine["seconds"] > 0
    assert any(each["loaded"] for each in told["implementations"])
    assert told["advice"] == [f"{len(told['devices'])} of {len(told['devices'])} devices work."]


@pytest.fixture
def databases(tmp_path, monkeypatch):
    """The shipped database and that of the user, which do not exist yet."""
    monkeypatch.setattr(database, "shipped_databases", lambda: [tmp_path / "shipped.json"])
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path))
    return {"shipped": tmp_path / "shipped.json", "user": tmp_path / "database.json"}


def answering(device, works=True, error=None):
    """Return a function that answers as drivers would that know this device alone."""
    survey = json.dumps({"devices": [device.describe()], "loader": None})
    tested = {"works": works, "seconds": 1.0, "error": error}
    return lambda arguments, timeout: dict(tested) if arguments else json.loads(survey)


@pytest.mark.parametrize("where", ["shipped", "user"])
def test_a_device_without_rows_is_named_with_the_command(
    where, databases, device, row_of, capsys, monkeypatch
):
    monkeypatch.setattr(doctor, "_ask", answering(device))
    row = row_of(method="fw-blocked", dtype="int32", n=64, parameters={}, rate=1e9)
    others = [{"architecture": "another"}, {"platform": "another"}, {"method": "bfs-edge"}]
    merge(databases[where], [dataclasses.replace(row, **each) for each in others])
    command = f"run `pyapsp tune --quick --device {device.id}` (at most a minute)"
    for expected in (f"auto predicts from other devices; {command}", None):
        call("--json")
        (mine,) = json.loads(capsys.readouterr().out)["devices"]
        assert (mine["tuned"], mine["advice"]) == (expected is None, expected)
        call()
        assert (command in capsys.readouterr().out) == (expected is not None)
        # of another device of this architecture
        merge(databases[where], [dataclasses.replace(row, device="another")])
        database._last = (), 0.0, ()


def test_a_device_that_does_not_work_needs_no_rows(databases, device, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_ask", answering(device, works=False, error="no"))
    call("--json")
    (mine,) = json.loads(capsys.readouterr().out)["devices"]
    assert (mine["tuned"], mine["advice"]) == (False, None)


def test_text_names_what_was_found(capsys):
    assert call() == 0
    text = capsys.readouterr().out
    assert sys.executable in text
    assert "OpenCL loader: /" in text
    for device in devices():
        assert f"{device.id} ({device.kind}) {device.name}, {device.platform_name}" in text
    assert "works: kernel built, run and checked" in text


@pytest.mark.parametrize("as_json", [True, False])
def test_no_device_at_all(monkeypatch, capsys, as_json):
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nonexistent")
    assert call(*["--json"] * as_json) == 4
    text = capsys.readouterr().out
    assert "OCL_ICD_VENDORS=/nonexistent was searched: unset it" in text
    if as_json:
        told = json.loads(text)
        assert not told["ok"]
        assert told["devices"] == []
        assert told["environment"]["OCL_ICD_VENDORS"] == "/nonexistent"
        assert "pyapsp[cpu]" in told["advice"][0]
    else:
        assert 'pip install "pyapsp[cpu]"' in text
        assert "none found" in text


def test_an_icd_that_names_nothing_is_shown_with_the_reason(monkeypatch, capsys, tmp_path):
    (tmp_path / "x.icd").write_text("/no/such/libx.so\n")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    call("--json")
    told = json.loads(capsys.readouterr().out)
    broken = next(each for each in told["implementations"] if each["origin"] == "user")
    assert broken["icd"] == str(tmp_path / "x.icd")
    assert not broken["loaded"]
    assert "No such file" in broken["error"]
    assert f"NOT LOADED: {broken['error']}" in doctor.report(told)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os; os.abort()", "the driver ended the process: Aborted"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "Segmentation fault"),
        ("raise ImportError('libOpenCL.so.1: missing')", "libOpenCL.so.1: missing"),
        ("import sys; sys.exit(3)", "exit status 3"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_driver_that_ends_the_process_does_not_end_the_doctor(impostor, capsys, source, expected):
    impostor(source)
    assert call() == 4
    text = capsys.readouterr().out
    assert expected in text
    assert "Traceback" not in text


def test_a_missing_linker_is_named(impostor, capsys):
    impostor("import os; os.write(2, b'Final linking of kernel count failed.'); os.abort()")
    assert call() == 4
    assert "PoCL links kernels: install a C compiler" in capsys.readouterr().out


def test_a_driver_that_never_answers_does_not_hold_the_doctor(impostor, capsys):
    impostor("import time; time.sleep(600)")
    started = time.monotonic()
    assert call("--timeout", "3") == 4
    assert 3 <= time.monotonic() - started < 300
    text = capsys.readouterr().out
    assert "no answer from the driver within 3 s" in text
    assert "Traceback" not in text


def test_one_broken_device_does_not_hide_the_others(monkeypatch, capsys):
    real = doctor._ask
    bad = devices()[0].describe() | {"id": "7:0", "name": "Bad"}

    def ask(arguments, timeout):
        if arguments == ["7:0"]:
            return {"error": "the driver ended the process: Aborted"}
        answer = real(arguments, timeout)
        if not arguments:
            answer["devices"].insert(0, bad)
        return answer

    monkeypatch.setattr(doctor, "_ask", ask)
    assert call("--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["works"] for each in told["devices"]] == [False] + [True] * len(devices())
    assert "FAILS: the driver ended the process: Aborted" in doctor.report(told)


def test_wrong_numbers_are_a_failure(device, monkeypatch):
    assert selftest.check(device.id)["works"]
    wrong = selftest._SOURCE.replace("size - 1 - lane", "lane")
    monkeypatch.setattr(selftest, "_SOURCE", wrong)
    told = selftest.check(device.id)
    assert not told["works"]
    assert "numbers are wrong" in told["error"]


def test_a_kernel_that_does_not_build_is_a_failure(device, monkeypatch):
    monkeypatch.setattr(selftest, "_SOURCE", "kernel void turn(global int *a) { a[0] = nothing; }")
    told = selftest.check(device.id)
    assert not told["works"]
    assert "BUILD_PROGRAM_FAILURE" in told["error"]
