"""Databases of the fastest measured parameters by method, device, type and size.

A database is a JSON file with one line per row. Those in ``cl/tuning`` come with the package. The
user's own is ``database.json`` in `user_folder`.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from pyapsp.base.errors import FormatError
from pyapsp.base.files import atomic_write
from pyapsp.base.json import Json
from pyapsp.device.kernels import source
from pyapsp.registry.tuning.objective import OBJECTIVES

__all__ = [
    "Databases",
    "Row",
    "Unchanging",
    "databases",
    "load",
    "merge",
    "user_database",
    "user_folder",
]

_log = logging.getLogger(__name__)
_SCHEMA = 2
# The values of fields that a line has only if the row has another value.
_OFTEN: dict[str, Json] = {"objective": OBJECTIVES[0], "quick": False}

#: The databases that exist: whether it is the user's, its path, and the file's version.
Databases: TypeAlias = tuple[tuple[bool, Path, int, int, int], ...]
# Seconds after which files are looked at again: to do so takes 20 us of a small call.
_CHECKED = 0.05
# The files that were looked at last, until when they are taken as unchanged, and what was found.
_last: tuple[tuple[Path, ...], float, Databases] = ((), 0.0, ())
_looked: ContextVar[Unchanging | None] = ContextVar("looked", default=None)


@dataclass(frozen=True)
class Row:
    """The fastest parameters found for one method, device, type and size."""

    method: str  # its id
    # The device: platform name, "gpu", "cpu" or "accelerator", `Device.architecture` and
    # `Device.plain_name`.
    platform: str
    kind: str
    architecture: str
    device: str
    dtype: str  # number type of the distances
    predecessors: bool  # whether the kernels computed predecessors
    family: str  # the family, of `Problem.families`, of the random input that was timed
    n: int  # size of that input: the number of vertices of a graph
    parameters: dict[str, int | str]  # every parameter of the method
    # The work of the problem (`Problem.work`) divided by the seconds of planning and running, with
    # transfers.
    rate: float
    # The versions that were measured: the driver, this package, its commit, and a hash of the
    # kernel files.
    driver: str | None = None
    pyapsp: str | None = None
    commit: str | None = None
    kernels: str | None = None
    # What the parameters minimise, one of `OBJECTIVES`. The rate is that of these parameters.
    objective: str = OBJECTIVES[0]
    quick: bool = False  # whether only a few sets were timed, by `pyapsp tune --quick`

    @property
    def place(self) -> tuple[str | bool | int, ...]:
        """The key of a row, unique in a database; rows in a file are sorted by it."""
        device = (self.platform, self.kind, self.device, self.architecture)
        sample = (self.dtype, self.predecessors, self.family, self.n)
        return (self.method, *device, *sample, self.objective)

    @classmethod
    def parse(cls, content: Json) -> Row:
        """Make a row from a JSON value; raise ValueError if it is not a row."""
        if not isinstance(content, dict):
            raise ValueError(f"not an object: {content!r}")
        content = {**_OFTEN, **content}
        row = cls(*map(content.get, cls.__match_args__))  # type: ignore[arg-type]
        device = (row.platform, row.kind, row.architecture, row.device)
        texts = (row.method, *device, row.dtype, row.family)
        sound = (
            all(isinstance(text, str) for text in texts)
            and isinstance(row.predecessors, bool)
            and _is_count(row.n)
            and 0 < row.n < 2**31
            and isinstance(row.rate, int | float)
            and isinstance(row.parameters, dict)
            and all(_is_count(each) or isinstance(each, str) for each in row.parameters.values())
            and row.objective in OBJECTIVES
            and isinstance(row.quick, bool)
        )
        if not sound:
            raise ValueError(f"a row with a missing or wrong field: {content!r}")
        return row


def user_folder() -> Path:
    """Return the folder of the user's database and journal: PYAPSP_TUNING or the data folder."""
    configured = os.environ.get("PYAPSP_TUNING")
    return Path(configured) if configured else _data_folder()


@cache
def _data_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("pyapsp"), "tuning")


def user_database() -> Path:
    """Return the path of the user's database, which may not exist."""
    return _in(user_folder())


@cache
def _in(folder: Path) -> Path:
    return folder / "database.json"


@cache
def shipped_databases() -> list[Path]:
    """Return the databases that come with the package."""
    return sorted((source.root() / "tuning").glob("*.json"))


def load(path: Path, *, strict: bool = True) -> tuple[Row, ...]:
    """Read a database.

    Parameters
    ----------
    path : Path
    strict : bool
        False: errors are logged, and wrong rows are left out.

    Raises
    ------
    FormatError
        If the file is not a database.
    OSError
        If it cannot be read.
    """
    rows = []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or not isinstance(content.get("rows"), list):
            raise ValueError("there are no rows")
        if content.get("schema") not in (1, _SCHEMA):
            raise ValueError(f"its schema {content.get('schema')} is not known")
        for each in content["rows"]:
            if content["schema"] == 1 and isinstance(each, dict):
                each = {**each, "family": "uniform", "rate": each.get("updates_per_second")}
            try:
                rows.append(Row.parse(each))
            except ValueError as error:
                if strict:
                    raise
                _log.warning("%s: %s", path, error)
    except (
        ValueError,
        RecursionError,
    ) as error:  # ValueError also covers text that is not JSON or not UTF-8
        if strict:
            raise FormatError(path, None, f"not a tuning database: {error}") from None
        _log.warning("%s is not a tuning database: %s", path, error)
    return tuple(rows)


def merge(path: Path, rows: Iterable[Row]) -> None:
    """Put rows into a database; they replace rows with the same `Row.place`.

    A row of a quick tuning does not replace one of a longer tuning.
    The file is replaced atomically, or made. Its rows are sorted. A lock file beside it, which is
    not removed, protects the rows if several processes write at the same time.

    Raises
    ------
    FormatError
        If the file exists but is not a database.
    OSError
        If it cannot be written.
    """
    from filelock import FileLock

    with FileLock(path.with_name(f".{path.name}.lock")):
        merged = {row.place: row for row in load(path)} if path.exists() else {}
        for row in rows:
            before = merged.get(row.place)
            if before is None or before.quick or not row.quick:
                merged[row.place] = row
        lines = [_line(merged[place]) for place in sorted(merged)]
        with atomic_write(path) as file:
            file.write(f'{{"schema": {_SCHEMA}, "rows": [\n' + ",\n".join(lines) + "\n]}\n")
        global _last
        _last = (), 0.0, ()


def _line(row: Row) -> str:
    content = asdict(row)
    content["parameters"] = dict(sorted(row.parameters.items()))
    for name, value in _OFTEN.items():
        if content[name] == value:
            del content[name]
    return json.dumps(content, ensure_ascii=False)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Unchanging:
    """In these contexts the files of the databases are checked for changes only once.

    They are checked when they are first used in one of the contexts of the object. Small calls
    that use none save the time of the check.

    Parameters
    ----------
    looked : Databases, optional
        An earlier result of `databases`, to be used instead of a check.
    """

    def __init__(self, looked: Databases | None = None) -> None:
        self.found = looked

    def __enter__(self) -> None:
        self._token = _looked.set(self)

    def __exit__(self, *_: object) -> None:
        _looked.reset(self._token)


def databases() -> Databases:
    """Return the databases that exist now; inside `Unchanging`, those at the first use there.

    A change by another program is seen after 50 ms at the latest.
    """
    looked = _looked.get()
    if looked is not None:
        if looked.found is None:
            looked.found = _existing()
        return looked.found
    return _existing()


def _existing() -> Databases:
    global _last
    files, now = (user_database(), *shipped_databases()), time.monotonic()
    before, until, last = _last
    if now < until and files == before:
        return last
    found = []
    for number, path in enumerate(files):
        try:
            status = os.stat(str(path))  # half the time of `Path.stat`
        except OSError:
            continue
        found.append((number == 0, path, status.st_ino, status.st_mtime_ns, status.st_size))
    _last = files, now + _CHECKED, tuple(found)
    return _last[2]
