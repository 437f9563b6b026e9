"""Run one method of a problem on an input, and check the answer.

The answer is compared with SciPy, or checked by a certificate, which needs no second solver. Exit
code 1 when it is wrong. The record has a status: ok, wrong, or refused, if the method, the number
type or the device cannot answer.

For example:
  pyapsp check bfs wiki-Vote.txt --method bfs-edge
  pyapsp check all-pairs rome99.gr --method near-far --dtype int32 --predecessors -o record.json
"""

from __future__ import annotations

import argparse

from pyapsp.cli.options import (
    add_device,
    add_format,
    add_json,
    add_method,
    add_output,
    add_weight,
    check_named,
    method_of,
    reading_of,
)
from pyapsp.cli.output import check_outputs, commit, print_json, refusals, write_json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", metavar="PROBLEM", help="see 'pyapsp methods'")
    parser.add_argument("input", metavar="GRAPH", help="a graph file of any known format")
    add_format(parser)
    add_weight(parser)
    add_method(parser)
    parser.add_argument("--dtype", metavar="TYPE", help="number type of the answer")
    parser.add_argument(
        "--predecessors",
        action="store_true",
        help="also compute and check predecessors, for problems that have paths",
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

    problem = find_problem(arguments.problem)
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
    asked = {"method": arguments.method, "set": dict(arguments.set or ()), "dtype": dtype}
    with refusals(arguments.output, problem, data, device, **asked):
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
    record = {**solved.record, **outcome, "commit": commit()}
    if arguments.json:
        print_json(record)
    else:
        print(*solved.reasons, sep="\n")
        print(f"checked with {check.oracle}: {'right' if check.ok else check.fault}")
    if arguments.output:
        write_json(arguments.output, record)
    return 0 if check.ok else 1
