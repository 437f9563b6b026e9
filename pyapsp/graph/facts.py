"""The facts of a graph that decide which methods are suitable and fast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyapsp.graph.validation import degrees

__all__ = ["Facts", "family_of"]

# A graph is power-law if a vertex has more than this multiple of the mean number of arcs. In a mesh
# a vertex has at most this many arcs, and the standard deviation is below this part of the mean.
_SKEWED, _MESHED, _ALIKE = 16, 8, 0.4


@dataclass(frozen=True)
class Facts:
    """The facts of a graph that decide which methods are suitable and fast.

    Attributes
    ----------
    n, m, max_magnitude, has_negative, is_integer, is_unweighted, family
        As in `Graph`.
    """

    n: int
    m: int
    max_magnitude: int | float
    has_negative: bool
    is_integer: bool
    is_unweighted: bool
    family: str = "uniform"


def family_of(indptr: NDArray[np.int64]) -> str:
    """Return the most similar family of `pyapsp.graph.families`, by the degrees."""
    n, m = indptr.size - 1, int(indptr[-1])
    if m == 0:
        return "uniform"
    mean, (most, squares) = m / n, degrees(indptr)
    if most > _SKEWED * mean:
        return "power-law"
    if most <= _MESHED and squares / n - mean**2 < (_ALIKE * mean) ** 2:
        return "mesh"
    return "uniform"
