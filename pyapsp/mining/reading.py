"""Read traces from files, whole or in pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from pyapsp.base.errors import FormatError, ParameterError, PrecisionError
from pyapsp.base.files import check_name
from pyapsp.graph.validation import integer
from pyapsp.mining import tables, vcd
from pyapsp.mining.trace import DTYPES, Trace

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["SUFFIXES", "Reading", "read_pieces", "read_trace"]

#: Instants of a piece: 100 variables take about 160 MB.
INSTANTS = 2**20


class VcdOptions(TypedDict, total=False):
    """How instants are sampled from a ``.vcd`` file; see `pyapsp.mining.vcd.columns`."""

    clock: str | None
    edge: str
    unknown: str


class Reading(VcdOptions, total=False):
    """How a file is read; see `read_pieces`."""

    dtype: str
    instants: int | None
    variables: Sequence[str] | None
    exclude: Sequence[str] | None
    format: str | None


def read_trace(
    path: str | os.PathLike[str],
    *,
    dtype: str = "auto",
    variables: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002
    **options: Unpack[VcdOptions],
) -> Trace:
    """Read a trace from a file.

    Parameters
    ----------
    path : path-like
        ``.vcd`` (value change dump), ``.csv``, ``.parquet``, ``.npy`` (2-D: an instant in each row,
        variables ``v0``, ``v1``, ...; or with named fields) or ``.npz`` (an array for each
        variable). Columns of Booleans, and one-bit variables of a ``.vcd`` file, are Boolean; a
        column of a ``.csv`` file is if it has only ``true`` and ``false``. The first line of a
        ``.csv`` file has the names.
    dtype : {"auto", "float32", "float64"}
        Type of numbers, as for `Trace.of`.
    variables : sequence of str, optional
        Names of the variables to read.
    exclude : sequence of str, optional
        Names of variables to leave out, or patterns such as ``"cpu.*"``.
    format : {"vcd", "csv", "parquet", "npy", "npz"}, optional
        The format, where the suffix of the file does not tell it.
    **options
        For ``.vcd`` files the options of `pyapsp.mining.vcd.columns`: ``clock``, ``edge`` and
        ``unknown``.

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
    [trace] = read_pieces(
        path,
        dtype=dtype,
        instants=None,
        variables=variables,
        exclude=exclude,
        format=format,
        **options,
    )
    return trace


def read_pieces(
    path: str | os.PathLike[str],
    *,
    dtype: str = "auto",
    instants: int | None = INSTANTS,
    variables: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002
    **options: Unpack[VcdOptions],
) -> Iterator[Trace]:
    """Yield a file as traces of so many instants each, which follow one another.

    Parameters
    ----------
    path, dtype, variables, exclude, format, **options
        As for `read_trace`. With "auto", the first piece decides.
    instants : int or None
        Instants of a piece, a multiple of 1024; None: all.

    Raises
    ------
    The same errors as `read_trace`.
    """
    suffix = check_name(path, "read_trace").suffix.lower() if format is None else f".{format}"
    read = _FORMATS.get(suffix)
    if read is None and format is not None:
        known_formats = ", ".join(each[1:] for each in SUFFIXES)
        raise ParameterError.of("format", "read_trace", f"one of {known_formats}", format)
    if read is None:
        said = f"no trace: the suffix must be one of {', '.join(SUFFIXES)}; or name the format"
        raise FormatError(path, None, said)
    if dtype not in DTYPES:
        raise ParameterError.of("dtype", "read_trace", f"one of {', '.join(DTYPES)}", dtype)
    if instants is not None:
        instants = integer("instants", "read_pieces", instants, 1)
        if instants % 1024:
            raise ParameterError.of("instants", "read_pieces", "a multiple of 1024", instants)
    for name, names in (("variables", variables), ("exclude", exclude)):
        named = isinstance(names, Iterable) and not isinstance(names, str)
        if names is not None and not named:  # text would be a variable for each letter
            raise ParameterError.of(name, "read_trace", "a sequence of names", names)
    variables = None if variables is None else list(dict.fromkeys(variables))
    if variables == []:
        raise ParameterError.of("variables", "read_trace", "None, or one name at least", variables)
    known = ("clock", "edge", "unknown") if read is _vcd else ()
    for name, value in options.items():
        if name not in known:
            allowed = ("variables", "exclude", "format", "dtype", *known)
            rule = f"absent for such a file, which has {', '.join(allowed)}"
            raise ParameterError.of(name, "read_trace", rule, value)
    part = tables.Part(
        instants,
        variables,
        None if exclude is None else list(exclude),
    )
    return _pieces(path, read, dtype, part, options)


def _pieces(
    path: str | os.PathLike[str],
    read: Callable[..., tables.Columns],
    dtype: str,
    part: tables.Part,
    options: VcdOptions,
) -> Iterator[Trace]:
    first: np.dtype | None = None
    for columns, facts in read(Path(path), part, **options):
        kind = "float64" if first == np.float64 and dtype == "auto" else dtype
        masks = {
            name: np.ma.getmaskarray(each)
            for name, each in columns.items()
            if isinstance(each, np.ma.MaskedArray)
        }
        values = {name: np.ma.getdata(each) for name, each in columns.items()}
        about = {"file": os.fspath(path), **facts}
        try:
            trace = Trace.of(values, dtype=kind, unknown=masks or None, facts=about)
        except ParameterError as error:
            raise FormatError(path, None, str(error)) from None
        if trace.numeric_names and first is not None and trace.dtype != first:
            raise PrecisionError(
                f"{os.fspath(path)}: later numbers need float64: give dtype='float64'"
            )
        first = trace.dtype if trace.numeric_names else first
        yield trace


def _vcd(path: Path, part: tables.Part, **options: Unpack[VcdOptions]) -> tables.Columns:
    chosen = {"variables": part.variables, "exclude": part.exclude}
    return vcd.columns(path, instants=part.instants, **chosen, **options)


_FORMATS: dict[str, Callable[..., tables.Columns]] = {
    ".vcd": _vcd,
    ".csv": tables.csv,
    ".parquet": tables.parquet,
    ".npy": tables.npy,
    ".npz": tables.npz,
}
SUFFIXES = tuple(_FORMATS)
