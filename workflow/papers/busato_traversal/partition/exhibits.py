"""Tables and figures of [B] chapters 3 and 5, and what its text says about the figures."""

from __future__ import annotations

from papers.busato_traversal.partition.claims import best, claims
from papers.busato_traversal.partition.experiments import GRIDS, ROUNDS
from papers.busato_traversal.partition.stand_ins import NAMES
from papers.claims import claims_table
from papers.measured import Measured
from papers.published import Published
from papers.representations import FORMATS
from papers.tables import Drawing, Exhibit, Line, Made, Row, Rows, Table
from papers.values import Value, milliseconds, ratio

__all__ = ["ROWS"]

_FORMATS = "busato-traversal-formats"
_TECHNIQUES = "busato-traversal-techniques"
_GROUPS = "busato-traversal-groups"
_STEPS = "busato-traversal-steps"
_ROUNDS = "busato-traversal-rounds"
_GRIDS = "busato-traversal-grids"
_SEARCHES = "busato-traversal-searches"
_RANDOM = (
    "n items of 0 to 16 units, uniformly random: the thesis does not give the range. Times are of "
    "the device's clock, in ms. Its values are only plotted."
)
_STANDS = (
    "Stand-ins of the inputs with n units: as many items as the mean gives, and the deviation and "
    "largest item that so many units allow, see table 5.3. "
)


def _phase(measured: Measured, experiment: str, n: int, name: str, **label: Value) -> float | None:
    """Return the milliseconds of a phase."""
    return milliseconds(measured.phases(experiment, n, **label).get(name))


def _formats(measured: Measured) -> Rows:
    for n in measured.sizes(_FORMATS):
        for given in measured.inputs(_FORMATS, n):
            family = given["label"]["family"]
            for name, each in FORMATS.items():
                run = measured.run(_FORMATS, n, family=family, format=name)
                taken = run["bytes"] if run else None
                seconds = run["seconds"]["conversion"] if run else None
                yield {
                    "n": n,
                    "arcs": given["m"],
                    "graph": family,
                    "format": name,
                    "space": f"O({each.space})",
                    "has an arc": f"O({each.membership})",
                    "neighbours": f"O({each.neighbours})",
                    "bytes: ours": taken,
                    "bytes an arc: ours": ratio(taken, given["m"]),
                    "conversion, ms: ours": milliseconds(seconds),
                }


def _statistics(measured: Measured) -> Rows:
    published = Published("busato_traversal/partition")
    columns = {
        "n": "rows",
        "units": "entries",
        "mean": "mean",
        "deviation": "standard deviation",
        "largest": "largest row",
    }
    for n in measured.sizes(_TECHNIQUES):
        for given in measured.inputs(_TECHNIQUES, n):
            name = given["label"]["input"]
            row = {"n": n, "input": name}
            for ours, theirs in columns.items():
                row[f"{theirs}: ours"] = given[ours]
                row[f"{theirs}: thesis"] = published.value(
                    exhibit="table 5.3", input=name, quantity=theirs
                )
            yield row


def _techniques(measured: Measured) -> Rows:
    for n in measured.sizes(_TECHNIQUES):
        for name in NAMES:
            fastest = min((each[0] for each in best(measured, n, name).values()), default=None)
            for technique, (seconds, run) in best(measured, n, name).items():
                parts = {
                    part: milliseconds(time)
                    for part, time in run["seconds"].items()
                    if part not in ("kernel", "transfer")
                }
                yield {
                    "n": n,
                    "input": name,
                    "technique": technique,
                    "best group: ours": run["label"]["group"],
                    "ms: ours": milliseconds(seconds),
                    "over the fastest: ours": ratio(seconds, fastest),
                    "partition, ms: ours": parts.get("partition"),
                    "expansion, ms: ours": parts.get("expansion", parts.get("light")),
                    "heavy items, ms: ours": parts.get("heavy"),
                    "units/s: ours": run["rate"],
                    "slices too long: ours": run.get("fallbacks"),
                    "device bytes: ours": run["device_bytes"],
                }


def _claims(measured: Measured) -> Exhibit:
    return Exhibit(
        "claims",
        "What sections 5.4 and 4.1 say about the figures, and whether it holds on this device",
        "Each is answered by the measurements with the largest n. The numbers are times in ms, or "
        "quotients of times. The thesis measured GPUs of three architectures.",
        claims_table(claims(measured)),
    )


def _by_group(measured: Measured) -> Rows:
    for n in measured.sizes(_GROUPS):
        for run in measured.runs(_GROUPS, n):
            parts = {
                name: _phase(measured, _GROUPS, n, name, **run["label"])
                for name in ("partition", "expansion")
            }
            row = {"n": n, "group": run["label"]["group"]}
            row |= {f"{name}, ms: ours": value for name, value in parts.items()}
            row["sum, ms: ours"] = sum(value or 0.0 for value in parts.values())
            yield row


def _by_group_drawn(measured: Measured, columns: list[str]) -> Drawing:
    names = [f"{name}, ms: ours" for name in ("partition", "expansion", "sum")]
    drawn = {"ms": [Line(name, where={"n": _largest(measured, _GROUPS)}) for name in names]}
    return Drawing("group", drawn, logarithmic="x")


def _largest(measured: Measured, experiment: str) -> int:
    return max(measured.sizes(experiment), default=0)


def _steps(measured: Measured) -> Rows:
    for n in measured.sizes(_STEPS):
        for run in measured.runs(_STEPS, n):
            times = run["seconds"]
            load, search = times["load"], times["load and search"]
            total = times["expansion"]
            steps = {"load": load, "search": search - load, "store": total - search}
            row = {"n": n, "group": run["label"]["group"]}
            row |= {f"{name}, ms: ours": milliseconds(step) for name, step in steps.items()}
            row["expansion, ms: ours"] = milliseconds(total)
            row["search, %: ours"] = 100 * steps["search"] / total
            yield row


def _by_rounds(measured: Measured) -> Rows:
    for n in measured.sizes(_ROUNDS):
        groups = {run["label"]["group"] for run in measured.runs(_ROUNDS, n)}
        for rounds in ROUNDS:
            row: Row = {"n": n, "rounds": rounds}
            for group in sorted(groups):
                label = {"group": group, "rounds": rounds}
                time = _phase(measured, _ROUNDS, n, "kernel", **label)
                row[f"group {group}, ms: ours"] = time
            yield row


def _by_rounds_drawn(measured: Measured, columns: list[str]) -> Drawing:
    names = [name for name in columns if name.startswith("group")]
    drawn = {"ms": [Line(name, where={"n": _largest(measured, _ROUNDS)}) for name in names]}
    return Drawing("rounds", drawn)


def _by_grid(measured: Measured) -> Rows:
    for n in measured.sizes(_GRIDS):
        groups = {run["label"]["group"] for run in measured.runs(_GRIDS, n)}
        for grid in map(str, GRIDS):
            row: Row = {"n": n, "grid": grid}
            for group in sorted(groups):
                label = {"group": group, "grid": grid}
                run = measured.run(_GRIDS, n, **label)
                row[f"group {group}, groups: ours"] = run["groups"] if run else None
                time = _phase(measured, _GRIDS, n, "expansion", **label)
                row[f"group {group}, ms: ours"] = time
            yield row


def _searches(measured: Measured) -> Rows:
    for n in measured.sizes(_SEARCHES):
        for given in measured.inputs(_SEARCHES, n):
            name = given["label"]["input"]
            row: Row = {"n": n, "input": name}
            row |= {"mean": given["mean"], "deviation": given["deviation"]}
            for run in measured.runs(_SEARCHES, n, input=name):
                kind = run["label"]["search"]
                if kind.startswith("hybrid"):
                    limits = "/".join(kind.split()[1:])
                    row[f"thresholds {limits} take: ours"] = run["search"]
                    statistics = run["seconds"].get("statistics")
                    row["statistics, ms: ours"] = milliseconds(statistics)
                else:
                    row[f"{kind}, ms: ours"] = milliseconds(run["seconds"]["partition"])
            yield row


ROWS = {
    "table-3.1": _formats,
    "table-5.3": _statistics,
    "figures-5.6-5.9": _techniques,
    "claims": _claims,
    "figure-5.10": _by_group,
    "figure-5.11": _steps,
    "figure-5.12": _by_rounds,
    "section-5.2-grids": _by_grid,
    "section-5.2-searches": _searches,
}
