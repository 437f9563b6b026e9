"""The layout of an edge list: its separator, its header, and the facts in its comments.

It is found from the comments and the first lines of a file. If two layouts are possible, or a line
may be read in two ways, it is an error. Rows are parsed in `edge_list`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pyapsp.graph import columns
from pyapsp.graph.columns import Columns
from pyapsp.graph.io.source import LineError

__all__ = [
    "SAMPLE",
    "Layout",
    "checked",
    "decide",
    "directions_in_comments",
    "fields",
    "is_integer",
    "is_number",
    "is_row",
    "names_columns",
    "without_comment",
]

# the separators a file may use, by suffix
_SEPARATORS = {".txt": ";,\t", ".csv": ";,\t", ".tsv": "\t;,"}
#: A separator must give the same number of columns in this many rows.
SAMPLE = 50
_NUMBER = re.compile(r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)(e[+-]?[0-9]+)?|[+-]?inf|nan", re.I)
# patterns of lines of other formats, and what the message says of them
_FOREIGN = (
    (r"%?%matrixmarket\b", "a Matrix Market file: call it .mtx"),
    (r"p\s+sp(\s+\d+){2}", "a DIMACS file: call it .gr"),
    (r"p\s+[a-z]+(\s+\d+){2}", "a DIMACS file, and only their shortest-path problems are read"),
    (
        r"(\*vertices|dl\s+n\s*=|<(\?xml|!|graphml|gexf)|\{|(strict\s+)?(di)?graph\b.*[{[])",
        "no edge list",
    ),
)
# In KONECT files with these words the third column counts parallel arcs, or is always 1.
_KONECT, _COUNTED = re.compile(r"%\s*(sym|asym|bip)\s+(\w+)"), ("unweighted", "positive")
# Comments that say that the graph is undirected.
_UNDIRECTED = re.compile(
    r"[#%]+\s*((graph|network|edge|arc)?\s*(type)?\s*[:=]?\s*undirected\b"
    r"|directed\s*[:=]?\s*(no|false|0)\b)",
    re.IGNORECASE,
)
# In a comment between arcs of integers: an arc that someone has taken out, or the words of a text.
_TAKEN_OUT = re.compile(r"^[#%][+-]?[0-9]+$|\s|:$")


@dataclass(frozen=True)
class Layout:
    """The facts that are needed to parse the rows of an edge list."""

    separator: str | None  # None: white space
    # Number of lines before the first line that is no comment, and before the first arc.
    first: int
    start: int

    columns: Columns
    # Whether both ids of the first arc are integers. Then all ids must be integers.
    whole: bool
    directed: bool  # False if the comments say that the graph is undirected
    # The names of the ends in the header, if the header might also be an arc.
    names: tuple[str, str] | None
    bare: bool  # whether the columns have no names
    rows: Sequence[str] = ()  # the lines with arcs, without comments at their ends


def decide(suffix: str, lines: Sequence[str], weighted: bool | str | None) -> Layout | None:
    """Return the layout of a file, None if it has no rows.

    Parameters
    ----------
    suffix : str
        ``.txt``, ``.csv`` or ``.tsv``.
    lines : sequence of str
        All its lines.
    weighted : bool or str, optional
        Whether there is a column of weights, or its name; None: the file decides.

    Raises
    ------
    LineError
        The separator is ambiguous, the header or a line is not understood, or it is another format.
    """
    rows = list(islice(((i, line) for i, line in enumerate(lines) if is_row(line)), SAMPLE + 1))
    comments = [line for line in lines[: rows[0][0] if rows else len(lines)] if line.strip()]
    directed, weighted = directions_in_comments(comments, weighted)
    # the sizes below the banner of Matrix Market look like an arc
    banners = [(i, line) for i, line in enumerate(lines) if "matrixmarket" in line[:40].lower()]
    _refuse_foreign([*enumerate(lines[:1]), *banners[:1], *rows])
    told = re.fullmatch(r"sep=([,;|\t ])", rows[0][1]) if rows else None  # as Excel reads it
    rows = rows[bool(told) :]
    if not rows:
        _refuse_hidden(lines, None)
        return None
    first = rows[0][0]
    try:
        separator = told[1] if told else _separator(suffix, [row for _, row in rows])
        found = _commented(comments, separator, fields(rows[0][1], separator), weighted)
        names = None
        if found is None:
            found = _header(rows, separator, weighted)
            if found is not None:
                named, rows = fields(rows[0][1], separator), rows[1:]
                names = (named[0], named[1]) if found.width == 2 else None
        if not rows:
            _refuse_hidden(lines, None)
            return None
        row = fields(rows[0][1], separator)
        bare = found is None
        if found is None:
            found = _by_position(rows, separator, weighted)
    except ValueError as error:
        raise LineError(first + 1, str(error)) from None
    whole = all(is_integer(row[place]) for place in (found.tail, found.head) if place < len(row))
    start = rows[0][0]
    return checked(lines, Layout(separator, first, start, found, whole, directed, names, bare))


def checked(lines: Sequence[str], layout: Layout) -> Layout:
    """Return the layout of all lines with their rows.

    Raises
    ------
    LineError
        A line may be read in two ways.
    """
    _refuse_hidden(lines, layout)
    _refuse_blanks(lines, layout)
    rows = [line for line in lines[layout.start :] if is_row(line)]
    if layout.separator is None and any("#" in line for line in rows):
        rows = [without_comment(line, None) for line in rows]
    return replace(layout, rows=rows)


def is_row(line: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    return line.lstrip()[:1] not in "#%"  # "" is in it, too


def without_comment(line: str, separator: str | None) -> str:
    """Return a line without the comment at its end; only if the separator is white space."""
    return re.split(r"\s#", line, maxsplit=1)[0] if separator is None and "#" in line else line


def fields(line: str, separator: str | None) -> list[str]:
    """Split a line; ValueError if it cannot be."""
    if separator is None:
        line = without_comment(line, separator)
        if '"' not in line:
            return line.split()
        found = re.findall(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)', line)
        return [plain or quoted.replace('""', '"') for quoted, plain in found]
    if len(line) > csv.field_size_limit():  # csv refuses one column of this length
        raise ValueError(
            f"this line has {len(line):,} characters, more than {csv.field_size_limit():,}: each "
            "arc needs a line of its own"
        )
    return [field.strip() for field in next(csv.reader([line], delimiter=separator))]


def names_columns(names: Sequence[str]) -> bool:
    """Return whether these words name columns of arcs, even if the names are ambiguous."""
    try:
        return columns.by_name(names, None) is not None
    except ValueError:
        return True


def is_integer(token: str) -> bool:
    """Whether a token is written as an integer."""
    return re.fullmatch(r"[+-]?[0-9]+", token) is not None


def is_number(token: str) -> bool:
    """Whether a token is written as a number, even with a decimal comma."""
    return _NUMBER.fullmatch(token) is not None


def _refuse_foreign(rows: list[tuple[int, str]]) -> None:
    """Raise an error for other formats, and for lines that csv cannot split."""
    for number, line in rows:
        for pattern, what in _FOREIGN:
            if re.match(pattern, line.lstrip(), re.IGNORECASE):
                raise LineError(number + 1, f"this is {what}: {line[:80]!r}")
        try:
            fields(line, ",")
        except ValueError as error:
            raise LineError(number + 1, str(error)) from None


def _refuse_hidden(lines: Sequence[str], layout: Layout | None) -> None:
    """Raise an error for comments that may be arcs between names such as ``#python``.

    Where ids are integers, it may be one if one end is a word and the other an integer.
    """
    if layout is not None and layout.separator is None:
        return
    for number, line in enumerate(lines, start=1):
        if (
            line[:1] not in "#%"
            or not re.match(r"[#%][^\s#%]", line)
            or len(line) > csv.field_size_limit()
        ):
            continue
        if layout is None:
            hidden = any(line.count(mark) and mark + line[0] in line for mark in ",;\t")
        else:
            tokens, weight = fields(line, layout.separator), layout.columns.weight
            hidden = len(tokens) == layout.columns.width and not names_columns(tokens)
            hidden = hidden and (weight is None or is_number(tokens[weight]))
            if hidden and layout.whole:
                ends = [tokens[end] for end in (layout.columns.tail, layout.columns.head)]
                names = [end for end in ends if not is_integer(end)]
                hidden = len(names) == 1 and not _TAKEN_OUT.search(names[0])
        if hidden:
            raise LineError(
                number,
                f"this may be a comment or an arc: {line!r}. Put a space after {line[0]!r} or "
                "quote the name",
            )


def _refuse_blanks(lines: Sequence[str], layout: Layout) -> None:
    """Raise an error for no-break spaces and the like between columns of a file with white space.

    ``1\u202f000`` is one number, and ``New\u00a0York`` one name, not two columns.
    """
    if layout.separator is not None:
        return
    for number, line in enumerate(lines, start=1):
        if line.isascii() or not is_row(line):
            continue
        unquoted = re.sub(r'"[^"]*"', "", without_comment(line, None))
        odd = re.search(r"[^\S\x00-\x7f]", unquoted)
        if odd is not None:
            raise LineError(
                number,
                f"{odd[0]!r} may separate columns, or be part of a name or number: {line!r}. "
                "Write a space, or quote the name",
            )


def directions_in_comments(
    comments: list[str], weighted: bool | str | None
) -> tuple[bool, bool | str | None]:
    """Return from the comments of SNAP and KONECT whether arcs are directed and weighted."""
    directed = True
    for place, line in enumerate(comments):
        konect = _KONECT.match(line) if place == 0 else None
        if konect:
            if konect[1] == "bip" or konect[2] == "dynamic":
                what = "both sides of a bipartite" if konect[1] == "bip" else "times of a dynamic"
                raise LineError(1, f"the ids and {what} network would be mixed: {line!r}")
            if konect[2] in _COUNTED and weighted is None:
                weighted = False
            directed = konect[1] == "asym"
        elif _UNDIRECTED.match(line):
            directed = False
    return directed, weighted


def _separator(suffix: str, rows: list[str]) -> str | None:
    """Return the separator that gives the same number of columns in all rows; None: white space.

    If several do, it is the one that gives a header, or a number in the column of the weight.
    """
    marks: list[str | None] = [*_SEPARATORS[suffix]]
    if suffix == ".txt":
        marks.append(None)
    used = [mark for mark in marks if len(fields(rows[0], mark)) > 1]
    alike = [mark for mark in used if _alike(rows, mark)]
    if suffix == ".tsv" and "\t" in alike:
        return "\t"
    if "\t" in alike and None in alike and _width(rows, "\t") == _width(rows, None):
        alike.remove("\t")
    if len(alike) > 1:
        alike = [mark for mark in alike if _telling(rows, mark)] or alike
    if len(alike) > 1:
        names = ["white space" if mark is None else repr(mark) for mark in alike]
        raise ValueError(
            f"{' or '.join(names)} may separate the columns: use one, and quote what holds another"
        )
    # if none does, parsing finds the wrong line
    return (alike or used or [None])[0]


def _width(rows: list[str], mark: str | None) -> int:
    return len(fields(rows[0], mark))


def _alike(rows: list[str], mark: str | None) -> bool:
    if mark is None and any(token.strip(",;") != token for token in fields(rows[0], mark)):
        return False
    return {len(fields(row, mark)) for row in rows} == {_width(rows, mark)}


def _telling(rows: list[str], mark: str | None) -> bool:
    if names_columns(fields(rows[0], mark)):
        return True
    last = fields(rows[-1], mark)
    ids = (not is_number(token) or is_integer(token) for token in last[:2])
    return len(last) > 2 and is_number(last[2]) and all(ids)


def _commented(
    comments: list[str], separator: str | None, row: list[str], weighted: bool | str | None
) -> Columns | None:
    """Return the columns if the last comment before the rows names them, else None."""
    if not comments:
        return None
    names = fields(comments[-1].lstrip().lstrip("#%"), separator)
    return columns.by_name(names, weighted) if len(names) == len(row) else None


def _header(
    rows: list[tuple[int, str]], separator: str | None, weighted: bool | str | None
) -> Columns | None:
    """Return the columns if the first row names them, None if it is an arc."""
    first, *rest = (fields(line, separator) for _, line in rows[:2])
    numbers = any(map(is_number, first))
    listed = ", ".join(map(repr, first))
    found = columns.by_name(first, weighted)
    if found is not None:
        # u v 5 is an arc; source target 5 is ambiguous
        if numbers and len(first[found.tail]) == 1:
            return None
        if numbers:
            raise ValueError(f"these may be names of columns or an arc: {listed}")
        return found
    if "" in first[:2] or (not numbers and rest and any(map(is_number, rest[0]))):
        raise ValueError(
            f"the names of the columns are not understood: {listed}. Known are {columns.KNOWN}"
        )
    return None


def _by_position(
    rows: list[tuple[int, str]], separator: str | None, weighted: bool | str | None
) -> Columns:
    """Return the columns of rows without names."""
    table = [fields(line, separator) for _, line in rows]
    found = columns.by_position(len(table[0]), weighted)
    if found.weight is not None and separator == "," and all(len(row) == 4 for row in table):
        whole, rest = ([row[place] for row in table] for place in (2, 3))
        # 0,1,0,05 may be 0.05; times and counts do not start with 0, nor follow a weight of 0
        decimal = all(map(is_integer, whole)) and all(map(str.isdecimal, rest))
        if decimal and ({*whole} <= {"0", "-0"} or any(re.match("0[0-9]", each) for each in rest)):
            raise ValueError(
                "the fourth column may be the rest of a weight with a decimal comma: write 0.5, "
                "or name the columns in a header"
            )
    return found
