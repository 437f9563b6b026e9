"""Many small graphs as arrays of all their arcs, made and checked in one operation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError, PyApspError
from pyapsp.graph import validation
from pyapsp.graph.model import Graph
from pyapsp.graph.rows import places_of

__all__ = ["Graphs", "numbered"]

_NONE = np.empty((0, 2), np.int64)
_ENDS = "an edge has not two ends"


class Graphs(Sequence[Graph]):
    """Many graphs, as the arcs of one after the other; a sequence of `Graph`.

    `solve_many` solves them without making an object for each, which takes longer than to solve a
    small graph. The memory of the arrays is shared: they must not change while it is used. A slice
    is `Graphs` again, of copies.

    Parameters
    ----------
    sizes : array_like of int, shape (k,)
        The number of vertices of each graph.
    counts : array_like of int, shape (k,)
        The number of arcs of each graph.
    tails, heads : array_like of int, shape (arcs,)
        The ends of the arcs, in each graph counted from 0. Of several arcs from one vertex to
        another, the smallest weight counts.
    weights : array_like, shape (arcs,), optional
        None gives every arc the weight 1.
    directed : bool, default True
        False means that an arc may be walked both ways.

    Attributes
    ----------
    has_weights : bool
        Whether the arcs have weights of their own. The parameters are attributes, too: arrays,
        without arcs of infinite weight.

    Raises
    ------
    GraphError
        The lengths differ, a vertex is out of range, or a weight is NaN or -inf. The message begins
        with the number of the graph.

    Examples
    --------
    >>> import pyapsp
    >>> water = pyapsp.Graphs([3, 2], [2, 1], [0, 0, 0], [1, 2, 1], directed=False)
    >>> pyapsp.solve_many(water)[0].distances
    array([[0., 1., 1.],
           [1., 0., 2.],
           [1., 2., 0.]])
    """

    def __init__(
        self,
        sizes: ArrayLike,
        counts: ArrayLike,
        tails: ArrayLike,
        heads: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        directed: bool = True,
    ) -> None:
        self.directed = validation.flag("directed", "Graphs", directed)
        self.sizes = _numbers("sizes", sizes, validation.MAX_VERTICES)
        self.counts = _numbers("counts", counts)
        self.tails, self.heads = _integers("tails", tails), _integers("heads", heads)
        arcs = sum(self.counts.tolist())  # a sum by NumPy may overflow
        self.has_weights = weights is not None
        ones = np.broadcast_to(np.int64(1), self.tails.size)
        self.weights = ones if weights is None else validation.weights(weights)
        shapes = {each.shape for each in (self.tails, self.heads, self.weights)}
        if self.sizes.shape != self.counts.shape or shapes != {(arcs,)}:
            raise GraphError(
                f"{self.sizes.size} sizes, {self.counts.size} counts of {arcs} arcs in all, "
                f"{self.tails.size} tails, {self.heads.size} heads and {self.weights.size} weights "
                "do not make a list of graphs"
            )
        self._starts = np.append(0, np.cumsum(self.counts))
        ends = np.repeat(self.sizes, self.counts)
        wrong = (np.minimum(self.tails, self.heads) < 0) | (
            np.maximum(self.tails, self.heads) >= ends
        )
        finite = np.isfinite(self.weights)
        if wrong.any() or not finite.all():
            self._check(wrong | ~finite)
            self._remove(~finite)

    @classmethod
    def from_edges(
        cls, graphs: Iterable[tuple[int, ArrayLike]], *, directed: bool = True
    ) -> Graphs:
        """Make graphs of pairs of a number of vertices and a list of edges.

        Parameters
        ----------
        graphs : iterable of (int, array_like of int of shape (m, 2))
            For instance ``(n, [(0, 1), (1, 2)])``. All edges have the weight 1.
        directed
            As for `Graphs`.

        Raises
        ------
        GraphError
            As `Graphs`, or an edge has not two ends.

        Examples
        --------
        >>> import pyapsp
        >>> pyapsp.Graphs.from_edges([(3, [(0, 1), (0, 2)]), (1, [])], directed=False)
        <Graphs: 2 graphs, 4 vertices, 2 arcs>
        """
        pairs = list(graphs)
        try:
            sizes, edges = zip(*pairs, strict=True) if pairs else ((), ())
            counts = [len(each) for each in edges]
            if any(isinstance(each, np.ndarray) for each in edges):
                ends = np.concatenate([each for each in edges if len(each)] or [_NONE])
            else:
                flat = np.array(list(chain.from_iterable(chain.from_iterable(edges))))
                if flat.ndim != 1 or set(map(len, chain.from_iterable(edges))) - {2}:
                    raise ValueError(_ENDS)
                ends = flat.reshape(-1, 2)
            if ends.shape != (sum(counts), 2):
                raise ValueError(_ENDS)
        except (TypeError, ValueError) as error:
            raise GraphError(f"no pairs of a number of vertices and edges: {error}") from None
        return cls(sizes, counts, ends[:, 0], ends[:, 1], directed=directed)

    def __len__(self) -> int:
        return self.sizes.size

    @overload
    def __getitem__(self, number: int) -> Graph: ...
    @overload
    def __getitem__(self, number: slice) -> Graphs: ...
    def __getitem__(self, number: int | slice) -> Graph | Graphs:
        if isinstance(number, slice):
            numbers = np.arange(len(self))[number]
            places = self.arcs_of(numbers)
            weights = self.weights[places] if self.has_weights else None
            return Graphs(
                self.sizes[numbers],
                self.counts[numbers],
                self.tails[places],
                self.heads[places],
                weights,
                directed=self.directed,
            )
        place = range(len(self))[number]
        some = slice(*self._starts[place : place + 2])
        arcs = self.tails[some], self.heads[some], self.weights[some]
        return Graph.from_arcs(int(self.sizes[place]), *arcs, directed=self.directed)

    def __iter__(self) -> Iterator[Graph]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        vertices, arcs = int(self.sizes.sum()), self.tails.size
        return f"<Graphs: {len(self)} graphs, {vertices} vertices, {arcs} arcs>"

    def arcs_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of the arcs of some graphs, one graph after the other."""
        return places_of(self._starts[numbers], self.counts[numbers])

    def _check(self, doubtful: NDArray[np.bool_]) -> None:
        """Raise the error of the first graph that has one of these arcs, if it is an error."""
        places = np.flatnonzero(doubtful)
        for number in np.unique(np.searchsorted(self._starts, places, "right") - 1).tolist():
            with numbered(number):
                self[number]

    def _remove(self, arcs: NDArray[np.bool_]) -> None:
        numbers = np.repeat(np.arange(len(self)), self.counts)[~arcs]
        self.counts = np.bincount(numbers, minlength=len(self))
        self._starts = np.append(0, np.cumsum(self.counts))
        for name in ("tails", "heads", "weights"):
            setattr(self, name, getattr(self, name)[~arcs])


@contextmanager
def numbered(number: int) -> Iterator[None]:
    """Add the number of the graph to an error."""
    try:
        yield
    except PyApspError as error:
        error.args = (f"graph {number}: {error}", *error.args[1:])
        error.graph = number
        raise


def _integers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    return validation.integers(name, values).astype(np.int64, copy=False)


def _numbers(name: str, values: ArrayLike, most: int | None = None) -> NDArray[np.int64]:
    numbers = _integers(name, values)
    if numbers.size and (numbers.min() < 0 or (most is not None and numbers.max() > most)):
        limit = "up" if most is None else f"to {most}"
        raise GraphError(f"{name} must be a list of numbers from 0 {limit}")
    return numbers
