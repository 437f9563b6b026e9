"""Names and patterns of variables that are not read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pyapsp.base.errors import ParameterError
from pyapsp.base.spelling import meant

__all__ = ["absent", "excluded"]


def excluded(
    path: Path, names: Sequence[Collection[str]], patterns: Sequence[str] | None
) -> list[bool]:
    """Return which variables are left out.

    Parameters
    ----------
    path : Path
    names : sequence of collection of str
        The names of each variable.
    patterns : sequence of str or None
        Names, or patterns with ``*``, ``?`` and ``[...]``.

    Raises
    ------
    ParameterError
        A pattern matches no variable.
    """
    out = [False] * len(names)
    for pattern in patterns or ():
        # a name with brackets is that variable, and no pattern
        found = [pattern in each for each in names]
        if not any(found):
            found = [any(fnmatchcase(name, pattern) for name in each) for each in names]
        if not any(found):
            raise absent(path, pattern, [name for each in names for name in each])
        out = [left or here for left, here in zip(out, found, strict=True)]
    return out


def absent(path: Path, name: str, known: Collection[str]) -> ParameterError:
    """Return an error for the name of a variable that is not there."""
    return ParameterError(f"{path}: there is no variable {name!r}.{meant(name, known)}")
