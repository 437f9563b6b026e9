"""The statements of [B] chapter 10 about its figures, answered by our measurements."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import mean
from typing import Any

from papers.busato_matching.experiments import MATCHES
from papers.claims import Answers, Times, UnmeasuredError, Verdict, listed, near
from papers.measured import Measured
from papers.published import Published
from papers.values import Value

__all__ = [
    "CLAIMS",
]

_Runs = list[dict[str, Any]]
# The search of the thesis; the others are ours.
_SEARCH = "published"
# "Negligible" has no number in the text: so many of a hundred matches.
_FEW = 1
# Part of the nodes for which the text gives the increase of the cost.
_FIRST = 0.05


def _runs(measured: Measured, name: str, **label: Value) -> _Runs:
    """Return the runs with these labels; there must be some."""
    runs = [run for _, run in measured.each_run(f"busato-matching-{name}", **label)]
    if not runs:
        raise UnmeasuredError(name)
    return runs


def _queries(measured: Measured) -> _Runs:
    return _runs(measured, "queries", matches=MATCHES[-1], method="device", search=_SEARCH)


def _said(exhibit: str, quantity: str) -> float:
    [row] = Published("busato_matching").rows(exhibit=exhibit, quantity=quantity)
    return float(row["value"])


def _m1(measured: Measured) -> Verdict:
    runs = _queries(measured)
    parts = [run["without_cost"] for run in runs if "without_cost" in run]
    if len(parts) < len(runs):  # by an older version
        raise UnmeasuredError("matches without a cost")
    part = 100 * mean(parts)
    return Verdict(part <= _FEW, f"{part:.3g} %")


def _m2(measured: Measured) -> Verdict:
    highest = _said("section 10.2.2", "largest average cost")
    costs = [run["cost"] for run in _queries(measured)]
    numbers = listed({"least": min(costs), "largest": max(costs)})
    return Verdict(max(costs) <= highest, numbers)


def _m3(measured: Measured) -> Verdict:
    longest = _said("section 10.2.1", "longest time of a query")
    runs = measured.each_run("busato-matching-complexes", method="device", search=_SEARCH)
    times = [(n, run["seconds"]["total"]) for n, run in runs]
    if not times:
        raise UnmeasuredError("complexes")
    # times grow with the vertices, so that a smaller network cannot tell
    as_theirs = [seconds for n, seconds in times if n >= _smallest_with_complexes()]
    if not as_theirs:
        seconds = max(seconds for _, seconds in times)
        return Verdict(None, f"s: {seconds:.3g}, with fewer vertices than the thesis")
    return Verdict(max(as_theirs) < longest, f"s: {max(as_theirs):.3g}")


def _smallest_with_complexes() -> int:
    """Return the vertices of the smallest network in which the thesis looks for complexes."""
    rows = Published("busato_matching").rows(exhibit="table 10.1", quantity="edges")
    return min(int(row["n"]) for row in rows if row["name"].endswith(" (functional)"))


def _m4(measured: Measured) -> Verdict:
    least = _said("section 10.3.1", "distinct matches")
    runs = _queries(measured)
    parts = {
        "least": min(run["distinct"] for run in runs),
        "mean": mean(run["distinct"] for run in runs),
    }
    costly = [run["distinct_with_cost"] for run in runs if run["distinct_with_cost"] is not None]
    if costly:
        parts["mean of those with a cost"] = mean(costly)
    numbers = listed({name: 100 * part for name, part in parts.items()})
    return Verdict(100 * parts["least"] >= least, numbers)


def _m5(measured: Measured) -> Verdict:
    costs = _means(_runs(measured, "perturbed", search=_SEARCH), "part")
    expected = _said("section 10.3", "increase of the cost")
    exact = costs[0.0]
    if not exact:
        return Verdict(None, "exact queries cost nothing")
    parts = sorted(costs)
    increases = {part: 100 * (costs[part] / exact - 1) for part in parts}
    steps = [increases[after] - increases[before] for before, after in pairwise(parts)]
    return Verdict(
        near(increases[_FIRST], expected) and all(0 < step < steps[0] for step in steps[1:])
        if _FIRST in increases and parts[1] == _FIRST
        else None,
        listed({f"{100 * float(part):g} % nodes:": increases[part] for part in parts[1:]}),
    )


def _means(runs: _Runs, option: str) -> Times[Any]:
    return Times(
        {
            value: mean(run["cost"] for run in runs if run["label"][option] == value)
            for value in dict.fromkeys(run["label"][option] for run in runs)
        }
    )


def _least(costs: Mapping[Any, float]) -> Value:
    least: Value = min(costs, key=costs.__getitem__)
    return least


def _m6(measured: Measured) -> Verdict:
    costs = _means(_runs(measured, "levels"), "levels")
    numbers = listed({f"{level}:": cost for level, cost in costs.items()})
    return Verdict(_least(costs) == 2 if 2 in costs and len(costs) > 1 else None, numbers)


def _m7(measured: Measured) -> Verdict:
    costs = _means(_runs(measured, "scores"), "scores")
    terms = {name: name.count("+") + 1 for name in costs}
    if set(terms.values()) != {1, 2, 3}:
        return Verdict(None, listed(costs))
    single = {name: cost for name, cost in costs.items() if terms[name] == 1}
    holds = _least(single) == "bfs" and terms[_least(costs)] == 3
    return Verdict(holds, listed(costs))


#: Number of a statement -> its judge.
CLAIMS: Answers[Measured] = {
    "M1": _m1,
    "M2": _m2,
    "M3": _m3,
    "M4": _m4,
    "M5": _m5,
    "M6": _m6,
    "M7": _m7,
}
