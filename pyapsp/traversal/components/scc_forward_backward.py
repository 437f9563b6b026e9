"""scc-forward-backward: two searches find one component in each part of a graph.

They also divide the part: no component has vertices in two of the new parts.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar, Generic, TypeVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import GraphError, PyApspError
from pyapsp.base.json import Json
from pyapsp.device import device_errors
from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.graph import Graph
from pyapsp.registry import Hashed, Options, Parameters, ParameterValues, Plan, register
from pyapsp.traversal.components.component_methods import ComponentMethod, Labels, numbered
from pyapsp.traversal.kernels import Launcher, WidthInGroup, measured

__all__ = ["PartMethod", "PartSearch", "SccForwardBackward", "part_buffers"]

_State = TypeVar("_State", bound=Hashed)

# Part numbers are below 3 n + 1.
_MOST_VERTICES = (2**31 - 2) // 3
# Vertices of a work-item in the kernel that elects pivots.
_VERTICES = 16
# The host enqueues 1, 2, 4, ... launches, at most this many, before it reads whether they were
# needed.
_AHEAD = 16
# Indices of the state of the kernels, as in cl/traversal/components/scc_forward_backward.cl.
_TRIMMED, _ACTIVE, _REACHED = 0, 1, 2


class PartMethod(ComponentMethod, Generic[_State]):
    """Base of the methods that search from a pivot of each part of the graph."""

    def unmet(self, about: Graph, options: Options) -> PyApspError | None:
        """Return the error of the first requirement that the graph or the device does not meet."""
        if about.n > _MOST_VERTICES:
            return GraphError(f"{self.id} takes at most {_MOST_VERTICES:,} vertices")
        return super().unmet(about, options)

    @abstractmethod
    def search(
        self, plan: Plan[Graph, Options, _State], entering: Graph, watch: Stopwatch
    ) -> PartSearch:
        """Copy the graph, and its reverse, to the device."""

    def run(self, plan: Plan[Graph, Options, _State]) -> Labels:
        """Find the components."""
        graph, watch, more = plan.input, Stopwatch(), dict[str, Json]()
        started = time.perf_counter()
        entering = graph.reversed()
        more["reverse_seconds"] = time.perf_counter() - started
        started = time.perf_counter()
        roots = np.empty(0, np.int32)
        if graph.n:
            with device_errors(plan.options.device, plan.device_bytes):
                search = self.search(plan, entering, watch)
                roots = search.representatives()
            more |= search.counts()
        labels = numbered(roots)
        return Labels(labels=labels, stats=measured(watch, started, plan.state.hash, more))


@register
class SccForwardBackward(WidthInGroup, PartMethod[Program]):
    """A forward and a backward search from a pivot of each part, all parts at once.

    Trimming comes before every round of searches.

    Source: L. Fleischer, B. Hendrickson, A. Pinar, IPDPS 2000; trimming: W. McLendon III et al.,
    JPDC 65, 2005; all parts at once: J. Barnat et al., IPDPS 2011.
    """

    id = "scc-forward-backward"
    summary = "forward and backward search from a pivot of each part, with trimming"
    source = "Fleischer et al. 2000; Barnat et al. 2011, doi:10.1109/IPDPS.2011.45"
    # width: work-items for the arcs of a vertex; trim: turns of trimming before a round
    choices: ClassVar[ParameterValues] = {
        "width": (1, 2, 4, 8, 16, 32, 64),
        "group": (1, 32, 64, 128, 256, 512),
        "trim": (0, 1, 2, 3, "full"),
    }

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield the usual parameters for this kind of device, with group sizes that it supports."""
        width = 1 if options.device.traits.scalar_groups else 8
        for group in (128, 64, 32, 1):
            yield {"width": min(width, group), "group": group, "trim": "full"}

    def buffers(self, graph: Graph, options: Options, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer of a run."""
        return part_buffers(graph)

    def prepare(self, graph: Graph, options: Options, parameters: Parameters) -> Program:
        """Build the kernels."""
        file, defines = "scc_forward_backward.cl", parameters.macros("group", "width")
        return build(options.device, f"traversal/components/{file}", defines)

    def search(
        self, plan: Plan[Graph, Options, Program], entering: Graph, watch: Stopwatch
    ) -> PartSearch:
        """Copy the graph to the device."""
        return PartSearch(plan, plan.state, plan.parameters.integer("width"), entering, watch)


def part_buffers(graph: Graph) -> list[int]:
    """Return the bytes of each buffer of a run: arcs, words, pivots, stamps, state."""
    n = graph.n
    arcs = [8 * (n + 1), max(4 * graph.m, 4)] * (1 + graph.directed)
    return [*arcs, 4 * n, 4 * n, 4 * (3 * n + 1), 8 * n, 8 * n, 16]


class PartSearch:
    """A graph on the device, and the launches that find its components.

    Attributes
    ----------
    rounds, level, turns : int
        Number of rounds, of levels of searches, and of trimming launches.
    """

    def __init__(
        self,
        plan: Plan[Graph, Options, object],
        program: Program,
        width: int,
        entering: Graph,
        watch: Stopwatch,
    ) -> None:
        graph, options, parameters = plan.input, plan.options, plan.parameters
        self._queue, self._watch = options.device.own_queue(), watch
        self._launch = Launcher(self._queue, program, parameters.integer("group"))
        self._width = width
        full = parameters["trim"] == "full"
        self._trims = graph.n if full else parameters.integer("trim")
        self._n, self._progress = graph.n, options.progress
        arrays: list[np.ndarray] = [graph.indptr, graph.indices]
        if graph.directed:
            arrays += [entering.indptr, entering.indices]
        arcs = [upload(self._queue, array, watch) for array in arrays]
        self._arcs = arcs if graph.directed else [*arcs, *arcs]
        *_, words, spare, pivots, even, odd, _ = part_buffers(graph)
        self._words = self._filled(words, 3 * graph.n)
        self._spare = self._filled(spare, 0)
        self._pivots = self._filled(pivots, -1)
        self._stamps = self._filled(even, -1), self._filled(odd, -1)
        self._host = np.zeros(4, np.int32)
        self._state = self._filled(self._host.nbytes, 0)
        self.rounds = self.level = self.turns = 0

    def counts(self) -> dict[str, Json]:
        """Return the counts for the record."""
        return {"rounds": self.rounds, "levels": self.level, "trims": self.turns}

    def representatives(self) -> np.ndarray:
        """Return for each vertex the vertex that represents its component, int32."""
        while True:
            self._trim()
            active = self._elect()
            if self._progress is not None:
                self._progress(self._n - active, self._n)
            if not active:
                break
            self._reach()
            self._divide()
        return self._read_roots()

    def _divide(self) -> None:
        """Remove the components of the pivots, and divide the parts."""
        arrays = self._words, self._pivots, *self._stamps, self._state
        self._launch("scc_divide", self._n, *arrays, np.int32(self._n))
        self.rounds += 1

    def _read_roots(self) -> np.ndarray:
        """Return the vertices that represent components."""
        words = np.empty(self._n, np.int32)
        self._queue.finish()
        with self._watch.by_the_host("transfer"):
            cl.enqueue_copy(self._queue, words, self._words)
        return -1 - words

    def _trim(self) -> None:
        """Remove vertices that are components of their own, in `trim` launches."""
        left, ahead = self._trims, 1
        while left:
            for _ in range(min(ahead, left)):
                self.turns += 1
                arrays = *self._arcs, self._words, self._spare, self._state
                sizes = np.int32(self._n), np.int32(self.turns)
                self._launch("scc_trim", self._n, *arrays, *sizes)
                self._words, self._spare = self._spare, self._words
                left -= 1
            if left and self._read(_TRIMMED) < self.turns:
                return
            ahead = min(2 * ahead, _AHEAD)

    def _elect(self) -> int:
        """Elect a pivot for each part, and return how many vertices are active."""
        first, _, before, _ = self._arcs
        arrays = first, before, self._words, self._pivots, self._state
        self._launch("scc_elect", -(-self._n // _VERTICES), *arrays, np.int32(self._n))
        return self._read(_ACTIVE)

    def _reach(self) -> None:
        """Search from all pivots, forward and backward."""
        n = np.int32(self._n)
        begun = self._words, self._pivots, *self._ordered()
        self._launch("scc_begin", self._n, *begun, n, np.int32(self.level))
        self._go_on()

    def _go_on(self) -> None:
        """Complete the searches that have begun."""
        n, ahead = np.int32(self._n), 1
        while True:
            for _ in range(ahead):
                stamps, items = self._ordered(), self._n * self._width
                arguments = *self._arcs, self._words, *stamps, self._state
                self._launch("scc_reach", items, *arguments, n, np.int32(self.level))
                self.level += 1
            if self._read(_REACHED) < self.level:
                return
            ahead = min(2 * ahead, _AHEAD)

    def _ordered(self) -> tuple[cl.Buffer, cl.Buffer]:
        """Return the stamps of the current level, and those of the next."""
        even, odd = self._stamps
        return (odd, even) if self.level % 2 else (even, odd)

    def _read(self, place: int) -> int:
        """Wait for all enqueued launches, and return an entry of the state."""
        cl.enqueue_copy(self._queue, self._host, self._state)
        return int(self._host[place])

    def _filled(self, size: int, value: int) -> cl.Buffer:
        buffer = cl.Buffer(self._queue.context, cl.mem_flags.READ_WRITE, size)
        cl.enqueue_fill_buffer(self._queue, buffer, np.full(1, value, np.int32), 0, size)
        return buffer
