"""Tables and figures of [B] chapter 7, a tree from our times, and its claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from papers.busato_traversal.helix.experiments import ABLATIONS, BALANCES
from papers.busato_traversal.helix.tree import Row as Sample
from papers.busato_traversal.helix.tree import fitted, rules
from papers.measured import Measured
from papers.published import Published
from papers.tables import Row, Rows, Table
from papers.values import ratio

__all__ = ["ROWS"]

_ALL = "busato-traversal-configurations"
_RIVALS = "busato-traversal-rivals"
_ABLATIONS = "busato-traversal-ablations"
_DIMENSIONS = ("balance", "queue", "sync", "update")
_FACTS = ("mean", "gini", "largest")
# Splits on the way to a leaf; there are as many graphs as a tree of this depth has leaves.
_DEPTH = 2
_TIMES = (
    "Seconds of one search by the clock of the host, without transfers; medians of turns with "
    "three sources each. "
)

#: A configuration -> seconds.
_Times = dict[tuple[str, ...], float]


def _graphs(
    measured: Measured, experiment: str
) -> Iterator[tuple[int, dict[str, Any], list[dict[str, Any]]]]:
    """Yield n, the facts and the runs of each graph."""
    for n in measured.sizes(experiment):
        for given in measured.inputs(experiment, n):
            name = given["label"]["graph"]
            yield n, given, list(measured.runs(experiment, n, graph=name))


def _times(runs: list[dict[str, Any]]) -> _Times:
    return {
        tuple(run["label"][name] for name in _DIMENSIONS): run["seconds"]["kernel"] for run in runs
    }


def _least(times: _Times, dimension: str) -> dict[str, float]:
    """Return the seconds of the best configuration with each value of a dimension."""
    place, least = _DIMENSIONS.index(dimension), dict[str, float]()
    for configuration, seconds in times.items():
        value = configuration[place]
        least[value] = min(seconds, least.get(value, math.inf))
    return least


def _figure_7_6(measured: Measured) -> Rows:
    """E17: each configuration, by how much it is slower than the best one for a graph."""
    columns: dict[str, _Times] = {}
    for n, given, runs in _graphs(measured, _ALL):
        head = f"{given['label']['graph']}, n {n} ({given['mean']:.1f}; {given['gini']:.2f})"
        columns[head] = _times(runs)
    configurations = dict.fromkeys(each for times in columns.values() for each in times)
    return [
        {
            **dict(zip(_DIMENSIONS, configuration, strict=True)),
            **{
                head: ratio(times.get(configuration), min(times.values()))
                for head, times in columns.items()
            },
        }
        for configuration in configurations
    ]


def _figure_7_7(measured: Measured) -> Rows:
    """E18: the rate of each search."""
    for n, given, runs in _graphs(measured, _RIVALS):
        rates = {
            f"{run['label']['method']}: ours": ratio(given["arcs"] / 1e6, run["seconds"]["kernel"])
            for run in runs
        }
        yield {"graph": given["label"]["graph"], "n": n, **rates}


def _table_7_1(measured: Measured) -> Rows:
    """E19: the statistics of the graphs."""
    names = ("arcs", "mean", "deviation", "gini", "largest", "eccentricity")
    return [
        {"graph": given["label"]["graph"], "n": given["n"], **{each: given[each] for each in names}}
        for _, given, _ in _graphs(measured, _RIVALS)
    ]


def _figure_7_4(measured: Measured) -> Rows:
    """E22: how many vertices are in a bin."""
    for n, given, _ in _graphs(measured, _RIVALS):
        for i, count in enumerate(given["bins"]):
            name = given["label"]["graph"]
            yield {"graph": name, "n": n, "degrees from": 2**i, "vertices": count}


def _rows(measured: Measured, dimension: str) -> list[Sample]:
    """Return the facts of each graph, and the least seconds of each value of a dimension."""
    return [
        ({fact: given[fact] for fact in _FACTS}, _least(_times(runs), dimension))
        for _, given, runs in _graphs(measured, _ALL)
    ]


_RULES = {
    "balance": "mean < 5 and gini >= 0.2: node 1; mean < 5: node 4; mean > 64 and gini < 0.3: "
    "node 32, shuffle; mean > 32 and gini < 0.3: node 16, shuffle; otherwise scan, warp",
    "queue": "mean < 5 and gini >= 0.2: edge; otherwise vertex",
    "sync": "mean > 20 or gini >= 0.6: multi; otherwise one launch",
    "update": "mean > 32 and gini < 0.9: local; otherwise ballot",
}


def _table_7_2(measured: Measured) -> Rows:
    """E20: the published rules, and the best tree of our times."""
    for dimension in _DIMENSIONS:
        given = _rows(measured, dimension)
        if not given:
            continue
        for depth in range(_DEPTH + 1):
            tree = fitted(given, depth)
            text = "; ".join(f"{when}: {choice}" for when, choice in rules(tree))
            yield {
                "feature": dimension,
                "splits": depth,
                "rules: ours": text,
                "loss: ours": math.exp(tree.cost / len(given)) - 1,
                "rules: thesis": _RULES[dimension],
            }


def _section_7_3(measured: Measured) -> Rows:
    """E21: each technique, with and without."""
    for technique in ABLATIONS:
        row: Row = {"technique": technique}
        for n, given, runs in _graphs(measured, _ABLATIONS):
            pair = {
                run["label"]["form"]: run["seconds"]["kernel"]
                for run in runs
                if run["label"]["technique"] == technique
            }
            head = f"{given['label']['graph']}, n {n}"
            row[head] = ratio(pair.get("without"), pair.get("with"))
        yield row


_Judge = Callable[[Mapping[str, Any], _Times], bool | None]


def _is_best(dimension: str, *values: str) -> _Judge:
    """Return a judge: one of these values is in the best configuration."""

    def judge(given: Mapping[str, Any], times: _Times) -> bool:
        best = min(times, key=times.__getitem__)
        return best[_DIMENSIONS.index(dimension)] in values

    return judge


def _where(condition: Callable[[Mapping[str, Any]], bool], judge: _Judge) -> _Judge:
    return lambda given, times: judge(given, times) if condition(given) else None


def _never(judge: _Judge) -> _Judge:
    return lambda given, times: not judge(given, times)


_NODES = tuple(name for name in BALANCES if name.startswith("node"))
_SCANS = tuple(name for name in BALANCES if name.startswith("scan"))
_CLAIMS: dict[str, _Judge] = {
    "node-based mapping is best for regular degrees (Gini below 0.2)": _where(
        lambda given: given["gini"] < 0.2, _is_best("balance", *_NODES)
    ),
    "scan-based balance is best for irregular degrees (Gini 0.3 or more, mean 5 or more)": _where(
        lambda given: given["gini"] >= 0.3 and given["mean"] >= 5, _is_best("balance", *_SCANS)
    ),
    "binary search is never best": _never(_is_best("balance", "search, warp", "search, block")),
    "device-wide search is never best": _never(_is_best("balance", "device-wide")),
    "the vertex queue is best, unless mean below 5 and Gini 0.2 or more": _where(
        lambda given: given["mean"] >= 5 or given["gini"] < 0.2, _is_best("queue", "vertex")
    ),
    "the edge queue is best if mean below 5 and Gini 0.2 or more": _where(
        lambda given: given["mean"] < 5 and given["gini"] >= 0.2, _is_best("queue", "edge")
    ),
    "the two-phase queue is never best": _never(_is_best("queue", "two-phase")),
    "a launch for each level is best below a depth of 100": _where(
        lambda given: given["eccentricity"] < 100, _is_best("sync", "multi")
    ),
    "ballots are best if mean 32 or less, or Gini 0.9 or more": _where(
        lambda given: given["mean"] <= 32 or given["gini"] >= 0.9, _is_best("update", "ballot")
    ),
}
# Claims about one technique: its name, and for which graphs it is said to help (1) or not (-1).
_HELPS: dict[str, tuple[str, int, Callable[[Mapping[str, Any]], bool]]] = {
    "indices in local memory make binary search faster": (
        "search, indices in local memory",
        1,
        lambda given: True,
    ),
    "CSR-M is faster for all graphs": ("CSR-M", 1, lambda given: True),
    "bins are faster than dynamic parallelism (here a list of its own)": (
        "bins, not one list",
        1,
        lambda given: True,
    ),
    "warp gathering helps if a degree is above the warp": (
        "warp gathering",
        1,
        lambda given: given["largest"] > 32,
    ),
    "block gathering helps if a degree is above the block": (
        "block gathering",
        1,
        lambda given: given["largest"] > 128,
    ),
    "removing duplicates during lookup is slower than after load": (
        "duplicates during lookup",
        -1,
        lambda given: True,
    ),
    "compare-and-exchange is slower than removal after load": (
        "compare-and-exchange",
        -1,
        lambda given: True,
    ),
}


def _told(yes: int, asked: int) -> str:
    if not asked:
        return "no such graph"
    return "yes" if yes == asked else "no" if not yes else "not for all"


def _section_7_4(measured: Measured) -> Rows:
    """Answer the claims of section 7.4.2."""
    for claim, judge in _CLAIMS.items():
        answers = [judge(given, _times(runs)) for _, given, runs in _graphs(measured, _ALL)]
        counted = [each for each in answers if each is not None]
        yes, asked = sum(counted), len(counted)
        yield {"claim": claim, "answer: ours": _told(yes, asked), "yes": yes, "graphs": asked}
    for claim, (technique, sign, condition) in _HELPS.items():
        gains = []
        for _, given, runs in _graphs(measured, _ABLATIONS):
            pair = {
                run["label"]["form"]: run["seconds"]["kernel"]
                for run in runs
                if run["label"]["technique"] == technique
            }
            if len(pair) == 2 and condition(given):
                gains.append(sign * math.log(pair["without"] / pair["with"]) > 0)
        yes, asked = sum(gains), len(gains)
        yield {"claim": claim, "answer: ours": _told(yes, asked), "yes": yes, "graphs": asked}


def _section_7_3_8(measured: Measured) -> Rows:
    """Show the numbers of our configurations."""
    thesis = Published("busato_traversal/helix").value(quantity="configurations")
    sizes = measured.sizes(_ALL)
    spaces = measured.inputs(_ALL, sizes[0])[0]["spaces"] if sizes else []
    return ({**each, "configurations: thesis": thesis} for each in spaces)


ROWS = {
    "table-7.1": _table_7_1,
    "figure-7.4": _figure_7_4,
    "figure-7.6": _figure_7_6,
    "figure-7.7": _figure_7_7,
    "table-7.2": _table_7_2,
    "section-7.3": _section_7_3,
    "section-7.4.2": _section_7_4,
    "section-7.3.8": _section_7_3_8,
}
