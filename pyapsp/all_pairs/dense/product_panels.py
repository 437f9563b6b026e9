"""The min-plus product for CPUs: panels packed in the order in which a micro-kernel reads them.

The rate of these kernels is close to the roof, so the cost of host memory matters. Three measures
reduce it: the next register block is prefetched (`Traits.prefetches`), rows a multiple of 2 KiB
apart get one more cache line, and large matrices are in large pages (`Device.buffer`). A vector is
as long as a register. With 16-bit values and 64 bytes this is more than the 16 elements of OpenCL C
(`Traits.long_vectors`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.product import Product, Rectangle, Region, RightFactor, ints, numbers
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters

__all__ = ["Panels"]

# The register blocks that cl/all_pairs/dense/fw_minplus.cpu.cl writes out.
_ROWS = (1, 2, 4, 6, 8, 12)
# Bytes of a line of the caches, and a distance of which multiples meet in few sets of these.
_LINE, _FAR = 64, 2048


class Panels(Product):
    """One work-item per group, a register block of rows x (strips x width) values."""

    names = frozenset(
        {"form", "block", "tile", "bits", "rows", "strips", "width", "unroll"}
        | {"group_rows", "group_columns"}
    )
    kernels = "all_pairs/dense/fw_minplus.cpu.cl"
    rectangle_kernels = "all_pairs/dense/fw_minplus_rectangles.cpu.cl"
    macros = ("rows", "strips", "width", "unroll", "block", "group_rows", "group_columns")

    @property
    def _units(self) -> int:
        """The cores."""
        return self._capabilities.compute_units

    @classmethod
    def candidates(cls, options: AllPairsOptions) -> Iterator[dict[str, int | str]]:
        """Yield parameter sets from the fastest to the least demanding."""
        lanes = options.device.traits.lanes(options.dtype.itemsize, long=True)
        # additions and minima of integers use more execution units, and need a larger block; of
        # vectors of 64 bytes there are twice as many registers
        wide = lanes * options.dtype.itemsize == 64
        fastest = (8, 2) if wide else (4, 2) if options.dtype.kind == "f" else (6, 2)
        for rows, strips, width in ((*fastest, lanes), (4, 2, lanes), (2, 1, lanes), (1, 1, 1)):
            unit = math.lcm(rows, strips * width)
            tile = max(unit, 48) if unit % 3 == 0 else 64
            yield {
                "form": "panels",
                "block": 192 if wide or tile % 3 == 0 else 256,
                "tile": tile,
                # with them comes the minimum of 64-bit integers
                "bits": int(options.dtype == np.float32 or (wide and options.dtype == np.float64)),
                "rows": rows,
                "strips": strips,
                "width": width,
                "unroll": 2 if (wide or options.dtype.kind != "f") and unit % 2 == 0 else 1,
                "group_rows": 192,
                "group_columns": 128,
            }

    @classmethod
    def fits(cls, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters go together and are within the limits of the device."""
        p = numbers(parameters)
        unit = _unit(p)
        slab = p["block"] * p["strips"] * p["width"] * options.dtype.itemsize
        return (
            p["width"] <= options.device.traits.lanes(options.dtype.itemsize, long=True)
            and p["rows"] in _ROWS
            and p["tile"] % unit == 0
            and p["block"] % p["tile"] == 0
            and unit % p["unroll"] == 0
            and p["group_rows"] % p["rows"] == 0
            and p["group_columns"] % (p["strips"] * p["width"]) == 0
            and slab <= options.device.capabilities.local_memory
        )

    @property
    def unit(self) -> int:
        """What the rows and columns of everything must be a multiple of."""
        return _unit(self.p)

    @property
    def turn(self) -> tuple[int, int]:
        """The steps, and the rows, that `multiply` takes at a time."""
        return self.p["block"], self.p["group_rows"]

    @classmethod
    def defines(cls, parameters: Mapping[str, int]) -> dict[str, int]:
        """Return the macros of the kernel file, beside those of the number type."""
        return super().defines(parameters) | {"PYAPSP_STEP": _step(parameters)}

    def pitch(self, size: int) -> int:
        """Return a pitch with which the rows of a register block lie in different cache sets.

        Not of a matrix of one tile, nor where the device allocates no more than the matrix.
        """
        row = size * self.dtype.itemsize
        spread = row % _FAR != 0 or size <= self.p["tile"]
        if spread or size * (row + _LINE) > self._capabilities.max_allocation:
            return size
        return size + _LINE // self.dtype.itemsize

    def scratch(self, size: int) -> tuple[int, ...]:
        """Count the pivot and the panels, each as left and right factor, tiles, three numbers."""
        p, block = self.p, min(self.p["block"], size)
        tile = min(p["tile"], block)
        tiles = self._closing(block) * (tile * tile + _step(p) * p["strips"] * p["width"])
        numbers = -(-12 // self.dtype.itemsize)
        return (block * block, block * block, block * size, block * size, tiles, numbers)

    def _closing(self, extent: int) -> int:
        """Return the number of groups that compute the tile and the slabs of `extent` columns."""
        slabs: int = extent // (self.p["strips"] * self.p["width"])
        return min(self._units, slabs)

    def close_block(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], region: Region
    ) -> list[cl.Event]:
        """Enqueue Floyd-Warshall on the pivot block alone, in rounds over its tiles."""
        distances, _, pivot_right, left, right, tiles, _ = buffers
        low, high, tile = region.first, region.end, self.p["tile"]
        if region.size <= tile:
            close = self.program.kernel("fw_minplus_close")
            return [close(queue, (1,), (1,), distances, *ints(region.size), tiles)]
        rows = self.program.kernel("fw_minplus_rows")
        passing = self.program.kernel("fw_minplus_pass")
        closing = (self._closing(region.depth),)
        # the group that closes the next tile has as much to do as a share of the rest
        looks_ahead = region.depth >= 2 * tile * self._units
        now, then = right, pivot_right  # which has no other use before the block is closed
        events = []
        for k in range(low, high, tile):
            place = ints(region.pitch, k, min(tile, high - k), low, high)
            if k == low or not looks_ahead:
                events.append(rows(queue, closing, (1,), distances, *place, tiles, now))
            ahead = max(min(tile, high - k - tile), 0) if looks_ahead else 0
            # stripes for every unit, several because some may be late
            stripe = -(-region.depth // (4 * self._units * self.p["rows"])) * self.p["rows"]
            stripe = min(stripe, self.p["group_rows"], tile)
            groups = (-(-(region.depth - ahead) // stripe) + (ahead > 0),)
            place += ints(stripe)
            one = passing(
                queue, groups, (1,), distances, *place, left, now, *ints(ahead), tiles, then
            )
            events.append(one)
            now, then = then, now
        return events

    def panels(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], region: Region
    ) -> list[cl.Event]:
        """Enqueue the panels of a closed pivot."""
        distances, *pivot, left, right, _, begun = buffers
        rows, span, size = self.p["rows"], self.p["strips"] * self.p["width"], region.size
        place = ints(region.pitch, region.first, region.depth)
        pack = self.program.kernel("fw_minplus_pack")
        panels = self.program.kernel("fw_minplus_panels")
        pivots = (region.depth // rows + region.depth // span,)
        groups, factors = (min(self._units, size // rows + size // span),), (*pivot, left, right)
        return [
            pack(queue, pivots, (1,), distances, *place, *pivot, begun),
            panels(queue, groups, (1,), distances, *place, *ints(size), *factors, begun),
        ]

    def remainder(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], region: Region, steps: int = 1
    ) -> Iterator[list[cl.Event]]:
        """Enqueue the product of the panels into everything else, in bands of rows."""
        kernel = self.program.kernel("fw_minplus_remainder")
        place = ints(region.pitch, region.first, region.depth, region.size)
        across, down = self._groups(region.size, region.size)
        distances, _, _, left, right, _, begun = buffers
        for step in range(steps):
            first, last = (down * part // steps for part in (step, step + 1))
            band, parts = ints(first, last, step % 2), across * (last - first)
            groups = (min(self._units, parts),)
            yield [kernel(queue, groups, (1,), distances, *place, *band, left, right, begun)]

    def _groups(self, rows: int, columns: int) -> tuple[int, int]:
        return (-(-columns // self.p["group_columns"]), -(-rows // self.p["group_rows"]))

    def pack_left(
        self, queue: cl.CommandQueue, source: Rectangle, left: cl.Buffer
    ) -> list[cl.Event]:
        """Enqueue the packing of a left factor."""
        kernel = self.program.kernel("fw_minplus_pack_left")
        groups = (source.rows // self.p["rows"], -(-source.columns // self.p["block"]))
        place = ints(source.pitch, source.row, source.column, source.columns)
        return [kernel(queue, groups, (1, 1), source.buffer, *place, left)]

    def pack_right(
        self, queue: cl.CommandQueue, source: Rectangle, right: RightFactor
    ) -> list[cl.Event]:
        """Enqueue the packing of a part of a right factor."""
        return self._pack("fw_minplus_pack_right", queue, source, right)

    def unpack_right(
        self, queue: cl.CommandQueue, right: RightFactor, target: Rectangle
    ) -> list[cl.Event]:
        """Enqueue the way back."""
        return self._pack("fw_minplus_unpack_right", queue, target, right)

    def _pack(
        self, name: str, queue: cl.CommandQueue, plain: Rectangle, right: RightFactor
    ) -> list[cl.Event]:
        """Enqueue the kernel that packs a rectangle into a right factor, or its reverse."""
        kernel = self.program.kernel(name)
        groups = (plain.columns // (self.p["strips"] * self.p["width"]),)
        here = ints(plain.pitch, plain.row, plain.column, plain.rows)
        there = ints(right.depth, right.width, right.row, right.column)
        return [kernel(queue, groups, (1,), plain.buffer, *here, right.buffer, *there)]

    def copy(self, queue: cl.CommandQueue, source: Rectangle, target: Rectangle) -> list[cl.Event]:
        """Enqueue a copy of a rectangle."""
        kernel = self.program.kernel("fw_minplus_copy")
        here = ints(source.pitch, source.row, source.column)
        there = ints(target.pitch, target.row, target.column)
        rows, last = (source.rows,), np.int32(source.columns)
        return [kernel(queue, rows, (1,), source.buffer, *here, target.buffer, *there, last)]

    def multiply(
        self, queue: cl.CommandQueue, target: Rectangle, left: cl.Buffer, right: RightFactor
    ) -> list[cl.Event]:
        """Enqueue the product of two packed factors into a rectangle."""
        kernel = self.program.kernel("fw_minplus_rectangle")
        place = ints(target.pitch, target.row, target.column, target.rows, target.columns)
        place += ints(right.depth)
        at, groups = ints(right.width, right.column), self._groups(target.rows, target.columns)
        block, factors = target.buffer, (left, right.buffer)
        return [kernel(queue, groups, (1, 1), block, *place, *factors, *at)]


def _unit(p: Mapping[str, int]) -> int:
    return math.lcm(p["rows"], p["strips"] * p["width"])


def _step(parameters: Mapping[str, int]) -> int:
    """Return the pivots of a round inside a tile."""
    return math.lcm(parameters["rows"], parameters["unroll"])
