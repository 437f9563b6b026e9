"""The parser of the command line, and its words in messages."""

from __future__ import annotations

import argparse
import re
from collections.abc import Container, Sequence
from typing import Any, NoReturn

from pyapsp.base.spelling import meant

__all__ = ["Parser", "options_of", "spoken"]

# An argument of a function, with a value that only Python writes in this way.
_ARGUMENT = re.compile(r"\b([a-z_]+)=(?:True|'([\w.-]+)')")
# Options with other names than the arguments of the functions.
_OTHERS = {"dtype": "--numbers", "method": "--integrator"}


class Parser(argparse.ArgumentParser):
    """A parser of a command, or of the whole command line."""

    def error(self, message: str) -> NoReturn:
        """Print usage and message, with the word that was probably meant, and exit with code 2."""
        wrong = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message)
        if wrong is not None:
            known = re.findall(r"[\w-]+", wrong[2])
            message = f"{message}.{meant(wrong[1], known)}"
        super().error(message)

    def parse_args(  # type: ignore[override]
        self, words: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse a command line; a command itself refuses what it does not know."""
        parsed, unknown = self.parse_known_args(words, namespace)
        if unknown:
            command = _commands(self)[parsed.command]
            command = _commands(command)[parsed.part] if _commands(command) else command
            names = [word.partition("=")[0] for word in unknown]
            hints = (meant(name, options_of(command)) for name in names if name.startswith("--"))
            hint = next(filter(None, hints), "")
            command.error(f"unrecognized arguments: {' '.join(unknown)}{hint and f'.{hint}'}")
        return parsed


def options_of(command: argparse.ArgumentParser) -> list[str]:
    """Return the options of a command, and of the commands in it."""
    own = [option for action in command._actions for option in action.option_strings]
    return own + [option for part in _commands(command).values() for option in options_of(part)]


def _commands(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Return the parsers of the commands, by their names."""
    actions = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    return {name: command for each in actions for name, command in each.choices.items()}


def spoken(text: str, options: Container[str]) -> str:
    """Return a message with options of the command line in place of arguments of functions.

    Parameters
    ----------
    text : str
    options : container of str
        The options of the command. Arguments that are none of them stay as they are.
    """

    def option(found: re.Match[str]) -> str:
        names = (f"--{found[1].replace('_', '-')}", _OTHERS.get(found[1], ""))
        name = next((each for each in names if each in options), None)
        if name is None:
            return found[0]
        return name if found[2] is None else f"{name} {found[2]}"

    return _ARGUMENT.sub(option, text)
