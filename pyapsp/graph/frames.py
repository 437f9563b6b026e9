"""Graphs from edge lists in data frames, and columns as data frames.

A library of data frames is imported only to make a frame of it. Frames are read by the methods that
those of pandas and polars share. The two protocols for this are no base: polars 2 has no
``__dataframe__``, which pandas deprecates, and to read ``__arrow_c_stream__`` takes pyarrow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.base.extras import extra
from pyapsp.graph import arcs
from pyapsp.graph.attributes import Weight, WeightFunction, check_weight, default_of
from pyapsp.graph.columns import about_direction, about_reverse
from pyapsp.graph.convert import numbers
from pyapsp.graph.model import Graph
from pyapsp.graph.validation import is_real

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Tabular", "frame_of", "from_frame"]

#: A data frame, or the columns by their names.
Frame: TypeAlias = "pandas.DataFrame | polars.DataFrame | Mapping[Hashable, ArrayLike]"

_SHOWN = 8  # columns that an error names


def from_frame(
    frame: Frame,
    *,
    source: Hashable = "source",
    target: Hashable = "target",
    weight: Weight = ...,
    directed: bool = True,
    name: str | None = None,
) -> Graph:
    """Make a graph from an edge list in a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or mapping
        Each row is an arc. A mapping gives a sequence for the name of each column. Frames of other
        libraries are read if ``frame.columns`` are names and ``frame[name].to_numpy()`` values.
    source, target : hashable
        The columns with the ids of the ends, integers or strings. Vertices 0..n-1 are the ids in
        sorted order; the ids become the labels.
    weight : hashable, callable or None, optional
        The column with the weight. A function is called as ``weight(source, target, row)`` with a
        mapping of the values of each row, and returns the weight, or None for no arc. None: all
        weights are 1. By default the column ``"weight"``; without it, it is an error if there are
        other columns of numbers. With the columns ``cost`` and ``reverse_cost`` of pgRouting it is
        ``cost``: each row is an arc and its reverse, each with its own cost, and where a cost is
        negative, there is no arc.
    directed : bool, default True
        False adds the reverse of every arc. True adds those of rows that are ``Undirected`` by a
        column ``Type`` (Gephi), or false by a column ``directed``.
    name : str, optional
        Name of the graph.

    Raises
    ------
    GraphError
        There is no such column, a value is missing, ids are neither all integers nor all strings,
        or a weight is no real number, NaN or -inf; a column is about the reverse of arcs, and is
        not read; or an arc is not one-way (column ``oneway``) and its reverse is not there. The
        message has the row, counted from 1.

    Examples
    --------
    >>> import pyapsp
    >>> from pyapsp.graph import from_frame
    >>> edges = {"source": ["a", "a", "b"], "target": ["b", "c", "c"], "weight": [1, 5, 2]}
    >>> graph = from_frame(edges)
    >>> print(pyapsp.sssp(graph, graph.vertex("a")).to_frame())
      vertex  distance
    0      a       0.0
    1      b       1.0
    2      c       3.0
    """
    check_weight(weight, "from_frame")
    names = _names(frame)
    ids = {column: _values(frame, names, column) for column in (source, target)}
    tails, heads = ids[source], ids[target]
    costs, oneway, (direction, directs) = _about_ways(names, source, target)
    if costs is not None:
        if weight not in (..., None, costs[0]):
            raise GraphError(
                f"the column {costs[1]!r} is for the weight {costs[0]!r}, not {weight!r}: drop it"
            )
        unweighted, weight = weight is None, costs[0]
    if weight is ...:
        rest = [name for name in names if name not in (source, target)]
        weight = default_of(rest, lambda: _numeric(frame, rest))
    weights = None
    if weight is not None and not callable(weight):
        weights = _weights(_values(frame, names, weight))
    if len({len(column) for column in (tails, heads, weights) if column is not None}) > 1:
        raise GraphError("the columns of the data frame differ in length")
    try:
        labels, tails, heads = arcs.relabel(tails, heads)
    except GraphError as error:
        raise GraphError(f"{error}; {_odd(ids)}") from None
    single = None
    try:
        if direction is not None and directed:
            # a column "type" may be about anything, and values may be missing then
            plain = map(str, cast("Mapping[Hashable, Iterable[Hashable]]", frame)[direction])
            words = _words(frame, names, direction) if directs else list(plain)
            single = arcs.directions(words, str(direction) if directs else None)
            if costs is not None and not single.all():
                raise arcs.PlaceError(
                    int(single.argmin()), "an undirected edge has no reverse cost"
                )
        if oneway is not None and directed:
            words = _words(frame, names, oneway)
            arcs.refuse_missing(tails, heads, words, str(oneway))
        if costs is not None and weights is not None:
            back = _weights(_values(frame, names, costs[1]))
            tails, heads, weights = arcs.two_ways(tails, heads, weights, back)
            weights = None if unweighted else weights
    except arcs.PlaceError as error:
        raise GraphError(f"{_row(error.place)}: {error}") from None
    if callable(weight):
        kept, weights = _computed(weight, frame, names, (source, target))
        tails, heads = tails[kept], heads[kept]
        single = None if single is None else single[kept]
    if single is not None and not single.all():
        directed = bool(single.any())
        both = ~single & directed  # otherwise the graph adds all reverses
        tails, heads = np.append(tails, heads[both]), np.append(heads, tails[both])
        weights = None if weights is None else np.append(weights, weights[both])
    return Graph.from_arcs(
        len(labels), tails, heads, weights, directed=directed, labels=labels, name=name
    )


def _computed(
    weight: WeightFunction, frame: Frame, names: list[Hashable], ends: tuple[Hashable, Hashable]
) -> tuple[list[int], np.ndarray]:
    """Return the rows for which a function gives a weight, and their weights."""
    table = cast("Mapping[Hashable, Iterable[Hashable]]", frame)
    values = zip(*(list(table[name]) for name in names), strict=True)
    rows = [dict(zip(names, row, strict=True)) for row in values]
    found = [weight(row[ends[0]], row[ends[1]], row) for row in rows]
    kept = [place for place, value in enumerate(found) if value is not None]
    given = [cast("float", found[place]) for place in kept]
    return kept, numbers(given, lambda place: _row(kept[place]))


def _numeric(frame: Frame, names: Iterable[Hashable]) -> list[Hashable]:
    """Return the names of columns with numbers that may be weights."""
    columns, found = cast("Mapping[Hashable, ArrayLike]", frame), []
    for name in names:
        column = columns[name]
        values = _converted(column)
        if values.ndim == 0 and not hasattr(column, "to_numpy"):
            with suppress(ValueError):  # sequences of different lengths
                values = np.asarray(column)
        objects = values.dtype.kind == "O" and values.ndim == 1
        if values.dtype.kind in "iuf" or (objects and any(map(is_real, values))):
            found.append(name)
    return found


def _about_ways(
    names: list[Hashable], source: Hashable, target: Hashable
) -> tuple[tuple[Hashable, Hashable] | None, Hashable | None, tuple[Hashable | None, bool]]:
    """Return the columns of costs of arcs and their reverses, and those that are about both.

    These are one that tells whether an arc has no reverse, and one that tells whether it is
    directed, with whether that tells nothing else.
    """
    texts = [name if isinstance(name, str) else "" for name in names]
    ends = names.index(source), names.index(target)
    try:
        costs, oneway = about_reverse(texts, ends)
        direction, directs = about_direction(texts, ends)
    except ValueError as error:
        raise GraphError(str(error)) from None
    both = None if costs is None else (names[costs[0]], names[costs[1]])
    return (
        both,
        None if oneway is None else names[oneway],
        (None if direction is None else names[direction], directs),
    )


def _words(frame: Frame, names: list[Hashable], name: Hashable) -> list[str]:
    """Return the values of a column as text."""
    words: list[str] = _values(frame, names, name).astype(str).tolist()
    return words


def _names(frame: Frame) -> list[Hashable]:
    """Return the names of the columns; the ``columns`` of a table of Arrow are their values."""
    names = getattr(frame, "column_names", getattr(frame, "columns", None))
    names = frame.keys() if isinstance(frame, Mapping) else names
    if not isinstance(names, Iterable):
        raise GraphError(f"a data frame is wanted, not {type(frame).__name__}")
    return list(names)


def _values(frame: Any, names: list[Hashable], name: Hashable) -> np.ndarray:
    """Return the one column of this name, in which no value may be missing."""
    if name not in names:
        shown = ", ".join(repr(each) for each in names[:_SHOWN])
        more = ", ..." if len(names) > _SHOWN else ""
        raise GraphError(f"the data frame has no column {name!r}, but {shown or 'none'}{more}")
    column = frame[name]
    if names.count(name) > 1:
        raise GraphError(f"the data frame has more than one column {name!r}")
    values = _converted(column)
    if values.ndim == 0 and isinstance(column, Iterable) and not isinstance(column, str | bytes):
        values = np.array([*column, None], dtype=object)[:-1]  # with None, no value is a sequence
    if values.ndim != 1:
        raise GraphError(f"the column {name!r} of the data frame is no sequence of values")
    missing = _missing(column, values)
    if missing.any():
        raise GraphError(f"the column {name!r} has no value in {_row(int(missing.argmax()))}")
    # NumPy would make strings of integers that come together with an array of strings
    kind = object if values.dtype.kind in "US" else values.dtype
    return np.ma.getdata(values).astype(kind, copy=False)


def _converted(column: Any) -> np.ndarray:
    """Return a column as NumPy or its library has it; an array of no dimension if neither does."""
    if isinstance(column, np.ndarray):
        return column
    values = np.array(None)
    if hasattr(column, "to_numpy"):
        # frames have errors of their own for types that NumPy does not have, integers of 128 bits
        with suppress(Exception):
            values = np.asarray(column.to_numpy())
    return values


def _missing(column: ArrayLike, values: np.ndarray) -> NDArray[np.bool_]:
    """Return which values of a column are missing; NaN and NaT are."""
    if hasattr(column, "isna"):  # pandas
        return np.asarray(column.isna(), np.bool_)
    missing = np.ma.getmaskarray(values).copy()
    if hasattr(column, "is_null"):  # polars, which would convert integers beside nulls to floats
        missing |= np.asarray(column.is_null(), np.bool_)
    if values.dtype.kind == "O":
        missing |= np.array([_is_missing(value) for value in values], np.bool_)
    elif values.dtype.kind in "fcmM":
        missing |= values != values
    return missing


def _is_missing(value: Hashable) -> bool:
    return value is None or (isinstance(value, float | np.floating) and value != value)


def _row(place: int) -> str:
    """Return the name of a row for messages; data frames of R count from 1, those of Python not."""
    return f"row {place + 1} (counted from 1)"


def _objects(values: np.ndarray) -> list[Any]:
    """Return the values as Python objects, but times as they are, not as numbers of nanoseconds."""
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def _weights(values: np.ndarray) -> np.ndarray:
    """Return the weights of a column; an error names the row."""
    if values.dtype.kind not in "biuf":
        values = numbers(_objects(values), _row)
    if values.dtype.kind == "f" and np.isneginf(values).any():
        row = _row(int(np.isneginf(values).argmax()))
        raise GraphError(f"the weight of {row} is -inf")
    return values


def _odd(ids: Mapping[Hashable, np.ndarray]) -> str:
    """Return where the first id is that is neither integer nor string, or not as the one before."""
    before: tuple[bool, str] | None = None
    columns = {name: _objects(values) for name, values in ids.items()}
    for place, pair in enumerate(zip(*columns.values(), strict=True)):
        for name, value in zip(columns, pair, strict=True):
            text = isinstance(value, str)
            said = f"{value!r} in {_row(place)} of the column {name!r}"
            whole = type(value) is int and -(2**63) <= value < 2**63
            if not (text or whole):
                return f"there is {said}"
            if before is not None and before[0] != text:
                return f"there is {said}, and {before[1]}"
            before = text, said
    return "the columns differ in their types"


def frame_of(
    columns: Mapping[str, np.ndarray], library: str, owner: str
) -> pandas.DataFrame | polars.DataFrame:
    """Return columns as a data frame.

    Parameters
    ----------
    columns : mapping of str to ndarray, shape (rows,)
        Masked values of masked arrays are missing values of the frame.
    library : {"pandas", "polars"}
        The library of the frame.
    owner : str
        The function with the parameter `library`, for the message of an error.

    Raises
    ------
    ParameterError
        `library` is neither of the two.
    GraphError
        The library is polars, and a column has names of different types.
    PyApspError
        The library is not installed.
    """
    if not isinstance(library, str) or library not in ("pandas", "polars"):
        raise ParameterError.of("library", owner, "'pandas' or 'polars'", library)
    if library == "pandas":
        with extra(None, owner):
            import pandas

        return pandas.DataFrame({name: _for_pandas(each) for name, each in columns.items()})
    with extra(None, owner):
        import polars

    texts = {name: polars.String for name, each in columns.items() if each.dtype.kind == "U"}
    try:
        # without rows nothing says that a list is one of texts
        values = {name: _plain(each) for name, each in columns.items()}
        whole = polars.DataFrame(values, schema_overrides=texts)
    except TypeError as error:
        raise GraphError(
            f"polars has no type for these names of vertices, and pandas has: {error}"
        ) from None
    return whole.with_columns(
        polars.when(polars.Series(~each.mask)).then(polars.col(name))
        for name, each in columns.items()
        if isinstance(each, np.ma.MaskedArray)
    )


def _plain(column: np.ndarray) -> ArrayLike:
    """Return what polars reads with the right type: numbers in an array, names in a list."""
    values = np.ma.getdata(column)
    return values if values.dtype.kind in "iuf" else values.tolist()


def _for_pandas(column: np.ndarray) -> np.ndarray | pandas.arrays.IntegerArray:
    """Return an array for pandas: integers may be missing, and keep their type."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    if column.dtype.kind == "f":
        return column.filled(np.nan)
    values, mask = np.ma.getdata(column), np.ma.getmaskarray(column)
    if column.dtype.kind in "iu":
        import pandas

        return pandas.arrays.IntegerArray(values, mask)
    names = values.astype(object)
    names[mask] = None
    return names


class Tabular(ABC):
    """Base of answers that are a table: a row for each vertex or edge."""

    @abstractmethod
    def to_columns(self) -> dict[str, np.ndarray]:
        """Return the columns of `to_frame`, all of one length."""

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a data frame with the columns of `to_columns`; vertices have their names.

        Parameters
        ----------
        library : {"pandas", "polars"}
            The library of the frame, which must be installed.

        Raises
        ------
        ParameterError
            If `library` is neither of the two.
        GraphError
            If the library is polars, and the names of vertices have different types.
        PyApspError
            If the library is not installed.
        """
        return frame_of(self.to_columns(), library, f"{type(self).__name__}.to_frame")
