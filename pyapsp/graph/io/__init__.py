"""Reading and writing graphs; the suffix of the file name decides the format."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import EllipsisType
from typing import Protocol

import numpy as np

from pyapsp.base.errors import FormatError, GraphError, NamesWarning, ParameterError
from pyapsp.base.files import check_name, unpacked
from pyapsp.graph import validation
from pyapsp.graph.convert import reweight
from pyapsp.graph.io import dimacs, edge_list, matrix_market, metis, npz
from pyapsp.graph.io.contents import ArcList, Contents, graph_of
from pyapsp.graph.io.source import LineError, Source
from pyapsp.graph.model import Graph

__all__ = ["FORMATS", "SUFFIXES", "check_format", "read", "read_columns", "write"]


class _Format(Protocol):
    """A module with a reader and a writer."""

    @property
    def read(self) -> Callable[..., Contents]: ...

    def write(self, graph: Graph, path: Path) -> None: ...


_FORMATS: dict[str, _Format] = {
    ".mtx": matrix_market,
    ".gr": dimacs,
    ".txt": edge_list,
    ".csv": edge_list,
    ".tsv": edge_list,
    ".graph": metis,
}
#: The names of the formats: their suffixes, without the dot.
FORMATS = (*(suffix[1:] for suffix in _FORMATS), "npz")
_FORMATS |= {f"{suffix}.gz": module for suffix, module in _FORMATS.items()}
_FORMATS[".npz"] = npz

SUFFIXES = tuple(_FORMATS)

# Formats in which the vertices have no names.
_NUMBERED: tuple[_Format, ...] = (matrix_market, dimacs, metis)


def read(
    path: str | os.PathLike[str],
    directed: bool | None = None,
    *,
    weight: str | EllipsisType | None = ...,
    format: str | None = None,  # noqa: A002
    **options: bool | None,
) -> Graph:
    """Read a graph from a file.

    Parameters
    ----------
    path : path-like
        ``.mtx`` (Matrix Market), ``.gr`` (DIMACS shortest paths), ``.txt .csv .tsv`` (edge
        lists), ``.graph`` (METIS), each also ``.gz``; ``.npz``.
    directed : bool, optional
        None: the file decides. Symmetric ``.mtx`` files and ``.graph`` files are undirected,
        ``.npz`` files have the direction of the saved graph, edge lists may have a column ``Type``
        or ``directed`` or a first comment with it, and all other files are directed. False makes
        the graph undirected; each edge gets the smaller weight of its two arcs. True makes it
        directed, with two arcs for each edge.
    weight : str or None, optional
        The name of the column with the weight, for edge lists with a header. None: all weights
        are 1. By default the file decides.
    format : {"mtx", "gr", "txt", "csv", "tsv", "graph", "npz"}, optional
        The format, where the suffix of the file does not tell it. Data may be compressed by gzip.
    **options
        For edge lists: ``weighted`` (bool), whether there are weights. By default there are if a
        column has such a name, or if columns have no names and there is a third one.

    Returns
    -------
    Graph
        Its name is that of the file. Of duplicate arcs the one with the smallest weight is kept.
        In edge lists the vertices 0..n-1 are the ids in sorted order, and the ids become the
        labels: integers, or strings if one id is no integer or is written as 01234. In formats
        that number their vertices 1..n, row i is the vertex i + 1.

    Raises
    ------
    FormatError
        The file violates its format, its suffix is unknown, or it does not fit in memory.
    ParameterError
        The format has no such option, `directed` is no bool, or `path` is no name of a file.
    OSError
        The file cannot be read.
    """
    if directed is not None:
        directed = validation.flag("directed", "read", directed)
    path = check_name(path, "read")
    module, source = _source(path, format)
    known = list(inspect.signature(module.read).parameters)[1:]
    for option in options:
        if option not in known:
            rule = f"one of {known}" if known else "absent for this format"
            raise ParameterError.of("options", "read", rule, option)
    weighted, chosen = options.get("weighted"), dict[str, bool | str | None](options)
    if weighted not in (None, True, False):
        raise ParameterError.of("weighted", "read", "True, False or None", weighted)
    if isinstance(weight, str) or (weight is None and "weighted" in known):
        if "weighted" not in known or weighted is not None:
            rule = "None for this format, or absent beside 'weighted'"
            raise ParameterError.of("weight", "read", rule, weight)
        chosen["weighted"] = False if weight is None else weight
    elif weight not in (None, ...):
        raise ParameterError.of("weight", "read", "the name of a column or None", weight)
    with _faults_of(path):
        graph = graph_of(module.read(source, **chosen), unpacked(path).stem)
    if weight is None and "weighted" not in known:
        graph = reweight(graph, "unweighted")
    if directed is None or directed == graph.directed:
        return graph
    if not directed:
        return graph.symmetrized()
    return Graph(graph.indptr, graph.indices, graph.weights, labels=graph.labels, name=graph.name)


def read_columns(
    path: str | os.PathLike[str],
    first: str | EllipsisType | None,
    second: str,
    *,
    form: str | None = None,
) -> tuple[ArcList, np.ndarray]:
    """Read the arcs of an edge list, parallel ones too, with two weights.

    Parameters
    ----------
    path : path-like
    form : str, optional
        As `path` and `format` of `read`.
    first : str or None
        The name of the column with the weights of the arcs, as for `read`.
    second : str
        The name of the column with the other weights.

    Returns
    -------
    ArcList
    ndarray, shape (arcs,)
        The other weights.

    Raises
    ------
    FormatError, OSError
        As for `read`; also for a file with the costs of reverse arcs.
    ParameterError
        The file is no edge list.
    """
    path = check_name(path, "read")
    module, source = _source(path, form)
    if module is not edge_list:
        raise ParameterError(f"{path}: only edge lists have columns, such as {second!r}")
    chosen = first if isinstance(first, str) else False if first is None else None
    with _faults_of(path):
        one, other = (edge_list.read(source, weighted=name) for name in (chosen, second))
    if other.weights is None or not np.array_equal(one.tails, other.tails):
        raise FormatError(path, None, f"{second!r} is no second weight of the same arcs")
    return one, other.weights


@contextmanager
def _faults_of(path: Path) -> Iterator[None]:
    """Raise what a reader raises with the name of the file."""
    try:
        yield
    except LineError as fault:
        raise fault.of(path) from None
    except MemoryError:
        raise FormatError(path, None, "the memory does not suffice for this graph") from None


def _source(path: Path, name: str | None) -> tuple[_Format, Source]:
    """Return the module of a format, and the file for it."""
    if name is None:
        return _module(path, "; or name the format"), Source(path, unpacked(path).suffix)
    if name not in FORMATS:
        raise ParameterError.of("format", "read", f"one of {', '.join(FORMATS)}", name)
    return _FORMATS[f".{name}"], Source(path, f".{name}", has_suffix=False)


def write(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write a graph to a file, in the format of its suffix. After an error there is no new file.

    Only ``.npz`` keeps all attributes of a :class:`Graph`. Edge lists keep the labels. The other
    formats number the vertices 1..n: if the labels are others, there is a `NamesWarning`. ``.mtx``
    and ``.graph`` files can be undirected.

    Parameters
    ----------
    graph : Graph
        The graph.
    path : path-like
        A file to create or replace, with a suffix that :func:`read` knows.

    Raises
    ------
    FormatError
        The suffix is unknown.
    GraphError
        `graph` is of another type, or the format cannot represent it.
    ParameterError
        `path` is no name of a file.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import pyapsp, tempfile
    >>> graph = pyapsp.Graph.from_arcs(3, [0, 1], [1, 2], [5, 7])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyapsp.write(graph, f"{folder}/graph.npz")
    ...     pyapsp.read(f"{folder}/graph.npz").weights
    array([5, 7])
    """
    if not isinstance(graph, Graph):
        raise GraphError(
            f"a pyapsp.Graph is written, not an object of type {type(graph).__name__}: "
            "pyapsp.graph.as_graph makes one of it"
        )
    target = check_name(path, "write")
    module = _module(target)
    module.write(graph, target)
    if module in _NUMBERED and not _is_numbered(graph):
        warnings.warn(
            f"{target}: the names of the vertices are left out, because this format numbers the "
            "vertices 1 to n; .npz and edge lists keep names",
            NamesWarning,
            stacklevel=2,
        )


def _is_numbered(graph: Graph) -> bool:
    """Return whether the vertices have no names, or the names 1..n."""
    return graph.labels is None or np.array_equal(graph.labels, np.arange(1, graph.n + 1))


def check_format(path: str | os.PathLike[str]) -> None:
    """Raise a FormatError if :func:`write` does not know the suffix of a file."""
    _module(Path(path))


def _module(path: Path, hint: str = "") -> _Format:
    """Return the module of a format."""
    for suffix, module in _FORMATS.items():
        if path.name.endswith(suffix):
            return module
    raise FormatError(path, None, f"unknown suffix; known are {' '.join(SUFFIXES)}{hint}")
