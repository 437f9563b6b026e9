"""Edge lists of NetworkX, in which the attributes of each arc are a dictionary.

`networkx.write_edgelist` writes ``0 1 {}`` or ``0 1 {'weight': 4, 'name': 'A 4'}``. The attribute
``weight`` takes the place of the dictionary, as in the files of `networkx.write_weighted_edgelist`.
"""

from __future__ import annotations

import ast
import re

from pyapsp.graph.columns import Columns, may_be_weight
from pyapsp.graph.io import layout
from pyapsp.graph.io.layout import Layout
from pyapsp.graph.io.source import LineError
from pyapsp.graph.validation import is_real

__all__ = ["as_columns"]

# The ends of an arc, and its attributes.
_ROW = re.compile(r"([^{]*[^\s{,;])[^\S\t]*([,;\t ])\s*\"?(\{.*\})\"?\s*")
# Numbers as NumPy prints them, and infinity.
_SCALAR = re.compile(r"\bnp\.(?:float|int|uint)[0-9]+\(([^()]*)\)")
_INFINITE = re.compile(r"(?<=: )inf\b")


def as_columns(lines: list[str], weighted: bool | str | None) -> tuple[list[str], Layout] | None:
    """Return lines with the weights in place of the attributes, and their layout.

    Parameters
    ----------
    lines : list of str
        All lines of the file.
    weighted : bool or str, optional
        Whether there are weights, or the name of their attribute. None: there are if the first arc
        has one.

    Returns
    -------
    (list of str, Layout) or None
        None if there are no attributes.

    Raises
    ------
    LineError
        An arc has no attributes, no weight, or others that may be the weight.
    """
    start = next((number for number, line in enumerate(lines) if layout.is_row(line)), None)
    first = None if start is None else _ROW.fullmatch(lines[start])
    if start is None or first is None:
        return None
    rows = [(number, line) for number, line in enumerate(lines) if layout.is_row(line)]
    comments = [line for line in lines[:start] if line.strip()]
    directed, weighted = layout.directions_in_comments(comments, weighted)
    separator = None if first[2] == " " else first[2]
    name = weighted if isinstance(weighted, str) else "weight"
    wanted = None if weighted is None else bool(weighted)
    result, whole = list(lines), False
    for number, line in rows:
        row = _ROW.fullmatch(line)
        ends = [] if row is None else layout.fields(row[1], separator)
        if row is None or len(ends) != 2:
            rule = "two ids and attributes such as {} are expected"
            raise LineError(number + 1, f"{rule}, not {line!r}")
        attributes = _dictionary(number + 1, row[3])
        if number == start:
            whole = all(map(layout.is_integer, ends))
            wanted = "weight" in attributes if wanted is None else wanted
        result[number] = row[1]
        if wanted:
            result[number] += f"{separator or ' '}{_weight(number + 1, attributes, name)!r}"
        elif weighted is None:
            _refuse_weights(number + 1, attributes)
    places = Columns(3, weight=2) if wanted else Columns(2)
    known = Layout(separator, start, start, places, whole, directed, None, bare=False)
    return result, layout.checked(result, known)


def _dictionary(line: int, text: str) -> dict[str, object]:
    """Return the attributes, which are literals of Python."""
    try:
        found = ast.literal_eval(_INFINITE.sub("1e999", _SCALAR.sub(r"\1", text)))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        found = None
    if not isinstance(found, dict):
        raise LineError(line, f"{text[:80]!r} are no attributes as Python writes them")
    return {str(name): value for name, value in found.items()}


def _weight(line: int, attributes: dict[str, object], name: str) -> int | float:
    value = attributes.get(name)
    if name not in attributes:
        raise LineError(line, f"this arc has no attribute {name!r}, and others have one")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LineError(line, f"a weight must be a number, not {value!r}")
    return value


def _refuse_weights(line: int, attributes: dict[str, object]) -> None:
    """Raise an error for numbers where the first arc has no weight."""
    if "weight" in attributes:
        raise LineError(line, "this arc has an attribute 'weight', and the first has none")
    numbers = [name for name, value in attributes.items() if may_be_weight(name) and is_real(value)]
    if numbers:
        rest = ", ".join(map(repr, numbers))
        hint = "name the weight, or say that there is none, with the option weight or unweighted"
        raise LineError(line, f"is the attribute {rest} the weight? If so {hint}")
