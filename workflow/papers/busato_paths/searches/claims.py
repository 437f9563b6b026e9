"""The statements of [B] chapter 8 about times and relaxations, answered by our measurements."""

from __future__ import annotations

import math
from functools import partial
from statistics import geometric_mean, mean

from papers.busato_paths.searches.stand_ins import FIRST
from papers.claims import Answers, Times, Verdict, largest, listed, reaches
from papers.measured import Measured
from papers.published import Published
from papers.values import Value

__all__ = ["OF_OPTIMISATIONS", "OF_SEARCHES", "counts", "times", "with_and_without"]

_SEARCHES, _OPTIMISATIONS = "busato-paths-searches", "busato-paths-optimisations"
#: What the thesis compares with H-BF.
_PARALLEL = ("sssp-bellman-ford", "workfront sweep", "sssp-near-far")
_SEQUENTIAL = ("queue", "dijkstra")
# In the text, Dijkstra's algorithm is about as fast there.
_COMPARABLE = "USA-road-d.CAL"
# The thesis counts relaxations with 415,000 vertices.
_MANY = 300_000
# The graphs of large diameter come first.
_DEEP = 3
_PAPER = Published("busato_paths/searches")


def times(measured: Measured, n: int, graph: str) -> dict[str, float]:
    """Return the seconds of each search of table 8.2."""
    return {
        run["label"]["method"]: run["seconds"]["kernel"]
        for run in measured.runs(_SEARCHES, n, graph=graph)
    }


def _every(measured: Measured) -> dict[str, Times[str]]:
    """Return the seconds of each search on each graph."""
    n = largest(measured, _SEARCHES)
    return {name: Times(times(measured, n, name)) for name in FIRST}


def _over(measured: Measured, *others: str) -> dict[str, float]:
    """Return the time of the fastest of some searches over that of H-BF."""
    return {
        name: min(each[other] for other in others) / each["sssp-h-bf"]
        for name, each in _every(measured).items()
    }


def _hb1(measured: Measured) -> Verdict:
    leads = {
        name: min(
            each[other]
            for other in (*_PARALLEL, *_SEQUENTIAL)
            if (name, other) != (_COMPARABLE, "dijkstra")
        )
        / each["sssp-h-bf"]
        for name, each in _every(measured).items()
    }
    return Verdict(min(leads.values()) > 1, "best other / H-BF: " + listed(leads))


def _hb2(measured: Measured) -> Verdict:
    gains = _over(measured, *_PARALLEL[1:])
    average = mean(gains.values())
    said = _PAPER.value(
        exhibit="chapter 8", quantity="average speedup over the best parallel search"
    )
    assert said is not None
    return Verdict(reaches(average, said), f"mean {average:.3g}: {listed(gains)}")


def _hb3(measured: Measured) -> Verdict:
    every = _every(measured)
    parts = {}
    for method in ("sssp-h-bf", *_PARALLEL):
        deep, flat = (
            geometric_mean(every[name]["queue"] / every[name][method] for name in names)
            for names in (FIRST[:_DEEP], FIRST[_DEEP:])
        )
        parts[method] = deep / flat
    return Verdict(max(parts.values()) < 1, "deep / flat: " + listed(parts))


def _hb4(measured: Measured) -> Verdict:
    roads = _every(measured)["asia.osm"]
    named = {name: 1e3 * roads[name] for name in ("dijkstra", "sssp-h-bf", *_PARALLEL)}
    fastest = min(roads[each] for each in _PARALLEL)
    only = roads["sssp-h-bf"] < roads["dijkstra"] <= fastest
    return Verdict(only, f"ms: {listed(named)}")


def _hb5(measured: Measured) -> Verdict:
    inputs = measured.inputs(_SEARCHES, largest(measured, _SEARCHES))
    arcs = Times({each["label"]["graph"]: each["arcs"] for each in inputs})
    rates = {name: arcs[name] / each["sssp-h-bf"] / 1e6 for name, each in _every(measured).items()}
    highest = max(rates, key=rates.__getitem__)
    return Verdict(highest == "msdoor", "MTEPS: " + listed(rates))


def with_and_without(
    measured: Measured, n: int, graph: str, optimisation: str
) -> dict[str, tuple[float, float]]:
    """Return the seconds without and with an optimisation: alone, and as the last one."""

    def seconds(each: str, form: str) -> float | None:
        label: dict[str, Value] = {"graph": graph, "optimisation": each, "form": form}
        return measured.phases(_OPTIMISATIONS, n, **label).get("kernel")

    pairs = {
        "alone": (seconds("none", "alone"), seconds(optimisation, "alone")),
        "last": (seconds(optimisation, "missing"), seconds("all", "alone")),
    }
    return {
        name: (before, after)
        for name, (before, after) in pairs.items()
        if before is not None and after is not None
    }


#: Number, optimisation, graph, and the factor of table 8.3, with all kernels of the optimisation.
_GAINS = (
    ("HB6", "warp workload", "hugetrace_00000", 2.9),
    ("HB7", "classes of arcs", "wiki-talk", 3.4),
    ("HB8", "dynamic warps and heavy list", "as-Skitter", 2.6),
    ("HB9", "removal of duplicates", "random_2Mv.128Me", 1.9),
)
_GRAPHS = tuple(graph for _, _, graph, _ in _GAINS)


def _gain(optimisation: str, graph: str, measured: Measured) -> Times[str]:
    """Return the time without over that with an optimisation: alone, and as the last one."""
    n = largest(measured, _OPTIMISATIONS)
    pairs = with_and_without(measured, n, graph, optimisation)
    return Times({form: before / after for form, (before, after) in pairs.items()})


def _as_published(optimisation: str, graph: str, said: float, measured: Measured) -> Verdict:
    """Answer whether an optimisation gains as much as in table 8.3, in one of the two forms."""
    gains = _gain(optimisation, graph, measured)
    holds = reaches(max(gains.values()), said) if gains else None
    return Verdict(holds, "without / with: " + listed(gains))


def _alone(optimisation: str, graphs: tuple[str, ...], measured: Measured) -> dict[str, float]:
    return {graph: _gain(optimisation, graph, measured)["alone"] for graph in graphs}


def _hb10(measured: Measured) -> Verdict:
    gains = _alone("classes of arcs", _GRAPHS, measured)
    most = sum(gain > 1 for gain in gains.values()) > len(gains) / 2
    return Verdict(most, "without / with: " + listed(gains))


def _hb11(measured: Measured) -> Verdict:
    gains = _alone("removal of duplicates", (_GRAPHS[0], _GRAPHS[-1]), measured)
    deep, flat = gains.values()
    return Verdict(flat > max(deep, 1), "without / with: " + listed(gains))


def counts(measured: Measured, n: int) -> dict[str, float]:
    """Return the relaxations of the searches of figure 8.9."""
    relaxations = {
        run["label"]["search"]: run["relaxations"]
        for run in measured.runs(_OPTIMISATIONS, n, graph="msdoor")
    }
    for about in measured.inputs(_OPTIMISATIONS, n):
        if about["label"]["graph"] == "msdoor":
            # each arc once
            relaxations["Dijkstra"] = about["arcs of reached vertices"]
    return relaxations


def _hb12(measured: Measured) -> Verdict:
    count = Times(counts(measured, largest(measured, _OPTIMISATIONS)))
    fewest = count["H-BF"] < count["queue"] < count["queue-less"] / 2
    return Verdict(fewest, listed(count))


def _orders(name: str, method: str, least_n: int, measured: Measured) -> Verdict:
    """Answer whether a search does as many orders of magnitude more than Dijkstra's, rounded."""
    n = largest(measured, _OPTIMISATIONS)
    count = Times(counts(measured, n))
    above = math.log10(count[name] / count["Dijkstra"])
    numbers = f"{above:.2g} orders"
    if n < least_n:
        return Verdict(None, f"{numbers}, with fewer vertices than the thesis")
    said = _PAPER.value(exhibit="figure 8.9", method=method)
    return Verdict(round(above) == said, numbers)


#: Number of a statement -> its judge.
OF_SEARCHES: Answers[Measured] = {
    "HB1": _hb1,
    "HB2": _hb2,
    "HB3": _hb3,
    "HB4": _hb4,
    "HB5": _hb5,
}
OF_OPTIMISATIONS: Answers[Measured] = {
    **{
        number: partial(_as_published, optimisation, graph, said)
        for number, optimisation, graph, said in _GAINS
    },
    "HB10": _hb10,
    "HB11": _hb11,
    "HB12": _hb12,
    "HB13": partial(_orders, "H-BF", "sssp-h-bf", 0),
    # the sweeps grow with the vertices, so that a smaller graph cannot tell
    "HB14": partial(_orders, "queue-less", "queue-less", _MANY),
}
