"""Show what is installed, which OpenCL drivers were found, and whether every device works.

Each device is tested in a separate process, because a broken driver can crash or hang it. Exit
code 4 when no device works. To check the answers of all methods on a device, run 'pyapsp selftest'.
For a device without tuning rows it names the command that measures some.

For example:
  pyapsp doctor
  pyapsp doctor --json --timeout 30
"""

from __future__ import annotations

import argparse
from typing import Any

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
    for device in examined["devices"]:
        device["tuned"] = _is_tuned(device)
        device["advice"] = None
        if device["works"] and not device["tuned"]:
            device["advice"] = (
                "auto predicts from other devices; "
                f"run `pyapsp tune --quick --device {device['id']}` (at most a minute)"
            )
    if arguments.json:
        print_json(examined)
    else:
        print(doctor.report(examined))
    return 0 if examined["ok"] else _NO_DEVICE


def _is_tuned(device: dict[str, Any]) -> bool:
    """Return whether the databases have rows from which "auto" predicts times on a device."""
    from pyapsp.registry import methods
    from pyapsp.registry.tuning.lookup import is_tuned

    known = {method.id for method in methods("all-pairs")}
    return is_tuned(device["platform"], device["kind"], device["architecture"], known)
