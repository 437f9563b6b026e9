"""Repeat the measurements of papers, and compare their figures with ours.

The program of the workflow's rules, run in the folder ``workflow`` of a checkout:

  python -m papers list
  python -m papers measure okuyama-times -n 512 -o 512.json
  python -m papers report okuyama 256.json 512.json -o report
  python -m papers index ../data/records -o exhibits.md
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyapsp.base.files import atomic_write
from pyapsp.cli import program
from pyapsp.cli.energy import add_energy, meters
from pyapsp.cli.options import add_device, add_progress, add_size, status
from pyapsp.cli.output import check_outputs, made, write_json
from pyapsp.errors import SensorError

__all__ = ["main"]

_LIST = """\
  python -m papers list
"""
_MEASURE = """\
  python -m papers measure okuyama-times -n 512 -o 512.json
  python -m papers measure matsumoto-blocks -n 1024 --set blocks=128,256 --device gpu -o blocks.json
  python -m papers measure busato-profiling-reduction -n 4194304 --energy -o reduction.json
"""
_REPORT = """\
  python -m papers report okuyama 256.json 512.json -o report
"""
_INDEX = """\
  python -m papers index ../data/records -o exhibits.md
"""
_SIZE = (
    "size of the input: vertices; images, slices or pixels of a side (ino-); numbers "
    "(takafuji-sort); bits (takafuji-montgomery)"
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    whole = argparse.ArgumentParser(
        prog="python -m papers", description=(__doc__ or "").partition("\n")[0]
    )
    parts = whole.add_subparsers(dest="part", metavar="PART", required=True)
    _part(parts, "list", "List the papers, their experiments and the settings of these.", _LIST)
    measure = _part(parts, "measure", "Run an experiment of size n.", _MEASURE)
    measure.add_argument("experiment", metavar="EXPERIMENT", help="see 'python -m papers list'")
    add_size(measure, _SIZE, required=True)
    measure.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="number of timed runs (3)"
    )
    measure.add_argument(
        "--limit",
        type=float,
        metavar="SECONDS",
        help="stop a search from sources that takes longer, and leave it out; of profiles of "
        "kernels, begin none after so many seconds",
    )
    measure.add_argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="values of a setting to measure, e.g. blocks=128,256; may be repeated",
    )
    add_energy(measure, "a run of kernels")
    measure.set_defaults(command="papers measure")
    add_device(measure)
    measure.add_argument(
        "-o", "--output", required=True, metavar="OUT.json", help="write the measurements as JSON"
    )
    add_progress(measure)
    report = _part(parts, "report", "Make the tables and figures of a paper.", _REPORT)
    report.add_argument("source", metavar="SOURCE", help="see 'python -m papers list'")
    report.add_argument(
        "measured", nargs="+", metavar="MEASURED.json", help="from 'python -m papers measure'"
    )
    report.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the files")
    index = _part(parts, "index", "List all exhibits, with what was measured of each.", _INDEX)
    index.add_argument("records", metavar="DIR", help="has DEVICE/papers/EXPERIMENT-N.json")
    index.add_argument("-o", "--output", required=True, metavar="OUT.md", help="write the page")
    return whole


def _setting(text: str) -> tuple[str, list[int | float]]:
    """Parse ``name=value,value``; for argparse's ``type=``."""
    name, _, values = text.partition("=")
    try:
        numbers = [
            float(each) if re.search(r"[.e]", each) else int(each) for each in values.split(",")
        ]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not name=number,number") from None
    return name, numbers


def _part(parts: Any, name: str, summary: str, examples: str) -> argparse.ArgumentParser:
    """Add a part of the command."""
    part: argparse.ArgumentParser = parts.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"For example:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return part


def main(words: Sequence[str] | None = None) -> int:
    """List, measure, or report; return the exit code, as the commands of pyapsp."""
    return program.run(lambda: _run(sys.argv[1:] if words is None else words))


def _run(words: Sequence[str]) -> int:
    arguments = parser().parse_args(words)
    arguments.line = shlex.join(["python", "-m", "papers", *words])
    parts = {"list": _list, "measure": _measure, "report": _report, "index": _index}
    return parts[arguments.part](arguments)


def _list(arguments: argparse.Namespace) -> int:
    from papers import SETTINGS, SOURCES

    for source in SOURCES.values():
        print(f"{source.name}: {source.title}")
        for name, experiment in source.experiments.items():
            print(f"    {name}: {experiment.exhibits}")
            if experiment.methods:
                print(f"        {', '.join(experiment.methods)}")
            for setting in experiment.settings:
                print(f"        {setting}: {SETTINGS[setting].summary}")
    return 0


def _measure(arguments: argparse.Namespace) -> int:
    import papers

    check_outputs(arguments.output)
    with meters(arguments) as meter_of, status(arguments) as tell:
        measured = papers.measure(
            arguments.experiment,
            arguments.n,
            device=arguments.device,
            repeat=arguments.repeat,
            settings=dict(arguments.set),
            limit=arguments.limit,
            energy=meter_of,
            progress=tell,
        )
    write_json(arguments.output, {**measured, **made(arguments)})
    print(f"{arguments.experiment}, n = {arguments.n}: {len(measured['runs'])} runs, all verified")
    for each in measured["left_out"]:
        label = ", ".join(f"{name}={value}" for name, value in each.items() if name != "why")
        print(f"left out: {label}: {each['why']}")
    for sensor in measured.get("sensors", []):
        print(f"sensor: {sensor['name']}")
        if sensor["error"] is not None:  # the file has the rest
            raise SensorError(sensor["name"], sensor["error"])
    return 0


def _report(arguments: argparse.Namespace) -> int:
    from pyapsp.base.extras import extra

    with extra("report", "python -m papers report"):
        from papers.report import write_source
    for path in write_source(arguments.source, arguments.measured, arguments.output):
        print(path)
    return 0


def _index(arguments: argparse.Namespace) -> int:
    from pyapsp.base.extras import extra

    check_outputs(arguments.output)
    with extra("report", "python -m papers index"):
        from papers.index import markdown
    with atomic_write(arguments.output) as file:
        file.write(f"# Exhibits\n\n{markdown(Path(arguments.records))}")
    print(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
