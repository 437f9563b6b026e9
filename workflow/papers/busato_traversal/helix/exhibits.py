"""Tables and figures of [B] chapter 7, a tree from our times, and its claims."""

from __future__ import annotations

import math
from functools import partial

from papers.busato_traversal.helix.claims import (
    ABLATED,
    CLAIMS,
    CONFIGURED,
    DIMENSIONS,
    RIVALS,
    Seconds,
    graphs,
    pairs,
    seconds_of,
)
from papers.busato_traversal.helix.experiments import ABLATIONS
from papers.busato_traversal.helix.tree import Leaf, Split, Tree, fitted, loss, rules
from papers.busato_traversal.helix.tree import Row as Sample
from papers.claims import judged
from papers.measured import Measured
from papers.published import Published
from papers.runner import RunRecord
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
        seconds = {run["label"]["method"]: run["seconds"]["kernel"] for run in runs}
        for other in seconds:
            if not other.startswith("bfs-helix"):
                gain = ratio(seconds[other], seconds.get("bfs-helix"))
                row[f"bfs-helix over {other}: ours"] = gain
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


_SCAN, _LARGE = Leaf("scan, warp"), Leaf("node 32, shuffle")
# The published rules.
_THESIS: dict[str, Tree] = {
    "balance": Split(
        "mean",
        5,
        Split("gini", 0.2, Leaf("node 4"), Leaf("node 1")),
        Split(
            "gini",
            0.3,
            Split("mean", 32, _SCAN, Split("mean", 64, Leaf("node 16, shuffle"), _LARGE)),
            _SCAN,
        ),
    ),
    "queue": Split("mean", 5, Split("gini", 0.2, Leaf("vertex"), Leaf("edge")), Leaf("vertex")),
    "sync": Split("mean", 20, Split("gini", 0.6, Leaf("persistent"), Leaf("multi")), Leaf("multi")),
    "update": Split("mean", 32, Leaf("ballot"), Split("gini", 0.9, Leaf("local"), Leaf("ballot"))),
}


def _table_7_2(measured: Measured) -> Rows:
    """Yield the published rules and the best trees of our times, both scored on our times."""
    for dimension, published in _THESIS.items():
        rows = _rows(measured, dimension)
        if not rows:
            continue
        trees = {f"ours, {depth} splits": fitted(rows, depth) for depth in range(_DEPTH + 1)}
        for name, tree in {"thesis": published, **trees}.items():
            lost, scored = loss(tree, rows)
            text = "; ".join(f"{when}: {choice}" for when, choice in rules(tree))
            row: Row = {"feature": dimension, "rules of": name, "rules": text}
            yield {**row, "loss: ours": lost, "graphs: ours": scored}


def _bitmask(run: RunRecord) -> int | str:
    """Return the bitmask of a form."""
    label = run["label"]
    return ABLATIONS[label["technique"]][label["form"] == "with"]["bitmask"]


def _section_7_3(measured: Measured) -> Rows:
    """Yield each technique, with and without."""
    for technique in ABLATIONS:
        row: Row = {"technique": technique}
        for n, name, _, runs in graphs(measured, ABLATED):
            pair = pairs(runs).get(technique, {})
            row[f"{name}, n {n}"] = ratio(pair.get("without"), pair.get("with"))
        yield row
    for bits in ("8", "32", "atomic"):
        row = {"technique": f"bits set after a search, bitmask {bits}"}
        for n, name, _, runs in graphs(measured, ABLATED):
            found = [run["bits"] for run in runs if "bits" in run and _bitmask(run) == bits]
            row[f"{name}, n {n}"] = found[0] if found else None
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
    "section-7.4.2": partial(judged, CLAIMS),
    "section-7.3.8": _section_7_3_8,
}
