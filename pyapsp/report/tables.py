"""Records of runs as one table, and that table as text."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pyapsp.errors import FormatError

__all__ = ["COLUMNS", "csv_table", "html_table", "load_runs", "markdown_table"]


def _measured(digits: int) -> Callable[[Any], str]:
    """Make the function that shows a number with so many digits, a missing one as nothing."""
    return lambda value: "" if pd.isna(value) else f"{value:.{digits}g}"


def _verdict(value: Any) -> str:
    """Show a verified flag, which is missing until the run was verified."""
    return "not checked" if pd.isna(value) else "yes" if value else "no"


class Column(NamedTuple):
    """One column of the table.

    Attributes
    ----------
    keys : tuple of str
        Where the value lies in a record, from the outside in.
    heading : str
        The heading people read; files for programs use the column's name.
    show : callable
        Makes the text of a cell from its value.
    """

    keys: tuple[str, ...]
    heading: str
    show: Callable[[Any], str] = str


COLUMNS = {
    "graph": Column(("graph", "name"), "graph"),
    "n": Column(("graph", "n"), "n"),
    "m": Column(("graph", "m"), "m"),
    "method": Column(("method",), "method"),
    "dtype": Column(("dtype",), "dtype"),
    "device": Column(("device", "name"), "device"),
    "platform": Column(("device", "platform"), "platform"),
    "kernel_seconds": Column(("kernel_seconds",), "kernel s", _measured(4)),
    "transfer_seconds": Column(("transfer_seconds",), "transfer s", _measured(4)),
    "wall_seconds": Column(("wall_seconds",), "wall s", _measured(4)),
    "updates_per_second": Column(("updates_per_second",), "updates/s", _measured(3)),
    "fraction_of_roof": Column(("fraction_of_roof",), "fraction of the roof", _measured(3)),
    "max_error": Column(("max_error",), "max error against SciPy", _measured(2)),
    "verified": Column(("verified",), "verified", _verdict),
}
# pyapsp verify adds the error, and only newer records know the roof: they are records without them
_OPTIONAL = {"max_error", "fraction_of_roof"}


def _row(record: Any, path: Path) -> dict[str, Any]:
    """Take the values of the columns out of one record."""
    row = {}
    for name, column in COLUMNS.items():
        value = record
        for key in column.keys:
            if isinstance(value, Mapping) and key in value:
                value = value[key]
            elif name in _OPTIONAL:
                value = None
            else:
                raise FormatError(
                    path, None, f"not a record of a run: no {'.'.join(column.keys)!r}"
                )
        row[name] = value
    return row


def _read(path: Path) -> pd.DataFrame:
    """Read a record, or a table that was collected from records."""
    try:
        if path.suffix == ".csv":
            table = pd.read_csv(path)
        else:
            record = json.loads(path.read_text(encoding="utf-8"))
            return pd.DataFrame([_row(record, path)], dtype=object)
    except json.JSONDecodeError as error:
        raise FormatError(path, error.lineno, f"not JSON: {error.msg}") from None
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise FormatError(path, None, str(error)) from None
    if list(table.columns) != list(COLUMNS):
        raise FormatError(path, 1, f"the columns of a table of runs are {','.join(COLUMNS)}")
    return table.astype(object)


def load_runs(paths: Sequence[str | os.PathLike[str]]) -> pd.DataFrame:
    """Collect records into one table with a row per run.

    Parameters
    ----------
    paths : sequence of path-like
        Records (``.json``), or tables collected from records (``.csv``); at least one.

    Returns
    -------
    pandas.DataFrame
        The columns of `COLUMNS`, ordered by the size of the graph, then by name, method, dtype,
        device and platform. Times are in seconds. What was not measured or checked is missing.

    Raises
    ------
    FormatError
        If a file is not a record, or not such a table.
    """
    runs = pd.concat([_read(Path(path)) for path in paths], ignore_index=True)
    runs = runs.sort_values(
        ["n", "graph", "method", "dtype", "device", "platform"], ignore_index=True
    )
    numbers = [
        name for name in COLUMNS if name.endswith(("_seconds", "_second", "_error", "_roof"))
    ]
    return runs.astype({"n": int, "m": int} | dict.fromkeys(numbers, float))


def _shown(runs: pd.DataFrame) -> pd.DataFrame:
    """Make the table people read: headings and text instead of names and values."""
    return pd.DataFrame(
        {column.heading: runs[name].map(column.show) for name, column in COLUMNS.items()}
    )


def _escape_markdown(text: str) -> str:
    """Keep a bar in a name from ending its cell."""
    return text.replace("|", "\\|")


def csv_table(runs: pd.DataFrame) -> str:
    """Write runs as CSV: values in full, one line per run."""
    text: str = runs.to_csv(index=False, lineterminator="\n")
    return text


def markdown_table(runs: pd.DataFrame) -> str:
    """Write runs as a Markdown table."""
    shown = _shown(runs).map(_escape_markdown)
    text: str = shown.to_markdown(index=False, disable_numparse=True, colalign=_alignment(runs))
    return text + "\n"


def html_table(runs: pd.DataFrame) -> str:
    """Write runs as an HTML table element."""
    text: str = _shown(runs).to_html(index=False, border=0, classes="runs", justify="inherit")
    return text


def _alignment(runs: pd.DataFrame) -> list[str]:
    """Put numbers to the right and words to the left."""
    return ["right" if pd.api.types.is_numeric_dtype(runs[name]) else "left" for name in COLUMNS]
