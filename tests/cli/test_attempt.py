"""A run leaves a record, whatever ends it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyapsp.cli import attempt as attempts


@pytest.fixture
def attempt(tmp_path):
    """Run a command as the workflow does; return the exit code and the record."""

    def run(
        *command: str, seconds: float = 60, graph: Path | None = None, job: tuple[str, ...] = ()
    ) -> dict:
        record, log = tmp_path / "record.json", tmp_path / "log"
        about = ["problem=bfs", "input=grid", "method=bfs-edge", "dtype=int32", "device=auto"]
        options = ["--record", record, "--log", log, "--seconds", str(seconds), *job]
        options += ["--about", *about]
        options += [] if graph is None else ["--input", graph]
        arguments = [sys.executable, "-m", "pyapsp.cli.attempt", *options, "--", *command]
        done = subprocess.run(arguments, cwd=tmp_path, check=False)
        assert done.returncode == 0
        return json.loads(record.read_text(encoding="utf-8"))

    return run


def test_the_record_of_the_command_is_kept(attempt):
    assert attempt("sh", "-c", 'echo \'{"status": "ok"}\' > record.json') == {"status": "ok"}
    # a refusal has an exit code of its own, and a record
    refused = attempt("sh", "-c", 'echo \'{"status": "refused"}\' > record.json; exit 4')
    assert refused == {"status": "refused"}


def test_an_earlier_record_is_not_that_of_this_run(attempt, tmp_path):
    (tmp_path / "record.json").write_text('{"status": "ok"}')
    assert attempt("true")["status"] == "failed"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo first; echo 'no such kernel' >&2; exit 9", "exit code 9: no such kernel"),
        ("exit 9", "exit code 9"),
        ("echo 'pyapsp: refused'; echo because; exit 3", "exit code 3: pyapsp: refused because"),
        ("kill -9 $$", "killed by SIGKILL, perhaps out of memory, at most "),
        # a driver can crash after the record was written
        ('echo \'{"status": "ok"}\' > record.json; kill -11 $$', "killed by SIGSEGV, at most "),
        ("sleep 60", "time-out: it took longer than 1 s"),
    ],
)
def test_a_run_without_a_record_is_failed_and_says_why(attempt, command, why):
    record = attempt("bash", "-c", f"{command}; true", seconds=1 if "sleep" in command else 60)
    assert record.pop("why").startswith(why)
    assert record == {
        "status": "failed",
        "verified": None,
        "problem": "bfs",
        "input": {"name": "grid"},
        "method": "bfs-edge",
        "dtype": "int32",
        "device": {"name": "auto"},
    }


def test_a_crash_names_the_line(attempt, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os\n\n\ndef crash():\n    os.kill(os.getpid(), 11)\n\n\ncrash()\n")
    why = attempt(sys.executable, str(program))["why"]
    assert why.startswith("killed by SIGSEGV, at most ")
    assert why.endswith(f', File "{program}", line 5 in crash')


def test_a_run_without_its_graph_fails_for_the_same_reason(attempt, tmp_path):
    graph = tmp_path / "graph.npz"
    graph.write_text('{"status": "failed", "why": "exit code 3: no such address"}')
    record = attempt("sh", "-c", "echo > started", graph=graph)
    assert (record["status"], record["why"]) == ("failed", "exit code 3: no such address")
    assert not (tmp_path / "started").exists()
    for other in ('{"status": "ok"}', "{ a comment", "p sp 2 1"):
        graph.write_text(other)
        assert attempt("sh", "-c", "exit 9", graph=graph)["why"] == "exit code 9"


def test_a_lack_of_memory_is_named(attempt):
    pyapsp = f"{sys.executable} -m pyapsp generate complete -n 60000 -o big.npz"
    # threads of libraries have memory of their own, which is not to be what lacks
    limited = f"export OPENBLAS_NUM_THREADS=1; ulimit -v 3000000; exec {pyapsp}"
    record = attempt("bash", "-c", limited)
    assert record["why"].startswith("out of memory or disk space: pyapsp: ")


def test_a_command_is_ended_before_the_job_is(attempt):
    late = attempt("sleep", "60", job=("--minutes", "0.05"))
    assert late["why"] == "time-out: it took longer than 1.5 s"
    script = "import time; held = bytearray(2 * 10**8); time.sleep(60)"
    large = attempt(sys.executable, "-c", script, job=("--mem-mb", "400"))
    assert large["why"] == "out of memory: it used more than 200 MB"
    # a job with more than its command needs changes nothing
    job = ("--minutes", "5", "--mem-mb", "4000")
    assert attempt("sh", "-c", "exit 9", job=job)["why"] == "exit code 9"


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ((7, 8), "out of memory: killed by the system, at most "),
        # others were killed earlier
        ((7, 7), "killed by SIGKILL, perhaps out of memory, at most "),
    ],
)
def test_the_system_tells_that_it_killed_for_memory(counts, why, monkeypatch, tmp_path):
    told = iter(counts)
    monkeypatch.setattr(attempts, "_killed_for_memory", lambda: next(told))
    command = ["bash", "-c", "kill -9 $$"]
    found = attempts.attempt(command, tmp_path / "log", 60, tmp_path / "record.json")
    assert found.startswith(why)


def test_a_run_that_is_told_to_end_tells_its_command(tmp_path):
    command = ["bash", "-c", "trap 'echo told > told; exit' TERM; echo > started; sleep 60 & wait"]
    options = ["--record", "record.json", "--log", "log", "--seconds", "60", "--"]
    arguments = [sys.executable, "-m", "pyapsp.cli.attempt", *options, *command]
    with subprocess.Popen(arguments, cwd=tmp_path) as process:
        while not (tmp_path / "started").exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    assert (tmp_path / "told").exists()
    assert not (tmp_path / "record.json").exists()
