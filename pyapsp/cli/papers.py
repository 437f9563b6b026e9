"""Measure again what papers measured, and put their figures beside ours.

For example:
  pyapsp papers measure okuyama-times -n 512 -o 512.json
  pyapsp papers report okuyama 256.json 512.json -o report
"""

from __future__ import annotations

import argparse
from typing import Any

from pyapsp.cli.options import (
    add_device,
    add_progress,
    add_size,
    check_outputs,
    commit,
    status,
    write_json,
)

__all__ = ["configure", "run"]

# the names of pyapsp.profiling.papers and pyapsp.report.papers, here so that --help loads neither
_EXPERIMENTS = (
    "okuyama-times",
    "okuyama-tuning",
    "okuyama-sources",
    "okuyama-degrees",
    "okuyama-weights",
    "okuyama-topologies",
    "takafuji-threads",
    "takafuji-packed",
    "takafuji-multicore",
    "takafuji-diameter",
    "takafuji-batches",
    "takafuji-sort",
    "takafuji-warshall",
    "takafuji-montgomery",
    "takafuji-sort-groups",
    "takafuji-warshall-groups",
    "takafuji-montgomery-groups",
    "matsumoto-tiles",
    "matsumoto-blocks",
    "matsumoto-sizes",
    "matsumoto-devices",
    "ino-neural",
    "ino-paths",
    "ino-histogram",
    "ino-filter",
)
_SOURCES = ("okuyama", "takafuji", "matsumoto", "ino")
_SETTINGS = {
    "threads": "work-items of a group (takafuji-threads, takafuji-packed)",
    "cores": "compute units (takafuji-multicore)",
    "sides": "rows and columns of a tile (matsumoto-tiles)",
    "blocks": "blocking factors (matsumoto-blocks)",
    "degrees": "arcs for each vertex (okuyama-degrees)",
    "weights": "largest weights (okuyama-weights)",
    "densities": "per cent of all edges (takafuji-diameter)",
    "counts": "graphs or instances at once (takafuji-batches, -sort, -warshall, -montgomery)",
    "groups": "instances of a group (takafuji-sort-groups, -warshall-groups, -montgomery-groups)",
    "tasks": "sources at most (ino-paths)",
    "pixels": "width and height of a slice (ino-histogram)",
}
_MEASURE = """\
  pyapsp papers measure okuyama-times -n 512 -o 512.json
  pyapsp papers measure matsumoto-blocks -n 1024 --blocks 128 256 --device gpu -o blocks.json
"""
_REPORT = """\
  pyapsp papers report okuyama 256.json 512.json -o report
"""
_SIZE = "vertices; images, slices, pixels across (ino-); numbers, bits (takafuji-sort, -montgomery)"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    measure = _part(parts, "measure", "Run an experiment of size n.", _MEASURE)
    measure.add_argument(
        "experiment", choices=_EXPERIMENTS, metavar="EXPERIMENT", help=", ".join(_EXPERIMENTS)
    )
    add_size(measure, _SIZE, required=True)
    measure.add_argument("--repeat", type=int, default=3, metavar="N", help="timed turns (3)")
    measure.add_argument(
        "--limit",
        type=float,
        metavar="SECONDS",
        help="a search from sources that takes longer is ended and left out",
    )
    for name, what in _SETTINGS.items():
        kind = float if name == "densities" else int
        measure.add_argument(f"--{name}", nargs="+", type=kind, default=[], metavar="N", help=what)
    add_device(measure)
    measure.add_argument(
        "-o", "--output", required=True, metavar="OUT.json", help="write all that was measured"
    )
    add_progress(measure)
    report = _part(parts, "report", "Make the tables and figures of a source.", _REPORT)
    report.add_argument("source", choices=_SOURCES, metavar="SOURCE", help=", ".join(_SOURCES))
    report.add_argument(
        "measured", nargs="+", metavar="MEASURED.json", help="from 'pyapsp papers measure'"
    )
    report.add_argument("-o", "--output", required=True, metavar="DIR", help="for the files")


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


def run(arguments: argparse.Namespace) -> int:
    """Measure, or report."""
    return _measure(arguments) if arguments.part == "measure" else _report(arguments)


def _measure(arguments: argparse.Namespace) -> int:
    from pyapsp.profiling import papers

    check_outputs(arguments.output)
    settings = {name: getattr(arguments, name) for name in _SETTINGS}
    with status(arguments) as tell:
        measured = papers.measure(
            arguments.experiment,
            arguments.n,
            device=arguments.device,
            repeat=arguments.repeat,
            settings=settings,
            limit=arguments.limit,
            progress=tell,
        )
    write_json(arguments.output, {**measured, "commit": commit()})
    print(f"{arguments.experiment}, n = {arguments.n}: {len(measured['runs'])} runs, all verified")
    for each in measured["left_out"]:
        label = ", ".join(f"{name}={value}" for name, value in each.items() if name != "why")
        print(f"left out: {label}: {each['why']}")
    return 0


def _report(arguments: argparse.Namespace) -> int:
    from pyapsp.errors import PyApspError

    try:
        from pyapsp.report.papers import write_source
    except ModuleNotFoundError as error:
        raise PyApspError(
            f"pyapsp papers report needs {error.name}; install the extra 'report' of pyapsp"
        ) from None
    for path in write_source(arguments.source, arguments.measured, arguments.output):
        print(path)
    return 0
