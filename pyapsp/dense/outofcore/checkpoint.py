"""Snapshots of a run in a folder, complete after a kill or a loss of power at any moment.

A snapshot is a data file, the rows of the matrix one after the other, and a manifest, which says
what the run is, how far it was, and what the data file holds. A new data file is complete on the
disk before the manifest that names it replaces the old one, by a rename, and the old data file goes
only after that. So there is always one manifest at most, and what it names is whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from pyapsp import __version__
from pyapsp.dense.outofcore.storage import THREADS, Matrix, disk_space, transfer
from pyapsp.errors import CheckpointError, DiskSpaceError, ParameterError
from pyapsp.files import atomic_write

__all__ = ["Checkpoint", "Interval"]

_FORMAT = "checkpoint of pyapsp"
_SCHEMA = 2
_MANIFEST = "manifest.json"
_LOCK = "lock"
_DATA = re.compile(r"distances-[0-9a-f]{16}\.bin")
# What a killed save leaves behind: `atomic_write` puts a dot and a random end around the name.
_STRAY = re.compile(rf"{_DATA.pattern}|\.{re.escape(_MANIFEST)}\..+")
# Bytes under one checksum, in whole rows.
_BLOCK = 2**24
# Blocks written to see how fast the disk is.
_TRIAL = 4

_T = TypeVar("_T")


class Checkpoint:
    """The snapshots of one run in a folder of its own, locked while this object is open.

    The lock is held by the process, so it ends with it, however it ends.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.
    subject : dict
        What decides the result, as JSON has it: graph, n, dtype, parameters. A snapshot with any
        other subject is refused.

    Raises
    ------
    CheckpointError
        If the folder is none, or cannot be written, or is used by another run, or holds a
        snapshot that is damaged or of another run.
    """

    def __init__(self, folder: str | os.PathLike[str], subject: Mapping[str, Any]) -> None:
        self._folder = Path(folder)
        self._subject = _plain(subject)
        with self._errors("use"):
            _make(self._folder)
            self._lock = self._locked()
            try:
                self._manifest = self._read()
                self._sweep(self._manifest)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder; a snapshot in it stays."""
        if not self._lock.closed:
            with suppress(OSError):
                if _names(self._folder / _LOCK, self._lock):
                    (self._folder / _LOCK).unlink()
            self._lock.close()

    @property
    def state(self) -> dict[str, Any] | None:
        """The state of the snapshot in the folder; None without one."""
        return None if self._manifest is None else dict(self._manifest["state"])

    def check_space(self, needed: int) -> None:
        """Refuse a run that the disk has no room for.

        A new snapshot is complete before the previous one goes: there must be room for two, or for
        one beside the one that is there.

        Parameters
        ----------
        needed : int
            Bytes of one snapshot: `Matrix.nbytes`.

        Raises
        ------
        DiskSpaceError
            If there is less room.
        """
        with self._errors("use"):
            free = shutil.disk_usage(self._folder).free
        needed *= 2 if self._manifest is None else 1
        if needed > free:
            raise DiskSpaceError(needed, free, self._hint)

    def predict(self, matrix: Matrix) -> float:
        """Return the seconds that `save` will take, from a small part of it.

        Raises
        ------
        CheckpointError, DiskSpaceError
            If not even that can be written.
        """
        last = min(matrix.n, _TRIAL * _block_rows(matrix))
        started = time.perf_counter()
        with self._errors("write", matrix.nbytes):
            try:
                self._write(matrix, last)
            finally:
                self._sweep(self._manifest)
        return (time.perf_counter() - started) * matrix.n / max(last, 1)

    def save(self, matrix: Matrix, state: Mapping[str, Any]) -> float:
        """Write a snapshot, which then replaces the previous one.

        Nothing may write to the matrix meanwhile.

        Parameters
        ----------
        matrix : Matrix
        state : dict
            How far the run is, as JSON has it.

        Returns
        -------
        float
            Seconds it took.

        Raises
        ------
        DiskSpaceError
            If the disk is full.
        CheckpointError
            If the snapshot could not be written for another reason. After either error the previous
            snapshot is as it was.
        """
        started = time.perf_counter()
        state = _plain(state)
        with self._errors("write", matrix.nbytes):
            if not _names(self._folder / _LOCK, self._lock):
                raise CheckpointError(f"{self._folder} was removed while the run used it")
            try:
                self._manifest = self._replace(matrix, state)
            except BaseException:
                # the rename may have come before the error: what either manifest names stays
                with suppress(OSError, CheckpointError):
                    self._sweep(self._manifest, self._read())
                raise
            self._sweep(self._manifest)
        return time.perf_counter() - started

    def load(self, matrix: Matrix) -> dict[str, Any] | None:
        """Put the matrix of the snapshot into `matrix`.

        Everything but the checksums of the data is checked before the first row is written, and
        the checksum of each block before its rows are.

        Returns
        -------
        dict or None
            The state that was saved. None without a snapshot; `matrix` is then as it was.

        Raises
        ------
        CheckpointError
            If the snapshot has another n or dtype, or its data are missing, cut short or damaged.
        DiskSpaceError
            If `matrix` is a new file and the disk is full.
        """
        manifest = self._manifest
        if manifest is None:
            return None
        self._compare(manifest["matrix"], _described(matrix), "")
        data = manifest["data"]
        row_bytes = matrix.n * matrix.dtype.itemsize
        path = self._folder / data["file"]
        with self._errors("read"):
            if not path.is_file():
                raise CheckpointError(f"{path} is missing: {self._remedy}")
            size = path.stat().st_size
            if size != data["bytes"]:
                raise CheckpointError(
                    f"{path} has {size} bytes instead of {data['bytes']}: {self._remedy}"
                )
            with FileIO(path) as file:

                def restore(number: int, first: int, rows: np.ndarray) -> None:
                    transfer(os.preadv, file, first * row_bytes, rows)
                    found, expected = zlib.crc32(rows.data), data["crc32"][number]
                    if found != expected:
                        raise CheckpointError(
                            f"{path}: block {number} (rows {first} to {first + len(rows) - 1}) is "
                            f"damaged, its checksum is {found:08x} instead of {expected:08x}: "
                            f"{self._remedy}"
                        )
                    matrix.write(first, first + len(rows), rows)

                _each_block(matrix, data["rows"], matrix.n, restore)
        state: dict[str, Any] = manifest["state"]
        return state

    def remove(self) -> None:
        """Remove the snapshot, for the run is done; the folder stays.

        Raises
        ------
        CheckpointError
            If it cannot be removed.
        """
        with self._errors("clear"):
            # first what names the data
            (self._folder / _MANIFEST).unlink(missing_ok=True)
            _sync(self._folder)
            self._manifest = None
            self._sweep()

    @property
    def _hint(self) -> str:
        return f"make room for the checkpoint in {self._folder}"

    @property
    def _remedy(self) -> str:
        return f"remove {self._folder} to start from the beginning"

    @contextmanager
    def _errors(self, verb: str, needed: int = 0) -> Iterator[None]:
        """Say in errors of the system which checkpoint they are about."""
        try:
            with disk_space(self._folder, needed, self._hint):
                yield
        except DiskSpaceError:
            raise
        except OSError as error:
            raise CheckpointError(
                f"cannot {verb} the checkpoint {self._folder}: {error}"
            ) from error

    def _locked(self) -> FileIO:
        """Return the lock file, open and locked."""
        path = self._folder / _LOCK
        while True:
            file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # else a run that ended removed the file after we opened it
                if _names(path, file):
                    file.truncate(0)
                    file.write(f"process {os.getpid()} on {os.uname().nodename}".encode())
                    return file
            except BlockingIOError:
                holder = file.read().decode(errors="replace")
                file.close()
                raise CheckpointError(
                    f"{self._folder} is in use by another run: {holder}"
                ) from None
            except BaseException:
                file.close()
                raise
            file.close()

    def _read(self) -> dict[str, Any] | None:
        """Return the manifest in the folder, if it is one of this run."""
        path = self._folder / _MANIFEST
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            manifest = json.loads(text)
        except (ValueError, RecursionError):
            raise CheckpointError(f"{path} is damaged, no JSON: {self._remedy}") from None
        if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
            raise CheckpointError(f"{path} is not of a {_FORMAT}: choose another folder")
        if manifest.get("schema") != _SCHEMA:
            raise CheckpointError(
                f"{path} has schema {manifest.get('schema')!r} and pyapsp {__version__} reads "
                f"{_SCHEMA}: continue with pyapsp {manifest.get('pyapsp')}, or {self._remedy}"
            )
        content = {key: value for key, value in manifest.items() if key != "sha256"}
        if text != _encoded(content):
            raise CheckpointError(f"{path} is damaged, its checksum is wrong: {self._remedy}")
        self._compare(manifest.get("subject"), self._subject, "")
        if not _is_whole(manifest):
            raise CheckpointError(f"{path} is damaged, it lacks a field: {self._remedy}")
        return manifest

    def _compare(self, theirs: Any, ours: Any, name: str) -> None:
        """Refuse the first field in which two subjects differ."""
        if isinstance(theirs, dict) and isinstance(ours, dict):
            for key in [*ours, *(key for key in theirs if key not in ours)]:
                field = f"{name}.{key}" if name else key
                self._compare(theirs.get(key), ours.get(key), field)
        elif theirs != ours or type(theirs) is not type(ours):
            raise CheckpointError(
                f"{self._folder} is the checkpoint of another run: {name} is {theirs!r} there and "
                f"{ours!r} here; choose another folder, or {self._remedy}"
            )

    def _replace(self, matrix: Matrix, state: dict[str, Any]) -> dict[str, Any]:
        """Write data and manifest, and return the manifest when it is safe on the disk."""
        content = {
            "format": _FORMAT,
            "schema": _SCHEMA,
            "pyapsp": __version__,
            "subject": self._subject,
            "state": state,
            "matrix": _described(matrix),
            "data": self._write(matrix, matrix.n),
        }
        _sync(self._folder)
        with atomic_write(self._folder / _MANIFEST, "wb") as file:
            file.write(_encoded(content))
        _sync(self._folder)
        return content

    def _write(self, matrix: Matrix, last: int) -> dict[str, Any]:
        """Write the rows before `last` to a new data file, and say what is in it."""
        name = f"distances-{secrets.token_hex(8)}.bin"
        rows, row_bytes = _block_rows(matrix), matrix.n * matrix.dtype.itemsize
        with FileIO(self._folder / name, "xb") as file:

            def store(_: int, first: int, block: np.ndarray) -> int:
                matrix.read(first, first + len(block), block)
                transfer(os.pwritev, file, first * row_bytes, block)
                return zlib.crc32(block.data)

            checksums = _each_block(matrix, rows, last, store)
            os.fsync(file.fileno())
        return {"file": name, "bytes": last * row_bytes, "rows": rows, "crc32": checksums}

    def _sweep(self, *manifests: Mapping[str, Any] | None) -> None:
        """Remove the data that none of these manifests names, and what killed saves left."""
        kept = {each["data"]["file"] for each in manifests if each is not None}
        for path in self._folder.iterdir():
            if _STRAY.fullmatch(path.name) and path.name not in kept:
                with suppress(OSError):  # the next sweep tries again
                    path.unlink()


class Interval:
    """Decides when the next snapshot is due.

    Parameters
    ----------
    cost : float
        Seconds that a snapshot is expected to take.
    now : float
        The start of the run, in seconds of any clock.
    fraction : float, default 0.03
        The part of the run time that snapshots may take, in (0, 1].
    seconds : float, optional
        Ask for one that often instead, whatever it costs.

    Raises
    ------
    ParameterError
        If `fraction` or `seconds` is outside its rule.
    """

    def __init__(
        self, cost: float, now: float, *, fraction: float = 0.03, seconds: float | None = None
    ) -> None:
        if not 0 < fraction <= 1:
            raise ParameterError.of("fraction", "Interval", "in (0, 1]", fraction)
        if seconds is not None and not seconds >= 0:
            raise ParameterError.of("seconds", "Interval", "at least 0", seconds)
        self._fraction = fraction
        self._seconds = seconds
        self.saved(cost, now)

    def saved(self, cost: float, now: float) -> None:
        """Note that a snapshot was completed at `now` and took `cost` seconds."""
        self._last = now
        # cost / (pause + cost) is the fraction
        pause = cost * (1 / self._fraction - 1)
        self._pause = pause if self._seconds is None else self._seconds

    def due(self, now: float) -> bool:
        """Return whether it is time for a snapshot."""
        return now - self._last >= self._pause


def _block_rows(matrix: Matrix) -> int:
    return max(1, _BLOCK * matrix.n // max(1, matrix.nbytes))


def _each_block(
    matrix: Matrix, rows: int, last: int, work: Callable[[int, int, np.ndarray], _T]
) -> list[_T]:
    """Call `work` with the number of each block before `last`, its first row and a buffer for it.

    Several at a time. After an error no further block is begun.
    """
    starts = range(0, last, rows)
    threads = max(1, min(THREADS, len(starts)))
    buffers: SimpleQueue[np.ndarray] = SimpleQueue()
    for _ in range(threads):
        buffers.put(np.empty((min(rows, last), matrix.n), matrix.dtype))

    def one(number: int) -> _T:
        buffer = buffers.get()
        try:
            return work(number, starts[number], buffer[: last - starts[number]])
        finally:
            buffers.put(buffer)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(len(starts))))


def _make(folder: Path) -> None:
    """Make a folder and those above it, safe on the disk."""
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"{folder} is no folder: a checkpoint needs one of its own")
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        _sync(each.parent)


def _sync(folder: Path) -> None:
    """Return when the names in a folder would survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _names(path: Path, file: FileIO) -> bool:
    """Return whether this is the path of an open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _is_whole(manifest: Mapping[str, Any]) -> bool:
    """Return whether a manifest says where its data are: in the folder, in so many blocks."""
    data, matrix = manifest.get("data"), manifest.get("matrix")
    if not (isinstance(data, dict) and isinstance(matrix, dict)):
        return False
    file, checksums = data.get("file"), data.get("crc32")
    rows, count, n = (
        _count(each) for each in (data.get("rows"), data.get("bytes"), matrix.get("n"))
    )
    return (
        isinstance(manifest.get("state"), dict)
        and isinstance(file, str)
        and _DATA.fullmatch(file) is not None
        and rows > 0
        and min(count, n) >= 0
        and isinstance(checksums, list)
        and len(checksums) == -(-n // rows)
        and all(_count(each) >= 0 for each in checksums)
    )


def _count(value: object) -> int:
    """Return a whole number, -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _described(matrix: Matrix) -> dict[str, Any]:
    # with its byte order
    return {"n": matrix.n, "dtype": matrix.dtype.str}


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what JSON makes of it."""
    plain: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
    return plain


def _encoded(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of a manifest, with its checksum."""
    checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    whole = {**content, "sha256": checksum}
    return (json.dumps(whole, sort_keys=True, indent=1) + "\n").encode()
