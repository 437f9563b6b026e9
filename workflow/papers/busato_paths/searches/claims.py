"""The statements of [B] chapter 8 about times and relaxations, answered by our measurements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import geometric_mean, mean

from papers.busato_paths.searches.experiments import OPTIMISATIONS
from papers.busato_paths.searches.stand_ins import FIRST
from papers.claims import Claim, listed
from papers.measured import Measured
from papers.values import Value

__all__ = ["counts", "of_optimisations", "of_searches", "times", "with_and_without"]

_SEARCHES, _OPTIMISATIONS = "busato-paths-searches", "busato-paths-optimisations"
#: What the thesis compares with H-BF.
_PARALLEL = ("sssp-bellman-ford", "workfront sweep", "sssp-near-far")
# The thesis counts relaxations with 415,000 vertices.
_MANY = 300_000


def times(measured: Measured, n: int, graph: str) -> dict[str, float]:
    """Return the seconds of each search of table 8.2."""
    return {
        run["label"]["method"]: run["seconds"]["kernel"]
        for run in measured.runs(_SEARCHES, n, graph=graph)
    }


def of_searches(measured: Measured) -> Iterator[Claim]:
    """Yield the answers of the largest n."""
    n = max(measured.sizes(_SEARCHES))
    every = {name: times(measured, n, name) for name in FIRST}
    every = {name: each for name, each in every.items() if {"queue", "dijkstra"} <= each.keys()}
    arcs = {each["label"]["graph"]: each["arcs"] for each in measured.inputs(_SEARCHES, n)}

    def over(*others: str) -> dict[str, float]:
        """Return the time of the fastest of these over that of H-BF."""
        return {
            name: min(each[other] for other in others) / each["sssp-h-bf"]
            for name, each in every.items()
        }

    leads, davidson, gains = over(*_PARALLEL), over(*_PARALLEL[1:]), over("queue")
    holds = all(lead > 1 for lead in leads.values()) if leads else None
    yield Claim("HB1", holds, "best other / H-BF: " + listed(leads))
    average = mean(davidson.values()) if davidson else math.nan
    numbers = f"mean {average:.3g}: {listed(davidson)}"
    yield Claim("HB2", average >= 5 if davidson else None, numbers)
    deep = [gain for name, gain in gains.items() if FIRST.index(name) < 3]
    flat = [gain for name, gain in gains.items() if FIRST.index(name) >= 3]
    slower = geometric_mean(deep) < geometric_mean(flat) if deep and flat else None
    yield Claim("HB3", slower, listed(gains))
    if (roads := every.get("asia.osm")) is None:
        yield Claim("HB4", None)
    else:
        named = {name: 1e3 * roads[name] for name in ("dijkstra", "sssp-h-bf", *_PARALLEL)}
        fastest = min(roads[each] for each in _PARALLEL)
        only = roads["sssp-h-bf"] < roads["dijkstra"] <= fastest
        yield Claim("HB4", only, f"ms: {listed(named)}")
    rates = {name: arcs[name] / each["sssp-h-bf"] / 1e6 for name, each in every.items()}
    highest = max(rates, key=rates.__getitem__) == "msdoor" if rates else None
    yield Claim("HB5", highest, "MTEPS: " + listed(rates))


def with_and_without(
    measured: Measured, n: int, graph: str, optimisation: str
) -> dict[str, tuple[float, float]]:
    """Return the seconds without and with an optimisation: alone, and as the last one."""

    def seconds(each: str, form: str) -> float | None:
        return measured.seconds(_OPTIMISATIONS, n, graph=graph, optimisation=each, form=form)

    pairs = {
        "alone": (seconds("none", "alone"), seconds(optimisation, "alone")),
        "last": (seconds(optimisation, "missing"), seconds("all", "alone")),
    }
    return {
        name: (before, after)
        for name, (before, after) in pairs.items()
        if before is not None and after is not None
    }


#: Number, optimisation, graph, and the factor of table 8.3.
_GAINS = (
    ("HB6", "warp workload", "hugetrace_00000", 2.9),
    ("HB7", "classes of arcs", "wiki-talk", 3.4),
    ("HB8", "dynamic warps and heavy list", "as-Skitter", 2.6),
    ("HB9", "removal of duplicates", "random_2Mv.128Me", 1.9),
)


def of_optimisations(measured: Measured) -> Iterator[Claim]:
    """Yield the answers of the largest n."""
    n = max(measured.sizes(_OPTIMISATIONS))
    graphs = [graph for _, _, graph, _ in _GAINS]
    gains = {
        (graph, each): {
            form: before / after
            for form, (before, after) in with_and_without(measured, n, graph, each).items()
        }
        for graph in graphs
        for each in OPTIMISATIONS
    }
    for number, optimisation, graph, factor in _GAINS:
        gain = gains[graph, optimisation]
        holds = max(gain.values()) >= 1 + (factor - 1) / 2 if gain else None
        words: dict[str, Value] = {"optimisation": optimisation, "graph": graph, "factor": factor}
        yield Claim(number, holds, "without / with: " + listed(gain), words)

    def alone(optimisation: str, *graphs: str) -> dict[str, float]:
        return {graph: gains[graph, optimisation].get("alone", math.nan) for graph in graphs}

    classes = alone("classes of arcs", *graphs)
    most = sum(gain > 1 for gain in classes.values()) > len(graphs) / 2
    yield Claim("HB10", most, "without / with: " + listed(classes))
    duplicates = alone("removal of duplicates", graphs[0], graphs[-1])
    deep, flat = duplicates.values()
    yield Claim("HB11", flat > max(deep, 1), "without / with: " + listed(duplicates))
    yield from _of_counts(measured, n)


def counts(measured: Measured, n: int) -> dict[str, float]:
    """Return the relaxations of the searches of figure 8.9."""
    relaxations = {
        run["label"]["search"]: run["relaxations"]
        for run in measured.runs(_OPTIMISATIONS, n, graph="msdoor")
    }
    for about in measured.inputs(_OPTIMISATIONS, n):
        if about["label"]["graph"] == "msdoor":
            # each arc once, and all arcs n - 1 times
            relaxations["Dijkstra"] = about["arcs of reached vertices"]
            relaxations["queue-less, n - 1 sweeps"] = about["arcs"] * (about["vertices"] - 1.0)
    return relaxations


def _of_counts(measured: Measured, n: int) -> Iterator[Claim]:
    count = counts(measured, n)
    known = {"Dijkstra", "queue", "queue-less", "H-BF", "H-BF, no optimisation"} <= count.keys()
    sweeps = "queue-less, n - 1 sweeps"
    fewest = count["H-BF"] < count["queue"] < count[sweeps] / 10 if known else None
    yield Claim("HB12", fewest, listed(count))
    for number, name, orders in (("HB13", "H-BF", 1), ("HB14", sweeps, 6)):
        above = math.log10(count[name] / count["Dijkstra"]) if known else math.nan
        # there are n - 1 times as many, so that a smaller graph cannot tell
        tells = known and (number == "HB13" or n >= _MANY)
        near = abs(above - orders) < 0.5 if tells else None
        yield Claim(number, near, f"{above:.2g} orders" if known else "")
