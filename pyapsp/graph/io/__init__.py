"""Reading and writing graphs, by the suffix of the file's name."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

from pyapsp.errors import FormatError, ParameterError
from pyapsp.graph import validation
from pyapsp.graph.io import dimacs, edge_list, matrix_market, metis, npz
from pyapsp.graph.model import Graph

__all__ = ["SUFFIXES", "read", "write"]

_FORMATS: dict[str, Any] = {
    ".mtx": matrix_market,
    ".gr": dimacs,
    ".txt": edge_list,
    ".csv": edge_list,
    ".tsv": edge_list,
    ".graph": metis,
}
_FORMATS |= {f"{suffix}.gz": module for suffix, module in _FORMATS.items()}
_FORMATS[".npz"] = npz

SUFFIXES = tuple(_FORMATS)


def read(path: str | os.PathLike[str], directed: bool | None = None, **options: Any) -> Graph:
    """Read a graph from a file.

    Parameters
    ----------
    path : path-like
        ``.mtx`` (Matrix Market), ``.gr`` (DIMACS shortest paths), ``.txt .csv .tsv`` (edge
        lists), ``.graph`` (METIS), each also ``.gz``; ``.npz``.
    directed : bool, optional
        None: what the file says (symmetric ``.mtx`` and ``.graph`` are undirected, ``.npz`` is
        as it was saved, edge lists may say so in a column ``Type`` or in a first comment; the
        others are directed). False makes the graph undirected with the smaller weight of the two
        arcs; True keeps both arcs of each edge as arcs.
    **options
        Edge lists: ``weighted`` (bool), whether there are weights; by default the file says, by
        the names of its columns or by a third one.

    Returns
    -------
    Graph
        Named after the file. Duplicate arcs count as the one of smallest weight. In edge lists
        the sorted ids are the vertices and stay as labels; in the formats that number their
        vertices 1..n, row i is the vertex i + 1.

    Raises
    ------
    FormatError
        The file breaks its format, or its suffix is not known, or the memory does not suffice.
    ParameterError
        The format has no such option, or `directed` is no bool.
    OSError
        The file cannot be read.
    """
    if directed is not None:
        directed = validation.flag("directed", "read", directed)
    module = _module(path)
    known = list(inspect.signature(module.read).parameters)[1:]
    for option in options:
        if option not in known:
            rule = f"one of {known}" if known else "absent for this format"
            raise ParameterError.of("options", "read", rule, option)
    try:
        graph: Graph = module.read(Path(path), **options)
    except MemoryError:
        raise FormatError(path, None, "the memory does not suffice for this graph") from None
    if directed is None or directed == graph.directed:
        return graph
    if not directed:
        return graph.symmetrized()
    return Graph(graph.indptr, graph.indices, graph.weights, labels=graph.labels, name=graph.name)


def write(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write a graph to a file, in the format of its suffix; the whole file or nothing.

    Only ``.npz`` holds all that a :class:`Graph` does; labels are also kept by edge lists, and
    ``.mtx`` and ``.graph`` know undirected graphs.

    Parameters
    ----------
    graph : Graph
        The graph.
    path : path-like
        A file to create or replace, with a suffix that :func:`read` knows.

    Raises
    ------
    FormatError
        The suffix is not known.
    GraphError
        The format cannot hold this graph.
    OSError
        The file cannot be written.
    """
    _module(path).write(graph, Path(path))


def _module(path: str | os.PathLike[str]) -> Any:
    name = Path(path).name
    for suffix, module in _FORMATS.items():
        if name.endswith(suffix):
            return module
    raise FormatError(path, None, f"unknown suffix; known are {' '.join(SUFFIXES)}")
