"""Find the fastest parameters of methods on a device, and keep them for later runs.

Each parameter set is verified before it is timed. What was measured is kept in a journal, so that
an interrupted run goes on where it was. The best go into the database of the user, in the folder
PYAPSP_TUNING or else the user's data folder. The best of several methods and types take turns in
the end: their rates are what "auto" goes by. Exit code 1 when a set gave a wrong answer.

For example:
  pyapsp tune fw-blocked --dtype float32 int32 -n 1024 --budget 60
  pyapsp tune fw-blocked --dtype float64 --export cl/tuning/dense.json
"""

from __future__ import annotations

import argparse
import math
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyapsp.cli.options import (
    add_device,
    add_json,
    add_progress,
    add_size,
    check_outputs,
    commit,
    print_json,
    printer,
    status,
)

if TYPE_CHECKING:
    from pyapsp.registry import Method
    from pyapsp.tuning.tuner import Report

__all__ = ["configure", "run"]

# Rows of the table.
_SHOWN = 6


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("method", nargs="+", metavar="METHOD", help="see 'pyapsp methods'")
    parser.add_argument(
        "--dtype",
        nargs="+",
        metavar="TYPE",
        help="number types (float32; where the problem has none, its own)",
    )
    parser.add_argument(
        "--family",
        metavar="FAMILY",
        help="the kind of input that is drawn: uniform (the default for graphs), power-law, mesh",
    )
    add_size(parser, "size of the input, e.g. vertices (1024)", nargs="+", default=[1024])
    parser.add_argument("--predecessors", action="store_true", help="tune with predecessors")
    parser.add_argument(
        "--strategy",
        default="auto",
        metavar="STRATEGY",
        help="'all' legal sets in random order, 'climb' from the default to better neighbours, or "
        "'auto': climb when there are more sets than the budget allows",
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="for each method, type and n (60)",
    )
    parser.add_argument(
        "--max-configurations",
        type=int,
        metavar="N",
        help="measure at most so many sets, counting those measured before",
    )
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="timed runs, at least; medians count (3)"
    )
    parser.add_argument(
        "--stall",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="give up, with exit code 1, when one set takes longer: the driver hangs. Run again to "
        "go on; a set that hangs twice is left out (600)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the order (0)")
    parser.add_argument(
        "--export",
        metavar="FILE.json",
        help="also merge the best rows into this database, such as one of cl/tuning",
    )
    parser.add_argument("--journal", metavar="FILE", help="instead of the one of the user")
    before = parser.add_mutually_exclusive_group()
    before.add_argument(
        "--resume", action="store_true", help="go on where the journal ends (the default)"
    )
    before.add_argument("--restart", action="store_true", help="measure everything anew")
    before.add_argument(
        "--known",
        action="store_true",
        help="look for nothing: time what the databases have for these methods again, in turns",
    )
    add_device(parser)
    add_progress(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Tune one after the other, and print a table for each."""
    from dataclasses import asdict

    import numpy as np

    from pyapsp.arithmetic import arithmetic_defines
    from pyapsp.device import choose
    from pyapsp.errors import DeviceError, ParameterError, VerificationError
    from pyapsp.registry import method as find_method
    from pyapsp.tuning import database
    from pyapsp.tuning.tuner import Tuner, compared

    _check(arguments)
    methods = [type(find_method(name)) for name in arguments.method]
    if arguments.dtype:
        tuned = list(product([_dtype(name) for name in arguments.dtype], methods))
    else:
        tuned = [(_default_dtype(method), method) for method in methods]
    device = choose(arguments.device)
    for dtype, _ in tuned:
        arithmetic_defines(device, np.dtype(dtype))  # refuses what the device lacks
    own = database.user_database()
    own.parent.mkdir(parents=True, exist_ok=True)
    journal = Path(arguments.journal) if arguments.journal else own.parent / "journal.jsonl"
    check_outputs(str(own), arguments.export, str(journal))
    targets = [own] + ([Path(arguments.export)] if arguments.export else [])
    for target in targets:
        if target.exists():
            database.load(target)  # what is no database is an error now, not after the work
    say = printer(arguments)
    best, wrong = [], []
    for n in arguments.n:
        # what is compared takes turns: all methods and types of a size
        tuners, rows = [], []
        for dtype, method in tuned:
            tuner = Tuner(
                method,
                device,
                np.dtype(dtype),
                n,
                family=arguments.family,
                predecessors=arguments.predecessors,
                journal=journal,
                restart=arguments.restart,
                repeat=arguments.repeat,
                seed=arguments.seed,
                commit=commit(),
            )
            title = f"{method.id} {dtype} n = {n:,}"
            title += " with predecessors" * arguments.predecessors
            if arguments.known:
                try:
                    row = tuner.known()
                except (DeviceError, ParameterError, VerificationError) as error:
                    say(f"{title}: {error}")
                    wrong.append({"method": method.id, "detail": str(error)})
                    continue
                if row is None:
                    say(f"{title}: not tuned")
                else:
                    tuners.append(tuner)
                    rows.append(row)
                continue
            say(f"{title} on {device}")
            report = _with_progress(tuner, arguments)
            tuners.append(tuner)
            rows.append(report.row)
            for target in targets:
                database.merge(target, [report.row])
            if not arguments.json:
                _print_table(report)
            for outcome in report.outcomes:
                if outcome.state == "wrong":
                    wrong.append({"method": method.id, **asdict(outcome)})
                    say(f"WRONG with {_text(outcome.parameters)}: {outcome.detail}")
        if len(tuners) > 1 or (arguments.known and tuners):
            rows = compared(tuners, rows)
            for target in targets:
                database.merge(target, rows)
            say(f"in turns, n = {n:,}:")
            for row in sorted(rows, key=lambda row: -row.rate):
                rate = f"{row.rate / 1e9:,.4g} G {_unit(row.method)}/s"
                say(f"    {row.method:<16} {row.dtype:<8} {rate}")
        best += [asdict(row) for row in rows]
    say(f"-> {', '.join(map(str, targets))}")
    if arguments.json:
        print_json({"rows": best, "wrong": wrong, "databases": [str(target) for target in targets]})
    return 1 if wrong else 0


def _check(arguments: argparse.Namespace) -> None:
    from pyapsp.errors import ParameterError
    from pyapsp.tuning.tuner import STRATEGIES

    for name, least in (("max_configurations", 1), ("repeat", 1), ("seed", 0)):
        value = getattr(arguments, name)
        if value is not None and value < least:
            raise ParameterError.of(name.replace("_", "-"), "tune", f"at least {least}", value)
    for n in arguments.n:
        if n < 1:
            raise ParameterError.of("n", "tune", "at least 1", n)
    for name in ("budget", "stall"):
        value = getattr(arguments, name)
        if not (0 < value < math.inf):
            raise ParameterError.of(name, "tune", "a positive number", value)
    if arguments.strategy not in STRATEGIES:
        rule = f"one of {', '.join(STRATEGIES)}"
        raise ParameterError.of("strategy", "tune", rule, arguments.strategy)


def _dtype(name: str) -> str:
    from pyapsp.errors import ParameterError
    from pyapsp.precision import DTYPES

    if name not in DTYPES:
        raise ParameterError.of("dtype", "tune", f"one of {', '.join(DTYPES)}", name)
    return name


def _default_dtype(method: type[Method]) -> str:
    from pyapsp.registry import problem

    dtypes = problem(method.problem).dtypes
    return "float32" if "float32" in dtypes else dtypes[0]


def _with_progress(tuner: Any, arguments: argparse.Namespace) -> Report:
    """Run the tuner, and show how far it is."""
    counts = {"ok": 0, "slow": 0, "wrong": 0, "failed": 0}
    with status(arguments) as tell:

        def told(outcome: Any) -> None:
            counts[outcome.state] += 1
            tell(", ".join(f"{count} {state}" for state, count in counts.items()))

        report: Report = tuner.run(
            strategy=arguments.strategy,
            budget=arguments.budget,
            max_configurations=arguments.max_configurations,
            told=told,
            stall=arguments.stall,
        )
    return report


def _unit(method: str) -> str:
    """Return what the work of a method is counted in."""
    from pyapsp.registry import method as find_method
    from pyapsp.registry import problem

    return problem(find_method(method).problem).unit


def _print_table(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    unit = _unit(report.row.method)
    chosen = tuple(sorted(report.row.parameters.items()))
    default = report.seconds.get(tuple(sorted(report.default.items())))
    table = Table(box=None)
    for heading in ("", "parameters", "seconds", f"G {unit}/s", "x default"):
        table.add_column(heading, justify="left" if heading in ("", "parameters") else "right")
    for place, seconds in list(report.seconds.items())[:_SHOWN]:
        mark = "best" if place == chosen else ""
        if dict(place) == report.default:
            mark = "best, default" if mark else "default"
        cells = (
            mark,
            _text(_in_order(dict(place), report.default or {})),
            f"{seconds:.4g}",
            f"{report.row.rate * report.seconds[chosen] / seconds / 1e9:.3g}",
            f"{default / seconds:.2f}" if default else "-",
        )
        table.add_row(*(Text(cell) for cell in cells))
    console = Console()
    if not console.is_terminal:
        console.width = 200  # into a file or a pipe: no line of a table is broken
    console.print(table)
    count = dict.fromkeys(("ok", "slow", "wrong", "failed"), 0)
    for outcome in report.outcomes:
        count[outcome.state] += 1
    print(
        f"{len(report.outcomes)} sets measured ({report.resumed} of them before): "
        + ", ".join(f"{number} {state}" for state, number in count.items())
        + ("; these are all" if report.complete else "")
    )


def _in_order(parameters: dict[str, int | str], default: dict[str, int | str]) -> dict[str, Any]:
    """Return parameters in the order of the default, the names it does not have last."""
    return {name: parameters[name] for name in [*default, *parameters] if name in parameters}


def _text(parameters: dict[str, int | str]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())
