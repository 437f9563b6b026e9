"""Formatted tables, made from data frames: headings, digits and marks."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from pyapsp.bench.report.records import OVER

__all__ = [
    "DEVICES",
    "FASTEST",
    "LEFT_OUT",
    "PEERS",
    "RUNS",
    "SMALL",
    "SOFTWARE",
    "STATES",
    "Cell",
    "Column",
    "Table",
    "by_problem",
    "count_states",
    "csv_table",
    "device_name",
    "fastest",
    "fastest_columns",
    "function",
    "markdown_tables",
    "method_name",
    "peers_table",
    "runs_columns",
    "runs_table",
    "seconds",
    "summary",
    "table",
]


#: Another package that is done within so many seconds has too little to do for a comparison.
SMALL = 0.01
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
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


def _ratio(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.3g}" + (" (slower)" if value < 1 else "")


def seconds(value: float) -> str:
    """Format a time with three digits."""
    if pd.isna(value):
        return ""
    rounded = float(f"{value:.3g}")
    unit, scale = next((each for each in _UNITS if rounded >= each[1]), _UNITS[-1])
    return f"{rounded / scale:.3g} {unit}"


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
    "wall_seconds": Column("time", *_TIME),
    "span": Column("of its turns"),
    "ratio": Column("times as fast", _ratio, True),
    "compared": Column("compared with"),
    "peer_seconds": Column("time of that", *_TIME),
    "slower": Column("if slower, why"),
    "outcomes": Column("configurations right"),
}
# the columns with values of the run itself
_OF_THE_FASTEST = (
    *("method", "held_dtype", "kernel_seconds", "wall_seconds", "least_seconds"),
    "greatest_seconds",
)
#: The states of runs, in the order in which they are counted.
STATES = ("ok", "wrong", "unchecked", "refused", "failed")


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
            called = function(peers, problem, name.removeprefix(OVER))
            columns[name] = Column(f"times as fast as {called}", _ratio, True)
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


def runs_table(runs: pd.DataFrame, peers: pd.DataFrame) -> Table:
    """Make the table of the runs of one problem: a run slower than another package says why."""
    ratio = runs[[name for name in runs.columns if name.startswith(OVER)]].min(axis=1)
    told = runs.assign(ratio=ratio, peer_seconds=ratio * runs["wall_seconds"])
    told["why"] = [row.why or _why_slower(row) for row in told.itertuples()]
    return table(told, runs_columns(told[runs.columns], peers))


def peers_table(runs: pd.DataFrame, peers: pd.DataFrame) -> Table:
    """Make the table of other packages, with the units of work in which the runs are counted."""
    units = runs.drop_duplicates("problem").set_index("problem")["unit"]
    told = peers.assign(unit=peers["problem"].map(units))
    columns = dict(PEERS)
    if units.nunique() == 1:
        columns["rate"] = columns["rate"]._replace(heading=f"{units.iloc[0]}/s")
        del columns["unit"]
    return table(told, columns)


def fastest_columns(best: pd.DataFrame) -> dict[str, Column]:
    """Return the columns of the table of `fastest`, without those in which nothing is told."""
    alone = best["ratio"].isna().all()
    empty = {"ratio", "compared", "peer_seconds"} if alone else set()
    empty |= {name for name in ("slower", "tied", "span") if best[name].eq("").all()}
    empty |= {name for name in ("problem", "place") if best[name].nunique() == 1}
    return {name: column for name, column in FASTEST.items() if name not in empty}


def function(peers: pd.DataFrame, problem: str, name: str) -> str:
    """Return the function that was called of a package; its name if no record of it is there."""
    called = peers[peers["problem"].eq(problem) & peers["name"].eq(name)]
    if called.empty:
        return name
    words = str(called["calls"].iloc[0])
    return f"{words} (one product)" if called["what"].iloc[0] == "product" else words


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
    """Return the fastest method and the fastest other package on each input, type and device.

    Parameters
    ----------
    runs, peers : pandas.DataFrame
        Those of `pyapsp.bench.report.records.Collected`.

    Returns
    -------
    pandas.DataFrame
        A row for each problem, input, number type of the answer and device: problem, input, n,
        dtype; device, platform, and place, which says both where they are needed; method,
        held_dtype, kernel_seconds, wall_seconds, least_seconds and greatest_seconds of the verified
        run with the fastest whole call (missing if none was verified); shown, the method with the
        type in which it computed; span, the times of its turns; tied, the other methods with a turn
        that took no longer than its longest; calls, the function of another package with the least
        time in the same turns and a right answer; compared, the function with its type if that is
        another; peer_seconds; ratio, its time divided by that of the run; slower, the reason if
        that is below 1; right and count, the numbers of verified runs and of all runs; outcomes,
        the number of runs in each state, as in "5 of 6, 1 refused": 5 right.
    """
    rows = []
    groups = runs.groupby(["problem", "input", "n"], sort=False, dropna=False)
    for (problem, name, n), every in groups:
        for dtype, some in every.groupby("dtype"):
            for (device, platform), here in _on_devices(some):
                right = here[here["verified"].eq(True)]
                row = {"problem": problem, "input": name, "n": n, "dtype": dtype}
                row |= {"device": device, "platform": platform}
                row |= {
                    "tied": "",
                    "right": len(right),
                    "count": len(here),
                    "outcomes": _outcomes(here),
                }
                if len(right):
                    run = right.loc[right["wall_seconds"].idxmin()]
                    row |= {column: run[column] for column in _OF_THE_FASTEST}
                    row |= {"tied": _tied(run, right)} | _fastest_other(run, peers)
                rows.append(row)
    names = [*FASTEST, "device", "platform", "right", "count", "calls"]
    best = pd.DataFrame(rows, columns=list(dict.fromkeys([*names, *_OF_THE_FASTEST])))
    one = best["platform"].nunique() == 1
    best["place"] = [
        row.device if one else device_name(row.device, row.platform) for row in best.itertuples()
    ]
    best["shown"] = [method_name(row) for row in best.itertuples()]
    best["slower"] = [_why_slower(row) for row in best.itertuples()]
    best["span"] = [
        "" if pd.isna(least) else _span(seconds(least), seconds(greatest))
        for least, greatest in zip(best["least_seconds"], best["greatest_seconds"], strict=True)
    ]
    return best.astype({"n": "Int64"})


def device_name(device: str, platform: str) -> str:
    """Name a device and its driver: one processor can have several drivers."""
    return f"{device} ({platform} driver)" if platform else device


def _span(least: str, greatest: str) -> str:
    """Say from which time to which, with the unit once if it is the same."""
    number, unit = least.split()
    return f"{number if greatest.endswith(f' {unit}') else least} to {greatest}"


def _tied(fastest: pd.Series, runs: pd.DataFrame) -> str:
    """Name the other methods that had a turn no longer than the longest one of the fastest."""
    names = pd.Series([method_name(row) for row in runs.itertuples()], runs.index)
    near = names[runs["least_seconds"].le(fastest["greatest_seconds"])]
    return ", ".join(near[near.ne(names[fastest.name])].unique())


def _outcomes(runs: pd.DataFrame) -> str:
    """Say how many runs are right, and how many are in each other state."""
    states = count_states(runs)
    right = f"{states.pop('ok')} of {len(runs)}"
    return ", ".join([right, *(f"{count} {state}" for state, count in states.items() if count)])


def _fastest_other(run: pd.Series, peers: pd.DataFrame) -> dict[str, str | float]:
    """Return what is told of the fastest right answer of another package beside a run."""
    same = peers["problem"].eq(run.problem) & peers["input"].eq(run.input) & peers["n"].eq(run.n)
    untold = same & (peers["what"].eq("product") | ~peers["verified"].eq(True))
    ratios = run[[column for column in run.index if column.startswith(OVER)]].dropna()
    ratios = ratios.drop(OVER + peers["name"][untold], errors="ignore")
    if ratios.empty:
        return {}
    column = ratios.astype(float).idxmin()
    name = column.removeprefix(OVER)
    calls = function(peers, run.problem, name)
    dtypes = peers["dtype"][same & peers["name"].eq(name) & peers["dtype"].ne(run["dtype"])]
    return {
        "calls": calls,
        "compared": calls if dtypes.empty else f"{calls} ({dtypes.iloc[0]})",
        "ratio": ratios[column],
        "peer_seconds": ratios[column] * run.wall_seconds,
    }


def _on_devices(runs: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield the runs on each device; a run that failed before it had one belongs to each."""
    nowhere = runs["platform"].eq("")
    if nowhere.all():
        yield (str(runs["device"].iloc[0]), ""), runs
    for (device, platform), _ in runs[~nowhere].groupby(["device", "platform"], sort=False):
        here = runs["device"].eq(device) & runs["platform"].eq(platform)
        yield (str(device), str(platform)), runs[here | nowhere]


def _why_slower(row: pd.Series) -> str:
    """Say what the time of a run goes into, if another package took less."""
    if not row.ratio < 1 or pd.isna(row.kernel_seconds):
        return ""
    if row.kernel_seconds > row.peer_seconds:
        return f"the kernels take {seconds(row.kernel_seconds)}"
    outside = seconds(row.wall_seconds - row.kernel_seconds)
    if row.peer_seconds < SMALL:
        return f"too small: under {seconds(SMALL)}; {outside} of ours is outside kernels"
    return f"host and transfers take {outside}"


def count_states(runs: pd.DataFrame) -> dict[str, int]:
    """Return the number of runs in each state."""
    return {state: int(runs["status"].eq(state).sum()) for state in STATES}


def summary(best: pd.DataFrame, states: Mapping[str, int]) -> str:
    """Write the result of `fastest` as a plain-text table that fits a terminal.

    Parameters
    ----------
    best : pandas.DataFrame
    states : mapping of str to int
        The result of `count_states`.
    """
    small = best["peer_seconds"].lt(SMALL) & best["ratio"].notna()
    columns = {
        ("problem", "<"): best["problem"],
        ("graph", "<"): best["input"],
        ("n", ">"): best["n"].map(_whole),
        ("type", "<"): best["dtype"],
        ("device", "<"): best["place"],
        ("fastest method", "<"): best["shown"],
        ("time", ">"): best["wall_seconds"].map(seconds),
        ("other", ">"): best["peer_seconds"].map(seconds),
        ("ratio", ">"): best["ratio"].map(_measured(3)) + small.map({True: "*", False: ""}),
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
    if best["ratio"].notna().any():
        called = best.dropna(subset="calls").groupby("calls", sort=False)["problem"].unique()
        others = ", ".join(f"{name} ({', '.join(problems)})" for name, problems in called.items())
        notes += textwrap.wrap(f"other: {others}.", 96, subsequent_indent="  ")
        notes.append("ratio: time of the other / time of the method. Above 1, pyapsp is faster.")
    if small.any():
        notes.append(f"*: too small to compare: the other takes less than {seconds(SMALL)}.")
    if best["shown"].str.endswith(")").any():
        notes.append("(type): computed in this narrower type, which gives the same numbers.")
    table = ("  ".join(row).rstrip() for row in zip(*lines, strict=True))
    return "\n".join([*table, "", *notes]) + "\n"


def method_name(row: pd.Series) -> str:
    """Return the method of a row, with the type in which it computed if the answer has another."""
    if pd.isna(row.method):
        return "none"
    narrower = row.held_dtype != row.dtype
    return f"{row.method} ({row.held_dtype})" if narrower else str(row.method)


def csv_table(runs: pd.DataFrame) -> str:
    """Write the runs of a problem as CSV, one line per run, with all digits."""
    text: str = runs.to_csv(index=False, lineterminator="\n")
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
