"""fw-blocked: iterative blocked Floyd-Warshall with tiles in local memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.floyd_warshall import Configuration, FloydWarshall, Run
from pyapsp.device.kernels import build
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters, register

__all__ = ["FwBlocked"]


@register
class FwBlocked(FloydWarshall):
    """Iterative blocked Floyd-Warshall: three launches for every t intermediate vertices.

    Source: Katz and Kider, Graphics Hardware 2008; F. Okuyama's thesis, 2013, section 4.2.1.

    Parameters
    ----------
    tile : int, optional
        Rows and columns of a tile (t).
    width : int, optional
        Values in a vector strip.
    rows : int, optional
        Strips that a work-item keeps in registers.
    group_x, group_y : int, optional
        Work-items of a group.
    """

    id = "fw-blocked"
    summary = "iterative blocked Floyd-Warshall, tiles in local memory"
    source = (
        "Katz and Kider 2008; "
        "Okuyama 2013, section 4.2.1, figs. 4.2-4.3, https://hdl.handle.net/11094/24957"
    )
    choices: ClassVar = {
        "tile": (8, 16, 32, 64, 128),
        "width": (1, 2, 4, 8, 16),
        "rows": (1, 2, 4, 8),
        "group_x": (1, 2, 4, 8, 16, 32),
        "group_y": (1, 2, 4, 8, 16, 32),
    }

    carries_predecessors = True

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield parameter sets from the fastest to the smallest."""
        lanes = options.device.traits.lanes(options.dtype.itemsize)
        for tile in (64, 32, 16, 8):
            if options.device.traits.scalar_groups:
                group = {"rows": 8, "group_x": 1, "group_y": 1}
            elif tile == 64:
                group = {"rows": 8, "group_x": 32, "group_y": 8}
            else:
                group = {"rows": 4, "group_x": tile, "group_y": tile // 4}
            # a strip may not be wider than the part of a row of a work-item
            yield {
                "tile": tile,
                "width": min(lanes, tile // group["group_x"]),
                **group,
            }

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters are legal together and within the device's limits."""
        tile, width, rows = parameters.integers("tile", "width", "rows")
        x, y = parameters.integer("group_x"), parameters.integer("group_y")
        device, value = options.device, options.dtype.itemsize
        local = (2 * tile**2 + 2 * tile) * value
        if options.predecessors:
            local += (2 * tile**2 + tile) * 4
        return bool(
            tile % (width * x) == 0
            and tile % (rows * y) == 0
            and width <= device.traits.lanes(value)
            and local <= device.capabilities.local_memory
            and x * y <= device.capabilities.max_work_group_size
        )

    def rule(self, options: AllPairsOptions) -> str:
        """Return the condition of `fits` as text."""
        device = options.device
        return (
            "tile must be a multiple of width x group_x and of rows x group_y, a strip at most "
            f"{device.traits.lanes(options.dtype.itemsize)} values wide, a group at most "
            f"{device.capabilities.max_work_group_size} work-items, and two tiles must fit "
            f"{device.capabilities.local_memory} bytes of local memory"
        )

    def configure(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> Configuration:
        """Build the kernels."""
        defines = arithmetic_defines(
            options.device,
            options.dtype,
            width=parameters.integer("width"),
            guard=graph.has_negative,
        )
        defines |= parameters.macros("tile", "rows", "group_x", "group_y")
        defines["PYAPSP_PREDECESSORS"] = int(options.predecessors)
        program = build(options.device, "all_pairs/dense/fw_blocked.cl", defines)
        tile = parameters.integer("tile")
        blocks = -(-graph.n // tile)
        return Configuration(parameters, program, size=blocks * tile, rounds=blocks)

    def enqueue_round(self, run: Run, number: int) -> list[cl.Event]:
        """Enqueue the pivot tile, its row and column tiles, and all others."""
        configuration, others = run.configuration, run.configuration.rounds - 1
        x, y = configuration.parameters.integers("group_x", "group_y")
        sizes = np.int32(configuration.size), np.int32(number)
        launches = [("pivot", (x, y))]
        if others > 0:
            launches += [("panels", (others * x, 2 * y)), ("remainder", (others * x, others * y))]
        return [
            run.kernel(f"fw_blocked_{name}")(run.queue, items, (x, y), *run.buffers, *sizes)
            for name, items in launches
        ]
