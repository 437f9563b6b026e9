"""boruvka: the lightest arcs that leave the trees of a forest join them, until none leaves one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import CapabilityError, PyApspError
from pyapsp.device import device_errors
from pyapsp.device.kernels import Program, Stopwatch, build, fill, upload
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.checks import check_weights
from pyapsp.registry import Answer, Options, Parameters, ParameterValues, Plan, Stats, register
from pyapsp.registry.tuning.method import BufferedMethod

__all__ = ["Boruvka", "Forest"]

_MOST = 2**31 - 1  # arcs that an int counts


@dataclass(frozen=True)
class Forest(Answer):
    """The arcs of a forest.

    Attributes
    ----------
    arcs : (k,) int64 ndarray
        Their places in `Graph.arcs`, one arc for each edge.
    """

    arcs: np.ndarray


@register
class Boruvka(BufferedMethod):
    """Each tree takes the lightest arc that leaves it, in rounds.

    Source: O. Boruvka, 1926, in J. Nesetril et al., Discrete Mathematics 233, 2001.
    """

    id = "boruvka"
    problem = "spanning-forest"
    summary = "each tree takes the lightest arc that leaves it"
    source = "Boruvka 1926; Nesetril et al. 2001, doi:10.1016/S0012-365X(00)00224-7"
    choices: ClassVar[ParameterValues] = {"group": (1, 64, 256)}

    def unmet(self, about: Graph, options: Options) -> PyApspError | None:
        """Return the error of a graph with too many arcs."""
        if about.m > _MOST:
            return CapabilityError(f"{self.id} takes at most {_MOST:,} arcs, not {about.m:,}")
        return super().unmet(about, options)

    def check(self, graph: Graph, options: Options) -> None:
        """Raise an error if the type does not hold the weights."""
        check_weights(graph, options.dtype)

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield large groups, and on CPUs one work-item."""
        for group in (1,) if options.device.traits.scalar_groups else (256, 64, 1):
            yield {"group": group}

    def buffers(self, graph: Graph, options: Options, parameters: Parameters) -> list[int]:
        """Return the bytes of the buffers: four of the graph, then those of `run`."""
        n, m = graph.n, graph.m
        given = [8 * (n + 1), 4 * m, 4 * m, options.dtype.itemsize * m]
        return [max(size, 4) for size in (*given, *[4 * n] * 4, 4 * m, 4)]

    def prepare(self, graph: Graph, options: Options, parameters: Parameters) -> Program:
        """Build the kernels."""
        defines = arithmetic_defines(options.device, options.dtype)
        defines["PYAPSP_GROUP"] = parameters.integer("group")
        return build(options.device, "forest/boruvka.cl", defines)

    def run(self, plan: Plan[Graph, Options, Program]) -> Forest:
        """Join trees until no arc leaves one."""
        graph, options, watch = plan.input, plan.options, Stopwatch()
        chosen, started = np.zeros(graph.m, np.int32), time.perf_counter()
        if graph.m:
            with device_errors(options.device, plan.device_bytes):
                _grow(plan, watch, chosen)
        transfers = watch.seconds("transfer")
        stats: Stats = {
            "kernel_seconds": time.perf_counter() - started - transfers,
            "transfer_seconds": transfers,
            "kernel_hash": plan.state.hash,
        }
        return Forest(np.flatnonzero(chosen), stats=stats)


def _grow(plan: Plan[Graph, Options, Program], watch: Stopwatch, chosen: np.ndarray) -> None:
    """Mark the arcs of the forest."""
    graph, device, group = plan.input, plan.options.device, plan.parameters.integer("group")
    queue, shape = device.queue(), (-(-graph.n // group) * group,)
    tails, heads, _ = graph.arcs()
    ends = upload(queue, tails, watch), upload(queue, heads, watch)
    arcs = upload(queue, graph.indptr, watch), *ends
    weights = upload(queue, graph.weights, watch, plan.options.dtype)
    trees, lightest, parents, shorter = (device.buffer(4 * graph.n) for _ in range(4))
    marks, changed = device.buffer(4 * graph.m), device.buffer(4)
    fill(device, queue, marks, np.int32(0))

    def launch(name: str, *buffers: cl.Buffer) -> None:
        plan.state.kernel(name)(queue, shape, (group,), *buffers, np.int32(graph.n))

    def changes(name: str, *buffers: cl.Buffer) -> bool:
        """Launch a kernel; return whether it changed something."""
        state = np.zeros(1, np.int32)
        cl.enqueue_copy(queue, changed, state)
        launch(name, *buffers, changed)
        cl.enqueue_copy(queue, state, changed)
        return bool(state[0])

    launch("begin", trees, lightest)
    while True:
        launch("find_lightest", *arcs, weights, trees, lightest)
        if not changes("join", ends[1], trees, lightest, parents, marks):
            break
        while changes("shorten", parents, shorter):
            parents, shorter = shorter, parents
        launch("relabel", parents, trees, lightest)
    cl.enqueue_copy(queue, chosen, marks)
