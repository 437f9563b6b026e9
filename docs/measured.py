"""Pages that are made from the records of what was measured: tables and figures, in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import records
from matplotlib.figure import Figure
from papers import SOURCES, index
from papers.exhibits import shown
from papers.measured import Measured

from pyapsp.bench.report import comparison, tables, whole_calls
from pyapsp.bench.report.drawing import inline, svg
from pyapsp.bench.report.records import OVER, collect

__all__ = ["automatic", "benches", "exhibits", "overview", "papers"]

# columns of a table of runs that the line above it says, or that are of no use to readers
_LEFT_OUT = {
    "status",
    "device",
    "platform",
    "least_seconds",
    "greatest_seconds",
    "turns",
    "max_error",
    "transfer_seconds",
    "kernel_seconds",
    "m",
}


def overview() -> str:
    """Return a figure for each device: the fastest method on each input of the benches."""
    parts = []
    for folder in records.devices():
        found = collect(sorted(folder.glob("*.json")))
        best = comparison.fastest(found.runs, found.peers)
        device = best.iloc[0]
        title = f"{device.device}, {device.platform}"
        ahead, compared = best["ratio"].ge(1).sum(), best["ratio"].notna().sum()
        caption = f"{title}. As fast as the fastest other function, or faster, on {ahead} of "
        caption += f"{compared}."
        parts += [f"## {title}", _figure(whole_calls.fastest(best), folder.name), caption]
    return "\n\n".join(parts)


def benches(name: str) -> str:
    """Return the figures and tables of a bench, one for each device that has a record."""
    return "\n\n".join(_bench(path) for path in records.benches(name))


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
                *(comparison.seconds(row[key]) for key in ("seconds", "predicted_seconds")),
                row["best"],
                comparison.seconds(row["best_seconds"]),
                f"{row['ratio']:.2f}",
            ]
            for row in sorted(rows, key=lambda row: -row["ratio"])
        ]
        told = f"{name}, {platform}: at most 1.1 times the fastest in {near} of {len(rows)} cases."
        parts.append(f"{told}\n\n{_table(headings, cells)}")
    return "\n\n".join(parts)


def _bench(path: Path) -> str:
    """Return the figure, the table and the origin of a record."""
    document = json.loads(path.read_text(encoding="utf-8"))
    found = collect([path])
    device = document["runs"][0]["device"]
    name = f"{path.parent.name}-{path.stem}"
    parts = [
        f"**{device['name']}, {device['platform']}**",
        _figure(whole_calls.times(found.runs, found.peers), name),
    ]
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
        headings = [*(column.heading for column in head.values()), "other packages, whole call"]
        parts.append(_folded("All times as a table", _table(headings, cells)))
    left = [f"{row.what}: {row.why}" for row in found.left_out.itertuples()]
    if left:
        parts.append(f"Left out: {'; '.join(dict.fromkeys(left))}.")
    return "\n\n".join([*parts, _origin(document, device)])


def _figure(figure: Figure, name: str) -> str:
    """Return a figure as a part of the page."""
    drawn = inline(svg(figure), name)
    return f'```{{raw}} html\n<div class="drawn">{drawn}</div>\n```'


def _folded(title: str, text: str) -> str:
    """Return a text that is shown after a click on its title."""
    start = f"```{{raw}} html\n<details><summary>{title}</summary>\n```"
    return f"{start}\n\n{text}\n\n```{{raw}} html\n</details>\n```"


def _others(peers: pd.DataFrame) -> dict[tuple[str, str, int], str]:
    """Return the times of other packages on each input."""
    found: dict[tuple[str, str, int], list[str]] = {}
    for row in peers.itertuples():
        what = " (product)" if row.what == "product" else ""
        words = f"{row.calls} ({row.name} {row.version}){what}: "
        words += comparison.seconds(row.median_seconds)
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
    devices = Measured.of_devices(source, records.papers(source))
    parts = [part for each in devices for part in _device(source, each)]
    return "\n\n".join([f"{SOURCES[source].title}.", *parts])


def exhibits() -> str:
    """Return a table of all exhibits of all papers, with what was measured of each."""
    return index.markdown(records.RECORDS)


def _device(source: str, measured: Measured) -> Iterator[str]:
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
        table = _table(list(cells.columns), cells.values.tolist())
        if exhibit.svg is not None:
            name = f"{re.sub('[^a-z0-9]+', '-', device['platform'].lower())}-{exhibit.name}"
            yield f"```{{raw}} html\n{inline(exhibit.svg, name)}\n```"
            table = _folded("The table of the figure", table)
        yield exhibit.caption
        yield table
