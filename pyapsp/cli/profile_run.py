"""Run a command of pyapsp, or a Python program, and print its kernels and copies.

Kernels come with their criteria, and with --on PROFILE.json from "pyapsp profile device" with what
limits them. --trace writes the timeline for the trace viewer of a browser. The command runs twice:
the first time, without output, some launches of each kernel are traced. It needs the extra profile
of pyapsp.

For example:
  pyapsp profile run --trace timeline.json -- bfs rome99.gr --source 1
  pyapsp profile run -o profile.json -- program.py
"""

from __future__ import annotations

import argparse
import io
import os
import re
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from pyapsp.cli.options import add_flag, add_json, add_output
from pyapsp.cli.output import check_outputs, made, print_json, printer, write_json
from pyapsp.cli.profile_kernel import add_tracing, lines, read_profile, shown_time

__all__ = ["configure", "run"]

_PYTHON = re.compile(r"python[\d.]*")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="COMMAND", help="the command, after --"
    )
    parser.add_argument("--trace", metavar="TRACE.json", help="write the timeline to this file")
    add_flag(
        parser,
        "--no-traces",
        "only the timeline, without the criteria of kernels; the command runs once",
    )
    add_tracing(parser)
    add_output(parser, "PROFILE.json", "write the profile to this file")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run a command, and print and write what it did on devices."""
    from pyapsp.base.errors import ParameterError
    from pyapsp.base.extras import extra

    # kernels that PyOpenCL loads from its cache have no source
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
    words = arguments.words[arguments.words[:1] == ["--"] :]
    if not words:
        raise ParameterError.of("COMMAND", "profile run", "a command after --", "")
    check_outputs(arguments.output, arguments.trace)
    with extra("profile", "pyapsp profile run"):
        from pyapsp.profiling.run import profile_run

    codes: list[int] = []

    def call() -> None:
        quiet = not arguments.no_traces and not codes
        if any(codes):
            return
        with redirect_stdout(io.StringIO() if quiet or arguments.json else sys.stdout):
            codes.append(_called(words))

    record, timeline = profile_run(
        call,
        traces=not arguments.no_traces,
        width=arguments.warp,
        profile=read_profile(arguments.on),
    )
    if codes[-1]:
        return codes[-1]
    say = printer(arguments)
    _show(record, say)
    record = {"schema": "pyapsp run profile", **record, "made": made(arguments)}
    for path, content in ((arguments.output, record), (arguments.trace, timeline.chrome())):
        if path:
            write_json(path, content)
            say(f"-> {path}")
    if arguments.json:
        print_json(record)
    return 0


def _called(words: Sequence[str]) -> int:
    """Run a command of pyapsp or a Python program in this process; return its exit code."""
    from pyapsp.base.errors import ParameterError
    from pyapsp.cli import main

    words = list(words)
    python = _PYTHON.fullmatch(Path(words[0]).name) is not None
    if python or words[0] == "pyapsp":
        words = words[1:]
    module = python and words[:1] == ["-m"]
    if not module and (not words or not words[0].endswith(".py")):
        if python:
            rule = "after python, a file that ends in .py, or -m and a module"
            raise ParameterError.of("COMMAND", "profile run", rule, " ".join(words))
        return main(words)
    before, sys.argv = sys.argv, words[module:]
    # as Python does for a program
    sys.path.insert(0, "" if module else str(Path(words[0]).resolve().parent))
    try:
        if module:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.argv = before
        sys.path.pop(0)
    return 0


def _show(record: Mapping[str, Any], say: Callable[[str], None]) -> None:
    kernels = record["kernels"]
    say(
        f"{shown_time(record['seconds'])} from the first command to the last; kernels run for "
        f"{record['host_sync']:.1%} of the time from their first to their last"
    )
    for kind, each in record["commands"].items():
        say(
            f"{each['commands']:6} x {kind}: {shown_time(each['seconds'])}, {each['bytes']:,} bytes"
        )
    for each in kernels:
        say(f"{each['launches']:6} x {each['kernel']}: {shown_time(each['seconds'])}")
    for each in kernels:
        if each["error"] is not None:
            say(f"{each['kernel']}: no traces: {each['error']}")
        if each["trace"] is not None:
            for line in lines(each["trace"]):
                say(line)
    if record["untimed"]:
        say(f"{record['untimed']} commands have no times: their queues have no profiling")
