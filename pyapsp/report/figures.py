"""Figures of runs, and their SVG: the same bytes for the same runs."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["speed_figure", "svg", "times_figure"]

# Okabe and Ito's colours, which colour-blind readers can tell apart
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
_MARKERS = "os^Dv*Xp"
_PANELS_PER_ROW = 3


def _variants(runs: pd.DataFrame) -> pd.Series:
    """Name what solved each run: the method, and the device when there are several."""
    devices = runs["device"] + ", " + runs["platform"]
    return runs["method"] + "\n" + devices if devices.nunique() > 1 else runs["method"]


def speed_figure(runs: pd.DataFrame) -> Figure:
    """Draw updates per second: a panel per graph, bars grouped by method, a colour per dtype.

    Parameters
    ----------
    runs : pandas.DataFrame
        What `pyapsp.report.tables.load_runs` returns.

    Returns
    -------
    matplotlib.figure.Figure
    """
    runs = runs.assign(variant=_variants(runs))
    graphs = list(runs["graph"].unique())
    variants = sorted(runs["variant"].unique())
    dtypes = sorted(runs["dtype"].unique())
    columns = min(_PANELS_PER_ROW, len(graphs))
    rows = math.ceil(len(graphs) / columns)
    figure = Figure(figsize=(0.8 + 3.4 * columns, 0.6 + 2.6 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flat
    width = 0.8 / len(dtypes)
    for graph, panel in zip(graphs, panels, strict=False):
        here = runs[runs["graph"] == graph]
        for slot, dtype in enumerate(dtypes):
            bars = here[here["dtype"] == dtype]
            left = bars["variant"].map(variants.index) + (slot - (len(dtypes) - 1) / 2) * width
            panel.bar(
                left, bars["updates_per_second"], width, color=_COLOURS[slot % 8], label=dtype
            )
        panel.set_title(f"{graph} (n = {here['n'].iloc[0]})", fontsize="medium")
        panel.set_xticks(range(len(variants)), variants)
        panel.yaxis.set_major_formatter(EngFormatter())
        panel.set_ylabel("updates/s")
    for panel in panels:
        panel.set_axis_off()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(dtypes), frameon=False)
    return figure


def times_figure(runs: pd.DataFrame) -> Figure:
    """Draw kernel time against the number of vertices, a line per method and dtype.

    Both axes are logarithmic, so runs that took no time at all (n < 2) are left out.

    Parameters
    ----------
    runs : pandas.DataFrame
        What `pyapsp.report.tables.load_runs` returns.

    Returns
    -------
    matplotlib.figure.Figure
    """
    runs = runs.assign(variant=_variants(runs))
    variants = sorted(runs["variant"].unique())
    dtypes = sorted(runs["dtype"].unique())
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    timed = runs[(runs["n"] > 0) & (runs["kernel_seconds"] > 0)]
    for (variant, dtype), line in timed.groupby(["variant", "dtype"]):
        axes.plot(
            line["n"],
            line["kernel_seconds"],
            color=_COLOURS[dtypes.index(dtype) % 8],
            marker=_MARKERS[variants.index(variant) % 8],
            label=f"{variant} {dtype}".replace("\n", " "),
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("n (vertices)")
    axes.set_ylabel("kernel time (s)")
    axes.grid(alpha=0.3)
    if not timed.empty:
        figure.legend(loc="outside right upper", frameon=False)
    return figure


def svg(figure: Figure) -> str:
    """Return a figure as an SVG document, nothing in it changing between calls."""
    text = io.StringIO()
    # the salt fixes the ids inside the file; text stays text, so it can be searched and read out
    with mpl.rc_context({"svg.hashsalt": "pyapsp", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    return text.getvalue()
