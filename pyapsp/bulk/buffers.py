"""Arrays of many instances on a device: upload, arrange, run, arrange back, download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike

from pyapsp.base.errors import CapabilityError, GraphError, ParameterError
from pyapsp.bulk.generate import Array
from pyapsp.bulk.translate import Translation
from pyapsp.device import Device
from pyapsp.device.kernels import Stopwatch, build
from pyapsp.device.kernels.program import Program as Built
from pyapsp.graph import validation

__all__ = ["Axis", "Buffers", "Machine", "converted", "instances_of"]

#: The possible axes of the instances in arrays of the host.
Axis: TypeAlias = Literal[0, -1]

_TILE = 32
_GROUP = 256
# The group size of the thesis; on CPU devices neighbouring work-items are lanes of vectors.
_GROUP_SIZE = 64


@dataclass
class Machine:
    """A program built for a device.

    Raises
    ------
    ParameterError
        The device has no groups of this size, or there is no such axis.
    CapabilityError
        The program needs double precision, and the device does not have it.
    KernelBuildError
        The compiler rejects the program.
    """

    translation: Translation
    device: Device
    group_size: int | None  # number of work-items of a group
    axis: Axis  # the axis of the instances in arrays of the host

    def __post_init__(self) -> None:
        capabilities, translation = self.device.capabilities, self.translation
        most = capabilities.max_work_group_size
        if self.group_size is None:
            self.group_size = min(_GROUP_SIZE, most)
        if not isinstance(self.group_size, int) or not 1 <= self.group_size <= most:
            rule = f"a whole number in [1, {most}]"
            raise ParameterError.of("group_size", "bulk", rule, self.group_size)
        if self.axis not in (0, -1):
            raise ParameterError.of("axis", "bulk", "0 or -1", self.axis)
        if translation.double and not capabilities.fp64:
            raise CapabilityError(
                f"{translation.path} needs double precision, which {self.device.name} lacks; "
                "literals such as 0.5 are double, 0.5f is not"
            )
        self._built = Built(self.device, translation.source)
        self.hash = self._built.hash

    @property
    def kernel(self) -> cl.Kernel:
        """The kernel of the program."""
        return self._built.kernel("bulk")

    def arranged(self, array: Array) -> bool:
        """Return whether the layout of an array is different on the device and on the host."""
        column = self.translation.arrangement == "column"
        return array.size > 1 and column == (self.axis == 0)

    def bytes_of_instance(self) -> int:
        """Return the bytes of device memory of an instance."""
        return sum(each.nbytes * (1 + self.arranged(each)) for each in self.translation.arrays)

    def transpose(
        self,
        queue: cl.CommandQueue,
        array: Array,
        source: cl.Buffer,
        target: cl.Buffer,
        shape: tuple[int, int],
        wait_for: Sequence[cl.Event] | None = None,
    ) -> cl.Event:
        """Enqueue the transposition of an array of `shape`."""
        width = array.dtype.itemsize
        defines = {"PYAPSP_BYTES": width, "PYAPSP_TILE": _TILE, "PYAPSP_GROUP": _GROUP}
        program = build(self.device, "bulk/transpose.cl", defines)
        tiles = -(-shape[0] // _TILE) * -(-shape[1] // _TILE)
        scalar = self.device.traits.scalar_groups
        scalar |= self.device.capabilities.max_work_group_size < _GROUP
        name, group = ("transpose_blocks", 1) if scalar else ("transpose_tiles", _GROUP)
        sizes = np.int32(shape[0]), np.int32(shape[1])
        kernel = program.kernel(name)
        return kernel(queue, (tiles * group,), (group,), source, target, *sizes, wait_for=wait_for)


class Buffers:
    """Device memory for some instances.

    Parameters
    ----------
    machine : Machine
    capacity : int
        Largest number of instances.
    watch : Stopwatch
        Adds up the times of the phases ``upload``, ``arrange``, ``kernel`` and ``download``.
    """

    def __init__(self, machine: Machine, capacity: int, watch: Stopwatch) -> None:
        self._machine, self._watch = machine, watch
        context, flags = machine.device.context, cl.mem_flags.READ_WRITE
        self._arrays = machine.translation.arrays
        self._main = {
            each.name: cl.Buffer(context, flags, each.nbytes * capacity) for each in self._arrays
        }
        # buffers with the layout of the host
        self._outer = {
            each.name: cl.Buffer(context, flags, each.nbytes * capacity)
            if machine.arranged(each)
            else self._main[each.name]
            for each in self._arrays
        }

    def release(self) -> None:
        """Free the memory."""
        for each in {
            id(buffer): buffer for buffer in [*self._main.values(), *self._outer.values()]
        }.values():
            each.release()

    def upload(
        self,
        queue: cl.CommandQueue,
        inputs: Mapping[str, np.ndarray],
        wait_for: Sequence[cl.Event] | None = None,
    ) -> list[cl.Event]:
        """Enqueue copies of contiguous arrays, which must not change until these have ended."""
        return [
            self._watch.add(
                "upload",
                cl.enqueue_copy(
                    queue, self._outer[name], array, is_blocking=False, wait_for=wait_for
                ),
            )
            for name, array in inputs.items()
        ]

    def run(
        self,
        queue: cl.CommandQueue,
        instances: int,
        inputs: Mapping[str, ArrayLike],
        wait_for: Sequence[cl.Event] | None = None,
    ) -> cl.Event:
        """Enqueue the kernels that arrange the arrays, then the program; return the last event."""
        machine, column = self._machine, self._machine.axis == 0
        cl.enqueue_marker(queue, wait_for=wait_for)
        for each in self._arrays:
            shape = (instances, each.size) if column else (each.size, instances)
            main, outer = self._main[each.name], self._outer[each.name]
            if each.name not in inputs:
                self._begin(queue, each, instances)
            elif machine.arranged(each):
                self._watch.add("arrange", machine.transpose(queue, each, outer, main, shape))
        group = machine.group_size
        assert group is not None
        items = (-(-instances // group) * group,)
        arguments = [self._main[each.name] for each in self._arrays]
        event = self._watch.add(
            "kernel", machine.kernel(queue, items, (group,), np.int32(instances), *arguments)
        )
        for each in self._arrays:
            if each.stored and machine.arranged(each):
                shape = (each.size, instances) if column else (instances, each.size)
                main, outer = self._main[each.name], self._outer[each.name]
                event = self._watch.add(
                    "arrange", machine.transpose(queue, each, main, outer, shape)
                )
        return event

    def download(
        self,
        queue: cl.CommandQueue,
        outputs: Mapping[str, np.ndarray],
        wait_for: Sequence[cl.Event] | None = None,
    ) -> list[cl.Event]:
        """Enqueue the copies to contiguous arrays."""
        return [
            self._watch.add(
                "download",
                cl.enqueue_copy(
                    queue, array, self._outer[name], is_blocking=False, wait_for=wait_for
                ),
            )
            for name, array in outputs.items()
        ]

    def _begin(self, queue: cl.CommandQueue, array: Array, instances: int) -> None:
        """Set an array to the values that it has when the C program starts."""
        buffer = self._main[array.name]
        if not array.initial:
            zero = np.zeros(1, array.dtype)[0]
            cl.enqueue_fill_buffer(queue, buffer, zero, 0, array.nbytes * instances)
            return
        values = np.array(array.initial, array.dtype)
        column = self._machine.translation.arrangement == "column"
        full = np.repeat(values, instances) if column else np.tile(values, instances)
        cl.enqueue_copy(queue, buffer, full)


def converted(array: Array, values: ArrayLike, axis: Axis) -> np.ndarray:
    """Return the caller's values of an array, in its type and shape.

    Raises
    ------
    ParameterError
        The shape is wrong, or the type cannot represent the values.
    """
    try:
        exact = validation.array(f"the values of {array.name!r}", values)
    except GraphError as error:
        raise ParameterError(f"bulk: {error}") from None
    inner = exact.shape[1:] if axis == 0 else exact.shape[:-1]
    if exact.ndim == 0 or inner != array.shape:
        p = ("p", *map(str, array.shape)) if axis == 0 else (*map(str, array.shape), "p")
        rule = f"an array of shape ({', '.join(p)}{',' * (len(p) == 1)})"
        raise ParameterError.of(array.name, "bulk", rule, exact.shape)
    if exact.dtype == array.dtype:
        return exact
    kinds = exact.dtype.kind, array.dtype.kind
    if kinds[0] not in "biuf" or (kinds[0] == "f" and kinds[1] != "f"):
        raise ParameterError.of(array.name, "bulk", f"of type {array.dtype}", exact.dtype)
    with np.errstate(over="ignore"):
        result = exact.astype(array.dtype)
    if validation.lost(exact, result).any():
        numbers = "numbers" if kinds[1] == "f" else "whole numbers"
        rule = f"{numbers} that {array.dtype} can hold"
        raise ParameterError.of(array.name, "bulk", rule, exact.dtype)
    return result


def instances_of(
    translation: Translation, inputs: Mapping[str, ArrayLike], axis: Axis
) -> tuple[int, dict[str, np.ndarray]]:
    """Return the number of instances, and the arrays in the types and shapes of the program.

    Raises
    ------
    ParameterError
        There is no array of a name, or arrays do not fit the program or each other.
    """
    arrays = {each.name: each for each in translation.arrays}
    for name in inputs:
        if name not in arrays:
            rule = f"one of the arrays of {translation.path}: {', '.join(arrays)}"
            raise ParameterError.of("name", "bulk", rule, name)
    arrays_of = {name: converted(arrays[name], value, axis) for name, value in inputs.items()}
    counts = {name: array.shape[axis] for name, array in arrays_of.items()}
    if len(set(counts.values())) != 1:
        rule = "given for the same number of instances"
        raise ParameterError(f"The arrays of bulk must be {rule}. Got {counts} instead.")
    return next(iter(counts.values())), arrays_of
