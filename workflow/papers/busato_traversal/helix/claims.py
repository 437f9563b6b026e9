"""The statements of [B] chapter 7, answered by our measurements for each graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from papers.busato_traversal.helix.experiments import BALANCES, DEVICE_WIDE, SEQUENTIAL, SYNCS
from papers.claims import TOLERANCE, Answers, UnmeasuredError, Verdict, every, listed, within
from papers.measured import Measured
from papers.published import Published
from papers.runner import RunRecord

__all__ = [
    *("ABLATED", "CLAIMS", "CONFIGURED", "DIMENSIONS", "RIVALS", "Seconds", "graphs", "pairs"),
    "seconds_of",
]

CONFIGURED = "busato-traversal-configurations"
RIVALS = "busato-traversal-rivals"
ABLATED = "busato-traversal-ablations"
DIMENSIONS = ("balance", "queue", "sync", "update")
#: A configuration -> seconds.
Seconds = dict[tuple[str, ...], float]
# Facts of a graph, and the work-items of a warp and of a group that searched it.
_About = Mapping[str, float]
_Condition = Callable[[_About], bool]

_NODES = tuple(name for name in BALANCES if name.startswith("node"))
_SCANS = tuple(name for name in BALANCES if name.startswith("scan"))
_SHUFFLES = {
    name: int(parameters["width"])
    for name, parameters in BALANCES.items()
    if parameters["balance"] == "node-shuffle"
}
_GUNROCK = "bfs-gunrock"
# What the thesis searches with: a launch for each level, or one launch.
_PUBLISHED_SYNCS = ("multi", "persistent")
# The thesis' first four graphs are road networks and a mesh: these stand for them.
_FIRST = ("grid",)
# Graphs whose neighbours have numbers that are close, as the thesis says of real ones.
_IN_ORDER = ("grid", "small world", "grid with a hub")
# The other searches of figure 7.7.
_RIVALS = ("bfs-b40c", _GUNROCK, "bfs-4k")
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


def _for_all(answers: Mapping[str, bool]) -> Verdict:
    """Return whether something holds for all graphs it is said of."""
    if not answers:
        return Verdict(None, "no such graph")
    not_for = [name for name, answer in answers.items() if not answer]
    text = f"{len(answers) - len(not_for)} of {len(answers)} graphs"
    return Verdict(not not_for, f"{text}; not: {', '.join(not_for)}" if not_for else text)


def _searched(measured: Measured, experiment: str) -> Iterator[tuple[str, _About, list[RunRecord]]]:
    """Yield the name, the facts and the runs of each graph; the experiment must be measured."""
    if not measured.sizes(experiment):
        raise UnmeasuredError(experiment)
    for n, name, about, runs in graphs(measured, experiment):
        if runs:
            yield f"{name}, {n}", about, runs


@dataclass(frozen=True)
class _Best:
    """One of some values is in the best configuration of such graphs."""

    dimension: str
    # Returns these values for a graph; none if nothing is said of it.
    values: Callable[[_About], Collection[str]]
    never: bool = False  # whether none of them is
    lanes: bool = False  # whether it is about the lanes of a warp, and so about warps of several
    of: tuple[str, ...] = SYNCS  # what launches configurations that are compared

    def __call__(self, measured: Measured) -> Verdict:
        """Answer for all graphs."""
        place, launched = DIMENSIONS.index(self.dimension), DIMENSIONS.index("sync")
        answers = {}
        for name, about, runs in _searched(measured, CONFIGURED):
            if self.lanes and about["warp"] == 1:
                return Verdict(None, "warps have one lane")
            found = seconds_of(runs)
            times = {each: found[each] for each in found if each[launched] in self.of}
            tried, values = {each[place] for each in times}, {*self.values(about)}
            if tried & values and tried - values:
                best = min(times, key=times.__getitem__)[place]
                answers[name] = (best in values) != self.never
        return _for_all(answers)


def _always(*values: str) -> Callable[[_About], Collection[str]]:
    """Return a function that says these values of every graph."""
    return lambda about: values


def _where(condition: _Condition, *values: str) -> Callable[[_About], Collection[str]]:
    """Return a function that says these values of some graphs."""
    return lambda about: values if condition(about) else ()


def _either(
    condition: _Condition, value: str, otherwise: str
) -> Callable[[_About], Collection[str]]:
    """Return a function that says one of two values of every graph."""
    return lambda about: (value if condition(about) else otherwise,)


def _regular(about: _About) -> bool:
    """Return whether table 7.2 has a node-based mapping for a graph with a vertex queue."""
    few, many = about["mean"] < 5, about["mean"] > about["warp"]
    return (few and about["gini"] < 0.2) or (not few and many and about["gini"] < 0.3)


def _shuffles(about: _About) -> list[str]:
    """Return the mappings of at least half a warp that have at most half the mean degree."""
    return [
        name
        for name, width in _SHUFFLES.items()
        if 2 * width >= about["warp"] and about["mean"] >= 2 * width and about["gini"] < 0.3
    ]


def _gains(technique: str, measured: Measured) -> Iterator[tuple[str, _About, float]]:
    """Yield name, facts and time without over time with a technique, for each graph."""
    for name, about, runs in _searched(measured, ABLATED):
        pair = pairs(runs).get(technique, {})
        if len(pair) == 2:
            yield name, about, pair["without"] / pair["with"]


@dataclass(frozen=True)
class _Helps:
    """A technique makes searches faster, or slower."""

    technique: str
    slower: bool = False
    # Returns the degree above which it helps; it hardly does for graphs without such a degree.
    border: Callable[[_About], float] = lambda about: -1

    def __call__(self, measured: Measured) -> Verdict:
        """Answer for all graphs."""
        answers = {}
        for name, about, gain in _gains(self.technique, measured):
            if about["largest"] > self.border(about):
                answers[name] = gain < 1 if self.slower else gain > 1
            else:
                answers[name] = gain <= TOLERANCE
        return _for_all(answers)


def _local(measured: Measured) -> Verdict:
    """Answer whether local memory makes binary search faster by as much as the text says."""
    found = list(_gains("search, indices in local memory", measured))
    verdict = _in_range(
        {name: gain for name, _, gain in found},
        "speedup of binary search over a form without local memory",
    )
    by_gain = sorted(found, key=lambda each: each[2])
    grows = by_gain[0][1]["gini"] < by_gain[-1][1]["gini"]
    return Verdict(every(verdict.holds, grows), verdict.numbers)


def _pairs_of_offsets(measured: Measured) -> Verdict:
    """Answer whether CSR-M makes searches faster by as much as the text says."""
    gains = {name: gain for name, _, gain in _gains("CSR-M", measured)}
    return _in_range(gains, "speedup of CSR-M")


def _said(quantity: str) -> float:
    [row] = _PAPER.rows(quantity=quantity)
    return float(row["value"])


def _between(quantity: str) -> tuple[float, float]:
    return _said(f"smallest {quantity}"), _said(f"largest {quantity}")


def _in_range(gains: Mapping[str, float], quantity: str) -> Verdict:
    """Return whether all are gains, and between two published ones."""
    if not gains:
        raise UnmeasuredError(quantity)
    least, most = _between(quantity)
    holds = all(gain > 1 and within(gain, least, most) for gain in gains.values())
    return Verdict(holds, listed(gains))


def _bitmask(measured: Measured) -> Verdict:
    """Answer whether bitmasks are used as published, and pay where numbers are in no order."""
    gains = {name: gain for name, _, gain in _gains("bitmask of 8 bits", measured)}
    used = {
        name: 100 * run["bits"]
        for name, _, runs in _searched(measured, ABLATED)
        for run in runs
        if run["label"]["technique"] == "bitmask of 8 bits" and "bits" in run
    }
    if not used:
        raise UnmeasuredError("bits")
    holds = True
    for name, part in used.items():
        kind = "other" if name.rpartition(", ")[0] in _IN_ORDER else "synthetic"
        holds &= within(part, *_between(f"use of the bitmask of {kind} graphs"))
        holds &= (gains[name] > 1) == (kind == "synthetic")
    return Verdict(holds, f"%: {listed(used)}; faster by: {listed(gains)}")


def _rates(measured: Measured) -> dict[str, dict[str, float]]:
    """Return the seconds of each search on each graph."""
    return {
        f"{name}, {n}": {run["label"]["method"]: run["seconds"]["kernel"] for run in runs}
        for n, name, _, runs in graphs(measured, RIVALS)
    }


def _over(
    measured: Measured, *others: str, of: Collection[str] = (), own: str = "bfs-helix"
) -> dict[str, float]:
    """Return the time of the fastest of other searches over one's own, for these or all graphs."""
    gains = {}
    for name, times in _rates(measured).items():
        theirs = [times[other] for other in others if other in times]
        if theirs and own in times and (not of or name.rpartition(", ")[0] in of):
            gains[name] = min(theirs) / times[own]
    return gains


def _over_rivals(measured: Measured) -> Verdict:
    """Answer whether Helix is faster than the searches of the figure by as much as published."""
    return _in_range(_over(measured, *_RIVALS), "speedup over the best GPU search")


def _over_first(other: str, whose: str, measured: Measured) -> Verdict:
    """Answer whether Helix is faster than another search by as much as published."""
    gains = _over(measured, other, of=_FIRST)
    return _in_range(gains, f"speedup over {whose} on the first four graphs")


def _over_gunrock(measured: Measured) -> Verdict:
    """Answer whether Helix is faster than Gunrock by at most as much as published.

    Gunrock must be slower than a sequential search on some graph.
    """
    gains = _over(measured, _GUNROCK, of=_FIRST)
    behind = _over(measured, SEQUENTIAL, of=_FIRST, own=_GUNROCK)
    if not gains or not behind:
        raise UnmeasuredError(_GUNROCK)
    most = _said("largest speedup over Gunrock on the first four graphs")
    holds = all(within(gain, 1, most) and gain > 1 for gain in gains.values())
    numbers = f"{listed(gains)}; sequential over Gunrock: {listed(behind)}"
    return Verdict(holds and min(behind.values()) < 1, numbers)


def _device_wide(measured: Measured) -> Verdict:
    """Answer whether the device-wide form is faster than Gunrock by as much as published."""
    gains = _over(measured, _GUNROCK, own=DEVICE_WIDE)
    return _in_range(gains, "speedup of device-wide search over Gunrock")


def _peak(measured: Measured) -> Verdict:
    """Answer whether some graph is searched at the published peak rate."""
    rates = {
        f"{name}, {n}": about["arcs"] / 1e6 / run["seconds"]["kernel"]
        for n, name, about, runs in graphs(measured, RIVALS)
        for run in runs
        if run["label"]["method"] == "bfs-helix"
    }
    if not rates:
        raise UnmeasuredError(RIVALS)
    said = _PAPER.value(quantity="peak rate")
    assert said is not None
    return Verdict(max(rates.values()) * TOLERANCE >= said, f"MTEPS: {listed(rates)}")


def _little_parallel(about: _About) -> bool:
    return about["mean"] < 5 and about["gini"] >= 0.2


#: Number of a statement -> its judge.
CLAIMS: Answers[Measured] = {
    "HX1": _Best("balance", _where(_regular, *_NODES), lanes=True),
    "HX2": _Best("balance", _shuffles, lanes=True),
    "HX3": _Best(
        "balance",
        _where(lambda about: about["gini"] >= 0.3 and about["mean"] >= 5, *_SCANS),
        lanes=True,
    ),
    "HX4": _Best("balance", _always("search, warp", "search, block"), never=True, lanes=True),
    "HX5": _Best("balance", _always("device-wide"), never=True),
    "HX6": _Best("queue", _where(lambda about: not _little_parallel(about), "vertex")),
    "HX7": _Best("queue", _where(_little_parallel, "edge")),
    "HX8": _Best("queue", _always("two-phase"), never=True),
    "HX9": _Best(
        "sync",
        _either(lambda about: about["eccentricity"] < 100, *_PUBLISHED_SYNCS),
        of=_PUBLISHED_SYNCS,
    ),
    "HX10": _Best(
        "update",
        _either(
            lambda about: about["mean"] < about["warp"] or about["gini"] > 0.9, "ballot", "local"
        ),
        lanes=True,
    ),
    "HX11": _local,
    "HX12": _pairs_of_offsets,
    "HX13": _Helps("bins", border=lambda about: about["resident"] / 2),
    "HX14": _Helps("bins, not one list"),
    "HX15": _Helps("warp gathering", border=lambda about: about["warp"]),
    "HX16": _Helps("block gathering", border=lambda about: about["group"]),
    "HX17": _Helps("duplicates during lookup", slower=True),
    "HX18": _Helps("compare-and-exchange", slower=True),
    "HX19": _over_rivals,
    "HX20": partial(_over_first, SEQUENTIAL, "a sequential search"),
    "HX21": _peak,
    "HX22": partial(_over_first, "bfs-b40c", "B40C"),
    "HX23": _over_gunrock,
    "HX24": _device_wide,
    "HX25": _bitmask,
}
