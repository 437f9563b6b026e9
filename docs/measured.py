"""Pages that are made from the records of what was measured: tables and figures, in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import records
from papers import SOURCES
from papers.exhibits import shown
from papers.measured import Measured

from pyapsp.bench.report import tables
from pyapsp.bench.report.figures import inline
from pyapsp.bench.report.records import OVER, collect

__all__ = ["automatic", "benches", "papers"]

# columns of a table of runs that the line above it says, or that are of no use to readers
_LEFT_OUT = {"device", "platform", "turns", "max_error", "transfer_seconds", "kernel_seconds", "m"}


def benches(name: str) -> str:
    """Return the tables of a bench, one for each device that has a record.

    The name ``missing`` stands for a sentence that says what kind of device has no records.
    """
    if name == "missing":
        return _missing()
    parts = [_bench(path) for path in records.benches(name)]
    return "\n\n".join(parts) or f"No record of `{name}` yet."


def automatic() -> str:
    """Return a table for each device: the automatic choice beside the fastest method named."""
    devices: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in records.benches("*"):
        document = json.loads(path.read_text(encoding="utf-8"))
        names = {run["device"]["id"]: run["device"] for run in document["runs"]}
        for row in document.get("automatic", []):
            if (device := names.get(row["device"])) is not None:
                place = device["name"], device["platform"]
                devices.setdefault(place, []).append(row | {"bench": path.stem})
    parts = []
    headings = ["bench", "n", "dtype", "auto took", "time", "predicted"]
    headings += ["fastest", "its time", "ratio"]
    for (name, platform), rows in devices.items():
        near = sum(row["ratio"] <= 1.1 for row in rows)
        cells = [
            [
                row["bench"],
                str(row["n"]),
                row["dtype"],
                row["method"],
                *(tables.seconds(row[key]) for key in ("seconds", "predicted_seconds")),
                row["best"],
                tables.seconds(row["best_seconds"]),
                f"{row['ratio']:.2f}",
            ]
            for row in sorted(rows, key=lambda row: -row["ratio"])
        ]
        told = f"{name}, {platform}: at most 1.1 times the fastest in {near} of {len(rows)} cases."
        parts.append(f"{told}\n\n{_table(headings, cells)}")
    return "\n\n".join(parts) or "No records yet."


def _missing() -> str:
    kinds = {
        run["device"]["kind"]
        for path in records.benches("*")
        for run in json.loads(path.read_text(encoding="utf-8"))["runs"]
    }
    if "gpu" in kinds:
        return ""
    return "**There are no records of a GPU yet.**"


def _bench(path: Path) -> str:
    """Return the origin and the table of a record."""
    document = json.loads(path.read_text(encoding="utf-8"))
    found = collect([path])
    lines = [_origin(document, document["runs"][0]["device"])]
    for runs in tables.by_problem(found.runs).values():
        columns = {
            column: shown
            for column, shown in tables.runs_columns(runs, found.peers).items()
            if column not in _LEFT_OUT and not column.startswith(OVER)
        }
        head, rows = tables.table(runs, columns)
        cells = [[cell.text for cell in row.values()] for row in rows]
        others = _others(found.peers)
        for row, run in zip(cells, runs.itertuples(), strict=True):
            row.append(others.get((run.problem, run.input, run.n), ""))
        headings = [*(column.heading for column in head.values()), "other packages, wall s"]
        lines += ["", _table(headings, cells)]
    left = [f"{row.what}: {row.why}" for row in found.left_out.itertuples()]
    if left:
        lines += ["", f"Left out: {'; '.join(dict.fromkeys(left))}."]
    return "\n".join(lines)


def _others(peers: pd.DataFrame) -> dict[tuple[str, str, int], str]:
    """Return the times of other packages on each input."""
    found: dict[tuple[str, str, int], list[str]] = {}
    for row in peers.itertuples():
        what = " (product)" if row.what == "product" else ""
        words = f"{row.name} {row.version}{what} {tables.seconds(row.median_seconds)}"
        words += "" if row.verified else ", wrong"
        found.setdefault((row.problem, row.input, row.n), []).append(words)
    return {key: "; ".join(words) for key, words in found.items()}


def _table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in lines)


def _escaped(cell: str) -> str:
    """Return a cell whose bars do not end it."""
    return cell.replace("|", r"\|")


def _origin(document: dict[str, Any], device: dict[str, Any]) -> str:
    """Say what a record comes from: command, device, date, commit."""
    line = re.sub(r" (-o|--output|--device) \S+", "", document["command"])
    where = f"{device['name']}, {device['platform']} (driver {device['driver']}"
    where += f", {device['units']} compute units)"
    return f"`{line}`<br>\n{where}, {document['date']}, commit `{document['commit']}`"


def papers(source: str) -> str:
    """Return the tables and figures of a paper, for each device that has records."""
    parts = [part for paths in records.papers(source) for part in _device(source, paths)]
    return "\n\n".join([f"{SOURCES[source].title}.", *(parts or ["No records yet."])])


def _device(source: str, paths: list[Path]) -> Iterator[str]:
    measured = Measured.load(source, paths)
    device = measured.device
    yield f"## {device['name']}, {device['platform']}"
    origins = (_origin(document, device).partition("<br>\n") for document in measured.every)
    commands: dict[str, list[str]] = {}
    for command, _, where in origins:
        commands.setdefault(where, []).append(command)
    for where, lines in commands.items():
        yield "\n".join([f"{where}:", "", *(f"- {line}" for line in lines)])
    for experiment, make in SOURCES[source].exhibits:
        if experiment not in measured.documents:
            continue
        exhibit = make(measured)
        yield f"### {exhibit.title}"
        cells = shown(exhibit.table)
        yield _table(list(cells.columns), cells.values.tolist())
        if exhibit.svg is not None:
            name = f"{re.sub('[^a-z0-9]+', '-', device['platform'].lower())}-{exhibit.name}"
            yield f"```{{raw}} html\n{inline(exhibit.svg, name)}\n```"
        yield exhibit.caption
