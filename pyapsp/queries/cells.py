"""`nearest`: the k nearest targets of each vertex, by one search from all targets."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyopencl as cl
import scipy.sparse.csgraph
from numpy.typing import DTypeLike
from scipy.sparse import csr_array

from pyapsp.all_pairs.sparse.dijkstra_cpu import HostSearch, has_numba
from pyapsp.base.dry import is_dry, needed
from pyapsp.base.host import as_type
from pyapsp.base.shown import Shown
from pyapsp.device import DeviceLike, device_errors
from pyapsp.device.kernels import Stopwatch, build, upload
from pyapsp.graph import Graph, GraphLike, Vertices, Weight
from pyapsp.graph.frames import Tabular
from pyapsp.graph.rows import places_of
from pyapsp.graph.validation import MAX_VERTICES, integer
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.checks import too_large
from pyapsp.numbers.precision import infinity, mean_step
from pyapsp.paths import PathOptions, vertices_of
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.queries.workers import arcs_bytes, asked, longer
from pyapsp.registry import check_memory

__all__ = ["Labels", "Nearest", "cells_of", "nearest"]

# Labels that the first launch passes on; it must be short on any device. The limit of distances
# rises by so many mean weights.
_FIRST, _DELTA = 2**16, 4
# Vertices and arcs up to which one search on the host takes less time than the device, if that is a
# CPU.
_FEW = 2**16
# Work-items that clear the labels, in groups.
_CLEARING, _GROUP = 1024, 64
# Arcs that ties are passed along on the host, one after the other; beyond it the device searches.
_TIES = 1000
# Whole numbers below it are exact in float64.
_EXACT = 2**53


@dataclass(frozen=True, eq=False, repr=False)
class Nearest(Shown, Tabular):
    """The result of `nearest`.

    Attributes
    ----------
    targets : (n, k) int32 ndarray
        The targets that are nearest to each vertex, the nearest first; -9999 where there is none.
    distances : (n, k) ndarray
        Their distances; `infinity` where there is none.
    labels : (n,) ndarray or None
        The labels of the vertices.
    """

    targets: np.ndarray
    distances: np.ndarray
    labels: np.ndarray | None

    @property
    def infinity(self) -> int | float:
        """The distance where there is no target, in this dtype."""
        return infinity(self.distances.dtype)

    def _facts(self) -> dict[str, object]:
        n, k = self.targets.shape
        return {"n": n, "k": k}

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each vertex and each of its targets, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray
            Columns ``vertex``, ``rank`` from 1, ``target`` and ``distance``.
        """
        n, _ = self.targets.shape
        names = np.arange(n) if self.labels is None else self.labels
        vertex, place = np.nonzero(self.targets != NO_PREDECESSOR)
        return {
            "vertex": names[vertex],
            "rank": place + 1,
            "target": names[self.targets[vertex, place]],
            "distance": self.distances[vertex, place],
        }


def nearest(
    graph: GraphLike,
    targets: Vertices,
    k: int = 1,
    *,
    cutoff: float | None = None,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    memory_limit: int | None = None,
) -> Nearest:
    """Find the k nearest of some targets for each vertex.

    One search starts at all targets and walks the arcs backwards, so that distances are those from
    the vertices to the targets. With ``graph.reversed()`` they are those from the targets. With k =
    1 the vertices of a target are its Voronoi cell. Several devices do not share it.

    Errors are those of `within`.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; n vertices, no negative weights.
    targets : int or sequence of int
        Vertices, in any order.
    k : int
        Of targets at the same distance, those with the smallest numbers come first. Where rounding
        to the answer's type makes two distances equal, any of them may come first.
    cutoff, directed, weight, dtype, device, memory_limit
        As for `within`.

    Returns
    -------
    Nearest

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.graph.generators.path(5, max_weight=1)
    >>> found = pyapsp.nearest(graph, [0, 4], 2)
    >>> found.targets.tolist()
    [[0, 4], [0, 4], [0, 4], [4, 0], [4, 0]]
    >>> found.distances[3]
    array([1., 3.])
    """
    graph, options = asked("nearest", graph, cutoff, directed, weight, dtype, device, memory_limit)
    ends = np.unique(vertices_of(graph, targets, "nearest", "targets"))
    k = integer("k", "nearest", k, 1, MAX_VERTICES)
    found = _labels_of(graph.reversed(), options, ends, min(k, max(ends.size, 1)), k)
    missing = k - found.targets.shape[1]
    if missing:
        wider = (0, 0), (0, missing)
        costs = np.pad(found.costs, wider, constant_values=infinity(options.dtype))
        return Nearest(
            np.pad(found.targets, wider, constant_values=NO_PREDECESSOR), costs, graph.labels
        )
    return Nearest(found.targets, found.costs, graph.labels)


@dataclass(frozen=True)
class Labels:
    """The k nearest starts of each vertex."""

    costs: np.ndarray  # (n, k)
    targets: np.ndarray  # (n, k) int32


def _labels_of(
    graph: Graph, options: PathOptions, starts: np.ndarray, k: int, columns: int | None = None
) -> Labels:
    """Find the k nearest starts of each vertex, along the arcs of the graph.

    Parameters
    ----------
    graph : Graph
    options : PathOptions
    starts : int64 ndarray
        Different vertices, in the order of their numbers.
    k : int
        At most the number of starts.
    columns : int, optional
        Of the answer that is made of the labels, for dry runs; by default k.

    Raises
    ------
    PrecisionError
        If a distance is too large for its type.
    """
    device, dtype, n = options.device, options.dtype, graph.n
    if not starts.size:
        return _no_labels(n, k, dtype)
    few = graph.n + graph.m <= _FEW or not device.traits.scalar_groups
    if k == 1 and few and not is_dry():
        on_host = _on_host(graph, options, starts)
        if on_host is not None:
            return on_host
    item = dtype.itemsize
    sizes = [item * n * k, 4 * n * k, n * k, n, 4 * n, 4 * n, 16, item]
    buffers = [arcs_bytes(graph, dtype), *sizes]
    check_memory(buffers, options)
    needed(sum(buffers), (item + 4) * n * (k if columns is None else columns))
    found = _no_labels(n, k, dtype)
    with device_errors(device, sum(buffers)):
        clipped = _search(graph, options, starts, (found.costs, found.targets), sizes)
    if clipped and _is_lost(graph, options, found):
        raise too_large(graph, dtype)
    return found


def _no_labels(n: int, k: int, dtype: np.dtype) -> Labels:
    """Return the labels of vertices that reach no start."""
    return Labels(
        np.full((n, k), infinity(dtype), dtype), np.full((n, k), NO_PREDECESSOR, np.int32)
    )


def cells_of(graph: Graph, options: PathOptions, starts: np.ndarray) -> Labels:
    """Find the nearest start of each vertex, along its arcs; a start is its own nearest.

    It is so also if another start is at distance 0, as in SciPy and NetworkX.
    """
    if not graph.is_positive:
        own = np.zeros(graph.n, bool)
        own[starts] = True
        graph = graph.with_checked_arcs(~own[graph.indices])
    return _labels_of(graph, options, starts, 1)


def _on_host(graph: Graph, options: PathOptions, starts: np.ndarray) -> Labels | None:
    """Return the result of `_labels_of` for k = 1 by a search on the host.

    Where a search may return any of several nearest starts, the smallest is passed on along the
    arcs of shortest paths. None: sums may be too large for the type, or there are too many ties.
    """
    dtype, largest = options.dtype, graph.n * (graph.max_weight or 0)
    if dtype.kind == "f" and (dtype != np.float64 or not math.isfinite(largest)):
        return None
    if dtype.kind != "f" and largest >= min(_EXACT, infinity(dtype)):
        return None
    if has_numba():
        costs, labels = np.empty((1, graph.n), dtype), np.empty((1, graph.n), np.int32)
        HostSearch(graph, options).fill(starts[None], costs, labels, cells=True)
        found = Labels(costs.T, labels.T)
        # half of it: then no sum is rounded to the distance before the arc
        smallest = largest + (graph.min_weight or 0) / 2 > largest
    else:
        found, smallest = _by_scipy(graph, options, starts), False
    return found if smallest or starts.size == 1 or _tie(graph, found) else None


def _by_scipy(graph: Graph, options: PathOptions, starts: np.ndarray) -> Labels:
    """Return the nearest start of each vertex; of several any."""
    dtype, weights = options.dtype, as_type(graph.weights, np.float64)
    costs, _, labels = scipy.sparse.csgraph.dijkstra(
        csr_array((weights, graph.indices, graph.indptr), shape=(graph.n, graph.n)),
        indices=starts,
        return_predecessors=True,
        limit=np.inf if options.cutoff is None else options.cutoff,
        min_only=True,
    )
    if dtype != costs.dtype:
        lengths = np.where(labels < 0, 0, costs).astype(dtype)
        costs = np.where(labels < 0, dtype.type(infinity(dtype)), lengths)
    return Labels(costs[:, None], labels[:, None])


def _tie(graph: Graph, found: Labels) -> bool:
    """Let each vertex have the smallest start of those that are nearest.

    Parameters
    ----------
    graph : Graph
    found : Labels
        Of k = 1; its targets are changed.

    Returns
    -------
    bool
        False if it would take too long.
    """
    costs, labels = found.costs[:, 0], found.targets[:, 0]
    starts, heads = graph.indptr, graph.indices
    better = np.flatnonzero(labels.repeat(np.diff(starts)) < labels.take(heads))
    for _ in range(_TIES):
        tails, ends = starts.searchsorted(better, "right") - 1, heads[better]
        short = costs[tails] + graph.weights[better] == costs[ends]
        lower = short & (labels[tails] < labels[ends])
        if not lower.any():
            return True
        ends = ends[lower]
        np.minimum.at(labels, ends, labels[tails[lower]])
        changed = np.unique(ends)
        first = starts[changed]
        better = places_of(first, starts[changed + 1] - first)
    return False


def _search(
    graph: Graph,
    options: PathOptions,
    starts: np.ndarray,
    arrays: Sequence[np.ndarray],
    sizes: Sequence[int],
) -> bool:
    """Fill the arrays of labels; return whether a sum was too large for its type.

    Parameters
    ----------
    graph, options, starts
        As for `_labels_of`.
    arrays : sequence of (n, k) ndarray
    sizes : sequence of int
        Bytes of the buffers: those of the arrays, then as ``cells.cl`` lists them.
    """
    device, (n, k) = options.device, arrays[0].shape
    program = build(device, "queries/cells.cl", arithmetic_defines(device, options.dtype))
    watch = Stopwatch()
    queue = device.queue()
    arcs = (
        upload(queue, graph.indptr, watch),
        upload(queue, graph.indices, watch),
        upload(queue, graph.weights, watch, options.dtype),
    )
    memory = [device.buffer(max(size, 4)) for size in sizes]
    *labels, near, _, state, limit = memory
    numbers = np.int32(n), np.int32(k)
    program.kernel("clear_labels")(queue, (_CLEARING,), (_GROUP,), *labels, *numbers)
    given = upload(queue, starts.astype(np.int32), watch), np.int32(starts.size)
    start = program.kernel("start_labels")
    start(queue, (1,), (1,), *given, *labels, near, state, limit, numbers[1])
    most, now = _FIRST, np.array([0, starts.size, 0, 0], np.int32)
    delta = mean_step(graph, options.dtype, _DELTA)
    limits = *numbers, delta, options.farthest_in(options.dtype)
    checks = np.int32(options.cutoff is None)
    while now[1] or now[2]:
        began = time.perf_counter()
        passing = program.kernel("pass_labels")
        passing(queue, (1,), (1,), *arcs, *memory, *limits, checks, np.int32(most))
        cl.enqueue_copy(queue, now, state)
        most = min(longer(most, time.perf_counter() - began), 2**30)
    for array, buffer in zip(arrays, labels, strict=False):
        cl.enqueue_copy(queue, array, buffer)
    return bool(now[3])


def _is_lost(graph: Graph, options: PathOptions, found: Labels) -> bool:
    """Return whether a label is missing because its distance is too large for its type."""
    tails, heads, weights = graph.arcs()
    largest = options.farthest_in(options.dtype)
    lacking = found.targets[heads, -1] == NO_PREDECESSOR
    tails, heads, weights = tails[lacking], heads[lacking], weights[lacking].astype(options.dtype)
    for each in range(found.targets.shape[1]):
        start = found.targets[tails, each]
        with np.errstate(over="ignore"):  # integer types hold a sum of two distances
            far = found.costs[tails, each] + weights > largest
        known = (found.targets[heads] == start[:, None]).any(axis=1)
        if np.any(far & (start != NO_PREDECESSOR) & ~known):
            return True
    return False
