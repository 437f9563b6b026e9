"""The statements of [B] chapter 6, answered by our measurements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from papers.busato_traversal.bfs_4k.experiments import COMPARED, FEATURES, KNOBS
from papers.busato_traversal.bfs_4k.stand_ins import NAMES
from papers.claims import Answers, Times, UnmeasuredError, Verdict, largest, listed, near, within
from papers.measured import Measured
from papers.published import Published
from papers.runner import RunRecord

__all__ = ["CLAIMS", "fastest"]

_LEVELS, _FEATURES, _RIVALS, _KNOBS = (
    f"busato-traversal-bfs-{name}" for name in ("levels", "features", "rivals", "knobs")
)
# The last feature of the figure; the single-block kernel is not in it.
_COMBINED = "and detection of duplicates"
_WARPS = ("virtual warp 1", "virtual warp 4")
_PAPER = Published("busato_traversal/bfs_4k")


def fastest(measured: Measured, n: int, graph: str) -> dict[str, RunRecord]:
    """Return the fastest run of each search of table 6.2: of its forms, or widths of warps."""
    best: dict[str, RunRecord] = {}
    for run in measured.runs(_RIVALS, n, graph=graph):
        method, seconds = run["label"]["method"], run["seconds"]["kernel"]
        if method not in best or seconds < best[method]["seconds"]["kernel"]:
            best[method] = run
    return best


def _over_all(measured: Measured) -> Verdict:
    """Answer whether BFS-4K is faster than every other search of table 6.2 on every graph."""
    n, leads = largest(measured, _RIVALS), {}
    for name in NAMES:
        runs = fastest(measured, n, name)
        times = Times({method: run["seconds"]["kernel"] for method, run in runs.items()})
        others = [times[each] for each in COMPARED if each != "bfs-4k" and each in times]
        if not others:
            raise UnmeasuredError(name)
        leads[name] = min(others) / times["bfs-4k"]
    return Verdict(min(leads.values()) > 1, f"best other / BFS-4K: {listed(leads)}")


def _level(measured: Measured, table: str, mapping: str) -> RunRecord:
    n = largest(measured, _LEVELS)
    run = measured.run(_LEVELS, n, mapping=mapping, table=table, store="visit")
    if run is None:
        raise UnmeasuredError(table)
    return run


def _counts(run: RunRecord) -> dict[str, int]:
    names = ("dropped", "conflicts", "undetected")
    return {name: sum(each[name] for each in run["levels"]) for name in names}


def _tables(measured: Measured) -> Verdict:
    """Answer whether one table of a group detects as much more than those of warps as published."""
    ours, theirs = (_counts(_level(measured, table, _WARPS[1])) for table in ("hash64", "per-warp"))
    if not all(theirs.values()):
        return Verdict(None, "no duplicates or no conflicts")
    quotients = {name: ours[name] / theirs[name] for name in ours}
    said = [
        _said(quantity, "hash64") / _said(quantity, "per-warp")
        for quantity in ("detected", "conflicts", "undetected")
    ]
    holds = all(map(near, quotients.values(), said))
    return Verdict(holds, f"group / warps: {listed(quotients)}")


def _said(quantity: str, table: str) -> float:
    [row] = _PAPER.rows(exhibit="figure 6.12", quantity=quantity, method=table)
    return float(row["value"])


def _time_of_tables(measured: Measured) -> Verdict:
    """Answer whether one table of a group saves as much time as published."""
    group, warps = (
        _level(measured, table, _WARPS[1])["seconds"]["kernel"] for table in ("hash64", "per-warp")
    )
    saved = 100 * (1 - group / warps)
    average, most = (_said(f"{which} time saved", "hash64") for which in ("average", "most"))
    return Verdict(within(saved, average, most), f"% saved: {saved:.3g}")


def _duplicates(measured: Measured) -> Verdict:
    """Answer whether edge-discover leaves fewer duplicates than virtual warps."""
    entries = {}
    for mapping in (*_WARPS, "edge-discover"):
        levels = _level(measured, "off", mapping)["levels"]
        entries[mapping] = sum(each["frontier"] - each["vertices"] for each in levels)
    if not any(entries.values()):
        return Verdict(None, "no duplicates")
    holds = entries["edge-discover"] < min(entries[each] for each in _WARPS)
    return Verdict(holds, f"duplicates: {listed(entries)}")


def _combined(measured: Measured) -> Verdict:
    """Answer whether the features are fastest together."""
    n = largest(measured, _FEATURES)
    times = Times(
        {
            run["label"]["features"]: run["seconds"]["kernel"]
            for run in measured.runs(_FEATURES, n)
            if "features" in run["label"]
        }
    )
    last = FEATURES.index(_COMBINED)
    others = min(times[each] for each in ("bfs-harish", "bfs-edge", *FEATURES[:last]))
    ms = {name: 1e3 * seconds for name, seconds in times.items()}
    return Verdict(times[_COMBINED] < others, f"ms: {listed(ms)}")


def _best_of(knob: str, quantity: str, measured: Measured) -> Verdict:
    """Answer whether a knob has the published best value."""
    n = largest(measured, _KNOBS)
    times: Mapping[float, float] = Times(
        {
            run["label"]["value"]: run["seconds"]["kernel"]
            for run in measured.runs(_KNOBS, n, knob=knob)
        }
    )
    best = min(KNOBS[knob], key=times.__getitem__)
    ms = {f"{value}:": 1e3 * seconds for value, seconds in times.items()}
    return Verdict(best == _PAPER.value(quantity=quantity), f"ms: {listed(ms)}")


#: Number of a statement -> its judge.
CLAIMS: Answers[Measured] = {
    "BK1": _over_all,
    "BK2": _tables,
    "BK3": _time_of_tables,
    "BK4": _duplicates,
    "BK5": _combined,
    "BK6": partial(_best_of, "piece", "best K3"),
}
