"""Tables and figures of papers: their figures beside what was measured here."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from pyapsp.files import atomic_write
from pyapsp.report.papers import (
    ino,
    matsumoto,
    okuyama,
    okuyama_sources,
    takafuji,
    takafuji_batches,
    takafuji_bulk,
)
from pyapsp.report.papers.exhibits import FOLDER, Exhibit, Measured, markdown, page

__all__ = ["SOURCES", "write_source"]

# source -> its title, and which experiment each exhibit is made from
SOURCES: dict[str, tuple[str, tuple[tuple[str, Callable[[Measured], Exhibit]], ...]]] = {
    "okuyama": (
        "Okuyama 2013, chapters 3 and 4: searches from sources, iterative blocked Floyd-Warshall",
        (*okuyama_sources.EXHIBITS, *okuyama.EXHIBITS),
    ),
    "takafuji": (
        "Takafuji 2020, chapters 3 and 4: blocked Floyd-Warshall in one launch, on packed words, "
        "for many graphs; bulk execution",
        (*takafuji.EXHIBITS, *takafuji_batches.EXHIBITS, *takafuji_bulk.EXHIBITS),
    ),
    "matsumoto": (matsumoto.TITLE, matsumoto.EXHIBITS),
    "ino": (ino.TITLE, ino.EXHIBITS),
}


def write_source(
    source: str,
    paths: Sequence[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
) -> list[Path]:
    """Write the tables and figures of a source.

    Parameters
    ----------
    source : str
        Name in `SOURCES`.
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
    FormatError
        If a file is something else, or they do not belong together.
    VerificationError
        If an answer was not verified.
    """
    title, parts = SOURCES[source]
    measured = Measured.load(source, paths)
    exhibits = [make(measured) for experiment, make in parts if experiment in measured.documents]
    texts = {
        "index.html": page(title, measured, exhibits),
        "index.md": markdown(title, measured, exhibits),
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
