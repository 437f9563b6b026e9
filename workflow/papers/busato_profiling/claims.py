"""The statements of [B] chapters 15 and 16 about time, power and energy, answered here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import fmean
from typing import Any

from papers.claims import (
    Answers,
    Times,
    UnmeasuredError,
    Verdict,
    largest,
    listed,
    near,
    reaches,
    within,
)
from papers.measured import Measured
from papers.published import Published
from papers.runner import RunRecord

__all__ = ["CLAIMS", "Joules", "Programs", "Techniques", "fastest", "least"]

_PAPER = Published("busato_profiling")
_CARDS = ("GTX 660", "GTX 980")
_WARPS = tuple(f"virtual warps of {width}" for width in (2, 4, 8, 16, 32))
_STATIC = ("work-items to threads", *_WARPS)
_MULTI, _CTA, _TWO, _LOCAL = "Multi-phase", "CTA + warp + scan", "two-phase", "local warp search"
_SEMI = ("dynamic virtual warps", "dynamic + relaunch", _CTA)
_DYNAMIC = (_LOCAL, _TWO, _MULTI)
# The techniques of the figures; direct and block search, and forms of ours, are not in them.
_PLOTTED = (*_STATIC, *_SEMI, *_DYNAMIC)
_LEAST_KERNELS = 20
_OSM, _WEB, _PATENTS, _CIRCUIT, _SKITTER = _INPUTS = (
    *("great-britain_osm", "web-NotreDame", "cit-Patents", "circuit5M", "as-Skitter"),
)


def fastest(runs: Iterable[RunRecord], version: str) -> RunRecord | None:
    """Return the fastest run of a version of a program."""
    of = [run for run in runs if run["label"]["version"] == version]
    return min(of, key=lambda run: float(run["seconds"]["kernel"]), default=None)


def least(runs: Iterable[RunRecord], version: str) -> RunRecord | None:
    """Return the run of a version with the least energy; None if none was measured."""
    of = [
        run
        for run in runs
        if run["label"]["version"] == version and run["energy"]["joules"] is not None
    ]
    return min(of, key=lambda run: float(run["energy"]["joules"]), default=None)


def _range(section: str, quantity: str, version: str) -> tuple[float, float]:
    """Return the least and the most of the published values of both cards."""
    rows = _PAPER.rows(exhibit=section, quantity=quantity, version=version)
    values = [float(row["value"]) for row in rows if row["device"] in _CARDS]
    return min(values), max(values)


@dataclass(frozen=True)
class Programs:
    """The versions of a program, at the largest size."""

    name: str
    measured: Measured

    @cached_property
    def runs(self) -> Sequence[RunRecord]:
        """All runs."""
        experiment = f"busato-profiling-{self.name}"
        return list(self.measured.runs(experiment, largest(self.measured, experiment)))

    @cached_property
    def times(self) -> Times[str]:
        """Version -> seconds with its fastest group."""
        versions = {run["label"]["version"] for run in self.runs}
        found = {each: fastest(self.runs, each) for each in versions}
        return Times({each: run["seconds"]["kernel"] for each, run in found.items() if run})

    def energy(self, column: str) -> Times[str]:
        """Return a column of the energy of the fastest group of each version."""
        values: dict[str, float] = {}
        for version in self.times:
            run = fastest(self.runs, version)
            if run is not None and run["energy"][column] is not None:
                values[version] = run["energy"][column]
        if not values:
            raise UnmeasuredError("energy")
        return Times(values)

    def speedup(self, version: str, over: str = "orig") -> float:
        """Return the speedup of a version."""
        return self.times[over] / self.times[version]

    def peak(self, version: str) -> float:
        """Return the peak power of a version over that of the first, less 1, in per cent."""
        peaks = self.energy("peak_watts")
        return 100 * (peaks[version] / peaks["orig"] - 1)


def _v1(facts: Programs) -> Verdict:
    section = "section 15.3.2" if facts.name == "reduction" else "section 15.3.3"
    speedup = facts.speedup("v1.0")
    return Verdict(
        within(speedup, *_range(section, "speedup", "v1.0")), listed({"speedup": speedup})
    )


def _lower_peak(facts: Programs) -> Verdict:
    saved = -facts.peak("v1.0")
    said = _range("section 15.3.2", "peak power saved", "v1.0")
    return Verdict(within(saved, *said), listed({"peak power saved, %:": saved}))


def _higher_peak(facts: Programs) -> Verdict:
    more = facts.peak("v1.0")
    said = _range("section 15.3.3", "more peak power", "v1.0")
    return Verdict(within(more, *said), listed({"more peak power, %:": more}))


def _falls(values: Times[str]) -> Verdict:
    """Return whether a number falls along both branches of versions: v1.0, and v2.0 to v2.1."""
    branches = ("orig", "v1.0"), ("orig", "v2.0", "v2.1")
    falls = all(
        values[after] < values[before] for branch in branches for before, after in pairwise(branch)
    )
    versions = dict.fromkeys(version for branch in branches for version in branch)
    return Verdict(falls, listed({each: 1e3 * values[each] for each in versions}))


def _each_faster(facts: Programs) -> Verdict:
    return _falls(facts.times)


def _each_frugal(facts: Programs) -> Verdict:
    return _falls(facts.energy("joules"))


def _last_of_transpose(facts: Programs) -> Verdict:
    speedup = facts.speedup("v2.1")
    said = _PAPER.value(
        exhibit="section 15.3.3", quantity="speedup", version="v2.1", device="GTX 660"
    )
    assert said is not None
    return Verdict(reaches(speedup, said), listed({"speedup": speedup}))


@dataclass(frozen=True)
class Techniques:
    """The techniques at the largest size."""

    measured: Measured

    @cached_property
    def _best(self) -> dict[str, dict[str, RunRecord]]:
        sizes = self.measured.sizes("busato-profiling-techniques")
        if not sizes:
            raise UnmeasuredError("techniques")
        best: dict[str, dict[str, RunRecord]] = {}
        for run in self.measured.runs("busato-profiling-techniques", max(sizes)):
            of = best.setdefault(run["label"]["input"], {})
            technique, seconds = run["label"]["technique"], run["seconds"]["kernel"]
            if technique not in of or seconds < of[technique]["seconds"]["kernel"]:
                of[technique] = run
        return best

    def times(self, name: str) -> Times[str]:
        """Return technique -> seconds with its best group, on an input."""
        of = self._best.get(name, {})
        return Times({each: of[each]["seconds"]["kernel"] for each in _PLOTTED if each in of})

    def energy(self, name: str, column: str = "joules") -> Times[str]:
        """Return technique -> a column of its energy, on an input."""
        of = self._best.get(name, {})
        values = {each: of[each]["energy"][column] for each in _PLOTTED if each in of}
        known = {each: value for each, value in values.items() if value is not None}
        if not known:
            raise UnmeasuredError("energy")
        return Times(known)


def _lowest(values: Times[str], names: Iterable[str] = _PLOTTED, but: Iterable[str] = ()) -> float:
    """Return the least of these values; all must be there."""
    return min(values[name] for name in names if name not in but)


def _said(quantity: str, name: str) -> float:
    value = _PAPER.value(exhibit="section 16.2", quantity=quantity, item=name)
    assert value is not None
    return value


def _first(values: Times[str], scale: float = 1e3) -> str:
    names = sorted(values, key=values.__getitem__)[:3]
    return listed({name: scale * values[name] for name in names})


def _road_time(facts: Techniques) -> Verdict:
    times = facts.times(_OSM)
    others = _lowest(times, but=[_MULTI])
    static = _lowest(times, _STATIC)
    return Verdict(others == static and times[_MULTI] < static, _first(times))


def _road_energy(facts: Techniques) -> Verdict:
    joules = facts.energy(_OSM)
    others = min(joules[name] for name in (_LOCAL, _TWO)) / joules[_MULTI]
    said = _said("energy of the other dynamic techniques over Multi-phase", _OSM)
    return Verdict(
        joules[_MULTI] == _lowest(joules) and near(others, said),
        f"mJ: {_first(joules)}; others over Multi-phase {others:.3g}",
    )


def _web_time(facts: Techniques) -> Verdict:
    times = facts.times(_WEB)
    second = _lowest(times, but=[_MULTI]) / times[_MULTI]
    two = times[_TWO] / times[_MULTI]
    return Verdict(
        _lowest(times, _WARPS) < _lowest(times, but=[_MULTI, *_WARPS])
        and near(second, _said("speedup of Multi-phase over the second", _WEB))
        and near(two, _said("speedup of Multi-phase over two-phase", _WEB)),
        f"second / Multi-phase {second:.3g}, two-phase / Multi-phase {two:.3g}",
    )


def _irregular_time(facts: Techniques) -> Verdict:
    first, as_said, texts = True, [], []
    for name in (_PATENTS, _CIRCUIT):
        times = facts.times(name)
        said = _said("speedup of dynamic techniques over static ones", name)
        gains = [_lowest(times, _STATIC) / times[each] for each in (_CTA, _TWO, _MULTI)]
        first &= times[_MULTI] == _lowest(times)
        as_said += [near(gain, said) for gain in gains]
        texts.append(f"{name}: {', '.join(f'{gain:.3g}' for gain in gains)}")
    return Verdict(first and sum(as_said) > len(as_said) / 2, "; ".join(texts))


def _irregular_energy(facts: Techniques) -> Verdict:
    holds, texts = True, []
    for name in (_PATENTS, _CIRCUIT):
        joules = facts.energy(name)
        said = _said("energy of static over two-phase and Multi-phase", name)
        gains = [_lowest(joules, _STATIC) / joules[each] for each in (_TWO, _MULTI)]
        holds &= all(reaches(gain, said) for gain in gains)
        texts.append(f"{name}: {', '.join(f'{gain:.3g}' for gain in gains)}")
    return Verdict(holds, "; ".join(texts))


def _skitter_time(facts: Techniques) -> Verdict:
    times = facts.times(_SKITTER)
    leading = (_MULTI, _CTA)
    ahead = max(times[name] for name in leading) < _lowest(times, but=leading)
    return Verdict(ahead, _first(times))


def _skitter_energy(facts: Techniques) -> Verdict:
    joules, watts = facts.energy(_SKITTER), facts.energy(_SKITTER, "watts")
    names = (_TWO, _MULTI)
    gains = [_lowest(joules, _STATIC) / joules[name] for name in names]
    said = _said("energy of static over dynamic techniques", _SKITTER)
    most = max(watts[name] for name in _STATIC)
    return Verdict(
        all(near(gain, said) for gain in gains) and all(watts[name] > most for name in names),
        f"static / dynamic {', '.join(f'{gain:.3g}' for gain in gains)}",
    )


def _relaunches(facts: Techniques) -> Verdict:
    every = map(facts.times, _INPUTS)
    quotients = [times["dynamic + relaunch"] / times["dynamic virtual warps"] for times in every]
    return Verdict(
        min(quotients) > 1, f"with over without: {', '.join(f'{each:.3g}' for each in quotients)}"
    )


def _trade_off(facts: Techniques) -> Verdict:
    over = {}
    for name in _INPUTS:
        times, joules = facts.times(name), facts.energy(name)
        products = Times({each: times[each] * joules[each] for each in joules})
        over[name] = products[_MULTI] / _lowest(products, but=[_MULTI])
    return Verdict(max(over.values()) < 1, listed(over))


@dataclass(frozen=True)
class Joules:
    """Predicted over measured energy of kernels, at a size; by default at the largest."""

    measured: Measured
    n: int | None = None

    @cached_property
    def _runs(self) -> list[RunRecord]:
        experiment = "busato-profiling-joules"
        n = largest(self.measured, experiment) if self.n is None else self.n
        return [each for each in self.measured.runs(experiment, n) if each["joules"] is not None]

    @property
    def ratios(self) -> list[float]:
        """Of each kernel."""
        return [each["predicted"] / each["joules"] for each in self._runs]

    @property
    def errors(self) -> list[float]:
        """In per cent, of each kernel."""
        return [100 * abs(each - 1) for each in self.ratios]

    @property
    def mean_error(self) -> float:
        """The mean of the errors."""
        if not self.errors:
            raise UnmeasuredError("energy")
        return fmean(self.errors)

    @property
    def without_parts(self) -> float:
        """The mean error if no operation and no access used energy."""
        return fmean(100 * abs(each["parts"]["time"] / each["joules"] - 1) for each in self._runs)

    @property
    def published(self) -> float:
        """The mean error of Wattchmen on an H100, in per cent."""
        value = _PAPER.value(exhibit="Wattchmen", quantity="mean error of energy")
        assert value is not None
        return value


def _as_wattchmen(facts: Joules) -> Verdict:
    error, kernels = facts.mean_error, len(facts.ratios)
    numbers = listed({"mean error, %:": error, "kernels:": kernels})
    return Verdict(reaches(facts.published, error) if kernels >= _LEAST_KERNELS else None, numbers)


#: Topic -> number of a statement -> its judge.
CLAIMS: dict[str, Answers[Any]] = {
    "reduction": {
        "RD1": _v1,
        "RD2": _lower_peak,
        "RD3": _each_faster,
        "RD4": _each_frugal,
    },
    "transpose": {
        "TP1": _v1,
        "TP2": _higher_peak,
        "TP3": _each_faster,
        "TP4": _each_frugal,
        "TP5": _last_of_transpose,
    },
    "joules": {"WM1": _as_wattchmen},
    "techniques": {
        "EN1": _road_time,
        "EN2": _road_energy,
        "EN3": _web_time,
        "EN4": _irregular_time,
        "EN5": _irregular_energy,
        "EN6": _skitter_time,
        "EN7": _skitter_energy,
        "EN8": _relaunches,
        "EN9": _trade_off,
    },
}
