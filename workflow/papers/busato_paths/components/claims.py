"""The statements of [B] section 9.3, answered by our measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from papers.busato_paths.components.experiments import PARAMETERS, SEARCHES, STRATEGIES, TRIMS
from papers.busato_paths.components.stand_ins import NAMES
from papers.claims import (
    TOLERANCE,
    Answers,
    Times,
    UnmeasuredError,
    Verdict,
    largest,
    listed,
    near,
    reaches,
)
from papers.measured import Measured
from pyapsp.traversal.components.scc_multi_step import DEVSHATWAR

__all__ = ["CLAIMS", "DEVSHATWAR_SET", "best", "heat", "methods", "parameters"]

_EXPERIMENT = "busato-paths-components"
#: The parameters of a run, in the order of `PARAMETERS`.
_Set = tuple[str, ...]
#: The setting of Devshatwar et al.
DEVSHATWAR_SET: _Set = tuple(str(DEVSHATWAR[each]) for each in PARAMETERS)
# Those with which this setting ties in the thesis, and the gain of the best set on the others.
_TIES, _MOST = 6, 26
# On Wiki-Talk one turn of trimming costs 60 %.
_TURN = 1.6
#: Turns and rounds -> seconds.
_Map = Times[tuple[str, str]]


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


def _sets(measured: Measured, name: str) -> Times[_Set]:
    """Return the seconds of each set on a graph."""
    times = Times(parameters(measured, largest(measured, _EXPERIMENT), name))
    if not times:
        raise UnmeasuredError(name)
    return times


def _gains(measured: Measured, names: Iterable[str]) -> dict[str, float]:
    """Return the time of Devshatwar et al.'s setting over that of the best."""
    every = {name: _sets(measured, name) for name in names}
    return {name: times[DEVSHATWAR_SET] / min(times.values()) for name, times in every.items()}


def _sc1(measured: Measured) -> Verdict:
    fast = []
    for name in NAMES:
        times = _sets(measured, name)
        least = min(times.values())
        fast.append({each for each, seconds in times.items() if near(seconds, least)})
    common = set.intersection(*fast)
    return Verdict(not common, f"{len(common)} sets are as fast as the best on all graphs")


def _sc2(measured: Measured) -> Verdict:
    gains = _gains(measured, NAMES[:_TIES])
    return Verdict(max(gains.values()) <= TOLERANCE, "Devshatwar / best: " + listed(gains))


def _sc3(measured: Measured) -> Verdict:
    gains = _gains(measured, NAMES[_TIES:])
    two = set(sorted(gains, key=gains.__getitem__)[-2:])
    return Verdict(
        reaches(max(gains.values()), _MOST) and two == {"Wiki-Talk", "USA-road"},
        "Devshatwar / best: " + listed(gains),
    )


def _sc4(measured: Measured) -> Verdict:
    n = largest(measured, _EXPERIMENT)
    gains = {
        name: Times(methods(measured, n, name))["tarjan"] / min(_sets(measured, name).values())
        for name in NAMES
    }
    faster = {name for name, gain in gains.items() if gain < 1}
    return Verdict(faster == {"web-Berkstan", "trec-w10g"}, f"sequential / best: {listed(gains)}")


def _sc5(measured: Measured) -> Verdict:
    gains = {}
    for name in ("CA-road", "SSCA8", "USA-road"):
        least: Times[str] = Times()
        for each, seconds in _sets(measured, name).items():
            least[each[0]] = min(seconds, least.get(each[0], seconds))
        gains[name] = min(least[each] for each in STRATEGIES if each != "linear") / least["linear"]
    return Verdict(min(gains.values()) > 1, f"best without queue / with: {listed(gains)}")


def _map(measured: Measured, name: str) -> _Map:
    return Times(heat(_sets(measured, name)))


def _sc6(measured: Measured) -> Verdict:
    gains = {}
    for name in ("CA-road", "USA-road", "Pre2", "Random", "Fullchip"):
        times = _map(measured, name)
        gains[name] = times["1", "1"] / times["0", "1"]
    return Verdict(min(gains.values()) >= 1, f"one turn / none: {listed(gains)}")


def _sc7(measured: Measured) -> Verdict:
    gains = {}
    for name in ("web-Berkstan", "trec-w10g"):
        times = _map(measured, name)
        few, many = (min(times["1", each] for each in two) for two in (("1", "2"), ("17", "20")))
        gains[name] = few / many
    return Verdict(min(gains.values()) > 1, f"at most two rounds / 17 or more: {listed(gains)}")


def _along(times: _Map, place: int) -> list[float]:
    """Return the times with each value of turns or of rounds, at the other's value 1."""
    if place:
        return [times["1", str(searches)] for searches in SEARCHES]
    return [times[str(trim), "1"] for trim in TRIMS]


def _matters(name: str, place: int, also: Callable[[_Map], bool], measured: Measured) -> Verdict:
    """Answer whether one of the two numbers matters on a graph, and the other hardly."""
    times = _map(measured, name)
    strong, weak = (
        max(some) / min(some) for some in (_along(times, place), _along(times, 1 - place))
    )
    return Verdict(
        strong > TOLERANCE >= weak and also(times),
        f"slowest / fastest: {strong:.3g} and {weak:.3g}",
    )


def _one_round(times: _Map) -> bool:
    return times["1", "1"] == min(_along(times, 1))


def _one_turn_costs(times: _Map) -> bool:
    return near(times["1", "1"] / min(_along(times, 0)), _TURN)


def _sc10(measured: Measured) -> Verdict:
    spread = {}
    for name in ("Flickr", "R-MAT", "amazon-2008", "Wiki-Talk"):
        found = _map(measured, name)
        times = [found[str(trim), str(searches)] for trim in TRIMS for searches in SEARCHES]
        spread[name] = max(times) / min(times)
    uniform, others = list(spread.values())[:2], list(spread.values())[2:]
    return Verdict(max(uniform) < min(others), f"slowest / fastest: {listed(spread)}")


#: Number of a statement -> its judge.
CLAIMS: Answers[Measured] = {
    "SC1": _sc1,
    "SC2": _sc2,
    "SC3": _sc3,
    "SC4": _sc4,
    "SC5": _sc5,
    "SC6": _sc6,
    "SC7": _sc7,
    "SC8": partial(_matters, "amazon-2008", 1, _one_round),
    "SC9": partial(_matters, "Wiki-Talk", 0, _one_turn_costs),
    "SC10": _sc10,
}
