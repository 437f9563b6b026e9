"""scc-multi-step: trimming, rounds of searches, and colouring, each as often as parameters say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.base.json import Json
from pyapsp.device.kernels import Program, Stopwatch, build
from pyapsp.graph import Graph
from pyapsp.registry import Options, Parameters, ParameterValues, Plan, register
from pyapsp.traversal.components.scc_forward_backward import PartMethod, PartSearch, part_buffers
from pyapsp.traversal.kernels import KernelArgument, Launcher

__all__ = ["DEVSHATWAR", "SccMultiStep"]

#: The setting of S. Devshatwar, M. Amilkanthwar, R. Nasre, GPGPU 2016, as far as Busato's thesis
#: gives it, which is one turn of trimming. The rest is what the thesis has for the graphs on which
#: both methods took about the same time.
DEVSHATWAR: Mapping[str, int | str] = {
    "trim": 1,
    "searches": 1,
    "search": "virtual-warp",
    "colour_search": "quadratic",
}
_STRATEGIES = ("quadratic", "virtual-warp", "linear")
# Work-items for each compute unit in launches of a linear search, and vertices of a work-item in
# launches for all vertices.
_ITEMS, _VERTICES = 2048, 4
# The host enqueues 1, 2, 4, ... launches, at most this many, before it reads the state.
_AHEAD = 16
# Indices of the state, as in the kernels.
_ACTIVE, _PAINTED = 1, 3


@dataclass(frozen=True)
class _Programs:
    """The kernels: of the searches with pivots and with colours, and those of the other steps."""

    search: Program
    colour_search: Program
    steps: Program

    @property
    def hash(self) -> str:
        return self.steps.hash


@register
class SccMultiStep(PartMethod[_Programs]):
    """One step after the other: trimming, forward and backward searches, colouring.

    Parameters: ``trim`` turns of trimming; ``searches`` rounds of searches from a pivot of each
    part; ``search`` and ``colour_search`` say how these rounds and those of colouring traverse:
    "quadratic" looks at all vertices on each level, "virtual-warp" lets ``width`` work-items share
    the arcs of a vertex, "linear" keeps a queue.

    Source: F. Busato's thesis, 2018, chapter 9; G. M. Slota et al., IPDPS 2014.
    """

    id = "scc-multi-step"
    summary = "trimming, rounds of searches, and colouring, each with a choice of traversal"
    source = "Busato 2018, chapter 9; Slota et al. 2014, doi:10.1109/IPDPS.2014.64"
    choices: ClassVar[ParameterValues] = {
        "trim": (0, 1, 2, 3, 5, "full"),
        "searches": (0, 1, 2, 6, 17, 20),
        "search": _STRATEGIES,
        "colour_search": _STRATEGIES,
        "width": (4, 32),
        "group": (32, 128),
    }

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield what was fastest for most graphs of the thesis."""
        common: dict[str, int | str] = {
            "trim": 1,
            "searches": 1,
            "search": "linear",
            "colour_search": "linear",
        }
        for group in (128, 32):
            yield {**common, "width": 4, "group": group}

    def buffers(self, graph: Graph, options: Options, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer of a run: of the searches, colours, queue, sizes."""
        n = graph.n
        return [*part_buffers(graph), 4 * n, 4 * n, 16 * n, 12]

    def prepare(self, graph: Graph, options: Options, parameters: Parameters) -> _Programs:
        """Build the kernels."""

        def built(name: str, width: int) -> Program:
            defines = {"PYAPSP_GROUP": parameters.integer("group"), "PYAPSP_WIDTH": width}
            return build(options.device, f"traversal/components/{name}.cl", defines)

        return _Programs(
            search=built("scc_forward_backward", _width(parameters, "search")),
            colour_search=built("scc_forward_backward", _width(parameters, "colour_search")),
            steps=built("scc_multi_step", parameters.integer("width")),
        )

    def search(
        self, plan: Plan[Graph, Options, _Programs], entering: Graph, watch: Stopwatch
    ) -> _MultiStep:
        """Copy the graph to the device."""
        return _MultiStep(plan, entering, watch)


def _width(parameters: Parameters, step: str) -> int:
    """Return how many work-items share the arcs of a vertex."""
    return parameters.integer("width") if parameters[step] == "virtual-warp" else 1


class _MultiStep(PartSearch):
    """The steps.

    Attributes
    ----------
    colourings : int
        Number of rounds of colouring.
    """

    def __init__(
        self, plan: Plan[Graph, Options, _Programs], entering: Graph, watch: Stopwatch
    ) -> None:
        parameters, programs, graph = plan.parameters, plan.state, plan.input
        width = _width(parameters, "search")
        super().__init__(plan, programs.search, width, entering, watch)
        self._parameters, self._searches = parameters, parameters.integer("searches")
        group, device = parameters.integer("group"), plan.options.device
        self._colour_launch = Launcher(self._queue, programs.colour_search, group)
        self._steps = Launcher(self._queue, programs.steps, group)
        self._few = device.capabilities.compute_units * _ITEMS
        *_, colours, others, queue, sizes = SccMultiStep().buffers(graph, plan.options, parameters)
        self._colours = self._filled(colours, 0), self._filled(others, 0)
        self._fronts, self._sizes = self._filled(queue, 0), self._filled(sizes, 0)
        self.colourings = self._turn = 0

    def counts(self) -> dict[str, Json]:
        """Return the counts for the record."""
        return {**super().counts(), "colourings": self.colourings}

    def representatives(self) -> np.ndarray:
        """Return for each vertex the vertex that represents its component, int32."""
        self._trim()
        for _ in range(self._searches):
            if not self._left(self._elect()):
                return self._read_roots()
            self._find("search", is_colour=False)
            self._divide()
        self._launch, width = self._colour_launch, _width(self._parameters, "colour_search")
        self._width = width
        while self._left(self._paint()):
            self._find("colour_search", is_colour=True)
            arrays = self._words, *self._stamps, self._state
            self._step("settle", *arrays)
            self.colourings += 1
        return self._read_roots()

    def _left(self, active: int) -> int:
        """Tell the progress, and return how many vertices are left."""
        if self._progress is not None:
            self._progress(self._n - active, self._n)
        return active

    def _paint(self) -> int:
        """Make a part of each colour, and return how many vertices are left."""
        now, next_ = self._colours
        self._step("paint", self._words, now, next_, self._state)
        active = self._read(_ACTIVE)
        ahead = 1
        while active:
            for _ in range(ahead):
                self._turn += 1
                arrays = *self._arcs[:2], self._words, now, next_, self._state
                turn = np.int32(self._turn)
                self._steps("steps_spread", self._n, *arrays, np.int32(self._n), turn)
                now, next_ = next_, now
            if self._read(_PAINTED) < self._turn:
                break
            ahead = min(2 * ahead, _AHEAD)
        self._step("rename", self._words, now)
        return active

    def _find(self, step: str, *, is_colour: bool) -> None:
        """Search from pivots, or from the vertices of colours."""
        is_linear = self._parameters[step] == "linear"
        cl.enqueue_fill_buffer(self._queue, self._sizes, np.zeros(1, np.int32), 0, 12)
        stamps = self._ordered()
        arrays = self._words, self._pivots, *stamps, self._fronts, self._sizes
        flags = np.int32(is_colour), np.int32(is_linear)
        items = -(-self._n // _VERTICES)
        level = np.int32(self.level)
        self._steps("steps_begin", items, *arrays, np.int32(self._n), level, *flags)
        if not is_linear:
            self._go_on()
            return
        sizes, ahead = np.empty(3, np.int32), 1
        while True:
            for _ in range(ahead):
                lists = *self._arcs, self._words, stamps[0], self._fronts, self._sizes
                numbers = np.int32(self._n), np.int32(self.level)
                self._steps("steps_expand", self._few, *lists, *numbers)
                self.level += 1
            cl.enqueue_copy(self._queue, sizes, self._sizes)
            if sizes[self.level % 3] == 0:
                return
            ahead = min(2 * ahead, _AHEAD)

    def _step(self, name: str, *arrays: KernelArgument) -> None:
        """Launch a kernel for all vertices."""
        items = -(-self._n // _VERTICES)
        self._steps(f"steps_{name}", items, *arrays, np.int32(self._n))
