"""Betweenness without weights from the sources of a vector, on devices with scalar groups.

A search of one source reads scattered memory. Sources that are near each other reach most vertices
in about the same level, so here they are searched together, each in a lane of a vector. In graphs
of long paths they do not, and there a search for each source is faster.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyopencl as cl
from scipy.sparse.csgraph import reverse_cuthill_mckee

from pyapsp.all_pairs.summaries.counting import Kind, check_counts
from pyapsp.all_pairs.summaries.launches import fitting, in_launches
from pyapsp.base.dry import needed
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Stopwatch, build, fill, upload
from pyapsp.graph import Graph
from pyapsp.registry import Options

__all__ = ["sums_by_lanes"]

# Sources of a vector, and so many that their order is worth its time; work-items for each compute
# unit.
_LANES, _FEW, _SLOTS = 16, 256, 4
# The first launch has at most this part of the batches.
_TRIAL = 8
# Vertices at most: kernels count the lanes of all in an int.
_MOST = (2**31 - 1) // _LANES
# Lanes that reach a vertex in the same level: with fewer, in the mean, each source is searched by
# itself. A row is read for a vector in about twice the time of one source.
_TOGETHER = 2


def sums_by_lanes(
    graph: Graph,
    sources: np.ndarray,
    options: Options,
    tell: Callable[[int, int], None] | None,
    kind: Kind,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the sums over some of the sources for each vertex or arc, and the sources left.

    Sources are left if those of the first launch reach few vertices together. None if the device
    has no scalar groups, if there are few sources or if the memory is too little. The graph, the
    sources and the options decide, so that the bits are the same in each call.

    Parameters
    ----------
    graph : Graph
    sources : (k,) ndarray of int
        Different vertices.
    options : Options
    tell : callable or None
        Called with the number of sources that are done, and of all.
    kind : Kind
        Without weights.
    """
    device, n, size = options.device, graph.n, graph.m if kind.arcs else graph.n
    few = sources.size < _FEW or not graph.m
    if not device.traits.scalar_groups or few or n > _MOST:
        return None
    word = _LANES // 8
    each = [8 * _LANES * n, word * n, word * n, 4 * _LANES * n, word * _LANES * n, 4 * n]
    each += [8 * size, 16]
    wanted, batches = device.capabilities.compute_units * _SLOTS, -(-sources.size // _LANES)
    slots = min(wanted, fitting(options, each), batches)
    fixed = 8 * (n + 1) + 4 * graph.m + 4 * sources.size + 4
    if slots < 1 or fixed + slots * sum(each) > options.memory:
        return None
    needed(fixed + slots * sum(each), 8 * size)
    with device_errors(device, fixed + slots * sum(each)):
        return _searched(graph, sources, options, tell, kind, [slots * one for one in each])


def _searched(
    graph: Graph,
    sources: np.ndarray,
    options: Options,
    tell: Callable[[int, int], None] | None,
    kind: Kind,
    sizes: list[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums and the sources that are left; see `sums_by_lanes`.

    `sizes` are the bytes of the buffers of all work-items.
    """
    device, n, slots = options.device, graph.n, sizes[-1] // 16
    queue, watch = device.queue(), Stopwatch()
    order = reverse_cuthill_mckee(graph.to_scipy(), symmetric_mode=False)
    place = np.argsort(order)
    batches = -(-sources.size // _LANES)
    trial = _trial(device, batches)
    sources = _spread(sources[np.argsort(place[sources])], trial)
    indptr, indices, arcs = _permuted(graph, order, place)
    given = [upload(queue, each, watch) for each in (indptr, indices)]
    given.append(upload(queue, place[sources].astype(np.int32), watch))
    *buffers, totals, visits = (device.buffer(size) for size in sizes)
    state = device.buffer(4)
    fill(device, queue, state, np.int32(0))
    defines = {"PYAPSP_LANES": _LANES, "PYAPSP_ARCS": int(kind.arcs)}
    program = build(device, "all_pairs/summaries/betweenness_levels.cpu.cl", defines)
    shape, size = ((slots,), (1,)), sizes[-2] // 8 // slots
    cleared = np.int64(slots * n), np.int64(slots * size)
    program.kernel("clear_sums")(queue, *shape, *buffers[1:3], totals, visits, *cleared)
    kernel = program.kernel("betweenness")

    def run(begin: int, end: int) -> None:
        limits = np.int32(begin), np.int32(end), np.int32(sources.size), np.int32(n)
        memory, ends = (*buffers, totals, visits, state), np.int32(kind.endpoints)
        kernel(queue, *shape, *given, *limits, np.int64(graph.m), *memory, ends)

    def told(done: int, _: int) -> None:
        if tell is not None:
            tell(min(done * _LANES, sources.size), sources.size)

    run(0, trial)
    found = np.empty((slots, 2), np.int64)
    cl.enqueue_copy(queue, found, visits)
    told(trial, batches)
    entries, pairs = found.sum(axis=0)
    left = sources[trial * _LANES :]
    if entries * _TOGETHER <= pairs:
        in_launches(queue, batches, slots, run, told, done=trial)
        left = sources[:0]
    program.kernel("add_sums")(queue, *shape, totals, np.int32(slots), np.int64(size))
    sums, bits = np.empty(size), np.empty(1, np.int32)
    cl.enqueue_copy(queue, sums, totals)
    cl.enqueue_copy(queue, bits, state)
    check_counts(int(bits[0]))
    named = np.empty(size)
    named[arcs if kind.arcs else order] = sums
    return named, left


def _trial(device: Device, batches: int) -> int:
    """Return the number of batches of the first launch."""
    return max(min(device.capabilities.compute_units, batches // _TRIAL), 1)


def _spread(sources: np.ndarray, first: int) -> np.ndarray:
    """Return the sources in another order of batches: the first ones are from all regions."""
    full = sources.size // _LANES
    batches = sources[: full * _LANES].reshape(full, _LANES)
    order = np.argsort(np.arange(full) % max(full // first, 1), kind="stable")
    return np.concatenate([batches[order].ravel(), sources[full * _LANES :]])


def _permuted(
    graph: Graph, order: np.ndarray, place: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and heads of the graph whose vertex i is ``order[i]``, and the arcs in them."""
    degrees = np.diff(graph.indptr)[order]
    indptr = np.zeros(graph.n + 1, np.int64)
    np.cumsum(degrees, out=indptr[1:])
    arcs = np.arange(graph.m) + np.repeat(graph.indptr[order] - indptr[:-1], degrees)
    return indptr, place[graph.indices[arcs]].astype(np.int32), arcs
