"""Run a kernel of any OpenCL C file with probes, and print its criteria.

They say how well it uses the device, which lines waste memory accesses or lanes, and, with --on
PROFILE.json from "pyapsp profile device", what limits it and what to change first. It needs the
extra profile of pyapsp.

For example:
  pyapsp profile kernel scale.cl scale --args random:4096 zeros:4096 2.0 --global 4096 --local 64
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyapsp.cli.options import add_device, add_json, add_output
from pyapsp.cli.output import check_outputs, made, print_json, printer, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["add_tracing", "configure", "lines", "read_profile", "run", "shown_time"]

_SHOWN = 5
_MIX = 6  # mnemonics of a loop


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", metavar="FILE.cl", help="a file of OpenCL C")
    parser.add_argument("name", metavar="NAME", help="the kernel")
    # of arguments such as -1e-3 and -1,2 argparse would say that there is no such option
    parser._negative_number_matcher = re.compile(r"-[\d.]")
    parser.add_argument(
        "--args",
        nargs="+",
        default=[],
        metavar="ARG",
        help="its arguments. Global memory: zeros:N, ones:N, range:N or random:N with N "
        "elements, or a .npy file. Local memory: the number of elements. Otherwise a number; of a "
        "vector, numbers with commas between them",
    )
    parser.add_argument(
        "--global",
        dest="items",
        type=int,
        nargs="+",
        required=True,
        metavar="N",
        help="the work-items, in up to three dimensions",
    )
    parser.add_argument(
        "--local", dest="group", type=int, nargs="+", metavar="N", help="those of a group"
    )
    parser.add_argument(
        "-D",
        "--define",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="define a macro",
    )
    parser.add_argument(
        "-I",
        "--include",
        metavar="DIR",
        action="append",
        default=[],
        help="look for includes there, after the folder of the file",
    )
    parser.add_argument(
        "--standard",
        choices=("CL1.2", "CL2.0", "CL3.0"),
        default="CL1.2",
        help="the version of OpenCL C; %(default)s by default",
    )
    add_tracing(parser)
    add_device(parser)
    add_output(parser, "PROFILE.json", "write the profile to this file")
    add_json(parser)


def add_tracing(parser: argparse.ArgumentParser) -> None:
    """Add what every command that runs kernels with probes takes."""
    parser.add_argument("--warp", type=int, metavar="N", help="work-items of a warp")
    parser.add_argument(
        "--on", metavar="PROFILE.json", help="the profile of the device, for what limits a kernel"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run a kernel with probes, and print and write what is known of it."""
    from pyapsp.base.extras import extra
    from pyapsp.device import choose

    with extra("profile", "pyapsp profile kernel"):
        from pyapsp.profiling.kernel import profile_kernel

    check_outputs(arguments.output)
    pairs = (each.partition("=") for each in arguments.define)
    record = profile_kernel(
        choose(arguments.device),
        arguments.file,
        arguments.name,
        arguments.args,
        arguments.items,
        arguments.group,
        folders=arguments.include,
        defines={macro: value if given else 1 for macro, given, value in pairs},
        standard=arguments.standard,
        width=arguments.warp,
        profile=read_profile(arguments.on),
    )
    say = printer(arguments)
    for line in lines(record):
        say(line)
    record = {"schema": "pyapsp kernel profile", **record, "made": made(arguments)}
    if arguments.output:
        write_json(arguments.output, record)
    if arguments.json:
        print_json(record)
    return 0


def lines(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about a kernel."""
    items, group = ("x".join(map(str, record[name])) for name in ("items", "group"))
    yield f"{record['kernel']}: {items} items in groups of {group}, {shown_time(record['seconds'])}"
    if record["recorded"] < 1:
        yield f"  traces of {record['recorded']:.1%} of the groups"
    operations = sorted(record["operations"].items(), key=lambda pair: -pair[1])
    yield "  operations: " + ", ".join(f"{count:.4g} {name}" for name, count in operations)
    if record["registers"] is not None:
        yield f"  {record['registers']} registers, {record['spilled']:,} bytes spilled"
    for each in record["loops"]:
        mix, count = each["mix"], sum(each["mix"].values())
        most = ", ".join(f"{number:,} {name}" for name, number in list(mix.items())[:_MIX])
        yield f"  loop of {count:,} instructions ({each['instruction_set']}): {most}"
    for name, value in record["criteria"].items():
        yield f"  {name:17} {'unknown' if value is None else format(value, '.3f')}"
    yield f"  {'quality':17} {record['quality']:.3f}"
    wasteful = [each for each in record["sites"] if each["wasted"]]
    for each in wasteful[:_SHOWN]:
        what = "passes over banks" if each["space"] == "local" else "bytes of sectors"
        yield (
            f"  {each['file']}:{each['line']}: {each['kind']} {each['text']}: "
            f"{each['efficiency']:.1%} used, {each['wasted']:.3g} {what} wasted"
        )
    for each in record["divergent"][:_SHOWN]:
        yield (
            f"  {each['file']}:{each['line']}: {each['function']}: lanes are idle for "
            f"{each['idle']:.3g} operations"
        )
    if (limits := record["limits"]) is not None:
        yield (
            f"  bound by {limits['bound']}: {shown_time(limits['predicted'])} predicted; "
            f"could be {limits['potential']:.2f} times as fast"
        )
        for each in limits["advice"]:
            if each["gain"] > 1.02:
                yield f"  up to {each['gain']:.2f} x  {each['criterion']}: {each['hint']}"


def shown_time(seconds: float) -> str:
    """Return seconds, in milliseconds if they are few."""
    return f"{seconds * 1e3:.4g} ms" if seconds < 1 else f"{seconds:.4g} s"


def read_profile(path: str | None) -> Mapping[str, object] | None:
    """Read the profile of a device."""
    from pyapsp.base.errors import FormatError

    if path is None:
        return None
    with open(path, encoding="utf-8") as file:
        try:
            profile: object = json.load(file)
        except ValueError as error:
            raise FormatError(path, None, f"not JSON: {error}") from None
    if not isinstance(profile, dict):
        raise FormatError(path, None, "not the profile of a device")
    return profile
