"""Rows of nothing but numbers, parsed by pandas if it is installed.

That takes a tenth of the time of the other parser, which names the faulty line; whatever is not
plain is left to it.
"""

from __future__ import annotations

import importlib.util
import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pyapsp.graph.io.layout import Layout

if TYPE_CHECKING:
    import pandas

__all__ = ["BLOCK", "parse"]

#: Bytes that are parsed at once. Their numbers take several times as much memory, until they are
#: written into the columns of all rows.
BLOCK = 2**22

_DIGITS, _ENDS = b"0123456789+-.eE", b"\r\n"
_INT32 = np.iinfo(np.int32)
# float64 counts in ones up to here; an integer above it may have been rounded.
_COUNTED = 2.0**53


def parse(content: bytes, layout: Layout) -> list[NDArray[np.generic]] | None:
    """Parse rows of two integers, the tail and the head, and perhaps a weight behind them.

    Parameters
    ----------
    content : bytes
        The file.
    layout : Layout
        That of its first lines.

    Returns
    -------
    list of ndarray or None
        Tails and heads: int32, or int64 if a column has one beyond int32; weights: int64 or
        float64. None if something is not such a number, or pandas is missing.
    """
    places, width = layout.columns, layout.columns.width
    ends = sorted((places.tail, places.head))
    if (
        not layout.whole
        or places.direction is not None
        or (ends, width, places.weight) not in (([0, 1], 2, None), ([0, 1], 3, 2))
        or importlib.util.find_spec("pandas") is None
    ):
        return None
    start = 0
    for _ in range(layout.start):
        start = content.index(b"\n", start) + 1
    size = _count(content, b"\n", start) + 1
    kinds: list[DTypeLike] = [np.int32, np.int32, np.int64]
    found: list[np.ndarray] = [np.empty(size, kind) for kind in kinds[:width]]
    rows = 0
    for block in _blocks(content, start):
        parsed = _columns(block, layout.separator, width)
        if parsed is None:
            return None
        after = rows + len(parsed[0])
        for place, values in enumerate(parsed):
            found[place] = _wide_enough(found[place], values)
            found[place][rows:after] = values
        rows = after
    found = [column[:rows] for column in found]
    if found[-1].dtype.kind == "f" and not _sure(found[-1]):
        return None
    return [found[places.tail], found[places.head], *found[2:]]


def _blocks(content: bytes, start: int) -> Iterator[bytes]:
    """Yield the lines from a place on, some at a time; blank ones may be left out."""
    while start < len(content):
        stop = content.find(b"\n", start + BLOCK - 1) + 1 or len(content)
        block = content[start:stop]
        if not block.isspace():
            yield block
        start = stop


def _count(content: bytes, byte: bytes, start: int = 0) -> int:
    """Return how often a byte occurs from a place on; `bytes.count` takes five times as long."""
    found = np.frombuffer(content, np.uint8)
    return sum(
        int(np.count_nonzero(found[first : first + BLOCK] == ord(byte)))
        for first in range(start, len(content), BLOCK)
    )


def _wide_enough(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a column in a type that also holds these values, of int64 or float64."""
    kind = np.result_type(column, values)
    if column.dtype == np.int32 and values.min() >= _INT32.min and values.max() <= _INT32.max:
        return column
    return column.astype(kind, copy=False)


def _sure(weights: NDArray[np.float64]) -> bool:
    """Return whether no weight may have been rounded from an integer, or to zero.

    Of a zero, only the text shows whether it is one.
    """
    within = weights.min() > -_COUNTED and weights.max() < _COUNTED
    return bool(within and np.count_nonzero(weights) == weights.size)


def _columns(body: bytes, separator: str | None, width: int) -> list[np.ndarray] | None:
    """Return columns of int64, and weights of int64 or float64; None as `parse`."""
    between = b" \t" if separator is None else separator.encode()
    if body.translate(None, _DIGITS + _ENDS + between):
        return None
    frame = None
    single = _single(body) if separator is None else separator
    if single is not None:
        frame = _parsed(body, single, width)
    if separator is None:
        # a row with a blank more than columns need is read in another way
        blanks = 0 if single is None else _count(body, single.encode())
        if frame is None or blanks != len(frame) * (width - 1):
            frame = _parsed(body, r"\s+", width)
    if frame is None:
        return None
    found = [frame[number].to_numpy() for number in range(width)]
    if any(ids.dtype != np.int64 for ids in found[:2]):
        return None
    if found[-1].dtype == np.float64:
        # pandas may round the last digit
        texts = _parsed(body, separator or r"\s+", width, usecols=[2], dtype=str)
        assert texts is not None
        found[2] = texts[2].to_numpy(dtype=object).astype(np.float64)
        return found
    return found if found[-1].dtype == np.int64 else None


def _single(body: bytes) -> str | None:
    """Return the only blank in the rows, which pandas splits at twice as fast as at white space."""
    if b"\t" not in body:
        return " "
    return None if b" " in body else "\t"


def _parsed(
    body: bytes, separator: str, width: int, **form: list[int] | type[str]
) -> pandas.DataFrame | None:
    """Return the rows as pandas reads them; None if it cannot."""
    import pandas

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pandas.errors.DtypeWarning)  # such a column is refused
        try:
            found = pandas.read_csv(
                io.BytesIO(body),
                sep=separator,
                header=None,
                names=list(range(width)),
                na_filter=False,
                **form,
            )
        except ValueError:
            return None
    # if the first row has more columns, pandas makes an index of the first ones
    return found if isinstance(found.index, pandas.RangeIndex) else None
