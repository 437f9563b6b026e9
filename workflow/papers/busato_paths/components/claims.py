"""The statements of [B] section 9.3, answered by our measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf

from papers.busato_paths.components.experiments import PARAMETERS, SEARCHES, STRATEGIES, TRIMS
from papers.busato_paths.components.stand_ins import NAMES
from papers.claims import Claim, listed
from papers.measured import Measured
from pyapsp.traversal.components.scc_multi_step import DEVSHATWAR

__all__ = ["DEVSHATWAR_SET", "best", "claims", "heat", "methods", "parameters"]

_EXPERIMENT = "busato-paths-components"
#: The parameters of a run, in the order of `PARAMETERS`.
_Set = tuple[str, ...]
#: The setting of Devshatwar et al.
DEVSHATWAR_SET: _Set = tuple(str(DEVSHATWAR[each]) for each in PARAMETERS)
# Times that differ by less are equal; the thesis has ties without a limit.
_EQUAL = 1.15


def methods(measured: Measured, n: int, graph: str) -> dict[str, float]:
    """Return the seconds of the methods without parameters."""
    return {
        run["label"]["method"]: run["seconds"]["kernel"]
        for run in measured.runs(_EXPERIMENT, n, graph=graph)
        if "trim" not in run["label"]
    }


def parameters(measured: Measured, n: int, graph: str) -> dict[_Set, float]:
    """Return the seconds of the method in several steps with each set of parameters."""
    return {
        tuple(run["label"][each] for each in PARAMETERS): run["seconds"]["kernel"]
        for run in measured.runs(_EXPERIMENT, n, graph=graph, method="scc-multi-step")
    }


def best(times: Mapping[_Set, float]) -> _Set:
    """Return the fastest set."""
    return min(times, key=times.__getitem__)


def heat(times: Mapping[_Set, float]) -> dict[tuple[str, str], float]:
    """Return the seconds for each number of turns and rounds, with queues."""
    wanted = {(str(trim), str(searches)) for trim in TRIMS for searches in SEARCHES}
    return {
        (each[2], each[3]): seconds
        for each, seconds in times.items()
        if each[:2] == ("linear", "linear") and each[2:] in wanted
    }


def claims(measured: Measured) -> Iterator[Claim]:
    """Yield the answers of the largest n."""
    n = max(measured.sizes(_EXPERIMENT))
    every = {name: parameters(measured, n, name) for name in NAMES}
    every = {name: times for name, times in every.items() if DEVSHATWAR_SET in times}
    whole = len(every) == len(NAMES)
    choices = {best(times) for times in every.values()}
    numbers = f"{len(choices)} different sets are the best of {len(every)} graphs"
    yield Claim("SC1", len(choices) > 1 if whole else None, numbers)
    gains = {name: times[DEVSHATWAR_SET] / min(times.values()) for name, times in every.items()}
    first = {name: gains[name] for name in NAMES[:6] if name in gains}
    rest = {name: gains[name] for name in NAMES[6:] if name in gains}
    as_fast = all(gain <= _EQUAL for gain in first.values()) if whole else None
    yield Claim("SC2", as_fast, "Devshatwar / best: " + listed(first))
    holds = None
    if whole:
        four = set(sorted(rest, key=rest.__getitem__)[-4:])
        holds = max(rest.values()) >= 2.5 and {"Wiki-Talk", "USA-road"} <= four
    yield Claim("SC3", holds, "Devshatwar / best: " + listed(rest))
    slow = {
        name: methods(measured, n, name)["tarjan"] / min(times.values())
        for name, times in every.items()
    }
    losers = sorted(slow, key=slow.__getitem__)[:2]
    faster = {name for name, gain in slow.items() if gain < 1}
    yield Claim(
        "SC4",
        faster == {"web-Berkstan", "trec-w10g"} if whole else None,
        f"least: {', '.join(losers)}; sequential / best: {listed(slow)}",
    )
    yield _of_strategies(every)
    yield from _of_maps({name: heat(times) for name, times in every.items()})


def _of_strategies(every: Mapping[str, Mapping[_Set, float]]) -> Claim:
    gains = {}
    for name in ("CA-road", "SSCA8", "USA-road"):
        least = dict.fromkeys(STRATEGIES, inf)
        for each, seconds in every.get(name, {}).items():
            least[each[0]] = min(seconds, least[each[0]])
        linear = least.pop("linear")
        if linear < inf and min(least.values()) < inf:
            gains[name] = min(least.values()) / linear
    return _of_gains("SC5", "best without queue / with", gains, lambda least, _: least > 1)


def _of_gains(
    number: str,
    what: str,
    gains: Mapping[str, float],
    judge: Callable[[float, float], bool],
) -> Claim:
    """Return a claim about the least and the largest quotient."""
    holds = judge(min(gains.values()), max(gains.values())) if gains else None
    return Claim(number, holds, f"{what}: {listed(gains)}")


def _of_maps(maps: Mapping[str, Mapping[tuple[str, str], float]]) -> Iterator[Claim]:
    def along(name: str, place: int) -> float | None:
        """How much one of the two numbers matters, at the other's value 1: slowest / fastest."""
        times = [seconds for each, seconds in maps.get(name, {}).items() if each[1 - place] == "1"]
        return max(times) / min(times) if len(times) > 1 else None

    trims = {
        name: seconds["1", "1"] / seconds["0", "1"]
        for name, seconds in maps.items()
        if name in ("CA-road", "USA-road", "Pre2", "Random", "Fullchip")
        and {("0", "1"), ("1", "1")} <= seconds.keys()
    }
    yield _of_gains("SC6", "one turn / none", trims, lambda least, _: least * _EQUAL >= 1)
    rounds = {
        name: min(s for each, s in maps[name].items() if each[1] in ("1", "2"))
        / min(s for each, s in maps[name].items() if each[1] in ("17", "20"))
        for name in ("web-Berkstan", "trec-w10g")
        if maps.get(name)
    }
    what = "at most two rounds / 17 or more"
    yield _of_gains("SC7", what, rounds, lambda least, _: least > 1)
    for number, name, first in (("SC8", "amazon-2008", 1), ("SC9", "Wiki-Talk", 0)):
        strong, weak = along(name, first), along(name, 1 - first)
        if strong is None or weak is None:
            yield Claim(number, None)
        else:
            numbers = f"slowest / fastest: {strong:.3g} and {weak:.3g}"
            yield Claim(number, strong > weak, numbers)
    spread = {
        name: max(maps[name].values()) / min(maps[name].values())
        for name in ("Flickr", "R-MAT")
        if maps.get(name)
    }
    yield _of_gains("SC10", "slowest / fastest", spread, lambda _, largest: largest < 1.5)
