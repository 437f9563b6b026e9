"""Tables, figures and a page made from the records of runs.

A record is the JSON file that ``pyapsp solve --record`` writes and ``pyapsp verify`` completes.
This is the only room that imports pandas, Matplotlib and Jinja2 (the extra ``report``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pyapsp.files import atomic_write
from pyapsp.report import figures, page, tables

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PARTS", "write_report"]

# part -> the files it consists of, each with the function that makes its text
PARTS: dict[str, dict[str, Callable[[pd.DataFrame], str]]] = {
    "tables": {
        "runs.csv": tables.csv_table,
        "runs.md": tables.markdown_table,
        "runs.html": page.table_page,
    },
    "speed": {"speed.svg": lambda runs: figures.svg(figures.speed_figure(runs))},
    "times": {"times.svg": lambda runs: figures.svg(figures.times_figure(runs))},
    "page": {"index.html": page.report_page},
}


def write_report(
    paths: Sequence[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    parts: Collection[str] = tuple(PARTS),
) -> list[Path]:
    """Write tables, figures and the page of some runs.

    Parameters
    ----------
    paths : sequence of path-like
        Records (``.json``), or tables collected from records (``runs.csv``).
    directory : path-like
        Where the files go; made when it does not exist.
    parts : collection of str
        Which of `PARTS` to write.

    Returns
    -------
    list of pathlib.Path
        The files written.

    Raises
    ------
    FormatError
        If a file is not a record of a run.
    """
    runs = tables.load_runs(paths)
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for part in parts:
        for name, make in PARTS[part].items():
            with atomic_write(target / name) as file:
                file.write(make(runs))
            written.append(target / name)
    return written
