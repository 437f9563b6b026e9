"""A graph that is a matrix of weights. Its arcs are listed only if they are needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError
from pyapsp.base.host import parts, share
from pyapsp.graph import compressed, validation
from pyapsp.graph.facts import family_of, has_many_arcs
from pyapsp.graph.model import Facts, Graph

__all__ = ["DenseGraph", "from_array"]

# Values of a block that is read several times, in the CPU cache. In more than a few threads
# blocks are longer, because each operation waits for the interpreter's lock: in 16 threads 1 GiB
# took 99 ms with blocks of 2^17 values, and 22 ms with those of 2^20.
_BLOCK, _LONG_BLOCK, _FEW = 2**17, 2**20, 4
# Levels of a search in the matrix.
_DEEP = 64


def from_array(matrix: ArrayLike, *, nan_is_no_arc: bool = False) -> Graph:
    """Return the graph of a matrix of weights, which must not change while the graph is used.

    Parameters
    ----------
    matrix : array_like or numpy.ma.MaskedArray, shape (n, n)
    nan_is_no_arc : bool, default False
        As for `Graph.from_dense`.

    Raises
    ------
    GraphError
        As `Graph.from_dense`.
    """
    masked = validation.is_masked_array(matrix)
    values = np.asarray(matrix) if masked else validation.array("the weights", matrix)
    plain = values.dtype.isnative and not masked and not isinstance(matrix, list | tuple)
    if plain and (values.dtype.kind == "i" or values.dtype in (np.float32, np.float64)):
        try:
            return DenseGraph(values)
        except GraphError:
            if not nan_is_no_arc:
                raise
    return Graph.from_dense(matrix, nan_is_no_arc=nan_is_no_arc)


class DenseGraph(Graph):
    """The graph of an n-by-n array, without a copy; 0 and +inf are no arcs.

    The dense methods need the array and the `Facts`, but no list of arcs. To list the arcs would
    take longer than to solve a small graph.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
        The type is float32, float64 or a signed integer type. The array must not change while the
        graph is used.

    Raises
    ------
    GraphError
        The matrix is not square, or holds NaN or -inf.
    """

    def __init__(self, matrix: np.ndarray) -> None:
        n = validation.square(matrix.shape)
        self.__dict__.update(_matrix=matrix, directed=True, labels=None, name=None)
        block = _BLOCK if parts(matrix.nbytes) <= _FEW else _LONG_BLOCK
        self.__dict__["_rows"] = rows = max(block // max(n, 1), 1)
        counts, lows, highs, infinite = [0], [0], [0], [False]

        def look(first: int, last: int) -> None:
            for start in range(first, last, rows):
                stop = min(start + rows, last)
                some = matrix[start:stop]
                low, high, count = some.min(), some.max(), some.size
                if not (low > 0 and high < math.inf):
                    if not low > -math.inf:  # it is -inf or NaN
                        Graph.from_dense(matrix)  # names the arc
                    arc = some != 0
                    if high == math.inf:
                        infinite[0], finite = True, some != high
                        arc &= finite
                        high = _largest(some, finite)
                    count = int(np.count_nonzero(arc))
                counts.append(count)
                lows.append(low.item())
                highs.append(high.item())

        share(look, n, matrix.nbytes)
        self.__dict__.update(_count=sum(counts), _infinite=infinite[0])
        # the extremes of the weights and 0
        self.__dict__["_span"] = min(lows), max(highs)

    _matrix: np.ndarray
    _rows: int
    _count: int
    _infinite: bool
    _span: tuple[float, float]

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self._matrix)

    @property
    def m(self) -> int:
        """Number of arcs."""
        return self._count

    @property
    def dtype(self) -> np.dtype:
        """Type of the weights: int64, float32 or float64."""
        kind = self._matrix.dtype
        return np.dtype(np.int64) if kind.kind == "i" else kind

    @property
    def max_magnitude(self) -> int | float:
        """Largest absolute value of a weight; 0 without arcs."""
        low, high = self._span
        found: int | float = max(-low, high)
        return found

    @property
    def max_weight(self) -> int | float | None:
        """Largest weight; None without arcs."""
        high = self._span[1]
        # the weights and 0: if none is above 0, the arcs tell
        return high if high > 0 else super().max_weight

    @property
    def sounded(self) -> Facts:
        """The facts alone, because a search needs a list of arcs."""
        return self.facts

    def sounded_within(self, cutoff: float) -> Facts:
        """Return the facts alone, as `sounded`."""
        return self.facts

    @property
    def has_negative(self) -> bool:
        """Whether a weight is below zero."""
        return bool(self._span[0] < 0)

    @cached_property
    def is_integer(self) -> bool:
        """Whether all weights are whole numbers, whatever their dtype."""
        if self.dtype.kind == "i":
            return True
        matrix = self._matrix
        rows = [matrix.reshape(-1)] if matrix.flags.c_contiguous else matrix
        return all(map(compressed.whole, rows))

    @cached_property
    def is_unweighted(self) -> bool:
        """Whether all weights are 1."""
        if self.m and self._span != (0, 1):
            return False
        return bool(np.count_nonzero(self._matrix == 1) == self.m)

    @cached_property
    def family(self) -> str:
        """The most similar family, as of any graph; the degrees are only counted if they decide."""
        return "uniform" if has_many_arcs(self.n, self.m) else family_of(self.indptr)

    @cached_property
    def indptr(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The index of the first arc of each vertex."""
        matrix, starts = self._matrix, np.zeros(self.n + 1, np.int64)

        def count(first: int, last: int) -> None:
            for start in range(first, last, self._rows):
                stop = min(start + self._rows, last)
                arc = self._arcs(matrix[start:stop])
                starts[start + 1 : stop + 1] = np.count_nonzero(arc, axis=1)

        share(count, self.n, matrix.nbytes)
        np.cumsum(starts, out=starts)
        starts.flags.writeable = False
        return starts

    @cached_property
    def indices(self) -> NDArray[np.int32]:  # type: ignore[override]
        """Heads of the arcs."""
        return self._listed.indices

    @cached_property
    def weights(self) -> np.ndarray:  # type: ignore[override]
        """Weights of the arcs."""
        return self._listed.weights

    @property
    def is_positive(self) -> bool:
        """Whether every weight is above zero; 0 is no arc."""
        return not self.has_negative

    @property
    def stored(self) -> np.ndarray:
        """An array with every weight, and with 0 and inf."""
        return self._matrix

    @property
    def search_work(self) -> int:
        """The longest time that `depth` takes, as a number of listed arcs."""
        return self.n**2 // 8

    def depth(self, vertex: int, *, backwards: bool = False) -> tuple[int, int]:
        """Return the depth of a breadth-first search, and how many vertices it reaches.

        It ends when it has all vertices, so of most matrices it reads a few rows. Of a deep graph
        it lists the arcs: they are few, and a level of a list takes less time.
        """
        matrix = self._matrix.T if backwards else self._matrix
        left = np.ones(self.n, bool)
        left[vertex] = False
        levels, frontier = 0, np.array([vertex])
        while frontier.size:
            if levels == _DEEP:
                return super().depth(vertex, backwards=backwards)
            found = np.zeros(self.n, bool)
            for start in range(0, frontier.size, self._rows):
                if found[left].all():
                    break
                found |= self._arcs(matrix[frontier[start : start + self._rows]]).any(axis=0)
            found &= left
            left &= ~found
            frontier = np.flatnonzero(found)
            levels += frontier.size > 0
        return levels, self.n - int(np.count_nonzero(left))

    def arcs_where(
        self, wanted: Callable[[int, int, np.ndarray], NDArray[np.bool_]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], np.ndarray]:
        """Return some arcs in compressed rows, without a list of all.

        Parameters
        ----------
        wanted : callable
            ``wanted(first, last, weights)`` tells for rows first to last - 1 of the matrix which
            arcs to return. What it tells of other entries does not matter. Threads call it at the
            same time.

        Returns
        -------
        indptr, indices, weights : ndarray
        """
        matrix, n = self._matrix, self.n
        starts, places = np.zeros(n + 1, np.int64), dict[int, NDArray[np.int64]]()

        def find(first: int, last: int) -> None:
            for start in range(first, last, self._rows):
                stop = min(start + self._rows, last)
                some = matrix[start:stop]
                arcs = self._arcs(some) & wanted(start, stop, some)
                starts[start + 1 : stop + 1] = np.count_nonzero(arcs, axis=1)
                places[start] = np.flatnonzero(arcs) + start * n

        share(find, n, matrix.nbytes)
        found = np.concatenate([places[start] for start in sorted(places)] or [starts[:0]])
        np.cumsum(starts, out=starts)
        tails, heads = np.divmod(found, max(n, 1))
        return starts, heads.astype(np.int32), matrix[tails, heads]

    @cached_property
    def _listed(self) -> Graph:
        return Graph.from_dense(self._matrix)

    def _arcs(self, values: np.ndarray) -> NDArray[np.bool_]:
        """Return which values of the matrix are arcs."""
        found: NDArray[np.bool_] = values != 0
        if self._infinite:
            found &= values != np.inf
        return found

    def _loops(self) -> int:
        return int(np.count_nonzero(self._arcs(self._matrix.diagonal())))

    def fill_rows(self, first: int, last: int, rows: np.ndarray, no_arc: float) -> None:
        """Write rows first to last - 1 of the matrix of weights; see `Graph.fill_rows`."""
        if self.is_complete:
            with np.errstate(invalid="ignore", under="ignore"):
                rows[...] = self._matrix[first:last]
            if self.m < self.n**2:
                given = self._matrix.diagonal()[first:last]
                np.copyto(np.einsum("ii->i", rows[:, first:last]), no_arc, where=~self._arcs(given))
            return
        for start in range(first, last, self._rows):
            stop = min(start + self._rows, last)
            given, target = self._matrix[start:stop], rows[start - first : stop - first]
            absent = given == 0
            with np.errstate(invalid="ignore", under="ignore"):
                if self._infinite and no_arc != np.inf:
                    longest = given.dtype.type(no_arc)
                    if longest >= self._span[1] and int(longest) == no_arc:
                        given = np.minimum(given, longest)  # changes infinity alone
                    else:
                        absent |= given == np.inf
                target[...] = given
            np.copyto(target, no_arc, where=absent)


def _largest(values: np.ndarray, finite: NDArray[np.bool_]) -> float:
    """Return the largest finite value, or 0 if none is larger.

    The bits of positive numbers are ordered like the numbers, and those of negative ones are below
    0. A maximum over part of an array by its mask takes 15 times as long.
    """
    bits = values.view(f"i{values.itemsize}")
    largest: float = (bits * finite).max().view(values.dtype)
    return largest
