"""Snapshots of a run on ranks, in a folder that all of them share.

Each rank writes its rows into a file of its own and syncs it. Then rank 0 replaces the manifest,
which names the files and their rows. Then the files of the previous snapshot are removed. So the
manifest always names complete files, also after a kill of any rank at any moment. The rows of a
file have their numbers in the matrix, so that another number of ranks can read them.
"""

from __future__ import annotations

import os
import re
import secrets
import time
import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, TypedDict

import numpy as np

from pyapsp.all_pairs.dense.outofcore import folders, manifest
from pyapsp.all_pairs.dense.outofcore.files import POSITIONED, transfer
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.base.errors import CapabilityError, CheckpointError
from pyapsp.base.files import atomic_write
from pyapsp.base.json import Json, Record
from pyapsp.base.version import __version__
from pyapsp.cluster.ranks import Ranks

__all__ = ["SharedCheckpoint"]

_MANIFEST = "manifest.json"
_FORMAT, _SCHEMA = "checkpoint of pyapsp on ranks", 1
_PART = re.compile(r"rows-[0-9a-f]{16}-\d+\.bin")
# Bytes of rows under one checksum.
_BLOCK = 2**24


class _Part(TypedDict):
    """The file of a rank: its rows from `first` to `last`, with a checksum for each `rows`."""

    file: str
    first: int
    last: int
    rows: int
    crc32: list[int]


class SharedCheckpoint(AbstractContextManager["SharedCheckpoint"]):
    """The snapshots of one run. All ranks call each method together.

    At the end of its context the snapshot is removed, if there was no error.

    Parameters
    ----------
    ranks : Ranks
    folder : path-like
        The same on all ranks, and shared by them. It is made if it does not exist.
    subject : dict
        What decides the result, as JSON has it.

    Attributes
    ----------
    state : dict or None
        The state of the snapshot in the folder.

    Raises
    ------
    CheckpointError
        If the folder cannot be used, or has a snapshot that is damaged or of another run.
    CapabilityError
        If this system has no `os.pwritev`.
    """

    def __init__(
        self, ranks: Ranks, folder: str | os.PathLike[str], subject: Mapping[str, Json]
    ) -> None:
        if not POSITIONED:
            raise CapabilityError("this system has no os.pwritev, which checkpoints need")
        self._ranks, self._folder = ranks, Path(folder)
        self._subject = manifest.plain(subject)
        self._lock: folders.Lock | None = None
        try:
            content = self._read() if ranks.rank == 0 else None
            self._content: dict[str, Any] | None = ranks.share(content)
            if not self._folder.is_dir():
                raise CheckpointError(
                    f"{self._folder} is not shared with rank 0 on {ranks.hosts[0]}"
                )
        except BaseException:
            self._release()
            raise

    def _read(self) -> Record | None:
        """Lock the folder, and return the manifest in it."""
        path = self._folder / _MANIFEST
        with folders.errors_of(self._folder, "use"):
            folders.make(self._folder)
            self._lock = folders.Lock(self._folder)
            content = manifest.parsed(path, _FORMAT, _SCHEMA, self._subject)
            if content is not None and not _is_whole(content):
                raise manifest.lacking(path)
            self._sweep(content)
        return content

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    @property
    def state(self) -> dict[str, Any] | None:
        """The state of the snapshot in the folder."""
        return None if self._content is None else dict(self._content["state"])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._remove()
        finally:
            self._release()

    def check_space(self, needed: int) -> None:
        """Raise an error if the disk is too small for two snapshots, or one more.

        Raises
        ------
        DiskSpaceError
            On rank 0.
        """
        if self._ranks.rank == 0:
            folders.check_space(self._folder, needed * (2 if self._content is None else 1))

    def save(self, own: Matrix, state: Mapping[str, Json]) -> float:
        """Write a snapshot, and return the seconds it took.

        Parameters
        ----------
        own : Matrix
            The rows of this rank.
        state : dict
            How far the run is.

        Raises
        ------
        DiskSpaceError, CheckpointError
            If this rank cannot write it. The previous snapshot is as it was.
        """
        started = time.perf_counter()
        token = self._ranks.share(secrets.token_hex(8) if self._ranks.rank == 0 else None)
        with folders.errors_of(self._folder, "write", own.nbytes):
            part = self._write(own, f"rows-{token}-{self._ranks.rank}.bin")
        parts = [each for each in self._ranks.all(part) if each["first"] < each["last"]]
        content: dict[str, Any] = {
            "format": _FORMAT,
            "schema": _SCHEMA,
            "pyapsp": __version__,
            "subject": self._subject,
            "state": manifest.plain(state),
            "matrix": {"n": own.n, "dtype": own.dtype.str},
            "parts": parts,
        }
        if self._ranks.rank == 0:
            with folders.errors_of(self._folder, "write"):
                folders.sync(self._folder)
                with atomic_write(self._folder / _MANIFEST, "wb") as file:
                    file.write(manifest.encoded(content))
                folders.sync(self._folder)
                self._sweep(content)
        self._content = content
        self._ranks.barrier()
        return self._ranks.largest(time.perf_counter() - started)

    def load(self, own: Matrix) -> None:
        """Put the rows of the snapshot into the matrix of this rank.

        Raises
        ------
        CheckpointError
            If it has another n or dtype, or a file is missing, cut short or damaged.
        """
        assert self._content is not None
        ours: Record = {"n": own.n, "dtype": own.dtype.str}
        manifest.compare(self._folder, self._content["matrix"], ours)
        covered = own.first
        for part in self._content["parts"]:
            if part["first"] < own.last and part["last"] > own.first:
                if part["first"] > covered:
                    break
                with folders.errors_of(self._folder, "read"):
                    self._restore(own, part)
                covered = part["last"]
        if covered < own.last:
            raise CheckpointError(
                f"{self._folder / _MANIFEST} is damaged, it has no rows from {covered} on: "
                f"{manifest.remedy(self._folder)}"
            )

    def _remove(self) -> None:
        """Remove the snapshot when all ranks are done."""
        self._ranks.barrier()
        self._content = None
        if self._ranks.rank == 0:
            with folders.errors_of(self._folder, "clear"):
                (self._folder / _MANIFEST).unlink(missing_ok=True)
                folders.sync(self._folder)
                self._sweep(None)

    def _write(self, own: Matrix, name: str) -> _Part:
        """Write the rows of this rank to a new file, and say what is in it."""
        row, checksums = own.n * own.dtype.itemsize, []
        rows = max(1, _BLOCK // max(1, row))
        if own.first < own.last:
            with FileIO(self._folder / name, "xb") as file:
                for first, block in own.rows(rows):
                    transfer(os.pwritev, file, (first - own.first) * row, block)
                    checksums.append(zlib.crc32(block.data))
                os.fsync(file.fileno())
        return _Part(file=name, first=own.first, last=own.last, rows=rows, crc32=checksums)

    def _restore(self, own: Matrix, part: _Part) -> None:
        """Read the rows of a file that this rank has."""
        path, row = self._folder / part["file"], own.n * own.dtype.itemsize
        remedy = manifest.remedy(self._folder)
        if not path.is_file():
            raise CheckpointError(f"{path} is missing: {remedy}")
        if (size := path.stat().st_size) != (part["last"] - part["first"]) * row:
            raise CheckpointError(f"{path} has {size} bytes, which is not its rows: {remedy}")
        buffer = np.empty((part["rows"], own.n), own.dtype)
        with FileIO(path) as file:
            for number, begin in enumerate(range(part["first"], part["last"], part["rows"])):
                end = min(begin + part["rows"], part["last"])
                low, high = max(begin, own.first), min(end, own.last)
                if low >= high:
                    continue
                block = buffer[: end - begin]
                transfer(os.preadv, file, (begin - part["first"]) * row, block)
                if zlib.crc32(block.data) != part["crc32"][number]:
                    raise CheckpointError(
                        f"{path}: rows {begin} to {end - 1} are damaged, their checksum is wrong: "
                        f"{remedy}"
                    )
                own.write(low, high, block[low - begin : high - begin])

    def _sweep(self, content: Mapping[str, Any] | None) -> None:
        """Remove what no manifest names."""
        present = set() if content is None else {part["file"] for part in content["parts"]}
        for path in self._folder.iterdir():
            stray = _PART.fullmatch(path.name) or path.name.startswith(f".{_MANIFEST}.")
            if stray and path.name not in present:
                with suppress(OSError):  # the next sweep tries again
                    path.unlink()


def _is_whole(content: Record) -> bool:
    """Return whether a manifest says what a run needs to continue."""
    state, parts = content.get("state"), content.get("parts")
    if not (isinstance(state, dict) and isinstance(parts, list)):
        return False
    return {"block", "closing", "pass"} <= state.keys() and all(map(_is_part, parts))


def _is_part(part: Json) -> bool:
    """Return whether this describes the file of a rank."""
    if not isinstance(part, dict):
        return False
    file, checksums = part.get("file"), part.get("crc32")
    if not (isinstance(file, str) and _PART.fullmatch(file) and isinstance(checksums, list)):
        return False
    given = (part.get("first"), part.get("last"), part.get("rows"), *checksums)
    first, last, rows, *_ = counts = [each if type(each) is int else -1 for each in given]
    sound = min(counts) >= 0 and first < last and rows > 0
    return sound and len(checksums) == -(-(last - first) // rows)
