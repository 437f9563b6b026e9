"""Shortest paths that follow the updates of a container."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.dynamic import analytics
from pyapsp.dynamic.arguments import ends_of
from pyapsp.dynamic.hornet import Hornet
from pyapsp.errors import ParameterError, PrecisionError
from pyapsp.graph import validation

__all__ = ["PathRows"]

_MOST = 2**31 - 1


class PathRows:
    """The lengths of shortest paths from some vertices of a container.

    After an update only the rows of affected sources are computed again. A row stays as it is if no
    new edge makes a path shorter, and no edge that was deleted could be on one: then the lengths
    still satisfy all edges, and the paths are still there. As long as it is in use, update the
    edges of the container by its methods alone, and leave the vertices. The test of what is
    affected is ours.

    Parameters
    ----------
    held : Hornet
        Without weights, or with non-negative weights of an integer type.
    sources : array_like of int, optional
        All vertices by default.

    Attributes
    ----------
    sources : (k,) int64 ndarray
    lengths : (k, n) int32 ndarray
        -1 where there is no path.

    Raises
    ------
    ParameterError
        The weights are of another type, or a source is no vertex.
    PrecisionError
        A weight is negative, or so large that a length may not be below 2^31.

    Examples
    --------
    >>> from pyapsp.dynamic import Hornet, PathRows
    >>> held = Hornet(4)
    >>> rows = PathRows(held, [0, 3])
    >>> rows.insert_edges([0, 1], [1, 2])
    1
    >>> rows.lengths.tolist()
    [[0, 1, 2, -1], [-1, -1, -1, 0]]
    """

    def __init__(self, held: Hornet, sources: ArrayLike | None = None) -> None:
        self._held = held
        self._weighted = any("weight" in column.names for column in held._columns)
        if self._weighted:
            values = held.snapshot().values["weight"]
            if values.dtype.kind not in "iu":
                rule = "a container with weights of an integer type, or without"
                raise ParameterError.of("held", "PathRows", rule, values.dtype.name)
            self._check(values)
        chosen = held.vertices if sources is None else sources
        self.sources = validation.vertices("sources", np.asarray(chosen), held.n)
        self.lengths = np.full((self.sources.size, held.n), -1, np.int32)
        self._compute(np.arange(self.sources.size))

    def insert_edges(
        self, tails: ArrayLike, heads: ArrayLike, weights: ArrayLike | None = None
    ) -> int:
        """Insert edges that are not there; return how many rows were computed again."""
        given = np.ones(1, np.int64) if weights is None else np.asarray(weights)
        if self._weighted:
            self._check(given)
        u, v = ends_of("tails", tails), ends_of("heads", heads)
        self._held.insert_edges(u, v, weights)  # checks the arguments
        steps = np.broadcast_to(given, u.shape)
        far = self._far()
        hit = [i for i, d in enumerate(far) if self._either(u, v, d, lambda a, b: a + steps < b)]
        return self._compute(np.array(hit, np.int64))

    def delete_edges(self, tails: ArrayLike, heads: ArrayLike) -> int:
        """Delete edges; return how many rows were computed again."""
        u, v = ends_of("tails", tails), ends_of("heads", heads)
        there = self._held.has_edges(u, v)
        self._held.delete_edges(u, v)
        u, v = u[there], v[there]

        def may_be_on_a_path(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
            # the weights of deleted edges are not known
            on = (a <= b if self._weighted else a + 1 == b) & (a < _MOST)
            return np.asarray(on)

        far = self._far()
        hit = [i for i, d in enumerate(far) if self._either(u, v, d, may_be_on_a_path)]
        return self._compute(np.array(hit, np.int64))

    def _far(self) -> NDArray[np.int64]:
        """Return the lengths with a large number where there is no path."""
        return np.where(self.lengths < 0, _MOST, self.lengths.astype(np.int64))

    def _either(self, u: Any, v: Any, lengths: NDArray[np.int64], test: Any) -> bool:
        """Return whether any edge, in a direction that it has, passes a test of its ends."""
        forth = bool(test(lengths[u], lengths[v]).any())
        return forth or (not self._held.directed and bool(test(lengths[v], lengths[u]).any()))

    def _check(self, weights: NDArray[Any]) -> None:
        """Raise the error of weights that are negative, or so large that lengths may overflow."""
        if weights.size and weights.min() < 0:
            raise PrecisionError(f"lengths need weights of at least 0, not {weights.min()}")
        if weights.size and int(weights.max()) * max(self._held.n, 1) >= _MOST:
            raise PrecisionError(
                f"with the weight {weights.max()} a path of {self._held.n} vertices may be too "
                "long for int32"
            )

    def _compute(self, places: NDArray[np.int64]) -> int:
        for place in places.tolist():
            source = int(self.sources[place])
            self.lengths[place] = analytics.distances(self._held, source)
        return places.size
