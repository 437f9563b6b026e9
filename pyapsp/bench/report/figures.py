"""Figures of runs, and their SVG: the same bytes for the same runs."""

from __future__ import annotations

import io
import math
import re
import textwrap
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

from pyapsp.bench.report.comparison import device_name, function, is_once, method_name, seconds
from pyapsp.bench.report.records import OVER
from pyapsp.bench.report.tables import by_problem

__all__ = ["Drawn", "by_input", "drawn", "fastest", "inline", "kinds", "svg", "times"]

# The colours of Okabe and Ito, which colour-blind readers can tell apart, without the yellow, which
# is too faint for a line; and a marker for each. More lines than these cannot be told apart.
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000"]
_MARKERS = "os^Dv*X"
# Panels beside each other, if each has the names of its methods.
_ACROSS = 4
# The width of a figure for a phone in inches, and the characters of a line there.
_PHONE = 3.7
_LINE = 62
# In the first of these figures: the lines that the marks of a row take, and one in inches.
_MARKS = 1.6
_INCH = 0.17


class Drawn(NamedTuple):
    """A figure, the sentence below it, and for some the same figure as wide as a phone's screen."""

    figure: Figure
    caption: str
    narrow: Figure | None = None


def drawn(runs: pd.DataFrame, peers: pd.DataFrame, best: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the figures for which the runs have values.

    Parameters
    ----------
    runs, peers : pandas.DataFrame
        Those of `pyapsp.bench.report.records.Collected`.
    best : pandas.DataFrame
        The result of `pyapsp.bench.report.comparison.fastest`.

    Returns
    -------
    dict of str to Drawn
        Name -> figure; names can be file names. The first is ``fastest``, if a run was verified.
        The others are ``PROBLEM-speed``, ``PROBLEM-roof``, and ``PROBLEM-speed-up-PACKAGE`` for
        each package; a problem with one method on one input has none of these.
    """
    answered = best[best["wall_seconds"].notna()]
    first = {}
    if len(answered):
        both = fastest(answered), fastest(answered, narrow=True)
        first["fastest"] = Drawn(both[0], _of_the_fastest(best), both[1])
    return first | {
        f"{problem}-{name}": figure
        for problem, some in by_problem(runs).items()
        if len(some[["input", "n", "method"]].drop_duplicates()) > 1
        for name, figure in _of_problem(problem, some, peers)
    }


def _of_the_fastest(best: pd.DataFrame) -> str:
    """Return the caption of the first figure."""
    turns = "; the bar is from its shortest to its longest turn"
    turns = turns if best["least_seconds"].notna().any() else ""
    caption = f"Whole calls of the fastest method (disc{turns})"
    if best["ratio"].isna().all():
        return f"{caption}."
    caption += " and of the fastest function of another package (ring). "
    caption += "The number is the time of the function, divided by that of the method"
    caption += ": below 1, the function is faster." if best["ratio"].lt(1).any() else "."
    return caption + (
        " ~: each median is within the turns of the other." if best["even"].eq(True).any() else ""
    )


def _drawing(runs: pd.DataFrame) -> str:
    """Say how a figure of `by_input` is to be read."""
    if _by_size(runs):
        return " Lines connect inputs of one kind that differ in their size."
    return " A panel for each graph, the largest first; its methods, the best one first."


def _of_problem(
    problem: str, runs: pd.DataFrame, peers: pd.DataFrame
) -> Iterator[tuple[str, Drawn]]:
    """Yield the figures of one problem, by name."""
    unit = runs["unit"].iloc[0]
    if _drawable(runs, "rate").any():
        yield (
            "speed",
            Drawn(
                by_input(runs, "rate", f"{unit}/s in kernels"),
                f"{problem}, speed in kernels: {unit} per second of kernel time, without transfers "
                f"and the host.{_drawing(runs)}",
            ),
        )
    if _drawable(runs, "fraction_of_roof").any():
        yield (
            "roof",
            Drawn(
                by_input(runs, "fraction_of_roof", "fraction of the roof\n(kernel time)", level=1),
                f"{problem}, speed in kernels as a fraction of the roof: of the {unit} per second "
                f"that the device does in registers, for methods that do every one."
                f"{_drawing(runs)}",
            ),
        )
    for column in [name for name in runs.columns if name.startswith(OVER)]:
        if _drawable(runs, column).any():
            peer = column.removeprefix(OVER)
            called = function(peers, problem, peer, runs["dtype"])
            slower = runs[column].lt(1).any()
            yield (
                f"speed-up-{peer}",
                Drawn(
                    by_input(runs, column, f"times as fast as\n{called}", level=1),
                    f"{problem}: how many times as long {called} took as the whole call of a "
                    f"method.{f' Below 1, the dashed line, {called} is faster.' if slower else ''}"
                    f"{_drawing(runs)}",
                ),
            )


def fastest(best: pd.DataFrame, *, narrow: bool = False) -> Figure:
    """Draw the time of the fastest method on each input beside that of the fastest other package.

    A panel for each problem, type and device, a row for each input.

    Parameters
    ----------
    best : pandas.DataFrame
        The result of `pyapsp.bench.report.comparison.fastest`, without rows that have no time.
    narrow : bool
        Write the words above each row, not beside it, so that the figure fits a phone.

    Returns
    -------
    matplotlib.figure.Figure
    """
    groups = list(_of_one_kind(best))
    ours = _disc(_COLOURS[0], "fastest method")
    theirs = _disc(_COLOURS[5], "fastest function of another package") | {"markerfacecolor": "none"}
    if narrow:
        lines = [[_lines(row) for row in some.itertuples()] for _, some in groups]
        heights = [_MARKS * len(some) + sum(map(len, some)) for some in lines]
        width, height = _PHONE, 1.1 + 0.55 * len(groups) + _INCH * sum(heights)
    else:
        longest = max(len(words) for _, some in groups for words in some["words"])
        heights = [len(some) + 0.6 for _, some in groups]
        width = 4 + 0.07 * (max(map(len, best["input"] + best["n"].map(_size))) + longest)
        height = 1 + 0.5 * len(groups) + 0.32 * len(best)
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(len(groups), squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for number, (axes, (title, some)) in enumerate(zip(panels, groups, strict=True)):
        places = [float(place) for place in range(len(some))]
        if narrow:
            places, end = [], 0.0
            for words in lines[number]:
                _below(axes, end, words)
                places.append(end + len(words) + _MARKS / 2)
                end += len(words) + _MARKS
            axes.set_yticks([])
            title = textwrap.fill(title, _LINE - 16)
        else:
            for place, row in zip(places, some.itertuples(), strict=True):
                if pd.notna(row.compared):
                    _beside(axes, place, 8, _ratio(row), "bold")
                _beside(axes, place, 56, row.words)
            axes.set_yticks(places, some["input"] + some["n"].map(_size))
        for place, row in zip(places, some.itertuples(), strict=True):
            _mark(axes, place, row, ours, theirs)
        axes.set_ylim(heights[number] if narrow else len(some) - 0.5, 0 if narrow else -0.5)
        axes.set_title(title, loc="left", fontsize="medium", fontweight="bold")
        _time_across(axes)
    panels[-1].set_xlabel("time of the whole call")
    compared = best["compared"].notna().any()
    handles = [Line2D([], [], **look) for look in ((ours, theirs) if compared else (ours,))]
    columns = 1 if narrow else 2
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False)
    return figure


def _mark(axes: Axes, place: float, row: Any, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Mark the times of a row of a panel, and draw the turns between them."""
    if pd.notna(row.compared):
        both = [row.wall_seconds, row.peer_seconds]
        axes.plot(both, [place, place], color="#999999", zorder=1)
        axes.plot(row.peer_seconds, place, zorder=2, **theirs)
    if pd.notna(row.least_seconds):
        turns = [row.least_seconds, row.greatest_seconds]
        axes.plot(turns, [place, place], color=_COLOURS[0], linewidth=3, zorder=1)
    axes.plot(row.wall_seconds, place, zorder=3, **ours)


def _of_one_kind(best: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the title and the rows of each panel, with the words of a row."""
    # a panel names its problem, and what else differs
    names = ["problem", *(name for name in ("dtype", "place") if best[name].nunique() > 1)]
    for title, some in best.groupby(names, sort=False):
        called = some["compared"].dropna().unique()
        words = [_words(row) for row in some.itertuples()]
        for place, row in enumerate(some.itertuples()):
            if pd.notna(row.compared):
                other = f"{row.compared} " if len(called) > 1 else ""
                words[place] += f"; {other}{seconds(row.peer_seconds)}"
        beside = f", beside {called[0]}" if len(called) == 1 else ""
        yield ", ".join(title) + beside, some.assign(words=words)


def _size(n: int) -> str:
    return f" (n = {n})"


def _ratio(row: Any) -> str:
    return f"{row.ratio:.3g} x{' ~' if row.even else ''}"


def _lines(row: Any) -> list[str]:
    """Return the lines above a row of a narrow figure."""
    ratio = f", {_ratio(row)}" if pd.notna(row.compared) else ""
    return [f"{row.input}{_size(row.n)}", *textwrap.wrap(row.words + ratio, _LINE)]


def _words(row: Any) -> str:
    """Name the fastest method, how many are as fast, and its time."""
    ties = f" (+{row.ties} as fast)" if row.ties else ""
    return f"{row.shown}{ties} {seconds(row.wall_seconds)}{', one run' if is_once(row) else ''}"


def times(runs: pd.DataFrame, peers: pd.DataFrame) -> Figure:
    """Draw the time of each run on one device and of each other package, the fastest first.

    A panel for each input.

    Parameters
    ----------
    runs, peers
        As for `drawn`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    several = runs["dtype"].nunique() > 1
    ours = _disc(_COLOURS[0], "method")
    theirs = _disc(_COLOURS[5], "function of another package") | {"markerfacecolor": "none"}
    panels = []
    for (problem, name, n), some in runs.groupby(["problem", "input", "n"], sort=False):
        marks = [
            (row.wall_seconds, method_name(row) + (f", {row.dtype}" if several else ""), ours)
            for row in some.itertuples()
        ]
        same = peers["problem"].eq(problem) & peers["input"].eq(name) & peers["n"].eq(n)
        marks += [
            (row.median_seconds, function(peers, problem, row.name), theirs)
            for row in peers[same].itertuples()
        ]
        panels.append((f"{name} (n = {n})", sorted(marks, key=lambda mark: mark[0])))
    heights = [len(marks) + 1.2 for _, marks in panels]
    figure = Figure(figsize=(8, 1 + 0.24 * sum(heights)), layout="constrained")
    all_axes = figure.subplots(len(panels), squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for axes, (title, marks) in zip(all_axes, panels, strict=True):
        for place, (value, _, look) in enumerate(marks):
            axes.plot(value, place, **look)
            _beside(axes, place, 8, seconds(value))
        axes.set_yticks(range(len(marks)), [words for _, words, _ in marks], fontsize="small")
        axes.set_ylim(len(marks) - 0.5, -0.5)
        axes.set_title(title, loc="left", fontsize="medium", fontweight="bold")
        _time_across(axes)
        axes.grid(axis="y", alpha=0.3)
    all_axes[-1].set_xlabel("time of the whole call")
    handles = [Line2D([], [], **look) for look in (ours, theirs)]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False)
    return figure


def _time_across(axes: Axes) -> None:
    """Make the horizontal axis a logarithmic one of times."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=3))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    # within a decade, others would have labels like 3 x 10^-1
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


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


def _below(axes: Axes, place: float, lines: list[str]) -> None:
    """Write the lines that begin at a place of a panel, the first one in bold."""
    for number, line in enumerate(lines):
        axes.annotate(
            line,
            (0, place + number + 0.5),
            (2, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize="small",
            fontweight="normal" if number else "bold",
        )


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
    shown = runs.assign(where=where)[_drawable(runs, column)]
    return (_sizes if _by_size(runs) else _panels)(shown, column, label, level)


def _drawable(runs: pd.DataFrame, column: str) -> pd.Series:
    """Return which values of a column can be drawn on logarithmic axes."""
    return (runs["n"] > 0) & (runs[column] > 0)


def _by_size(runs: pd.DataFrame) -> bool:
    """Whether the inputs differ in nothing but their size, and lines can be told apart."""
    series = kinds(runs[runs["n"] > 0])
    return len(series) == 1 < len(series[0]) and runs["method"].nunique() <= len(_COLOURS)


def _sizes(runs: pd.DataFrame, column: str, label: str, level: float | None) -> Figure:
    """Draw a line for each method against n, in a panel for each device and type."""
    methods, devices, dtypes = (sorted(runs[key].unique()) for key in ("method", "where", "dtype"))
    styles = dict(zip(methods, zip(_COLOURS, _MARKERS, strict=True), strict=False))
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
    styles = dict(zip(dtypes, zip(cycle(_COLOURS), cycle(_MARKERS), strict=False), strict=False))
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


def kinds(runs: pd.DataFrame) -> list[list[tuple[str, int]]]:
    """Return the inputs, as (name, n), in groups that differ in nothing but their size.

    The names of a group differ in the number that says their size, which is n, the power of 2 that
    n is, or a product as in ``70x70``, and in numbers above it. And arcs per vertex, or the share
    of all possible arcs, change by less than a half from one to the next.
    """
    found: dict[str, list[list[tuple[str, int, float]]]] = {}
    inputs = runs[["input", "n", "m"]].drop_duplicates(["input", "n"]).sort_values(["n", "m"])
    for name, n, m in inputs.itertuples(index=False):
        arcs = 1.0 if pd.isna(m) else float(m)
        groups = found.setdefault(_kind(name, n), [])
        for group in groups:
            _, size, before = group[-1]
            ratios = (arcs * size / (before * n), arcs * size**2 / (before * n**2))
            if size < n and any(1 / 1.5 < ratio < 1.5 for ratio in ratios):
                group.append((name, n, arcs))
                break
        else:
            groups.append([(name, n, arcs)])
    return [[(name, n) for name, n, _ in group] for groups in found.values() for group in groups]


def _kind(name: str, n: int) -> str:
    """Return a name without its size, and without numbers above it, such as that of arcs."""

    def sides(found: re.Match[str]) -> str:
        return "{n}" if int(found[1]) * int(found[2]) == n else found[0]

    def size(found: re.Match[str]) -> str:
        number = int(found[0])
        if number == n or (number < 63 and 2**number == n):
            return "{n}"
        return "{m}" if number > n else found[0]

    kind = re.sub(r"\d+", size, re.sub(r"(\d+)x(\d+)", sides, name))
    return kind if "{n}" in kind else name


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
