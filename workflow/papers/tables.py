"""The tables and figures of papers: what is in them, and how they are drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, product
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypedDict

import pandas as pd
import tomllib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from papers.claims import TOLERANCE, Claim, answered
from papers.measured import Measured
from papers.values import Value
from pyapsp.bench.report.drawing import svg

__all__ = [
    *("Drawing", "Exhibit", "Filled", "Line", "Maker", "Row", "Rows", "Table"),
    *("table_of", "tables"),
]

#: A row of a table: column -> value, None if it was not measured or not published.
Row: TypeAlias = dict[str, int | float | str | None]
Rows: TypeAlias = Iterable[Mapping[str, int | float | str | None]]
# Okabe and Ito's colours, which colour-blind readers can tell apart
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
_MARKERS = "os^Dv*Xp"
_ALLOWED = (
    f"A published number, and words such as 'about', 'as fast as' or 'hardly', allow a factor of "
    f"{TOLERANCE:g}; 'faster' and 'best' allow none."
)


@dataclass(frozen=True)
class Exhibit:
    """One table or figure of a paper."""

    # Name of its files, e.g. `"table-4.6"`.
    name: str
    title: str
    caption: str  # explains the columns, and names values that the paper does not give
    # The values; missing if not measured or not published.
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
    """One line of a figure."""

    column: str  # the column of the table with its values
    # Whether the values are published; such lines are dashed.
    published: bool = False
    where: Mapping[str, Value] | None = None  # the rows of its values: other column -> value
    # Its name in the legend. Default: the name of the column.
    name: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure that shows columns of a table against another."""

    x: str  # the column of the horizontal axis
    # Label of the vertical axis -> lines. Lines without values are left out.
    panels: Mapping[str, Sequence[Line]]
    logarithmic: str = ""  # the logarithmic axes: "", "x", "y" or "xy"

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


class Filled(NamedTuple):
    """The rows of an exhibit whose text or figure depends on the measurements."""

    # Column -> value. They have our values and the published ones.
    rows: Rows
    # Name -> value for the title, the caption and the values of lines.
    words: Mapping[str, Value | None] = {}
    figure: Figure | None = None  # a figure that no `Drawing` describes


#: Makes the rows of an exhibit of measurements, or the answers to its claims.
Maker: TypeAlias = Callable[[Measured], Rows | Filled | Iterable[Claim]]


class _LineSpec(TypedDict, total=False):
    column: str
    where: dict[str, Value]
    each: dict[str, list[Value]]
    name: str


class _FigureSpec(TypedDict, total=False):
    x: str
    log: str
    panels: dict[str, list[str | _LineSpec]]


class _Spec(TypedDict, total=False):
    name: str
    experiment: str
    title: str
    caption: str
    figure: _FigureSpec
    claims: dict[str, str]


@dataclass(frozen=True)
class Table:
    """An entry of ``exhibits.toml``, and the function of ``exhibits.py`` that makes its rows."""

    experiment: str  # the exhibit is left out if this is not measured
    # Its name, title and caption; `figure`: what is drawn; `claims`: name -> text.
    spec: _Spec
    words: Mapping[str, Value]  # name -> value for texts
    rows: Maker

    @property
    def name(self) -> str:
        """Name of its files."""
        return self.spec["name"]

    def make(self, measured: Measured) -> Exhibit:
        """Return the table and the figure."""
        sizes = measured.sizes(self.experiment)
        made = self.rows(measured)
        if not isinstance(made, Filled):
            made = Filled(answered(made, self.spec.get("claims", {})))
        words = {"largest_n": max(sizes), "smallest_n": min(sizes), **self.words, **made.words}
        table = table_of(made.rows)
        title, caption = (
            " ".join(self.spec[text].format(**words).split()) for text in ("title", "caption")
        )
        if "claims" in self.spec:
            caption += f" {_ALLOWED}"
        drawing: Drawing | Figure | None = made.figure
        if "figure" in self.spec and not table.empty:
            drawing = _drawing(self.spec["figure"], table, words)
        return Exhibit(self.name, title, caption, table, drawing)


def _drawing(spec: _FigureSpec, table: pd.DataFrame, words: Mapping[str, Value | None]) -> Drawing:
    panels = {
        what.format(**words): [line for each in lines for line in _lines(each, table, words)]
        for what, lines in spec["panels"].items()
    }
    return Drawing(spec["x"].format(**words), panels, spec.get("log", ""))


def _lines(
    spec: str | _LineSpec, table: pd.DataFrame, words: Mapping[str, Value | None]
) -> Iterator[Line]:
    """Yield a line for each column that matches, and each combination of values of others.

    A column "what: who" is published unless it is ours. ``a|b`` matches either; ``!`` takes out.
    If no values are listed, they are those of the table. In the name of a line, ``{star}`` is what
    the first ``*`` of its column stands for.
    """
    if isinstance(spec, str):
        spec = {"column": spec}
    wanted, *unwanted = spec["column"].format(**words).split("!")
    places = {key: words.get(str(value), value) for key, value in spec.get("where", {}).items()}
    each = spec.get("each", {})
    series = [some or table[name].dropna().unique().tolist() for name, some in each.items()]
    for column in table.columns:
        match = _match(wanted.split("|"), column)
        if match is None or _match(unwanted, column):
            continue
        what, _, who = column.rpartition(": ")
        star = "".join(match.groups()[:1])
        for values in product(*series):
            where = {**places, **dict(zip(each, values, strict=True))}
            name = spec.get("name", "").format(column=column, star=star, **where)
            yield Line(column, bool(what) and "ours" not in who, where, name)


def _match(patterns: Iterable[str], column: str) -> re.Match[str] | None:
    """Return the match of the first pattern that the whole column has."""
    every = ("(.*)".join(map(re.escape, pattern.split("*"))) for pattern in patterns)
    return next((match for each in every if (match := re.fullmatch(each, column))), None)


def tables(folder: str, makers: Mapping[str, Maker]) -> Iterator[Table]:
    """Yield the exhibits of a source or topic.

    Parameters
    ----------
    folder : str
        Folder of the source or topic, e.g. ``"okuyama/blocked"``.
    makers : mapping
        Name of an exhibit -> function that makes its rows.
    """
    text = (Path(__file__).parent / folder / "exhibits.toml").read_text("utf-8")
    document = tomllib.loads(text)
    shared = {name: " ".join(value.split()) for name, value in document.get("words", {}).items()}
    for entry in document["exhibits"]:
        words = {**shared, **entry.get("words", {})}
        yield Table(entry["experiment"], entry, words, makers[entry["name"]])
