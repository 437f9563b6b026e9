"""The roofs of a device: updates per second in registers, and bytes per second in a copy.

A rate is given as a fraction of a roof that was measured by the same program on the same device in
the same run, because the clock rate and the load of a device change.

`METERS` has the units of work that have a roof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import pyopencl as cl
from numpy.typing import DTypeLike

from pyapsp.base.json import Record
from pyapsp.device import Device, device_errors, event_seconds
from pyapsp.device.kernels import Program, build
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.precision import DTYPES

__all__ = ["METERS", "Meter", "Roof", "copy_bandwidth", "has_roof", "measure", "with_roof"]

# In a shorter kernel, the overhead of the launch is a large part of the time.
_SECONDS = 0.01
_WORK_ITEMS = 256  # work-items of a group on a GPU
_GROUPS_PER_UNIT = 8
_STEPS = 4  # how often the kernel's loop is unrolled
_COPY_BYTES = 256 * 2**20
# The words of the vendor's file, by type. Those of integers have a form with multiply-adds.
_WORDS = {"uint16": 0, "int16": 1, "float16": 2, "int32": 3}


@dataclass(frozen=True)
class Roof:
    """The peak rate of a device for one number type, with all operands in registers."""

    rate: float  # updates per second: the largest of `forms`
    # The rate of each form of the update: `minimum` (that of the type), `bits` (floats compared as
    # integers, right for non-negative ones), `bits of three` (two sums and one minimum of three, on
    # GPUs), `packed` (pairs of 16-bit values, see `Capabilities.packed16`), `multiply-add` (the
    # same and integers, half of the sums by multiply-adds).
    forms: dict[str, float] = field(default_factory=dict)


@dataclass
class _Loop:
    """One variant of the loop: a kernel, its buffer, and its number of rounds."""

    form: str
    kernel: cl.Kernel
    buffer: cl.Buffer
    items: int
    group: int
    updates: int  # updates of a work-item in a round
    rounds: int = 64
    speeds: list[float] = field(default_factory=list)

    def run(self, queue: cl.CommandQueue) -> float:
        """Run the loop once and return its seconds."""
        size, group = (self.items,), (self.group,)
        return event_seconds(self.kernel(queue, size, group, self.buffer, np.int32(self.rounds)))

    def warm_up(self, queue: cl.CommandQueue) -> None:
        """Find the number of rounds that takes long enough to be timed."""
        while (seconds := self.run(queue)) < _SECONDS and self.rounds < 2**28:
            factor = 1.2 * _SECONDS / max(seconds, _SECONDS / 64)
            self.rounds = int(self.rounds * max(factor, 1.2)) + 1

    def turn(self, queue: cl.CommandQueue) -> None:
        """Run again and store the rate."""
        self.speeds.append(self.items * self.updates * self.rounds / self.run(queue))


class Meter:
    """Measures the roof of a device in turns, between which other work can be timed.

    Parameters
    ----------
    device : Device
    dtype : dtype-like
        One of `pyapsp.numbers.precision.DTYPES`.

    Raises
    ------
    CapabilityError
        If the device has no such type.
    """

    def __init__(self, device: Device, dtype: DTypeLike) -> None:
        self._device, self._queue = device, device.queue()
        with device_errors(device, 0):
            self._loops = list(_loops(device, np.dtype(dtype), self._queue))
            for loop in self._loops:
                loop.warm_up(self._queue)

    def turn(self) -> None:
        """Measure every variant of the loop once."""
        with device_errors(self._device, 0):
            for loop in self._loops:
                loop.turn(self._queue)

    def roof(self) -> Roof:
        """Return the median rate of the best variant of each form."""
        forms: dict[str, float] = {}
        for loop in self._loops:
            forms[loop.form] = max(median(loop.speeds), forms.get(loop.form, 0.0))
        return Roof(max(forms.values()), forms)


#: Unit of work -> the class that measures its roof, for units that have one.
METERS = {"updates": Meter}

_measured: dict[tuple[Device, str], Roof] = {}


def has_roof(dtype: str) -> bool:
    """Return whether a type has a roof: values of 4 or 8 bits have none."""
    return dtype in DTYPES


def measure(device: Device, dtype: DTypeLike, *, repeat: int = 5, cached: bool = False) -> Roof:
    """Measure the updates per second of a device with all operands in registers.

    Parameters
    ----------
    device : Device
    dtype : dtype-like
        One of `pyapsp.numbers.precision.DTYPES`.
    repeat : int
        Number of turns; the median counts.
    cached : bool
        Return the result of an earlier measurement of this process, if there is one.

    Returns
    -------
    Roof

    Raises
    ------
    CapabilityError
        If the device has no such type.
    """
    key = (device, np.dtype(dtype).name)
    if not (cached and key in _measured):
        meter = Meter(device, dtype)
        for _ in range(repeat):
            meter.turn()
        _measured[key] = meter.roof()
    return _measured[key]


def with_roof(stats: Record, roof: Roof) -> Record:
    """Return the record of a run with the roof, and the fraction of it that was reached."""
    speed = stats["rate"]
    return {
        **stats,
        "roof_rate": roof.rate,
        "fraction_of_roof": speed / roof.rate if isinstance(speed, int | float) else None,
    }


def copy_bandwidth(device: Device, *, repeat: int = 5) -> float:
    """Measure the bytes per second of a copy within the device's memory.

    Parameters
    ----------
    device : Device
    repeat : int
        Number of turns; the median counts.

    Returns
    -------
    float
        Bytes read plus bytes written per second.
    """
    capabilities, traits = device.capabilities, device.traits
    limit = min(capabilities.max_allocation, capabilities.global_memory // 4, _COPY_BYTES)
    steps = 2 ** ((limit // 16).bit_length() - 1)  # of 16 bytes, a power of two
    items = steps // 4096 if traits.scalar_groups else steps // 4
    each, stride = steps // items, 1 if traits.scalar_groups else items
    group = 1 if traits.scalar_groups else min(_WORK_ITEMS, capabilities.max_work_group_size)
    defines = arithmetic_defines(device, np.dtype(np.int32))
    with device_errors(device, 32 * steps):
        queue = device.queue()
        flags = cl.mem_flags.READ_WRITE
        to, from_ = (cl.Buffer(queue.context, flags, 16 * steps) for _ in range(2))
        for buffer in (to, from_):
            cl.enqueue_fill_buffer(queue, buffer, np.zeros(1, np.int32), 0, 16 * steps)
        kernel = build(device, "registry/roofs.cl", defines).kernel("roofs_copy")
        scalars = (np.int32(each), np.int32(stride))
        seconds = [
            event_seconds(kernel(queue, (items,), (group,), to, from_, *scalars))
            for _ in range(1 + repeat)
        ]
    return float(32 * steps / median(seconds[1:]))


def _loops(device: Device, dtype: np.dtype, queue: cl.CommandQueue) -> Iterator[_Loop]:
    """Yield the variants of the loop that may be fastest on a device."""
    traits = device.traits
    widest = traits.lanes(dtype.itemsize, long=True)
    if traits.scalar_groups:
        widths = {widest, max(widest // 2, 1)}
    else:  # neighbouring work-items form the vector, but 16-bit values may be processed in pairs
        widths = {1, 2} if dtype.itemsize == 2 else {1}
    forms = ["minimum"]
    if dtype.kind == "f":
        forms += ["bits"] if traits.scalar_groups else ["bits", "bits of three"]
    for form in forms:
        three = form == "bits of three"
        updates = 2 if three else 1
        for width in sorted(widths):
            defines = arithmetic_defines(device, dtype, width=width, bits=form != "minimum")
            defines |= {"PYAPSP_THREE": int(three)}
            program = build(device, "registry/roofs.cl", defines)
            yield from _shapes(form, device, program, dtype, width, updates, queue)
    if device.capabilities.packed16 and dtype.name in _WORDS:
        values = 4 // dtype.itemsize  # in a word
        own = ["packed"] if values == 2 else []
        for form in own if dtype.kind == "f" else [*own, "multiply-add"]:
            multiply_add = int(form == "multiply-add")
            defines = {"PYAPSP_HAS_PACKED16": 1, "PYAPSP_PACKED": _WORDS[dtype.name]}
            defines |= {"PYAPSP_MULTIPLY_ADD": multiply_add}
            program = build(device, device.vendor_file("registry/roofs.cl"), defines)
            yield from _shapes(form, device, program, dtype, values, 1 + multiply_add, queue)


def _shapes(
    form: str,
    device: Device,
    program: Program,
    dtype: np.dtype,
    width: int,
    updates: int,
    queue: cl.CommandQueue,
) -> Iterator[_Loop]:
    """Yield the loops of one program, on strips of `width` values."""
    capabilities = device.capabilities
    group = 1 if device.traits.scalar_groups else min(_WORK_ITEMS, capabilities.max_work_group_size)
    items = capabilities.compute_units * _GROUPS_PER_UNIT * group
    # b is 1, and the strips start at 100, so no result is subnormal in any type
    host = np.full((1 + items) * width, 100, dtype)
    host[:width] = 1
    # inline assembly of words needs other values
    for strips in (8, 12) if form in {"packed", "multiply-add"} else (8, 13, 28):
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        buffer = cl.Buffer(queue.context, flags, hostbuf=host)
        kernel = program.kernel(f"roofs_updates_{strips}")
        yield _Loop(form, kernel, buffer, items, group, _STEPS * strips * width * updates)
