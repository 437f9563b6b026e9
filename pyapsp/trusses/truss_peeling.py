"""truss-peeling: edges of least support are removed, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.base.json import Json
from pyapsp.device.kernels import Program, build
from pyapsp.graph import Graph
from pyapsp.registry import Options, Parameters, ParameterValues, Plan, register
from pyapsp.traversal.kernels import KernelArgument, Launcher
from pyapsp.trusses.counting import BitmapCounter, HashCounter
from pyapsp.trusses.decomposition import Removal, RemovalMethod, TrussOptions, supporting
from pyapsp.trusses.rows import Rows, Selection, buffer, zeros

__all__ = ["TrussPeeling"]

# The mark of an edge that is left, in the kernels.
_ALIVE = 2**31 - 1
# Groups that are launched for each compute unit.
_GROUPS = 16


@dataclass(frozen=True)
class _Programs:
    """The kernels."""

    peeling: Program
    left: Selection
    supports: BitmapCounter | HashCounter

    @property
    def hash(self) -> str:
        return self.peeling.hash


@register
class TrussPeeling(RemovalMethod[_Programs]):
    """Edges of least support are removed, and only their triangles are visited.

    Source: H. Kabir, K. Madduri, 2017.
    """

    id = "truss-peeling"
    summary = "edges of least support are removed round by round"
    source = (
        "Kabir and Madduri 2017, https://arxiv.org/abs/1707.02000; "
        "rounds without the host, searches in the longer row: ours"
    )
    choices: ClassVar[ParameterValues] = {
        "group": (1, 32, 64, 128, 256),
        "width": (1, 4, 8, 16, 32),
        "ahead": (1, 2, 4, 8),
    }

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield groups of one work-item on CPUs, larger ones elsewhere."""
        if options.device.traits.scalar_groups:
            yield {"group": 1, "width": 1, "ahead": 4}
        for group in (128, 64, 32):
            yield {"group": group, "width": 8, "ahead": 4}
        yield {"group": 1, "width": 1, "ahead": 4}

    def fits(self, parameters: Parameters, options: Options) -> bool:
        """Return whether the device has groups of this size, and the lanes divide them."""
        most = options.device.capabilities.max_work_group_size
        return bool(
            parameters.integer("group") <= most
            and parameters.integer("group") % parameters.integer("width") == 0
        )

    def rule(self, options: Options) -> str:
        """Return the conditions of `fits`."""
        most = options.device.capabilities.max_work_group_size
        return f"group must be at most {most} and a multiple of width"

    def further(self, graph: Graph, options: TrussOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of supports, marks, lists, sizes, and of the rows that are left."""
        n, m = graph.n, graph.m
        counter = supporting(options)
        counting = (
            counter.buffers(n, m) if isinstance(counter, BitmapCounter) else counter.buffers(n)
        )
        left = [4 * (n + 1), 4 * m, 4 * m, *Selection(options.device, False).buffers(n, m)]
        return [*[4 * (m // 2)] * 4, 4 * parameters.integer("ahead") + 4, 4, *counting, *left]

    def prepare(self, graph: Graph, options: TrussOptions, parameters: Parameters) -> _Programs:
        """Build the kernels."""
        device, group = options.device, parameters.integer("group")
        defines = {"PYAPSP_GROUP": group, "PYAPSP_WIDTH": parameters.integer("width")}
        optimise = group == 1 or device.traits.optimises_barriers
        program = build(device, "trusses/truss_peeling.cl", defines, optimise=optimise)
        return _Programs(program, Selection(device, oriented=False), supporting(options))

    def remove(self, plan: Plan[Graph, TrussOptions, _Programs], state: Removal) -> dict[str, Json]:
        """Remove edges until none, or the truss, is left."""
        queue, k, edges = state.queue, plan.options.k, state.up.m
        supports = zeros(queue, edges)
        plan.state.supports(queue, state.rows, state.up, supports)
        peel = _Peel(plan, state, supports)
        levels = 0
        if k is not None:
            while peel.drop(k - 3):
                pass
            peel.level(k - 3, 0)
            levels = 1
        else:
            while peel.left:
                level = peel.least()
                peel.level(level, level + 2)
                levels += 1
        return {"levels": levels, "rounds": peel.rounds}


class _Peel:
    """The edges that are left, on the device.

    Attributes
    ----------
    left : int
        Number of edges that are left.
    rounds : int
        Rounds so far.
    """

    def __init__(
        self, plan: Plan[Graph, TrussOptions, _Programs], state: Removal, supports: cl.Buffer
    ) -> None:
        self._plan, self._state, self._supports = plan, state, supports
        self._rows: Rows = state.rows
        self.left = self._selected = state.up.m
        self.rounds, self._ahead = 0, plan.parameters.integer("ahead")
        queue, edges = state.queue, state.up.m
        self._marks, self._lists = buffer(queue, edges), [buffer(queue, edges) for _ in range(2)]
        cl.enqueue_fill_buffer(queue, self._marks, np.full(1, _ALIVE, np.int32), 0, 4 * edges)
        self._sizes, self._lowest = zeros(queue, self._ahead + 1), buffer(queue, 1)
        group = plan.parameters.integer("group")
        self._launcher = Launcher(queue, plan.state.peeling, group)
        units = plan.options.device.capabilities.compute_units
        groups = units if plan.options.device.traits.scalar_groups else units * _GROUPS
        self._items = groups * group

    def _launch(self, kernel: str, *arguments: KernelArgument) -> None:
        self._launcher(kernel, self._items, *arguments)

    def least(self) -> int:
        """Return the least support of the edges that are left."""
        queue, lowest = self._state.queue, np.full(1, _ALIVE, np.int32)
        cl.enqueue_copy(queue, self._lowest, lowest)
        edges = np.int32(self._state.up.m)
        self._launch("peel_least", self._supports, self._marks, self._lowest, edges)
        cl.enqueue_copy(queue, lowest, self._lowest)
        return int(lowest[0])

    def drop(self, level: int) -> bool:
        """Remove the edges with a support of at most `level`, with value 0, if they are most edges.

        Then it takes less time to count the supports of the others again than to follow them.
        Return whether edges were removed and others are left.
        """
        queue, up, size = self._state.queue, self._state.up, np.empty(1, np.int32)
        self._collect(level)
        cl.enqueue_copy(queue, size, self._sizes)
        if 2 * int(size[0]) <= self.left:
            return False
        self._settle(0, 0)
        self.left -= int(size[0])
        if self.left:
            self._select()
            zero = np.zeros(1, np.int32)
            cl.enqueue_fill_buffer(queue, self._supports, zero, 0, 4 * up.m)
            rows = self._rows.first, self._rows.heads, up.values, up.heads
            self._launch("peel_count", *rows, self._marks, self._supports, np.int32(up.m))
        return self.left > 0

    def _collect(self, level: int) -> None:
        """List the edges that are left and have a support of at most `level`."""
        cl.enqueue_copy(self._state.queue, self._sizes, np.zeros(self._ahead + 1, np.int32))
        limits = np.int32(level), np.int32(self._state.up.m)
        lists = self._supports, self._marks, self._lists[0], self._sizes
        self._launch("peel_collect", *lists, *limits)

    def _settle(self, turn: int, value: int) -> None:
        """Mark the edges of a round, and write their value."""
        self.rounds += 1
        written = self._marks, self._state.values, np.int32(self.rounds), np.int32(value)
        self._launch("peel_settle", self._lists[0], self._sizes, np.int32(turn), *written)

    def _select(self) -> None:
        """Write the rows of the edges that are left."""
        select, alive = self._plan.state.left, (self._marks, _ALIVE)
        self._rows = select(self._state.queue, self._rows, 2 * self.left, *alive)
        self._selected = self.left

    def level(self, level: int, value: int) -> None:
        """Remove all edges whose support is, or falls to, at most `level`; write their value."""
        queue, up, ahead = self._state.queue, self._state.up, self._ahead
        sizes, limit = np.empty(ahead + 1, np.int32), np.int32(level)
        self._collect(level)
        while True:
            for turn in range(ahead):
                self._settle(turn, value)
                now, number = np.int32(turn), np.int32(self.rounds)
                rows = self._rows.first, self._rows.heads, self._rows.values, up.values, up.heads
                lists = self._lists[0], self._lists[1], self._sizes
                self._launch(
                    "peel_round", *rows, self._marks, self._supports, *lists, now, number, limit
                )
                self._lists.reverse()
            cl.enqueue_copy(queue, sizes, self._sizes)
            self.left -= int(sizes[:ahead].sum())
            if sizes[ahead] == 0:
                break
            sizes = np.append(sizes[ahead:], np.zeros(ahead, np.int32))
            cl.enqueue_copy(queue, self._sizes, sizes)
        if 0 < self.left <= self._selected // 2:
            self._select()
