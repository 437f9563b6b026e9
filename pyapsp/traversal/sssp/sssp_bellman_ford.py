"""sssp-bellman-ford: relaxes all arcs in every round; weights may be negative."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.graph import Graph
from pyapsp.graph.negative_cycle import cycle_of
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.registry import Parameters, Plan, register
from pyapsp.traversal.kernels import Launcher
from pyapsp.traversal.search import Lanes, StoredParents
from pyapsp.traversal.sssp.cycles import refuse_reached_cycle

__all__ = ["SsspBellmanFord"]


@register
class SsspBellmanFord(Lanes[Program]):
    """One or more work-items for each vertex compute its best distance from its neighbours.

    Source: R. Bellman, 1958; L. R. Ford, 1956.
    """

    id = "sssp-bellman-ford"
    problem = "sssp"
    summary = "all arcs in every round; weights may be negative"
    source = "Bellman 1958, doi:10.1090/qam/102435; Ford 1956"
    weighted = True

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of the arcs, of the distances twice, of the parents and the flag."""
        item = options.dtype.itemsize
        arcs = [8 * (graph.n + 1), 4 * graph.m, item * graph.m]
        return [max(size, 4) for size in [*arcs, *_sizes(graph.n, options.dtype)]]

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Program:
        """Build the kernels."""
        defines = arithmetic_defines(options.device, options.dtype, guard=True)
        defines |= {
            "PYAPSP_GROUP": parameters.integer("group"),
            "PYAPSP_LANES": parameters.integer("width"),
        }
        return build(options.device, "traversal/sssp/sssp_bellman_ford.cl", defines)

    def open(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> _Rounds:
        """Copy the graph to the device."""
        return _Rounds(plan, watch)


class _Rounds(StoredParents):
    """The entering arcs of each vertex on the device, and the distances of two rounds."""

    def __init__(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> None:
        graph, options, parameters = plan.input, plan.options, plan.parameters
        super().__init__(plan, watch)
        self._graph, self._dtype, self._width = graph, options.dtype, parameters.integer("width")
        self._launch = Launcher(self.queue, plan.state, parameters.integer("group"))
        entering = graph.reversed()
        weights = entering.weights.astype(options.dtype, copy=False)
        arrays = entering.indptr, entering.indices, weights
        self._arcs = [upload(self.queue, each, watch) for each in arrays]
        self._before, self._after, self.parents, self._last = (
            cl.Buffer(self.queue.context, cl.mem_flags.READ_WRITE, size)
            for size in _sizes(graph.n, options.dtype)
        )

    def search(self, source: int) -> None:
        """Launch rounds until nothing changes, or parents form a cycle.

        Errors are those of `refuse_reached_cycle`.
        """
        n, last = self._graph.n, np.zeros(1, np.int32)
        fresh = self._before, self.parents, self._last
        self._launch("bellman_ford_start", n, *fresh, np.int32(source), np.int32(n))
        done = 0
        while last[0] == done:
            done += 1
            arrays = *self._arcs, self._before, self._after, self.parents, self._last
            sizes = np.int32(n), np.int32(done)
            self._launch("bellman_ford_round", n * self._width, *arrays, *sizes)
            self._before, self._after = self._after, self._before
            cl.enqueue_copy(self.queue, last, self._last)
            # a cycle of parents is a negative cycle; it appears long before the last round
            if last[0] == done and (done & (done - 1) == 0 or done == n):
                self._check_parents(done == n)
        self.rounds += done

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the distances."""
        self.download(self._before, distances)

    def _check_parents(self, certain: bool) -> None:
        """Raise an error if parents form a cycle, or if there were n rounds."""
        graph, n = self._graph, self._graph.n
        parents, distances = np.empty(n, np.int32), np.empty(n, self._dtype)
        cl.enqueue_copy(self.queue, parents, self.parents)
        if not certain and cycle_of(np.where(parents < 0, n, parents)) is None:
            return
        cl.enqueue_copy(self.queue, distances, self._before)
        refuse_reached_cycle(graph, distances)


def _sizes(n: int, dtype: np.dtype) -> list[int]:
    """Return the bytes of distances of two rounds, parents and the last round."""
    return [max(dtype.itemsize * n, 4), max(dtype.itemsize * n, 4), max(4 * n, 4), 4]
