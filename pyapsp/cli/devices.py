"""List every OpenCL device and what it can do, best first.

For example:
  pyapsp devices
  pyapsp devices --json
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pyapsp.cli.options import add_json
from pyapsp.cli.output import print_json

if TYPE_CHECKING:
    from pyapsp.device import Device

__all__ = ["configure", "run"]


configure = add_json


def run(arguments: argparse.Namespace) -> int:
    """Print the devices; with ``--json``, with every capability.

    Raises
    ------
    NoDeviceError
        If there is no device.
    """
    from pyapsp import device

    devices = device.devices()
    if not devices:
        raise device.no_device()
    if arguments.json:
        print_json([each.describe() for each in devices])
    else:
        _print_table(devices)
    return 0


def _print_table(devices: list[Device]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for heading in ("id", "kind", "name", "platform", "driver", "memory", "units", "fp64", "fp16"):
        table.add_column(heading, overflow="fold")
    for device in devices:
        can = device.capabilities
        row = (
            device.id,
            device.kind,
            device.name,
            device.platform_name,
            device.driver_version,
            f"{can.global_memory / 2**30:.1f} GiB",
            str(can.compute_units),
            "yes" if can.fp64 else "no",
            "yes" if can.fp16 else "no",
        )
        table.add_row(
            *(Text(cell) for cell in row)
        )  # names may contain characters of Rich's markup
    Console().print(table)
