"""The rule of parents: of all that a vertex can have, the one with the smallest number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import build
from pyapsp.numbers.arithmetic import C_TYPES
from pyapsp.paths import PathOptions
from pyapsp.traversal.kernels import Launcher, search_defines

__all__ = ["SmallestParents"]

_OFFSETS: np.dtype = np.dtype(np.int64)

# Work-items of a group, if the device supports it, and of a vertex on GPUs.
_GROUP, _LANES = 64, 8


class SmallestParents:
    """Replaces the parents of a search by the smallest ones, with the arcs on the device.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    options : PathOptions
    offsets : numpy.dtype
        Type of the offsets of rows: int32 or int64.
    """

    def __init__(
        self, queue: cl.CommandQueue, options: PathOptions, offsets: np.dtype = _OFFSETS
    ) -> None:
        device = options.device
        group = min(_GROUP, device.capabilities.max_work_group_size)
        self._lanes = 1 if device.traits.scalar_groups else min(_LANES, group)
        defines: dict[str, str | int] = {
            "PYAPSP_GROUP": group,
            "PYAPSP_LANES": self._lanes,
            "PYAPSP_OFFSET": C_TYPES[offsets.name],
            **search_defines(options),
        }
        program = build(device, "traversal/bfs/smallest_parents.cl", defines)
        self._launch = Launcher(queue, program, group)

    def of_rows(
        self,
        arcs: Sequence[cl.Buffer],
        levels: cl.Buffer,
        parents: cl.Buffer,
        rows: int,
        start: int = 0,
        stride: int = 1,
    ) -> None:
        """Look at the arcs that leave the vertices from `start` on: offsets and heads."""
        numbers = np.int32(start), np.int32(rows), np.int32(stride)
        self._launch("parents_of_rows", rows * self._lanes, *arcs, levels, parents, *numbers)

    def of_arcs(
        self, arcs: Sequence[cl.Buffer], levels: cl.Buffer, parents: cl.Buffer, m: int
    ) -> None:
        """Look at all arcs: tails and heads."""
        self._launch("parents_of_arcs", m, *arcs, levels, parents, np.int64(m))

    def of_entering(
        self, arcs: Sequence[cl.Buffer], levels: cl.Buffer, parents: cl.Buffer, n: int
    ) -> None:
        """Look at the arcs that enter each vertex: offsets and tails."""
        self._launch("parents_of_entering", n, *arcs, levels, parents, np.int32(n))
