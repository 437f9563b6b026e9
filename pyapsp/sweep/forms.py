"""The shape of a launch: the mapping of threads of a task and tasks of a sweep to work-items.

The paper has three steps from a kernel for one task to a kernel for V tasks. *Extension*: a group
has V tasks for each of its threads. *Decomposition*: the group gets fewer threads, until it is
within the limits of the device. *Aggregation*: a work-item runs several threads, so that more
threads use the data that a group stages in local memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyapsp.device import Device
from pyapsp.sweep.arrays import Array, Step

__all__ = ["Form", "Shape", "default_lanes", "shape_of"]

# Work-items of a group, if the device allows that many.
_GROUP = 256
# Threads that a work-item runs on a CPU device: there are still many work-items for each core.
_AGGREGATE_CPU = 64
# Most bytes of staged data in local memory: several groups still fit a compute unit.
_STAGED = 16384
# Most staged entries that a work-item copies for each of its threads.
_COPIES = 4


@dataclass(frozen=True)
class Form:
    """One of the two schemes."""

    # "naive": the arrays of a task are contiguous, and neighbouring work-items run one task;
    # "interleaved": entries j of V tasks are contiguous, and neighbouring work-items run different
    # tasks.
    scheme: str
    # V; 1 in the naive scheme.
    lanes: int
    # Lanes that one work-item runs as a vector: V if the body supports vectors, else 1.
    width: int = 1

    @property
    def interleaved(self) -> bool:
        """Whether the arrays of tasks are interleaved."""
        return self.lanes > 1


@dataclass(frozen=True)
class Shape:
    """The shape of the launches of a step."""

    tasks: int  # tasks of a group
    width: int  # tasks of a work-item
    threads: int  # threads of each of these tasks that a group runs at a time
    aggregate: int  # threads that a work-item runs one after the other
    # Common arrays in local memory, and the number of their entries there.
    staged: tuple[tuple[str, int], ...]

    @property
    def items(self) -> int:
        """Work-items of a group."""
        return self.tasks // self.width * self.threads

    def parts(self, step: Step) -> int:
        """Return the number of groups for the threads of a task."""
        return -(-step.count // (self.threads * self.aggregate))

    def groups(self, step: Step, tasks: int) -> int:
        """Return the number of groups of a launch for some tasks."""
        return self.parts(step) * -(-tasks // self.tasks)


def default_lanes(device: Device) -> int:
    """Return V: on GPUs the lock-step width, on CPUs the number of lanes of vectors."""
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
    """Choose the shape of the launches of a step.

    Parameters
    ----------
    step : Step
    form : Form
    arrays : mapping of str to Array
        By name.
    device : Device
    tasks : int
        Largest number of tasks in a launch.
    staging : bool
        Whether common data may be copied to local memory.
    """
    count = step.count
    most = min(_GROUP, device.capabilities.max_work_group_size)
    cpu = device.traits.scalar_groups
    if form.interleaved:
        side = form.lanes
        # one thread, so that the compiler's loop over a group is a loop over the lanes
        threads = 1 if cpu else min(count, max(most // side, 1))
    else:
        threads = min(count, _AGGREGATE_CPU if cpu else most)
        side = 1 if cpu else max(min(most // threads, tasks), 1)
    threads = -(-count // -(-count // threads))  # all groups have the same size
    aggregate = min(count, _AGGREGATE_CPU) if cpu and form.interleaved else 1
    staged = _staged(step, arrays, device) if staging else ()
    if staged:
        copies = sum(entries for _, entries in staged) / (side // form.width * threads)
        aggregate = max(aggregate, min(-(-count // threads), max(1, round(copies / _COPIES))))
    return Shape(side, form.width, threads, aggregate, staged)


def _staged(step: Step, arrays: Mapping[str, Array], device: Device) -> tuple[tuple[str, int], ...]:
    """Return the arrays to stage: whole arrays first, then parts of rows in the rest."""
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
