"""Betweenness: how many of the shortest paths lead over a vertex, or over an arc."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.summaries.counting import Kind, check_counts, sums_by_rows
from pyapsp.all_pairs.summaries.lanes import sums_by_lanes
from pyapsp.all_pairs.summaries.launches import fitting, in_launches
from pyapsp.all_pairs.summaries.levels import sums_by_levels
from pyapsp.all_pairs.summaries.sharing import Team, shared, team_of
from pyapsp.base.dry import dry_run, is_dry, needed
from pyapsp.base.errors import ParameterError, PrecisionError
from pyapsp.base.progress import of_sources
from pyapsp.base.together import Tell, together
from pyapsp.device import Device, DeviceLike, device_errors
from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.graph import Graph, GraphLike, Vertices, Weight, as_graph, as_structure
from pyapsp.graph.device_graph import devices_for
from pyapsp.graph.validation import flag, integer
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.checks import check_positive, check_weights
from pyapsp.paths import vertices_of
from pyapsp.registry import Options, check_limits, check_memory

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["betweenness_centrality", "edge_betweenness_centrality", "sampled"]

# Work-items on devices with scalar groups (CPUs), and on others in a group and for each compute
# unit.
_SLOTS, _GROUP, _GROUPS = 32, 32, 4
_DOUBLE = np.dtype(np.float64)


@shared
def betweenness_centrality(
    graph: GraphLike,
    k: int | None = None,
    *,
    sources: Vertices | None = None,
    seed: int | None = None,
    normalized: bool = True,
    endpoints: bool = False,
    directed: bool = True,
    weight: Weight = None,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> np.ndarray:
    """Return the betweenness of vertices: the share of shortest paths that lead over each.

    It is that of NetworkX: for each pair of other vertices, the fraction of the shortest paths
    between them that lead over the vertex. Sums are added in a fixed order, so that the same call
    on the same device returns the same bits.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; n vertices.
    k : int, optional
        Search from only so many vertices, drawn at random, and extrapolate; as in NetworkX.
    sources : (k,) sequence of int, optional
        Search from these different vertices, instead of drawn ones.
    seed : int, optional
        Of the random numbers, with `k`. The same seed draws the vertices that NetworkX draws.
    normalized : bool
        Divide by the number of pairs. False: in an undirected graph each pair counts once.
    endpoints : bool
        Whether a path also leads over its ends.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    weight : hashable, callable or None, optional
        Where the weights are, as for `solve`, ``...`` for the default there. None: each arc has
        length 1. Weights must be positive. Sums are in float64: paths are equally short if their
        rounded lengths are equal.
    device, memory_limit
        As for `solve`. The device must have double precision. Several devices share the sources,
        and the limit is that of each. Their sums are added in their order, so that the last bits
        may be others than those of one device.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of sources; an exception that it raises
        ends the run.
    comm : mpi4py.MPI.Comm, optional
        Share the sources among the ranks of this communicator: all of them make this call, with the
        graph of rank 0, and all return the same. The sums of the ranks are added in their order, so
        that the last bits depend on their number. The `progress` of rank 0 is called, with the
        sources of its part.

    Returns
    -------
    (n,) ndarray of float64

    Raises
    ------
    GraphError
        If a weight is not positive: then there may be infinitely many shortest paths.
    PrecisionError
        If there are more shortest paths than float64 can count, above 1.8e308; if a sum of n
        weights may be above it; or if a vertex is reached only by a weight that is lost in the sum
        with a distance.
    PyApspError
        As `solve`.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.graph.generators.path(4)
    >>> pyapsp.betweenness_centrality(graph).round(3)
    array([0.   , 0.667, 0.667, 0.   ])
    """
    owner = "betweenness_centrality"
    endpoints = flag("endpoints", owner, endpoints)
    normalized = flag("normalized", owner, normalized)
    checked = _checked(graph, directed, weight, owner)
    chosen, all_of_them = _sources(checked, k, sources, seed, owner, team_of(comm))
    weighted = weight is not None and not checked.is_unweighted
    kind = Kind(weighted=weighted, endpoints=endpoints)
    sums = _sums(checked, chosen, owner, device, memory_limit, progress, kind, team_of(comm))
    count = None if all_of_them else chosen.size
    scale = _scales(checked, count, normalized=normalized, endpoints=endpoints)
    if scale is not None:
        others, own = scale
        own_sums = sums[chosen] * own
        sums *= others
        if own != others:
            sums[chosen] = own_sums
    return sums


@shared
def edge_betweenness_centrality(
    graph: GraphLike,
    k: int | None = None,
    *,
    sources: Vertices | None = None,
    seed: int | None = None,
    normalized: bool = True,
    directed: bool = True,
    weight: Weight = None,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> np.ndarray:
    """Return the betweenness of arcs: the share of all shortest paths that lead over each.

    Parameters and errors are those of `betweenness_centrality`.

    Returns
    -------
    (m,) ndarray of float64
        In the order of `Graph.arcs`. In an undirected graph both arcs have the value of their edge.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.graph.generators.path(3)
    >>> pyapsp.edge_betweenness_centrality(graph).round(3)
    array([0.667, 0.667, 0.667, 0.667])
    """
    owner = "edge_betweenness_centrality"
    normalized = flag("normalized", owner, normalized)
    checked = _checked(graph, directed, weight, owner)
    chosen, all_of_them = _sources(checked, k, sources, seed, owner, team_of(comm))
    weighted = weight is not None and not checked.is_unweighted
    kind = Kind(weighted=weighted, arcs=True)
    sums = _sums(checked, chosen, owner, device, memory_limit, progress, kind, team_of(comm))
    if not checked.directed:
        sums += _of_reverse(checked, sums)
    count = None if all_of_them else chosen.size
    scale = _scales(checked, count, normalized=normalized, endpoints=True)
    return sums if scale is None else sums * scale[0]


def sampled(n: int, k: int, seed: int | None) -> np.ndarray:
    """Return the vertices that NetworkX draws from a graph with the nodes 0..n-1."""
    return np.array(random.Random(seed).sample(range(n), k), np.int64)


def _checked(graph: GraphLike, directed: bool, weight: Weight, owner: str) -> Graph:
    """Return the graph, with checked weights if any are used."""
    directed = flag("directed", owner, directed)
    if weight is None:
        return as_structure(graph, directed)
    found = as_graph(graph, directed, weight=weight, copy=False)
    check_positive(found, owner)
    check_weights(found, _DOUBLE)
    if not math.isfinite(float(found.max_weight or 0) * found.n):
        rule = f"the largest weight is {found.max_weight}, and a sum of {found.n:,} exceeds float64"
        raise PrecisionError(f"{owner}: {rule}: divide the weights by a power of two")
    return found


def _sources(
    graph: Graph,
    k: int | None,
    sources: Vertices | None,
    seed: int | None,
    owner: str,
    team: Team | None,
) -> tuple[np.ndarray, bool]:
    """Return the vertices to search from, the same in a team, and whether these are all."""
    if seed is not None:
        seed = integer("seed", owner, seed, 0)
        if k is None:
            raise ParameterError(f"{owner} takes seed only with k, which draws vertices")
    if sources is not None:
        if k is not None:
            raise ParameterError(f"{owner} takes either k or sources, not both")
        chosen = vertices_of(graph, sources, owner)
        if np.unique(chosen).size < max(chosen.size, 1):
            raise ParameterError.of("sources", owner, "different vertices, at least one", sources)
        return chosen, False
    if k is None:
        return np.arange(graph.n), True
    k = integer("k", owner, k, 1, max(graph.n, 1))
    if k >= graph.n:  # as in NetworkX
        return np.arange(graph.n), True
    drawn = sampled(graph.n, k, seed)
    return drawn if team is None else team.share(drawn), False


def _scales(
    graph: Graph, count: int | None, *, normalized: bool, endpoints: bool
) -> tuple[float, float] | None:
    """Return the factors of NetworkX, for vertices that are no sources, and for sources.

    Parameters
    ----------
    graph : Graph
    count : int or None
        The number of sources; None if all vertices are.
    normalized, endpoints : bool
    """
    most = graph.n if endpoints else graph.n - 1
    if most < 2:
        return None
    sources = most if count is None else count

    def factor(searched: int) -> float:
        if searched <= 0:
            return math.nan  # nothing is known of the only source
        if normalized:
            return 1 / (searched * (most - 1))
        return most / (searched * (1 if graph.directed else 2))

    own = sources if count is None or endpoints else sources - 1
    return factor(sources), factor(own)


def _of_reverse(graph: Graph, values: np.ndarray) -> np.ndarray:
    """Return, for each arc of an undirected graph, the value of its reverse."""
    tails, heads, _ = graph.arcs()
    reverse = np.lexsort((tails, heads))  # arcs are in the order of tails and heads
    found: np.ndarray = values[reverse]
    found[tails == heads] = 0  # a loop is one arc
    return found


def _sums(
    graph: Graph,
    sources: np.ndarray,
    owner: str,
    device: DeviceLike | Sequence[DeviceLike],
    memory_limit: int | None,
    progress: Callable[[int, int], None] | None,
    kind: Kind,
    team: Team | None,
) -> np.ndarray:
    """Return the sums over the sources, for each vertex or arc; in a team those of all."""
    if team is not None:
        mine = np.array_split(sources, team.size)[team.rank]
        sums = _sums(graph, mine, owner, device, memory_limit, progress, kind, None)
        return team.added(sums)
    memory_limit = check_limits(memory_limit, progress, owner)
    devices = devices_for(graph, device, owner)
    for each in devices:
        arithmetic_defines(each, _DOUBLE)  # an error without double precision
    size = graph.m if kind.arcs else graph.n
    if not sources.size or not size:
        return np.zeros(size)

    def part(device: Device, some: np.ndarray) -> Callable[[Tell | None], np.ndarray]:
        options = Options(device, _DOUBLE, memory_limit=memory_limit)
        return lambda tell: _on_one(graph, some, options, tell, kind)

    some = np.array_split(sources, min(len(devices), sources.size))
    parts = [part(*each) for each in zip(devices, some, strict=False)]
    if is_dry():
        sizes = Counter[Device]()
        for each, call in zip(devices, parts, strict=False):
            sizes[each] += dry_run(call, None).device_bytes
        needed(max(sizes.values()), 8 * size)
    sums, *others = together(parts, of_sources(progress), sources.size)
    for other in others:
        sums += other
    return sums


def _on_one(
    graph: Graph, sources: np.ndarray, options: Options, tell: Tell | None, kind: Kind
) -> np.ndarray:
    """Return the sums over some sources, of one device."""
    if kind.weighted:
        return _by_distances(graph, sources, options, tell, kind)
    if is_dry():  # a search may leave its source to the other way
        calls = (
            lambda: _together(graph, sources, options, None, kind),
            lambda: _by_distances(graph, sources, options, None, kind),
        )
        size = graph.m if kind.arcs else graph.n
        needed(max(dry_run(each).device_bytes for each in calls), 8 * size)
    before = _together(graph, sources, options, tell, kind)
    if before is None:
        return _by_distances(graph, sources, options, tell, kind)
    sums, left = before
    if left.size:
        sums += _by_distances(graph, left, options, _after(tell, sources.size - left.size), kind)
    return sums


def _together(
    graph: Graph, sources: np.ndarray, options: Options, tell: Tell | None, kind: Kind
) -> tuple[np.ndarray, np.ndarray] | None:
    """Search from several sources at once; return sums and the sources left, or None."""
    if options.device.traits.scalar_groups:
        return sums_by_lanes(graph, sources, options, tell, kind)
    if kind.arcs:
        return None
    return sums_by_levels(graph, sources, options, tell, endpoints=kind.endpoints)


def _after(
    tell: Callable[[int, int], None] | None, first: int
) -> Callable[[int, int], None] | None:
    """Return the function to call with numbers of sources that do not count the first ones."""
    return None if tell is None else lambda done, total: tell(first + done, first + total)


def _by_distances(
    graph: Graph,
    sources: np.ndarray,
    options: Options,
    tell: Callable[[int, int], None] | None,
    kind: Kind,
) -> np.ndarray:
    """Return the sums over the sources, by rows of distances or by a search of each work-item."""
    sums = sums_by_rows(graph, sources, options, tell, kind)
    if sums is not None:
        return sums
    chosen, weighted = options.device, kind.weighted
    most = chosen.capabilities.max_work_group_size
    group = 1 if chosen.traits.scalar_groups else min(_GROUP, most)
    defines = arithmetic_defines(chosen, _DOUBLE) | {
        "PYAPSP_GROUP": group,
        "PYAPSP_WEIGHTED": int(weighted),
        "PYAPSP_ARCS": int(kind.arcs),
    }
    program = build(chosen, "all_pairs/summaries/betweenness.cl", defines)
    each = [(8 if weighted else 4) * graph.n, 4 * graph.n, 8 * graph.n, 8 * graph.n]
    each += [8 * (graph.m if kind.arcs else graph.n), *[32 * graph.n] * weighted]
    slots = _slots(options, group, sources.size, each)
    sizes = [slots * one for one in each]
    fixed = 8 * (graph.n + 1) + (12 if weighted else 4) * graph.m + 4 * sources.size + 4
    check_memory([fixed, *sizes], options)
    needed(fixed + sum(sizes), sizes[4] // slots)
    with device_errors(chosen, fixed + sum(sizes)):
        shape = (slots,), (group,)
        return _added(graph, sources, program, shape, sizes, kind.endpoints, tell)


def _added(
    graph: Graph,
    sources: np.ndarray,
    program: Program,
    shape: tuple[tuple[int], tuple[int]],
    sizes: Sequence[int],
    endpoints: bool,
    tell: Callable[[int, int], None] | None,
) -> np.ndarray:
    """Search from all sources, and return the sums.

    Parameters
    ----------
    graph, sources, endpoints
        As for `_sums`.
    program : Program
    shape : tuple
        The numbers of work-items, and of those of a group.
    sizes : sequence of int
        Bytes of the buffers: costs, order, counts, shares, sums; and heaps if there are weights.
    tell : callable or None
    """
    device, watch, slots = program.device, Stopwatch(), shape[0][0]
    queue = device.queue()
    costs, order, counts, shares, totals, *heap = (device.buffer(size) for size in sizes)
    rows = [upload(queue, graph.indptr, watch), upload(queue, graph.indices, watch)]
    if heap:
        rows += [upload(queue, graph.weights, watch, _DOUBLE), *heap]
    given = upload(queue, sources.astype(np.int32), watch)
    state, clipped = device.buffer(4), np.zeros(1, np.int32)
    cl.enqueue_copy(queue, state, clipped)
    cleared = np.int64(slots * graph.n), np.int64(sizes[4] // 8)
    program.kernel("clear_sums")(queue, *shape, costs, totals, *cleared)
    kernel = program.kernel("betweenness")

    def run(begin: int, end: int) -> None:
        limits = np.int32(begin), np.int32(end), np.int32(graph.n), np.int64(graph.m)
        memory = costs, order, counts, shares, totals, state
        kernel(queue, *shape, *rows, given, *limits, *memory, np.int32(endpoints))

    in_launches(queue, sources.size, slots, run, tell)
    sums = np.empty(sizes[4] // 8 // slots)
    program.kernel("add_sums")(queue, *shape, totals, np.int32(slots), np.int64(sums.size))
    cl.enqueue_copy(queue, sums, totals)
    cl.enqueue_copy(queue, clipped, state)
    check_counts(int(clipped[0]))
    return sums


def _slots(options: Options, group: int, sources: int, each: list[int]) -> int:
    """Return the number of work-items: as many as are used and fit, in whole groups."""
    units = options.device.capabilities.compute_units
    wanted = _SLOTS if group == 1 else units * group * _GROUPS
    groups = min(wanted, fitting(options, each), -(-sources // group) * group) // group
    return max(groups, 1) * group
