"""apsp-bfs: a breadth-first search from every vertex of an unweighted graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.sparse.source_blocks import TunableBlocks
from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions, Weights
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.registry import Parameters, Plan, register

__all__ = ["ApspBfs"]


@register
class ApspBfs(TunableBlocks):
    """One breadth-first search for each work-item; all weights must be 1.

    Source: D. Takafuji's thesis, 2020, section 3.4.1.
    """

    id = "apsp-bfs"
    summary = "unweighted graphs: a breadth-first search from every vertex, one for each work-item"
    source = (
        "Takafuji 2020, section 3.4.1, tables 3.4-3.5; "
        "chapter 3 as an article: doi:10.1002/cpe.5963"
    )
    requires = Weights(unweighted=True)
    choices: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "sources": (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536),
        "group": (1, 2, 4, 8, 16, 32, 64, 128, 256),
    }

    carries_predecessors = True

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield as many sources as fill a device, then fewer, for devices with less memory."""
        cpu = options.device.traits.scalar_groups
        for sources in reversed(self.choices["sources"]):
            if not (cpu and sources > 256):
                yield {"sources": sources, "group": 1 if cpu else 32}

    def buffers(self, graph: Graph, options: AllPairsOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer: arcs, sources, and a row and a queue of each source."""
        sources = min(parameters.integer("sources"), graph.n)
        entries = sources * graph.n
        rows = [options.dtype.itemsize * entries, *[4 * entries] * (1 + options.predecessors)]
        return [max(count, 4) for count in (8 * (graph.n + 1), 4 * graph.m, 4 * sources, *rows)]

    def prepare(self, graph: Graph, options: AllPairsOptions, parameters: Parameters) -> Program:
        """Build the kernel."""
        defines = arithmetic_defines(options.device, options.dtype)
        defines["PYAPSP_PREDECESSORS"] = int(options.predecessors)
        return build(options.device, "all_pairs/sparse/apsp_bfs.cl", defines)

    def open(self, plan: Plan[Graph, AllPairsOptions, Program], watch: Stopwatch) -> _Searches:
        """Copy the graph to the device."""
        return _Searches(plan, self.buffers(plan.input, plan.options, plan.parameters), watch)


class _Searches:
    """Searches from the sources of a block, at the same time."""

    def __init__(
        self, plan: Plan[Graph, AllPairsOptions, Program], sizes: list[int], watch: Stopwatch
    ) -> None:
        graph, options = plan.input, plan.options
        self.size = min(plan.parameters.integer("sources"), max(graph.n, 1))  # of the buffers
        self._queue = options.device.queue()
        self._kernel = plan.state.kernel("apsp_bfs")
        self._group, self._n, self._watch = plan.parameters.integer("group"), graph.n, watch
        self._arcs = [upload(self._queue, each, watch) for each in (graph.indptr, graph.indices)]
        flags = cl.mem_flags.READ_WRITE
        self._sources, *self._rows, self._queues = [
            cl.Buffer(self._queue.context, flags, size) for size in sizes[2:]
        ]

    def solve_block(
        self, sources: np.ndarray, distances: np.ndarray, predecessors: np.ndarray | None
    ) -> None:
        """Compute the rows of a block of sources."""
        queue, count = self._queue, sources.size
        cl.enqueue_copy(queue, self._sources, sources.astype(np.int32))
        answers = [(distances, infinity(distances.dtype))]
        if predecessors is not None:
            answers.append((predecessors, NO_PREDECESSOR))
        for buffer, (rows, nothing) in zip(self._rows, answers, strict=True):
            cl.enqueue_fill_buffer(queue, buffer, rows.dtype.type(nothing), 0, rows.nbytes)
        items = (-(-count // self._group) * self._group,)
        sizes = np.int32(self._n), np.int32(count)
        arrays = *self._arcs, self._sources, *self._rows, self._queues
        self._kernel(queue, items, (self._group,), *arrays, *sizes)
        for buffer, (rows, _) in zip(self._rows, answers, strict=True):
            self._watch.add("transfer", cl.enqueue_copy(queue, rows, buffer))
