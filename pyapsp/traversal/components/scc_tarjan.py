"""scc-tarjan: one depth-first search by one work-item, which is the fastest on CPUs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np
import pyopencl as cl

from pyapsp.device import device_errors
from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.device.kernels.transfer import awaited, in_place, read_back, shared
from pyapsp.graph import Graph
from pyapsp.registry import Options, Parameters, Plan, register
from pyapsp.traversal.components.component_methods import ComponentMethod, Labels
from pyapsp.traversal.kernels import measured

__all__ = ["SccTarjan"]

# Arcs of a vertex whose ends are prefetched.
_AHEAD = 16


@register
class SccTarjan(ComponentMethod):
    """One depth-first search, in time linear in vertices and arcs for every graph.

    Source: R. Tarjan, SIAM J. Comput. 1, 1972; D. J. Pearce, IPL 116, 2016.
    """

    id = "scc-tarjan"
    summary = "one work-item searches depth first: linear time for every graph"
    source = "Tarjan 1972, doi:10.1137/0201010"

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield the empty set: there are no parameters."""
        yield {}

    def buffers(self, graph: Graph, options: Options, parameters: Parameters) -> list[int]:
        """Return the bytes of the arcs, words, path, and vertices that were left."""
        n = graph.n
        return [max(size, 4) for size in (8 * (n + 1), 4 * graph.m, 4 * n, 16 * n, 4 * n)]

    def prepare(self, graph: Graph, options: Options, parameters: Parameters) -> Program:
        """Build the kernel."""
        defines: dict[str, str | int] = {"PYAPSP_AHEAD": _AHEAD * options.device.traits.prefetches}
        return build(options.device, "traversal/components/scc_tarjan.cl", defines)

    def run(self, plan: Plan[Graph, Options, Program]) -> Labels:
        """Find the components."""
        graph, device, watch = plan.input, plan.options.device, Stopwatch()
        labels = np.empty(graph.n, np.int32)
        started = time.perf_counter()
        if graph.n:
            with device_errors(device, plan.device_bytes):
                _search(plan, watch, labels)
        if plan.options.progress is not None:
            plan.options.progress(graph.n, graph.n)
        return Labels(labels=labels, stats=measured(watch, started, plan.state.hash))


def _search(plan: Plan[Graph, Options, Program], watch: Stopwatch, labels: np.ndarray) -> None:
    """Fill the labels."""
    graph, device = plan.input, plan.options.device
    queue, n = device.queue(), graph.n
    arcs = [upload(queue, each, watch) for each in (graph.indptr, graph.indices)]
    is_shared = in_place(device.handle)
    words = shared(queue, labels) if is_shared else device.buffer(4 * n)
    own = words, device.buffer(16 * n), device.buffer(4 * n)
    search = plan.state.kernel("scc_tarjan")(queue, (1,), (1,), *arcs, *own, np.int32(n))
    awaited(queue, search, search)
    with watch.by_the_host("transfer"):
        if is_shared:
            read_back(queue, words, labels)
        else:
            cl.enqueue_copy(queue, labels, words)
