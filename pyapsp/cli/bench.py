"""Time methods on a graph file or on random graphs, and compare them with other packages.

Each method runs once as a warm-up. Then all run in turns, and the table has the median times of
the kernels alone, of kernels and transfers, and of whole calls from the graph to the distances on
the host. The roof is the rate of the device for operations in registers, measured in the same
turns. Every answer is checked. Exit code 1 when one is wrong.

--energy adds joules: after the turns each method is called again and again for seconds, while a
sensor is read. The sensors are those of 'pyapsp profile device'. With --kernels only its kernels
are run again and again, with the input on the device and the answer left there; the answer is
checked at the end.

For example:
  pyapsp bench rome99.gr --method fw-blocked --dtype float32
  pyapsp bench dense --n 512 2048 --method all --dtype float32 int32 --device gpu cpu
  pyapsp bench dense --n 4096 --peers scipy tropical-gemm -o bench.json
  pyapsp bench roads.gr --sources 512 --peers scipy-dijkstra networkit
  pyapsp bench wiki-Vote --problem bfs --method all
  pyapsp bench power-law --problem sssp --n 100000
  pyapsp bench rmat --n 4096 --method auto near-far ms-bfs fw-minplus
  pyapsp bench dense --n 16384 --device gpu --energy
  pyapsp bench power-law --n 1000000 --problem bfs --device gpu --energy --kernels
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyapsp.cli.energy import add_energy, meters
from pyapsp.cli.options import (
    add_flag,
    add_format,
    add_json,
    add_output,
    add_progress,
    add_size,
    add_undirected,
    add_weight,
    check_named,
    reading_of,
    status,
)
from pyapsp.cli.output import check_outputs, made, print_json, refusals, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.table import Table

    from pyapsp.base.json import Record
    from pyapsp.bench.measurement import Argument, Comparison, Outcome
    from pyapsp.device import Device
    from pyapsp.device.energy import EnergyMeter
    from pyapsp.registry import Problem

__all__ = ["configure", "run"]

_DENSE = "dense"
# The names of `pyapsp.bench.peers` by problem, repeated so that `--help` need not import it.
_USUAL = ("scipy", "igraph", "networkit")
_PEERS = {
    "all-pairs": (
        *("scipy", "scipy-floyd-warshall", "rustworkx", "tropical-gemm", "numba", "igraph"),
        *("scipy-dijkstra", "networkit", "rustworkx-bfs"),
    ),
    **dict.fromkeys(("bfs", "sssp", "scc"), _USUAL),
    "partition": ("scipy",),
    "triangles": _USUAL,
    "truss": ("scipy", "networkx"),
}
# The columns of energy, and their factors.
_ENERGY = ("joules", 1.0), ("joules_per_unit", 1e9), ("watts", 1.0), ("energy_seconds", 1.0)
_NAMES = tuple(dict.fromkeys(name for names in _PEERS.values() for name in names))


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "graph",
        metavar="GRAPH",
        help="a graph file of any known format; or a name from 'pyapsp fetch --list'; or "
        f"'{_DENSE}' for random graphs with many arcs; or a family of random inputs: uniform, "
        "power-law, mesh; or a kind of graph of 'pyapsp generate'",
    )
    add_format(parser)
    parser.add_argument(
        "--problem",
        default="all-pairs",
        metavar="PROBLEM",
        help="all-pairs (default), or another from 'pyapsp methods'",
    )
    parser.add_argument(
        "--method",
        nargs="+",
        default=["auto"],
        metavar="METHODS",
        help="see 'pyapsp methods'; 'all' for every method; 'shortlist' for auto, and the methods "
        "predicted to take at most 10 times as long as the fastest, or all methods where times are "
        "not predicted (auto). With auto and others, the time of the automatic choice is compared "
        "with that of the fastest other",
    )
    parser.add_argument(
        "--dtype", nargs="+", metavar="TYPE", help="number types (float64; for dense: float32)"
    )
    parser.add_argument(
        "--device", nargs="+", default=[None], metavar="SPEC", help="see 'pyapsp devices'"
    )
    add_flag(parser, "--predecessors", "also compute predecessors")
    parser.add_argument(
        "--sources",
        type=int,
        metavar="K",
        help="compute only the rows of K vertices, evenly spread",
    )
    add_undirected(parser)
    add_weight(parser)
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="number of timed runs (3)"
    )
    parser.add_argument(
        "--peers",
        nargs="*",
        choices=_NAMES,
        metavar="NAME",
        help=f"also time these other packages, where installed: {', '.join(_NAMES)}; --peers "
        "without a name means all (without --peers: scipy for a file, none for dense graphs)",
    )
    add_energy(parser, "a call")
    add_flag(
        parser,
        "--kernels",
        "with --energy: repeat the kernels alone, without the copies of a call; methods that "
        "need these are left out",
    )
    dense = parser.add_argument_group("random graphs")
    add_size(dense, "numbers of vertices (512 1024)", nargs="+")
    dense.add_argument(
        "--density",
        type=float,
        metavar="P",
        help=f"number of arcs of a {_DENSE} graph, as a fraction of n (n - 1) from 0 to 1 (0.1, at "
        "most 2^20 arcs)",
    )
    dense.add_argument("--seed", type=int, metavar="N", help="seed of the random graphs (0)")
    add_output(parser, "OUT.json", "write the measurements as JSON")
    add_progress(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, and print a table for each graph."""
    import pyapsp
    from pyapsp.base.errors import ParameterError
    from pyapsp.bench.measurement import SHORTLIST
    from pyapsp.registry import method_of
    from pyapsp.registry import problem as find_problem

    problem = find_problem(arguments.problem)
    methods = arguments.method
    if "all" in methods:
        methods = [method.id for method in pyapsp.methods(problem.id)]
    for name in methods:
        if name != SHORTLIST:
            method_of(problem.id, name, "bench")
    if arguments.kernels and arguments.energy is None:
        raise ParameterError("--kernels is for --energy")
    with meters(arguments) as meter_of:
        return _measure(arguments, problem, methods, meter_of)


def _measure(
    arguments: argparse.Namespace,
    problem: Problem,
    methods: list[str],
    meter_of: Callable[[Device], EnergyMeter] | None,
) -> int:
    from rich.console import Console

    from pyapsp.bench import measurement as bench
    from pyapsp.device import choose
    from pyapsp.registry.record import about_call

    check_named(arguments)
    check_outputs(arguments.output, inputs=[arguments.graph])
    is_dense = arguments.graph == _DENSE
    peers = arguments.peers
    if peers is None:
        peers = [] if is_dense else ["scipy"]
    elif not peers:
        peers = list(_PEERS.get(problem.id, ()))
    dtypes = arguments.dtype or ["float32" if is_dense else problem.dtypes[0]]
    console = Console(quiet=arguments.json)
    if not console.is_terminal:
        console.width = 200  # into a file or a pipe: no line of a table is broken
    outcomes = []
    for data in _inputs(problem, arguments):
        options = _arguments(problem, data, arguments)
        devices = [choose(spec) for spec in arguments.device]
        asked = {"method": f"{' '.join(arguments.method)}, in turns", "dtype": " ".join(dtypes)}
        with (
            refusals(arguments.output, {**about_call(problem, data, devices[0]), **asked}),
            status(arguments) as report,
        ):
            outcome = bench.run(
                problem,
                data,
                methods,
                dtypes,
                devices,
                arguments=options,
                repeat=arguments.repeat,
                peers=peers,
                energy=meter_of,
                kernels=arguments.kernels,
                progress=report,
            )
        console.print(_table(outcome, arguments.repeat))
        for each in outcome.automatic:
            console.print(_verdict(each), markup=False, highlight=False)
        for reason in dict.fromkeys(outcome.left_out.values()):
            names = ", ".join(name for name, why in outcome.left_out.items() if why == reason)
            console.print(f"left out: {names}: {reason}", markup=False, highlight=False)
        outcomes.append(outcome)
    for id_, name in {id_: name for each in outcomes for id_, name in each.devices.items()}.items():
        console.print(f"device {id_}: {name}", markup=False, highlight=False)
    document = _document(outcomes, made(arguments))
    if arguments.json:
        print_json(document)
    if arguments.output:
        write_json(arguments.output, document)
    lost = [each.sensor_error for each in outcomes if each.sensor_error is not None]
    if lost:
        raise lost[0]
    return 0 if all(outcome.ok for outcome in outcomes) else 1


def _inputs(problem: Problem, arguments: argparse.Namespace) -> Iterator[Any]:
    """Yield the graph of the file, or the random inputs."""
    import numpy as np

    from pyapsp.base.errors import ParameterError
    from pyapsp.bench.measurement import dense_graph
    from pyapsp.cli import generate
    from pyapsp.graph import datasets
    from pyapsp.registry import methods

    drawn = {name: getattr(arguments, name) for name in ("n", "density", "seed")}
    drawn = {name: value for name, value in drawn.items() if value is not None}
    sizes, seed = drawn.pop("n", [512, 1024]), drawn.get("seed", 0)
    inputs: Iterator[Any]
    given, known = reading_of(arguments), False
    if arguments.graph == _DENSE:
        inputs = (dense_graph(n, **drawn) for n in sizes)
    elif arguments.graph in problem.families:
        requires = methods(problem.id)[0].requires
        inputs = (problem.sample(n, arguments.graph, seed, requires) for n in sizes)
    elif arguments.graph in generate.KINDS and not Path(arguments.graph).exists():
        inputs = (generate.drawn(arguments.graph, n, seed, {}) for n in sizes)
    else:
        for name in ("n", "density", "seed"):
            if getattr(arguments, name) is not None:
                raise ParameterError(f"--{name} is for 'pyapsp bench {_DENSE}', or a family")
        known = arguments.graph in datasets.names() and not Path(arguments.graph).exists()
        if not known:
            inputs, given = iter([problem.read(arguments.graph, **given)]), {}
        else:
            inputs = iter([datasets.load(arguments.graph)])
    if given.get("weight") is not None:
        raise ParameterError("--weight is for a graph file")
    for graph in inputs:
        if arguments.undirected:
            graph = graph.symmetrized()
        if arguments.unweighted:
            graph = graph.with_weights(np.ones(graph.m, np.int64))
        yield graph


def _arguments(problem: Problem, data: Any, arguments: argparse.Namespace) -> dict[str, Argument]:
    """Return the options of the problem other than method, type and device."""
    import numpy as np

    from pyapsp.base.errors import ParameterError

    options: dict[str, Argument] = {}
    for name in ("predecessors", "sources"):
        if getattr(arguments, name) and name not in problem.asks:
            raise ParameterError(f"--{name} is not for {problem.id}")
    if arguments.predecessors:
        options["predecessors"] = True
    if arguments.sources is not None:
        n = problem.about(data)["n"]
        if not 0 < arguments.sources <= n:
            rule = f"between 1 and n = {n}"
            raise ParameterError.of("--sources", "bench", rule, arguments.sources)
        options["sources"] = np.arange(arguments.sources) * n // arguments.sources
    return options


def _table(outcome: Outcome, repeat: int) -> Table:
    from rich.box import SIMPLE
    from rich.markup import escape
    from rich.table import Table

    about, unit = outcome.about, outcome.problem.unit
    fastest = max((row["rate"] or 0 for row in [*outcome.runs, *outcome.peers]), default=0)
    prefix, scale = ("G", 1e9) if fastest >= 1e9 else ("M", 1e6)
    size = ", ".join(f"{name} = {about[name]:,}" for name in ("n", "m") if name in about)
    table = Table(
        box=SIMPLE,
        title=escape(f"{outcome.problem.id}, {about['name']}: {size}, medians of {repeat}"),
        title_justify="left",
    )
    table.add_column("method")
    table.add_column("dtype")
    table.add_column("device")
    headings = ["kernels s", "device s", "whole s", f"{prefix} {unit}/s"]
    headings += ["with transfers", "of the roof"]
    energy = any("joules" in row for row in outcome.runs)
    repeated = {row["energy_of"] for row in outcome.runs if "energy_of" in row}
    headings += ["joules", f"nJ/{unit.removesuffix('s')}", "watts"] * energy
    headings += [f"{what} repeated s" for what in repeated]
    for heading in [*headings, *(f"x {each['name']}" for each in outcome.peers)]:
        table.add_column(heading, justify="right")
    table.add_column("answer")
    for row in outcome.runs:
        fraction = row["fraction_of_roof"]
        table.add_row(
            f"auto: {row['method']}" if row["automatic"] else row["method"],
            row["dtype"],
            row["device"]["id"],
            *(f"{row[f'{phase}_seconds']:.4g}" for phase in ("kernel", "device", "wall")),
            _scaled(row["rate"], scale),
            _scaled(row["device_rate"], scale),
            "" if fraction is None else f"{100 * fraction:.1f} %",
            *([_energy(row, *each) for each in _ENERGY] if energy else []),
            *(f"{row['ratios'][each['name']]:.2f}" for each in outcome.peers),
            "right" if row["verified"] else "WRONG",
        )
    for each in outcome.peers:
        what = " (product)" if each["what"] == "product" else ""
        table.add_row(
            f"{each['name']} {each['version']}{what}",
            each["dtype"],
            "",
            "",
            "",
            f"{each['median_seconds']:.4g}",
            _scaled(each["rate"], scale),
            *[""] * (2 + len(_ENERGY) * energy + len(outcome.peers)),
            "right" if each["verified"] else "WRONG",
        )
    return table


def _verdict(row: Comparison) -> str:
    """Return how good the automatic choice was, as text."""
    predicted = row["predicted_seconds"]
    prediction = "" if predicted is None else f", predicted {predicted:.3g} s"
    best = f"the fastest named, {row['best']} {row['best_seconds']:.3g} s"
    return (
        f"auto {row['dtype']} on {row['device']}: {row['method']} {row['seconds']:.3g} s"
        f"{prediction}; {row['ratio']:.2f} x {best}"
    )


def _energy(row: dict[str, Any], name: str, scale: float) -> str:
    return "" if row[name] is None else f"{row[name] * scale:.4g}"


def _scaled(speed: float | None, scale: float) -> str:
    return "" if speed is None else f"{speed / scale:.2f}"


def _document(outcomes: list[Outcome], origin: Record) -> dict[str, object]:
    """Return the JSON document with all measurements."""
    commit = origin["commit"]
    return {
        "schema": 3,
        "status": "ok" if all(outcome.ok for outcome in outcomes) else "wrong",
        **origin,
        "runs": [{**row, "commit": commit} for outcome in outcomes for row in outcome.runs],
        "automatic": [{**_of(outcome), **row} for outcome in outcomes for row in outcome.automatic],
        "peers": [{**row, **_of(outcome)} for outcome in outcomes for row in outcome.peers],
        "left_out": [
            {**_of(outcome), "what": name, "why": reason}
            for outcome in outcomes
            for name, reason in outcome.left_out.items()
        ],
    }


def _of(outcome: Outcome) -> Record:
    """Return the label of a row of an outcome."""
    about = outcome.about
    return {"problem": outcome.problem.id, "input": about["name"], "n": about["n"]}
