"""Graphs of a user for the workflow: what the user says of them, and what is measured.

A user names the file, the address or the generator of a graph, and says whether its arcs have one
direction and whether it has weights. The other columns of the register are measured when the graph
is used first, and recorded.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import scipy.sparse.csgraph

from pyapsp.base.errors import FormatError, ParameterError
from pyapsp.base.files import atomic_write
from pyapsp.graph import datasets
from pyapsp.graph.convert import check_recipe, reweight
from pyapsp.graph.datasets import Dataset
from pyapsp.graph.io import FORMATS, read
from pyapsp.graph.model import Graph

__all__ = ["listed", "longest", "measured"]

# What n and m are before a graph is measured.
_UNKNOWN = -1
# The longest distance is computed if searches from all vertices read at most this many arcs, which
# takes seconds; else a bound of it. Rows of distances that are held at once.
_ARCS, _BLOCK = 2 * 10**7, 256
_FLAGS = ("directed", "weighted")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def listed(
    entries: Iterable[Mapping[str, str | bool]], path: str | os.PathLike[str]
) -> tuple[list[str], dict[str, Dataset]]:
    """Return the names of the graphs of a config, and these with the graphs of a file.

    If both have a graph of the same name, that of the config counts. Graphs of the package come
    after both. Nothing is read but the file and the names in folders.

    Parameters
    ----------
    entries : iterable of mapping
        Each has a ``name`` and a ``file``, ``url`` or ``generator``; or a ``folder`` with files of
        graphs, which get the names of the files. All but generated graphs also have ``directed``
        and ``weighted``. They may have ``weights`` and ``format``, which are columns of the
        register.
    path : path-like
        A file with columns of the register, ``data/datasets.csv``; it need not be there. Only
        those columns are needed that an entry has. Files are beside it, or in ``samples`` there.

    Raises
    ------
    ParameterError
        An entry lacks a value, or two of the config have the same name.
    FileNotFoundError
        A file or folder is not there.
    """
    own: dict[str, Dataset] = {}
    for row in (row for entry in entries for row in _rows(entry)):
        if row.name in own:
            raise ParameterError(
                f"two graphs are named {row.name!r}: {_source(own[row.name])} and {_source(row)}"
            )
        own[row.name] = row
    return list(own), _of_file(Path(path)) | own


def measured(row: Dataset, record: str | os.PathLike[str]) -> Dataset:
    """Return a row with what is measured: n, m, the longest distance and digests.

    Parameters
    ----------
    row : Dataset
        A row of `listed`.
    record : path-like
        The file that keeps the result, as a register with one row. It is used again if the user
        says the same of the graph, and the file of the graph is older.

    Raises
    ------
    ParameterError, FormatError, FileNotFoundError, OSError
        The graph cannot be fetched, read or generated.
    """
    record = Path(record)
    known = _recorded(row, record)
    if known is not None:
        return known
    found = _measured(row) if row.n == _UNKNOWN else row
    record.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(record, "w") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Dataset)])
        writer.writeheader()
        writer.writerow({name: _cell(value) for name, value in asdict(found).items()})
    return found


def longest(graph: Graph) -> int | None:
    """Return the longest finite distance, rounded up; for a large graph an upper bound of it.

    Returns
    -------
    int or None
        None if a weight is negative.
    """
    least, most = graph.min_weight or 0, graph.max_weight or 0
    if least < 0:
        return None
    matrix = graph.to_scipy()
    search = scipy.sparse.csgraph.dijkstra
    if graph.n * (graph.n + graph.m) <= _ARCS:
        blocks = (np.arange(k, min(k + _BLOCK, graph.n)) for k in range(0, graph.n, _BLOCK))
        found = max((_farthest(search(matrix, indices=block)) for block in blocks), default=0.0)
    elif graph.directed:
        found = float((graph.n - 1) * most)
    else:  # from one vertex of each component and back
        _, parts = scipy.sparse.csgraph.connected_components(matrix, directed=False)
        first = np.unique(parts, return_index=True)[1]
        found = 2 * _farthest(search(matrix, indices=first, min_only=True))
    return int(np.ceil(found))


def _farthest(distances: np.ndarray) -> float:
    return float(distances.max(where=np.isfinite(distances), initial=0))


def _rows(entry: Mapping[str, str | bool]) -> list[Dataset]:
    """Return the row of an entry of the config, or the rows of its folder."""
    if "folder" not in entry:
        return [_row(entry, Path())]
    folder = Path(str(entry["folder"]))
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    said = {key: value for key, value in entry.items() if key != "folder"}
    if "name" in said:
        raise ParameterError(f"the graphs of the folder {folder} have the names of their files")
    files = [path for path in sorted(folder.iterdir()) if _format(path.name) in FORMATS]
    if not files:
        raise FileNotFoundError(f"{folder} has no file of a graph: {', '.join(FORMATS)}")
    return [_row(said | {"name": _name(path), "file": str(path)}, Path()) for path in files]


def _name(path: Path) -> str:
    """Return the name of a file, without its suffix, as the name of a graph."""
    return _NOT_IN_NAMES.sub("-", path.name.removesuffix(".gz").rpartition(".")[0])


def _format(name: str) -> str:
    """Return the suffix of a file, without the dot and without ``.gz``."""
    return name.lower().removesuffix(".gz").rpartition(".")[2]


def _of_file(path: Path) -> dict[str, Dataset]:
    """Return the rows of ``data/datasets.csv`` that the package does not have."""
    if not path.is_file():
        return {}
    found = {}
    with open(path, encoding="utf-8", newline="") as file:
        for cells in csv.DictReader(file):
            said: dict[str, str | bool] = {key: text for key, text in cells.items() if text}
            row = _row(said, path.parent)
            found[row.name] = row
    package = {name: datasets.get(name) for name in datasets.names()}
    return {
        name: row
        for name, row in found.items()
        if name not in package or replace(row, file=package[name].file) != package[name]
    }


def _row(said: Mapping[str, str | bool], folder: Path) -> Dataset:
    """Return what is said of a graph as a row, with file names relative to a folder."""
    given = {key: value if isinstance(value, str) else "" for key, value in said.items()}
    name, url = given.get("name", ""), given.get("url", "")
    if not name or _NOT_IN_NAMES.search(name):
        raise ParameterError.of("name", "graphs", "letters, digits, - and _", name)
    generator, file = given.get("generator", ""), given.get("file", "")
    if generator:
        file, kind = file or f"{name}.npz", "npz"
    else:
        if not (url or file):
            raise ParameterError(f"the graph {name!r} needs a file, url or generator")
        for flag in _FLAGS:
            if flag not in said:
                raise ParameterError(f"the graph {name!r} needs {flag}: true or false")
        address = urlsplit(url).path.rpartition("/")[2]
        kind = given.get("format") or _format(address or file)
        if kind not in FORMATS:
            raise ParameterError.of("format", name, f"one of {', '.join(FORMATS)}", kind)
        file = (file or address) if url else str(_file(name, folder, file))
    directed, weighted = (_flag(said, flag) for flag in _FLAGS)
    recipe = given.get("weights") or ("as-is" if weighted else "unweighted")
    check_recipe(recipe)
    row = Dataset(
        name=name,
        url=url,
        file=file,
        sha256=given.get("sha256", ""),
        content_sha256=given.get("content_sha256", ""),
        format=kind,
        n=_UNKNOWN,
        m=_UNKNOWN,
        longest=None,
        directed=directed,
        weighted=weighted,
        weights=recipe,
        licence=given.get("licence", ""),
        citation=given.get("citation", ""),
        generator=generator,
    )
    if {"n", "m"} <= said.keys() and (generator or {"sha256", "content_sha256"} <= said.keys()):
        farthest = _whole(given, "longest") if "longest" in given else None
        return replace(row, n=_whole(given, "n"), m=_whole(given, "m"), longest=farthest)
    return replace(row, sha256="", content_sha256="")


def _flag(said: Mapping[str, str | bool], column: str) -> bool:
    """Return a truth value, which the command line of Snakemake and the register give as text."""
    value = said.get(column, True)
    if value not in (True, False, "true", "false"):
        name = str(said["name"])
        raise ParameterError.of(column, name, "true or false", value)
    return value in (True, "true")


def _whole(given: Mapping[str, str], column: str) -> int:
    try:
        return int(given[column])
    except ValueError:
        rule = "a whole number"
        raise ParameterError.of(column, given["name"], rule, given[column]) from None


def _file(name: str, folder: Path, file: str) -> Path:
    """Return the absolute path of a file of the user."""
    for path in (folder / file, folder / "samples" / file):
        if path.is_file():
            return path.resolve()
    raise FileNotFoundError(f"the graph {name!r}: there is no file {folder / file}")


def _source(row: Dataset) -> str:
    return row.generator or row.url or row.file


def _recorded(row: Dataset, record: Path) -> Dataset | None:
    """Return the row of a record if it is of this graph, and of this version of its file."""
    local = Path(row.file)
    if not record.is_file() or (
        local.is_absolute() and local.stat().st_mtime > record.stat().st_mtime
    ):
        return None
    try:
        found = datasets.read_register(record)[row.name]
    except (FormatError, KeyError):
        return None
    if row.n != _UNKNOWN:
        return found if found == row else None
    said = replace(found, n=row.n, m=row.m, longest=row.longest)
    said = replace(said, sha256=row.sha256, content_sha256=row.content_sha256)
    if row.generator:
        said = replace(said, directed=row.directed, weighted=row.weighted)
    return found if said == row else None


def _measured(row: Dataset) -> Dataset:
    """Read or generate a graph, and return its row with the facts."""
    if row.generator:
        graph = datasets.generated(row)
        row = replace(row, directed=graph.directed, weighted=not graph.is_unweighted)
    else:
        path = Path(row.file)
        if row.url:
            raw, source = datasets.contents(row, [])
        else:
            raw, source = path.read_bytes(), row.file
        content = datasets.unpacked(raw, source)
        digests = datasets.digest(raw), datasets.digest(content)
        row = replace(row, sha256=digests[0], content_sha256=digests[1])
        if row.url:
            path = datasets.stored(row, content)
        graph = read(path, format=row.format)
    graph = reweight(graph, row.weights)
    if not row.directed:
        graph = graph.symmetrized()
    return replace(row, n=graph.n, m=graph.m, longest=longest(graph))


def _cell(value: str | int | bool | None) -> str:
    """Return a value as the register spells it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
