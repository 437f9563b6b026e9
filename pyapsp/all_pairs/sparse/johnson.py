"""johnson: negative weights, by potentials that make them non-negative for another method."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.sparse.dijkstra_cpu import DijkstraCpu
from pyapsp.all_pairs.sparse.near_far import NearFar
from pyapsp.all_pairs.sparse.scattering import ApspIterative, ApspTasks, ApspTasksUnshared
from pyapsp.all_pairs.sparse.session import BlockSolver
from pyapsp.all_pairs.sparse.source_blocks import SourceBlocks
from pyapsp.base.errors import CapabilityError, PyApspError
from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.graph import Facts, Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.bounds import distance_bound
from pyapsp.numbers.checks import check_weights, negative_cycle, refuse_negative_cycle, too_large
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.sharing import shared
from pyapsp.registry import AnyPlan, Hashed, Parameters, Plan, check_memory, register

__all__ = ["Johnson"]

# Work-items of a group that makes a round of potentials.
_GROUP = 64
_SEARCHES = {
    each.id: each for each in (NearFar, ApspTasks, ApspTasksUnshared, ApspIterative, DijkstraCpu)
}


@dataclass(frozen=True)
class _State:
    """The planned search, with placeholder weights, and the kernels of the potentials."""

    search: SourceBlocks
    plan: Plan[Graph, AllPairsOptions, Hashed]
    program: Program

    @property
    def hash(self) -> str:
        return self.plan.state.hash


@register
class Johnson(SourceBlocks):
    """Bellman-Ford on the device computes potentials; then a search uses non-negative weights.

    Potentials, and the distances for the changed weights, can be twice as large as distances. Their
    type is an integer type if the weights are whole numbers, else the widest float of the device.

    Source: D. B. Johnson, JACM 24(1), 1977.
    """

    id = "johnson"
    summary = "negative weights: potentials by Bellman-Ford, then another sparse method"
    source = "Johnson 1977, doi:10.1145/321992.321993"
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"search": tuple(_SEARCHES)}

    @property
    def _search(self) -> SourceBlocks:
        return _SEARCHES[str(self.parameters.get("search", NearFar.id))]()

    def unmet(self, about: Graph | Facts, options: AllPairsOptions) -> PyApspError | None:
        """Return the error of what the method needs, also of several devices."""
        if options.helpers and not self._search.multidevice:
            return CapabilityError(f"{self._search.id} uses one device")
        if about.has_negative and len({each.capabilities.fp64 for each in options.devices}) > 1:
            # potentials of another type would round distances otherwise
            return CapabilityError(f"{self.id} needs double precision on all devices, or on none")
        return super().unmet(about, options)

    def plan(self, graph: Graph, options: AllPairsOptions) -> AnyPlan:
        """Check weights and memory, plan the search and build the kernels, for each device."""
        return shared(self._planned, graph, options, blocks=True)

    def _planned(
        self, graph: Graph, options: AllPairsOptions
    ) -> Plan[Graph, AllPairsOptions, _State]:
        """Plan for one device."""
        check_weights(graph, options.dtype)
        started = time.perf_counter()
        search = self._search
        parameters = Parameters({"search": search.id})
        inner, stand_in = options, graph
        buffers = []
        if graph.has_negative:
            dtype = _dtype_of_potentials(graph, options)
            # the potentials must be subtracted from its rows, so it cannot return sums
            inner = replace(options, dtype=dtype, out=None, totals=False)
            buffers = _buffers(graph, inner)
            check_memory(buffers, options)
            stand_in = graph.with_weights(abs(graph.weights))
        plan = search.plan(stand_in, inner)
        defines = arithmetic_defines(options.device, inner.dtype, guard=True)
        program = build(options.device, "all_pairs/sparse/johnson.cl", defines)
        return Plan(
            graph,
            options,
            parameters,
            max(sum(buffers), plan.device_bytes),
            _State(search, plan, program),
            time.perf_counter() - started,
        )

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Predict as the search does, for graphs with negative weights; the potentials take little.

        Without negative weights the search itself is a candidate.
        """
        if not graph.has_negative:
            return None
        dtype = _dtype_of_potentials(graph, options)
        return self._search.predict(graph, replace(options, dtype=dtype), rows)

    def downloads(self, plan: Plan[Graph, AllPairsOptions, _State]) -> bool:
        """Return whether the rows are those of the search."""
        state = plan.state
        return not plan.input.has_negative and state.search.downloads(state.plan)

    def hides(self, plan: Plan[Graph, AllPairsOptions, _State]) -> bool:
        """Return whether the rows are those of the search, and it hides."""
        state = plan.state
        return not plan.input.has_negative and state.search.hides(state.plan)

    def open(self, plan: Plan[Graph, AllPairsOptions, _State], watch: Stopwatch) -> BlockSolver:
        """Compute the potentials, and copy the graph with non-negative weights to the device."""
        graph = plan.input
        state = plan.state
        if not graph.has_negative:
            return state.search.open(state.plan, watch)
        dtype = state.plan.options.dtype
        potentials = _potentials(graph, plan.options, state.program, dtype, watch)
        tails, heads, weights = graph.arcs()
        # in this order rounding cannot make a weight negative, as h(v) is the minimum of h(u) + w
        lifted = (weights.astype(dtype) + potentials[tails]) - potentials[heads]
        options = state.plan.options
        if options.cutoff is not None:
            farthest = _lifted_cutoff(graph, plan.options, potentials)
            options = replace(options, cutoff=farthest).computed_in(dtype)
        inner = replace(state.plan, input=graph.with_weights(lifted), options=options)
        return _Lowered(state.search.open(inner, watch), potentials)


class _Lowered:
    """The rows of a search, with the potentials subtracted."""

    def __init__(self, solver: BlockSolver, potentials: np.ndarray) -> None:
        self._solver, self._potentials = solver, potentials
        self.size = solver.size

    def solve_block(
        self, sources: np.ndarray, distances: np.ndarray, predecessors: np.ndarray | None
    ) -> None:
        """Compute the rows of a block of sources."""
        potentials = self._potentials
        rows = np.empty(distances.shape, potentials.dtype)
        self._solver.solve_block(sources, rows, predecessors)
        unreached = rows == infinity(rows.dtype)
        rows -= potentials[sources, None]
        rows += potentials
        limit = infinity(distances.dtype)
        if distances.dtype.kind in "iu":  # distances are clipped here; `check_answer` finds that
            np.clip(rows, -limit, limit, out=rows)
        with np.errstate(over="ignore"):
            distances[...] = rows
        distances[unreached] = limit


def _lifted_cutoff(graph: Graph, options: AllPairsOptions, potentials: np.ndarray) -> int | float:
    """Return a distance for the changed weights that no vertex within the cutoff exceeds.

    A distance changes by the potential of the source minus that of the vertex. The sums of floats
    are rounded: each by at most a part of the largest number.
    """
    cutoff = options.cutoff
    assert cutoff is not None
    span = potentials.max() - potentials.min()
    if potentials.dtype.kind in "iu":
        return math.floor(cutoff) + int(span)
    largest = cutoff + 2 * float(span) + graph.max_magnitude
    each = np.finfo(potentials.dtype).eps * graph.n
    if options.dtype.kind == "f":
        each += np.finfo(options.dtype).eps
    return float(cutoff + float(span) + 4 * each * largest)


def _dtype_of_potentials(graph: Graph | Facts, options: AllPairsOptions) -> np.dtype:
    """Return the type of potentials and of distances between them."""
    if graph.is_integer:
        for dtype in map(np.dtype, (np.int32, np.int64)):
            if 2 * distance_bound(graph) + graph.max_magnitude < infinity(dtype):
                return dtype
    if options.dtype.kind == "i":
        return options.dtype  # int64, the only integer type that holds such weights
    wide = options.device.capabilities.fp64
    return np.dtype(np.float64 if wide else np.float32)


def _buffers(graph: Graph, options: AllPairsOptions) -> list[int]:
    """Return the bytes of the buffers of `_potentials`: arcs, potentials twice, parents, flag."""
    n, m, item = graph.n, graph.m, options.dtype.itemsize
    return [8 * (n + 1), 4 * m, item * m, item * n, item * n, 4 * n, 4]  # there is a negative arc


def _potentials(
    graph: Graph, options: AllPairsOptions, program: Program, dtype: np.dtype, watch: Stopwatch
) -> np.ndarray:
    """Return the potentials of all vertices.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle; then no potentials exist.
    PrecisionError
        If the type does not hold the potentials, or rounding makes a cycle look negative.
    """
    queue = options.device.queue()
    entering = graph.reversed()
    weights = entering.weights.astype(dtype)
    arcs = [upload(queue, each, watch) for each in (entering.indptr, entering.indices, weights)]
    potentials, parents = np.zeros(graph.n, dtype), np.full(graph.n, -1, np.int32)
    before, after, parents_there = (
        upload(queue, each, watch) for each in (potentials, potentials, parents)
    )
    changed = np.zeros(1, np.int32)
    flag = upload(queue, changed, watch)
    round_of_all = program.kernel("johnson_round")
    # a driver that chooses groups compiles the kernel again for each number of vertices
    group = min(_GROUP, options.device.capabilities.max_work_group_size)
    items, n = -(-graph.n // group) * group, np.int32(graph.n)
    for done in range(1, graph.n + 1):
        cl.enqueue_copy(queue, flag, np.zeros(1, np.int32))
        round_of_all(queue, (items,), (group,), *arcs, before, after, parents_there, flag, n)
        before, after = after, before
        cl.enqueue_copy(queue, changed, flag)
        if not changed[0]:
            break
        # a cycle of parents is a negative cycle; it appears long before the last round
        if done & (done - 1) == 0 or done == graph.n:
            cl.enqueue_copy(queue, parents, parents_there)
            if _goes_round(parents) or done == graph.n:
                refuse_negative_cycle(graph, dtype)
    cl.enqueue_copy(queue, potentials, before)
    if potentials.min() <= -infinity(dtype):  # the sums were clamped there
        raise negative_cycle(graph) or too_large(graph, dtype)
    return potentials


def _goes_round(parents: np.ndarray) -> bool:
    """Return whether the parents form a cycle."""
    n = parents.size
    jump = np.append(np.where(parents < 0, n, parents), n)
    for _ in range(n.bit_length()):
        jump = jump[jump]
    return bool((jump < n).any())
