"""Tables and figures of [B] chapter 9: components in several steps."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from papers.busato_paths.components.claims import best, claims, heat, methods, parameters
from papers.busato_paths.components.experiments import (
    MAPPED,
    PARAMETERS,
    SEARCHES,
    TRIMS,
    published,
)
from papers.busato_paths.components.stand_ins import NAMES
from papers.busato_paths.rows import of_graph, of_times
from papers.claims import claims_table
from papers.measured import Measured
from papers.published import Published
from papers.tables import Exhibit, Made, Row, Rows, Table
from papers.values import milliseconds, ratio
from pyapsp.traversal.components.scc_multi_step import DEVSHATWAR

__all__ = ["ROWS"]

_EXPERIMENT = "busato-paths-components"
_STAND_INS = (
    "The graphs are stand-ins with fewer vertices: about the average degree, the deviation and the "
    "parts of vertices in the largest component, in components of one and without leaving arcs; "
    "nothing else is the same. "
)
# Times that differ by less are ties; the thesis has ties without a limit.
_TIE = 1.03


def _published() -> Published:
    return Published("busato_paths/components")


def _graphs(measured: Measured) -> Rows:
    paper = _published()
    quantities = (
        *("average degree", "vertices without leaving arcs", "deviation of degrees"),
        *("average diameter", "components", "vertices in the largest component"),
        "vertices in components of one",
    )
    for n in measured.sizes(_EXPERIMENT):
        for given in measured.inputs(_EXPERIMENT, n):
            sizes = {"vertices": given["n"], "arcs": given["arcs"]}
            yield of_graph(paper, "table 9.1", n, given, sizes, quantities, "ours")


def _setting(name: str) -> tuple[str, ...]:
    return tuple(str(published(name)[each]) for each in PARAMETERS)


def _times(measured: Measured) -> Rows:
    paper = _published()
    devshatwar = tuple(str(DEVSHATWAR[each]) for each in PARAMETERS)
    for n in measured.sizes(_EXPERIMENT):
        arcs = {each["label"]["graph"]: each["arcs"] for each in measured.inputs(_EXPERIMENT, n)}
        for name in NAMES:
            alone, times = methods(measured, n, name), parameters(measured, n, name)
            found = {
                "tarjan": alone.get("tarjan"),
                "devshatwar": times.get(devshatwar),
                "scc-multi-step": min(times.values(), default=None),
                "scc-multi-step, as published": times.get(_setting(name)),
                "scc-tarjan": alone.get("scc-tarjan"),
                "scc-colouring": alone.get("scc-colouring"),
            }
            yield of_times(paper, "table 9.2", n, name, arcs.get(name, 0), found)


def _configurations(measured: Measured) -> Rows:
    paper = _published()
    for n in measured.sizes(_EXPERIMENT):
        for name in NAMES:
            times = parameters(measured, n, name)
            if not times:
                continue
            chosen = best(times)
            ties = [each for each, seconds in times.items() if seconds <= _TIE * times[chosen]]
            row: Row = {"n": n, "graph": name}
            for place, each in enumerate(PARAMETERS):
                values = list(dict.fromkeys([chosen[place], *(tie[place] for tie in ties)]))
                row[f"{each}: ours"] = " or ".join(values)
                row[f"{each}: published"] = paper.value(
                    exhibit="table 9.3", quantity=each, graph=name
                )
            devshatwar = times.get(tuple(str(DEVSHATWAR[each]) for each in PARAMETERS))
            over = {
                "tarjan": methods(measured, n, name).get("tarjan"),
                "devshatwar": devshatwar,
            }
            for each, seconds in over.items():
                row[f"speedup over {each}: ours"] = ratio(seconds, times[chosen])
                row[f"speedup over {each}: published"] = paper.value(
                    exhibit="table 9.3", quantity=f"speedup over {each}", graph=name
                )
            yield row


def _maps(measured: Measured) -> Rows:
    for n in measured.sizes(_EXPERIMENT):
        for name in MAPPED:
            found = heat(parameters(measured, n, name))
            for trim in TRIMS:
                row: Row = {"n": n, "graph": name, "turns of trimming": str(trim)}
                for searches in SEARCHES:
                    seconds = found.get((str(trim), str(searches)))
                    row[f"{searches} rounds of searches, ms: ours"] = milliseconds(seconds)
                yield row


def _drawn(measured: Measured) -> Figure:
    """Draw the heat maps of the largest n."""
    n = max(measured.sizes(_EXPERIMENT))
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(MAPPED), squeeze=False).flat, MAPPED, strict=True):
        found = heat(parameters(measured, n, name))
        values = [
            [found.get((str(trim), str(searches)), np.nan) for searches in SEARCHES]
            for trim in TRIMS
        ]
        axes.imshow(1e3 * np.array(values), cmap="YlOrRd", aspect="auto")
        axes.set_title(name)
        axes.set_xticks(range(len(SEARCHES)), [str(each) for each in SEARCHES])
        axes.set_yticks(range(len(TRIMS)), [str(each) for each in TRIMS])
        axes.set_xlabel("rounds of searches")
        axes.set_ylabel("turns of trimming")
    return figure


def _claims(measured: Measured) -> Exhibit:
    return Exhibit(
        "claims-9.3",
        "What section 9.3 says, and whether it holds on this device",
        f"{_STAND_INS}Answered for the largest n. Numbers are quotients of times.",
        claims_table(claims(measured)),
    )


ROWS = {
    "table-9.1": _graphs,
    "table-9.2": _times,
    "table-9.3": _configurations,
    "figure-9.1": _maps,
    "claims-9.3": _claims,
}
