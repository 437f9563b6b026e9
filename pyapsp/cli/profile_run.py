"""The part of `pyapsp profile` that runs whole commands."""

from __future__ import annotations

import argparse
import io
import os
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import Any

from pyapsp.cli.options import add_size
from pyapsp.cli.output import check_outputs, made, print_json, printer, write_json
from pyapsp.cli.profile_kernel import lines, read_profile, shown_time

__all__ = ["configure", "run", "run_primitives"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--trace", metavar="TRACE.json", help="run: write the timeline to this file"
    )
    parser.add_argument(
        "--no-traces",
        action="store_true",
        help="run: only the timeline, without the criteria of kernels; the command runs once",
    )
    add_size(parser, "primitives: how many numbers, a power of two (2^20)")


def run(arguments: argparse.Namespace) -> int:
    """Run a command, and print and write what it did on devices."""
    from pyapsp.base.errors import ParameterError
    from pyapsp.base.extras import extra

    # kernels that PyOpenCL loads from its cache have no source
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
    if not arguments.words:
        raise ParameterError.of("words", "profile run", "a command after --", "")
    check_outputs(arguments.output, arguments.trace)
    with extra("profile", "pyapsp profile run"):
        from pyapsp.profiling.run import profile_run

    codes: list[int] = []

    def call() -> None:
        quiet = not arguments.no_traces and not codes
        if any(codes):
            return
        with redirect_stdout(io.StringIO() if quiet or arguments.json else sys.stdout):
            codes.append(_called(arguments.words))

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


def run_primitives(arguments: argparse.Namespace) -> int:
    """Score the implementations of primitives, and fit weights."""
    from pyapsp.base.errors import ParameterError, PyApspError
    from pyapsp.base.extras import extra
    from pyapsp.device import choose

    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
    check_outputs(arguments.output)
    with extra("profile", "pyapsp profile primitives"):
        from pyapsp.profiling.primitives import IMPLEMENTATIONS, fitted, score
    device, say, profile = choose(arguments.device), printer(arguments), read_profile(arguments.on)
    rows, failed = [], []
    for each in IMPLEMENTATIONS:
        try:
            row = score(each, device, arguments.n or 2**20, width=arguments.warp, profile=profile)
        except PyApspError as error:
            failed.append({"implementation": each.name, "error": str(error)})
            say(f"{each.primitive:22} {each.name}: {error}")
            continue
        rows.append(row)
        say(
            f"{each.primitive:22} {each.name:30} {row['speedup']:8.2f} x NumPy, quality "
            f"{row['quality']:.2f}"
        )
    weights = None
    try:
        found = fitted(rows)
        weights = asdict(found)
        say(f"weights: {dict(found.weights)}, R2 {found.r2:.2f}")
    except ParameterError as error:
        say(f"no weights: {error}")
    record = {
        "schema": "pyapsp primitives",
        "device": device.describe(),
        "rows": rows,
        "failed": failed,
        "weights": weights,
        "made": made(arguments),
    }
    if arguments.output:
        write_json(arguments.output, record)
        say(f"-> {arguments.output}")
    if arguments.json:
        print_json(record)
    return int(bool(failed))


def _called(words: Sequence[str]) -> int:
    """Run a command of pyapsp or a Python program in this process; return its exit code."""
    from pyapsp.cli import main

    words = list(words)
    if words[0] in ("python", "python3", "pyapsp"):
        words = words[1:]
    if not words or not words[0].endswith(".py"):
        return main(words)
    before, sys.argv = sys.argv, words
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.argv = before
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
        say(f"{record['untimed']} commands have no times")
