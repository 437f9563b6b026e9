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
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.graph import streets
from pyapsp.graph.convert import relabel
from pyapsp.graph.io import attributes, layout, plain, spelling, text
from pyapsp.graph.io.contents import ArcList
from pyapsp.graph.io.layout import Layout
from pyapsp.graph.io.source import LineError, Source, lines_of, unpacked
from pyapsp.graph.model import Graph

__all__ = ["read", "write"]

# Words that tell in a row whether its arc is directed.
_DIRECTED = {"directed": True, "true": True, "undirected": False, "false": False}
# Ids that show that a line was split at the wrong places: numbers that are no integers, several
# numbers, integers in brackets, arrows and bars, the start of a list of neighbours, attributes, and
# quotes inside a field. Digits of another script or width are a number that was typed in this way.
_NO_ID = re.compile(
    r"[+-]?(?=[0-9.,\s]*[0-9])[0-9]*[.,\s][0-9.,\s]*(e[+-]?[0-9]+)?|[+-]?[0-9]+e[+-][0-9]+"
    r"|[\[({<]+[0-9]+|[0-9]+[\])}>]+|[-=<>|~\u2190-\u21ff]+|.*:|.*\{.*\}|\".*|\d*[^\D0-9]\d*",
    re.IGNORECASE,
)
# In a comment between arcs of integers: an arc that someone has taken out, or the words of a text.
_TAKEN_OUT = re.compile(r"^[#%][+-]?[0-9]+$|\s|:$")


def read(source: Source, *, weighted: bool | str | None = None) -> ArcList:
    """Read arcs; the vertices 0..n-1 are the ids in sorted order, and the ids become the labels.

    It is undirected if a first comment (``# Undirected graph`` of SNAP, ``% sym`` of KONECT) or a
    column ``Type`` (Gephi) says so, and directed otherwise. In a file with directed and undirected
    arcs, the reverses of the undirected arcs are added. With the columns ``cost`` and
    ``reverse_cost`` (pgRouting) each row is an arc and its reverse, each with its own cost; where a
    cost is negative, there is no arc. Instead of a weight there may be the attributes of an arc, as
    NetworkX writes them: ``{'weight': 4}``.

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
    quick = _quick(source.suffix, content, weighted)
    if quick is not None:
        del content  # the graph takes as much memory
        found, tails, heads, weights, spelled = quick
        del quick
        labels, tails, heads = relabel(tails, heads)
        _refuse_doubtful(found, labels, tails, heads)
        if spelled is not None:
            labels, tails, heads = spelling.as_written(labels, tails, heads, spelled)
        return ArcList(len(labels), tails, heads, weights, labels, found.directed)
    lines = lines_of(content)
    attributed = attributes.as_columns(lines, weighted)
    layout_found: Layout | None
    if attributed is not None:
        lines, layout_found = attributed
    else:
        layout_found = layout.decide(source.suffix, lines, weighted)
    _refuse_hidden(lines, layout_found)
    _refuse_blanks(lines, layout_found)
    if layout_found is None:
        none = np.zeros(0, np.int64)
        return ArcList(0, none, none, none)
    found = layout_found
    try:
        arcs = _parse(lines[found.start :], found)
        tails, heads = arcs["tail"], arcs["head"]
        if not found.whole:
            tails, heads = (_names(ids.tolist()) for ids in (tails, heads))
        weights = np.ones(len(arcs), np.int64)
        if found.columns.weight is not None:
            weights = arcs["weight"]
        if text.not_weights(weights):
            raise ValueError
        back = None if found.columns.reverse is None else _reverse_costs(lines, found)
    except text.RoundedWeightError as error:
        number = _numbers(lines, found)[error.row]
        raise LineError(number, str(error)) from None
    except ValueError:
        raise _fault(lines, found) from None
    spelled = None
    if found.whole:
        rest = "\n".join(lines).encode(errors="replace")
        if spelling.may_differ(rest, found.columns):
            spelled = spelling.spellings(lines, found)
    labels, rows, columns = relabel(tails, heads)
    _refuse_doubtful(found, labels, rows, columns)
    if spelled is not None:
        labels, rows, columns = spelling.as_written(labels, rows, columns, spelled)
    directed = found.directed
    if found.columns.direction is not None:
        single = _directions(lines, found, arcs["direction"].tolist())
        if back is not None and not single.all():
            raise LineError(found.first + 1, "an undirected edge has no reverse cost")
        directed = directed and bool(single.any())
        if not single.all() and directed:
            both = ~single
            rows, columns = np.append(rows, columns[both]), np.append(columns, rows[both])
            weights = np.append(weights, weights[both])
    try:
        if found.columns.oneway is not None and directed:
            streets.refuse_missing(rows, columns, arcs["oneway"].tolist(), "oneway")
        if back is not None:
            rows, columns, weights = streets.two_ways(rows, columns, weights, back)
    except streets.PlaceError as error:
        raise LineError(_numbers(lines, found)[error.place], str(error)) from None
    if back is not None and weighted is False:
        weights = np.ones(rows.size, np.int64)
    return ArcList(len(labels), rows, columns, weights, labels, directed)


def _quick(
    suffix: str, content: bytes, weighted: bool | str | None
) -> tuple[Layout, np.ndarray, np.ndarray, np.ndarray | None, dict[int, str] | None] | None:
    """Return layout, tails, heads, weights and spellings of a long file of plain numbers.

    The result is None for other files.
    """
    head = plain.head(content)
    if head is None:
        return None
    lines = lines_of(head)
    if sum(map(layout.is_row, lines)) <= layout.SAMPLE:
        return None  # the layout might be another with more rows
    found = layout.decide(suffix, lines, weighted)
    if found is None or not found.whole or found.columns.direction is not None:
        return None
    _refuse_hidden(lines, found)
    ends, weight = (found.columns.tail, found.columns.head), found.columns.weight
    if sorted(ends + (() if weight is None else (weight,))) != list(range(found.columns.width)):
        return None
    if weight not in (None, 2):
        return None
    start = sum(len(line) for line in head.splitlines(keepends=True)[: found.start])
    parsed = plain.columns(content, start, found.separator, found.columns.width)
    if parsed is None:
        return None
    spelled = None
    if spelling.may_differ(content, found.columns):
        spelled = spelling.spellings(lines_of(content), found)
    weights = None if weight is None else parsed[weight]
    return found, parsed[ends[0]], parsed[ends[1]], weights, spelled


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


def _parse(lines: list[str], found: Layout) -> np.ndarray:
    """Return the columns of all rows; ValueError if they do not match the layout."""
    separator, columns = found.separator, found.columns
    body = [line for line in lines if layout.is_row(line)]
    if separator is None and any("#" in line for line in body):
        body = [layout.without_comment(line, separator) for line in body]
    kind = "i8" if found.whole else "O"
    place: int | None
    wanted = [("tail", kind), ("head", kind)]
    used = [columns.tail, columns.head]
    for name in ("direction", "oneway"):
        place = getattr(columns, name)
        if place is not None:
            wanted.append((name, "O"))
            used.append(place)
    weighted = columns.weight is not None
    if columns.weight is not None:
        used.append(columns.weight)
    every = used == list(range(columns.width))
    if not every and not _even(body, separator, columns.width):
        raise ValueError
    arcs = text.table(
        body,
        wanted,
        weighted=weighted,
        delimiter=separator,
        quotechar='"',
        usecols=None if every else used,
    )
    if len(arcs) != len(body):
        raise ValueError  # an open quote has joined lines
    return arcs


def _reverse_costs(lines: list[str], found: Layout) -> np.ndarray:
    """Return the cost of the reverse of each arc; ValueError if one is no weight."""
    body = [line for line in lines[found.start :] if layout.is_row(line)]
    costs: np.ndarray = text.table(
        body, [], delimiter=found.separator, quotechar='"', usecols=[found.columns.reverse or 0]
    )["weight"]
    if text.not_weights(costs):
        raise ValueError
    return costs


def _even(body: list[str], separator: str | None, width: int) -> bool:
    """Return whether all rows have `width` columns."""
    if any('"' in line for line in body):
        return all(len(layout.fields(line, separator)) == width for line in body)
    if separator is None:
        return all(len(line.split()) == width for line in body)
    return all(line.count(separator) == width - 1 for line in body)


def _refuse_hidden(lines: list[str], found: Layout | None) -> None:
    """Raise an error for comments that may be arcs between names such as ``#python``.

    Where ids are integers, it may be one if one end is a word and the other an integer.
    """
    if found is not None and found.separator is None:
        return
    for number, line in enumerate(lines, start=1):
        if (
            line[:1] not in "#%"
            or not re.match(r"[#%][^\s#%]", line)
            or len(line) > csv.field_size_limit()
        ):
            continue
        if found is None:
            hidden = any(line.count(mark) and mark + line[0] in line for mark in ",;\t")
        else:
            fields, weight = layout.fields(line, found.separator), found.columns.weight
            hidden = len(fields) == found.columns.width and not layout.names_columns(fields)
            hidden = hidden and (weight is None or layout.is_number(fields[weight]))
            if hidden and found.whole:
                ends = [fields[end] for end in (found.columns.tail, found.columns.head)]
                names = [end for end in ends if not layout.is_integer(end)]
                hidden = len(names) == 1 and not _TAKEN_OUT.search(names[0])
        if hidden:
            raise LineError(
                number,
                f"this may be a comment or an arc: {line!r}. Put a space after {line[0]!r} or "
                "quote the name",
            )


def _refuse_blanks(lines: list[str], found: Layout | None) -> None:
    """Raise an error for no-break spaces and the like between columns of a file with white space.

    ``1\u202f000`` is one number, and ``New\u00a0York`` one name, not two columns.
    """
    if found is None or found.separator is not None:
        return
    for number, line in enumerate(lines, start=1):
        if line.isascii() or not layout.is_row(line):
            continue
        unquoted = re.sub(r'"[^"]*"', "", layout.without_comment(line, None))
        odd = re.search(r"[^\S\x00-\x7f]", unquoted)
        if odd is not None:
            raise LineError(
                number,
                f"{odd[0]!r} may separate columns, or be part of a name or number: {line!r}. "
                "Write a space, or quote the name",
            )


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


def _directions(lines: list[str], found: Layout, words: list[str]) -> NDArray[np.bool_]:
    """Return which arcs are directed; all if the column has none of the known words."""
    told = [_DIRECTED.get(word.strip().casefold()) for word in words]
    if all(each is None for each in told):
        return np.ones(len(told), np.bool_)
    if None in told:
        place = told.index(None)
        number = _numbers(lines, found)[place]
        raise LineError(number, f"an arc is Directed or Undirected, not {words[place]!r}")
    return np.array(told, np.bool_)


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
                text.integer(token, "a vertex id")
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
