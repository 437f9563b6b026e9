"""Connected components on the device by hooking, whatever the directions of the arcs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.kernels import build

__all__ = ["Hooking"]

# Launches that shorten the first trees, an odd number: 8^5 is deeper than the trees of most grids.
_FIRST = 5
# Rounds that are enqueued before the host reads whether they were needed.
_ROUNDS = 4
# The most work-items that share a vertex.
_LANES = 32
# Work-items for each compute unit of a GPU.
_ITEMS = 2048
# The layout of the state, see the kernel file.
_STATE, _CHANGED = 4, 0


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
        # few work-items hook in one array, if a load that is atomic is as fast as another one
        self._unites = group == 1 and device.capabilities.device_scope_fence
        standard = device.capabilities.c_standard if self._unites else None
        self._program = build(device, "traversal/scc_hooking.cl", defines, standard=standard)
        self._group, self.hash = group, self._program.hash

    @staticmethod
    def buffers(n: int) -> list[int]:
        """Return the bytes of the buffers of a call: two of pointers, and the state."""
        return [4 * n, 4 * n, 4 * _STATE]

    def __call__(
        self,
        queue: cl.CommandQueue,
        arcs: list[cl.Buffer],
        sizes: tuple[int, int],
        own: tuple[Any, Any, Any],
        *,
        symmetric: bool,
    ) -> tuple[Any, int]:
        """Find the components.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        arcs : list of pyopencl.Buffer
            The rows: the offsets, and the heads.
        sizes : (int, int)
            Number of vertices, at least 1, and of arcs.
        own : tuple of pyopencl.Buffer
            The buffers of `buffers`.
        symmetric : bool
            Whether every arc has its reverse.

        Returns
        -------
        roots : pyopencl.Buffer
            One of `own`: for each vertex the smallest vertex of its component.
        rounds : int
            Number of rounds.
        """
        next_, now, state = own
        n = np.int32(sizes[0])

        def launch(name: str, *arguments: Any, groups: int = self._groups) -> None:
            kernel, group = self._program.kernel(f"hook_{name}"), self._group
            kernel(queue, (groups * group,), (group,), *arguments)

        lanes = 1 << (sizes[1] // sizes[0]).bit_length()
        shared = np.int32(min(lanes, self._group, _LANES))
        launch("begin", *arcs, next_, state, n)
        if self._unites:
            launch("unite_some", *arcs, next_, n)
            launch("flatten", next_, n)
            if symmetric:
                launch("vote", next_, state, n, groups=1)
            launch("unite_all", *arcs, next_, state, n)
            launch("flatten", next_, n)
            return next_, 1
        for turn in range(_FIRST):
            pair = (now, next_) if turn % 2 else (next_, now)
            launch("shorten", *pair, state, n, np.int32(-1))
        launch("some", *arcs, now, next_, n)
        launch("shorten", next_, now, state, n, np.int32(-1))
        if symmetric:
            launch("vote", now, state, n, groups=1)
        rounds, found = 0, np.empty(_STATE, np.int32)
        while True:
            for _ in range(_ROUNDS):
                turn_ = np.int32(rounds)
                launch("all", *arcs, now, next_, state, n, shared, turn_)
                launch("shorten", next_, now, state, n, turn_)
                rounds += 1
            cl.enqueue_copy(queue, found, state)
            if not found[_CHANGED + (rounds + 2) % 3]:
                return now, rounds
