"""Networks and similarities as the arrays that kernels and the reference read."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from pyapsp.base.errors import CapabilityError, GraphError, ParameterError
from pyapsp.graph.names import check_order
from pyapsp.graph.validation import is_real, real
from pyapsp.matching.network import Network, distinct_labels

__all__ = ["MOST_NODES", "ONE", "Query", "Target", "log_table", "prepared", "similarities"]

#: The similarity 1, and the unit of scores and costs.
ONE = 65536
#: The kernels count neighbours in 15 bits, and hold a bit for each pair of nodes in local memory.
MOST_NODES = 512
_BITS, _STEPS = 28, 1024


@cache
def log_table() -> NDArray[np.uint32]:
    """Return log2(1 + i / 1024) with 28 bits after the point, for i from 0 to 1024."""
    table = [round(math.log2(1 + i / _STEPS) * 2**_BITS) for i in range(_STEPS + 1)]
    values = np.array(table, np.uint32)
    values.flags.writeable = False
    return values


@dataclass(frozen=True)
class Target:
    """A target with vertices in another order."""

    # As in `Network`.
    offsets: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    vertices: NDArray[np.int64]  # (n,): the vertex of the network for each vertex here
    # The range of vertices with a label. None if there are matrices of similarities.
    ranges: dict[Hashable, tuple[int, int]] | None

    @property
    def n(self) -> int:
        """Number of vertices."""
        return int(self.vertices.size)


@dataclass(frozen=True)
class Query:
    """A query for a target."""

    network: Network
    # (nodes,): the range of target vertices that may be similar to each node.
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    similarities: NDArray[np.uint32] | None  # (nodes, n): similarities in units of 1 / ONE

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.network.n

    @property
    def components(self) -> NDArray[np.int32]:
        """The number of the component of each node."""
        offsets, neighbours = self.network.offsets, self.network.neighbours
        arcs = np.ones(neighbours.size, np.int8)
        matrix = csr_array((arcs, neighbours, offsets), shape=(self.nodes, self.nodes))
        found: NDArray[np.int32] = connected_components(matrix, directed=False)[1]
        return found

    @property
    def _arcs(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The tails and the heads of the arcs."""
        return np.repeat(np.arange(self.nodes), self.network.degrees), self.network.neighbours

    def distances(self, levels: int) -> NDArray[np.int32]:
        """Return the distances between nodes, `levels` for all that are as far or farther."""
        beside = np.zeros((self.nodes, self.nodes), np.float32)
        beside[self._arcs] = 1
        distances = np.full((self.nodes, self.nodes), levels, np.int32)
        front = np.eye(self.nodes, dtype=np.float32)
        for level in range(levels):
            front = (front > 0) & (distances == levels)
            distances[front] = level
            front = front.astype(np.float32) @ beside
        return distances

    def bits(self) -> NDArray[np.uint32]:
        """Return the adjacency matrix as rows of bits, in 32-bit words."""
        words = -(-self.nodes // 32)
        matrix = np.zeros((self.nodes, 32 * words), np.uint8)
        matrix[self._arcs] = 1
        packed = np.packbits(matrix, axis=1, bitorder="little")
        return np.ascontiguousarray(packed).view("<u4").astype(np.uint32)


def prepared(
    queries: Sequence[Network], target: Network, matrices: Sequence[NDArray[np.uint32]] | None
) -> tuple[list[Query], Target]:
    """Return queries and target as arrays.

    Parameters
    ----------
    queries : sequence of Network
    target : Network
    matrices : sequence of (nodes, n) ndarray, or None
        What `similarities` returned. None: vertices with equal labels are similar.

    Raises
    ------
    CapabilityError
        A query has more than `MOST_NODES` nodes.
    GraphError
        Labels of a query and of the target are the same text, but of different types.
    """
    for query in queries:
        if query.n > MOST_NODES:
            raise CapabilityError(f"{query!r} has more than {MOST_NODES} nodes")
    if matrices is not None:
        same = Target(target.offsets, target.neighbours, np.arange(target.n), None)
        return [
            Query(query, np.zeros(query.n, np.int32), np.full(query.n, target.n, np.int32), matrix)
            for query, matrix in zip(queries, matrices, strict=True)
        ], same
    sorted_target = _by_label(target)
    assert sorted_target.ranges is not None
    prepared_queries = []
    for query in queries:
        _check_types(query, sorted_target.ranges)
        spans = [sorted_target.ranges.get(label, (0, 0)) for label in query.labels.tolist()]
        low, high = np.array(spans, np.int32).T.copy()
        prepared_queries.append(Query(query, low, high, None))
    return prepared_queries, sorted_target


def _check_types(query: Network, known: Collection[Hashable]) -> None:
    """Refuse labels that only differ in their type from those of the target, such as 1 and "1"."""
    labels = set(query.labels.tolist())
    if not labels.isdisjoint(known):
        return
    texts = {str(label): label for label in known}
    for label in query.labels.tolist():
        if str(label) in texts:
            raise GraphError(
                f"no label of {query!r} is in the target: the label {label!r} of the query and "
                f"{texts[str(label)]!r} of the target have different types"
            )


def _by_label(target: Network) -> Target:
    distinct = distinct_labels(target.labels)
    number = {label: at for at, label in enumerate(distinct)}
    codes = np.array([number[label] for label in target.labels.tolist()], np.int64)
    order = np.argsort(codes, kind="stable")
    place = np.empty(target.n, np.int32)
    place[order] = np.arange(target.n, dtype=np.int32)
    tails = np.repeat(place, target.degrees)
    heads = place[target.neighbours]
    sizes = target.degrees[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    neighbours = heads[np.lexsort((heads, tails))]
    bounds = np.searchsorted(codes[order], np.arange(len(distinct) + 1)).tolist()
    ranges = {label: (bounds[at], bounds[at + 1]) for at, label in enumerate(distinct)}
    return Target(offsets, neighbours, order, ranges)


def similarities(
    values: ArrayLike, query: Network, target: Network, threshold: float | None
) -> NDArray[np.uint32]:
    """Check a similarity matrix, and return it in units of 1 / ONE.

    Parameters
    ----------
    values : (nodes, n) array-like or pandas.DataFrame
    query, target : Network
    threshold : float or None
        The part of the target vertices that each node keeps: the most similar ones. The others get
        0, and each row is divided by its largest entry.

    Returns
    -------
    (nodes, n) uint32 ndarray
        A similarity that is not 0 is at least 1.

    Raises
    ------
    ParameterError
        The shape is wrong, an entry is not from 0 to 1, or so is the threshold.
    """
    for axis, network in enumerate((query, target)):
        check_order(values, axis, network.vertices, network.n, "match", "similarity")
    try:
        matrix = real(values, "similarities").astype(np.float64)
    except GraphError as error:
        raise ParameterError.of("similarity", "match", f"a matrix ({error})", values) from None
    if matrix.shape != (query.n, target.n):
        rule = f"a matrix of shape {(query.n, target.n)}"
        raise ParameterError.of("similarity", "match", rule, matrix.shape)
    wrong = np.argwhere(~((matrix >= 0) & (matrix <= 1)))
    if wrong.size:
        node, vertex = wrong[0].tolist()
        rule = f"from 0 to 1 in entry ({node}, {vertex})"
        raise ParameterError.of("similarity", "match", rule, float(matrix[node, vertex]))
    if threshold is not None:
        if not is_real(threshold) or not 0 < threshold <= 1:
            raise ParameterError.of("threshold", "match", "in (0, 1]", threshold)
        count = max(1, math.ceil(threshold * target.n))
        least = np.partition(matrix, target.n - count, axis=1)[:, target.n - count, None]
        matrix[matrix < least] = 0
        matrix /= np.maximum(matrix.max(axis=1, keepdims=True), np.finfo(float).tiny)
    units = np.rint(matrix * ONE).astype(np.uint32)
    return np.maximum(units, (matrix > 0).astype(np.uint32))
