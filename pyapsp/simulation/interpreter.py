"""The interpreter on a device: each work-item interprets a bytecode.

Source: F. Okuyama's thesis, 2013, section 5.5.1, figure 5.7.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyapsp.device import Device
from pyapsp.kernels import build
from pyapsp.simulation.engine import DeviceEngine
from pyapsp.simulation.image import encode
from pyapsp.simulation.layout import SUMS

__all__ = ["InterpretedEngine", "warp_of"]

# Bytecodes that a work-item interprets in turn, where groups are single work-items.
_TURNS = 64


def warp_of(device: Device) -> int:
    """Return the work-items of a warp: 1 where groups are single work-items."""
    return 1 if device.traits.scalar_groups else 32


class InterpretedEngine(DeviceEngine):
    """Integrates a system by interpreting its bytecodes on a device.

    The parameters are those of `DeviceEngine`.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        layout, device = self.layout, self.device
        image = encode(layout)
        width = layout.width
        turns = _TURNS if device.traits.scalar_groups and width == 1 else 1
        depth = 8
        while depth < layout.depth:
            depth *= 2
        defines = {
            **self._defines,
            "PYAPSP_DEPTH": depth,
            "PYAPSP_WARP": width,
            "PYAPSP_GROUP": width,
            "PYAPSP_EACH": turns,
        }
        values, sums = image.values.astype(self.dtype), np.append(image.sums, np.int32(0))
        arrays = (image.words, image.indices, values, image.starts, sums)
        self._arrays = tuple(self.constant(each) for each in arrays)
        self._launches = []
        for first, items in image.phases:
            terms = image.sums[first // width : (first + items) // width, 0].max(initial=0)
            kind = SUMS.index(layout.options.sum) if terms else 0
            program = build(device, "simulation/interpreter.cl", {**defines, "PYAPSP_SUM": kind})
            groups = -(-items // (width * turns))
            numbers = np.int32(first), np.int32(items), np.int32(-(-int(terms) // width))
            self._launches.append((program.kernel("phase"), groups * width, numbers))

    def launch(self, phase: int, arguments: tuple[Any, ...]) -> None:
        """Enqueue a phase."""
        kernel, size, numbers = self._launches[phase]
        if size:
            kernel(self.queue, (size,), (self.layout.width,), *arguments, *self._arrays, *numbers)
