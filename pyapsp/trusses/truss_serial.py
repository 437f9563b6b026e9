"""truss-serial: one work-item finds all trusses of a small graph, in one launch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyopencl as cl

from pyapsp.base.json import Json
from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.device.kernels.transfer import awaited
from pyapsp.graph import Graph
from pyapsp.registry import Options, Parameters, Plan, register
from pyapsp.trusses.decomposition import TrussMethod, TrussOptions
from pyapsp.trusses.rows import buffer

__all__ = ["TrussSerial", "suits"]

# Up to this number of arcs, one work-item takes less time than the launches of rounds alone.
_ARCS = 2**17


def suits(graph: Graph, options: TrussOptions) -> bool:
    """Return whether one work-item of the device is likely to be faster than rounds of all."""
    units = options.device.capabilities.compute_units
    return options.device.traits.scalar_groups and graph.m <= _ARCS + 2 * _ARCS // units


@register
class TrussSerial(TrussMethod[Program]):
    """Edges of least support are removed one by one, from a queue.

    Source: J. Wang, J. Cheng, 2012.
    """

    id = "truss-serial"
    summary = "one work-item removes edges of least support, in one launch"
    source = (
        "Wang and Cheng 2012, doi:10.14778/2311906.2311909; "
        "pruning by cores, counting again, and searches that end early: ours"
    )

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield the only set: there are no parameters."""
        yield {}

    def buffers(self, graph: Graph, options: TrussOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer of a run."""
        return [8 * (graph.n + 1), 4 * max(graph.m, 1), 4 * _ints(graph)]

    def prepare(self, graph: Graph, options: TrussOptions, parameters: Parameters) -> Program:
        """Build the kernel."""
        return build(options.device, "trusses/truss_serial.cl", {})

    def find(
        self, plan: Plan[Graph, TrussOptions, Program], watch: Stopwatch
    ) -> tuple[np.ndarray, np.ndarray | None, dict[str, Json]]:
        """Return the trussness of the arcs, the rows of one truss, and nothing to report."""
        graph, options, ints = plan.input, plan.options, _ints(plan.input)
        n, m, k = graph.n, graph.m, options.k
        queue = options.device.queue()
        memory = buffer(queue, ints)
        rows = [upload(queue, array, watch) for array in (graph.indptr, graph.indices)]
        numbers = np.int32(n), np.int32(m), np.int32(k or 0)
        kernel = plan.state.kernel("truss_serial")
        first = kernel(queue, (1,), (1,), *rows, *numbers, memory)
        values = np.empty(m + n + 1, np.int32)
        # waiting twice would take as long as the kernel of a small graph
        awaited(queue, first, cl.enqueue_copy(queue, values, memory, is_blocking=False))
        return values[:m], None if k is None else values[m:].astype(np.int64), {}


def _ints(graph: Graph) -> int:
    """Return the ints of the answer and of the memory of the kernel."""
    n, m = graph.n, graph.m
    return 4 * n + 2 + m + 2 * (m + 1) + 6 * (m // 2 + 1)
