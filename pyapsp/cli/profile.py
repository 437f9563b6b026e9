"""Measure what a device can do, and what kernels make of it.

device measures a device; kernel runs a kernel of any OpenCL C file with probes; run does so with
all kernels of a command or a program; primitives compares reductions, scans, sorts and others.

For example:
  pyapsp profile device --quick
  pyapsp profile kernel --help
  pyapsp profile run --trace timeline.json -- bfs rome99.gr --source 1
"""

from __future__ import annotations

import argparse

from pyapsp.cli import profile_device, profile_kernel, profile_primitives, profile_run

__all__ = ["configure", "run"]

_PARTS = {
    "device": profile_device,
    "kernel": profile_kernel,
    "run": profile_run,
    "primitives": profile_primitives,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands of this command."""
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    for name, module in _PARTS.items():
        about, mark, examples = (module.__doc__ or "").partition("For example:\n")
        part = parts.add_parser(
            name,
            help=about.partition("\n")[0],
            description=about.rstrip(),
            epilog=mark + examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(part)


def run(arguments: argparse.Namespace) -> int:
    """Run the command that was named."""
    code: int = _PARTS[arguments.part].run(arguments)
    return code
