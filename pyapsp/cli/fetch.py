"""Get a registered graph, verified, and print where it is.

The sources are, in this order: the bundled samples, the cache (PYAPSP_CACHE), the mirror
PYAPSP_DATA_MIRROR (a folder or URL), and the official address.
"""

from __future__ import annotations

import argparse

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("name", metavar="NAME", nargs="?", help="a name of the register")
    what.add_argument("--list", action="store_true", help="list the register and stop")
    parser.add_argument("-o", "--output", metavar="FILE", help="put a copy there")


def run(arguments: argparse.Namespace) -> int:
    """Fetch one graph, or list all."""
    from pyapsp.graph import datasets

    if not arguments.list:
        print(datasets.fetch(arguments.name, to=arguments.output))
        return 0
    print(f"{'name':<20} {'n':>7} {'m':>8}  {'kind':<10}  source")
    for name in datasets.names():
        row = datasets.get(name)
        kind = "directed" if row.directed else "undirected"
        source = row.url or "comes with pyapsp"
        print(f"{row.name:<20} {row.n:>7,} {row.m:>8,}  {kind:<10}  {source}")
    return 0
