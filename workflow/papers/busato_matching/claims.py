"""The statements of [B] chapter 10 about its figures, answered by our measurements."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Any

from papers.busato_matching.experiments import MATCHES, SEARCHES
from papers.claims import Claim, told
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
    experiment = f"busato-matching-{name}"
    return [
        run for n in measured.sizes(experiment) for run in measured.runs(experiment, n, **label)
    ]


def _given(exhibit: str, quantity: str) -> float:
    [row] = Published("busato_matching").rows(exhibit=exhibit, quantity=quantity)
    return float(row["value"])


def _of_queries(measured: Measured, search: str) -> Iterator[Claim]:
    label = {"method": "device", "search": search}
    runs = _runs(measured, "queries", matches=MATCHES[-1], **label)
    small = [run for run in runs if run["label"]["nodes"] <= _LARGEST]
    found, queries = (sum(run[what] for run in small) for what in ("exact", "queries"))
    yield Claim(
        f"M1, {search}",
        "some matches of exact queries cost nothing; here: one of at least "
        f"{100 * _EXACT:g} % of the queries of up to {_LARGEST} nodes",
        found >= _EXACT * queries,
        f"{found} of {queries}",
    )
    highest = _given("section 10.2.2", "largest average cost")
    for id_, what, some in (
        ("M2", "exact queries", runs),
        ("M3", "complexes", _runs(measured, "complexes", **label)),
    ):
        costs = [run["cost"] for run in some]
        yield Claim(
            f"{id_}, {search}",
            f"average costs of {what} are at most {highest}",
            max(costs) <= highest if costs else None,
            told({"least": min(costs), "largest": max(costs)}) if costs else "",
        )
    least = _given("section 10.3.1", "distinct matches")
    parts = {
        "least": min(run["distinct"] for run in runs),
        "mean": mean(run["distinct"] for run in runs),
    }
    costly = [run["distinct_with_cost"] for run in runs if run["distinct_with_cost"] is not None]
    if costly:
        parts["mean of those with a cost"] = mean(costly)
    yield Claim(
        f"M4, {search}",
        f"at least {least:g} % of the matches are distinct",
        100 * parts["least"] >= least,
        told({name: 100 * part for name, part in parts.items()}),
    )


def _of_perturbed(measured: Measured, search: str) -> Claim:
    runs = _runs(measured, "perturbed", search=search)
    parts = sorted({run["label"]["part"] for run in runs})
    costs = {part: mean(r["cost"] for r in runs if r["label"]["part"] == part) for part in parts}
    expected = _given("section 10.3", "increase of the cost")
    increases = {part: 100 * (costs[part] / costs[0.0] - 1) for part in parts if costs[0.0]}
    return Claim(
        f"M5, {search}",
        f"5 % of perturbed nodes raise costs by about {expected:g} %",
        abs(increases[0.05] - expected) <= _ABOUT if increases else None,
        told({f"{100 * part:g} % nodes:": increases[part] for part in parts[1:] if increases}),
    )


def _means(runs: _Runs, option: str) -> dict[Any, float]:
    values = dict.fromkeys(run["label"][option] for run in runs)
    return {
        value: mean(run["cost"] for run in runs if run["label"][option] == value)
        for value in values
    }


def _of_levels(measured: Measured) -> Claim:
    costs = _means(_runs(measured, "levels"), "levels")
    holds = min(costs, key=costs.__getitem__) == 2 if costs else None
    numbers = told({f"{level}:": cost for level, cost in costs.items()})
    return Claim("M6", "costs are least with searches of 2 levels", holds, numbers)


def _of_scores(measured: Measured) -> Claim:
    costs = _means(_runs(measured, "scores"), "scores")
    single = [name for name in costs if "+" not in name]
    holds = None
    if costs:
        least = min(costs, key=costs.__getitem__)
        holds = min(single, key=costs.__getitem__) == "bfs" and least.count("+") == 2
    text = "of single terms of the score, bfs gives the least costs, and all three are best"
    return Claim("M7", text, holds, told(costs))
