"""Join a file of ``cl/`` and its includes into one text for the OpenCL compiler.

Includes are replaced here and not by ``-I``: a path with a space breaks that option on some
compilers, and driver caches have missed changes of included files. With ``#line`` markers, the
messages of the compiler refer to the original files.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

__all__ = ["assemble", "flattened", "headed", "place_of", "root"]

# The state of a file, which changes with its content.
_Version: TypeAlias = tuple[int, int, int]
# Cached texts, with the files that each contains, and until when these are taken as unchanged.
_flattened: dict[tuple[Path, str], tuple[str, dict[str, _Version], float]] = {}
# Seconds after which files are checked for changes again: to check takes 10 us of a small call.
_CHECKED = 0.05

_MARKER = re.compile(r'^#line (\d+) "([^"]+)"$')
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[ \t]*$')


@cache
def root() -> Path:
    """Return the folder of the kernel sources.

    In an installed package that is ``pyapsp/_cl``; in a checkout the ``cl`` folder beside the
    package.
    """
    package = Path(__file__).resolve().parents[2]
    installed = package / "_cl"
    return installed if installed.is_dir() else package.parent / "cl"


def assemble(name: str, defines: Mapping[str, str | int] | None = None) -> str:
    """Return the full source of one kernel file.

    Parameters
    ----------
    name : str
        The file relative to the kernel root, e.g. ``"all_pairs/dense/fw_naive.cl"``.
    defines : mapping of str to str or int, optional
        Macros, written as ``#define`` lines at the top.

    Returns
    -------
    str
        The macros, then the file with every ``#include "..."`` (relative to the kernel root)
        replaced by the file it names, each file at most once.

    Raises
    ------
    FileNotFoundError
        If the file, or one that it includes, does not exist.
    """
    return headed(flattened(name), defines or {})


def headed(text: str, defines: Mapping[str, str | int]) -> str:
    """Return the result of `flattened` with macros at the top."""
    macros = [f"#define {macro} {value}" for macro, value in defines.items()]
    return "\n".join(['#line 1 "<defines>"', *macros, text]) + "\n"


def place_of(source: str, line: int) -> str:
    """Return ``file:line`` for a line of an assembled source, counted from 1.

    For the messages of compilers that ignore ``#line``.
    """
    file, offset = "<source>", 0
    for number, text in enumerate(source.splitlines()[:line], start=1):
        if match := _MARKER.match(text):
            file, offset = match[2], number + 1 - int(match[1])
    return f"{file}:{line - offset}"


def flattened(name: str) -> str:
    """Return a kernel file with its includes; cached until one of the files changes.

    A change is seen after 50 ms at the latest.

    Parameters
    ----------
    name : str
        The file, as for `assemble`, which has the errors raised.
    """
    place = root(), name
    kept, now = _flattened.get(place), time.monotonic()
    if kept is not None and now < kept[2]:
        return kept[0]
    if kept is None or any(_version(file) != version for file, version in kept[1].items()):
        files: dict[str, _Version] = {}
        text = "\n".join(_flatten(name, files))
    else:
        text, files, _ = kept
    _flattened[place] = text, files, now + _CHECKED
    return text


def _flatten(name: str, files: dict[str, _Version]) -> list[str]:
    path = root() / name
    files[str(path)] = _version(str(path))
    lines = [f'#line 1 "{name}"']
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = _INCLUDE.match(line)
        if match is None:
            lines.append(line)
            continue
        if str(root() / match[1]) not in files:
            lines += _flatten(match[1], files)
        lines.append(f'#line {number + 1} "{name}"')
    return lines


def _version(file: str) -> _Version:
    status = os.stat(file)
    return status.st_ino, status.st_mtime_ns, status.st_size
