"""Figures of [B] chapter 21: cuRnet beside igraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import mean

from papers.busato_paths.curnet.experiments import PUBLISHED, SHARES
from papers.busato_paths.curnet.networks import SPECIES, THRESHOLDS
from papers.claims import Answers, UnmeasuredError, Verdict, judged, near, reaches
from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row
from papers.values import Value, milliseconds, ratio

__all__ = ["CLAIMS", "ROWS"]

_EXPERIMENT = "busato-paths-curnet"
_SEARCHED, _WHICH = ("bfs", "sssp"), ("average", "largest")
_PAPER = Published("busato_paths/curnet")


def _times(
    measured: Measured, n: int, names: Sequence[str], **label: Value
) -> dict[str, float | None]:
    """Return the seconds of each of these."""
    return {
        name: measured.phases(_EXPERIMENT, n, **label, **{"with": name}).get("wall")
        for name in names
    }


def _beside(times: Mapping[str, float | None], prefix: str = "") -> Row:
    """Return milliseconds, and speedups over igraph, which comes first."""
    row: Row = {f"{prefix}{name}, ms: ours": milliseconds(each) for name, each in times.items()}
    for name, seconds in list(times.items())[1:]:
        row[f"{prefix}speedup of {name} over igraph: ours"] = ratio(times["igraph"], seconds)
    return row


def _largest(exhibit: str) -> dict[str, Value | None]:
    value = _PAPER.value(exhibit=exhibit, quantity="largest speedup over igraph")
    return {"largest": value}


def _searches(measured: Measured, problem: str) -> Filled:
    rows: list[Row] = []
    names = ("igraph", PUBLISHED[problem], "auto", "solve")
    for n in measured.sizes(_EXPERIMENT):
        for threshold in THRESHOLDS:
            for share in SHARES:
                where: dict[str, Value] = {
                    "problem": problem,
                    "threshold": threshold,
                    "per cent": share,
                }
                run = measured.run(_EXPERIMENT, n, **where, **{"with": "auto"})
                row: Row = {"n": n, "threshold": threshold, "sources, %": share}
                row["sources"] = run["label"]["sources"] if run else None
                rows.append(row | _beside(_times(measured, n, names, **where)))
    return Filled(rows, _largest("figures 21.3 and 21.4"))


def _components(measured: Measured) -> Filled:
    rows: list[Row] = []
    for n in measured.sizes(_EXPERIMENT):
        inputs = {each["label"].get("species"): each for each in measured.inputs(_EXPERIMENT, n)}
        for species in SPECIES:
            row: Row = {"n": n, "species": species}
            row |= {"proteins": inputs[species]["n"], "arcs": inputs[species]["arcs"]}
            for problem, prefix, names in (
                ("scc", "", ("igraph", PUBLISHED["scc"], "auto")),
                ("graph", "make the graph, ", ("igraph", "auto")),
            ):
                times = _times(measured, n, names, problem=problem, species=species)
                row |= _beside(times, prefix)
            rows.append(row)
    return Filled(rows, _largest("figure 21.5"))


def _speedups(measured: Measured, name: str = "", /, **where: Value) -> list[float]:
    """Return igraph's time over that with `name`, or with cuRnet's method; there must be some."""
    sizes = measured.sizes(_EXPERIMENT)
    gains = []
    for n in sizes[-1:]:
        for run in measured.runs(_EXPERIMENT, n, **{"with": "igraph"}, **where):
            label = {key: value for key, value in run["label"].items() if key != "with"}
            other = name or PUBLISHED.get(str(label["problem"]), "auto")
            gain = ratio(run["seconds"]["wall"], _times(measured, n, [other], **label)[other])
            if gain is not None:
                gains.append(gain)
    if not gains:
        raise UnmeasuredError(f"igraph, {', '.join(map(str, where.values()))}")
    return gains


def _said(exhibit: str, quantity: str) -> float:
    [row] = _PAPER.rows(exhibit=exhibit, quantity=quantity)
    return float(row["value"])


def _spread(gains: list[float]) -> str:
    return f"mean {mean(gains):.3g}, from {min(gains):.3g} to {max(gains):.3g}"


def _cu1(measured: Measured) -> Verdict:
    gains = [gain for each in (*_SEARCHED, "scc") for gain in _speedups(measured, problem=each)]
    average, most = (_said("section 21.1", f"{which} speedup over igraph") for which in _WHICH)
    holds = reaches(mean(gains), average) and reaches(max(gains), most)
    return Verdict(holds, _spread(gains))


def _cu2(measured: Measured) -> Verdict:
    border = _said("figures 21.3 and 21.4", "sources up to which both are about as fast")
    most = _said("figures 21.3 and 21.4", "largest speedup over igraph")
    few, many = (
        [
            gain
            for problem in _SEARCHED
            for share in SHARES
            if (share <= border) == small
            for gain in _speedups(measured, "", problem=problem, **{"per cent": share})
        ]
        for small in (True, False)
    )
    numbers = f"up to {border:g} %: {_spread(few)}; above: {_spread(many)}"
    holds = near(mean(few), 1) and reaches(max(many), most)
    return Verdict(holds, numbers)


def _cu3(measured: Measured) -> Verdict:
    growing = [
        gain for species in SPECIES for gain in _speedups(measured, problem="scc", species=species)
    ]
    most = _said("figure 21.5", "largest speedup over igraph")
    holds = len(growing) > 1 and growing == sorted(growing) and reaches(growing[-1], most)
    return Verdict(holds, ", ".join(f"{gain:.3g}" for gain in growing))


def _cu4(measured: Measured) -> Verdict:
    gains = _speedups(measured, "auto", problem="graph")
    part = _said("section 21.3.1", "time to make the graph over igraph")
    return Verdict(reaches(mean(gains), 1 / part), f"igraph / pyapsp: mean {mean(gains):.3g}")


def _cu5(measured: Measured) -> Verdict:
    # trees of Steiner are not in pyapsp, so no experiment measures this problem
    gains = _speedups(measured, "auto", problem="pcsf")
    most = _said("figure 21.1", "largest speedup of PCSF, one run")
    return Verdict(reaches(max(gains), most), _spread(gains))


#: Number of a statement -> its judge.
CLAIMS: Answers[Measured] = {
    "CU1": _cu1,
    "CU2": _cu2,
    "CU3": _cu3,
    "CU4": _cu4,
    "CU5": _cu5,
}
ROWS: dict[str, Maker] = {
    "figure-21.3": partial(_searches, problem="bfs"),
    "figure-21.4": partial(_searches, problem="sssp"),
    "figure-21.5": _components,
    "claims-21.3": partial(judged, CLAIMS),
}
