"""Matrix Market files, ``.mtx``: entry (i, j) is the weight of the arc i -> j.

This module does not use `scipy.io.mmread`, because that reads the weight ``1.5`` of an integer file
as 1 and ``3x`` as 3, ignores surplus columns, and allocates memory for the sizes in the header
without checking them.

Source: Boisvert, Pozo, Remington: The Matrix Market Exchange Formats, NISTIR 5935 (1996).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pyapsp.graph.io import text
from pyapsp.graph.io.contents import ArcList
from pyapsp.graph.io.source import LineError, Source
from pyapsp.graph.model import Graph

__all__ = ["read", "write"]

# Some writers leave out a sign of the banner, or put blanks before it.
_BANNERS = ("%%matrixmarket", "%matrixmarket")
_DTYPES = {
    "real": np.float64,
    "double": np.float64,
    "integer": np.int64,
    "unsigned-integer": np.int64,
    "pattern": np.int64,
}


@dataclass(frozen=True)
class _Header:
    layout: str  # coordinate, array
    field: str  # a key of _DTYPES
    symmetry: str  # general, symmetric, skew-symmetric
    line: int  # number of the line with the sizes
    n: int
    entries: int  # lines that follow


def read(source: Source) -> ArcList:
    """Read a square matrix: general and skew-symmetric are directed, symmetric is undirected.

    Row i is the vertex i + 1 of the file. Stored zeros are arcs of weight zero in the
    coordinate layout, and no arcs in the array layout. Pattern files have weights 1.

    Raises
    ------
    LineError
        Naming the line that breaks the format, or the last one when entries are missing.
    """
    lines = source.lines()
    banner = _banner(lines)
    line = _sizes_line(lines)
    body = [entry for entry in lines[line:] if entry and not entry.isspace()]
    header = _header(lines, banner, line, len(body))
    columns = [("row", "i8"), ("column", "i8")] if header.layout == "coordinate" else []
    try:
        table = text.table(
            body, columns, weighted=header.field != "pattern", may_round=header.field != "integer"
        )
    except ValueError:
        raise _fault(lines, header) from None
    dtype = _DTYPES[header.field]
    weights = np.ones(len(table), dtype)
    if header.field != "pattern":
        if dtype is np.int64 and table["weight"].dtype.kind != "i":
            raise _fault(lines, header)
        weights = table["weight"].astype(dtype)
    if len(table) != header.entries or text.not_weights(weights):
        raise _fault(lines, header)
    directed = header.symmetry != "symmetric"
    labels = text.numbers_from_one(header.n)
    if header.layout == "array":
        matrix = _square(header, weights)
        tails, heads = np.nonzero(matrix)
        return ArcList(header.n, tails, heads, matrix[tails, heads], labels, directed)
    ends = np.stack([table["row"], table["column"]])
    if ((ends < 1) | (ends > header.n)).any():
        raise _fault(lines, header)
    tails, heads = ends - 1
    if header.symmetry == "skew-symmetric":
        if (tails == heads).any():
            raise _fault(lines, header)
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        weights = np.concatenate([weights, -weights])
    return ArcList(header.n, tails, heads, weights, labels, directed)


def write(graph: Graph, path: Path) -> None:
    """Write the coordinate layout; undirected graphs as symmetric; labels are not kept."""
    tails, heads, _ = graph.arcs()
    weights = text.weight_texts(graph)
    field = "integer" if graph.dtype.kind == "i" else "real"
    if field == "integer" and graph.is_unweighted:
        field, weights = "pattern", [""] * graph.m
    entries = [
        f"{tail} {head} {weight}".rstrip()
        for tail, head, weight in zip(
            (tails + 1).tolist(), (heads + 1).tolist(), weights, strict=True
        )
        if graph.directed or tail >= head
    ]
    symmetry = "general" if graph.directed else "symmetric"
    head_lines = [
        f"%%MatrixMarket matrix coordinate {field} {symmetry}",
        f"{graph.n} {graph.n} {len(entries)}",
    ]
    text.write_lines(path, [*head_lines, *entries])


def _banner(lines: list[str]) -> tuple[str, str, str]:
    fields = lines[0].lower().split() if lines else []
    if len(fields) != 5 or fields[0] not in _BANNERS or fields[1] != "matrix":
        rule = "'%%MatrixMarket matrix <layout> <field> <symmetry>'"
        raise LineError(1, f"the first line must be {rule}")
    layout, field, symmetry = fields[2:]
    if layout not in ("coordinate", "array"):
        raise LineError(1, f"the layout must be coordinate or array, not {layout}")
    if field not in _DTYPES or (layout == "array" and field == "pattern"):
        raise LineError(1, f"{field} entries are no weights")
    if symmetry not in ("general", "symmetric", "skew-symmetric"):
        raise LineError(1, f"a graph cannot come from a {symmetry} matrix")
    return layout, field, symmetry


def _is_comment(line: str) -> bool:
    return line.lstrip()[:1] in "%"  # "" is in it, too


def _sizes_line(lines: list[str]) -> int:
    for number, line in enumerate(lines, start=1):
        if not _is_comment(line):
            return number
    raise LineError(len(lines), "the line with the sizes is missing")


def _header(lines: list[str], banner: tuple[str, str, str], line: int, found: int) -> _Header:
    layout, field, symmetry = banner
    fields = lines[line - 1].split()
    expected = "<rows> <columns> <entries>" if layout == "coordinate" else "<rows> <columns>"
    if len(fields) != len(expected.split()):
        raise LineError(line, f"expected '{expected}', not {lines[line - 1]!r}")
    n, columns, *entries = text.announced(line, fields, found)
    if columns != n:
        raise LineError(line, f"the matrix must be square, not {n} by {columns}")
    triangles = {
        "general": n * n,
        "symmetric": n * (n + 1) // 2,
        "skew-symmetric": n * (n - 1) // 2,
    }
    count = entries[0] if entries else triangles[symmetry]
    return _Header(layout, field, symmetry, line, n, count)


def _square(header: _Header, values: np.ndarray) -> np.ndarray:
    """Return the values of an array file, which are in column-major order, as a matrix."""
    n = header.n
    if header.symmetry == "general":
        return values.reshape(n, n).T
    sign, offset = (1, 0) if header.symmetry == "symmetric" else (-1, 1)
    matrix = np.zeros((n, n), values.dtype)
    columns, rows = np.triu_indices(n, offset)
    matrix[columns, rows] = sign * values
    matrix[rows, columns] = values
    return matrix


def _fault(lines: list[str], header: _Header) -> LineError:
    pattern = header.field == "pattern"
    expected = [] if header.layout == "array" else ["<row>", "<column>"]
    expected += [] if pattern else ["<weight>"]
    number = seen = 0

    def check(line: str) -> None:
        nonlocal number, seen
        number += 1
        if number <= header.line or not line or line.isspace():
            return
        seen += 1
        if seen > header.entries:
            raise ValueError(f"more entries than the {header.entries} announced")
        fields = line.split()
        if len(fields) != len(expected):
            raise ValueError(f"expected '{' '.join(expected)}', not {line!r}")
        if header.layout == "coordinate":
            text.vertex(fields[0], header.n)
            text.vertex(fields[1], header.n)
            if header.symmetry == "skew-symmetric" and int(fields[0]) == int(fields[1]):
                raise ValueError("the diagonal of a skew-symmetric matrix has no entries")
        if _DTYPES[header.field] is np.int64 and not pattern:
            text.integer(fields[-1], "a weight")
        elif not pattern:
            text.weight(fields[-1])

    return text.locate(
        lines,
        check,
        lambda: f"the file ends after {seen} of {header.entries} entries",
    )
