"""The common part of the text formats: parsing columns of numbers, finding faults, writing lines.

A reader parses all lines at once. Only if that fails, or the values are not valid, it parses the
file again line by line to find the wrong line.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import GraphError
from pyapsp.base.files import atomic_write
from pyapsp.base.spelling import is_plain
from pyapsp.graph.io.source import LineError
from pyapsp.graph.model import Graph
from pyapsp.graph.validation import MAX_VERTICES

__all__ = [
    "RoundedWeightError",
    "announced",
    "check_vertices",
    "foreign",
    "integer",
    "locate",
    "not_weights",
    "numbers_from_one",
    "table",
    "vertex",
    "weight",
    "weight_texts",
    "write_lines",
]

# A header may have this many vertices without arcs: 128 MiB of row pointers.
MAX_ISOLATED = 2**24
# Digits of a number that a message shows.
_SHOWN = 40


class RoundedWeightError(ValueError):
    """An integer weight that float64 rounds, where another weight is no integer.

    Attributes
    ----------
    row : int
        Number of its line among those with data.
    """

    def __init__(self, row: int, token: str) -> None:
        super().__init__(f"the weight {token} does not fit into float64, which others need")
        self.row = row


def table(
    lines: Sequence[str],
    columns: Sequence[tuple[str, str]],
    *,
    weighted: bool = True,
    may_round: bool = False,
    delimiter: str | None = None,
    quotechar: str | None = None,
    usecols: Sequence[int] | None = None,
) -> np.ndarray:
    """Parse lines into columns, as `numpy.loadtxt` does; any other text is an error.

    Parameters
    ----------
    lines : sequence of str
        The lines with data, and no others.
    columns : sequence of (str, str)
        Name and dtype of the columns before the weight.
    weighted : bool
        Whether a column ``weight`` follows: int64 if every weight is written as an integer,
        else float64.
    may_round : bool
        Whether the format says that weights are floats, so that integers may be rounded.
    delimiter, quotechar, usecols
        As for `numpy.loadtxt`.

    Returns
    -------
    ndarray
        Structured, one record a line.

    Raises
    ------
    ValueError
        A line does not have these columns.
    RoundedWeightError
        See there.
    """

    def load(*weight: str) -> np.ndarray:
        kinds = [*columns, *(("weight", kind) for kind in weight)]
        if not lines:  # loadtxt would warn
            return np.zeros(0, kinds)
        return np.loadtxt(
            lines,
            kinds,
            comments=None,
            delimiter=delimiter,
            quotechar=quotechar,
            usecols=usecols,
            ndmin=1,
        )

    if not weighted:
        return load()
    try:
        return load("i8")
    except ValueError:
        loaded = load("f8")
    if (np.abs(loaded["weight"]) >= 2.0**53).any() or (loaded["weight"] == 0).any():
        # there are integers too large for int64, another weight is no integer, or one became zero
        texts = load("O")["weight"]
        if all(re.fullmatch(r"[+-]?[0-9]+", token.strip()) for token in texts):
            raise ValueError("a weight does not fit into int64")
        for row, (number, token) in enumerate(zip(loaded["weight"], texts, strict=True)):
            _check_range(number, token)
            whole = not may_round and re.fullmatch(r"[+-]?[0-9]+", token.strip())
            if whole and int(token) != int(number):
                raise RoundedWeightError(row, token.strip())
    return loaded


def locate(
    lines: Sequence[str], check: Callable[[str], None], at_end: Callable[[], str]
) -> LineError:
    """Find the first line at which `check` raises, and return the error that names it.

    Parameters
    ----------
    lines : sequence of str
        All its lines.
    check : callable
        Takes one line after the other and raises ValueError at a fault.
    at_end : callable
        Called if no line has a fault; returns what is missing in the file.
    """
    for number, line in enumerate(lines, start=1):
        try:
            check(line)
        except ValueError as error:
            return LineError(number, str(error))
    return LineError(max(len(lines), 1), at_end())


def integer(token: str, what: str) -> int:
    """Return a token as an int, or raise ValueError."""
    if not re.fullmatch(r"[+-]?[0-9]+", token):
        raise ValueError(f"{what} must be an integer, not {token!r}{foreign(token)}")
    # Python refuses to convert thousands of digits
    if len(token.lstrip("+-0")) > 19 or not -(2**63) <= int(token) < 2**63:
        raise ValueError(f"{what} {token[:_SHOWN]} does not fit into int64")
    return int(token)


def foreign(token: str) -> str:
    """Return advice for messages if a token has digits of another script or width, else ""."""
    return " (write the digits 0 to 9)" if re.search(r"[^\D0-9]", token) else ""


def vertex(token: str, n: int) -> int:
    """Return a vertex number counted from 1, or raise ValueError."""
    number = integer(token, "a vertex")
    if not 1 <= number <= n:
        raise ValueError(f"vertex {number} is outside 1..{n}")
    return number


def weight(token: str) -> None:
    """Raise ValueError unless the token is a weight: no NaN, no -inf, no integer beyond int64."""
    if re.fullmatch(r"[+-]?[0-9]+", token):
        integer(token, "a weight")
        return
    try:
        number = float(token) if is_plain(token) else None
    except ValueError:
        number = None
    if number is None:
        raise ValueError(f"a weight must be a number, not {token!r}{_commas(token)}")
    _check_range(number, token)
    if np.isnan(number) or np.isneginf(number):
        raise ValueError(f"the weight is {number}")


def _commas(token: str) -> str:
    """Return advice about the commas or the digits of a token that is no number."""
    # 1,000 and 1,000,000.5 are more often thousands than decimals; 0,500 is not
    if re.fullmatch(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?", token):
        plain = token.replace(",", "")
        return f" (for a number with separators of thousands, write {plain})"
    if re.fullmatch(r"[+-]?[0-9.]*,[0-9]+", token):
        return " (write a decimal point)"
    return foreign(token)


def _check_range(number: float, token: str) -> None:
    """Raise ValueError if a number became infinite, which would be no arc, or zero."""
    if np.isinf(number) and "inf" not in token.lower():
        raise ValueError(f"a weight does not fit into float64: {token}")
    if number == 0 and re.search("[1-9]", re.split("[eE]", token)[0]):
        raise ValueError(f"a weight is too small for float64: {token}")


def announced(line: int, fields: Sequence[str], found: int) -> list[int]:
    """Return the counts of a header, the number of vertices first.

    Memory must not be allocated from a header alone. So the number of vertices is compared with the
    number `found` of entries in the file.

    Raises
    ------
    LineError
        A count is no integer, is negative, or is far too large for the entries.
    """
    try:
        counts = [integer(field, "a count") for field in fields]
    except ValueError as error:
        raise LineError(line, str(error)) from None
    if min(counts) < 0 or counts[0] > MAX_VERTICES:
        raise LineError(line, f"a graph cannot have the counts {' '.join(fields)}")
    check_vertices(line, counts[0], found)
    return counts


def check_vertices(line: int | None, n: int, found: int) -> None:
    """Raise an error if there are far more vertices than the entries can have."""
    if n > 2 * found + MAX_ISOLATED:
        raise LineError(line, f"{n} vertices are announced, but the file has {found} entries")


def numbers_from_one(n: int) -> NDArray[np.int64]:
    """Return the labels of n vertices in a format that counts them from 1."""
    return np.arange(1, n + 1)


def not_weights(weights: np.ndarray) -> bool:
    """Return whether a weight is NaN or -inf."""
    return bool((np.isnan(weights) | np.isneginf(weights)).any())


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines, compressed if the name ends in ``.gz``. After an error there is no new file."""
    content = "".join(f"{line}\n" for line in lines).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)  # the same graph gives the same bytes
    with atomic_write(path, "wb") as file:
        file.write(content)


def weight_texts(graph: Graph, *, whole: bool = False) -> list[str]:
    """Return the weights as strings from which the same numbers are read.

    Parameters
    ----------
    graph : Graph
        The graph.
    whole : bool
        Whether the format has only integers. Then other weights are an error.
    """
    if whole and graph.dtype.kind != "i":
        if not graph.is_integer or graph.max_magnitude >= 2**63:
            raise GraphError("this format holds integer weights only; use .mtx, .csv or .npz")
        return [str(int(value)) for value in graph.weights.tolist()]
    return [repr(value) for value in graph.weights.tolist()]
