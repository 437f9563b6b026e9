"""The ``pyapsp`` command: one module per subcommand, and the exit codes they share.

Exit codes: 0 ok, 1 a check failed, 2 usage, 3 input, 4 no device or capability, 5 memory or
disk, 6 negative cycle, 70 a fault of pyapsp itself. A mistake of the user ends in one line on
standard error, never in a traceback.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from pyapsp import __version__, errors

__all__ = ["main"]

_COMMANDS = (
    "solve",
    "path",
    "verify",
    "fetch",
    "convert",
    "generate",
    "bulk",
    "bench",
    "tune",
    "methods",
    "devices",
    "doctor",
    "report",
    "papers",
)


# An exception that nobody foresaw; not 1, which says that a check failed.
_OWN_FAULT = 70


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyapsp", description="All-pairs shortest paths on any OpenCL device."
    )
    parser.add_argument("--version", action="version", version=f"pyapsp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        module = importlib.import_module(f"pyapsp.cli.{name}")
        summary = (module.__doc__ or "").splitlines()[0]
        command = commands.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        command.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program name; those of the process when omitted.

    Returns
    -------
    int
        The exit code.
    """
    parsed = _parser().parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
        return code
    except BrokenPipeError:
        # the reader of a pipe went away: not our failure, and nothing to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("pyapsp: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        failure = _exit_code(error)
        if failure is None:
            traceback.print_exc()
            return _OWN_FAULT
        print(f"pyapsp: {error}", file=sys.stderr)
        return failure


def _exit_code(error: Exception) -> int | None:
    """Return the exit code of an error that the user can do something about."""
    codes: tuple[tuple[type[Exception], int], ...] = (
        (errors.VerificationError, 1),
        (errors.ParameterError, 2),
        (errors.NegativeCycleError, 6),
        (errors.DeviceMemoryError, 5),
        (errors.DeviceError, 4),
        (errors.DiskSpaceError, 5),
        (errors.PyApspError, 3),
        (MemoryError, 5),
    )
    for kind, code in codes:
        if isinstance(error, kind):
            return code
    if isinstance(error, OSError):
        return 5 if error.errno in (errno.ENOSPC, errno.EDQUOT) else 3
    return None
