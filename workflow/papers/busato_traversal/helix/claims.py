"""The statements of [B] chapter 7, answered by our measurements for each graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from papers.busato_traversal.helix.experiments import BALANCES
from papers.claims import TOLERANCE, UNMEASURED, Answers, Claim, Verdict, judged, listed, within
from papers.measured import Measured
from papers.published import Published
from papers.runner import RunRecord

__all__ = [
    *("ABLATED", "CLAIMS", "CONFIGURED", "DIMENSIONS", "RIVALS", "Seconds"),
    *("claims", "graphs", "pairs", "seconds_of"),
]

CONFIGURED = "busato-traversal-configurations"
RIVALS = "busato-traversal-rivals"
ABLATED = "busato-traversal-ablations"
DIMENSIONS = ("balance", "queue", "sync", "update")
#: A configuration -> seconds.
Seconds = dict[tuple[str, ...], float]
_About = Mapping[str, float]
_Condition = Callable[[_About], bool]

_NODES = tuple(name for name in BALANCES if name.startswith("node"))
_SCANS = tuple(name for name in BALANCES if name.startswith("scan"))
# Lanes of a node-based mapping with shuffles -> the least mean degree for it.
_SHUFFLES = {
    name: 2 * int(parameters["width"])
    for name, parameters in BALANCES.items()
    if parameters["balance"] == "node-shuffle" and int(parameters["width"]) >= 16
}
_WARP, _GROUP = 32, 128
# The thesis measures these ranges on its graphs in the order of the table.
_FIRST = 4
# The searches of a GPU that are not Helix, and the sequential one.
_SEQUENTIAL = "bfs-sequential"
_PAPER = Published("busato_traversal/helix")


def graphs(
    measured: Measured, experiment: str
) -> Iterator[tuple[int, str, RunRecord, list[RunRecord]]]:
    """Yield n, the name, the facts and the runs of each graph."""
    for n, about in measured.each_input(experiment):
        name = about["label"]["graph"]
        yield n, name, about, list(measured.runs(experiment, n, graph=name))


def pairs(runs: list[RunRecord]) -> dict[str, dict[str, float]]:
    """Return the seconds without and with each technique."""
    every: dict[str, dict[str, float]] = {}
    for run in runs:
        label = run["label"]
        every.setdefault(label["technique"], {})[label["form"]] = run["seconds"]["kernel"]
    return every


def seconds_of(runs: list[RunRecord]) -> Seconds:
    """Return the seconds of each configuration."""
    return {
        tuple(run["label"][name] for name in DIMENSIONS): run["seconds"]["kernel"] for run in runs
    }


def claims(measured: Measured) -> Iterator[Claim]:
    """Yield the answers to all statements, HX1 to HX21."""
    return judged(CLAIMS, measured)


def _for_all(answers: Mapping[str, bool]) -> Verdict:
    """Return whether something holds for all graphs it is said of."""
    if not answers:
        return Verdict(None, "no such graph")
    not_for = [name for name, answer in answers.items() if not answer]
    text = f"{len(answers) - len(not_for)} of {len(answers)} graphs"
    return Verdict(not not_for, f"{text}; not: {', '.join(not_for)}" if not_for else text)


@dataclass(frozen=True)
class _Best:
    """One of some values is in the best configuration of such graphs, or none ever is.

    Attributes
    ----------
    dimension : str
    values : tuple of str
    where : callable
    never : bool
    """

    dimension: str
    values: tuple[str, ...]
    where: _Condition = lambda about: True
    never: bool = False

    def __call__(self, measured: Measured) -> Verdict:
        """Answer for all graphs."""
        place = DIMENSIONS.index(self.dimension)
        answers = {}
        for n, name, about, runs in graphs(measured, CONFIGURED):
            times = seconds_of(runs)
            tried = {each[place] for each in times}
            if not self.where(about) or not tried & {*self.values} or len(tried) < 2:
                continue
            best = min(times, key=times.__getitem__)[place]
            answers[f"{name}, {n}"] = (best in self.values) != self.never
        return _for_all(answers)


def _shuffles(measured: Measured) -> Verdict:
    """Answer whether the node-based mapping with shuffles beats that without from 2g on."""
    answers = {}
    for n, name, about, runs in graphs(measured, CONFIGURED):
        least: dict[str, float] = {}
        for (balance, *_), seconds in seconds_of(runs).items():
            least[balance] = min(seconds, least.get(balance, math.inf))
        plain = [least[each] for each in _NODES if each in least and "shuffle" not in each]
        shuffles = [
            least[balance]
            for balance, mean in _SHUFFLES.items()
            if about["mean"] >= mean and balance in least
        ]
        if shuffles and plain:
            answers[f"{name}, {n}"] = min(shuffles) < min(plain)
    return _for_all(answers)


def _gains(
    technique: str, where: _Condition, measured: Measured
) -> Iterator[tuple[str, RunRecord, float]]:
    """Yield name, facts and time without over time with a technique, for such graphs."""
    for n, name, about, runs in graphs(measured, ABLATED):
        pair = pairs(runs).get(technique, {})
        if len(pair) == 2 and where(about):
            yield f"{name}, {n}", about, pair["without"] / pair["with"]


@dataclass(frozen=True)
class _Helps:
    """A technique makes searches faster, or slower, on such graphs.

    Attributes
    ----------
    technique : str
    slower : bool
    where : callable
    """

    technique: str
    slower: bool = False
    where: _Condition = lambda about: True

    def __call__(self, measured: Measured) -> Verdict:
        """Answer for all graphs."""
        found = _gains(self.technique, self.where, measured)
        return _for_all({name: gain < 1 if self.slower else gain > 1 for name, _, gain in found})


def _bins(measured: Measured) -> Verdict:
    """Answer whether bins help where a degree is above half the device's work-items, only there."""
    answers = {}
    for name, about, gain in _gains("bins", lambda about: "resident" in about, measured):
        large = about["largest"] > about["resident"] / 2
        answers[name] = gain > 1 if large else gain <= TOLERANCE
    return _for_all(answers)


def _local(measured: Measured) -> Verdict:
    """Answer whether local memory makes binary search faster by as much as the text says."""
    gains = {
        name: gain
        for name, _, gain in _gains("search, indices in local memory", lambda about: True, measured)
    }
    return _in_range(gains, "speedup of binary search over a form without local memory")


def _in_range(gains: Mapping[str, float], quantity: str) -> Verdict:
    """Return whether all gains are between two published ones."""
    if not gains:
        return UNMEASURED
    least, most = (
        float(_PAPER.rows(quantity=f"{which} {quantity}")[0]["value"])
        for which in ("smallest", "largest")
    )
    holds = all(within(gain, least, most) for gain in gains.values())
    return Verdict(holds, listed(gains))


def _rates(measured: Measured) -> dict[str, dict[str, float]]:
    """Return the seconds of each search on each graph."""
    return {
        f"{name}, {n}": {run["label"]["method"]: run["seconds"]["kernel"] for run in runs}
        for n, name, _, runs in graphs(measured, RIVALS)
    }


def _over_rivals(measured: Measured) -> Verdict:
    """Answer whether Helix is faster than every other parallel search by as much as published."""
    gains = {}
    for name, times in _rates(measured).items():
        others = [
            seconds
            for method, seconds in times.items()
            if not method.startswith("bfs-helix") and method != _SEQUENTIAL
        ]
        if others and "bfs-helix" in times:
            gains[name] = min(others) / times["bfs-helix"]
    return _in_range(gains, "speedup over the best GPU search")


def _over_sequential(measured: Measured) -> Verdict:
    """Answer whether Helix is faster than a sequential search by as much as published."""
    gains = {
        name: times[_SEQUENTIAL] / times["bfs-helix"]
        for name, times in list(_rates(measured).items())[:_FIRST]
        if {_SEQUENTIAL, "bfs-helix"} <= times.keys()
    }
    return _in_range(gains, "speedup over a sequential search on the first four graphs")


def _peak(measured: Measured) -> Verdict:
    """Answer whether some graph is searched at the published peak rate."""
    rates = {
        f"{name}, {n}": about["arcs"] / 1e6 / run["seconds"]["kernel"]
        for n, name, about, runs in graphs(measured, RIVALS)
        for run in runs
        if run["label"]["method"] == "bfs-helix"
    }
    if not rates:
        return UNMEASURED
    said = _PAPER.value(quantity="peak rate")
    assert said is not None
    return Verdict(max(rates.values()) * TOLERANCE >= said, f"MTEPS: {listed(rates)}")


def _little_parallel(about: _About) -> bool:
    return about["mean"] < 5 and about["gini"] >= 0.2


def _above(degree: int, about: _About) -> bool:
    return about["largest"] > degree


#: Number of a statement -> its judge.
CLAIMS: Answers[Measured] = {
    "HX1": _Best("balance", _NODES, where=lambda about: about["gini"] < 0.2),
    "HX2": _shuffles,
    "HX3": _Best(
        "balance", _SCANS, where=lambda about: about["gini"] >= 0.3 and about["mean"] >= 5
    ),
    "HX4": _Best("balance", ("search, warp", "search, block"), never=True),
    "HX5": _Best("balance", ("device-wide",), never=True),
    "HX6": _Best("queue", ("vertex",), where=lambda about: not _little_parallel(about)),
    "HX7": _Best("queue", ("edge",), where=_little_parallel),
    "HX8": _Best("queue", ("two-phase",), never=True),
    "HX9": _Best("sync", ("multi",), where=lambda about: about["eccentricity"] < 100),
    "HX10": _Best(
        "update", ("ballot",), where=lambda about: about["mean"] < _WARP or about["gini"] > 0.9
    ),
    "HX11": _local,
    "HX12": _Helps("CSR-M"),
    "HX13": _bins,
    "HX14": _Helps("bins, not one list"),
    "HX15": _Helps("warp gathering", where=partial(_above, _WARP)),
    "HX16": _Helps("block gathering", where=partial(_above, _GROUP)),
    "HX17": _Helps("duplicates during lookup", slower=True),
    "HX18": _Helps("compare-and-exchange", slower=True),
    "HX19": _over_rivals,
    "HX20": _over_sequential,
    "HX21": _peak,
}
