"""The common part of the sparse methods: they compute the rows of a block of sources at a time.

A method solves N sources at once. The device holds O(n N + m) values and never the n x n matrix.
Finished rows are downloaded. `SourceBlocks` has this loop and its planning. `DeviceBlock` is for
methods that store the costs of a vertex from all sources of a block in adjacent entries. It has the
graph and the costs on the device, the flag whether a round has changed anything, and the kernels
for rows, and for predecessors from costs.

`run` and `row_blocks` use a `Session`. If the output is a mapped file, nothing of size n x n is in
memory. A search that does not `hide` values beyond the cutoff may leave any such value in
its rows. If weights are negative, it must not stop at the cutoff itself. Methods that do not derive
from `SourceBlocks` compute all rows, and the rows are selected afterwards.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyapsp.all_pairs.sparse.session import BlockSolver, Session, expected_of
from pyapsp.base.errors import CapabilityError, PyApspError
from pyapsp.base.host import flush
from pyapsp.base.progress import of_sources
from pyapsp.base.reuse import empty, empty_beside
from pyapsp.device.kernels import Program, Stopwatch
from pyapsp.graph import Facts, Graph
from pyapsp.graph.families import ARCS
from pyapsp.numbers.checks import check_weights
from pyapsp.paths import AllPairsMethod, AllPairsOptions, Rows
from pyapsp.paths.sharing import shared
from pyapsp.registry import AnyPlan, Hashed, Plan
from pyapsp.registry.tuning import tuned_rate
from pyapsp.registry.tuning.method import BufferedMethod

__all__ = [
    "LEVEL",
    "Programs",
    "SourceBlocks",
    "TunableBlocks",
    "levels_of",
    "lone_levels",
    "random_levels",
    "usual_sources",
]

# Time of the predecessors of a block, in that of its distances; measured on real graphs. True is
# for devices with scalar groups (CPUs).
_BEFORE = {True: 0.75, False: 0.4}
# Seconds of a call that do not depend on the number of sources.
_CALL = {True: 1e-3, False: 4e-4}
#: Seconds of a level of a search whose launches the host waits for, however few vertices it has:
#: measured on a path, on two cores of a CPU, and on meshes and random graphs, on a GPU.
LEVEL = 1e-4
# Seconds that a call takes longer for each further device, for its plan and its thread; and those
# of a byte of rows that come from several devices with memory of their own: measured on four GPUs,
# 2 GiB took 0.12 s, and from one of them 0.1.
_ANOTHER, _LANDING = 1e-3, 5.5e-11
# The spread from which on sources with consecutive numbers are far apart; and the largest depth of
# all sources, in that of a source: it is between one and two.
_SPREAD, _DEEPEST = 1 / 16, 4 / 3
# A mapped file is flushed after this many bytes.
_UNWRITTEN = 64 * 2**20


@dataclass(frozen=True)
class Programs:
    """The kernels of the search, and of the rows and sums after it."""

    search: Program
    rows: Program

    @property
    def hash(self) -> str:
        """The hash of those of the search."""
        return self.search.hash


class SourceBlocks(AllPairsMethod):
    """Base of the methods that solve a block of sources at a time."""

    by_source = True
    multidevice = True

    @abstractmethod
    def open(self, plan: AnyPlan, watch: Stopwatch) -> BlockSolver:
        """Copy the graph to the device, if the method uses one; the watch measures transfers."""

    def downloads(self, plan: AnyPlan) -> bool:
        """Return whether all rows come by `download`, in any type that holds the distances."""
        return False

    def hides(self, plan: AnyPlan) -> bool:
        """Return whether the search leaves out values beyond the cutoff itself."""
        return False

    def start(self, plan: AnyPlan) -> Session:
        """Start a session for a plan, with the graph on the devices."""
        return Session(self, plan)

    def unmet(self, about: Graph | Facts, options: AllPairsOptions) -> PyApspError | None:
        """Return the error of what the method needs; several devices write rows of the host."""
        if self.multidevice and options.helpers and options.device_rows is not None:
            return CapabilityError(f"{self.id} takes one device with keep='device'")
        return super().unmet(about, options)

    def predicted(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Predict for all devices, which do parts in proportion to their speeds at the same time.

        A device that is named twice is no faster.
        """
        if not options.helpers:
            return self.predict(graph, options, rows)
        alone = [replace(options, device=each, helpers=()) for each in options.devices]
        seconds = {one.device: self.predict(graph, one, rows) for one in alone}
        rates = {device: 1 / each for device, each in seconds.items() if each}
        if len(rates) < len(seconds):
            return None
        most = 0.0
        if not all(one.device.traits.scalar_groups for one in alone):
            each = (options.answer or options.dtype).itemsize + 4 * options.predecessors
            most = _LANDING * each * graph.n * rows
        for one in alone:
            part = math.ceil(rows * rates[one.device] / sum(rates.values()))
            most = max(most, self.predict(graph, one, part) or 0.0)
        return most + _ANOTHER * (len(alone) - 1)

    def run(self, plan: Plan[Graph, AllPairsOptions, Hashed]) -> Rows:
        """Solve the sources in blocks, each directly into its rows of the answer."""
        graph, options = plan.input, plan.options
        sources = options.rows(graph.n)
        distances: Any = options.device_rows if options.out is None else options.out
        if distances is None:
            distances = empty((sources.size, graph.n), options.answer or options.dtype)
        predecessors = None
        if options.predecessors:
            predecessors = empty_beside(distances, "predecessors", np.int32)
        tell, written = of_sources(options.progress), 0

        def after(done: int, total: int) -> None:
            nonlocal written
            if distances[written:done].nbytes >= _UNWRITTEN or done == total:
                flush(distances, predecessors)
                written = done
            if tell is not None:
                tell(done, total)

        with expected_of(self, plan, distances, predecessors):
            session = self.start(plan)
            session.fill(sources, distances, predecessors, after)
        return Rows(distances, predecessors, stats=session.stats(), checked=True)


def usual_sources(options: AllPairsOptions) -> int:
    """Return the usual number of sources of a block on CPUs, where these are a vector."""
    return max(8, options.device.traits.lanes(options.dtype.itemsize))


def random_levels(n: int, degree: float) -> float:
    """Return about the number of levels of a search in a random graph."""
    return 2 * math.log(max(n, 2)) / math.log(max(degree, 2))


def levels_of(graph: Facts) -> float:
    """Return about the number of levels of a search: the depth, or without an estimate a guess.

    Then only meshes are deep: with at most two arcs for each vertex a mesh may be a path.
    """
    if graph.depth is not None:
        return graph.depth
    if graph.family == "mesh":
        levels = graph.n if graph.m <= 2 * graph.n else 2 * graph.n**0.5
        return min(levels, max(graph.reach * graph.n, 1))
    return random_levels(graph.n, graph.m / max(graph.n, 1))


def lone_levels(graph: Facts) -> float:
    """Return in how many levels the sources of a block find different vertices.

    Sources of a block have consecutive numbers. In a deep graph whose vertices are numbered at
    random they are far apart, and so are their frontiers at all times. In a random graph, however,
    most vertices are found within a few levels from all sources. Some source of a block is deeper
    than the one that the depth was estimated from, which may be in the middle.
    """
    if graph.depth is None or (graph.spread or 0.0) < _SPREAD:
        return 0.0
    return max(_DEEPEST * graph.depth - 2 * random_levels(graph.n, graph.m / max(graph.n, 1)), 0.0)


class TunableBlocks(BufferedMethod, SourceBlocks):
    """Base of the methods with parameters."""

    growth = 1.0  # rates are those of n^3 updates, and searches take n m steps

    def check(self, graph: Graph, options: AllPairsOptions) -> None:
        """Raise an error if the type does not hold the weights."""
        check_weights(graph, options.dtype)

    def plan(self, graph: Graph, options: AllPairsOptions) -> AnyPlan:
        """Plan as the base class does; several devices share the sources."""
        return shared(super().plan, graph, options, blocks=True)

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Predict from the tuning rows around n, in proportion to sources and `steps`.

        Rows tell the time without predecessors, unless the kernels find these.
        """
        rate = tuned_rate(self, graph.n, options, graph.family)
        if rate is None:
            return None
        after = options.predecessors and not self.carries_predecessors
        more = 1 + _BEFORE[options.device.traits.scalar_groups] * after
        sources = self.full(options, rows)
        work = graph.n * sources * self.steps(graph, options, rows) * more / (ARCS * rate)
        return work + self.constant(graph, options, rows)

    def full(self, options: AllPairsOptions, rows: int) -> float:
        """Return how many sources in full vectors take as long as these; on GPUs as many.

        On CPUs the vectors of few sources are narrow, or in part empty: a vector of 2 sources took
        a quarter of the time of 16.
        """
        if not options.device.traits.scalar_groups:
            return rows
        at_once = options.device.capabilities.compute_units * usual_sources(options)
        return max(rows, math.sqrt(rows * at_once))

    def constant(self, graph: Facts, options: AllPairsOptions, rows: int) -> float:
        """Return the seconds of a call that the rate does not show, since it is that of n rows.

        There are more than n rows if sources occur twice.
        """
        return _CALL[options.device.traits.scalar_groups] * max(0, 1 - rows / max(graph.n, 1))

    def steps(self, graph: Facts, options: AllPairsOptions, rows: int) -> float:
        """Return the steps of a search: the arcs that it reaches, and at least n."""
        return max(graph.reach * graph.m, graph.n)
