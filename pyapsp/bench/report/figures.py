"""Figures of runs, and their SVG: the same bytes for the same runs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any, NamedTuple

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    EngFormatter,
    FuncFormatter,
    LogLocator,
    NullFormatter,
    ScalarFormatter,
)

from pyapsp.bench.report.records import OVER
from pyapsp.bench.report.tables import by_problem, method_name, seconds

__all__ = ["Drawn", "against_n", "drawn", "fastest", "inline", "svg"]

# The colours of Okabe and Ito, which colour-blind readers can tell apart, without the yellow, which
# is too faint for a line. With the markers there are 56 pairs.
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000"]
_MARKERS = "os^Dv*Xp"


_FASTEST = (
    "Whole calls: the fastest method on each input (disc), and the fastest other package in the "
    "same turns (ring). The number says how many times as long the other package took: below 1 it "
    "is faster."
)


class Drawn(NamedTuple):
    """A figure and the sentence below it."""

    figure: Figure
    caption: str


def drawn(runs: pd.DataFrame, best: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the figures for which the runs have values.

    Parameters
    ----------
    runs : pandas.DataFrame
        The runs of `pyapsp.bench.report.records.Collected`.
    best : pandas.DataFrame
        The result of `pyapsp.bench.report.tables.fastest`.

    Returns
    -------
    dict of str to Drawn
        Name -> figure; names can be file names. The first is ``fastest``, if a run was verified.
        The others are ``PROBLEM-speed``, ``PROBLEM-roof``, and ``PROBLEM-speed-up-PACKAGE`` for
        each package.
    """
    answered = best[best["wall_seconds"].notna()]
    first = {"fastest": Drawn(fastest(answered), _FASTEST)} if len(answered) else {}
    return first | {
        f"{problem}-{name}": figure
        for problem, some in by_problem(runs).items()
        for name, figure in _of_problem(problem, some)
    }


def _of_problem(problem: str, runs: pd.DataFrame) -> Iterator[tuple[str, Drawn]]:
    """Yield the figures of one problem, by name."""
    unit = runs["unit"].iloc[0]
    if runs["rate"].notna().any():
        yield (
            "speed",
            Drawn(
                against_n(runs, "rate", f"{unit}/s"),
                f"{problem}, speed: {unit} per second of kernel time against the input size.",
            ),
        )
    if runs["fraction_of_roof"].notna().any():
        yield (
            "roof",
            Drawn(
                against_n(runs, "fraction_of_roof", "fraction of the roof", level=1),
                f"{problem}, fraction of the roof: of the {unit} per second that the device does "
                "in registers.",
            ),
        )
    for column in [name for name in runs.columns if name.startswith(OVER)]:
        if runs[column].notna().any():
            peer = column.removeprefix(OVER)
            yield (
                f"speed-up-{peer}",
                Drawn(
                    against_n(runs, column, f"times as fast as {peer}", level=1),
                    f"{problem}, speed-up: how many times as long {peer} took as the whole call, "
                    "with transfers.",
                ),
            )


def fastest(best: pd.DataFrame) -> Figure:
    """Draw the time of the fastest method on each input beside that of the fastest other package.

    A panel for each problem, a row for each input.

    Parameters
    ----------
    best : pandas.DataFrame
        The result of `pyapsp.bench.report.tables.fastest`, without rows that have no time.

    Returns
    -------
    matplotlib.figure.Figure
    """
    problems = by_problem(best)
    figure = Figure(figsize=(9, 1 + 0.5 * len(problems) + 0.32 * len(best)), layout="constrained")
    panels = figure.subplots(
        len(problems),
        squeeze=False,
        sharex=True,
        height_ratios=[len(some) + 0.6 for some in problems.values()],
    )[:, 0]
    platforms = best.groupby("platform")["device"].nunique()
    places = ["device"] if platforms.gt(1).any() else []
    places += ["platform"] if len(platforms) > 1 else []
    types = best.groupby("problem")["dtype"].transform("nunique").gt(1)
    ours = _disc(_COLOURS[0], "fastest method")
    theirs = _disc(_COLOURS[5], "fastest other package") | {"markerfacecolor": "none"}
    for axes, (problem, some) in zip(panels, problems.items(), strict=True):
        for place, row in enumerate(some.itertuples()):
            words = f"{method_name(row)} {seconds(row.wall_seconds)}"
            words += f", {row.dtype}" if types[row.Index] else ""
            words += "".join(f", {getattr(row, each)}" for each in places)
            if pd.notna(row.peer):
                words += f"; {row.peer} {seconds(row.peer_seconds)}"
                both = [row.wall_seconds, row.peer_seconds]
                axes.plot(both, [place, place], color="#999999", zorder=1)
                axes.plot(row.peer_seconds, place, zorder=2, **theirs)
                _beside(axes, place, 8, f"{row.ratio:.3g} x", "bold")
            axes.plot(row.wall_seconds, place, zorder=3, **ours)
            _beside(axes, place, 56, words)
        axes.set_yticks(
            range(len(some)), [f"{row.input} (n = {row.n})" for row in some.itertuples()]
        )
        axes.set_ylim(len(some) - 0.5, -0.5)
        axes.set_title(problem, loc="left", fontsize="medium", fontweight="bold")
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(numticks=3))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
        axes.grid(axis="x", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("time of the whole call")
    handles = [Line2D([], [], **look) for look in (ours, theirs)]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False)
    return figure


def _disc(colour: str, label: str) -> dict[str, Any]:
    """Return the style of a mark, as arguments for Matplotlib."""
    return {"linestyle": "", "marker": "o", "color": colour, "label": label}


def _beside(axes: Axes, place: float, points: float, words: str, weight: str = "normal") -> None:
    """Write a text so many points to the right of the panel, beside one of its rows."""
    axes.annotate(
        words,
        (1, place),
        (points, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize="small",
        fontweight=weight,
    )


def against_n(runs: pd.DataFrame, column: str, label: str, *, level: float | None = None) -> Figure:
    """Draw a column against n, with a panel for each device and dtype, and a line for each method.

    Both axes are logarithmic, so values that are not positive (n = 0) are left out. The median of
    runs with the same n is drawn.

    Parameters
    ----------
    runs : pandas.DataFrame
        The runs of `pyapsp.bench.report.records.Collected`.
    column : str
    label : str
        The label of the values.
    level : float, optional
        Value at which a horizontal line is drawn.

    Returns
    -------
    matplotlib.figure.Figure
    """
    runs = runs.assign(where=runs["device"] + ", " + runs["platform"])
    # the styles are of all runs, so that a method has the same style in every figure
    methods, devices, dtypes = (sorted(runs[key].unique()) for key in ("method", "where", "dtype"))
    styles = dict(zip(methods, zip(cycle(_COLOURS), cycle(_MARKERS), strict=False), strict=False))
    shown = runs[(runs["n"] > 0) & (runs[column] > 0)]
    legend_rows = -(-len(methods) // 4)
    figure = Figure(
        figsize=(max(1 + 3.8 * len(dtypes), 7), 0.8 + 2.8 * len(devices) + 0.22 * legend_rows),
        layout="constrained",
    )
    panels = figure.subplots(len(devices), len(dtypes), squeeze=False, sharex=True, sharey=True)
    for device, row in zip(devices, panels, strict=True):
        for dtype, axes in zip(dtypes, row, strict=True):
            here = shown[(shown["where"] == device) & (shown["dtype"] == dtype)]
            for method, line in here.groupby("method"):
                values = line.groupby("n")[column].median()
                colour, marker = styles[method]
                axes.plot(
                    values.index, values, color=colour, marker=marker, alpha=0.8, label=method
                )
            if level is not None:
                axes.axhline(level, color="black", linewidth=0.8, linestyle="--")
            axes.set_title(f"{dtype} on {device}", fontsize="small")
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(FuncFormatter(_tick))
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.grid(alpha=0.3)
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


def _tick(value: float, position: int) -> str:
    """Return the label of a tick, without a unit prefix for values below a thousand."""
    return f"{value:g}" if value < 1000 else EngFormatter(sep="").format_eng(value)


def svg(figure: Figure) -> str:
    """Return a figure as an SVG document; the same figure gives the same bytes."""
    text = io.StringIO()
    # the salt fixes the ids inside the file; text remains text, for search and screen readers
    with mpl.rc_context({"svg.hashsalt": "pyapsp", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    return text.getvalue()


def inline(document: str, name: str) -> str:
    """Return an SVG document as an element of a page, with ids unique in the page."""
    element = document[document.index("<svg") :]
    return re.sub(r'(\bid="|\burl\(#|href="#)', rf"\g<1>{name}-", element)
