"""bfs-luo: found vertices go through small queues in local memory to the queue of the device.

The size of a frontier decides who expands it: one group, which goes on from level to level; all
groups in one launch, which meet after each level; or a launch for each level. `middle` is the
largest frontier of the second kind, over the number of work-items that meet: 1 in the paper, where
one group of each compute unit takes part. It is 0, never, unless it is asked for, because OpenCL
does not promise that groups run at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import StallError
from pyapsp.device.kernels import Program, Stopwatch, build
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters, ParameterValues, Plan, register
from pyapsp.traversal.bfs.frontier_queues import Frontiers, FrontierSearch
from pyapsp.traversal.kernels import standard_of_fences
from pyapsp.traversal.search import Search

__all__ = ["BfsLuo"]

# Ints of the state, and places of `cl/common/meeting.h` in it.
_STATE, _ENTERED, _STALLED = 9, 3, 5


class _Frontiers(Frontiers):
    """A work-item for each vertex of the frontier."""

    def __init__(
        self, method: FrontierSearch, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch
    ) -> None:
        super().__init__(method, plan, watch)
        self._group = self.parameters.integer("group")
        self._meeting = plan.options.device.capabilities.compute_units * self._group
        self._most = self._meeting * self.parameters.integer("middle")

    def expand(self, level: int, size: int) -> None:
        """Enqueue the kernel for one group, for groups that meet, or for the whole device."""
        sizes = np.int32(self.n), np.int32(level), np.int32(size)
        if size <= self._group:
            self.launch("bfs_luo_single", size, *self.arrays, *sizes)
        elif size <= self._most:
            zeros = np.zeros(_STATE - _ENTERED, np.int32)
            cl.enqueue_copy(self.queue, self.state, zeros, dst_offset=4 * _ENTERED)
            most = np.int32(self._most)
            self.launch("bfs_luo_together", self._meeting, *self.arrays, *sizes, most)
        else:
            self.launch("bfs_luo", size, *self.arrays, *sizes)

    def advance(self, level: int, size: int) -> tuple[int, int]:
        """Find the vertices of a level, or of several by one group or by groups that meet."""
        self.expand(level, size)
        self.read_state()
        if self.host[_STALLED]:
            raise StallError(
                f"bfs-luo with middle={self.parameters['middle']} stalled at level {level} or "
                "later: a group waited while the others did not run. The answer was discarded; "
                "use middle=0"
            )
        after = int(self.host[2]) if size <= max(self._group, self._most) else level + 1
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
        "middle": (0, 1, 4, 16, 256),
    }

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield eight buckets of 32 vertices, on CPUs one of 128."""
        cpu = options.device.traits.scalar_groups
        for candidate in super().candidates(options):
            sizes = {"buckets": 1 if cpu else 8, "room": 128 if cpu else 32}
            yield {**candidate, **sizes, "middle": 0}

    def fits(self, parameters: Parameters, options: PathOptions) -> bool:
        """Return whether the device has such groups, memory for their buckets, and meetings."""
        needed = 4 * parameters.integer("buckets") * (parameters.integer("room") + 2) + 64
        return bool(
            needed <= options.device.capabilities.local_memory
            and (parameters.integer("middle") == 0 or self._may_meet(parameters, options))
            and super().fits(parameters, options)
        )

    def _may_meet(self, parameters: Parameters, options: PathOptions) -> bool:
        """Return whether groups can wait for each other."""
        device = options.device
        return bool(
            "middle" in self.parameters
            and device.capabilities.device_scope_fence
            and (parameters.integer("group") == 1 or not device.traits.scalar_groups)
        )

    def rule(self, options: PathOptions) -> str:
        """Return the limits."""
        return (
            f"{super().rule(options)}, and buckets of room vertices must fit "
            f"{options.device.capabilities.local_memory:,} bytes; middle above 0 must be asked "
            "for, needs device_scope_fence, and on CPUs group=1"
        )

    def state(self, graph: Graph, options: PathOptions, parameters: Parameters) -> int:
        """Return the ints of the sizes, the next level and the counters of meetings."""
        return _STATE

    def defines(
        self, graph: Graph, options: PathOptions, parameters: Parameters
    ) -> dict[str, str | int]:
        """Return the macros of the kernels."""
        buckets = parameters.macros("buckets", "room")
        together = {"PYAPSP_TOGETHER": int(parameters.integer("middle") > 0)}
        return super().defines(graph, options, parameters) | buckets | together

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Program:
        """Build the kernels, with fences between groups if they meet."""
        device, defines = options.device, self.defines(graph, options, parameters)
        standard = standard_of_fences(device) if parameters.integer("middle") else None
        return build(device, "traversal/bfs/bfs_luo.cl", defines, standard=standard)
