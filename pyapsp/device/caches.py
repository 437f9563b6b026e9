"""The folders in which drivers cache compiled kernels, and checks that they are writable.

A driver that cannot write its folder may hide its devices. A driver whose disk is full may report
only that a kernel was not built, or end the process.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from pyapsp.base.errors import DeviceError, DiskSpaceError
from pyapsp.device.quirks import RUNTIMES, Runtime

__all__ = ["check_folder", "full_disk", "of_user_is_usable", "unwritable"]

# A disk with fewer free bytes counts as full: a compiler writes several files for a kernel, and
# some write more when it is launched.
_ROOM = 8 * 2**20


def unwritable(libraries: Iterable[str]) -> list[str]:
    """Return a message for each driver that has no devices because its folder is not writable.

    Parameters
    ----------
    libraries : iterable of str
        The libraries of the implementations that were found.
    """
    names = [Path(library).name for library in libraries]
    return [
        f"{each.runtime.name} has no device while {each.fault}."
        for each in _of_runtimes()
        if any(fnmatch(name, f"{each.runtime.library}*") for name in names)
        and not _can_be_written(each.path)
    ]


def check_folder(platform_name: str) -> None:
    """Check that a compiler can write its files.

    Parameters
    ----------
    platform_name : str
        The name of its OpenCL platform.

    Raises
    ------
    DeviceError
        If its folder cannot be written.
    DiskSpaceError
        If its disk is full.
    """
    for each in _of_runtimes():
        if each.runtime.platform not in platform_name.lower():
            continue
        if not _can_be_written(each.path):
            raise DeviceError(f"{each.runtime.name} compiles no kernel while {each.fault}")
        if (free := _free(each.path)) < _ROOM:
            raise _full(each.path, each.variables, free)


def full_disk() -> DiskSpaceError | None:
    """Return an error that names a folder of compilers on a full disk, or None."""
    folders = [(each.path, each.variables) for each in _of_runtimes()]
    with suppress(OSError):  # there is none
        folders.append((Path(tempfile.gettempdir()), "TMPDIR"))
    for path, variables in folders:
        free = _free(path)
        if free < _ROOM:
            return _full(path, variables, free)
    return None


def _full(path: Path, variables: str, free: int) -> DiskSpaceError:
    hint = (
        f"compiling a kernel writes into {path}, and its disk is full; make room, or set "
        f"{variables} to a folder on another disk"
    )
    return DiskSpaceError(_ROOM, free, hint)


def of_user_is_usable() -> bool:
    """Return whether the folder of the user's caches is writable and its disk has room."""
    path = _of_user()
    return _can_be_written(path) and _free(path) >= _ROOM


@dataclass(frozen=True)
class _Folder:
    """The cache folder of a runtime, and the environment variables that set it."""

    runtime: Runtime
    path: Path
    variables: str

    @property
    def fault(self) -> str:
        """What to say if it is not writable, after "while"."""
        return (
            f"it cannot write {self.path}, where it caches compiled kernels: set {self.variables} "
            "to a folder that can be written"
        )


def _of_runtimes() -> Iterator[_Folder]:
    for runtime in RUNTIMES:
        if runtime.cache is not None:
            variable, below = runtime.cache
            path = os.environ.get(variable) or _of_user() / below
            yield _Folder(runtime, Path(path), f"{variable} or XDG_CACHE_HOME")


def _of_user() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def _free(path: Path) -> int:
    """Return the number of bytes that can be written there; 0 if no file can be made."""
    try:
        disk = os.statvfs(_existing(path))
    except (OSError, AttributeError):  # not every system has this function
        return _ROOM
    return 0 if disk.f_files and not disk.f_favail else disk.f_bavail * disk.f_frsize


def _existing(path: Path) -> Path:
    """Return a path if it exists, else its nearest parent that exists."""
    return next((each for each in (path, *path.parents) if each.exists()), Path("/"))


def _can_be_written(path: Path) -> bool:
    """Return whether a folder is writable, or can be made."""
    there = _existing(path)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
