"""Tables 20.2 and 20.3 and figure 20.2 of F. Busato's thesis, 2018, and a table of its parts."""

from __future__ import annotations

from functools import partial

from papers.busato_mining.claims import CLAIMS
from papers.busato_mining.experiments import MINERS, OF_DESIGNS, PARTS
from papers.claims import judged
from papers.measured import Measured
from papers.published import Published
from papers.tables import Maker, Row, Rows
from papers.values import Value, beside, milliseconds, ratio
from pyapsp.mining.planted import LENGTH, TRACES

__all__ = ["ROWS"]

_MINERS, _PARTS, _DESIGNS, _OVERLAP = (
    f"busato-mining-{name}" for name in ("miners", "parts", "designs", "overlap")
)
# Where the published times of each miner are from.
_WHERE = dict.fromkeys(("Daikon", "sequential"), "thesis, CPU")
_WHERE |= dict.fromkeys(("parallel", "mangrove"), "GTX 780")
_SETS = ("I", "II")
_PAPER = Published("busato_mining")


def _time(**where: Value) -> float | str | None:
    """Return a published time; a text where only a bound is published."""
    where["exhibit"] = "table 20.3"
    value = _PAPER.value(quantity="execution time", **where)
    below = _PAPER.value(quantity="execution time below", **where) if value is None else None
    return value if below is None else f"< {below}"


def _traces(measured: Measured) -> Rows:
    for n in measured.sizes(_MINERS):
        inputs = {
            (each["label"]["trace"], each["label"]["set"]): each.get("invariants")
            for each in measured.inputs(_MINERS, n)
        }
        for trace, recipe in TRACES.items():
            row: Row = {"trace": trace, **beside("instants", n, LENGTH, "thesis")}
            row["Boolean variables"] = row["numeric variables"] = recipe.variables
            for name in _SETS:
                theirs = _PAPER.value(
                    exhibit="table 20.2", quantity="invariants", trace=trace, set=name
                )
                what = f"invariants of set {name}"
                row |= beside(what, inputs.get((trace, name)), theirs, "thesis")
            yield row


def _times(measured: Measured) -> Rows:
    for n in measured.sizes(_MINERS):
        for name in _SETS:
            for trace in TRACES:
                where: dict[str, Value] = {"trace": trace, "set": name}
                miners = (*MINERS, "sequential", "NumPy")
                phases = {
                    miner: measured.phases(_MINERS, n, miner=miner, **where) for miner in miners
                }
                walls = {miner: each.get("wall") for miner, each in phases.items()}
                kernels = {miner: each.get("kernel") for miner, each in phases.items()}
                own = kernels["mangrove"]
                row: Row = {"set": name, "trace": trace, "instants": n}
                for miner in MINERS:
                    row[f"{miner}, kernel ms: ours"] = milliseconds(kernels[miner])
                row["mangrove, whole call, ms: ours"] = milliseconds(walls["mangrove"])
                row["sequential, ms: ours"] = milliseconds(walls["sequential"])
                row["NumPy, ms: ours"] = milliseconds(walls["NumPy"])
                gain = ratio(walls["NumPy"], walls["mangrove"])
                row["NumPy over mangrove, whole calls: ours"] = gain
                row["parallel over mangrove: ours"] = ratio(kernels["parallel"], own)
                row["sequential over mangrove: ours"] = ratio(walls["sequential"], own)
                for miner, there in _WHERE.items():
                    row[f"{miner}, ms: {there}"] = _time(miner=miner, **where)
                yield row


def _parts(measured: Measured) -> Rows:
    for n in measured.sizes(_PARTS):
        for trace in (2, 4):
            for name in _SETS:
                row: Row = {"trace": trace, "set": name, "instants": n}
                for part in PARTS:
                    run = measured.run(_PARTS, n, trace=trace, set=name, miner=part)
                    kernel = run["seconds"]["kernel"] if run else None
                    row[f"{part}, kernel ms: ours"] = milliseconds(kernel)
                    if part in ("all parts", "no inference"):
                        row[f"{part}, entries checked: ours"] = run["checked"] if run else None
                yield row


def _designs(measured: Measured) -> Rows:
    for n, about in measured.each_input(_DESIGNS):
        label = about["label"]
        phases = {
            miner: measured.phases(_DESIGNS, n, miner=miner, **label)
            for miner in (*OF_DESIGNS, "sequential")
        }
        row: Row = {"design": label["design"], "set": label["set"], "instants": about["instants"]}
        row |= {f"{kind} variables": about[kind] for kind in ("boolean", "numeric")}
        row["invariants: ours"] = about["invariants"]
        for miner in OF_DESIGNS:
            row[f"{miner}, kernel ms: ours"] = milliseconds(phases[miner].get("kernel"))
        own, alone = (phases[miner].get("wall") for miner in ("mangrove", "sequential"))
        row["mangrove, whole call, ms: ours"] = milliseconds(own)
        row["sequential, ms: ours"] = milliseconds(alone)
        row["sequential over mangrove, whole calls: ours"] = ratio(alone, own)
        yield row


def _overlap(measured: Measured) -> Rows:
    for n in measured.sizes(_OVERLAP):
        for overlap in ("on", "off"):
            run = measured.run(_OVERLAP, n, overlap=overlap)
            row: Row = {"instants": n, "overlap": overlap}
            for phase in ("read", "transfer", "kernel", "wall"):
                row[f"{phase}, ms: ours"] = milliseconds(run["seconds"][phase]) if run else None
            yield {**row, "pieces": run["pieces"] if run else None}


ROWS: dict[str, Maker] = {
    "table-20.2": _traces,
    "table-20.3": _times,
    "parts": _parts,
    "designs": _designs,
    "figure-20.2": _overlap,
    "claims": partial(judged, CLAIMS),
}
