"""Edge lists: one arc a line, ``.txt``, ``.csv`` and ``.tsv``, as SNAP and many others give them.

A line is ``tail head [weight] [anything]``, separated by white space, commas, semicolons or tabs;
lines that start with ``#`` or ``%`` are comments; ``.csv`` and ``.tsv`` files may have a line with
the names of the columns.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from pyapsp.errors import FormatError, GraphError, ParameterError
from pyapsp.graph.convert import relabel
from pyapsp.graph.io import text
from pyapsp.graph.model import Graph

__all__ = ["read", "write"]

# the separators a file may use, by suffix, in the order in which they are looked for
_SEPARATORS = {".txt": ";,", ".csv": ";,\t", ".tsv": "\t;,"}
# names of a first column that tell a header from an arc between two named vertices
_COLUMN_NAMES = {"from", "fromnodeid", "head", "id1", "node1", "source", "src", "tail", "u"}


def read(path: Path, *, weighted: bool | None = None) -> Graph:
    """Read a directed graph; the sorted ids become the vertices 0..n-1 and stay as labels.

    Parameters
    ----------
    path : Path
        The file. If both ids of the first arc are integers, all ids must be; else all are
        strings.
    weighted : bool, optional
        Whether the third column is the weight. None: it is if there is one.

    Raises
    ------
    FormatError
        Naming the line that does not have the columns of the first one, or whose id or weight
        is none.
    """
    if weighted not in (None, True, False):
        raise ParameterError.of("weighted", "read", "True, False or None", weighted)
    lines = text.read_lines(path)
    body = [line for line in lines if not _is_comment(line)]
    name = text.name_of(path)
    if not body:
        return Graph.from_arcs(0, [], [], np.zeros(0, np.int64), name=name)
    separator = _separator(path, body[0])
    try:
        header = _is_header(path, body, separator)
        body = body[header:]
        if not body:
            return Graph.from_arcs(0, [], [], np.zeros(0, np.int64), name=name)
        first = _fields(body[0], separator)
    except ValueError:
        raise _fault(path, lines, separator, False, False, False, None) from None
    if weighted is None:
        weighted = len(first) > 2
    whole = all(map(_is_integer, first[:2]))
    kind = "i8" if whole else "O"
    # a file of two columns has two in every line; surplus columns are passed over
    used = None if len(first) == 2 and not weighted else range(2 + weighted)
    try:
        arcs = text.table(
            body,
            [("tail", kind), ("head", kind)],
            weighted=weighted,
            delimiter=separator,
            quotechar=None if separator is None else '"',
            usecols=used,
        )
        if len(arcs) != len(body):
            raise ValueError  # a quote that is not closed joined lines
        tails, heads = arcs["tail"], arcs["head"]
        if not whole:
            tails, heads = (_names(ids.tolist()) for ids in (tails, heads))
        weights = arcs["weight"] if weighted else np.ones(len(arcs), np.int64)
        if text.not_weights(weights):
            raise ValueError
    except ValueError:
        exact = 2 if used is None else None
        raise _fault(path, lines, separator, header, whole, weighted, exact) from None
    labels, rows, columns = relabel(tails, heads)
    return Graph.from_arcs(len(labels), rows, columns, weights, labels=labels, name=name)


def write(graph: Graph, path: Path) -> None:
    """Write all arcs with the labels as ids, and the weights unless all are the integer 1.

    The labels come back in sorted order. An undirected graph is written as both arcs.

    Raises
    ------
    GraphError
        A vertex has no arc, so the list could not mention it; or a label is not one that
        reads back as itself.
    """
    tails, heads, _ = graph.arcs()
    degrees = np.bincount(tails, minlength=graph.n) + np.bincount(heads, minlength=graph.n)
    if (degrees == 0).any():
        raise GraphError(
            f"an edge list cannot hold the isolated vertex {int(degrees.argmin())}; "
            "use .gr, .mtx or .npz"
        )
    suffix = _suffix(path)
    ids = _ids(graph, spaces=suffix != ".txt")
    columns = [[ids[tail] for tail in tails.tolist()], [ids[head] for head in heads.tolist()]]
    names = ["source", "target", "weight"]
    if not (graph.is_unweighted and graph.dtype.kind == "i"):
        columns.append(text.weight_texts(graph))
    names = names[: len(columns)]
    rows = zip(*columns, strict=True)
    if suffix == ".txt":
        text.write_lines(path, [f"# {' '.join(names)}", *map(" ".join, rows)])
        return
    content = io.StringIO()
    writer = csv.writer(content, delimiter="," if suffix == ".csv" else "\t", lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    text.write_lines(path, content.getvalue().splitlines())


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix


def _is_comment(line: str) -> bool:
    return line[:1] in ("#", "%") or not line or line.isspace()


def _separator(path: Path, line: str) -> str | None:
    """Return the separator that the first line uses; None is white space."""
    return next((mark for mark in _SEPARATORS[_suffix(path)] if mark in line), None)


def _fields(line: str, separator: str | None) -> list[str]:
    """Split a line; ValueError if it cannot be."""
    if separator is None:
        return line.split()
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=separator))]
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _is_integer(token: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]+", token) is not None


def _is_weight(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def _is_header(path: Path, body: list[str], separator: str | None) -> bool:
    """Whether the first line names the columns: a known name, or numbers only in the next."""
    if _suffix(path) == ".txt":
        return False
    first = _fields(body[0], separator)
    if any(map(_is_weight, first[:3])):
        return False
    second = _fields(body[1], separator) if len(body) > 1 else []
    return first[0].lower() in _COLUMN_NAMES or any(map(_is_weight, second[:3]))


def _names(ids: list[str]) -> Any:
    """Strip string ids; raise ValueError for one that cannot be a label."""
    stripped = [name.strip() for name in ids]
    for name in stripped:
        _check_name(name)
    return np.array(stripped, dtype=object)


def _check_name(name: str) -> None:
    if not name:
        raise ValueError("a vertex id is empty")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError("a vertex id is not UTF-8") from None


def _ids(graph: Graph, *, spaces: bool) -> list[str]:
    """Return the labels as texts, after making sure that each reads back as itself."""
    if graph.labels is None or graph.labels.dtype.kind == "i":
        return [str(label) for label in (range(graph.n) if graph.labels is None else graph.labels)]
    ids: list[str] = graph.labels.tolist()
    whole = 0
    for name in ids:
        if (
            not isinstance(name, str)
            or not name
            or name != name.strip()
            or name[0] in "#%"
            or len(name.splitlines()) > 1
            or (not spaces and re.search(r"[\s,;]", name))
        ):
            raise GraphError(f"the label {name!r} cannot be an id in an edge list")
        whole += _is_integer(name)
    if whole not in (0, len(ids)):
        raise GraphError("an edge list cannot mix labels that are numbers with others")
    return ids


def _fault(
    path: Path,
    lines: list[str],
    separator: str | None,
    header: bool,
    whole: bool,
    weighted: bool,
    exact: int | None,
) -> FormatError:
    skip = int(header)
    least = 2 + weighted

    def check(line: str) -> None:
        nonlocal skip
        if _is_comment(line):
            return
        if skip:
            skip -= 1
            return
        if separator is not None and line.count('"') % 2:
            raise ValueError(f"a quote is not closed: {line!r}")
        fields = _fields(line, separator)
        if len(fields) < least or (exact is not None and len(fields) > exact):
            raise ValueError(f"expected {least} columns, not {len(fields)}: {line!r}")
        for token in fields[:2]:
            if whole:
                text.integer(token, "a vertex id")
            _check_name(token)
        if weighted:
            text.weight(fields[2])

    return text.locate(path, lines, check, lambda: "the file cannot be parsed")
