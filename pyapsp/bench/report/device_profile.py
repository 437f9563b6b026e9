"""The page of a device profile: its curves and its rows."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any, cast

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from pyapsp.base.errors import FormatError
from pyapsp.base.json import Record
from pyapsp.bench.report.drawing import COLOURS, inline, svg
from pyapsp.bench.report.page import template

__all__ = ["profile_page", "read_profile"]

_SCHEMAS = ("pyapsp device profile", 1)
# Benchmarks that are drawn as a bar for each operation: the column, its label, the sentence below.
_BARS = {
    "throughput": (
        "rate",
        "operations/s",
        "Throughput: operations per second, with 8 independent chains in each work-item. A pair, "
        "such as addmin, is two operations.",
    ),
    "latency": (
        "nanoseconds",
        "ns",
        "Latency: nanoseconds of an operation that waits for the one before it.",
    ),
}


@dataclass(frozen=True)
class _Curve:
    """Benchmarks that are drawn against a parameter."""

    benchmarks: tuple[str, ...]  # their names
    over: str  # the parameter
    label: str  # of the parameter
    column: str  # the value that is drawn
    caption: str
    logarithmic: bool = False  # whether the axis of the values is


_CURVES = {
    "chains": _Curve(
        ("chains",),
        "chains",
        "independent chains of a work-item",
        "rate",
        "Chains: additions per second against the number of independent chains (ILP).",
    ),
    "unrolling": _Curve(
        ("unrolling",),
        "steps",
        "steps of a round",
        "rate",
        "Unrolling: additions per second against the steps of each chain between two branches.",
    ),
    "units": _Curve(
        ("units",),
        "groups",
        "work-groups",
        "rate",
        "Units: additions per second against the number of work-groups.",
    ),
    "occupancy": _Curve(
        ("occupancy",),
        "work-items",
        "work-items of a unit",
        "rate",
        "Occupancy: additions per second against the work-items on each compute unit, each with "
        "one chain.",
    ),
    "loads": _Curve(
        ("latency of loads",),
        "bytes",
        "bytes that are visited",
        "nanoseconds",
        "Latency of loads: nanoseconds of a load whose address is the answer of the one before it, "
        "in an order without a pattern.",
        logarithmic=True,
    ),
    "bandwidth": _Curve(
        ("read bandwidth", "write bandwidth"),
        "bytes",
        "bytes that are visited",
        "rate",
        "Bandwidth: bytes per second of all work-items, which stream through the same memory again "
        "and again.",
    ),
    "coalescence": _Curve(
        ("coalescence",),
        "neighbours",
        "work-items that read neighbouring words",
        "rate",
        "Coalescence: words per second. Groups of neighbours are 128 bytes apart.",
    ),
    "stride": _Curve(
        ("stride",),
        "words",
        "words between neighbouring work-items",
        "rate",
        "Stride: words per second.",
    ),
    "gather": _Curve(
        ("gather",),
        "bytes",
        "bytes that are read",
        "rate",
        "Gathers: words per second, from places without a pattern, which are known before.",
    ),
    "access": _Curve(
        ("access size",),
        "bytes",
        "bytes of an access",
        "rate",
        "Access size: bytes read plus written per second in a copy.",
    ),
    "banks": _Curve(
        ("bank conflicts",),
        "stride",
        "words between neighbouring work-items",
        "rate",
        "Bank conflicts: reads of local memory per second. With 32 banks, a stride has as many "
        "conflicts as its largest common divisor with 32.",
    ),
    "divergence": _Curve(
        ("divergence",),
        "paths",
        "paths that the work-items of a group take",
        "rate",
        "Divergence: operations per second.",
    ),
    "barriers": _Curve(
        ("barrier",),
        "work-items",
        "work-items of a group",
        "nanoseconds",
        "Barriers: nanoseconds of one, with a word passed to a neighbour through local memory.",
    ),
    "saved": _Curve(
        ("saved values",),
        "bytes",
        "bytes of all work-items of a group",
        "rate",
        "Saved values: bytes per second of private values that a work-item needs after a barrier, "
        "with the time of the barrier.",
    ),
    "copies": _Curve(
        ("host to device", "device to host"),
        "bytes",
        "bytes of a copy",
        "rate",
        "Copies between host and device: bytes per second, by the clock of the host.",
    ),
}


def read_profile(path: str | os.PathLike[str]) -> Record:
    """Read a device profile.

    Raises
    ------
    FormatError
        If the file is none.
    """
    with open(path, encoding="utf-8") as file:
        try:
            profile = json.load(file)
        except ValueError as error:
            raise FormatError(path, None, f"not JSON: {error}") from None
    name, version = _SCHEMAS
    if not isinstance(profile, dict) or profile.get("schema") != name:
        raise FormatError(path, None, "not a file of 'pyapsp profile device -o'")
    if profile.get("schema_version") != version:
        found = profile.get("schema_version")
        raise FormatError(path, None, f"a device profile of version {found}, and not {version}")
    return profile


def profile_page(profile: Mapping[str, Any]) -> str:
    """Make the page of a device profile: one HTML file, which needs no other.

    Parameters
    ----------
    profile : mapping
        What `pyapsp.profiling.benchmarks.suite.profile_device` returns.

    Returns
    -------
    str
    """
    rows = cast("list[Mapping[str, Any]]", profile["results"])
    figures = {
        name: {"svg": Markup(inline(svg(figure), name)), "caption": caption}
        for name, (figure, caption) in _drawn(rows)
    }
    return template("device_profile.html.j2").render(
        profile=profile,
        device=profile["device"],
        figures=figures,
        rows=[{**row, "place": _place(row)} for row in rows],
        with_energy=profile["sensor"] is not None,
        with_counts=any(row.get("counted") is not None for row in rows),
    )


def _place(row: Mapping[str, Any]) -> str:
    """Return where in its curve a row is, as text."""
    plain = ("operation", "type", "memory")
    return ", ".join(
        str(value) if name in plain else f"{name} {value}"
        for name, value in row["parameters"].items()
    )


def _drawn(rows: list[Mapping[str, Any]]) -> Iterator[tuple[str, tuple[Figure, str]]]:
    """Yield the figures for which there are rows, with their captions."""
    for name, (column, label, caption) in _BARS.items():
        if some := [row for row in rows if row["benchmark"] == name]:
            yield name, (_bars(some, column, label), caption)
    for name, curve in _CURVES.items():
        if some := [row for row in rows if row["benchmark"] in curve.benchmarks]:
            yield name, (_lines(some, curve), curve.caption)


def _bars(rows: list[Mapping[str, Any]], column: str, label: str) -> Figure:
    figure = Figure(figsize=(9, 0.8 + 0.24 * len(rows)), layout="constrained")
    axes = figure.subplots()
    values = [row[column] for row in rows]
    bars = axes.barh(range(len(rows)), values, color=COLOURS[0])
    shown = EngFormatter(places=2) if column == "rate" else "{:.3g}".format
    axes.bar_label(bars, [shown(value) for value in values], padding=3, size=8)
    names = [f"{row['parameters']['operation']} ({row['parameters']['type']})" for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize="small")
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlim(10 ** math.floor(math.log10(min(values))), 3 * max(values))
    _finish(axes, axes.xaxis, label)
    return figure


def _lines(rows: list[Mapping[str, Any]], curve: _Curve) -> Figure:
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        memory = row["parameters"].get("memory")
        name = row["benchmark"] + (f", {memory}" if memory else "")
        lines.setdefault(name, []).append((row["parameters"][curve.over], row[curve.column]))
    looks = zip(cycle(COLOURS[:4]), cycle("os^D"), strict=False)
    for (name, points), (colour, marker) in zip(lines.items(), looks, strict=False):
        axes.plot(*zip(*sorted(points), strict=True), color=colour, marker=marker, label=name)
    if len(lines) > 1:
        axes.legend(fontsize="small")
    axes.set_xscale("log", base=2)
    if curve.over == "bytes":
        axes.xaxis.set_major_formatter(lambda value, _: _size(value))
    else:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xticks(sorted({x for points in lines.values() for x, _ in points}))
    axes.set_xlabel(curve.label)
    if curve.logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    unit = rows[0]["unit"]
    _finish(axes, axes.yaxis, "ns" if curve.column == "nanoseconds" else f"{unit}/s")
    return figure


def _finish(axes: Axes, axis: Any, label: str) -> None:
    """Label the axis of the values."""
    if label == "ns":
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        axis.set_major_formatter(EngFormatter(sep=""))
    (axes.set_xlabel if axis is axes.xaxis else axes.set_ylabel)(label)
    axes.grid(axis="x" if axis is axes.xaxis else "both", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _size(value: float) -> str:
    """Return a number of bytes as text, e.g. 64Ki."""
    for power, prefix in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if value >= 2**power:
            return f"{value / 2**power:g}{prefix}"
    return f"{value:g}"
