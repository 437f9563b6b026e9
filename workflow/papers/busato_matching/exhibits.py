"""Tables and figures of chapter 10 of F. Busato's thesis."""

from __future__ import annotations

from typing import Any

from papers.busato_matching.claims import claims
from papers.busato_matching.experiments import SEARCHES, THRESHOLDS
from papers.claims import claims_table
from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, Rows, Table, table_of
from papers.values import Value, ratio

__all__ = ["ROWS"]

_QUERIES, _LEVELS, _SCORES, _PERTURBED, _COMPLEXES = (
    f"busato-matching-{name}" for name in ("queries", "levels", "scores", "perturbed", "complexes")
)
_THREE = (
    "Published: the search of the thesis. Refined: the default of pyapsp, which raises weights to "
    "a power, is guided by scores, mends mismatches, and draws repeated matches again. One pass: "
    "the same without mending, and with repeated matches. "
    "Costs, from 0 to 1, are means over distinct matches without those that cost nothing, as in "
    "the thesis. Queries are exact parts of the target. The plotted values of the thesis are not "
    "in its text"
)


def _published() -> Published:
    return Published("busato_matching")


def _given(exhibit: str, quantity: str, **where: Value) -> float | None:
    return _published().value(exhibit=exhibit, quantity=quantity, **where)


def _runs(measured: Measured, experiment: str) -> list[tuple[int, dict[str, Any]]]:
    """Return n and the record of every run of an experiment."""
    return [(n, run) for n in measured.sizes(experiment) for run in measured.runs(experiment, n)]


def _ms(run: dict[str, Any]) -> float:
    return 1e3 * float(run["seconds"]["total"])


def _networks(measured: Measured) -> Rows:
    rows: dict[Any, dict[str, Any]] = {}
    for experiment in (_QUERIES, _COMPLEXES):
        for n in measured.sizes(experiment):
            for given in measured.inputs(experiment, n):
                rows[given["target"]] = {
                    "network": given["target"],
                    "vertices": n,
                    "arcs: ours": 2 * given["m"],
                    "average degree: ours": given["average_degree"],
                    "deviation: ours": given["deviation"],
                }
    for row in _published().rows(exhibit="table 10.1"):
        names = {"edges": "arcs", "average degree": "average degree", "deviation": "deviation"}
        one = rows.setdefault(row["name"], {"network": row["name"], "vertices": row["n"]})
        one[f"{names[row['quantity']]}: thesis"] = row["value"]
    return rows.values()


def _queries(measured: Measured) -> Exhibit:
    rows = []
    for n, run in _runs(measured, _QUERIES):
        label = run["label"]
        if label["method"] != "device":
            continue
        reference = measured.run(_QUERIES, n, **{**label, "method": "reference"})
        rows.append(
            {
                "vertices": n,
                **{name: label[name] for name in ("labels", "nodes", "search", "matches")},
                "a query, ms: ours": _ms(run),
                "reference, ms: ours": _ms(reference) if reference else None,
                "reference over device: ours": ratio(
                    _ms(reference) if reference else None, _ms(run)
                ),
                "cost: ours": run["cost"],
                "deviation: ours": run["deviation"],
                "top ten, cost: ours": run["top_ten"],
                "distinct, %: ours": 100 * run["distinct"],
                "distinct of those with a cost, %: ours": None
                if run["distinct_with_cost"] is None
                else 100 * run["distinct_with_cost"],
                "found without cost: ours": f"{run['exact']} of {run['queries']}",
            }
        )
    table = table_of(rows)
    first = {"vertices": rows[0]["vertices"], "labels": rows[0]["labels"], "matches": 100}
    columns = {
        "time of a query (ms)": "a query, ms: ours",
        "cost": "cost: ours",
        "distinct matches (%)": "distinct, %: ours",
    }
    panels = {
        what: [Line(column, where={**first, "search": each}, name=each) for each in SEARCHES]
        for what, column in columns.items()
    }
    low, high = (
        _given("section 10.2.2", f"{which} average cost") for which in ("smallest", "largest")
    )
    slow = _given(
        "section 10.2.1", "time of a query", name="Homo sapiens and Mus musculus, physical"
    )
    return Exhibit(
        "figures-10.3-10.16",
        "Figures 10.3, 10.5 and 10.12 to 10.16: times, costs and distinct matches",
        f"{_THREE}, but it says: {slow} s for a query on the networks of man and mouse (GTX 780), "
        f"average costs from {low} to {high} on Danio rerio, and at least "
        f"{_given('section 10.3.1', 'distinct matches')} % of the matches distinct. NeMa is not "
        "measured. The figure has the first target, 100 matches. Times are those of calls with all "
        "queries, divided by their number.",
        table,
        Drawing("nodes", panels, logarithmic="x"),
    )


def _levels(measured: Measured) -> Exhibit:
    rows = [
        {
            "vertices": n,
            "nodes": run["label"]["nodes"],
            "levels": run["label"]["levels"],
            "a query, ms: ours": _ms(run),
            "cost: ours": run["cost"],
            "deviation: ours": run["deviation"],
        }
        for n, run in _runs(measured, _LEVELS)
    ]
    table = table_of(rows)
    sizes = sorted({row["nodes"] for row in rows})
    panels = {
        what: [
            Line(
                column, where={"nodes": each, "vertices": rows[0]["vertices"]}, name=f"{each} nodes"
            )
            for each in sizes
        ]
        for what, column in (("time (ms)", "a query, ms: ours"), ("cost", "cost: ours"))
    }
    return Exhibit(
        "figures-10.7-10.8",
        "Figures 10.7 and 10.8: depth of the searches",
        f"{_THREE}; it says that times grow exponentially, and that costs are least with 2 levels. "
        "The published search.",
        table,
        Drawing("levels", panels),
    )


def _scores(measured: Measured) -> Rows:
    return [
        {
            "vertices": n,
            "nodes": run["label"]["nodes"],
            "scores": run["label"]["scores"],
            "cost: ours": run["cost"],
            "deviation: ours": run["deviation"],
        }
        for n, run in _runs(measured, _SCORES)
    ]


def _perturbed(measured: Measured) -> Rows:
    for n, run in _runs(measured, _PERTURBED):
        label = run["label"]
        exact = measured.run(_PERTURBED, n, **{**label, "part": 0.0})
        increase = ratio(run["cost"], exact["cost"] if exact else None)
        yield {
            "vertices": n,
            **{name: label[name] for name in ("labels", "nodes", "search")},
            "perturbed, %": 100 * label["part"],
            "cost: ours": run["cost"],
            "best, cost: ours": run["best"],
            "increase, %: ours": None if increase is None else 100 * (increase - 1),
            "increase, %: thesis": _given("section 10.3", "increase of the cost")
            if label["part"] == 0.05
            else None,
        }


def _perturbed_drawn(measured: Measured, columns: list[str]) -> Drawing:
    rows = _runs(measured, _PERTURBED)
    first = {"vertices": rows[0][0], "labels": rows[0][1]["label"]["labels"]}
    panels = {
        f"{search}: cost": [
            Line(
                "cost: ours",
                where={**first, "search": search, "nodes": nodes},
                name=f"{nodes} nodes",
            )
            for nodes in sorted({run["label"]["nodes"] for _, run in rows})
        ]
        for search in SEARCHES
    }
    return Drawing("perturbed, %", panels)


def _complex_table(measured: Measured) -> Rows:
    rows: dict[str, dict[str, Any]] = {}
    for n in measured.sizes(_COMPLEXES):
        for name, (nodes, arcs) in measured.input(_COMPLEXES, n)["complexes"].items():
            rows[name] = {"complex": name, "nodes: ours": nodes, "arcs: ours": arcs}
    for row in _published().rows(exhibit="table 10.2"):
        one = rows.setdefault(str(row["name"]), {"complex": str(row["name"])})
        one[f"{row['quantity']}: thesis"] = row["value"]
    return rows.values()


def _complexes(measured: Measured) -> Rows:
    for n in measured.sizes(_COMPLEXES):
        given = measured.input(_COMPLEXES, n)
        for threshold in THRESHOLDS:
            p_values = given["p_values"].get(str(threshold), [])
            for search in SEARCHES:
                label: dict[str, Value] = {"search": search, "threshold": threshold}
                device = measured.run(_COMPLEXES, n, **label, method="device")
                if device is None:
                    continue
                reference = measured.run(_COMPLEXES, n, **label, method="reference")
                name = f"threshold {100 * threshold:g} %"
                yield {
                    "target": given["target"],
                    "threshold, %": 100 * threshold,
                    "search": search,
                    "a query, ms: ours": _ms(device),
                    "reference, ms: ours": _ms(reference) if reference else None,
                    "APPAGATO, ms: thesis": 1e3
                    * (
                        _given("section 10.2.1", "time of a query", name="functional networks") or 0
                    ),
                    "RESQUE, ms: thesis": _seconds_of_resque(name),
                    "cost: ours": device["cost"],
                    "best cost: ours": device["best"],
                    "largest p: ours": max(p_values, default=None) if search == "refined" else None,
                    **{f"{each}: ours": cost for each, cost in device["costs"].items()},
                }


def _complexes_drawn(measured: Measured, columns: list[str]) -> Drawing:
    panels = {
        what: [Line(column, where={"search": each}, name=each) for each in SEARCHES]
        for what, column in (("time (ms)", "a query, ms: ours"), ("cost", "cost: ours"))
    }
    return Drawing("threshold, %", panels, logarithmic="x")


def _seconds_of_resque(name: str) -> float | None:
    seconds = _given("section 10.2.1", "time of RESQUE", name=name)
    return None if seconds is None else 1e3 * seconds


def _claims(measured: Measured) -> Exhibit:
    return Exhibit(
        "claims",
        "What chapter 10 says about its figures, and whether it holds for each search",
        f"{_THREE}. Claims about searches are answered for 100 matches, M5 for ten. M6 and M7 are "
        "about the published search.",
        claims_table(claims(measured)),
    )


ROWS = {
    "table-10.1": _networks,
    "figures-10.3-10.16": _queries,
    "figures-10.7-10.8": _levels,
    "figure-10.9": _scores,
    "figures-10.10-10.11": _perturbed,
    "table-10.2": _complex_table,
    "figures-10.4-10.21": _complexes,
    "claims": _claims,
}
