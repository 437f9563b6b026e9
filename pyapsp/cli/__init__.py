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
import shlex
import sys
import traceback
from collections.abc import Sequence

from pyapsp import __version__

__all__ = ["main", "parser"]

_COMMANDS = (
    "solve",
    "bfs",
    "sssp",
    "path",
    "measure",
    "scc",
    "verify",
    "check",
    "fetch",
    "convert",
    "generate",
    "bulk",
    "bench",
    "tune",
    "methods",
    "devices",
    "doctor",
    "selftest",
    "report",
    "papers",
    "completion",
)
_EXIT_CODES = """\
Exit codes: 0 ok, 1 a check failed, 2 usage, 3 input, 4 no device or capability, 5 memory or disk,
6 negative cycle, 70 a fault of pyapsp itself.

For example:
  pyapsp solve --help
  pyapsp fetch rome99 -o rome99.gr
  pyapsp solve rome99.gr -o rome99.npz --predecessors
  pyapsp path rome99.npz 1 3353
"""
# An exception that nobody foresaw; not 1, which says that a check failed.
_OWN_FAULT = 70


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line.

    What a command needs beyond its options it imports when it runs, so that this is quick.
    """
    whole = argparse.ArgumentParser(
        prog="pyapsp",
        description="All-pairs shortest paths on any OpenCL device.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"pyapsp {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        module = importlib.import_module(f"pyapsp.cli.{name}")
        about, mark, examples = (module.__doc__ or "").partition("For example:\n")
        command = commands.add_parser(
            name,
            help=about.splitlines()[0],
            description=about.rstrip(),
            epilog=mark + examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        command.set_defaults(run=module.run)
    return whole


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
    words = sys.argv[1:] if arguments is None else arguments
    parsed = parser().parse_args(words)
    parsed.line = shlex.join(["pyapsp", *words])
    try:
        code: int = parsed.run(parsed)
        if sys.stdout is not None:
            sys.stdout.flush()  # here a full disk is an error, at the end of the process it is not
        return code
    except BrokenPipeError:
        # the reader of a pipe went away: not our failure, and nothing to say
        _drop_lost_output()
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
        _drop_lost_output()
        return failure


def _drop_lost_output() -> None:
    """Drop what cannot be written to standard output: the interpreter would try again, and fail."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_code(error: Exception) -> int | None:
    """Return the exit code of an error that the user can do something about."""
    from pyapsp import errors

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
