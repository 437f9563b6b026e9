"""Tables, figures and an HTML page made from the records of runs.

A record is the JSON file that ``pyapsp solve --record`` writes and ``pyapsp verify`` completes.
``pyapsp bench -o`` writes a document of many records, timed in turns with other packages. Only this
package imports pandas, Matplotlib and Jinja2 (the extra ``report``).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from pyapsp.base.files import atomic_write
from pyapsp.bench.report import comparison, figures, page, tables
from pyapsp.bench.report.drawing import svg
from pyapsp.bench.report.records import collect

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
        Folder of the files; made if it does not exist.
    parts : collection of str
        The parts to write, of `PARTS`.

    Returns
    -------
    list of pathlib.Path
        The files written.

    Raises
    ------
    FormatError
        If a file is neither a record nor a document of a bench.
    """
    collected = collect(paths)
    runs, areas = collected.runs, comparison.of_areas(collected.runs)
    best = comparison.fastest(runs, collected.peers)
    answered = runs[runs["wall_seconds"].notna() & ~areas]
    texts = {}
    if "tables" in parts:
        for name, some in tables.by_problem(runs).items():
            texts[f"tables/{name}.csv"] = tables.csv_table(some)
        texts["runs.md"] = tables.markdown_tables(runs, collected.peers)
        texts["summary.txt"] = tables.summary(best, comparison.count_states(runs), runs[areas])
    if "page" in parts:
        drawn = {
            name: (svg(wide), caption, svg(narrow) if narrow else None)
            for name, (wide, caption, narrow) in figures.drawn(
                answered, collected.peers, best
            ).items()
        }
        texts |= {f"figures/{name}.svg": document for name, (document, _, _) in drawn.items()}
        texts["index.html"] = page.report_page(collected, best, drawn)
    written = []
    for name, text in texts.items():
        target = Path(directory) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target) as file:
            file.write(text)
        written.append(target)
    return written
