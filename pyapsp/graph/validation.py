"""Checks of arguments: simple parameters, and the arrays of graphs.

Each function returns its argument in the form that the package uses (dtype, shape), or raises
:class:`~pyapsp.base.errors.GraphError` (wrong data) or :class:`~pyapsp.base.errors.ParameterError`
(wrong parameter).
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Hashable, Iterable
from numbers import Real
from typing import SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.base.shown import plain

__all__ = [
    "MAX_VERTICES",
    "Span",
    "array",
    "choice",
    "finite",
    "flag",
    "in_range",
    "integer",
    "integers",
    "is_masked",
    "is_masked_array",
    "is_real",
    "labels",
    "lost",
    "probability",
    "real",
    "square",
    "vertex",
    "vertex_count",
    "vertices",
    "weights",
]

#: The smallest and the largest of some weights.
Span: TypeAlias = tuple[np.integer | np.floating, np.integer | np.floating]

MAX_VERTICES = 2**31 - 1  # arc heads are stored as int32
_COUNTED = 2**53  # up to which float64 holds every integer


def integer(
    parameter: str, owner: str, value: SupportsIndex, minimum: int, maximum: int | None = None
) -> int:
    """Return `value` as an int of at least `minimum` (and at most `maximum`); refuse booleans."""
    try:
        number = operator.index(value)
        within = number >= minimum and (maximum is None or number <= maximum)
        if within and not isinstance(value, bool):
            return number
    except TypeError:
        pass
    upper = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    raise ParameterError.of(parameter, owner, f"an integer {upper}", value)


def choice(parameter: str, owner: str, value: str, choices: Iterable[str]) -> str:
    """Return `value`, one of these strings."""
    known = tuple(choices)
    # an array compares by element, and a list cannot be found in a set
    if not isinstance(value, str) or value not in known:
        raise ParameterError.of(parameter, owner, f"one of {', '.join(known)}", value, known)
    return value


def vertex(parameter: str, owner: str, value: SupportsIndex, n: int) -> int:
    """Return `value` as the number of one of n vertices."""
    if not n:
        raise ParameterError.of(parameter, owner, "a vertex, and the graph has none", value)
    return integer(parameter, owner, value, 0, n - 1)


def probability(parameter: str, owner: str, value: float) -> float:
    """Return `value` as a float in [0, 1]."""
    if not is_real(value) or not 0 <= value <= 1:
        raise ParameterError.of(parameter, owner, "a number in [0, 1]", value)
    return float(value)


def flag(parameter: str, owner: str, value: bool | np.bool_ | NDArray[np.bool_]) -> bool:
    """Return `value` as a bool; refuse strings and numbers, because ``bool("no")`` is True."""
    if isinstance(value, bool):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, np.bool_):
        raise ParameterError.of(parameter, owner, "True or False", value)
    return bool(value)


def output(
    owner: str, out: object, shape: tuple[int, ...], dtype: np.dtype, *, contiguous: bool = True
) -> np.ndarray:
    """Return `out`, an array that an answer of this shape and type can be written to."""
    rule = f"a writeable {'C-contiguous ' if contiguous else ''}{dtype} array of shape {shape}"
    if not isinstance(out, np.ndarray) or is_masked_array(out):
        raise ParameterError.of("out", owner, rule, type(out).__name__)
    fits = (out.shape, out.dtype) == (shape, dtype) and out.flags.writeable
    if not fits or (contiguous and not out.flags.c_contiguous):
        raise ParameterError.of("out", owner, rule, f"{out.dtype} {out.shape}")
    return out


def is_real(value: object) -> bool:
    """Return whether `value` is one real number: no bool and no timedelta64, both are integers."""
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


def vertex_count(n: SupportsIndex) -> int:
    """Return the number of vertices `n` as an int in [0, 2**31 - 1]."""
    return integer("n", "Graph", n, 0, MAX_VERTICES)


def square(shape: tuple[int, ...]) -> int:
    """Return n of a shape n-by-n."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"an adjacency matrix must be square, not of shape {shape}")
    return shape[0]


def vertices(what: str, values: ArrayLike, n: int) -> np.ndarray:
    """Return vertex numbers as a one-dimensional int32 or int64 array, all values in [0, n)."""
    found = integers(f"the {what} of the arcs", values)
    if not in_range(found, n):
        arc = int(((found < 0) | (found >= n)).argmax())
        raise GraphError(
            f"the {what} of the arcs must lie in 0..{n - 1}: arc number {arc} has {found[arc]}"
        )
    return found if found.dtype == np.int32 else found.astype(np.int64, copy=False)


def integers(what: str, values: ArrayLike) -> np.ndarray:
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


def weights(values: ArrayLike) -> np.ndarray:
    """Return weights as int64 (every integer and bool kind), float32 or float64."""
    found = real(values)
    if found.dtype.kind == "u" and found.size and int(found.max()) > np.iinfo(np.int64).max:
        raise GraphError(f"the weight {found.max()} does not fit into int64")
    if found.dtype.kind in "biu":
        return found.astype(np.int64, copy=False)
    narrow = found.dtype.itemsize <= 4
    return found.astype(np.float32 if narrow else np.float64, copy=False)


def real(values: ArrayLike, what: str = "the weights") -> np.ndarray:
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
        large = np.abs(found) >= np.float64(_COUNTED)
        if large.any():
            for number in np.asarray(values, dtype=object)[large]:
                if isinstance(number, int | np.integer) and int(number) != float(number):
                    raise GraphError(
                        f"{number} among {what} does not fit into float64, which the others need"
                    )
    return found


def lost(values: np.ndarray, cast: np.ndarray) -> NDArray[np.bool_]:
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


def is_masked_array(values: object) -> bool:
    """Return whether an object is a masked array.

    Whoever made one has imported its module, which takes longer than to solve a thousand graphs.
    """
    return "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray)


def is_masked(values: object) -> bool:
    """Return whether an object is an array with masked values."""
    return is_masked_array(values) and bool(np.ma.is_masked(values))


def array(what: str, values: ArrayLike) -> np.ndarray:
    """Return values as an array.

    NumPy drops the mask of a masked array, and makes NaN of the missing values of data frames.

    Raises
    ------
    GraphError
        A value is masked or missing, or the values make no array.
    """
    if type(values) is np.ndarray:
        return values
    if is_masked(values):
        raise GraphError(f"{what} must not be masked: leave out what is not there")
    if _missing(values):
        raise GraphError(f"{what} must not be missing: leave out what is not there")
    try:
        return np.asarray(values)
    except MemoryError:
        raise
    except Exception as error:  # data frames have errors of their own
        raise GraphError(f"{what} are no array: {error}") from None


def _missing(values: ArrayLike) -> bool:
    """Return whether a column of a data frame has no value in some row; NaN is a value."""
    count = getattr(values, "null_count", None)
    if isinstance(count, int):  # Arrow
        return count > 0
    if not hasattr(values, "dtype") or isinstance(values.dtype, np.dtype):
        return False
    if callable(count):  # polars
        return bool(count())
    return hasattr(values, "isna") and bool(values.isna().any())  # pandas


def finite(
    weights: np.ndarray, spread: Span, ends: Callable[[int], tuple[int, int]]
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


def in_range(places: np.ndarray, count: int) -> bool:
    """Return whether integers lie in [0, count)."""
    if places.size == 0:
        return True
    if places.dtype.isnative:
        # viewed as unsigned numbers, negative ones become the largest
        return bool(places.view(f"u{places.itemsize}").max() < count)
    return bool(places.min() >= 0 and places.max() < count)


def labels(values: Iterable[Hashable] | None, n: int) -> np.ndarray | None:
    """Return n distinct labels as an int64, string or object array.

    The result is None for None and for the labels 0..n-1, which equal the row numbers.
    """
    if values is None:
        return None
    if is_masked(values):
        raise GraphError("labels must not be masked")
    if not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise GraphError(f"labels must be a sequence, not {values!r}")
    names: list[Hashable]
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
    seen: set[Hashable] = set()
    for name in names:
        if not isinstance(name, Hashable):
            raise GraphError(f"labels must be hashable, not {plain(name)!r}")
        if not _equals_itself(name):
            raise GraphError(f"labels must be equal to themselves, which {plain(name)!r} is not")
        if name in seen:
            raise GraphError(f"labels must be distinct: {plain(name)!r} occurs more than once")
        seen.add(name)
    array: np.ndarray
    if all(_is_int64(name) for name in names):
        array = np.array(names, dtype=np.int64)
        return None if np.array_equal(array, np.arange(n)) else array
    if all(isinstance(name, str) and not name.endswith("\0") for name in names):
        return np.array(names, dtype=np.str_)
    array = np.empty(n, dtype=object)
    for place, name in enumerate(names):  # array[:] = names would unpack tuples
        array[place] = name
    return array


def _equals_itself(name: Hashable) -> bool:
    """Return False for NaN, NaT and pandas.NA, which mean a missing id."""
    try:
        return bool(name == name)
    except (TypeError, ValueError):
        return False


def _is_int64(value: Hashable) -> bool:
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        return False
    return -(2**63) <= int(value) < 2**63
