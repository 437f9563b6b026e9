"""Numbers for components on the device, in the order of their smallest vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.kernels import build
from pyapsp.kernels.scan import Scan

__all__ = ["Numbering"]

# Vertices of a work-item.
_VERTICES = 16


class Numbering:
    """Numbers of components. Making it builds the kernels.

    Parameters
    ----------
    device : Device
    group : int
        Work-items of a group.
    """

    def __init__(self, device: Device, group: int) -> None:
        self._group, self._program = group, build(device, "traversal/numbering.cl", defines(group))
        self._scan = Scan(device, group)

    def buffers(self, n: int) -> list[int]:
        """Return the bytes of each buffer that a call allocates."""
        return self._scan.buffers(n)

    def __call__(
        self, queue: cl.CommandQueue, roots: Any, smallest: Any, numbers: Any, n: int
    ) -> None:
        """Enqueue the kernels.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        roots : pyopencl.Buffer
            n ints: for each vertex a vertex that stands for its component, or -1 for a vertex
            alone. That becomes the vertex itself.
        smallest : pyopencl.Buffer
            Space for n ints.
        numbers : pyopencl.Buffer
            n ints, which become the numbers.
        n : int
        """
        cl.enqueue_fill_buffer(queue, smallest, np.full(1, n, np.int32), 0, 4 * n)
        few = -(-n // (_VERTICES * self._group)) * self._group
        all_ = -(-n // self._group) * self._group
        size = np.int32(n)
        for name, items, rest in (("smallest", few, ()), ("flags", all_, (numbers,))):
            kernel = self._program.kernel(f"number_{name}")
            kernel(queue, (items,), (self._group,), roots, smallest, *rest, size)
        sums = self._scan(queue, numbers, n)
        kernel = self._program.kernel("number_all")
        kernel(queue, (all_,), (self._group,), roots, smallest, sums, numbers, size)


def defines(group: int) -> dict[str, str | int]:
    """Return the macros."""
    return {"PYAPSP_GROUP": group}
