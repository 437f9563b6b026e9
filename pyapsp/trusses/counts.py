"""What the methods for triangles share: options, answers, and the run."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import CapabilityError, PyApspError
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.registry import Answer, Options, Parameters, Plan
from pyapsp.registry.tuning.method import BufferedMethod
from pyapsp.traversal.kernels import MOST_COUNTED, measured
from pyapsp.trusses.counting import ALL, VERTICES, Counter
from pyapsp.trusses.rows import Rows, Selection, uploaded, zeros

__all__ = ["Counts", "TriangleMethod", "TriangleOptions", "too_large"]


@dataclass(frozen=True)
class TriangleOptions(Options):
    """The checked arguments of a call for triangles."""

    per_vertex: bool = True  # whether the triangles of each vertex are counted too

    @property
    def decisive(self) -> Hashable:
        """The values on which a plan depends."""
        return self.device, self.dtype, self.memory_limit, self.per_vertex

    @property
    def what(self) -> int:
        """What is counted."""
        return VERTICES if self.per_vertex else ALL


@dataclass(frozen=True)
class Counts(Answer):
    """Numbers of triangles."""

    total: int = field(kw_only=True)
    per_vertex: np.ndarray | None = field(kw_only=True)  # (n,) int64: the triangles of each vertex


def too_large(name: str, about: Graph) -> PyApspError | None:
    """Return the error of a graph with more vertices or arcs than kernels can count."""
    if max(about.n, about.m) > MOST_COUNTED:
        what = f"{about.n:,} vertices and {about.m:,} arcs"
        return CapabilityError(f"{name} takes at most {MOST_COUNTED:,} of each, not {what}")
    return None


class TriangleMethod(BufferedMethod):
    """Base of the methods for triangles: upload, orientation on the device, and a count.

    The state of a plan is the `Selection` for the orientation, and what `counter` returns.
    """

    problem = "triangles"

    def unmet(self, about: Graph, options: TriangleOptions) -> PyApspError | None:
        """Return the error of a graph that is too large, or of the device."""
        return too_large(self.id, about) or super().unmet(about, options)

    @abstractmethod
    def counter(self, options: TriangleOptions, parameters: Parameters) -> Counter:
        """Return what counts."""

    @abstractmethod
    def further(self, graph: Graph, options: TriangleOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of the buffers of the count."""

    def buffers(self, graph: Graph, options: TriangleOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer of a run."""
        n, m = graph.n, graph.m
        rows = [4 * (n + 1), 4 * m, 4 * (n + 1), 4 * (m // 2), 4 * (m // 2)]
        selection = Selection(options.device, oriented=True).buffers(n, m)
        counts = [4 * n] if options.per_vertex else []
        sizes = [*rows, *selection, *counts, *self.further(graph, options, parameters)]
        return [max(size, 4) for size in sizes]

    def prepare(
        self, graph: Graph, options: TriangleOptions, parameters: Parameters
    ) -> tuple[Selection, Counter]:
        """Build the kernels."""
        return Selection(options.device, oriented=True), self.counter(options, parameters)

    def run(self, plan: Plan[Graph, TriangleOptions, tuple[Selection, Counter]]) -> Counts:
        """Count."""
        graph, options, watch = plan.input, plan.options, Stopwatch()
        total, oriented = 0, 0.0
        per_vertex = np.zeros(graph.n, np.int64) if options.per_vertex else None
        started = time.perf_counter()
        if graph.n and graph.m > 1:
            with device_errors(options.device, plan.device_bytes):
                total, oriented = self._counted(plan, watch, per_vertex)
        if options.progress is not None:
            options.progress(graph.n, graph.n)
        stats = measured(watch, started, plan.state[1].hash, {"orientation_seconds": oriented})
        if per_vertex is not None:
            total = int(per_vertex.sum()) // 3
        return Counts(total=total, per_vertex=per_vertex, stats=stats)

    def _counted(
        self,
        plan: Plan[Graph, TriangleOptions, tuple[Selection, Counter]],
        watch: Stopwatch,
        per_vertex: np.ndarray | None,
    ) -> tuple[int, float]:
        """Fill the counts; return the number of triangles, and the seconds of the orientation."""
        graph, options = plan.input, plan.options
        select, count = plan.state
        queue = options.device.own_queue()
        rows = uploaded(queue, graph, watch)
        queue.finish()
        started = time.perf_counter()
        up: Rows = select(queue, rows, graph.m // 2)
        queue.finish()
        oriented = time.perf_counter() - started
        if per_vertex is None:
            return count(queue, rows, up), oriented
        counts = zeros(queue, graph.n)
        count(queue, rows, up, counts)
        queue.finish()
        counted = np.empty(graph.n, np.int32)
        with watch.by_the_host("transfer"):
            cl.enqueue_copy(queue, counted, counts)
        per_vertex[:] = counted
        return 0, oriented
