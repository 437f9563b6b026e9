"""Checks of the data of graphs, and of simple parameters.

Each function returns its argument in the form that the package uses (dtype, shape), or raises
:class:`~pyapsp.errors.GraphError` (wrong data) or :class:`~pyapsp.errors.ParameterError`
(wrong parameter).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterable
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.errors import GraphError, ParameterError
from pyapsp.host import share

_T = TypeVar("_T")

__all__ = [
    "MAX_VERTICES",
    "array",
    "choice",
    "csr",
    "degrees",
    "extremes",
    "finite",
    "flag",
    "integer",
    "integers",
    "is_real",
    "labels",
    "lost",
    "probability",
    "real",
    "rows",
    "sparse",
    "square",
    "vertex",
    "vertex_count",
    "vertices",
    "weights",
    "whole",
]

MAX_VERTICES = 2**31 - 1  # arc heads are stored as int32
_COUNTED = 2**53  # up to which float64 holds every integer
_LARGE, _BYTES = 2**21, 8  # values from which several threads share them, and bytes of a value
_BLOCK = 2**17  # values of a block that stays in the CPU cache while it is read several times


def integer(
    parameter: str, owner: str, value: Any, minimum: int, maximum: int | None = None
) -> int:
    """Return `value` as an int of at least `minimum` (and at most `maximum`)."""
    try:
        number = operator.index(value)
        if number >= minimum and (maximum is None or number <= maximum):
            return number
    except TypeError:
        pass
    upper = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    raise ParameterError.of(parameter, owner, f"an integer {upper}", value)


def choice(parameter: str, owner: str, value: Any, choices: Iterable[str]) -> str:
    """Return `value`, one of these strings."""
    known = tuple(choices)
    # an array compares by element, and a list cannot be found in a set
    if not isinstance(value, str) or value not in known:
        raise ParameterError.of(parameter, owner, f"one of {', '.join(known)}", value)
    return value


def vertex(parameter: str, owner: str, value: Any, n: int) -> int:
    """Return `value` as the number of one of n vertices."""
    if not n:
        raise ParameterError.of(parameter, owner, "a vertex, and the graph has none", value)
    return integer(parameter, owner, value, 0, n - 1)


def probability(parameter: str, owner: str, value: Any) -> float:
    """Return `value` as a float in [0, 1]."""
    if not is_real(value) or not 0 <= value <= 1:
        raise ParameterError.of(parameter, owner, "a number in [0, 1]", value)
    return float(value)


def flag(parameter: str, owner: str, value: Any) -> bool:
    """Return `value` as a bool; refuse strings and numbers, because ``bool("no")`` is True."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, bool | np.bool_):
        raise ParameterError.of(parameter, owner, "True or False", value)
    return bool(value)


def is_real(value: Any) -> bool:
    """Return whether `value` is one real number and no timedelta64, a subclass of integers."""
    return isinstance(value, Real) and not isinstance(value, np.timedelta64)


def vertex_count(n: Any) -> int:
    """Return the number of vertices `n` as an int in [0, 2**31 - 1]."""
    return integer("n", "Graph", n, 0, MAX_VERTICES)


def square(shape: tuple[int, ...]) -> int:
    """Return n of a shape n-by-n."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"an adjacency matrix must be square, not of shape {shape}")
    return shape[0]


def sparse(matrix: Any) -> tuple[int, bool]:
    """Check the index arrays of a SciPy sparse matrix of any format.

    SciPy's compiled conversions do not check whether an index is out of range. This function checks
    the same as SciPy's ``check_format(full_check=True)``, but does not change the matrix and does
    not copy the column indices.

    Returns
    -------
    n : int
    in_order : bool
        Whether it is a CSR matrix, and the columns of each row are strictly increasing.

    Raises
    ------
    GraphError
        The matrix is not square, or its index arrays do not describe a matrix.
    """
    n, in_order = square(matrix.shape), False
    if matrix.format == "lil":
        lists = [*matrix.rows, *matrix.data]
        if not all(isinstance(each, list) for each in lists):
            raise GraphError("the rows and entries of a LIL matrix must be lists")
        lengths = list(map(len, lists))
        if lengths[:n] != lengths[n:]:
            raise GraphError("the lists of columns and of entries of a LIL matrix differ in length")
    elif matrix.format in ("csr", "csc", "bsr"):
        in_order = _compressed(matrix, n)
    elif matrix.format == "dia":
        offsets, entries = _indices("offsets", matrix.offsets), np.asarray(matrix.data)
        if entries.ndim != 2 or len(entries) != offsets.size:
            raise GraphError(
                f"{offsets.size} offsets do not go with diagonals of shape {entries.shape}"
            )
    return n, in_order


def _indices(what: str, array: Any) -> NDArray[Any]:
    """Return an index array of a SciPy matrix, of a shape and type that SciPy's loops can read."""
    found = np.asarray(array)
    indexes = isinstance(array, np.ndarray) and found.dtype in (np.int32, np.int64)
    if not indexes or found.ndim != 1:
        raise GraphError(
            f"{what} must be a one-dimensional array of int32 or int64, "
            f"not {found.ndim}-dimensional of {found.dtype}"
        )
    return found


def _compressed(matrix: Any, n: int) -> bool:
    """Check the arrays of a CSR matrix, or of a CSC or BSR one with its own rows and columns.

    The result is whether it is a CSR matrix with columns in order.
    """
    starts, places = _indices("indptr", matrix.indptr), _indices("indices", matrix.indices)
    entries = matrix.data
    if not isinstance(entries, np.ndarray):
        raise GraphError(
            f"the entries of the matrix must be an array, not {type(entries).__name__}"
        )
    block = entries.shape[1:]
    if len(entries) != places.size or len(block) != (2 if matrix.format == "bsr" else 0):
        raise GraphError(f"{places.size} indices do not go with entries of shape {entries.shape}")
    count, columns = (n // side for side in block or (1, 1))
    if starts.size != count + 1:
        raise GraphError(f"indptr must have {count + 1} values, not {starts.size}")
    if starts[0] != 0 or starts[-1] > places.size or (starts[1:] < starts[:-1]).any():
        raise GraphError(f"indptr must rise from 0 to at most the number of indices, {places.size}")
    used, in_order = places[: starts[-1]], False
    if matrix.format == "csr":
        inside, fall = rows(starts, used, columns)
        in_order = fall is None
    else:
        inside = _inside(used, columns)
    if not inside:
        outside = used[(used < 0) | (used >= columns)][0]
        raise GraphError(f"indices must lie in 0..{columns - 1}, and one is {outside}")
    return in_order


def vertices(what: str, values: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return vertex numbers as a one-dimensional int64 array with all values in [0, n)."""
    found = integers(f"the {what} of the arcs", values)
    if not _inside(found, n):
        arc = int(((found < 0) | (found >= n)).argmax())
        raise GraphError(
            f"the {what} of the arcs must lie in 0..{n - 1}: arc number {arc} has {found[arc]}"
        )
    return found.astype(np.int64, copy=False)


def integers(what: str, values: ArrayLike) -> NDArray[Any]:
    """Return a one-dimensional array of integers, of int64 if it is empty."""
    found = array(what, values)
    if found.size == 0:
        return np.zeros(0, np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise GraphError(
            f"{what} must be a one-dimensional array of integers, "
            f"not {found.ndim}-dimensional of {found.dtype}"
        )
    return found


def weights(values: ArrayLike) -> NDArray[Any]:
    """Return weights as int64 (every integer and bool kind), float32 or float64."""
    found = real(values)
    if found.dtype.kind == "u" and found.size and int(found.max()) > np.iinfo(np.int64).max:
        raise GraphError(f"the weight {found.max()} does not fit into int64")
    if found.dtype.kind in "biu":
        return found.astype(np.int64, copy=False)
    narrow = found.dtype.itemsize <= 4
    return found.astype(np.float32 if narrow else np.float64, copy=False)


def real(values: ArrayLike, what: str = "the weights") -> NDArray[Any]:
    """Return numbers as an array of booleans, integers or floats of at most 64 bits.

    Parameters
    ----------
    values : array_like
    what : str
        What they are, for messages.

    Raises
    ------
    GraphError
        They are other objects, one is masked or missing, or NumPy would round an integer among
        floats.
    """
    found = array(what, values)
    if found.dtype.kind not in "biuf" or found.dtype.itemsize > 8:
        raise GraphError(f"{what} must be real numbers of at most 64 bits, not {found.dtype}")
    if found.dtype.kind == "f" and not hasattr(values, "dtype"):
        # NumPy converts a list with integers and fractions to floats
        large = np.abs(found) >= _COUNTED
        if large.any():
            for number in np.asarray(values, dtype=object)[large]:
                if isinstance(number, int | np.integer) and int(number) != float(number):
                    raise GraphError(
                        f"{number} among {what} does not fit into float64, which the others need"
                    )
    return found


def lost(values: NDArray[Any], cast: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which numbers are others in another type; floats may be rounded to a float type.

    Parameters
    ----------
    values : ndarray
        Booleans, integers or floats.
    cast : ndarray
        The same in the other type.
    """
    changed: NDArray[np.bool_]
    if cast.dtype.kind == "f" and values.dtype.kind == "f":
        changed = np.isfinite(cast) != np.isfinite(values)
    elif cast.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            changed = ~np.isfinite(cast) | (cast.astype(values.dtype) != values)
    else:
        changed = cast != values
    return changed


def array(what: str, values: Any) -> NDArray[Any]:
    """Return values as an array.

    NumPy drops the mask of a masked array, and makes NaN of the missing values of data frames.

    Raises
    ------
    GraphError
        A value is masked or missing, or the values make no array.
    """
    if type(values) is np.ndarray:
        return values
    if np.ma.is_masked(values):
        raise GraphError(f"{what} must not be masked: leave out what is not there")
    if _missing(values):
        raise GraphError(f"{what} must not be missing: leave out what is not there")
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise GraphError(f"{what} are no array: {error}") from None


def _missing(values: Any) -> bool:
    """Return whether a column of pandas or polars has no value in some row; NaN is a value."""
    if not hasattr(values, "dtype") or isinstance(values.dtype, np.dtype):
        return False
    if callable(count := getattr(values, "null_count", None)):
        return bool(count())
    return hasattr(values, "isna") and bool(values.isna().any())


def finite(
    weights: NDArray[Any], spread: tuple[Any, Any], ends: Callable[[int], tuple[int, int]]
) -> NDArray[np.bool_] | None:
    """Refuse NaN and -inf; return the mask of the arcs to keep, or None to keep all.

    Arcs of weight +inf are removed.

    Parameters
    ----------
    weights : ndarray
    spread : tuple
        Their `extremes`.
    ends : callable
        Returns tail and head of an arc, given its number, for messages.
    """
    if weights.dtype.kind != "f" or (math.isfinite(spread[0]) and math.isfinite(spread[1])):
        return None
    bad = np.isnan(weights) | np.isneginf(weights)
    if bad.any():
        arc = int(bad.argmax())
        tail, head = ends(arc)
        raise GraphError(f"the weight of the arc {tail} -> {head} is {weights[arc]}")
    return ~np.isposinf(weights)


def extremes(values: NDArray[Any]) -> tuple[Any, Any]:
    """Return the smallest and the largest value; both NaN if a value is; (0, 0) if empty."""
    if values.size == 0:
        return 0, 0

    def ends_of(start: int, stop: int) -> tuple[Any, Any]:
        part = values[start:stop]
        return part.min(), part.max()

    found = _in_blocks(ends_of, values.size)
    if len(found) == 1:
        return found[0]
    return np.min([low for low, _ in found]), np.max([high for _, high in found])


def _in_blocks(function: Callable[[int, int], _T], size: int) -> list[_T]:
    """Return ``function(start, stop)`` for each block of an array, in order.

    The cores share the blocks of a large array. NumPy lets them run at the same time.
    """
    if 0 < size <= _BLOCK:
        return [function(0, size)]
    starts = range(0, size, _BLOCK)
    found: list[Any] = [None] * len(starts)

    def part(first: int, last: int) -> None:
        for block in range(first, last):
            start = starts[block]
            found[block] = function(start, min(start + _BLOCK, size))

    share(part, len(starts), _BYTES * size if size >= _LARGE else 0)
    return found


def whole(values: NDArray[Any]) -> bool:
    """Return whether all floats are whole numbers."""

    def whole_in(start: int, stop: int) -> bool:
        part = values[start:stop]
        return bool((part == np.floor(part)).all())

    return all(_in_blocks(whole_in, values.size))


def degrees(starts: NDArray[np.int64]) -> tuple[int, int]:
    """Return the largest number of arcs of a row, and the sum of the squares of these numbers."""

    def degrees_in(start: int, stop: int) -> tuple[int, int]:
        part = starts[start + 1 : stop + 1] - starts[start:stop]
        return int(part.max()), int(np.dot(part, part))

    found = _in_blocks(degrees_in, starts.size - 1)
    return max(most for most, _ in found), sum(squares for _, squares in found)


def csr(indptr: ArrayLike, indices: ArrayLike, weights_length: int) -> int:
    """Check the pattern of a compressed sparse row matrix and return its n.

    Raises
    ------
    GraphError
        `indptr` does not rise from 0 to the number of arcs, a head is outside 0..n-1, or the
        heads of a row are not strictly increasing.
    """
    starts, heads = array("indptr", indptr), array("indices", indices)
    if starts.ndim != 1 or starts.size == 0 or starts.dtype.kind not in "iu":
        raise GraphError("indptr must be a one-dimensional array of n + 1 integers")
    n = vertex_count(starts.size - 1)
    starts = starts.astype(np.int64)
    if heads.shape != (weights_length,):
        raise GraphError(f"indices of shape {heads.shape} do not go with {weights_length} weights")
    if starts[0] != 0 or starts[-1] != heads.size or (np.diff(starts) < 0).any():
        raise GraphError(f"indptr must rise from 0 to the number of arcs, {heads.size}")
    if heads.size and heads.dtype.kind not in "iu":
        raise GraphError(f"indices must be integers, not {heads.dtype}")
    inside, below = rows(starts, heads, n)
    if not inside:
        arc = int(((heads < 0) | (heads >= n)).argmax())
        raise GraphError(
            f"the heads of the arcs must lie in 0..{n - 1}: arc number {arc} has {heads[arc]}"
        )
    if below is not None:
        row = int(np.searchsorted(starts, below, side="right")) - 1
        raise GraphError(
            f"the heads of a row must be strictly increasing: row {row} has {heads[below]} "
            f"after {heads[below - 1]}"
        )
    return n


def rows(starts: NDArray[Any], heads: NDArray[Any], columns: int) -> tuple[bool, int | None]:
    """Return whether all heads are in range, and the first arc that is out of order in its row.

    Parameters
    ----------
    starts : (n + 1,) ndarray of int
        Row pointers that rise from 0 to the number of arcs.
    heads : ndarray of int
    columns : int

    Returns
    -------
    inside : bool
        Whether all heads lie in [0, columns).
    fall : int or None
        The first arc whose head is not above the one before it in its row.
    """
    place = starts.dtype.type  # of another type, NumPy would convert all starts

    def look(start: int, stop: int) -> tuple[bool, int | None]:
        begin = max(start, 1)  # the first arc has none before it
        falls = heads[begin:stop] <= heads[begin - 1 : stop - 1]
        first, last = starts.searchsorted(place(begin)), starts.searchsorted(place(stop))
        falls[starts[first:last] - begin] = False  # the head may fall where a row begins
        fall = begin + int(falls.argmax()) if falls.any() else None
        return _inside(heads[start:stop], columns), fall

    found = _in_blocks(look, heads.size)
    inside = all(inside for inside, _ in found)
    return inside, next((fall for _, fall in found if fall is not None), None)


def _inside(places: NDArray[Any], count: int) -> bool:
    """Return whether integers lie in [0, count)."""
    if places.size == 0:
        return True
    if places.dtype.isnative:
        # viewed as unsigned numbers, negative ones become the largest
        return bool(places.view(f"u{places.itemsize}").max() < count)
    return bool(places.min() >= 0 and places.max() < count)


def labels(values: Iterable[Any] | None, n: int) -> NDArray[Any] | None:
    """Return n distinct labels as an int64, string or object array.

    The result is None for None and for the labels 0..n-1, which equal the row numbers.
    """
    if values is None:
        return None
    if np.ma.is_masked(values):
        raise GraphError("labels must not be masked")
    if not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise GraphError(f"labels must be a sequence, not {values!r}")
    names: list[Any]
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind not in "mM":
        if values.dtype == np.int64 and values.size == n:
            # readers and other graphs give sorted labels; increasing labels are distinct
            if (np.diff(values) > 0).all():
                return None if np.array_equal(values, np.arange(n)) else values
            if np.unique(values).size == n:
                return values
        names = values.tolist()  # for times this would give numbers of nanoseconds
    else:
        names = list(values)
    if len(names) != n:
        raise GraphError(f"{len(names)} labels do not go with {n} vertices")
    seen: set[Any] = set()
    for name in names:
        if not isinstance(name, Hashable):
            raise GraphError(f"labels must be hashable, not {name!r}")
        if not _equals_itself(name):
            raise GraphError(f"labels must be equal to themselves, which {name!r} is not")
        if name in seen:
            raise GraphError(f"labels must be distinct: {name!r} occurs more than once")
        seen.add(name)
    array: NDArray[Any]
    if all(_is_int64(name) for name in names):
        array = np.array(names, dtype=np.int64)
        return None if np.array_equal(array, np.arange(n)) else array
    if all(isinstance(name, str) and not name.endswith("\0") for name in names):
        return np.array(names, dtype=np.str_)
    array = np.empty(n, dtype=object)
    for place, name in enumerate(names):  # array[:] = names would unpack tuples
        array[place] = name
    return array


def _equals_itself(name: Any) -> bool:
    """Return False for NaN, NaT and pandas.NA, which mean a missing id."""
    try:
        return bool(name == name)
    except (TypeError, ValueError):
        return False


def _is_int64(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and -(2**63) <= int(value) < 2**63
