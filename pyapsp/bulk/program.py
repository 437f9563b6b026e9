"""A program that runs for many instances at once.

The default arrangement is row-wise on CPU devices, and column-wise on others. Addresses have 32
bits, so a slice has fewer than 2^31 elements of an array. The tests compare with a C compiler: the
same file must give the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import EllipsisType

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike

from pyapsp.base.errors import DeviceMemoryError, ParameterError
from pyapsp.bulk.buffers import Axis, Buffers, Machine, instances_of
from pyapsp.bulk.generate import Arrangement, Array
from pyapsp.bulk.stream import SLOTS, Stream
from pyapsp.bulk.translate import Translation, translate
from pyapsp.device import Device, DeviceLike, choose, device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.device.kernels.source import root
from pyapsp.graph.validation import integer

__all__ = ["Program", "Run", "load", "programs", "split"]

_PHASES = ("upload", "arrange", "kernel", "download")
# Most elements of an array on the device; addresses are signed 32-bit integers.
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Run:
    """The outputs of a run, and its times.

    Attributes
    ----------
    outputs : dict of str to ndarray
        Name -> each global variable that the program writes to.
    seconds : dict of str to float
        Device time of ``upload``, ``arrange`` (between the host's order and the device's),
        ``kernel`` and ``download``.
    slices : int
        Number of parts into which the instances were divided, to fit the memory.
    """

    outputs: dict[str, np.ndarray]
    seconds: dict[str, float]
    slices: int


class Program:
    """A C program built for a device; call it with an array for each input.

    Made by :func:`load`.

    Attributes
    ----------
    translation : Translation
        The OpenCL C and the arrays of the program.
    device : Device
    """

    def __init__(
        self,
        translation: Translation,
        device: Device,
        *,
        group_size: int | None = None,
        memory_limit: int | None = None,
        axis: Axis = 0,
    ) -> None:
        self.translation, self.device = translation, device
        if memory_limit is not None and (not isinstance(memory_limit, int) or memory_limit < 1):
            raise ParameterError.of("memory_limit", "bulk", "a number of bytes", memory_limit)
        self._memory_limit = memory_limit
        self._machine = Machine(translation, device, group_size, axis)

    @property
    def source(self) -> str:
        """The OpenCL C."""
        return self.translation.source

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The global variables of the program, of which each instance has its own copy."""
        return self.translation.arrays

    @property
    def hash(self) -> str:
        """The hash that identifies the kernel in a record."""
        return self._machine.hash

    @property
    def group_size(self) -> int:
        """Work-items of a group."""
        assert self._machine.group_size is not None
        return self._machine.group_size

    def __call__(self, **arrays: ArrayLike) -> dict[str, np.ndarray]:
        """Run the program for p instances.

        Parameters
        ----------
        **arrays : (p, ...) array-like
            The values of each input, by the name of the global variable in the C program. A
            variable that is not given has its initial values in C, or zero.

        Returns
        -------
        dict of str to (p, ...) ndarray
            Every global variable that the program writes to.

        Raises
        ------
        ParameterError
            A name is unknown, a shape or a type does not fit, or numbers of instances differ.
        DeviceMemoryError
            The memory cannot hold one instance.
        """
        return self.run(arrays).outputs

    def run(self, arrays: Mapping[str, ArrayLike]) -> Run:
        """Run the program as a call does, and also return its times.

        Parameters
        ----------
        arrays : mapping of str to (p, ...) array-like

        Returns
        -------
        Run
        """
        axis = self._machine.axis
        p, inputs = instances_of(self.translation, arrays, axis)
        outputs = self.empty(p)
        watch, slices = Stopwatch(), 0
        if p == 0:
            return Run(outputs, dict.fromkeys(_PHASES, 0.0), 0)
        capacity = self.capacity(p)
        with device_errors(self.device, capacity * self._machine.bytes_of_instance()):
            queue = self.device.queue()
            buffers = Buffers(self._machine, capacity, watch)
            try:
                for begin in range(0, p, capacity):
                    part = slice(begin, min(begin + capacity, p))
                    self._run_slice(queue, buffers, part, inputs, outputs)
                    slices += 1
            finally:
                queue.finish()
                buffers.release()
            seconds = {phase: watch.seconds(phase) for phase in _PHASES}
        return Run(outputs, seconds, slices)

    def _run_slice(
        self,
        queue: cl.CommandQueue,
        buffers: Buffers,
        part: slice,
        arrays: Mapping[str, np.ndarray],
        outputs: Mapping[str, np.ndarray],
    ) -> None:
        where: slice | tuple[EllipsisType, slice] = part if self._machine.axis == 0 else (..., part)
        inputs = {name: np.ascontiguousarray(array[where]) for name, array in arrays.items()}
        buffers.upload(queue, inputs)
        buffers.run(queue, part.stop - part.start, inputs)
        targets = {name: array[where] for name, array in outputs.items()}
        results = {
            name: array if array.flags.c_contiguous else np.empty(array.shape, array.dtype)
            for name, array in targets.items()
        }
        buffers.download(queue, results)
        queue.finish()
        for name, array in targets.items():
            if results[name] is not array:
                array[...] = results[name]

    def empty(self, p: int) -> dict[str, np.ndarray]:
        """Return arrays for the outputs of p instances."""
        last = self._machine.axis == -1
        return {
            each.name: np.empty((*each.shape, p) if last else (p, *each.shape), each.dtype)
            for each in self.arrays
            if each.stored
        }

    def capacity(self, p: int, slots: int = 1) -> int:
        """Return how many of p instances the memory can hold at once.

        Parameters
        ----------
        p : int
        slots : int
            Number of copies of the buffers.

        Raises
        ------
        DeviceMemoryError
            The memory cannot hold one instance.
        """
        capabilities = self.device.capabilities
        available, hint = capabilities.global_memory, "use another device"
        if self._memory_limit is not None and self._memory_limit < available:
            available, hint = self._memory_limit, "raise memory_limit"
        needed = self._machine.bytes_of_instance() * slots
        largest = max(each.nbytes for each in self.arrays)
        longest = max(each.size for each in self.arrays)
        most = min(available // needed, capabilities.max_allocation // largest)
        if most < 1:
            raise DeviceMemoryError(needed, available, hint)
        most = min(p, most, _LARGEST // longest)
        # full groups; and columns aligned to memory transactions
        return most if most == p or most < 32 else most // 32 * 32

    def stream(self, groups: Iterable[Mapping[str, ArrayLike]], b: int) -> Stream:
        """Run groups of instances one after the other, with low latency for each group.

        While a group runs, the next is uploaded and the previous one is downloaded.

        Parameters
        ----------
        groups : iterable of mapping of str to array-like
            The inputs of each group, all with the same names. :func:`pyapsp.bulk.split` makes
            groups from large arrays.
        b : int
            Largest number of instances of a group.

        Returns
        -------
        Stream
            An iterable over the outputs of each group, in order.

        Raises
        ------
        ParameterError
            `b` is not a positive integer, or the instances are not on the first axis.
        DeviceMemoryError
            The memory cannot hold three groups.
        """
        if not isinstance(b, int) or b < 1:
            raise ParameterError.of("b", "bulk", "a positive whole number", b)
        if self._machine.axis != 0:
            raise ParameterError.of("axis", "stream", "0", self._machine.axis)
        if self.capacity(b, SLOTS) < b:
            available = self._memory_limit or self.device.capabilities.global_memory
            needed = self._machine.bytes_of_instance() * SLOTS * b
            raise DeviceMemoryError(needed, available, "make the groups smaller")
        return Stream(self._machine, groups, b)


def load(
    path: str | os.PathLike[str],
    *,
    defines: Mapping[str, str | int | float] | None = None,
    device: DeviceLike = None,
    arrangement: Arrangement | None = None,
    group_size: int | None = None,
    memory_limit: int | None = None,
    axis: Axis = 0,
) -> Program:
    """Translate a C program and build it for a device.

    Parameters
    ----------
    path : path-like
        The program; see `pyapsp.bulk` for what it may contain.
    defines : mapping of str to str, int or float, optional
        Macros, as with a compiler's ``-D``.
    device : optional
        As in `pyapsp.device.choose`.
    arrangement : {"column", "row"}, optional
        Where element i of instance j is stored on the device, for p instances of n elements:
        column-wise at i p + j, row-wise at j n + i. The default is row-wise on CPU devices, where
        a work-item has a cache of its own, and column-wise on others, where neighbouring work-items
        access neighbouring addresses at the same time.
    group_size : int, optional
        Number of work-items of a group. Default: 64.
    memory_limit : int, optional
        Bytes of device memory to use; if the instances need more, they run in slices.
    axis : {0, -1}
        The axis of the instances in the arrays.

    Returns
    -------
    Program

    Raises
    ------
    ProgramError
        The program cannot be run in bulk; the message has the place and the reason.
    ParameterError
        An option is wrong.
    NoDeviceError, CapabilityError, KernelBuildError
        There is no such device, or it cannot run this.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> sort = pyapsp.bulk.load(pyapsp.bulk.programs()["bitonic_sort"])  # doctest: +SKIP
    >>> sort(A=np.random.rand(1000, 32))["A"]  # doctest: +SKIP
    """
    chosen = choose(device)
    if arrangement is None:
        arrangement = "row" if chosen.traits.scalar_groups else "column"
    translation = translate(path, defines=defines, arrangement=arrangement)
    return Program(translation, chosen, group_size=group_size, memory_limit=memory_limit, axis=axis)


def programs() -> dict[str, Path]:
    """Return the programs that come with the package: name -> path."""
    return {path.stem: path for path in sorted((root() / "bulk" / "programs").glob("*.c"))}


def split(arrays: Mapping[str, np.ndarray], b: int) -> Iterator[dict[str, np.ndarray]]:
    """Cut arrays of p instances into groups of b, for :meth:`Program.stream`.

    Parameters
    ----------
    arrays : mapping of str to (p, ...) array-like
    b : int

    Yields
    ------
    dict of str to array-like
    """
    b = integer("b", "split", b, 1)
    p = max((len(each) for each in arrays.values()), default=0)
    for begin in range(0, p, b):
        yield {name: each[begin : begin + b] for name, each in arrays.items()}
