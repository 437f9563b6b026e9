"""Check a result against its graph, and against SciPy.

OUT.npy of 'pyapsp solve' does not say which sources its rows have, so it must have a row for each
vertex; predecessors are read from OUT.npy.predecessors.npy. Exit code 1 when a check fails.

For example:
  pyapsp verify rome99.gr rome99.npz
  pyapsp verify rome99.gr rome99.npy --no-oracle
  pyapsp verify rome99.gr rome99.npz --record run.json -o verified.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyapsp.cli.options import (
    add_device,
    add_flag,
    add_format,
    add_json,
    add_output,
    add_weight,
    check_named,
    read_graph,
)
from pyapsp.cli.output import check_outputs, print_json, write_json

if TYPE_CHECKING:
    from pyapsp.paths.result import Result

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("graph", metavar="GRAPH", help="the graph file that was solved")
    add_weight(parser)
    add_format(parser)
    parser.add_argument("result", metavar="RESULT", help="OUT.npz or OUT.npy of 'pyapsp solve'")
    add_flag(parser, "--undirected", "give this if 'pyapsp solve' had --undirected")
    add_flag(parser, "--no-oracle", "check the certificate only, without SciPy")
    parser.add_argument(
        "--record", metavar="FILE.json", help="the record that 'pyapsp solve --record' wrote"
    )
    add_output(parser, "OUT.json", "write the record with the outcome of the checks added")
    add_device(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the checks, print them, and record them."""
    from pyapsp.base.errors import FormatError
    from pyapsp.paths import certificate as verify

    inputs = [arguments.graph, arguments.result]
    check_named(arguments, *inputs, *([arguments.record] if arguments.record else []))
    check_outputs(arguments.output, inputs=inputs)
    graph = read_graph(arguments.graph, arguments)
    if arguments.undirected:
        graph = graph.symmetrized()
    result = _result(arguments.result)
    record: dict[str, Any] = result.stats
    if arguments.record:
        try:
            record = json.loads(Path(arguments.record).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise FormatError(arguments.record, None, f"not JSON: {error}") from None
        if not isinstance(record, dict):
            raise FormatError(arguments.record, None, "not the record of a run")
    certificate = verify.certificate(graph, result, device=arguments.device)
    lines = [f"certificate: {'holds' if certificate.ok else certificate.fault}"]
    verified, max_error = certificate.ok, None
    if not arguments.no_oracle:
        comparison = verify.against_scipy(graph, result)
        verified, max_error = verified and comparison.ok, comparison.max_error
        word = "agrees" if comparison.ok else "DIFFERS"
        lines.append(f"SciPy: {word}, largest difference {comparison.max_error:g}")
    outcome = {
        "verified": verified,
        "certificate": "holds" if certificate.ok else certificate.fault,
        "max_error": max_error,
    }
    if arguments.json:
        print_json(outcome)
    else:
        print(*lines, sep="\n")
    if arguments.output:
        write_json(arguments.output, {**record, **outcome})
    return 0 if verified else 1


def _result(path: str) -> Result:
    """Read a saved result, or map a matrix of distances."""
    import numpy as np

    from pyapsp.base.errors import FormatError
    from pyapsp.cluster.shards import open_rows
    from pyapsp.paths.result import Result, checked_arrays

    if not path.endswith(".npy"):
        return Result.load(path)
    rows = open_rows(path)
    count, n = rows.shape
    if count != n:
        fault = f"{count} rows of {n} distances, without their sources: an .npz file has them"
        raise FormatError(path, None, fault)
    arrays = {"distances": rows[:], "sources": np.arange(n)}
    if rows.predecessors is not None:
        arrays["predecessors"] = rows.predecessors[:]
    try:
        return Result(**checked_arrays(arrays))
    except ValueError as error:
        raise FormatError(path, None, str(error)) from None
