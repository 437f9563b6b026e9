"""Predict whether memory accesses or arithmetic bound the time of a program.

The memory machine of `pyapsp.bulk.umm` has one memory and counts accesses. A device has caches, so
its time depends on the order of the addresses. Its compiler removes some accesses. A program with
much arithmetic may not wait for memory at all. So two times are measured separately. *memory* is
the time of the program's accesses without its arithmetic, for each arrangement. *computing* is the
time of the program if accesses to its arrays cost nothing. While some work-items wait for memory
others compute, so the longer of the two is the prediction::

    seconds = max(memory of the arrangement, computing)

The program itself is not timed. It runs for a sample of its inputs to count how often its
conditions on data hold, because accesses under a condition are made by some instances only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import ParameterError
from pyapsp.bulk import forms
from pyapsp.bulk.accesses import count_accesses
from pyapsp.bulk.buffers import instances_of
from pyapsp.bulk.generate import ARRANGEMENTS, Arrangement
from pyapsp.bulk.translate import Translation
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.device.kernels.program import Program as Built

__all__ = ["Bounds", "bounds", "fractions_of"]

_GROUP_SIZE = 64
_REPEAT = 3
# Limits of accesses and instances of the sample; counting a condition is an atomic addition.
_ACCESSES, _MOST = 2**22, 1024


@dataclass(frozen=True)
class Bounds:
    """Bounds of the time of a program for some number of instances."""

    memory: dict[Arrangement, float]  # arrangement -> seconds of its accesses
    computing: float  # seconds of its arithmetic
    # The fraction of cases in which each condition on data is true, in the order of the text.
    fractions: tuple[float, ...] = ()

    def seconds(self, arrangement: Arrangement) -> float:
        """Return the predicted time for an arrangement."""
        return max(self.memory[arrangement], self.computing)

    @property
    def ratio(self) -> float:
        """The predicted time row-wise divided by that column-wise."""
        return self.seconds("row") / self.seconds("column")


def bounds(
    translation: Translation,
    device: Device,
    p: int,
    inputs: Mapping[str, np.ndarray],
    *,
    group_size: int = _GROUP_SIZE,
) -> Bounds:
    """Measure the bounds of the time of a program.

    Parameters
    ----------
    translation : Translation
    device : Device
    p : int
        Number of instances for which the time is predicted.
    inputs : mapping of str to (some, ...) array-like
        Typical inputs; a sample of the first ones is run.
    group_size : int
        Number of work-items of a group.

    Returns
    -------
    Bounds

    Raises
    ------
    ParameterError
        `p` is not a positive integer, or a loop of the program depends on data: it might not end
        with other data.
    DeviceMemoryError
        The memory cannot hold all instances at once.
    """
    if not isinstance(p, int) or p < 1:
        raise ParameterError.of("p", "bounds", "a positive whole number", p)
    if forms.data_loops(translation):
        rule = "without loops whose number of rounds depends on data"
        raise ParameterError.of("program", "bounds", rule, translation.path)
    shares = fractions_of(translation, device, inputs)
    needed = 4 * p + sum(each.nbytes for each in translation.arrays) * p
    with device_errors(device, needed):
        queue, flags = device.queue(), cl.mem_flags.READ_WRITE
        sizes = [4, *(each.nbytes for each in translation.arrays)]
        rest, *arrays = [cl.Buffer(device.context, flags, size * p) for size in sizes]
        try:
            for each in (rest, *arrays):
                cl.enqueue_fill_buffer(queue, each, np.zeros(1, np.uint8), 0, each.size)
            memory = {
                arrangement: _seconds(
                    queue,
                    Built(device, forms.replay(translation, arrangement, shares)),
                    group_size,
                    p,
                    *arrays,
                    rest,
                )
                for arrangement in ARRANGEMENTS
            }
            alone = Built(device, forms.computing(translation, group_size))
            computing = _seconds(queue, alone, group_size, p, np.int32(0), rest)
        finally:
            queue.finish()
            for each in (rest, *arrays):
                each.release()
    return Bounds(memory, computing, tuple(shares))


def fractions_of(
    translation: Translation, device: Device, inputs: Mapping[str, np.ndarray]
) -> list[float]:
    """Return the fraction of cases in which each condition on data is true, for the first inputs.

    Parameters
    ----------
    translation : Translation
    device : Device
    inputs : mapping of str to (some, ...) array-like

    Returns
    -------
    list of float
        In [0, 1], in the order of `pyapsp.bulk.forms.conditions`; 0 for conditions never reached.
    """
    count = len(forms.conditions(translation))
    if not count:
        return []
    accesses = count_accesses(translation) or _ACCESSES
    most = min(max(_ACCESSES // accesses, 1), _MOST)
    p, values_of = instances_of(translation, {key: each[:most] for key, each in inputs.items()}, 0)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    with device_errors(device, sum(each.nbytes for each in translation.arrays) * p):
        queue, tallies = device.queue(), np.zeros((count, 2), np.uint32)
        arrays = []
        for each in translation.arrays:
            values = np.zeros((p, *each.shape), each.dtype)
            if each.name in values_of:
                values = values_of[each.name]
            elif each.initial:
                values.reshape(p, -1)[:] = each.initial
            if translation.arrangement == "column":
                values = values.reshape(p, -1).T
            host = np.ascontiguousarray(values)
            arrays.append(cl.Buffer(device.context, flags, hostbuf=host))
        counts = cl.Buffer(device.context, flags, hostbuf=tallies)
        try:
            kernel = Built(device, forms.shares(translation)).kernel("bulk")
            kernel(queue, (p,), (1,), np.int32(p), *arrays, counts)
            cl.enqueue_copy(queue, tallies, counts)
        finally:
            queue.finish()
            for buffer in (*arrays, counts):
                buffer.release()
    return [float(holds) / max(int(looked), 1) for looked, holds in tallies]


def _seconds(
    queue: cl.CommandQueue, built: Built, group: int, p: int, *others: cl.Buffer | np.int32
) -> float:
    """Return the device time of a kernel, the shortest of some runs."""
    items, times = (-(-p // group) * group,), []
    for _ in range(_REPEAT):
        watch = Stopwatch()
        event = built.kernel("bulk")(queue, items, (group,), np.int32(p), *others)
        watch.add("kernel", event)
        times.append(watch.seconds("kernel"))
    return min(times)
