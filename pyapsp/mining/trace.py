"""A trace: the values of Boolean and numeric variables at each instant.

Numbers are rows of float32 or float64. Booleans are rows of bits, 32 instants a word. Rows have a
multiple of `ALIGNED` bytes, in which the last instant is repeated: what holds at the last instant
holds in the padding, so kernels need no case for the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError, ParameterError, PrecisionError
from pyapsp.base.host import aligned
from pyapsp.base.json import Json, Record
from pyapsp.graph import validation

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["ALIGNED", "DTYPES", "Trace", "numbers"]

#: Bytes that the length of a row is a multiple of: the longest vector of words or doubles.
ALIGNED = 128
#: Types of numbers: the shortest that holds all values, or one of these.
DTYPES = ("auto", "float32", "float64")

#: What `Trace.of` takes.
Columns: TypeAlias = Union[
    Mapping[str, ArrayLike], "pandas.DataFrame", "polars.DataFrame", np.ndarray
]
_Numbers: TypeAlias = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """Values of variables at n instants; see `Trace.of` and `pyapsp.mining.read_trace`.

    Attributes
    ----------
    n : int
        Number of instants, at least one.
    numeric_names, boolean_names : tuple of str
        The variables, by row.
    numeric : (k, >= n) ndarray of float32 or float64
        Padded with the values of the last instant.
    boolean : (m, >= n / 32) ndarray of uint32
        Bit ``i % 32`` of word ``i // 32`` is instant i; padded with the last instant.
    facts : dict
        How it was made, e.g. the number of instants that were left out.
    known : (m, >= n / 32) ndarray of uint32 or None
        Which values of Booleans are known, as bits; an unknown number is NaN. None: all values
        are known, and NaN is a value.
    """

    n: int
    numeric_names: tuple[str, ...]
    numeric: _Numbers
    boolean_names: tuple[str, ...]
    boolean: NDArray[np.uint32]
    facts: Record = field(default_factory=dict, compare=False)
    known: NDArray[np.uint32] | None = None

    @classmethod
    def of(
        cls,
        columns: Columns,
        names: Sequence[str] | None = None,
        *,
        dtype: str = "auto",
        unknown: Mapping[str, NDArray[np.bool_]] | None = None,
        facts: Mapping[str, Json] | None = None,
    ) -> Trace:
        """Make a trace of columns.

        Parameters
        ----------
        columns : mapping of str to array-like, data frame, or (n, k) array
            One array of n values for each variable: bool, or numbers. A data frame of pandas or
            polars. A 2-D array has an instant in each row and needs `names`.
        names : sequence of str, optional
            The variables of a 2-D array; of other columns, those to take, in this order.
        dtype : {"auto", "float32", "float64"}
            Type of numbers. "auto": float32 if it holds all values exactly, else float64.
            "float32" rounds, as the original does.
        unknown : mapping of str to (n,) ndarray of bool, optional
            True where a variable has no value. A statement is checked at the instants at which all
            its variables have one, and NaN is none. Default: all values are known.
        facts : mapping, optional
            Kept in the trace.

        Raises
        ------
        ParameterError
            Columns have other lengths, types or names than these, or no instant.
        PrecisionError
            float64 cannot hold an integer; or with "float32", a value is beyond its range.
        """
        if dtype not in DTYPES:
            raise ParameterError.of("dtype", "Trace", f"one of {', '.join(DTYPES)}", dtype)
        arrays = _columns(columns, names)
        boolean = {name: each for name, each in arrays.items() if each.dtype == bool}
        rest = {name: numbers(each, name) for name, each in arrays.items() if name not in boolean}
        n = len(next(iter(arrays.values())))
        known = None
        if unknown is not None:
            masks = _masks(unknown, arrays, n)
            rest = {name: np.where(masks[name], np.nan, each) for name, each in rest.items()}
            known = _packed({name: ~masks[name] for name in boolean}, n)
        kind = _kind(rest, dtype)
        numeric = _rows(len(rest), n, kind.itemsize, kind)
        for row, (name, each) in zip(numeric, rest.items(), strict=True):
            with np.errstate(over="ignore"):
                row[:n] = each
            if kind == np.float32 and (np.isinf(row[:n]) & np.isfinite(each)).any():
                raise PrecisionError(f"variable {name!r} has values beyond the range of float32")
            row[:n] += kind.type(0)  # minus zero becomes zero, so equal numbers have equal bits
            row[n:] = row[n - 1]
        return cls(
            n, tuple(rest), numeric, tuple(boolean), _packed(boolean, n), dict(facts or {}), known
        )

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return self.numeric.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        known = 0 if self.known is None else self.known.nbytes
        return int(self.numeric.nbytes + self.boolean.nbytes + known)

    def rows(self, kind: str) -> np.ndarray:
        """Return the rows of a kind, "boolean" or "numeric"."""
        return self.boolean if kind == "boolean" else self.numeric

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the variables of a kind, by row."""
        return self.boolean_names if kind == "boolean" else self.numeric_names

    def values(self, kind: str) -> np.ndarray:
        """Return the values of a kind, one row for each variable: bool, or numbers."""
        if kind == "numeric":
            return self.numeric[:, : self.n]
        bits = np.unpackbits(self.boolean.view(np.uint8), axis=1, bitorder="little")
        return bits[:, : self.n].astype(bool)

    def part(self, start: int, stop: int) -> Trace:
        """Return the instants from `start`, a multiple of 1024, up to `stop`.

        Raises
        ------
        ParameterError
            `start` is no such multiple, or the part is empty.
        """
        start = validation.integer("start", "Trace.part", start, 0, self.n - 1)
        if start % 1024:
            raise ParameterError.of("start", "Trace.part", "a multiple of 1024", start)
        stop = min(validation.integer("stop", "Trace.part", stop, start + 1), self.n)
        if (start, stop) == (0, self.n):
            return self
        n = stop - start
        numeric = _rows(len(self.numeric), n, self.dtype.itemsize, self.dtype)
        numeric[:, :n] = self.numeric[:, start:stop]
        numeric[:, n:] = numeric[:, n - 1 : n]
        words = _part_of_bits(self.boolean, start, n)
        known = None if self.known is None else _part_of_bits(self.known, start, n)
        return Trace(n, self.numeric_names, numeric, self.boolean_names, words, self.facts, known)

    def knowledge(self, kind: str) -> NDArray[np.uint32] | None:
        """Return which values of a kind are known, as rows of bits; None: all are."""
        if self.known is None or kind == "boolean":
            return self.known
        names = dict(enumerate(self.numeric))
        return _packed({str(row): ~np.isnan(each[: self.n]) for row, each in names.items()}, self.n)


def numbers(values: np.ndarray, name: str) -> np.ndarray:
    """Return a column as it can be stored: floats, or integers that float64 holds.

    Raises
    ------
    ParameterError
        It has other values than numbers.
    PrecisionError
        float64 cannot hold one of its integers.
    """
    if values.dtype.kind not in "iuf" or values.dtype.itemsize > 8:
        rule = "of Booleans or of numbers of up to 8 bytes"
        raise ParameterError(f"variable {name!r} must be {rule}, not {_odd(values)}")
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size:
        exact = values.astype(np.float64)
        # beyond 2^63 the way back would overflow
        within = max(abs(int(values.min())), abs(int(values.max()))) <= 2**53
        if not (within or all(int(x) == int(y) for x, y in zip(exact, values, strict=True))):
            raise PrecisionError(f"variable {name!r} has integers that float64 cannot hold")
        return exact
    return values


def _odd(values: np.ndarray) -> str:
    """Return the first value that is no number, or the type if all are."""
    for value in values.tolist() if values.dtype.kind in "OUS" else ():
        try:
            if math.isfinite(float(value)):
                continue
        except (TypeError, ValueError):
            pass
        return repr(value)
    return str(values.dtype)


def _kind(columns: Mapping[str, np.ndarray], dtype: str) -> np.dtype:
    if dtype != "auto":
        return np.dtype(dtype)
    with np.errstate(over="ignore"):
        exact = all(
            each.dtype in (np.float32, np.float16)
            or np.array_equal(each, each.astype(np.float32).astype(each.dtype), equal_nan=True)
            for each in (_floats(each) for each in columns.values())
        )
    return np.dtype(np.float32 if exact else np.float64)


def _floats(values: np.ndarray) -> np.ndarray:
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _columns(columns: Columns, names: Iterable[str] | None) -> dict[str, np.ndarray]:
    """Return the columns that were asked for, each a 1-D array."""
    if not isinstance(names, Iterable | None):
        raise ParameterError.of("names", "Trace", "a sequence of names", names)
    names = None if names is None else list(names)
    if isinstance(columns, np.ndarray) and columns.ndim == 2:
        if names is None or len(names) != columns.shape[1]:
            raise ParameterError.of("names", "Trace", "a name for each column", names)
        taken: Iterable[tuple[str, ArrayLike]] = zip(names, columns.T, strict=True)
    elif hasattr(columns, "columns") or isinstance(columns, Mapping):
        known = list(getattr(columns, "column_names", getattr(columns, "columns", columns)))
        chosen = known if names is None else list(names)
        missing = [name for name in chosen if name not in known]
        if missing:
            raise ParameterError(f"there is no variable {missing[0]!r}")
        taken = ((name, columns[name]) for name in chosen)
    else:
        rule = "a mapping, a data frame or a 2-D array"
        raise ParameterError.of("columns", "Trace", rule, type(columns).__name__)
    listed = [(str(name), _column(name, column)) for name, column in taken]
    arrays = dict(listed)
    if len(arrays) < len(listed):
        raise ParameterError("the variables of a trace must have different names")
    if "" in arrays:
        raise ParameterError("a variable has no name: leave it out (pandas: index=False)")
    if not arrays:
        raise ParameterError("a trace has at least one variable")
    first = listed[0][0]
    for name, column in arrays.items():
        if column.ndim != 1:
            got = f"an array of shape {column.shape}" if column.ndim else repr(column.item())
            raise ParameterError(
                f"variable {name!r} must be a sequence of values, one for each instant. "
                f"Got {got} instead."
            )
        if column.size != arrays[first].size:
            raise ParameterError(
                f"the variables must have as many values as there are instants: {first!r} has "
                f"{arrays[first].size:,}, and {name!r} has {column.size:,}"
            )
    if not next(iter(arrays.values())).size:
        raise ParameterError("a trace has at least one instant")
    return arrays


def _column(name: str, values: ArrayLike) -> np.ndarray:
    """Return the values of a variable, none of them masked or missing."""
    try:
        return validation.array(f"the values of variable {str(name)!r}", values)
    except GraphError as error:
        raise ParameterError(str(error)) from None


def _rows(count: int, length: int, size: int, dtype: np.dtype) -> np.ndarray:
    """Return new rows whose length in bytes is a multiple of `ALIGNED`."""
    return aligned((count, -(-length * size // ALIGNED) * ALIGNED // size), dtype)


def _masks(
    unknown: Mapping[str, NDArray[np.bool_]], arrays: Mapping[str, np.ndarray], n: int
) -> dict[str, NDArray[np.bool_]]:
    """Return what is unknown of each variable."""
    for name, mask in unknown.items():
        if name not in arrays:
            raise ParameterError(f"there is no variable {name!r}")
        if np.shape(mask) != (n,) or np.asarray(mask).dtype != bool:
            rule = f"an array of {n} Booleans for each variable"
            raise ParameterError.of("unknown", "Trace", rule, name)
    return {name: np.asarray(unknown.get(name, np.zeros(n, bool))) for name in arrays}


def _part_of_bits(rows: NDArray[np.uint32], start: int, n: int) -> NDArray[np.uint32]:
    """Return n instants of rows of bits, padded."""
    count = -(-n // 32)
    words = _rows(len(rows), count, 4, np.dtype(np.uint32))
    words[:, :count] = rows[:, start // 32 : start // 32 + count]
    _pad_bits(words, n)
    return words


def _packed(columns: Mapping[str, np.ndarray], n: int) -> NDArray[np.uint32]:
    words = _rows(len(columns), -(-n // 32), 4, np.dtype(np.uint32))
    for row, each in zip(words, columns.values(), strict=True):
        packed = np.packbits(each, bitorder="little")
        row.view(np.uint8)[: len(packed)] = packed
    _pad_bits(words, n)
    return words


def _pad_bits(words: NDArray[np.uint32], n: int) -> None:
    """Repeat the bit of the last instant up to the end of the rows."""
    last, place = (n - 1) // 32, np.uint32((n - 1) % 32)
    mask = np.uint32((2 << int(place)) - 1 & 0xFFFFFFFF)
    for row in words:
        filler = np.uint32(0xFFFFFFFF if row[last] >> place & np.uint32(1) else 0)
        row[last] = (row[last] & mask) | (filler & ~mask)
        row[last + 1 :] = filler
