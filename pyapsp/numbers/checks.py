"""Checks whether a number type holds the weights, before a run, and the distances, after it."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from pyapsp.base import errors
from pyapsp.base.errors import GraphError, PrecisionError
from pyapsp.base.host import cores, share
from pyapsp.base.reuse import empty
from pyapsp.graph import Graph
from pyapsp.graph.compressed import in_blocks
from pyapsp.graph.negative_cycle import find_negative_cycle
from pyapsp.numbers.bounds import proofs
from pyapsp.numbers.precision import holds_all, infinity, name_of

__all__ = [
    "advice",
    "check_answer",
    "check_diagonal",
    "check_positive",
    "check_weights",
    "convert",
    "converted",
    "is_near_limit",
    "may_clip",
    "negative_cycle",
    "refuse_negative_cycle",
    "too_large",
    "weight_lost",
]

# Number of values that are converted at once.
_BLOCK = 2**20
# Seconds to check a distance, in two threads.
_LOOK = 3e-10


def check_weights(graph: Graph, dtype: np.dtype) -> None:
    """Raise an error if this type cannot hold the weights.

    Float weights are rounded to a float type. Integer weights are never rounded: a float type must
    hold each of them exactly.

    Raises
    ------
    PrecisionError
        If the type is an integer type and a weight is no whole number, the type is unsigned and a
        weight is negative, a weight is out of range, an integer weight would be rounded, or a
        weight would become zero.
    """
    if graph.m == 0:
        return
    if dtype.kind == "f" and not _held_by(graph, dtype):
        _check_each(graph, dtype)
    if dtype.kind in "iu" and not graph.is_integer:
        raise PrecisionError(f"the weights are not whole numbers: {dtype} would round them")
    if dtype.kind == "u" and graph.has_negative:
        raise PrecisionError(
            f"{dtype} does not hold the negative weight {graph.min_weight}: use a signed dtype"
        )
    heaviest = graph.max_magnitude
    limit = _most(dtype)
    if heaviest > limit or (dtype.kind in "iu" and heaviest == limit):
        raise PrecisionError(f"a weight of {heaviest:g} is too large for {dtype}: {advice(dtype)}")


def _check_each(graph: Graph, dtype: np.dtype) -> None:
    """Raise an error if a weight is lost in a float type; they are looked at once for each type."""
    passed: set[str] = vars(graph).setdefault("_types_that_hold", set())
    if name_of(dtype) in passed:
        return
    weights, whole = graph.stored.ravel(order="K"), graph.dtype.kind == "i"

    def lost(start: int, stop: int) -> np.ndarray:
        """Return the weights of a block that the type does not hold."""
        some = weights[start:stop]
        with np.errstate(over="ignore", under="ignore"):
            held = some.astype(dtype)
        wrong = (held == 0) & (some != 0)
        if whole:
            # compare as integers; what is rounded up to 2**63 could not be converted back
            held = held.astype(np.float64)
            wrong |= (held >= 2.0**63) | (held < -(2.0**63))
            wrong[~wrong] = held[~wrong].astype(np.int64) != some[~wrong]
        refused: np.ndarray = some[wrong]
        return refused

    for some in in_blocks(lost, weights.size):
        if some.size:
            better = "use int64, or give the graph weights of a float type if they may be rounded"
            better = better if whole else "use float64"
            raise PrecisionError(f"{dtype} does not hold the weight {some[0]}: {better}")
    passed.add(name_of(dtype))


def check_positive(graph: Graph, owner: str) -> None:
    """Raise an error for a weight that is not above zero.

    Raises
    ------
    GraphError
        Naming `owner`, the function that needs such weights.
    """
    if not graph.is_positive:
        raise GraphError(f"{owner} needs weights above zero, and one is {graph.min_weight}")


def weight_lost() -> PrecisionError:
    """Return the error of a weight above zero that changes no sum with a distance."""
    return PrecisionError("a weight is lost in the sum with a distance that is much larger")


def too_large(graph: Graph, dtype: np.dtype) -> PrecisionError:
    """Return the error of a distance that is too large for a type."""
    heaviest = f"with weights of up to {graph.max_magnitude:g}"
    return PrecisionError(f"a distance is too large for {dtype}, {heaviest}: {advice(dtype)}")


def advice(dtype: np.dtype) -> str:
    """Return what to do about a distance that is too large for a type, for messages."""
    if dtype == np.float64:
        return "divide the weights by a number"
    if dtype == np.int64:
        return "if sums may be rounded, use float64, or weights of that type"
    return "use a wider dtype"


def _held_by(graph: Graph, dtype: np.dtype) -> bool:
    """Return whether a float type surely holds every weight, by type and extreme weights alone."""
    if graph.dtype.kind == "i":
        return bool(graph.max_magnitude <= 2 ** (np.finfo(dtype).nmant + 1))
    if dtype.itemsize >= graph.dtype.itemsize:
        return True
    smallest = graph.min_weight or 0
    with np.errstate(over="ignore", under="ignore"):  # if it stays above zero, none becomes zero
        return bool(smallest > 0 and dtype.type(smallest) > 0)


def check_answer(graph: Graph, distances: np.ndarray) -> None:
    """Raise an error if a distance was too large for its type.

    If a vertex that can be reached has the distance infinity, then its shortest path has a first
    such vertex. So some arc leads from a finite distance to an infinite one, and the finite one is
    near the limit of the type. The check searches for such arcs in rows with such a distance; rows
    that reach the same vertices are searched once. It also refuses distances at the negative
    limit, where sums are clamped.

    Parameters
    ----------
    graph : Graph
        The graph that was solved.
    distances : (k, n) ndarray
        Rows of the distance matrix.

    Raises
    ------
    PrecisionError
        If a distance is too large for its type.
    """
    dtype = distances.dtype
    if not may_clip(graph, dtype, distances.size):
        return
    limit, rows = infinity(dtype), max(1, _BLOCK // max(graph.n, 1))
    clamped, reached = [False], set[bytes]()

    def look(first: int, last: int) -> None:
        # in one step, because threads wait for the interpreter's lock after each
        some = distances[first:last]
        if dtype.kind != "u" and some.min(initial=0) <= -limit:
            clamped[0] = True
        if some.max(initial=0) < limit:
            return
        for start in range(first, last, rows):
            some = distances[start : min(start + rows, last)]
            if is_near_limit(graph, _largest(some, limit), dtype):
                reached.update(bits.tobytes() for bits in np.packbits(some < limit, axis=1))

    share(look, len(distances), distances.nbytes)
    if reached:  # otherwise a matrix need not list its arcs
        tails, heads, _ = graph.arcs()
        for row in reached:
            finite = np.unpackbits(np.frombuffer(row, np.uint8), count=graph.n).view(bool)
            clamped[0] |= bool(np.any(finite[tails] & ~finite[heads]))
    if clamped[0]:
        raise too_large(graph, dtype)


def is_near_limit(graph: Graph, distance: int | float, dtype: np.dtype) -> bool:
    """Return whether an arc from a vertex at this distance may lead beyond the limit of a type."""
    return bool(distance + (graph.max_weight or 0) >= _most(dtype))


def _largest(distances: np.ndarray, limit: int | float) -> int | float:
    """Return the largest finite distance, or less than 0 if there is none."""
    if distances.dtype.kind == "f":
        finite = distances[distances < limit]
        return float(finite.max(initial=-1))
    # one less than a power of two, so that infinity becomes 0; a negative distance may seem large
    return int(((distances + 1) & limit).max(initial=0)) - 1


def may_clip(graph: Graph, dtype: np.dtype, count: int) -> bool:
    """Return whether a type may be too narrow for a distance of a graph.

    Parameters
    ----------
    graph : Graph
    dtype : numpy.dtype
    count : int
        Number of distances. A proof may take as long as a look at all of them.
    """
    if holds_all(graph, dtype):
        return False
    seconds = count * _LOOK / max(cores() // 2, 1)
    return not any(bound < _most(dtype) for bound in proofs(graph, seconds))


def _most(dtype: np.dtype) -> int | float:
    return infinity(dtype) if dtype.kind in "iu" else float(np.finfo(dtype).max)


def check_diagonal(graph: Graph, diagonal: np.ndarray) -> None:
    """Raise an error if the answer shows a negative cycle.

    Parameters
    ----------
    graph : Graph
        The graph that was solved.
    diagonal : (n,) ndarray
        The distance of each vertex from itself.

    Raises
    ------
    NegativeCycleError, PrecisionError
        As `refuse_negative_cycle`, if a distance is negative.
    """
    if np.any(diagonal < 0):
        refuse_negative_cycle(graph, diagonal.dtype)


def refuse_negative_cycle(graph: Graph, dtype: np.dtype) -> NoReturn:
    """Raise the error of a run that found a negative cycle.

    Parameters
    ----------
    graph : Graph
        The graph that was solved.
    dtype : numpy.dtype
        The type of the sums.

    Raises
    ------
    NegativeCycleError
        With the vertices of one such cycle.
    PrecisionError
        If there is none in exact arithmetic, so that rounding is the cause.
    """
    raise negative_cycle(graph) or PrecisionError(
        f"rounding in {dtype} made a cycle that is not negative look negative: use a wider dtype, "
        "or whole-number weights with an integer dtype"
    )


def negative_cycle(graph: Graph) -> errors.NegativeCycleError | None:
    """Return the error that names a negative cycle; None if there is none in exact arithmetic."""
    found = find_negative_cycle(graph)
    if found is None:
        return None
    cycle, weight = found
    labels = None if graph.labels is None else [graph.labels[vertex] for vertex in cycle]
    return errors.NegativeCycleError(cycle, weight, labels)


def converted(distances: np.ndarray, dtype: np.dtype, out: np.ndarray | None = None) -> np.ndarray:
    """Return distances in another type that holds them; infinity becomes infinity of that type.

    Parameters
    ----------
    distances : (k, n) ndarray
    dtype : numpy.dtype
    out : (k, n) ndarray, optional
        Array for the result.
    """
    target = empty(distances.shape, dtype) if out is None else out

    def part(first: int, last: int) -> None:
        convert(distances[first:last], target[first:last])

    share(part, len(target), target.nbytes)
    return target


def convert(distances: np.ndarray, target: np.ndarray) -> None:
    """Copy distances into an array whose type holds them; infinity becomes that of its type.

    Parameters
    ----------
    distances : (k, m) ndarray
    target : (k, n) ndarray
        n is at most m; further columns are ignored.
    """
    width = target.shape[1]
    if distances.dtype == target.dtype:
        target[...] = distances[:, :width]
        return
    before, after = infinity(distances.dtype), infinity(target.dtype)
    rows = max(1, _BLOCK // max(width, 1))
    for start in range(0, len(target), rows):
        some = slice(start, start + rows)
        given = distances[some, :width]
        target[some] = given
        if before == after or given.max(initial=0) != before:
            continue
        if target.dtype.kind == "f":
            # a copy by a mask takes a branch for each value, and up to eight times as long
            with np.errstate(divide="ignore"):
                np.divide(target[some], given != before, out=target[some])
        else:
            np.copyto(target[some], after, where=given == before)
