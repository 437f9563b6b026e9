"""What limits a kernel on a device, and what each criterion could gain.

F. Busato's thesis (Verona 2018), chapter 13. A device profile (`pyapsp profile device`) gives
*characterisation functions*: the speed of the device at a degree of divergence, of bank conflicts,
of parallel instructions, and at a size of accesses, relative to its best speed. With them a
criterion becomes a relative speed, and its inverse a possible speedup.

The thesis takes shares of time from latencies. Here they are times that each part of the device
needs at its full rate: latencies overlap, and their sum can exceed the time of the kernel. Only if
there are too few warps, or one that runs for long, latencies decide (`Waits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
from scipy.interpolate import PchipInterpolator

from pyapsp.base.errors import ParameterError
from pyapsp.profiling.analysis import LaunchTrace, Waits
from pyapsp.profiling.criteria import Criteria, intensity

__all__ = ["Advice", "Analysis", "Characterisation", "Curve", "analyse", "potential_speedup"]

_SCHEMA = "pyapsp device profile"
# A kernel whose memory throughput is at least 1 - this needs no more occupancy.
_NEAR = 0.05
_QUANTUM = 1e-3
# Bytes of an access to local memory.
_WORD = 4

_HINTS = {
    "host_sync": "fuse kernels, or enqueue more launches before the host waits",
    "device_sync": "use fewer barriers, or give each warp work of its own",
    "divergence": "give the items of a warp the same path: regroup work, or split the kernel",
    "warp_balance": "spread the work of a group over its warps, or use smaller groups",
    "unit_balance": "start more groups than units, or spread work evenly over groups",
    "l1_granularity": "let neighbouring items access neighbouring addresses",
    "l2_granularity": "let items use whole sectors: change the layout, or stage in local memory",
    "local_efficiency": "avoid bank conflicts: pad rows of local memory",
    "throughput_occupancy": "raise occupancy: other groups, less local memory, fewer registers",
}


@dataclass(frozen=True)
class Curve:
    """A function through measured points, constant outside them.

    Attributes
    ----------
    x, y : tuple of float
        The points; x increases. y is a multiple of 0.001.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    @classmethod
    def of(cls, points: Iterable[tuple[float, float]]) -> Curve:
        """Return the curve through the medians of points with the same x."""
        found: dict[float, list[float]] = {}
        for x, y in points:
            found.setdefault(x, []).append(y)
        xs = tuple(sorted(found))
        return cls(xs, tuple(_quantised(float(np.median(found[x]))) for x in xs))

    def __bool__(self) -> bool:
        """Whether there are points."""
        return bool(self.x)

    def __call__(self, x: float) -> float:
        """Return the value by monotone cubic interpolation."""
        if not self.x:
            return 1.0
        x = min(max(x, self.x[0]), self.x[-1])
        if len(self.x) == 1:
            return self.y[0]
        return float(PchipInterpolator(self.x, self.y)(x))


@dataclass(frozen=True)
class Characterisation:
    """A device by its profile.

    Attributes
    ----------
    divergence : Curve
        Relative speed at executed over possible instructions.
    local : Curve
        Relative speed at needed over taken passes of the banks of local memory.
    memory : Curve
        Relative bandwidth at the bytes of an access of an item.
    arithmetic : Curve
        Relative speed at the number of independent chains of instructions.
    rates : mapping of str to float
        Operations per second by class, and ``local`` and ``atomic`` accesses per second.
    bandwidth : tuple of (float, float)
        Bytes that are read again and again, and the bytes per second.
    launch : float
        Seconds of a launch.
    latency : tuple of (float, float)
        Bytes that are read again and again, and the seconds of a load.
    waits : tuple of (float, float)
        The seconds of an access to local memory, and of a barrier.
    units : int
        Compute units.
    overlaps : bool
        Whether the parts of the device work at the same time, as those of a GPU, which has other
        warps to run. The instructions of a core of a CPU take turns.
    """

    divergence: Curve
    local: Curve
    memory: Curve
    arithmetic: Curve
    rates: Mapping[str, float]
    bandwidth: tuple[tuple[float, float], ...]
    launch: float
    latency: tuple[tuple[float, float], ...] = ()
    waits: tuple[float, float] = (0.0, 0.0)
    units: int = 1
    overlaps: bool = True

    @classmethod
    def of(cls, profile: Mapping[str, object]) -> Characterisation:
        """Read a device profile.

        Raises
        ------
        ParameterError
            If it is none, or one without bandwidths.
        """
        results = profile.get("results")
        if profile.get("schema") != _SCHEMA or not isinstance(results, list):
            raise ParameterError("this is no device profile: make one with pyapsp profile device")
        rows = _Rows(results)
        bandwidth = rows.curve("read bandwidth", "bytes")
        if not bandwidth:
            raise ParameterError("the device profile has no read bandwidth")
        classes = {
            "int": "i32.add",
            "float": "f32.add",
            "double": "f64.add",
            "special": "f32.native_sin",
        }
        rates = {name: rows.rate("throughput", operation=op) for name, op in classes.items()}
        paths = rows.curve("divergence", "paths")
        banks = rows.curve("bank conflicts", "stride")
        rates["local"] = max((rate for _, rate in banks), default=0.0)
        rates["atomic"] = rows.rate("atomic additions", memory="global", counters=_EACH)
        return cls(
            Curve.of((1 / x, y) for x, y in _relative(paths)) or _LINEAR,
            Curve.of((1 / gcd(int(x), 32), y) for x, y in _relative(banks)) or _LINEAR,
            Curve.of(_relative(rows.curve("access size", "bytes"))),
            Curve.of(_relative(rows.curve("chains", "chains"))),
            {name: rate for name, rate in rates.items() if rate},
            tuple(bandwidth),
            _inverse(rows.rate("launch", clock="device")),
            tuple((x, 1 / y) for x, y in rows.curve("latency of loads", "bytes")),
            (_inverse(rows.rate("local latency")), _inverse(rows.rate("barrier"))),
            *_kind(profile),
        )

    def bytes_per_second(self, footprint: float) -> float:
        """Return the bandwidth of reading so many bytes again and again."""
        sizes, rates = zip(*self.bandwidth, strict=True)
        return float(np.interp(np.log(max(footprint, 1.0)), np.log(sizes), rates))

    def waiting(self, waits: Waits | None, footprint: float) -> float:
        """Return the seconds that warps wait, if nothing else takes time."""
        if waits is None or not self.latency:
            return 0.0
        sizes, loads = zip(*self.latency, strict=True)
        load = float(np.interp(np.log(max(footprint, 1.0)), np.log(sizes), loads))
        longest, total = (
            np.dot(each, (load, *self.waits)) for each in (waits.longest, waits.total)
        )
        return float(max(longest, total / waits.warps))


# The speed where nothing was measured: in proportion to the useful part.
_LINEAR = Curve((0.0, 1.0), (0.0, 1.0))
_EACH = "one for each work-item"


@dataclass(frozen=True)
class Advice:
    """What a criterion could gain.

    Attributes
    ----------
    criterion : str
    value : float
        The criterion of chapter 13.
    speedup : float
        As the thesis defines it; it can be below 1 where only a share of the time is concerned.
    gain : float
        The speedup of the whole by Amdahl's law: with the share of the time that is concerned.
    hint : str
    """

    criterion: str
    value: float
    speedup: float
    gain: float
    hint: str


@dataclass(frozen=True)
class Analysis:
    """What limits a kernel.

    Attributes
    ----------
    times : dict of str to float
        Seconds that each part of the device needs: memory, caches, local, arithmetic, atomics; and
        latency, the seconds that warps wait.
    bound : str
        The part that needs longest.
    predicted : float
        Seconds of this part, on a CPU of all parts, and of the launch.
    potential : float
        The measured time over that of memory or of arithmetic, whichever takes longer.
    memory_throughput, arithmetic_throughput : float
        Achieved over attainable.
    intensity : float
        The criterion CI of chapter 12.
    advice : list of Advice
        Largest gain first.
    """

    times: dict[str, float]
    bound: str
    predicted: float
    potential: float
    memory_throughput: float
    arithmetic_throughput: float
    intensity: float
    advice: list[Advice]


def analyse(
    trace: LaunchTrace, seconds: float, device: Characterisation, host_sync: float = 1.0
) -> Analysis:
    """Return what limits a launch.

    Parameters
    ----------
    trace : LaunchTrace
    seconds : float
        The time of the launch without probes.
    device : Characterisation
    host_sync : float
        Of the application.
    """
    found = trace.accesses
    useful = found.useful / max(_memory_operations(trace), 1.0)
    attainable = device.memory(useful)
    times = {
        "memory": trace.footprint / (device.bytes_per_second(trace.footprint) * attainable),
        "caches": found.sectors * found.sector / device.bytes_per_second(trace.footprint),
        "arithmetic": _arithmetic(trace.operations, device) / (trace.criteria.divergence or 1.0),
        "local": _local_seconds(trace, device),
        "atomics": _at(device, "atomic", trace, "atomic"),
    }
    # fewer groups than units use a part of the device
    used = min(trace.shape.groups / device.units, 1.0)
    times = {name: seconds / used for name, seconds in times.items()}
    longer = max(times["memory"], times["caches"])  # the same bytes
    turns = longer + sum(times[name] for name in ("arithmetic", "local", "atomics"))
    parts = max(times.values()) if device.overlaps else turns
    waiting = device.waiting(trace.waits, trace.footprint)
    shares = dict(times)
    times["latency"] = waiting
    bound = max(times, key=lambda name: times[name])
    memory = min(max(times["memory"], times["caches"]) / seconds, 1.0)
    arithmetic = min(times["arithmetic"] / seconds, 1.0)
    slots = sum(_memory_operations(trace, space) for space in ("", "local "))
    units = slots / device.rates["local"] / seconds if "local" in device.rates else 0.0
    return Analysis(
        times,
        bound,
        max(parts, waiting) + device.launch,
        potential_speedup(memory, arithmetic),
        memory,
        arithmetic,
        intensity(arithmetic, units),
        _advice(trace, shares, seconds, device, memory, host_sync),
    )


def potential_speedup(memory: float, arithmetic: float) -> float:
    """Return 1 over the larger of two achieved throughputs, which are relative to attainable ones.

    The larger one tells by what the kernel is bound.
    """
    return 1 / max(memory, arithmetic, _QUANTUM)


def _advice(
    trace: LaunchTrace,
    times: Mapping[str, float],
    seconds: float,
    device: Characterisation,
    memory: float,
    host_sync: float,
) -> list[Advice]:
    values = trace.criteria
    whole = max(1.0, sum(times.values()) / seconds)
    share = {name: min(time / seconds, 1.0) / whole for name, time in times.items()}
    inactive = 1 - (values.device_sync if values.device_sync is not None else 1.0)
    rows: list[tuple[str, float, float]] = [("host_sync", host_sync, 1.0)]
    if values.divergence is not None:
        # x F(x) with F = r(x) / x is the relative speed r(x)
        rows.append(("divergence", device.divergence(values.divergence), share["arithmetic"]))
    for name in ("warp_balance", "unit_balance"):
        if name in values.known():
            rows.append((name, values.known()[name], 1.0))
    if values.occupancy is not None:
        full = memory >= 1 - _NEAR
        rows.append(
            ("throughput_occupancy", 1.0 if full else 1 - (1 - values.occupancy) * memory, 1.0)
        )
    for name, part in (("l1_granularity", "caches"), ("l2_granularity", "memory")):
        if name in values.known():
            rows.append((name, values.known()[name], share[part]))
    if times["local"]:
        rows.append(("local_efficiency", device.local(_local(values)), share["local"]))
    advice = []
    for name, found, taken in rows:
        value = max(found, _QUANTUM)
        weighted = name.endswith("granularity") or name == "local_efficiency"
        speedup = taken / value if weighted else 1 / value
        advice.append(Advice(name, value, speedup, 1 / (1 - taken + taken * value), _HINTS[name]))
    gain = 1 / max(1 - inactive, _QUANTUM)
    advice.append(Advice("device_sync", 1 - trace.waiting, inactive, gain, _HINTS["device_sync"]))
    return sorted(advice, key=lambda each: -each.gain)


def _local_seconds(trace: LaunchTrace, device: Characterisation) -> float:
    """Return the seconds of accesses to local memory, which a CPU has in its first cache."""
    names = ("local load", "local store", "local atomic")
    if not device.overlaps:
        words = sum(trace.operations.get(name, 0.0) for name in names)
        return _WORD * words / device.bytes_per_second(trace.local_bytes)
    efficiency = max(_local(trace.criteria), _QUANTUM)
    return _at(device, "local", trace, *names) / efficiency


def _local(values: Criteria) -> float:
    return 1.0 if values.local_efficiency is None else values.local_efficiency


def _arithmetic(operations: Mapping[str, float], device: Characterisation) -> float:
    """Return the seconds of the arithmetic at full rate; classes take turns at the same issue."""
    total = 0.0
    for name in ("int", "float", "double", "half", "special"):
        rate = device.rates.get(name) or device.rates.get("float")
        if rate:
            total += operations.get(name, 0.0) / rate
    return total


def _memory_operations(trace: LaunchTrace, space: str = "") -> float:
    names = (f"{space}{kind}" for kind in ("load", "store", "atomic"))
    return sum(trace.operations.get(name, 0.0) for name in names)


def _at(device: Characterisation, rate: str, trace: LaunchTrace, *names: str) -> float:
    count = sum(trace.operations.get(name, 0.0) for name in names)
    return count / device.rates[rate] if rate in device.rates else 0.0


def _inverse(rate: float) -> float:
    return 1 / rate if rate else 0.0


def _kind(profile: Mapping[str, object]) -> tuple[int, bool]:
    """Return the number of compute units, and whether they are those of a GPU."""
    device = profile.get("device")
    about = device if isinstance(device, Mapping) else {}
    return int(about.get("capabilities", {}).get("compute_units", 1)), about.get("kind") != "cpu"


def _quantised(value: float) -> float:
    return round(value / _QUANTUM) * _QUANTUM


def _relative(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return points relative to the largest value."""
    best = max((rate for _, rate in points), default=1.0)
    return [(x, rate / best) for x, rate in points]


class _Rows:
    """The rows of a device profile."""

    def __init__(self, rows: Sequence[Mapping[str, object]]) -> None:
        self._rows = [(str(row["benchmark"]), row["parameters"], row["rate"]) for row in rows]

    def curve(self, benchmark: str, parameter: str) -> list[tuple[float, float]]:
        """Return parameter and rate of a benchmark, by parameter."""
        return sorted(self._those(benchmark, lambda place: parameter in place, parameter))

    def rate(self, benchmark: str, **where: str) -> float:
        """Return the largest rate of a benchmark with these parameters; 0 if there is none."""

        def holds(place: Mapping[str, object]) -> bool:
            return all(place.get(name) == value for name, value in where.items())

        return max((rate for _, rate in self._those(benchmark, holds)), default=0.0)

    def _those(
        self,
        benchmark: str,
        holds: Callable[[Mapping[str, object]], bool],
        parameter: str | None = None,
    ) -> list[tuple[float, float]]:
        found = []
        for name, place, rate in self._rows:
            if name == benchmark and isinstance(place, Mapping) and holds(place):
                x = place[parameter] if parameter is not None else 0.0
                if isinstance(x, int | float) and isinstance(rate, int | float):
                    found.append((float(x), float(rate)))
        return found
