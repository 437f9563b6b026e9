"""The statements of [B] chapters 4 and 5 about times, answered by our measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import geometric_mean

from papers.busato_traversal.partition.experiments import TECHNIQUES
from papers.busato_traversal.partition.stand_ins import NAMES, shape
from papers.claims import (
    TOLERANCE,
    UNMEASURED,
    Answers,
    Times,
    UnmeasuredError,
    Verdict,
    every,
    largest,
    listed,
    near,
    reaches,
    within,
)
from papers.measured import Measured
from papers.published import Published
from papers.runner import RunRecord

__all__ = ["CLAIMS", "Facts", "best"]

_ITEMS = "work-items to threads"
_WIDTHS = {f"virtual warps of {width}": width for width in (2, 4, 8, 16, 32)}
_WARPS, _WIDEST = tuple(_WIDTHS), max(_WIDTHS.values())
_STATIC = (_ITEMS, *_WARPS)
_MULTI, _CTA, _TWO, _LOCAL = "Multi-phase", "CTA + warp + scan", "two-phase", "local warp search"
_DYNAMIC, _RELAUNCH = "dynamic virtual warps", "dynamic + relaunch"
# Forms that are not in the plots of the thesis.
_OURS = (
    "threads + relaunch",
    "dynamic + fused relaunch",
    "dynamic + group strip",
    "local warp search, registers",
    "two-phase, merge path",
    "direct search",
    "block search",
    "Multi-phase, marks",
)
_PLOTTED = tuple(name for name in TECHNIQUES if name not in _OURS)
_OSM, _PATENTS, _WEB, _REGULAR, _CIRCUIT, _SKITTER, _KRON = NAMES
# "Much slower" has no number in the text.
_MUCH = 1.5
# "Proportional" has no number in the text, and widths are powers of two: up to a factor of 2.
_STEP = 2
# Words of a device's name -> the year of its architecture.
_YEARS = {
    **{"GTX 460": 2010, "GTX 570": 2010, "GTX 780": 2012, "K40": 2012, "GTX 980": 2014},
    **{"P100": 2016, "V100": 2017, "A100": 2020, "H100": 2022, "H200": 2022},
}
_PAPER = Published("busato_traversal/partition")


def best(measured: Measured, n: int, name: str) -> dict[str, tuple[float, RunRecord]]:
    """Return for each technique on an input the seconds and the record with its best group."""
    fastest: dict[str, tuple[float, RunRecord]] = {}
    for run in measured.runs("busato-traversal-techniques", n, input=name):
        technique, seconds = run["label"]["technique"], run["seconds"]["kernel"]
        if technique not in fastest or seconds < fastest[technique][0]:
            fastest[technique] = seconds, run
    return fastest


@dataclass(frozen=True)
class Facts:
    """What the statements are about, on one device."""

    measured: Measured

    @cached_property
    def n(self) -> int:
        """The largest size of the experiment on techniques."""
        sizes = self.measured.sizes("busato-traversal-techniques")
        if not sizes:
            raise UnmeasuredError("techniques")
        return max(sizes)

    @cached_property
    def every(self) -> dict[str, Times[str]]:
        """Input -> technique of the plots -> seconds."""
        return {
            name: Times(
                {
                    technique: seconds
                    for technique, (seconds, _) in best(self.measured, self.n, name).items()
                    if technique in _PLOTTED
                }
            )
            for name in NAMES
        }

    @cached_property
    def means(self) -> Times[str]:
        """The mean size of the items of each input."""
        inputs = self.measured.inputs("busato-traversal-techniques", self.n)
        return Times({each["label"]["input"]: each["mean"] for each in inputs})

    def bytes(self, name: str, technique: str) -> float:
        """Return the device memory of a technique on a whole input."""
        found = best(self.measured, self.n, name)
        if technique not in found:
            raise UnmeasuredError(technique)
        entries = shape(name).entries
        return float(found[technique][1]["device_bytes"]) * entries / min(self.n, entries)

    def largest(self, experiment: str) -> list[RunRecord]:
        """Return the runs of the largest n of another experiment."""
        return list(self.measured.runs(experiment, largest(self.measured, experiment)))

    @cached_property
    def others(self) -> list[Facts]:
        """The same of other devices that measured this size."""
        every = [Facts(each) for each in self.measured.others]
        return [
            each for each in every if self.n in each.measured.sizes("busato-traversal-techniques")
        ]


def _some(times: Times[str], names: Iterable[str]) -> str:
    return listed({name: 1e3 * times[name] for name in names})


def _first(times: Times[str]) -> str:
    return _some(times, sorted(times, key=times.__getitem__)[:3])


def _each(numbers: Iterable[float]) -> str:
    return ", ".join(f"{each:.3g}" for each in numbers)


def _least(times: Times[str], names: Iterable[str] = _PLOTTED, but: Iterable[str] = ()) -> float:
    """Return the least of these times; all must be there."""
    return min(times[name] for name in names if name not in but)


def _static(times: Times[str]) -> float:
    return _least(times, _STATIC)


def _lead(times: Times[str]) -> float:
    """Return how much faster Multi-phase is than the fastest other technique."""
    return _least(times, but=[_MULTI]) / times[_MULTI]


def _slightly_behind(behind: float, ahead: float) -> bool:
    return ahead < behind and near(behind, ahead)


def _rises(values: Iterable[float]) -> bool:
    """Return whether the last value is the largest, and none is below the one before it."""
    listed = list(values)
    return listed[-1] > listed[0] and all(
        reaches(after, before) for before, after in pairwise(listed)
    )


def _lb1(facts: Facts) -> Verdict:
    times = facts.every[_OSM]
    static = _static(times)
    return Verdict(
        static < _least(times, but=[*_STATIC, _MULTI, _DYNAMIC, _RELAUNCH])
        and near(times[_RELAUNCH], static)
        and times[_MULTI] <= TOLERANCE * static
        and min(times[_LOCAL], times[_TWO]) > TOLERANCE * static,
        f"{_first(times)}; {_some(times, (_MULTI, _RELAUNCH, _LOCAL, _TWO))}",
    )


def _lb2(facts: Facts) -> Verdict:
    gpus = [each for each in facts.others if each.measured.device.get("kind") == "gpu"]
    every_device = [each.every[_PATENTS] for each in (facts, *gpus)]
    leads = [_lead(times) for times in every_device]
    numbers = f"second / Multi-phase: {_each(leads)}"
    if not gpus or facts.measured.device.get("kind") != "gpu":
        return Verdict(every(min(leads) > 1, None), f"{numbers}; GPUs of two kinds are needed")
    items, warps = ([_least(times, some) for times in every_device] for some in ([_ITEMS], _WARPS))
    spreads = [max(some) / min(some) for some in (items, warps)]
    of = "slowest over fastest device with"
    said = [_said(f"{of} {who}", _PATENTS) for who in (_ITEMS, "the best virtual warps")]
    return Verdict(
        min(leads) > 1 and all(map(near, spreads, said)),
        f"{numbers}; across {len(every_device)} devices: {_each(spreads)}",
    )


def _lb3(facts: Facts) -> Verdict:
    times = facts.every[_WEB]
    second = min((name for name in _PLOTTED if name != _MULTI), key=times.__getitem__)
    quotients = {name: times[name] / times[_MULTI] for name in (second, _LOCAL, _TWO)}
    second_said, search_said = (
        _said(f"speedup of Multi-phase over {over}", _WEB)
        for over in ("the second", "local warp search and two-phase")
    )
    return Verdict(
        second in _WARPS
        and near(quotients[second], second_said)
        and all(near(quotients[name], search_said) for name in (_LOCAL, _TWO)),
        f"over Multi-phase: {listed(quotients)}",
    )


def _said(quantity: str, name: str = "", exhibit: str = "section 5.4") -> float:
    [row] = _PAPER.rows(exhibit=exhibit, quantity=quantity, input=name)
    return float(row["value"])


def _width(times: Times[str]) -> int:
    """Return the best width of virtual warps."""
    return _WIDTHS[min(_WARPS, key=times.__getitem__)]


def _lb4(facts: Facts) -> Verdict:
    names = sorted(NAMES, key=facts.means.__getitem__)
    widths = {name: _width(facts.every[name]) for name in names}
    of_mean = [width / min(facts.means[name], _WIDEST) for name, width in widths.items()]
    return Verdict(
        all(within(each, 1 / _STEP, _STEP) for each in of_mean),
        "; ".join(f"{name} ({facts.means[name]:.3g}) {width}" for name, width in widths.items()),
    )


def _lb5(facts: Facts) -> Verdict:
    first = [facts.every[name] for name in NAMES[:3]]
    over = [times[_CTA] / _static(times) for times in first]
    return Verdict(min(over) > TOLERANCE, f"{_each(over)} of the best static")


def _lb6(facts: Facts) -> Verdict:
    times = facts.every[_CIRCUIT]
    gains = {name: _static(times) / times[name] for name in (_CTA, _TWO, _MULTI)}
    said = _said("speedup of dynamic techniques over static ones", _CIRCUIT)
    return Verdict(
        _lead(times) > 1 and all(near(gain, said) for gain in gains.values()),
        f"{_first(times)}; best static over: {listed(gains)}",
    )


def _lb7(facts: Facts) -> Verdict:
    leads = {name: _lead(times) for name, times in facts.every.items()}
    favoured = [leads.pop(name) for name in (_WEB, _CIRCUIT)]
    others = max(leads.values())
    text = f"second / Multi-phase: {_each(favoured)}; most of the others {others:.3g}"
    return Verdict(min(favoured) > max(others, 1), text)


def _lb8(facts: Facts) -> Verdict:
    both = [facts.every[name] for name in (_SKITTER, _KRON)]
    leading = (_MULTI, _CTA)
    lead = all(max(times[name] for name in leading) < _least(times, but=leading) for times in both)
    skitter, kron = both
    return Verdict(
        lead and _slightly_behind(kron[_MULTI], kron[_CTA]),
        f"as-Skitter: {_first(skitter)}; kron_g500: {_first(kron)}",
    )


def _lb9(facts: Facts) -> Verdict:
    over = [times[_DYNAMIC] / _least(times, _WARPS) for times in facts.every.values()]
    width = _width(facts.every[_KRON])
    return Verdict(
        all(near(each, 1) for each in over) and width == 32,
        f"of the best width: {_each(over)}; best width on kron_g500: {width}",
    )


def _lb10(facts: Facts) -> Verdict:
    times = facts.every[_REGULAR]
    fastest = _least(times, _WARPS)
    four, eight = (times[f"virtual warps of {width}"] for width in (4, 8))
    behind = [times[name] for name in (_CTA, _MULTI)]
    return Verdict(
        fastest < _least(times, but=_WARPS)
        and four < eight
        and all(_slightly_behind(each, fastest) for each in behind),
        f"{_first(times)}; {_some(times, (*_WARPS[1:3], _CTA, _MULTI))}",
    )


def _lb11(facts: Facts) -> Verdict:
    slower = [times[_RELAUNCH] / times[_DYNAMIC] for times in facts.every.values()]
    return Verdict(min(slower) > 1, f"with over without: {_each(slower)}")


def _lb12(facts: Facts) -> Verdict:
    memory = [1e9 * float(row["value"]) for row in _PAPER.rows(exhibit="table 5.4")]
    needed = {
        name: min(facts.bytes(name, technique) for technique in (_TWO, _MULTI))
        for name in (_CIRCUIT, _KRON)
    }
    rest = max(
        facts.bytes(name, technique)
        for name in NAMES
        if name not in needed
        for technique in (_TWO, _MULTI)
    )
    gigabytes = listed({name: each / 1e9 for name, each in needed.items()})
    return Verdict(
        min(needed.values()) > max(memory) and rest <= min(memory),
        f"GB of whole inputs: {gigabytes}, the others up to {rest / 1e9:.3g}; "
        f"GPUs with {_each(each / 1e9 for each in memory)}",
    )


def _year(facts: Facts) -> int | None:
    name = str(facts.measured.device["name"])
    return next((year for words, year in _YEARS.items() if words in name), None)


def _lb13(facts: Facts) -> Verdict:
    devices = (facts, *facts.others) if facts.n else ()
    dated = [(year, each) for each in devices if (year := _year(each))]
    dated.sort(key=lambda each: each[0])
    if not dated or dated[0][0] == dated[-1][0]:
        return Verdict(None, "GPUs of two architectures are needed")
    oldest, newest = dated[0][1].every, dated[-1][1].every
    gains = {}
    for technique in _PLOTTED:
        both = [
            oldest[name][technique] / newest[name][technique]
            for name in NAMES
            if technique in oldest[name] and technique in newest[name]
        ]
        if both:  # an old GPU may lack what a technique needs
            gains[technique] = geometric_mean(both)
    range_ = [_said(f"{which} speedup of newer GPUs over Fermi") for which in ("least", "most")]
    holds = all(within(gain, *range_) for gain in gains.values()) if gains else None
    return Verdict(holds, listed(gains))


def _lb14(facts: Facts) -> Verdict:
    by_group = {
        run["label"]["group"]: run["seconds"] for run in facts.largest("busato-traversal-groups")
    }
    groups = sorted(by_group)
    sums = {group: by_group[group]["partition"] + by_group[group]["expansion"] for group in groups}
    numbers = listed({f"{group}:": 1e3 * seconds for group, seconds in sums.items()})
    said = [_said(f"{which} best group") for which in ("smallest", "largest")]
    if len(groups) < 3 or not set(said) <= set(groups):
        return Verdict(None, numbers)
    return Verdict(
        all(
            near(by_group[less]["partition"] / by_group[more]["partition"], more / less)
            for less, more in pairwise(groups)
        )
        and _rises(by_group[group]["expansion"] for group in groups)
        and min(sums, key=sums.__getitem__) in said,
        numbers,
    )


def _lb15(facts: Facts) -> Verdict:
    holds, texts = True, []
    for run in facts.largest("busato-traversal-steps"):
        times = run["seconds"]
        load, searched, total = times["load"], times["load and search"], times["expansion"]
        share, stores = (searched - load) / total, (total - searched) / load
        holds &= share > 1 / 3 and within(stores, 2, 3)
        group = f"group {run['label']['group']}: "
        texts.append(f"{group}searches {share:.3g} of it, stores {stores:.3g} of loads")
    return Verdict(holds, "; ".join(texts)) if texts else UNMEASURED


def _lb16(facts: Facts) -> Verdict:
    least, most, many = (
        _said(which)
        for which in (
            "fewest searches of the best",
            "most searches of the best",
            "searches that are too many",
        )
    )
    times: dict[int, dict[int, float]] = {}
    for run in facts.largest("busato-traversal-rounds"):
        label = run["label"]
        times.setdefault(label["group"], {})[label["rounds"]] = run["seconds"]["kernel"]
    holds, texts = True, []
    for group, by_rounds in times.items():
        optimum = min(by_rounds, key=by_rounds.__getitem__)
        good, other, too_many = (
            [seconds for rounds, seconds in by_rounds.items() if is_of(rounds)]
            for is_of in (
                lambda rounds: least <= rounds <= most,
                lambda rounds: not least <= rounds <= most,
                lambda rounds: rounds >= many,
            )
        )
        if not (good and too_many):
            return UNMEASURED
        over = min(too_many) / by_rounds[optimum]
        holds &= max(good) < min(other) and over >= _MUCH
        texts.append(f"group {group}: best {optimum}, from {many:g} on {over:.3g}")
    return Verdict(holds, "; ".join(texts)) if texts else UNMEASURED


def _lb17(facts: Facts) -> Verdict:
    said = f"{_said('groups for each resident one', exhibit='section 5.3'):g}"
    times: dict[int, Times[str]] = {}
    for run in facts.largest("busato-traversal-grids"):
        label = run["label"]
        times.setdefault(label["group"], Times())[label["grid"]] = run["seconds"]["expansion"]
    over = [_least(by_grid, by_grid, but=[said]) / by_grid[said] for by_grid in times.values()]
    return Verdict(min(over) > 1, f"best other / {said}: {_each(over)}") if over else UNMEASURED


def _lb18(facts: Facts) -> Verdict:
    deviation, mean = (
        _said(f"threshold of the {of}", exhibit="section 5.3")
        for of in ("standard deviation", "mean")
    )
    hybrid = f"hybrid {deviation:g} {mean:g}"
    times, chosen = dict[str, Times[str]](), dict[str, str]()
    for run in facts.largest("busato-traversal-searches"):
        name, search = run["label"]["input"], run["label"]["search"]
        if search == hybrid:
            chosen[name] = run["search"]
        times.setdefault(name, Times())[search] = run["seconds"]["partition"]
    kinds = ("interpolation", "optimised")
    over = {name: times[name][kind] / _least(times[name], kinds) for name, kind in chosen.items()}
    if not over:
        return UNMEASURED
    return Verdict(all(near(each, 1) for each in over.values()), listed(over))


#: Number of a statement -> its judge.
CLAIMS: Answers[Facts] = {
    "LB1": _lb1,
    "LB2": _lb2,
    "LB3": _lb3,
    "LB4": _lb4,
    "LB5": _lb5,
    "LB6": _lb6,
    "LB7": _lb7,
    "LB8": _lb8,
    "LB9": _lb9,
    "LB10": _lb10,
    "LB11": _lb11,
    "LB12": _lb12,
    "LB13": _lb13,
    "LB14": _lb14,
    "LB15": _lb15,
    "LB16": _lb16,
    "LB17": _lb17,
    "LB18": _lb18,
}
