"""Folders that one run has to itself, and whose names are safe on the disk."""

from __future__ import annotations

import fcntl
import os
from io import FileIO
from pathlib import Path

from pyapsp.errors import CheckpointError

__all__ = ["is_at", "lock", "make", "sync"]


def lock(path: Path) -> FileIO:
    """Return a lock file, open and locked, for as long as it is open or the process lives.

    Raises
    ------
    CheckpointError
        If another process has it.
    """
    while True:
        file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # else a run that ended removed the file after we opened it
            if is_at(path, file):
                file.truncate(0)
                file.write(f"process {os.getpid()} on {os.uname().nodename}".encode())
                return file
        except BlockingIOError:
            holder = file.read().decode(errors="replace")
            file.close()
            raise CheckpointError(f"{path.parent} is in use by another run: {holder}") from None
        except BaseException:
            file.close()
            raise
        file.close()


def make(folder: Path) -> None:
    """Make a folder and those above it, safe on the disk."""
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"{folder} is no folder: a checkpoint needs one of its own")
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync(each.parent)


def sync(folder: Path) -> None:
    """Return when the names in a folder would survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_at(path: Path, file: FileIO) -> bool:
    """Return whether this is the path of an open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
