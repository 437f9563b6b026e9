"""F. Okuyama's thesis, 2013, chapter 3 and figure 4.17: task-parallel searches from sources."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise

from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row, Rows
from papers.values import Value, milliseconds, ratio

__all__ = ["ROWS"]

_SOURCES, _DEGREES = "okuyama-sources", "okuyama-degrees"
_SEARCHES = ("apsp-iterative", "apsp-tasks-unshared", "apsp-tasks", "near-far", "dijkstra-cpu")
# the method of Floyd-Warshall and the search to compare it with: of the thesis, and ours
_RIVALS = (("fw-mm", "apsp-tasks"), ("fw-minplus", "near-far"))
_GPU, _CPU, _LATER_GPU = "8800 GTS 512", "Xeon 5440", "GTX 280"
_PAPER, _BLOCKED = Published("okuyama/searches"), Published("okuyama/blocked")


def _seconds(
    measured: Measured,
    experiment: str,
    n: int,
    names: Iterable[str] = _SEARCHES,
    **label: Value,
) -> dict[str, float | None]:
    """Return the seconds of each search on a graph."""
    return {name: measured.seconds(experiment, n, method=name, **label) for name in names}


def _ours(values: Mapping[str, float | None]) -> Row:
    return {f"{name}: ours": value for name, value in values.items()}


def _figure_3_10(measured: Measured) -> Rows:
    return ({"n": n, **_ours(_seconds(measured, _SOURCES, n))} for n in measured.sizes(_SOURCES))


def _figure_3_11(measured: Measured) -> Rows:
    for n in measured.sizes(_SOURCES):
        times = _seconds(measured, _SOURCES, n)
        cpu = times.pop("dijkstra-cpu")
        yield {"n": n, **_ours({name: ratio(cpu, seconds) for name, seconds in times.items()})}


def _section_3_5_1(measured: Measured) -> Rows:
    over = "speedup over apsp-iterative"
    best = _PAPER.rows(exhibit="section 3.5.1", quantity=over)
    ranges: Row = {}
    for name, quantity, where in (
        ("apsp-tasks over apsp-iterative", over, {"method": "apsp-tasks"}),
        ("apsp-tasks-unshared over apsp-iterative", over, {"method": "apsp-tasks-unshared"}),
        ("local memory", "speedup by local memory", {}),
    ):
        for end, which in (("from", "smallest"), ("to", "largest")):
            if "unshared" not in name or end == "from":
                value = _PAPER.value(quantity=f"{which} {quantity}", **where)
                ranges[f"{name}: {_GPU}, {end}"] = value
    for n in sorted({*measured.sizes(_SOURCES), *(row["n"] for row in best)}):
        times = _seconds(measured, _SOURCES, n)
        gains = {
            f"{method} over apsp-iterative": ratio(times["apsp-iterative"], times[method])
            for method in ("apsp-tasks", "apsp-tasks-unshared", "near-far")
        }
        gains["local memory"] = ratio(times["apsp-tasks-unshared"], times["apsp-tasks"])
        theirs = _PAPER.value(quantity=over, n=n)
        column = f"apsp-tasks over apsp-iterative: {_GPU}"
        yield {"n": n, **_ours(gains), column: theirs, **ranges}


def _over_graphs(
    measured: Measured, experiment: str, coordinate: str
) -> Iterator[tuple[int, int, Value, dict[str, float | None]]]:
    """Yield for each graph n, m, its coordinate in a table, and the seconds of each search."""
    for n, graph in measured.each_input(experiment):
        at = graph["label"][coordinate]
        yield n, graph["m"], at, _seconds(measured, experiment, n, **{coordinate: at})


def _figure_3_12(measured: Measured) -> Rows:
    for n, m, _, times in _over_graphs(measured, _DEGREES, "degree"):
        yield {"n": n, "m": m, **_ours(times)}


def _figure_3_13(measured: Measured) -> Rows:
    for n, _, weight, times in _over_graphs(measured, "okuyama-weights", "weight"):
        yield {"n": n, "largest weight": weight, **_ours(times)}


def _table_3_1(measured: Measured) -> Rows:
    graphs = {
        (n, topology): (m, times)
        for n, m, topology, times in _over_graphs(measured, "okuyama-topologies", "topology")
    }
    published = _PAPER.rows(exhibit="table 3.1")
    places = dict.fromkeys([*graphs, *((row["n"], row["topology"]) for row in published)])
    for n, topology in sorted(places, key=lambda place: place[0]):
        m, seconds = graphs.get((n, topology), (None, {}))
        row: Row = {"n": n, "topology": topology, "m": m}
        for method in _SEARCHES:
            row[f"{method}: ours"] = seconds.get(method)
            there = _CPU if method == "dijkstra-cpu" else _GPU
            if method != "near-far":
                row[f"{method}: {there}"] = _PAPER.value(
                    exhibit="table 3.1", method=method, n=n, topology=topology
                )
        yield row


def _figure_3_14(measured: Measured) -> Rows:
    there = {
        f"apsp-tasks: {_GPU}, {end}": _PAPER.value(quantity=f"{which} overhead of path recording")
        for end, which in (("from", "smallest"), ("to", "largest"))
    }
    for n in measured.sizes(_SOURCES):
        more: dict[str, float | None] = {}
        for method in ("apsp-tasks", "near-far"):
            whole = measured.seconds(_SOURCES, n, recording=method)
            quotient = ratio(whole, measured.seconds(_SOURCES, n, method=method))
            more[method] = None if quotient is None else 100 * (quotient - 1)
        yield {"n": n, **_ours(more), **there}


def _crossing(rows: Sequence[Row], x: str, matrix: str, search: str) -> str:
    """Return where Floyd-Warshall and a search take the same time, by interpolation."""
    known: list[tuple[float, float]] = []
    for row in rows:
        at, *pair = row[x], row[f"{matrix}: ours"], row[f"{search}: ours"]
        one, other = (each if isinstance(each, float) else 0 for each in pair)
        if isinstance(at, int) and one and other:
            known.append((at, math.log(one / other)))
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


def _of_rivals(measured: Measured, experiment: str, n: int, **label: Value) -> Row:
    seconds = _seconds(measured, experiment, n, chain(*_RIVALS), **label)
    return _ours({name: milliseconds(each) for name, each in seconds.items()})


def _figure_4_17(measured: Measured) -> Filled:
    compared = [row["n"] for row in _BLOCKED.rows(exhibit="table 4.6", method="fw-mm", tile=32)]
    rows = []
    for n in sorted({*measured.sizes(_SOURCES), *compared}):
        matrix, search = (
            milliseconds(measured.seconds(_SOURCES, n, method=name)) for name in _RIVALS[0]
        )
        theirs = _BLOCKED.value(exhibit="table 4.6", n=n, method="fw-mm", tile=32)
        slower = _BLOCKED.value(quantity="time over that of the task parallel method", n=n)
        there = {
            f"fw-mm: {_LATER_GPU}": theirs,
            f"task parallel: {_LATER_GPU}": ratio(theirs, slower),
            f"fw-mm over task parallel: {_LATER_GPU}": slower,
        }
        row: Row = {"n": n, **_of_rivals(measured, _SOURCES, n)}
        rows.append({**row, "fw-mm over apsp-tasks: ours": ratio(matrix, search), **there})
    quantity = "largest speedup over the task parallel method for n up to 2048"
    crossings = "".join(_crossing(rows, "n", *rivals) for rivals in _RIVALS)
    return Filled(rows, {"fastest": _BLOCKED.value(quantity=quantity), "crossings": crossings})


def _figure_4_17_density(measured: Measured) -> Filled:
    rows: list[Row] = []
    crossings = ""
    for n in measured.sizes(_DEGREES):
        of_n: list[Row] = []
        for graph in measured.inputs(_DEGREES, n):
            times = _of_rivals(measured, _DEGREES, n, degree=graph["label"]["degree"])
            of_all = 100 * graph["m"] / (n * (n - 1))
            of_n.append({"n": n, "m": graph["m"], "% of all arcs": of_all, **times})
        places = "".join(_crossing(of_n, "m", *rivals) for rivals in _RIVALS)
        crossings += f" n = {n}:{places}"
        rows += of_n
    return Filled(rows, {"crossings": crossings})


ROWS: dict[str, Maker] = {
    "figure-3.10": _figure_3_10,
    "figure-3.11": _figure_3_11,
    "section-3.5.1": _section_3_5_1,
    "figure-3.12": _figure_3_12,
    "figure-3.13": _figure_3_13,
    "table-3.1": _table_3_1,
    "figure-3.14": _figure_3_14,
    "figure-4.17": _figure_4_17,
    "figure-4.17-density": _figure_4_17_density,
}
