"""Connected components on the device by hooking, whatever the directions of the arcs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.kernels import build

__all__ = ["Hooking"]

# Launches that shorten the first trees, and their steps: 8^4 is the depth of those of large grids.
# Where work-items go one after the other, they find the parents shortened already.
_FIRST, _STEPS, _ALL_STEPS = 4, 8, 2**31 - 1
# The most work-items that share a vertex.
_LANES = 32
# Work-items for each compute unit of a GPU.
_ITEMS = 2048


class Hooking:
    """Trees of vertices that grow into components. Making it builds the kernels.

    Parameters
    ----------
    device : Device
    group : int
        Work-items of a group.
    offsets : numpy.dtype
        Type of the offsets on the device.

    Attributes
    ----------
    hash : str
        The hash of the kernels.
    """

    def __init__(self, device: Device, group: int, offsets: np.dtype) -> None:
        defines: dict[str, str | int] = {
            "PYAPSP_GROUP": group,
            "PYAPSP_OFFSET": "long" if offsets == np.int64 else "int",
        }
        units = device.capabilities.compute_units
        self._groups = units if group == 1 else max(units * _ITEMS // group, 1)
        fences = device.capabilities.device_scope_fence
        standard = device.capabilities.c_standard if fences else None
        self._program = build(device, "traversal/scc_hooking.cl", defines, standard=standard)
        self._group, self.hash = group, self._program.hash

    @staticmethod
    def buffers(n: int) -> list[int]:
        """Return the bytes of the buffers of a call: the trees, and the root of the largest."""
        return [4 * n, 4]

    def __call__(
        self,
        queue: cl.CommandQueue,
        arcs: list[cl.Buffer],
        sizes: tuple[int, int],
        own: Sequence[Any],
        *,
        symmetric: bool,
    ) -> None:
        """Enqueue the kernels.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        arcs : list of pyopencl.Buffer
            The rows: the offsets, and the heads.
        sizes : (int, int)
            Number of vertices, at least 1, and of arcs.
        own : sequence of pyopencl.Buffer
            The buffers of `buffers`. The first one gets, for each vertex, the smallest vertex of
            its component.
        symmetric : bool
            Whether every arc has its reverse.
        """
        parents, giant = own
        n = np.int32(sizes[0])

        def launch(name: str, *arguments: Any, groups: int = self._groups) -> None:
            kernel, group = self._program.kernel(f"hook_{name}"), self._group
            kernel(queue, (groups * group,), (group,), *arguments)

        lanes = 1 << (sizes[1] // sizes[0]).bit_length()
        shared = np.int32(min(lanes, self._group, _LANES))
        launch("begin", *arcs, parents, n)
        for _ in range(_FIRST if self._group > 1 else 0):
            launch("shorten", parents, n, np.int32(_STEPS))
        launch("shorten", parents, n, np.int32(_ALL_STEPS))
        launch("second", *arcs, parents, n)
        launch("shorten", parents, n, np.int32(_ALL_STEPS))
        if symmetric:
            launch("vote", parents, giant, n, groups=1)
        else:
            cl.enqueue_fill_buffer(queue, giant, np.full(1, -1, np.int32), 0, 4)
        launch("all", *arcs, parents, giant, n, shared)
        launch("shorten", parents, n, np.int32(_ALL_STEPS))
