"""Tables and figures of chapter 10 of F. Busato's thesis."""

from __future__ import annotations

from functools import partial

from papers.busato_matching.claims import CLAIMS
from papers.claims import judged
from papers.measured import Measured
from papers.published import Published
from papers.runner import RunRecord
from papers.tables import Filled, Maker, Row, Rows
from papers.values import Value, beside, milliseconds, percent, ratio

__all__ = ["ROWS"]

_QUERIES, _LEVELS, _SCORES, _PERTURBED, _COMPLEXES = (
    f"busato-matching-{name}" for name in ("queries", "levels", "scores", "perturbed", "complexes")
)
_PAPER = Published("busato_matching")


def _said(exhibit: str, quantity: str, **where: Value) -> float | None:
    return _PAPER.value(exhibit=exhibit, quantity=quantity, **where)


def _time(run: RunRecord | None) -> float | None:
    """Return the milliseconds of a query."""
    return milliseconds(run["seconds"]["total"]) if run else None


def _of_run(n: int, run: RunRecord, *labels: str) -> Row:
    """Return the row of a run: its coordinates, time and cost."""
    return {
        "vertices": n,
        **{name: run["label"][name] for name in labels},
        "a query, ms: ours": _time(run),
        "cost: ours": run["cost"],
        "deviation: ours": run["deviation"],
    }


def _networks(measured: Measured) -> Rows:
    rows: dict[Value, Row] = {}
    for experiment in (_QUERIES, _COMPLEXES):
        for n, about in measured.each_input(experiment):
            rows[about["target"]] = {
                "network": about["target"],
                "vertices": n,
                "arcs: ours": 2 * about["m"],
                "average degree: ours": about["average_degree"],
                "deviation: ours": about["deviation"],
            }
    for row in _PAPER.rows(exhibit="table 10.1"):
        one = rows.setdefault(row["name"], {"network": row["name"], "vertices": row["n"]})
        what = "arcs" if row["quantity"] == "edges" else row["quantity"]
        one[f"{what}: thesis"] = row["value"]
    return rows.values()


def _queries(measured: Measured) -> Filled:
    rows: list[Row] = []
    for n, run in measured.each_run(_QUERIES, method="device"):
        label = run["label"]
        reference = _time(measured.run(_QUERIES, n, **{**label, "method": "reference"}))
        row: Row = {"vertices": n}
        row |= {name: label[name] for name in ("labels", "nodes", "search", "matches")}
        row |= beside("queries", run["queries"], _said("figure 10.3", "queries"), "thesis")
        row |= {
            "a query, ms: ours": _time(run),
            "reference, ms: ours": reference,
            "reference over device: ours": ratio(reference, _time(run)),
            "cost: ours": run["cost"],
            "deviation: ours": run["deviation"],
            "top ten, cost: ours": run["top_ten"],
            "distinct, %: ours": 100 * run["distinct"],
            "distinct of those with a cost, %: ours": percent(run["distinct_with_cost"]),
            "distinct by their vertices, %: ours": percent(run.get("distinct_sets")),
            "found without cost: ours": f"{run['exact']} of {run['queries']}",
        }
        rows.append(row)
    name = "Homo sapiens and Mus musculus, physical"
    words = {
        "first": rows[0]["vertices"],
        "first_labels": rows[0]["labels"],
        "low": _said("section 10.2.2", "smallest average cost"),
        "high": _said("section 10.2.2", "largest average cost"),
        "slow": _said("section 10.2.1", "time of a query", name=name),
        "distinct": _said("section 10.3.1", "distinct matches"),
    }
    return Filled(rows, words)


def _levels(measured: Measured) -> Rows:
    return [_of_run(n, run, "nodes", "levels") for n, run in measured.each_run(_LEVELS)]


def _scores(measured: Measured) -> Rows:
    for n, run in measured.each_run(_SCORES):
        row = _of_run(n, run, "nodes", "scores")
        del row["a query, ms: ours"]
        yield row


def _perturbed(measured: Measured) -> Filled:
    rows: list[Row] = []
    for n, run in measured.each_run(_PERTURBED):
        label = run["label"]
        exact = measured.run(_PERTURBED, n, **{**label, "part": 0.0})
        increase = ratio(run["cost"], exact["cost"] if exact else None)
        published = _said("section 10.3", "increase of the cost")
        row: Row = {"vertices": n, **{name: label[name] for name in ("labels", "nodes", "search")}}
        row["perturbed, %"] = 100 * label["part"]
        row["cost: ours"], row["best, cost: ours"] = run["cost"], run["best"]
        row["increase, %: ours"] = None if increase is None else 100 * (increase - 1)
        row["increase, %: thesis"] = published if label["part"] == 0.05 else None
        rows.append(row)
    return Filled(rows, {"first": rows[0]["vertices"], "first_labels": rows[0]["labels"]})


def _complex_table(measured: Measured) -> Rows:
    rows: dict[Value, Row] = {}
    for _, about in measured.each_input(_COMPLEXES):
        for name, (nodes, arcs) in about["complexes"].items():
            rows[name] = {"complex": name, "nodes: ours": nodes, "arcs: ours": arcs}
    for row in _PAPER.rows(exhibit="table 10.2"):
        one = rows.setdefault(str(row["name"]), {"complex": str(row["name"])})
        one[f"{row['quantity']}: thesis"] = row["value"]
    return rows.values()


def _complexes(measured: Measured) -> Rows:
    theirs = _said("section 10.2.1", "time of a query", name="functional networks")
    for n, device in measured.each_run(_COMPLEXES, method="device"):
        search, threshold = (device["label"][name] for name in ("search", "threshold"))
        about = measured.input(_COMPLEXES, n)
        p_values = about["p_values"].get(str(threshold), []) if search == "refined" else []
        reference = measured.run(_COMPLEXES, n, **{**device["label"], "method": "reference"})
        name = f"threshold {100 * threshold:g} %"
        yield {
            "target": about["target"],
            "threshold, %": 100 * threshold,
            "search": search,
            "a query, ms: ours": _time(device),
            "reference, ms: ours": _time(reference),
            "APPAGATO, ms: thesis": milliseconds(theirs),
            "RESQUE, ms: thesis": milliseconds(
                _said("section 10.2.1", "time of RESQUE", name=name)
            ),
            "cost: ours": device["cost"],
            "best cost: ours": device["best"],
            "largest p: ours": max(p_values, default=None),
            **{f"{each}: ours": cost for each, cost in device["costs"].items()},
        }


ROWS: dict[str, Maker] = {
    "table-10.1": _networks,
    "figures-10.3-10.16": _queries,
    "figures-10.7-10.8": _levels,
    "figure-10.9": _scores,
    "figures-10.10-10.11": _perturbed,
    "table-10.2": _complex_table,
    "figures-10.4-10.21": _complexes,
    "claims": partial(judged, CLAIMS),
}
