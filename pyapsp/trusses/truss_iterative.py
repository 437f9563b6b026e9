"""truss-iterative: all triangles are counted again after each removal of edges."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import build_warps
from pyapsp.graph import Graph
from pyapsp.registry import Parameters, register
from pyapsp.trusses.counting import EDGES
from pyapsp.trusses.decomposition import TrussOptions
from pyapsp.trusses.rows import Selection
from pyapsp.trusses.step_programs import StepPrograms
from pyapsp.trusses.steps import ALIVE, StepMethod, Steps
from pyapsp.trusses.triangles_intersect import IntersectCounter, longest_row

__all__ = ["TrussIterative"]


@register
class TrussIterative(StepMethod):
    """Edges in too few triangles are removed, and all triangles are counted again.

    Source: F. Busato, thesis, Verona 2018, section 19.4; O. Green et al., HPEC 2017.
    """

    id = "truss-iterative"
    summary = "all triangles are counted again after each removal"
    source = (
        "Green et al. 2017, doi:10.1109/HPEC.2017.8091038 (Iterative); "
        "Busato 2018, section 19.4, https://iris.univr.it/handle/11562/979445"
    )

    def prepare(self, graph: Graph, options: TrussOptions, parameters: Parameters) -> StepPrograms:
        """Build the kernels."""
        device, group = options.device, parameters.integer("group")
        defines = {"PYAPSP_GROUP": group, "PYAPSP_WARP": 1}
        weak = build_warps(device, "trusses/truss_iterative.cl", defines)
        counter = IntersectCounter(device, EDGES, parameters)
        left = Selection(device, oriented=False)
        return StepPrograms(weak, counter, left, counter.items, longest_row(graph.m))

    def take(self, steps: Steps, removed: int) -> None:
        """Write the rows of what is left, and count."""
        select = steps.plan.state.left
        if steps.remaining is not None:
            steps.remaining.remove(removed)
        else:
            steps.up = select(steps.queue, steps.up, steps.left, steps.marks, ALIVE)
        zero = np.zeros(1, np.int32)
        cl.enqueue_fill_buffer(steps.queue, steps.supports, zero, 0, 4 * steps.edges)
        self.count(steps)
