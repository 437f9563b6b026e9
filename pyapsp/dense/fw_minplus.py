"""fw-minplus: blocked Floyd-Warshall whose panels and remainder are one tuned min-plus product."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.dense.floyd_warshall import Configuration, FloydWarshall
from pyapsp.graph import Graph
from pyapsp.kernels import build
from pyapsp.precision import arithmetic_defines
from pyapsp.registry import Options, register

__all__ = ["FwMinplus"]

# Words in the register tile of a work-item on a CPU, where the form for GPUs is only there for
# comparison: one compiler dies of the code for 8 x 8.
_MOST_ON_CPU = 16

# The register blocks that cl/dense/fw_minplus.cpu.cl writes out.
_PANEL_ROWS = (1, 2, 4, 6, 8, 12)


class _Form(ABC):
    """One way to compute the products: its parameters, and its launches for one pivot block."""

    names: ClassVar[frozenset[str]]
    kernels: ClassVar[str]

    @abstractmethod
    def candidates(self, options: Options) -> Iterator[dict[str, Any]]:
        """Yield parameter sets from the fastest to the least demanding."""

    @abstractmethod
    def fits(self, parameters: Mapping[str, Any], options: Options) -> bool:
        """Return whether the parameters go together and are within the limits of the device."""

    @abstractmethod
    def unit(self, parameters: Mapping[str, Any]) -> int:
        """Return what the rows of the matrix and of every block must be a multiple of."""

    @abstractmethod
    def defines(self, parameters: Mapping[str, Any]) -> dict[str, int]:
        """Return the macros of the kernel file, beside those of the number type."""

    @abstractmethod
    def scratch(self, parameters: Mapping[str, Any], size: int) -> tuple[int, ...]:
        """Return the number of values in each of the further buffers."""

    @abstractmethod
    def close(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        first: int,
        depth: int,
    ) -> list[cl.Event]:
        """Enqueue Floyd-Warshall inside a pivot tile."""

    @abstractmethod
    def panels(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        first: int,
        depth: int,
        low: int,
        high: int,
    ) -> list[cl.Event]:
        """Enqueue the panels of a closed pivot over the rows and columns low to high."""

    @abstractmethod
    def remainder(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        first: int,
        depth: int,
        low: int,
        high: int,
    ) -> list[cl.Event]:
        """Enqueue the product of the panels into the rows and columns low to high."""


class _Panels(_Form):
    """For CPUs: panels packed in the order in which a micro-kernel reads them."""

    names = frozenset(
        {"form", "block", "tile", "bits", "rows", "strips", "width", "unroll"}
        | {"group_rows", "group_columns"}
    )
    kernels = "dense/fw_minplus.cpu.cl"

    def candidates(self, options: Options) -> Iterator[dict[str, Any]]:
        lanes = options.device.traits.lanes(options.dtype.itemsize)
        # additions and minima of integers use more execution units, and need a larger block
        fastest = (4, 2) if options.dtype.kind == "f" else (6, 2)
        for rows, strips, width in ((*fastest, lanes), (4, 2, lanes), (2, 1, lanes), (1, 1, 1)):
            unit = math.lcm(rows, strips * width)
            tile = max(unit, 48) if unit % 3 == 0 else 64
            yield {
                "form": "panels",
                "block": 192 if tile % 3 == 0 else 256,
                "tile": tile,
                "bits": int(options.dtype == np.float32),
                "rows": rows,
                "strips": strips,
                "width": width,
                "unroll": 2 if options.dtype.kind != "f" and unit % 2 == 0 else 1,
                "group_rows": 192,
                "group_columns": 128,
            }

    def fits(self, parameters: Mapping[str, Any], options: Options) -> bool:
        p = parameters
        unit = self.unit(parameters)
        slab = p["block"] * p["strips"] * p["width"] * options.dtype.itemsize
        return bool(
            p["width"] <= options.device.traits.lanes(options.dtype.itemsize)
            and p["rows"] in _PANEL_ROWS
            and p["tile"] % unit == 0
            and p["block"] % p["tile"] == 0
            and unit % p["unroll"] == 0
            and p["group_rows"] % p["rows"] == 0
            and p["group_columns"] % (p["strips"] * p["width"]) == 0
            and slab <= options.device.capabilities.local_memory
        )

    def unit(self, parameters: Mapping[str, Any]) -> int:
        p = parameters
        return math.lcm(p["rows"], p["strips"] * p["width"])

    def defines(self, parameters: Mapping[str, Any]) -> dict[str, int]:
        p = parameters
        return {
            "PYAPSP_ROWS": p["rows"],
            "PYAPSP_STRIPS": p["strips"],
            "PYAPSP_WIDTH": p["width"],
            "PYAPSP_UNROLL": p["unroll"],
            "PYAPSP_BLOCK": p["block"],
            "PYAPSP_GROUP_ROWS": p["group_rows"],
            "PYAPSP_GROUP_COLUMNS": p["group_columns"],
        }

    def scratch(self, parameters: Mapping[str, Any], size: int) -> tuple[int, ...]:
        """Count the pivot and the panels, each as a left and as a right factor."""
        block = parameters["block"]
        return (block * block, block * block, block * size, block * size)

    def close(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        first: int,
        depth: int,
    ) -> list[cl.Event]:
        kernel = configuration.program.kernel("fw_minplus_close")
        return [kernel(queue, (1,), (1,), buffers[0], *_ints(configuration.size, first, depth))]

    def panels(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        first: int,
        depth: int,
        low: int,
        high: int,
    ) -> list[cl.Event]:
        p, program = configuration.parameters, configuration.program
        distances, *pivot, left, right = buffers
        rows, span, extent = p["rows"], p["strips"] * p["width"], high - low
        place = _ints(configuration.size, first, depth)
        pack, panels = program.kernel("fw_minplus_pack"), program.kernel("fw_minplus_panels")
        factors = (*pivot, left, right)
        groups = (extent // rows + extent // span,)
        return [
            pack(queue, (depth // rows + depth // span,), (1,), distances, *place, *pivot),
            panels(queue, groups, (1,), distances, *place, *_ints(low, high), *factors),
        ]

    def remainder(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        first: int,
        depth: int,
        low: int,
        high: int,
    ) -> list[cl.Event]:
        p, extent = configuration.parameters, high - low
        kernel = configuration.program.kernel("fw_minplus_remainder")
        groups = (-(-extent // p["group_columns"]), -(-extent // p["group_rows"]))
        place = _ints(configuration.size, first, depth, low, high)
        return [kernel(queue, groups, (1, 1), buffers[0], *place, *buffers[-2:])]


class _Tiles(_Form):
    """For GPUs: a tile of the product in the registers of a group."""

    names = frozenset(
        {"form", "block", "tile", "bits", "rows", "words", "group_x", "group_y", "slice"}
        | {"vector", "packed", "ahead", "separate"}
    )
    kernels = "dense/fw_minplus.cl"

    def candidates(self, options: Options) -> Iterator[dict[str, Any]]:
        value = options.dtype.itemsize
        packed = int(value == 2 and options.dtype.kind != "f")
        if packed:
            fastest = (256, 128, 16, 8, 16, 8, 16)
        elif options.dtype == np.float32:
            fastest = (128, 128, 8, 16, 8, 16, 8)
        elif value == 8:
            fastest = (128, 128, 4, 4, 16, 16, 16)
        else:
            fastest = (128, 128, 8, 8, 8, 16, 16)
        for block, tile, rows, words, x, y, depth in (
            fastest,
            (128, 64, 8, 8, 8, 8, 8),
            (64, 32, 4, 4, 8, 8, 8),
        ):
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

    def fits(self, parameters: Mapping[str, Any], options: Options) -> bool:
        p, capabilities = parameters, options.device.capabilities
        if options.device.traits.scalar_groups and p["rows"] * p["words"] > _MOST_ON_CPU:
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

    def unit(self, parameters: Mapping[str, Any]) -> int:
        p = parameters
        return math.lcm(p["tile"], p["group_x"] * p["words"] * (1 + p["packed"]))

    def defines(self, parameters: Mapping[str, Any]) -> dict[str, int]:
        p = parameters
        return {
            "PYAPSP_ROWS": p["rows"],
            "PYAPSP_WORDS": p["words"],
            "PYAPSP_GROUP_X": p["group_x"],
            "PYAPSP_GROUP_Y": p["group_y"],
            "PYAPSP_SLICE": p["slice"],
            "PYAPSP_VECTOR": p["vector"],
            "PYAPSP_TILE": p["tile"],
            "PYAPSP_PACKED": p["packed"],
        }

    def scratch(self, parameters: Mapping[str, Any], size: int) -> tuple[int, ...]:
        """Count the column panel before, and both panels after, the product with the pivot.

        With look-ahead the panels of two rounds are in use, and the product is kept when it is
        not added at once.
        """
        p = parameters
        panels = (p["block"] * size,) * (5 if p["ahead"] else 3)
        return (*panels, size * size) if p["separate"] else panels

    def smaller(self, parameters: Mapping[str, Any], options: Options) -> dict[str, Any]:
        """Return the parameters for panels: a quarter of the tile, so that more groups share."""
        p = parameters
        halves = {"rows": max(p["rows"] // 2, 1), "words": max(p["words"] // 2, 1)}
        for slice_ in (32, 16, 8):
            smaller = {**parameters, **halves, "slice": slice_}
            if self.fits(smaller, options):
                return smaller
        return {**parameters}

    def close(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        first: int,
        depth: int,
    ) -> list[cl.Event]:
        kernel = configuration.program.kernel("fw_minplus_close")
        place = _ints(configuration.size, first)
        return [kernel(queue, (16, 16), (16, 16), buffers[0], *place)]

    def panels(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        first: int,
        depth: int,
        low: int,
        high: int,
    ) -> list[cl.Event]:
        program, p = configuration.state
        distances, old, left, right = buffers[:4]
        group, extent = (p["group_x"], p["group_y"], 1), high - low
        place = _ints(configuration.size, first)
        pack, panels = program.kernel("fw_minplus_pack"), program.kernel("fw_minplus_panels")
        items = (extent // _columns(p), depth // p["rows"], 2)
        rest = (*_ints(depth, low), old, left, right)
        return [
            pack(queue, (depth, extent // 8), (32, 4), distances, *place, np.int32(low), old),
            panels(queue, items, group, distances, *place, *rest),
        ]

    def remainder(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        first: int,
        depth: int,
        low: int,
        high: int,
    ) -> list[cl.Event]:
        everything = (low, high, high)
        if configuration.parameters["separate"]:
            return self._separately(configuration, queue, buffers, depth, low, high)
        # inside a pivot block there are few tiles
        wide = high - low == configuration.size
        return [
            self._product(configuration, queue, buffers, depth, everything, everything, wide=wide)
        ]

    def _product(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        depth: int,
        rows: tuple[int, int, int],
        columns: tuple[int, int, int],
        gap: int = 0,
        wide: bool = True,
    ) -> cl.Event:
        """Enqueue D <- min(D, left x right) on rows and columns (from, to, where the gap is)."""
        program, p = configuration.program, configuration.parameters
        if not wide:
            program, p = configuration.state
        (row, row_end, row_gap), (column, column_end, column_gap) = rows, columns
        height = row_end - row - (gap if row_gap < row_end else 0)
        width = column_end - column - (gap if column_gap < column_end else 0)
        kernel = program.kernel("fw_minplus_remainder")
        place = _ints(configuration.size, depth, row, row_gap, column, column_gap, gap)
        items = (width // _columns(p), height // p["rows"])
        factors = buffers[2:4]
        event: cl.Event = kernel(
            queue, items, (p["group_x"], p["group_y"]), buffers[0], *place, *factors
        )
        return event

    def _separately(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        depth: int,
        low: int,
        high: int,
    ) -> list[cl.Event]:
        p, program, extent = configuration.parameters, configuration.program, high - low
        multiply, add = program.kernel("fw_minplus_multiply"), program.kernel("fw_minplus_add")
        items = (extent // _columns(p), extent // p["rows"])
        size, product = np.int32(configuration.size), buffers[-1]
        return [
            multiply(
                queue,
                items,
                (p["group_x"], p["group_y"]),
                product,
                size,
                *_ints(depth, low),
                *buffers[2:4],
            ),
            add(queue, (extent, extent), None, buffers[0], size, np.int32(low), product),
        ]

    def ahead(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        close_block: Callable[[cl.CommandQueue, list[cl.Buffer], int, int], list[cl.Event]],
    ) -> Iterator[list[cl.Event]]:
        """Enqueue all rounds, in each the pivot and the panels of the next beside the remainder.

        The rows and columns of the next pivot block come first; then its panels, in a queue of
        their own, while the remainder of this round runs.
        """
        size = configuration.size
        block = configuration.parameters["block"]
        distances, old, *factors = buffers
        # even and odd rounds
        sets = [[distances, old, *factors[:2]], [distances, old, *factors[2:4]]]
        beside = cl.CommandQueue(
            queue.context, queue.device, cl.command_queue_properties.PROFILING_ENABLE
        )
        # the upload has to be there before the other queue starts
        queue.finish()
        events = close_block(beside, sets[0], 0, min(block, size))
        events += self.panels(configuration, beside, sets[0], 0, min(block, size), 0, size)
        for number in range(configuration.rounds):
            here, depth = sets[number % 2], min(block, size - number * block)
            start = (number + 1) * block
            end = min(start + block, size)
            beside.flush()
            cl.enqueue_barrier(queue, wait_for=events[-1:])
            all_rows, cross = (0, size, size), (start, end, size)
            if start >= size:
                yield [
                    *events,
                    self._product(configuration, queue, here, depth, all_rows, all_rows),
                ]
                return
            others = (0, size, start)
            events += [
                self._product(configuration, queue, here, depth, cross, all_rows, wide=False),
                self._product(
                    configuration, queue, here, depth, others, cross, end - start, wide=False
                ),
            ]
            queue.flush()
            cl.enqueue_barrier(beside, wait_for=events[-1:])
            there = sets[1 - number % 2]
            next_events = close_block(beside, there, start, end)
            next_events += self.panels(configuration, beside, there, start, end - start, 0, size)
            beside.flush()
            events.append(
                self._product(configuration, queue, here, depth, others, others, end - start)
            )
            queue.flush()
            yield events
            events = next_events


def _columns(p: Mapping[str, int]) -> int:
    """Return the columns of a work-item."""
    return p["words"] * (1 + p["packed"])


_FORMS: dict[str, _Form] = {"panels": _Panels(), "tiles": _Tiles()}


@register
class FwMinplus(FloydWarshall):
    """Blocked Floyd-Warshall as one tuned min-plus product: our own.

    A round closes a pivot block (in turn by rounds over its tiles), multiplies its row and column
    panels by it, and multiplies the panels into everything else.

    Parameters
    ----------
    form : {"panels", "tiles"}, optional
        ``"panels"``: one work-item per group, a register block of vectors, panels packed for it.
        ``"tiles"``: register tiles of a work-group, slices of the panels in local memory. Chosen
        for the device.
    block, tile : int, optional
        Intermediate vertices of a round, and of a round inside the pivot block.
    bits : {0, 1}, optional
        Compare floats that cannot be negative as integers; ignored for other weights.
    rows : int, optional
        Rows of the register block of a work-item.
    strips, width, unroll, group_rows, group_columns : int, optional
        With panels: vectors in a row of that block, values in a vector, steps written out, and
        the part of the matrix that a group treats.
    words, group_x, group_y, slice, vector, packed : int, optional
        With tiles: words in a row of that block, work-items of a group, steps held in local
        memory, words in a load, and whether a word is two 16-bit values.
    ahead : {0, 1}, optional
        With tiles: compute the next pivot and panels in a second queue beside the remainder. It
        gains where these are short of work and many launches fit; on the GPUs measured it does not.
    separate : {0, 1}, optional
        With tiles, not together with `ahead`: multiply into a matrix of its own, then add.
    """

    id = "fw-minplus"
    area = "dense"
    summary = "blocked Floyd-Warshall as one tuned min-plus product"
    source = "pyapsp; panels as products after Matsumoto, Nakasato and Sedukhin 2012"
    choices: ClassVar = {
        "form": tuple(_FORMS),
        "block": (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024),
        "tile": (16, 32, 48, 64, 96, 128),
        "bits": (0, 1),
        "rows": (1, 2, 4, 6, 8, 12, 16),
        "strips": (1, 2, 3, 4),
        "width": (1, 2, 4, 8, 16),
        "unroll": (1, 2, 4),
        "group_rows": (48, 96, 192, 384),
        "group_columns": (48, 64, 96, 128, 192, 256),
        "words": (1, 2, 4, 8, 16),
        "group_x": (4, 8, 16, 32),
        "group_y": (4, 8, 16, 32),
        "slice": (2, 4, 8, 16, 32),
        "vector": (1, 2, 4),
        "packed": (0, 1),
        "ahead": (0, 1),
        "separate": (0, 1),
    }

    def candidates(self, options: Options) -> Iterator[dict[str, Any]]:
        """Yield parameter sets of the form that suits the device, then of the other."""
        names = ["panels", "tiles"] if options.device.traits.scalar_groups else ["tiles", "panels"]
        for name in names:
            yield from _FORMS[name].candidates(options)

    def fits(self, parameters: Mapping[str, Any], options: Options) -> bool:
        """Return whether the parameters are of one form, go together and fit the device."""
        form = _FORMS[str(parameters["form"])]
        return parameters.keys() == form.names and form.fits(parameters, options)

    def rule(self, options: Options) -> str:
        """Return what `fits` asks, in words."""
        device = options.device
        return (
            f"form panels has {', '.join(sorted(_Panels.names))}, form tiles "
            f"{', '.join(sorted(_Tiles.names))}; block must be a multiple of tile, and both of "
            f"what a register block or a group spans; a vector at most "
            f"{device.traits.lanes(options.dtype.itemsize)} values wide, a group at most "
            f"{device.capabilities.max_work_group_size} work-items, with "
            f"{device.capabilities.local_memory} bytes of local memory"
        )

    def configure(
        self, graph: Graph, options: Options, parameters: dict[str, Any]
    ) -> Configuration:
        """Build the kernels."""
        form = _FORMS[str(parameters["form"])]
        dtype = options.dtype
        defines: dict[str, Any] = {
            **arithmetic_defines(options.device, dtype, guard=graph.has_negative),
            **form.defines(parameters),
        }
        if parameters["bits"] and dtype.kind == "f" and not graph.has_negative:
            integer = {4: "int", 8: "long"}.get(dtype.itemsize)
            defines |= {"PYAPSP_MIN_BITS": 1, "PYAPSP_BITS": integer} if integer else {}
        kernels = form.kernels
        if parameters.get("packed") and options.device.capabilities.packed16:
            kernels = options.device.vendor_file(kernels)
            defines |= {"PYAPSP_HAS_PACKED16": 1, "PYAPSP_VALUE_IS_SIGNED": int(dtype.kind == "i")}
        state = None
        if isinstance(form, _Tiles):
            smaller = form.smaller(parameters, options)
            state = (
                build(options.device, kernels, defines | form.defines(smaller)),
                smaller,
            )
        unit = form.unit(parameters)
        size = -(-graph.n // unit) * unit
        return Configuration(
            parameters,
            build(options.device, kernels, defines),
            size=size,
            rounds=-(-size // parameters["block"]),
            scratch=tuple(dtype.itemsize * count for count in form.scratch(parameters, size)),
            zeros=False,
            state=state,
        )

    def enqueue_round(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        number: int,
    ) -> list[cl.Event]:
        """Enqueue the closing of a pivot block, then its panels and the remainder."""
        form = _FORMS[str(configuration.parameters["form"])]
        size, block = configuration.size, configuration.parameters["block"]
        first = number * block
        end = min(first + block, size)
        events = self._close_block(configuration, queue, buffers, first, end)
        if end - first < size:
            where = (first, end - first, 0, size)
            events += form.panels(configuration, queue, buffers, *where)
            events += form.remainder(configuration, queue, buffers, *where)
        return events

    def enqueue_rounds(
        self, configuration: Configuration, queue: cl.CommandQueue, buffers: list[cl.Buffer]
    ) -> Iterator[list[cl.Event]]:
        """Enqueue all rounds, with look-ahead where it is asked for."""
        form = _FORMS[str(configuration.parameters["form"])]
        if isinstance(form, _Tiles) and configuration.parameters["ahead"]:
            close_block = partial(self._close_block, configuration)
            return form.ahead(configuration, queue, buffers, close_block)
        return super().enqueue_rounds(configuration, queue, buffers)

    def _close_block(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        first: int,
        end: int,
    ) -> list[cl.Event]:
        """Enqueue Floyd-Warshall inside a pivot block, in rounds over its tiles."""
        form = _FORMS[str(configuration.parameters["form"])]
        tile = configuration.parameters["tile"]
        events: list[cl.Event] = []
        for k in range(first, end, tile):
            depth = min(tile, end - k)
            events += form.close(configuration, queue, buffers, k, depth)
            if depth < end - first:
                where = (k, depth, first, end)
                events += form.panels(configuration, queue, buffers, *where)
                events += form.remainder(configuration, queue, buffers, *where)
        return events


def _ints(*values: int) -> tuple[np.int32, ...]:
    return tuple(np.int32(value) for value in values)
