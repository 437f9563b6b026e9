"""The tables and figures of papers: what is in them, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from typing import TypeAlias

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from papers.measured import Measured
from papers.values import Value
from pyapsp.bench.report.figures import svg

__all__ = ["Drawing", "Exhibit", "Line", "Made", "Row", "Rows", "Table", "table_of"]

#: A row of a table: column -> value, None if it was not measured or not published.
Row: TypeAlias = dict[str, int | float | str | None]
Rows: TypeAlias = Iterable[Mapping[str, int | float | str | None]]
# Okabe and Ito's colours, which colour-blind readers can tell apart
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
_MARKERS = "os^Dv*Xp"


@dataclass(frozen=True)
class Exhibit:
    """One table or figure of a paper.

    Attributes
    ----------
    name : str
        Name of its files, e.g. ``"table-4.6"``.
    title : str
    caption : str
        Explains the columns, and names values that the paper does not give.
    table : pandas.DataFrame
        The values; missing if not measured or not published.
    drawing : Drawing, matplotlib.figure.Figure or None
    """

    name: str
    title: str
    caption: str
    table: pd.DataFrame
    drawing: Drawing | Figure | None = None

    @cached_property
    def svg(self) -> str | None:
        """The figure as SVG."""
        if self.drawing is None:
            return None
        drawing = self.drawing
        return svg(drawing.of(self.table) if isinstance(drawing, Drawing) else drawing)


@dataclass(frozen=True)
class Line:
    """One line of a figure.

    Attributes
    ----------
    column : str
        The column of the table with its values.
    published : bool
        Whether the values are published; such lines are dashed.
    where : dict
        The rows of its values: other column -> value.
    name : str
        Its name in the legend. Default: the name of the column.
    """

    column: str
    published: bool = False
    where: Mapping[str, Value] | None = None
    name: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure that shows columns of a table against another.

    Attributes
    ----------
    x : str
        The column of the horizontal axis.
    panels : mapping of str to sequence of Line
        Label of the vertical axis -> lines. Lines without values are left out.
    logarithmic : str
        The logarithmic axes: "", "x", "y" or "xy".
    """

    x: str
    panels: Mapping[str, Sequence[Line]]
    logarithmic: str = ""

    def of(self, table: pd.DataFrame) -> Figure:
        """Draw the figure."""
        figure = Figure(figsize=(1 + 5.5 * len(self.panels), 4.6), layout="constrained")
        every = figure.subplots(1, len(self.panels), squeeze=False).flat
        for axes, (what, lines) in zip(every, self.panels.items(), strict=True):
            for line, colour, marker in zip(lines, cycle(_COLOURS), cycle(_MARKERS), strict=False):
                rows = table
                for column, value in (line.where or {}).items():
                    rows = rows[rows[column] == value]
                shown = rows[[self.x, line.column]].dropna().astype(float)
                if shown.empty:
                    continue
                axes.plot(
                    shown[self.x],
                    shown[line.column],
                    color=colour,
                    marker=marker,
                    linestyle="--" if line.published else "-",
                    markerfacecolor="none" if line.published else colour,
                    label=line.name or line.column,
                )
            if "x" in self.logarithmic:
                axes.set_xscale("log", base=2)
                axes.xaxis.set_major_formatter(FuncFormatter(_power))
            if "y" in self.logarithmic:
                axes.set_yscale("log")
            axes.set_xlabel(self.x)
            axes.set_ylabel(what)
            axes.grid(alpha=0.3)
            if axes.get_lines():
                below = (0.5, -0.15)
                axes.legend(loc="upper center", bbox_to_anchor=below, ncols=2, frameon=False)
        return figure


def _power(value: float, position: int) -> str:
    """Return the label of a tick at a power of two."""
    if value >= 2**20:
        return f"{value / 2**20:g}M"
    return f"{value / 2**10:g}K" if value >= 2**14 else f"{value:g}"


def table_of(rows: Rows) -> pd.DataFrame:
    """Make a table whose columns are in the order of the first row's."""
    listed = list(rows)
    columns = list(dict.fromkeys(name for row in listed for name in row))
    return pd.DataFrame([[row.get(name) for name in columns] for row in listed], columns=columns)


@dataclass(frozen=True)
class Table:
    """A row of a source's ``EXHIBITS``: what one table or figure of a paper is made of.

    Attributes
    ----------
    experiment : str
        The exhibit is left out if this is not measured.
    name, title, caption : str
        See `Exhibit`.
    rows : callable
        Takes the measurements and yields the rows: column -> value. They have our values and the
        published ones.
    drawn : callable or None
        Takes the measurements and the names of the columns, and returns what the figure shows.
    """

    experiment: str
    name: str
    title: str
    caption: str
    rows: Callable[[Measured], Rows]
    drawn: Callable[[Measured, list[str]], Drawing | Figure] | None = None

    def make(self, measured: Measured) -> Exhibit:
        """Return the table and the figure."""
        table = table_of(self.rows(measured))
        drawing = self.drawn(measured, list(table.columns)) if self.drawn else None
        return Exhibit(self.name, self.title, self.caption, table, drawing)


@dataclass(frozen=True)
class Made:
    """A row of ``EXHIBITS`` whose text depends on the measurements, so that a function makes it.

    Attributes
    ----------
    experiment : str
        The exhibit is left out if this is not measured.
    make : callable
        Takes the measurements.
    """

    experiment: str
    make: Callable[[Measured], Exhibit]
