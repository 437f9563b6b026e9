"""The statements of [B] chapters 4 and 5 about times, answered by our measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median
from typing import Any

from scipy.stats import spearmanr

from papers.busato_traversal.partition.experiments import TECHNIQUES
from papers.busato_traversal.partition.stand_ins import NAMES
from papers.claims import Claim
from papers.measured import Measured

__all__ = ["best", "claims"]

_STATIC = ("work-items to threads", *(f"virtual warps of {w}" for w in (2, 4, 8, 16, 32)))
_WARPS = _STATIC[1:]
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
)
# Times that differ by less are equal.
_EQUAL = 1.1
_Times = dict[str, float]


def best(measured: Measured, n: int, name: str) -> dict[str, tuple[float, dict[str, Any]]]:
    """Return for each technique on an input the seconds and the record with its best group."""
    found: dict[str, tuple[float, dict[str, Any]]] = {}
    for run in measured.runs("busato-traversal-techniques", n, input=name):
        technique, seconds = run["label"]["technique"], run["seconds"]["kernel"]
        if technique not in found or seconds < found[technique][0]:
            found[technique] = seconds, run
    return found


def claims(measured: Measured) -> list[Claim]:
    """Return all statements, LB1 to LB16, with our answers."""
    n = max(measured.sizes("busato-traversal-techniques"))
    times = {
        name: {
            technique: seconds
            for technique, (seconds, _) in best(measured, n, name).items()
            if technique not in _OURS
        }
        for name in NAMES
    }
    inputs = measured.inputs("busato-traversal-techniques", n)
    means = {each["label"]["input"]: each["mean"] for each in inputs}
    of_inputs = list(_of_inputs(_needed(times), means))
    if any(found.keys() != _needed(times)[name].keys() for name, found in times.items()):
        of_inputs = [replace(each, holds=None, numbers="") for each in of_inputs]
    return [
        *of_inputs,
        Claim("LB12", "circuit5M and kron_g500 need too much memory on small GPUs", None, ""),
        Claim("LB13", "newer GPUs are 2 to 3 times faster than Fermi", None, ""),
        *_of_groups(measured),
        *_of_steps(measured),
        *_of_rounds(measured),
    ]


def _needed(every: dict[str, _Times]) -> dict[str, _Times]:
    """Return the times of all techniques in the plots; 1 s for one that was not measured."""
    names = [name for name in TECHNIQUES if name not in _OURS]
    return {
        name: {technique: times.get(technique, 1.0) for technique in names}
        for name, times in every.items()
    }


def _told(times: _Times, names: Iterable[str]) -> str:
    return ", ".join(f"{name} {1e3 * times[name]:.3g}" for name in names)


def _first(times: _Times) -> str:
    return _told(times, sorted(times, key=times.__getitem__)[:3])


def _static(times: _Times) -> float:
    return min(times[name] for name in _STATIC)


def _wins(times: _Times, name: str) -> bool:
    return times[name] <= _EQUAL * min(times.values())


def _lead(times: _Times) -> float:
    """Return how much faster Multi-phase is than the fastest other technique."""
    return min(seconds for name, seconds in times.items() if name != _MULTI) / times[_MULTI]


def _of_inputs(every: dict[str, _Times], means: dict[str, float]) -> Iterator[Claim]:
    osm, patents, web, regular, circuit, skitter, kron = (every[name] for name in NAMES)
    yield Claim(
        "LB1",
        "great-britain_osm: static techniques lead, Multi-phase is as fast; local warp search and "
        "two-phase are slower",
        osm[_MULTI] <= _EQUAL * _static(osm) and min(osm[_LOCAL], osm[_TWO]) > _static(osm),
        f"{_first(osm)}; {_told(osm, (_MULTI, _LOCAL, _TWO))}",
    )
    for number, name, times in ((2, "cit-Patents", patents), (3, "web-NotreDame", web)):
        more = ", almost 2 times as fast as the second" if number == 3 else ""
        yield Claim(
            f"LB{number}",
            f"{name}: Multi-phase is the fastest{more}",
            _wins(times, _MULTI) and (number == 2 or _lead(times) >= 1.5),
            f"{_first(times)}; {_told(times, (_MULTI,))}",
        )
    widths = {name: min(_STATIC, key=times.__getitem__) for name, times in every.items()}
    numbers = [int(width.split()[-1]) if width in _WARPS else 1 for width in widths.values()]
    agreement = 0.0
    if len(set(numbers)) > 1:
        agreement = float(spearmanr(numbers, [means[name] for name in widths]).statistic)
    yield Claim(
        "LB4",
        "the best width of virtual warps grows with the mean size",
        agreement > 0.5,
        "; ".join(f"{name} {n}" for name, n in zip(widths, numbers, strict=True)),
    )
    three = [osm, patents, web]
    yield Claim(
        "LB5",
        "CTA + warp + scan is slow on the first three inputs",
        all(times[_CTA] > _EQUAL * _static(times) for times in three),
        ", ".join(f"{times[_CTA] / _static(times):.3g}" for times in three) + " of the best static",
    )
    dynamic = max(circuit[name] for name in (_CTA, _TWO, _MULTI))
    yield Claim(
        "LB6",
        "circuit5M: Multi-phase is the fastest; CTA + warp + scan, two-phase and Multi-phase are "
        "about 10 times as fast as static ones",
        _wins(circuit, _MULTI) and dynamic * 5 <= _static(circuit),
        f"{_first(circuit)}; best static {1e3 * _static(circuit):.3g}",
    )
    leads = {name: _lead(times) for name, times in every.items()}
    favoured = [leads.pop(name) for name in ("web-NotreDame", "circuit5M")]
    yield Claim(
        "LB7",
        "Multi-phase gains most on web-NotreDame and circuit5M",
        min(favoured) > median(leads.values()),
        "second / Multi-phase: "
        + ", ".join(f"{lead:.3g}" for lead in favoured)
        + f"; median of the others {median(leads.values()):.3g}",
    )
    yield Claim(
        "LB8",
        "as-Skitter and kron_g500: Multi-phase and CTA + warp + scan lead",
        all(
            {_MULTI, _CTA} == set(sorted(times, key=times.__getitem__)[:2])
            for times in (skitter, kron)
        ),
        f"as-Skitter: {_first(skitter)}; kron_g500: {_first(kron)}",
    )
    near = [times[_DYNAMIC] / min(times[name] for name in _STATIC) for times in every.values()]
    yield Claim(
        "LB9",
        "dynamic virtual warps are about as fast as virtual warps",
        max(near) <= 1.25,
        "of the best width: " + ", ".join(f"{each:.3g}" for each in near),
    )
    four, eight = (regular[f"virtual warps of {width}"] for width in (4, 8))
    yield Claim(
        "LB10",
        "regular8: virtual warps are the fastest, with 4 before 8",
        any(_wins(regular, name) for name in _WARPS) and four < eight,
        f"{_first(regular)}; 4: {1e3 * four:.3g}, 8: {1e3 * eight:.3g}",
    )
    slower = [times[_RELAUNCH] / times[_DYNAMIC] for times in every.values()]
    yield Claim(
        "LB11",
        "dynamic parallelism does not pay (here: launches for heavy items)",
        min(slower) * _EQUAL >= 1,
        "with over without: " + ", ".join(f"{each:.3g}" for each in slower),
    )


def _of_groups(measured: Measured) -> Iterator[Claim]:
    text = "with larger groups the partition takes less time and the expansion more; the optimum "
    text += "is 128 or 256"
    name = "busato-traversal-groups"
    runs = list(measured.runs(name, max(measured.sizes(name), default=0)))
    if len(runs) < 2:
        yield Claim("LB14", text, None, "")
        return
    runs.sort(key=lambda run: run["label"]["group"])
    sums = {
        run["label"]["group"]: run["seconds"]["partition"] + run["seconds"]["expansion"]
        for run in runs
    }
    optimum = min(sums, key=sums.__getitem__)
    falls = runs[0]["seconds"]["partition"] > runs[-1]["seconds"]["partition"]
    rises = runs[0]["seconds"]["expansion"] < runs[-1]["seconds"]["expansion"]
    numbers = ", ".join(f"{group}: {1e3 * seconds:.3g}" for group, seconds in sums.items())
    yield Claim("LB14", text, falls and rises and optimum in (128, 256), numbers)


def _of_steps(measured: Measured) -> Iterator[Claim]:
    text = "searches take more than a third of the expansion, stores 2 to 3 times as long as loads"
    name = "busato-traversal-steps"
    found = []
    for run in measured.runs(name, max(measured.sizes(name), default=0)):
        times = run["seconds"]
        load, searched, total = times["load"], times["load and search"], times["expansion"]
        share, stores = (searched - load) / total, (total - searched) / load
        found.append((run["label"]["group"], share, stores))
    holds = all(share > 1 / 3 and 1.5 < stores < 4 for _, share, stores in found)
    numbers = "; ".join(
        f"group {group}: searches {share:.3g} of it, stores {stores:.3g} of loads"
        for group, share, stores in found
    )
    yield Claim("LB15", text, holds if found else None, numbers)


def _of_rounds(measured: Measured) -> Iterator[Claim]:
    text = "2 to 5 searches of a work-item are best, 7 or more are much slower"
    name = "busato-traversal-rounds"
    times: dict[int, _Times] = {}
    for run in measured.runs(name, max(measured.sizes(name), default=0)):
        label = run["label"]
        times.setdefault(label["group"], {})[str(label["rounds"])] = run["seconds"]["kernel"]
    holds, told = bool(times), []
    for group, by_rounds in times.items():
        optimum = min(by_rounds, key=by_rounds.__getitem__)
        many = min(seconds for rounds, seconds in by_rounds.items() if int(rounds) >= 7)
        holds &= 2 <= int(optimum) <= 5 and many >= 1.5 * by_rounds[optimum]
        told.append(f"group {group}: best {optimum}, from 7 on {many / by_rounds[optimum]:.3g}")
    yield Claim("LB16", text, holds if times else None, "; ".join(told))
