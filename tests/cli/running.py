"""Runs commands in this process."""

from __future__ import annotations

from pyapsp.cli import main


def run(capsys, *arguments):
    """Run a command; return exit code, standard output and standard error."""
    try:
        code = main(list(map(str, arguments)))
    except SystemExit as stop:  # argparse
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def runner(command):
    """Return a function that runs this command."""
    return lambda capsys, *arguments: run(capsys, command, *arguments)
