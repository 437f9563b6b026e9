"""Edge lists: one arc a line, ``.txt``, ``.csv`` and ``.tsv``, as SNAP and many others give them.

A line is ``tail head [weight] [anything]``. The separator is white space, comma, semicolon or tab,
the same in the whole file. All lines have the same number of columns. Lines that start with ``#``
or ``%`` are comments. The first line, or the last comment before it, may name the columns; then
they may be in any order; see `columns`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.base.files import unpacked
from pyapsp.graph import arcs
from pyapsp.graph.io import attributes, layout, plain, spelling, text
from pyapsp.graph.io.contents import ArcList
from pyapsp.graph.io.layout import Layout
from pyapsp.graph.io.source import LineError, Source, beginning, lines_of
from pyapsp.graph.model import Graph

__all__ = ["read", "write"]

# Ids that show that a line was split at the wrong places: numbers that are no integers, several
# numbers, integers in brackets, arrows and bars, the start of a list of neighbours, attributes, and
# quotes inside a field. Digits of another script or width are a number that was typed in this way.
_NO_ID = re.compile(
    r"[+-]?(?=[0-9.,\s]*[0-9])[0-9]*[.,\s][0-9.,\s]*(e[+-]?[0-9]+)?|[+-]?[0-9]+e[+-][0-9]+"
    r"|[\[({<]+[0-9]+|[0-9]+[\])}>]+|[-=<>|~\u2190-\u21ff]+|.*:|.*\{.*\}|\".*|\d*[^\D0-9]\d*",
    re.IGNORECASE,
)
# A row of two or three plain numbers.
_NUMBERS = re.compile(r"\s*[-+.0-9eE]+([\s,;]+[-+.0-9eE]+){1,2}\s*")


def read(source: Source, *, weighted: bool | str | None = None) -> ArcList:
    """Read arcs; the vertices 0..n-1 are the ids in sorted order, and the ids become the labels.

    It is undirected if a first comment (``# Undirected graph`` of SNAP, ``% sym`` of KONECT) or a
    column ``Type`` (Gephi) or ``directed`` says so, and directed otherwise. In a file with directed
    and undirected arcs, the reverses of the undirected arcs are added. With the columns ``cost``
    and ``reverse_cost`` (pgRouting) each row is an arc and its reverse, each with its own cost;
    where a cost is negative, there is no arc. Instead of a weight there may be the attributes of an
    arc, as NetworkX writes them: ``{'weight': 4}``.

    Parameters
    ----------
    source : Source
        The file. If both ids of the first arc are integers, all ids must be integers, each written
        in one way: not 1 in one line and 01 in another. If one of them is written with zeros or a
        sign that it does not need, as in 01234, all are strings. They are strings, too, if the
        first two are no integers.
    weighted : bool or str, optional
        Whether there is a weight, or the name of its column. None: there is if a column has such a
        name, or if no column has a name and there are three.

    Raises
    ------
    LineError
        A line has other columns than the first, an invalid id or weight, or another spelling of an
        id; the header is not understood; a line may be a header or an arc; or an arc is not one-way
        (column ``oneway``, OpenStreetMap) and its reverse is not there. The message names the line.
    """
    if weighted not in (None, True, False) and not isinstance(weighted, str):
        raise ParameterError.of("weighted", "read", "True, False, a column or None", weighted)
    content = source.content()
    table = _by_pandas(source.suffix, content, weighted)
    if table is None:
        table = _by_lines(source.suffix, content, weighted)
    del content  # the graph takes as much memory
    if table is None:
        none = np.zeros(0, np.int64)
        return ArcList(0, none, none, none)
    lines, found, tails, heads, weights, texts, others = table
    del table
    labels, tails, heads = arcs.relabel(tails, heads)
    _refuse_doubtful(found, labels, tails, heads)
    if texts is not None:
        try:
            labels, tails, heads = spelling.as_written(labels, tails, heads, texts)
        except ValueError:
            raise _fault(lines, found) from None
    directed, back = found.directed, others.get("reverse")
    columns, names = found.columns, found.columns.names
    try:
        if columns.direction is not None:
            name = names[columns.direction] if columns.directs else None
            single = arcs.directions(others["direction"].tolist(), name)
            if back is not None and not single.all():
                raise LineError(found.first + 1, "an undirected edge has no reverse cost")
            directed = directed and bool(single.any())
            if not single.all() and directed:
                both = ~single
                tails, heads = np.append(tails, heads[both]), np.append(heads, tails[both])
                weights = None if weights is None else np.append(weights, weights[both])
        if columns.oneway is not None and directed:
            arcs.refuse_missing(tails, heads, others["oneway"].tolist(), names[columns.oneway])
        if back is not None and weights is not None:
            tails, heads, weights = arcs.two_ways(tails, heads, weights, back)
            weights = None if weighted is False else weights
    except arcs.PlaceError as error:
        raise LineError(_numbers(lines, found)[error.place], str(error)) from None
    return ArcList(len(labels), tails, heads, weights, labels, directed)


class _Table(NamedTuple):
    """The columns of all rows."""

    lines: list[str]  # the lines by which the layout was decided, for messages
    layout: Layout
    # The ids: integers, or strings as objects.
    tails: np.ndarray
    heads: np.ndarray

    weights: np.ndarray | None
    # How the ids of all tails and heads are written, if they may not be plain integers.
    texts: NDArray[np.object_] | None
    others: dict[str, np.ndarray]  # the columns "direction", "oneway" and "reverse", if there are


def _by_pandas(suffix: str, content: bytes, weighted: bool | str | None) -> _Table | None:
    """Parse a long file of plain numbers; None if it is another one."""
    lines = beginning(content)
    rows = [line for line in lines or () if layout.is_row(line)]
    # with more rows, the layout might be another
    if lines is None or len(rows) <= layout.SAMPLE or not _NUMBERS.fullmatch(rows[-1]):
        return None
    found = layout.decide(suffix, lines, weighted)
    if found is None:
        return None
    body = content.split(b"\n", found.start)[-1]
    columns = None if spelling.may_differ(body, found.columns) else plain.parse(content, found)
    if columns is None:
        return None
    weights = columns[2] if len(columns) > 2 else None
    return _Table(lines, found, columns[0], columns[1], weights, None, {})


def _by_lines(suffix: str, content: bytes, weighted: bool | str | None) -> _Table | None:
    """Parse any file; None if it has no rows."""
    lines = lines_of(content)
    attributed = attributes.as_columns(lines, weighted) if b"{" in content else None
    lines, found = attributed or (lines, layout.decide(suffix, lines, weighted))
    if found is None:
        return None
    differs = False
    if found.whole:
        rows = "\n".join(found.rows).encode(errors="replace")
        differs = spelling.may_differ(rows, found.columns)
    try:
        columns = _parse(found)
        texts = _texts(found) if differs else None
        tails, heads = (columns.pop(name) for name in ("tail", "head"))
        if not found.whole:
            tails, heads = (_names(ids.tolist()) for ids in (tails, heads))
    except text.RoundedWeightError as error:
        raise LineError(_numbers(lines, found)[error.row], str(error)) from None
    except ValueError:
        raise _fault(lines, found) from None
    return _Table(lines, found, tails, heads, columns.pop("weight", None), texts, columns)


def write(graph: Graph, path: Path) -> None:
    """Write all arcs with the labels as ids, and the weights unless all are the integer 1.

    The reader will sort the labels. An edge of an undirected graph is written as two arcs.

    Raises
    ------
    GraphError
        A vertex has no arc, so that it would not be in the list; or a label would be read as
        another label.
    """
    tails, heads, _ = graph.arcs()
    degrees = np.bincount(tails, minlength=graph.n) + np.bincount(heads, minlength=graph.n)
    if (degrees == 0).any():
        raise GraphError(
            f"an edge list cannot hold the isolated vertex {int(degrees.argmin())}; "
            "use .gr, .mtx or .npz"
        )
    suffix = unpacked(path).suffix
    ids = _ids(graph, spaces=suffix != ".txt")
    columns = [[ids[tail] for tail in tails.tolist()], [ids[head] for head in heads.tolist()]]
    names = ["source", "target", "weight"]
    # if both names of the header are also vertices, the header might be an arc
    unweighted = graph.is_unweighted and graph.dtype.kind == "i"
    if not unweighted or {*names[:2]} & {*ids}:
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


def _parse(found: Layout) -> dict[str, np.ndarray]:
    """Return the columns of all rows by name; ValueError if they do not match the layout."""
    columns = found.columns
    kind = "i8" if found.whole else "O"
    place: int | None
    wanted = [("tail", kind), ("head", kind)]
    used = [columns.tail, columns.head]
    for name in ("direction", "oneway"):
        place = getattr(columns, name)
        if place is not None:
            wanted.append((name, "O"))
            used.append(place)
    if columns.weight is not None:
        used.append(columns.weight)
    every = used == list(range(columns.width))
    if not every and not _even(found.rows, found.separator, columns.width):
        raise ValueError
    form: dict[str, Any] = {"delimiter": found.separator, "quotechar": '"'}
    weighted = columns.weight is not None
    table = text.table(
        found.rows, wanted, weighted=weighted, usecols=None if every else used, **form
    )
    if len(table) != len(found.rows):
        raise ValueError  # an open quote has joined lines
    parsed = {name: table[name] for name in table.dtype.names or ()}
    if columns.reverse is not None:
        costs = text.table(found.rows, [], usecols=[columns.reverse], **form)
        parsed["reverse"] = costs["weight"]
    for name in ("weight", "reverse"):
        if name in parsed and text.not_weights(parsed[name]):
            raise ValueError
    return parsed


def _texts(found: Layout) -> NDArray[np.object_]:
    """Return the ids of all tails, and then of all heads, as they are written."""
    columns = found.columns
    table = text.table(
        found.rows,
        [("tail", "O"), ("head", "O")],
        weighted=False,
        usecols=[columns.tail, columns.head],
        delimiter=found.separator,
        quotechar='"',
    )
    ids = [*table["tail"].tolist(), *table["head"].tolist()]
    return np.array([each.strip() for each in ids], object)


def _even(body: Sequence[str], separator: str | None, width: int) -> bool:
    """Return whether all rows have `width` columns."""
    if any('"' in line for line in body):
        return all(len(layout.fields(line, separator)) == width for line in body)
    if separator is None:
        return all(len(line.split()) == width for line in body)
    return all(line.count(separator) == width - 1 for line in body)


def _refuse_doubtful(
    found: Layout,
    labels: np.ndarray,
    tails: NDArray[np.integer],
    heads: NDArray[np.integer],
) -> None:
    """Raise an error if the first line can be read in more than one way."""
    what = None
    unnamed = found.bare and found.columns.weight is None
    if found.names is not None and not found.whole:
        if np.isin(found.names, labels).any():
            what = "the names of columns or an arc, for its words are vertices below"
    elif unnamed and found.whole:
        n, m = labels[tails[0]], labels[heads[0]]
        if len(tails) > 1 and n == labels[-1] and m == len(tails) - 1:
            what = "an arc, or the number of vertices and of arcs that follow"
    elif found.bare and not found.whole:
        ends = [tails[0], heads[0]]
        again = np.isin(tails[1:], ends) | np.isin(heads[1:], ends)
        integers = np.array([layout.is_integer(label) for label in labels.tolist()])
        same = len(tails) > 1 and (tails == tails[0]).all()
        if (unnamed or same) and integers[heads].all() and not integers[tails].any():
            what = "an arc, or numbers after a word, as all that follow"
        elif unnamed and not integers[ends].any() and not again.any():
            what = "the names of columns or an arc, for its words occur nowhere else"
    if what is not None:
        advice = "Put '# source target' above it if it is an arc, else '#' before it"
        if found.names is not None:
            advice = "Give the header a third name, or put '# source target' above an arc"
        raise LineError(found.first + 1, f"this line may be {what}. {advice}")


def _numbers(lines: list[str], found: Layout) -> list[int]:
    """Return the line numbers of all rows."""
    return [i for i, line in enumerate(lines, 1) if i > found.start and layout.is_row(line)]


def _names(ids: list[str]) -> NDArray[np.object_]:
    """Strip string ids; raise ValueError for one that cannot be a label."""
    stripped = [name.strip() for name in ids]
    for name in stripped:
        _check_name(name)
    return np.array(stripped, dtype=object)


def _check_name(name: str) -> None:
    if not name:
        raise ValueError("a vertex id is empty")
    if _NO_ID.fullmatch(name):
        advice = text.foreign(name)
        raise ValueError(f"a vertex id must be an integer or a name, not {name!r}{advice}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError("a vertex id is not UTF-8") from None


def _ids(graph: Graph, *, spaces: bool) -> list[str]:
    """Return the labels as strings; raise an error if one would be read as another label."""
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
            or _NO_ID.fullmatch(name)
        ):
            raise GraphError(f"the label {name!r} cannot be an id in an edge list")
        whole += layout.is_integer(name)
    if whole not in (0, len(ids)):
        raise GraphError("an edge list cannot mix labels that are numbers with others")
    spelled: dict[int, str] = {}
    for name in ids if whole else ():
        # the longest int64 has 20 characters
        if len(name) > 20 or not -(2**63) <= int(name) < 2**63:
            raise GraphError(
                f"the label {name!r} cannot be an id in an edge list, where digits are an integer: "
                "use .npz"
            )
        if spelled.setdefault(int(name), name) != name:
            raise GraphError(
                f"the labels {spelled[int(name)]!r} and {name!r} cannot both be ids in an edge "
                "list, where they are one number: use .npz"
            )
    return ids


def _fault(lines: list[str], found: Layout) -> LineError:
    """Return the error that names the first line that does not match the layout."""
    columns, number = found.columns, 0
    spelled: dict[int, str] = {}

    def check(line: str) -> None:
        nonlocal number
        number += 1
        if number <= found.start or not layout.is_row(line):
            return
        if _open_quote(line, found.separator):
            raise ValueError(f"a quote is not closed: {line!r}")
        fields = layout.fields(line, found.separator)
        if len(fields) != columns.width:
            raise ValueError(f"expected {columns.width} columns, not {len(fields)}: {line!r}")
        for token in (fields[columns.tail], fields[columns.head]):
            if found.whole:
                first = spelled.setdefault(text.integer(token, "a vertex id"), token)
                if first != token:
                    raise ValueError(
                        f"the ids {first!r} and {token!r} are one number, and may be one vertex or "
                        "two: write each id in one way"
                    )
            else:
                _check_name(token)
        if columns.weight is not None:
            text.weight(fields[columns.weight])
        if columns.reverse is not None:
            text.weight(fields[columns.reverse])

    return text.locate(lines, check, lambda: "the file cannot be parsed")


def _open_quote(line: str, separator: str | None) -> bool:
    if separator is not None:
        return line.count('"') % 2 == 1
    return any(token.startswith('"') for token in layout.fields(line, separator))
