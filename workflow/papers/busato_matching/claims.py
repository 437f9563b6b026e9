"""The statements of [B] chapter 10 about its figures, answered by our measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from statistics import mean
from typing import Any

from papers.busato_matching.experiments import MATCHES, SEARCHES
from papers.claims import Answers, Claim, Times, UnmeasuredError, Verdict, judged, listed, near
from papers.measured import Measured
from papers.published import Published
from papers.values import Value

__all__ = ["CLAIMS", "claims"]

_Runs = list[dict[str, Any]]
# Part of the queries of up to so many nodes for which a match without cost is expected: the text
# has no number.
_EXACT, _LARGEST = 0.95, 64
# Part of the nodes for which the text gives the increase of the cost.
_FIRST = 0.05


def claims(measured: Measured) -> Iterator[Claim]:
    """Yield the answers to all statements, M1 to M7, those about matches once for each search."""
    return judged(CLAIMS, measured)


def _runs(measured: Measured, name: str, **label: Value) -> _Runs:
    """Return the runs with these labels; there must be some."""
    runs = [run for _, run in measured.each_run(f"busato-matching-{name}", **label)]
    if not runs:
        raise UnmeasuredError(name)
    return runs


def _queries(measured: Measured, search: str) -> _Runs:
    return _runs(measured, "queries", matches=MATCHES[-1], method="device", search=search)


def _complexes(measured: Measured, search: str) -> _Runs:
    return _runs(measured, "complexes", method="device", search=search)


def _said(exhibit: str, quantity: str) -> float:
    [row] = Published("busato_matching").rows(exhibit=exhibit, quantity=quantity)
    return float(row["value"])


def _m1(search: str, measured: Measured) -> Verdict:
    small = [run for run in _queries(measured, search) if run["label"]["nodes"] <= _LARGEST]
    exact, queries = (sum(run[what] for run in small) for what in ("exact", "queries"))
    holds = exact >= _EXACT * queries if queries else None
    return Verdict(holds, f"{exact} of {queries}")


def _costs(runs: Callable[[Measured, str], _Runs], search: str, measured: Measured) -> Verdict:
    """Answer whether average costs are at most the largest published one."""
    highest = _said("section 10.2.2", "largest average cost")
    costs = [run["cost"] for run in runs(measured, search)]
    numbers = listed({"least": min(costs), "largest": max(costs)})
    return Verdict(max(costs) <= highest, numbers)


def _m4(search: str, measured: Measured) -> Verdict:
    least = _said("section 10.3.1", "distinct matches")
    runs = _queries(measured, search)
    parts = {
        "least": min(run["distinct"] for run in runs),
        "mean": mean(run["distinct"] for run in runs),
    }
    costly = [run["distinct_with_cost"] for run in runs if run["distinct_with_cost"] is not None]
    if costly:
        parts["mean of those with a cost"] = mean(costly)
    numbers = listed({name: 100 * part for name, part in parts.items()})
    return Verdict(100 * parts["least"] >= least, numbers)


def _m5(search: str, measured: Measured) -> Verdict:
    costs = _means(_runs(measured, "perturbed", search=search), "part")
    expected = _said("section 10.3", "increase of the cost")
    exact = costs[0.0]
    if not exact:
        return Verdict(None, "exact queries cost nothing")
    parts = sorted(costs)
    increases = {part: 100 * (costs[part] / exact - 1) for part in parts}
    steps = [increases[after] - increases[before] for before, after in pairwise(parts)]
    return Verdict(
        near(increases[_FIRST], expected) and all(step < steps[0] for step in steps[1:])
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
    **{
        f"{number}, {search}": partial(judge, search)
        for search in SEARCHES
        for number, judge in (
            ("M1", _m1),
            ("M2", partial(_costs, _queries)),
            ("M3", partial(_costs, _complexes)),
            ("M4", _m4),
            ("M5", _m5),
        )
    },
    "M6": _m6,
    "M7": _m7,
}
