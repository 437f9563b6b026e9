"""The statements of [B] chapter 10 about its figures, answered by our measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import mean
from typing import Any

from papers.busato_matching.experiments import MATCHES, SEARCHES
from papers.claims import Claim, listed
from papers.measured import Measured
from papers.published import Published
from papers.values import Value

__all__ = ["claims"]

_Runs = list[dict[str, Any]]
# Part of the queries of up to so many nodes for which a match without cost is expected.
_EXACT, _LARGEST = 0.95, 64
# Percentage points that "about 30 %" may differ.
_ABOUT = 10


def claims(measured: Measured) -> list[Claim]:
    """Return all statements, M1 to M7, those about matches once for each search."""
    return [
        each
        for search in SEARCHES
        for each in (*_of_queries(measured, search), _of_perturbed(measured, search))
    ] + [_of_levels(measured), _of_scores(measured)]


def _runs(measured: Measured, name: str, **label: Value) -> _Runs:
    return [run for _, run in measured.each_run(f"busato-matching-{name}", **label)]


def _said(exhibit: str, quantity: str) -> float:
    [row] = Published("busato_matching").rows(exhibit=exhibit, quantity=quantity)
    return float(row["value"])


def _of_queries(measured: Measured, search: str) -> Iterator[Claim]:
    label = {"method": "device", "search": search}
    runs = _runs(measured, "queries", matches=MATCHES[-1], **label)
    small = [run for run in runs if run["label"]["nodes"] <= _LARGEST]
    exact, queries = (sum(run[what] for run in small) for what in ("exact", "queries"))
    words: dict[str, Value] = {"part": f"{100 * _EXACT:g}", "nodes": _LARGEST}
    yield Claim(f"M1, {search}", exact >= _EXACT * queries, f"{exact} of {queries}", words)
    highest = _said("section 10.2.2", "largest average cost")
    for id_, some in (("M2", runs), ("M3", _runs(measured, "complexes", **label))):
        costs = [run["cost"] for run in some]
        yield Claim(
            f"{id_}, {search}",
            max(costs) <= highest if costs else None,
            listed({"least": min(costs), "largest": max(costs)}) if costs else "",
            {"highest": highest},
        )
    least = _said("section 10.3.1", "distinct matches")
    parts = {
        "least": min(run["distinct"] for run in runs),
        "mean": mean(run["distinct"] for run in runs),
    }
    costly = [run["distinct_with_cost"] for run in runs if run["distinct_with_cost"] is not None]
    if costly:
        parts["mean of those with a cost"] = mean(costly)
    numbers = listed({name: 100 * part for name, part in parts.items()})
    yield Claim(f"M4, {search}", 100 * parts["least"] >= least, numbers, {"least": f"{least:g}"})


def _of_perturbed(measured: Measured, search: str) -> Claim:
    costs = _means(_runs(measured, "perturbed", search=search), "part")
    expected = _said("section 10.3", "increase of the cost")
    increases = {part: 100 * (costs[part] / costs[0.0] - 1) for part in sorted(costs) if costs[0.0]}
    return Claim(
        f"M5, {search}",
        abs(increases[0.05] - expected) <= _ABOUT if increases else None,
        listed(
            {f"{100 * float(part):g} % nodes:": each for part, each in increases.items() if part}
        ),
        {"expected": f"{expected:g}"},
    )


def _means(runs: _Runs, option: str) -> dict[Value, float]:
    return {
        value: mean(run["cost"] for run in runs if run["label"][option] == value)
        for value in dict.fromkeys(run["label"][option] for run in runs)
    }


def _least(costs: Mapping[Value, float]) -> Value:
    return min(costs, key=costs.__getitem__)


def _of_levels(measured: Measured) -> Claim:
    costs = _means(_runs(measured, "levels"), "levels")
    numbers = listed({f"{level}:": cost for level, cost in costs.items()})
    return Claim("M6", _least(costs) == 2 if costs else None, numbers)


def _of_scores(measured: Measured) -> Claim:
    costs = {str(name): cost for name, cost in _means(_runs(measured, "scores"), "scores").items()}
    single: dict[Value, float] = {name: cost for name, cost in costs.items() if "+" not in name}
    holds = None
    if costs:
        holds = _least(single) == "bfs" and min(costs, key=costs.__getitem__).count("+") == 2
    return Claim("M7", holds, listed(costs))
