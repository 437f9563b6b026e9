"""bfs-b40c: expansion by group, warp and prefix sum; contraction with a bit for each vertex.

`frontier` says what there is between two levels: vertices (expand-contract in the paper), arcs
(contract-expand), or vertices and within a level arcs (two-phase). With ``hybrid`` there are arcs,
and a level of more arcs than work-items run at the same time has a launch for each phase. A compute
unit runs `resident` work-items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from pyapsp.device.kernels import Program, Stopwatch
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters, ParameterValues, Plan, register
from pyapsp.traversal.bfs.frontier_queues import Frontiers, FrontierSearch, WarpFrontierSearch
from pyapsp.traversal.kernels import KernelArgument
from pyapsp.traversal.search import Search

__all__ = ["BfsB40C"]

# Entries of the table of a warp, as in the source.
_TABLE = 128
# Groups for each compute unit that share the arcs between two phases.
_SHARES = 16
# The forms with arcs between two levels, and the rows of arcs that each form needs.
_ARCS = ("edge", "hybrid")
_ROWS = {"vertex": 0, "edge": 2, "two-phase": 1, "hybrid": 2}
# Work-items of a compute unit that run at the same time, on GPUs and on CPUs.
_RESIDENT, _RESIDENT_ON_CPUS = 2048, 16


class _Frontiers(Frontiers):
    """The frontier between two launches has vertices or arcs."""

    def __init__(
        self, method: FrontierSearch, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch
    ) -> None:
        super().__init__(method, plan, watch)
        self._kind, self._m = self.parameters.word("frontier"), plan.input.m
        units = plan.options.device.capabilities.compute_units
        self._resident = units * self.parameters.integer("resident")
        self._most = _SHARES * units * self.parameters.integer("group")

    def start(self, source: int) -> None:
        """Enqueue the kernels that prepare a search."""
        super().start(source)
        mask, edges, _ = self.more
        scalars = np.int32(source), np.int32(self.n), np.int32(self._kind in _ARCS)
        self.launch("bfs_b40c_start", self.n, mask, edges, self.state, *scalars)

    def expand(self, level: int, size: int) -> None:
        """Enqueue one launch, or one for each phase."""
        scalars = np.int32(self.n), np.int64(max(self._m, 1)), np.int32(level), np.int32(size)
        arguments: tuple[KernelArgument, ...] = *self.arrays, *self.more, *scalars
        if self._kind == "two-phase":
            self.launch("bfs_b40c_expand", size, *arguments)
            self.launch("bfs_b40c_contract", min(self._m, self._most), *arguments)
        elif self._kind == "hybrid" and size > self._resident:
            self.launch("bfs_b40c_contract_arcs", size, *arguments)
            self.launch("bfs_b40c_expand_found", min(self.n, size, self._most), *arguments)
        else:
            kernel = "bfs_b40c_edge" if self._kind in _ARCS else "bfs_b40c_vertex"
            self.launch(kernel, size, *arguments)


@register
class BfsB40C(WarpFrontierSearch):
    """Expansion and contraction of frontiers of vertices, of arcs, or of both in turns.

    Source: D. Merrill, M. Garland and A. Grimshaw, PPoPP 2012.
    """

    id = "bfs-b40c"
    summary = (
        "arcs read by groups, warps and prefix sums; a table and a bit mask against duplicates"
    )
    source = "Merrill, Garland and Grimshaw 2012, doi:10.1145/2145816.2145832"
    searcher = _Frontiers
    choices: ClassVar[ParameterValues] = {
        "frontier": tuple(_ROWS),
        "resident": (_RESIDENT_ON_CPUS, 256, _RESIDENT),
        "warp": (1, 8, 16, 32, 64),
        **Search.choices,
    }

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield groups of 128 work-items in warps of 32, on CPUs of one."""
        cpu = options.device.traits.scalar_groups
        for group, warp in ((1, 1),) if cpu else ((128, 32), (64, 32), (32, 8), (1, 1)):
            resident = _RESIDENT_ON_CPUS if cpu else _RESIDENT
            sizes = {"warp": warp, "group": group, "resident": resident}
            yield {"frontier": "two-phase", **sizes}

    def idle(self, parameters: Parameters, options: PathOptions) -> Mapping[str, int | str]:
        """Return the limit of the hybrid for the other forms."""
        return {} if parameters.word("frontier") == "hybrid" else {"resident": _RESIDENT}

    def local_bytes(self, parameters: Parameters) -> int:
        """Return the bytes of the arcs of a group, and of the tables of its warps."""
        group, warp = parameters.integers("group", "warp")
        return 4 * (5 * group + 1 + 2 * _TABLE * (group // warp))

    def more(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of the bits, and of heads and tails of arcs."""
        # the source is in the frontier even if there are no arcs
        arcs = 4 * _ROWS[parameters.word("frontier")] * max(graph.m, 1)
        return [4 * -(-graph.n // 32), arcs, arcs * options.predecessors]

    def defines(
        self, graph: Graph, options: PathOptions, parameters: Parameters
    ) -> dict[str, str | int]:
        """Return the macros of the kernels."""
        warps = parameters.integer("group") // parameters.integer("warp")
        table = parameters.macros("warp") | {"PYAPSP_TABLE": _TABLE * warps}
        return super().defines(graph, options, parameters) | table
