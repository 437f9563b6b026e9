"""Atomic writing of files, and errors for full disks."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pyapsp.base.errors import DiskSpaceError, ParameterError

__all__ = [
    "atomic_write",
    "check_name",
    "check_suffix",
    "disk_space",
    "replacing",
    "resolved",
    "unpacked",
]

# Number of characters of the file name in the name of its temporary file, to keep that short.
_SHOWN = 16
# Suffixes of the formats that this package or a data frame writes.
_KNOWN = {".csv", ".feather", ".gr", ".graph", ".gz", ".h5", ".hdf5", ".json", ".mtx", ".npy"}
_KNOWN |= {".npz", ".parquet", ".pickle", ".pkl", ".tsv", ".txt", ".xlsx", ".zarr"}


def check_name(path: str | os.PathLike[str], owner: str, parameter: str = "path") -> Path:
    """Return the name of a file.

    Raises
    ------
    ParameterError
        If it is none; `owner` is the function that takes it, as this parameter.
    """
    try:
        name = Path(path)
    except TypeError:
        raise ParameterError.of(parameter, owner, "the name of a file, as text", path) from None
    if "\0" in str(name):
        raise ParameterError.of(parameter, owner, "the name of a file, without zero bytes", path)
    return name


def unpacked(path: Path) -> Path:
    """Return the name of a file without ``.gz``."""
    return path.with_suffix("") if path.suffix == ".gz" else path


def check_suffix(path: str | os.PathLike[str], owner: str, *written: str, others: str) -> None:
    """Refuse the name of a file if its suffix is that of a format that is not written.

    A name with an unknown suffix, or without one, says nothing about the format.

    Parameters
    ----------
    path : path-like
    owner : str
        The function that writes the file.
    *written : str
        The suffixes that it writes, e.g. ``".npz"``.
    others : str
        How to get other formats, for the message.

    Raises
    ------
    ParameterError
        If the suffix is that of another format, or it is no name of a file.
    """
    suffix = check_name(path, owner).suffix.lower()
    if suffix in _KNOWN.difference(written):
        rule = f"a file {' or '.join(written)}; for other formats use {others}"
        raise ParameterError.of("path", owner, rule, path)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Create an empty file that is renamed to `path` when the block ends normally.

    If the block raises an exception, the file is removed and `path` is not changed.

    Parameters
    ----------
    path : path-like
        The file to create or replace. Its directory must exist.

    Yields
    ------
    Path
        The new file, in the same directory.
    """
    target = resolved(path)  # write through a link, do not replace it
    prefix = f".{target.name[:_SHOWN]}."
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=prefix)
    except OSError as error:
        error.filename = os.fspath(path)  # not the name of the temporary file
        raise
    temporary = Path(name)
    try:
        os.close(handle)
        yield temporary
        # mkstemp makes private files; give the permissions that open() would have given
        os.chmod(temporary, _permissions(target))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return a path with links resolved; OSError for a link that leads to itself.

    It names the path also if the working folder is not there any more.
    """
    try:
        return Path(path).resolve()
    except FileNotFoundError as error:
        error.filename = os.fspath(path)
        raise
    except RuntimeError as error:  # Python before 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path)) from error


def _permissions(path: Path) -> int:
    """Return those of a file, or of a new one."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    r"""Open a file for writing that gets its name only when it is complete.

    The content is written to a temporary file, see `replacing`. If `path` is no regular file, it is
    opened itself: a pipe or a device is never replaced, and `open` refuses a directory.

    Parameters
    ----------
    path : path-like
        The file to create or replace. Its directory must exist.
    mode : {"w", "wb"}
        Text (UTF-8, ``\n`` line ends) or binary.

    Yields
    ------
    file object
        Open for writing.
    """
    with _named(path), _written(path, mode) as file:
        yield file


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the name of the file to an OSError, for instance of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.strerror is not None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def _written(path: str | os.PathLike[str], mode: str) -> Iterator[IO[Any]]:
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    if os.path.exists(path) and not os.path.isfile(path):
        with io.BufferedWriter(_Stream(path, "w")) as stream:
            if "b" in mode:
                yield stream
            else:
                with io.TextIOWrapper(stream, encoding, newline=newline) as file:
                    yield file
        return
    with (
        replacing(path) as temporary,
        open(temporary, mode, encoding=encoding, newline=newline) as file,
    ):
        yield file
        file.flush()
        os.fsync(file.fileno())


class _Stream(io.FileIO):
    """A file that is written from its beginning to its end.

    A device may always report position 0; zipfile fails with that. This class counts itself.
    """

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise io.UnsupportedOperation("tell")


@contextmanager
def disk_space(path: str | os.PathLike[str], needed: int, hint: str) -> Iterator[None]:
    """Turn "no space left" and "quota exceeded" into a `DiskSpaceError`.

    Parameters
    ----------
    path : path-like
        A file or folder on the disk.
    needed : int
        Number of bytes that will be written.
    hint : str
        What to do about it.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, DiskSpaceError) or error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskSpaceError(needed, shutil.disk_usage(path).free, hint) from error
