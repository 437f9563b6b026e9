"""Find what always holds in a trace: its likely invariants.

A trace has the values of variables over time: a value change dump (.vcd), or a table with an
instant in each row (.csv, .parquet, .npy, .npz). Template set I has relations of two numbers, and
constant Booleans; set II also has equal Booleans, and formulas of two and three variables. Own
templates are formulas over one to three variables, such as 'a -> b' or 'a < b + 2 * c'. With own
templates, no set is used unless --templates names it.

For example:
  pyapsp mine design.vcd
  pyapsp mine design.vcd --clock top.clk --unknown zero -o invariants.csv
  pyapsp mine log.csv --numeric 'a <= b' 'a = max(b, c)' --boolean '!(a & b)'
"""

from __future__ import annotations

import argparse

from pyapsp.cli.options import (
    add_choice,
    add_device,
    add_flag,
    add_json,
    add_memory_limit,
    add_output,
)
from pyapsp.cli.output import check_outputs, check_suffix, print_json

__all__ = ["configure", "run"]

# Formulas that are printed without an output file.
_SHOWN = 50


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("trace", metavar="TRACE.vcd", help="the trace")
    parser.add_argument(
        "--format",
        choices=("vcd", "csv", "parquet", "npy", "npz"),
        help="the format of the trace, if its suffix is not one of these",
    )
    add_output(parser, "OUT.csv", "write all invariants: .csv, or .txt (formulas)")
    parser.add_argument(
        "--templates", choices=("I", "II"), help="the template set (II without own templates)"
    )
    for kind, what in (("boolean", "Booleans"), ("numeric", "numbers")):
        parser.add_argument(
            f"--{kind}", nargs="+", default=[], metavar="FORMULA", help=f"templates for {what}"
        )
    parser.add_argument("--variables", nargs="+", metavar="NAME", help="only these variables")
    parser.add_argument(
        "--exclude",
        nargs="+",
        metavar="NAME",
        help="not these variables: names, or patterns such as 'top.cpu.*'",
    )
    parser.add_argument(
        "--clock", metavar="NAME", help=".vcd: sample at the edges of this variable"
    )
    parser.add_argument(
        "--edge", choices=("rising", "falling", "both"), help="which edges (rising)"
    )
    parser.add_argument(
        "--unknown",
        choices=("drop", "zero", "error", "formula"),
        help=".vcd, for instants at which a variable is unknown: drop (default) leaves them out, "
        "zero takes 0, error stops, formula leaves them out for the formulas about the variable",
    )
    add_choice(
        parser,
        "--numbers",
        ("auto", "float32", "float64"),
        "type of numbers; auto (default): float32 if it holds all of them exactly",
    )
    add_flag(parser, "--no-inference", "also check statements that follow from earlier answers")
    add_device(parser)
    add_memory_limit(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Mine, and print or write the invariants."""
    from pyapsp.mining import TemplateSet, mine
    from pyapsp.mining.templates import SETS

    check_suffix(arguments, ".csv", ".txt")
    check_outputs(arguments.output, inputs=[arguments.trace])
    chosen: str | TemplateSet = arguments.templates or "II"
    if arguments.boolean or arguments.numeric:
        named = SETS[arguments.templates] if arguments.templates else None
        chosen = TemplateSet(
            boolean=[*(named.boolean if named else ()), *arguments.boolean],
            numeric=[*(named.numeric if named else ()), *arguments.numeric],
        )
    reading = {
        key: getattr(arguments, key)
        for key in ("format", "variables", "exclude", "clock", "edge", "unknown")
    }
    invariants = mine(
        arguments.trace,
        chosen,
        device=arguments.device,
        inference=not arguments.no_inference,
        memory_limit=arguments.memory_limit,
        dtype=arguments.numbers,
        **{key: value for key, value in reading.items() if value is not None},
    )
    if arguments.output is not None:
        invariants.save(arguments.output)
    if arguments.json:
        listed = {kind: list(names) for kind, names in invariants.names.items()}
        formulas = [] if arguments.output is not None else list(invariants)
        facts = {"instants": invariants.n, "variables": listed, "invariants": len(invariants)}
        print_json({"trace": arguments.trace, **facts, **invariants.facts, "formulas": formulas})
        return 0
    numeric, boolean = (len(invariants.names[kind]) for kind in ("numeric", "boolean"))
    print(
        f"{arguments.trace}: {invariants.n:,} instants, {numeric} numeric and {boolean} Boolean "
        f"variables, {len(invariants):,} invariant{'s' * (len(invariants) != 1)}"
    )
    if arguments.output is None:
        for number, formula in enumerate(invariants):
            if number == _SHOWN:
                print(f"  and {len(invariants) - _SHOWN:,} more: -o writes them")
                break
            print(f"  {formula}")
    return 0
