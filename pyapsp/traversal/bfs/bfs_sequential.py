"""bfs-sequential: one work-item and a queue, the algorithm of textbooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.registry import Parameters, ParameterValues, Plan, register
from pyapsp.traversal.bfs.searcher import BfsSearcher
from pyapsp.traversal.bfs.smallest_parents import SmallestParents
from pyapsp.traversal.kernels import Launcher, search_defines
from pyapsp.traversal.search import Search

__all__ = ["BfsSequential"]


@register
class BfsSequential(Search[Program]):
    """A first-in, first-out queue, worked off by one work-item.

    Source: T. H. Cormen et al., Introduction to Algorithms, 2009, section 22.2.
    """

    id = "bfs-sequential"
    problem = "bfs"
    summary = "one work-item with a queue, to compare parallel searches with"
    source = "Cormen et al. 2009, section 22.2, https://mitpress.mit.edu/9780262033848"
    carries_predecessors = True
    choices: ClassVar[ParameterValues] = {}

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield the empty set: there are no parameters."""
        yield {}

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of the arcs, levels, parents, queue and last level."""
        rows = [4 * graph.n, 4 * graph.n * options.predecessors, 4 * graph.n, 4]
        return [max(size, 4) for size in (8 * (graph.n + 1), 4 * graph.m, *rows)]

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Program:
        """Build the kernel."""
        return build(options.device, "traversal/bfs/bfs_sequential.cl", search_defines(options))

    def open(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> _Queue:
        """Copy the graph to the device."""
        return _Queue(self, plan, watch)


class _Queue(BfsSearcher):
    """A graph on the device, and the queue of a search."""

    def __init__(
        self, method: BfsSequential, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch
    ) -> None:
        super().__init__(plan, watch)
        graph, self._launch = plan.input, Launcher(self.queue, plan.state, 1)
        arcs = [upload(self.queue, each, watch) for each in (graph.indptr, graph.indices)]
        sizes = method.buffers(graph, plan.options, plan.parameters)[2:]
        self._levels, self.parents, self._list, self._last = (
            cl.Buffer(self.queue.context, cl.mem_flags.READ_WRITE, size) for size in sizes
        )
        self._arrays = *arcs, self._levels, self.parents, self._list, self._last

    def search(self, source: int) -> None:
        """Find the levels of all vertices."""
        self._launch("bfs_sequential", 1, *self._arrays, np.int32(source), np.int32(self.n))
        last = np.empty(1, np.int32)
        cl.enqueue_copy(self.queue, last, self._last)
        self.rounds += int(last[0]) + 1

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the levels."""
        self.download(self._levels, distances)

    def lower_parents(self, smallest: SmallestParents) -> None:
        """Enqueue the kernel of the layout of the arcs."""
        smallest.of_rows(self._arrays[:2], self._levels, self.parents, self.n)
