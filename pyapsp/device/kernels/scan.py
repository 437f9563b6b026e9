"""Prefix sums on a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels.warps import build_warps

__all__ = ["Scan"]


class Scan:
    """Sums before each number, in order. Making it builds the kernels.

    Parameters
    ----------
    device : Device
    group : int
        Work-items of a group.
    each : int
        Numbers of a work-item.
    warp : int
        Width of the logical warps, which divides `group`.

    Attributes
    ----------
    hash : str
        The hash of the kernels.

    Examples
    --------
    >>> scan = Scan(device, 128, 8, 32)  # doctest: +SKIP
    >>> offsets = scan(queue, sizes, n)  # doctest: +SKIP
    """

    def __init__(self, device: Device, group: int, each: int = 8, warp: int = 1) -> None:
        defines = {"PYAPSP_GROUP": group, "PYAPSP_WARP": warp, "PYAPSP_EACH": each}
        self._program = build_warps(device, "device/scan.cl", defines)
        self._group, self._chunk = group, group * each
        self.hash = self._program.hash

    def buffers(self, n: int) -> list[int]:
        """Return the bytes of each buffer of a call; the first is the sums."""
        found = [4 * (n + 1)]
        while n >= self._chunk:
            n = n // self._chunk
            found += [4 * (n + 1)] * 2  # the totals, and their sums
        return [*found, 4]

    def __call__(
        self,
        queue: cl.CommandQueue,
        numbers: cl.Buffer,
        n: int,
        told: Callable[[cl.Event], None] = lambda event: None,
        memory: Sequence[cl.Buffer] = (),
    ) -> cl.Buffer:
        """Enqueue the kernels, and return the sums.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        numbers : pyopencl.Buffer
            n ints. All sums must be within int32.
        n : int
        told : callable
            Called with the event of each launch.
        memory : sequence of pyopencl.Buffer
            The buffers of `buffers`; without them, the call allocates them.

        Returns
        -------
        pyopencl.Buffer
            n + 1 ints: the sums before each number, and the sum of all.
        """
        flags = cl.mem_flags.READ_WRITE
        groups = n // self._chunk + 1
        sums, totals, *rest = memory or (
            cl.Buffer(queue.context, flags, 4 * (n + 1)),
            cl.Buffer(queue.context, flags, 4 * groups),
        )
        shape = (groups * self._group,), (self._group,)
        chunks, fan = (self._program.kernel(name) for name in ("scan_chunks", "scan_fan"))
        told(chunks(queue, *shape, numbers, sums, totals, np.int32(n)))
        if groups > 1:
            # the sum of all chunks but the last is enough, as its total is not before any chunk
            before = self(queue, totals, groups - 1, told, rest)
            told(fan(queue, *shape, sums, before, np.int32(n + 1)))
        return sums
