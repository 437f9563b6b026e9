"""The ``pyapsp`` command: one module per subcommand, and their common exit codes.

Exit codes: 0 ok, 1 a check failed, 2 usage, 3 input, 4 no device or capability, 5 memory or
disk, 6 negative cycle, 70 a bug in pyapsp, 128 + N ended by signal N. An error of the user is
reported in one line on standard error, without a traceback.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from collections.abc import Sequence

from pyapsp.base.error import PyApspError
from pyapsp.base.version import __version__
from pyapsp.cli import program, ranked
from pyapsp.cli.words import Parser, options_of, spoken

__all__ = ["main", "parser"]

_COMMANDS = (
    "solve",
    "bfs",
    "sssp",
    "path",
    "pairs",
    "distances",
    "within",
    "nearest",
    "accessibility",
    "measure",
    "scale",
    "scc",
    "triangles",
    "truss",
    "match",
    "verify",
    "check",
    "fetch",
    "convert",
    "generate",
    "bulk",
    "simulate",
    "mine",
    "bench",
    "tune",
    "profile",
    "methods",
    "devices",
    "doctor",
    "selftest",
    "report",
    "workflow",
    "completion",
)
_EXIT_CODES = """\
Exit codes: 0 ok, 1 a check failed, 2 usage, 3 input, 4 no device or capability, 5 memory or disk,
6 negative cycle, 70 a bug in pyapsp, 130 interrupted (SIGINT), 143 terminated (SIGTERM).

For example:
  pyapsp solve --help
  pyapsp fetch rome99 -o rome99.gr
  pyapsp solve rome99.gr -o rome99.npz --predecessors
  pyapsp path rome99.npz 1 3353
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line.

    A command imports the modules of its work when it runs, so that parsing and ``--help`` are fast.
    """
    whole = Parser(
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
            help=about.partition("\n")[0],  # python -OO removes docstrings
            description=about.rstrip(),
            epilog=mark + examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        command.set_defaults(run=module.run, options=options_of(command))
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments without the program name. Default: those of the process.

    Returns
    -------
    int
        The exit code.
    """
    words = sys.argv[1:] if arguments is None else arguments
    return program.run(lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    with ranked.one_voice(words):
        parsed = parser().parse_args(words)
    parsed.line = shlex.join(["pyapsp", *words])
    if parsed.command in ranked.COMMANDS and ranked.launched():
        return ranked.guarded(lambda: ranked.run(parsed, program.code_of))
    try:
        code: int = parsed.run(parsed)
    except PyApspError as error:
        error.args = (spoken(str(error), parsed.options),)
        raise
    return code
