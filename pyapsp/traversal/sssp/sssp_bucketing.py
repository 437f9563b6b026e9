"""sssp-bucketing: delta-stepping in which waiting vertices are sorted by bucket on the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters, ParameterValues, Plan, register
from pyapsp.traversal.sssp.piles import Piles, PilesSearch
from pyapsp.traversal.sssp.tree import Programs

__all__ = ["SsspBucketing"]


@register
class SsspBucketing(PilesSearch):
    """Near vertices are those of the first bucket that has any.

    Parameters: ``buckets`` is the number of buckets of a sort; the last one has all distances
    beyond the others. ``delta`` is the width of the others, in percent of the mean weight.

    Source: A. Davidson, S. Baxter, M. Garland, J. D. Owens, IPDPS 2014, the third of their methods.
    """

    id = "sssp-bucketing"
    summary = "waiting vertices of one source are sorted into buckets of distances"
    source = "Davidson et al. 2014, doi:10.1109/IPDPS.2014.45"
    deltas: ClassVar[tuple[int, int]] = (3200, 1600)
    choices: ClassVar[ParameterValues] = {**PilesSearch.choices, "buckets": (2, 4, 8, 16, 32, 64)}

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield eight buckets."""
        for candidate in super().candidates(options):
            yield {**candidate, "buckets": 8}

    def defines(self, parameters: Parameters) -> dict[str, int]:
        """Return the macros that the parameters give."""
        return super().defines(parameters) | {"PYAPSP_BUCKETS": parameters.integer("buckets")}

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer: those of all searches with piles, and of the buckets."""
        sizes = _sizes(parameters.integer("buckets"), options.dtype)
        return [*super().buffers(graph, options, parameters), *sizes]

    def open(self, plan: Plan[Graph, PathOptions, Programs], watch: Stopwatch) -> _Buckets:
        """Copy the graph to the device."""
        return _Buckets(plan, watch)


def _sizes(buckets: int, dtype: np.dtype) -> list[int]:
    """Return the bytes of each buffer of the buckets: bounds, counts, places."""
    return [dtype.itemsize * (buckets - 1), 4 * buckets, 4 * buckets]


class _Buckets(Piles):
    """Sorts the far list by bucket, and takes the first one that has vertices."""

    def __init__(self, plan: Plan[Graph, PathOptions, Programs], watch: Stopwatch) -> None:
        super().__init__(plan, watch)
        self._buckets = plan.parameters.integer("buckets")
        self._bounds, self._counts, self._places = (
            cl.Buffer(self._queue.context, cl.mem_flags.READ_WRITE, size)
            for size in _sizes(self._buckets, plan.options.dtype)
        )

    def _take(self, now: int, day: int, far: int, limit: np.generic) -> np.generic | None:
        before = limit.item()
        bounds, counts = self._counted(day, far, limit, before)
        if not counts.any():
            return None
        if not counts[:-1].any():
            before = self._least(day, far, limit)
            bounds, counts = self._counted(day, far, limit, before)
        taken = int(np.flatnonzero(counts)[0])
        if self._cutoff is not None and (bounds[taken - 1] if taken else before) > self._cutoff:
            return None
        near = counts[taken].copy()
        counts[taken] = 0
        places = (np.cumsum(counts) - counts).astype(np.int32)
        rest = np.int32(counts.sum())
        places[taken] = 0
        cl.enqueue_copy(self._queue, self._places, places)
        buffers = self._words, *self._pile, self._bounds, self._places
        turns = np.int32(self._n), np.int32(now), np.int32(day), np.int32(far)
        sizes = np.int32(taken), near, rest
        self._launch("bucketing_place", far, *buffers, *turns, limit, *sizes)
        threshold: np.generic = bounds[taken]
        return threshold

    def _counted(
        self, day: int, far: int, limit: np.generic, before: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of buckets that begin after a distance, and the vertices in each."""
        steps = [before + step * self._delta for step in range(1, self._buckets)]
        bounds = np.array([min(step, self._largest) for step in steps], self._dtype)
        counts = np.zeros(self._buckets, np.int32)
        cl.enqueue_copy(self._queue, self._bounds, bounds)
        cl.enqueue_copy(self._queue, self._counts, counts)
        buffers = self._words, self._lists, self._bounds, self._counts
        turns = np.int32(self._n), np.int32(day), np.int32(far), limit
        self._launch("bucketing_count", far, *buffers, *turns)
        cl.enqueue_copy(self._queue, counts, self._counts)
        return bounds, counts
