"""What the methods for trusses share: options, answers, and the run around the removal of edges."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import PyApspError
from pyapsp.base.json import Json
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.registry import Answer, Hashed, Options, Parameters, Plan
from pyapsp.registry.tuning.method import BufferedMethod
from pyapsp.traversal.kernels import measured
from pyapsp.trusses.counting import EDGES, BitmapCounter, HashCounter
from pyapsp.trusses.counts import too_large
from pyapsp.trusses.rows import Rows, Selection, uploaded, zeros
from pyapsp.trusses.simple import edge_count
from pyapsp.trusses.triangles_hash import tables

__all__ = ["Removal", "RemovalMethod", "TrussMethod", "TrussOptions", "Trussness"]

_State = TypeVar("_State", bound=Hashed)


@dataclass(frozen=True)
class TrussOptions(Options):
    """The checked arguments of a call for trusses."""

    # The truss that is wanted, at least 3; None for the trussness of every edge.
    k: int | None = None

    @property
    def decisive(self) -> Hashable:
        """The values on which a plan depends."""
        return self.device, self.dtype, self.memory_limit, self.k


@dataclass(frozen=True)
class Trussness(Answer):
    """The trussness of each arc: that of its edge."""

    # (m,) int32: the largest k such that the edge is in the k-truss; 0 for self-loops. If one truss
    # was asked for: its k for its edges, 0 for the others.
    values: np.ndarray = field(kw_only=True)
    # (n + 1,) int64: where the rows of the truss that was asked for begin, if the method counts its
    # arcs.
    starts: np.ndarray | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Removal:
    """The state from which edges are removed."""

    queue: cl.CommandQueue
    rows: Rows  # both arcs of each edge, with its number
    # One arc of each edge, with its tail; the place of the arc is the number of the edge.
    up: Rows
    # An int for each edge: the k of the options or 0. The method writes the answer to it.
    values: cl.Buffer


class TrussMethod(BufferedMethod, Generic[_State]):
    """Base of the methods for trusses: the run around `find`."""

    problem = "truss"

    def unmet(self, about: Graph, options: TrussOptions) -> PyApspError | None:
        """Return the error of a graph that is too large, or of the device."""
        return too_large(self.id, about) or super().unmet(about, options)

    @abstractmethod
    def find(
        self, plan: Plan[Graph, TrussOptions, _State], watch: Stopwatch
    ) -> tuple[np.ndarray, np.ndarray | None, dict[str, Json]]:
        """Return values and starts of the answer, if there are arcs, and what is reported."""

    def run(self, plan: Plan[Graph, TrussOptions, _State]) -> Trussness:
        """Find the trusses."""
        options, watch = plan.options, Stopwatch()
        values, starts, more = np.zeros(0, np.int32), None, dict[str, Json]()
        started = time.perf_counter()
        if plan.input.m:
            with device_errors(options.device, plan.device_bytes):
                values, starts, counts = self.find(plan, watch)
                more |= counts
        if options.progress is not None:
            options.progress(values.size, values.size)
        stats = measured(watch, started, plan.state.hash, more)
        return Trussness(values=values, starts=starts, stats=stats)


class RemovalMethod(TrussMethod[_State]):
    """Base of the methods that remove edges in rounds: upload, orientation, numbers of edges."""

    @abstractmethod
    def further(self, graph: Graph, options: TrussOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of the buffers of `remove`."""

    @abstractmethod
    def remove(self, plan: Plan[Graph, TrussOptions, _State], state: Removal) -> dict[str, Json]:
        """Write the trussness of the edges, and return what the method reports."""

    def buffers(self, graph: Graph, options: TrussOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer of a run."""
        n, m = graph.n, graph.m
        rows = [4 * (n + 1), 4 * m, 4 * m, 4 * m, 4 * (n + 1), 4 * (m // 2), 4 * (m // 2)]
        selection = Selection(options.device, oriented=True).buffers(n, m)
        sizes = [*rows, *selection, 4 * (m // 2), *self.further(graph, options, parameters)]
        return [max(size, 4) for size in sizes]

    def find(
        self, plan: Plan[Graph, TrussOptions, _State], watch: Stopwatch
    ) -> tuple[np.ndarray, None, dict[str, Json]]:
        """Return the trussness of the arcs, and what the method reports."""
        graph, options = plan.input, plan.options
        size = edge_count(graph)
        if size == 0:
            return np.zeros(graph.m, np.int32), None, {}
        queue = options.device.queue()
        select = Selection(options.device, oriented=True)
        rows = uploaded(queue, graph, watch)
        up = select(queue, rows, graph.m // 2)
        up = Rows(up.first, up.heads, up.n, size, up.values)  # without self-loops
        rows = select.numbered(queue, rows, up)
        values = zeros(queue, size)
        if options.k is not None:
            cl.enqueue_fill_buffer(queue, values, np.full(1, options.k, np.int32), 0, values.size)
        more = self.remove(plan, Removal(queue, rows, up, values))
        spread = select.spread(queue, rows, values)
        queue.finish()
        of_arcs = np.empty(graph.m, np.int32)
        with watch.by_the_host("transfer"):
            cl.enqueue_copy(queue, of_arcs, spread)
        return of_arcs, None, more


def supporting(options: Options) -> BitmapCounter | HashCounter:
    """Return what counts the triangles of each edge, in the form that is fast on the device."""
    device = options.device
    if device.traits.scalar_groups:
        return BitmapCounter(device, EDGES, Parameters(group=1, batch=64))
    fitting = (each for each in tables(options) if HashCounter.fits(each, device))
    return HashCounter(device, EDGES, next(fitting))
