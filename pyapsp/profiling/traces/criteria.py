"""The eleven criteria of Pro++ and their weighted mean, as functions of what a profiler reports.

F. Busato's thesis (Verona 2018), chapter 12. Each criterion is in [0, 1], and 1 is best. Where a
printed formula contradicts its text, this is the form that the text means; `occupancy_as_printed`
is kept for comparison. The words here are those of OpenCL: a *unit* is a streaming multiprocessor,
a *group* a block, an *item* a thread, and a *warp* the items that run in lock step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

__all__ = [
    "WEIGHTS",
    "Accesses",
    "Activity",
    "Criteria",
    "Launch",
    "Span",
    "Units",
    "device_sync",
    "granularity",
    "host_sync",
    "intensity",
    "local_efficiency",
    "occupancy",
    "occupancy_as_printed",
    "quality",
    "resident_groups",
    "transfer",
    "unit_balance",
    "warp_balance",
]


@dataclass(frozen=True)
class Units:
    """The limits of the compute units of a device."""

    count: int  # number of compute units
    # Most work-items and most work-groups that are resident in a unit.
    items: int
    groups: int
    width: int  # items of a warp
    local_bytes: int  # local memory of a unit
    # Registers of a unit; None if they do not limit it or are not known.
    registers: int | None = None
    register_step: int = 1  # a warp gets a multiple of this many registers


@dataclass(frozen=True)
class Launch:
    """The shape and the needs of a launch."""

    group: int  # items of a group
    groups: int  # number of groups
    local_bytes: int = 0  # local memory of a group
    # Registers of an item; None if not known.
    registers: int | None = None


@dataclass(frozen=True)
class Span:
    """The seconds from start to end of one command on the device."""

    start: float
    end: float


@dataclass(frozen=True)
class Activity:
    """What the warps of one unit did, in cycles of its clock."""

    active_warps: float  # the sum over cycles of the warps that were active
    active_cycles: float  # cycles with at least one active warp
    elapsed: float  # cycles from the start of the first warp to the end of the last


@dataclass(frozen=True)
class Accesses:
    """What the warps of a launch read and wrote."""

    useful: int  # bytes of global memory that items asked for
    # Cache lines and sectors that these accesses touch, each counted once per access of a warp.
    lines: int
    sectors: int
    # Their bytes.
    line: int
    sector: int
    # Passes over the banks of local memory that the accesses need without conflicts, and that they
    # take.
    ideal_local: int = 0
    local: int = 0


@dataclass(frozen=True)
class Criteria:
    """The values of the eleven criteria; None if one could not be measured."""

    occupancy: float | None = None  # resident items over the most that the device can have (OCC)
    # Time in kernels over the time from the first to the last (HSync).
    host_sync: float | None = None
    device_sync: float | None = None  # 1 without waiting at barriers (DSync)
    # Executed instructions over those that the warps had room for (TDiv).
    divergence: float | None = None
    # Useful bytes over the bytes of the cache lines, or sectors, that are touched.
    l1_granularity: float | None = None
    l2_granularity: float | None = None
    # How evenly work is spread over the warps of a unit (LB_W), and over units (LB_SM).
    warp_balance: float | None = None
    unit_balance: float | None = None
    local_efficiency: float | None = None  # 1 without bank conflicts
    intensity: float | None = None  # use of the arithmetic and the load-store units (CI)
    transfer: float | None = None  # overlap of copies with kernels (DT)

    def known(self) -> dict[str, float]:
        """Return the criteria that have a value, by name."""
        values = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: value for name, value in values if value is not None}


# The caption of table 12.3; `weights.fit` finds those of another device.
WEIGHTS: Mapping[str, float] = {
    "occupancy": 30,
    "host_sync": 40,
    "device_sync": 15,
    "divergence": 40,
    "l1_granularity": 100,
    "l2_granularity": 100,
    "warp_balance": 50,
    "unit_balance": 30,
    "local_efficiency": 30,
    "intensity": 100,
    "transfer": 50,
}


def resident_groups(launch: Launch, units: Units) -> int:
    """Return how many groups of a launch a unit holds at a time; 0 if one does not fit."""
    warps = -(-launch.group // units.width)
    limits = [units.groups, units.items // (warps * units.width)]
    if launch.local_bytes:
        limits.append(units.local_bytes // launch.local_bytes)
    if launch.registers and units.registers is not None:
        of_warp = _multiple(units.width * launch.registers, units.register_step)
        limits.append(units.registers // (warps * of_warp))
    return min(limits)


def occupancy(launch: Launch, units: Units) -> float:
    """Return the resident items over the most that the units can hold."""
    warps = -(-launch.group // units.width)
    groups = min(resident_groups(launch, units), launch.groups / units.count)
    return min(groups * warps * units.width / units.items, 1.0)


def occupancy_as_printed(launch: Launch, units: Units) -> float:
    """Return the occupancy by the printed formula, which mixes groups, shares and their inverse."""
    items = _multiple(launch.group, units.width)
    terms = [
        launch.groups * items / (units.count * units.items),
        max(units.groups, units.items // items),
        1.0,
    ]
    if launch.local_bytes:
        terms.append(units.local_bytes // launch.local_bytes)
    if launch.registers and units.registers:
        of_warp = _multiple(units.width * launch.registers, units.register_step)
        terms.append(launch.group / units.width * of_warp // units.registers)
    return min(terms)


def host_sync(kernels: Sequence[Span]) -> float:
    """Return the time in kernels over the time from the start of the first to the end of the last.

    It is at most 1 also if kernels overlap.
    """
    first, last = min(each.start for each in kernels), max(each.end for each in kernels)
    if last == first:
        return 1.0
    return min(sum(each.end - each.start for each in kernels) / (last - first), 1.0)


def device_sync(activities: Sequence[Activity], warps: int, stalled: float) -> float:
    """Return 1 less the share of time that warps wait, as far as barriers cause it.

    Parameters
    ----------
    activities : sequence of Activity
        One for each unit that ran.
    warps : int
        The most resident warps of the device.
    stalled : float
        The part of the waiting that is at barriers, in [0, 1].
    """
    elapsed = max(each.elapsed for each in activities)
    if not elapsed:
        return 1.0
    active = sum(each.active_warps for each in activities) / warps / elapsed
    return 1 - (1 - min(active, 1.0)) * stalled


def warp_balance(activities: Sequence[Activity], group: int, width: int, resident: int) -> float:
    """Return the mean number of active warps over the number that is resident if all are busy."""
    active = sum(each.active_warps for each in activities)
    cycles = sum(each.active_cycles for each in activities)
    return min(active / cycles / (-(-group // width) * resident), 1.0)


def unit_balance(activities: Sequence[Activity], units: int) -> float:
    """Return the mean over units of their active cycles, over the largest; idle units count."""
    cycles = [each.active_cycles for each in activities]
    return sum(cycles) / units / max(cycles)


def granularity(useful: int, touched: int, size: int) -> float:
    """Return the useful bytes over those of the lines or sectors that are touched.

    Parameters
    ----------
    useful : int
        Bytes that items asked for.
    touched, size : int
        The number of lines or sectors, and the bytes of one.

    Returns
    -------
    float
        At most 1, although a broadcast asks for the same bytes several times; 1 without accesses.
    """
    return min(useful / (touched * size), 1.0) if touched else 1.0


def local_efficiency(ideal: int, taken: int) -> float:
    """Return the passes over the banks that accesses need, over those that they take."""
    return ideal / taken if taken else 1.0


def intensity(arithmetic: float, memory: float) -> float:
    """Return the mean of the use of the arithmetic units and of the load-store units."""
    return (min(arithmetic, 1.0) + min(memory, 1.0)) / 2


def transfer(copied: float, overlapping: float, allocated: float) -> float:
    """Return the criterion of transfers between host and device as it is printed, in [0, 1].

    It is 0.5 both if nothing is copied and if every copy overlaps with kernels, so it is never
    better than 0.5.

    Parameters
    ----------
    copied, overlapping : float
        Bytes that were copied, and those of them that were while a kernel ran.
    allocated : float
        Bytes of the buffers on the device.
    """
    whole = allocated + copied
    if not whole:
        return 0.5
    return min(max(0.5 + (overlapping - copied) / whole, 0.0), 1.0)


def quality(criteria: Criteria, weights: Mapping[str, float] = WEIGHTS) -> float:
    """Return the weighted mean of the criteria that have a value (QM).

    Values of two programs can be compared if the same criteria are known of both.
    """
    values = criteria.known()
    return sum(value * weights[name] for name, value in values.items()) / sum(
        weights[name] for name in values
    )


def _multiple(number: int, step: int) -> int:
    """Return the smallest multiple of `step` that is at least `number`."""
    return -(-number // step) * step
