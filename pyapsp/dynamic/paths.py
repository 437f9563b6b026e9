"""Shortest paths that are kept up to date while a container changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError, ParameterError, PrecisionError
from pyapsp.dynamic import analytics
from pyapsp.dynamic.batch import arrays_of
from pyapsp.dynamic.hornet import Hornet
from pyapsp.graph import validation
from pyapsp.paths import vertices

__all__ = ["PathRows"]

_MOST = 2**31 - 1

# Whether the lengths of the ends of edges fulfil something.
_Test: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]


class PathRows:
    """The lengths of shortest paths from some vertices of a container.

    After an update only the rows of affected sources are computed again. A row stays as it is if no
    new edge makes a path shorter, and no edge that was deleted could be on one: then the lengths
    still satisfy all edges, and the paths are still there. As long as it is in use, update the
    edges of the container by its methods alone, and leave the vertices. The test of what is
    affected is ours.

    After an update that fails, rows that may be wrong are computed again when they are next needed.

    Parameters
    ----------
    held : Hornet
        Without weights, or with non-negative weights of an integer type.
    sources : array_like of int, optional
        All vertices by default.

    Attributes
    ----------
    sources : (k,) int64 ndarray

    Raises
    ------
    ParameterError
        The weights are of another type, or a source is no vertex or was deleted.
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

    def __init__(
        self, held: Hornet, sources: Sequence[int] | NDArray[np.int64] | None = None
    ) -> None:
        if not isinstance(held, Hornet):
            raise ParameterError.of("held", "PathRows", "a Hornet", type(held).__name__)
        self._container = held
        self._weighted = any("weight" in column.names for column in held._columns)
        if self._weighted:
            values = held.snapshot().values["weight"]
            if values.dtype.kind not in "iu":
                rule = "a container with weights of an integer type, or without"
                raise ParameterError.of("held", "PathRows", rule, values.dtype.name)
            self._check(values)
        self.sources = vertices(held.vertices if sources is None else sources, held.n, "PathRows")
        self._vertices = held.vertices
        deleted = self.sources[~np.isin(self.sources, self._vertices)]
        if deleted.size:
            rule = "vertices that are not deleted"
            raise ParameterError.of("sources", "PathRows", rule, int(deleted[0]))
        self._lengths = np.full((self.sources.size, held.n), -1, np.int32)
        # rows that may not be those of the container as it is
        self._stale = np.ones(self.sources.size, bool)
        self._compute()

    @property
    def lengths(self) -> NDArray[np.int32]:
        """The lengths of the shortest paths, (k, n) int32; -1 where there is no path: a copy."""
        self._compute()
        return self._lengths.copy()

    def insert_edges(
        self,
        tails: ArrayLike,
        heads: ArrayLike,
        weights: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> int:
        """Insert edges that are not there; return how many rows were computed again."""
        lengths = np.ones(1, np.int64) if weights is None else validation.real(weights)
        if self._weighted:
            self._check(lengths)
        u, v = self._ends(tails, heads)
        with self._changing() as before:
            self._container.insert_edges(u, v, weights)  # checks the arguments
        steps = np.broadcast_to(lengths, u.shape)
        self._stale = before | self._hit(u, v, lambda a, b: a + steps < b)
        return self._compute()

    def delete_edges(self, tails: ArrayLike, heads: ArrayLike) -> int:
        """Delete edges; return how many rows were computed again."""
        u, v = self._ends(tails, heads)
        there = self._container.has_edges(u, v)
        with self._changing() as before:
            self._container.delete_edges(u, v)
        u, v = u[there], v[there]

        def may_be_on_a_path(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.bool_]:
            # the weights of deleted edges are not known
            on = (a <= b if self._weighted else a + 1 == b) & (a < _MOST)
            return np.asarray(on)

        self._stale = before | self._hit(u, v, may_be_on_a_path)
        return self._compute()

    def _ends(
        self, tails: ArrayLike, heads: ArrayLike
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the ends of edges, after a look at the container."""
        if self._container.n != self._lengths.shape[1]:
            raise ParameterError(
                f"these rows have {self._lengths.shape[1]} vertices, and the container has "
                f"{self._container.n} now: make new ones"
            )
        if not np.array_equal(self._container.vertices, self._vertices):
            raise ParameterError(
                "vertices of the container were deleted or inserted since these rows were made: "
                "make new ones"
            )
        return arrays_of(tails, heads)

    @contextmanager
    def _changing(self) -> Iterator[NDArray[np.bool_]]:
        """Mark all rows while the container changes; yield which were marked before.

        An error of the arguments means that the container is as it was.
        """
        before = self._stale
        self._stale = np.ones_like(before)
        try:
            yield before
        except (GraphError, ParameterError):
            self._stale = before
            raise

    def _hit(self, u: NDArray[np.int32], v: NDArray[np.int32], test: _Test) -> NDArray[np.bool_]:
        """Return which rows have an edge that passes a test of the lengths of its ends."""
        through = [self._either(u, v, lengths, test) for lengths in self._lengths]
        return np.array(through, bool)

    def _either(
        self, u: NDArray[np.int32], v: NDArray[np.int32], lengths: NDArray[np.int32], test: _Test
    ) -> bool:
        """Return whether any edge, in a direction that it has, passes a test of its ends."""
        a, b = _far(lengths[u]), _far(lengths[v])
        forth = bool(test(a, b).any())
        return forth or (not self._container.directed and bool(test(b, a).any()))

    def _check(self, weights: np.ndarray) -> None:
        """Raise the error of weights that are negative, or so large that lengths may overflow."""
        wrong = ~(weights >= 0)  # also NaN
        if wrong.any():
            raise PrecisionError(f"lengths need weights of at least 0, not {weights[wrong][0]}")
        if weights.size and float(weights.max()) * max(self._container.n, 1) >= _MOST:
            raise PrecisionError(
                f"with the weight {weights.max()} a path of {self._container.n} vertices may be "
                "too long for int32"
            )

    def _compute(self) -> int:
        """Compute the rows that are marked; return how many."""
        places = np.flatnonzero(self._stale)
        for place in places.tolist():
            source = int(self.sources[place])
            self._lengths[place] = analytics.distances(self._container, source)
            self._stale[place] = False
        return places.size


def _far(lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return lengths with a large number where there is no path."""
    return np.where(lengths < 0, _MOST, lengths.astype(np.int64))
