"""What limits a kernel on a device, and what each criterion could gain.

F. Busato's thesis (Verona 2018), chapter 13. With the characterisation functions of a device a
criterion becomes a relative speed, and its inverse a possible speedup.

The thesis takes shares of time from latencies. Here they are times that each part of the device
needs at its full rate: latencies overlap, and their sum can exceed the time of the kernel.
Arithmetic and local memory take turns, all other parts work at the same time. The time of a launch
is that of the busiest part, and what the groups that are on the device wait (`Waits`): no schedule
in which a part works whenever it can needs longer than its work and the longest chain of waits (R.
P. Brent, The parallel evaluation of general arithmetic expressions, Journal of the ACM 21(2), 1974,
doi:10.1145/321812.321815). Atomic operations go on while the warps that asked for them do. The
parts of a CPU take turns: `pyapsp.profiling.traces.work` has the formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyapsp.base.errors import ParameterError
from pyapsp.profiling.benchmarks.characterisation import Characterisation, Core
from pyapsp.profiling.traces.analysis import LaunchTrace
from pyapsp.profiling.traces.criteria import Criteria, intensity

__all__ = ["Advice", "Analysis", "analyse", "potential_speedup"]

# A kernel whose memory throughput is at least 1 - this needs no more occupancy.
_NEAR = 0.05
_QUANTUM = 1e-3
_WORD = 4  # bytes of what the benchmarks of atomic operations add to

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
# Of `warp_balance`, where the starts of groups take longer than what they do.
_SHORT_GROUPS = "groups end before others begin: start fewer of them, with more work for each item"


@dataclass(frozen=True)
class Advice:
    """What a criterion could gain."""

    criterion: str
    value: float  # the criterion of chapter 13
    # As the thesis defines it; it can be below 1 where only a share of the time is concerned.
    speedup: float
    # The speedup of the whole by Amdahl's law: with the share of the time that is concerned.
    gain: float
    hint: str


@dataclass(frozen=True)
class Analysis:
    """What limits a kernel."""

    # Seconds that each part of the device needs: memory, caches, local, arithmetic, atomics, and
    # groups (their starts); and latency, the seconds that warps wait. On a CPU, also branches and
    # barriers, and no latency.
    times: dict[str, float]
    bound: str  # the part that needs longest
    # Seconds of the busiest part and of latency, on a CPU of all parts that take turns; and of the
    # launch.
    predicted: float
    # The measured time over that of memory or of arithmetic, whichever takes longer.
    potential: float
    # Achieved over attainable.
    memory_throughput: float
    arithmetic_throughput: float
    intensity: float  # the criterion CI of chapter 12
    advice: list[Advice]  # largest gain first


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
    times, predicted = (
        _of_device(trace, device) if device.core is None else _of_cores(trace, device, device.core)
    )
    shares = {name: each for name, each in times.items() if name != "latency"}
    bound = max(times, key=lambda name: times[name])
    memory = min(max(times["memory"], times["caches"]) / seconds, 1.0)
    arithmetic = min(times["arithmetic"] / seconds, 1.0)
    slots = sum(_memory_operations(trace, space) for space in ("", "local "))
    units = slots / device.rates["local"] / seconds if "local" in device.rates else 0.0
    return Analysis(
        times,
        bound,
        predicted + device.launch,
        potential_speedup(memory, arithmetic),
        memory,
        arithmetic,
        intensity(arithmetic, units),
        _advice(trace, shares, seconds, device, memory, host_sync),
    )


def _of_device(trace: LaunchTrace, device: Characterisation) -> tuple[dict[str, float], float]:
    """Return the seconds of the parts of a device that work at the same time, and of the whole."""
    found = trace.accesses
    useful = found.useful / max(_memory_operations(trace), 1.0)
    bandwidth = device.bytes_per_second(trace.footprint)
    sectors, same = _atomic_seconds(trace, device)
    times = {
        "memory": trace.footprint / (bandwidth * device.memory(useful)),
        "caches": max(
            found.sectors * found.sector / bandwidth,
            found.lines * device.line_seconds(trace.footprint),
        ),
        "arithmetic": _arithmetic(trace.operations, device) / (trace.criteria.divergence or 1.0),
        "local": _local_seconds(trace, device),
        "atomics": sectors,
    }
    # fewer groups than units use a part of the device
    used = min(trace.shape.groups / device.units, 1.0)
    times = {name: seconds / used for name, seconds in times.items()}
    # operations on one word take turns, whoever asks for them
    times["atomics"] = max(times["atomics"], same)
    times["groups"] = trace.shape.groups * device.group
    times["latency"] = _waiting(trace, device)
    return times, max(_busy(times) + times["latency"], times["atomics"])


def _busy(times: Mapping[str, float]) -> float:
    """Return the seconds of the busiest of the parts that work at the same time."""
    # the instructions of both are issued by the same schedulers
    issued = times["arithmetic"] + times["local"]
    return max(issued, *(times.get(name, 0.0) for name in ("memory", "caches", "groups")))


def _of_cores(
    trace: LaunchTrace, device: Characterisation, core: Core
) -> tuple[dict[str, float], float]:
    """Return the seconds of the parts of the work of a processor, and of the whole."""
    if trace.work is None:
        raise ParameterError("the device profile is of a CPU, and the kernel ran on none")
    parts = trace.work.seconds(core, device.units)
    memory = trace.footprint / device.bytes_per_second(trace.footprint)
    whole = max(parts.pop("cores"), memory)
    return {"memory": memory, "local": 0.0, **parts}, whole


def _waiting(trace: LaunchTrace, device: Characterisation) -> float:
    """Return the seconds that warps wait, if nothing else takes time."""
    waits = trace.waits
    if waits is None or not device.latency:
        return 0.0
    beyond, first = device.load_seconds(trace.footprint)
    waited = device.waits
    barrier = waited.at_barrier(trace.shape.in_group)
    atomic = max(waited.atomic, beyond)
    memory = beyond, first, waited.line, atomic, waited.local
    return waits.seconds((*memory, barrier, waited.turn, waited.known_turn))


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
    if values.warp_balance is not None:
        # with more active warps the busiest part waits less, and does not work faster
        rows.append(("warp_balance", values.warp_balance, 1 - min(_busy(times) / seconds, 1.0)))
    if values.unit_balance is not None:
        rows.append(("unit_balance", values.unit_balance, 1.0))
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
    hints = _HINTS
    if times.get("groups", 0.0) >= _busy(times):
        hints = {**_HINTS, "warp_balance": _SHORT_GROUPS}
    advice = []
    for name, found, taken in rows:
        value = max(found, _QUANTUM)
        weighted = name.endswith("granularity") or name == "local_efficiency"
        speedup = taken / value if weighted else 1 / value
        advice.append(Advice(name, value, speedup, 1 / (1 - taken + taken * value), hints[name]))
    gain = 1 / max(1 - inactive, _QUANTUM)
    advice.append(Advice("device_sync", 1 - trace.waiting, inactive, gain, hints["device_sync"]))
    return sorted(advice, key=lambda each: -each.gain)


def _atomic_seconds(trace: LaunchTrace, device: Characterisation) -> tuple[float, float]:
    """Return the seconds of atomic operations on global memory, and of those on one word.

    The rate is that of neighbouring words: what limits it is the number of sectors. Operations on
    one word wait for each other.
    """
    sectors, same = trace.atomics
    words = sectors * trace.accesses.sector / _WORD
    each, one = (device.rates.get(name) for name in ("atomic", "same atomic"))
    return words / each if each else 0.0, same / one if one else 0.0


def _local_seconds(trace: LaunchTrace, device: Characterisation) -> float:
    """Return the seconds of accesses to local memory."""
    names = ("local load", "local store", "local atomic")
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
