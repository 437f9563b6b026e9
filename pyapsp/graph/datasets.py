"""The registered graphs: their sources, and how verified copies are fetched.

The register is ``data/datasets.csv``. The tiny graphs of ``data/samples`` come with the package,
and some graphs are generated. The others are searched for in the cache (``PYAPSP_CACHE``, or the
user's cache directory), then in the mirror ``PYAPSP_DATA_MIRROR`` (a folder or a URL), then at
their official address.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Callable
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

__all__ = ["Dataset", "fetch", "get", "load", "names"]

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
        Name of the file in a mirror.
    sha256 : str
        Digest of that file.
    content_sha256 : str
        Digest of its decompressed content. Both are empty for generated graphs.
    format : str
        Suffix of the decompressed file, without the dot.
    n, m : int
        Vertices and stored arcs, as :func:`load` gives them.
    longest : int or None
        The largest finite distance, rounded up; None where a weight is negative.
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


def names() -> list[str]:
    """Return the names of all registered graphs."""
    return list(_register())


def get(name: str) -> Dataset:
    """Return a row of the register.

    Raises
    ------
    ParameterError
        There is no such name.
    """
    try:
        return _register()[name]
    except KeyError:
        known = names()
        rule = f"one of {', '.join(known)}"
        raise ParameterError.of("name", "datasets", rule, name, known) from None


def load(name: str, weights: str | None = None) -> Graph:
    """Fetch and read a registered graph.

    Parameters
    ----------
    name : str
        A name of the register.
    weights : str, optional
        A recipe of :func:`pyapsp.graph.reweight`. None: the recipe of the register, with which
        shortest paths exist. ``"as-is"``: the weights of the file.

    Raises
    ------
    ParameterError, FormatError, FileNotFoundError
        As :func:`fetch`.
    """
    dataset = get(name)
    found = _generated(dataset) if dataset.generator else read(fetch(name))
    graph = reweight(found, dataset.weights if weights is None else weights)
    return graph if dataset.directed else graph.symmetrized()


def fetch(name: str, to: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of a verified, decompressed copy of a registered graph.

    Parameters
    ----------
    name : str
        A name of the register.
    to : path-like, optional
        Path of a copy to write; its suffix must be that of the dataset's format. None: no copy is
        made, and the path is that in the samples or in the cache.

    Raises
    ------
    ParameterError
        There is no such name, or `to` has another suffix.
    FormatError
        A file was found, but its digest is not the registered one. The file is not stored.
    FileNotFoundError
        The graph was not found; the message lists every place.
    """
    dataset = get(name)
    if to is not None and Path(to).suffix != f".{dataset.format}":
        raise ParameterError.of("to", "fetch", f"a path that ends in .{dataset.format}", str(to))
    if dataset.generator:
        path = Path(to or _cache_folder() / dataset.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(_generated(dataset), path)
        return path
    path = _found(dataset)
    if to is None:
        return path
    with atomic_write(to, "wb") as file:
        file.write(path.read_bytes())
    return Path(to)


def _generated(dataset: Dataset) -> Graph:
    """Call the generator of a graph, and name it as the register does."""
    function, *arguments = dataset.generator.split()
    given = (argument.split("=") for argument in arguments)
    made = getattr(generators, function)(**{key: int(value) for key, value in given})
    return Graph(made.indptr, made.indices, made.weights, directed=made.directed, name=dataset.name)


def _found(dataset: Dataset) -> Path:
    for sample in _data_folders():
        path = sample / "samples" / dataset.file
        if path.is_file():
            _verified(dataset, path.read_bytes(), str(path))
            return path
    cached = _cache_folder() / f"{dataset.name}.{dataset.format}"
    if cached.is_file() and _digest(cached.read_bytes()) == dataset.content_sha256:
        return cached
    tried = [f"{cached}: not there, or not the registered content"]
    for source in _sources(dataset):
        try:
            raw = _contents(source)
        except (OSError, ValueError) as error:
            tried.append(f"{source}: {error}")
            continue
        content = _verified(dataset, raw, source)
        cached.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(cached, "wb") as file:
            file.write(content)
        return cached
    raise FileNotFoundError(
        f"{dataset.name} was found nowhere. Tried:\n  "
        + "\n  ".join(tried)
        + "\nSet PYAPSP_DATA_MIRROR to a folder or URL with the file, or connect to the network."
    )


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


def _verified(dataset: Dataset, raw: bytes, source: str) -> bytes:
    """Return the decompressed content, after comparing it with the register."""
    try:
        content = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(source, None, f"damaged gzip data: {error}") from None
    if _digest(raw) == dataset.sha256 or _digest(content) == dataset.content_sha256:
        return content
    raise FormatError(
        source,
        None,
        f"this is not the registered copy of {dataset.name}.\n"
        f"  sha256 of the file:    {_digest(raw)}, registered {dataset.sha256}\n"
        f"  sha256 of its content: {_digest(content)}, registered {dataset.content_sha256}\n"
        "If this is the official file in a newer version, please report both digests, so that "
        "they can be recorded in datasets.csv.",
    )


def _digest(content: bytes) -> str:
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


@cache
def _register() -> dict[str, Dataset]:
    path = next(p for f in _data_folders() if (p := f / "datasets.csv").is_file())
    parse: dict[str, Callable[[str], Any]] = {
        "int": int,
        "int | None": lambda text: int(text) if text else None,
        "bool": lambda text: text == "true",
        "str": str,
    }
    with open(path, encoding="utf-8", newline="") as file:
        return {
            row["name"]: Dataset(
                **{field.name: parse[str(field.type)](row[field.name]) for field in fields(Dataset)}
            )
            for row in csv.DictReader(file)
        }
