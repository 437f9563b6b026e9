"""The base of the partitioning techniques: plan, upload, run the kernels, download."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyopencl as cl
from numpy.typing import DTypeLike

from pyapsp.base.host import aligned
from pyapsp.base.json import Json
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Program, Stopwatch, build_warps, upload
from pyapsp.device.kernels.transfer import in_place, read_back, shared
from pyapsp.registry import Answer, Loaded, Options, Parameters, Plan, Stats
from pyapsp.registry.tuning.method import BufferedMethod
from pyapsp.traversal.kernels import KernelArgument
from pyapsp.traversal.partitioning.offsets import Offsets

__all__ = ["GROUPS", "Owners", "Run", "Technique", "resident"]

#: Work-items of a group.
GROUPS = (1, 16, 32, 64, 128, 256, 512, 1024)
#: Local memory that kernels use at most; on CPUs it is ordinary memory, of any size.
_LOCAL = 2**15
# Values of parameters -> values of macros.
_WORDS = {"local": 0, "registers": 1, "group": 0, "warp": 1, "search": 0, "marks": 1}


def resident(device: Device, of_unit: int) -> int:
    """Return the number of work-items that run at the same time, with this number of a unit."""
    return device.capabilities.compute_units * of_unit


@dataclass(frozen=True)
class Owners(Answer):
    """The owner of each unit."""

    owners: np.ndarray = field(kw_only=True)  # (units,) int32


class Run:
    """A run of a technique: the offsets on the device, and memory for the owners.

    Parameters
    ----------
    technique : Technique
    plan : Plan
    watch : Stopwatch

    Attributes
    ----------
    offsets, owners : pyopencl.Buffer
        n + 1 and `units` ints. A device that uses the memory of the host writes into the answer.
    n, units : int32
        Items and units.
    data : Offsets
    more : dict
        What the technique reports.
    """

    def __init__(
        self, technique: Technique, plan: Plan[Offsets, Options, Program], watch: Stopwatch
    ) -> None:
        data, options = plan.input, plan.options
        self.device, self.queue, self._watch = options.device, options.device.queue(), watch
        self._program, self.parameters = plan.state, plan.parameters
        self.n, self.units = np.int32(data.n), np.int32(data.units)
        self.data: Offsets = data
        self.more: dict[str, Json] = {}
        self._names: list[str] = []
        self._begun = False
        # the buffers that the technique asked for, and how many of them it has in this repetition
        self._buffers: list[cl.Buffer] = []
        self._taken = 0
        self._counters: dict[str, tuple[cl.Buffer, int, Sequence[str]]] = {}
        self._in_place = in_place(self.device.handle)
        self.offsets = upload(self.queue, data.values, watch)
        self._answer = aligned((data.units,), np.int32)  # kernels write vectors
        size = 4 * data.units
        self.owners = shared(self.queue, self._answer) if self._in_place else self.buffer(size)
        self._buffers.clear()
        self._taken = 0

    def buffer(self, size: int) -> cl.Buffer:
        """Return a new buffer of at least 8 bytes; make all of them before the first launch.

        Some drivers allocate memory when a command first uses it, which takes longer than the
        kernels of a small input. That is no part of a technique, so the buffer is used here.
        After `again` it is the one that the technique got at this place before.
        """
        self._taken += 1
        if self._taken <= len(self._buffers):
            return self._buffers[self._taken - 1]
        buffer = cl.Buffer(self.queue.context, cl.mem_flags.READ_WRITE, max(size, 8))
        if not self._in_place:
            cl.enqueue_fill_buffer(self.queue, buffer, bytes(4), 0, 8)
        self._buffers.append(buffer)
        return buffer

    def again(self) -> None:
        """Let the technique launch its kernels again, with the same buffers."""
        self._taken = 0

    def _begin(self) -> None:
        """Before the first command: let no unit have an owner that an earlier run left there.

        While the device does this, the host enqueues the kernels, which then follow each other.
        """
        if not self._begun and not self._in_place:
            none = np.full(1, -1, np.int32)
            cl.enqueue_fill_buffer(self.queue, self.owners, none, 0, 4 * self._answer.size)
        self._begun = True

    def clear(self, counters: cl.Buffer, count: int) -> None:
        """Set ints to 0; a part of the time of kernels."""
        self._begin()
        event = cl.enqueue_fill_buffer(self.queue, counters, bytes(4), 0, 4 * count)
        self._watch.add("kernel", event)

    def launch(self, phase: str, kernel: str, groups: int, *arguments: KernelArgument) -> None:
        """Launch a kernel; its device time belongs to a phase."""
        if groups:
            self._begin()
            group = self.parameters.integer("group")
            launched = self._program.kernel(kernel)
            event = launched(self.queue, (groups * group,), (group,), *arguments)
            self._watch.add("kernel", event)
            self._watch.add(phase, event)
            if phase not in self._names:
                self._names.append(phase)

    def items(
        self, phase: str, kernel: str, items: int | np.integer, *arguments: KernelArgument
    ) -> None:
        """Launch at least this number (an integer) of work-items."""
        self.launch(phase, kernel, -(-int(items) // self.parameters.integer("group")), *arguments)

    def read(self, buffer: cl.Buffer, count: int, dtype: DTypeLike = np.int32) -> np.ndarray:
        """Return values from a buffer, for decisions of the host; a part of the time of kernels."""
        values = np.empty(count, dtype)
        if count:
            self._watch.add("kernel", cl.enqueue_copy(self.queue, values, buffer))
        return values

    def read_owners(self) -> np.ndarray:
        """Wait for the kernels, and return the owners."""
        self.queue.finish()  # the time of the kernels is not that of the transfer
        with self._watch.by_the_host("transfer"):
            if self._in_place:
                read_back(self.queue, self.owners, self._answer)
            else:
                cl.enqueue_copy(self.queue, self._answer, self.owners)
        return self._answer

    def count_later(
        self, name: str, counters: cl.Buffer, place: int = 0, words: Sequence[str] = ()
    ) -> None:
        """Report a counter of the kernels when they have run, or the word with its number."""
        self._counters[name] = counters, place, words

    def phase_seconds(self) -> dict[str, float]:
        """Return the seconds of each phase."""
        return {name: self._watch.seconds(name) for name in self._names}

    def stats(self) -> dict[str, Json]:
        """Return the seconds of each phase, and the counters."""
        counted: dict[str, Json] = {"phase_seconds": self.phase_seconds()}
        for name, (counters, place, words) in self._counters.items():
            value = np.empty(1, np.int32)
            cl.enqueue_copy(self.queue, value, counters, src_offset=4 * place)
            counted[name] = words[value[0]] if words else int(value[0])
        return counted | self.more


class Technique(BufferedMethod):
    """Base of the partitioning techniques.

    The state of a plan is the program. The kernel file has the name of the technique.

    Attributes
    ----------
    macros : tuple of str
        The parameters that are macros, such as ``PYAPSP_GROUP``.
    """

    problem = "partition"
    macros: ClassVar[tuple[str, ...]] = ("group",)

    @property
    def file(self) -> str:
        """The kernel file."""
        name = self.id.removeprefix("partition-").replace("-", "_")
        return f"traversal/partitioning/{name}.cl"

    @abstractmethod
    def expand(self, run: Run) -> None:
        """Launch the kernels that write the owners."""

    def local_ints(self, parameters: Parameters) -> int:
        """Return the ints of local memory of a group."""
        return 0

    def further(self, data: Offsets, parameters: Parameters, device: Device) -> list[int]:
        """Return the bytes of buffers, beside offsets and owners."""
        return []

    def shapes(self, device: Device) -> Iterator[Mapping[str, int | str]]:
        """Yield the candidates."""
        for group in (256, 128, 64, 32, 16, 1):
            yield {"group": group}

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield the usual parameters for the kind of device, then those of smaller groups."""
        yield from self.shapes(options.device)

    def fits(self, parameters: Parameters, options: Options) -> bool:
        """Return whether the device has such groups, with this much local memory."""
        capabilities, group = options.device.capabilities, parameters.integer("group")
        room = min(capabilities.local_memory, _LOCAL)
        warp = parameters.integer("warp") if "warp" in parameters else 1
        return bool(
            group <= capabilities.max_work_group_size
            and group % warp == 0
            and 4 * (self.local_ints(parameters) + 2 * group + 8) <= room
        )

    def rule(self, options: Options) -> str:
        """Return the conditions of `fits` as text."""
        capabilities = options.device.capabilities
        return (
            f"group must be at most {capabilities.max_work_group_size} and a multiple of warp, and "
            f"local memory at most {min(capabilities.local_memory, _LOCAL)} bytes"
        )

    def buffers(self, data: Offsets, options: Options, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer of a run."""
        some = [4 * (data.n + 1), 4 * data.units]
        some += self.further(data, parameters, options.device)
        return [max(size, 8) for size in some]

    def defines(self, parameters: Parameters) -> dict[str, int]:
        """Return the macros of the kernels."""
        macros = {"PYAPSP_GROUP": 1, "PYAPSP_WARP": 1}
        for name in self.macros:
            value = parameters[name]
            macros[f"PYAPSP_{name.upper()}"] = _WORDS[value] if isinstance(value, str) else value
        return macros

    def prepare(self, data: Offsets, options: Options, parameters: Parameters) -> Program:
        """Build the kernels."""
        return build_warps(options.device, self.file, self.defines(parameters))

    def run(self, plan: Plan[Offsets, Options, Program]) -> Owners:
        """Find the owners."""
        data, options, watch = plan.input, plan.options, Stopwatch()
        owners, more = np.empty(0, np.int32), dict[str, Json]()
        if data.units:
            with device_errors(options.device, plan.device_bytes):
                run = Run(self, plan, watch)
                self.expand(run)
                owners, more = run.read_owners(), run.stats()
        if options.progress is not None:
            options.progress(1, 1)
        stats: Stats = {
            # from the first launch to the end of the last: what the host reads in between counts
            "kernel_seconds": watch.span("kernel"),
            "transfer_seconds": watch.seconds("transfer"),
            "kernel_hash": plan.state.hash,
            "more": more,
        }
        return Owners(owners=owners, stats=stats)

    def load(self, plan: Plan[Offsets, Options, Program]) -> Loaded:
        """Copy the offsets to the device."""
        with device_errors(plan.options.device, plan.device_bytes):
            return _LoadedTechnique(self, plan)


class _LoadedTechnique(Loaded):
    """The offsets on the device."""

    def __init__(self, technique: Technique, plan: Plan[Offsets, Options, Program]) -> None:
        self._technique, self._plan = technique, plan
        self._run = Run(technique, plan, Stopwatch()) if plan.input.units else None

    def run(self, times: int = 1) -> None:
        """Find the owners."""
        if self._run is None:
            return
        with device_errors(self._plan.options.device, self._plan.device_bytes):
            for _ in range(times):
                self._run.again()
                self._technique.expand(self._run)
            self._run.queue.finish()

    def answer(self) -> Owners:
        """Copy the owners to the host."""
        owners = np.empty(0, np.int32)
        if self._run is not None:
            with device_errors(self._plan.options.device, self._plan.device_bytes):
                owners = self._run.read_owners()
        return Owners(owners=owners, stats={"kernel_hash": self._plan.state.hash})


def narrow(device: Device, usual: Sequence[int]) -> Sequence[int]:
    """Return group sizes: on devices that run one work-item a group, that one first."""
    return [1, *usual] if device.traits.scalar_groups else [*usual, 1]
