"""The facts of a graph that decide which methods are suitable and fast."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyapsp.graph import compressed

__all__ = ["Facts", "family_of", "has_many_arcs", "soundings", "spread_of"]

# A graph is power-law if a vertex has more than this multiple of the mean number of arcs. In a mesh
# a vertex has at most this many arcs, and the standard deviation is below this part of the mean.
_SKEWED, _MESHED, _ALIKE = 16, 8, 0.4
# Among so many vertices there is mostly one with many arcs, if there is any.
_SOME = 2**16


# Where among the vertices the sources of searches are, in their order.
_PLACES = [(3 * number % 8 + 0.5) / 8 for number in range(8)]
# Vertices of a run from such a place on, whose arcs are looked at.
_RUN = 256


@dataclass(frozen=True)
class Facts:
    """The facts of a graph that decide which methods are suitable and fast.

    Attributes
    ----------
    n, m, max_magnitude, has_negative, is_integer, is_unweighted, family
        As in `Graph`.
    reach : float
        The part of all vertices that a source reaches; 1 unless `Graph.sounded` or
        `Graph.sounded_within` has estimated it.
    depth : int or None
        The number of arcs to the farthest vertex that a source reaches; None if it is not
        estimated.
    spread : float or None
        The mean difference between the numbers of the two ends of an arc, as a part of n, estimated
        with the depth: one third if vertices are numbered at random.
    """

    n: int
    m: int
    max_magnitude: int | float
    has_negative: bool
    is_integer: bool
    is_unweighted: bool
    family: str = "uniform"
    reach: float = 1.0
    depth: int | None = None
    spread: float | None = None


def spread_of(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> float:
    """Return `Facts.spread` of a graph with arcs, from runs of vertices, rounded like the depth."""
    n = indptr.size - 1
    apart, arcs = 0.0, 0
    for place in _PLACES:
        first = int(place * n)
        rows = indptr[first : first + _RUN + 1]
        heads = indices[rows[0] : rows[-1]].astype(np.int64)
        tails = first + np.repeat(np.arange(rows.size - 1), np.diff(rows))
        apart, arcs = apart + float(np.abs(heads - tails).sum()), arcs + heads.size
    return _rounded(max(apart, 1.0) / (n * max(arcs, 1)))


def soundings(n: int, search: Callable[[int], tuple[int, int]]) -> tuple[float, int]:
    """Return `Facts.reach` and `Facts.depth`, from searches.

    The first that reaches a quarter of the vertices is the last: others would take long, and mostly
    reach the same vertices. Both results are rounded to half an octave, so that similar graphs have
    equal facts.

    Parameters
    ----------
    n : int
    search : callable
        ``search(vertex)`` returns the depth of a search, and how many vertices it reaches.
    """
    count, reached, depth = 0, 0, 1
    for place in _PLACES:
        hops, found = search(int(place * n))
        count, reached, depth = count + 1, reached + found, max(depth, hops)
        if 4 * found > n:
            break
    return min(_rounded(reached / (n * count)), 1.0), round(_rounded(depth))


def _rounded(number: float) -> float:
    """Return the nearest power of the square root of two."""
    return math.pow(2, round(2 * math.log2(number)) / 2)


def family_of(indptr: NDArray[np.int64]) -> str:
    """Return the most similar family of `pyapsp.graph.families`, by the degrees."""
    n, m = indptr.size - 1, int(indptr[-1])
    if m == 0:
        return "uniform"
    mean = m / n
    if compressed.most_arcs(indptr[: _SOME + 1]) > _SKEWED * mean:
        return "power-law"
    most = compressed.most_arcs(indptr)
    if most > _SKEWED * mean:
        return "power-law"
    if most <= _MESHED and compressed.squared_arcs(indptr) / n - mean**2 < (_ALIKE * mean) ** 2:
        return "mesh"
    return "uniform"


def has_many_arcs(n: int, m: int) -> bool:
    """Return whether so many arcs that the degrees cannot make it power-law or a mesh.

    A vertex has at most n arcs.
    """
    return m > _MESHED * n and _SKEWED * m >= n**2
