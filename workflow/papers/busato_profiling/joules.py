"""The energy of kernels as joules of operations and of bytes predict it, beside measured energy.

As Wattchmen (arXiv 2603.26435) does for instructions: a device that computes uses a constant power,
and each operation and each access to memory adds an amount that a microbenchmark tells. No energy
of the kernels is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.busato_profiling.predictions import LEAST, METHODS, prepared
from papers.experiment import Case, Request
from papers.runner import Runner
from pyapsp.base.json import Record
from pyapsp.device import Device
from pyapsp.device.energy import EnergyMeter
from pyapsp.errors import CapabilityError, SensorError
from pyapsp.profiling.benchmarks.arithmetic import chains, latency, throughput
from pyapsp.profiling.benchmarks.measuring import Benchmark, Effort, measured
from pyapsp.profiling.benchmarks.memory import banks, read
from pyapsp.profiling.benchmarks.operations import OPERATIONS
from pyapsp.profiling.benchmarks.scheduling import additions
from pyapsp.registry import Method, Problem, method, problem
from pyapsp.registry.runs import solve
from pyapsp.registry.timing import Turn

if TYPE_CHECKING:
    from pyapsp.profiling.traces.analysis import LaunchTrace

__all__ = ["KERNELS", "PARTS", "Costs", "costs_of", "joules"]

#: Problem -> methods, of those of `predictions.METHODS`. The list was fixed before any measurement.
KERNELS: dict[str, tuple[str, ...]] = {
    "all-pairs": ("fw-blocked", "fw-minplus", "fw-naive", "fw-recursive", "fw-twolevel", "johnson"),
    "bfs": ("bfs-4k", "bfs-direction-optimising", "bfs-harish", "bfs-spmv", "bfs-virtual-warp"),
    "sssp": ("sssp-bellman-ford", "sssp-h-bf"),
    "scc": ("scc-colouring", "scc-hooking"),
    "partition": ("partition-items", "partition-multi-phase"),
    "triangles": ("triangles-bitmap", "triangles-intersect"),
    "truss": ("truss-peeling",),
}
_EFFORT = Effort(repeat=1)
# Class of operations -> the operation of the suite.
_OPERATIONS = {
    "int": "i32.add",
    "float": "f32.add",
    "double": "f64.add",
    "special": "f32.native_sin",
}
# Classes that count as another one.
_AS = {"half": "float", "branch": "int", "barrier": "int"}
_SIZES = (2**12, 2**20, 2**24, 2**26, 2**28)
#: What the energy of a launch is for.
PARTS = ("time", "arithmetic", "memory", "local", "atomics")
_LOCAL = ("local load", "local store", "local atomic")


@dataclass(frozen=True)
class Costs:
    """What a device uses for operations and for bytes."""

    watts: float  # the power of the device while one work-item computes
    # Class of operations -> joules of one, beyond this power; "local" and "atomic" are accesses to
    # local memory and atomic operations on global memory.
    operations: Mapping[str, float]
    # Bytes that are read again and again, and the joules of one.
    sizes: tuple[float, ...]
    bytes: tuple[float, ...]

    def parts(self, trace: LaunchTrace, seconds: float) -> dict[str, float]:
        """Return the joules of a launch that takes so long, by what they are for."""
        counts: dict[str, float] = {}
        for name, number in trace.operations.items():
            kind = "local" if name in _LOCAL else _AS.get(name, name)
            counts[kind] = counts.get(kind, 0.0) + number
        touched = trace.accesses.sectors * trace.accesses.sector
        of_byte = np.interp(np.log(max(trace.footprint, 1.0)), np.log(self.sizes), self.bytes)
        arithmetic = (
            counts.get(name, 0.0) * self.operations.get(name, 0.0) for name in _OPERATIONS
        )
        values = (
            self.watts * seconds,
            sum(arithmetic),
            float(of_byte) * touched,
            counts.get("local", 0.0) * self.operations["local"],
            counts.get("atomic", 0.0) * self.operations["atomic"],
        )
        return dict(zip(PARTS, values, strict=True))


def costs_of(device: Device, meter: EnergyMeter) -> Costs:
    """Measure what a device uses.

    Raises
    ------
    SensorError
        If the sensor cannot be read any more.
    VerificationError
        If the answer of a benchmark is wrong.
    """
    integer = OPERATIONS[_OPERATIONS["int"]]
    alone = chains(device, integer, latency(integer), "latency")
    watts = _energy(alone, meter)[0]

    def each(benchmark: Benchmark) -> float:
        power, rate = _energy(benchmark, meter)
        return max(power - watts, 0.0) / rate

    found = {
        name: each(chains(device, OPERATIONS[id_], throughput(device, OPERATIONS[id_]), name))
        for name, id_ in _OPERATIONS.items()
        if device.capabilities.fp64 or name != "double"
    }
    found["local"] = each(banks(device, 1))
    found["atomic"] = each(additions(device, local=False, distinct=True))
    bytes_ = [each(read(device, size)) for size in _SIZES]
    return Costs(watts, found, tuple(map(float, _SIZES)), tuple(bytes_))


def _energy(benchmark: Benchmark, meter: EnergyMeter) -> tuple[float, float]:
    """Return the power of the device in a benchmark, and the units of work in a second."""
    with closing(benchmark):
        row: dict[str, Any] = measured(benchmark, _EFFORT)
        found = meter.measure(lambda: benchmark.run(row["rounds"]))
    return _shown(found.watts, meter), row["work"] * row["rounds"] / found.seconds


def _shown(value: float | None, meter: EnergyMeter) -> float:
    """Return what a sensor has shown."""
    if value is None:
        raise SensorError(meter.sensor.name, f"it did not change in {meter.seconds:g} s")
    return value


def joules(n: int, request: Request) -> Iterator[Case]:
    """Yield a case for each problem, of n vertices or items or a part of them.

    Needs the extra ``profile``.
    """
    meter = request.meter if request.meter is not None and request.meter.shows else None
    costs = None if meter is None else cache(partial(costs_of, request.device, meter))
    for name, names in KERNELS.items():
        family, part, _ = METHODS[name]
        size = max(n // part, LEAST)
        runners = [
            _runner(problem(name), method(each), family, size, request, meter, costs)
            for each in names
        ]
        about: Record = {"label": {"problem": name}, "family": family}
        yield Case({**about, "reference": {"what": "the oracle of the problem"}}, runners)


def _runner(
    of: Problem,
    asked: Method,
    family: str,
    size: int,
    request: Request,
    meter: EnergyMeter | None,
    costs: Callable[[], Costs] | None,
) -> Runner:
    from papers.busato_profiling.launches import Replay, longest_launch

    call_of = prepared(of, asked, family, size, request)
    checked = False

    def call() -> None:
        nonlocal checked
        what, right = call_of()
        answer = solve(what).answer
        if not checked:  # the second call has the same answer
            right(answer).require()
        checked = True

    def turn() -> Turn:
        saved = longest_launch(call)
        replay = Replay(saved)
        trace, seconds = replay.traced()
        replay.results()
        facts: Record = {
            "kernel": saved.kernel,
            "launch_seconds": None,
            "joules": None,
            "predicted": None,
            "parts": None,
            "watts": None,
            "sensor_error": None,
        }
        if meter is not None and costs is not None:
            whole = meter.measure_runs(replay.run)
            launch, used = whole.seconds, _shown(whole.joules, meter)
            if replay.restores:
                copies = meter.measure_runs(replay.restore)
                launch, used = launch - copies.seconds, used - _shown(copies.joules, meter)
            if min(launch, used) <= 0:
                raise CapabilityError(f"{saved.kernel} ends before the copies beside it")
            parts = costs().parts(trace, launch)
            facts |= {
                "launch_seconds": launch,
                "joules": used,
                "predicted": sum(parts.values()),
                "parts": dict(parts),
                "watts": costs().watts,
                "sensor_error": whole.error,
            }
        return Turn({"kernel": seconds}, facts)

    return Runner({"problem": of.id, "method": asked.id}, turn)
