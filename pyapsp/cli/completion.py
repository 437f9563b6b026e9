"""Print a script that makes a shell complete commands, options, methods, types, devices and files.

The script contains the devices of this machine. Write it again when they change.

For example:
  pyapsp completion bash > ~/.local/share/bash-completion/completions/pyapsp
  pyapsp completion zsh > ~/.zfunc/_pyapsp
  pyapsp completion fish > ~/.config/fish/completions/pyapsp.fish
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

__all__ = ["configure", "run"]

_SHELLS = ("bash", "zsh", "fish")
# Arguments with one of these metavars are folders; metavars in capitals with a suffix are files.
_FOLDERS = ("DIR",)
_FILES = ("FILE", "GRAPH", "IN", "OUT", "RECORD", "RESULT")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from pyapsp.cli import parser

    whole = parser()
    words = _words()
    for action in _actions(whole):
        name = action.metavar
        if not isinstance(name, str):
            continue
        if name in words:
            # to zsh, a colon is the end of the words
            colon = r"\:" if arguments.shell == "zsh" else ":"
            action.choices = [word.replace(":", colon) for word in words[name]]
        elif name in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif name in _FILES or "." in name:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(whole, shell=arguments.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action


def _words() -> dict[str, list[str]]:
    """Return the values that an argument with one of these metavars can have."""
    import pyapsp
    from pyapsp.base.errors import NoDeviceError
    from pyapsp.bench.measurement import SHORTLIST
    from pyapsp.graph import datasets
    from pyapsp.graph.io import FORMATS
    from pyapsp.numbers.precision import DTYPES
    from pyapsp.registry.tuning.objective import OBJECTIVES
    from pyapsp.registry.tuning.tuner import STRATEGIES

    try:
        devices = [device.id for device in pyapsp.devices()]
    except NoDeviceError:
        devices = []
    methods = ["auto", *(method.id for method in pyapsp.methods())]
    return {
        "PROBLEM": [problem.id for problem in pyapsp.problems()],
        "FAMILY": sorted({name for problem in pyapsp.problems() for name in problem.families}),
        "METHOD": methods,
        "METHODS": [*methods, "all", SHORTLIST],
        "TYPE": ["auto", *DTYPES],
        "SPEC": ["gpu", "cpu", *devices],
        "DATASET": datasets.names(),
        "FORMAT": list(FORMATS),
        "OBJECTIVE": list(OBJECTIVES),
        "STRATEGY": list(STRATEGIES),
    }
