"""Numbers for components on the device, in the order of their smallest vertices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import build
from pyapsp.device.kernels.scan import Scan
from pyapsp.traversal.kernels import Launcher, standard_of_fences

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
        self._group, defines = group, {"PYAPSP_GROUP": group}
        file, standard = "traversal/components/numbering.cl", standard_of_fences(device)
        self._program = build(device, file, defines, standard=standard)
        self._scan = Scan(device, group)
        # groups of one work-item take long to begin
        self._items = device.capabilities.compute_units if group == 1 else 0

    def buffers(self, n: int) -> list[int]:
        """Return the bytes of each further buffer of a call."""
        return self._scan.buffers(n)

    def __call__(
        self,
        queue: cl.CommandQueue,
        roots: cl.Buffer,
        smallest: cl.Buffer,
        numbers: cl.Buffer,
        n: int,
        memory: Sequence[cl.Buffer] = (),
    ) -> None:
        """Enqueue the kernels.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        roots : pyopencl.Buffer
            n ints: for each vertex a vertex that stands for its component, or -1 for a vertex
            alone. That becomes the vertex itself.
        smallest : pyopencl.Buffer
            Space for n ints. If it is `roots`, the vertices that stand for components are the
            smallest already.
        numbers : pyopencl.Buffer
            n ints, which become the numbers.
        n : int
        memory : sequence of pyopencl.Buffer
            The buffers of `buffers`; without them, the call allocates them.
        """
        launch, few = Launcher(queue, self._program, self._group), self._items or -(-n // _VERTICES)
        if smallest is not roots:
            cl.enqueue_fill_buffer(queue, smallest, np.full(1, n, np.int32), 0, 4 * n)
            launch("number_smallest", few, roots, smallest, np.int32(n))
        launch("number_flags", few, roots, smallest, numbers, np.int32(n))
        sums = self._scan(queue, numbers, n, memory=memory)
        launch("number_all", few, roots, smallest, sums, numbers, np.int32(n))
