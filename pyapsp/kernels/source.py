"""From the files of ``cl/`` to the one text that the OpenCL compiler gets.

Includes are flattened here, not left to ``-I``: a path with a space breaks that option on some
compilers, and driver caches have missed edits in included files. ``#line`` markers keep the
compiler's messages pointing at the files a person edits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

__all__ = ["assemble", "place_of", "root"]

_MARKER = re.compile(r'^#line (\d+) "([^"]+)"$')
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[ \t]*$')


@cache
def root() -> Path:
    """Return the folder of the kernel sources.

    In an installed package that is ``pyapsp/_cl``; in a checkout the ``cl`` folder beside the
    package.
    """
    package = Path(__file__).resolve().parents[1]
    installed = package / "_cl"
    return installed if installed.is_dir() else package.parent / "cl"


def assemble(name: str, defines: Mapping[str, str | int] | None = None) -> str:
    """Return the full source of one kernel file.

    Parameters
    ----------
    name : str
        The file relative to the kernel root, e.g. ``"dense/fw_naive.cl"``.
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
    lines = ['#line 1 "<defines>"']
    lines += [f"#define {macro} {value}" for macro, value in (defines or {}).items()]
    lines += _flatten(name, included=set())
    return "\n".join(lines) + "\n"


def place_of(source: str, line: int) -> str:
    """Return ``file:line`` for a line of an assembled source, counted from 1.

    For the messages of compilers that ignore ``#line``.
    """
    file, offset = "<source>", 0
    for number, text in enumerate(source.splitlines()[:line], start=1):
        if match := _MARKER.match(text):
            file, offset = match[2], number + 1 - int(match[1])
    return f"{file}:{line - offset}"


def _flatten(name: str, included: set[str]) -> list[str]:
    included.add(name)
    lines = [f'#line 1 "{name}"']
    path = root() / name
    status = path.stat()
    version = status.st_ino, status.st_mtime_ns, status.st_size
    for number, before, other in _pieces(path, version):
        lines += before
        if other is None:
            continue
        if other not in included:
            lines += _flatten(other, included)
        lines.append(f'#line {number + 1} "{name}"')
    return lines


@lru_cache(maxsize=1024)
def _pieces(path: Path, version: tuple[int, ...]) -> list[tuple[int, list[str], str | None]]:
    """Cut a file behind its includes: line numbers, the lines before, and what is included.

    Each version of a file is read once.
    """
    pieces, before = [], list[str]()
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        match = _INCLUDE.match(line)
        if match is None:
            before.append(line)
        else:
            pieces.append((number, before, match[1]))
            before = []
    return [*pieces, (len(lines), before, None)]
