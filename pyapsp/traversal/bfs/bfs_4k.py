"""bfs-4k: queues, and for each level the kernel that suits the size of its frontier.

The knobs of the thesis, and the parameters of `Bfs4K`:

====  ==============================================  ===========  ==============================
knob  name in the thesis                              parameter    meaning of the value
====  ==============================================  ===========  ==============================
K1    minimum virtual warp size                       least_width  work-items of a vertex
K2    vertices that dynamic parallelism handles       heavy        in 0.01 % of n; 0: none
K3    neighbours of a thread of a child kernel        piece        arcs of a work-item
K4    switch from virtual warps to edge-discover      discover     resident / frontier; 0: never
K5    switch from multi-block to single-block kernel  single       frontier / group; 0: never
K6    block size of the multi-block kernel            group        work-items of a group
K7    switch to induced coalescence                   coalesce     vertices of a lane; 0: never
====  ==============================================  ===========  ==============================

Further parameters stand for what the device or the implementation of the thesis fixes:

- ``warp``: lanes of a warp, 32 there.
- ``queue``: vertices that a work-item keeps before the group writes.
- ``resident``: work-items that a compute unit holds at once, the thesis' #ResThreads for each
  multiprocessor.
- ``widths``: ``dynamic``, or ``fixed``: all virtual warps have ``least_width`` work-items.
- ``store``: a level is stored when a work-item visits the vertex (``visit``, as in the thesis), or
  when the group appends it to the frontier (``append``).
- ``extended``: 1 for the extended edge-discover (EXT).
- ``duplicates``: the table that finds duplicates: ``hash32``; ``hash64``, as in the thesis, which
  needs 64-bit atomics; ``per-warp``, that of Merrill et al. 2012; ``off``.
- ``dynamic``: the substitute for dynamic parallelism. Heavy vertices get a launch each
  (``relaunch``), one launch together (``relaunch-fused``), or are expanded by the group that reads
  them (``group-strip``); ``off``: they are like all others.

- ``sync``: a launch for each level of several groups (``multi``), or one launch whose groups meet
  after each level (``persistent``), with the barrier of all groups that the thesis has. It must be
  asked for, and has no list of heavy vertices.

A vertex is heavy if it is among the given share of vertices with the most arcs, and one launch for
it would fill a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import StallError
from pyapsp.device.kernels import Program, Stopwatch
from pyapsp.device.kernels.warps import build_warps
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.registry import Parameters, ParameterValues, Plan, Thresholds, register
from pyapsp.traversal.bfs.frontier_queues import LARGEST_INT, Frontiers, FrontierSearch
from pyapsp.traversal.kernels import standard_of_fences

__all__ = ["Bfs4K", "heavy_degree"]

_DUPLICATES = ("off", "hash32", "hash64", "per-warp")
# Bytes of an entry of each table.
_ENTRY = {"off": 0, "hash32": 4, "hash64": 8, "per-warp": 8}
# Local memory of a compute unit that tables use at most, and the smallest and largest table.
_LOCAL, _SMALLEST, _LARGEST = 48 * 1024, 64, 1 << 14
# The longest list of heavy vertices; the host reads it with every level.
_MOST_HEAVY = 1024
# Ints of the state before the lists of heavy vertices, and places of `cl/common/meeting.h` in it.
_STATE = 11
_ENTERED, _ARRIVED, _STALLED, _RING = 3, 6, 7, 8


def heavy_degree(graph: Graph, share: int, least: int) -> int:
    """Return the smallest degree of a heavy vertex.

    Parameters
    ----------
    graph : Graph
    share : int
        The share of the vertices that are heavy, in 0.01 %: the number is rounded up.
    least : int
        A degree below which no vertex is heavy.

    Returns
    -------
    int
        The largest int32 if `share` is 0 or there are no vertices.
    """
    if not share or not graph.n:
        return LARGEST_INT
    count = -(-graph.n * share // 10_000)
    degrees = np.diff(graph.indptr)
    return max(int(np.partition(degrees, graph.n - count)[graph.n - count]), least)


class _Levels(Frontiers):
    """The kernel of each level, chosen by the size of its frontier."""

    def __init__(
        self, method: Bfs4K, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch
    ) -> None:
        super().__init__(method, plan, watch)
        graph, parameters = plan.input, plan.parameters
        capabilities = plan.options.device.capabilities
        self._degrees = np.diff(graph.indptr)
        self._room, limit = (self.host.size - _STATE) // 2, _limit(graph, parameters)
        strips = limit if parameters.word("dynamic") == "group-strip" else LARGEST_INT
        self._limits = limit, self._room, strips
        self._resident = capabilities.compute_units * parameters.integer("resident")
        self._capacity = _capacity(self.n)
        self._heavies = 0
        #: (level, kernel, width) of each launch of the last search
        self.launches: list[tuple[int, str, int]] = []
        self._persistent = parameters.word("sync") == "persistent"
        self._groups = capabilities.compute_units
        self._tell = method.on_levels
        self._sizes: dict[int, int] = {}

    def start(self, source: int) -> None:
        """Enqueue the kernel that prepares a search."""
        super().start(source)
        self._heavies = 0
        self.launches.clear()
        self._sizes.clear()
        if self._tell is not None:
            zeros = np.zeros(self.more[0].size // 4, np.int32)
            cl.enqueue_copy(self.queue, self.more[0], zeros)

    def advance(self, level: int, size: int) -> tuple[int, int]:
        """Find the vertices of a level, or of several; a size counts heavy vertices too."""
        light, group = size - self._heavies, self.parameters.integer("group")
        limit = group * self.parameters.integer("single")
        next_level = level + 1
        if size <= limit:
            self._expand_single(level, light, limit)
            self.read_state()
            next_level = int(self.host[2])
        elif self._persistent:
            next_level = self._expand_together(level, light, limit)
        else:
            self.expand(level, light)
            self._expand_heavy(level)
            self.read_state()
        row = (next_level - 1) % 2
        light, self._heavies = int(self.host[row]), min(int(self.host[4 + row]), self._room)
        if size > limit and not self._persistent:
            self._sizes[level] = light + self._heavies
        if light > self._capacity:
            light = self._collect(next_level - 1)
        return next_level, light + self._heavies

    def expand(self, level: int, size: int) -> None:
        """Expand the queue with the whole device."""
        group, warp = self.parameters.integer("group"), self.parameters.integer("warp")
        if not size:
            return
        if size * self.parameters.integer("discover") < self._resident and self.parameters.integer(
            "discover"
        ):
            self._run(
                "edges", level, 1, -(-size // group), size, self.parameters.integer("extended")
            )
            return
        width = self.parameters.integer("least_width")
        if self.parameters.word("widths") == "dynamic":
            while 2 * width <= warp and 2 * width * size <= self._resident:
                width *= 2
        if width == warp and size > self._resident:
            self._run("shared", level, width, -(-size // group), size)
        else:
            self._run("warps", level, width, -(-size // (group // width)), size, width)

    def _expand_single(self, level: int, light: int, limit: int) -> None:
        size, discover = light + self._heavies, self.parameters.integer("discover")
        both = cl.LocalMemory(8 * limit)
        if discover and size * discover < self.parameters.integer("group"):
            kernel, value = "single_edges", self.parameters.integer("extended")
        else:
            kernel, value = "single_warps", self.parameters.integer("least_width")
        self._run(kernel, level, 0, 1, light, self._heavies, value, limit, both)

    def _expand_together(self, level: int, size: int, limit: int) -> int:
        """Find levels by groups that meet; return the next level."""
        for first, end in ((_ENTERED, _ENTERED + 1), (_ARRIVED, _RING + 3)):
            zeros = np.zeros(end - first, np.int32)
            cl.enqueue_copy(self.queue, self.state, zeros, dst_offset=4 * first)
        knobs = self.parameters.integers("least_width", "discover", "extended")
        self._run("together", level, 0, self._groups, size, *knobs, self._resident, limit)
        self.read_state()
        if self.host[_STALLED]:
            raise StallError(
                f"bfs-4k with sync=persistent stalled at level {level} or later: a group waited "
                "while the others did not run. The answer was discarded; use sync=multi"
            )
        return int(self.host[2])

    def _expand_heavy(self, level: int) -> None:
        """Expand the list of heavy vertices."""
        if not self._heavies:
            return
        piece, group = self.parameters.integer("piece"), self.parameters.integer("group")
        begin = _STATE + (level + 1) % 2 * self._room
        degrees = self._degrees[self.host[begin : begin + self._heavies]]
        groups = -(-degrees // (piece * group))
        if self.parameters.word("dynamic") == "relaunch":
            for place, each in enumerate(groups.tolist()):
                self._run("heavy", level, 0, each, place, place + 1, piece)
        else:
            self._run("heavy", level, 0, int(groups.max()), 0, self._heavies, piece)

    def _run(
        self, kernel: str, level: int, width: int, groups: int, *more: int | cl.LocalMemory
    ) -> None:
        """Launch a kernel with at most as many groups as the device holds."""
        self.launches.append((level, kernel, width))
        items = min(groups * self.parameters.integer("group"), max(self._resident, 1))
        scalars = self.n, self._capacity, level, *self._limits
        values: list[Any] = [
            each if isinstance(each, cl.LocalMemory) else np.int32(each) for each in more
        ]
        arrays = *self.arrays, self.more[0]
        self.launch(f"bfs_4k_{kernel}", items, *arrays, *map(np.int32, scalars), *values)

    def _collect(self, level: int) -> int:
        """Make a frontier with too many duplicates for the queue again; return its size."""
        zero = np.zeros(1, np.int32)
        cl.enqueue_copy(self.queue, self.state, zero, dst_offset=4 * (level % 2))
        sizes = np.int32(self.n), np.int32(level)
        self.launch("bfs_4k_collect", self.n, self.levels, self.queues, self.state, *sizes)
        self.read_state()
        return int(self.host[level % 2])

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the levels, and report the statistics of the search."""
        super().read_distances(distances)
        if self._tell is not None:
            levels = np.empty(self.n, np.int32)
            cl.enqueue_copy(self.queue, levels, self.levels)
            self._tell(list(self._statistics(levels)))

    def _statistics(self, levels: np.ndarray) -> Iterator[dict[str, int | str]]:
        """Yield the statistics of each level of the last search."""
        counts = np.empty((self.n + 2, 3), np.int32)
        cl.enqueue_copy(self.queue, counts, self.more[0])
        vertices = np.bincount(levels[levels <= self.n]).tolist()
        launches = sorted(self.launches, key=lambda launch: launch[0])
        for level, each in list(enumerate(vertices))[1:]:
            while len(launches) > 1 and launches[1][0] <= level:
                launches.pop(0)
            entries, dropped, conflicts = counts[level].tolist()
            entries = self._sizes.get(level, entries)
            yield {
                "level": level,
                "frontier": entries,
                "vertices": each,
                "dropped": dropped,
                "conflicts": conflicts,
                "undetected": entries - each,
                "kernel": launches[0][1],
                "width": launches[0][2],
            }


@register
class Bfs4K(FrontierSearch):
    """Breadth-first search that adapts to the frontier: see the module.

    Source: F. Busato and N. Bombieri, IEEE TPDS 26(7), 2015.

    Attributes
    ----------
    on_levels : callable or None
        If it is given, kernels count duplicates, and it is called after each search with a dict for
        each level: ``level``, ``frontier`` (entries of the queue), ``vertices`` (different ones),
        ``dropped`` and ``conflicts`` of the table of duplicates, ``undetected`` duplicates, and
        ``kernel`` and ``width``, by which the level was found.
    """

    id = "bfs-4k"
    summary = "queues; virtual warps or a work-item for each arc, as the frontier of a level needs"
    source = "Busato and Bombieri 2015, doi:10.1109/TPDS.2014.2330597"
    searcher = _Levels
    numbers_arcs = True
    choices: ClassVar[ParameterValues] = {
        "group": (1, 32, 64, 128, 256, 512, 1024),
        "warp": (1, 8, 16, 32, 64),
        "queue": (1, 4, 16),
        "least_width": (1, 2, 4, 8, 16, 32),
        "heavy": Thresholds((0, 5, 15, 50, 200)),
        "piece": (4, 16, 64),
        "discover": (0, 1, 2, 4),
        "single": (0, 1, 2, 4, 16, 256),
        "coalesce": (0, 1, 4, 10),
        "resident": (16, 256, 2048),
        "extended": (0, 1),
        "widths": ("dynamic", "fixed"),
        "store": ("visit", "append"),
        "duplicates": _DUPLICATES,
        "dynamic": ("off", "relaunch", "relaunch-fused", "group-strip"),
        "sync": ("multi", "persistent"),
    }
    on_levels: Callable[[list[dict[str, int | str]]], None] | None = None

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield the values of the thesis; on CPUs one work-item for a group."""
        knobs: dict[str, int | str] = {"heavy": 15, "piece": 16, "coalesce": 10, "extended": 1}
        knobs |= {"widths": "dynamic", "store": "visit", "sync": "multi"}
        if options.device.traits.scalar_groups:
            yield (
                {"group": 1, "warp": 1, "queue": 16, "least_width": 1}
                | knobs
                | {
                    "discover": 0,
                    "single": 256,
                    "resident": 16,
                    "duplicates": "off",
                    "dynamic": "relaunch-fused",
                }
            )
        knobs |= {"discover": 2, "single": 1, "resident": 2048}
        knobs |= {"duplicates": "hash32", "dynamic": "group-strip"}
        for group, warp, queue in ((128, 32, 16), (64, 32, 16), (32, 8, 4), (1, 1, 4)):
            sizes = {"group": group, "warp": warp, "queue": queue, "least_width": min(4, warp)}
            yield sizes | knobs

    def fits(self, parameters: Parameters, options: PathOptions) -> bool:
        """Return whether warps divide a group, and the device has the sizes and the atomics."""
        capabilities = options.device.capabilities
        group, warp = parameters.integer("group"), parameters.integer("warp")
        return bool(
            group % warp == 0
            and parameters.integer("least_width") <= warp
            and (parameters.word("duplicates") != "hash64" or capabilities.int64_atomics)
            and (parameters.word("sync") == "multi" or self._may_meet(parameters, options))
            and super().fits(parameters, options)
            and _local_bytes(parameters, options) <= capabilities.local_memory
        )

    def _may_meet(self, parameters: Parameters, options: PathOptions) -> bool:
        """Return whether groups can wait for each other."""
        device = options.device
        return bool(
            self.parameters.get("sync") == "persistent"
            and device.capabilities.device_scope_fence
            and parameters.word("dynamic") in ("off", "group-strip")
            and (parameters.integer("group") == 1 or not device.traits.scalar_groups)
        )

    def idle(self, parameters: Parameters, options: PathOptions) -> Mapping[str, int | str]:
        """Return coalesced writes if no warp or lane has so many, and widths if there is one."""
        queue, warp, coalesce = parameters.integers("queue", "warp", "coalesce")
        idle: dict[str, int | str] = {"coalesce": 0} if warp == 1 or coalesce > queue else {}
        if 2 * parameters.integer("least_width") > warp:
            idle["widths"] = "dynamic"
        return idle

    def rule(self, options: PathOptions) -> str:
        """Return the limits."""
        return (
            f"{super().rule(options)} and a multiple of warp; least_width must be at most warp; "
            f"queues, frontiers and tables must fit {options.device.capabilities.local_memory:,} "
            "bytes of local memory; hash64 needs int64_atomics; persistent must be asked for, "
            "needs device_scope_fence, dynamic=off or group-strip, and on CPUs group=1"
        )

    def state(self, graph: Graph, options: PathOptions, parameters: Parameters) -> int:
        """Return the ints of the counters and of two lists of heavy vertices."""
        return _STATE + 2 * _room(graph, parameters)

    def more(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of the statistics."""
        return [12 * (graph.n + 2) if self.on_levels else 4]

    def defines(
        self, graph: Graph, options: PathOptions, parameters: Parameters
    ) -> dict[str, str | int]:
        """Return the macros of the kernels."""
        return super().defines(graph, options, parameters) | {
            **parameters.macros("warp", "queue", "coalesce"),
            "PYAPSP_DUPLICATES": _DUPLICATES.index(parameters.word("duplicates")),
            "PYAPSP_TABLE": _table(parameters, options),
            "PYAPSP_AT_VISIT": int(parameters.word("store") == "visit"),
            "PYAPSP_FIXED": int(parameters.word("widths") == "fixed"),
            "PYAPSP_STRIPS": int(parameters.word("dynamic") == "group-strip"),
            "PYAPSP_TOGETHER": int(parameters.word("sync") == "persistent"),
            "PYAPSP_STATISTICS": int(self.on_levels is not None),
        }

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Program:
        """Build the kernels, with sub-groups if they have the width of a warp."""
        defines = self.defines(graph, options, parameters)
        optimise = parameters.integer("group") == 1 or options.device.traits.optimises_barriers
        met = parameters.word("sync") == "persistent"
        standard = standard_of_fences(options.device) if met else None
        name = "traversal/bfs/bfs_4k.cl"
        return build_warps(options.device, name, defines, standard=standard, optimise=optimise)


def _capacity(n: int) -> int:
    """Return the vertices that a queue holds; more are only possible with duplicates."""
    return n


def _limit(graph: Graph, parameters: Parameters) -> int:
    """Return the smallest degree of a heavy vertex."""
    if parameters.word("dynamic") == "off":
        return LARGEST_INT
    return heavy_degree(
        graph,
        parameters.integer("heavy"),
        parameters.integer("piece") * parameters.integer("group"),
    )


def _room(graph: Graph, parameters: Parameters) -> int:
    """Return the length of the list of heavy vertices."""
    if parameters.word("dynamic") in ("off", "group-strip"):
        return 0
    heavy = np.count_nonzero(np.diff(graph.indptr) >= _limit(graph, parameters))
    return min(int(heavy), _MOST_HEAVY)


def _table(parameters: Parameters, options: PathOptions) -> int:
    """Return the entries of a table: a group's share of the local memory of a compute unit."""
    group, warps = (
        parameters.integer("group"),
        parameters.integer("group") // parameters.integer("warp"),
    )
    share = min(_LOCAL, options.device.capabilities.local_memory) // 2 * group
    entries = share // (2048 * max(_ENTRY[parameters.word("duplicates")], 1))
    return min(max(1 << (max(entries, 1).bit_length() - 1), _SMALLEST, warps), _LARGEST)


def _local_bytes(parameters: Parameters, options: PathOptions) -> int:
    """Return the local memory of a group of the kernel that needs most."""
    group, queue = parameters.integer("group"), parameters.integer("queue")
    ints = 2 * group + 1 + queue * group * (1 + options.predecessors) + group
    ints += 2 * group * parameters.integer("single")
    return 4 * ints + _ENTRY[parameters.word("duplicates")] * _table(parameters, options)
