"""The statements of [B] chapter 8 about times and relaxations, answered by our measurements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import geometric_mean, mean

from papers.busato_paths.searches.experiments import OPTIMISATIONS
from papers.busato_paths.searches.stand_ins import FIRST
from papers.claims import Claim, told
from papers.measured import Measured

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
    best = {name: min(each[other] for other in _PARALLEL) for name, each in every.items()}
    leads = {name: best[name] / each["sssp-h-bf"] for name, each in every.items()}
    yield Claim(
        "HB1",
        "H-BF is faster than every other parallel search on every graph",
        all(lead > 1 for lead in leads.values()) if leads else None,
        "best other / H-BF: " + told(leads),
    )
    davidson = {
        name: min(each["workfront sweep"], each["sssp-near-far"]) / each["sssp-h-bf"]
        for name, each in every.items()
    }
    average = mean(davidson.values()) if davidson else math.nan
    yield Claim(
        "HB2",
        "H-BF is 5 times as fast, on average, as the most efficient parallel search (table 8.2 "
        "gives 3.75 over workfront sweep and near-far)",
        average >= 5 if davidson else None,
        f"mean {average:.3g}: {told(davidson)}",
    )
    gains = {name: each["queue"] / each["sssp-h-bf"] for name, each in every.items()}
    deep = [gain for name, gain in gains.items() if FIRST.index(name) < 3]
    flat = [gain for name, gain in gains.items() if FIRST.index(name) >= 3]
    yield Claim(
        "HB3",
        "the speedup over the sequential search with a queue is smallest on graphs of large "
        "diameter, the first three",
        geometric_mean(deep) < geometric_mean(flat) if deep and flat else None,
        told(gains),
    )
    roads = every.get("asia.osm")
    yield Claim(
        "HB4",
        "on asia.osm, H-BF is faster than Dijkstra's algorithm, and no other parallel search is",
        None
        if roads is None
        else roads["sssp-h-bf"] < roads["dijkstra"] <= min(roads[each] for each in _PARALLEL),
        "" if roads is None else _milliseconds(roads, ("dijkstra", "sssp-h-bf", *_PARALLEL)),
    )
    rates = {name: arcs[name] / each["sssp-h-bf"] / 1e6 for name, each in every.items()}
    yield Claim(
        "HB5",
        "the rate of H-BF is highest on msdoor, with many arcs for each vertex",
        max(rates, key=rates.__getitem__) == "msdoor" if rates else None,
        "MTEPS: " + told(rates),
    )


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
        found = gains[graph, optimisation]
        yield Claim(
            number,
            f"{optimisation}: {factor} times as fast on {graph}; here: at least half of that gain",
            max(found.values()) >= 1 + (factor - 1) / 2 if found else None,
            "without / with: " + told(found),
        )
    classes = {graph: gains[graph, "classes of arcs"].get("alone", math.nan) for graph in graphs}
    yield Claim(
        "HB10",
        "classes of arcs help on most graphs",
        sum(gain > 1 for gain in classes.values()) > len(graphs) / 2,
        "without / with: " + told(classes),
    )
    duplicates = {
        graph: gains[graph, "removal of duplicates"].get("alone", math.nan)
        for graph in (graphs[0], graphs[-1])
    }
    deep, flat = duplicates.values()
    yield Claim(
        "HB11",
        "removal of duplicates matters for small diameters",
        flat > max(deep, 1),
        "without / with: " + told(duplicates),
    )
    yield from _of_counts(measured, n)


def counts(measured: Measured, n: int) -> dict[str, float]:
    """Return the relaxations of the searches of figure 8.9."""
    found = {
        run["label"]["search"]: run["relaxations"]
        for run in measured.runs(_OPTIMISATIONS, n, graph="msdoor")
    }
    for given in measured.inputs(_OPTIMISATIONS, n):
        if given["label"]["graph"] == "msdoor":
            # each arc once, and all arcs n - 1 times
            found["Dijkstra"] = given["arcs of reached vertices"]
            found["queue-less, n - 1 sweeps"] = given["arcs"] * (given["vertices"] - 1.0)
    return found


def _of_counts(measured: Measured, n: int) -> Iterator[Claim]:
    found = counts(measured, n)
    known = {"Dijkstra", "queue", "queue-less", "H-BF", "H-BF, no optimisation"} <= found.keys()
    yield Claim(
        "HB12",
        "a queue saves most relaxations of a search without one; H-BF does fewer than either",
        found["H-BF"] < found["queue"] < found["queue-less, n - 1 sweeps"] / 10 if known else None,
        told(found),
    )
    for number, name, text, orders in (
        ("HB13", "H-BF", "H-BF does one order of magnitude more relaxations", 1),
        ("HB14", "queue-less, n - 1 sweeps", "n - 1 sweeps without a queue do six more", 6),
    ):
        above = math.log10(found[name] / found["Dijkstra"]) if known else math.nan
        # there are n - 1 times as many, so that a smaller graph cannot tell
        tells = known and (number == "HB13" or n >= _MANY)
        yield Claim(
            number,
            f"{text} than Dijkstra's algorithm",
            abs(above - orders) < 0.5 if tells else None,
            f"{above:.2g} orders" if known else "",
        )


def _milliseconds(values: dict[str, float], names: tuple[str, ...]) -> str:
    return "ms: " + ", ".join(f"{name} {1e3 * values[name]:.3g}" for name in names)
