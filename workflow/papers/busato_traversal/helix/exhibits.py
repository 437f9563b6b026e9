"""Tables and figures of [B] chapter 7, a tree from our times, and its claims."""

from __future__ import annotations

import math

from papers.busato_traversal.helix.claims import (
    ABLATED,
    CONFIGURED,
    DIMENSIONS,
    RIVALS,
    Seconds,
    claims,
    graphs,
    pairs,
    seconds_of,
)
from papers.busato_traversal.helix.experiments import ABLATIONS
from papers.busato_traversal.helix.tree import Row as Sample
from papers.busato_traversal.helix.tree import fitted, rules
from papers.measured import Measured
from papers.published import Published
from papers.tables import Maker, Row, Rows
from papers.values import ratio

__all__ = ["ROWS"]

_FACTS = ("mean", "gini", "largest")
# Splits on the way to a leaf; there are as many graphs as a tree of this depth has leaves.
_DEPTH = 2
_TIMES = (
    "Seconds of one search by the clock of the host, without transfers; medians of turns with "
    "three sources each. "
)


def _least(times: Seconds, dimension: str) -> dict[str, float]:
    """Return the seconds of the best configuration with each value of a dimension."""
    place, least = DIMENSIONS.index(dimension), dict[str, float]()
    for configuration, seconds in times.items():
        value = configuration[place]
        least[value] = min(seconds, least.get(value, math.inf))
    return least


def _figure_7_6(measured: Measured) -> Rows:
    """Return by how much each configuration is slower than the best one for a graph."""
    columns = {
        f"{name}, n {n} ({about['mean']:.1f}; {about['gini']:.2f})": seconds_of(runs)
        for n, name, about, runs in graphs(measured, CONFIGURED)
    }
    for each in dict.fromkeys(each for times in columns.values() for each in times):
        row: Row = dict(zip(DIMENSIONS, each, strict=True))
        for head, times in columns.items():
            row[head] = ratio(times.get(each), min(times.values()))
        yield row


def _figure_7_7(measured: Measured) -> Rows:
    """Yield the rate of each search."""
    for n, name, about, runs in graphs(measured, RIVALS):
        row: Row = {"graph": name, "n": n}
        for run in runs:
            rate = ratio(about["arcs"] / 1e6, run["seconds"]["kernel"])
            row[f"{run['label']['method']}: ours"] = rate
        yield row


def _table_7_1(measured: Measured) -> Rows:
    """Yield the statistics of the graphs."""
    names = ("n", "arcs", "mean", "deviation", "gini", "largest", "eccentricity")
    for _, name, about, _ in graphs(measured, RIVALS):
        yield {"graph": name, **{each: about[each] for each in names}}


def _figure_7_4(measured: Measured) -> Rows:
    """Yield how many vertices are in a bin."""
    for n, name, about, _ in graphs(measured, RIVALS):
        for i, count in enumerate(about["bins"]):
            yield {"graph": name, "n": n, "degrees from": 2**i, "vertices": count}


def _rows(measured: Measured, dimension: str) -> list[Sample]:
    """Return the facts of each graph, and the least seconds of each value of a dimension."""
    return [
        ({fact: about[fact] for fact in _FACTS}, _least(seconds_of(runs), dimension))
        for _, _, about, runs in graphs(measured, CONFIGURED)
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
        for n, name, _, runs in graphs(measured, ABLATED):
            pair = pairs(runs).get(technique, {})
            row[f"{name}, n {n}"] = ratio(pair.get("without"), pair.get("with"))
        yield row


def _section_7_3_8(measured: Measured) -> Rows:
    """Show the numbers of our configurations."""
    thesis = Published("busato_traversal/helix").value(quantity="configurations")
    sizes = measured.sizes(CONFIGURED)
    spaces = measured.inputs(CONFIGURED, sizes[0])[0]["spaces"] if sizes else []
    return ({**each, "configurations: thesis": thesis} for each in spaces)


ROWS: dict[str, Maker] = {
    "table-7.1": _table_7_1,
    "figure-7.4": _figure_7_4,
    "figure-7.6": _figure_7_6,
    "figure-7.7": _figure_7_7,
    "table-7.2": _table_7_2,
    "section-7.3": _section_7_3,
    "section-7.4.2": claims,
    "section-7.3.8": _section_7_3_8,
}
