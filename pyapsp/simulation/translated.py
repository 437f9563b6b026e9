"""The engine that runs a translated model, and finds the best work-group of each phase.

Source: F. Okuyama's thesis, 2013, section 5.5.2.
"""

from __future__ import annotations

import threading
import time
from functools import cache

import numpy as np
import pyopencl as cl

from pyapsp.base.host import cores
from pyapsp.device import Device, event_seconds
from pyapsp.device.kernels import Program
from pyapsp.device.kernels.source import flattened, headed
from pyapsp.simulation.engine import Argument, DeviceEngine
from pyapsp.simulation.layout import SUMS
from pyapsp.simulation.program import translation
from pyapsp.simulation.together import GroupSize, Together, form_of, together_defines

__all__ = ["TranslatedEngine"]

# The largest work-group of a phase, for which every kernel has registers. Kernels that take many
# steps are compiled for theirs: one group, or those of a crew.
_LARGEST, _ALONE_GROUP, _CREW_GROUP = 256, 512, 256
# The number of STAGE_ARGUMENTS in stages.h.
_STAGE_ARGUMENTS = 10
# What is small on a CPU: seconds of a launch, of a bytecode alone and of one in a vector. On other
# devices: how often a group goes through a phase.
_LAUNCH, _ALONE, _VECTOR, _ROUNDS = 50e-6, 8e-9, 2e-9, 3
_building = threading.Lock()


class TranslatedEngine(DeviceEngine):
    """Integrates a system with a program of its own.

    The parameters are those of `DeviceEngine`.

    Attributes
    ----------
    source : str
        The program.
    build_seconds : float
        The time of compilation; short if the driver had the program in its cache.
    groups : list of GroupSize
        The work-group of each phase.
    """

    def _prepare(self) -> None:
        self._ranges = self.device.traits.scalar_groups
        self._build(self._form())

    def _build(self, form: str) -> None:
        device, layout = self.device, self.layout
        lanes = device.traits.lanes(self.dtype.itemsize) if self._ranges else 1
        many = form != "launches"
        made = translation(layout, lanes=lanes, ranges=self._ranges, many=many)
        largest = self._fitting(_LARGEST)
        group = (
            1 if self._ranges else self._fitting(_CREW_GROUP if form == "crew" else _ALONE_GROUP)
        )
        defines = {
            **self._defines,
            "PYAPSP_SINGLE": int(self.dtype == np.float32),
            "PYAPSP_LANES": lanes,
            "PYAPSP_WARP": layout.width,
            "PYAPSP_GROUP": largest,
            "PYAPSP_SUM": max(SUMS.index(layout.options.sum), 1),
        }
        text = f'{flattened("simulation/translated.h")}\n#line 1 "model"\n{made.text}'
        if many:
            defines |= {"PYAPSP_STEPS": group, **together_defines(form)}
            text += flattened("simulation/steps.h")
        self.source = headed(text, defines)
        started = time.perf_counter()
        standard = device.capabilities.c_standard if form == "crew" else None
        program = _built(device, self.source, standard)
        self.build_seconds = time.perf_counter() - started
        self._tables = (
            self.constant(made.slots),
            self.constant(made.values.astype(self.dtype)),
            self.constant(made.sums),
        )
        self.groups = list[GroupSize]()
        self._kernels: list[tuple[cl.Kernel, int]] = []
        if many:
            crew = 0 if form == "alone" else -(-max(made.items) // (group * lanes))
            self.together = Together(self, program.kernel("steps"), self._tables, group, crew)
            return
        for number, (count, rounds) in enumerate(zip(made.items, made.rounds, strict=True)):
            kernel, each, items = program.new_kernel(f"phase_{number}"), rounds, count
            if self._ranges:
                each = max(-(-count // (cores() * lanes)) * lanes, 1)
                items = -(-count // each)
            fixed: tuple[Argument, ...] = (*self._tables, np.int32(each))
            for place, value in enumerate(fixed, start=_STAGE_ARGUMENTS):
                kernel.set_arg(place, value)
            self._kernels.append((kernel, items))
            self.groups.append(GroupSize(layout.width, layout.width if self._ranges else largest))
        self._set: list[list[Argument | None]] = [[None] * _STAGE_ARGUMENTS for _ in self._kernels]

    def _fitting(self, group: int) -> int:
        """Return the work-items of a group of whole warps: at most so many."""
        most = self.device.capabilities.max_work_group_size
        return min(most, group) // self.layout.width * self.layout.width

    def _one_by_one(self) -> None:
        super()._one_by_one()
        self._build("launches")

    def _form(self) -> str:
        """Return how the phases are launched."""
        if self.tableau.error is not None:
            return "launches"
        return "alone" if self._is_small() else form_of(self.device)

    def _is_small(self) -> bool:
        """Return whether one work-group is faster than a launch for each phase."""
        layout = self.layout
        counts = [phase.count for phase in layout.every]
        if self._ranges:
            bundles = [len(bundle) for phase in layout.every for bundle in phase.bundles]
            seconds = sum(count * (_ALONE if count < 4 else _VECTOR) for count in bundles)
            return seconds * (1 - 1 / cores()) < _LAUNCH * len(counts)
        if any(bundle.shape.terms for phase in layout.every for bundle in phase.bundles):
            return False
        group = self._fitting(_ALONE_GROUP)
        return sum(-(-count // group) for count in counts) <= _ROUNDS * len(counts)

    def launch(self, phase: int, arguments: tuple[Argument, ...]) -> None:
        """Enqueue a phase; only arguments that changed are set."""
        kernel, items = self._kernels[phase]
        if items == 0:
            return
        known = self._set[phase]
        for place, value in enumerate(arguments):
            if value is not known[place]:
                kernel.set_arg(place, value)
                known[place] = value
        group = self.groups[phase]
        size = items if self._ranges else -(-items // group.size) * group.size
        event = cl.enqueue_nd_range_kernel(self.queue, kernel, (size,), (group.size,))
        if not group.settled:
            group.add(event_seconds(event))


def _built(device: Device, source: str, standard: str | None) -> Program:
    with _building:
        return _program(device, source, standard)


@cache
def _program(device: Device, source: str, standard: str | None) -> Program:
    return Program(device, source, standard)
