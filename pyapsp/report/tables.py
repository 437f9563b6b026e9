"""Tables that people read, made from tables of values: headings, digits and marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from pyapsp.report.records import OVER

__all__ = [
    "DEVICES",
    "LEFT_OUT",
    "PEERS",
    "RUNS",
    "SOFTWARE",
    "Cell",
    "Column",
    "Table",
    "by_problem",
    "csv_table",
    "fastest",
    "markdown_tables",
    "runs_columns",
    "table",
]


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _whole(value: Any) -> str:
    return "" if pd.isna(value) else f"{int(value)}"


def _measured(digits: int) -> Callable[[Any], str]:
    """Make the function that shows a number with so many digits, a missing one as nothing."""
    return lambda value: "" if pd.isna(value) else f"{value:.{digits}g}"


def _memory(value: Any) -> str:
    return "" if pd.isna(value) else f"{value / 2**30:.1f} GiB"


def _verdict(value: Any) -> str:
    """Show a verified flag, which is missing until the run was verified."""
    return "not checked" if pd.isna(value) else "yes" if value else "no"


class Column(NamedTuple):
    """One column of a table.

    Attributes
    ----------
    heading : str
        What people read; files for programs use the column's name.
    show : callable
        Makes the text of a cell from its value.
    number : bool
        Whether the values have the order of numbers, and go to the right.
    """

    heading: str
    show: Callable[[Any], str] = _text
    number: bool = False


RUNS = {
    "input": Column("input"),
    "n": Column("n", _whole, True),
    "m": Column("m", _whole, True),
    "method": Column("method"),
    "dtype": Column("dtype"),
    "device": Column("device"),
    "platform": Column("platform"),
    "kernel_seconds": Column("kernel s", _measured(4), True),
    "transfer_seconds": Column("transfer s", _measured(4), True),
    "wall_seconds": Column("wall s", _measured(4), True),
    "turns": Column("turns", _whole, True),
    "rate": Column("units/s", _measured(3), True),
    "fraction_of_roof": Column("fraction of the roof", _measured(3), True),
    "max_error": Column("max error", _measured(2), True),
    "verified": Column("verified", _verdict, True),
}
PEERS = {
    "problem": Column("problem"),
    "input": Column("input"),
    "n": Column("n", _whole, True),
    "name": Column("package"),
    "version": Column("version"),
    "calls": Column("calls"),
    "dtype": Column("dtype"),
    "median_seconds": Column("wall s", _measured(4), True),
    "rate": Column("units/s", _measured(3), True),
    "verified": Column("verified", _verdict, True),
}
DEVICES = {
    "name": Column("device"),
    "platform": Column("platform"),
    "kind": Column("kind"),
    "driver": Column("driver"),
    "version": Column("OpenCL"),
    "processor": Column("compiled for"),
    "units": Column("compute units", _whole, True),
    "memory": Column("memory", _memory, True),
}
LEFT_OUT = {
    "problem": Column("problem"),
    "input": Column("input"),
    "n": Column("n", _whole, True),
    "what": Column("what"),
    "why": Column("why"),
}
SOFTWARE = {"name": Column("name"), "version": Column("version")}


class Cell(NamedTuple):
    """What a cell shows, and the number it is ordered by: "" when that is missing."""

    text: str
    value: str | None


class Table(NamedTuple):
    """A table to be shown."""

    columns: Mapping[str, Column]
    rows: list[dict[str, Cell]]


def by_problem(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the runs of each problem."""
    return {str(name): some for name, some in runs.groupby("problem", sort=False)}


def runs_columns(runs: pd.DataFrame) -> dict[str, Column]:
    """Return the columns of a table of runs of one problem, in its order, speed-ups among them.

    Speed-ups over packages that took no part, and roofs where there is none, are left out.
    """
    columns = {}
    for name in runs.columns:
        if name == "rate":
            columns[name] = RUNS[name]._replace(heading=f"{runs['unit'].iloc[0]}/s")
        elif name in RUNS:
            columns[name] = RUNS[name]
        elif name.startswith(OVER):
            columns[name] = Column(f"x {name.removeprefix(OVER)}", _measured(3), True)
    empty = [name for name in columns if name.startswith((OVER, "fraction"))]
    for name in empty:
        if runs[name].isna().all():
            del columns[name]
    return columns


def table(values: pd.DataFrame, columns: Mapping[str, Column]) -> Table:
    """Make the table people read; a cell knows the number that its text was made from."""

    def cell(value: Any, column: Column) -> Cell:
        number = None
        if column.number:
            number = "" if pd.isna(value) else repr(float(value))
        return Cell(column.show(value), number)

    rows = values[list(columns)].itertuples(index=False)
    return Table(
        columns,
        [
            {name: cell(value, columns[name]) for name, value in zip(columns, row, strict=True)}
            for row in rows
        ],
    )


def fastest(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the verified run of each input whose whole call took the least time, in short."""
    right = runs[runs["verified"].eq(True)]
    best = right.loc[right.groupby(["input", "n"], sort=False)["wall_seconds"].idxmin()]
    details = ["platform", "kernel_seconds", "transfer_seconds", "turns", "max_error", "verified"]
    return best.sort_values(["n", "input"]).drop(columns=details)


def csv_table(runs: pd.DataFrame) -> str:
    """Write the runs of a problem as CSV: values in full, one line per run."""
    text: str = runs.to_csv(index=False, lineterminator="\n")
    return text


def markdown_tables(runs: pd.DataFrame) -> str:
    """Write a Markdown table for each problem."""
    return "\n".join(f"## {name}\n\n{_markdown(some)}" for name, some in by_problem(runs).items())


def _markdown(runs: pd.DataFrame) -> str:
    columns, rows = table(runs, runs_columns(runs))
    # a bar in a name must not end its cell
    cells = [[cell.text.replace("|", "\\|") for cell in row.values()] for row in rows]
    shown = pd.DataFrame(cells, columns=[column.heading for column in columns.values()])
    sides = ["right" if column.number else "left" for column in columns.values()]
    text: str = shown.to_markdown(index=False, disable_numparse=True, colalign=sides)
    return text + "\n"
