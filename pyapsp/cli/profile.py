"""Measure what a device can do: latency, throughput and bandwidth, and what they depend on.

Each microbenchmark stresses one part of the device: an operation, a level of the memory, barriers,
launches, copies. Its answer is checked. The instructions of the compiled loop are counted where the
driver gives its code. -o writes all rows as JSON. Exit code 1 when an answer was wrong.

For example:
  pyapsp profile device --quick
  pyapsp profile device --device gpu -o profile.json
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyapsp.cli.options import add_device, add_json, add_output
from pyapsp.cli.output import check_outputs, made, print_json, printer, write_json

if TYPE_CHECKING:
    from pyapsp.base.json import Json, Record

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("what", choices=["device"], help="device: the microbenchmarks")
    add_device(parser)
    add_output(parser, "PROFILE.json", "write the profile of the device to this file")
    parser.add_argument(
        "--quick", action="store_true", help="fewer benchmarks, each for a shorter time"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the rows, and write the profile."""
    from pyapsp.device import choose
    from pyapsp.profiling.suite import profile_device

    device = choose(arguments.device)
    check_outputs(arguments.output)
    say = printer(arguments)
    say(f"{device}")
    profile = {
        **profile_device(device, quick=arguments.quick, report=lambda row: say(_line(row))),
        "made": made(arguments),
    }
    if arguments.output:
        write_json(arguments.output, profile)
        say(f"-> {arguments.output}")
    if arguments.json:
        print_json(profile)
    failed = profile["failed"]
    assert isinstance(failed, list)
    return int(any(each["wrong"] for each in failed))


def _line(row: Record) -> str:
    """Return a line about a row, or about a benchmark that failed."""
    if "error" in row:
        return f"{'WRONG' if row['wrong'] else 'left out'}: {row['error']}"
    parameters = row["parameters"]
    assert isinstance(parameters, Mapping)
    place = ", ".join(_shown(name, value) for name, value in parameters.items())
    rate = row["rate"]
    assert isinstance(rate, float)
    line = f"{row['benchmark']:17} {place:44} {_scaled(rate):>9} {row['unit']}/s"
    if row["benchmark"] in ("latency", "latency of loads", "local latency", "barrier", "launch"):
        line += f", {row['nanoseconds']:.4g} ns"
    if row.get("counted") is not None:
        line += f", {row['counted']} instructions for {row['operations']} operations"
    return line


def _shown(name: str, value: Json) -> str:
    return str(value) if name in ("operation", "type", "memory") else f"{name} {value}"


def _scaled(rate: float) -> str:
    """Return a number with a prefix, e.g. 1.23 G."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= factor:
            return f"{rate / factor:.3g} {prefix}"
    return f"{rate:.3g} "
