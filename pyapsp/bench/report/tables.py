"""Formatted tables, made from data frames: headings, digits and marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pandas as pd

from pyapsp.bench.report.records import OVER

__all__ = [
    "DEVICES",
    "FASTEST",
    "LEFT_OUT",
    "PEERS",
    "RUNS",
    "SOFTWARE",
    "STATES",
    "Cell",
    "Column",
    "Table",
    "by_problem",
    "count_states",
    "csv_table",
    "fastest",
    "markdown_tables",
    "method_name",
    "runs_columns",
    "seconds",
    "summary",
    "table",
]


def _text(value: str | float) -> str:
    return "" if pd.isna(value) else str(value)


def _whole(value: float) -> str:
    return "" if pd.isna(value) else f"{int(value)}"


def _measured(digits: int) -> Callable[[float], str]:
    """Return a function that formats a number with some digits, and a missing one as ""."""
    return lambda value: "" if pd.isna(value) else f"{value:.{digits}g}"


def _memory(value: float) -> str:
    return "" if pd.isna(value) else f"{value / 2**30:.1f} GiB"


def _verdict(value: bool | None) -> str:
    """Format a verified flag, which is missing if the run was not verified."""
    return "not checked" if pd.isna(value) else "yes" if value else "no"


class Column(NamedTuple):
    """One column of a table.

    Attributes
    ----------
    heading : str
        The heading in formatted tables; CSV files have the column's name.
    show : callable
        Makes the text of a cell from its value.
    number : bool
        Whether the values are sorted as numbers and aligned to the right.
    """

    heading: str
    show: Callable[..., str] = _text
    number: bool = False


_INPUT = {"input": Column("input"), "n": Column("n", _whole, True)}
_GRAPH = {**_INPUT, "m": Column("m", _whole, True)}
_WHERE = {
    "dtype": Column("dtype"),
    "held_dtype": Column("computed in"),
    "device": Column("device"),
    "platform": Column("platform"),
}
RUNS = {
    **_GRAPH,
    "method": Column("method"),
    "options": Column("options"),
    **_WHERE,
    "kernel_seconds": Column("kernel s", _measured(4), True),
    "transfer_seconds": Column("transfer s", _measured(4), True),
    "wall_seconds": Column("wall s", _measured(4), True),
    "turns": Column("turns", _whole, True),
    "rate": Column("units/s", _measured(3), True),
    "fraction_of_roof": Column("fraction of the roof", _measured(3), True),
    "max_error": Column("max error", _measured(2), True),
    "status": Column("status"),
    "verified_by": Column("verified by"),
    "why": Column("why"),
}
PEERS = {
    "problem": Column("problem"),
    **_INPUT,
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
    **_INPUT,
    "what": Column("what"),
    "why": Column("why"),
}
SOFTWARE = {"name": Column("name"), "version": Column("version")}
FASTEST = {
    "problem": Column("problem"),
    **_GRAPH,
    "method": Column("fastest method"),
    **_WHERE,
    "wall_seconds": Column("wall s", _measured(4), True),
    "peer": Column("fastest other"),
    "peer_seconds": Column("its wall s", _measured(4), True),
    "ratio": Column("times as fast", _measured(3), True),
    "outcomes": Column("runs"),
}
# the columns with values of the run itself
_OF_THE_FASTEST = ("method", *_WHERE, "wall_seconds")
#: The states of runs, in the order in which they are counted.
STATES = ("ok", "wrong", "unchecked", "refused", "failed")
# headings of the summary
_SIDES = "<<><>>><"
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


class Cell(NamedTuple):
    """The text of a cell, and the number by which it is sorted: "" if that is missing."""

    text: str
    value: str | None


class Table(NamedTuple):
    """A formatted table."""

    columns: Mapping[str, Column]
    rows: list[dict[str, Cell]]


def by_problem(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the runs of each problem."""
    return {str(name): some for name, some in runs.groupby("problem", sort=False)}


def runs_columns(runs: pd.DataFrame) -> dict[str, Column]:
    """Return the columns of a table of runs of one problem, in its order, speed-ups among them.

    Left out are speed-ups over packages that did not run, the roof if it was not measured, the type
    in which runs computed if it is the type of all answers, and texts that no run has.
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
    if runs["held_dtype"].eq(runs["dtype"]).all():
        del columns["held_dtype"]
    for name in ("options", "verified_by", "why"):
        if runs[name].eq("").all():
            del columns[name]
    return columns


def table(values: pd.DataFrame, columns: Mapping[str, Column]) -> Table:
    """Make a formatted table; each cell also has the number of its text."""

    def cell(value: str | float, column: Column) -> Cell:
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


def fastest(runs: pd.DataFrame, peers: pd.DataFrame) -> pd.DataFrame:
    """Return the fastest method and the fastest other package on each input.

    Parameters
    ----------
    runs, peers : pandas.DataFrame
        Those of `pyapsp.bench.report.records.Collected`.

    Returns
    -------
    pandas.DataFrame
        A row for each problem and input: problem, input, n, m; method, dtype, held_dtype, device,
        platform and wall_seconds of the verified run with the fastest whole call (missing if none
        was verified); peer, the package with the least time in the same turns and a right answer;
        peer_seconds; ratio, the time of the peer divided by that of the run; outcomes, the number
        of runs in each state: "5 right, 1 refused".
    """
    untold = {
        (row.problem, row.input, row.n, row.name)
        for row in peers.itertuples(index=False)
        if row.verified is not True or row.what == "product"
    }
    rows = []
    groups = runs.groupby(["problem", "input", "n"], sort=False, dropna=False)
    for (problem, name, n), some in groups:
        right = some[some["verified"].eq(True)]
        row = {"problem": problem, "input": name, "n": n, "m": some["m"].iloc[0]}
        states = count_states(some).items()
        row["outcomes"] = ", ".join(
            f"{count} {'right' if state == 'ok' else state}" for state, count in states
        )
        if len(right):
            best = right.loc[right["wall_seconds"].idxmin()]
            row |= {column: best[column] for column in _OF_THE_FASTEST}
            ratios = {
                column.removeprefix(OVER): best[column]
                for column in runs.columns
                if column.startswith(OVER) and pd.notna(best[column])
            }
            for peer in [each for each in ratios if (problem, name, n, each) in untold]:
                del ratios[peer]
            if ratios:
                peer = min(ratios, key=ratios.__getitem__)
                row |= {"peer": peer, "ratio": ratios[peer]}
                row["peer_seconds"] = ratios[peer] * best["wall_seconds"]
        rows.append(row)
    return pd.DataFrame(rows, columns=list(FASTEST)).astype({"n": "Int64", "m": "Int64"})


def count_states(runs: pd.DataFrame) -> dict[str, int]:
    """Return the number of runs in each state, without states that no run has."""
    counts = {state: int(runs["status"].eq(state).sum()) for state in STATES}
    return {state: count for state, count in counts.items() if count}


def summary(best: pd.DataFrame, states: Mapping[str, int]) -> str:
    """Write the result of `fastest` as a plain-text table that fits a terminal.

    Parameters
    ----------
    best : pandas.DataFrame
    states : mapping of str to int
        The result of `count_states`.
    """
    names = set(best["peer"].dropna())
    one = len(names) == 1
    rows = [
        (
            row.problem,
            row.input,
            _whole(row.n),
            method_name(row),
            seconds(row.wall_seconds),
            seconds(row.peer_seconds) + ("" if one or pd.isna(row.peer) else f" {row.peer}"),
            "" if pd.isna(row.ratio) else f"{row.ratio:.3g}",
            row.outcomes,
        )
        for row in best.itertuples(index=False)
    ]
    other = next(iter(names)) if one else "others"
    headings = ("problem", "graph", "n", "fastest method", "time", other, "ratio", "runs")
    cells = [headings, *(tuple(map(str, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, tuple("-" * width for width in widths))
    lines = [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, _SIDES, widths, strict=True)
        )
        for row in cells
    ]
    notes = [f"runs: {', '.join(f'{count} {state}' for state, count in states.items())}."]
    notes.append("n: number of vertices. Times are those of whole calls.")
    if names:
        rival = other if one else "the other package"
        notes.append(f"ratio: time of {rival} / time of the method. Above 1, pyapsp is faster.")
    if any(method.endswith(")") for _, _, _, method, *_ in rows):
        notes.append("(type): computed in this narrower type, which gives the same numbers.")
    return "\n".join([*(line.rstrip() for line in lines), "", *notes]) + "\n"


def method_name(row: pd.Series) -> str:
    """Return the method of a row, with the type in which it computed if the answer has another."""
    if pd.isna(row.method):
        return "none"
    narrower = row.held_dtype != row.dtype
    return f"{row.method} ({row.held_dtype})" if narrower else str(row.method)


def seconds(value: float) -> str:
    """Format a time with three digits."""
    if pd.isna(value):
        return ""
    rounded = float(f"{value:.3g}")
    unit, scale = next((each for each in _UNITS if rounded >= each[1]), _UNITS[-1])
    return f"{rounded / scale:.3g} {unit}"


def csv_table(runs: pd.DataFrame) -> str:
    """Write the runs of a problem as CSV, one line per run, with all digits."""
    text: str = runs.to_csv(index=False, lineterminator="\n")
    return text


def markdown_tables(runs: pd.DataFrame) -> str:
    """Write a Markdown table for each problem."""
    return "\n".join(f"## {name}\n\n{_markdown(some)}" for name, some in by_problem(runs).items())


def _markdown(runs: pd.DataFrame) -> str:
    columns, rows = table(runs, runs_columns(runs))
    # escape a bar in a name, which would end its cell
    cells = [[cell.text.replace("|", "\\|") for cell in row.values()] for row in rows]
    shown = pd.DataFrame(cells, columns=[column.heading for column in columns.values()])
    sides = ["right" if column.number else "left" for column in columns.values()]
    text: str = shown.to_markdown(index=False, disable_numparse=True, colalign=sides)
    return text + "\n"
