"""Say what is installed, which OpenCL was found, and whether every device works."""

from __future__ import annotations

import argparse
import json

from pyapsp.device import doctor

__all__ = ["configure", "run"]

_NO_DEVICE = 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="how long to wait for each driver (default: %(default)g)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Examine and print; 0 when a device works, 4 when none does."""
    examined = doctor.examine(arguments.timeout)
    print(json.dumps(examined, indent=2) if arguments.json else doctor.report(examined))
    return 0 if examined["ok"] else _NO_DEVICE
