"""Tables and figures of [B] chapter 8: H-BF."""

from __future__ import annotations

import math
from functools import partial

from papers.busato_paths.rows import of_graph, of_times
from papers.busato_paths.searches import claims
from papers.busato_paths.searches.experiments import OPTIMISATIONS
from papers.busato_paths.searches.stand_ins import FIRST, SECOND
from papers.claims import judged
from papers.measured import Measured
from papers.published import Published
from papers.tables import Maker, Row, Rows
from papers.values import milliseconds, ratio

__all__ = ["ROWS"]

_THEIRS = "published"
_SEARCHES, _OPTIMISATIONS = "busato-paths-searches", "busato-paths-optimisations"
# The searches of table 8.2; frontier is H-BF without optimisations.
_NAMES = (
    *("queue", "dijkstra", "sssp-bellman-ford", "workfront sweep", "sssp-near-far"),
    *("sssp-bucketing", "frontier", "sssp-h-bf", "sssp-delta-stepping"),
)
# Where the published times of each search are from.
_DEVICES = {
    "queue": "Phenom II",
    "dijkstra": "Boost, Phenom II",
    "sssp-bellman-ford": "LoneStar, GTX 780",
    "sssp-near-far": "Davidson et al., GTX 780",
    "sssp-h-bf": "GTX 780",
}
_PAPER = Published("busato_paths/searches")


def _graphs(measured: Measured) -> Rows:
    known = {
        (n, about["label"]["graph"]): about
        for experiment in (_SEARCHES, _OPTIMISATIONS)
        for n, about in measured.each_input(experiment)
    }
    for (n, name), about in known.items():
        sizes = {quantity: about[quantity] for quantity in ("vertices", "arcs")}
        degrees = ("average degree", "deviation of degrees", "largest degree")
        row = of_graph(_PAPER, "table 8.1", n, about, sizes, degrees, "stand-in")
        row["depth from the sources: ours"] = about["depth"]
        row["diameter: published"] = _PAPER.value(
            exhibit="table 8.1", quantity="diameter", graph=name
        )
        yield row


def _times(measured: Measured) -> Rows:
    for n in measured.sizes(_SEARCHES):
        arcs = {each["label"]["graph"]: each["arcs"] for each in measured.inputs(_SEARCHES, n)}
        for name in FIRST:
            times = claims.times(measured, n, name)
            seconds = {each: times.get(each) for each in _NAMES}
            yield of_times(_PAPER, "table 8.2", n, name, arcs.get(name, 0), seconds, _DEVICES)


def _speedups(measured: Measured) -> Rows:
    for n in measured.sizes(_SEARCHES):
        for place, name in enumerate(FIRST, 1):
            ours = claims.times(measured, n, name)
            theirs = {
                each: _PAPER.value(exhibit="table 8.2", quantity="time", graph=name, method=each)
                for each in _NAMES
            }
            row: Row = {"n": n, "place": place, "graph": name}
            for each in _NAMES[1:]:
                row[f"{each}: ours"] = ratio(ours.get("queue"), ours.get(each))
                if theirs[each] is not None:
                    row[f"{each}: {_THEIRS}"] = ratio(theirs["queue"], theirs[each])
            yield row


def _ablation(measured: Measured) -> Rows:
    for n in measured.sizes(_OPTIMISATIONS):
        for name in SECOND:
            queue = measured.phases(
                _OPTIMISATIONS, n, graph=name, optimisation="queue", form="alone"
            ).get("kernel")
            for each in OPTIMISATIONS:
                row: Row = {"n": n, "graph": name, "optimisation": each}
                row["queue, ms: ours"] = milliseconds(queue)
                pairs = claims.with_and_without(measured, n, name, each)
                for form, (before, after) in pairs.items():
                    row[f"without ({form}), ms: ours"] = milliseconds(before)
                    row[f"with ({form}), ms: ours"] = milliseconds(after)
                    row[f"gain ({form}): ours"] = ratio(before, after)
                    row[f"speedup over queue without ({form}): ours"] = ratio(queue, before)
                    row[f"speedup over queue with ({form}): ours"] = ratio(queue, after)
                where = {"exhibit": "table 8.3", "graph": name, "optimisation": each}
                time, before_, after_, *gains = (
                    _PAPER.value(quantity=quantity, **where)
                    for quantity in (
                        *("time", "time without", "time with"),
                        *("speedup without", "speedup with"),
                    )
                )
                there = _DEVICES["sssp-h-bf"]
                row |= {f"queue, ms: {_DEVICES['queue']}": time, f"without, ms: {there}": before_}
                row |= {f"with, ms: {there}": after_, f"gain: {_THEIRS}": ratio(before_, after_)}
                row[f"speedup over queue without: {_THEIRS}"] = gains[0]
                row[f"speedup over queue with: {_THEIRS}"] = gains[1]
                yield row


def _relaxations(measured: Measured) -> Rows:
    theirs = {"H-BF": "sssp-h-bf", "queue-less": "queue-less"}
    above = "orders of magnitude above Dijkstra"
    for n in measured.sizes(_OPTIMISATIONS):
        counts = claims.counts(measured, n)
        duplicates = {
            run["label"]["search"]: run.get("duplicates")
            for run in measured.runs(_OPTIMISATIONS, n, graph="msdoor")
        }
        for name, count in sorted(counts.items(), key=lambda each: each[1]):
            published = None
            if name in theirs:
                published = _PAPER.value(exhibit="figure 8.9", method=theirs[name])
            yield {
                "n": n,
                "search": name,
                "relaxations: ours": count,
                f"{above}: ours": math.log10(count / counts["Dijkstra"]),
                f"{above}: published": published,
                "duplicates removed: ours": duplicates.get(name),
            }


ROWS: dict[str, Maker] = {
    "table-8.1": _graphs,
    "table-8.2": _times,
    "figure-8.8": _speedups,
    "claims-8.2": partial(judged, claims.OF_SEARCHES),
    "table-8.3": _ablation,
    "figure-8.9": _relaxations,
    "claims-8.3": partial(judged, claims.OF_OPTIMISATIONS),
}
