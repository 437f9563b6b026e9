"""apsp-iterative, apsp-tasks and apsp-tasks-unshared: in each round vertices update neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pyapsp.all_pairs.sparse.device_block import BlockSearch, DeviceBlock
from pyapsp.all_pairs.sparse.source_blocks import LEVEL, Programs, TunableBlocks, levels_of
from pyapsp.device.kernels import Stopwatch, build
from pyapsp.graph import Facts, Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions, Weights
from pyapsp.registry import Parameters, Plan, register

__all__ = ["ApspIterative", "ApspTasks", "ApspTasksUnshared"]


@dataclass(frozen=True)
class _Programs(Programs):
    """The kernels, and in how many passes the costs are updated."""

    passes: int


class _Scattering(TunableBlocks):
    """Base of the three methods: a work-group computes B vertices for N sources.

    Attributes
    ----------
    shared : bool
        Whether a group copies its arcs to local memory.
    usual : int
        The usual number of sources that are solved at once.
    """

    requires = Weights(non_negative=True)
    shared: ClassVar[bool]
    usual: ClassVar[int] = 1

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Predict as the base class does; on GPUs a search takes at least its launches."""
        seconds = super().predict(graph, options, rows)
        if seconds is None or options.device.traits.scalar_groups:
            return seconds
        launches = -(-rows // self.usual) * levels_of(graph) * LEVEL
        return max(seconds, launches + self.constant(graph, options, rows))

    def sources(self, parameters: Parameters) -> int:
        """Return the number of sources that are solved at once."""
        return parameters.integer("sources")

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the device supports the group size and the local memory."""
        capabilities = options.device.capabilities
        items = self.sources(parameters) * parameters.integer("vertices")
        return bool(
            items <= capabilities.max_work_group_size
            and self._local_bytes(parameters, options) <= capabilities.local_memory
        )

    def rule(self, options: AllPairsOptions) -> str:
        """Return the limits."""
        capabilities = options.device.capabilities
        return (
            f"sources x vertices must be at most {capabilities.max_work_group_size}, and need at "
            f"most {capabilities.local_memory} bytes of local memory"
        )

    def _local_bytes(self, parameters: Parameters, options: AllPairsOptions) -> int:
        """Return the bytes of local memory.

        They are an int and a value for each work-item, and 20 bytes for each vertex.
        """
        if not self.shared:
            return 4
        sources, vertices = self.sources(parameters), parameters.integer("vertices")
        return int(vertices * (sources * (4 + options.dtype.itemsize) + 20) + 4)

    def buffers(self, graph: Graph, options: AllPairsOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer: graph, and three arrays of n x N."""
        return DeviceBlock.buffers(graph, options, self.sources(parameters), 1)

    def prepare(self, graph: Graph, options: AllPairsOptions, parameters: Parameters) -> _Programs:
        """Build the kernels."""
        device, dtype = options.device, options.dtype
        wide, atomics = dtype.itemsize == 8, device.capabilities.int64_atomics
        defines = arithmetic_defines(device, dtype)
        defines |= {
            "PYAPSP_SOURCES": self.sources(parameters),
            "PYAPSP_VERTICES": parameters.integer("vertices"),
            "PYAPSP_SHARED": int(self.shared),
            "PYAPSP_WORD": 64 if wide else 32,
            "PYAPSP_HAS_INT64_ATOMICS": int(atomics),
        }
        search = build(device, "all_pairs/sparse/scattering.cl", defines)
        block = DeviceBlock.build(options, self.sources(parameters))
        return _Programs(search, block, 2 if wide and not atomics else 1)

    def downloads(self, plan: Plan[Graph, AllPairsOptions, _Programs]) -> bool:
        """Return True: kernels write rows of any type, or they are converted on the way."""
        return True

    def open(self, plan: Plan[Graph, AllPairsOptions, _Programs], watch: Stopwatch) -> _Search:
        """Copy the graph to the device."""
        return _Search(plan, self.sources(plan.parameters), watch)


class _Search(BlockSearch):
    """Rounds of updates and checks, until nothing changes."""

    def __init__(
        self, plan: Plan[Graph, AllPairsOptions, _Programs], width: int, watch: Stopwatch
    ) -> None:
        programs, n, vertices = plan.state, plan.input.n, plan.parameters.integer("vertices")
        block = DeviceBlock(plan.input, plan.options, width, 1, programs.rows, watch)
        super().__init__(block, width)
        self._kernels = [
            programs.search.kernel(f"scattering_{name}") for name in ("start", "scatter", "check")
        ]
        self._passes = [np.int32(number) for number in range(programs.passes)]
        self._n, self._group = np.int32(n), (width, vertices)
        self._items = (-(-n // vertices) * width, vertices)

    def search(self, sources: np.ndarray) -> None:
        """Find the costs from some sources."""
        block, shape, n = self._block, (self._items, self._group), self._n
        start, scatter, check = self._kernels
        modified, costs, updates = block.marks, block.costs, block.words
        block.begin(sources)
        start(block.queue, *shape, block.sources, modified, costs, updates, n)
        changed = 1
        while changed:
            for number in self._passes:
                arrays = modified, costs, updates, block.flag
                scatter(block.queue, *shape, *block.arcs, *arrays, n, number)
            check(block.queue, *shape, modified, costs, updates, block.flag, n)
            changed = block.read_flag()


@register
class ApspIterative(_Scattering):
    """One source after the other, one work-item for each vertex.

    Source: P. Harish and P. J. Narayanan, HiPC 2007, as in F. Okuyama's thesis, 2013, 3.3.2.
    """

    id = "apsp-iterative"
    summary = "single-source shortest paths for one source after the other, by scattering"
    source = (
        "Harish and Narayanan 2007, doi:10.1007/978-3-540-77220-0_21; "
        "Okuyama 2013, section 3.3.2, figs. 3.3-3.5"
    )
    shared = False
    choices: ClassVar[Mapping[str, tuple[int, ...]]] = {"vertices": (32, 64, 128, 256, 512, 1024)}

    def sources(self, parameters: Parameters) -> int:
        """Return 1."""
        return 1

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield groups of 256 work-items, as in the paper, then smaller ones."""
        for vertices in (256, 128, 64, 32):
            yield {"vertices": vertices}


class _Tasks(_Scattering):
    """N sources at once."""

    usual = 32
    choices: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "sources": (1, 2, 4, 8, 16, 32, 64, 128, 256),
        "vertices": (1, 2, 4, 8, 16, 32, 64, 128, 256),
    }

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield 32 sources and 4 vertices, as in the thesis, then fewer sources for less memory."""
        shapes = ((self.usual, 4), (16, 4), (8, 4), (4, 4), (2, 4), (1, 4), (1, 1))
        for sources, vertices in shapes:
            yield {"sources": sources, "vertices": vertices}


@register
class ApspTasks(_Tasks):
    """N sources at once; they share the arcs of a vertex in local memory.

    Source: F. Okuyama's thesis, 2013, section 3.4; F. Ino et al., 2013, on parameter sweeps.
    """

    id = "apsp-tasks"
    summary = "N sources at once by scattering, arcs shared in local memory"
    source = "Okuyama 2013, section 3.4, figs. 3.6-3.9, https://hdl.handle.net/11094/24957"
    shared = True


@register
class ApspTasksUnshared(_Tasks):
    """N sources at once, without local memory, to measure the effect of sharing the arcs.

    Source: F. Okuyama's thesis, 2013, section 3.5.1.
    """

    id = "apsp-tasks-unshared"
    summary = "N sources at once by scattering, without local memory"
    source = "Okuyama 2013, section 3.5.1, https://hdl.handle.net/11094/24957"
    shared = False
