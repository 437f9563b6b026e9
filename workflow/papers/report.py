"""Write tables and figures of papers, with the published values and our measurements."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from papers import SOURCES
from papers.exhibits import FOLDER, markdown, page
from papers.measured import Measured
from pyapsp.base.files import atomic_write
from pyapsp.errors import ParameterError

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
        Name in `papers.SOURCES`.
    paths : sequence of path-like
        Documents of ``papers measure`` for this source, all of one device. Exhibits without
        measurements are left out.
    directory : path-like
        Folder of the files; made if it does not exist. ``index.html`` and ``index.md`` have all
        exhibits; the folder ``exhibits`` has the values (``.csv``) and figure (``.svg``) of each.

    Returns
    -------
    list of pathlib.Path
        The files written.

    Raises
    ------
    ParameterError
        If there is no such source.
    FormatError
        If a file is not such a document, or files are of different sources or devices.
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
