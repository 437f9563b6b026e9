"""All microbenchmarks of a device: the profile of the device, a JSON document."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator
from contextlib import closing

from pyapsp.base.errors import DeviceError, SensorError, VerificationError
from pyapsp.base.json import Record
from pyapsp.base.version import __version__
from pyapsp.device import Device
from pyapsp.device.energy import Energy, EnergyMeter
from pyapsp.profiling.benchmarks.arithmetic import QUICK, arithmetic, curves
from pyapsp.profiling.benchmarks.control import control, cores
from pyapsp.profiling.benchmarks.measuring import Benchmark, Effort, Prepare, measured
from pyapsp.profiling.benchmarks.memory import copies, memory
from pyapsp.profiling.benchmarks.operations import OPERATIONS
from pyapsp.profiling.benchmarks.scheduling import scheduling

__all__ = ["PARTS", "SCHEMA", "energy_columns", "profile_device"]

#: The version of the document.
SCHEMA = 1
#: The parts of the suite.
PARTS = ("arithmetic", "curves", "memory", "copies", "scheduling", "control", "cores")
_ENERGY = (
    *("joules", "idle_joules", "watts", "peak_watts", "nanojoules", "net_nanojoules"),
    *("mips_per_watt", "energy_delay", "energy_error", "launches"),
)
_EFFORT = Effort()
# Shorter than the time for which a system lets others run on a processor, so that some are not
# interrupted.
_QUICK = Effort(seconds=0.002, repeat=7)


def profile_device(
    device: Device,
    *,
    quick: bool = False,
    parts: Collection[str] = PARTS,
    meter: EnergyMeter | None = None,
    report: Callable[[Record], None] = lambda row: None,
) -> Record:
    """Run the microbenchmarks.

    Parameters
    ----------
    device : Device
    quick : bool
        Whether to run fewer of them, for a shorter time.
    parts : collection of str
        Those to run, of `PARTS`.
    meter : EnergyMeter, optional
        Measures the energy of those benchmarks that keep the device busy.
    report : callable
        Called with each row.

    Returns
    -------
    dict
        ``schema``, ``version``; ``device``: as `Device.describe`, and ``megahertz``, the clock rate
        that its driver reports; ``quick``, ``begun``, ``ended`` (UTC); ``results``: the rows of
        `pyapsp.profiling.benchmarks.measuring.measured`, with the columns of energy if there is a
        meter; ``sensor``: its name, the seconds of a train, the power of the idle device, and the
        error with which it ended, or None without a meter; ``failed``: benchmarks that could not
        run (``error``) or gave a wrong answer (``wrong``).
    """
    results: list[Record] = []
    failed: list[Record] = []
    sensor_error: str | None = None
    begun = _now()
    effort = _QUICK if quick else _EFFORT
    for part, prepare in _benchmarks(device, quick=quick):
        if part not in parts:
            continue
        try:
            benchmark = prepare()
            with closing(benchmark):
                row = measured(benchmark, effort)
                energy = None
                if meter is not None and benchmark.metered and sensor_error is None:
                    try:
                        energy = _energy(benchmark, row, meter)
                    except SensorError as error:
                        sensor_error = error.message
            if meter is not None:
                row |= energy_columns(row, energy)
            results.append(row)
            report(row)
        except (DeviceError, VerificationError) as error:
            wrong = isinstance(error, VerificationError)
            failed.append({"part": part, "wrong": wrong, "error": str(error)})
            report(failed[-1])
    return {
        "schema": "pyapsp device profile",
        "schema_version": SCHEMA,
        "version": __version__,
        "device": {**device.describe(), "megahertz": device.handle.max_clock_frequency},
        "quick": quick,
        "begun": begun,
        "ended": _now(),
        "sensor": None if meter is None else _about(meter, sensor_error),
        "results": results,
        "failed": failed,
    }


def _about(meter: EnergyMeter, error: str | None) -> Record:
    return {
        "name": meter.sensor.name,
        "train_seconds": meter.seconds,
        "idle_watts": meter.idle_watts,
        "error": error,
    }


def _energy(benchmark: Benchmark, row: Record, meter: EnergyMeter) -> Energy:
    rounds = row["rounds"]
    assert isinstance(rounds, int)
    return meter.measure(lambda: benchmark.run(rounds))


def energy_columns(row: Record, energy: Energy | None) -> Record:
    """Return the columns of energy of a row.

    Parameters
    ----------
    row : dict
        The row of a benchmark.
    energy : Energy or None
        That of a launch of its rounds.

    Returns
    -------
    dict
        ``joules``, ``idle_joules`` of a launch; ``watts``, ``peak_watts``; ``nanojoules`` of a unit
        of work, and ``net_nanojoules`` without what the idle device uses; ``mips_per_watt``:
        millions of units a second and watt; ``energy_delay``: joules times seconds of a launch;
        ``energy_error``: see `Energy.error`; ``launches`` of the train. All are None where nothing
        was measured.
    """
    work, rounds = row["work"], row["rounds"]
    assert isinstance(work, int | float)
    assert isinstance(rounds, int)
    joules = None if energy is None else energy.joules
    if energy is None or joules is None:
        return dict.fromkeys(_ENERGY)
    units, idle = work * rounds, energy.idle_joules
    values = (
        joules,
        idle,
        energy.watts,
        energy.peak_watts,
        joules / units * 1e9,
        None if idle is None else (joules - idle) / units * 1e9,
        units / joules / 1e6,
        joules * energy.seconds,
        energy.error,
        energy.launches,
    )
    return dict(zip(_ENERGY, values, strict=True))


def _benchmarks(device: Device, *, quick: bool) -> Iterator[tuple[str, Prepare]]:
    """Yield the part of the suite and what makes the benchmark."""
    suites = (
        arithmetic(device, QUICK if quick else tuple(OPERATIONS)),
        curves(device, quick=quick),
        memory(device, quick=quick),
        copies(device, quick=quick),
        scheduling(device, quick=quick),
        control(device),
        cores(device),
    )
    for part, some in zip(PARTS, suites, strict=True):
        for prepare in some:
            yield part, prepare


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
