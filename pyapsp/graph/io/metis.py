"""METIS graph files, ``.graph``: line i lists the neighbours of vertex i.

The header is ``n m [fmt [ncon]]`` with m edges; the digits of fmt say whether there are vertex
sizes, vertex weights (ncon of them) and edge weights. Sizes and vertex weights are ignored.
A blank line is a vertex without neighbours; lines that start with ``%`` are comments.

Source: Karypis: METIS 5.1.0 manual, section 4.1.1 (2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import GraphError
from pyapsp.base.spelling import is_plain
from pyapsp.graph.io import text
from pyapsp.graph.io.contents import ArcList
from pyapsp.graph.io.source import LineError, Source
from pyapsp.graph.model import Graph

__all__ = ["read", "write"]


@dataclass(frozen=True)
class _Header:
    line: int
    n: int
    edges: int
    skipped: int  # vertex size and weights before the neighbours
    weighted: bool


def read(source: Source) -> ArcList:
    """Read an undirected graph; row i is the vertex i + 1 of the file.

    Raises
    ------
    LineError
        Naming the line that breaks the format: a neighbour out of range, an edge that is
        listed once or with two weights, a self-loop, wrong counts.
    """
    lines = source.lines()
    header = _header(lines)
    body = [line for line in lines[header.line :] if not line.startswith("%")]
    rows, surplus = body[: header.n], body[header.n :]
    if len(rows) < header.n or any(line.strip() for line in surplus):
        raise _fault(lines, header)
    tokens = [line.split() for line in rows]
    counts = np.array([len(row) for row in tokens], dtype=np.int64) - header.skipped
    width = 1 + header.weighted
    if (counts < 0).any() or (counts % width).any():
        raise _fault(lines, header)
    listed = [token for row in tokens for token in row[header.skipped :]]
    try:
        flat = np.array(listed, dtype=np.int64).reshape(-1, width)
    except (ValueError, OverflowError):
        raise _fault(lines, header) from None
    if not all(map(is_plain, listed)):
        raise _fault(lines, header)
    tails = np.repeat(np.arange(header.n), counts // width)
    heads = flat[:, 0] - 1
    weights = flat[:, 1] if header.weighted else np.ones(len(flat), np.int64)
    if ((heads < 0) | (heads >= header.n) | (heads == tails)).any():
        raise _fault(lines, header)
    single = _single(tails, heads, weights)
    if single is not None:
        tail, head, weight = single
        line = _line_of(lines, header, tail)
        said = f" with weight {weight}" if header.weighted else ""
        raise LineError(
            line, f"vertex {head + 1} does not list the neighbour {tail + 1} back{said}"
        )
    if len(flat) != 2 * header.edges:
        raise LineError(
            header.line,
            f"{header.edges} edges are announced, the file lists {len(flat) // 2}",
        )
    labels = text.numbers_from_one(header.n)
    return ArcList(header.n, tails, heads, weights, labels, directed=False)


def write(graph: Graph, path: Path) -> None:
    """Write an undirected graph without self-loops and with integer weights.

    Labels are not kept.

    Raises
    ------
    GraphError
        The format cannot represent the graph.
    """
    tails, heads, _ = graph.arcs()
    if not graph.is_symmetric:
        raise GraphError("a METIS file holds undirected graphs only; use .gr, .mtx or .npz")
    if (tails == heads).any():
        loop = int(tails[(tails == heads).argmax()])
        raise GraphError(f"a METIS file cannot hold the self-loop of vertex {loop}")
    weights = text.weight_texts(graph, whole=True)
    items = [str(head + 1) for head in heads.tolist()]
    if not graph.is_unweighted:
        items = [f"{item} {weight}" for item, weight in zip(items, weights, strict=True)]
    starts = graph.indptr.tolist()
    rows = [" ".join(items[starts[i] : starts[i + 1]]) for i in range(graph.n)]
    header = f"{graph.n} {graph.m // 2}" + ("" if graph.is_unweighted else " 001")
    text.write_lines(path, [header, *rows])


def _header(lines: list[str]) -> _Header:
    number = next((i for i, line in enumerate(lines, 1) if not line.startswith("%")), None)
    if number is None:
        raise LineError(max(len(lines), 1), "there is no line '<n> <m> [fmt [ncon]]'")
    fields = lines[number - 1].split()
    if not 2 <= len(fields) <= 4:
        raise LineError(number, f"expected '<n> <m> [fmt [ncon]]', not {lines[number - 1]!r}")
    form = fields[2] if len(fields) > 2 else "0"
    if len(form) > 3 or set(form) - {"0", "1"}:
        raise LineError(number, f"fmt must be up to three digits 0 or 1, not {form!r}")
    sizes, vertex_weights, edge_weights = (digit == "1" for digit in form.zfill(3))
    counts = text.announced(number, [*fields[:2], *fields[3:]], len(lines) - number)
    n, edges, *constraints = counts
    skipped = sizes + vertex_weights * (constraints[0] if constraints else 1)
    return _Header(number, n, edges, skipped, edge_weights)


def _single(
    tails: NDArray[np.int64], heads: NDArray[np.int64], weights: NDArray[np.int64]
) -> tuple[int, int, int] | None:
    """Return an arc without its reverse of the same weight, None when there is none."""
    forward = np.lexsort((weights, heads, tails))
    backward = np.lexsort((weights, tails, heads))
    differs = (
        (tails[forward] != heads[backward])
        | (heads[forward] != tails[backward])
        | (weights[forward] != weights[backward])
    )
    if not differs.any():
        return None
    # at the first difference, the smaller of the two triples is the arc without a reverse
    place = int(differs.argmax())
    i, j = forward[place], backward[place]
    listed = (int(tails[i]), int(heads[i]), int(weights[i]))
    wanted = (int(heads[j]), int(tails[j]), int(weights[j]))
    return listed if listed < wanted else (wanted[1], wanted[0], wanted[2])


def _line_of(lines: list[str], header: _Header, vertex: int) -> int:
    """Return the number of the line that lists the neighbours of a vertex (from 0)."""
    numbers = (
        number
        for number, line in enumerate(lines[header.line :], header.line + 1)
        if not line.startswith("%")
    )
    return next(number for row, number in enumerate(numbers) if row == vertex)


def _fault(lines: list[str], header: _Header) -> LineError:
    number = row = 0

    def check(line: str) -> None:
        nonlocal number, row
        number += 1
        if number <= header.line or line.startswith("%"):
            return
        row += 1
        fields = line.split()
        if row > header.n:
            if fields:
                raise ValueError(f"more lines than the {header.n} vertices announced")
            return
        if len(fields) < header.skipped:
            raise ValueError(f"expected {header.skipped} vertex weights, not {line!r}")
        items = fields[header.skipped :]
        if header.weighted and len(items) % 2:
            raise ValueError("every neighbour needs an edge weight after it")
        for place, token in enumerate(items):
            if header.weighted and place % 2:
                text.integer(token, "a weight")
            elif text.vertex(token, header.n) == row:
                raise ValueError(f"vertex {row} lists itself")

    return text.locate(lines, check, lambda: f"the file ends after {row} of {header.n} vertices")
