"""Tables and figures of [B] chapter 9: components in several steps."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from papers.busato_paths.components.claims import (
    CLAIMS,
    DEVSHATWAR_SET,
    best,
    heat,
    methods,
    parameters,
)
from papers.busato_paths.components.experiments import (
    MAPPED,
    PARAMETERS,
    SEARCHES,
    TRIMS,
    published,
)
from papers.busato_paths.components.stand_ins import NAMES
from papers.busato_paths.rows import of_graph, of_times
from papers.claims import judged, near
from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row, Rows
from papers.values import beside, milliseconds, ratio

__all__ = ["ROWS"]

_EXPERIMENT = "busato-paths-components"
# Where the published times of each method are from.
_DEVICES = {"tarjan": "Phenom II", "devshatwar": "Tesla K40", "scc-multi-step": "Tesla K40"}
_PAPER = Published("busato_paths/components")


def _graphs(measured: Measured) -> Rows:
    quantities = (
        *("average degree", "vertices without leaving arcs", "deviation of degrees"),
        *("average diameter", "components", "vertices in the largest component"),
        "vertices in components of one",
    )
    for n, about in measured.each_input(_EXPERIMENT):
        sizes = {"vertices": about["n"], "arcs": about["arcs"]}
        yield of_graph(_PAPER, "table 9.1", n, about, sizes, quantities, "ours")


def _times(measured: Measured) -> Rows:
    for n in measured.sizes(_EXPERIMENT):
        arcs = {each["label"]["graph"]: each["arcs"] for each in measured.inputs(_EXPERIMENT, n)}
        for name in NAMES:
            alone, times = methods(measured, n, name), parameters(measured, n, name)
            setting = tuple(str(published(name)[each]) for each in PARAMETERS)
            seconds = {
                "tarjan": alone.get("tarjan"),
                "devshatwar": times.get(DEVSHATWAR_SET),
                "scc-multi-step": min(times.values(), default=None),
                "scc-multi-step, as published": times.get(setting),
                "scc-tarjan": alone.get("scc-tarjan"),
                "scc-colouring": alone.get("scc-colouring"),
            }
            yield of_times(_PAPER, "table 9.2", n, name, arcs.get(name, 0), seconds, _DEVICES)


def _configurations(measured: Measured) -> Rows:
    for n in measured.sizes(_EXPERIMENT):
        for name in NAMES:
            times = parameters(measured, n, name)
            if not times:
                continue
            chosen = best(times)
            ties = [each for each, seconds in times.items() if near(seconds, times[chosen])]
            where = {"exhibit": "table 9.3", "graph": name}
            row: Row = {"n": n, "graph": name}
            for place, each in enumerate(PARAMETERS):
                values = dict.fromkeys([chosen[place], *(tie[place] for tie in ties)])
                theirs = _PAPER.value(quantity=each, **where)
                row |= beside(each, " or ".join(values), theirs)
            over = {
                "tarjan": methods(measured, n, name).get("tarjan"),
                "devshatwar": times.get(DEVSHATWAR_SET),
            }
            for each, seconds in over.items():
                what = f"speedup over {each}"
                theirs = _PAPER.value(quantity=what, **where)
                row |= beside(what, ratio(seconds, times[chosen]), theirs)
            yield row


def _maps(measured: Measured) -> Filled:
    rows: list[Row] = []
    for n in measured.sizes(_EXPERIMENT):
        for name in MAPPED:
            times = heat(parameters(measured, n, name))
            for trim in TRIMS:
                row: Row = {"n": n, "graph": name, "turns of trimming": str(trim)}
                for searches in SEARCHES:
                    seconds = times.get((str(trim), str(searches)))
                    row[f"{searches} rounds of searches, ms: ours"] = milliseconds(seconds)
                rows.append(row)
    return Filled(rows, figure=_drawn(measured))


def _drawn(measured: Measured) -> Figure:
    """Draw the heat maps of the largest n."""
    n = max(measured.sizes(_EXPERIMENT))
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(MAPPED), squeeze=False).flat, MAPPED, strict=True):
        times = heat(parameters(measured, n, name))
        values = [
            [times.get((str(trim), str(searches)), np.nan) for searches in SEARCHES]
            for trim in TRIMS
        ]
        axes.imshow(1e3 * np.array(values), cmap="YlOrRd", aspect="auto")
        axes.set_title(name)
        axes.set_xticks(range(len(SEARCHES)), [str(each) for each in SEARCHES])
        axes.set_yticks(range(len(TRIMS)), [str(each) for each in TRIMS])
        axes.set_xlabel("rounds of searches")
        axes.set_ylabel("turns of trimming")
    return figure


ROWS: dict[str, Maker] = {
    "table-9.1": _graphs,
    "table-9.2": _times,
    "table-9.3": _configurations,
    "figure-9.1": _maps,
    "claims-9.3": partial(judged, CLAIMS),
}
