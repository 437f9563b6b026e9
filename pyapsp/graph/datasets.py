"""The registered graphs: their sources, and how verified copies are fetched.

The register is ``data/datasets.csv``; a user's file of this form can be given in addition. The tiny
graphs of ``data/samples`` come with the package, and some graphs are generated. The others are
searched for in the cache (``PYAPSP_CACHE``, or the user's cache directory), then in the mirror
``PYAPSP_DATA_MIRROR`` (a folder or a URL), then at their official address.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import inspect
import os
import tempfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from pyapsp.base.errors import FormatError, ParameterError
from pyapsp.base.files import atomic_write
from pyapsp.graph import generators
from pyapsp.graph.convert import reweight
from pyapsp.graph.io import read, write
from pyapsp.graph.model import Graph

__all__ = ["Dataset", "fetch", "get", "load", "names", "read_register"]

_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Dataset:
    """One row of the register.

    Attributes
    ----------
    name : str
        Name in the register.
    url : str
        Official address; empty for samples that come with the package, and generated graphs.
    file : str
        Name of the file in a mirror, or the path of a file of the user.
    sha256 : str
        Digest of that file.
    content_sha256 : str
        Digest of its decompressed content. Both are empty for generated graphs.
    format : str
        Suffix of the decompressed file, without the dot.
    n, m : int
        Vertices and stored arcs, as :func:`load` gives them.
    longest : int or None
        The largest finite distance, rounded up, or for a large graph of the user an upper bound of
        it; None where a weight is negative.
    directed, weighted : bool
        Whether arcs have one direction, and whether the file has weights.
    weights : str
        The recipe of :func:`pyapsp.graph.reweight` with which shortest paths exist.
    licence, citation : str
        Terms of use, and the work to cite.
    generator : str
        For generated graphs, the function of :mod:`pyapsp.graph.generators` and its arguments:
        ``"grid_2d rows=50 columns=50 seed=1"``. Empty for the others.
    """

    name: str
    url: str
    file: str
    sha256: str
    content_sha256: str
    format: str
    n: int
    m: int
    longest: int | None
    directed: bool
    weighted: bool
    weights: str
    licence: str
    citation: str
    generator: str = ""


def read_register(path: str | os.PathLike[str]) -> dict[str, Dataset]:
    """Return the rows of a file of the form of ``data/datasets.csv``, by their names.

    Raises
    ------
    FormatError
        A column is missing, or a value has another type.
    OSError
        The file cannot be read.
    """
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        known = rows.fieldnames or ()
        for field in fields(Dataset):
            if field.name not in known:
                raise FormatError(path, 1, f"there is no column {field.name!r}")
        found = [_parsed(row, path, rows.line_num) for row in rows]
    return {row.name: row for row in found}


def names(register: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the names of all registered graphs.

    Parameters
    ----------
    register : path-like, optional
        A file for `read_register`, whose graphs come before those of the package.
    """
    return list(_rows(register))


def get(name: str, register: str | os.PathLike[str] | None = None) -> Dataset:
    """Return a row of the register.

    Parameters
    ----------
    name : str
        A name of the register.
    register : path-like, optional
        As in :func:`names`.

    Raises
    ------
    ParameterError
        There is no such name.
    """
    rows = _rows(register)
    try:
        return rows[name]
    except KeyError:
        known = list(rows)
        rule = f"one of {', '.join(known)}"
        raise ParameterError.of("name", "datasets", rule, name, known) from None


def load(
    name: str, weights: str | None = None, register: str | os.PathLike[str] | None = None
) -> Graph:
    """Fetch and read a registered graph.

    Parameters
    ----------
    name : str
        A name of the register.
    weights : str, optional
        A recipe of :func:`pyapsp.graph.reweight`. None: the recipe of the register, with which
        shortest paths exist. ``"as-is"``: the weights of the file.
    register : path-like, optional
        As in :func:`names`.

    Raises
    ------
    ParameterError, FormatError, FileNotFoundError
        As :func:`fetch`.
    """
    dataset = get(name, register)
    if dataset.generator:
        found = generated(dataset)
    else:
        found = read(_found(dataset), format=dataset.format)
    graph = reweight(found, dataset.weights if weights is None else weights)
    return graph if dataset.directed else graph.symmetrized()


def fetch(
    name: str,
    to: str | os.PathLike[str] | None = None,
    register: str | os.PathLike[str] | None = None,
) -> Path:
    """Return the path of a verified, decompressed copy of a registered graph.

    Parameters
    ----------
    name : str
        A name of the register.
    to : path-like, optional
        Path of a copy to write; its suffix must be that of the dataset's format. None: no copy is
        made, and the path is that in the samples, in the cache, or of the user.
    register : path-like, optional
        As in :func:`names`.

    Raises
    ------
    ParameterError
        There is no such name, or `to` has another suffix.
    FormatError
        A file was found, but its digest is not the registered one. The file is not stored.
    FileNotFoundError
        The graph was not found; the message lists every place.
    """
    dataset = get(name, register)
    if to is not None and Path(to).suffix != f".{dataset.format}":
        raise ParameterError.of("to", "fetch", f"a path that ends in .{dataset.format}", str(to))
    if dataset.generator:
        path = Path(to or _cache_folder() / dataset.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(generated(dataset), path)
        return path
    path = _found(dataset)
    if to is None:
        return path
    with atomic_write(to, "wb") as file:
        file.write(path.read_bytes())
    return Path(to)


def generated(dataset: Dataset) -> Graph:
    """Call the generator of a graph, and name it as the register does.

    Raises
    ------
    ParameterError
        There is no such generator, or it has no such parameters.
    """
    function, *arguments = dataset.generator.split()
    if function not in generators.__all__:
        rule = f"one of {', '.join(generators.__all__)}"
        raise ParameterError.of("generator", dataset.name, rule, function, generators.__all__)
    call = getattr(generators, function)
    given = dict(argument.partition("=")[::2] for argument in arguments)
    try:
        values = {key: _number(value) for key, value in given.items()}
        inspect.signature(call).bind(**values)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"the generator of {dataset.name}, {function}: {error}") from None
    made: Graph = call(**values)
    return Graph(made.indptr, made.indices, made.weights, directed=made.directed, name=dataset.name)


def _number(text: str) -> int | float:
    with suppress(ValueError):
        return int(text)
    return float(text)


def _found(dataset: Dataset) -> Path:
    for folder in _data_folders():
        path = folder / "samples" / dataset.file
        if path.is_file():  # also the absolute path of a file of the user
            raw = path.read_bytes()
            content = _verified(dataset, raw, str(path))
            return path if content == raw else stored(dataset, content)
    cached = _cached(dataset)
    if cached.is_file() and digest(cached.read_bytes()) == dataset.content_sha256:
        return cached
    tried = [f"{cached}: not there, or not the registered content"]
    raw, source = contents(dataset, tried)
    return stored(dataset, _verified(dataset, raw, source))


def contents(dataset: Dataset, tried: list[str]) -> tuple[bytes, str]:
    """Return the bytes of a file from the mirror or its address, and from which of them.

    Raises
    ------
    FileNotFoundError
        It is nowhere; the message lists the places, after those that were tried before.
    """
    for source in _sources(dataset):
        try:
            return _contents(source), source
        except (OSError, ValueError) as error:
            tried.append(f"{source}: {error}")
    raise FileNotFoundError(
        f"{dataset.name} was found nowhere. Tried:\n  "
        + "\n  ".join(tried)
        + "\nSet PYAPSP_DATA_MIRROR to a folder or URL with the file, or connect to the network."
    )


def _cached(dataset: Dataset) -> Path:
    return _cache_folder() / f"{dataset.name}.{dataset.format}"


def stored(dataset: Dataset, content: bytes) -> Path:
    """Write content to the cache, and return the path."""
    path = _cached(dataset)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as file:
        file.write(content)
    return path


def _sources(dataset: Dataset) -> list[str]:
    """Return the paths and URLs to try, the mirror first."""
    sources = []
    mirror = os.environ.get("PYAPSP_DATA_MIRROR")
    if mirror:
        official = dataset.url.rpartition("/")[2]
        for name in dict.fromkeys([dataset.file, official]):
            if name:
                sources.append(
                    f"{mirror.rstrip('/')}/{name}" if _is_url(mirror) else str(Path(mirror, name))
                )
    if dataset.url:
        sources.append(dataset.url)
    return sources


def _is_url(source: str) -> bool:
    return "://" in source


def _contents(source: str) -> bytes:
    if not _is_url(source):
        return Path(source).read_bytes()
    import pooch

    with tempfile.TemporaryDirectory(prefix="pyapsp-") as folder:
        target = Path(folder, "download")
        pooch.downloaders.choose_downloader(source)(source, str(target), None)
        return target.read_bytes()


def unpacked(raw: bytes, source: str) -> bytes:
    """Return content that is decompressed if it was compressed by gzip.

    Raises
    ------
    FormatError
        It is damaged; `source` says where it is from.
    """
    try:
        return gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(source, None, f"damaged gzip data: {error}") from None


def _verified(dataset: Dataset, raw: bytes, source: str) -> bytes:
    """Return the decompressed content, after comparing it with the register."""
    content = unpacked(raw, source)
    if digest(raw) == dataset.sha256 or digest(content) == dataset.content_sha256:
        return content
    raise FormatError(
        source,
        None,
        f"this is not the registered copy of {dataset.name}.\n"
        f"  sha256 of the file:    {digest(raw)}, registered {dataset.sha256}\n"
        f"  sha256 of its content: {digest(content)}, registered {dataset.content_sha256}\n"
        "If this is the official file in a newer version, please report both digests, so that "
        "they can be recorded in datasets.csv.",
    )


def digest(content: bytes) -> str:
    """Return the SHA-256 digest of a register."""
    return hashlib.sha256(content).hexdigest()


def _cache_folder() -> Path:
    configured = os.environ.get("PYAPSP_CACHE")
    if configured:
        return Path(configured, "datasets")
    import platformdirs

    return Path(platformdirs.user_cache_dir("pyapsp"), "datasets")


def _data_folders() -> list[Path]:
    """Return the possible folders of the register: in the installed package, or in a checkout."""
    return [_PACKAGE / "_data", _PACKAGE.parent / "data"]


def _rows(register: str | os.PathLike[str] | None) -> dict[str, Dataset]:
    """Return the rows of a user's register, then those of the package."""
    if register is None:
        return _register()
    own = read_register(register)
    return own | {name: row for name, row in _register().items() if name not in own}


@cache
def _register() -> dict[str, Dataset]:
    return read_register(
        next(path for f in _data_folders() if (path := f / "datasets.csv").is_file())
    )


_PARSERS: dict[str, Callable[[str], str | int | bool | None]] = {
    "int": int,
    "int | None": lambda text: int(text) if text else None,
    "bool": {"true": True, "false": False}.__getitem__,
    "str": str,
}


def _parsed(row: Mapping[str, str | None], path: str | os.PathLike[str], line: int) -> Dataset:
    """Return a row of a register; `line` is its last line in the file."""
    values: dict[str, Any] = {}
    for field in fields(Dataset):
        text = row[field.name] or ""
        try:
            values[field.name] = _PARSERS[str(field.type)](text)
        except (KeyError, ValueError):
            wanted = "true or false" if field.type == "bool" else "a whole number"
            message = f"column {field.name}: {wanted} is expected, not {text!r}"
            raise FormatError(path, line, message) from None
    return Dataset(**values)
