"""What a graph and a parameter must satisfy: the one place where that is checked.

Each function returns its argument in the package's own form (dtype, shape) or raises
:class:`~pyapsp.errors.GraphError` (wrong data) or :class:`~pyapsp.errors.ParameterError`
(wrong parameter).
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.errors import GraphError, ParameterError

__all__ = [
    "MAX_VERTICES",
    "csr",
    "finite",
    "flag",
    "integer",
    "labels",
    "probability",
    "square",
    "vertex_count",
    "vertices",
    "weights",
]

MAX_VERTICES = 2**31 - 1  # arc heads are stored as int32


def integer(
    parameter: str, owner: str, value: Any, minimum: int, maximum: int | None = None
) -> int:
    """Return `value` as an int of at least `minimum` (and at most `maximum`)."""
    rule = f"an integer of at least {minimum}"
    if maximum is not None:
        rule = f"an integer from {minimum} to {maximum}"
    try:
        number = operator.index(value)
    except TypeError:
        raise ParameterError.of(parameter, owner, rule, value) from None
    if number < minimum or (maximum is not None and number > maximum):
        raise ParameterError.of(parameter, owner, rule, value)
    return number


def flag(parameter: str, owner: str, value: Any) -> bool:
    """Return `value` as a bool; words and numbers are none, for ``"no"`` would be True."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError.of(parameter, owner, "True or False", value)
    return bool(value)


def probability(parameter: str, owner: str, value: Any) -> float:
    """Return `value` as a float in [0, 1]."""
    if not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise ParameterError.of(parameter, owner, "a number in [0, 1]", value)
    return float(value)


def vertex_count(n: Any) -> int:
    """Return the number of vertices `n` as an int in [0, 2**31 - 1]."""
    return integer("n", "Graph", n, 0, MAX_VERTICES)


def square(shape: tuple[int, ...]) -> int:
    """Return n of a shape n-by-n."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"an adjacency matrix must be square, not of shape {shape}")
    return shape[0]


def vertices(what: str, values: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return vertex numbers as a one-dimensional int64 array with all values in [0, n)."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError(
            f"the {what} of the arcs must be a one-dimensional array of integers, "
            f"not {array.ndim}-dimensional of {array.dtype}"
        )
    outside = (array < 0) | (array >= n)
    if outside.any():
        arc = int(outside.argmax())
        raise GraphError(
            f"the {what} of the arcs must lie in 0..{n - 1}: arc number {arc} has {array[arc]}"
        )
    return array.astype(np.int64)


def weights(values: ArrayLike) -> NDArray[Any]:
    """Return weights as int64 (every integer and bool kind), float32 or float64."""
    array = np.asarray(values)
    if array.dtype.kind in "bi":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "u":
        if array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise GraphError(f"the weight {array.max()} does not fit into int64")
        return array.astype(np.int64)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        narrow = array.dtype.itemsize <= 4
        return array.astype(np.float32 if narrow else np.float64, copy=False)
    raise GraphError(f"weights must be real numbers of at most 64 bits, not {array.dtype}")


def finite(
    tails: NDArray[Any], heads: NDArray[Any], weights: NDArray[Any]
) -> NDArray[np.bool_] | None:
    """Refuse NaN and -inf; return the mask of the arcs that stay, None when all do.

    An arc of weight +inf is no arc.
    """
    if weights.dtype.kind != "f" or np.isfinite(weights).all():
        return None
    bad = np.isnan(weights) | np.isneginf(weights)
    if bad.any():
        arc = int(bad.argmax())
        raise GraphError(f"the weight of the arc {tails[arc]} -> {heads[arc]} is {weights[arc]}")
    return ~np.isposinf(weights)


def csr(indptr: ArrayLike, indices: ArrayLike, weights_length: int) -> int:
    """Check the pattern of a compressed sparse row matrix and return its n.

    Raises
    ------
    GraphError
        `indptr` does not rise from 0 to the number of arcs, a head is outside 0..n-1, or the
        heads of a row are not strictly increasing.
    """
    starts, heads = np.asarray(indptr), np.asarray(indices)
    if starts.ndim != 1 or starts.size == 0 or starts.dtype.kind not in "iu":
        raise GraphError("indptr must be a one-dimensional array of n + 1 integers")
    n = vertex_count(starts.size - 1)
    starts = starts.astype(np.int64)
    if heads.shape != (weights_length,):
        raise GraphError(f"indices of shape {heads.shape} do not go with {weights_length} weights")
    if starts[0] != 0 or starts[-1] != heads.size or (np.diff(starts) < 0).any():
        raise GraphError(f"indptr must rise from 0 to the number of arcs, {heads.size}")
    heads = vertices("heads", heads, n)
    falls = np.diff(heads) <= 0
    first_of_row = starts[1:-1]
    falls[first_of_row[(first_of_row > 0) & (first_of_row < heads.size)] - 1] = False
    if falls.any():
        arc = int(falls.argmax()) + 1
        row = int(np.searchsorted(starts, arc, side="right")) - 1
        raise GraphError(
            f"the heads of a row must be strictly increasing: row {row} has {heads[arc]} "
            f"after {heads[arc - 1]}"
        )
    return n


def labels(values: Iterable[Any] | None, n: int) -> NDArray[Any] | None:
    """Return n distinct labels as an int64, string or object array.

    None comes back for None and for the labels 0..n-1, which say nothing.
    """
    if values is None:
        return None
    if isinstance(values, np.ndarray) and values.dtype == np.int64 and (np.diff(values) > 0).all():
        # what readers and other graphs give: distinct as they rise
        if values.shape != (n,):
            raise GraphError(f"{values.size} labels do not go with {n} vertices")
        return None if np.array_equal(values, np.arange(n)) else values
    names = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(names) != n:
        raise GraphError(f"{len(names)} labels do not go with {n} vertices")
    seen: set[Any] = set()
    for name in names:
        if not isinstance(name, Hashable):
            raise GraphError(f"labels must be hashable, not {name!r}")
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


def _is_int64(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and -(2**63) <= int(value) < 2**63
