"""Find the strongly connected components of a graph file.

The command prints the number of components, the size of the largest, and the number of components
with one vertex. OUT.csv has the columns vertex and component, with the vertex names of the graph
file.

For example:
  pyapsp scc wiki-Vote.txt.gz
  pyapsp scc graph.mtx -o components.csv
  pyapsp scc graph.mtx -o components.npz --method scc-forward-backward --set trim=1 --json
"""

from __future__ import annotations

import argparse
import csv
from typing import TYPE_CHECKING

from pyapsp.cli.options import (
    add_device,
    add_json,
    add_memory_limit,
    add_method,
    add_progress,
    check_outputs,
    check_suffix,
    commit,
    method_of,
    print_json,
    status,
    write_json,
)

if TYPE_CHECKING:
    from pyapsp.traversal.components import Components

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("graph", metavar="GRAPH", help="a graph file of any known format")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT.npz",
        help="the components; OUT.csv has one line for each vertex",
    )
    add_method(parser)
    add_device(parser)
    add_memory_limit(parser)
    parser.add_argument(
        "--record", metavar="FILE.json", help="also write the record of the run as JSON"
    )
    add_progress(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Find the components, save them, and say how many there are."""
    import pyapsp

    method = method_of(arguments, "scc")
    check_outputs(arguments.output, arguments.record, inputs=[arguments.graph])
    check_suffix(arguments, ".npz", ".csv")
    graph = pyapsp.read(arguments.graph)
    with status(arguments) as tell:
        found = pyapsp.strongly_connected_components(
            graph,
            method,
            device=arguments.device,
            memory_limit=arguments.memory_limit,
            progress=lambda done, total: tell(f"component known of {done:,} of {total:,} vertices"),
        )
    if arguments.output is not None:
        if arguments.output.endswith(".csv"):
            _write(arguments.output, found)
        else:
            found.save(arguments.output)
    record = {**found.stats, "commit": commit()}
    if arguments.record:
        write_json(arguments.record, record)
    trivial = int((found.sizes == 1).sum())
    if arguments.json:
        facts = {"components": found.count, "largest": found.largest, "trivial": trivial}
        print_json({**facts, **record})
        return 0
    print(found.explain())
    rate = record["rate"]
    print(
        f"{found.count:,} strongly connected components of n = {graph.n:,}, m = {graph.m:,}: "
        f"the largest has {found.largest:,} vertices, {trivial:,} have one"
    )
    print(
        f"{record['wall_seconds']:.3f} s (kernels {record['kernel_seconds']:.3f} s"
        + (f", {rate / 1e6:.1f} M arcs/s)" if rate else ")")
        + (f" -> {arguments.output}" if arguments.output else "")
    )
    return 0


def _write(path: str, found: Components) -> None:
    """Write the component of each vertex as CSV."""
    from pyapsp.files import atomic_write

    names = range(found.labels.size) if found.names is None else found.names.tolist()
    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("vertex", "component"))
        writer.writerows(zip(names, found.labels.tolist(), strict=True))
