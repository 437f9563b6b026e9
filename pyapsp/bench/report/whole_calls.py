"""Figures of the times of whole calls, beside those of other packages."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from pyapsp.bench.report.comparison import function, is_once, method_name, seconds
from pyapsp.bench.report.drawing import COLOURS

__all__ = ["fastest", "times"]

# The width of a figure for a phone in inches, and the characters of a line there.
_PHONE = 3.7
_LINE = 62
# In such a figure: the lines that the marks of a row take, and one in inches.
_MARKS = 1.6
_INCH = 0.17


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
    ours, theirs = _looks("fastest ")
    if narrow:
        lines = [sum(len(_lines(row)) for row in some.itertuples()) for _, some in groups]
        heights = [_MARKS * len(some) + n for (_, some), n in zip(groups, lines, strict=True)]
        width, height = _PHONE, 1.1 + 0.55 * len(groups) + _INCH * sum(heights)
    else:
        longest = max(len(words) for _, some in groups for words in some["words"])
        heights = [len(some) + 0.6 for _, some in groups]
        width = 4 + 0.07 * (max(map(len, best["input"] + best["n"].map(_size))) + longest)
        height = 1 + 0.5 * len(groups) + 0.32 * len(best)
    figure, panels = _panels((width, height), heights)
    for axes, (title, some), high in zip(panels, groups, heights, strict=True):
        places = _words_above(axes, some) if narrow else _words_beside(axes, some)
        for place, row in zip(places, some.itertuples(), strict=True):
            _mark(axes, place, row, ours, theirs)
        axes.set_ylim(*((high, 0) if narrow else (len(some) - 0.5, -0.5)))
        _finish(axes, textwrap.fill(title, _LINE - 16) if narrow else title)
    compared = best["compared"].notna().any()
    _legend(figure, [ours, theirs] if compared else [ours], columns=1 if narrow else 2)
    return figure


def _words_beside(axes: Axes, some: pd.DataFrame) -> list[float]:
    """Write the words of each row to the left and right of it, and return the places of rows."""
    places = [float(place) for place in range(len(some))]
    for place, row in zip(places, some.itertuples(), strict=True):
        if pd.notna(row.compared):
            _beside(axes, place, 8, _ratio(row), "bold")
        _beside(axes, place, 56, row.words)
    axes.set_yticks(places, some["input"] + some["n"].map(_size))
    return places


def _words_above(axes: Axes, some: pd.DataFrame) -> list[float]:
    """Write the words of each row above it, the first line in bold, and return the places."""
    places, end = [], 0.0
    for row in some.itertuples():
        lines = _lines(row)
        for number, line in enumerate(lines):
            weight = "normal" if number else "bold"
            _note(axes, line, (0, end + number + 0.5), 2, weight)
        places.append(end + len(lines) + _MARKS / 2)
        end += len(lines) + _MARKS
    axes.set_yticks([])
    return places


def _mark(axes: Axes, place: float, row: Any, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Mark the times of a row of a panel, and draw the turns between them."""
    if pd.notna(row.compared):
        both = [row.wall_seconds, row.peer_seconds]
        axes.plot(both, [place, place], color="#999999", zorder=1)
        axes.plot(row.peer_seconds, place, zorder=2, **theirs)
    if pd.notna(row.least_seconds):
        turns = [row.least_seconds, row.greatest_seconds]
        axes.plot(turns, [place, place], color=COLOURS[0], linewidth=3, zorder=1)
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
    ours, theirs = _looks("")
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
    figure, all_axes = _panels((8, 1 + 0.24 * sum(heights)), heights)
    for axes, (title, marks) in zip(all_axes, panels, strict=True):
        for place, (value, _, look) in enumerate(marks):
            axes.plot(value, place, **look)
            _beside(axes, place, 8, seconds(value))
        axes.set_yticks(range(len(marks)), [words for _, words, _ in marks], fontsize="small")
        axes.set_ylim(len(marks) - 0.5, -0.5)
        _finish(axes, title)
        axes.grid(axis="y", alpha=0.3)
    _legend(figure, [ours, theirs], columns=2)
    return figure


def _panels(size: tuple[float, float], heights: list[float]) -> tuple[Figure, np.ndarray]:
    """Return a figure with panels below each other, which share the axis of times."""
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(heights), squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    panels[-1].set_xlabel("time of the whole call")
    return figure, panels


def _finish(axes: Axes, title: str) -> None:
    """Write the title of a panel, and make its horizontal axis a logarithmic one of times."""
    axes.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=3))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    # within a decade, others would have labels like 3 x 10^-1
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _looks(which: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the styles of our marks and of those of others, as arguments for Matplotlib."""
    ours = {"linestyle": "", "marker": "o", "color": COLOURS[0], "label": f"{which}method"}
    other = {"color": COLOURS[5], "label": f"{which}function of another package"}
    return ours, ours | other | {"markerfacecolor": "none"}


def _legend(figure: Figure, looks: list[dict[str, Any]], columns: int) -> None:
    handles = [Line2D([], [], **look) for look in looks]
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False)


def _beside(axes: Axes, place: float, points: float, words: str, weight: str = "normal") -> None:
    """Write a text so many points to the right of the panel, beside one of its rows."""
    _note(axes, words, (1, place), points, weight)


def _note(axes: Axes, words: str, where: tuple[float, float], points: float, weight: str) -> None:
    """Write a text: where is a fraction of the panel's width, and a place of its rows."""
    axes.annotate(
        words,
        where,
        (points, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize="small",
        fontweight=weight,
    )
