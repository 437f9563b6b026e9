"""Jobs for the pipeline: slices of a 3-D array, or groups of graphs of about the same size."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.all_pairs.dense.batch.pipeline import Job
from pyapsp.base.errors import GraphError
from pyapsp.base.host import share
from pyapsp.base.reuse import empty
from pyapsp.graph import Graph, Graphs
from pyapsp.numbers.precision import infinity, resolve

__all__ = [
    "Group",
    "Listed",
    "Packed",
    "Part",
    "Stacked",
    "array_dtype",
    "common_dtype",
    "narrowest",
    "packed_dtype",
    "padded",
]


class Group(Job):
    """Some graphs of a batch.

    Parameters
    ----------
    numbers : sequence of int
        The number of each graph in the batch.
    distances : (m, n, n) ndarray
        Array for the distances.
    before : (m, n, n) int32 ndarray or None
        Array for the predecessors, if they are wanted.

    Attributes
    ----------
    suspects : set of int
        Graphs, numbered in this group, with weights that the dtype may not hold. `weights` sets it.
    """

    def __init__(
        self, numbers: Sequence[int], distances: np.ndarray, before: np.ndarray | None
    ) -> None:
        self.numbers, self.distances, self.before = numbers, distances, before
        self.suspects: set[int] = set()

    @abstractmethod
    def graph(self, place: int) -> Graph:
        """Return a graph, counted in this group."""

    def answer(self, place: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return its distances and predecessors, parts of `distances` and of `before`."""
        return self.distances[place], None if self.before is None else self.before[place]

    def names(self, place: int) -> tuple[np.ndarray | None, bool]:
        """Return `labels` and `is_converted` of a graph."""
        return None, False

    def _fitted(self, stack: np.ndarray, directed: bool) -> np.ndarray:
        """Return matrices in the dtype of the distances; `suspects` are those it cannot hold."""
        values, wrong = _converted(stack if directed else _symmetrized(stack), self.distances.dtype)
        if wrong is not None:
            self.suspects.update(np.flatnonzero(wrong.any(axis=(1, 2))).tolist())
        return np.ascontiguousarray(values)


class Part(Group):
    """A part of a 3-D array of weights, in which zero and infinity mean "no arc"."""

    zero_is_arc = False

    def __init__(
        self,
        array: np.ndarray,
        part: slice,
        distances: np.ndarray,
        before: np.ndarray | None = None,
        *,
        directed: bool = True,
    ) -> None:
        super().__init__(range(part.start, part.stop), distances, before)
        self._array, self._directed = array[part], directed

    def graph(self, place: int) -> Graph:
        """Return a graph, counted in this group."""
        return Graph.from_dense(self._array[place], directed=self._directed)

    def weights(self) -> np.ndarray:
        """Return the weights in the dtype of the distances; `suspects` are those it cannot hold."""
        return self._fitted(self._array, self._directed)


class Padded(Group):
    """Graphs with at most n vertices, padded with isolated vertices."""

    def __init__(
        self,
        numbers: Sequence[int],
        sizes: Sequence[int],
        n: int,
        dtype: np.dtype,
        *,
        predecessors: bool,
    ) -> None:
        shape = (len(sizes), n, n)
        before = empty(shape, np.int32) if predecessors else None
        super().__init__(numbers, empty(shape, dtype), before)
        self._sizes = sizes

    def answer(self, place: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return its distances and predecessors, parts of `distances` and of `before`."""
        n = self._sizes[place]
        before = None if self.before is None else self.before[place, :n, :n]
        return self.distances[place, :n, :n], before

    def _filled(self, value: float, dtype: np.dtype) -> np.ndarray:
        """Return matrices of one value; in the memory of the distances, if weights may be there.

        To use new memory for the first time takes longer than to solve the graphs.
        """
        there = self.before is None and dtype == self.distances.dtype
        matrices = self.distances if there else empty(self.distances.shape, dtype)
        share(lambda first, last: matrices[first:last].fill(value), len(matrices), matrices.nbytes)
        return matrices


class Listed(Padded):
    """Graphs as objects."""

    zero_is_arc = True

    def __init__(
        self,
        numbers: Sequence[int],
        graphs: Sequence[Graph],
        n: int,
        dtype: np.dtype,
        *,
        predecessors: bool,
    ) -> None:
        sizes = [graph.n for graph in graphs]
        super().__init__(numbers, sizes, n, dtype, predecessors=predecessors)
        self._graphs = graphs

    def graph(self, place: int) -> Graph:
        """Return a graph, counted in this group."""
        return self._graphs[place]

    def names(self, place: int) -> tuple[np.ndarray | None, bool]:
        """Return `labels` and `is_converted` of a graph."""
        graph = self._graphs[place]
        return graph.labels, graph.is_converted

    def weights(self) -> np.ndarray:
        """Return the weights; those of the graphs must fit the dtype."""
        matrices = self._filled(infinity(self.distances.dtype), self.distances.dtype)
        for graph, matrix in zip(self._graphs, matrices, strict=True):
            tails, heads, weights = graph.arcs()
            matrix[tails, heads] = weights
        return matrices


class Stacked(Padded):
    """Matrices of weights of one type, in which zero and infinity mean "no arc"."""

    zero_is_arc = False

    def __init__(
        self,
        numbers: Sequence[int],
        matrices: Sequence[np.ndarray],
        n: int,
        dtype: np.dtype,
        *,
        directed: bool,
        predecessors: bool,
    ) -> None:
        super().__init__(numbers, list(map(len, matrices)), n, dtype, predecessors=predecessors)
        self._matrices, self._directed = matrices, directed

    def graph(self, place: int) -> Graph:
        """Return a graph, counted in this group."""
        return Graph.from_dense(self._matrices[place], directed=self._directed)

    def weights(self) -> np.ndarray:
        """Return the weights in the dtype of the distances; `suspects` are those it cannot hold."""
        stack = self._filled(0, self._matrices[0].dtype)
        for matrix, given, n in zip(stack, self._matrices, self._sizes, strict=True):
            matrix[:n, :n] = given
        return self._fitted(stack, self._directed)


class Packed(Padded):
    """Some of many graphs that are arrays of their arcs."""

    zero_is_arc = True

    def __init__(
        self,
        numbers: np.ndarray,
        graphs: Graphs,
        n: int,
        dtype: np.dtype,
        *,
        directed: bool,
        predecessors: bool,
    ) -> None:
        sizes = graphs.sizes[numbers].tolist()
        super().__init__(numbers.tolist(), sizes, n, dtype, predecessors=predecessors)
        self._graphs, self._directed = graphs, directed

    def graph(self, place: int) -> Graph:
        """Return a graph, counted in this group."""
        graph = self._graphs[self.numbers[place]]
        return graph if self._directed else graph.symmetrized()

    def weights(self) -> np.ndarray:
        """Return the weights in the dtype of the distances; `suspects` are those it cannot hold."""
        numbers, n, dtype = np.array(self.numbers), self.distances.shape[1], self.distances.dtype
        matrices = self._filled(infinity(dtype), dtype)
        arcs = self._graphs.arcs_of(numbers)
        places = np.repeat(np.arange(numbers.size), self._graphs.counts[numbers])
        tails, heads = self._graphs.tails[arcs], self._graphs.heads[arcs]
        values: np.ndarray | None = None
        if self._graphs.has_weights:
            values, wrong = _converted(self._graphs.weights[arcs], dtype)
            if wrong is None and dtype.kind == "i":
                wrong = values >= infinity(dtype)  # the minimum below hides them
            if wrong is not None:
                self.suspects.update(np.unique(places[wrong]).tolist())
        both = not (self._directed and self._graphs.directed)
        for one, other in ((tails, heads), (heads, tails))[: 1 + both]:
            entries = (places * n + one) * n + other
            if values is None:
                matrices.reshape(-1)[entries] = 1
            else:
                np.minimum.at(matrices.reshape(-1), entries, values)
        return matrices


def padded(n: int) -> int:
    """Return n or a slightly larger number, so that graphs of similar sizes form a group.

    It is a multiple of 16; above 128, a multiple of an eighth of the next power of two.
    """
    step = 16 if n <= 128 else 1 << ((n - 1).bit_length() - 3)
    return -(-n // step) * step


def narrowest(weights: np.ndarray, n: int) -> np.dtype:
    """Return the narrowest integer type proved exact for n vertices, else a float type.

    The proof is the bound (n - 1) max |w|, as in `pyapsp.numbers.precision.resolve` for one graph.
    """
    is_float = weights.dtype.kind == "f"
    arcs = weights[np.isfinite(weights)] if is_float else weights
    low, high = (arcs.min().item(), arcs.max().item()) if arcs.size else (0, 0)
    if not is_float or bool((arcs == np.floor(arcs)).all()):
        longest = max(n - 1, 1) * max(abs(low), abs(high))
        for name in ("uint16", "int16", "int32", "int64"):
            dtype = np.dtype(name)
            if longest < infinity(dtype) and not (dtype.kind == "u" and low < 0):
                return dtype
    return np.dtype(np.float32 if is_float and weights.dtype.itemsize <= 4 else np.float64)


def array_dtype(weights: np.ndarray, dtype: DTypeLike | None) -> np.dtype:
    """Check an array of weights, and choose the type of the distances."""
    if isinstance(weights, np.ma.MaskedArray):
        raise GraphError("a 3-D array with a mask is no batch: give a list of masked arrays")
    if weights.ndim != 3 or weights.shape[1] != weights.shape[2]:
        raise GraphError(f"a batch must be an array of m x n x n weights, not {weights.shape}")
    if weights.dtype.kind not in "biuf" or weights.dtype.itemsize > 8:
        raise GraphError(f"weights must be real numbers of at most 64 bits, not {weights.dtype}")
    return _chosen(weights, weights.shape[1], dtype)


def packed_dtype(graphs: Graphs, dtype: DTypeLike | None) -> np.dtype:
    """Choose the type of the distances of all graphs."""
    return _chosen(graphs.weights, int(graphs.sizes.max(initial=0)), dtype)


def common_dtype(dtype: DTypeLike | None) -> np.dtype | None:
    """Return the type of the distances of all graphs; None for "auto", which depends on them."""
    if isinstance(dtype, str) and dtype == "auto":
        return None
    return resolve(Graph.from_arcs(0, [], []), dtype, "solve_many")[0]


def _chosen(weights: np.ndarray, n: int, dtype: DTypeLike | None) -> np.dtype:
    """Return the type of the distances of graphs with these weights and up to n vertices."""
    common = common_dtype(dtype)
    return narrowest(weights, n) if common is None else common


def _symmetrized(weights: np.ndarray) -> np.ndarray:
    """Return the smaller of both weights of each pair; zero means "no arc"."""
    other = weights.swapaxes(1, 2)
    smaller = np.minimum(weights, other)
    return np.where(weights == 0, other, np.where(other == 0, weights, smaller))


def _converted(weights: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray | None]:
    """Return weights in another type, and which of them it may not hold; None if it holds all.

    These are weights out of range, integers that are rounded, and weights that would become zero.
    The converted values of them are undefined. In float types NaN and -inf do not change.
    """
    if weights.dtype == dtype:
        return weights, None
    if weights.dtype == np.float16:
        weights = weights.astype(np.float32)  # which compares with every number
    if dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            values = weights.astype(dtype)
        if weights.dtype.kind == "f":
            if np.can_cast(weights.dtype, dtype, "safe"):
                return values, None
            return values, ((values == 0) & (weights != 0)) | (
                np.isinf(values) & np.isfinite(weights)
            )
        # numbers are exact up to here; one that is rounded to it is larger
        exact = 2 ** (np.finfo(dtype).nmant + 1)
        if weights.dtype.kind == "b" or np.iinfo(weights.dtype).max <= exact:
            return values, None
        return values, np.abs(values) >= exact
    far = infinity(dtype)
    if weights.dtype.kind == "f":
        none = np.isposinf(weights)
        # also where comparisons with NaN are false
        wrong = ~((np.abs(weights) < far) & (weights == np.floor(weights))) & ~none
        if dtype.kind == "u":
            wrong |= weights < 0
        return np.where(wrong | none, 0, weights).astype(dtype), wrong
    wrong = weights >= far
    if weights.dtype.kind == "i":
        wrong |= weights < (1 - far if dtype.kind == "i" else 0)
    return weights.astype(dtype), wrong
