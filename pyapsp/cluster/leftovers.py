"""Shared memory that ranks of earlier runs left, because they were killed.

MPICH gives the shared memory of a host a name, which the last rank removes. A `Window` has a name
for a moment. Without this, each kill would take memory until the system starts again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["FOLDER", "remove"]

#: Where systems keep shared memory with a name.
FOLDER = Path("/dev/shm")
# Names of MPICH and of `Window`.
_NAMES = ("mpich_shm_*", "pyapsp-*")
# Seconds: younger memory may be of ranks that are about to map it.
_AGE = 60.0


@cache
def remove() -> None:
    """Remove what no process uses, once in a process: of this user, and not new."""
    old = set(_old())
    if not old or not os.path.exists("/proc/self/maps"):  # then nobody knows what is in use
        return
    for path in old - _mapped():
        with suppress(OSError):
            path.unlink()


def _old() -> Iterator[Path]:
    latest = time.time() - _AGE
    for name in _NAMES:
        for path in FOLDER.glob(name):
            with suppress(OSError):
                about = path.stat()
                if about.st_uid == os.getuid() and about.st_mtime < latest:
                    yield path


def _mapped() -> set[Path]:
    """Return the shared memory that processes map; those of others cannot be read."""
    found: set[Path] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError), open(maps, errors="replace") as lines:
            for line in lines:
                place = line.find(f"{FOLDER}/")
                if place >= 0:
                    found.add(Path(line[place:].rstrip("\n")))
    return found
