"""The parser of the command line, and its words in messages."""

from __future__ import annotations

import argparse
import re
from collections.abc import Container, Sequence
from typing import Any, NoReturn

from pyapsp.base.spelling import is_plain, meant

__all__ = ["Parser", "options_of", "spoken"]

# An argument of a function, with a value that only Python writes in this way.
_ARGUMENT = re.compile(r"\b([a-z_]+)=(?:True|'([\w.-]+)')")
# Options with other names than the arguments of the functions.
_OTHERS = {"dtype": "--numbers", "method": "--integrator"}


# Words that a positional argument must have; an option with such a number of words is a list.
_LEAST = {None: 1, argparse.ONE_OR_MORE: 1, argparse.ZERO_OR_MORE: 0, argparse.OPTIONAL: 0}
_LISTS = (argparse.ONE_OR_MORE, argparse.ZERO_OR_MORE)


class Parser(argparse.ArgumentParser):
    """A parser of a command, or of the whole command line.

    An option with a list takes the words up to the next option. But the last words of lists are
    positional arguments if these would be missing: in ``--device A B GRAPH``, one.
    """

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the words that are known, those of positional arguments also behind lists."""
        return super().parse_known_args(None if args is None else self._freed(args), namespace)

    def _freed(self, words: Sequence[str]) -> list[str]:
        """Return the words, those of positional arguments first if lists leave some to these.

        If lists have too few words, all stay where they are.
        """
        missing = sum(_least(each) for each in self._actions if not each.option_strings)
        free: list[int] = []  # the places of words that no option takes
        spare: list[int] = []  # those of words that lists can leave
        place = 0 if missing else len(words)
        while place < len(words) and words[place] != "--":
            option, closed = self._option(words[place])
            if not self._is_option(words[place]):
                free.append(place)
            place += 1
            if option is None or closed:
                continue
            end = place
            while end < len(words) and words[end] != "--" and not self._is_option(words[end]):
                end += 1
            place = min(end, place + _least(option))
            if option.nargs in _LISTS:
                spare += range(place, end)
                place = end
        missing -= len(free) + len(words[place + 1 :])
        if not 0 < missing <= len(spare):
            return list(words)
        first = [*free, *spare[-missing:]]
        rest = (each for each in range(len(words)) if each not in first)
        return [words[each] for each in (*sorted(first), *rest)]

    def _is_option(self, word: str) -> bool:
        """Return whether a word is an option, also an unknown one."""
        return self._parse_optional(word) is not None

    def _option(self, word: str) -> tuple[argparse.Action | None, bool]:
        """Return the option of a word, and whether the word has its value, too."""
        found: Any = self._parse_optional(word)
        # newer versions of Python return a list of what it may mean
        found = found[0] if isinstance(found, list) else found
        return (None, False) if found is None else (found[0], found[-1] is not None)

    def _get_value(self, action: argparse.Action, word: str) -> Any:
        """Return the value of a word; a number must be plain, as in files."""
        value = super()._get_value(action, word)
        if isinstance(value, int | float) and not is_plain(word):
            raise argparse.ArgumentError(action, f"{word!r} is not a plain number")
        return value

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


def _least(action: argparse.Action) -> int:
    """Return the number of words that an argument must have."""
    if isinstance(action.nargs, int):
        return action.nargs
    return _LEAST.get(action.nargs, 0)


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
