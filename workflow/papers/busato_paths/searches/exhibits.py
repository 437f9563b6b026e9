"""Tables and figures of [B] chapter 8: H-BF."""

from __future__ import annotations

import math

from papers.busato_paths.rows import of_graph, of_times
from papers.busato_paths.searches import claims
from papers.busato_paths.searches.experiments import OPTIMISATIONS
from papers.busato_paths.searches.stand_ins import FIRST, SECOND
from papers.claims import claims_table
from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, Row, Rows, Table
from papers.values import milliseconds, ratio

__all__ = ["ROWS"]

_THEIRS = "published"
_SEARCHES, _OPTIMISATIONS = "busato-paths-searches", "busato-paths-optimisations"
_STAND_INS = (
    "The graphs are stand-ins with fewer vertices: about the average degree of the published "
    "graph, and its deviation, or a mesh for a mesh; nothing else is the same. Weights are uniform "
    "in 1..100; the thesis does not give them. "
)
_TIMES = "Medians of searches from three sources, without transfers; the thesis has 100 sources. "
_LOOPS = (
    "On a CPU, groups of 32 work-items, which are loops there. The threshold of the heavy list is "
    "256 arcs for stand-ins of less than 500,000 vertices, and 4096 as published for others. "
)
# Our name -> that of the thesis, for the searches of table 8.2.
_NAMES = {
    "queue": "Bellman-Ford with a queue",
    "dijkstra": "Dijkstra",
    "sssp-bellman-ford": "LoneStar",
    "workfront sweep": None,
    "sssp-near-far": "workfront sweep or near-far",
    "frontier": None,
    "sssp-h-bf": "H-BF",
    "sssp-delta-stepping": None,
}


def _published() -> Published:
    return Published("busato_paths/searches")


def _graphs(measured: Measured) -> Rows:
    paper = _published()
    known = {}
    for experiment in (_SEARCHES, _OPTIMISATIONS):
        for n in measured.sizes(experiment):
            for given in measured.inputs(experiment, n):
                known[n, given["label"]["graph"]] = given
    for (n, name), given in known.items():
        sizes = {quantity: given[quantity] for quantity in ("vertices", "arcs")}
        degrees = ("average degree", "deviation of degrees", "largest degree")
        row = of_graph(paper, "table 8.1", n, given, sizes, degrees, "stand-in")
        row["depth from the sources: ours"] = given["depth"]
        row["diameter: published"] = paper.value(
            exhibit="table 8.1", quantity="diameter", graph=name
        )
        yield row


def _times(measured: Measured) -> Rows:
    paper = _published()
    for n in measured.sizes(_SEARCHES):
        arcs = {each["label"]["graph"]: each["arcs"] for each in measured.inputs(_SEARCHES, n)}
        for name in FIRST:
            times = claims.times(measured, n, name)
            found = {each: times.get(each) for each in _NAMES}
            yield of_times(paper, "table 8.2", n, name, arcs.get(name, 0), found)


def _speedups(measured: Measured) -> Rows:
    paper = _published()
    for n in measured.sizes(_SEARCHES):
        for place, name in enumerate(FIRST, 1):
            found = claims.times(measured, n, name)
            theirs = {
                each: paper.value(exhibit="table 8.2", quantity="time", graph=name, method=each)
                for each in _NAMES
            }
            row: Row = {"n": n, "place": place, "graph": name}
            for each in _NAMES:
                if each == "queue":
                    continue
                row[f"{each}: ours"] = ratio(found.get("queue"), found.get(each))
                if theirs[each] is not None:
                    row[f"{each}: {_THEIRS}"] = ratio(theirs["queue"], theirs[each])
            yield row


def _speedups_drawn(measured: Measured, columns: list[str]) -> Drawing:
    n = max(measured.sizes(_SEARCHES))
    lines = [
        Line(column, published=column.endswith(_THEIRS), where={"n": n})
        for column in columns
        if column.split(":")[0] in ("dijkstra", "sssp-near-far", "sssp-h-bf")
    ]
    return Drawing("place", {"speedup": lines}, logarithmic="y")


def _ablation(measured: Measured) -> Rows:
    paper = _published()
    for n in measured.sizes(_OPTIMISATIONS):
        for name in SECOND:
            queue = measured.seconds(
                _OPTIMISATIONS, n, graph=name, optimisation="queue", form="alone"
            )
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
                theirs = {
                    quantity: paper.value(quantity=quantity, **where)
                    for quantity in (
                        *("time", "time without", "time with"),
                        *("speedup without", "speedup with"),
                    )
                }
                row[f"queue, ms: {_THEIRS}"] = theirs["time"]
                row[f"without, ms: {_THEIRS}"] = theirs["time without"]
                row[f"with, ms: {_THEIRS}"] = theirs["time with"]
                row[f"gain: {_THEIRS}"] = ratio(theirs["time without"], theirs["time with"])
                row[f"speedup over queue without: {_THEIRS}"] = theirs["speedup without"]
                row[f"speedup over queue with: {_THEIRS}"] = theirs["speedup with"]
                yield row


def _relaxations(measured: Measured) -> Rows:
    paper = _published()
    for n in measured.sizes(_OPTIMISATIONS):
        found = claims.counts(measured, n)
        duplicates = {
            run["label"]["search"]: run.get("duplicates")
            for run in measured.runs(_OPTIMISATIONS, n, graph="msdoor")
        }
        theirs = {"H-BF": "sssp-h-bf", "queue-less, n - 1 sweeps": "queue-less"}
        yield from [
            {
                "n": n,
                "search": name,
                "relaxations: ours": count,
                "orders of magnitude above Dijkstra: ours": math.log10(count / found["Dijkstra"]),
                "orders of magnitude above Dijkstra: published": paper.value(
                    exhibit="figure 8.9", method=theirs[name]
                )
                if name in theirs
                else None,
                "duplicates removed: ours": duplicates.get(name),
            }
            for name, count in sorted(found.items(), key=lambda each: each[1])
        ]


def _of_searches(measured: Measured) -> Exhibit:
    return Exhibit(
        "claims-8.2",
        "What section 8.5 says about table 8.2, and whether it holds on this device",
        f"{_STAND_INS}Answered for the largest n. Numbers are quotients of times unless they have "
        "a unit.",
        claims_table(claims.of_searches(measured)),
    )


def _of_optimisations(measured: Measured) -> Exhibit:
    return Exhibit(
        "claims-8.3",
        "What section 8.5 says about the optimisations, and whether it holds on this device",
        f"{_STAND_INS}Answered for the largest n. Numbers are quotients of times, or relaxations.",
        claims_table(claims.of_optimisations(measured)),
    )


ROWS = {
    "table-8.1": _graphs,
    "table-8.2": _times,
    "figure-8.8": _speedups,
    "claims-8.2": _of_searches,
    "table-8.3": _ablation,
    "figure-8.9": _relaxations,
    "claims-8.3": _of_optimisations,
}
