"""Figures of [B] chapter 21: cuRnet beside igraph."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Any

from papers.busato_paths.curnet.experiments import PUBLISHED, SHARES
from papers.busato_paths.curnet.networks import SPECIES, THRESHOLDS
from papers.claims import Claim, claims_table
from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, Row, table_of
from papers.values import Value, milliseconds, ratio

__all__ = ["ROWS"]

_EXPERIMENT = "busato-paths-curnet"
_NETWORKS = (
    "Stand-ins of the networks of the STRING database, with fewer proteins, and one for the three "
    "species, which are alike in the text. Times are by the clock of the host, as a user sees "
    "them, without making the graph. The plotted values are lost; the text gives the largest "
    "speedups. "
)


def _published() -> Published:
    return Published("busato_paths/curnet")


def _wall(measured: Measured, n: int, **label: Value) -> float | None:
    run = measured.run(_EXPERIMENT, n, **label)
    return run["seconds"]["wall"] if run else None


def _beside(times: dict[str, float | None], prefix: str = "") -> Row:
    """Return milliseconds, and speedups over igraph, which comes first."""
    row: Row = {}
    for name, seconds in times.items():
        row[f"{prefix}{name}, ms: ours"] = milliseconds(seconds)
    for name, seconds in list(times.items())[1:]:
        row[f"{prefix}speedup of {name} over igraph: ours"] = ratio(times["igraph"], seconds)
    return row


def _searches(measured: Measured, problem: str, figure: str, what: str) -> Exhibit:
    rows, published = [], PUBLISHED[problem]
    names = ("igraph", published, "auto", "solve")
    for n in measured.sizes(_EXPERIMENT):
        for threshold in THRESHOLDS:
            for share in SHARES:
                where: dict[str, Value] = {
                    "problem": problem,
                    "threshold": threshold,
                    "per cent": share,
                }
                times = {name: _wall(measured, n, **where, **{"with": name}) for name in names}
                run = measured.run(_EXPERIMENT, n, **where, **{"with": "auto"})
                row: Row = {"n": n, "threshold": threshold}
                row["sources, %"] = share
                row["sources"] = run["label"]["sources"] if run else None
                rows.append(row | _beside(times))
    table = table_of(rows)
    n = max(measured.sizes(_EXPERIMENT))
    lines = [
        Line(
            f"speedup of {name} over igraph: ours",
            where={"n": n, "threshold": threshold},
            name=f"{name}, threshold {threshold}",
        )
        for name in names[1:]
        for threshold in THRESHOLDS
    ]
    largest = _published().value(
        exhibit="figures 21.3 and 21.4", quantity="largest speedup over igraph"
    )
    return Exhibit(
        f"figure-{figure}",
        f"Figure {figure}: {what} from some sources, beside igraph",
        f"{_NETWORKS}`{published}` is the method of cuRnet and `auto` our default, one search for "
        "each source; `solve` searches from several at once. Published: up to "
        f"{largest:g} times as fast as igraph.",
        table,
        Drawing("sources, %", {"speedup over igraph": lines}, logarithmic="xy"),
    )


def _bfs(measured: Measured) -> Exhibit:
    return _searches(measured, "bfs", "21.3", "breadth-first search")


def _sssp(measured: Measured) -> Exhibit:
    return _searches(measured, "sssp", "21.4", "shortest paths")


def _components(measured: Measured) -> Exhibit:
    rows = []
    names = ("igraph", PUBLISHED["scc"], "auto")
    for n in measured.sizes(_EXPERIMENT):
        sizes = {given["label"].get("species"): given for given in measured.inputs(_EXPERIMENT, n)}
        for species in SPECIES:
            row: Row = {"n": n, "species": species}
            row |= {"proteins": sizes[species]["n"], "arcs": sizes[species]["arcs"]}
            for problem, of in (("scc", names), ("graph", ("igraph", "auto"))):
                prefix = "make the graph, " if problem == "graph" else ""
                times = {
                    name: _wall(measured, n, problem=problem, species=species, **{"with": name})
                    for name in of
                }
                row |= _beside(times, prefix)
            rows.append(row)
    table = table_of(rows)
    n = max(measured.sizes(_EXPERIMENT))
    lines = [Line(f"{name}, ms: ours", where={"n": n}, name=name) for name in names]
    largest = _published().value(exhibit="figure 21.5", quantity="largest speedup over igraph")
    return Exhibit(
        "figure-21.5",
        "Figure 21.5: strongly connected components of networks of homologues, beside igraph",
        f"{_NETWORKS}Published: up to {largest:g} times as fast as igraph.",
        table,
        Drawing("species", {"ms": lines}, logarithmic="y"),
    )


def _answers(measured: Measured) -> Iterator[Claim]:
    n = max(measured.sizes(_EXPERIMENT))

    def speedups(name: str = "", **where: Value) -> list[float]:
        """Return igraph's time over that with `name`, or with cuRnet's method."""
        found = []
        for run in measured.runs(_EXPERIMENT, n, **{"with": "igraph"}, **where):
            label = {key: value for key, value in run["label"].items() if key != "with"}
            other = name or PUBLISHED.get(str(label["problem"]), "auto")
            gain = ratio(run["seconds"]["wall"], _wall(measured, n, **label, **{"with": other}))
            if gain is not None:
                found.append(gain)
        return found

    searches = [gain for each in ("bfs", "sssp") for gain in speedups(problem=each)]
    every = searches + speedups(problem="scc")
    yield Claim(
        "CU1",
        "cuRnet is 3 times as fast as igraph on average, at most 30 times",
        mean(every) >= 3 if every else None,
        f"mean {mean(every):.3g}, from {min(every):.3g} to {max(every):.3g}" if every else "",
    )
    shares: list[dict[str, Any]] = [{"per cent": share} for share in SHARES]
    few, many = (
        [
            gain
            for problem in ("bfs", "sssp")
            for share in shares
            if (share["per cent"] <= 0.5) == small
            for gain in speedups(problem=problem, **share)
        ]
        for small in (True, False)
    )
    yield Claim(
        "CU2",
        "up to 0.5 % of the vertices as sources, igraph is about as fast; above, cuRnet is faster",
        mean(few) < mean(many) and mean(many) > 1 if few and many else None,
        f"mean up to 0.5 %: {mean(few):.3g}, above: {mean(many):.3g}" if few and many else "",
    )
    own = [gain for each in ("bfs", "sssp") for gain in speedups("solve", problem=each)]
    yield Claim(
        "CU3",
        "the same of several sources at once, which cuRnet does not have: 3 times on average",
        mean(own) >= 3 if own else None,
        f"mean {mean(own):.3g}, from {min(own):.3g} to {max(own):.3g}" if own else "",
    )
    growing = [gain for species in SPECIES for gain in speedups(problem="scc", species=species)]
    yield Claim(
        "CU4",
        "the speedup of components grows with the network, up to 14",
        growing == sorted(growing) and growing[-1] > 1 if len(growing) > 1 else None,
        ", ".join(f"{gain:.3g}" for gain in growing),
    )
    made = speedups("auto", problem="graph")
    yield Claim(
        "CU5",
        "a graph is made from a data frame in half of igraph's time",
        mean(made) >= 2 if made else None,
        f"igraph / pyapsp: mean {mean(made):.3g}" if made else "",
    )
    yield Claim("CU6", "PCSF is up to 9 times as fast with cuRnet", None, "PCSF is not here")


def _claims(measured: Measured) -> Exhibit:
    return Exhibit(
        "claims-21.3",
        "What section 21.3 says about igraph, and whether it holds on this device",
        f"{_NETWORKS}Answered for the largest n; numbers are quotients of times. igraph is used "
        "from Python here, and from R in the thesis.",
        claims_table(_answers(measured)),
    )


ROWS = {
    "?": _bfs,
    "?": _sssp,
    "figure-21.5": _components,
    "claims-21.3": _claims,
}
