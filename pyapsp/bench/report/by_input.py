"""Figures of one value of each run, such as its rate: against n, or in a panel for each input."""

from __future__ import annotations

import math
import textwrap
from itertools import cycle
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    EngFormatter,
    FuncFormatter,
    LogLocator,
    NullFormatter,
    ScalarFormatter,
)

from pyapsp.bench.report.comparison import device_name
from pyapsp.bench.report.drawing import COLOURS
from pyapsp.bench.report.kinds import kinds

__all__ = ["by_input", "drawable", "is_by_size"]

# A marker for each colour. More lines than these cannot be told apart.
_MARKERS = "os^Dv*X"
# Panels beside each other, if each has the names of its methods.
_ACROSS = 4


def by_input(runs: pd.DataFrame, column: str, label: str, *, level: float | None = None) -> Figure:
    """Draw the values of each method on each input.

    If all inputs are of one kind, see `kinds`, and the methods are few, there is a panel for each
    device and type: n is across, and a line connects the values of a method. Otherwise there is a
    panel for each device and input: its methods are below each other, the best one first, with a
    mark for each type.

    Values that are not positive are left out, as axes are logarithmic. The median of runs on the
    same input is drawn.

    Parameters
    ----------
    runs : pandas.DataFrame
        The runs of `pyapsp.bench.report.records.Collected`.
    column : str
        Its values are the better the larger they are.
    label : str
        The label of the values.
    level : float, optional
        Value at which a line is drawn.

    Returns
    -------
    matplotlib.figure.Figure
    """
    where = [device_name(row.device, row.platform) for row in runs.itertuples()]
    shown = runs.assign(where=where)[drawable(runs, column)]
    return (_sizes if is_by_size(runs) else _panels)(shown, column, label, level)


def drawable(runs: pd.DataFrame, column: str) -> pd.Series:
    """Return which values of a column can be drawn on logarithmic axes."""
    return (runs["n"] > 0) & (runs[column] > 0)


def is_by_size(runs: pd.DataFrame) -> bool:
    """Whether the inputs differ in nothing but their size, and lines can be told apart."""
    series = kinds(runs[runs["n"] > 0])
    return len(series) == 1 < len(series[0]) and runs["method"].nunique() <= len(COLOURS)


def _sizes(runs: pd.DataFrame, column: str, label: str, level: float | None) -> Figure:
    """Draw a line for each method against n, in a panel for each device and type."""
    methods, devices, dtypes = (sorted(runs[key].unique()) for key in ("method", "where", "dtype"))
    styles = dict(zip(methods, zip(COLOURS, _MARKERS, strict=True), strict=False))
    figure = Figure(
        figsize=(max(1 + 3.8 * len(dtypes), 7), 1 + 2.8 * len(devices)), layout="constrained"
    )
    panels = figure.subplots(len(devices), len(dtypes), squeeze=False, sharex=True, sharey=True)
    for device, row in zip(devices, panels, strict=True):
        for dtype, axes in zip(dtypes, row, strict=True):
            here = runs[(runs["where"] == device) & (runs["dtype"] == dtype)]
            for method, some in here.groupby("method"):
                values = some.groupby("n")[column].median()
                colour, marker = styles[method]
                axes.plot(
                    list(values.index),
                    list(values),
                    color=colour,
                    marker=marker,
                    alpha=0.8,
                    label=method,
                )
            if level is not None:
                axes.axhline(level, color="black", linewidth=0.8, linestyle="--")
            axes.set_title(textwrap.fill(f"{dtype} on {device}", 50), fontsize="small")
            axes.set_yscale("log")
            _values(axes.yaxis, (1, 2, 5))
            axes.grid(alpha=0.3)
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(ScalarFormatter())
    for axes in panels[-1]:
        axes.set_xlabel("n")
    for axes in panels[:, 0]:
        axes.set_ylabel(label)
    handles = [
        Line2D([], [], color=colour, marker=marker, label=method)
        for method, (colour, marker) in styles.items()
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )
    return figure


def _panels(runs: pd.DataFrame, column: str, label: str, level: float | None) -> Figure:
    """Draw the methods below each other, in a panel for each device and input."""
    dtypes = sorted(runs["dtype"].unique())
    styles = dict(zip(dtypes, zip(cycle(COLOURS), cycle(_MARKERS), strict=False), strict=False))
    several = runs["where"].nunique() > 1
    ordered = runs.sort_values(["where", "n", "input"], ascending=[True, False, True])
    groups = list(ordered.groupby(["where", "n", "input"], sort=False))
    across = min(len(groups), _ACROSS)
    rows = [groups[start : start + across] for start in range(0, len(groups), across)]
    longest = [max(some["method"].nunique() for _, some in row) for row in rows]
    height = max(2.2, 0.8 + 0.17 * (sum(longest) + 2.5 * len(rows)))
    figure = Figure(figsize=(max(3.1 * across, 7), height), layout="constrained")
    panels = figure.subplots(
        len(rows),
        across,
        squeeze=False,
        sharex=level is not None,
        height_ratios=[places + 2.5 for places in longest],
    )
    for row, line, places in zip(rows, panels, longest, strict=True):
        for axes in line[len(row) :]:
            axes.remove()
        for ((where, n, name), some), axes in zip(row, line, strict=False):
            values = some.groupby(["method", "dtype"])[column].median()
            order = list(values.groupby("method").max().sort_values(ascending=False).index)
            for (method, dtype), value in values.items():
                colour, marker = styles[dtype]
                axes.plot(
                    [value],
                    [order.index(method)],
                    linestyle="",
                    color=colour,
                    marker=marker,
                    markersize=5,
                    alpha=0.8,
                    label=dtype,
                )
            if level is not None:
                axes.axvline(level, color="black", linewidth=0.8, linestyle="--")
            else:  # whole decades, so that there are ticks
                ends = math.floor(math.log10(values.min())), math.ceil(math.log10(values.max()))
                axes.set_xlim(10.0 ** ends[0] / 1.2, 10.0 ** max(ends[1], ends[0] + 1) * 1.2)
            axes.set_yticks(range(len(order)), order, fontsize="x-small")
            axes.set_ylim(places - 0.5, -0.5)
            axes.tick_params(labelbottom=True)
            title = f"{name} (n = {n})" + (f"\n{where}" if several else "")
            axes.set_title(title, loc="left", fontsize="small", fontweight="bold")
            axes.set_xscale("log")
            _values(axes.xaxis, (1,))
            axes.tick_params(axis="x", labelsize="x-small")
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(label.replace("\n", " "), fontsize="small")
    if len(dtypes) > 1:
        handles = [
            Line2D([], [], linestyle="", color=colour, marker=marker, label=dtype)
            for dtype, (colour, marker) in styles.items()
        ]
        figure.legend(
            handles=handles, loc="outside upper left", ncols=4, frameon=False, fontsize="small"
        )
    return figure


def _values(axis: Any, steps: tuple[int, ...]) -> None:
    """Label a logarithmic axis of values."""
    axis.set_major_locator(LogLocator(subs=steps, numticks=5))
    axis.set_major_formatter(FuncFormatter(_tick))
    axis.set_minor_formatter(NullFormatter())


def _tick(value: float, position: int) -> str:
    """Return the label of a tick, without a unit prefix for values below a thousand."""
    return f"{value:g}" if value < 1000 else EngFormatter(sep="").format_eng(value)
