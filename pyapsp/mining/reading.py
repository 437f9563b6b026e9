"""Read traces from files, whole or in pieces."""

from __future__ import annotations

import codecs
import csv
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyapsp.errors import FormatError, ParameterError, PrecisionError, PyApspError
from pyapsp.mining import vcd
from pyapsp.mining.trace import DTYPES, Trace

__all__ = ["SUFFIXES", "read_pieces", "read_trace"]

#: Instants of a piece: 100 variables take about 160 MB.
INSTANTS = 2**20
_HEADER = 2**20  # bytes of the first line of a table that are looked at
_Columns = Iterator[tuple[dict[str, np.ndarray], dict[str, Any]]]


def read_trace(path: str | os.PathLike[str], *, dtype: str = "auto", **options: Any) -> Trace:
    """Read a trace from a file.

    Parameters
    ----------
    path : path-like
        ``.vcd`` (value change dump), ``.csv``, ``.parquet``, ``.npy`` (2-D: an instant in each row,
        variables ``v0``, ``v1``, ...; or with named fields) or ``.npz`` (an array for each
        variable). Columns of Booleans, and one-bit variables of a ``.vcd`` file, are Boolean; a
        column of a ``.csv`` file is if it has only ``true`` and ``false``.
    dtype : {"auto", "float32", "float64"}
        Type of numbers, as for `Trace.of`.
    **options
        ``variables``: sequence of names to read. For ``.vcd`` files also the options of
        `pyapsp.mining.vcd.columns`: ``clock``, ``edge`` and ``unknown``.

    Raises
    ------
    FormatError
        The file violates its format, or its suffix is unknown.
    ParameterError
        An option is wrong, or there is no such variable.
    PrecisionError
        A type cannot hold a value.
    OSError
        The file cannot be read.
    """
    found = list(read_pieces(path, dtype=dtype, instants=None, **options))
    return found[0]


def read_pieces(
    path: str | os.PathLike[str],
    *,
    dtype: str = "auto",
    instants: int | None = INSTANTS,
    variables: Sequence[str] | None = None,
    **options: Any,
) -> Iterator[Trace]:
    """Yield a file as traces of so many instants each, which follow one another.

    Parameters
    ----------
    path, dtype, variables, **options
        As for `read_trace`. With "auto", the first piece decides.
    instants : int or None
        Instants of a piece, a multiple of 1024; None: all.

    Raises
    ------
    The same errors as `read_trace`.
    """
    read = _FORMATS.get(Path(path).suffix.lower())
    if read is None:
        raise FormatError(path, None, f"no trace: the suffix must be one of {', '.join(SUFFIXES)}")
    if dtype not in DTYPES:
        raise ParameterError.of("dtype", "read_trace", f"one of {', '.join(DTYPES)}", dtype)
    if instants is not None and (instants < 1 or instants % 1024):
        raise ParameterError.of("instants", "read_pieces", "a multiple of 1024", instants)
    known = ("clock", "edge", "unknown") if read is _vcd else ()
    for name, value in options.items():
        if name not in known:
            rule = f"one of {', '.join(('variables', 'dtype', *known))} for such a file"
            raise ParameterError.of(name, "read_trace", rule, value)
    return _pieces(path, read, dtype, instants, variables, options)


def _pieces(
    path: str | os.PathLike[str],
    read: Callable[..., _Columns],
    dtype: str,
    instants: int | None,
    variables: Sequence[str] | None,
    options: dict[str, Any],
) -> Iterator[Trace]:
    first: np.dtype | None = None
    if variables is not None:
        variables = list(dict.fromkeys(variables))
    for columns, facts in read(Path(path), instants, variables, **options):
        asked = "float64" if first == np.float64 and dtype == "auto" else dtype
        try:
            trace = Trace.of(columns, dtype=asked, facts={"file": os.fspath(path), **facts})
        except ParameterError as error:
            raise FormatError(path, None, str(error)) from None
        if trace.numeric_names and first is not None and trace.dtype != first:
            raise PrecisionError(
                f"{os.fspath(path)}: later numbers need float64: give dtype='float64'"
            )
        first = trace.dtype if trace.numeric_names else first
        yield trace


def _vcd(path: Path, instants: int | None, variables: Any, **options: Any) -> _Columns:
    return vcd.columns(path, instants=instants, variables=variables, **options)


def _frames(path: Path, instants: int | None, variables: Any) -> _Columns:
    """Yield the columns of a ``.csv`` or ``.parquet`` file, by polars."""
    try:
        import polars
    except ModuleNotFoundError:
        raise PyApspError(
            f"{path.suffix} files need polars; install the extra 'mining' of pyapsp"
        ) from None
    with open(path, "rb"):
        pass  # an OSError that names the file, where polars may have another error
    table = path.suffix.lower() == ".csv"
    if table:
        _check_header(path, variables)
    try:
        lazy = polars.scan_csv(path) if table else polars.scan_parquet(path)
        names = lazy.collect_schema().names()
        for name in variables or ():
            if name not in names:
                raise ParameterError(f"{path}: there is no variable {name!r}")
        lazy = lazy.select(variables or names)
        start = 0
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
    except polars.exceptions.PolarsError as error:
        said = str(error).splitlines()[0]
        if "more fields" in said:
            said = "a line has more values than the header has names"
        raise FormatError(path, None, said) from None


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
    names = next(csv.reader([text]), [])
    if names and all(_is_value(name) for name in names):
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


def _arrays(path: Path, instants: int | None, variables: Any) -> _Columns:
    """Yield the columns of a ``.npy`` or ``.npz`` file."""
    with open(path, "rb"):
        pass  # an OSError about the file; later ones are about its content
    try:
        if path.suffix.lower() == ".npz":
            # NumPy would leave a file that is no archive open
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                found = {name: archive[name] for name in archive.files}
        else:
            whole = np.load(path, mmap_mode="r", allow_pickle=False)
            if whole.dtype.names:
                found = {name: whole[name] for name in whole.dtype.names}
            elif whole.ndim == 2:
                found = {f"v{number}": column for number, column in enumerate(whole.T)}
            else:
                raise ValueError("a 2-D array or an array with named fields is expected")
    except Exception as error:  # NumPy has several kinds for files that are spoilt
        raise FormatError(path, None, f"no array: {error}") from None
    for name in variables or ():
        if name not in found:
            raise ParameterError(f"{path}: there is no variable {name!r}")
    found = {name: found[name] for name in variables or found}
    if any(each.ndim != 1 for each in found.values()) or not found:
        raise FormatError(path, None, "there must be a 1-D array for each variable")
    n = max(len(each) for each in found.values())
    for start in range(0, max(n, 1), instants or max(n, 1)):
        stop = n if instants is None else start + instants
        yield {name: np.array(each[start:stop]) for name, each in found.items()}, {}


_FORMATS: dict[str, Callable[..., _Columns]] = {
    ".vcd": _vcd,
    ".csv": _frames,
    ".parquet": _frames,
    ".npy": _arrays,
    ".npz": _arrays,
}
SUFFIXES = tuple(_FORMATS)
