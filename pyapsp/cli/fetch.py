"""Get a graph by name, verify its checksum, and print the path of the file.

A graph is looked for in this order: the samples that come with pyapsp, the cache (PYAPSP_CACHE),
the mirror PYAPSP_DATA_MIRROR (a folder or URL), and its official address. Some graphs are
generated.

For example:
  pyapsp fetch --list
  pyapsp fetch rome99 -o rome99.gr
"""

from __future__ import annotations

import argparse

from pyapsp.cli.options import add_flag, add_json, add_output
from pyapsp.cli.output import check_outputs, print_json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("name", metavar="DATASET", nargs="?", help="a name from --list")
    add_flag(what, "--list", "list all graphs")
    parser.add_argument(
        "--register",
        metavar="FILE.csv",
        help="also know the graphs of a file with the columns of data/datasets.csv, before the "
        "others",
    )
    add_output(parser, "FILE", "copy the graph to FILE")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Fetch one graph, or list all."""
    from dataclasses import asdict

    from pyapsp.graph import datasets

    check_outputs(arguments.output)
    if not arguments.list:
        path = datasets.fetch(arguments.name, arguments.output, arguments.register)
        if arguments.json:
            row = datasets.get(arguments.name, arguments.register)
            print_json({**asdict(row), "file": str(path)})
        else:
            print(path)
        return 0
    names = datasets.names(arguments.register)
    rows = [datasets.get(name, arguments.register) for name in names]
    if arguments.json:
        print_json([asdict(row) for row in rows])
        return 0
    print(f"{'name':<20} {'n':>7} {'m':>8}  {'kind':<10}  source")
    for row in rows:
        kind = "directed" if row.directed else "undirected"
        source = row.generator or row.url or "comes with pyapsp"
        print(f"{row.name:<20} {row.n:>7,} {row.m:>8,}  {kind:<10}  {source}")
    return 0
