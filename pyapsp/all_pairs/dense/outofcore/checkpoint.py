"""Snapshots of a run in a folder. They stay valid after a kill or a power loss at any moment.

A snapshot has a data file with the rows of the matrix, and a manifest with the identity of the run,
its progress, and the content of the data file. A new data file is written and synced first. Then a
rename replaces the old manifest by the new one. Only then the old data file is removed. So there is
at most one manifest, and its data file is always complete.
"""

from __future__ import annotations

import os
import re
import secrets
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

import numpy as np

from pyapsp.all_pairs.dense.outofcore import folders, manifest
from pyapsp.all_pairs.dense.outofcore.files import POSITIONED, transfer
from pyapsp.all_pairs.dense.outofcore.manifest import Data, Manifest, State
from pyapsp.all_pairs.dense.outofcore.storage import THREADS, Matrix
from pyapsp.base.errors import CapabilityError, CheckpointError
from pyapsp.base.files import atomic_write
from pyapsp.base.json import Record

__all__ = ["Checkpoint"]

_MANIFEST = "manifest.json"
# Temporary files of a killed save: `atomic_write` adds a dot before and a random end to the name.
_STRAY = re.compile(rf"{manifest.DATA.pattern}|\.{re.escape(_MANIFEST)}\..+")
# Bytes under one checksum, in whole rows.
_BLOCK = 2**24
# Number of blocks that are written to measure the speed of the disk.
_TRIAL = 4

_T = TypeVar("_T")


class Checkpoint(AbstractContextManager["Checkpoint"]):
    """The snapshots of one run in a folder of its own, locked while this object is open.

    The lock belongs to the process, so that it is released when the process ends in any way.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist. Beside the snapshot it has the file of the lock, which stays.
    subject : dict
        What decides the result, as JSON has it: graph, n, dtype, parameters. A snapshot with any
        other subject is refused.

    Raises
    ------
    CapabilityError
        If this system has no `os.pwritev`.
    CheckpointError
        If the folder is none, or cannot be written, or is used by another run, or holds a
        snapshot that is damaged or of another run.
    """

    def __init__(self, folder: str | os.PathLike[str], subject: Record) -> None:
        if not POSITIONED:
            raise CapabilityError("this system has no os.pwritev, which checkpoints need")
        self._folder = Path(folder)
        self._subject = manifest.plain(subject)
        with folders.errors_of(self._folder, "use"):
            folders.make(self._folder)
            self._lock = folders.Lock(self._folder)
            try:
                self._manifest = self._read()
                self._sweep(self._manifest)
            except BaseException:
                self.close()
                raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock of the folder; a snapshot in it is kept."""
        self._lock.release()

    @property
    def state(self) -> State | None:
        """The state of the snapshot in the folder; None without one.

        Raises
        ------
        CheckpointError
            If it lacks a field.
        """
        if self._manifest is None:
            return None
        if not manifest.is_state(self._manifest.state):
            raise manifest.lacking(self._folder / _MANIFEST)
        return self._manifest.state

    def check_space(self, needed: int) -> None:
        """Raise an error if the disk is too small for the snapshots of a run.

        A new snapshot is complete before the previous one is removed. So there must be space for
        two, or for one more if a snapshot exists.

        Parameters
        ----------
        needed : int
            Bytes of one snapshot: `Matrix.nbytes`.

        Raises
        ------
        DiskSpaceError
            If there is less room.
        """
        folders.check_space(self._folder, needed * (2 if self._manifest is None else 1))

    def predict(self, matrix: Matrix) -> float:
        """Return the predicted seconds of `save`, measured by writing a small part.

        Raises
        ------
        CheckpointError, DiskSpaceError
            If this part cannot be written.
        """
        last = min(matrix.n, _TRIAL * _block_rows(matrix))
        started = time.perf_counter()
        with folders.errors_of(self._folder, "write", matrix.nbytes):
            try:
                self._write(matrix, last)
            finally:
                self._sweep(self._manifest)
        return (time.perf_counter() - started) * matrix.n / max(last, 1)

    def save(self, matrix: Matrix, state: State) -> float:
        """Write a snapshot, then remove the previous one.

        Nothing may write to the matrix during this call.

        Parameters
        ----------
        matrix : Matrix
        state : State
            How far the run is.

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
        with folders.errors_of(self._folder, "write", matrix.nbytes):
            if not self._lock.in_place:
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

    def load(self, matrix: Matrix) -> State | None:
        """Put the matrix of the snapshot into `matrix`.

        Everything but the checksums of the data is checked before the first row is written, and
        the checksum of each block before its rows are.

        Returns
        -------
        State or None
            The state that was saved. None without a snapshot; `matrix` is then as it was.

        Raises
        ------
        CheckpointError
            If the snapshot has another n or dtype, or its data are missing, cut short or damaged.
        DiskSpaceError
            If `matrix` is a new file and the disk is full.
        """
        snapshot = self._manifest
        if snapshot is None:
            return None
        manifest.compare(self._folder, snapshot.matrix, _described(matrix))
        data = snapshot.data
        row_bytes = matrix.n * matrix.dtype.itemsize
        path, remedy = self._folder / data.file, manifest.remedy(self._folder)
        with folders.errors_of(self._folder, "read"):
            if not path.is_file():
                raise CheckpointError(f"{path} is missing: {remedy}")
            size = path.stat().st_size
            if size != data.bytes:
                raise CheckpointError(f"{path} has {size} bytes instead of {data.bytes}: {remedy}")
            with FileIO(path) as file:

                def restore(number: int, first: int, rows: np.ndarray) -> None:
                    transfer(os.preadv, file, first * row_bytes, rows)
                    checksum, expected = zlib.crc32(rows.data), data.crc32[number]
                    if checksum != expected:
                        raise CheckpointError(
                            f"{path}: block {number} (rows {first} to {first + len(rows) - 1}) is "
                            f"damaged, its checksum is {checksum:08x} instead of {expected:08x}: "
                            f"{remedy}"
                        )
                    matrix.write(first, first + len(rows), rows)

                _each_block(matrix, data.rows, matrix.n, restore)
        return snapshot.state

    def remove(self) -> None:
        """Remove the snapshot, for the run is done; the folder stays.

        Raises
        ------
        CheckpointError
            If it cannot be removed.
        """
        with folders.errors_of(self._folder, "clear"):
            # first what names the data
            (self._folder / _MANIFEST).unlink(missing_ok=True)
            folders.sync(self._folder)
            self._manifest = None
            self._sweep()

    def _read(self) -> Manifest | None:
        """Return the manifest in the folder, if it is one of this run."""
        return manifest.read(self._folder / _MANIFEST, self._subject)

    def _replace(self, matrix: Matrix, state: State) -> Manifest:
        """Write data and manifest, and return the manifest when it is safe on the disk."""
        data = self._write(matrix, matrix.n)
        content = Manifest(self._subject, state, _described(matrix), data)
        folders.sync(self._folder)
        with atomic_write(self._folder / _MANIFEST, "wb") as file:
            file.write(content.encoded())
        folders.sync(self._folder)
        return content

    def _write(self, matrix: Matrix, last: int) -> Data:
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
        return Data(name, last * row_bytes, rows, checksums)

    def _sweep(self, *manifests: Manifest | None) -> None:
        """Remove the data that none of these manifests names, and what killed saves left."""
        named = {each.data.file for each in manifests if each is not None}
        for path in self._folder.iterdir():
            if _STRAY.fullmatch(path.name) and path.name not in named:
                with suppress(OSError):  # the next sweep tries again
                    path.unlink()


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


def _described(matrix: Matrix) -> Record:
    # with its byte order
    return {"n": matrix.n, "dtype": matrix.dtype.str}
