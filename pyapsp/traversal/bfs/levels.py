"""The common part of the breadth-first searches that find one level with each kernel launch."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.registry import Parameters, Plan
from pyapsp.traversal.bfs.searcher import BfsSearcher
from pyapsp.traversal.bfs.smallest_parents import SmallestParents
from pyapsp.traversal.kernels import Launcher, search_defines
from pyapsp.traversal.search import Search

__all__ = ["LevelSearch", "Levels"]


class Levels(BfsSearcher):
    """A graph on the device, and the levels of a search from one of its vertices.

    Each level is a launch of the kernel that has the name of its file.

    Parameters
    ----------
    method : LevelSearch
    plan, watch
        As for `BfsSearcher`.

    Attributes
    ----------
    arcs : list of pyopencl.Buffer
        `LevelSearch.arcs`.
    launch : Launcher
    levels, marks, last : pyopencl.Buffer
        n, rows x n and 1 ints.
    """

    def __init__(
        self, method: LevelSearch, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch
    ) -> None:
        graph, options, parameters = plan.input, plan.options, plan.parameters
        super().__init__(plan, watch)
        self._name, self._start = method.kernel, method.start
        self._lanes = parameters.integer("width") if "width" in parameters else 1
        self.launch = Launcher(self.queue, plan.state, parameters.integer("group"))
        self.arcs = [upload(self.queue, each, watch) for each in method.arcs(graph)]
        sizes = method.buffers(graph, options, parameters)[-4:]
        self.levels, self.marks, self.parents, self.last = (
            cl.Buffer(self.queue.context, cl.mem_flags.READ_WRITE, size) for size in sizes
        )

    def find(self, level: int) -> None:
        """Enqueue the kernels that find the vertices of a level, and update `last` if any exist."""
        arrays = *self.arcs, self.levels, self.marks, self.parents, self.last
        self.launch(self._name, self.n * self._lanes, *arrays, np.int32(self.n), np.int32(level))

    def search(self, source: int) -> None:
        """Find the levels of all vertices: level after level until one is empty."""
        arrays = self.levels, self.marks, self.parents, self.last
        self.launch(self._start, self.n, *arrays, np.int32(source), np.int32(self.n))
        level, last = 0, np.zeros(1, np.int32)
        while last[0] == level:
            level += 1
            self.find(level)
            cl.enqueue_copy(self.queue, last, self.last)
        self.rounds += level

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the levels."""
        self.download(self.levels, distances)

    def lower_parents(self, smallest: SmallestParents) -> None:
        """Enqueue the kernel of the layout of the arcs."""
        smallest.of_rows(self.arcs, self.levels, self.parents, self.n)


class LevelSearch(Search[Program]):
    """Base of the breadth-first searches. Weights are ignored.

    Attributes
    ----------
    start : str
        The kernel that prepares a search.
    rows : int
        Rows of n ints that the kernels need, beside levels and parents.
    searcher : type of Levels
    """

    problem = "bfs"
    carries_predecessors = True
    start: ClassVar[str] = "levels_start"
    rows: ClassVar[int] = 2
    searcher: ClassVar[type[Levels]] = Levels

    @abstractmethod
    def arcs(self, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        """Return the two arrays that represent the graph on the device."""

    def open(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> Levels:
        """Copy the graph to the device."""
        return self.searcher(self, plan, watch)

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of the arcs, the levels, the rows, the parents and the last level."""
        first = 8 * (graph.n + 1)
        rows = [4 * graph.n, 4 * self.rows * graph.n, 4 * graph.n * options.predecessors, 4]
        return [max(count, 4) for count in (first, 4 * graph.m, *rows)]

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Program:
        """Build the kernels."""
        defines = parameters.macros("group") | search_defines(options)
        if "width" in parameters:
            defines["PYAPSP_LANES"] = parameters.integer("width")
        return build(options.device, f"traversal/bfs/{self.kernel}.cl", defines)

    @property
    def kernel(self) -> str:
        """The name of the kernel file; the names of its kernels begin with it."""
        return self.id.replace("-", "_")
