"""A problem with one method, all that there is of it: how many arcs leave each vertex.

Importing this module registers both, as importing an area of the package does.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.device import choose
from pyapsp.graph import as_graph, read
from pyapsp.graph.families import FAMILIES, draw
from pyapsp.paths import about
from pyapsp.registry import (
    Answer,
    Check,
    Options,
    Plan,
    Problem,
    Request,
    check_memory,
    in_order,
    method_of,
    problem,
    register,
    register_problem,
)
from pyapsp.registry.tuning import tuned
from pyapsp.registry.tuning.tunable import Tunable

KERNEL = """
kernel void toy_degrees(global const long *starts, global int *found, int n, int more)
{
    const int v = get_global_id(0);
    if (v < n)
        found[v] = (int)(starts[v + 1] - starts[v]) + more;
}
"""


@dataclass(frozen=True)
class Degrees(Answer):
    values: np.ndarray


@register
class ToyDegrees(Tunable):
    """A work-item for each vertex; with wrong=1 it is off by one."""

    id = "toy-degrees"
    problem = "toy"
    summary = "a work-item for each vertex"
    source = "tests/registry"
    choices: ClassVar = {"group": (1, 16, 64), "wrong": (0, 1)}

    def candidates(self, options):
        yield {"group": 16, "wrong": 0}

    def fits(self, parameters, options):
        return parameters["group"] <= options.device.capabilities.max_work_group_size

    def plan(self, graph, options):
        row = tuned(self, graph.n, options, graph.family)
        parameters, match = row or (next(self.candidates(options)) | self.parameters, None)
        buffers = [8 * (graph.n + 1), max(4 * graph.n, 4)]
        check_memory(buffers, options)
        program = cl.Program(options.device.queue().context, KERNEL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            kernel = cl.Kernel(program.build(cache_dir=False), "toy_degrees")
        return Plan(
            graph,
            options,
            parameters,
            sum(buffers),
            kernel,
            tuning=match.describe() if match else None,
        )

    def run(self, plan):
        graph, queue, group = plan.input, plan.options.device.queue(), plan.parameters["group"]
        flags = cl.mem_flags
        starts = np.array(graph.indptr)
        given = cl.Buffer(queue.context, flags.COPY_HOST_PTR, hostbuf=starts)
        found = cl.Buffer(queue.context, flags.READ_WRITE, max(4 * graph.n, 4))
        started = time.perf_counter()
        shape = (-(-graph.n // group) * group,), (group,)
        sizes = np.int32(graph.n), np.int32(plan.parameters["wrong"])
        values = np.empty(graph.n, np.int32)
        if graph.n:
            plan.state(queue, *shape, given, found, *sizes).wait()
            cl.enqueue_copy(queue, values, found)
        seconds = time.perf_counter() - started
        stats = {"kernel_seconds": seconds, "transfer_seconds": 0.0, "kernel_hash": "toy"}
        return Degrees(values, stats=stats)


def ask(given: Any, method: Any = "auto", *, dtype: Any = None, device: Any = None) -> Request:
    options = Options(choose(device), np.dtype(dtype or np.int32))
    return Request(problem("toy"), as_graph(given), method_of("toy", method, "toy"), options)


def oracle(graph, options):
    right = np.bincount(graph.arcs()[0], minlength=graph.n)

    def check(answer):
        wrong = np.flatnonzero(answer.values != right)
        fault = f"vertex {wrong[0]} has {right[wrong[0]]} arcs" if wrong.size else None
        return Check(fault is None, fault, "NumPy")

    return check


TOY = register_problem(
    Problem(
        id="toy",
        summary="how many arcs leave each vertex",
        unit="vertices",
        dtypes=("int32",),
        packages=(__name__,),
        families=FAMILIES,
        read=read,
        sample=lambda size, family, seed, requires: draw(family, size, seed),
        about=about,
        ask=ask,
        work=lambda graph, options, answer: graph.n,
        oracle=oracle,
        choices=in_order,
    )
)
