"""Folders of checkpoints: locks, errors, and syncing of the names in a folder to the disk."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyapsp.base.errors import CheckpointError, DiskSpaceError
from pyapsp.base.files import disk_space

__all__ = ["Lock", "check_space", "errors_of", "make", "sync"]


class Lock:
    """The lock of a folder, held until `release` or the end of the process.

    The lock file is not removed on release. Otherwise a process that waits for the removed file and
    a process that makes a new one would hold two different locks.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    CheckpointError
        If another run has it.
    OSError
        If its file cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        from filelock import FileLock, Timeout

        self._path, self._holder = folder / "lock", folder / "holder"
        # released by any thread
        self._lock = FileLock(self._path, thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise CheckpointError(f"{folder} is in use by another run: {self._who()}") from None
        try:
            self._file = os.stat(self._path)
            with suppress(OSError):  # a full disk; it is for the message above only
                who = f"process {os.getpid()} on {platform.node()}"
                self._holder.write_text(who, encoding="utf-8")
        except BaseException:
            self._lock.release()
            raise

    def _who(self) -> str:
        """Return what the run that has the lock says of itself."""
        try:
            return self._holder.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "it does not say which"

    @property
    def in_place(self) -> bool:
        """Whether the file of the lock is still in the folder."""
        try:
            return os.path.samestat(os.stat(self._path), self._file)
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._lock.is_locked:
            with suppress(OSError):
                if self.in_place:
                    self._holder.unlink()
            self._lock.release()


def make(folder: Path) -> None:
    """Make a folder and those above it, safe on the disk."""
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"{folder} is no folder: a checkpoint needs one of its own")
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync(each.parent)


def sync(folder: Path) -> None:
    """Sync a folder, so that the names in it survive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def errors_of(folder: Path, verb: str, needed: int = 0) -> Iterator[None]:
    """Say in errors of the system which checkpoint they are about.

    Parameters
    ----------
    folder : Path
    verb : str
        What the block does with the checkpoint.
    needed : int
        Number of bytes that will be written.
    """
    try:
        with disk_space(folder, needed, _hint(folder)):
            yield
    except DiskSpaceError:
        raise
    except OSError as error:
        raise CheckpointError(f"cannot {verb} the checkpoint {folder}: {error}") from error


def check_space(folder: Path, needed: int) -> None:
    """Raise an error if the disk of a folder has less room than this many bytes."""
    with errors_of(folder, "use"):
        free = shutil.disk_usage(folder).free
    if needed > free:
        raise DiskSpaceError(needed, free, _hint(folder))


def _hint(folder: Path) -> str:
    return f"make room for the checkpoint in {folder}"
