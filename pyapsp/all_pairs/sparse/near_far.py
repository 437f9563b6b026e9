"""near-far: all sources of a block at once, vertices roughly in the order of their distance.

On CPUs a work-group is one work-item, and its vectors are the sources: an arc is read once for 8 or
16 sources. On GPUs every step waits for memory, so many groups must be resident: 8 sources and 512
work-items are twice as fast as 32 and 128, and four arcs at a time are three times as fast as one.
A large delta (32 mean weights) costs more additions and saves rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.sparse.device_block import BlockSearch, DeviceBlock, rows_at_once
from pyapsp.all_pairs.sparse.source_blocks import (
    Programs,
    TunableBlocks,
    levels_of,
    lone_levels,
    usual_sources,
)
from pyapsp.device.kernels import Stopwatch, build
from pyapsp.graph import Facts, Graph
from pyapsp.graph.families import ARCS
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.precision import mean_step
from pyapsp.paths import AllPairsOptions, Weights
from pyapsp.registry import Parameters, Plan, register
from pyapsp.registry.tuning import Match

__all__ = ["NearFar"]

# A launch has at most _BLOCKS blocks for each compute unit, in at most one third of the memory.
_BLOCKS, _PART = 64, 3
# A launch looks at about so many vertices and arcs for each compute unit, so that it does not take
# much longer than a quarter of a second on a CPU, and half a second on a GPU, but has at least so
# many blocks: with scalar groups, and without. On a CPU half of what fills a GPU costs nothing.
_VISITS, _LEAST = {True: 10_000_000, False: 20_000_000}, {True: 2, False: 16}
# Ints that a search needs for each vertex and block.
_LISTS = 6
# Seconds of a level of the search on a GPU, where a group waits for each step: a path of 3,000
# vertices took 11 ms.
_LEVEL = 3.5e-6
# Seconds of an arc in a group of a GPU that has a unit for itself and searches from one source:
# measured with 2,500 to 40,000 vertices of 4 to 12 arcs. k sources take k ** _SHARED times as long,
# because they have visits in common in random graphs, and few in a mesh, if they are far apart.
_ALONE, _SHARED = 4e-8, {True: 0.8, False: 1 / 3}
# A source of n/x in a mesh takes x ** _APART times as long as one of n, up to x = _FAR: 2.5 to 3.5
# times on a CPU for 256 sources of 2,500 to 40,000 vertices, 3.5 on a GPU for 4,096 of 40,000.
_APART, _FAR = 0.4, 23
# On CPUs, so many of `lone_levels` are as if sources were one n-th farther apart: measured on grids
# and on nearest neighbours, of 3 to 16 arcs, numbered at random.
_LONE = 4
# Sources of a group on a GPU.
_SOURCES = 8


@register
class NearFar(TunableBlocks):
    """Near and far lists of vertices; a vertex is relaxed for all sources of a block at once.

    A work-group solves a block from beginning to end. On CPUs it is one work-item, and the sources
    are the elements of vectors. On other devices adjacent work-items are the sources.

    Source: A. Davidson, S. Baxter, M. Garland, J. D. Owens, IPDPS 2014, for one source at a time.
    """

    id = "near-far"
    summary = "work-efficient: near and far lists, a block of sources for each work-group"
    source = "Davidson et al. 2014, doi:10.1109/IPDPS.2014.45; sources side by side: ours"
    requires = Weights(non_negative=True)
    slowdown = 0.5  # float64 took 1.2 to 1.9 times as long as float32, mostly 1.5
    # delta in percent of the mean weight
    choices: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "sources": (2, 4, 8, 16, 32, 64, 128),
        "group": (1, 32, 64, 128, 256, 512),
        "delta": (25, 50, 100, 200, 400, 800, 1600, 3200, 6400),
    }

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Predict as the base class does; on GPUs at least the time of a group alone.

        Few sources are few groups, and the device is not full.
        """
        seconds = super().predict(graph, options, rows)
        if seconds is None or options.device.traits.scalar_groups:
            return seconds
        shared = min(max(rows, 1), _SOURCES) ** _SHARED[graph.family == "mesh"]
        alone = _ALONE * super().steps(graph, options, rows) * shared + _LEVEL * levels_of(graph)
        alone += self.constant(graph, options, rows)
        return float(max(seconds, alone))

    def steps(self, graph: Facts, options: AllPairsOptions, rows: int) -> float:
        """Return the steps of a search; on CPUs they are not in proportion to arcs.

        The more arcs, the fewer lead to a vertex that is not in a list already. And in a mesh, or
        another deep graph, the sources of a vector or group share fewer visits the farther apart
        they are.
        """
        apart = 1.0
        steps = super().steps(graph, options, rows)
        if options.device.traits.scalar_groups and graph.m > ARCS * graph.n:
            steps = max(graph.reach * math.sqrt(ARCS * graph.n * graph.m), graph.n)
        if graph.family == "mesh":
            apart = max(graph.n / max(rows, 1), apart)
        if options.device.traits.scalar_groups:
            apart = max(1 + lone_levels(graph) / _LONE, apart)
        return float(steps * min(apart, _FAR) ** _APART)

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield the usual parameters for this kind of device: on GPUs the largest group size."""
        if options.device.traits.scalar_groups or not _has_atomics(options):
            yield {"sources": usual_sources(options), "group": 1, "delta": 200}
            return
        for group in (512, 256, 128, 64, 32):
            yield {"sources": _SOURCES, "group": group, "delta": 3200}

    def sets(
        self, n: int, family: str, options: AllPairsOptions, *, rows: bool = True
    ) -> Iterator[tuple[Parameters, Match | None]]:
        """Yield the sets of `TunableMethod`, on CPUs with blocks as narrow as few sources need.

        A core solves a block, so that few sources in wide blocks leave cores without work. And a
        vector for 8 sources takes 2 to 3 times as long as one for 2, of which one is empty.
        """
        units: int = options.device.capabilities.compute_units
        share = -(-options.count(n) // units)
        enough = next((each for each in self.choices["sources"] if each >= share), share)
        for parameters, match in super().sets(n, family, options, rows=rows):
            parameters = Parameters(parameters)
            if parameters.integer("group") == 1 and "sources" not in self.parameters:
                parameters["sources"] = min(parameters.integer("sources"), enough)
            yield parameters, match

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the group has one work-item, or at least one for each source, and fits."""
        group = parameters.integer("group")
        return bool(
            group == 1
            or (
                group >= parameters.integer("sources")
                and group <= options.device.capabilities.max_work_group_size
                and _has_atomics(options)
            )
        )

    def rule(self, options: AllPairsOptions) -> str:
        """Return the limits."""
        most = options.device.capabilities.max_work_group_size if _has_atomics(options) else 1
        return f"group must be 1, or at least sources; and at most {most}"

    def buffers(self, graph: Graph, options: AllPairsOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer: graph, blocks, lists."""
        blocks, width = _blocks(graph, options, parameters), parameters.integer("sources")
        scratch = _scratch(options, parameters)
        block = DeviceBlock.buffers(graph, options, width, blocks, **scratch)
        return [*block, _lists(graph, blocks)]

    def prepare(self, graph: Graph, options: AllPairsOptions, parameters: Parameters) -> Programs:
        """Build the kernels."""
        device, dtype = options.device, options.dtype
        cutoff: dict[str, str | int] = {"PYAPSP_CUTOFF": int(options.cutoff is not None)}
        if parameters.integer("group") == 1:
            lanes = min(device.traits.lanes(dtype.itemsize), parameters.integer("sources"))
            defines = arithmetic_defines(device, dtype, width=lanes) | cutoff
            defines["PYAPSP_STRIPS"] = parameters.integer("sources") // lanes
            search = build(device, "all_pairs/sparse/near_far.cpu.cl", defines)
        else:
            defines = arithmetic_defines(device, dtype) | cutoff
            defines |= {
                **parameters.macros("sources", "group"),
                "PYAPSP_WORD": max(32, 8 * dtype.itemsize),
                "PYAPSP_HAS_INT64_ATOMICS": int(device.capabilities.int64_atomics),
            }
            search = build(device, "all_pairs/sparse/near_far.cl", defines)
        return Programs(search, DeviceBlock.build(options, parameters.integer("sources")))

    def downloads(self, plan: Plan[Graph, AllPairsOptions, Programs]) -> bool:
        """Return True: kernels write rows of any type, or they are converted on the way."""
        return True

    def hides(self, plan: Plan[Graph, AllPairsOptions, Programs]) -> bool:
        """Return True: costs beyond the cutoff are never stored."""
        return True

    def open(self, plan: Plan[Graph, AllPairsOptions, Programs], watch: Stopwatch) -> _Search:
        """Copy the graph to the device."""
        return _Search(plan, watch)


class _Search(BlockSearch):
    """One launch for several blocks of sources."""

    def __init__(self, plan: Plan[Graph, AllPairsOptions, Programs], watch: Stopwatch) -> None:
        graph, options, parameters = plan.input, plan.options, plan.parameters
        programs, width = plan.state, parameters.integer("sources")
        self._blocks = _blocks(graph, options, parameters)
        scratch = _scratch(options, parameters)
        shape = width, self._blocks
        block = DeviceBlock(graph, options, *shape, programs.rows, watch, **scratch)
        super().__init__(block, self._blocks * width)
        context = block.queue.context
        lists = _lists(graph, self._blocks)
        self._lists = cl.Buffer(context, cl.mem_flags.READ_WRITE, max(lists, 4))
        self._kernel = programs.search.kernel("near_far")
        self._shape = (self._blocks * parameters.integer("group"),), (parameters.integer("group"),)
        self._narrow = _narrow(options, parameters)
        self._values = programs.search.kernel("near_far_values") if self._narrow else None
        delta = mean_step(graph, options.dtype, parameters.integer("delta") / 100)
        self._sizes = np.int32(graph.n), delta, options.farthest_in(options.dtype)

    def search(self, sources: np.ndarray) -> None:
        """Find the costs from some sources."""
        block = self._block
        block.begin(sources)
        words = block.words if self._narrow else block.costs
        arrays = *block.arcs, block.sources, words, self._lists
        self._kernel(block.queue, *self._shape, *arrays, *self._sizes)
        if self._values is not None:
            self._values(block.queue, *self._shape, words, block.costs, self._sizes[0])


def _has_atomics(options: AllPairsOptions) -> bool:
    """Return whether the device has an atomic minimum for costs of this type."""
    return options.dtype.itemsize < 8 or options.device.capabilities.int64_atomics


def _narrow(options: AllPairsOptions, parameters: Parameters) -> bool:
    """Return whether atomics use words of 4 bytes for values of 2 bytes."""
    return bool(parameters.integer("group") > 1 and options.dtype.itemsize == 2)


def _scratch(options: AllPairsOptions, parameters: Parameters) -> dict[str, bool]:
    """Return which scratch buffers a block needs, in addition to the costs."""
    words = not options.totals or _narrow(options, parameters)
    return {"marks": options.predecessors, "words": words}


def _blocks(graph: Graph, options: AllPairsOptions, parameters: Parameters) -> int:
    """Return the number of blocks of a launch: all, or as many as fill the device, fit or end soon.

    The host cannot stop a launch.
    """
    width, capabilities = parameters.integer("sources"), options.device.capabilities
    wanted = -(-options.count(graph.n) // width)
    one = DeviceBlock.buffers(graph, options, width, 1, **_scratch(options, parameters))[-5:]
    room = options.memory // _PART // (sum(one) + _lists(graph, 1))
    rows = rows_at_once(options, graph.n) // width
    fits = min(room, int(capabilities.max_allocation) // max(one), rows)
    scalar = options.device.traits.scalar_groups
    each = _VISITS[scalar] // (width * max(graph.n + graph.m, 1))
    each = min(max(each, _LEAST[scalar]), _BLOCKS)
    blocks = max(min(wanted, fits, each * capabilities.compute_units), 1)
    launches = -(-wanted // blocks) or 1
    return max(-(-wanted // launches), 1)


def _lists(graph: Graph, blocks: int) -> int:
    """Return the bytes of the lists of `blocks` blocks."""
    return 4 * _LISTS * (graph.n + graph.n % 2) * blocks
