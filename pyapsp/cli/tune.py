"""Find the fastest parameters of methods on a device, and store them for later runs.

The answer of each parameter set is verified before it is timed. Measurements are written to a
journal, so that an interrupted run can continue. The best sets are stored in the user's database,
in the folder PYAPSP_TUNING or else the user's data folder. At the end the best sets of all methods
and types run in turns: "auto" predicts times from these rates. Exit code 1 when an answer was
wrong.

--objective energy finds the parameters of the least energy. Each set is then repeated for seconds
(--train), so --budget should be minutes. They are stored beside the fastest ones, and used where
there are no others.

--quick is for a device that was never tuned: in at most a minute it times those methods for all
pairs that "auto" may take, with a few sets each, the most important first.

For example:
  pyapsp tune --quick --device gpu
  pyapsp tune fw-blocked --dtype float32 int32 -n 1024 --budget 60
  pyapsp tune fw-blocked --dtype float64 --export cl/tuning/dense.json
  pyapsp tune fw-minplus -n 8192 --device gpu --objective energy --budget 600
"""

from __future__ import annotations

import argparse
import math
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from pyapsp.cli.energy import add_energy, meters
from pyapsp.cli.options import add_device, add_flag, add_json, add_progress, add_size, status
from pyapsp.cli.output import check_outputs, commit, print_json, printer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyapsp.base.json import Record
    from pyapsp.device import Device
    from pyapsp.device.energy import EnergyMeter
    from pyapsp.registry import Method
    from pyapsp.registry.tuning import Row
    from pyapsp.registry.tuning.journal import Outcome
    from pyapsp.registry.tuning.tuner import Report, Tuner

__all__ = ["configure", "run"]

# Rows of the table.
_SHOWN = 6
# The values of options that are not given.
_DEFAULTS = {
    "n": [1024],
    "strategy": "auto",
    "objective": "time",
    "budget": 60.0,
    "repeat": 3,
    "stall": 600.0,
    "seed": 0,
}
# The options of a longer tuning.
_LONGER = (
    *_DEFAULTS,
    "dtype",
    "family",
    "predecessors",
    "energy",
    "train",
    "max_configurations",
    "export",
    "journal",
    "resume",
    "restart",
    "known",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("method", nargs="*", metavar="METHOD", help="see 'pyapsp methods'")
    add_flag(
        parser,
        "--quick",
        "instead of METHOD, for at most a minute: time the methods for all pairs that 'auto' may "
        "take, and store their rates; rows of longer tunings stay",
    )
    parser.add_argument(
        "--dtype",
        nargs="+",
        metavar="TYPE",
        help="number types (float32; for a problem without float32, its first type)",
    )
    parser.add_argument(
        "--family",
        metavar="FAMILY",
        help="family of random inputs: uniform (the default for graphs), power-law, mesh",
    )
    add_size(parser, "size of the input, e.g. vertices (1024)", nargs="+")
    add_flag(parser, "--predecessors", "tune with predecessors")
    parser.add_argument(
        "--strategy",
        metavar="STRATEGY",
        help="'all': every legal set, in random order; 'climb': from the default to better "
        "neighbouring sets; 'auto': climb if there are more sets than the budget allows",
    )
    parser.add_argument(
        "--objective",
        metavar="OBJECTIVE",
        help="what is minimised: 'time' (the default), 'energy', or 'edp', their product",
    )
    add_energy(parser, "a run")
    parser.add_argument(
        "--budget",
        type=float,
        metavar="SECONDS",
        help="time for each method, type and n (60)",
    )
    parser.add_argument(
        "--max-configurations",
        type=int,
        metavar="N",
        help="measure at most N sets, including those of earlier runs in the journal",
    )
    parser.add_argument(
        "--repeat",
        type=int,
        metavar="N",
        help="least number of timed runs; their median counts (3)",
    )
    parser.add_argument(
        "--stall",
        type=float,
        metavar="SECONDS",
        help="stop with exit code 1 if one set takes longer, because the driver hangs; run the "
        "command again to continue; a set that hangs twice is left out (600)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the random order (0)")
    parser.add_argument(
        "--export",
        metavar="FILE.json",
        help="also merge the best rows into this database, e.g. a file of cl/tuning",
    )
    parser.add_argument("--journal", metavar="FILE", help="instead of the user's database")
    before = parser.add_mutually_exclusive_group()
    add_flag(before, "--resume", "continue with the journal of earlier runs (the default)")
    add_flag(before, "--restart", "ignore the journal and measure everything again")
    add_flag(
        before,
        "--known",
        "do not search: time the sets in the databases again, in turns, and store their rates",
    )
    add_device(parser)
    add_progress(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Tune each method, type and size, and print a table for each; or tune quickly."""
    if arguments.quick:
        _check_quick(arguments)
        return _quick(arguments)
    _check(arguments)
    with meters(arguments) as meter_of:
        return _tune(arguments, meter_of)


def _tune(arguments: argparse.Namespace, meter_of: Callable[[Device], EnergyMeter] | None) -> int:
    from dataclasses import asdict

    import numpy as np

    from pyapsp.device import choose
    from pyapsp.registry.tuning.tuner import Tuner

    tuned = _methods(arguments)
    device = choose(arguments.device)
    _check_types(device, [dtype for dtype, _ in tuned])
    journal, targets = _files(arguments)
    say = printer(arguments)
    meter = None if meter_of is None else meter_of(device)
    best: list[Row] = []
    wrong: list[Record] = []
    for n in arguments.n:
        # all methods and types of a size are compared, so they run in turns
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
                objective=arguments.objective,
                meter=meter,
            )
            title = f"{method.id} {dtype} n = {n:,}"
            title += " with predecessors" * arguments.predecessors
            if arguments.known:
                row, faults = _known(tuner, title, say)
            else:
                say(f"{title} on {device}")
                row, faults = _searched(tuner, arguments, targets, say)
            wrong += [{"method": method.id, **fault} for fault in faults]
            if row is not None:
                tuners.append(tuner)
                rows.append(row)
        if len(tuners) > 1 or (arguments.known and tuners):
            rows = _in_turns(tuners, rows, targets, say)
        best += rows
    say(f"-> {', '.join(map(str, targets))}")
    if arguments.json:
        rows_of = [asdict(row) for row in best]
        names = [str(target) for target in targets]
        print_json({"rows": rows_of, "wrong": wrong, "databases": names})
    return 1 if wrong else 0


def _methods(arguments: argparse.Namespace) -> list[tuple[str, type[Method]]]:
    """Return the methods to tune, each with its number types."""
    from pyapsp.registry import method as find_method

    methods = [type(find_method(name)) for name in arguments.method]
    if arguments.dtype:
        return list(product([_dtype(name) for name in arguments.dtype], methods))
    return [(_default_dtype(method), method) for method in methods]


def _check_types(device: Device, dtypes: list[str]) -> None:
    """Raise an error if the device cannot run one of the types."""
    import numpy as np

    from pyapsp.numbers.arithmetic import check_type

    for dtype in dtypes:
        check_type(device, np.dtype(dtype))


def _files(arguments: argparse.Namespace) -> tuple[Path, list[Path]]:
    """Return the journal, and the databases that get the rows.

    A database that cannot be read or written is an error now, not after the measurements.
    """
    from pyapsp.registry.tuning import database

    own = database.user_database()
    own.parent.mkdir(parents=True, exist_ok=True)
    journal = Path(arguments.journal) if arguments.journal else own.parent / "journal.jsonl"
    check_outputs(str(own), arguments.export, str(journal))
    targets = [own] + ([Path(arguments.export)] if arguments.export else [])
    for target in targets:
        if target.exists():
            database.load(target)
    return journal, targets


def _known(
    tuner: Tuner, title: str, say: Callable[[str], object]
) -> tuple[Row | None, list[Record]]:
    """Return the row that the databases have, if there is one that runs, and what was wrong."""
    from pyapsp.base.errors import DeviceError, ParameterError, VerificationError

    try:
        row = tuner.known()
    except (DeviceError, ParameterError, VerificationError) as error:
        say(f"{title}: {error}")
        return None, [{"detail": str(error)}]
    if row is None:
        say(f"{title}: not tuned")
    return row, []


def _searched(
    tuner: Tuner, arguments: argparse.Namespace, targets: list[Path], say: Callable[[str], object]
) -> tuple[Row, list[Record]]:
    """Search for the best set, and return its row and what was wrong."""
    from dataclasses import asdict

    from pyapsp.registry.tuning import database

    report = _with_progress(tuner, arguments)
    for target in targets:
        database.merge(target, [report.row])
    if not arguments.json:
        _print_table(report)
    wrong = [outcome for outcome in report.outcomes if outcome.state == "wrong"]
    for outcome in wrong:
        say(f"WRONG with {_text(outcome.parameters)}: {outcome.detail}")
    return report.row, [asdict(outcome) for outcome in wrong]


def _in_turns(
    tuners: list[Tuner], rows: list[Row], targets: list[Path], say: Callable[[str], object]
) -> list[Row]:
    """Time the best sets of methods and types in turns, and return their rows."""
    from pyapsp.registry.tuning import database
    from pyapsp.registry.tuning.tuner import compared

    rows = compared(tuners, rows)
    for target in targets:
        database.merge(target, rows)
    say(f"in turns, n = {rows[0].n:,}:")
    for row in sorted(rows, key=lambda row: -row.rate):
        rate = f"{row.rate / 1e9:,.4g} G {_unit(row.method)}/s"
        say(f"    {row.method:<16} {row.dtype:<8} {rate}")
    return rows


def _quick(arguments: argparse.Namespace) -> int:
    """Tune quickly, and print the methods of each part, the fastest first."""
    import time
    from dataclasses import asdict

    started = time.perf_counter()
    from pyapsp.all_pairs.quick import LIMIT, Part, tune_quickly
    from pyapsp.device import choose
    from pyapsp.registry.tuning import database

    device = choose(arguments.device)
    own = database.user_database()
    own.parent.mkdir(parents=True, exist_ok=True)
    check_outputs(str(own))
    longer = [row for row in database.load(own) if not row.quick] if own.exists() else []
    say = printer(arguments)
    say(f"{device}, at most {LIMIT:g} s")

    with status(arguments) as display:

        def show(part: Part, rows: list[Row]) -> None:
            display(str(part))
            times = ", ".join(f"{row.method} {row.n**3 / row.rate * 1e3:.3g} ms" for row in rows)
            say(f"{part}: {times}")

        result = tune_quickly(
            device,
            lambda rows: database.merge(own, rows),
            ends=started + LIMIT,
            longer=longer,
            commit=commit(),
            report=show,
        )
    for left in result.left:
        say(f"not timed: {left}")
    for wrong in result.wrong:
        say(f"WRONG: {wrong['method']} with {_text(wrong['parameters'])}: {wrong['detail']}")
    say(f"{len(result.rows)} rows in {time.perf_counter() - started:.1f} s -> {own}")
    if arguments.json:
        rows = [asdict(row) for row in result.rows]
        found = {"rows": rows, "wrong": result.wrong, "left": result.left}
        print_json({**found, "databases": [str(own)]})
    return 1 if result.wrong else 0


def _check_quick(arguments: argparse.Namespace) -> None:
    """Refuse what does nothing beside ``--quick``."""
    from pyapsp.base.errors import ParameterError

    if arguments.method:
        raise ParameterError(
            f"--quick chooses the methods: leave out {' '.join(arguments.method)}, or --quick"
        )
    options = {name: getattr(arguments, name) for name in _LONGER}
    given = [name for name, value in options.items() if value is not None and value is not False]
    if given:
        named = ", ".join("-n" if name == "n" else f"--{name.replace('_', '-')}" for name in given)
        raise ParameterError(f"{named} does nothing beside --quick")


def _check(arguments: argparse.Namespace) -> None:
    from pyapsp.base.errors import ParameterError
    from pyapsp.graph.validation import choice
    from pyapsp.registry.tuning.objective import OBJECTIVES
    from pyapsp.registry.tuning.tuner import STRATEGIES

    if not arguments.method:
        raise ParameterError("name a METHOD to tune, or give --quick")
    for name, value in _DEFAULTS.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
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
    choice("strategy", "tune", arguments.strategy, STRATEGIES)
    choice("objective", "tune", arguments.objective, OBJECTIVES)
    if arguments.objective == "time" and arguments.energy is not None:
        raise ParameterError("--energy is for --objective energy or edp")
    if arguments.objective != "time" and arguments.energy is None:
        arguments.energy = "auto"


def _dtype(name: str) -> str:
    from pyapsp.base.errors import ParameterError
    from pyapsp.numbers.precision import DTYPES

    if name not in DTYPES:
        raise ParameterError.of("dtype", "tune", f"one of {', '.join(DTYPES)}", name, DTYPES)
    return name


def _default_dtype(method: type[Method]) -> str:
    from pyapsp.registry import problem

    dtypes = problem(method.problem).dtypes
    return "float32" if "float32" in dtypes else dtypes[0]


def _with_progress(tuner: Tuner, arguments: argparse.Namespace) -> Report:
    """Run the tuner, and show its progress."""
    counts = {"ok": 0, "slow": 0, "wrong": 0, "failed": 0}
    with status(arguments) as display:

        def show(outcome: Outcome) -> None:
            counts[outcome.state] += 1
            display(", ".join(f"{count} {state}" for state, count in counts.items()))

        report: Report = tuner.run(
            strategy=arguments.strategy,
            budget=arguments.budget,
            max_configurations=arguments.max_configurations,
            report=show,
            stall=arguments.stall,
        )
    return report


def _unit(method: str) -> str:
    """Return the unit in which the work of a method is counted."""
    from pyapsp.registry import method as find_method
    from pyapsp.registry import problem

    return problem(find_method(method).problem).unit


def _print_table(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    unit = _unit(report.row.method)
    chosen = tuple(sorted(report.row.parameters.items()))
    default = report.costs.get(tuple(sorted(report.default.items())))
    energy = any(cost.joules is not None for cost in report.costs.values())
    table = Table(box=None)
    headings = ["", "parameters", "seconds", f"G {unit}/s", "x default"]
    headings += ["joules", "joules x default"] * energy
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("", "parameters") else "right")
    for place, (seconds, joules) in list(report.costs.items())[:_SHOWN]:
        mark = "best" if place == chosen else ""
        if dict(place) == report.default:
            mark = "best, default" if mark else "default"
        cells = (
            mark,
            _text(_in_order(dict(place), report.default or {})),
            f"{seconds:.4g}",
            f"{report.row.rate * report.costs[chosen].seconds / seconds / 1e9:.3g}",
            _ratio(default and default.seconds, seconds),
            *(["-" if joules is None else f"{joules:.4g}"] * energy),
            *([_ratio(default and default.joules, joules)] * energy),
        )
        table.add_row(*(Text(cell) for cell in cells))
    console = Console()
    if not console.is_terminal:
        console.width = 200  # in a file or a pipe, do not wrap the lines of a table
    console.print(table)
    count = dict.fromkeys(("ok", "slow", "wrong", "failed"), 0)
    for outcome in report.outcomes:
        count[outcome.state] += 1
    print(
        f"{len(report.outcomes)} sets measured ({report.resumed} of them before): "
        + ", ".join(f"{number} {state}" for state, number in count.items())
        + ("; every legal set was measured" if report.complete else "")
    )


def _ratio(default: float | None, value: float | None) -> str:
    return f"{default / value:.2f}" if default and value else "-"


def _in_order(
    parameters: dict[str, int | str], default: dict[str, int | str]
) -> dict[str, int | str]:
    """Return parameters in the order of the default set, names that it lacks last."""
    return {name: parameters[name] for name in [*default, *parameters] if name in parameters}


def _text(parameters: dict[str, int | str]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())
