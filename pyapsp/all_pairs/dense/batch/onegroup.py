"""Graphs in the registers of a work-group on GPUs, in the caches of a core on CPUs."""

from __future__ import annotations

import math

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.batch.form import Buffers, Form, raw_defines
from pyapsp.base.errors import CapabilityError
from pyapsp.device import Device
from pyapsp.device.kernels import build
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions

__all__ = ["OneGroup"]

# Work-items of a group on a GPU, (x, y), and the columns of each. The first shape whose registers
# hold the matrix is used.
_SHAPES = ((8, 4, 4), (8, 8, 8), (16, 16, 8))
# Pivots of an outer round on a CPU, if the matrix is larger than the near cache of a core, and the
# bytes of that cache.
_BLOCK, _NEAREST = 64, 2**16
# Each lane of a vector has a graph of its own if, in rows, padding made more than so many times the
# updates of a graph.
_PADDED = 2.5


class OneGroup(Form):
    """Each work-group solves a whole graph. This method is our own.

    Parameters
    ----------
    n, options, negative
        As for `Form`.
    **parameters : int
        Values that replace the automatic choice: group_x, group_y on GPUs; lanes, rows, strips,
        step, block and unroll on CPUs. With lanes 1, each lane of a vector has a graph of its own.

    Raises
    ------
    CapabilityError
        If the registers of a group do not hold such a graph.
    """

    most = 2**30

    def __init__(
        self, n: int, options: AllPairsOptions, *, negative: bool, **parameters: int
    ) -> None:
        super().__init__(n, options)
        device, dtype = options.device, options.dtype
        by_cores = device.traits.scalar_groups and "group_x" not in parameters
        self._cores = device.capabilities.compute_units if by_cores else 0
        bits = dtype.itemsize > 2 and not negative
        defines: dict[str, str | int] = {
            **arithmetic_defines(device, dtype, guard=negative, bits=bits),
            **raw_defines(options),
        }
        if self._cores:
            kernels, mine = self._of_core(device, parameters)
        else:
            kernels, mine = "all_pairs/dense/fw_onegroup.cl", self._of_registers(device, parameters)
        self.parameters = self._p = mine
        defines |= {f"PYAPSP_{name.upper()}": value for name, value in mine.items()}
        self._program = build(device, kernels, defines)
        self.hash = self._program.hash

    def _of_registers(self, device: Device, parameters: dict[str, int]) -> dict[str, int]:
        largest = device.capabilities.max_work_group_size
        for x, y, columns in _SHAPES:
            x, y = parameters.get("group_x", x), parameters.get("group_y", y)
            if self.n <= x * columns and x * y <= largest:
                return {"group_x": x, "group_y": y, "columns": -(-self.n // x)}
        raise CapabilityError(
            f"fw-onegroup holds graphs of up to {most_vertices(device)} vertices on {device.name}, "
            f"and this has {self.n}"
        )

    def _of_core(self, device: Device, parameters: dict[str, int]) -> tuple[str, dict[str, int]]:
        width = device.traits.lanes(self.dtype.itemsize)
        step = 4 if self.n <= 32 else 8
        # two strips are faster, unless they need more padding
        sizes = [_multiple(self.n, math.lcm(step, strips * width)) for strips in (1, 2)]
        padded = self.n < width or sizes[0] ** 3 > _PADDED * self.n**3
        if parameters.get("lanes", padded and width > 1):
            self._size = self.n
            self._values = self.n**2 * width
            return "all_pairs/dense/fw_onegroup.lanes.cl", {"lanes": 1, "width": width}
        strips = 2 if sizes[1] == sizes[0] else 1
        # a matrix that fits in the near cache needs no outer rounds
        near = sizes[strips - 1] ** 2 * self.dtype.itemsize <= _NEAREST
        chosen = {
            "lanes": 0,
            "rows": 4,
            "strips": strips,
            "width": width,
            "step": step,
            "unroll": 1 if near else 2,
            "block": sizes[strips - 1] if near else _BLOCK,
            **parameters,
        }
        span = chosen["strips"] * width
        self._size = _multiple(self.n, math.lcm(chosen["step"], span))
        self._values = self._size**2 + min(chosen["block"], self._size) * span
        return "all_pairs/dense/fw_onegroup.cpu.cl", chosen

    def scratch(self, graphs: int) -> tuple[int, ...]:
        """Count, on a CPU, the matrices of each core and the counter of graphs."""
        return (self._cores * self._values * self.dtype.itemsize, 4) if self._cores else ()

    def enqueue(
        self, queue: cl.CommandQueue, buffers: Buffers, graphs: int, *, zero_is_arc: bool
    ) -> list[cl.Event]:
        """Enqueue the one kernel."""
        kernel = self._program.kernel("fw_onegroup")
        arrays = (buffers.weights, buffers.distances, buffers.remarks)
        how = (np.int32(zero_is_arc), self.longest())
        if not self._cores:
            x, y = self._p["group_x"], self._p["group_y"]
            return [kernel(queue, (graphs * x, y), (x, y), *arrays, np.int32(self.n), *how)]
        matrices, counter = buffers.scratch
        cl.enqueue_fill_buffer(queue, counter, np.zeros(1, np.int32), 0, 4)
        place = (np.int32(graphs), np.int32(self.n), np.int32(self._size))
        groups = (min(self._cores, graphs),)
        return [kernel(queue, groups, (1,), *arrays, counter, matrices, *place, *how)]


def most_vertices(device: Device) -> int:
    """Return the vertices of the largest graph that registers hold; for GPUs."""
    largest = device.capabilities.max_work_group_size
    return max((x * columns for x, y, columns in _SHAPES if x * y <= largest), default=0)


def _multiple(n: int, unit: int) -> int:
    return -(-n // unit) * unit
