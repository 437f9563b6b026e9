"""Columns of tables, some rows at a time: ``.csv``, ``.parquet``, ``.npy`` and ``.npz`` files.

A ``.csv`` file is parsed in blocks of whole lines, each after the line with the names, and an
``.npz`` file has one open stream for each array::

    csv   names | lines ... | lines ... | lines        block by block, by polars
    npz   x [####....]                                 the next rows of every array
          y [####....]
"""

from __future__ import annotations

import codecs
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from csv import reader as fields
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, TypeAlias

import numpy as np

from pyapsp.base.errors import FormatError, ParameterError, PrecisionError
from pyapsp.base.extras import extra
from pyapsp.base.json import Record
from pyapsp.graph.io import archive
from pyapsp.mining.names import absent, excluded
from pyapsp.mining.trace import numbers

if TYPE_CHECKING:
    import polars

__all__ = ["Columns", "csv", "npy", "npz", "parquet"]

#: Columns of each piece, and facts about it.
Columns: TypeAlias = Iterator[tuple[dict[str, np.ndarray], Record]]
# Bytes of a block of a ``.csv`` file.
_BLOCK = 2**26
# Bytes of the first line of a table that are looked at.
_HEADER = 2**20
# float64 counts in ones up to here; an integer above it may have been rounded.
_COUNTED = 2.0**53


@dataclass(frozen=True)
class Part:
    """What of a file is read."""

    # Rows of a piece; None: all.
    instants: int | None
    variables: Sequence[str] | None = None  # the columns to read
    exclude: Sequence[str] | None = None  # names or patterns of columns that are not read


def csv(path: Path, part: Part) -> Columns:
    """Yield the columns of a ``.csv`` file.

    Parameters
    ----------
    path : Path
    part : Part

    Raises
    ------
    FormatError
        A row has another number of values, or a value is missing or no number.
    ParameterError
        There is no such variable.
    PyApspError
        Polars is not installed.
    """
    polars = _polars(path)
    _check_header(path, part.variables)
    instants = part.instants
    waiting: list[dict[str, np.ndarray]] = []
    rows, line = 0, 2
    for text in _blocks(path):
        try:
            frame = polars.read_csv(text, infer_schema_length=None)
            frame = frame.rename({name: name.strip() for name in frame.columns})
            chosen = _chosen(path, part, frame.columns)
            columns = {}
            for name in chosen:
                texts = cache(partial(_texts, text, polars, frame.columns.index(name)))
                columns[name] = _values(path, line, name, frame[name], texts, polars)
        except _faults(polars) as error:
            said = str(error).splitlines()[0]
            if "more fields" in said:
                said = "a line has more values than the header has names"
            raise FormatError(path, None, said) from None
        if waiting and columns.keys() != waiting[-1].keys():
            raise FormatError(path, 1, "the names of the variables are not one line")
        for name, values in columns.items():
            if waiting and (values.dtype == bool) != (waiting[-1][name].dtype == bool):
                raise FormatError(path, line, f"variable {name!r} has Booleans and numbers")
        waiting.append(columns)
        line, rows = line + frame.height, rows + frame.height
        if instants is None or rows <= instants:
            continue
        columns, start = _joined(waiting), 0
        waiting = [columns]  # so that the blocks are freed
        while rows > instants:
            stop = start + instants
            yield {name: values[start:stop] for name, values in columns.items()}, {}
            start, rows = stop, rows - instants
        waiting = [{name: values[start:] for name, values in columns.items()}]
    yield _joined(waiting), {}


def _check_header(path: Path, variables: Sequence[str] | None) -> None:
    """Refuse a first line that polars would take for names that it does not have."""
    with open(path, "rb") as file:
        line = file.readline(_HEADER)
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FormatError(path, 1, "the encoding is UTF-16: save the file as UTF-8")
    text = line.decode("utf-8-sig", "replace").rstrip("\r\n")
    others = [name for mark, name in ((";", "semicolons"), ("\t", "tabs")) if mark in text]
    if others and "," not in text:
        raise FormatError(path, 1, f"values must be separated by commas, not by {others[0]}")
    names = next(fields([text]), [])
    if names and all(map(_is_value, names)):
        raise FormatError(path, 1, "the first line must have the names of the variables")
    if variables is not None:
        return
    for place, name in enumerate(names):
        if not name:
            hint = "give it one, or leave it out (pandas: index=False)"
            raise FormatError(path, 1, f"column {place + 1} has no name: {hint}")
        if name in names[:place]:
            raise FormatError(path, 1, f"two columns have the name {name!r}")


def _is_value(field: str) -> bool:
    """Return whether a field of a table is a number or a truth value."""
    try:
        float(field)
    except ValueError:
        return field.strip().lower() in ("true", "false")
    return True


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file in blocks, each after the first line."""
    with open(path, "rb") as file:
        names = rest = file.readline()
        while piece := file.read(_BLOCK):
            end = piece.rfind(b"\n") + 1
            if end:
                yield rest + piece[:end]
                rest = names
            rest += piece[end:]
        if len(rest) > len(names) or file.tell() == len(names):
            yield rest


def _joined(pieces: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}


def _texts(block: bytes, module: ModuleType, place: int) -> polars.Series:
    """Return a column of a block as it is written."""
    column: polars.Series = module.read_csv(block, columns=[place], infer_schema=False).to_series()
    return column


def _values(
    path: Path,
    line: int,
    name: str,
    column: polars.Series,
    written: Callable[[], polars.Series],
    module: ModuleType,
) -> np.ndarray:
    """Return a column of a block as Booleans or numbers."""
    if column.dtype == module.String:
        texts = column.str.strip_chars()
        logical, kind = texts.is_in(["true", "false"]), "number"
        column = texts.cast(module.Int64, strict=False)
        if logical[:1].any():
            kind = "Boolean"
            column = module.select(module.when(logical).then(texts == "true")).to_series()
        elif column.null_count() > texts.null_count():
            column = texts.cast(module.Float64, strict=False)
        wrong = (column.is_null() & texts.is_not_null()).arg_true()
        if len(wrong):
            said = f"variable {name!r}: {texts[wrong[0]][:60]!r} is no {kind}"
            raise FormatError(path, line + wrong[0], said)
    if column.null_count():
        at = line + column.is_null().arg_true()[0]
        raise FormatError(path, at, f"variable {name!r} has a missing value")
    if column.dtype == module.Int128:
        raise PrecisionError(f"{path}: variable {name!r} has integers that float64 cannot hold")
    values: np.ndarray = column.to_numpy()
    if values.dtype.kind not in "biuf":
        raise FormatError(path, line, f"variable {name!r} has values of type {column.dtype}")
    if values.dtype == bool:
        return values
    # integers that were rounded, because others are fractions, and numbers that are too large
    for place in np.flatnonzero(np.abs(values) >= _COUNTED) if values.dtype.kind == "f" else ():
        token = written()[int(place)].strip()
        changed = re.fullmatch(r"[+-]?[0-9]+", token) and int(token) != int(values[place])
        if changed or (np.isinf(values[place]) and "inf" not in token.lower()):
            where = f"{path}:{line + place}: variable {name!r}"
            raise PrecisionError(f"{where}: float64 cannot hold {token[:60]}")
    try:
        return numbers(values, name)
    except PrecisionError as error:
        raise PrecisionError(f"{path}: {error}") from None


def parquet(path: Path, part: Part) -> Columns:
    """Yield the columns of a ``.parquet`` file; see `csv`."""
    instants = part.instants
    polars = _polars(path)
    with open(path, "rb"):
        pass  # an OSError that names the file, where polars may have another error
    try:
        lazy, start = polars.scan_parquet(path), 0
        lazy = lazy.select(_chosen(path, part, lazy.collect_schema().names()))
        while True:
            frame = (lazy if instants is None else lazy.slice(start, instants)).collect()
            if not frame.height and start:
                return
            missing = [name for name in frame.columns if frame[name].null_count()]
            if missing:
                raise FormatError(path, None, f"variable {missing[0]!r} has missing values")
            yield {name: frame[name].to_numpy() for name in frame.columns}, {}
            if instants is None or frame.height < instants:
                return
            start += instants
    except _faults(polars) as error:
        raise FormatError(path, None, str(error).splitlines()[0]) from None


def npy(path: Path, part: Part) -> Columns:
    """Yield the columns of an ``.npy`` file; see `csv`."""
    instants = part.instants
    whole = archive.mapped(path, "no array")
    if whole.dtype.names:
        columns = {name: whole[name] for name in whole.dtype.names}
    elif whole.ndim == 2:
        columns = {f"v{number}": column for number, column in enumerate(whole.T)}
    else:
        said = "no array: a 2-D array or an array with named fields is expected"
        raise FormatError(path, None, said)
    chosen = _chosen(path, part, columns)
    if any(columns[name].ndim != 1 for name in chosen):
        raise FormatError(path, None, "there must be a 1-D array for each variable")
    for start in range(0, max(len(whole), 1), instants or max(len(whole), 1)):
        stop = len(whole) if instants is None else start + instants
        yield {name: np.array(columns[name][start:stop]) for name in chosen}, {}


def npz(path: Path, part: Part) -> Columns:
    """Yield the columns of an ``.npz`` file; see `csv`."""
    instants = part.instants
    with open(path, "rb"):
        pass
    with ExitStack() as open_files:
        try:
            arrays = open_files.enter_context(zipfile.ZipFile(path))
            members = {each.removesuffix(".npy"): each for each in arrays.namelist()}
        except Exception as error:  # several kinds for files that are spoilt
            raise FormatError(path, None, f"no archive of arrays: {error}") from None
        chosen, streams, lengths = _chosen(path, part, members), {}, set()
        for name in chosen:
            try:
                stream = open_files.enter_context(arrays.open(members[name]))
                length, dtype = _header(stream)
            except Exception as error:
                raise FormatError(path, None, f"variable {name!r}: {error}") from None
            streams[name] = stream, dtype
            lengths.add(length)
        if len(lengths) != 1:
            raise FormatError(path, None, "the arrays of the variables differ in length")
        n = lengths.pop()
        for start in range(0, max(n, 1), instants or max(n, 1)):
            count, columns = min(instants or n, n - start), {}
            for name, (stream, dtype) in streams.items():
                try:
                    # the end is read, too, where the archive has a checksum
                    data = stream.read(count * dtype.itemsize if start + count < n else -1)
                    columns[name] = np.frombuffer(data, dtype)
                except Exception as error:
                    raise FormatError(path, None, f"variable {name!r}: {error}") from None
                if len(columns[name]) != count:
                    said = f"variable {name!r} has another length than its header says"
                    raise FormatError(path, None, said)
            yield columns, {}


def _header(stream: IO[bytes]) -> tuple[int, np.dtype]:
    """Read the header of an array of an archive; return its length and type."""
    version = np.lib.format.read_magic(stream)
    readers: dict[
        tuple[int, int], Callable[[IO[bytes]], tuple[tuple[int, ...], bool, np.dtype]]
    ] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"version {version} of the format")
    shape, _, dtype = readers[version](stream)
    if len(shape) != 1 or dtype.kind not in "biuf":
        raise ValueError("a 1-D array of Booleans or numbers is expected")
    return int(shape[0]), dtype


def _chosen(
    path: Path,
    part: Part,
    known: Collection[str],
) -> list[str]:
    """Return the variables to read, in the order in which they were asked for."""
    for name in part.variables or ():
        if name not in known:
            raise absent(path, name, known)
    if not known:
        raise FormatError(path, None, "there is no variable")
    names = list(known)
    out = dict(zip(names, excluded(path, [(name,) for name in names], part.exclude), strict=True))
    chosen = [name for name in part.variables or names if not out[name]]
    if not chosen:
        raise ParameterError(f"{path}: all variables are excluded")
    return chosen


def _faults(polars: ModuleType) -> tuple[type[BaseException], ...]:
    """Return what polars raises; where a spoilt file makes it panic, that is no Exception."""
    return polars.exceptions.PolarsError, polars.exceptions.PanicException


def _polars(path: Path) -> ModuleType:
    with extra("mining", f"a {path.suffix} file"):
        import polars
    return polars
