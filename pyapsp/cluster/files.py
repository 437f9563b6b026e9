"""Rows of ranks in files: one file of all ranks, or a file of each."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from itertools import pairwise
from pathlib import Path

import numpy as np

from pyapsp.all_pairs.dense.outofcore.files import POSITIONED, transfer
from pyapsp.base.errors import CapabilityError, ParameterError
from pyapsp.base.files import atomic_write, disk_space, replacing
from pyapsp.base.host import mapped_file
from pyapsp.base.json import Record
from pyapsp.cluster.answers import Answers
from pyapsp.cluster.ranks import Ranks
from pyapsp.cluster.shards import CONTENT, beside, described, open_rows
from pyapsp.paths import AllPairsOptions

__all__ = ["loaded", "opened"]

# Bytes of rows that are copied at once.
_COPY = 2**25
_HINT = "make room for the rows"


class _Files(Answers):
    """Rows that are written at their places in files."""

    _copied = _COPY

    def __init__(
        self, n: int, options: AllPairsOptions, path: Path, distances: Path, before: Path | None
    ) -> None:
        super().__init__(n, options)
        self.path, self._paths = path, (distances, before)
        self._opened: list[tuple[FileIO, int]] = []

    def open(self, stack: ExitStack) -> None:
        """Open the files, which exist."""
        for path in self._paths:
            if path is not None:
                array = np.load(path, mmap_mode="r")
                offset = array.offset if isinstance(array, np.memmap) else 0
                del array
                self._opened.append((stack.enter_context(FileIO(path, "r+")), offset))

    def place(self, number: int) -> int:
        """Return the row of the files for a row of the answer."""
        return number

    def put(self, places: np.ndarray, rows: np.ndarray, before: np.ndarray | None) -> None:
        for (file, offset), array in zip(self._opened, (rows, before), strict=False):
            assert array is not None
            size = self.n * array.dtype.itemsize
            with disk_space(self.path.parent, array.nbytes, _HINT):
                for begin, end in _runs(places):
                    at = offset + self.place(int(places[begin])) * size
                    transfer(os.pwritev, file, at, array[begin:end])

    def synced(self) -> None:
        """Make what was written safe on the disk."""
        for file, _ in self._opened:
            os.fsync(file.fileno())

    def result(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        raise AssertionError("the rows are in files")


class _OneFile(_Files):
    """All rows in one NumPy file."""

    def _mapped(self, first: int, last: int, *, predecessors: bool = False) -> np.ndarray | None:
        path = self._paths[predecessors]
        assert path is not None
        rows: np.ndarray = np.load(path, mmap_mode="r+")[first:last]
        return rows


class _OwnFile(_Files):
    """The rows of each rank in a file of its own, in the order in which they come."""

    def __init__(
        self, n: int, options: AllPairsOptions, path: Path, distances: Path, before: Path | None
    ) -> None:
        super().__init__(n, options, path, distances, before)
        self.ranges: list[list[int]] = []
        self._count = 0
        self._dtypes = (self.options.dtype, np.dtype(np.int32))

    def put(self, places: np.ndarray, rows: np.ndarray, before: np.ndarray | None) -> None:
        for begin, end in _runs(places):
            low, high = int(places[begin]), int(places[end - 1]) + 1
            if self.ranges and self.ranges[-1][1] == low:
                self.ranges[-1][1] = high
            else:
                self.ranges.append([low, high])
            self._starts = {low: self._count}
            tails = None if before is None else before[begin:end]
            super().put(places[begin:end], rows[begin:end], tails)
            self._count += high - low

    def place(self, number: int) -> int:
        return self._starts[number]

    def create(self) -> None:
        """Make the files, without rows."""
        for path, dtype in zip(self._paths, self._dtypes, strict=True):
            if path is not None:
                np.save(path, np.empty((0, self.n), dtype))

    def _mapped(self, first: int, last: int, *, predecessors: bool = False) -> np.ndarray | None:
        path = self._paths[predecessors]
        assert path is not None
        dtype = np.dtype(np.int32) if predecessors else self.options.dtype
        return mapped_file(path, dtype, (last - first, self.n))

    def _in_place(self, first: int, last: int) -> None:
        self.ranges, self._count = [[first, last]], last - first

    def complete(self) -> None:
        """Give the headers of the files the number of rows."""
        for path, dtype in zip(self._paths, self._dtypes, strict=True):
            if path is not None:
                with open(path, "r+b") as file:
                    header = {
                        "descr": np.lib.format.dtype_to_descr(dtype),
                        "fortran_order": False,
                        "shape": (self._count, self.n),
                    }
                    np.lib.format.write_array_header_1_0(file, header)
                    file.truncate(file.tell() + self._count * self.n * dtype.itemsize)
                    file.flush()
                    os.fsync(file.fileno())


@contextmanager
def opened(
    ranks: Ranks, n: int, options: AllPairsOptions, out: str | os.PathLike[str] | None
) -> Iterator[Answers]:
    """Yield what takes the rows. All ranks call this together; files get their names at the end.

    Parameters
    ----------
    ranks : Ranks
    n : int
    options : AllPairsOptions
    out : path-like or None
        ``OUT.npy``: one file that all ranks see. ``OUT.rows``: a folder, in which each rank writes
        a file; it may be on a disk of each host. None: memory.

    Raises
    ------
    ParameterError
        If the name is another one.
    DiskSpaceError
        If the disk is full.
    """
    if out is None:
        yield Answers(n, options)
        return
    if not POSITIONED:
        raise CapabilityError("this system has no os.pwritev, which files of several ranks need")
    path = Path(out)
    if path.suffix == ".npy":
        with _one_file(ranks, n, options, path) as answers:
            yield answers
    elif path.suffix == ".rows":
        with _own_files(ranks, n, options, path) as answers:
            yield answers
    else:
        raise ParameterError.of("out", "solve on ranks", "OUT.npy or OUT.rows", os.fspath(out))


@contextmanager
def _one_file(ranks: Ranks, n: int, options: AllPairsOptions, path: Path) -> Iterator[Answers]:
    shape = (options.count(n), n)
    with ExitStack() as stack:
        names = None
        if ranks.rank == 0:
            part = stack.enter_context(replacing(path))
            mapped_file(part, options.dtype, shape)
            names = [str(part), None]
            if options.predecessors:
                second = stack.enter_context(replacing(beside(path)))
                mapped_file(second, np.int32, shape)
                names[1] = str(second)
        first, second_name = ranks.share(names)
        assert first is not None
        if not os.path.exists(first):
            raise ParameterError.of("out", "solve on ranks", "on a disk that all ranks see", path)
        before = None if second_name is None else Path(second_name)
        answers = _OneFile(n, options, path, Path(first), before)
        with ExitStack() as files:
            answers.open(files)
            yield answers
            answers.synced()
        ranks.barrier()
        if ranks.rank == 0 and not options.predecessors:
            beside(path).unlink(missing_ok=True)  # of distances that are replaced
    ranks.barrier()


@contextmanager
def _own_files(ranks: Ranks, n: int, options: AllPairsOptions, path: Path) -> Iterator[Answers]:
    token = ranks.share(secrets.token_hex(8))
    path.mkdir(parents=True, exist_ok=True)
    name = f"rank-{ranks.rank:05}-{token}"
    distances, before = path / f"{name}.npy", path / f"{name}.predecessors.npy"
    answers = _OwnFile(n, options, path, distances, before if options.predecessors else None)
    named = False
    try:
        answers.create()
        with ExitStack() as files:
            answers.open(files)
            yield answers
            answers.synced()
        answers.complete()
        shard: Record = {
            "file": distances.name,
            "predecessors": before.name if options.predecessors else None,
            "ranges": answers.ranges,
        }
        shards = ranks.all(shard)
        # from here on another rank may have named the files; the next run removes those without
        named = True
        content = described((options.count(n), n), options.dtype, shards)
        # the first rank of each host writes it: its disk may be its own
        if ranks.hosts.index(ranks.host) == ranks.rank:
            with atomic_write(path / CONTENT) as file:
                json.dump(content, file)
            for old in path.glob("rank-*.npy"):
                if token not in old.name:
                    with suppress(OSError):
                        old.unlink()
        ranks.barrier()
    except BaseException:
        if not named:
            for each in (distances, before):
                each.unlink(missing_ok=True)
        raise


def loaded(out: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Return mapped distances and predecessors of a file with all rows, None of a folder."""
    path = Path(out)
    if path.is_dir():
        return None
    rows = open_rows(path)
    before = None if rows.predecessors is None else rows.predecessors[:]
    return rows[:], before


def _runs(places: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the ranges of neighbouring places."""
    cuts = np.flatnonzero(np.diff(places) != 1) + 1
    bounds = [0, *cuts.tolist(), places.size]
    yield from ((low, high) for low, high in pairwise(bounds) if low < high)
