"""Tables 20.2 and 20.3 and figure 20.2 of F. Busato's thesis, 2018, and a table of its parts."""

from __future__ import annotations

from typing import Any

from papers.busato_mining.experiments import MINERS, PARTS
from papers.measured import Measured
from papers.published import Published
from papers.tables import Row, Rows, Table
from papers.values import Value, milliseconds, ratio
from pyapsp.mining.planted import LENGTH, TRACES

__all__ = ["ROWS"]

_GPU = "GTX 780"
_SETS = ("I", "II")
_PHASES = ("read", "transfer", "kernel", "wall")


def _published(**where: Value) -> Any:
    """Return a published value; a text where only a bound is published."""
    paper = Published("busato_mining")
    value = paper.value(**where)
    if value is None and where.get("quantity") == "execution time":
        below = paper.value(**{**where, "quantity": "execution time below"})
        return None if below is None else f"< {below}"
    return value


def _traces(measured: Measured) -> Rows:
    for n in measured.sizes("busato-mining-miners"):
        given = {
            (each["label"]["trace"], each["label"]["set"]): each
            for each in measured.inputs("busato-mining-miners", n)
        }
        for trace, recipe in TRACES.items():
            row: Row = {"trace": trace, "instants: ours": n}
            row[f"instants: {_GPU}"] = LENGTH
            row["Boolean variables"] = row["numeric variables"] = recipe.variables
            for name in _SETS:
                row[f"invariants of set {name}: ours"] = given.get((trace, name), {}).get(
                    "invariants"
                )
                row[f"invariants of set {name}: {_GPU}"] = _published(
                    exhibit="table 20.2", quantity="invariants", trace=trace, set=name
                )
            yield row


def _times(measured: Measured) -> Rows:
    experiment = "busato-mining-miners"
    for n in measured.sizes(experiment):
        for name in _SETS:
            for trace in TRACES:
                where: dict[str, Value] = {"trace": trace, "set": name}
                phases = {
                    miner: measured.phases(experiment, n, miner=miner, **where)
                    for miner in (*MINERS, "sequential", "NumPy")
                }
                row: Row = {"set": name, "trace": trace, "instants": n}
                for miner, found in phases.items():
                    if miner in MINERS:
                        row[f"{miner}, kernel ms: ours"] = milliseconds(found.get("kernel"))
                row["mangrove, whole call, ms: ours"] = milliseconds(phases["mangrove"].get("wall"))
                row["sequential, ms: ours"] = milliseconds(phases["sequential"].get("wall"))
                row["NumPy, ms: ours"] = milliseconds(phases["NumPy"].get("wall"))
                row["NumPy over mangrove, whole calls: ours"] = ratio(
                    phases["NumPy"].get("wall"), phases["mangrove"].get("wall")
                )
                kernel = phases["mangrove"].get("kernel")
                row["parallel over mangrove: ours"] = ratio(
                    phases["parallel"].get("kernel"), kernel
                )
                row["sequential over mangrove: ours"] = ratio(
                    phases["sequential"].get("wall"), kernel
                )
                for miner in ("Daikon", "sequential", "parallel", "mangrove"):
                    row[f"{miner}, ms: {_GPU}"] = _published(
                        exhibit="table 20.3", quantity="execution time", miner=miner, **where
                    )
                yield row


def _parts(measured: Measured) -> Rows:
    experiment = "busato-mining-parts"
    for n in measured.sizes(experiment):
        for trace in (2, 4):
            for name in _SETS:
                row: Row = {"trace": trace, "set": name, "instants": n}
                for part in PARTS:
                    run = measured.run(experiment, n, trace=trace, set=name, miner=part)
                    kernel = run["seconds"]["kernel"] if run else None
                    row[f"{part}, kernel ms: ours"] = milliseconds(kernel)
                    if part in ("all parts", "no inference"):
                        row[f"{part}, entries checked: ours"] = run["checked"] if run else None
                yield row


def _overlap(measured: Measured) -> Rows:
    for n in measured.sizes("busato-mining-overlap"):
        for overlap in ("on", "off"):
            run = measured.run("busato-mining-overlap", n, overlap=overlap)
            row: Row = {"instants": n, "overlap": overlap}
            for phase in _PHASES:
                row[f"{phase}, ms: ours"] = milliseconds(run["seconds"][phase]) if run else None
            yield {**row, "pieces": run["pieces"] if run else None}


ROWS = {
    "table-20.2": _traces,
    "table-20.3": _times,
    "parts": _parts,
    "figure-20.2": _overlap,
}
