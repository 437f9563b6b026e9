"""bfs-luo: found vertices go through small queues in local memory to the queue of the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters, ParameterValues, register
from pyapsp.traversal.bfs.frontier_queues import Frontiers, FrontierSearch
from pyapsp.traversal.search import Search

__all__ = ["BfsLuo"]


class _Frontiers(Frontiers):
    """A work-item for each vertex of the frontier."""

    def expand(self, level: int, size: int) -> None:
        """Enqueue the kernel for one group, or that for the whole device."""
        sizes = np.int32(self.n), np.int32(level), np.int32(size)
        kernel = "bfs_luo_single" if size <= self.parameters.integer("group") else "bfs_luo"
        self.launch(kernel, size, *self.arrays, *sizes)

    def advance(self, level: int, size: int) -> tuple[int, int]:
        """Find the vertices of a level, or of several by one group."""
        self.expand(level, size)
        self.read_state()
        after = int(self.host[2]) if size <= self.parameters.integer("group") else level + 1
        return after, int(self.host[(after - 1) % 2])


@register
class BfsLuo(FrontierSearch):
    """A hierarchy of queues: buckets of a group, the group, the device.

    Source: L. Luo, M. Wong and W. Hwu, DAC 2010.
    """

    id = "bfs-luo"
    summary = "queues in local memory before the queue of the device; few vertices: one group"
    source = "Luo, Wong and Hwu 2010, doi:10.1145/1837274.1837289"
    searcher = _Frontiers
    choices: ClassVar[ParameterValues] = {
        **Search.choices,
        "buckets": (1, 8),
        "room": (8, 32, 128),
    }

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield eight buckets of 32 vertices, on CPUs one of 128."""
        cpu = options.device.traits.scalar_groups
        for candidate in super().candidates(options):
            yield {**candidate, "buckets": 1 if cpu else 8, "room": 128 if cpu else 32}

    def fits(self, parameters: Parameters, options: PathOptions) -> bool:
        """Return whether the device has groups of this size and memory for their buckets."""
        needed = 4 * parameters.integer("buckets") * (parameters.integer("room") + 2) + 64
        return bool(
            needed <= options.device.capabilities.local_memory and super().fits(parameters, options)
        )

    def rule(self, options: PathOptions) -> str:
        """Return the limits."""
        return (
            f"{super().rule(options)}, and buckets of room vertices must fit "
            f"{options.device.capabilities.local_memory:,} bytes"
        )

    def defines(
        self, graph: Graph, options: PathOptions, parameters: Parameters
    ) -> dict[str, str | int]:
        """Return the macros of the kernels."""
        buckets = parameters.macros("buckets", "room")
        return super().defines(graph, options, parameters) | buckets
