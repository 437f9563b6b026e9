"""The options ``--energy`` and ``--train`` of commands that measure."""

from __future__ import annotations

import math
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from pyapsp.device import Device
    from pyapsp.device.energy import EnergyMeter

__all__ = ["add_energy", "meters"]

_TRAIN = 5.0


def add_energy(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options; `what` is measured."""
    parser.add_argument(
        "--energy",
        nargs="?",
        const="auto",
        metavar="SENSOR",
        help=f"measure the energy of {what}, too, with this sensor: nvml, rapl, amdsmi or none; "
        "without a name, with the first one that can be read",
    )
    parser.add_argument(
        "--train",
        type=float,
        metavar="SECONDS",
        help=f"with --energy: how long {what} is repeated (5)",
    )


@contextmanager
def meters(arguments: argparse.Namespace) -> Iterator[Callable[[Device], EnergyMeter] | None]:
    """Yield a function that opens the sensor of a device once, or None without ``--energy``.

    At the end the sensors are closed.

    Raises
    ------
    ParameterError
        If ``--train`` is not positive, or there is no ``--energy``; from the function: if there is
        no sensor of this name.
    SensorError
        From the function: if the sensor cannot be read.
    """
    from pyapsp.base.errors import ParameterError
    from pyapsp.device.energy import EnergyMeter
    from pyapsp.device.sensors import open_sensor

    train = _TRAIN if arguments.train is None else arguments.train
    if not 0 < train < math.inf:
        raise ParameterError.of("train", arguments.command, "a positive number", train)
    if arguments.energy is None:
        if arguments.train is not None:
            raise ParameterError("--train is for --energy")
        yield None
        return
    opened: dict[Device, EnergyMeter] = {}
    with ExitStack() as open_sensors:

        def meter(device: Device) -> EnergyMeter:
            if device not in opened:
                sensor = open_sensor(device, arguments.energy)
                open_sensors.callback(sensor.close)
                opened[device] = EnergyMeter(sensor, train)
            return opened[device]

        yield meter
