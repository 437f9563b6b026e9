"""Near and far lists on the device, and the searches that relax the near vertices in rounds.

Without 64-bit atomics a wide distance is lowered in two launches. ``settle`` copies the distances
of the near vertices first, so that both launches use the same values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import Stopwatch, build, upload
from pyapsp.graph import Graph
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import DeviceRows, HostOrDevice
from pyapsp.registry import Parameters, ParameterValues, Plan
from pyapsp.traversal.kernels import Launcher
from pyapsp.traversal.search import Lanes
from pyapsp.traversal.sssp.tree import NonNegativeSearch, Programs, Tree, word_defines, word_of

__all__ = ["Piles", "PilesSearch"]

# The largest number of groups that search the far list for the smallest distance.
_GROUPS = 64


class PilesSearch(Lanes[Programs], NonNegativeSearch):
    """Base of the searches in which each launch relaxes all near vertices of one source.

    Attributes
    ----------
    deltas : tuple of int
        The step of the threshold in percent of the mean weight, on GPUs and on CPUs.
    """

    deltas: ClassVar[tuple[int, int]]
    choices: ClassVar[ParameterValues] = {
        **Lanes.choices,
        "delta": (25, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12800),
    }

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield values of delta, which are multiples of the mean weight.

        With a larger delta more arcs are relaxed twice; with a smaller one there are more launches.
        """
        delta = self.deltas[options.device.traits.scalar_groups]
        for candidate in super().candidates(options):
            yield {**candidate, "delta": delta}

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer: arcs, state of the search, predecessors."""
        n, m, item = graph.n, graph.m, options.dtype.itemsize
        sizes = [8 * (n + 1), 4 * m, item * m, *_sizes(n, options.dtype)]
        if options.predecessors:
            sizes += Tree.buffers(n)
        return [max(size, 4) for size in sizes]

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Programs:
        """Build the kernels."""
        device = options.device
        arcs = np.dtype(np.int64), options.dtype
        defines = word_defines(device, options.dtype, *arcs) | self.defines(parameters)
        search = build(device, f"traversal/sssp/{self.id.replace('-', '_')}.cl", defines)
        tree = Tree.build(device, options.dtype, *arcs) if options.predecessors else None
        return Programs(search, tree)

    def defines(self, parameters: Parameters) -> dict[str, int]:
        """Return the macros that the parameters give."""
        return {
            "PYAPSP_GROUP": parameters.integer("group"),
            "PYAPSP_LANES": parameters.integer("width"),
        }


class Piles(ABC):
    """A graph on the device, with the near and far lists of a search.

    Attributes
    ----------
    rounds : int
        Rounds of all searches so far.
    """

    rounds = 0

    def __init__(self, plan: Plan[Graph, PathOptions, Programs], watch: Stopwatch) -> None:
        graph, options, parameters = plan.input, plan.options, plan.parameters
        self._n, self._group, self._width = (
            graph.n,
            parameters.integer("group"),
            parameters.integer("width"),
        )
        self._dtype, self._cutoff, self._watch = options.dtype, options.cutoff, watch
        self._infinity, whole = infinity(options.dtype), options.dtype.kind in "iu"
        self._largest = self._infinity - 1 if whole else float(np.finfo(options.dtype).max)
        self._queue = options.device.queue()
        self._launch = Launcher(self._queue, plan.state.search, self._group)
        self._delta = _delta(graph, options.dtype, parameters.integer("delta"))
        wide, atomics = options.dtype.itemsize == 8, options.device.capabilities.int64_atomics
        self._passes = 2 if wide and not atomics else 1
        self._arcs = [
            upload(self._queue, graph.indptr, watch),
            upload(self._queue, graph.indices, watch),
            upload(self._queue, graph.weights, watch, options.dtype),
        ]
        self._words, self._tried, self._lists, self._marks, self._sizes, self._minima = (
            cl.Buffer(self._queue.context, cl.mem_flags.READ_WRITE, size)
            for size in _sizes(graph.n, options.dtype)
        )
        self._pile = self._lists, self._marks, self._sizes
        self._tree = Tree.planned(plan, self._arcs, options.dtype)

    def search(self, source: int) -> None:
        """Relax near vertices until none are left, raise the threshold, and repeat."""
        n = np.int32(self._n)
        self._launch("piles_start", self._n, self._words, *self._pile, np.int32(source), n)
        now, day, near, far, limit = 0, 0, 1, 0, self._raised(0)
        while near:
            while near:
                self._relax(now, day, near, limit)
                now = 1 - now
                near, far = self._waiting(now, day)
            raised = self._take(now, day, far, limit) if far else None
            if raised is None:
                break
            limit, day = raised, 1 - day
            near, far = self._waiting(now, day)

    @abstractmethod
    def _take(self, now: int, day: int, far: int, limit: np.generic) -> np.generic | None:
        """Take near vertices from the far list, and return the new threshold.

        None if there are none to take: all have updated their neighbours, or are beyond the cutoff.
        """

    def read_predecessors(
        self, source: int, distances: HostOrDevice, predecessors: HostOrDevice
    ) -> None:
        """Find the predecessors from the distances."""
        assert self._tree is not None, "planned without predecessors"
        self._tree.find(self._words, source, predecessors, self._watch)

    def _relax(self, now: int, day: int, near: int, limit: np.generic) -> None:
        """Relax the arcs of all near vertices."""
        self.rounds += 1
        n, count = np.int32(self._n), np.int32(near)
        settled = self._words, self._tried, *self._pile, n, np.int32(now), count
        self._launch("piles_settle", near, *settled)
        turns = n, np.int32(now), np.int32(day), count, limit
        for number in range(self._passes):
            arrays = *self._arcs, self._words, self._tried, *self._pile
            items = near * self._width
            self._launch("piles_relax", items, *arrays, *turns, np.int32(number))

    def _waiting(self, now: int, day: int) -> tuple[int, int]:
        """Return the number of near and of far vertices."""
        sizes = np.empty(4, np.int32)
        cl.enqueue_copy(self._queue, sizes, self._sizes)
        return int(sizes[now]), int(sizes[2 + day])

    def _least(self, day: int, far: int, limit: np.generic) -> int | float:
        """Return the smallest distance above the threshold in the far list, else infinity."""
        groups = min(-(-far // self._group), _GROUPS)
        minima = np.empty(groups, self._dtype)
        arrays = self._words, self._lists, self._sizes, self._minima
        turns = np.int32(self._n), np.int32(day), np.int32(far), limit
        self._launch("piles_least", groups * self._group, *arrays, *turns)
        cl.enqueue_copy(self._queue, minima, self._minima)
        least: int | float = minima.min().item()
        return least

    def _raised(self, least: float) -> np.generic:
        """Return the next threshold: above the given distance, and below infinity."""
        limit = int(least) if self._dtype.kind in "iu" else float(least)
        raised: np.generic = self._dtype.type(min(limit + self._delta, self._largest))
        return raised

    def read_distances(self, distances: HostOrDevice) -> None:
        """Copy the distances into a row; the device may hold them in wider words."""
        if isinstance(distances, DeviceRows):
            distances.take(self._queue, self._words, self._dtype, self._n, word_of(self._dtype))
            return
        words = distances
        if self._dtype.itemsize < 4:
            words = np.empty(self._n, np.int32)
        with self._watch.by_the_host("transfer"):
            cl.enqueue_copy(self._queue, words, self._words)
        if words is not distances:
            bits = words.astype(np.uint16)
            distances[...] = bits.view(self._dtype)


def _sizes(n: int, dtype: np.dtype) -> list[int]:
    """Return the bytes of each buffer.

    They are words, copies of distances, lists, marks, sizes of lists, and minima.
    """
    item = dtype.itemsize
    return [word_of(dtype) * n, item * n, 16 * n, 4 * n, 16, item * _GROUPS]


def _delta(graph: Graph, dtype: np.dtype, percent: int) -> float:
    """Return the step of the threshold: a part of the mean weight, at least 1 in integers."""
    with np.errstate(over="ignore"):  # an infinite delta means the order of Bellman-Ford
        delta = graph.mean_weight * percent / 100 if graph.m else 1.0
    return max(round(min(delta, 2.0**62)), 1) if dtype.kind in "iu" else delta
