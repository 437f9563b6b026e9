"""Tables and figures of [B] chapter 6: BFS-4K."""

from __future__ import annotations

from statistics import geometric_mean
from typing import Any

import numpy as np

from papers.busato_traversal.bfs_4k.experiments import KNOBS, MAPPINGS, TABLES
from papers.busato_traversal.bfs_4k.stand_ins import NAMES
from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, Row, Rows, Table, table_of
from papers.values import milliseconds, ratio

__all__ = ["ROWS"]

_GPU = "GTX 780"
_STAND_INS = (
    "The graphs are stand-ins with fewer vertices: about the average degree of the published "
    "graph, and its deviation, or a mesh for a mesh; nothing else is the same. "
)
_LOOPS = (
    "On a CPU, groups of 32 work-items in warps of 8, which are loops there; on other devices 128 "
    "in warps of 32. "
)
# The thesis' figure 6.5
_DEGREES = (3, 1, 4, 6, 3, 3)
_OURS = {
    "bfs-harish": "Harish",
    "bfs-edge": "edge parallelism",
    "bfs-virtual-warp": "static virtual warps",
    "bfs-luo": "Luo",
    "bfs-b40c": "Garland",
    "bfs-4k": "BFS-4K",
}


def _published() -> Published:
    return Published("busato_traversal/bfs_4k")


def _wall(run: dict[str, Any] | None) -> float | None:
    return None if run is None else run["seconds"]["kernel"]


def _mapping(measured: Measured) -> Rows:
    """Return the table of lanes and vertices of edge-discover."""
    before = np.cumsum([0, *_DEGREES[:-1]])
    owners = np.searchsorted(before, np.arange(sum(_DEGREES)), "right") - 1
    return [
        {
            "vertex": vertex,
            "arcs": degree,
            "prefix sum": int(before[vertex]),
            "first lane": int(np.flatnonzero(owners == vertex)[0]),
            "last lane": int(np.flatnonzero(owners == vertex)[-1]),
        }
        for vertex, degree in enumerate(_DEGREES)
    ]


def _kernels(measured: Measured) -> Rows:
    for n in measured.sizes("busato-traversal-bfs-levels"):
        label = {"mapping": "chosen by level", "table": "hash32"}
        run = measured.run("busato-traversal-bfs-levels", n, **label)
        for each in run["levels"] if run else []:
            yield {
                "n": n,
                "level": each["level"],
                "frontier": each["frontier"],
                "kernel": each["kernel"],
                "width": each["width"] or None,
            }


def _kernels_drawn(measured: Measured, columns: list[str]) -> Drawing:
    lines = [
        Line("frontier", where={"n": n}, name=f"n = {n:,}")
        for n in measured.sizes("busato-traversal-bfs-levels")
    ]
    return Drawing("level", {"vertices in the frontier": lines}, logarithmic="y")


def _duplicates(measured: Measured) -> Rows:
    experiment = "busato-traversal-bfs-levels"
    for n in measured.sizes(experiment):
        told = {
            (mapping, name): run["levels"]
            for mapping in MAPPINGS
            for name in TABLES
            if (run := measured.run(experiment, n, mapping=mapping, table=name))
        }
        depth = max((len(levels) for levels in told.values()), default=0)
        for place in range(depth):
            some = next(iter(told.values()))[place]
            row = {"n": n, "level": some["level"], "different vertices": some["vertices"]}
            for (mapping, name), levels in told.items():
                each = levels[place]
                row[f"{mapping}, {name}"] = each["frontier"]
                if name == "hash32":
                    row[f"{mapping}, before {name}"] = each["frontier"] + each["dropped"]
            yield row


def _duplicates_drawn(measured: Measured, columns: list[str]) -> Drawing:
    experiment = "busato-traversal-bfs-levels"
    n = max(measured.sizes(experiment))
    shown = [name for name in columns if name not in ("n", "level")]
    drawn = [
        Line(name, where={"n": n})
        for name in shown
        if "before" in name or name.endswith("hash64") or name == "different vertices"
    ]
    return Drawing("level", {"entries of the frontier": drawn}, logarithmic="y")


def _tables(measured: Measured) -> Rows:
    experiment, paper = "busato-traversal-bfs-levels", _published()
    for n in measured.sizes(experiment):
        for mapping in MAPPINGS:
            for name in TABLES:
                run = measured.run(experiment, n, mapping=mapping, table=name)
                if run is None:
                    continue
                row: Row = {"n": n, "mapping": mapping, "table": name}
                kinds = {"detected": "dropped", "conflicts": "conflicts"}
                for quantity, kind in {**kinds, "undetected": "undetected"}.items():
                    row[f"{quantity}: ours"] = sum(each[kind] for each in run["levels"])
                    theirs = paper.value(exhibit="figure 6.12", quantity=quantity, method=name)
                    if mapping == "virtual warp 4":
                        row[f"{quantity}: {_GPU}"] = theirs
                row["kernel ms: ours"] = milliseconds(_wall(run))
                yield row


def _matrix(measured: Measured) -> Rows:
    quantities = (
        "work",
        "memory",
        "parallel over",
        "many arcs",
        "duplicates",
        "synchronisation: published",
        "synchronisation: ours",
    )
    launch, single = "launches", "launches; one group for small frontiers"
    values = {
        "bfs-harish": ("n D + m", "3 n + m", "vertices", "no", "no", "host", launch),
        "bfs-virtual-warp": ("n D + m", "2 n + m", "virtual warps", "yes", "no", "host", launch),
        "bfs-edge": ("m D", "2 m", "arcs", "indifferent", "no", "host", launch),
        "bfs-luo": ("n + m", None, "vertices", "no", "no", "host, groups, barriers", single),
        "bfs-b40c": (
            "n + m",
            "4 n + 2 m",
            "vertices, arcs, groups",
            "yes",
            "yes",
            "host, groups",
            launch,
        ),
        "bfs-4k": (
            "n + m",
            "4 n + m",
            "vertices, arcs, dynamic virtual warps, child launches",
            "yes",
            "yes",
            "host, groups, barriers",
            single,
        ),
    }
    return [
        {"method": name, "in the thesis": _OURS[name], **dict(zip(quantities, row, strict=True))}
        for name, row in values.items()
    ]


def _features(measured: Measured) -> Rows:
    experiment = "busato-traversal-bfs-features"
    for n in measured.sizes(experiment):
        first = _wall(measured.run(experiment, n, features="bfs-sequential"))
        for run in measured.runs(experiment, n):
            seconds = _wall(run)
            yield {
                "n": n,
                "search": run["label"]["features"],
                "ms: ours": milliseconds(seconds),
                "speedup over sequential: ours": ratio(first, seconds),
            }


def _graphs(measured: Measured) -> Rows:
    experiment, paper = "busato-traversal-bfs-rivals", _published()
    for n in measured.sizes(experiment):
        for given in measured.inputs(experiment, n):
            name = given["label"]["graph"]
            row = {"graph": name, "vertices: stand-in": given["n"], "arcs: stand-in": given["arcs"]}
            row["depth from the source: stand-in"] = given["depth"]
            for quantity in ("average degree", "deviation of degrees", "largest degree"):
                row[f"{quantity}: stand-in"] = given[quantity]
                theirs = paper.value(exhibit="table 6.1", quantity=quantity, graph=name)
                row[f"{quantity}: published"] = theirs
            for quantity in ("vertices", "arcs"):
                theirs = paper.value(exhibit="table 6.1", quantity=quantity, graph=name)
                row[f"million {quantity}: published"] = theirs
            row["diameter: published"] = paper.value(
                exhibit="table 6.1", quantity="diameter", graph=name
            )
            yield row


def _times(measured: Measured) -> Exhibit:
    rows, experiment, paper = [], "busato-traversal-bfs-rivals", _published()
    speedups: dict[str, list[float]] = {}
    for n in measured.sizes(experiment):
        for name in NAMES:
            times = {
                run["label"]["method"]: _wall(run)
                for run in measured.runs(experiment, n, graph=name)
                if "width" not in run["label"]
            }
            widths = {
                run["label"]["width"]: _wall(run)
                for run in measured.runs(experiment, n, graph=name, method="bfs-virtual-warp")
            }
            best = min(widths, key=lambda width: widths[width] or np.inf, default=None)
            times["bfs-virtual-warp"] = widths.get(best)
            row: Row = {"n": n, "graph": name}
            row["bfs-sequential, ms: ours"] = milliseconds(times.get("bfs-sequential"))
            for each in _OURS:
                theirs = paper.value(exhibit="table 6.2", quantity="time", graph=name, method=each)
                row[f"{each}, ms: ours"] = milliseconds(times.get(each))
                row[f"{each}, ms: {_GPU}"] = theirs
                if each != "bfs-4k" and (gain := ratio(times.get(each), times.get("bfs-4k"))):
                    row[f"bfs-4k over {each}: ours"] = gain
                    speedups.setdefault(each, []).append(gain)
                own = paper.value(exhibit="table 6.2", quantity="time", graph=name, method="bfs-4k")
                if each != "bfs-4k" and theirs:
                    row[f"bfs-4k over {each}: {_GPU}"] = ratio(theirs, own)
            row["best width: ours"] = best
            row[f"best width: {_GPU}"] = paper.value(
                exhibit="table 6.2", quantity="width", graph=name
            )
            rows.append(row)
    told = ", ".join(f"{name} {geometric_mean(gains):.3g}" for name, gains in speedups.items())
    return Exhibit(
        "table-6.2",
        "Table 6.2 and figure 6.15: times, and speedups of BFS-4K",
        f"{_STAND_INS}Kernel times with the parameters that suit the device; the thesis measures "
        f"graphs of 0.4 to 50.9 million vertices. Geometric means of our speedups: {told}. A cell "
        "is empty where the thesis has out of time, out of memory or no value.",
        table_of(rows),
    )


def _sweep(measured: Measured) -> Rows:
    experiment = "busato-traversal-bfs-knobs"
    names = dict(zip(KNOBS, ("K1", "K2", "K3", "K4", "K5", "K6", "K7"), strict=True))
    theirs = {"least_width": "4 to 32", "heavy": "15", "piece": "16", "discover": "0, 1 or 2"}
    theirs |= {"single": "0 or 1", "group": "128", "coalesce": "10"}
    for n in measured.sizes(experiment):
        for knob, values in KNOBS.items():
            for value in values:
                run = measured.run(experiment, n, knob=knob, value=value)
                yield {
                    "n": n,
                    "knob": names[knob],
                    "parameter": knob,
                    "value": value,
                    "ms: ours": milliseconds(_wall(run)),
                    "best in the thesis": theirs[knob],
                }


ROWS = {
    "figure-6.5": _mapping,
    "figure-6.6": _kernels,
    "figure-6.11": _duplicates,
    "figure-6.12": _tables,
    "figure-6.13": _matrix,
    "figure-6.14": _features,
    "table-6.1": _graphs,
    "table-6.2": _times,
    "knobs": _sweep,
}
