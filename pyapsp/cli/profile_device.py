"""Measure what a device can do: latency, throughput and bandwidth, and what they depend on.

Each microbenchmark stresses one part of the device: an operation, a level of the memory, barriers,
launches, copies. Its answer is checked. The instructions of the compiled loop are counted where the
driver gives its code. -o writes all rows as JSON, --page a page with the curves (it needs the extra
report). --from makes the page of a profile that was measured before. Exit code 1 when an answer was
wrong.

--energy adds joules and watts, from the sensor of the device: nvml (GPUs; the extra energy), amdsmi
(GPUs) or rapl (processors). Without a sensor these are null. Each of these benchmarks is repeated
for seconds, because sensors are slow. If the sensor fails, the file is written without the rest,
and the exit code is 4.

For example:
  pyapsp profile device --quick
  pyapsp profile device --device gpu -o profile.json
  pyapsp profile device --energy -o profile.json
  pyapsp profile device --from profile.json --page profile.html
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyapsp.cli.energy import add_energy, meters
from pyapsp.cli.options import add_device, add_flag, add_json, add_output, add_parts
from pyapsp.cli.output import check_outputs, made, print_json, printer, write_json

if TYPE_CHECKING:
    from pyapsp.base.json import Json, Record
    from pyapsp.device import Device
    from pyapsp.device.energy import EnergyMeter

__all__ = ["configure", "run"]

# those of pyapsp.profiling.benchmarks.suite.PARTS, named here so that --help does not load NumPy
_PARTS = ("arithmetic", "curves", "memory", "copies", "scheduling", "control", "cores")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_device(parser)
    add_output(parser, "PROFILE.json", "write the profile to this file")
    parser.add_argument("--page", metavar="PAGE.html", help="write a page with the curves")
    parser.add_argument(
        "--from",
        dest="profile",
        metavar="PROFILE.json",
        help="measure nothing, and make the page of this profile",
    )
    add_flag(parser, "--quick", "fewer benchmarks, each for a shorter time")
    add_parts(parser, _PARTS, f"run only these parts: {', '.join(_PARTS)}")
    add_energy(parser, "a benchmark")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure a device, print the rows, and write the profile and its page."""
    from pyapsp.base.errors import ParameterError

    if arguments.profile is not None:
        if arguments.page is None:
            raise ParameterError("--from needs --page: it only makes the page of a profile")
        _write_page(arguments)
        return 0
    with meters(arguments) as meter_of:
        return _measure(arguments, meter_of)


def _measure(
    arguments: argparse.Namespace, meter_of: Callable[[Device], EnergyMeter] | None
) -> int:
    from pyapsp.base.errors import SensorError
    from pyapsp.device import choose
    from pyapsp.profiling.benchmarks.suite import profile_device

    device = choose(arguments.device)
    check_outputs(arguments.output, arguments.page)
    make_page = None if arguments.page is None else _page_maker()
    say = printer(arguments)
    say(f"{device}")
    meter = None
    if meter_of is not None:
        meter = meter_of(device)
        say(f"sensor: {meter.sensor.name}")
    measured = profile_device(
        device,
        quick=arguments.quick,
        parts=arguments.only,
        meter=meter,
        report=lambda row: say(_line(row)),
    )
    profile = {**measured, "made": made(arguments)}
    if arguments.output:
        write_json(arguments.output, profile)
        say(f"-> {arguments.output}")
    if make_page is not None:
        _write_text(arguments.page, make_page(profile))
        say(f"-> {arguments.page}")
    if arguments.json:
        print_json(profile)
    if meter is not None:
        about = profile["sensor"]
        assert isinstance(about, Mapping)
        if about["error"] is not None:
            raise SensorError(meter.sensor.name, str(about["error"]))
    failed = profile["failed"]
    assert isinstance(failed, list)
    return int(any(each["wrong"] for each in failed))


def _write_page(arguments: argparse.Namespace) -> None:
    """Make the page of a profile that was measured before."""
    check_outputs(arguments.page, inputs=[arguments.profile])
    make_page = _page_maker()
    from pyapsp.bench.report.device_profile import read_profile

    _write_text(arguments.page, make_page(read_profile(arguments.profile)))
    printer(arguments)(f"-> {arguments.page}")


def _page_maker() -> Callable[[Record], str]:
    from pyapsp.base.extras import extra

    with extra("report", "pyapsp profile --page"):
        from pyapsp.bench.report.device_profile import profile_page
    return profile_page


def _write_text(path: str, text: str) -> None:
    from pyapsp.base.files import atomic_write

    with atomic_write(path) as file:
        file.write(text)


def _line(row: Record) -> str:
    """Return a line about a row, or about a benchmark that failed."""
    if "error" in row:
        return f"{'WRONG' if row['wrong'] else 'left out'}: {row['error']}"
    parameters = row["parameters"]
    assert isinstance(parameters, Mapping)
    place = ", ".join(_shown(name, value) for name, value in parameters.items())
    rate = row["rate"]
    assert isinstance(rate, float)
    line = f"{row['benchmark']:17} {place:44} {_scaled(rate):>9} {row['unit']}/s"
    if "latency" in str(row["benchmark"]) or row["benchmark"] in ("barrier", "launch"):
        line += f", {row['nanoseconds']:.4g} ns"
    if row.get("counted") is not None:
        line += f", {row['counted']} instructions for {row['operations']} operations"
    if row.get("joules") is not None:
        line += f", {row['watts']:.4g} W, {row['nanojoules']:.4g} nJ"
    return line


def _shown(name: str, value: Json) -> str:
    return str(value) if name in ("operation", "type", "memory") else f"{name} {value}"


def _scaled(rate: float) -> str:
    """Return a number with a prefix, e.g. 1.23 G."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= factor:
            return f"{rate / factor:.3g} {prefix}"
    return f"{rate:.3g} "
