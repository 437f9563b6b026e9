"""Tables, figures and a page made from what solves and benches wrote.

A record is the JSON file that ``pyapsp solve --record`` writes and ``pyapsp verify`` completes;
``pyapsp bench -o`` writes documents of many, timed in turns beside other packages. This is the only
room that imports pandas, Matplotlib and Jinja2 (the extra ``report``).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from pyapsp.files import atomic_write
from pyapsp.report import figures, page, tables
from pyapsp.report.records import collect

__all__ = ["PARTS", "write_report"]

#: ``tables``: tables/PROBLEM.csv, runs.md and summary.txt; ``page``: index.html, and its figures in
#: figures/.
PARTS = ("tables", "page")


def write_report(
    paths: Sequence[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    parts: Collection[str] = PARTS,
) -> list[Path]:
    """Write tables, figures and the page of some runs.

    Parameters
    ----------
    paths : sequence of path-like
        Records of runs, and documents of benches.
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
        If a file is something else.
    """
    collected = collect(paths)
    best = tables.fastest(collected.runs, collected.peers)
    texts = {}
    if "tables" in parts:
        for name, runs in tables.by_problem(collected.runs).items():
            texts[f"tables/{name}.csv"] = tables.csv_table(runs)
        texts["runs.md"] = tables.markdown_tables(collected.runs)
        texts["summary.txt"] = tables.summary(best)
    if "page" in parts:
        drawn = {
            name: (figures.svg(figure), caption)
            for name, (figure, caption) in figures.drawn(collected.runs, best).items()
        }
        texts |= {f"figures/{name}.svg": svg for name, (svg, _) in drawn.items()}
        texts["index.html"] = page.report_page(collected, best, drawn)
    written = []
    for name, text in texts.items():
        target = Path(directory) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target) as file:
            file.write(text)
        written.append(target)
    return written
