"""Choose how many tasks are on the device at a time, and the form in which they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pyapsp.base.errors import DeviceMemoryError
from pyapsp.device import Device
from pyapsp.sweep.arrays import Array
from pyapsp.sweep.forms import Form

__all__ = ["FLAGS", "Plan", "is_arranged", "plan"]

#: Most rounds between two reads of the flags by the host; each round has a flag of four bytes.
FLAGS = 16
# One slice is uploaded, one is computed, one is downloaded.
_SLOTS = 3
# Transferred bytes of a slice: enough to use the bus fully, and so few that many slices overlap.
_TRAVEL = 32 * 2**20
# Bytes of a slice on a CPU device, which are then still in its caches after the arrangement.
_CACHED = 16 * 2**20
# Work-items that fill a GPU several times over.
_ITEMS = 2**18
# Blocks of tasks for each compute unit of a CPU device.
_BLOCKS = 4
# For slices with fewer transferred bytes, extra threads for the transfers are not worthwhile.
_WORTH = 2**20
# Memory that is left free: drivers and the host use a part of the device.
_SPARE = 1 / 16


@dataclass(frozen=True)
class Plan:
    """A form, and the tasks of a slice."""

    form: Form
    # Tasks of a slice; a multiple of the lanes.
    tasks: int
    slots: int  # slices on the device at a time: 3 if transfers overlap with kernels, else 1
    device_bytes: int  # bytes of the buffers


def is_arranged(array: Array, form: Form) -> bool:
    """Whether rows and lanes of an array differ.

    With one entry for each task they do not; but vectors need all of their lanes.
    """
    differs = array.size > 1 or form.width > 1
    return form.interleaved and differs and array.role in ("input", "output")


def plan(
    arrays: Sequence[Array],
    form: Form,
    device: Device,
    *,
    threads: int,
    tasks: int | None = None,
    per_launch: int | None = None,
    memory_limit: int | None = None,
) -> Plan:
    """Choose the tasks of a slice.

    If V tasks do not fit, fewer lanes are tried, down to one.

    Parameters
    ----------
    arrays : sequence of Array
    form : Form
    device : Device
    threads : int
        Threads of a task, in the step that has most.
    tasks : int, optional
        Tasks of the whole sweep; None if unknown.
    per_launch : int, optional
        Tasks of a slice, if the user has given them.
    memory_limit : int, optional
        Largest number of bytes of device memory.

    Raises
    ------
    DeviceMemoryError
        One task is too large.
    """
    least: DeviceMemoryError | None = None
    for slots, fewer in _attempts(form, device):
        need = _Need(arrays, fewer, slots)
        wanted = per_launch or _wanted(need, fewer, device, threads)
        count = wanted if tasks is None else min(wanted, tasks)
        count = _up(max(count, 1), fewer.lanes)
        if slots > 1 and (
            need.travelling * count < _WORTH or (tasks is not None and count >= tasks)
        ):
            continue
        available, hint = _available(device, memory_limit)
        most = min((available - need.common) // need.task, need.most(device))
        if per_launch is None:
            count = min(count, most // fewer.lanes * fewer.lanes)
        if 0 < count <= most:
            return Plan(fewer, count, slots, need.common + count * need.task)
        needed = need.common + _up(per_launch or 1, fewer.lanes) * need.task
        if least is None or needed < least.needed:
            least = DeviceMemoryError(needed, available, hint)
    assert least is not None
    raise least


class _Need:
    """Bytes that a form needs: in common, for each task, and in the largest buffer per task."""

    def __init__(self, arrays: Sequence[Array], form: Form, slots: int) -> None:
        own = [array for array in arrays if array.role != "common"]
        moved = [array for array in own if array.role != "scratch"]
        self.common = sum(array.nbytes for array in arrays if array.role == "common") + 4 * FLAGS
        self.travelling = sum(array.nbytes for array in moved)
        self.task = slots * self.travelling
        self.task += sum(array.nbytes for array in own if array.role == "scratch")
        self.task += sum(array.nbytes for array in moved if is_arranged(array, form))
        self.largest = max(array.nbytes for array in own)
        self.largest_common = max(
            (array.nbytes for array in arrays if array.role == "common"), default=0
        )

    def most(self, device: Device) -> int:
        """Return the number of tasks for which the device can allocate every buffer."""
        allocation = device.capabilities.max_allocation
        return 0 if self.largest_common > allocation else allocation // self.largest


def _attempts(form: Form, device: Device) -> Iterator[tuple[int, Form]]:
    overlaps = not device.capabilities.unified_memory
    lanes = form.lanes
    while lanes:
        for slots in (_SLOTS, 1) if overlaps else (1,):
            yield slots, replace(form, lanes=lanes, width=min(form.width, lanes))
        lanes //= 2


def _available(device: Device, memory_limit: int | None) -> tuple[int, str]:
    """Return the bytes that the sweep may use, by its limit or the device, and a remedy."""
    capabilities = device.capabilities
    # a device that shares the memory of the host leaves half of it to the host
    share = 0.5 if capabilities.unified_memory else 1 - _SPARE
    available = int(capabilities.global_memory * share)
    if memory_limit is not None and memory_limit < available:
        return memory_limit, "raise memory_limit, or cut a task into several"
    return available, f"cut a task into several, or take a device with more than {device.name}"


def _wanted(need: _Need, form: Form, device: Device, threads: int) -> int:
    """Return the number of tasks of a slice if memory is sufficient."""
    if not device.traits.scalar_groups:
        return max(_TRAVEL // need.travelling, _ITEMS // threads, 1)
    least = _BLOCKS * device.capabilities.compute_units * form.lanes
    return int(max(_CACHED // need.task, least))


def _up(count: int, unit: int) -> int:
    return -(-count // unit) * unit
