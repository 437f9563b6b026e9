"""The columns of an edge list, found by the names in its header.

The names are those that NetworkX, pandas, igraph, Gephi, Neo4j, SNAP, OSMnx and their users write.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "KNOWN",
    "Columns",
    "about_direction",
    "about_reverse",
    "by_name",
    "by_position",
    "may_be_weight",
]

# Words for the two ends of an arc. Earlier groups come first: if there are columns source and
# target, then start and end are times.
_ENDS: tuple[tuple[tuple[str, str], ...], ...] = (
    (("source", "target"), ("src", "dst"), ("src", "dest"), ("source", "destination")),
    (
        *(("from", "to"), ("tail", "head"), ("start", "end"), ("origin", "destination")),
        *(("origin", "dest"), ("row", "col"), ("row", "column"), ("u", "v"), ("i", "j")),
        *(("s", "t"), ("1", "2"), ("v1", "v2")),
    ),
)
_WEIGHTS = {
    *("weight", "weights", "edgeweight", "w", "wt", "wgt", "cost", "costs", "distance", "dist"),
    *("length", "len", "duration", "traveltime", "value", "val", "data", "sign", "rating"),
}
# Names of columns that are never weights.
_OTHERS = {
    *("id", "osmid", "label", "type", "key", "index", "name", "edge", "edgeid", "edgetype"),
    *("timestamp", "date", "timeset", "interval", "relation", "relationship", "kind", "color"),
    *("comment", "note", "notes", "description", "directed", "isdirected"),
}
# Names of columns that tell which arcs are directed, and of those that may tell other things.
_DIRECTED, _TYPES = ("directed", "isdirected"), ("type", "edgetype")
# A cost of its own for the reverse of each arc, as pgRouting has it beside "cost".
_REVERSE, _COST = "reversecost", "cost"
# Names of columns that change the graph, and are not read.
_LENGTH = "(weight|cost|length|len|distance|dist|duration|traveltime|time)s?"
_BACK = "(reversed?|backwards?|rev|bwd|ba|tofrom)"
_UNREAD = re.compile(
    r"(is)?(twoway|bothways|bothdirections|bidirectional|bidirected|bidir)"
    r"|(is)?(undirected|reversible|symmetric)"
    r"|(edge|arc|link|travel|road|street)?(direction|directionality|dir)(travel|oftravel)?"
    rf"|{_BACK}{_LENGTH}|{_LENGTH}{_BACK}"
)
_ONE_WAY = ("oneway", "isoneway")
KNOWN = "source and target (or from and to, tail and head, u and v, ...), weight"


@dataclass(frozen=True)
class Columns:
    """The places of the columns, from 0."""

    width: int  # number of columns in each line
    tail: int = 0
    head: int = 1
    weight: int | None = None  # None: every arc has the weight 1
    # The column that tells for each arc whether it is directed, if there is one; and whether it
    # tells nothing else, so that every row must say it.
    direction: int | None = None
    directs: bool = False
    # The column with the weight of the reverse of each arc. Beside it, a negative weight means that
    # there is no arc.
    reverse: int | None = None
    oneway: int | None = None  # the column that tells whether an arc has no reverse
    names: tuple[str, ...] = ()  # their names, if they have any


def may_be_weight(name: str) -> bool:
    """Return whether a column of this name, if it has numbers, may be the weight."""
    word = _word(name)
    return bool(word) and word not in _OTHERS


def by_position(width: int, weighted: bool | str | None) -> Columns:
    """Return the columns ``tail head [weight] [anything]``."""
    if isinstance(weighted, str):
        raise ValueError(f"no column is called {weighted!r}: the columns have no names")
    if weighted is None:
        weighted = width > 2
    return Columns(max(width, 2 + weighted), weight=2 if weighted else None)


def by_name(names: Sequence[str], weighted: bool | str | None) -> Columns | None:
    """Return the columns by the names of a header, None if it does not name the ends of an arc.

    Parameters
    ----------
    names : sequence of str
    weighted : bool or str, optional
        Whether there is a weight, or the name of its column. None: there is a weight if a column
        has such a name.

    Raises
    ------
    ValueError
        Several columns may be the same thing, an unknown column may be the weight, or a column
        changes the graph and is not read.
    """
    words = [_word(name) for name in names]
    ends = _ends(words)
    if ends is None:
        return None
    if words[ends[1]] == "head" and "relation" in words:
        raise ValueError("an arc of head, relation, tail leaves its head: call it source")
    groups = {match[1] for place in ends if (match := re.search(r"\((.*)\)", names[place]))}
    if len(groups) > 1:
        raise ValueError(f"the ids are of several groups, {' and '.join(sorted(groups))}")
    direction, directs = about_direction(names, ends)
    costs, oneway = about_reverse(names, ends)
    if costs is not None:
        if isinstance(weighted, str) and weighted != names[costs[0]]:
            raise ValueError(f"{names[costs[1]]!r} is for {names[costs[0]]!r}, not {weighted!r}")
        return Columns(
            len(names), *ends, costs[0], direction, directs, costs[1], names=tuple(names)
        )
    taken = {*ends, direction, oneway}
    weight = None if weighted is False else _weight(words, names, weighted, taken)
    return Columns(len(names), *ends, weight, direction, directs, oneway=oneway, names=tuple(names))


def about_direction(names: Sequence[str], ends: tuple[int, int]) -> tuple[int | None, bool]:
    """Return the column that tells which arcs are directed, and whether it tells nothing else.

    Parameters and errors are those of `about_reverse`.
    """
    words = [_word(name) for name in names]
    free = [place for place in range(len(words)) if place not in ends]
    said = [place for place in free if words[place] in (*_DIRECTED, _TYPES[0])]
    said = said or [place for place in free if words[place] in _TYPES]
    if len(said) > 1:
        raise ValueError("several columns may say what is directed")
    return (said[0], words[said[0]] in _DIRECTED) if said else (None, False)


def about_reverse(
    names: Sequence[str], ends: tuple[int, int]
) -> tuple[tuple[int, int] | None, int | None]:
    """Return the columns that say something about the reverse of each arc.

    Parameters
    ----------
    names : sequence of str
    ends : (int, int)
        The columns of the ends.

    Returns
    -------
    costs : (int, int) or None
        The columns with the costs of an arc and of its reverse.
    oneway : int or None
        The column that tells whether an arc has no reverse; None with `costs`, which tell it, too.

    Raises
    ------
    ValueError
        A column is not understood, or has no cost of the arc beside it.
    """
    words = [_word(name) for name in names]
    free = [place for place in range(len(words)) if place not in ends]
    found = [place for place in free if words[place] == _REVERSE]
    if len(found) == 1 and "weight" not in words and words.count(_COST) == 1:
        return (words.index(_COST), found[0]), None
    found = found or [place for place in free if _UNREAD.fullmatch(words[place])]
    if found:
        raise ValueError(
            f"the column {names[found[0]]!r} is about the reverse of an arc, which is read only "
            "from columns 'cost' and 'reverse_cost', 'oneway' or 'directed': write a row for each "
            "arc, or drop the column"
        )
    oneway = [place for place in free if words[place] in _ONE_WAY]
    if len(oneway) > 1:
        raise ValueError("several columns may say what is one-way")
    return None, oneway[0] if oneway else None


def _word(name: str) -> str:
    """Return a name in lower case, without punctuation and without Neo4j's type and group."""
    if name.strip().isdigit():
        return ""  # DataFrame.to_csv numbers columns that have no names
    name = re.sub(r"\(.*\)|\[.*\]", "", name.casefold())
    plain, colon, kind = name.rpartition(":")
    if kind.strip() in ("start_id", "end_id"):
        plain = kind
    elif colon and kind.strip() in ("type", "id", "label", "ignore"):
        plain = "label"
    word = re.sub(r"[\W_]+", "", plain or kind)
    return "" if word.startswith("unnamed") else word


def _end(word: str) -> str:
    """Return a word without node, vertex, id or index before or after it."""
    match = re.fullmatch(r"(?:node|vertex|id)*(.+?)(?:node|vertex|idx|id|index)*", word)
    return match[1] if match else word


def _ends(words: list[str]) -> tuple[int, int] | None:
    bare = [_end(word) for word in words]
    for group in _ENDS:
        pairs = [pair for pair in group if pair[0] in bare and pair[1] in bare]
        if pairs:
            if len(pairs) > 1 or any(bare.count(end) > 1 for end in pairs[0]):
                raise ValueError("several columns may be the ends of an arc")
            return bare.index(pairs[0][0]), bare.index(pairs[0][1])
    return None


def _weight(
    words: list[str], names: Sequence[str], weighted: bool | str | None, taken: set[int | None]
) -> int | None:
    free = [place for place in range(len(words)) if place not in taken]
    if isinstance(weighted, str):
        found = [place for place in free if names[place] == weighted]
        if len(found) != 1:
            shown = ", ".join(repr(names[place]) for place in free) or "none"
            raise ValueError(f"one column must be called {weighted!r}, but there are {shown}")
        return found[0]
    found = [place for place in free if words[place] == "weight"]
    found = found or [place for place in free if words[place] in _WEIGHTS]
    if not found:
        found = [place for place in free if words[place] and words[place] not in _OTHERS]
        if found and not weighted:
            rest = ", ".join(repr(names[place]) for place in found)
            raise ValueError(
                f"is {rest} the weight? Name the weight, or say that there is none, with the "
                "option weight or unweighted"
            )
    if len(found) > 1 or (weighted and not found):
        which = ", ".join(repr(names[place]) for place in found) or "none"
        raise ValueError(f"one column must be the weight, but there may be {which}")
    return found[0] if found else None
