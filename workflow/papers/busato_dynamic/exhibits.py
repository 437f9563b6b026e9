"""Tables and figures of F. Busato's thesis, 2018, chapters 17 to 19."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from papers.busato_dynamic import experiments
from papers.busato_dynamic.claims import CLAIMS, POWERS
from papers.busato_dynamic.experiments import (
    DISTRIBUTIONS,
    HORNETS,
    PACKED,
    RIVALS,
    SEGMENTS,
    UPDATERS,
)
from papers.busato_dynamic.inputs import GRAPHS
from papers.busato_dynamic.triangles import AGAIN, ALONE, UPDATE
from papers.claims import judged
from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row, Rows
from papers.values import Value, milliseconds, percent, ratio
from pyapsp.dynamic.formats import FORMATS
from pyapsp.dynamic.hornet import DUPLICATES

__all__ = ["ROWS"]

_FORMATS, _UPDATES = "busato-dynamic-formats", "busato-dynamic-updates"
_ANALYTICS, _TRUSSES = "busato-dynamic-analytics", "busato-dynamic-trusses"
_TRIANGLES = "busato-dynamic-triangles"
_PAPER = Published("busato_dynamic")
# The graph of figure 19.1d.
_SEARCHED = "soc-Slashdot0902"


def _said(quantity: str, **where: Value) -> float | None:
    """Return a value that the text of chapter 18 gives."""
    return _PAPER.value(exhibit="section 18.3", quantity=quantity, **where)


def _csr_bytes(about: Mapping[str, int]) -> int:
    return 4 * (about["n"] + 1 + about["m"])


def _changing(measured: Measured) -> Rows:
    """One row for each format, over all graphs."""
    for n in measured.sizes(_FORMATS):
        graphs = {each["label"]["graph"]: each for each in measured.inputs(_FORMATS, n)}
        for form in (*FORMATS, *RIVALS, *HORNETS):
            runs = list(measured.runs(_FORMATS, n, format=form))
            bytes_ = [(run["bytes"], graphs.get(run["label"]["graph"])) for run in runs]
            over = [size / _csr_bytes(about) for size, about in bytes_ if about]
            hornet = form in HORNETS
            duplicates = ", ".join(DUPLICATES if hornet else (FORMATS | RIVALS)[form].duplicates)
            row: Row = {"entries at most": n, "format": form, "duplicates": duplicates}
            row["memory over CSR, mean: ours"] = float(np.mean(over)) if over else None
            for phase, what in (("insert", "insertion"), ("delete", "deletion")):
                seconds = [run["seconds"][phase] for run in runs if phase in run["seconds"]]
                middle = milliseconds(float(np.median(seconds))) if seconds else None
                row[f"{what} of 1 %, ms: ours"] = middle
            row["all edges written: ours"] = max((run["rebuilt"] for run in runs), default=None)
            row["reclaims memory"] = "yes" if hornet else "no"
            row["other values of edges"] = "arrays or records" if hornet else "none here"
            yield row


def _graphs(measured: Measured) -> Rows:
    for _, about in measured.each_input(_FORMATS):
        name = about["label"]["graph"]
        rows, entries = (
            _PAPER.value(exhibit="table 18.2", quantity=quantity, graph=name)
            for quantity in ("rows", "entries")
        )
        yield {
            "graph": name,
            "rows: ours": about["n"],
            "entries: ours": about["m"],
            "mean: ours": about["m"] / about["n"],
            "deviation: ours": about["deviation"],
            "longest: ours": about["longest"],
            "rows, million: thesis": rows,
            "entries, million: thesis": entries,
            "mean: thesis": GRAPHS[name].entries / GRAPHS[name].rows,
        }


def _memory(measured: Measured) -> Filled:
    rows: list[Row] = []
    for n, about in measured.each_input(_FORMATS):
        name = about["label"]["graph"]
        row: Row = {"entries at most": n, "graph": name}
        sizes: dict[str, int | None] = {}
        for form in (*HORNETS, "COO", "cuSTINGER"):
            run = measured.run(_FORMATS, n, graph=name, format=form)
            sizes[form] = run["bytes"] if run else None
            row[f"{form}, over CSR: ours"] = ratio(sizes[form], _csr_bytes(about))
        row[f"cuSTINGER over {POWERS}: ours"] = ratio(sizes["cuSTINGER"], sizes[POWERS])
        for form in ("Hornet", POWERS):
            run = measured.run(_FORMATS, n, graph=name, format=form)
            used = ratio(4 * about["m"], run["blocks"]) if run else None
            row[f"{form}, utilisation, %: ours"] = percent(used)
        row["utilisation of blocks, %: ours"] = percent(about.get("used"))
        row["utilisation of blocks, %: thesis"] = _PAPER.value(
            exhibit="figure 18.5", quantity="utilisation of blocks", graph=name
        )
        rows.append(row)
    least, most = (
        _said(f"{which} memory over CSR", method="Hornet") for which in ("least", "most")
    )
    almost = _said("memory of cuSTINGER over Hornet, almost")
    return Filled(rows, {"least": least, "most": most, "almost": almost})


def _init(measured: Measured) -> Filled:
    rows: list[Row] = []
    for n in measured.sizes(_FORMATS):
        for name in GRAPHS:
            seconds = {
                form: measured.phases(_FORMATS, n, graph=name, format=form).get("init")
                for form in ("CSR", "COO", "cuSTINGER", "AIM", "Hornet", POWERS)
            }
            row: Row = {"entries at most": n, "graph": name}
            row |= {f"{form}, ms: ours": milliseconds(each) for form, each in seconds.items()}
            row["Hornet over CSR: ours"] = ratio(seconds["Hornet"], seconds["CSR"])
            for form in UPDATERS:
                row[f"{form} over {POWERS}: ours"] = ratio(seconds[form], seconds[POWERS])
            rows.append(row)
    words = {
        name: _said(f"{name.partition('_')[0]} initialisation {of}")
        for end, of in (("", "over CSR"), ("_others", "of others over Hornet"))
        for name in (f"least{end}", f"most{end}")
    }
    return Filled(rows, words)


def _updates(measured: Measured) -> Filled:
    rows: list[Row] = []
    systems = {blocks: name for name, blocks in UPDATERS.items()}
    for n, run in measured.each_run(_UPDATES):
        label, seconds = run["label"], run["seconds"]
        of_system = {**label, "blocks": systems.get(label["blocks"], "")}
        other = measured.phases(_UPDATES, n, **of_system).get("insert")
        rows.append(
            {
                "entries at most": n,
                **label,
                # records of before there was a second one do not name it
                "distribution": label.get("distribution", DISTRIBUTIONS[0]),
                "inserted, million/s: ours": run["edges"] / seconds["insert"] / 1e6,
                "deleted, million/s: ours": run["edges"] / seconds["delete"] / 1e6,
                "insertion, system over its blocks: ours": ratio(other, seconds["insert"]),
            }
        )
    most = [
        f"{_said(quantity, method=method):g} million/s ({quantity}, {method})"
        for quantity, method in (
            ("most updates", "cuSTINGER's blocks"),
            ("most updates", "AIM's blocks"),
            ("most updates, no check", "AIM's blocks"),
        )
    ]
    first = rows[0]["graph"] if rows else None
    words = {
        "border": _said("batches that are small, up to"),
        "slower": _said("Hornet slower than cuSTINGER, about"),
        "custinger": _said("most of cuSTINGER over Hornet"),
        "aim": _said("most of AIM over Hornet"),
    }
    return Filled(rows, {"most": ", ".join(most), "first": first, **words})


def _both(measured: Measured) -> Filled:
    rows: list[Row] = []
    for n, about in measured.each_input(_ANALYTICS):
        name = about["label"]["graph"]
        row: Row = {"entries at most": n, "graph": name}
        for what, work in (("BFS", about["traversed"]), ("SpMV", about["m"])):
            where: dict[str, Value] = {"graph": name, "what": what}
            csr, hornet = (
                measured.phases(_ANALYTICS, n, format=form, **where).get("wall")
                for form in ("CSR", "Hornet")
            )
            for form, seconds in (("CSR", csr), ("Hornet", hornet)):
                rate = ratio(work, seconds)
                row[f"{what} on {form}, million edges/s: ours"] = rate and rate / 1e6
            row[f"{what}, CSR over Hornet: ours"] = ratio(csr, hornet)
        for form in (PACKED, SEGMENTS):
            segments = measured.phases(_ANALYTICS, n, graph=name, what="SpMV", format=form)
            row[f"SpMV, {form} over Hornet: ours"] = ratio(segments.get("wall"), hornet)
        rows.append(row)
    words = {
        "search": _said("most gain of Hornet over CSR in BFS"),
        "product": _said("usual difference of Hornet and CSR in SpMV"),
        "least": _said("least of DCSR over Hornet in SpMV"),
        "most": _said("most of DCSR over Hornet in SpMV"),
    }
    return Filled(rows, words)


def _triangles(measured: Measured) -> Filled:
    """One row for each graph and batch."""
    rows: list[Row] = []
    for n, about in measured.each_input(_TRIANGLES):
        graph = about["label"]["graph"]
        for run in measured.runs(_TRIANGLES, n, graph=graph, way=UPDATE):
            where: dict[str, Value] = {"graph": graph, "batch": run["label"]["batch"]}
            row: Row = {"graph": graph, "edges": about["m"], "triangles": about["triangles"]}
            row |= {"batch": where["batch"], "triangles of the batch": run["triangles"]}
            for phase in ("insert", "delete"):
                times = {
                    way: measured.phases(_TRIANGLES, n, way=way, **where).get(phase)
                    for way in (UPDATE, AGAIN, ALONE)
                }
                row |= {f"{phase}, {way}, ms: ours": milliseconds(t) for way, t in times.items()}
                row[f"{phase}, again over update: ours"] = ratio(times[AGAIN], times[UPDATE])
                rate = ratio(run["edges"], times[UPDATE])
                row[f"{phase}, million edges/s: ours"] = rate and rate / 1e6
            rows.append(row)
    words = {
        "alone": "updates of triangles, alone",
        "both": "updates of triangles, with those of the graph",
        "vertices": "most of counts of all triangles at vertices over updates",
    }
    paper = "Makkar et al. 2017"
    said = {name: _PAPER.value(exhibit=paper, quantity=each) for name, each in words.items()}
    return Filled(rows, said)


def _methods() -> tuple[str, ...]:
    return (*experiments.TRUSSES, "SciPy")


def _decompositions(measured: Measured) -> Filled:
    rows: list[Row] = []
    for n, about in measured.each_input(_TRUSSES):
        label = about["label"]
        if label["k"] != "all":
            continue
        runs = {name: measured.run(_TRUSSES, n, **label, method=name) for name in _methods()}
        wall = {name: run["seconds"]["wall"] if run else None for name, run in runs.items()}
        row: Row = {"graph": label["graph"], "vertices": about["n"], "edges": about["m"]}
        row["k_max: ours"] = next(run["k_max"] for run in runs.values() if run)
        row |= {f"{name}, ms: ours": milliseconds(each) for name, each in wall.items()}
        for name, form in (("CSR", "CSR"), ("Hornet", "a Hornet")):
            gain = ratio(wall.get(f"Iterative on {form}"), wall.get(f"Delta on {form}"))
            row[f"Iterative over Delta, {name}: ours"] = gain
        row["SciPy over peeling: ours"] = ratio(wall["SciPy"], wall["peeling"])
        rows.append({**row, **_published_truss(label["graph"])})
    known = {row["graph"] for row in rows}
    published = dict.fromkeys(
        row["graph"]
        for exhibit in ("table 19.2", "table 19.3")
        for row in _PAPER.rows(exhibit=exhibit, quantity="time")
    )
    rows += ({"graph": each, **_published_truss(each)} for each in published if each not in known)
    most = _PAPER.value(exhibit="section 19.4", quantity="most of Iterative over Delta")
    return Filled(rows, {"most": most})


def _published_truss(graph: str) -> Row:
    """Return what tables 19.2 and 19.3 have of all trusses of a graph."""
    of_graph = partial(_PAPER.value, graph=graph)
    delta = of_graph(exhibit="table 19.2", quantity="time")
    if delta is None:
        delta = of_graph(exhibit="table 19.3", quantity="time", method="truss-delta")
    others = of_graph(exhibit="table 19.3", quantity="time", method="Wang and Cheng")
    return {
        **{
            f"{each}: thesis": of_graph(exhibit="table 19.2", quantity=each)
            for each in ("vertices", "edges", "k_max")
        },
        "Delta on cuSTINGER, ms: P100": milliseconds(delta),
        "Wang and Cheng, ms: thesis, one core": milliseconds(others),
    }


def _energies(measured: Measured) -> Filled:
    rows: list[Row] = []
    powers = {
        what: _PAPER.value(exhibit="section 19.4", quantity=f"mean power of the {what}")
        for what in ("GPU", "CPU")
    }
    for n, about in measured.each_input(_TRUSSES):
        label = about["label"]
        if label["k"] != "all":
            continue
        row: Row = {"graph": label["graph"], "edges": about["m"]}
        for name in experiments.TRUSSES:
            run = measured.run(_TRUSSES, n, **label, method=name) or {}
            row[f"{name}, J: ours"] = run.get("energy", {}).get("joules")
        seconds = _PAPER.value(exhibit="table 19.2", quantity="time", graph=label["graph"])
        watts = powers["GPU"]
        projected = seconds * watts if seconds and watts else None
        rows.append({**row, "Delta on cuSTINGER, J: P100, projected": projected})
    return Filled(rows, powers)


def _each_k(measured: Measured) -> Filled:
    """One row for each k, of the graph of the thesis, or else of the one with most edges."""
    found: list[tuple[bool, int, Value, dict[str, list[float]]]] = []
    for n, about in measured.each_input(_TRUSSES):
        label = about["label"]
        seconds: dict[str, list[float]] = {
            name: run["k_seconds"]
            for name in experiments.TRUSSES
            if "k_seconds" in (run := measured.run(_TRUSSES, n, **label, method=name) or {})
        }
        if seconds and label["k"] == "all":
            found.append((label["graph"] == _SEARCHED, about["m"], label["graph"], seconds))
    if not found:  # older records have no times of each k
        return Filled([{"k": None}], {"graph": "none"})
    *_, graph, seconds = max(found, key=lambda each: each[:2])
    rows: list[Row] = [
        {"k": k}
        | {f"{name}, ms: ours": milliseconds(each) for name, each in zip(seconds, row, strict=True)}
        for k, row in enumerate(zip(*seconds.values(), strict=True), 3)
    ]
    return Filled(rows, {"graph": graph})


def _fixed(measured: Measured) -> Rows:
    for n, about in measured.each_input(_TRUSSES):
        label = about["label"]
        if label["k"] == "all":
            continue
        row: Row = {"k": label["k"], "graph": label["graph"], "edges": about["m"]}
        for name in _methods():
            wall = measured.phases(_TRUSSES, n, **label, method=name).get("wall")
            row[f"{name}, ms: ours"] = milliseconds(wall)
        for name, who in (("truss-delta", "P100"), ("Graphulo", "thesis, Accumulo")):
            seconds = _PAPER.value(
                exhibit="table 19.3",
                quantity=f"time, k = {label['k']}",
                graph=label["graph"],
                method=name,
            )
            row[f"{name}, ms: {who}"] = milliseconds(seconds)
        yield row


ROWS: dict[str, Maker] = {
    "table-17.1": _changing,
    "table-18.2": _graphs,
    "figure-18.5": _memory,
    "figure-18.6": _init,
    "figures-18.7-18.8": _updates,
    "section-18.4.4": _triangles,
    "figures-18.9-18.10": _both,
    "table-19.2": _decompositions,
    "figure-19.1b": _energies,
    "figure-19.1d": _each_k,
    "table-19.3": _fixed,
    "claims": partial(judged, CLAIMS),
}
