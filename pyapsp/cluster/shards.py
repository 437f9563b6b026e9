"""Rows of distances in files: one mapped file, or a file of each rank; read without loading."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from pyapsp.base.errors import FormatError, ParameterError
from pyapsp.base.files import check_name
from pyapsp.base.json import Record
from pyapsp.graph.io import archive
from pyapsp.graph.validation import integer
from pyapsp.numbers.precision import DTYPES

__all__ = ["CONTENT", "RowFile", "beside", "described", "open_rows"]

#: The file of a folder that says what is in it.
CONTENT = "rows.json"
_FORMAT, _SCHEMA = "rows of pyapsp", 1
# What names the files of a rank.
_KINDS = "file", "predecessors"


def beside(path: str | os.PathLike[str]) -> Path:
    """Return the file of the predecessors that belongs to a file of distances."""
    return Path(f"{os.fspath(path)}.predecessors.npy")


@dataclass(frozen=True)
class _Span:
    """Neighbouring rows: their first number, and where they are."""

    first: int
    rows: np.ndarray


class RowFile:
    """Rows of an array that is mapped from one or several files.

    ``rows[i]`` is a row, ``rows[i:j]`` and ``rows[[i, j, k]]`` are several, as NumPy arrays. Only
    what is asked for is read.

    Attributes
    ----------
    shape : (int, int)
    dtype : numpy.dtype
    predecessors : RowFile or None
        The predecessors of these distances, if they were stored.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: np.dtype,
        spans: list[_Span],
        predecessors: RowFile | None = None,
    ) -> None:
        self.shape, self.dtype, self.predecessors = shape, dtype, predecessors
        self._spans = sorted(spans, key=lambda span: span.first)
        self._starts = np.array([span.first for span in self._spans], np.int64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows_wanted: slice | ArrayLike) -> np.ndarray:
        count, n = self.shape
        if isinstance(rows_wanted, slice):
            start, stop, step = rows_wanted.indices(count)
            if step == 1:
                return self._range(start, max(start, stop))
            return self[np.arange(start, stop, step)]
        if np.ndim(rows_wanted) == 0:
            row = integer("row", "RowFile", cast("SupportsIndex", rows_wanted), -count, count - 1)
            one: np.ndarray = self._range(row % count, row % count + 1)[0]
            return one
        rows = np.asarray(rows_wanted)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ParameterError.of(
                "rows", "RowFile", "a row, a slice or a list of rows", rows_wanted
            )
        values = np.empty((rows.size, n), self.dtype)
        for place, row in enumerate(rows.tolist()):
            values[place] = self[row]
        return values

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[row] for row in range(len(self)))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the rows are in files: an array of them is a copy")
        return np.asarray(self[:], dtype)

    def _range(self, start: int, stop: int) -> np.ndarray:
        place = int(np.searchsorted(self._starts, start, "right")) - 1
        if place >= 0:
            span = self._spans[place]
            if stop <= span.first + len(span.rows):
                rows: np.ndarray = span.rows[start - span.first : stop - span.first]
                return rows
        values = np.empty((stop - start, self.shape[1]), self.dtype)
        for span in self._spans[max(place, 0) :]:
            low, high = max(start, span.first), min(stop, span.first + len(span.rows))
            if low < high:
                values[low - start : high - start] = span.rows[low - span.first : high - span.first]
        return values


def open_rows(path: str | os.PathLike[str]) -> RowFile:
    """Open the rows that a run has written, without loading them.

    Parameters
    ----------
    path : path-like
        ``OUT.npy``, a file with all rows, or ``OUT.rows``, a folder with a file of each rank.

    Returns
    -------
    RowFile
        Distances, one row for each source; its attribute `predecessors` has the predecessors, if
        they were stored.

    Raises
    ------
    FormatError
        If these are no such files, or one is missing or damaged. A run that was killed leaves
        nothing that this function opens.

    Examples
    --------
    >>> rows = pyapsp.open_rows("OUT.rows")  # doctest: +SKIP
    >>> rows[3353].max()  # doctest: +SKIP
    """
    path = check_name(path, "open_rows")
    if path.is_dir():
        return _folder(path)
    distances = _mapped(path, None)
    before, companion = None, beside(path)
    if companion.exists():
        before = _one(_mapped(companion, distances.shape))
    return _one(distances, before)


def described(shape: tuple[int, int], dtype: np.dtype, shards: Sequence[Record]) -> Record:
    """Return the content of `CONTENT` for files of ranks.

    Parameters
    ----------
    shape : (int, int)
    dtype : numpy.dtype
    shards : list of dict
        Of each rank: ``file``, ``predecessors`` (a file or None) and ``ranges``, the rows in them
        as pairs of the first and one past the last.
    """
    return {
        "format": _FORMAT,
        "schema": _SCHEMA,
        "shape": list(shape),
        "dtype": dtype.name,
        "shards": shards,
    }


def _one(array: np.ndarray, predecessors: RowFile | None = None) -> RowFile:
    spans = [_Span(0, array)] if len(array) else []
    return RowFile(array.shape, array.dtype, spans, predecessors)


def _mapped(path: Path, shape: tuple[int, ...] | None) -> np.ndarray:
    """Map a NumPy file."""
    try:
        array = archive.mapped(path, "no rows of distances")
    except FormatError:
        raise
    except FileNotFoundError:
        raise FormatError(path, None, "there is no such file") from None
    except (OSError, ValueError) as error:  # of the name
        raise FormatError(path, None, f"no rows of distances: {error}") from None
    if array.ndim != 2:
        raise FormatError(path, None, "not a matrix")
    if shape is not None and array.shape != shape:
        raise FormatError(path, None, f"its shape is {array.shape} instead of {shape}")
    return array


def _folder(path: Path) -> RowFile:
    """Open a folder with a file of each rank."""
    about = path / CONTENT
    try:
        content = json.loads(about.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT or content["schema"] != _SCHEMA:
            raise ValueError("not of this format")
        count, n = map(int, content["shape"])
        dtype = np.dtype({name: name for name in DTYPES}[content["dtype"]])
        shards = [
            (
                [None if each[kind] is None else str(each[kind]) for kind in _KINDS],
                [(int(low), int(high)) for low, high in each["ranges"]],
            )
            for each in content["shards"]
        ]
    except FileNotFoundError:
        raise FormatError(about, None, "missing: the run did not end, or not here") from None
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FormatError(about, None, f"not the rows of a run: {error!r}") from None
    spans: list[_Span] = []
    befores: list[_Span] = []
    for files, ranges in shards:
        size = sum(high - low for low, high in ranges)
        if size == 0:
            continue
        for file, target in zip(files, (spans, befores), strict=True):
            if file is None:
                continue
            if Path(file).name != file:
                raise FormatError(about, None, f"{file!r} is not in this folder")
            rows, start = _mapped(path / file, (size, n)), 0
            if rows.dtype != (wanted := dtype if target is spans else np.dtype(np.int32)):
                raise FormatError(path / file, None, f"its type is not {wanted}")
            for low, high in ranges:
                target.append(_Span(low, rows[start : start + high - low]))
                start += high - low
    covered = sorted((span.first, span.first + len(span.rows)) for span in spans)
    ends = [0, *(high for _, high in covered)]
    if [low for low, _ in covered] != ends[:-1] or ends[-1] != count:
        raise FormatError(about, None, f"the files do not have each of the {count} rows once")
    before = None
    if any(companion is not None for (_, companion), _ in shards):
        before = RowFile((count, n), np.dtype(np.int32), befores)
    return RowFile((count, n), dtype, spans, before)
