"""List every OpenCL device and what it can do, best first."""

from __future__ import annotations

import argparse
import json

from pyapsp.device import Device, devices, loader

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--json", action="store_true", help="print JSON with every capability")


def run(arguments: argparse.Namespace) -> int:
    """Print the devices.

    Raises
    ------
    NoDeviceError
        There is none.
    """
    found = devices()
    if not found:
        raise loader.no_device()
    if arguments.json:
        print(json.dumps([device.describe() for device in found], indent=2))
    else:
        _print_table(found)
    return 0


def _print_table(found: list[Device]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for heading in ("id", "kind", "name", "platform", "driver", "memory", "units", "fp64", "fp16"):
        table.add_column(heading, overflow="fold")
    for device in found:
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
        table.add_row(*(Text(cell) for cell in row))  # names may look like markup
    Console().print(table)
