"""The rows of the databases that can be used for a call, and the expected rate.

A row is a hint: if the method does not know a name or value in it, or the device cannot run it, the
row is ignored.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import NamedTuple

import numpy as np

from pyapsp.base.json import Record
from pyapsp.device import Device
from pyapsp.registry import Options, Parameters
from pyapsp.registry.tuning.database import Databases, Row, databases, load
from pyapsp.registry.tuning.space import Space
from pyapsp.registry.tuning.tunable import Tunable

__all__ = ["LEVELS", "Match", "is_tuned", "matches", "tuned", "tuned_methods", "tuned_rate"]

_log = logging.getLogger(__name__)

#: How similar the device of a row is, most similar first. The last has another platform.
LEVELS = ("device", "architecture", "kind", "platform")
_ELSEWHERE = LEVELS.index("platform")

# A row is used for n up to this many octaves below and above its own n. Few octaves below: costs
# that are small in a large matrix matter in a small one, where a large tile is mostly padding.
_DOWN, _UP = 1, 3
# The `_unlikeness` of two types of the same size and kind. Parameters of other types are not used.
_ALIKE = 1


@dataclass(frozen=True)
class Match:
    """A row that can be used for a call.

    The level, one of `LEVELS`, is how well it matches; `own` is whether it is from the user's
    database.
    """

    row: Row
    level: str
    own: bool

    def describe(self) -> Record:
        """Return the facts about the row for the record of a run."""
        row = self.row
        return {
            "level": self.level,
            "database": "user" if self.own else "shipped",
            "device": row.device,
            "platform": row.platform,
            "dtype": row.dtype,
            "family": row.family,
            "n": row.n,
            "objective": row.objective,
            "quick": row.quick,
            "commit": row.commit,
            "kernels": row.kernels,
        }


def matches(
    method: Tunable, n: int, options: Options, family: str = "uniform"
) -> tuple[Match, ...]:
    """Return the rows that can be used for a method with these options, best first.

    Parameters
    ----------
    method : Tunable
    n : int
        Size of the input: vertices.
    options : Options
    family : str
        Family of the input.

    Returns
    -------
    tuple of Match
        The order is: first those tuned for time; then by level (the same device, the same
        architecture, the same platform and kind); then the same dtype before a similar one; then
        the same family before others; then by the distance from n in octaves; then the user's rows
        before those of the package. Rows with more than twice or less than an eighth of n are left
        out. Parameters are not checked.
    """
    return _found(_asked(method, n, options, family)).matches


def tuned(
    method: Tunable, n: int, options: Options, family: str = "uniform"
) -> tuple[Parameters, Match] | None:
    """Return parameters for a method: those given by the caller, completed from the best row.

    Parameters
    ----------
    method, n, options, family
        As for `matches`. The ``parameters`` of the method were given by the caller and are never
        changed.

    Returns
    -------
    (Parameters, Match) or None
        None if no row gives a complete and legal set that fits the device, or if the caller gave
        all parameters.
    """
    found = _found(_asked(method, n, options, family)).completed
    return None if found is None else (Parameters(found[0]), found[1])


def tuned_rate(method: Tunable, n: int, options: Options, family: str = "uniform") -> float | None:
    """Return the expected work per second, interpolated from the nearest rows.

    The best row determines the dtype, the family and how similar its device is (one of `LEVELS`);
    the rows with these and any n are used. Of several devices that are as similar, the geometric
    mean is used. Between two sizes the rate is a power of n. Below the smallest size it follows the
    power above that size, but no run may be predicted to take longer than the smallest one that was
    timed. Above the largest size the rate is constant, or grows with `Tunable.growth`.

    If no method has a row for the platform, the rows of other platforms with this kind of device
    are used, so that the rates of different methods can be compared. Their parameters are not used.

    If only other methods, or other sizes of the method, have rows of this device, rates of other
    devices are multiplied by a quotient: that of both devices for the rows that they share. Of
    these the rows of the method and the dtype count, if there are any, and the sizes nearest to n.

    If no row has the dtype or a similar one, the rows of the type nearest in width are used. If
    that type is narrower than the dtype, the rate is reduced by `Tunable.slowdown`; if it is
    wider, the rate is used unchanged.

    Parameters
    ----------
    method, n, options, family
        As for `matches`.

    Returns
    -------
    float or None
        None if no row can be used.
    """
    return _found(_asked(method, n, options, family)).rate


class _Asked(NamedTuple):
    """The key under which results are cached: everything that the choice of rows depends on."""

    places: Databases
    method: type[Tunable]
    given: tuple[tuple[str, int | str], ...]
    options: type
    device: Device
    dtype: np.dtype
    predecessors: bool
    family: str
    n: int

    @property
    def of_any_size(self) -> _Asked:
        """The key for results that do not depend on size, family and given parameters."""
        return self._replace(given=(), family="", n=0)


def _asked(method: Tunable, n: int, options: Options, family: str) -> _Asked:
    return _Asked(
        databases(),
        type(method),
        tuple(method.parameters.items()),
        type(options),
        options.device,
        options.dtype,
        method.carries_predecessors and getattr(options, "predecessors", False),
        family,
        n,
    )


class _Found:
    """Results for one key; each property is computed when it is first used."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    @cached_property
    def suited(self) -> list[tuple[int, float, bool, Row]]:
        """Rows of any size: level, unlikeness of the dtype, whether it is the user's, the row."""
        asked, device, found = self._asked, self._asked.device, []
        if asked != asked.of_any_size:
            return _found(asked.of_any_size).suited
        kind = (asked.method.id, asked.predecessors, device.kind)
        for own, path, *version in asked.places:
            for row in _kept(path, tuple(version)):
                if (row.method, row.predecessors, row.kind) != kind:
                    continue
                unlikeness = _unlikeness(row.dtype, asked.dtype)
                if unlikeness is not None:
                    found.append((_nearness(row, device), unlikeness, own, row))
        return found

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """The result of `matches`."""
        elsewhere = LEVELS[_ELSEWHERE]
        return tuple(each for each in self._nearest(_ALIKE) if each.level != elsewhere)

    def _nearest(self, unlike: float) -> list[Match]:
        """Return the rows near in size whose dtype has at most this unlikeness, best first."""
        asked, found = self._asked, []
        for near, unlikeness, own, row in self.suited:
            octaves = math.log2(max(asked.n, 1) / row.n)
            if -_DOWN <= octaves <= _UP and unlikeness <= unlike:
                size = (round(abs(octaves)), not own, abs(octaves), row.n)
                slower = row.objective != "time"
                order = (slower, near, unlikeness, row.family != asked.family, *size)
                found.append((order, Match(row, LEVELS[near], own)))
        return [match for _, match in sorted(found, key=lambda each: each[0])]

    @cached_property
    def completed(self) -> tuple[Parameters, Match] | None:
        """The result of `tuned`."""
        asked = self._asked
        method = asked.method(**dict(asked.given))
        fitting = asked.options(asked.device, asked.dtype)
        if asked.predecessors:
            fitting = replace(fitting, predecessors=True)
        space = Space(method, fitting)
        for match in self.matches:
            parameters = Parameters({**match.row.parameters, **method.parameters})
            if parameters in space:
                return None if parameters == method.parameters else (parameters, match)
            _log.info("ignored a tuning row that does not fit: %s", match.row)
        return None

    @cached_property
    def rate(self) -> float | None:
        """The result of `tuned_rate`."""
        serving = (match for match in self._nearest(math.inf) if match.row.rate > 0)
        nearest = next(serving, None)
        if nearest is None:
            return None
        near = LEVELS.index(nearest.level)
        quotient = self._quotient(near, self._asked.n)
        if quotient is None:
            return None
        rates = self._rates(near, nearest.row)
        if near == 0:
            rates |= self._beyond(nearest.row, min(rates), max(rates))
        sizes = np.log(sorted(rates))
        logs = np.log([rates[size] for size in sorted(rates)])
        size = math.log(max(self._asked.n, 1))
        expected = np.interp(size, sizes, logs)
        if size < sizes[0] and len(sizes) > 1:
            power = np.clip((logs[1] - logs[0]) / (sizes[1] - sizes[0]), 0, 3)
            expected += power * (size - sizes[0])
        elif size > sizes[-1]:
            expected += self._asked.method.growth * (size - sizes[-1])
        wider = self._asked.dtype.itemsize / np.dtype(nearest.row.dtype).itemsize
        rate = np.exp(expected) / max(wider, 1.0) ** self._asked.method.slowdown
        return float(rate * quotient)

    def _rates(self, near: int, alike: Row) -> dict[int, float]:
        """Return the rate at each n: of a level, and of the type, family and objective of a row.

        It is the geometric mean over the devices of the level, in the user's database if there.
        """
        rates: dict[int, dict[bool, list[float]]] = {}
        for level, _, own, row in self.suited:
            fields = (row.dtype, row.family, row.objective)
            same = level == near and fields == (alike.dtype, alike.family, alike.objective)
            if same and row.rate > 0:
                rates.setdefault(row.n, {}).setdefault(own, []).append(row.rate)
        return {n: geometric_mean(each[max(each)]) for n, each in rates.items()}

    def _beyond(self, alike: Row, least: int, most: int) -> dict[int, float]:
        """Return rates for sizes below and above those of this device, from the nearest level.

        They are multiplied by the quotients of the method.
        """
        name, places, device = self._asked.method.id, self._asked.places, self._asked.device
        for near in range(1, len(LEVELS)):
            rates = self._rates(near, alike)
            if rates and any(each.method == name for each in _quotients(places, device, near)):
                return {
                    n: rate * (self._quotient(near, n) or 1.0)
                    for n, rate in rates.items()
                    if not least <= n <= most
                }
        return {}

    def _quotient(self, near: int, n: int) -> float | None:
        """Return the speed of this device beside those of a level; None if it is not known.

        Without rows of this device, rates of the same platform are compared as they are; those of
        other platforms only if this one has none.
        """
        asked, device = self._asked, self._asked.device
        if near == 0:
            return 1.0
        quotients = _quotients(asked.places, device, near)
        if not quotients:
            tuned = (device.platform_name, device.kind) in _tuned_platforms(asked.places)
            return None if tuned and near == _ELSEWHERE else 1.0
        own = [each for each in quotients if each.method == asked.method.id]
        alike = [each for each in own if each.dtype == asked.dtype.name] or own or quotients
        octaves = [abs(math.log2(max(n, 1) / each.n)) for each in alike]
        pairs = zip(alike, octaves, strict=True)
        return math.exp(fmean(each.log for each, far in pairs if far == min(octaves)))


# Cached, because finding a row that fits takes as long as the rest of the plan of a small graph.
_found = lru_cache(maxsize=4096)(_Found)


def _nearness(row: Row, device: Device) -> int:
    """Return the place in `LEVELS` of the device of a row."""
    if row.platform != device.platform_name:
        return _ELSEWHERE
    alike = row.architecture == device.architecture
    return [alike and row.device == device.plain_name, alike, True].index(True)


class _Quotient(NamedTuple):
    """How much faster a device is than those of a level, for a row that both have.

    `log` is the logarithm of the quotient of the rates.
    """

    method: str
    dtype: str
    n: int
    log: float


@lru_cache(maxsize=64)
def _quotients(places: Databases, device: Device, near: int) -> list[_Quotient]:
    """Return the quotients of a device and a level."""
    rates: tuple[dict[tuple[str, str, int, bool, str], list[float]], ...] = {}, {}
    for _, path, *version in places:
        for row in _kept(path, tuple(version)):
            level = _nearness(row, device)
            counts = row.kind == device.kind and row.rate > 0 and row.objective == "time"
            if counts and level in (0, near):
                sample = (row.method, row.dtype, row.n, row.predecessors, row.family)
                rates[level > 0].setdefault(sample, []).append(row.rate)
    here, there = rates
    return [
        _Quotient(*sample[:3], math.log(found[0] / geometric_mean(there[sample])))
        for sample, found in here.items()
        if sample in there
    ]


def is_tuned(platform: str, kind: str, architecture: str, methods: Collection[str]) -> bool:
    """Return whether one of these methods has a row of an architecture, shipped or of the user.

    Parameters
    ----------
    platform, kind, architecture : str
        As in a `Row`.
    methods : collection of str
        Their ids.
    """
    return any(
        (row.platform, row.kind, row.architecture) == (platform, kind, architecture)
        and row.method in methods
        for _, path, *version in databases()
        for row in _kept(path, tuple(version))
    )


def tuned_methods() -> frozenset[str]:
    """Return the ids of the methods that have rows, of whatever device."""
    return _tuned_methods(databases())


@lru_cache(maxsize=64)
def _tuned_methods(places: Databases) -> frozenset[str]:
    return frozenset(
        row.method for _, path, *version in places for row in _kept(path, tuple(version))
    )


@lru_cache(maxsize=64)
def _tuned_platforms(places: Databases) -> frozenset[tuple[str, str]]:
    """Return platform and kind of the devices that have rows."""
    return frozenset(
        (row.platform, row.kind)
        for _, path, *version in places
        for row in _kept(path, tuple(version))
    )


@lru_cache(maxsize=64)
def _kept(path: Path, version: tuple[int, ...]) -> tuple[Row, ...]:
    """Read each version of a file once."""
    try:
        return load(path, strict=False)
    except OSError as error:
        _log.warning("%s", error)
        return ()


def _unlikeness(name: str, dtype: np.dtype) -> float | None:
    """Return how different two types are: 0 if the same, `_ALIKE` if of equal size and kind.

    The kinds are integers and floats. None if it is not a number type.
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
