"""Run one method of a problem on an input, or a small run of another area, and check the answer.

The answer is compared with SciPy, or checked by a certificate, which needs no second solver. Exit
code 1 when it is wrong. The record has a status: ok, wrong, or refused, if the method, the number
type or the device cannot answer.

An area has an input and an oracle of its own: bulk, sweep, simulation, dynamic, matching, mining.

For example:
  pyapsp check bfs wiki-Vote.txt --method bfs-edge
  pyapsp check all-pairs rome99.gr --method near-far --dtype int32 --predecessors -o record.json
  pyapsp check mining
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from pyapsp.cli.areas import AREAS, Area, started
from pyapsp.cli.options import (
    add_device,
    add_flag,
    add_format,
    add_json,
    add_method,
    add_output,
    add_weight,
    check_named,
    method_of,
    reading_of,
)
from pyapsp.cli.output import check_outputs, dated, print_json, refusals, write_json

if TYPE_CHECKING:
    from pyapsp.base.json import Record

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", metavar="PROBLEM", help="see 'pyapsp methods'; or an area")
    parser.add_argument(
        "input",
        metavar="GRAPH",
        nargs="?",
        help="a graph file of any known format; not for an area",
    )
    add_format(parser)
    add_weight(parser)
    add_method(parser)
    parser.add_argument("--dtype", metavar="TYPE", help="number type of the answer")
    add_flag(
        parser,
        "--predecessors",
        "also compute and check predecessors, for problems that have paths",
    )
    add_device(parser)
    add_output(parser, "OUT.json", "write the record of the run as JSON")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run, check, record."""
    from pyapsp.base.errors import ParameterError
    from pyapsp.device import choose
    from pyapsp.registry import problem as find_problem
    from pyapsp.registry import runs
    from pyapsp.registry.record import about_call

    if arguments.problem in AREAS and arguments.input is None:
        return _run_area(AREAS[arguments.problem], arguments)
    problem = find_problem(arguments.problem)
    if arguments.input is None:
        raise ParameterError(f"the problem {problem.id} needs a GRAPH")
    method = method_of(arguments, problem.id)
    options = {}
    if arguments.predecessors:
        if "predecessors" not in problem.asks:
            raise ParameterError(f"the problem {problem.id} has no --predecessors")
        options["predecessors"] = True
    check_named(arguments, arguments.input)
    check_outputs(arguments.output, inputs=[arguments.input])
    data = problem.read(arguments.input, **reading_of(arguments))
    dtype = arguments.dtype or problem.dtypes[0]
    device = choose(arguments.device)
    chosen = {} if isinstance(method, str) else {**method.parameters}
    asked: Record = {"method": arguments.method, "set": chosen, "dtype": dtype}
    with refusals(arguments.output, {**about_call(problem, data, device), **asked}):
        request = problem.ask(data, method, dtype=dtype, device=device, **options)
        solved = runs.solve(request)
    check = problem.oracle(request.input, request.options)(solved.answer)
    outcome = {
        "status": "ok" if check.ok else "wrong",
        "why": check.fault,
        "verified": check.ok,
        "oracle": check.oracle,
        "max_error": check.max_error,
        "set": asked["set"],
    }
    record = {**solved.record, **outcome, **dated()}
    if arguments.json:
        print_json(record)
    else:
        print(*solved.reasons(), sep="\n")
        print(f"checked with {check.oracle}: {'right' if check.ok else check.fault}")
    if arguments.output:
        write_json(arguments.output, record)
    return 0 if check.ok else 1


def _run_area(area: Area, arguments: argparse.Namespace) -> int:
    """Run an area, check its answer, and write a record of the run."""
    from pyapsp.device import choose
    from pyapsp.registry.record import about_device, origin

    check_outputs(arguments.output)
    device = choose(arguments.device)
    about: Record = {
        "problem": area.id,
        "unit": area.unit,
        "input": {"name": area.input, "n": area.n},
        "method": area.id,
        "dtype": area.dtype,
        "device": about_device(device),
    }
    with refusals(arguments.output, about):
        begun = time.perf_counter()
        compare = started(area, device)
        seconds = time.perf_counter() - begun
    fault = compare()
    outcome = {
        "kernel_seconds": None,
        "transfer_seconds": None,
        "wall_seconds": seconds,
        "rate": None,
        "status": "ok" if fault is None else "wrong",
        "why": fault,
        "verified": fault is None,
        "oracle": area.oracle,
    }
    record = {**origin(), **about, **outcome, **dated()}
    if arguments.json:
        print_json(record)
    else:
        print(f"{area.id}: {area.input}, {seconds:.3g} s on {device}")
        print(f"checked with {area.oracle}: {fault or 'right'}")
    if arguments.output:
        write_json(arguments.output, record)
    return 0 if fault is None else 1
