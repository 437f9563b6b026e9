"""F. Okuyama's thesis, 2013, chapter 3 and figure 4.17: task-parallel searches from sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, Row, Rows, Table, table_of
from papers.values import Value, milliseconds, ratio

__all__ = ["EXHIBITS"]

_SOURCES, _DEGREES = "okuyama-sources", "okuyama-degrees"
_WEIGHTS, _TOPOLOGIES = "okuyama-weights", "okuyama-topologies"
_SEARCHES = ("apsp-iterative", "apsp-tasks-unshared", "apsp-tasks", "near-far", "dijkstra-cpu")
_RECORDING = ("apsp-tasks", "near-far")
_MATRICES = ("fw-mm", "fw-minplus")
# the method of Floyd-Warshall and the search to compare it with: of the thesis, and ours
_RIVALS = (("fw-mm", "apsp-tasks"), ("fw-minplus", "near-far"))
_GPU, _CPU, _LATER_GPU = "8800 GTS 512", "Xeon 5440", "GTX 280"
_METHODS = (
    "apsp-iterative, apsp-tasks and apsp-tasks-unshared are those of the thesis (N = 32, B = 4); "
    "near-far is ours; dijkstra-cpu uses all cores of our host, in the thesis 4 threads. Clock "
    "of the host without transfers, medians."
)


def _published(**where: Value) -> float | None:
    return Published("okuyama/searches").value(**where)


def _seconds(
    measured: Measured, experiment: str, n: int, **label: Value
) -> dict[str, float | None]:
    """Return the seconds of each search on a graph."""
    return {method: measured.seconds(experiment, n, method=method, **label) for method in _SEARCHES}


def _ours(times: Mapping[str, float | None]) -> Row:
    return {f"{name}: ours": value for name, value in times.items()}


def _lines(names: Sequence[str], where: Mapping[str, Value] | None = None) -> list[Line]:
    return [Line(f"{name}: ours", False, where) for name in names]


def _figure_3_10(measured: Measured) -> Rows:
    return ({"n": n, **_ours(_seconds(measured, _SOURCES, n))} for n in measured.sizes(_SOURCES))


def _figure_3_10_drawn(measured: Measured, columns: list[str]) -> Drawing:
    return Drawing("n", {"computation time (s)": _lines(_SEARCHES)}, logarithmic="xy")


def _figure_3_11(measured: Measured) -> Exhibit:
    others = [method for method in _SEARCHES if method != "dijkstra-cpu"]
    rows = []
    for n in measured.sizes(_SOURCES):
        times = _seconds(measured, _SOURCES, n)
        gains = {method: ratio(times["dijkstra-cpu"], times[method]) for method in others}
        rows.append({"n": n, **_ours(gains)})
    table = table_of(rows)
    return Exhibit(
        "figure-3.11",
        "Figure 3.11: speedup over dijkstra-cpu, in times",
        "From the times of figure 3.10. Of the plotted speedups the text says that those of "
        "apsp-tasks are above 1, and those of apsp-iterative below.",
        table,
        Drawing("n", {"speedup": _lines(others)}, logarithmic="xy"),
    )


def _section_3_5_1(measured: Measured) -> Rows:
    over = "speedup over apsp-iterative"
    tasks, unshared = {"method": "apsp-tasks"}, {"method": "apsp-tasks-unshared"}
    best = Published("okuyama/searches").rows(exhibit="section 3.5.1", quantity=over)
    ranges = {
        f"apsp-tasks over apsp-iterative: {_GPU}, from": _published(
            quantity=f"smallest {over}", **tasks
        ),
        f"apsp-tasks over apsp-iterative: {_GPU}, to": _published(
            quantity=f"largest {over}", **tasks
        ),
        f"apsp-tasks-unshared over apsp-iterative: {_GPU}, from": _published(
            quantity=f"smallest {over}", **unshared
        ),
        f"local memory: {_GPU}, from": _published(quantity="smallest speedup by local memory"),
        f"local memory: {_GPU}, to": _published(quantity="largest speedup by local memory"),
    }
    for n in sorted({*measured.sizes(_SOURCES), *(row["n"] for row in best)}):
        times = _seconds(measured, _SOURCES, n)
        gains = {
            f"{method} over apsp-iterative": ratio(times["apsp-iterative"], times[method])
            for method in ("apsp-tasks", "apsp-tasks-unshared", "near-far")
        }
        gains["local memory"] = ratio(times["apsp-tasks-unshared"], times["apsp-tasks"])
        yield {
            "n": n,
            **_ours(gains),
            f"apsp-tasks over apsp-iterative: {_GPU}": _published(quantity=over, n=n),
            **ranges,
        }


def _over_graphs(
    measured: Measured, experiment: str, coordinate: str
) -> list[tuple[dict[str, Any], dict[str, float | None]]]:
    """Return for each graph its coordinates in a table, and the seconds of each search."""
    return [
        (
            {"n": n, "m": graph["m"], **graph["label"]},
            _seconds(measured, experiment, n, **{coordinate: graph["label"][coordinate]}),
        )
        for n in measured.sizes(experiment)
        for graph in measured.inputs(experiment, n)
    ]


def _figure_3_12(measured: Measured) -> Exhibit:
    found = _over_graphs(measured, _DEGREES, "degree")
    table = table_of({"n": at["n"], "m": at["m"], **_ours(times)} for at, times in found)
    largest = {"n": measured.sizes(_DEGREES)[-1]}
    lines = _lines(_SEARCHES, largest)
    return Exhibit(
        "figure-3.12",
        "Figure 3.12: computation time for each m, in s",
        f"Random graphs with weights up to n, in int32; there n = 4K. {_METHODS} The plotted times "
        f"are lost. Drawn: n = {largest['n']}.",
        table,
        Drawing("m", {"computation time (s)": lines}, logarithmic="xy"),
    )


def _figure_3_13(measured: Measured) -> Exhibit:
    found = _over_graphs(measured, _WEIGHTS, "weight")
    column = "largest weight"
    table = table_of({"n": at["n"], column: at["weight"], **_ours(times)} for at, times in found)
    largest = {"n": measured.sizes(_WEIGHTS)[-1]}
    lines = _lines(_SEARCHES, largest)
    return Exhibit(
        "figure-3.13",
        "Figure 3.13: computation time for each largest weight, in s",
        f"Random graphs with m = 4n, in int32; there n = 4K. {_METHODS} The plotted times are "
        f"lost; the text says that they grow with the largest weight. Drawn: n = {largest['n']}.",
        table,
        Drawing(column, {"computation time (s)": lines}, logarithmic="xy"),
    )


def _table_3_1(measured: Measured) -> Rows:
    times = {
        (at["n"], at["topology"]): (at["m"], seconds)
        for at, seconds in _over_graphs(measured, _TOPOLOGIES, "topology")
    }
    published = Published("okuyama/searches").rows(exhibit="table 3.1")
    places = dict.fromkeys([*times, *((row["n"], row["topology"]) for row in published)])
    for n, topology in sorted(places, key=lambda place: place[0]):
        m, seconds = times.get((n, topology), (None, {}))
        row: Row = {"n": n, "topology": topology, "m": m}
        for method in _SEARCHES:
            row[f"{method}: ours"] = seconds.get(method)
            there = _CPU if method == "dijkstra-cpu" else _GPU
            if method != "near-far":
                row[f"{method}: {there}"] = _published(
                    exhibit="table 3.1", method=method, n=n, topology=topology
                )
        yield row


def _figure_3_14(measured: Measured) -> Rows:
    there = {
        f"apsp-tasks: {_GPU}, from": _published(quantity="smallest overhead of path recording"),
        f"apsp-tasks: {_GPU}, to": _published(quantity="largest overhead of path recording"),
    }
    for n in measured.sizes(_SOURCES):
        more: dict[str, float | None] = {}
        for method in _RECORDING:
            whole = measured.seconds(_SOURCES, n, recording=method)
            quotient = ratio(whole, measured.seconds(_SOURCES, n, method=method))
            more[method] = None if quotient is None else 100 * (quotient - 1)
        yield {"n": n, **_ours(more), **there}


def _figure_3_14_drawn(measured: Measured, columns: list[str]) -> Drawing:
    there = {
        f"apsp-tasks: {_GPU}, from": _published(quantity="smallest overhead of path recording"),
        f"apsp-tasks: {_GPU}, to": _published(quantity="largest overhead of path recording"),
    }
    lines = [*_lines(_RECORDING), *(Line(name, published=True) for name in there)]
    return Drawing("n", {"additional time (%)": lines}, logarithmic="x")


def _crossing(rows: Sequence[Mapping[str, Any]], x: str, matrix: str, search: str) -> str:
    """Return where Floyd-Warshall and a search take the same time, by interpolation."""
    known = [
        (row[x], math.log(row[f"{matrix}: ours"] / row[f"{search}: ours"]))
        for row in rows
        if row[f"{matrix}: ours"] and row[f"{search}: ours"]
    ]
    places = [
        math.exp(math.log(at) + before / (before - after) * math.log(then / at))
        for (at, before), (then, after) in pairwise(known)
        if before * after < 0
    ]
    if not known:
        return ""
    if not places:
        fast, slow = (matrix, search) if known[0][1] < 0 else (search, matrix)
        return f" {fast} is faster than {slow} in every row."
    listed = ", ".join(f"{place:.3g}" for place in places)
    return f" {matrix} and {search} take the same time at {x} = {listed}."


def _figure_4_17(measured: Measured) -> Exhibit:
    thesis = Published("okuyama/blocked")
    compared = [row["n"] for row in thesis.rows(exhibit="table 4.6", method="fw-mm", tile=32)]
    rows = []
    for n in sorted({*measured.sizes(_SOURCES), *compared}):
        times = {
            name: milliseconds(measured.seconds(_SOURCES, n, method=name))
            for rivals in _RIVALS
            for name in rivals
        }
        theirs = thesis.value(exhibit="table 4.6", n=n, method="fw-mm", tile=32)
        slower = thesis.value(quantity="time over that of the task parallel method", n=n)
        rows.append(
            {
                "n": n,
                **_ours(times),
                "fw-mm over apsp-tasks: ours": ratio(times["fw-mm"], times["apsp-tasks"]),
                f"fw-mm: {_LATER_GPU}": theirs,
                f"task parallel: {_LATER_GPU}": ratio(theirs, slower),
                f"fw-mm over task parallel: {_LATER_GPU}": slower,
            }
        )
    table = table_of(rows)
    lines = [
        Line(name, _LATER_GPU in name)
        for name in table.columns
        if name != "n" and "over" not in name
    ]
    fastest = thesis.value(
        quantity="largest speedup over the task parallel method for n up to 2048"
    )
    told = "".join(_crossing(rows, "n", *rivals) for rivals in _RIVALS)
    return Exhibit(
        "figure-4.17",
        "Figure 4.17: computation time of Floyd-Warshall and of the task parallel method, in ms",
        "Random graphs with m = 4n and weights up to n, in int32; fw-mm with t = 32, fw-minplus "
        "and near-far are ours. Without transfers, medians. Of the time of the task parallel "
        "method the text gives that at n = 8192 fw-mm takes 3.8 times as long, and for n up to "
        f"2048 is up to {fastest} times as fast.{told}",
        table,
        Drawing("n", {"computation time (ms)": lines}, logarithmic="xy"),
    )


def _figure_4_17_density(measured: Measured) -> Exhibit:
    rows: list[Row] = []
    told = ""
    for n in measured.sizes(_DEGREES):
        of_n: list[Row] = []
        for graph in measured.inputs(_DEGREES, n):
            times = {
                name: milliseconds(
                    measured.seconds(_DEGREES, n, method=name, degree=graph["label"]["degree"])
                )
                for rivals in _RIVALS
                for name in rivals
            }
            of_all = 100 * graph["m"] / (n * (n - 1))
            of_n.append({"n": n, "m": graph["m"], "% of all arcs": of_all, **_ours(times)})
        crossings = "".join(_crossing(of_n, "m", *rivals) for rivals in _RIVALS)
        told += f" n = {n}:{crossings}"
        rows += of_n
    table = table_of(rows)
    lines = _lines([name for rivals in _RIVALS for name in rivals], {"n": n})
    return Exhibit(
        "figure-4.17-density",
        "Figure 4.17 over the number of arcs: Floyd-Warshall does not depend on it, in ms",
        "Random graphs with weights up to n, from the runs of figure 3.12; the thesis has m = 4n "
        f"only.{told} Drawn: n = {n}.",
        table,
        Drawing("m", {"computation time (ms)": lines}, logarithmic="xy"),
    )


EXHIBITS = (
    Table(
        _SOURCES,
        "figure-3.10",
        "Figure 3.10: computation time for each n, in s",
        f"Random graphs with m = 4n and weights up to n, in int32. {_METHODS} The plotted times "
        "are lost.",
        _figure_3_10,
        _figure_3_10_drawn,
    ),
    Made(_SOURCES, _figure_3_11),
    Table(
        _SOURCES,
        "section-3.5.1",
        "Section 3.5.1: speedup by many sources at once, and by local memory, in times",
        "From the times of figure 3.10; local memory: apsp-tasks over apsp-tasks-unshared. Of the "
        f"{_GPU} the text gives 13 times for n = 1K, and ranges for all n.",
        _section_3_5_1,
    ),
    Made(_DEGREES, _figure_3_12),
    Made(_WEIGHTS, _figure_3_13),
    Table(
        _TOPOLOGIES,
        "table-3.1",
        "Table 3.1: computation time for some topologies, in s",
        "Random and power law: m = 3.5 n, weights up to 4096; the largest out-degree of the "
        "latter is 0.18 n (there 834). Ring and complete: weights 1. Its power-law graph is from "
        f"a generator of others; ours has its out-degrees, and random heads. In int32. {_METHODS}",
        _table_3_1,
    ),
    Table(
        _SOURCES,
        "figure-3.14",
        "Figure 3.14: additional time for recording paths, in %",
        "The graphs of figure 3.10, solved with predecessors and without in turns; medians, "
        "without transfers. Of the plotted values the text gives the range.",
        _figure_3_14,
        _figure_3_14_drawn,
    ),
    Made(_SOURCES, _figure_4_17),
    Made(_DEGREES, _figure_4_17_density),
)
