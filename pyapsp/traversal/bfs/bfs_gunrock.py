"""bfs-gunrock: an advance visits the arcs of the frontier, a filter makes the next one.

`balance` says how the arcs are shared: by the number of arcs of each vertex (``degrees``), with as
many vertices for each group (``vertices``), or with as many arcs (``arcs``). With ``size``, a
frontier of at most `switch` vertices takes ``vertices``, and a larger one ``arcs``: as published.
`each` is the number of neighbouring arcs of a work-item in ``arcs``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from pyapsp.device.kernels import Program, Stopwatch
from pyapsp.device.kernels.scan import Scan
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters, ParameterValues, Plan, register
from pyapsp.traversal.bfs.frontier_queues import Frontiers, FrontierSearch, WarpFrontierSearch
from pyapsp.traversal.kernels import KernelArgument
from pyapsp.traversal.search import Search

__all__ = ["BfsGunrock"]

# Groups for each compute unit that share what a launch before them has counted.
_SHARES = 16
_SWITCH, _EACH, _EACH_ON_CPUS = 4096, 8, 1024


class _Frontiers(Frontiers):
    """An advance and a filter for each level."""

    def __init__(
        self, method: FrontierSearch, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch
    ) -> None:
        super().__init__(method, plan, watch)
        self._balance, self._m = self.parameters.word("balance"), max(plan.input.m, 1)
        group, each, self._switch = self.parameters.integers("group", "each", "switch")
        units = plan.options.device.capabilities.compute_units
        self._most, self._chunk = _SHARES * units * group, group * each
        if self._balance in ("size", "arcs"):
            self._scan = _scan(plan.options, self.parameters)

    def expand(self, level: int, size: int) -> None:
        """Enqueue an advance and a filter."""
        visited, degrees, parts, *memory = self.more
        n, now = np.int32(self.n), np.int32(level)
        search: tuple[KernelArgument, ...] = *self.arrays, visited, n, now, np.int32(size)
        balance = self._balance
        if balance == "size":
            balance = "vertices" if size <= self._switch else "arcs"
        if balance == "arcs":
            self.launch("bfs_gunrock_count", size, *search, degrees)
            sums = self._scan(self.queue, degrees, size, memory=memory)
            found = sums, parts, self.state, now, np.int32(size)
            self.launch("bfs_gunrock_partition", self._m // self._chunk + 2, *found)
            self.launch("bfs_gunrock_arcs", min(self._m, self._most), *search, sums, parts)
        else:
            self.launch(f"bfs_gunrock_{balance}", size, *search)
        lists = visited, self.queues, self.state, n, now
        self.launch("bfs_gunrock_filter", min(self._m, self._most), *lists)


@register
class BfsGunrock(WarpFrontierSearch):
    """Gunrock's operators, with its three ways to share the arcs of a frontier.

    Source: Y. Wang et al., PPoPP 2016.
    """

    id = "bfs-gunrock"
    summary = "advance and filter; the size of the frontier decides how its arcs are shared"
    source = "Wang et al. 2016, doi:10.1145/2851141.2851145"
    searcher = _Frontiers
    choices: ClassVar[ParameterValues] = {
        "balance": ("size", "degrees", "vertices", "arcs"),
        "switch": (64, 1024, _SWITCH, 16384),
        "each": (2, _EACH, _EACH_ON_CPUS),
        "warp": (1, 8, 16, 32, 64),
        **Search.choices,
    }

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield groups of 256 work-items in warps of 32, and others; on CPUs first one of one."""
        shapes = [(256, 32, _EACH), (64, 32, _EACH), (32, 8, _EACH), (1, 1, _EACH)]
        if options.device.traits.scalar_groups:
            shapes.insert(0, (1, 1, _EACH_ON_CPUS))
        for group, warp, each in shapes:
            sizes = {"each": each, "warp": warp, "group": group}
            yield {"balance": "size", "switch": _SWITCH, **sizes}

    def idle(self, parameters: Parameters, options: PathOptions) -> Mapping[str, int | str]:
        """Return the border between two ways if there is one way, and the chunks of another."""
        balance = parameters.word("balance")
        idle: dict[str, int | str] = {} if balance == "size" else {"switch": _SWITCH}
        return idle if balance in ("size", "arcs") else {**idle, "each": _EACH}

    def local_bytes(self, parameters: Parameters) -> int:
        """Return the bytes of the arcs of a group, or of a chunk."""
        group, each = parameters.integers("group", "each")
        return 4 * max(5 * group + 2, 2 * group * each + 2)

    def more(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of visited arcs, degrees, parts of chunks, and sums."""
        if parameters.word("balance") not in ("size", "arcs"):
            return [4 * graph.m, 0, 0]
        group, each = parameters.integers("group", "each")
        sums = _scan(options, parameters).buffers(graph.n)
        return [4 * graph.m, 4 * graph.n, 4 * (graph.m // (group * each) + 2), *sums]

    def defines(
        self, graph: Graph, options: PathOptions, parameters: Parameters
    ) -> dict[str, str | int]:
        """Return the macros of the kernels."""
        return super().defines(graph, options, parameters) | parameters.macros("warp", "each")


def _scan(options: PathOptions, parameters: Parameters) -> Scan:
    """Return the prefix sum of the degrees of a frontier."""
    group, warp = parameters.integers("group", "warp")
    return Scan(options.device, group, _EACH if group > 1 else _EACH_ON_CPUS, warp)
