"""The min-plus product for GPUs: a tile of it in the registers of a work-group.

With the parameter ``separate`` the product goes into a matrix of its own and is then combined with
the old values. This is for devices that do not hold the matrix.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.product import Product, Rectangle, Region, RightFactor, ints, numbers
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters

__all__ = ["Tiles"]

# Words in the register tile of a work-item on a CPU, where this form is only there for comparison:
# one compiler dies of the code for 8 x 8. Another dies of loops over a slice that make 256 updates
# of 64-bit integers.
_MOST_ON_CPU, _UPDATES_ON_CPU = 16, 128
# Work-items in a row, and in a column, of the group that closes a pivot tile.
_PIVOT_SIDE = 16
# Groups that copy. A driver that chooses them compiles the kernel again for each size of a matrix.
_COPYING = (32, 4)
# How a kernel that copies is told a place: the matrix, its pitch, the first row and column.
_Place: TypeAlias = tuple[cl.Buffer, np.int32, np.int32, np.int32]


class _Span(NamedTuple):
    """Rows, or columns, `low` to `high` - 1, without `gap` of them from `at` on.

    With no gap `at` is `high`.
    """

    low: int
    high: int
    at: int
    gap: int = 0

    @property
    def extent(self) -> int:
        """How many there are."""
        return self.high - self.low - self.gap


class Tiles(Product):
    """Register tiles of a work-group, slices of both factors in local memory.

    Where there are few tiles, in panels and inside a pivot block, a second program with a quarter
    of the tile is used.
    """

    names = frozenset(
        {"form", "block", "tile", "bits", "rows", "words", "group_x", "group_y", "slice"}
        | {"vector", "packed", "ahead", "separate"}
    )
    kernels = rectangle_kernels = "all_pairs/dense/fw_minplus.cl"
    macros = ("rows", "words", "group_x", "group_y", "slice", "vector", "tile", "packed")

    def _build_more(self, options: AllPairsOptions) -> None:
        """Build the program with a quarter of the tile."""
        self._small_p = numbers(self._smaller(self.parameters, options))
        self._small = self._build(options, self._small_p)

    @classmethod
    def candidates(cls, options: AllPairsOptions) -> Iterator[dict[str, int | str]]:
        """Yield parameter sets from the fastest to the least demanding."""
        value = options.dtype.itemsize
        packed = int(value == 2 and options.dtype.kind != "f")
        fused = options.dtype.kind != "f" and options.device.capabilities.packed16
        if options.dtype == np.float32 or (fused and value in {2, 4}):
            fastest = (256 if packed else 128, 128, 8, 16, 8, 16, 8)
        elif packed:  # each half of a word is computed in a register of its own
            fastest = (128, 64, 8, 8, 8, 8, 8)
        elif value == 8:
            fastest = (128, 128, 4, 4, 16, 16, 16)
        else:
            fastest = (128, 128, 8, 8, 8, 16, 16)
        most = options.device.traits.tile_bytes or sys.maxsize
        for block, tile, rows, words, x, y, depth in (
            fastest,
            (128, 64, 8, 8, 8, 8, 8),
            (128, 64, 8, 4, 16, 8, 8),
            (128, 64, 4, 4, 16, 16, 16),
            (64, 32, 4, 4, 8, 8, 8),
            (64, 32, 4, 2, 16, 8, 16),
        ):
            # a work-item has a tile of the product, or of the pivot, in 32-bit or wider registers
            if max(rows * words, (tile // _PIVOT_SIDE) ** 2) * max(value, 4) > most:
                continue
            yield {
                "form": "tiles",
                "block": block,
                "tile": tile,
                "bits": int(options.dtype.kind == "f" and value > 2),
                "rows": rows,
                "words": words,
                "group_x": x,
                "group_y": y,
                "slice": depth,
                "vector": 16 // max(value, 4),
                "packed": packed,
                "ahead": 0,
                "separate": 0,
            }

    @classmethod
    def fits(cls, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters go together and are within the limits of the device."""
        p, capabilities = numbers(parameters), options.device.capabilities
        register = p["rows"] * p["words"]
        large = register > _MOST_ON_CPU or register * p["slice"] > _UPDATES_ON_CPU
        if options.device.traits.scalar_groups and large:
            return False
        items = p["group_x"] * p["group_y"]
        tile_rows, tile_words = p["group_y"] * p["rows"], p["group_x"] * p["words"]
        loads = p["vector"] * items
        word = options.dtype.itemsize * (1 + p["packed"])
        local = 2 * p["slice"] * (tile_rows + tile_words) * word
        return (
            p["rows"] % p["vector"] == 0
            and p["words"] % p["vector"] == 0
            and p["slice"] * tile_rows % loads == 0
            and p["slice"] * tile_words % loads == 0
            and p["tile"] % tile_rows == 0
            and p["tile"] % p["slice"] == 0
            and p["tile"] % 32 == 0
            and not (p["ahead"] and p["separate"])
            and p["block"] % p["tile"] == 0
            and p["block"] % (tile_words * (1 + p["packed"])) == 0
            and (not p["packed"] or (options.dtype.itemsize == 2 and options.dtype.kind in "iu"))
            and max(items, 256) <= capabilities.max_work_group_size
            and local <= capabilities.local_memory
        )

    @property
    def unit(self) -> int:
        """What the rows and columns of everything must be a multiple of."""
        return math.lcm(self.p["tile"], self.p["group_x"] * _values(self.p))

    @property
    def turn(self) -> tuple[int, int]:
        """The steps, and the rows, that `multiply` takes at a time."""
        return self.unit, self.unit

    @classmethod
    def _smaller(cls, parameters: Parameters, options: AllPairsOptions) -> Parameters:
        """Return the parameters for a quarter of the tile."""
        halves = {name: max(parameters.integer(name) // 2, 1) for name in ("rows", "words")}
        for slice_ in (32, 16, 8):
            smaller = parameters | halves | {"slice": slice_}
            if cls.fits(smaller, options):
                return smaller
        return parameters

    def scratch(self, size: int) -> tuple[int, ...]:
        """Count the column panel before, and both panels after, the product with the pivot.

        With look-ahead the panels of two rounds are in use, and the product is kept when it is
        not added at once.
        """
        panels = (min(self.p["block"], size) * size,) * (5 if self.p["ahead"] else 3)
        return (*panels, size * size) if self.p["separate"] else panels

    def close_block(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], region: Region
    ) -> list[cl.Event]:
        """Enqueue Floyd-Warshall on the pivot block alone, in rounds over its tiles."""
        close, tile = self.program.kernel("fw_minplus_close"), self.p["tile"]
        items, group = (16, 16, region.graphs), (16, 16, 1)
        events = []
        for k in range(region.first, region.end, tile):
            events.append(close(queue, items, group, buffers[0], *ints(region.size, k)))
            depth = min(tile, region.end - k)
            if depth < region.depth:
                inner = replace(region, first=k, depth=depth, low=region.first, high=region.end)
                events += self.panels(queue, buffers, inner)
                events += next(self.remainder(queue, buffers, inner))
        return events

    def panels(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], region: Region
    ) -> list[cl.Event]:
        """Enqueue the panels of a closed pivot."""
        distances, old, left, right = buffers[:4]
        pack = self._small.kernel("fw_minplus_pack")
        panels = self._small.kernel("fw_minplus_panels")
        place = ints(region.size, region.first)
        width, height = _items(self._small_p, region.depth, region.extent)
        rest, group = ints(region.depth, region.low), (*_group(self._small_p), 1)
        strips, both = (region.depth, region.extent // 8, region.graphs), 2 * region.graphs
        low, items = np.int32(region.low), (width, height, both)
        return [
            pack(queue, strips, (32, 4, 1), distances, *place, low, old),
            panels(queue, items, group, distances, *place, *rest, old, left, right),
        ]

    def steps(self, size: int) -> int:
        """Return one step for the forms that are there for comparison only."""
        return 1 if self.p["ahead"] or self.p["separate"] else super().steps(size)

    def remainder(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], region: Region, steps: int = 1
    ) -> Iterator[list[cl.Event]]:
        """Enqueue the product of the panels into everything else, in bands of rows."""
        if self.p["separate"]:
            yield self._separately(queue, buffers, region)
            return
        # inside a pivot block there are few tiles
        wide = region.extent == region.size
        everything, high = (
            _Span(region.low, region.high, region.high),
            self.p["group_y"] * self.p["rows"],
        )
        bands = region.extent // high
        for step in range(steps):
            first, last = (region.low + high * (bands * part // steps) for part in (step, step + 1))
            rows = _Span(first, last, last)
            yield [self._product(queue, buffers, region, (rows, everything), wide=wide)]

    def _product(
        self,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        region: Region,
        place: tuple[_Span, _Span],
        *,
        wide: bool = True,
    ) -> cl.Event:
        """Enqueue D <- min(D, left x right) on some rows and columns, whose gaps are the same."""
        program, p = (self.program, self.p) if wide else (self._small, self._small_p)
        rows, columns = place
        kernel = program.kernel("fw_minplus_remainder")
        gap = max(rows.gap, columns.gap)
        numbers = ints(region.size, region.depth, rows.low, rows.at, columns.low, columns.at, gap)
        items = (*_items(p, rows.extent, columns.extent), region.graphs)
        group = (*_group(p), 1)
        event: cl.Event = kernel(queue, items, group, buffers[0], *numbers, *buffers[2:4])
        return event

    def _separately(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], region: Region
    ) -> list[cl.Event]:
        multiply = self.program.kernel("fw_minplus_multiply")
        add = self.program.kernel("fw_minplus_add")
        size, low, product = np.int32(region.size), np.int32(region.low), buffers[-1]
        items, depth = _items(self.p, region.extent, region.extent), np.int32(region.depth)
        return [
            multiply(queue, items, _group(self.p), product, size, depth, low, *buffers[2:4]),
            add(queue, (region.extent, region.extent), _COPYING, buffers[0], size, low, product),
        ]

    def ahead(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], size: int
    ) -> Iterator[list[cl.Event]]:
        """Enqueue all rounds, in each the pivot and the panels of the next beside the remainder.

        The rows and columns of the next pivot block come first; then its panels, in a queue of
        their own, while the remainder of this round runs.
        """
        block = self.p["block"]
        distances, old, *factors = buffers
        # even and odd rounds
        sets = [[distances, old, *factors[:2]], [distances, old, *factors[2:4]]]
        beside = self.program.device.queue()
        # the upload has to be there before the other queue starts
        queue.finish()
        region = Region(size, size, 0, min(block, size), 0, size)
        events = self.close_block(beside, sets[0], region)
        events += self.panels(beside, sets[0], region)
        for number in range(-(-size // block)):
            here, start = sets[number % 2], (number + 1) * block
            end = min(start + block, size)
            beside.flush()
            cl.enqueue_barrier(queue, wait_for=events[-1:])
            everything = _Span(0, size, size)
            if start >= size:
                yield [*events, self._product(queue, here, region, (everything, everything))]
                return
            gap = end - start
            cross, others = _Span(start, end, end), _Span(0, size, start, gap)
            events += [
                self._product(queue, here, region, (cross, everything), wide=False),
                self._product(queue, here, region, (others, cross), wide=False),
            ]
            queue.flush()
            cl.enqueue_barrier(beside, wait_for=events[-1:])
            there, after = sets[1 - number % 2], Region(size, size, start, gap, 0, size)
            next_events = self.close_block(beside, there, after)
            next_events += self.panels(beside, there, after)
            beside.flush()
            events.append(self._product(queue, here, region, (others, others)))
            queue.flush()
            yield events
            events, region = next_events, after

    def pack_left(
        self, queue: cl.CommandQueue, source: Rectangle, left: cl.Buffer
    ) -> list[cl.Event]:
        """Enqueue the packing of a left factor."""
        kernel = self.program.kernel("fw_minplus_pack_left")
        items = (source.columns, source.rows // 8)
        place = ints(source.pitch, source.row, source.column)
        return [kernel(queue, items, _COPYING, source.buffer, *place, left, np.int32(source.rows))]

    def pack_right(
        self, queue: cl.CommandQueue, source: Rectangle, right: RightFactor
    ) -> list[cl.Event]:
        """Enqueue a copy: a right factor is row-major."""
        size = (source.columns, source.rows)
        return [self._copy(queue, size, _of_rectangle(source), _of_factor(right))]

    def unpack_right(
        self, queue: cl.CommandQueue, right: RightFactor, target: Rectangle
    ) -> list[cl.Event]:
        """Enqueue the copy back."""
        size = (target.columns, target.rows)
        return [self._copy(queue, size, _of_factor(right), _of_rectangle(target))]

    def copy(self, queue: cl.CommandQueue, source: Rectangle, target: Rectangle) -> list[cl.Event]:
        """Enqueue a copy of a rectangle."""
        size = (source.columns, source.rows)
        return [self._copy(queue, size, _of_rectangle(source), _of_rectangle(target))]

    def _copy(
        self, queue: cl.CommandQueue, size: tuple[int, int], source: _Place, target: _Place
    ) -> cl.Event:
        """Enqueue a copy of a number of columns and rows."""
        kernel = self.program.kernel("fw_minplus_copy")
        event: cl.Event = kernel(queue, size, _COPYING, *source, *target)
        return event

    def multiply(
        self, queue: cl.CommandQueue, target: Rectangle, left: cl.Buffer, right: RightFactor
    ) -> list[cl.Event]:
        """Enqueue the product of two packed factors into a rectangle."""
        kernel = self.program.kernel("fw_minplus_rectangle")
        place = ints(target.pitch, target.row, target.column, right.depth, target.rows)
        at, items = ints(right.width, right.column), _items(self.p, target.rows, target.columns)
        group, block = _group(self.p), target.buffer
        return [kernel(queue, items, group, block, *place, left, right.buffer, *at)]


def _of_rectangle(rectangle: Rectangle) -> _Place:
    pitch, row, column = ints(rectangle.pitch, rectangle.row, rectangle.column)
    return rectangle.buffer, pitch, row, column


def _of_factor(factor: RightFactor) -> _Place:
    pitch, row, column = ints(factor.width, factor.row, factor.column)
    return factor.buffer, pitch, row, column


def _group(p: Mapping[str, int]) -> tuple[int, int]:
    return (p["group_x"], p["group_y"])


def _items(p: Mapping[str, int], rows: int, columns: int) -> tuple[int, int]:
    """Return how many work-items cover a part of the matrix."""
    return (columns // _values(p), rows // p["rows"])


def _values(p: Mapping[str, int]) -> int:
    """Return the values in a row of the register tile of a work-item."""
    return p["words"] * (1 + p["packed"])
