"""Show what is installed, which OpenCL drivers were found, and whether every device works.

Each device is tested in a separate process, because a broken driver can crash or hang it. Exit
code 4 when no device works. To check the answers of all methods on a device, run 'pyapsp selftest'.

For example:
  pyapsp doctor
  pyapsp doctor --json --timeout 30
"""

from __future__ import annotations

import argparse

from pyapsp.cli.options import add_json
from pyapsp.cli.output import print_json

__all__ = ["configure", "run"]

_NO_DEVICE = 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_json(parser)
    parser.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="time to wait for an answer of each driver (120)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Examine and print; 0 when a device works, 4 when none does."""
    from pyapsp.device import doctor

    examined = doctor.examine(arguments.timeout)
    if arguments.json:
        print_json(examined)
    else:
        print(doctor.report(examined))
    return 0 if examined["ok"] else _NO_DEVICE
