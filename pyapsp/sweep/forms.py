"""The shape of a launch: how the threads of a task and the tasks of a sweep become work-items.

The paper's three steps from a kernel for one task to one for V tasks: *extension* puts V tasks
beside each thread of a group, *decomposition* takes threads out of the group until it is within
the limits of the device, *aggregation* gives a work-item several threads, so that what a group
stages serves more of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyapsp.device import Device
from pyapsp.sweep.arrays import Array, Step

__all__ = ["Form", "Shape", "default_lanes", "shape_of"]

# Work-items of a group, where a device has as many.
_GROUP = 256
# Threads that a work-item of a CPU device takes over: what is left is still many per core.
_AGGREGATE_CPU = 64
# Bytes of local memory that staged data may take: several groups still fit a compute unit.
_STAGED = 16384
# Staged entries that each work-item copies at most for one thread that it carries.
_COPIES = 4


@dataclass(frozen=True)
class Form:
    """One of the two schemes.

    Parameters
    ----------
    scheme : {"naive", "interleaved"}
        Arrays in rows, one for each task, and neighbouring work-items on one task; or entry j of V
        tasks side by side, and neighbouring work-items on different tasks.
    lanes : int
        V; 1 in the naive scheme.
    width : int
        Lanes that one work-item takes as a vector: V where the body is made for it, else 1.
    """

    scheme: str
    lanes: int
    width: int = 1

    @property
    def interleaved(self) -> bool:
        """Whether the arrays of tasks are interleaved."""
        return self.lanes > 1


@dataclass(frozen=True)
class Shape:
    """How a step is launched.

    Parameters
    ----------
    tasks : int
        Tasks of a group.
    width : int
        Tasks of a work-item.
    threads : int
        Threads of each of these tasks that a group runs at a time.
    aggregate : int
        Threads that a work-item runs one after the other.
    staged : tuple of (str, int)
        Common arrays in local memory, and how many entries of them.
    """

    tasks: int
    width: int
    threads: int
    aggregate: int
    staged: tuple[tuple[str, int], ...]

    @property
    def items(self) -> int:
        """Work-items of a group."""
        return self.tasks // self.width * self.threads

    def parts(self, step: Step) -> int:
        """Return how many groups share the threads of a task."""
        return -(-step.count // (self.threads * self.aggregate))

    def groups(self, step: Step, tasks: int) -> int:
        """Return the groups of a launch for so many tasks."""
        return self.parts(step) * -(-tasks // self.tasks)


def default_lanes(device: Device) -> int:
    """Return V: the lock-step width of GPUs, and enough to fill the vectors of CPUs."""
    return 16 if device.traits.scalar_groups else 32


def shape_of(
    step: Step,
    form: Form,
    arrays: Mapping[str, Array],
    device: Device,
    *,
    tasks: int,
    staging: bool,
) -> Shape:
    """Choose how to launch a step.

    Parameters
    ----------
    step : Step
    form : Form
    arrays : mapping of str to Array
        By name.
    device : Device
    tasks : int
        Tasks in a launch, at most.
    staging : bool
        Whether common data may go to local memory.
    """
    count = step.count
    most = min(_GROUP, device.capabilities.max_work_group_size)
    cpu = device.traits.scalar_groups
    if form.interleaved:
        side = form.lanes
        # one thread beside the lanes, so that the loop over a group is one over the lanes
        threads = 1 if cpu else min(count, max(most // side, 1))
    else:
        threads = min(count, _AGGREGATE_CPU if cpu else most)
        side = 1 if cpu else max(min(most // threads, tasks), 1)
    threads = -(-count // -(-count // threads))  # groups of one size
    aggregate = min(count, _AGGREGATE_CPU) if cpu and form.interleaved else 1
    staged = _staged(step, arrays, device) if staging else ()
    if staged:
        copies = sum(entries for _, entries in staged) / (side // form.width * threads)
        aggregate = max(aggregate, min(-(-count // threads), max(1, round(copies / _COPIES))))
    return Shape(side, form.width, threads, aggregate, staged)


def _staged(step: Step, arrays: Mapping[str, Array], device: Device) -> tuple[tuple[str, int], ...]:
    """Return what fits: whole arrays first, and windows on rows in what is left."""
    left = min(_STAGED, device.capabilities.local_memory // 2)
    staged = []
    for name in step.stage:
        array = arrays[name]
        if array.rows is None and array.nbytes <= left:
            staged.append((name, array.size))
            left -= array.nbytes
    windows = [arrays[name] for name in step.stage if arrays[name].rows is not None]
    entries = left // max(sum(array.dtype.itemsize for array in windows), 1)
    staged += [(array.name, min(entries, array.size)) for array in windows if entries]
    return tuple(staged)
