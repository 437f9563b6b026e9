"""Tables and figures of F. Busato's thesis, 2018, chapters 17 to 19."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.busato_dynamic.experiments import BLOCKS, HORNETS, TRUSSES
from papers.busato_dynamic.inputs import GRAPHS
from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, Row, Rows, Table, table_of
from papers.values import Value, milliseconds, ratio
from pyapsp.dynamic.formats import FORMATS

__all__ = ["ROWS"]

_GPU = "P100"
_FORMATS, _UPDATES = "busato-dynamic-formats", "busato-dynamic-updates"
_ANALYTICS, _TRUSSES = "busato-dynamic-analytics", "busato-dynamic-trusses"
_STAND_INS = (
    "The graphs are stand-ins: they have the published numbers of rows and entries (fewer of both, "
    "with the same mean, if n is smaller), deviations near those of the public graphs, and random "
    "neighbours."
)
_POWERS = "Hornet, powers of two, 2^16"


def _published(**where: Value) -> float | None:
    return Published("busato_dynamic").value(**where)


def _csr_bytes(about: dict[str, Any]) -> int:
    return 4 * int(about["n"] + 1 + about["m"])


def _changing(measured: Measured) -> Rows:
    """One row for each format, over all graphs."""
    for n in measured.sizes(_FORMATS):
        for form in (*FORMATS, *HORNETS):
            runs = list(measured.runs(_FORMATS, n, format=form))
            held = form not in FORMATS
            over = [
                run["bytes"] / _csr_bytes(about)
                for about in measured.inputs(_FORMATS, n)
                for run in runs
                if run["label"]["graph"] == about["label"]["graph"]
            ]
            middle = {
                phase: milliseconds(float(np.median([run["seconds"][phase] for run in runs])))
                for phase in ("insert", "delete")
                if runs
            }
            yield {
                "entries at most": n,
                "format": form,
                "duplicates": "ignore, update, keep"
                if held
                else ", ".join(FORMATS[form].duplicates),
                "memory over CSR, mean: ours": float(np.mean(over)) if over else None,
                "insertion of 1 %, ms: ours": middle.get("insert"),
                "deletion of 1 %, ms: ours": middle.get("delete"),
                "all edges written: ours": max((run["rebuilt"] for run in runs), default=None),
                "reclaims memory": "yes" if held else "no",
                "other values of edges": "arrays or records" if held else "none here",
            }


def _graphs(measured: Measured) -> Rows:
    for n in measured.sizes(_FORMATS):
        for about in measured.inputs(_FORMATS, n):
            name = about["label"]["graph"]
            yield {
                "graph": name,
                "rows: ours": about["n"],
                "entries: ours": about["m"],
                "mean: ours": about["m"] / about["n"],
                "deviation: ours": about["deviation"],
                "longest: ours": about["longest"],
                "rows, million: thesis": _published(
                    exhibit="table 18.2", quantity="rows", graph=name
                ),
                "entries, million: thesis": _published(
                    exhibit="table 18.2", quantity="entries", graph=name
                ),
                "mean: thesis": GRAPHS[name].entries / GRAPHS[name].rows,
            }


def _memory(measured: Measured) -> Exhibit:
    rows = []
    for n in measured.sizes(_FORMATS):
        for about in measured.inputs(_FORMATS, n):
            name, row = about["label"]["graph"], {}
            row = {"entries at most": n, "graph": name}
            for form in (*HORNETS, "COO"):
                run = measured.run(_FORMATS, n, graph=name, format=form)
                row[f"{form}, over CSR: ours"] = run and ratio(run["bytes"], _csr_bytes(about))
            for form in ("Hornet", _POWERS):
                run = measured.run(_FORMATS, n, graph=name, format=form)
                used = run and ratio(4 * about["m"], run["blocks"])
                row[f"{form}, utilisation, %: ours"] = used and 100 * used
            row["utilisation of blocks, %: thesis"] = _published(
                exhibit="figure 18.5", quantity="utilisation of blocks", graph=name
            )
            rows.append(row)
    low, high = (
        _published(exhibit="section 18.3", quantity=f"{which} memory over CSR", method="Hornet")
        for which in ("least", "most")
    )
    return Exhibit(
        "figure-18.5",
        "Figure 18.5: memory",
        "Bytes over those of CSR with offsets of 4 bytes. Hornet has a degree and a place for each "
        "vertex, its blocks, and the tables of the manager. Powers of two are the published sizes "
        "of blocks, with block arrays of so many edges; Hornet alone also has blocks of 3/2 of "
        "them. The utilisation is that of block arrays: edges over slots. "
        f"{_STAND_INS} The text of the thesis says: {low:g} to {high:g} % more than CSR. COO has "
        "spare room for as many edges again.",
        table_of(rows),
    )


def _init(measured: Measured) -> Exhibit:
    rows = []
    for n in measured.sizes(_FORMATS):
        for name in GRAPHS:
            found = {
                form: measured.phases(_FORMATS, n, graph=name, format=form).get("init")
                for form in ("CSR", "COO", "Hornet", _POWERS)
            }
            rows.append(
                {
                    "entries at most": n,
                    "graph": name,
                    **{f"{form}, ms: ours": milliseconds(each) for form, each in found.items()},
                    "Hornet over CSR: ours": ratio(found["Hornet"], found["CSR"]),
                }
            )
    low, high = (
        _published(exhibit="section 18.3", quantity=f"{which} initialisation over CSR")
        for which in ("least", "most")
    )
    return Exhibit(
        "figure-18.6",
        "Figure 18.6: initialisation",
        f"From a graph of the host, with allocation and transfer. {_STAND_INS} The text of the "
        f"thesis says: Hornet takes {low:g} to {high:g} times as long as CSR ({_GPU}).",
        table_of(rows),
    )


def _updates(measured: Measured) -> Exhibit:
    rows = []
    for n in measured.sizes(_UPDATES):
        for run in measured.runs(_UPDATES, n):
            label, seconds = run["label"], run["seconds"]
            rows.append(
                {
                    "entries at most": n,
                    **label,
                    "inserted, million/s: ours": run["edges"] / seconds["insert"] / 1e6,
                    "deleted, million/s: ours": run["edges"] / seconds["delete"] / 1e6,
                }
            )
    table = table_of(rows)
    first = {"duplicates": "ignore", "graph": rows[0]["graph"]} if rows else {}
    lines = [
        Line("inserted, million/s: ours", where={**first, "blocks": each}, name=each)
        for each in BLOCKS
    ]
    most = [
        f"{_published(exhibit='section 18.3', quantity=quantity, method=method):g} million/s "
        f"({quantity}, {method})"
        for quantity, method in (
            ("most updates", "cuSTINGER's blocks"),
            ("most updates", "AIM's blocks"),
            ("most updates, no check", "AIM's blocks"),
        )
    ]
    return Exhibit(
        "figures-18.7-18.8",
        "Figures 18.7 and 18.8: updates",
        "Random edges that are not there, from the memory of the host; the time ends when the host "
        "can read the degrees. Keep: without a look for duplicates. The blocks of cuSTINGER and "
        f"AIM are the published settings. {_STAND_INS} The text of the thesis says: "
        f"{', '.join(most)}. It has no rates of deletions. The figure has the first graph, with a "
        "look for duplicates.",
        table,
        Drawing("batch", {"edges (million/s)": lines}, logarithmic="xy") if rows else None,
    )


def _both(measured: Measured) -> Exhibit:
    rows = []
    for n in measured.sizes(_ANALYTICS):
        for about in measured.inputs(_ANALYTICS, n):
            name, row = about["label"]["graph"], {}
            row = {"entries at most": n, "graph": name}
            for what, work in (("BFS", about["traversed"]), ("SpMV", about["m"])):
                found = {
                    form: measured.phases(_ANALYTICS, n, graph=name, what=what, format=form).get(
                        "wall"
                    )
                    for form in ("CSR", "Hornet")
                }
                for form, seconds in found.items():
                    rate = ratio(work, seconds)
                    row[f"{what} on {form}, million edges/s: ours"] = rate and rate / 1e6
                row[f"{what}, CSR over Hornet: ours"] = ratio(found["CSR"], found["Hornet"])
            rows.append(row)
    search = _published(exhibit="section 18.3", quantity="most gain of Hornet over CSR in BFS")
    product = _published(
        exhibit="section 18.3", quantity="usual difference of Hornet and CSR in SpMV"
    )
    return Exhibit(
        "figures-18.9-18.10",
        "Figures 18.9 and 18.10: searches and products on CSR and on a Hornet",
        "The same text of the kernels, whole calls with transfers of the answer. A search begins "
        f"at the vertex with most edges. {_STAND_INS} The text of the thesis says: Hornet is up to "
        f"{search:g} % faster than CSR in searches, and mostly within {product:g} % in products. "
        "Gunrock and DCSR are not measured.",
        table_of(rows),
    )


def _decompositions(measured: Measured) -> Exhibit:
    rows = []
    for n in measured.sizes(_TRUSSES):
        for about in measured.inputs(_TRUSSES, n):
            label = about["label"]
            if label["k"] != "all":
                continue
            found = {
                name: measured.run(_TRUSSES, n, **label, method=name)
                for name in (*TRUSSES, "SciPy")
            }
            wall = {name: run["seconds"]["wall"] if run else None for name, run in found.items()}
            rows.append(
                {
                    "scale": label["scale"],
                    "vertices": about["n"],
                    "edges": about["m"],
                    "k_max": next(run["k_max"] for run in found.values() if run),
                    **{f"{name}, ms: ours": milliseconds(each) for name, each in wall.items()},
                    "Iterative over Delta, CSR: ours": ratio(
                        wall["Iterative on CSR"], wall["Delta on CSR"]
                    ),
                    "Iterative over Delta, Hornet: ours": ratio(
                        wall["Iterative on a Hornet"], wall["Delta on a Hornet"]
                    ),
                    "SciPy over peeling: ours": ratio(wall["SciPy"], wall["peeling"]),
                }
            )
    table = table_of(rows)
    lines = [Line(f"{name}, ms: ours", name=name) for name in (*TRUSSES, "SciPy")]
    given = [
        f"{row['graph']} {row['value']:g} s"
        for row in Published("busato_dynamic").rows(exhibit="table 19.2", quantity="time")
    ]
    most = _published(exhibit="section 19.4", quantity="most of Iterative over Delta")
    return Exhibit(
        "table-19.2",
        "Table 19.2 and figure 19.1a: the largest truss",
        "All trusses, from the smallest k to the largest; whole calls. The graphs are drawn as the "
        "Graph 500 does; those of the thesis are public graphs that are not part of this "
        f"repository. The thesis gives for Delta on cuSTINGER ({_GPU}): {', '.join(given)}; and "
        f"up to {most:g} for Iterative over Delta. SciPy: products of matrices, as in the "
        "reference of the Graph Challenge. Where a sensor is there, `pyapsp bench` gives joules; "
        "the thesis projects them from mean power, 350 W for the GPU and 286 W for the CPU.",
        table,
        Drawing("edges", {"time (ms)": lines}, logarithmic="xy") if rows else None,
    )


def _fixed(measured: Measured) -> Rows:
    for n in measured.sizes(_TRUSSES):
        for about in measured.inputs(_TRUSSES, n):
            label = about["label"]
            if label["k"] == "all":
                continue
            row: Row = {"k": label["k"], "scale": label["scale"], "edges": about["m"]}
            for name in (*TRUSSES, "SciPy"):
                run = measured.run(_TRUSSES, n, **label, method=name)
                row[f"{name}, ms: ours"] = milliseconds(run["seconds"]["wall"]) if run else None
            for name in ("truss-delta", "Graphulo"):
                given = _published(
                    exhibit="table 19.3",
                    quantity=f"time, k = {label['k']}",
                    graph=f"scale {label['scale']}",
                    method=name,
                )
                row[f"{name}, ms: {_GPU}"] = milliseconds(given)
            yield row


ROWS = {
    "table-17.1": _changing,
    "table-18.2": _graphs,
    "figure-18.5": _memory,
    "figure-18.6": _init,
    "figures-18.7-18.8": _updates,
    "figures-18.9-18.10": _both,
    "table-19.2": _decompositions,
    "table-19.3": _fixed,
}
