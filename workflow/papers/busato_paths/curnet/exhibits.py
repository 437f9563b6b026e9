"""Figures of [B] chapter 21: cuRnet beside igraph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import mean

from papers.busato_paths.curnet.experiments import PUBLISHED, SHARES
from papers.busato_paths.curnet.networks import SPECIES, THRESHOLDS
from papers.claims import Claim
from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row
from papers.values import Value, milliseconds, ratio

__all__ = ["ROWS"]

_EXPERIMENT = "busato-paths-curnet"


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
    value = Published("busato_paths/curnet").value(
        exhibit=exhibit, quantity="largest speedup over igraph"
    )
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


def _answers(measured: Measured) -> Iterator[Claim]:
    n = max(measured.sizes(_EXPERIMENT))

    def speedups(name: str = "", **where: Value) -> list[float]:
        """Return igraph's time over that with `name`, or with cuRnet's method."""
        gains = []
        for run in measured.runs(_EXPERIMENT, n, **{"with": "igraph"}, **where):
            label = {key: value for key, value in run["label"].items() if key != "with"}
            other = name or PUBLISHED.get(str(label["problem"]), "auto")
            times = _times(measured, n, [other], **label)
            gain = ratio(run["seconds"]["wall"], times[other])
            if gain is not None:
                gains.append(gain)
        return gains

    def answer(
        number: str, gains: list[float], holds: Callable[[list[float]], bool], text: str
    ) -> Claim:
        numbers = text.format(mean=mean(gains), least=min(gains), most=max(gains)) if gains else ""
        return Claim(number, holds(gains) if gains else None, numbers)

    spread = "mean {mean:.3g}, from {least:.3g} to {most:.3g}"
    searches = ("bfs", "sssp")
    every = [gain for each in (*searches, "scc") for gain in speedups(problem=each)]
    yield answer("CU1", every, lambda gains: mean(gains) >= 3, spread)
    few, many = (
        [
            gain
            for problem in searches
            for share in SHARES
            if (share <= 0.5) == small
            for gain in speedups("", problem=problem, **{"per cent": share})
        ]
        for small in (True, False)
    )
    if few and many:
        numbers = f"mean up to 0.5 %: {mean(few):.3g}, above: {mean(many):.3g}"
        yield Claim("CU2", mean(few) < mean(many) and mean(many) > 1, numbers)
    else:
        yield Claim("CU2", None)
    own = [gain for each in searches for gain in speedups("solve", problem=each)]
    yield answer("CU3", own, lambda gains: mean(gains) >= 3, spread)
    growing = [gain for species in SPECIES for gain in speedups(problem="scc", species=species)]
    grows = growing == sorted(growing) and growing[-1] > 1 if len(growing) > 1 else None
    yield Claim("CU4", grows, ", ".join(f"{gain:.3g}" for gain in growing))
    made = speedups("auto", problem="graph")
    yield answer("CU5", made, lambda gains: mean(gains) >= 2, "igraph / pyapsp: mean {mean:.3g}")
    yield Claim("CU6", None, "PCSF is not here")


ROWS: dict[str, Maker] = {
    "figure-21.3": partial(_searches, problem="bfs"),
    "figure-21.4": partial(_searches, problem="sssp"),
    "figure-21.5": _components,
    "claims-21.3": _answers,
}
