"""truss-delta: removed edges decrease the supports of others, which are not recounted."""

from __future__ import annotations

import numpy as np

from pyapsp.graph import Graph
from pyapsp.registry import Parameters, register
from pyapsp.trusses.counting import EDGES
from pyapsp.trusses.decomposition import TrussOptions
from pyapsp.trusses.intersections import Intersections
from pyapsp.trusses.remaining import DELTA
from pyapsp.trusses.rows import Selection
from pyapsp.trusses.step_programs import StepPrograms
from pyapsp.trusses.steps import ALIVE, StepMethod, Steps
from pyapsp.trusses.triangles_intersect import IntersectCounter

__all__ = ["TrussDelta"]


@register
class TrussDelta(StepMethod):
    """Edges in too few triangles are removed, and only their triangles are visited.

    Source: O. Green et al., HPEC 2017; F. Busato, thesis, Verona 2018, chapter 19.
    """

    id = "truss-delta"
    summary = "supports are updated after each removal"
    source = (
        "Green et al. 2017, doi:10.1109/HPEC.2017.8091038 (Delta); "
        "Busato 2018, chapter 19, https://iris.univr.it/handle/11562/979445"
    )

    def prepare(self, graph: Graph, options: TrussOptions, parameters: Parameters) -> StepPrograms:
        """Build the kernels."""
        device = options.device
        first, second = (
            Intersections(device, DELTA, parameters, {"PYAPSP_PASS": number}) for number in (1, 2)
        )
        counter = IntersectCounter(device, EDGES, parameters)
        left = Selection(device, oriented=False)
        longest = int(np.diff(graph.indptr).max(initial=0))
        return StepPrograms(first.program, counter, left, first.items, longest, (first, second))

    def take(self, steps: Steps, removed: int) -> None:
        """Write the rows of what is left and of what was removed, and update the supports."""
        queue, programs = steps.queue, steps.plan.state
        if steps.remaining is not None:
            gone_rows = steps.remaining.remove(removed)
            for number in (1, 2):
                steps.remaining.run(number, steps.list, number * removed, gone_rows)
            return
        gone = programs.left(queue, steps.rows, 2 * removed, steps.marks, steps.step)
        left = programs.left(queue, steps.rows, 2 * steps.left, steps.marks, ALIVE)
        steps.rows = left
        arrays = (
            *(left.first, left.heads, left.values, gone.first, gone.heads),
            *(steps.tails, steps.ends, steps.list, steps.supports),
        )
        for number, each in enumerate(programs.passes, start=1):
            each(queue, arrays, number * removed, programs.longest)
