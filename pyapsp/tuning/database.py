"""What was measured to be fast, by method, device, type and size; and where to look for it.

A database is a JSON file, one line per row. Those in ``cl/tuning`` are shipped; the user's own is
``database.json`` in `user_folder`. A row is only ever a hint: what the method does not know, or
what does not fit the device, is passed over.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from pyapsp.device import Device
from pyapsp.errors import FormatError
from pyapsp.files import atomic_write
from pyapsp.kernels import source
from pyapsp.tuning.space import Space

if TYPE_CHECKING:
    from pyapsp.tuning.method import TunableMethod

__all__ = [
    "LEVELS",
    "Databases",
    "Match",
    "Row",
    "Unchanging",
    "databases",
    "load",
    "matches",
    "merge",
    "tuned",
    "tuned_rate",
    "user_database",
    "user_folder",
]

_log = logging.getLogger(__name__)
_SCHEMA = 2

#: How near the device of a row is, nearest first. All have the same platform.
LEVELS = ("device", "architecture", "kind")

# Octaves of n, down and up, in which a row may serve. In a large matrix the bulk of the work hides
# what is slow in a small one, and a large tile is mostly padding there; upwards little changes.
_DOWN, _UP = 1, 3
# How unlike types as wide and as integral are; the parameters of others do not serve.
_ALIKE = 1


#: Which databases there are: whether it is the user's, path, and what changes with the content.
Databases: TypeAlias = tuple[tuple[bool, Path, int, int, int], ...]
_looked: ContextVar[Databases | None] = ContextVar("looked", default=None)


@dataclass(frozen=True)
class Row:
    """The fastest parameters found for one method, device, type and size.

    Attributes
    ----------
    method : str
        Its id.
    platform, kind, architecture, device : str
        Of the device: platform name, "gpu", "cpu" or "accelerator", `Device.architecture` and
        `Device.plain_name`.
    dtype : str
        Of the distances.
    predecessors : bool
        Whether the kernels carried predecessors.
    family : str
        Which of `Problem.families` the input that was timed was drawn from.
    n : int
        Size of that input: vertices of a graph.
    parameters : dict
        Every parameter of the method.
    rate : float
        The work of the problem (`Problem.work`) by the seconds of planning and running, with
        transfers.
    driver, pyapsp, commit, kernels : str or None
        What it was measured with: the driver, this package, its commit, and a hash of the kernel
        files.
    """

    method: str
    platform: str
    kind: str
    architecture: str
    device: str
    dtype: str
    predecessors: bool
    family: str
    n: int
    parameters: dict[str, int | str]
    rate: float
    driver: str | None = None
    pyapsp: str | None = None
    commit: str | None = None
    kernels: str | None = None

    @property
    def place(self) -> tuple[Any, ...]:
        """What may be in a database only once; also the order of a file."""
        device = (self.platform, self.kind, self.device, self.architecture)
        return (self.method, *device, self.dtype, self.predecessors, self.family, self.n)

    @classmethod
    def parse(cls, content: Any) -> Row:
        """Make a row of what JSON held; ValueError when it is none."""
        if not isinstance(content, dict):
            raise ValueError(f"not an object: {content!r}")
        row = cls(**{field.name: content.get(field.name) for field in fields(cls)})  # type: ignore[arg-type]
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
        )
        if not sound:
            raise ValueError(f"a row with a missing or wrong field: {content!r}")
        return row


@dataclass(frozen=True)
class Match:
    """A row that may serve, and why.

    Attributes
    ----------
    row : Row
    level : str
        One of `LEVELS`.
    own : bool
        Whether it is from the user's database.
    """

    row: Row
    level: str
    own: bool

    def describe(self) -> dict[str, Any]:
        """Return what the record of a run says about the row."""
        row = self.row
        return {
            "level": self.level,
            "database": "user" if self.own else "shipped",
            "device": row.device,
            "platform": row.platform,
            "dtype": row.dtype,
            "family": row.family,
            "n": row.n,
            "commit": row.commit,
            "kernels": row.kernels,
        }


def user_folder() -> Path:
    """Return where the user's database and journal are: ``PYAPSP_TUNING``, or the data folder."""
    configured = os.environ.get("PYAPSP_TUNING")
    return Path(configured) if configured else _data_folder()


@cache
def _data_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("pyapsp"), "tuning")


def user_database() -> Path:
    """Return the path of the user's database, which need not exist."""
    return _in(user_folder())


@cache
def _in(folder: Path) -> Path:
    return folder / "database.json"


@cache
def shipped_databases() -> list[Path]:
    """Return the databases that come with the package."""
    return sorted((source.root() / "tuning").glob("*.json"))


def matches(
    method: TunableMethod, n: int, options: Any, family: str = "uniform"
) -> tuple[Match, ...]:
    """Return the rows that may serve for a method under these options, best first.

    Parameters
    ----------
    method : TunableMethod
    n : int
        Size of the input: vertices.
    options : Options
    family : str
        Of the input.

    Returns
    -------
    tuple of Match
        Of the same device before those of the same architecture, and these before those of the
        same platform and kind. At one level, of the same dtype before those of one like it; then
        of the same family before the others; then of the nearest n, counted in octaves; then the
        user's rows before the shipped ones. None of an input more than twice, or less than an
        eighth, as large. Nothing is said about their parameters.
    """
    return _found(_asked(method, n, options, family)).matches


def tuned(
    method: TunableMethod, n: int, options: Any, family: str = "uniform"
) -> tuple[dict[str, int | str], Match] | None:
    """Return parameters for a method: those asked for, completed by the best row that may.

    Parameters
    ----------
    method : TunableMethod
        Its ``parameters`` were asked for, and are never changed.
    n : int
        Size of the input: vertices.
    options : Options
    family : str
        Of the input.

    Returns
    -------
    (dict, Match) or None
        None when there is no row with which they are complete, legal, and fit the device, or
        when nothing is to be completed.
    """
    found = _found(_asked(method, n, options, family)).completed
    return None if found is None else (dict(found[0]), found[1])


def tuned_rate(
    method: TunableMethod, n: int, options: Any, family: str = "uniform"
) -> float | None:
    """Return the work per second to expect, between those of the nearest rows.

    The rows of any n, of the device, dtype and family of the nearest one that may serve. Between
    two sizes the rate goes with a power of n; below the smallest with the same power as above it,
    if no run is then longer than the smallest that was timed; above the largest it stays.

    Where no row is of such a type, those of the type nearest in width count. If it is narrower
    than the one asked for, the rate falls by `TunableMethod.slowdown`; if it is wider, the rate
    stays.

    Parameters
    ----------
    method : TunableMethod
    n : int
        Size of the input: vertices.
    options : Options
    family : str
        Of the input.

    Returns
    -------
    float or None
        None when there is no row that may serve.
    """
    return _found(_asked(method, n, options, family)).rate


def load(path: Path, *, strict: bool = True) -> tuple[Row, ...]:
    """Read a database.

    Parameters
    ----------
    path : Path
    strict : bool
        False: what is wrong goes to the log, and is left out.

    Raises
    ------
    FormatError
        If this is no database.
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
    except (ValueError, RecursionError) as error:  # also what is not JSON, or not UTF-8
        if strict:
            raise FormatError(path, None, f"not a tuning database: {error}") from None
        _log.warning("%s is not a tuning database: %s", path, error)
    return tuple(rows)


def merge(path: Path, rows: Iterable[Row]) -> None:
    """Put rows into a database, in place of those for the same method, device, type and size.

    The file is replaced at once, or made; its order does not depend on that of the rows. Several
    processes may do so: none loses the rows of another, by a lock file beside it, which stays.

    Raises
    ------
    FormatError
        If there is a file, but no database.
    OSError
        If it cannot be written.
    """
    from filelock import FileLock

    with FileLock(path.with_name(f".{path.name}.lock")):
        merged = {row.place: row for row in load(path)} if path.exists() else {}
        merged |= {row.place: row for row in rows}
        lines = [_line(merged[place]) for place in sorted(merged)]
        with atomic_write(path) as file:
            file.write(f'{{"schema": {_SCHEMA}, "rows": [\n' + ",\n".join(lines) + "\n]}\n")


def _line(row: Row) -> str:
    content = asdict(row)
    content["parameters"] = dict(sorted(row.parameters.items()))
    return json.dumps(content, ensure_ascii=False)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Unchanging:
    """Look once whether the databases changed, for all that is asked of them inside.

    Parameters
    ----------
    looked : Databases, optional
        What `databases` said.
    """

    def __init__(self, looked: Databases | None = None) -> None:
        self._found = databases() if looked is None else looked

    def __enter__(self) -> None:
        self._token = _looked.set(self._found)

    def __exit__(self, *_: object) -> None:
        _looked.reset(self._token)


def databases() -> Databases:
    """Return the databases that there are now, or were at the start of `Unchanging`."""
    looked = _looked.get()
    if looked is not None:
        return looked
    found = []
    for own, path in [(True, user_database()), *((False, path) for path in shipped_databases())]:
        try:
            status = path.stat()
        except OSError:
            continue
        found.append((own, path, status.st_ino, status.st_mtime_ns, status.st_size))
    return tuple(found)


class _Asked(NamedTuple):
    """Everything that decides which rows serve, and how: answers are kept by it."""

    places: Databases
    method: type[TunableMethod]
    given: tuple[tuple[str, int | str], ...]
    options: type
    device: Device
    dtype: np.dtype[Any]
    predecessors: bool
    family: str
    n: int

    @property
    def of_any_size(self) -> _Asked:
        """The same for what rows of every size and family have in common."""
        return self._replace(given=(), family="", n=0)


def _asked(method: TunableMethod, n: int, options: Any, family: str) -> _Asked:
    return _Asked(
        databases(),
        type(method),
        tuple(method.parameters.items()),
        type(options),
        options.device,
        options.dtype,
        method.carries_predecessors and options.predecessors,
        family,
        n,
    )


class _Found:
    """What the databases say, each part from when it is first wanted."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    @cached_property
    def suited(self) -> list[tuple[int, float, bool, Row]]:
        """Rows of any size: how far they are in device and in dtype, whose, and the row."""
        asked, device, found = self._asked, self._asked.device, []
        if asked != asked.of_any_size:
            return _found(asked.of_any_size).suited
        kind = (asked.method.id, asked.predecessors, device.platform_name, device.kind)
        for own, path, *version in asked.places:
            for row in _kept(path, tuple(version)):
                if (row.method, row.predecessors, row.platform, row.kind) != kind:
                    continue
                unlikeness = _unlikeness(row.dtype, asked.dtype)
                if unlikeness is not None:
                    alike = row.architecture == device.architecture
                    near = [alike and row.device == device.plain_name, alike, True].index(True)
                    found.append((near, unlikeness, own, row))
        return found

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """As `matches` returns them."""
        return tuple(self._nearest(_ALIKE))

    def _nearest(self, unlike: float) -> list[Match]:
        """Return the rows near in size, and no farther in dtype than this, best first."""
        asked, found = self._asked, []
        for near, unlikeness, own, row in self.suited:
            octaves = math.log2(max(asked.n, 1) / row.n)
            if -_DOWN <= octaves <= _UP and unlikeness <= unlike:
                size = (round(abs(octaves)), not own, abs(octaves), row.n)
                order = (near, unlikeness, row.family != asked.family, *size)
                found.append((order, Match(row, LEVELS[near], own)))
        return [match for _, match in sorted(found, key=lambda each: each[0])]

    @cached_property
    def completed(self) -> tuple[dict[str, int | str], Match] | None:
        """As `tuned` returns it."""
        asked = self._asked
        method = asked.method(**dict(asked.given))
        fitting = asked.options(asked.device, asked.dtype)
        if asked.predecessors:
            fitting = replace(fitting, predecessors=True)
        space = Space(method, fitting)
        for match in self.matches:
            parameters = {**match.row.parameters, **method.parameters}
            if parameters in space:
                return None if parameters == method.parameters else (parameters, match)
            _log.info("passed over a tuning row that does not fit: %s", match.row)
        return None

    @cached_property
    def rate(self) -> float | None:
        """As `tuned_rate` returns it."""
        serving = (match for match in self._nearest(math.inf) if match.row.rate > 0)
        nearest = next(serving, None)
        if nearest is None:
            return None
        rates: dict[int, float] = {}
        for near, _, _, row in self.suited:
            near_row = (nearest.level, nearest.row.dtype, nearest.row.family)
            alike = (LEVELS[near], row.dtype, row.family) == near_row
            if alike and row.rate > 0:
                rates.setdefault(row.n, row.rate)  # the user's come first
        sizes = np.log(sorted(rates))
        logs = np.log([rates[size] for size in sorted(rates)])
        size = math.log(max(self._asked.n, 1))
        expected = np.interp(size, sizes, logs)
        if size < sizes[0] and len(sizes) > 1:
            power = np.clip((logs[1] - logs[0]) / (sizes[1] - sizes[0]), 0, 3)
            expected += power * (size - sizes[0])
        wider = self._asked.dtype.itemsize / np.dtype(nearest.row.dtype).itemsize
        return float(np.exp(expected) / max(wider, 1.0) ** self._asked.method.slowdown)


# Looking for a row that fits costs as much as planning the rest of a small graph.
_found = lru_cache(maxsize=4096)(_Found)


@lru_cache(maxsize=64)
def _kept(path: Path, version: tuple[int, ...]) -> tuple[Row, ...]:
    """Read each version of a file once."""
    try:
        return load(path, strict=False)
    except OSError as error:
        _log.warning("%s", error)
        return ()


def _unlikeness(name: str, dtype: np.dtype) -> float | None:
    """Return how far a type is from another: 0 is the same, `_ALIKE` as wide and as integral.

    None if it is no type of numbers.
    """
    if name == dtype.name:
        return 0
    try:
        other = np.dtype(name)
    except TypeError:
        return None
    if other.kind not in "iuf":
        return None
    octaves = abs(math.log2(other.itemsize / dtype.itemsize))
    return _ALIKE + 2 * octaves + ((other.kind == "f") != (dtype.kind == "f"))
