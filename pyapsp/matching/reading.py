"""The file formats of RI and APPAGATO: networks (``.gfu``, ``.gfd``) and similarity matrices."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import FormatError, GraphError
from pyapsp.base.files import check_name
from pyapsp.base.spelling import is_plain
from pyapsp.graph.rows import has_reverse
from pyapsp.matching.network import Network

__all__ = ["read_network", "read_similarity", "write_network"]


def read_network(path: str | os.PathLike[str]) -> Network:
    """Read a network.

    Parameters
    ----------
    path : path-like
        The lines of the file are ``#`` and the name, the number of vertices, a label for each
        vertex, the number of edges, and two vertex numbers from 0 for each edge; loops are left
        out. A ``.gfd`` file is directed, so each edge must be there in both directions. In any
        other file, for instance ``.gfu``, once is enough.

    Returns
    -------
    Network
        Its labels are text. If all are different, they are also the names of the vertices.

    Raises
    ------
    FormatError
        The file is different, or is directed and has an arc without its reverse, for which a
        `Network` has no place. The message has the line.
    OSError
        The file cannot be read.
    """
    lines = _lines(path, "read_network")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or not lines[0].startswith("#"):
        raise FormatError(path, 1, "the first line must be '#' and the name of the network")
    n = _number(path, lines, 1, "the number of vertices")
    if n == 0:
        raise FormatError(path, 2, "a network needs a vertex")
    labels = [line.strip() for line in lines[2 : 2 + n]]
    if len(labels) < n:
        raise FormatError(path, None, f"{n} vertices, but the file ends after {len(labels)} labels")
    for row, label in enumerate(labels, start=3):
        if not label:
            raise FormatError(path, row, "the label is missing")
    m = _number(path, lines, 2 + n, "the number of edges")
    rows = lines[3 + n :]
    if len(rows) != m:
        raise FormatError(path, None, f"{m} edges, but {len(rows)} lines with edges")
    edges = np.empty((m, 2), np.int64)
    for row, line in enumerate(rows):
        ends = line.split()
        if len(ends) != 2 or not all(map(_is_number, ends)):
            raise FormatError(path, row + 4 + n, f"two vertex numbers, not {line[:60]!r}")
        edges[row] = [int(end) for end in ends]
        if edges[row].max() >= n:
            raise FormatError(path, row + 4 + n, f"the vertices are 0 to {n - 1}, not {line[:60]}")
    if _is_directed(path) and (at := _one_way(edges, n)) is not None:
        tail, head = edges[at].tolist()
        message = (
            f"the arc {tail} {head} has no reverse: a .gfd file is directed, and networks are not. "
            "Name the file .gfu if directions may be ignored"
        )
        raise FormatError(path, at + 4 + n, message)
    names = labels if len(set(labels)) == n else None
    try:
        return Network.from_edges(edges, labels, vertices=names, name=lines[0][1:].strip())
    except GraphError as error:
        raise FormatError(path, None, str(error)) from None


def _is_directed(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() == ".gfd"


def _one_way(edges: NDArray[np.int64], n: int) -> int | None:
    """Return the place of the first pair whose reverse is not there."""
    tails, heads = edges.T
    alone = ~has_reverse(tails, heads, n)
    return int(alone.argmax()) if alone.any() else None


def _lines(path: str | os.PathLike[str], reader: str) -> list[str]:
    try:
        return check_name(path, reader).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(path, None, f"no text: {error}") from None


def _number(path: str | os.PathLike[str], lines: list[str], at: int, what: str) -> int:
    text = lines[at].strip() if at < len(lines) else ""
    if not _is_number(text):
        raise FormatError(path, at + 1, f"this line must be {what}, not {text[:60]!r}")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 11


def write_network(network: Network, path: str | os.PathLike[str]) -> None:
    """Write a network, in the format that `read_network` reads.

    Each edge is there once, in a ``.gfd`` file in both directions.

    Raises
    ------
    GraphError
        A label is no text: the file does not tell types. Or a label or the name is empty, or does
        not fit in a line.
    OSError
        The file cannot be written.
    """
    from pyapsp.base.files import atomic_write

    for label in network.labels.tolist():
        if not isinstance(label, str):
            raise GraphError(f"the label {label!r} is no text, and the format holds only text")
        if not label.strip() or len(label.splitlines()) != 1:
            raise GraphError(f"the label {label!r} does not fit in a line")
    if len(f"#{network.name}".splitlines()) != 1:
        raise GraphError(f"the name {network.name!r} does not fit in a line")
    pairs = network.edges
    if _is_directed(path):
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    lines = [f"#{network.name}", str(network.n), *network.labels.tolist(), str(len(pairs))]
    lines += [f"{u} {v}" for u, v in pairs.tolist()]
    with atomic_write(path) as file:
        file.write("\n".join(lines) + "\n")


def read_similarity(
    path: str | os.PathLike[str], shape: tuple[int, int] | None = None
) -> NDArray[np.float64]:
    """Read a similarity matrix: a line for each query node, a number for each target vertex.

    Parameters
    ----------
    path : path-like
    shape : tuple of int, optional
        Number of query nodes and target vertices that the matrix must have.

    Returns
    -------
    (nodes, n) float64 ndarray

    Raises
    ------
    FormatError
        An entry is no number from 0 to 1, lines differ in length, or the shape is another one.
    OSError
        The file cannot be read.
    """
    lines = _lines(path, "read_similarity")
    rows: list[NDArray[np.float64]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        words = line.split()
        try:
            row = np.array(words, np.float64)
        except ValueError:
            row = None
        if row is None or not all(map(is_plain, words)):
            raise FormatError(path, number, "an entry is no number")
        wrong = np.flatnonzero(~((row >= 0) & (row <= 1)))
        if wrong.size:
            entry = words[wrong[0]][:60]
            raise FormatError(path, number, f"entry {wrong[0] + 1} is {entry}, not from 0 to 1")
        if rows and rows[0].size != row.size:
            raise FormatError(path, number, f"{row.size} entries, but {rows[0].size} before")
        rows.append(row)
    if not rows:
        raise FormatError(path, None, "the matrix is empty")
    matrix = np.stack(rows)
    if shape is not None and matrix.shape != shape:
        raise FormatError(path, None, f"the shape is {matrix.shape}, not {shape}")
    return matrix
