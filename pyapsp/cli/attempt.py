r"""Run a command that writes a record. If it leaves none, write one that says why.

The workflow runs each of its runs with this module, so that a run that fails is a row of the table:

    python -m pyapsp.cli.attempt --record OUT.json --log LOG --seconds 600 \
        --about problem=bfs input=grid ... -- COMMAND

Where a graph cannot be fetched or converted, the record is in place of the graph. With ``--input``,
a command whose input is such a record is not run: it fails for the same reason.

The record of a failed run has ``status``: "failed", ``why``, and what ``--about`` says. The exit
code is 0 if there is a record. This process is the parent of the command: it lives on if the
system kills the command, for instance for its memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from pyapsp.cli.output import write_json

__all__ = ["attempt", "failure", "main"]

# The exit code of pyapsp for a lack of memory or disk space.
_NO_MEMORY = 5
# Seconds in which a command can clean up after it was told to end.
_PATIENCE = 10
# Characters of a message.
_LONGEST = 500


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and make sure that there is a record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--seconds", type=float, help="time limit")
    parser.add_argument("--input", type=Path, help="a file that may be a record of a failure")
    parser.add_argument("--about", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    given.record.unlink(missing_ok=True)
    why = None if given.input is None else failure(given.input)
    if why is None:
        why = attempt(given.command, given.log, given.seconds, given.record)
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


def attempt(command: Sequence[str], log: Path, seconds: float | None, record: Path) -> str | None:
    """Run a command with a time limit; return why it left no record, or None if it left one."""
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"time-out: it took longer than {seconds:g} s"
        finally:
            _end(process)
    if code >= 0 and record.exists():
        return None
    message = _message(log)
    if code < 0:
        name = signal.Signals(-code).name
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        word = (
            "killed by SIGKILL, perhaps out of memory" if name == "SIGKILL" else f"killed by {name}"
        )
        return f"{word}, at most {peak:.2f} GiB used{message and f': {message}'}"
    if code == _NO_MEMORY:
        return f"out of memory or disk space: {message}"
    return f"exit code {code}{message and f': {message}'}"


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
    """Return the message of pyapsp at the end of a log, or else the last line."""
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    said = [number for number, line in enumerate(lines) if line.startswith("pyapsp: ")]
    return " ".join(lines[said[-1] if said else -1 :])[:_LONGEST]


if __name__ == "__main__":
    sys.exit(main())
