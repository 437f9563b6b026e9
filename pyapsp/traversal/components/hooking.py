"""Connected components on the device by hooking, whatever the directions of the arcs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import build
from pyapsp.numbers.arithmetic import C_TYPES
from pyapsp.traversal.kernels import KernelArgument, offset_type, standard_of_fences

__all__ = ["Hooking"]

# Arcs of each vertex that are tried before all others, and the mean degree from which they are.
_TRIED, _DENSE = 2, 8
# The most work-items that share a vertex. If the graph is symmetric, most need only one.
_LANES, _SYMMETRIC_LANES = 32, 4
# Work-items for each compute unit of a GPU.
_ITEMS = 2048


class Hooking:
    """Trees of vertices that grow into components. Making it builds the kernels.

    Parameters
    ----------
    device : Device
    group : int
        Work-items of a group.

    Attributes
    ----------
    hash : str
        The hash of the kernels.
    """

    def __init__(self, device: Device, group: int) -> None:
        offset = C_TYPES[offset_type(device).name]
        defines: dict[str, str | int] = {"PYAPSP_GROUP": group, "PYAPSP_OFFSET": offset}
        units = device.capabilities.compute_units
        self._groups = units if group == 1 else max(units * _ITEMS // group, 1)
        file, standard = "traversal/components/scc_hooking.cl", standard_of_fences(device)
        self._program = build(device, file, defines, standard=standard)
        self._group, self.hash = group, self._program.hash

    @staticmethod
    def buffers(n: int) -> list[int]:
        """Return the bytes of the buffers of a call: three of parents, and the largest tree."""
        return [4 * n, 4 * n, 4 * n, 4]

    def __call__(
        self,
        queue: cl.CommandQueue,
        arcs: list[cl.Buffer],
        sizes: tuple[int, int],
        own: Sequence[cl.Buffer],
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
        now, *others, giant = own
        n, groups = np.int32(sizes[0]), (self._groups * self._group,)

        def launch(name: str, *arguments: KernelArgument, items: tuple[int] = groups) -> None:
            self._program.kernel(f"hook_{name}")(queue, items, (self._group,), *arguments)

        def to_roots() -> None:
            launch("to_roots", others[0], now, others[1], n)
            others.reverse()

        mean = sizes[1] // sizes[0]
        most = _SYMMETRIC_LANES if symmetric else _LANES
        lanes = np.int32(min(1 << round(math.log2(max(mean, 1))), self._group, most))
        launch("begin", *arcs, others[0], n)
        launch("shorten", *others, n)
        launch("shorten", *others[::-1], n)
        to_roots()
        for number in range(1, 1 + _TRIED * (mean >= _DENSE)):
            launch("some", *arcs, now, others[0], n, np.int32(number))
            to_roots()
        if symmetric:
            launch("vote", now, giant, n, items=(self._group,))
        else:
            cl.enqueue_fill_buffer(queue, giant, np.full(1, -1, np.int32), 0, 4)
        launch("all", *arcs, now, others[0], giant, n, lanes)
        to_roots()
