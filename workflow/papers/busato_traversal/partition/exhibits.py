"""Tables and figures of [B] chapters 3 and 5, and what its text says about the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from papers.busato_traversal.partition.claims import CLAIMS, Facts, best
from papers.busato_traversal.partition.experiments import GRIDS, ROUNDS
from papers.busato_traversal.partition.stand_ins import NAMES
from papers.claims import judged
from papers.measured import Measured
from papers.published import Published
from papers.reading import READ
from papers.representations import FORMATS
from papers.runner import RunRecord
from papers.tables import Maker, Row, Rows
from papers.values import beside, milliseconds, ratio

__all__ = ["ROWS", "statistics"]

_FORMATS, _TECHNIQUES, _GROUPS, _STEPS, _ROUNDS, _GRIDS, _SEARCHES = (
    f"busato-traversal-{name}"
    for name in ("formats", "techniques", "groups", "steps", "rounds", "grids", "searches")
)


def _formats(measured: Measured) -> Rows:
    for n, about in measured.each_input(_FORMATS):
        family = about["label"]["family"]
        for name, each in FORMATS.items():
            run = measured.run(_FORMATS, n, family=family, format=name)
            taken, seconds = (run["bytes"], run["seconds"]) if run else (None, {})
            yield {
                "n": n,
                "arcs": about["m"],
                "graph": family,
                "format": name,
                "space": f"O({each.space})",
                "has an arc": f"O({each.membership})",
                "neighbours": f"O({each.neighbours})",
                "bytes: ours": taken,
                "bytes an arc: ours": ratio(taken, about["m"]),
                "conversion, ms: ours": milliseconds(seconds.get("conversion")),
                "neighbours of all, ms: ours": milliseconds(seconds.get("neighbours")),
                "pairs, ms: ours": milliseconds(seconds.get("pairs")),
                "read by": "formats.cl" if name in READ else "no kernel: two of csr",
            }


# The facts of an input in table 5.3, and what the thesis calls them.
_FACTS = {
    "n": "rows",
    "units": "entries",
    "mean": "mean",
    "deviation": "standard deviation",
    "largest": "largest row",
}


def statistics(
    measured: Measured, experiment: str = _TECHNIQUES, facts: Iterable[str] = tuple(_FACTS)
) -> Rows:
    """Yield the facts of the inputs of an experiment beside those of table 5.3."""
    paper = Published("busato_traversal/partition")
    for n, about in measured.each_input(experiment):
        name = about["label"]["input"]
        row: Row = {"n": n, "input": name}
        for ours in facts:
            theirs = paper.value(exhibit="table 5.3", input=name, quantity=_FACTS[ours])
            row |= beside(_FACTS[ours], about[ours], theirs, "thesis")
        yield row


def _techniques(measured: Measured) -> Rows:
    for n in measured.sizes(_TECHNIQUES):
        units = {each["label"]["input"]: each["units"] for each in measured.inputs(_TECHNIQUES, n)}
        for name in NAMES:
            every = best(measured, n, name)
            fastest = min((seconds for seconds, _ in every.values()), default=None)
            for technique, (seconds, run) in every.items():
                parts = {part: milliseconds(time) for part, time in run["seconds"].items()}
                yield {
                    "n": n,
                    "input": name,
                    "technique": technique,
                    "best group: ours": run["label"]["group"],
                    "best K1: ours": run["label"].get("least"),
                    "ms: ours": milliseconds(seconds),
                    "over the fastest: ours": ratio(seconds, fastest),
                    "partition, ms: ours": parts.get("partition"),
                    "expansion, ms: ours": parts.get("expansion", parts.get("light")),
                    "heavy items, ms: ours": parts.get("heavy"),
                    "units/s: ours": ratio(units[name], seconds),
                    "slices too long: ours": run.get("fallbacks"),
                    "device bytes: ours": run["device_bytes"],
                }


def _by_group(measured: Measured) -> Rows:
    for n, run in measured.each_run(_GROUPS):
        parts = {
            name: milliseconds(run["seconds"].get(name)) for name in ("partition", "expansion")
        }
        row: Row = {"n": n, "group": run["label"]["group"]}
        row |= {f"{name}, ms: ours": value for name, value in parts.items()}
        yield {**row, "sum, ms: ours": sum(value or 0.0 for value in parts.values())}


def _steps(measured: Measured) -> Rows:
    for n, run in measured.each_run(_STEPS):
        load, search, total = (
            run["seconds"][name] for name in ("load", "load and search", "expansion")
        )
        steps = {"load": load, "search": search - load, "store": total - search}
        row: Row = {"n": n, "group": run["label"]["group"]}
        row |= {f"{name}, ms: ours": milliseconds(step) for name, step in steps.items()}
        row["expansion, ms: ours"] = milliseconds(total)
        yield {**row, "search, %: ours": 100 * steps["search"] / total}


def _of_groups(
    measured: Measured,
    experiment: str,
    name: str,
    values: tuple[int | str, ...],
    columns: Callable[[str, RunRecord | None], Row],
) -> Rows:
    """Yield a row for each value of a parameter, with the columns of each group."""
    for n in measured.sizes(experiment):
        groups = {run["label"]["group"] for run in measured.runs(experiment, n)}
        for value in values:
            row: Row = {"n": n, name: value}
            for group in sorted(groups):
                run = measured.run(experiment, n, group=group, **{name: value})
                row |= columns(f"group {group}", run)
            yield row


def _of_rounds(group: str, run: RunRecord | None) -> Row:
    return {f"{group}, ms: ours": milliseconds(run["seconds"].get("kernel") if run else None)}


def _of_grid(group: str, run: RunRecord | None) -> Row:
    seconds = run["seconds"].get("expansion") if run else None
    return {
        f"{group}, groups: ours": run["groups"] if run else None,
        f"{group}, ms: ours": milliseconds(seconds),
    }


def _searches(measured: Measured) -> Rows:
    for n, about in measured.each_input(_SEARCHES):
        name = about["label"]["input"]
        row: Row = {"n": n, "input": name, "mean": about["mean"], "deviation": about["deviation"]}
        for run in measured.runs(_SEARCHES, n, input=name):
            kind, *limits = run["label"]["search"].split()
            if kind == "hybrid":
                row[f"thresholds {'/'.join(limits)} take: ours"] = run["search"]
                row["statistics, ms: ours"] = milliseconds(run["seconds"].get("statistics"))
            else:
                row[f"{kind}, ms: ours"] = milliseconds(run["seconds"]["partition"])
        yield row


ROWS: dict[str, Maker] = {
    "table-3.1": _formats,
    "table-5.3": statistics,
    "figures-5.6-5.9": _techniques,
    "claims": lambda measured: judged(CLAIMS, Facts(measured)),
    "figure-5.10": _by_group,
    "figure-5.11": _steps,
    "figure-5.12": partial(
        _of_groups, experiment=_ROUNDS, name="rounds", values=ROUNDS, columns=_of_rounds
    ),
    "section-5.2-grids": partial(
        _of_groups,
        experiment=_GRIDS,
        name="grid",
        values=tuple(map(str, GRIDS)),
        columns=_of_grid,
    ),
    "section-5.2-searches": _searches,
}
