"""Run instrumented kernels and read their traces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod
from typing import TypeAlias, cast

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.device import Device
from pyapsp.device.kernels import Program
from pyapsp.device.kernels.source import root
from pyapsp.profiling.probes.blocks import Instrumented, Probe
from pyapsp.profiling.probes.instrument import instrument
from pyapsp.profiling.traces.reduction import AddressTrace

__all__ = ["AddressLog", "Argument", "BlockCounts", "BlockOrder", "Recorder", "Shape", "WarpTimes"]

# What a kernel gets: buffers, local memory, numbers.
Argument: TypeAlias = "cl.Buffer | cl.LocalMemory | np.generic | None"
# Bytes of a trace at most; of larger launches every second group is recorded, or fewer. The
# analysis of traces takes most of the time of a profile.
_LIMIT = 1 << 26
_OF_ACCESS = 24
_OF_BLOCK = 8
# Launches that follow each other may differ by this factor in their accesses.
_SPARE = 2

_CLOCK = "profiling/clock.cl"


@dataclass(frozen=True)
class Shape:
    """The work-items of a launch, and those of a group, by dimension.

    Raises
    ------
    ParameterError
        If groups do not fill the launch.
    """

    items: tuple[int, ...]
    group: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.items) != len(self.group) or any(
            size % part for size, part in zip(self.items, self.group, strict=True)
        ):
            raise ParameterError(
                f"a profile needs groups that fill the launch: {self.items} items in groups of "
                f"{self.group}"
            )

    @cached_property
    def in_group(self) -> int:
        """Items of a group."""
        return prod(self.group)

    @cached_property
    def groups(self) -> int:
        """Number of groups."""
        return prod(self.items) // self.in_group


@dataclass(frozen=True)
class BlockCounts:
    """How often items executed basic blocks."""

    program: Instrumented  # with its blocks
    shape: Shape
    counts: NDArray[np.int64]  # (items, blocks): the items of a group are neighbours
    every: int  # one of this many groups was recorded

    @cached_property
    def executions(self) -> NDArray[np.float64]:
        """The executions of each block in the whole launch; exact if all groups were recorded."""
        whole = self.counts.sum(0) * (self.shape.groups * self.shape.in_group / len(self.counts))
        return np.asarray(whole, float)

    def operations(self) -> dict[str, float]:
        """Return the executed operations of the launch by class."""
        total: dict[str, float] = {}
        for block, count in zip(self.program.blocks, self.executions, strict=True):
            for kind, number in block.operations.items():
                total[kind] = total.get(kind, 0.0) + number * float(count)
        return total


@dataclass(frozen=True)
class BlockOrder:
    """The blocks that groups executed, one group after the other; not all, if there are many."""

    blocks: NDArray[np.int64]  # numbers of the blocks


@dataclass(frozen=True)
class WarpTimes:
    """When warps ran; element k of each array is about warp k."""

    # The compute unit; -1 if the device does not tell.
    unit: NDArray[np.int64]
    # Cycles: from the first item of a warp to its last, and the mean of its items at barriers.
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    waiting: NDArray[np.float64]

    @property
    def known(self) -> bool:
        """Whether the device has a clock."""
        return bool(self.end.any())


@dataclass(frozen=True)
class AddressLog:
    """Accesses to memory, with the site of each."""

    trace: AddressTrace
    site: NDArray[np.int64]  # numbers of the sites of the program
    item: NDArray[np.int64]  # numbers of the items: those of a group follow each other
    phase: NDArray[np.int64]  # barriers that the item has passed
    # The accesses of each site in the whole launch over those that were recorded: 1 if all groups
    # were recorded.
    scales: NDArray[np.float64]
    every: int  # one of this many groups was recorded


class Recorder:
    """A kernel with probes, for a device.

    Parameters
    ----------
    device : Device
    source : str
        OpenCL C, without includes.
    kernel : str
        Its name.
    standard : str or None
        As for `pyapsp.device.kernels.build`.
    name : str
        The file, for messages.
    width : int
        Items of a warp.
    """

    def __init__(
        self,
        device: Device,
        source: str,
        kernel: str,
        *,
        standard: str | None = None,
        name: str = "<source>",
        width: int = 32,
    ) -> None:
        self.device, self.kernel, self.width = device, kernel, width
        self._source, self._standard, self._name = source, standard, name
        self._built: dict[Probe, tuple[Instrumented, Program]] = {}

    def blocks(
        self, queue: cl.CommandQueue, shape: Shape, arguments: Sequence[Argument]
    ) -> BlockCounts:
        """Launch the kernel with counters of blocks."""
        program, built = self.program("blocks")
        of_item = 4 * len(program.blocks)
        every = ceil(shape.groups * shape.in_group * of_item / self._limit)
        room = ceil(shape.groups / every) * shape.in_group
        out = self._launch(queue, built, shape, arguments, room * of_item, room, every)
        numbers = out.view(np.uint32)[: len(program.blocks) * room]  # the rest fills 8 bytes
        counts = numbers.reshape(len(program.blocks), room).T.astype(np.int64)
        return BlockCounts(program, shape, counts, every)

    def warps(
        self, queue: cl.CommandQueue, shape: Shape, arguments: Sequence[Argument]
    ) -> WarpTimes:
        """Launch the kernel, which records when its items run."""
        _, built = self.program("warps")
        every = ceil(shape.groups * shape.in_group * 32 / self._limit)
        room = ceil(shape.groups / every) * shape.in_group
        out = self._launch(queue, built, shape, arguments, room * 32, room, every)
        start, end, unit, waiting = out.view(np.int64).reshape(4, -1, shape.in_group)
        first = np.arange(0, shape.in_group, self.width)
        unit = unit[:, first].reshape(-1)
        lanes = np.diff(np.append(first, shape.in_group))
        return WarpTimes(
            np.where(unit == 0xFFFFFFFF, -1, unit),
            np.minimum.reduceat(start, first, 1).reshape(-1),
            np.maximum.reduceat(end, first, 1).reshape(-1),
            (np.add.reduceat(waiting, first, 1) / lanes).reshape(-1),
        )

    def addresses(
        self,
        queue: cl.CommandQueue,
        shape: Shape,
        arguments: Sequence[Argument],
        counts: BlockCounts,
    ) -> AddressLog:
        """Launch the kernel, which records its accesses to memory.

        Parameters
        ----------
        queue, shape, arguments
            As for the other traces.
        counts : BlockCounts
            Of the same launch, from which the size of the trace follows.

        Raises
        ------
        ParameterError
            If the launch accesses memory much more often than that of `counts`.
        """
        program, built = self.program("addresses")
        sites = program.sites
        of_block = np.bincount([each.block for each in sites], minlength=len(program.blocks))
        of_groups = (counts.counts @ of_block).reshape(-1, shape.in_group).sum(1)
        most = self._limit / _OF_ACCESS
        step = min(ceil(of_groups.sum() / most) or 1, len(of_groups))
        while step < len(of_groups) and of_groups[::step].sum() > most:  # groups differ
            step += 1
        every, expected = step * counts.every, int(of_groups[::step].sum())
        room = expected * _SPARE + 2 * shape.in_group * len(sites) + 1
        size = 8 + _OF_ACCESS * room
        out = self._launch(queue, built, shape, arguments, size, room, every)
        used = int(out[:8].view(np.uint32)[0])
        if used > room:
            raise ParameterError(
                f"the kernel {self.kernel} does not do the same each time: {used:,} accesses to "
                f"memory, and {expected:,} in the launch before"
            )
        moment, address, label = out[8:].view(np.int64).reshape(3, room)[:, :used]
        phase, site, place = label >> 48 & 0xFFFF, label >> 32 & 0xFFFF, label & 0xFFFFFFFF
        scales = np.ones(len(sites))
        if every > 1:
            executions = counts.executions[[each.block for each in sites]]
            scales = executions / np.maximum(np.bincount(site, minlength=len(sites)), 1)
        facts, columns = sites_of(program), (site, place, moment, address, phase)
        return _log(facts, *columns, shape, self.width, scales, every)

    def order(
        self,
        queue: cl.CommandQueue,
        shape: Shape,
        arguments: Sequence[Argument],
        counts: BlockCounts,
    ) -> BlockOrder:
        """Launch the kernel, which records in which order it executes its blocks.

        Parameters
        ----------
        queue, shape, arguments, counts
            As for the addresses.
        """
        _, built = self.program("order")
        expected = counts.counts.sum() * _SPARE
        most = self._limit // _OF_BLOCK
        step = min(ceil(expected / most) or 1, len(counts.counts) // shape.in_group)
        room = int(min(expected, most))
        size = 8 + _OF_BLOCK * room
        out = self._launch(queue, built, shape, arguments, size, room, counts.every * step)
        used = min(int(out[:8].view(np.uint32)[0]), room)
        place, block = np.divmod(out[8 : 8 + _OF_BLOCK * used].view(np.int64), 1 << 32)
        return BlockOrder(block[np.argsort(place // shape.in_group, kind="stable")])

    @property
    def _limit(self) -> int:
        return min(_LIMIT, self.device.capabilities.max_allocation // 2)

    def instrumented(self, probe: Probe) -> Instrumented:
        """Return the program with these probes."""
        return instrument(
            self._source,
            probe,
            self.kernel,
            _predefined(self.device),
            standard=self._standard,
            name=self._name,
            clock=_clock(self.device),
        )

    def program(self, probe: Probe) -> tuple[Instrumented, Program]:
        """Return the program with these probes, and the built one."""
        if probe not in self._built:
            made = self.instrumented(probe)
            # probes put more blocks between barriers than such compilers get right
            optimise = self.device.traits.optimises_barriers
            self._built[probe] = made, Program(self.device, made.text, self._standard, optimise)
        return self._built[probe]

    def _launch(
        self,
        queue: cl.CommandQueue,
        built: Program,
        shape: Shape,
        arguments: Sequence[Argument],
        size: int,
        room: int,
        every: int,
    ) -> NDArray[np.uint8]:
        """Run the kernel with probes, and return the bytes of the trace."""
        size = -(-size // 8) * 8
        buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size)
        cl.enqueue_fill_buffer(queue, buffer, np.zeros(1, np.uint8), 0, size)
        more = (buffer, np.uint32(room), np.uint32(every))
        # PyOpenCL takes local memory, too, but does not say so
        everything = cast("list[np.generic]", [*arguments, *more])
        built.kernel(self.kernel)(queue, shape.items, shape.group, *everything)
        out = np.empty(size, np.uint8)
        cl.enqueue_copy(queue, out, buffer)
        return out


def sites_of(program: Instrumented) -> NDArray[np.int64]:
    """Return offset, size, whether it is local, and whether it is an update, for each site."""
    rows = [
        (each.offset, each.size, each.space == "local", each.kind == "update")
        for each in program.sites
    ]
    return np.array(rows, np.int64).reshape(-1, 4)


def _log(
    sites: NDArray[np.int64],
    site: NDArray[np.int64],
    place: NDArray[np.int64],
    moment: NDArray[np.int64],
    address: NDArray[np.int64],
    phase: NDArray[np.int64],
    shape: Shape,
    width: int,
    scales: NDArray[np.float64],
    every: int,
) -> AddressLog:
    group, inner = np.divmod(place, shape.in_group)
    warp = group * -(-shape.in_group // width) + inner // width
    # an update is a load, and a store at another moment
    again = np.flatnonzero(sites[site, 3])
    site = np.append(site, site[again])
    offset, size, local, _ = sites[site].T
    trace = AddressTrace(
        np.append(warp, warp[again]),
        np.append(moment, ~moment[again]),
        np.append(address, address[again]) + offset,
        size,
        local.astype(bool),
    )
    item = np.append(place, place[again])
    return AddressLog(trace, site, item, np.append(phase, phase[again]), scales, every)


def _clock(device: Device) -> str:
    """Return the kernel file with the clock of a device; the portable one for most vendors."""
    own = device.vendor_file(_CLOCK)
    return own if (root() / own).is_file() else _CLOCK


def _predefined(device: Device) -> Mapping[str, str | int]:
    """Return the macros that a compiler for the device predefines."""
    macros: dict[str, str | int] = dict.fromkeys(device.capabilities.extensions, 1)
    major, minor = re.findall(r"\d+", device.handle.version)[:2]
    macros["__OPENCL_VERSION__"] = f"{major}{minor}0"
    if device.handle.image_support:
        macros["__IMAGE_SUPPORT__"] = 1
    for option in device.build_options:
        name, _, value = option.removeprefix("-D").partition("=")
        macros[name] = value
    return macros
