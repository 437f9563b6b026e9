"""Tables and figures of [B] chapter 7, a tree from our times, and its claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from papers.busato_traversal.helix.experiments import ABLATIONS, BALANCES
from papers.busato_traversal.helix.tree import Row as Sample
from papers.busato_traversal.helix.tree import fitted, rules
from papers.measured import Measured
from papers.published import Published
from papers.runner import RunRecord
from papers.tables import Maker, Row, Rows
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
) -> Iterator[tuple[int, str, RunRecord, list[RunRecord]]]:
    """Yield n, the name, the facts and the runs of each graph."""
    for n, about in measured.each_input(experiment):
        name = about["label"]["graph"]
        yield n, name, about, list(measured.runs(experiment, n, graph=name))


def _pairs(runs: list[RunRecord]) -> dict[str, dict[str, float]]:
    """Return the seconds without and with each technique."""
    pairs: dict[str, dict[str, float]] = {}
    for run in runs:
        label = run["label"]
        pairs.setdefault(label["technique"], {})[label["form"]] = run["seconds"]["kernel"]
    return pairs


def _times(runs: list[RunRecord]) -> _Times:
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
    """Return by how much each configuration is slower than the best one for a graph."""
    columns = {
        f"{name}, n {n} ({about['mean']:.1f}; {about['gini']:.2f})": _times(runs)
        for n, name, about, runs in _graphs(measured, _ALL)
    }
    for each in dict.fromkeys(each for times in columns.values() for each in times):
        row: Row = dict(zip(_DIMENSIONS, each, strict=True))
        for head, times in columns.items():
            row[head] = ratio(times.get(each), min(times.values()))
        yield row


def _figure_7_7(measured: Measured) -> Rows:
    """Yield the rate of each search."""
    for n, name, about, runs in _graphs(measured, _RIVALS):
        row: Row = {"graph": name, "n": n}
        for run in runs:
            rate = ratio(about["arcs"] / 1e6, run["seconds"]["kernel"])
            row[f"{run['label']['method']}: ours"] = rate
        yield row


def _table_7_1(measured: Measured) -> Rows:
    """Yield the statistics of the graphs."""
    names = ("n", "arcs", "mean", "deviation", "gini", "largest", "eccentricity")
    for _, name, about, _ in _graphs(measured, _RIVALS):
        yield {"graph": name, **{each: about[each] for each in names}}


def _figure_7_4(measured: Measured) -> Rows:
    """Yield how many vertices are in a bin."""
    for n, name, about, _ in _graphs(measured, _RIVALS):
        for i, count in enumerate(about["bins"]):
            yield {"graph": name, "n": n, "degrees from": 2**i, "vertices": count}


def _rows(measured: Measured, dimension: str) -> list[Sample]:
    """Return the facts of each graph, and the least seconds of each value of a dimension."""
    return [
        ({fact: about[fact] for fact in _FACTS}, _least(_times(runs), dimension))
        for _, _, about, runs in _graphs(measured, _ALL)
    ]


_RULES = {
    "balance": "mean < 5 and gini >= 0.2: node 1; mean < 5: node 4; mean > 64 and gini < 0.3: "
    "node 32, shuffle; mean > 32 and gini < 0.3: node 16, shuffle; otherwise scan, warp",
    "queue": "mean < 5 and gini >= 0.2: edge; otherwise vertex",
    "sync": "mean > 20 or gini >= 0.6: multi; otherwise one launch",
    "update": "mean > 32 and gini < 0.9: local; otherwise ballot",
}


def _table_7_2(measured: Measured) -> Rows:
    """Yield the published rules, and the best tree of our times."""
    for dimension, published in _RULES.items():
        rows = _rows(measured, dimension)
        for depth in range(_DEPTH + 1) if rows else ():
            tree = fitted(rows, depth)
            text = "; ".join(f"{when}: {choice}" for when, choice in rules(tree))
            row: Row = {"feature": dimension, "splits": depth, "rules: ours": text}
            row["loss: ours"] = math.exp(tree.cost / len(rows)) - 1
            yield {**row, "rules: thesis": published}


def _section_7_3(measured: Measured) -> Rows:
    """Yield each technique, with and without."""
    for technique in ABLATIONS:
        row: Row = {"technique": technique}
        for n, name, _, runs in _graphs(measured, _ABLATIONS):
            pair = _pairs(runs).get(technique, {})
            row[f"{name}, n {n}"] = ratio(pair.get("without"), pair.get("with"))
        yield row


_Condition = Callable[[Mapping[str, float]], bool]
_Judge = Callable[[Mapping[str, float], _Times], bool | None]


def _always(about: Mapping[str, float]) -> bool:
    return True


def _is_best(
    dimension: str, *values: str, where: _Condition = _always, never: bool = False
) -> _Judge:
    """Return a judge: one of these values is in the best configuration of such graphs, or never."""

    def judge(about: Mapping[str, float], times: _Times) -> bool | None:
        best = min(times, key=times.__getitem__)[_DIMENSIONS.index(dimension)]
        return (best in values) != never if where(about) else None

    return judge


_NODES = tuple(name for name in BALANCES if name.startswith("node"))
_SCANS = tuple(name for name in BALANCES if name.startswith("scan"))
_CLAIMS = {
    "node-based mapping is best for regular degrees (Gini below 0.2)": _is_best(
        "balance", *_NODES, where=lambda about: about["gini"] < 0.2
    ),
    "scan-based balance is best for irregular degrees (Gini 0.3 or more, mean 5 or more)": _is_best(
        "balance", *_SCANS, where=lambda about: about["gini"] >= 0.3 and about["mean"] >= 5
    ),
    "binary search is never best": _is_best("balance", "search, warp", "search, block", never=True),
    "device-wide search is never best": _is_best("balance", "device-wide", never=True),
    "the vertex queue is best, unless mean below 5 and Gini 0.2 or more": _is_best(
        "queue", "vertex", where=lambda about: about["mean"] >= 5 or about["gini"] < 0.2
    ),
    "the edge queue is best if mean below 5 and Gini 0.2 or more": _is_best(
        "queue", "edge", where=lambda about: about["mean"] < 5 and about["gini"] >= 0.2
    ),
    "the two-phase queue is never best": _is_best("queue", "two-phase", never=True),
    "a launch for each level is best below a depth of 100": _is_best(
        "sync", "multi", where=lambda about: about["eccentricity"] < 100
    ),
    "ballots are best if mean 32 or less, or Gini 0.9 or more": _is_best(
        "update", "ballot", where=lambda about: about["mean"] <= 32 or about["gini"] >= 0.9
    ),
}
# Claims about one technique: its name, whether it is said to help, and for graphs with a degree
# above which number.
_HELPS = {
    "indices in local memory make binary search faster": (
        "search, indices in local memory",
        True,
        -1,
    ),
    "CSR-M is faster for all graphs": ("CSR-M", True, -1),
    "bins are faster than dynamic parallelism (here a list of its own)": (
        "bins, not one list",
        True,
        -1,
    ),
    "warp gathering helps if a degree is above the warp": ("warp gathering", True, 32),
    "block gathering helps if a degree is above the block": ("block gathering", True, 128),
    "removing duplicates during lookup is slower than after load": (
        "duplicates during lookup",
        False,
        -1,
    ),
    "compare-and-exchange is slower than removal after load": ("compare-and-exchange", False, -1),
}


def _answer(claim: str, answers: list[bool]) -> Row:
    yes, graphs = sum(answers), len(answers)
    text = "yes" if yes == graphs else "no" if not yes else "not for all"
    answer = text if graphs else "no such graph"
    return {"claim": claim, "answer: ours": answer, "yes": yes, "graphs": graphs}


def _section_7_4(measured: Measured) -> Rows:
    """Answer the claims of section 7.4.2."""
    for claim, judge in _CLAIMS.items():
        answers = [judge(about, _times(runs)) for _, _, about, runs in _graphs(measured, _ALL)]
        yield _answer(claim, [each for each in answers if each is not None])
    for claim, (technique, helps, above) in _HELPS.items():
        gains = []
        for _, _, about, runs in _graphs(measured, _ABLATIONS):
            pair = _pairs(runs).get(technique, {})
            if len(pair) == 2 and about["largest"] > above:
                gain = math.log(pair["without"] / pair["with"])
                gains.append(gain > 0 if helps else gain < 0)
        yield _answer(claim, gains)


def _section_7_3_8(measured: Measured) -> Rows:
    """Show the numbers of our configurations."""
    thesis = Published("busato_traversal/helix").value(quantity="configurations")
    sizes = measured.sizes(_ALL)
    spaces = measured.inputs(_ALL, sizes[0])[0]["spaces"] if sizes else []
    return ({**each, "configurations: thesis": thesis} for each in spaces)


ROWS: dict[str, Maker] = {
    "table-7.1": _table_7_1,
    "figure-7.4": _figure_7_4,
    "figure-7.6": _figure_7_6,
    "figure-7.7": _figure_7_7,
    "table-7.2": _table_7_2,
    "section-7.3": _section_7_3,
    "section-7.4.2": _section_7_4,
    "section-7.3.8": _section_7_3_8,
}
