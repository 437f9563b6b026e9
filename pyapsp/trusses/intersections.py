"""Intersections of many pairs of rows: the ways to intersect two, and to divide the work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import Program, build_warps
from pyapsp.device.kernels.scan import Scan
from pyapsp.registry import Options, Parameters
from pyapsp.traversal.kernels import Launcher
from pyapsp.trusses.rows import buffer

__all__ = ["CHOICES", "Intersections", "candidates", "fits", "rule"]

#: Values of the macros PYAPSP_INTERSECT and PYAPSP_DIVIDE.
_INTERSECT = {"merge": 0, "binary-search": 1, "intersect-path": 2}
_DIVIDE = {"items": 0, "virtual-warp": 1, "two-phase": 2}

#: The parameters: `width` is for virtual warps, `step` for two phases.
CHOICES: Mapping[str, Sequence[int | str]] = {
    "intersection": tuple(_INTERSECT),
    "partition": tuple(_DIVIDE),
    "width": (1, 2, 4, 8, 16, 32),
    "step": (4, 16, 64),
    "group": (1, 32, 64, 128, 256),
}
# Units of a work-item: groups of one take more of them.
_EACH, _EACH_ALONE = 7, 1024
# Groups that are launched for each compute unit.
_GROUPS = 16
# Units of a launch, in 32 bits.
_MOST = 2**30


def candidates(options: Options) -> Iterator[Mapping[str, int | str]]:
    """Yield merges by one work-item on CPUs, and elsewhere searches by eight of them."""
    if options.device.traits.scalar_groups:
        yield _set("merge", "items", 1, 1)
    for group in (128, 64, 32):
        yield _set("binary-search", "virtual-warp", 8, group)
    for intersection in ("binary-search", "intersect-path"):
        yield _set(intersection, "two-phase", 1, 64)
        yield _set(intersection, "items", 1, 1)
    yield _set("merge", "items", 1, 64)
    yield _set("merge", "items", 1, 1)


def _set(intersection: str, partition: str, width: int, group: int) -> Parameters:
    chosen = intersection, partition, width, 16, group
    return Parameters(zip(CHOICES, chosen, strict=True))


def fits(parameters: Parameters, options: Options) -> bool:
    """Return whether parameters go together, and the device has groups of this size."""
    warps = parameters.word("partition") == "virtual-warp"
    return bool(
        parameters.integer("group") <= options.device.capabilities.max_work_group_size
        and parameters.integer("group") % parameters.integer("width") == 0
        # a warp of one work-item is one for each item
        and warps == (parameters.integer("width") > 1)
        # a merge has no parts
        and (parameters.word("intersection") != "merge" or parameters.word("partition") == "items")
        # units have a size, and other values would be the same set again
        and (parameters.word("partition") == "two-phase" or parameters.integer("step") == 16)
    )


def rule(options: Options) -> str:
    """Return the conditions of `fits`."""
    return (
        f"group must be at most {options.device.capabilities.max_work_group_size} and a multiple "
        "of width, which is above 1 for virtual-warp, and otherwise 1; step is 16 but for "
        "two-phase; a merge is for the partition items"
    )


class Intersections:
    """Intersections of all items of a kernel file. Making it builds the kernels.

    Parameters
    ----------
    device : Device
    name : str
        The kernel file, relative to the kernel root. It includes ``trusses/intersect.h``.
    parameters : mapping
        Those of `CHOICES`.
    defines : mapping of str to int
        Further macros.

    Attributes
    ----------
    program : Program
    items : int
        Work-items of a launch.
    """

    def __init__(
        self, device: Device, name: str, parameters: Parameters, defines: Mapping[str, int]
    ) -> None:
        group, alone = parameters.integer("group"), device.traits.scalar_groups
        self._group, self._two_phase = group, parameters.word("partition") == "two-phase"
        self._step = parameters.integer("step")
        self._chunk = group * (_EACH_ALONE if group == 1 else _EACH)
        units = device.capabilities.compute_units
        # a group of one work-item on a CPU is a worker
        self.items = units * (4 if alone and group == 1 else _GROUPS) * group
        macros = {
            "PYAPSP_GROUP": group,
            "PYAPSP_WARP": 1,
            "PYAPSP_EACH": self._chunk // group,
            "PYAPSP_INTERSECT": _INTERSECT[parameters.word("intersection")],
            "PYAPSP_DIVIDE": _DIVIDE[parameters.word("partition")],
            "PYAPSP_WIDTH": parameters.integer("width"),
            "PYAPSP_STEP": self._step,
            **defines,
        }
        optimise = group == 1 or device.traits.optimises_barriers
        self.program: Program = build_warps(device, name, macros, optimise=optimise)
        self._scan = Scan(device, group)

    def _most_items(self, longest: int) -> int:
        """Return how many items a launch may have, so that their units can be counted."""
        return max(1, _MOST // (2 * longest // self._step + 1)) if self._two_phase else _MOST

    def buffers(self, items: int, longest: int) -> list[int]:
        """Return the bytes of each buffer of a call."""
        if not self._two_phase:
            return []
        items = min(items, self._most_items(longest))
        units = min(items * (2 * longest // self._step + 1), 2**31 - 1)
        chunks = -(-units // self._chunk)
        return [4 * items, *self._scan.buffers(items), 4 * (chunks + 1)]

    def __call__(
        self, queue: cl.CommandQueue, arrays: Sequence[cl.Buffer | None], items: int, longest: int
    ) -> None:
        """Enqueue the kernels.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        arrays : sequence of pyopencl.Buffer
            The first arguments of the kernels.
        items : int
        longest : int
            No row is longer.
        """
        launch = Launcher(queue, self.program, self._group)
        most = self._most_items(longest)
        for start in range(0, items, most):
            begin, some = np.int32(start), np.int32(min(most, items - start))
            if not self._two_phase:
                launch("intersect_run", self.items, *arrays, begin, some)
                continue
            sizes = buffer(queue, int(some))
            launch("intersect_units", min(self.items, int(some)), *arrays, begin, some, sizes)
            offsets = self._scan(queue, sizes, int(some))
            units = np.empty(1, np.int32)
            cl.enqueue_copy(queue, units, offsets, src_offset=4 * int(some))
            chunks = -(-int(units[0]) // self._chunk)
            if chunks == 0:
                continue
            parts = buffer(queue, chunks + 1)
            counted = np.int32(units[0]), np.int32(chunks)
            launch("intersect_parts", chunks + 1, offsets, parts, some, *counted)
            launch("intersect_run", self.items, *arrays, begin, offsets, parts, counted[0])
