"""Make tables, figures and an HTML page from the files of 'pyapsp solve' and 'pyapsp bench'.

For example:
  pyapsp report records/*.json -o report
  pyapsp report bench.json -o report
"""

from __future__ import annotations

import argparse

from pyapsp.cli.options import add_output, add_parts

__all__ = ["configure", "run"]

# the parts of pyapsp.bench.report.PARTS, named here so that --help does not load pandas
_PARTS = ("tables", "page")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "records",
        nargs="+",
        metavar="RECORD",
        help="a record of 'pyapsp solve --record' or 'pyapsp verify -o', or a file of "
        "'pyapsp bench -o'",
    )
    add_output(parser, "DIR", "directory the files are written to", required=True)
    add_parts(
        parser,
        _PARTS,
        "write only these parts: tables (runs.csv, runs.md), page (index.html and figures/); "
        "default: both",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the report and print the names of its files."""
    from pyapsp.base.extras import extra

    with extra("report", "pyapsp report"):
        from pyapsp.bench.report import write_report
    for path in write_report(arguments.records, arguments.output, arguments.only):
        print(path)
    return 0
