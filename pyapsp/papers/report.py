"""Tables and figures of papers: their figures beside what was measured here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pyapsp.errors import ParameterError
from pyapsp.files import atomic_write
from pyapsp.papers import SOURCES
from pyapsp.papers.exhibits import FOLDER, Measured, markdown, page

__all__ = ["write_source"]


def write_source(
    source: str,
    paths: Sequence[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
) -> list[Path]:
    """Write the tables and figures of a source.

    Parameters
    ----------
    source : str
        Name in `pyapsp.papers.SOURCES`.
    paths : sequence of path-like
        What ``pyapsp papers measure`` wrote for it, all on one device. What was not measured is
        not shown.
    directory : path-like
        Where the files go; made when it does not exist: ``index.html`` and ``index.md`` with
        everything, and in ``exhibits`` the values (``.csv``) and the figure (``.svg``) of each.

    Returns
    -------
    list of pathlib.Path
        The files written.

    Raises
    ------
    ParameterError
        If there is no such source.
    FormatError
        If a file is something else, or they do not belong together.
    VerificationError
        If an answer was not verified.
    """
    if source not in SOURCES:
        raise ParameterError.of("source", "papers", f"one of {', '.join(SOURCES)}", source)
    chosen = SOURCES[source]
    measured = Measured.load(source, paths)
    exhibits = [
        make(measured) for experiment, make in chosen.exhibits if experiment in measured.documents
    ]
    texts = {
        "index.html": page(chosen.title, measured, exhibits),
        "index.md": markdown(chosen.title, measured, exhibits),
    }
    for exhibit in exhibits:
        texts[f"{FOLDER}/{exhibit.name}.csv"] = exhibit.table.to_csv(
            index=False, lineterminator="\n"
        )
        if exhibit.svg is not None:
            texts[f"{FOLDER}/{exhibit.name}.svg"] = exhibit.svg
    target = Path(directory)
    (target / FOLDER).mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        with atomic_write(target / path) as file:
            file.write(text)
    return [target / path for path in texts]
