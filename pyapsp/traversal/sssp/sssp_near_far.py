"""sssp-near-far: relaxes vertices roughly by distance, with a near and a far list on the device."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Plan, register
from pyapsp.traversal.sssp.piles import Piles, PilesSearch
from pyapsp.traversal.sssp.tree import Programs

__all__ = ["SsspNearFar"]


@register
class SsspNearFar(PilesSearch):
    """Each launch uses the whole device to relax all near vertices of one source.

    Source: A. Davidson, S. Baxter, M. Garland, J. D. Owens, IPDPS 2014.
    """

    id = "sssp-near-far"
    summary = "work-efficient: near and far piles of one source, launches over the whole device"
    source = "Davidson et al. 2014, doi:10.1109/IPDPS.2014.45"
    deltas: ClassVar[tuple[int, int]] = (3200, 1600)

    def open(self, plan: Plan[Graph, PathOptions, Programs], watch: Stopwatch) -> _NearFar:
        """Copy the graph to the device."""
        return _NearFar(plan, watch)


class _NearFar(Piles):
    """Splits the far list at delta above the least distance in it."""

    def _take(self, now: int, day: int, far: int, limit: np.generic) -> np.generic | None:
        least = self._least(day, far, limit)
        if least == self._infinity or (self._cutoff is not None and least > self._cutoff):
            return None
        raised = self._raised(least)
        turns = np.int32(self._n), np.int32(now), np.int32(day), np.int32(far)
        self._launch("near_far_split", far, self._words, *self._pile, *turns, limit, raised)
        return raised
