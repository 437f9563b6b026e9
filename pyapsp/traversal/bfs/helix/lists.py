"""Searches over lists of vertices or arcs: the launches of ``cl/traversal/bfs/bfs_helix.cl``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import StallError
from pyapsp.device.kernels import Program, Stopwatch, upload
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.registry import Plan
from pyapsp.traversal.bfs.helix import form
from pyapsp.traversal.bfs.searcher import BfsSearcher
from pyapsp.traversal.bfs.smallest_parents import SmallestParents

__all__ = ["BATCH", "Frontiers", "ListSearch"]

#: Levels that ``batched`` enqueues ahead, at most.
BATCH = 16
# Of cl/traversal/bfs/bfs_helix.h: places in the state.
_STOP, _STALLED, _REACHED, _DOOR, _ARRIVED = range(5)
_NEVER = 2**31 - 1
# One group stays while there are at most so many vertices for each of its work-items.
_FEW, _FEW_ON_CPUS = 4, 256
# Arcs of a work-item in the launch for one vertex.
_PIECE = 16


class Frontiers(BfsSearcher, ABC):
    """A graph on the device, and searches level by level.

    Attributes
    ----------
    sizes : list of int
        The number of entries of each frontier of the last search, if each level was read back.
    on_mask : callable or None
        `BfsHelix.on_mask`.
    """

    def __init__(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> None:
        graph, options, parameters = plan.input, plan.options, plan.parameters
        super().__init__(plan, watch, np.dtype(np.int32))
        self._device, self._program, self._parameters = options.device, plan.state, parameters
        self.m = graph.m
        self._group = parameters.integer("group")
        self._most_groups = form.groups(self._device, self._group)
        self._cells = form.cells(graph.n, parameters)
        arrays = form.rows_of(graph, parameters), graph.indices
        self._graph = [upload(self.queue, each, watch) for each in arrays]
        flags = cl.mem_flags.READ_WRITE
        sizes = form.buffers(graph, options, parameters)[2:]
        (
            self._levels,
            self.parents,
            self._mask,
            self._state,
            self._lists,
            self._arcs,
            *self._more,
        ) = (cl.Buffer(self.queue.context, flags, size) for size in sizes)
        self._found = self._levels, self.parents, self._mask
        self._read = np.empty(form.STATE_SIZE, np.int32)
        self.sizes: list[int] = []
        self.on_mask: Callable[[float], None] | None = None

    @abstractmethod
    def _expand(self, level: int, count: int | None) -> None:
        """Enqueue the launches that find a level; `count` entries wait, or an unknown number."""

    @abstractmethod
    def _again(self, level: int) -> None:
        """Find a level again, and make its frontier, after a list was too short."""

    def search(self, source: int) -> None:
        """Find the levels of all vertices."""
        arrays = *self._found, self._lists, self._state
        sizes = np.int32(source), np.int32(self.n), np.int32(self._cells)
        self.launch("helix_start", self.tiles(self.n, self._group), *arrays, *sizes)
        self._started()
        self.sizes = [1]
        self.rounds += self._all_levels() - 1

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the levels, and report the bits that are set."""
        self.download(self._levels, distances)
        if self.on_mask is not None and self._cells:
            cells = np.empty(self._cells, np.int32)
            cl.enqueue_copy(self.queue, cells, self._mask)
            self.on_mask(float(np.unpackbits(cells.view(np.uint8)).sum()) / self.n)

    def lower_parents(self, smallest: SmallestParents) -> None:
        """Enqueue the kernel of the layout of the arcs."""
        smallest.of_rows(
            self._graph,
            self._levels,
            self.parents,
            self.n,
            stride=1 if self._parameters.word("rows") == "csr" else 2,
        )

    @abstractmethod
    def _started(self) -> None:
        """Enqueue what the first frontier needs after ``helix_start``."""

    def _all_levels(self) -> int:
        """Find level after level; return the first number that was not tried."""
        if self._parameters.word("sync") == "batched":
            return self._in_batches()
        level, count = 1, 1
        while count:
            self._expand(level, count)
            count = self._size(level)
            self.sizes.append(count)
            level += 1
        return level

    def _in_batches(self) -> int:
        """Enqueue several levels before the sizes are read: more and more, up to `BATCH`."""
        level, ahead = 1, 4
        while True:
            for each in range(level, level + ahead):
                self._expand(each, None)
            state = self._look()
            last = min(level + ahead - 1, int(state[_STOP]))
            sizes = [int(state[form.SIZES + each % form.RING]) for each in range(level, last + 1)]
            if state[_STOP] != _NEVER:
                # the levels before have entries; what was counted of this one may be anything
                self._again(last)
                sizes[-1] = self._size(last)
            if 0 in sizes:
                self.sizes += sizes[: sizes.index(0) + 1]
                return level + sizes.index(0) + 1
            self.sizes += sizes
            level, ahead = last + 1, min(2 * ahead, BATCH)

    def launch(self, kernel: str, groups: int, *arguments: np.generic | cl.Buffer) -> None:
        """Launch a number of groups, at most as many as suit the device."""
        groups = max(min(groups, self._most_groups), 1)
        shape = (groups * self._group,), (self._group,)
        self._program.kernel(kernel)(self.queue, *shape, *arguments)

    @staticmethod
    def tiles(count: int | None, size: int) -> int:
        """Return the tiles of some entries; of an unknown number, more than there are groups."""
        return 2**30 if count is None else -(-count // size)

    def _look(self) -> np.ndarray:
        """Wait, and return the state."""
        cl.enqueue_copy(self.queue, self._read, self._state)
        return self._read

    def _size(self, level: int) -> int:
        """Return the size of a level; if a list was too short, after making it again."""
        state = self._look()
        if state[_STOP] != _NEVER:
            self._again(level)
            state = self._look()
        return int(state[form.SIZES + level % form.RING])

    def _reset(self, *empty: int) -> None:
        """Let no list be too short and some levels be empty."""
        state = self._look()
        state[[_STOP, _DOOR, _ARRIVED]] = _NEVER, 0, 0
        for level in empty:
            state[[form.SIZES + level % form.RING, form.ARCS + level % form.RING]] = 0
        state[form.BINS :] = 0
        cl.enqueue_copy(self.queue, self._state, state)

    def _collect(self, level: int, first: int) -> None:
        """Write the vertices of a level to the lists, from index `first` on."""
        sizes = np.int32(level), np.int32(self.n), np.int64(first)
        arrays = self._levels, self._lists, self._state
        self.launch("helix_collect", self.tiles(self.n, self._group), *arrays, *sizes)


class ListSearch(Frontiers):
    """Searches with queues of vertices, of arcs, or of both in turns."""

    def __init__(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> None:
        super().__init__(plan, watch)
        parameters, self._pairs = self._parameters, 1 + plan.options.predecessors
        edges = parameters.word("queue") == "edge"
        self._phases, self._edges = parameters.word("queue") == "two-phase", edges
        self._capacity, self._room = max(self.n, self.m) if edges else self.n, max(self.m, 1)
        self._nbins = form.bins(self._device, parameters)
        self._rooms = form.bin_rooms(self.m, self._nbins, parameters.integer("base"))
        one_each = parameters.word("balance") != "node"
        self._tile = self._group if one_each else self._group // parameters.integer("width")
        self._few = self._group * (_FEW_ON_CPUS if self._group == 1 else _FEW)
        (self._bins,) = self._more
        self._degrees = np.diff(plan.input.indptr)

    def _all_levels(self) -> int:
        """Find all levels; launches of several levels are those of `_stay`."""
        sync = self._parameters.word("sync")
        if sync not in ("single-group", "persistent"):
            return super()._all_levels()
        level, count = 1, 1
        while count:
            if sync == "persistent" or count <= self._few:
                level, count = self._stay(level)
            else:
                self._expand(level, count)
                count = self._size(level)
                level += 1
        return level

    def _stay(self, level: int) -> tuple[int, int]:
        """Find several levels in one launch; return the next level, and the size of the last."""
        persistent = self._parameters.word("sync") == "persistent"
        groups = self._device.capabilities.compute_units if persistent else 1
        self._reset()
        limit = _NEVER if persistent else self._few
        self._level(level, groups, ahead=_NEVER // 2, limit=limit)
        state = self._look()
        if state[_STALLED]:
            raise StallError(
                f"bfs-helix with sync=persistent stalled on {self._device.name} at level {level} "
                "or later: a group waited while the others did not run. The answer was discarded; "
                "use sync=batched"
            )
        reached = int(state[_REACHED])
        return reached, self._size(reached - 1)

    def _started(self) -> None:
        """Do nothing: the source is in the list."""

    def _expand(self, level: int, count: int | None) -> None:
        """Enqueue the level, its bins, and the second phase."""
        whole = level == 1  # as in `_level`
        self._level(level, self.tiles(count, self._tile))
        if self._nbins:
            self._empty_bins(level, each=count is not None, whole=whole)
        if self._phases:
            self._contract(level, whole=whole)

    def _level(
        self, level: int, groups: int, *, seeded: bool = False, ahead: int = 1, limit: int = _NEVER
    ) -> None:
        arrays = *self._graph, *self._found, self._lists, self._arcs, self._bins, self._state
        sizes = level, seeded or level == 1, self._capacity, self._room, ahead, limit
        self.launch("helix_level", groups, *arrays, *map(np.int32, sizes), np.int64(self.m))

    def _contract(self, level: int, *, whole: bool) -> None:
        """Enqueue the second phase; `whole` as for `_empty_bins`."""
        arrays = *self._found, self._lists, self._arcs, self._state
        sizes = level, self._capacity, self._room, whole
        self.launch("helix_contract", self._most_groups, *arrays, *map(np.int32, sizes))

    def _empty_bins(self, level: int, *, each: bool, whole: bool) -> None:
        """Enqueue the bins: a launch for each with vertices or each vertex, or one launch for all.

        `whole` means that a list is made again, or the first one is made.
        """
        arrays = *self._graph, *self._found, self._lists, self._arcs, self._bins, self._state
        launches = [(0, self._nbins, -1, self._most_groups)]
        if each:
            first = form.BINS + level % 2 * form.MOST_BINS
            numbers = self._look()[first : first + self._nbins].tolist()
            base = self._parameters.integer("base")
            launches = [
                (i, i + 1, -1, min(number, room) * max(2 ** (base + i) // self._group, 1))
                for i, (number, room) in enumerate(zip(numbers, self._rooms, strict=True))
                if number
            ]
            if self._parameters.word("heavy") == "relaunch":
                each_groups = self._groups_of_each(min(numbers[0], self._rooms[0]))
                launches = [(0, 1, place, some) for place, some in enumerate(each_groups)]
        for low, high, only, groups in launches:
            sizes = level, self._capacity, self._room, low, high, only, whole
            self.launch("helix_bins", groups, *arrays, *map(np.int32, sizes), np.int64(self.m))

    def _groups_of_each(self, number: int) -> list[int]:
        """Return the groups of the launch for each of the first vertices of the first bin."""
        if not number:
            return []
        vertices = np.empty(number, np.int32)
        cl.enqueue_copy(self.queue, vertices, self._bins)
        most: list[int] = (-(-self._degrees[vertices] // (_PIECE * self._group))).tolist()
        return most

    def _again(self, level: int) -> None:
        """Expand the vertices of the level before, each once, and list those of the level.

        The lists of an edge queue then have all arcs from the level before, so they are complete.
        """
        self._reset(level - 1, level)
        self._collect(level - 1, self._first(level - 1))
        self._level(level, self._most_groups, seeded=True)
        if self._nbins:
            self._empty_bins(level, each=False, whole=True)
        if self._edges:
            return
        if self._phases:
            self._contract(level, whole=True)
        self._reset(level)
        self._collect(level, self._first(level))

    def _first(self, level: int) -> int:
        """Return where the list of a level starts."""
        if self._phases:
            return 0
        return int(level % 2 * self._capacity * (self._pairs if self._edges else 1))
