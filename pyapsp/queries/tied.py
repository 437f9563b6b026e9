"""All shortest paths, where there are several: their number, themselves, and their arcs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.all_pairs.one import from_one
from pyapsp.base.errors import PrecisionError
from pyapsp.base.host import as_type
from pyapsp.base.progress import of_sources
from pyapsp.device import DeviceLike
from pyapsp.graph import Graph, GraphLike, Vertex, Vertices, Weight
from pyapsp.graph.names import by_number, numbered
from pyapsp.graph.validation import integer, vertex
from pyapsp.numbers.checks import weight_lost
from pyapsp.numbers.precision import infinity
from pyapsp.queries.range_rows import RangeRows
from pyapsp.queries.searches import searched
from pyapsp.queries.targets import PairPaths, ends_of
from pyapsp.queries.workers import asked
from pyapsp.registry.ranks import sources_on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["AllPaths", "all_shortest_paths", "count_shortest_paths", "shortest_path_dag"]

# The largest number of paths that int64 holds.
_MOST = 2**63 - 1


@sources_on_ranks(pairs=True, gathered=True)
def count_shortest_paths(
    graph: GraphLike,
    sources: Vertices,
    targets: Vertices,
    *,
    cutoff: float | None = None,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> np.ndarray:
    """Count the shortest paths from ``sources[i]`` to ``targets[i]``, for each i.

    Numbers are exact. Two paths of float weights are equally long if their rounded sums are equal;
    in integer types no sum is rounded. There is one search for each different source.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; weights must be above zero.
    sources, targets, cutoff, directed, weight, dtype, device, memory_limit, progress
        As for `pairs`.
    comm : mpi4py.MPI.Comm, optional
        As for `pairs`, but all ranks return the numbers of all pairs.

    Returns
    -------
    (p,) ndarray of int64
        0 without a path, 1 from a vertex to itself.

    Raises
    ------
    GraphError
        If a weight is not above zero: then there may be infinitely many shortest paths.
    PrecisionError
        If there are 2^63 or more shortest paths, or a weight is lost in the sum with a distance.
    PyApspError
        As `solve`.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 0, 1, 2], [1, 2, 3, 3], [1, 1, 1, 1])
    >>> pyapsp.count_shortest_paths(graph, 0, [0, 2, 3])
    array([1, 1, 2])
    """
    owner = "count_shortest_paths"
    common = cutoff, directed, weight, dtype, device, memory_limit, progress
    graph, options = asked(owner, graph, *common, several=True, positive=True)
    tails, heads, _ = ends_of(sources, targets, graph, owner)
    counts = searched(graph, options, tails, heads, of_sources(progress), counts=True).counts
    assert counts is not None
    if counts.size and counts.max() > _MOST:
        pair = int(counts.argmax())
        ends = f"from {graph.label(int(tails[pair]))} to {graph.label(int(heads[pair]))}"
        raise PrecisionError(f"there are more shortest paths {ends} than int64 can count, 2^63 - 1")
    return counts.astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class AllPaths(PairPaths[list[int]]):
    """The result of `all_shortest_paths`: ``sources``, ``targets``, ``labels``, ``by_label``.

    Attributes
    ----------
    complete : (p,) bool ndarray
        Whether these are all shortest paths of the pair, and not only the first ones.
    """

    complete: np.ndarray

    def paths(self, pair: int | None = None) -> list[list[Any]]:
        """Return the shortest paths of a pair, each with both ends; ``[]`` if there is none.

        Parameters
        ----------
        pair : int, optional
            Its number from 0. It is needed only if there are several pairs.

        Returns
        -------
        list of list of int, or of labels if the targets were given by labels

        Raises
        ------
        ParameterError
            If there is no such pair.
        """
        return [self._path(np.array(path)) for path in self._of(pair, "paths")]

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each vertex of each path, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray
            Columns ``pair``, its number from 0; ``path``, its number among those of the pair; and
            ``vertex``, from the source to the target.
        """
        lengths = [[len(path) for path in some] for some in self._found]
        there = np.fromiter(
            chain.from_iterable(chain.from_iterable(some) for some in self._found), np.int64
        )
        numbers = [np.repeat(np.arange(len(some)), some) for some in lengths]
        return {
            "pair": np.repeat(np.arange(len(lengths)), [sum(some) for some in lengths]),
            "path": np.concatenate([np.empty(0, np.int64), *numbers]),
            "vertex": self._named(there),
        }


@sources_on_ranks(pairs=True)
def all_shortest_paths(
    graph: GraphLike,
    sources: Vertices,
    targets: Vertices,
    limit: int | None = None,
    *,
    cutoff: float | None = None,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> AllPaths:
    """List the shortest paths from ``sources[i]`` to ``targets[i]``, for each i.

    The device finds the distances, and the host walks along the arcs of shortest paths. Errors are
    those of `count_shortest_paths`.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; weights must be above zero.
    sources, targets, cutoff, directed, weight, dtype, device, memory_limit
        As for `pairs`.
    limit : int, optional
        The largest number of paths of a pair: those that come first in the order of their vertices.
        None: all, of which there may be very many (`count_shortest_paths`).
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of different sources; an exception that
        it raises ends the run.
    comm : mpi4py.MPI.Comm, optional
        As for `pairs`.

    Returns
    -------
    AllPaths

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 0, 1, 2], [1, 2, 3, 3], [1, 1, 1, 1])
    >>> pyapsp.all_shortest_paths(graph, 0, 3).paths()
    [[0, 1, 3], [0, 2, 3]]
    """
    owner = "all_shortest_paths"
    most = None if limit is None else min(integer("limit", owner, limit, 1), sys.maxsize)
    common = cutoff, directed, weight, dtype, device, memory_limit, progress
    graph, options = asked(owner, graph, *common, several=True, sparse=True, positive=True)
    tails, heads, by_label = ends_of(sources, targets, graph, owner)
    found: list[list[list[int]]] = [[] for _ in range(tails.size)]
    complete = np.ones(tails.size, bool)
    starts, of_pair = np.unique(tails, return_inverse=True)
    pairs_of = np.split(np.argsort(of_pair, kind="stable"), np.cumsum(np.bincount(of_pair)))
    walks = _Walks(graph.reversed(), options.dtype)
    for some, block in RangeRows(graph, options, starts, progress).blocks():
        ends = np.cumsum(block.lengths)
        for row, begin, end in zip(range(graph.n)[some], ends - block.lengths, ends, strict=True):
            near = block.vertices[begin:end]
            walks.costs[near] = block.costs[begin:end]
            for pair in pairs_of[row].tolist():
                walk = walks.between(int(tails[pair]), int(heads[pair]))
                found[pair] = list(islice(walk, most))
                complete[pair] = next(walk, None) is None
            walks.costs[near] = infinity(options.dtype)
    return AllPaths(tails, heads, graph.labels, by_label, found, complete)


def shortest_path_dag(
    graph: GraphLike,
    source: Vertex,
    *,
    cutoff: float | None = None,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    memory_limit: int | None = None,
) -> Graph:
    """Return the graph of all shortest paths from a vertex.

    Errors are those of `count_shortest_paths`.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; weights must be above zero.
    source : int
    cutoff, directed, weight, dtype, device, memory_limit
        As for `pairs`.

    Returns
    -------
    Graph
        Directed, with the same vertices and labels, and the arcs on which a shortest path leads. It
        has no cycle, and every path from the source is a shortest one.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(3, [0, 0, 1], [1, 2, 2], [1, 5, 3])
    >>> pyapsp.shortest_path_dag(graph, 0).to_pandas()
       source  target  weight
    0       0       1       1
    1       1       2       3
    """
    owner = "shortest_path_dag"
    common = cutoff, directed, weight, dtype, device, memory_limit
    graph, options = asked(owner, graph, *common, positive=True)
    found = cast("int", numbered(graph, source, owner, "source"))
    start = vertex("source", owner, found, graph.n)
    result = from_one(
        by_number(graph),
        start,
        cutoff=cutoff,
        dtype=options.dtype,
        device=options.device,
        memory_limit=memory_limit,
    )
    costs = result.distances[0]
    tails, heads, weights = graph.arcs()
    reached = (costs[tails] < result.infinity) & (costs[heads] < result.infinity)
    kept = reached & (costs[tails] + weights.astype(costs.dtype) == costs[heads])
    lost = kept & (costs[tails] == costs[heads]) & (tails != heads)
    if lost.any():
        raise weight_lost()
    kept &= tails != heads
    arcs = tails[kept], heads[kept], graph.weights[kept]
    return Graph.from_arcs(graph.n, *arcs, labels=graph.labels, name=graph.name)


class _Walks:
    """Paths along the arcs that are tight for distances from a source.

    Attributes
    ----------
    costs : (n,) ndarray
        The distances, which the caller fills in; infinity where a vertex is not reached.

    Parameters
    ----------
    back : Graph
        The graph with all arcs reversed.
    dtype : numpy.dtype
        The type of the distances.
    """

    def __init__(self, back: Graph, dtype: np.dtype) -> None:
        self._back, self._weights = back, as_type(back.weights, dtype)
        self.costs = np.full(back.n, infinity(dtype), dtype)

    def between(self, source: int, target: int) -> Iterator[list[int]]:
        """Yield the shortest paths of a pair in the order of their vertices."""
        if self.costs[target] == infinity(self.costs.dtype):
            return
        following = self._following(target)
        path, choices = [source], [iter(following[source])]
        if source == target:
            yield path
            return
        while choices:
            v = next(choices[-1], None)
            if v is None:
                choices.pop()
                path.pop()
            elif v == target:
                yield [*path, v]
            else:
                path.append(v)
                choices.append(iter(following[v]))

    def _following(self, target: int) -> dict[int, list[int]]:
        """Return the next vertices of those from which a shortest path leads to the target."""
        following: dict[int, list[int]] = {target: []}
        waiting = [target]
        while waiting:
            v = waiting.pop()
            arcs = slice(*self._back.indptr[v : v + 2])
            tails, cost = self._back.indices[arcs], self.costs[v]
            tails = tails[(self.costs[tails] + self._weights[arcs] == cost) & (tails != v)]
            if np.any(self.costs[tails] == cost):
                raise weight_lost()
            for u in tails.tolist():
                if u not in following:
                    following[u] = []
                    waiting.append(u)
                following[u].append(v)
        return {u: sorted(some) for u, some in following.items()}
