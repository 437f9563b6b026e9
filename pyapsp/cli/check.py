"""Run one method of a problem on an input, and check the answer.

The answer is compared with SciPy, or checked by a certificate, which needs no second solver. Exit
code 1 when it is wrong.

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
from pyapsp.cli.output import check_outputs, commit, print_json, write_json

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
    request = problem.ask(data, method, dtype=dtype, device=arguments.device, **options)
    solved = runs.solve(request)
    check = problem.oracle(request.input, request.options)(solved.answer)
    outcome = {
        "verified": check.ok,
        "fault": check.fault,
        "oracle": check.oracle,
        "max_error": check.max_error,
    }
    record = {**solved.record, **outcome, "commit": commit()}
    if arguments.json:
        print_json(record)
    else:
        print(*solved.reasons, sep="\n")
        print(f"checked with {check.oracle}: {'right' if check.ok else check.fault}")
    if arguments.output and check.ok:
        write_json(arguments.output, record)
    return 0 if check.ok else 1
