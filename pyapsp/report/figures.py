"""Figures of runs, and their SVG: the same bytes for the same runs."""

from __future__ import annotations

import io
import math
from itertools import cycle
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["speed_figure", "svg", "times_figure"]

# Okabe and Ito's colours, which colour-blind readers can tell apart
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
_MARKERS = "os^Dv*Xp"
_PANELS_PER_ROW = 3


def _with_variants(runs: pd.DataFrame) -> pd.DataFrame:
    """Name what solved each run: the method, and the device when there are several."""
    devices = runs["device"] + ", " + runs["platform"]
    several = devices.nunique() > 1
    return runs.assign(variant=runs["method"] + " on " + devices if several else runs["method"])


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
    runs = _with_variants(runs)
    graphs = list(runs["graph"].unique())
    variants = sorted(runs["variant"].unique())
    dtypes = sorted(runs["dtype"].unique())
    colours = dict(zip(dtypes, cycle(_COLOURS), strict=False))
    columns = min(_PANELS_PER_ROW, len(graphs))
    rows = math.ceil(len(graphs) / columns)
    # inches: the names on the left, and a fixed thickness for every bar
    width = 0.08 * max(map(len, variants)) + 2.8 * columns
    height = 0.6 + rows * (0.9 + 0.16 * len(variants) * (len(dtypes) + 1))
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).flat
    thickness = 1 / (len(dtypes) + 1)
    for graph, panel in zip(graphs, panels, strict=False):
        here = runs[runs["graph"] == graph]
        for slot, dtype in enumerate(dtypes):
            bars = here[here["dtype"] == dtype]
            middle = bars["variant"].map(variants.index) + thickness * (
                slot - (len(dtypes) - 1) / 2
            )
            panel.barh(
                middle, bars["updates_per_second"], thickness, color=colours[dtype], label=dtype
            )
        panel.set_title(f"{graph} (n = {here['n'].iloc[0]})", fontsize="medium")
        panel.set_yticks(range(len(variants)), variants)
        panel.set_ylim(len(variants) - 0.5, -0.5)
        panel.xaxis.set_major_formatter(EngFormatter())
        panel.xaxis.set_major_locator(MaxNLocator(4))
        panel.set_xlabel("updates/s")
    for panel in panels:
        panel.set_axis_off()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(dtypes), frameon=False)
    return figure


def times_figure(runs: pd.DataFrame) -> Figure:
    """Draw kernel time against the number of vertices, a line per method and dtype.

    Both axes are logarithmic, so runs that took no time at all (n = 0) are left out.

    Parameters
    ----------
    runs : pandas.DataFrame
        What `pyapsp.report.tables.load_runs` returns.

    Returns
    -------
    matplotlib.figure.Figure
    """
    runs = _with_variants(runs)
    variants = sorted(runs["variant"].unique())
    colours = dict(zip(sorted(runs["dtype"].unique()), cycle(_COLOURS), strict=False))
    markers = dict(zip(variants, cycle(_MARKERS), strict=False))
    figure = Figure(figsize=(6.4, 4.4 + 0.2 * len(variants)), layout="constrained")
    axes = figure.subplots()
    timed = runs[(runs["n"] > 0) & (runs["kernel_seconds"] > 0)]
    for (variant, dtype), line in timed.groupby(["variant", "dtype"]):
        axes.plot(
            line["n"],
            line["kernel_seconds"],
            color=colours[dtype],
            marker=markers[variant],
            label=f"{variant} {dtype}",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("n (vertices)")
    axes.set_ylabel("kernel time (s)")
    axes.grid(alpha=0.3)
    # colour and marker are explained apart: that is fewer entries than lines
    of_dtypes = [Line2D([], [], color=colour, label=dtype) for dtype, colour in colours.items()]
    of_variants = [
        Line2D([], [], color="black", marker=marker, linestyle="", label=variant)
        for variant, marker in markers.items()
    ]
    figure.legend(
        handles=of_dtypes, loc="outside upper center", ncols=len(of_dtypes), frameon=False
    )
    figure.legend(handles=of_variants, loc="outside lower center", frameon=False)
    return figure


def svg(figure: Figure) -> str:
    """Return a figure as an SVG document, nothing in it changing between calls."""
    text = io.StringIO()
    # the salt fixes the ids inside the file; text stays text, so it can be searched and read out
    with mpl.rc_context({"svg.hashsalt": "pyapsp", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    return text.getvalue()
