"""Counting triangles on the device, by hash tables or by bit maps."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import build
from pyapsp.registry import Parameters
from pyapsp.traversal.kernels import Launcher
from pyapsp.trusses.rows import Rows, buffer, zeros

__all__ = ["ALL", "EDGES", "VERTICES", "BitmapCounter", "Counter", "HashCounter"]

#: What is counted: the macro PYAPSP_COUNT of the kernels.
ALL, VERTICES, EDGES = 0, 1, 2
# Bytes of local memory that a kernel may use; and those of the hash tables: of a slot (what counts
# edges needs three tables), of a work-item, and beside them.
_LOCAL = 2**15 + 2**13
_SLOT, _ITEM, _BESIDE = 12, 8, 64
# Groups that are launched for each compute unit.
_GROUPS, _SMALL_GROUPS = 8, 32
# Workers that have counts of all edges.
_FEW = 4


class Counter(Protocol):
    """What counts triangles.

    Attributes
    ----------
    hash : str
        The hash of the kernels.
    """

    hash: str

    def __call__(
        self, queue: cl.CommandQueue, rows: Rows, up: Rows, counts: cl.Buffer | None = None
    ) -> int:
        """Enqueue the kernels: arguments and value are those of `HashCounter`."""


class HashCounter:
    """A hash table for each vertex, in local memory. Making it builds the kernels.

    Parameters
    ----------
    device : Device
    what : int
        `ALL`, `VERTICES` or `EDGES`.
    parameters : mapping
        ``group``, ``width`` and ``slots`` of the launch for long rows, and ``small_group``,
        ``small_width`` and ``small_slots`` of that for short ones.
    """

    def __init__(self, device: Device, what: int, parameters: Parameters) -> None:
        self._what, units = what, device.capabilities.compute_units
        self._small_slots = parameters.integer("small_slots")
        self._launches, alone = [], device.traits.scalar_groups
        for part, groups in (("small_", _SMALL_GROUPS), ("", _GROUPS)):
            group = parameters.integer(f"{part}group")
            defines = {
                "PYAPSP_GROUP": group,
                "PYAPSP_WIDTH": parameters.integer(f"{part}width"),
                "PYAPSP_SLOTS": parameters.integer(f"{part}slots"),
                "PYAPSP_COUNT": what,
            }
            optimise = group == 1 or device.traits.optimises_barriers
            program = build(device, "trusses/triangles_hash.cl", defines, optimise=optimise)
            self._launches.append((program, group, units * (1 if alone else groups)))
        self.hash = program.hash

    @staticmethod
    def fits(parameters: Parameters, device: Device) -> bool:
        """Return whether the device has such groups, with this much local memory."""
        limits = device.capabilities
        return all(
            parameters.integer(f"{part}group") <= limits.max_work_group_size
            and parameters.integer(f"{part}group") % parameters.integer(f"{part}width") == 0
            and _SLOT * parameters.integer(f"{part}slots")
            + _ITEM * parameters.integer(f"{part}group")
            + _BESIDE
            <= min(limits.local_memory, _LOCAL)
            for part in ("", "small_")
        )

    @staticmethod
    def rule(device: Device) -> str:
        """Return the conditions of `fits`."""
        limits = device.capabilities
        return (
            f"groups must be at most {limits.max_work_group_size} and multiples of the widths; "
            f"{_SLOT} bytes for each slot, {_ITEM} for each work-item and {_BESIDE} more must fit "
            f"in {min(limits.local_memory, _LOCAL)} bytes of local memory"
        )

    def buffers(self, n: int) -> list[int]:
        """Return the bytes of each buffer of a call beside the counts of vertices or edges."""
        sums = [8 * groups for _, _, groups in self._launches] if self._what == ALL else []
        return [4 * max(n, 1), 16, *sums]

    def __call__(
        self, queue: cl.CommandQueue, rows: Rows, up: Rows, counts: cl.Buffer | None = None
    ) -> int:
        """Enqueue the kernels.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        rows : Rows
            All arcs; to count those of edges, with the numbers of the edges.
        up : Rows
            The oriented arcs.
        counts : pyopencl.Buffer, optional
            An int for each vertex or edge; they become the counts.

        Returns
        -------
        int
            The number of triangles for `ALL`, else 0.
        """
        lists, counters = buffer(queue, rows.n), zeros(queue, 4)
        program, group, groups = self._launches[0]
        small = np.int32(self._small_slots // 2)
        items = min(groups * group, rows.n)
        n = np.int32(rows.n)
        Launcher(queue, program, group)("hash_lists", items, up.first, lists, counters, n, small)
        ids = rows.heads if rows.values is None else rows.values
        arrays, total = (rows.first, rows.heads, up.first, up.heads, ids, lists), 0
        for part, (program, group, groups) in enumerate(self._launches):
            places = (np.int32(0), np.int32(1)) if part == 0 else (n - np.int32(1), np.int32(-1))
            totals = buffer(queue, 2 * groups) if counts is None else counts
            # regions of a buffer would need its alignment: the counters are copied
            count, following = buffer(queue, 1), zeros(queue, 1)
            cl.enqueue_copy(queue, count, counters, byte_count=4, src_offset=4 * part)
            launch = Launcher(queue, program, group)
            launch("hash_count", groups * group, *arrays, *places, count, following, totals)
            if self._what == ALL:
                sums = np.empty(groups, np.uint64)
                cl.enqueue_copy(queue, sums, totals)
                total += int(sums.sum())
        return total


class BitmapCounter:
    """A map of all vertices for each group. Making it builds the kernels.

    Parameters
    ----------
    device, what
        As for `HashCounter`.
    parameters : mapping
        ``group`` and ``batch``.
    """

    def __init__(self, device: Device, what: int, parameters: Parameters) -> None:
        self._what, self._group = what, parameters.integer("group")
        alone = device.traits.scalar_groups
        self._groups = device.capabilities.compute_units * (1 if alone else _GROUPS)
        # a few workers have counts of their own, without atomic operations
        self._own = what == EDGES and self._group == 1 and self._groups <= _FEW
        defines = {
            "PYAPSP_GROUP": self._group,
            "PYAPSP_BATCH": parameters.integer("batch"),
            "PYAPSP_COUNT": what,
            "PYAPSP_OWN": int(self._own),
        }
        optimise = self._group == 1 or device.traits.optimises_barriers
        self._program = build(device, "trusses/triangles_bitmap.cl", defines, optimise=optimise)
        self.hash = self._program.hash

    def _sizes(self, n: int, m: int) -> tuple[int, int]:
        """Return the ints of a map, and of the counts of a worker."""
        if self._what == EDGES:
            longest = int(np.sqrt(m)) + 2  # of the oriented rows
            return max(n, 1), longest + (m // 2 if self._own else 0)
        alone = self._what == VERTICES and self._group == 1
        return n // 32 + 1, n if alone else 0

    def buffers(self, n: int, m: int) -> list[int]:
        """Return the bytes of each buffer of a call beside the counts of vertices or edges."""
        size, places = self._sizes(n, m)
        sums = [8 * self._groups * self._group] if self._what == ALL else []
        return [4 * self._groups * size, max(4 * self._groups * places, 4), 4, *sums]

    def __call__(
        self, queue: cl.CommandQueue, rows: Rows, up: Rows, counts: cl.Buffer | None = None
    ) -> int:
        """Enqueue the kernels: arguments and value are those of `HashCounter`."""
        size, places = self._sizes(rows.n, rows.m)
        maps, hits = (zeros(queue, self._groups * each) for each in (size, places))
        following, items = zeros(queue, 1), self._groups * self._group
        totals = buffer(queue, 2 * items) if counts is None else counts
        ids = rows.heads if rows.values is None else rows.values
        arrays = rows.first, rows.heads, up.first, up.heads, ids, maps, hits, following, totals
        sizes = map(np.int32, (rows.n, size, places))
        Launcher(queue, self._program, self._group)("bitmap_count", items, *arrays, *sizes)
        if self._what != ALL:
            return 0
        sums = np.empty(items, np.uint64)
        cl.enqueue_copy(queue, sums, totals)
        return int(sums.sum())
