"""All microbenchmarks of a device: the profile of the device, a JSON document."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator

from pyapsp.base.errors import DeviceError, VerificationError
from pyapsp.base.json import Record
from pyapsp.base.version import __version__
from pyapsp.device import Device
from pyapsp.profiling.arithmetic import QUICK, arithmetic, curves
from pyapsp.profiling.measuring import Benchmark, Effort, Prepare, measured
from pyapsp.profiling.memory import copies, memory
from pyapsp.profiling.operations import OPERATIONS
from pyapsp.profiling.scheduling import scheduling

__all__ = ["SCHEMA", "profile_device"]

#: The version of the document.
SCHEMA = 1
_EFFORT = Effort()
_QUICK = Effort(seconds=0.004, repeat=3)


def profile_device(
    device: Device, *, quick: bool = False, report: Callable[[Record], None] = lambda row: None
) -> Record:
    """Run the microbenchmarks.

    Parameters
    ----------
    device : Device
    quick : bool
        Whether to run fewer of them, for a shorter time.
    report : callable
        Called with each row.

    Returns
    -------
    dict
        ``schema``, ``version``; ``device``: as `Device.describe`, and ``megahertz``, the clock rate
        that its driver reports; ``quick``, ``begun``, ``ended`` (UTC); ``results``: the rows of
        `pyapsp.profiling.measuring.measured`; ``failed``: benchmarks that could not run (``error``)
        or gave a wrong answer (``wrong``).
    """
    results: list[Record] = []
    failed: list[Record] = []
    begun = _now()
    effort = _QUICK if quick else _EFFORT
    for part, prepare in _benchmarks(device, quick=quick):
        try:
            benchmark = prepare()
            results.append(_row(benchmark, effort))
            report(results[-1])
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
        "results": results,
        "failed": failed,
    }


def _row(benchmark: Benchmark, effort: Effort) -> Record:
    try:
        return measured(benchmark, effort)
    finally:
        benchmark.close()


def _benchmarks(device: Device, *, quick: bool) -> Iterator[tuple[str, Prepare]]:
    """Yield the part of the suite and what makes the benchmark."""
    for part, some in (
        ("arithmetic", arithmetic(device, QUICK if quick else tuple(OPERATIONS))),
        ("curves", curves(device, quick=quick)),
        ("memory", memory(device, quick=quick)),
        ("copies", copies(device, quick=quick)),
        ("scheduling", scheduling(device, quick=quick)),
    ):
        for prepare in some:
            yield part, prepare


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
