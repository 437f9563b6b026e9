"""Tables and figures of [B] chapter 6: BFS-4K."""

from __future__ import annotations

from functools import partial
from itertools import product
from statistics import geometric_mean

import numpy as np

from papers.busato_traversal.bfs_4k.claims import CLAIMS, fastest
from papers.busato_traversal.bfs_4k.experiments import (
    COMPARED,
    DEGREES,
    FORMED,
    FURTHER,
    KNOBS,
    MAPPINGS,
    STORES,
    TABLES,
)
from papers.busato_traversal.bfs_4k.stand_ins import NAMES
from papers.claims import judged
from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row, Rows
from papers.values import beside, milliseconds, ratio

__all__ = ["ROWS"]

_LEVELS, _FEATURES, _RIVALS, _KNOBS = (
    f"busato-traversal-bfs-{name}" for name in ("levels", "features", "rivals", "knobs")
)
_GPU = "GTX 780"
# Of each search its name in the thesis, and what its figure 6.13 says: work, words of memory for a
# vertex and an arc, and the rest.
# fmt: off
_SAID: dict[str, tuple[str, str, tuple[int, int] | None, str, str, str, str]] = {
    "bfs-harish": ("Harish", "n D + m", (3, 1), "vertices", "no", "no", "host"),
    "bfs-virtual-warp": (
        "static virtual warps", "n D + m", (2, 1), "virtual warps", "yes", "no", "host"
    ),
    "bfs-edge": ("edge parallelism", "m D", (0, 2), "arcs", "indifferent", "no", "host"),
    "bfs-luo": ("Luo", "n + m", None, "vertices", "no", "no", "host, groups, barriers"),
    "bfs-b40c": (
        "Garland", "n + m", (4, 2), "vertices, arcs, groups", "yes", "yes", "host, groups"
    ),
    "bfs-4k": (
        "BFS-4K", "n + m", (4, 1), "vertices, arcs, dynamic virtual warps, child launches", "yes",
        "yes", "host, groups, barriers",
    ),
}
# fmt: on
# What the thesis calls a knob, and the values that it finds best.
_BEST = {
    "least_width": ("K1", "4 to 32"),
    "heavy": ("K2", "15"),
    "piece": ("K3", "16"),
    "discover": ("K4", "0, 1 or 2"),
    "single": ("K5", "0 or 1"),
    "group": ("K6", "128"),
    "coalesce": ("K7", "10"),
}
_PAPER = Published("busato_traversal/bfs_4k")


def _mapping(measured: Measured) -> Rows:
    """Return the table of lanes and vertices of edge-discover, as the kernel has them."""
    abouts = [about for _, about in measured.each_input(_LEVELS)]
    owners = np.array(abouts[-1].get("lanes", []))
    for vertex, degree in enumerate(DEGREES):
        lanes = np.flatnonzero(owners == vertex).tolist()
        row: Row = {"vertex": vertex, "arcs": degree, "prefix sum": sum(DEGREES[:vertex])}
        for what, place in (("first lane", 0), ("last lane", -1)):
            theirs = _PAPER.value(exhibit="figure 6.5", quantity=what, graph=f"vertex {vertex}")
            row |= beside(what, lanes[place] if lanes else None, theirs, "thesis")
        yield row


def _kernels(measured: Measured) -> Rows:
    for n, run in measured.each_run(_LEVELS, mapping="chosen by level", table="hash32"):
        for each in run["levels"]:
            row: Row = {"n": n, **{name: each[name] for name in ("level", "frontier", "kernel")}}
            yield {**row, "width": each["width"] or None}


def _duplicates(measured: Measured) -> Rows:
    for n in measured.sizes(_LEVELS):
        every = {
            (mapping, name): run["levels"]
            for mapping in MAPPINGS
            for name in TABLES
            if (run := measured.run(_LEVELS, n, mapping=mapping, table=name, store="visit"))
        }
        for place in range(max((len(levels) for levels in every.values()), default=0)):
            some = next(iter(every.values()))[place]
            row = {"n": n, "level": some["level"], "different vertices": some["vertices"]}
            for (mapping, name), levels in every.items():
                each = levels[place]
                row[f"{mapping}, {name}"] = each["frontier"]
                if name == "hash32":
                    row[f"{mapping}, before {name}"] = each["frontier"] + each["dropped"]
            yield row


def _tables(measured: Measured) -> Rows:
    for n in measured.sizes(_LEVELS):
        for mapping, name, store in product(MAPPINGS, TABLES, STORES):
            run = measured.run(_LEVELS, n, mapping=mapping, table=name, store=store)
            if run is None:
                continue
            row: Row = {"n": n, "mapping": mapping, "table": name, "levels stored": store}
            for quantity in ("detected", "conflicts", "undetected"):
                kind = "dropped" if quantity == "detected" else quantity
                row[f"{quantity}: ours"] = sum(each[kind] for each in run["levels"])
                if mapping == "virtual warp 4" and store == "visit":
                    row[f"{quantity}: {_GPU}"] = _PAPER.value(
                        exhibit="figure 6.12", quantity=quantity, method=name
                    )
            yield {**row, "kernel ms: ours": milliseconds(run["seconds"]["kernel"])}


def _matrix(measured: Measured) -> Rows:
    for n, about in measured.each_input(_FEATURES):
        for name, (theirs, work, words, over, many, duplicates, barriers) in _SAID.items():
            run = measured.run(_FEATURES, n, search=name) or {}
            said = None if words is None else words[0] * about["n"] + words[1] * about["arcs"]
            yield {
                "n": n,
                "search": name,
                "in the thesis": theirs,
                **beside("memory, words of 4 bytes", ratio(run.get("bytes"), 4), said, "thesis"),
                "levels: ours": run.get("rounds"),
                "work: thesis": work,
                "parallel over: thesis": over,
                "many arcs: thesis": many,
                "duplicates: thesis": duplicates,
                "synchronisation: thesis": barriers,
            }


def _features(measured: Measured) -> Rows:
    for n, run in measured.each_run(_FEATURES):
        if "features" not in run["label"]:
            continue
        first = measured.phases(_FEATURES, n, features="bfs-sequential").get("kernel")
        seconds = run["seconds"]["kernel"]
        yield {
            "n": n,
            "search": run["label"]["features"],
            "ms: ours": milliseconds(seconds),
            "speedup over sequential: ours": ratio(first, seconds),
        }


def _graphs(measured: Measured) -> Rows:
    for _, about in measured.each_input(_RIVALS):
        name = about["label"]["graph"]
        where = {"exhibit": "table 6.1", "graph": name}
        row: Row = {"graph": name}
        row |= {"vertices: stand-in": about["n"], "arcs: stand-in": about["arcs"]}
        row["depth from the source: stand-in"] = about["depth"]
        for quantity in ("average degree", "deviation of degrees", "largest degree"):
            row[f"{quantity}: stand-in"] = about[quantity]
            row[f"{quantity}: published"] = _PAPER.value(quantity=quantity, **where)
        for quantity in ("vertices", "arcs"):
            row[f"million {quantity}: published"] = _PAPER.value(quantity=quantity, **where)
        yield {**row, "diameter: published": _PAPER.value(quantity="diameter", **where)}


def _times(measured: Measured) -> Filled:
    rows: list[Row] = []
    speedups: dict[str, list[float]] = {}
    for n in measured.sizes(_RIVALS):
        for name in NAMES:
            runs = fastest(measured, n, name)
            times = {method: run["seconds"]["kernel"] for method, run in runs.items()}
            virtual = runs.get("bfs-virtual-warp")
            best = virtual["label"]["width"] if virtual else None
            row: Row = {"n": n, "graph": name}
            for each in FURTHER:
                row[f"{each}, ms: ours"] = milliseconds(times.get(each))
            where = {"exhibit": "table 6.2", "graph": name}
            own = _PAPER.value(quantity="time", method="bfs-4k", **where)
            for each in COMPARED:
                theirs = _PAPER.value(quantity="time", method=each, **where)
                row |= beside(f"{each}, ms", milliseconds(times.get(each)), theirs, _GPU)
                if each == "bfs-4k":
                    continue
                if gain := ratio(times.get(each), times.get("bfs-4k")):
                    row[f"bfs-4k over {each}: ours"] = gain
                    speedups.setdefault(each, []).append(gain)
                if theirs:
                    row[f"bfs-4k over {each}: {_GPU}"] = ratio(theirs, own)
            width = _PAPER.value(quantity="width", **where)
            row |= beside("best width", best, width, _GPU)
            for each in FORMED:
                form = runs[each]["label"].get("form", "default") if each in runs else None
                row[f"best form of {each}: ours"] = form
            rows.append(row)
    means = [f"{name} {geometric_mean(gains):.3g}" for name, gains in speedups.items()]
    return Filled(rows, {"means": ", ".join(means)})


def _sweep(measured: Measured) -> Rows:
    for n in measured.sizes(_KNOBS):
        for knob, values in KNOBS.items():
            name, theirs = _BEST[knob]
            for value in values:
                seconds = measured.phases(_KNOBS, n, knob=knob, value=value).get("kernel")
                row: Row = {"n": n, "knob": name, "parameter": knob, "value": value}
                yield {**row, "ms: ours": milliseconds(seconds), "best in the thesis": theirs}


ROWS: dict[str, Maker] = {
    "figure-6.5": _mapping,
    "figure-6.6": _kernels,
    "figure-6.11": _duplicates,
    "figure-6.12": _tables,
    "figure-6.13": _matrix,
    "figure-6.14": _features,
    "table-6.1": _graphs,
    "table-6.2": _times,
    "knobs": _sweep,
    "claims-6": partial(judged, CLAIMS),
}
