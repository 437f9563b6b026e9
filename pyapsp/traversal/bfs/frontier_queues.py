"""The common part of the breadth-first searches that keep the last level in a queue."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import CapabilityError
from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.device.kernels.warps import build_warps
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.registry import Parameters, Plan
from pyapsp.traversal.bfs.searcher import BfsSearcher
from pyapsp.traversal.bfs.smallest_parents import SmallestParents
from pyapsp.traversal.kernels import MOST_COUNTED, Launcher, search_defines
from pyapsp.traversal.search import Search

__all__ = ["LARGEST_INT", "FrontierSearch", "Frontiers", "WarpFrontierSearch"]

LARGEST_INT = 2**31 - 1
# Ints of `Frontiers.state` that a search clears when it starts.
_STATE = 8


class FrontierSearch(Search[Program]):
    """Base of the breadth-first searches that expand only the last level. Weights are ignored.

    Attributes
    ----------
    numbers_arcs : bool
        Whether its kernels number arcs in int32, with those of a group beyond the last one.
    """

    problem = "bfs"
    numbers_arcs = False
    carries_predecessors = True
    searcher: ClassVar[type[Frontiers]]

    @property
    def file(self) -> str:
        """The kernel file, below the folder of kernels."""
        return f"traversal/bfs/{self.id.replace('-', '_')}.cl"

    def open(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> Frontiers:
        """Copy the graph to the device."""
        return self.searcher(self, plan, watch)

    def check(self, graph: Graph, options: PathOptions) -> None:
        """Raise an error if arcs are numbered in int32, and there are too many."""
        if self.numbers_arcs and graph.m > MOST_COUNTED:
            raise CapabilityError(f"{self.id} numbers arcs in int32: {graph.m:,} are too many")

    def more(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer that only this method needs."""
        return []

    def state(self, graph: Graph, options: PathOptions, parameters: Parameters) -> int:
        """Return the number of ints of `Frontiers.state`, at least 8."""
        return _STATE

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of the arcs, levels, parents, queues and state, and of `more`."""
        n = graph.n
        rows = [4 * n, 4 * n * options.predecessors, 8 * n]
        state = 4 * self.state(graph, options, parameters)
        sizes = [8 * (n + 1), 4 * graph.m, *rows, state, *self.more(graph, options, parameters)]
        return [max(size, 4) for size in sizes]

    def defines(
        self, graph: Graph, options: PathOptions, parameters: Parameters
    ) -> dict[str, str | int]:
        """Return the macros of the kernels."""
        return parameters.macros("group") | search_defines(options)

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Program:
        """Build the kernels."""
        return build(options.device, self.file, self.defines(graph, options, parameters))


class WarpFrontierSearch(FrontierSearch):
    """Base of those whose groups are warps, with lists of arcs in local memory."""

    numbers_arcs = True

    @abstractmethod
    def local_bytes(self, parameters: Parameters) -> int:
        """Return the bytes of local memory of a group."""

    def fits(self, parameters: Parameters, options: PathOptions) -> bool:
        """Return whether warps divide a group, and the device has groups and memory for lists."""
        group, warp = parameters.integers("group", "warp")
        return bool(
            group % warp == 0
            and self.local_bytes(parameters) <= options.device.capabilities.local_memory
            and super().fits(parameters, options)
        )

    def rule(self, options: PathOptions) -> str:
        """Return the limits."""
        return (
            f"{super().rule(options)} and a multiple of warp, and the lists of a group must fit "
            f"{options.device.capabilities.local_memory:,} bytes"
        )

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Program:
        """Build the kernels, with sub-groups if they have the width of a warp."""
        return build_warps(options.device, self.file, self.defines(graph, options, parameters))


class Frontiers(BfsSearcher):
    """A graph on the device, and a search that expands one frontier after the other.

    Parameters
    ----------
    method : FrontierSearch
    plan, watch
        As for `BfsSearcher`.

    Attributes
    ----------
    launch : Launcher
    arcs : list of pyopencl.Buffer
        The index of the first arc of each vertex, and the heads.
    levels, queues, state : pyopencl.Buffer
        n, 2 n and at least 8 ints.
    more : list of pyopencl.Buffer
        `FrontierSearch.more`.
    host : (k,) int32 ndarray
        The state that was read last.
    """

    def __init__(
        self, method: FrontierSearch, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch
    ) -> None:
        graph, options, self.parameters = plan.input, plan.options, plan.parameters
        super().__init__(plan, watch)
        self.launch = Launcher(self.queue, plan.state, self.parameters.integer("group"))
        self.arcs = [upload(self.queue, each, watch) for each in (graph.indptr, graph.indices)]
        sizes = method.buffers(graph, options, self.parameters)[2:]
        self.levels, self.parents, self.queues, self.state, *self.more = (
            cl.Buffer(self.queue.context, cl.mem_flags.READ_WRITE, size) for size in sizes
        )
        self.host = np.zeros(self.state.size // 4, np.int32)

    @property
    def arrays(self) -> tuple[cl.Buffer, ...]:
        """The buffers that every kernel of an expansion has."""
        return *self.arcs, self.levels, self.parents, self.queues, self.state

    @abstractmethod
    def expand(self, level: int, size: int) -> None:
        """Enqueue the kernels that find the vertices of a level.

        Parameters
        ----------
        level : int
        size : int
            Vertices of the previous level.
        """

    def advance(self, level: int, size: int) -> tuple[int, int]:
        """Find the vertices of a level; return the next level and the number of vertices found."""
        self.expand(level, size)
        self.read_state()
        return level + 1, int(self.host[level % 2])

    def read_state(self) -> None:
        """Wait for the kernels and read the state."""
        cl.enqueue_copy(self.queue, self.host, self.state)

    def start(self, source: int) -> None:
        """Enqueue the kernel that prepares a search."""
        arrays = self.levels, self.parents, self.queues, self.state
        self.launch("frontier_start", self.n, *arrays, np.int32(source), np.int32(self.n))

    def search(self, source: int) -> None:
        """Find the levels of all vertices: expand frontiers until one is empty."""
        self.start(source)
        level, size = 1, 1
        while size:
            before = level
            level, size = self.advance(level, size)
            self.rounds += level - before

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the levels."""
        self.download(self.levels, distances)

    def lower_parents(self, smallest: SmallestParents) -> None:
        """Enqueue the kernel of the layout of the arcs."""
        smallest.of_rows(self.arcs, self.levels, self.parents, self.n)
