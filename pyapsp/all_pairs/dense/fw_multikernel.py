"""fw-multikernel: blocked Floyd-Warshall in three kernels per round, as a baseline.

This module also has the common part of `fw_singlekernel` and `fw_packed`: the work of a group on
one tile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.floyd_warshall import Configuration, FloydWarshall, Run
from pyapsp.all_pairs.dense.product import ints
from pyapsp.device import Device
from pyapsp.device.kernels import build
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters, register

__all__ = ["FwMultikernel", "TileRounds", "TileShape", "integers"]

# Work-items of a group that copies, at most.
_COPYING = 64


def integers(parameters: Parameters) -> dict[str, int]:
    """Return parameters as whole numbers, for methods that have no others."""
    return {name: int(value) for name, value in parameters.items()}


class TileShape:
    """The work of a group on a tile: parameters of ``cl/all_pairs/dense/tile_update.h``.

    Parameters
    ----------
    device : Device
    word_bytes : int
        Bytes of a word of the matrix.
    fields : int
        Values in a word.
    """

    choices: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "tile": (8, 16, 32, 64, 128, 256),
        "width": (1, 2, 4, 8, 16),
        "rows": (1, 2, 4, 8, 16),
        "group_x": (1, 2, 4, 8, 16, 32),
        "group_y": (1, 2, 4, 8, 16, 32, 64),
        "contiguous": (0, 1),
    }

    def __init__(self, device: Device, word_bytes: int, fields: int = 1) -> None:
        self.device, self.word_bytes, self.fields = device, word_bytes, fields

    def candidates(self, tiles: tuple[int, ...]) -> Iterator[Mapping[str, int | str]]:
        """Yield a parameter set for each tile size that holds a word."""
        lanes = self.device.traits.lanes(self.word_bytes)
        for tile in tiles:
            columns = tile // self.fields
            if columns == 0:
                continue
            if self.device.traits.scalar_groups:
                width, group_x, group_y = min(lanes, columns), 1, 1
                rows = 8
            else:
                width = min(lanes, max(columns // 8, 1))
                group_x = min(columns // width, 32)
                group_y = min(256 // group_x, tile, 64)
                rows = min(tile // group_y, 16)
            yield {
                "tile": tile,
                "width": width,
                "rows": rows,
                "group_x": group_x,
                "group_y": group_y,
                "contiguous": 0,
            }

    def fits(self, parameters: Mapping[str, int]) -> bool:
        """Return whether the parameters are legal together and within the device's limits."""
        tile, width, rows = parameters["tile"], parameters["width"], parameters["rows"]
        x, y = parameters["group_x"], parameters["group_y"]
        capabilities = self.device.capabilities
        return (
            tile % (self.fields * width * x) == 0
            and tile % (rows * y) == 0
            and width <= self.device.traits.lanes(self.word_bytes)
            and self._local_bytes(tile) <= capabilities.local_memory
            and x * y <= capabilities.max_work_group_size
            and x <= capabilities.max_work_item_sizes[0]
            and y <= capabilities.max_work_item_sizes[1]
        )

    def _local_bytes(self, tile: int) -> int:
        """Return the bytes of two tiles, a row, and a column of one word per value, all aligned."""
        columns = tile // self.fields
        arrays = [tile * columns, tile * columns, columns, tile]
        return sum(-(-count * self.word_bytes // 128) * 128 for count in arrays) + 128

    def rule(self) -> str:
        """Return the condition of `fits` as text."""
        words = f"{self.fields} x width" if self.fields > 1 else "width"
        return (
            f"tile must be a multiple of {words} x group_x and of rows x group_y, a strip at most "
            f"{self.device.traits.lanes(self.word_bytes)} words wide, a group at most "
            f"{self.device.capabilities.max_work_group_size} work-items, and two tiles must fit "
            f"{self.device.capabilities.local_memory} bytes of local memory"
        )

    @staticmethod
    def defines(parameters: Mapping[str, int]) -> dict[str, str | int]:
        """Return the macros of ``cl/all_pairs/dense/tile_update.h``."""
        names = ("tile", "rows", "group_x", "group_y", "contiguous")
        return {f"PYAPSP_{name.upper()}": parameters[name] for name in names}

    def matrix_bytes(self, parameters: Mapping[str, int], blocks: int) -> int:
        """Return the bytes of a matrix of `blocks` x `blocks` tiles."""
        return (blocks * parameters["tile"]) ** 2 // self.fields * self.word_bytes

    def scratch(self, parameters: Mapping[str, int], blocks: int) -> tuple[int, ...]:
        """Return the bytes of the buffer for a copy of the matrix; empty if none is needed."""
        return (self.matrix_bytes(parameters, blocks),) if parameters["contiguous"] else ()

    def reorder(
        self, run: Run, parameters: Mapping[str, int], *, back: bool = False
    ) -> list[cl.Event]:
        """Copy the matrices from the first buffer to the second, tile after tile; or back."""
        size = run.configuration.size
        tile, strip = parameters["tile"], self.fields * parameters["width"]
        items = size // strip, size, run.configuration.graphs
        # a driver that chooses groups compiles the kernel again for each size
        across = math.gcd(tile // strip, _COPYING)
        group = across, math.gcd(tile, _COPYING // across), 1
        kernel = run.kernel("tiles_to_rows" if back else "rows_to_tiles")
        rows, tiles = run.buffers[:2]
        to, from_ = (rows, tiles) if back else (tiles, rows)
        return [kernel(run.queue, items, group, to, from_, np.int32(size // tile))]


class TileRounds(FloydWarshall):
    """Base of the methods whose groups work on tiles as in `TileShape`: three kernels per round."""

    batched = True

    def fields(self, parameters: Mapping[str, int]) -> int:
        """Return the values in a word."""
        return 1

    def enqueue_round(self, run: Run, number: int) -> list[cl.Event]:
        """Enqueue the kernels of a round; before the first and after the last, reorder tiles."""
        configuration, parameters = run.configuration, integers(run.configuration.parameters)
        shape = TileShape(configuration.program.device, 1, self.fields(parameters))
        contiguous = parameters["contiguous"]
        events: list[cl.Event] = []
        if contiguous and number == 0:
            events += shape.reorder(run, parameters)
        events += self.enqueue_tiles(run, parameters, run.buffers[contiguous], number)
        if contiguous and number == configuration.rounds - 1:
            events += shape.reorder(run, parameters, back=True)
        return events

    def enqueue_tiles(
        self, run: Run, parameters: Mapping[str, int], matrix: cl.Buffer, number: int
    ) -> list[cl.Event]:
        """Enqueue kernels A, B and C of one round, of every graph."""
        x, y, graphs = parameters["group_x"], parameters["group_y"], run.configuration.graphs
        others = run.configuration.rounds - 1
        launches = [("a", (x, y, graphs))]
        if others > 0:
            launches += [("b", (others * x, 2 * y, graphs))]
            launches += [("c", (others * x, others * y, graphs))]
        place = ints(run.configuration.rounds, number)
        return [
            run.kernel(f"fw_multikernel_{name}")(run.queue, items, (x, y, 1), matrix, *place)
            for name, items in launches
        ]


@register
class FwMultikernel(TileRounds):
    """Blocked Floyd-Warshall in three kernels per round, P in registers, Q and R in local memory.

    Source: D. Takafuji's thesis, 2020, sections 3.2.1 and 3.2.2 (the "multiple kernel
    implementation"). There t is 32, a group has 64 to 1024 work-items (``group_x=32,
    rows=32 // group_y``) and tiles are contiguous in global memory (``contiguous=1``).

    Parameters
    ----------
    tile, width, rows, group_x, group_y : int, optional
        As for `FwBlocked`.
    contiguous : int, optional
        1: the kernels work on a copy of the matrix whose tiles are contiguous.
    """

    id = "fw-multikernel"
    summary = "blocked Floyd-Warshall, three kernels per round, P in registers"
    source = (
        "Takafuji 2020, sections 3.2.1-3.2.2, fig. 3.2, table 3.1; "
        "chapter 3 as an article: doi:10.1002/cpe.5963"
    )
    choices: ClassVar = TileShape.choices

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield parameter sets from the fastest to the smallest."""
        shape = TileShape(options.device, options.dtype.itemsize)
        yield from shape.candidates((64, 32, 16, 8, 128, 256))

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters are legal together and within the device's limits."""
        return TileShape(options.device, options.dtype.itemsize).fits(integers(parameters))

    def rule(self, options: AllPairsOptions) -> str:
        """Return what `fits` asks, in words."""
        return TileShape(options.device, options.dtype.itemsize).rule()

    def configure(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> Configuration:
        """Build the kernels."""
        shape, chosen = TileShape(options.device, options.dtype.itemsize), integers(parameters)
        defines = arithmetic_defines(
            options.device, options.dtype, width=chosen["width"], guard=graph.has_negative
        )
        defines |= shape.defines(chosen)
        program = build(options.device, "all_pairs/dense/fw_multikernel.cl", defines)
        tile = chosen["tile"]
        blocks = -(-graph.n // tile)
        scratch = shape.scratch(chosen, blocks)
        return Configuration(parameters, program, blocks * tile, rounds=blocks, scratch=scratch)
