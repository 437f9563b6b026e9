"""Number types: infinity of each type, exact types for a graph, bounds of rounding errors.

Integer types hold distances below half of their range, so that the sum of two never overflows. The
largest such value is infinity, the distance of an unreachable vertex. Before the run a proof is
tried that a type is wide enough: no path is longer than n - 1 times the largest weight, or than a
bound from a few searches. Without a proof the answer is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.errors import ParameterError
from pyapsp.graph import Facts, Graph
from pyapsp.numbers.bounds import distance_bound, eccentricity_bound, hop_bound, proved_bound

__all__ = [
    "DTYPES",
    "Tolerance",
    "holds_all",
    "infinity",
    "is_exact",
    "largest_finite",
    "mean_step",
    "name_of",
    "named",
    "narrower",
    "only_int32",
    "resolve",
    "tolerance",
    "tolerance_for",
]

DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "uint16")
# The types that "auto" tries, the narrowest first.
_AUTOMATIC = ("uint16", "int16", "int32", "int64")


@cache
def infinity(dtype: np.dtype) -> int | float:
    """Return the distance of an unreachable vertex: inf, or half of the range of an integer.

    2**62 - 1 for int64, 2**30 - 1 for int32, 2**14 - 1 for int16, 2**15 - 1 for uint16.
    """
    if dtype.kind == "f":
        return float("inf")
    return int(np.iinfo(dtype).max) // 2


@cache
def name_of(dtype: np.dtype) -> str:
    """Return the name of a type; NumPy puts it together at each use, which takes microseconds."""
    return str(dtype.name)


def _narrowest(graph: Graph | Facts, bound: int | float) -> np.dtype | None:
    """Return the narrowest integer type that holds all distances up to a bound."""
    if not graph.is_integer:
        return None
    for candidate in map(np.dtype, _AUTOMATIC):
        # the type must also hold the weights; an arc may be longer than all distances
        longest = max(bound, graph.max_magnitude)
        if longest < infinity(candidate) and not (candidate.kind == "u" and graph.has_negative):
            return candidate
    return None


def narrower(graph: Graph | Facts, dtype: np.dtype, bound: int | float) -> np.dtype | None:
    """Return an integer type narrower than `dtype` that gives the same distances, or None.

    Parameters
    ----------
    graph : Graph or Facts
    dtype : numpy.dtype
        Type of the answer.
    bound : int or float
        An upper bound of the finite distances.

    Returns
    -------
    numpy.dtype or None
        None if there is no proof that a narrower type gives the same answer after
        `checks.converted`.
    """
    candidate = _narrowest(graph, bound)
    # a float type holds all whole numbers of a narrower type, so that its sums are not rounded
    return candidate if candidate is not None and candidate.itemsize < dtype.itemsize else None


def is_exact(graph: Graph, dtype: np.dtype) -> bool:
    """Return whether it is proved that sums of weights along all paths are exact in this type.

    They are if all weights are whole numbers, and the longest path is below infinity (integer
    types), or below the largest number up to which a float type holds all whole numbers.
    """
    if not graph.is_integer:
        return False
    if dtype.kind == "u" and graph.has_negative:
        return False
    limit = infinity(dtype) if dtype.kind in "iu" else 2 ** (np.finfo(dtype).nmant + 1)
    return max(distance_bound(graph), graph.max_magnitude) < limit


def resolve(graph: Graph, dtype: DTypeLike | None, owner: str = "solve") -> tuple[np.dtype, str]:
    """Choose the type of the distances.

    Parameters
    ----------
    graph : Graph
        The graph to be solved.
    dtype : dtype-like, "auto" or None
        None is float64, as in SciPy. ``"auto"`` is the narrowest integer type that is proved exact
        for this graph, else the float type of its weights.
    owner : str
        Name of the function, for messages.

    Returns
    -------
    dtype : numpy.dtype
        One of `DTYPES`.
    reason : str
        Why, as text for `Result.explain`.

    Raises
    ------
    ParameterError
        If the type is not supported.
    """
    if dtype is None:
        return np.dtype(np.float64), "the default, as in SciPy"
    if isinstance(dtype, str) and dtype == "auto":
        bound = distance_bound(graph)
        candidate = _narrowest(graph, bound)
        for tighter in (hop_bound, eccentricity_bound):
            if graph.is_integer and (candidate is None or candidate.itemsize > 2):
                bound = min(bound, tighter(graph))
                candidate = _narrowest(graph, bound)
        if candidate is not None:
            return candidate, f"the narrowest exact type: no distance exceeds {bound:g}"
        if graph.dtype == np.float32:
            return np.dtype(np.float32), "the type of the weights"
        return np.dtype(np.float64), "no narrower type is proved exact"
    return named(dtype, owner), "as asked"


def named(dtype: DTypeLike, owner: str) -> np.dtype:
    """Return a type of distances by its name.

    Raises
    ------
    ParameterError
        If the type is not supported.
    """
    try:
        chosen = np.dtype(dtype)
    except (TypeError, ValueError):
        chosen = None
    if chosen is None or name_of(chosen) not in DTYPES or not chosen.isnative:
        rule = f"'auto' or one of {', '.join(DTYPES)} in this machine's byte order"
        raise ParameterError.of("dtype", owner, rule, dtype, ["auto", *DTYPES])
    return chosen


def only_int32(dtype: DTypeLike | None, owner: str) -> np.dtype:
    """Return int32, the type of levels and of labels, if `dtype` is None or int32.

    Raises
    ------
    ParameterError
        If it is another type.
    """
    try:
        fits = dtype is None or np.dtype(dtype) == np.int32
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ParameterError.of("dtype", owner, "int32", dtype)
    return np.dtype(np.int32)


@dataclass(frozen=True)
class Tolerance:
    """The largest rounding error of a distance d: ``relative * |d| + absolute``; 0 if exact.

    ``cl/paths/certificate.cl`` has the same comparison.
    """

    relative: float
    absolute: float

    @property
    def exact(self) -> bool:
        """Whether the sums are exact."""
        return self.relative == 0 and self.absolute == 0

    def equal(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return where two arrays of finite distances are equal up to rounding in each."""
        equal: np.ndarray = a == b
        if not self.exact:
            # in float64, because in a narrow type the sum of two large numbers may overflow
            a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
            equal |= np.abs(a - b) <= self.relative * (np.abs(a) + np.abs(b)) + self.absolute
        return equal


def tolerance(graph: Graph, distances: np.ndarray) -> Tolerance:
    """Return the largest rounding error of a distance of this answer.

    It is zero for integer types. It is also zero if weights are whole numbers and the float type
    holds every distance plus one weight exactly. Otherwise a path of at most n - 1 arcs has n - 1
    roundings, each of at most half a unit in the last place of a partial sum. Without negative
    weights, partial sums are at most the distance. With negative weights they are distances
    themselves, or, if the answer has only some rows, differences of two distances.

    Parameters
    ----------
    graph : Graph
    distances : (k, n) ndarray

    Returns
    -------
    Tolerance
    """
    dtype = distances.dtype
    matters = dtype.kind == "f" and (graph.has_negative or graph.is_integer)
    largest = largest_finite(distances) if matters else 0.0
    return tolerance_for(graph, dtype, largest, complete=len(distances) == graph.n)


def largest_finite(distances: np.ndarray) -> float:
    """Return the largest absolute value of the finite distances; 0 if there are none.

    For a matrix in parts, take the maximum over the parts.

    Parameters
    ----------
    distances : (k, n) ndarray
    """
    is_float = distances.dtype.kind == "f"
    finite = np.isfinite(distances) if is_float else distances < infinity(distances.dtype)
    return max(
        float(distances.max(where=finite, initial=0)),
        -float(distances.min(where=finite, initial=0)),
    )


def tolerance_for(
    graph: Graph, dtype: np.dtype, largest: float, *, complete: bool = True
) -> Tolerance:
    """Return the `tolerance` of an answer, given only the largest distance.

    Parameters
    ----------
    graph : Graph
    dtype : numpy.dtype
        Type of the distances.
    largest : float
        The `largest_finite` of all distances. It is not used for an integer type, nor if no weight
        is negative and not all are whole numbers.
    complete : bool
        Whether the answer has a row for every vertex.

    Returns
    -------
    Tolerance
    """
    if dtype.kind in "iu" or graph.m == 0:
        return Tolerance(0.0, 0.0)
    if graph.has_negative and not complete:
        largest *= 2
    heaviest = float(graph.max_magnitude)
    if graph.is_integer and largest + heaviest <= 2 ** (np.finfo(dtype).nmant + 1):
        return Tolerance(0.0, 0.0)
    # also one rounding of each weight to the dtype
    roundings = max(graph.n, 1) * float(np.finfo(dtype).eps)
    if graph.has_negative:
        return Tolerance(0.0, roundings * max(largest, heaviest))
    return Tolerance(roundings, 0.0)


def holds_all(graph: Graph, dtype: np.dtype) -> bool:
    """Return whether it is proved that a type holds every distance of a graph."""
    limit = infinity(dtype) if dtype.kind in "iu" else float(np.finfo(dtype).max)
    return proved_bound(graph) < limit


def mean_step(graph: Graph, dtype: np.dtype, times: float) -> np.generic:
    """Return so many mean weights in this type, at least 1 in integers: the step of a threshold."""
    with np.errstate(over="ignore"):  # an infinite step means the order of Bellman-Ford
        step = graph.weights.mean(dtype=np.float64) * times if graph.m else 1.0
        if dtype.kind in "iu":
            step = min(max(round(step), 1), int(infinity(dtype)))
        found: np.generic = dtype.type(step)
        return found
