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

from pyapsp.cli.options import add_one_method, add_progress, add_record, method_of, status
from pyapsp.cli.output import TABLES, checked_graph, print_json, recorded, took, write_table

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_one_method(parser, "OUT.npz", "the components; OUT.csv or OUT.parquet has a row a vertex")
    add_record(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Find the components, save them, and say how many there are."""
    import pyapsp

    method = method_of(arguments, "scc")
    graph = checked_graph(arguments, ".npz", *TABLES)
    with status(arguments) as show:
        components = pyapsp.strongly_connected_components(
            graph,
            method,
            device=arguments.device,
            memory_limit=arguments.memory_limit,
            progress=lambda done, total: show(f"component known of {done:,} of {total:,} vertices"),
        )
    if arguments.output is not None:
        if arguments.output.endswith(TABLES):
            write_table(components.to_columns(), arguments.output)
        else:
            components.save(arguments.output)
    record = recorded(arguments, components.stats)
    trivial = int((components.sizes == 1).sum())
    if arguments.json:
        facts = {"components": components.count, "largest": components.largest, "trivial": trivial}
        print_json({**facts, **record})
        return 0
    print(components.explain())
    rate = record["rate"]
    print(
        f"{components.count:,} strongly connected components of n = {graph.n:,}, m = {graph.m:,}: "
        f"the largest has {components.largest:,} vertices, {trivial:,} have one"
    )
    rates = [f"{rate / 1e6:.1f} M arcs/s"] if rate else []
    print(took(record, arguments.output, *rates))
    return 0
