"""Trace one launch in three ways, on a CPU in four, and find its criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.device import Device
from pyapsp.profiling.probes.blocks import Block, Site
from pyapsp.profiling.traces import criteria, reduction
from pyapsp.profiling.traces.branches import wrong_predictions
from pyapsp.profiling.traces.criteria import Accesses, Activity, Criteria, Launch, Units
from pyapsp.profiling.traces.record import (
    AddressLog,
    Argument,
    BlockCounts,
    BlockOrder,
    Recorder,
    Shape,
    WarpTimes,
)
from pyapsp.profiling.traces.units import units_of, width_of
from pyapsp.profiling.traces.waits import Waits, waits_of
from pyapsp.profiling.traces.work import Work, far_accesses, shared_accesses, work_of

__all__ = ["Analyst", "LaunchTrace", "SiteFacts", "mean"]

# Bytes of a line of the first cache and of a sector, and banks of local memory, of most GPUs.
_LINE, _SECTOR, _BANKS = 128, 32, 32
# Launches without probes: one, and those of which the median counts.
_TIMED = 6


@dataclass(frozen=True)
class SiteFacts:
    """What a place of the source does with memory in a launch."""

    site: Site
    executions: float  # how often items execute it
    # Useful bytes over those of the sectors that it touches, or the passes over the banks that it
    # needs over those that it takes.
    efficiency: float
    wasted: float  # bytes of sectors that nobody asked for, or passes over the banks for conflicts


@dataclass(frozen=True)
class LaunchTrace:
    """What is known of one launch."""

    kernel: str
    shape: Shape
    local_bytes: int  # local memory of a group
    operations: dict[str, float]  # executed operations by class, see `instrument.Block`
    # Of the whole launch; scaled up if not all groups were recorded.
    accesses: Accesses
    # Bytes of the different sectors of global memory that it accesses, at most those of its
    # buffers.
    footprint: float
    criteria: Criteria  # those of the kernel alone: without host_sync, transfer and intensity
    sites: list[SiteFacts]  # largest waste first
    # Blocks, and the operations for which the warps had room while lanes were idle; largest first.
    divergent: list[tuple[Block, float]]
    waiting: float  # the share of the time of warps that they wait at barriers
    recorded: float  # the smallest part of the groups that a trace has
    # Sectors of global memory that atomic operations of warps touch, and how many accesses to one
    # sector take turns, at most: atomic operations, and those of warps that no first cache has.
    atomics: tuple[float, float] = (0.0, 0.0)
    waits: Waits | None = None  # None on a CPU, whose cores go on while memory is read
    # What the cores of a CPU do; None on other devices.
    work: Work | None = None


class Analyst:
    """Makes traces of launches on a device.

    Parameters
    ----------
    device : Device
    width : int, optional
        Items of a warp; by default those of the device.
    line, sector, banks : int
        Bytes of a cache line and of a sector, and banks of local memory.

    Raises
    ------
    ParameterError
        If a warp has no items.
    """

    def __init__(
        self,
        device: Device,
        width: int | None = None,
        *,
        line: int = _LINE,
        sector: int = _SECTOR,
        banks: int = _BANKS,
    ) -> None:
        if width is not None and width < 1:
            raise ParameterError.of("warp", "profile", "at least 1 item", width)
        self.device = device
        self.width = width_of(device) if width is None else width
        self._line, self._sector, self._banks = line, sector, banks

    def trace(
        self,
        recorder: Recorder,
        queue: cl.CommandQueue,
        shape: Shape,
        arguments: Sequence[Argument],
        local_bytes: int = 0,
        registers: int | None = None,
        clean: Callable[[], object] | None = None,
    ) -> LaunchTrace:
        """Launch a kernel once with each probe; its buffers are restored after each.

        Parameters
        ----------
        recorder, queue, shape, arguments
            What to launch. The kernel must not write to images: they are not restored.
        local_bytes : int
            Local memory of a group.
        registers : int, optional
            Those of a work-item, if they are known.
        clean : callable, optional
            Launches the kernel without probes, and times it; called several times, with restored
            buffers. The first time differs from later ones, for instance because the driver
            compiles the kernel then.

        Raises
        ------
        DeviceMemoryError
            If there is no memory for copies of the buffers, or for the traces.
        """
        saved = [
            (each, _copy(queue, each))
            for each in arguments
            if isinstance(each, cl.MemoryObjectHolder) and not isinstance(each, cl.Image)
        ]

        def restore() -> None:
            for buffer, copy in saved:
                cl.enqueue_copy(queue, buffer, copy)

        counts = recorder.blocks(queue, shape, arguments)
        restore()
        times = recorder.warps(queue, shape, arguments)
        restore()
        log = recorder.addresses(queue, shape, arguments, counts)
        restore()
        order = None
        if self.device.kind == "cpu":
            order = recorder.order(queue, shape, arguments, counts)
            restore()
        if clean is not None:
            for _ in range(_TIMED):
                clean()
                restore()
        queue.finish()
        memory = float(sum(buffer.size for buffer, _ in saved))
        launch = Launch(shape.in_group, shape.groups, local_bytes, registers)
        return self._reduced(recorder.kernel, shape, launch, memory, counts, times, log, order)

    def _reduced(
        self,
        kernel: str,
        shape: Shape,
        launch: Launch,
        memory: float,
        counts: BlockCounts,
        times: WarpTimes,
        log: AddressLog,
        order: BlockOrder | None,
    ) -> LaunchTrace:
        sizes_of_memory = self._line, self._sector, self._banks
        places = len(counts.program.sites)
        of_sites = reduction.accesses(log.trace, *sizes_of_memory, site=log.site, sites=places)
        found = _whole(of_sites, log.scales, self._line, self._sector)
        sizes = np.array([each.size for each in counts.program.blocks], float)
        waiting = 0.0
        scalar = self.device.traits.scalar_groups
        width = min(self.width, shape.in_group) if scalar else self.width
        values = Criteria(
            divergence=reduction.divergence(counts.counts, sizes, shape.in_group, width),
            local_efficiency=criteria.local_efficiency(found.ideal_local, found.local),
        )
        if width > 1:  # a single item has nobody to share a line with
            values = replace(
                values,
                l1_granularity=criteria.granularity(found.useful, found.lines, self._line),
                l2_granularity=criteria.granularity(found.useful, found.sectors, self._sector),
            )
        units = units_of(self.device, self.width, shape.in_group)
        if units is not None:
            values = replace(values, occupancy=criteria.occupancy(launch, units))
        if times.known:
            activities = reduction.activities(times.unit, times.start, times.end)
            waiting = _share(times.waiting.sum(), (times.end - times.start).sum())
            if units is not None:
                if not (times.unit < 0).any():
                    balance = criteria.unit_balance(activities, units.count)
                    values = replace(values, unit_balance=balance)
                if not scalar:
                    values = _in_units(values, activities, launch, units, waiting)
        return LaunchTrace(
            kernel,
            shape,
            launch.local_bytes,
            counts.operations(),
            found,
            min(float(reduction.footprint(log.trace, self._sector) * log.every), memory),
            values,
            self._sites(counts, log, of_sites) if width > 1 else [],
            _divergent(counts, sizes, width),
            waiting,
            1 / max(counts.every, log.every),
            _atomics(log, counts.program.sites, of_sites, self._sector),
            None
            if scalar
            else waits_of(counts, log, self._line, self._sector, width, launch, units),
            None if order is None else _work(counts, log, order, self.width),
        )

    def _sites(
        self, counts: BlockCounts, log: AddressLog, accesses: Sequence[Accesses]
    ) -> list[SiteFacts]:
        facts = []
        executed = np.unique(log.site)
        for number in executed.tolist():
            site, found = counts.program.sites[number], accesses[number]
            if site.space == "local":
                efficiency = criteria.local_efficiency(found.ideal_local, found.local)
                wasted = float(found.local - found.ideal_local)
            else:
                efficiency = criteria.granularity(found.useful, found.sectors, self._sector)
                wasted = max(found.sectors * self._sector - found.useful, 0.0)
            executions = float(counts.executions[site.block])
            wasted *= float(log.scales[number])
            facts.append(SiteFacts(site, executions, efficiency, wasted))
        return sorted(facts, key=lambda each: -each.wasted)


def _whole(
    parts: Sequence[Accesses], scales: NDArray[np.float64], line: int, sector: int
) -> Accesses:
    """Return the accesses of a launch from those that were recorded of each site."""
    names = ("useful", "lines", "sectors", "ideal_local", "local")
    totals = {
        name: round(float(np.dot([getattr(part, name) for part in parts], scales)))
        for name in names
    }
    return Accesses(line=line, sector=sector, **totals)


def mean(values: Sequence[tuple[Criteria, float]]) -> Criteria:
    """Return the mean of criteria with weights, of each over those that have it."""
    total = {}
    for name in criteria.WEIGHTS:
        pairs = [(each.known()[name], weight) for each, weight in values if name in each.known()]
        weight = sum(weight for _, weight in pairs)
        if weight:
            total[name] = sum(value * weight for value, weight in pairs) / weight
    return Criteria(**total)


def _in_units(
    values: Criteria, activities: list[Activity], launch: Launch, units: Units, waiting: float
) -> Criteria:
    """Add the criteria of warps that run at the same time, which those of a CPU do not."""
    warps = units.count * units.items // units.width
    values = replace(values, device_sync=criteria.device_sync(activities, warps, waiting))
    # a unit is not full if there are fewer groups than places
    resident = min(criteria.resident_groups(launch, units), -(-launch.groups // units.count))
    if not resident or values.unit_balance is None:
        return values
    balance = criteria.warp_balance(activities, launch.group, units.width, resident)
    return replace(values, warp_balance=balance)


def _atomics(
    log: AddressLog, sites: Sequence[Site], of_sites: Sequence[Accesses], sector: int
) -> tuple[float, float]:
    """Return the sectors that atomic operations touch, and the most accesses that take turns.

    Those are the atomic operations on a word, and the accesses of warps to its sector that no first
    cache may have.
    """
    shared = np.array([each.space == "global" and not each.cached for each in sites], bool)
    atomic = np.array([each.kind == "atomic" for each in sites], bool) & shared
    sectors = np.array([each.sectors for each in of_sites], float)
    mine = shared[log.site]
    if not mine.any():
        return 0.0, 0.0
    site, address = log.site[mine], log.trace.address[mine]
    part = np.unique(address // sector, return_inverse=True)[1]
    weight, changes = log.scales[site], atomic[site]
    words, word = np.unique(address, return_inverse=True)
    turns = np.zeros(part.max() + 1)
    np.maximum.at(turns, part, np.bincount(word, weight * changes, len(words))[word])
    # items of a warp that access a sector at the same moment share one access
    pairs = np.stack([part, log.trace.numbers[mine]])[:, ~changes]
    first = np.unique(pairs, axis=1, return_index=True)[1]
    turns += np.bincount(pairs[0, first], weight[~changes][first], len(turns))
    return float(np.dot(sectors * atomic, log.scales)), float(turns.max())


def _work(counts: BlockCounts, log: AddressLog, order: BlockOrder, width: int) -> Work:
    shape, program = counts.shape, counts.program
    warps, places = -(-shape.in_group // width), len(program.sites)
    kinds = np.array([each.kind for each in program.sites], str)[log.site]
    # the stores of updates follow at the end: they are to the lines of the loads
    once = np.arange(len(kinds)) < len(kinds) - np.count_nonzero(kinds == "update") // 2
    trace = log.trace.where(once), log.site[once]
    site, sizes = far_accesses(*trace, warps)
    far = _by_size(site, sizes, log.scales, places)
    moved, again = shared_accesses(*trace, kinds[once], warps)
    return work_of(
        *(counts.counts, program.blocks, shape.in_group, shape.groups),
        wrong_predictions(order.blocks, program.blocks),
        _loads(counts, far),
        {size: float(some.sum()) for size, some in far.items()},
        float(log.scales[moved[~again]].sum()),
        float(log.scales[moved[again]].sum()),
    )


def _by_size(
    site: NDArray[np.int64], sizes: NDArray[np.float64], scales: NDArray[np.float64], sites: int
) -> dict[float, NDArray[np.float64]]:
    """Return how many accesses of each site there are, by powers of two of a size."""
    power = np.round(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    return {
        2.0 ** int(each): np.asarray(np.bincount(site[mine], scales[site[mine]], sites), float)
        for each in np.unique(power)
        for mine in [power == each]
    }


def _loads(
    counts: BlockCounts, far: Mapping[float, NDArray[np.float64]]
) -> list[dict[float, float]]:
    """Return the part of the loads of each site by the size of `Work.awaited`."""
    parts = []
    for number, site in enumerate(counts.program.sites):
        executions = max(float(counts.executions[site.block]), 1.0)
        mine = {size: float(some[number]) / executions for size, some in far.items()}
        parts.append({0.0: max(1 - sum(mine.values()), 0.0), **mine})
    return parts


def _divergent(
    counts: BlockCounts, sizes: NDArray[np.float64], width: int
) -> list[tuple[Block, float]]:
    whole = reduction.by_warp(counts.counts, counts.shape.in_group, width)
    idle = (width * whole.max(1) - whole.sum(1)).sum(0) * sizes * counts.every
    order = np.argsort(-idle)
    return [(counts.program.blocks[each], float(idle[each])) for each in order if idle[each]]


def _copy(queue: cl.CommandQueue, buffer: cl.Buffer) -> cl.Buffer:
    copy = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, buffer.size)
    cl.enqueue_copy(queue, copy, buffer)
    return copy


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
