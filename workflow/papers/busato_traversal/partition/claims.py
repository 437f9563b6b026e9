"""The statements of [B] chapters 4 and 5 about times, answered by our measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median

from scipy.stats import spearmanr

from papers.busato_traversal.partition.experiments import TECHNIQUES
from papers.busato_traversal.partition.stand_ins import NAMES
from papers.claims import Claim, listed
from papers.measured import Measured
from papers.runner import RunRecord

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


def best(measured: Measured, n: int, name: str) -> dict[str, tuple[float, RunRecord]]:
    """Return for each technique on an input the seconds and the record with its best group."""
    fastest: dict[str, tuple[float, RunRecord]] = {}
    for run in measured.runs("busato-traversal-techniques", n, input=name):
        technique, seconds = run["label"]["technique"], run["seconds"]["kernel"]
        if technique not in fastest or seconds < fastest[technique][0]:
            fastest[technique] = seconds, run
    return fastest


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
    if any(some.keys() != _needed(times)[name].keys() for name, some in times.items()):
        of_inputs = [replace(each, holds=None, numbers="") for each in of_inputs]
    return [
        *of_inputs,
        Claim("LB12", None),
        Claim("LB13", None),
        _of_groups(measured),
        _of_steps(measured),
        _of_rounds(measured),
    ]


def _needed(every: dict[str, _Times]) -> dict[str, _Times]:
    """Return the times of all techniques in the plots; 1 s for one that was not measured."""
    names = [name for name in TECHNIQUES if name not in _OURS]
    return {
        name: {technique: times.get(technique, 1.0) for technique in names}
        for name, times in every.items()
    }


def _some(times: _Times, names: Iterable[str]) -> str:
    return listed({name: 1e3 * times[name] for name in names})


def _first(times: _Times) -> str:
    return _some(times, sorted(times, key=times.__getitem__)[:3])


def _each(numbers: Iterable[float]) -> str:
    return ", ".join(f"{each:.3g}" for each in numbers)


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
        osm[_MULTI] <= _EQUAL * _static(osm) and min(osm[_LOCAL], osm[_TWO]) > _static(osm),
        f"{_first(osm)}; {_some(osm, (_MULTI, _LOCAL, _TWO))}",
    )
    for number, times, lead in (("LB2", patents, 0.0), ("LB3", web, 1.5)):
        holds = _wins(times, _MULTI) and _lead(times) >= lead
        yield Claim(number, holds, f"{_first(times)}; {_some(times, (_MULTI,))}")
    widths = {name: min(_STATIC, key=times.__getitem__) for name, times in every.items()}
    numbers = [int(width.split()[-1]) if width in _WARPS else 1 for width in widths.values()]
    agreement = 0.0
    if len(set(numbers)) > 1:
        agreement = float(spearmanr(numbers, [means[name] for name in widths]).statistic)
    text = "; ".join(f"{name} {n}" for name, n in zip(widths, numbers, strict=True))
    yield Claim("LB4", agreement > 0.5, text)
    over = [times[_CTA] / _static(times) for times in (osm, patents, web)]
    yield Claim(
        "LB5",
        all(times[_CTA] > _EQUAL * _static(times) for times in (osm, patents, web)),
        f"{_each(over)} of the best static",
    )
    dynamic = max(circuit[name] for name in (_CTA, _TWO, _MULTI))
    yield Claim(
        "LB6",
        _wins(circuit, _MULTI) and dynamic * 5 <= _static(circuit),
        f"{_first(circuit)}; best static {1e3 * _static(circuit):.3g}",
    )
    leads = {name: _lead(times) for name, times in every.items()}
    favoured = [leads.pop(name) for name in ("web-NotreDame", "circuit5M")]
    middle = median(leads.values())
    text = f"second / Multi-phase: {_each(favoured)}; median of the others {middle:.3g}"
    yield Claim("LB7", min(favoured) > middle, text)
    two = [set(sorted(times, key=times.__getitem__)[:2]) for times in (skitter, kron)]
    text = f"as-Skitter: {_first(skitter)}; kron_g500: {_first(kron)}"
    yield Claim("LB8", all(names == {_MULTI, _CTA} for names in two), text)
    near = [times[_DYNAMIC] / _static(times) for times in every.values()]
    yield Claim("LB9", max(near) <= 1.25, f"of the best width: {_each(near)}")
    four, eight = (regular[f"virtual warps of {width}"] for width in (4, 8))
    yield Claim(
        "LB10",
        any(_wins(regular, name) for name in _WARPS) and four < eight,
        f"{_first(regular)}; 4: {1e3 * four:.3g}, 8: {1e3 * eight:.3g}",
    )
    slower = [times[_RELAUNCH] / times[_DYNAMIC] for times in every.values()]
    yield Claim("LB11", min(slower) * _EQUAL >= 1, f"with over without: {_each(slower)}")


def _largest(measured: Measured, experiment: str) -> list[RunRecord]:
    """Return the runs of the largest n."""
    sizes = measured.sizes(experiment)
    return list(measured.runs(experiment, max(sizes))) if sizes else []


def _of_groups(measured: Measured) -> Claim:
    runs = _largest(measured, "busato-traversal-groups")
    if len(runs) < 2:
        return Claim("LB14", None)
    runs.sort(key=lambda run: run["label"]["group"])
    sums = {
        run["label"]["group"]: run["seconds"]["partition"] + run["seconds"]["expansion"]
        for run in runs
    }
    optimum = min(sums, key=sums.__getitem__)
    falls = runs[0]["seconds"]["partition"] > runs[-1]["seconds"]["partition"]
    rises = runs[0]["seconds"]["expansion"] < runs[-1]["seconds"]["expansion"]
    numbers = listed({f"{group}:": 1e3 * seconds for group, seconds in sums.items()})
    return Claim("LB14", falls and rises and optimum in (128, 256), numbers)


def _of_steps(measured: Measured) -> Claim:
    holds, texts = True, []
    for run in _largest(measured, "busato-traversal-steps"):
        times = run["seconds"]
        load, searched, total = times["load"], times["load and search"], times["expansion"]
        share, stores = (searched - load) / total, (total - searched) / load
        holds &= share > 1 / 3 and 1.5 < stores < 4
        group = f"group {run['label']['group']}: "
        texts.append(f"{group}searches {share:.3g} of it, stores {stores:.3g} of loads")
    return Claim("LB15", holds if texts else None, "; ".join(texts))


def _of_rounds(measured: Measured) -> Claim:
    times: dict[int, dict[int, float]] = {}
    for run in _largest(measured, "busato-traversal-rounds"):
        label = run["label"]
        times.setdefault(label["group"], {})[label["rounds"]] = run["seconds"]["kernel"]
    holds, texts = True, []
    for group, by_rounds in times.items():
        optimum = min(by_rounds, key=by_rounds.__getitem__)
        many = min(seconds for rounds, seconds in by_rounds.items() if rounds >= 7)
        over = many / by_rounds[optimum]
        holds &= 2 <= optimum <= 5 and many >= 1.5 * by_rounds[optimum]
        texts.append(f"group {group}: best {optimum}, from 7 on {over:.3g}")
    return Claim("LB16", holds if times else None, "; ".join(texts))
