"""The interpreter on a device: each work-item interprets a bytecode.

Source: F. Okuyama's thesis, 2013, section 5.5.1, figure 5.7.
"""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import Program, build
from pyapsp.simulation.engine import Argument, DeviceEngine
from pyapsp.simulation.image import encode
from pyapsp.simulation.layout import SUMS
from pyapsp.simulation.together import Together, form_of, together_defines

__all__ = ["InterpretedEngine", "warp_of"]

# Bytecodes that a work-item interprets in turn, where groups are single work-items; elsewhere the
# work-items of a group.
_TURNS, _GROUP = 64, 128


def warp_of(device: Device) -> int:
    """Return the work-items of a warp: 1 where groups are single work-items."""
    return 1 if device.traits.scalar_groups else 32


class InterpretedEngine(DeviceEngine):
    """Integrates a system by interpreting its bytecodes on a device.

    The parameters are those of `DeviceEngine`.
    """

    def _prepare(self) -> None:
        layout, device = self.layout, self.device
        image = encode(layout)
        width = layout.width
        alone = device.traits.scalar_groups and width == 1
        turns = _TURNS if alone else 1
        most = device.capabilities.max_work_group_size // width * width
        self._group = width if device.traits.scalar_groups else max(min(_GROUP, most), width)
        depth = 8
        while depth < layout.depth:
            depth *= 2
        self._macros = {
            **self._defines,
            "PYAPSP_DEPTH": depth,
            "PYAPSP_WARP": width,
            "PYAPSP_GROUP": self._group,
            "PYAPSP_EACH": turns,
        }
        values, sums = image.values.astype(self.dtype), np.append(image.sums, np.int32(0))
        terms = [
            image.sums[first // width : (first + items) // width, 0].max(initial=0)
            for first, items in image.phases
        ]
        phases = [
            (first, items, -(-int(most) // width))
            for (first, items), most in zip(image.phases, terms, strict=True)
        ]
        tables = image.words, image.indices, values, image.starts, sums
        self._tables = (*map(self.constant, tables), self.constant(np.array(phases, np.int32)))
        self._kinds = [SUMS.index(layout.options.sum) if most else 0 for most in terms]
        self._launches: list[tuple[cl.Kernel, int, np.int32]] = []
        for number, (_, items) in enumerate(image.phases):
            kernel = self._program(self._kinds[number], 0, "launches").kernel("phase")
            groups = -(-items // (self._group * turns))
            self._launches.append((kernel, groups * self._group, np.int32(number)))
        if form_of(device) == "crew" and self.tableau.error is None:
            kernel = self._program(max(self._kinds), len(layout.phases), "crew").kernel("steps")
            crew = -(-max(items for _, items in image.phases) // self._group)
            self.together = Together(self, kernel, self._tables, self._group, crew)

    def _program(self, kind: int, phases: int, form: str) -> Program:
        macros = {**self._macros, "PYAPSP_SUM": kind, "PYAPSP_PHASES": phases}
        if self.layout.resets is not None:
            macros["MODEL_HAS_RESETS"] = 1
        standard = self.device.capabilities.c_standard if form == "crew" else None
        macros |= together_defines(form) if phases else {}
        return build(self.device, "simulation/interpreter.cl", macros, standard=standard)

    def launch(self, phase: int, arguments: tuple[Argument, ...]) -> None:
        """Enqueue a phase."""
        kernel, size, number = self._launches[phase]
        if size:
            kernel(self.queue, (size,), (self._group,), *arguments, *self._tables, number)
