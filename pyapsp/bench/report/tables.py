"""Formatted tables, made from data frames: headings, digits and marks."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from pyapsp.bench.report.comparison import (
    NOT_RUN,
    SPREAD,
    beside,
    function,
    is_once,
    of_areas,
    reason,
    seconds,
)
from pyapsp.bench.report.records import OVER

__all__ = [
    "AREAS",
    "DEVICES",
    "FASTEST",
    "GRAPHS",
    "LEFT_OUT",
    "PEERS",
    "RUNS",
    "SOFTWARE",
    "Cell",
    "Column",
    "Table",
    "areas_table",
    "by_problem",
    "csv_table",
    "fastest_columns",
    "fastest_table",
    "markdown_tables",
    "peers_table",
    "runs_columns",
    "runs_table",
    "summary",
    "table",
]


_PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))


def _text(value: str | float) -> str:
    return "" if pd.isna(value) else str(value)


def _whole(value: float) -> str:
    return "" if pd.isna(value) else f"{int(value)}"


def _measured(digits: int) -> Callable[[float], str]:
    """Return a function that formats a number with some digits, and a missing one as ""."""
    return lambda value: "" if pd.isna(value) else f"{value:.{digits}g}"


def _share(value: float) -> str:
    return "" if pd.isna(value) else f"{100 * value:.3g} %"


def _rate(value: float) -> str:
    """Format a rate with three digits and the prefix of its unit."""
    if pd.isna(value):
        return ""
    rounded = float(f"{value:.3g}")
    prefix, scale = next((each for each in _PREFIXES if rounded >= each[1]), _PREFIXES[-1])
    return f"{rounded / scale:.3g} {prefix}".rstrip()


def _memory(value: float) -> str:
    return "" if pd.isna(value) else f"{value / 2**30:.1f} GiB"


def _yes(value: bool | None) -> str:
    return "" if pd.isna(value) else "yes" if value else "no"


def _verdict(value: bool | None) -> str:
    """Format a verified flag, which is missing if the run was not verified."""
    return _yes(value) or "not checked"


class Column(NamedTuple):
    """One column of a table."""

    # The heading in formatted tables; CSV files have the column's name.
    heading: str
    show: Callable[..., str] = _text  # makes the text of a cell from its value
    number: bool = False  # whether the values are sorted as numbers and aligned to the right


_TIME = (seconds, True)
_INPUT = {"input": Column("input"), "n": Column("n", _whole, True)}
_RANGE = {
    "least_seconds": Column("shortest turn", *_TIME),
    "greatest_seconds": Column("longest turn", *_TIME),
}
RUNS = {
    **_INPUT,
    "method": Column("method"),
    "options": Column("options"),
    "dtype": Column("type"),
    "held_dtype": Column("computed in"),
    "device": Column("device"),
    "platform": Column("driver"),
    "status": Column("status"),
    "wall_seconds": Column("whole call", *_TIME),
    **_RANGE,
    "why": Column("why"),
    "kernel_seconds": Column("in kernels", *_TIME),
    "transfer_seconds": Column("transfers", *_TIME),
    "turns": Column("turns", _whole, True),
    "rate": Column("units/s", _rate, True),
    "fraction_of_roof": Column("of the roof", _share, True),
    "m": Column("m", _whole, True),
    "max_error": Column("max error", _measured(2), True),
    "verified_by": Column("verified by"),
}
PEERS = {
    "problem": Column("problem"),
    **_INPUT,
    "calls": Column("function"),
    "name": Column("package"),
    "version": Column("version"),
    "dtype": Column("type"),
    "median_seconds": Column("whole call", *_TIME),
    **_RANGE,
    "rate": Column("units/s", _rate, True),
    "unit": Column("unit"),
    "verified": Column("verified", _verdict, True),
    "oracle": Column("verified by"),
}
DEVICES = {
    "name": Column("device"),
    "platform": Column("driver"),
    "kind": Column("kind"),
    "driver": Column("version of the driver"),
    "version": Column("OpenCL"),
    "processor": Column("compiled for"),
    "units": Column("compute units", _whole, True),
    "memory": Column("memory", _memory, True),
}
GRAPHS = {
    "input": Column("graph"),
    "n": Column("vertices", _whole, True),
    "m": Column("stored arcs", _whole, True),
    "directed": Column("directed", _yes),
    "weights": Column("weights"),
    "longest": Column("longest distance", _whole, True),
    "source": Column("source"),
    "problems": Column("problems"),
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
    **_INPUT,
    "dtype": Column("type"),
    "place": Column("device"),
    "shown": Column("fastest method"),
    "tied": Column("tied with"),
    "taken": Column("auto takes"),
    "wall_seconds": Column("time (turns)", *_TIME),
    "ratio": Column("times as fast", _measured(3), True),
    "compared": Column("compared with"),
    "peer_seconds": Column("time of that", *_TIME),
    "slower": Column("if slower, why"),
    "outcomes": Column("configurations right"),
}
# The examples of areas.
AREAS = {
    "problem": Column("area"),
    "input": Column("example"),
    "n": Column("n", _whole, True),
    "dtype": Column("type"),
    "device": Column("device"),
    "status": Column("status"),
    "wall_seconds": Column("one run", *_TIME),
    "verified_by": Column("verified by"),
    "why": Column("why"),
}


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


def runs_columns(runs: pd.DataFrame, peers: pd.DataFrame) -> dict[str, Column]:
    """Return the columns of a table of runs of one problem, in its order, speed-ups among them.

    Left out are speed-ups over packages that did not run, the roof if it was not measured, the type
    in which runs computed if it is the type of all answers, and texts that no run has.
    """
    problem = runs["problem"].iloc[0]
    columns = {}
    for name in runs.columns:
        if name == "rate":
            columns[name] = RUNS[name]._replace(heading=f"{runs['unit'].iloc[0]}/s")
        elif name in RUNS:
            columns[name] = RUNS[name]
        elif name.startswith(OVER):
            called = function(peers, problem, name.removeprefix(OVER), runs["dtype"])
            columns[name] = Column(f"times as fast as {called}", _measured(3), True)
    empty = [name for name in columns if name.startswith((OVER, "fraction")) or name in _RANGE]
    for name in empty:
        if runs[name].isna().all():
            del columns[name]
    if runs["held_dtype"].eq(runs["dtype"]).all():
        del columns["held_dtype"]
    for name in ("options", "verified_by", "why"):
        if runs[name].eq("").all():
            del columns[name]
    return columns


def runs_table(runs: pd.DataFrame, peers: pd.DataFrame, *, devices: bool = True) -> Table:
    """Make the table of the runs of one problem: a run slower than another package says why.

    Without `devices` it has no columns for the device and its driver.
    """
    told = runs.assign(
        why=[run.why or reason(run, beside(run, peers)) for _, run in runs.iterrows()]
    )
    columns = runs_columns(told, peers)
    if not devices:
        del columns["device"], columns["platform"]
    return table(told, columns)


def areas_table(runs: pd.DataFrame) -> Table:
    """Make the table of the examples of areas, each of which is run once."""
    some = runs[of_areas(runs)]
    told = [name for name in AREAS if name != "why" or some["why"].ne("").any()]
    return table(some, {name: AREAS[name] for name in told})


def peers_table(runs: pd.DataFrame, peers: pd.DataFrame) -> Table:
    """Make the table of other packages, with the units of work in which the runs are counted.

    A function that several benches called on one input has one row, with the medians of theirs.
    """
    units = runs.drop_duplicates("problem").set_index("problem")["unit"]
    told = _in_one_row(peers.assign(unit=peers["problem"].map(units)))
    columns = dict(PEERS)
    if units.nunique() == 1:
        columns["rate"] = columns["rate"]._replace(heading=f"{units.iloc[0]}/s")
        del columns["unit"]
    return table(told, columns)


def _in_one_row(peers: pd.DataFrame) -> pd.DataFrame:
    """Put what benches measured of the same call into one row."""
    how: dict[str, Any] = dict.fromkeys(PEERS, "first")
    how |= {"median_seconds": "median", "rate": "median", "unit": "first"}
    how |= {"least_seconds": "min", "greatest_seconds": "max", "verified": _all_of}
    call = ["problem", "input", "n", "name", "version", "what", "calls", "dtype"]
    groups = peers.groupby(call, sort=False, dropna=False, as_index=False)
    return groups.agg({name: each for name, each in how.items() if name not in call})


def _all_of(verified: pd.Series) -> bool | None:
    """Return whether all answers are right; None if one was not verified, and none was wrong."""
    if verified.eq(False).any():
        return False
    return None if verified.isna().any() else True


def fastest_columns(best: pd.DataFrame) -> dict[str, Column]:
    """Return the columns of `fastest_table`, without those in which nothing is told."""
    alone = best["ratio"].isna().all()
    empty = {"ratio", "compared", "peer_seconds"} if alone else set()
    untold = ["", NOT_RUN]
    empty |= {name for name in ("slower", "tied", "taken") if best[name].isin(untold).all()}
    empty |= {name for name in ("problem", "place") if best[name].nunique() == 1}
    return {name: column for name, column in FASTEST.items() if name not in empty}


def fastest_table(best: pd.DataFrame) -> Table:
    """Make the table of the fastest methods.

    Beside a time are the shortest and the longest turn, and a word if they are far apart. A ratio
    says in words that it is below 1, or chance.

    Parameters
    ----------
    best : pandas.DataFrame
        The result of `pyapsp.bench.report.comparison.fastest`.
    """
    made = table(best, fastest_columns(best))
    for cells, row in zip(made.rows, best.itertuples(), strict=True):
        if row.span:
            whole = cells["wall_seconds"]
            words = f"{row.span}, wide" if row.wide else row.span
            cells["wall_seconds"] = Cell(f"{whole.text} ({words})", whole.value)
        word = "" if pd.isna(row.ratio) else "even" if row.even else "slower" * (row.ratio < 1)
        if word:
            cells["ratio"] = Cell(f"{cells['ratio'].text} ({word})", cells["ratio"].value)
    return made


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


def summary(best: pd.DataFrame, states: Mapping[str, int], areas: pd.DataFrame) -> str:
    """Write the result of `fastest` as a plain-text table that fits a terminal.

    Parameters
    ----------
    best : pandas.DataFrame
        The result of `pyapsp.bench.report.comparison.fastest`.
    states : mapping of str to int
        The result of `pyapsp.bench.report.comparison.count_states`.
    areas : pandas.DataFrame
        The runs of areas.
    """
    wide = best["wide"].eq(True)
    ties = best["ties"].map(lambda count: f" +{count}" if count else "")
    once = pd.Series([is_once(row) and row.right > 0 for row in best.itertuples()], best.index)
    even, typed = best["even"].eq(True), best["same_type"].eq(False)
    columns = {
        ("problem", "<"): best["problem"],
        ("graph", "<"): best["input"],
        ("n", ">"): best["n"].map(_whole),
        ("type", "<"): best["dtype"],
        ("device", "<"): best["place"],
        ("fastest method", "<"): best["shown"] + ties,
        ("time", ">"): best["wall_seconds"].map(seconds)
        + once.map({True: "\N{DEGREE SIGN}", False: ""})
        + wide.map({True: "!", False: ""}),
        ("other", ">"): best["peer_seconds"].map(seconds) + typed.map({True: "*", False: ""}),
        ("ratio", ">"): best["ratio"].map(_measured(3)) + even.map({True: "~", False: ""}),
        ("right", "<"): best["outcomes"],
    }
    if best["place"].nunique() == 1:
        del columns["device", "<"]
    if best["dtype"].nunique() == 1:
        del columns["type", "<"]
    if best["ratio"].isna().all():
        del columns["other", ">"], columns["ratio", ">"]
    lines = []
    for (heading, side), values in columns.items():
        width = max(map(len, [heading, *values]))
        lines.append([f"{cell:{side}{width}}" for cell in (heading, "-" * width, *values)])
    notes = [f"runs: {', '.join(f'{count} {state}' for state, count in states.items())}."]
    notes.append("n: number of vertices. Times are those of whole calls.")
    if best["ties"].any():
        notes.append("+1: one more method is as fast: each median is within the other's turns.")
    if once.any():
        notes.append("°: one run; the times of others are medians of turns.")
    if wide.any():
        notes.append(f"!: the longest turn took more than {SPREAD} times as long as the shortest.")
    if best["ratio"].notna().any():
        called = best.dropna(subset="calls").groupby("calls", sort=False)["problem"].unique()
        others = ", ".join(f"{name} ({', '.join(problems)})" for name, problems in called.items())
        notes += textwrap.wrap(f"other: {others}.", 96, subsequent_indent="  ")
        notes.append("ratio: time of the other / time of the method. Above 1, pyapsp is faster.")
    if typed.any():
        notes.append("*: the other answers in another type.")
    if even.any():
        notes.append("~: as fast; each median is within the turns of the other.")
    if best["shown"].str.endswith(")").any():
        notes.append("(type): computed in this narrower type, which gives the same numbers.")
    if len(areas):
        shown = (f"{row.problem} {row.status}" for row in areas.itertuples())
        notes += textwrap.wrap(
            f"areas, an example of each, one run: {', '.join(shown)}.", 96, subsequent_indent="  "
        )
    table = ("  ".join(row).rstrip() for row in zip(*lines, strict=True))
    return "\n".join([*table, "", *notes]) + "\n"


def csv_table(runs: pd.DataFrame) -> str:
    """Write the runs of a problem as CSV, one line per run, with all digits."""
    text: str = runs.drop(columns="bench").to_csv(index=False, lineterminator="\n")
    return text


def markdown_tables(runs: pd.DataFrame, peers: pd.DataFrame) -> str:
    """Write a Markdown table for each problem."""
    return "\n".join(
        f"## {name}\n\n{_markdown(some, peers)}" for name, some in by_problem(runs).items()
    )


def _markdown(runs: pd.DataFrame, peers: pd.DataFrame) -> str:
    columns, rows = runs_table(runs, peers)
    # escape a bar in a name, which would end its cell
    cells = [[cell.text.replace("|", "\\|") for cell in row.values()] for row in rows]
    shown = pd.DataFrame(cells, columns=[column.heading for column in columns.values()])
    sides = ["right" if column.number else "left" for column in columns.values()]
    text: str = shown.to_markdown(index=False, disable_numparse=True, colalign=sides)
    return text + "\n"
