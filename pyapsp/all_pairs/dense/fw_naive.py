"""fw-naive: Floyd-Warshall with one launch per intermediate vertex."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.floyd_warshall import Configuration, FloydWarshall, Run
from pyapsp.device.kernels import build
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters, register

__all__ = ["FwNaive"]

# Work-items of a group along a row and a column. Without it, one driver chooses a divisor of n,
# which is very small for most n; the method was then seven times slower.
_GROUP = (64, 4)


@register
class FwNaive(FloydWarshall):
    """Floyd-Warshall, one launch per k, one work-item per element; a simple reference.

    Source: R. W. Floyd, CACM 5(6), 1962; F. Okuyama's thesis, 2013, section 4.2, figure 4.1.
    """

    id = "fw-naive"
    summary = "Floyd-Warshall, one launch per intermediate vertex"
    source = "Floyd 1962, doi:10.1145/367766.368168; Okuyama 2013, section 4.2, fig. 4.1"

    tunable = False
    carries_predecessors = True

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield the only set; the method has no parameters."""
        yield {}

    def configure(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> Configuration:
        """Build the kernel."""
        defines = arithmetic_defines(options.device, options.dtype, guard=graph.has_negative)
        defines["PYAPSP_PREDECESSORS"] = int(options.predecessors)
        program = build(options.device, "all_pairs/dense/fw_naive.cl", defines)
        return Configuration(parameters, program, size=graph.n, rounds=graph.n)

    def enqueue_round(self, run: Run, number: int) -> list[cl.Event]:
        """Enqueue the step of one intermediate vertex."""
        n, queue = run.configuration.size, run.queue
        x, y = _GROUP if queue.device.max_work_group_size >= math.prod(_GROUP) else (1, 1)
        kernel = run.kernel("fw_naive")
        everything = (-(-n // x) * x, -(-n // y) * y)
        return [kernel(queue, everything, (x, y), *run.buffers, np.int32(n), np.int32(number))]
