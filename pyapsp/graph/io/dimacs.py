"""The shortest-path format of the 9th DIMACS Implementation Challenge, ``.gr``.

Lines ``c`` are comments, ``p sp <n> <m>`` is the header, ``a <tail> <head> <weight>`` is an arc.
Vertices are numbered from 1. Weights that are not integers are read and written as well.

Source: http://www.diag.uniroma1.it/challenge9/format.shtml
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pyapsp.graph.io import text
from pyapsp.graph.io.contents import ArcList
from pyapsp.graph.io.source import LineError, Source
from pyapsp.graph.model import Graph

__all__ = ["read", "write"]


def read(source: Source) -> ArcList:
    """Read a directed graph; row i is the vertex i + 1 of the file.

    Raises
    ------
    LineError
        Naming the line that breaks the format, or the last one when arcs are missing.
    """
    lines = source.lines()
    header = _header(lines)
    # as `_is_comment`, in a third of its time: files have millions of lines
    body = [line for line in lines[header:] if line and line[0] != "c" and not line.isspace()]
    n, m = text.announced(header, lines[header - 1].split()[2:], len(body))
    try:
        arcs = text.table(body, [("kind", "U2"), ("tail", "i8"), ("head", "i8")])
    except text.RoundedWeightError as error:
        numbers = [i for i, line in enumerate(lines, 1) if i > header and not _is_comment(line)]
        raise LineError(numbers[error.row], str(error)) from None
    except ValueError:
        raise _fault(lines, n, m) from None
    ends = np.stack([arcs["tail"], arcs["head"]])
    if (
        len(arcs) != m
        or (arcs["kind"] != "a").any()
        or ((ends < 1) | (ends > n)).any()
        or text.not_weights(arcs["weight"])
    ):
        raise _fault(lines, n, m)
    return ArcList(n, ends[0] - 1, ends[1] - 1, arcs["weight"], text.numbers_from_one(n))


def write(graph: Graph, path: Path) -> None:
    """Write all arcs, without labels; an edge of an undirected graph is written as two arcs."""
    tails, heads, _ = graph.arcs()
    lines = [f"p sp {graph.n} {graph.m}"]
    lines += [
        f"a {tail} {head} {weight}"
        for tail, head, weight in zip(
            (tails + 1).tolist(), (heads + 1).tolist(), text.weight_texts(graph), strict=True
        )
    ]
    text.write_lines(path, lines)


def _is_comment(line: str) -> bool:
    return line[:1] == "c" or not line or line.isspace()


def _header(lines: list[str]) -> int:
    """Return the number of the line ``p sp <n> <m>``."""
    for number, line in enumerate(lines, start=1):
        if _is_comment(line):
            continue
        fields = line.split()
        if len(fields) != 4 or fields[:2] != ["p", "sp"]:
            raise LineError(number, f"expected 'p sp <n> <m>', not {line!r}")
        return number
    raise LineError(max(len(lines), 1), "there is no line 'p sp <n> <m>'")


def _fault(lines: list[str], n: int, m: int) -> LineError:
    seen = -1  # the header is the first line that is no comment

    def check(line: str) -> None:
        nonlocal seen
        if _is_comment(line):
            return
        seen += 1
        if seen == 0:
            return
        if seen > m:
            raise ValueError(f"more arcs than the {m} announced")
        fields = line.split()
        if fields[0] != "a" or len(fields) != 4:
            raise ValueError(f"expected 'a <tail> <head> <weight>', not {line!r}")
        text.vertex(fields[1], n)
        text.vertex(fields[2], n)
        text.weight(fields[3])

    return text.locate(lines, check, lambda: f"the file ends after {seen} of {m} arcs")
