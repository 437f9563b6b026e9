r"""Run a command that writes a record. If it leaves none, write one that says why.

The workflow runs each of its runs with this module, so that a run that fails is a row of the table:

    python -m pyapsp.cli.attempt --record OUT.json --log LOG --seconds 600 \
        --about problem=bfs input=grid ... -- COMMAND

Where a graph cannot be fetched or converted, the record is in place of the graph. With ``--input``,
a command whose input is such a record is not run: it fails for the same reason.

The record of a failed run has ``status``: "failed", ``why``, and what ``--about`` says. The exit
code is 0 if there is a record. This process is the parent of the command: it lives on if the
system kills the command, for instance for its memory.

A cluster ends a job that needs more time or memory than was asked for, and then no record is left.
With ``--minutes`` and ``--mem-mb`` of the job, a command is ended before that.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from pyapsp.cli.output import write_json

__all__ = ["attempt", "failure", "main"]

# The exit code of pyapsp for a lack of memory or disk space.
_NO_MEMORY = 5
# Seconds in which a command can clean up after it was told to end.
_PATIENCE = 10
# Seconds and MB of a job that are not its command's: to start Snakemake and to write the record.
_ASIDE_SECONDS, _ASIDE_MB = 60, 300
# Seconds between two looks at the memory of a command.
_LOOK = 0.1
# How the message of a crash begins; the innermost frame follows as a line of its own.
_CRASH = "Fatal Python error: "
# Characters of a message.
_LONGEST = 500


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and make sure that there is a record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--seconds", type=float, help="time limit")
    parser.add_argument("--minutes", type=float, help="time of the job on a cluster")
    parser.add_argument("--mem-mb", type=float, help="memory of the job on a cluster")
    parser.add_argument("--input", type=Path, help="a file that may be a record of a failure")
    parser.add_argument("--about", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    given.record.unlink(missing_ok=True)
    why = None if given.input is None else failure(given.input)
    if why is None:
        seconds, megabytes = given.seconds, None
        if given.minutes is not None:
            whole = 60 * given.minutes
            of_job = max(whole - _ASIDE_SECONDS, whole / 2)
            seconds = of_job if seconds is None else min(seconds, of_job)
        if given.mem_mb is not None:
            megabytes = max(given.mem_mb - _ASIDE_MB, given.mem_mb / 2)
        why = attempt(given.command, given.log, seconds, given.record, megabytes)
    else:
        given.log.write_text(f"{given.input}: {why}\n", encoding="utf-8")
    if why is not None:
        about = dict(each.split("=", 1) for each in given.about)
        record = {"status": "failed", "why": why, "verified": None, **about}
        for name in ("input", "device"):
            record[name] = {"name": about.get(name, "")}
        write_json(given.record, record)
        print(f"failed: {why}", file=sys.stderr)
    return 0


def attempt(
    command: Sequence[str],
    log: Path,
    seconds: float | None,
    record: Path,
    megabytes: float | None = None,
) -> str | None:
    """Run a command with limits; return why it left no record, or None if it left one."""
    killed_before = _killed_for_memory()
    with log.open("wb") as file:
        # an exception while the process begins would leave it running
        told: list[int] = []
        handler = signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
        # if the process crashes, Python names the line
        environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)
        try:
            signal.signal(signal.SIGTERM, handler)
            if told:
                raise SystemExit(128 + told[0])
            why = _watched(process, seconds, megabytes)
        finally:
            _end(process)
    if why is not None:
        return why
    code = process.returncode
    if code >= 0 and record.exists():
        return None
    message = _message(log)
    if code < 0:
        name = signal.Signals(-code).name
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        word = f"killed by {name}"
        if name == "SIGKILL" and _killed_for_memory() > killed_before:
            word = "out of memory: killed by the system"
        elif name == "SIGKILL":
            word += ", perhaps out of memory"
        return f"{word}, at most {peak:.2f} GiB used{message and f': {message}'}"
    if code == _NO_MEMORY:
        return f"out of memory or disk space: {message}"
    return f"exit code {code}{message and f': {message}'}"


def _watched(
    process: subprocess.Popen[bytes], seconds: float | None, megabytes: float | None
) -> str | None:
    """Wait for a process; return the limit that it reached, or None if it ended."""
    end = float("inf") if seconds is None else time.monotonic() + seconds
    while True:
        rest = end - time.monotonic()
        try:
            process.wait(max(0, min(rest, _LOOK)))
        except subprocess.TimeoutExpired:
            pass
        else:
            return None
        if rest <= 0:
            return f"time-out: it took longer than {seconds:g} s"
        if megabytes is not None and _resident_mb(process.pid) > megabytes:
            return f"out of memory: it used more than {megabytes:g} MB"


def _resident_mb(pid: int) -> float:
    """Return the memory of a process, but not of files, or 0 if that is not known."""
    try:
        cells = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return (int(cells[1]) - int(cells[2])) * resource.getpagesize() / 1e6


def _killed_for_memory() -> int:
    """Return how many processes the system has killed for memory, or 0 if it does not tell."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def failure(path: Path) -> str | None:
    """Return why there is no such file, if its content is the record of a failure, else None."""
    with path.open("rb") as file:
        if file.read(1) != b"{":
            return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return str(record.get("why")) if record.get("status") == "failed" else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _stop(number: int, frame: FrameType | None) -> None:
    """End like a command that was told to: the command is told, too, and there is no record."""
    raise SystemExit(128 + number)


def _message(log: Path) -> str:
    """Return the message of pyapsp at the end of a log, where it crashed, or else the last line."""
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    crashed = [number for number, line in enumerate(lines) if line.startswith(_CRASH)]
    if crashed:
        frames = [line for line in lines[crashed[-1] :] if line.startswith('File "')]
        return ", ".join([lines[crashed[-1]], *frames[:1]])[:_LONGEST]
    said = [number for number, line in enumerate(lines) if line.startswith("pyapsp: ")]
    return " ".join(lines[said[-1] if said else -1 :])[:_LONGEST]


if __name__ == "__main__":
    sys.exit(main())
