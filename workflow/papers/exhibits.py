"""Classes for every source: measurements, tables with published values, and a page of them."""

from __future__ import annotations

import json
import math
import os
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from pyapsp.bench import report
from pyapsp.bench.report.figures import inline, svg
from pyapsp.errors import FormatError, VerificationError

__all__ = [
    "FOLDER",
    "Exhibit",
    "Line",
    "Measured",
    "line_figure",
    "markdown",
    "milliseconds",
    "page",
    "ratio",
    "reduction",
    "shown",
    "table_of",
]

#: The folder of the values and the figures, beside the page.
FOLDER = "exhibits"

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
    figure : matplotlib.figure.Figure or None
    """

    name: str
    title: str
    caption: str
    table: pd.DataFrame
    figure: Figure | None = None

    @cached_property
    def svg(self) -> str | None:
        """The figure as SVG."""
        return None if self.figure is None else svg(self.figure)


@dataclass(frozen=True)
class Measured:
    """The documents of ``python -m papers measure`` for one source on one device.

    Attributes
    ----------
    documents : dict
        Experiment -> n -> document.
    """

    documents: dict[str, dict[int, dict[str, Any]]]

    @classmethod
    def load(cls, source: str, paths: Sequence[str | os.PathLike[str]]) -> Measured:
        """Read the files.

        Raises
        ------
        FormatError
            If a file is not such a document, is of another source or device, or if two are of the
            same experiment and n.
        VerificationError
            If an answer was not verified.
        """
        documents: dict[str, dict[int, dict[str, Any]]] = {}
        device = None
        for path in map(Path, paths):
            document = _read(path)
            experiment, n = document["experiment"], document["n"]
            if not experiment.startswith(f"{source}-"):
                raise FormatError(path, None, f"{experiment} is not an experiment of {source}")
            key = (document["device"]["name"], document["device"]["platform"])
            if key != (device or key):
                raise FormatError(path, None, "measured on another device than the others")
            device = key
            if n in documents.setdefault(experiment, {}):
                raise FormatError(path, None, f"{experiment} with n = {n} is in two files")
            for run in document["runs"]:
                if run.get("verified") is not True:
                    raise VerificationError(f"{path}: {run['label']} was not verified")
            documents[experiment][n] = document
        if not documents:
            raise FormatError(source, None, "there are no measurements")
        return cls({name: dict(sorted(by_n.items())) for name, by_n in documents.items()})

    @property
    def every(self) -> list[dict[str, Any]]:
        """All documents."""
        return [document for by_n in self.documents.values() for document in by_n.values()]

    @property
    def device(self) -> dict[str, Any]:
        """The device of all measurements."""
        device: dict[str, Any] = self.every[0]["device"]
        return device

    def sizes(self, experiment: str) -> list[int]:
        """Return the values of n of an experiment."""
        return list(self.documents.get(experiment, {}))

    def inputs(self, experiment: str, n: int) -> list[dict[str, Any]]:
        """Return the facts about each input, with its label."""
        document = self.documents.get(experiment, {}).get(n)
        return document["inputs"] if document else []

    def input(self, experiment: str, n: int) -> dict[str, Any]:
        """Return the facts about the only input of an experiment.

        Raises
        ------
        LookupError
            If there is not exactly one.
        """
        found = self.inputs(experiment, n)
        if len(found) != 1:
            raise LookupError(f"{len(found)} inputs of {experiment}, n = {n}")
        return found[0]

    def runs(self, experiment: str, n: int, **label: Any) -> Iterator[dict[str, Any]]:
        """Yield the records whose labels have these values."""
        document = self.documents.get(experiment, {}).get(n)
        for run in document["runs"] if document else []:
            if all(run["label"].get(name) == value for name, value in label.items()):
                yield run

    def run(self, experiment: str, n: int, **label: Any) -> dict[str, Any] | None:
        """Return the only record with these values; None if there is none.

        Raises
        ------
        LookupError
            If there are several.
        """
        found = list(self.runs(experiment, n, **label))
        if len(found) > 1:
            raise LookupError(f"{len(found)} runs of {experiment}, n = {n}, {label}")
        return found[0] if found else None

    def seconds(self, experiment: str, n: int, **label: Any) -> float | None:
        """Return the kernel seconds of the only run with these values."""
        run = self.run(experiment, n, **label)
        return run["kernel_seconds"] if run else None

    def phases(self, experiment: str, n: int, **label: Any) -> dict[str, float]:
        """Return the seconds of the only such run, by phase; empty if there is no such run."""
        run = self.run(experiment, n, **label)
        return run["seconds"] if run else {}

    def phase(self, experiment: str, n: int, name: str, **label: Any) -> float | None:
        """Return the seconds of the launches of one kind in the only such run."""
        run = self.run(experiment, n, **label)
        return (run["phases"] or {}).get(name) if run else None


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise FormatError(path, error.lineno, f"not JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise FormatError(path, None, str(error)) from None
    known = ("experiment", "n", "device", "inputs", "runs", "left_out")
    for key in known:
        if not isinstance(document, dict) or key not in document:
            raise FormatError(path, None, f"not from 'python -m papers measure': no {key!r}")
    checked: dict[str, Any] = document
    return checked


def milliseconds(seconds: float | None) -> float | None:
    """Return seconds in milliseconds, or None for None."""
    return None if seconds is None else 1e3 * seconds


def ratio(over: float | None, under: float | None) -> float | None:
    """Return a quotient, or None if one of the numbers is missing or zero."""
    return None if over is None or not under else over / under


def reduction(before: float | None, after: float | None) -> float | None:
    """Return the reduction of a time in per cent, or None if one time is missing."""
    quotient = ratio(after, before)
    return None if quotient is None else 100 * (1 - quotient)


def table_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Make a table whose columns are in the order of the first row's."""
    listed = list(rows)
    columns = list(dict.fromkeys(name for row in listed for name in row))
    return pd.DataFrame([[row.get(name) for name in columns] for row in listed], columns=columns)


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
    where: Mapping[str, Any] | None = None
    name: str = ""


def line_figure(
    table: pd.DataFrame,
    x: str,
    panels: Mapping[str, Sequence[Line]],
    *,
    logarithmic: str = "",
) -> Figure:
    """Draw columns of a table against another.

    Parameters
    ----------
    table : pandas.DataFrame
    x : str
        The column of the horizontal axis.
    panels : mapping of str to sequence of Line
        Label of the vertical axis -> lines. Lines without values are left out.
    logarithmic : str
        The logarithmic axes: "", "x", "y" or "xy".

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = Figure(figsize=(1 + 5.5 * len(panels), 4.6), layout="constrained")
    every = figure.subplots(1, len(panels), squeeze=False).flat
    for axes, (what, lines) in zip(every, panels.items(), strict=True):
        for line, colour, marker in zip(lines, cycle(_COLOURS), cycle(_MARKERS), strict=False):
            rows = table
            for column, value in (line.where or {}).items():
                rows = rows[rows[column] == value]
            shown = rows[[x, line.column]].dropna().astype(float)
            if shown.empty:
                continue
            axes.plot(
                shown[x],
                shown[line.column],
                color=colour,
                marker=marker,
                linestyle="--" if line.published else "-",
                markerfacecolor="none" if line.published else colour,
                label=line.name or line.column,
            )
        if "x" in logarithmic:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(FuncFormatter(_power))
        if "y" in logarithmic:
            axes.set_yscale("log")
        axes.set_xlabel(x)
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


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Make a formatted table: texts, and numbers with four digits."""
    return table.map(_cell)


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        # pandas makes integers floats if values of the column are missing
        if value.is_integer() and abs(value) < 1e9:
            return str(int(value))
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return str(value)


def _about(measured: Measured) -> dict[str, Any]:
    """Return the facts that are the same for everything on a page."""
    device = measured.device
    runs = sum(len(document["runs"]) for document in measured.every)
    left_out = [
        {
            "what": f"{document['experiment']}, n = {document['n']}: "
            + ", ".join(f"{name} {value}" for name, value in each.items() if name != "why"),
            "why": textwrap.shorten(each["why"], 200),
        }
        for document in measured.every
        for each in document["left_out"]
    ]
    return {
        "device": f"{device['name']} ({device['platform']}, driver {device['driver']}, "
        f"{device['units']} compute units)",
        "runs": runs,
        "references": sorted(
            {
                given["reference"]["what"]
                for each in measured.every
                for given in each["inputs"]
                if given["reference"]["what"] is not None  # nothing ran
            }
        ),
        "left_out": left_out,
    }


def page(title: str, measured: Measured, exhibits: Sequence[Exhibit]) -> str:
    """Make one HTML page of the exhibits, which needs no other file."""
    parts = []
    for each in exhibits:
        table = shown(each.table).to_html(
            index=False, border=0, classes="runs", justify="inherit", na_rep=""
        )
        parts.append(
            {
                "name": each.name,
                "title": each.title,
                "caption": each.caption,
                "table": Markup(table),
                "figure": Markup(inline(each.svg, each.name)) if each.svg else None,
            }
        )
    about = _about(measured)
    # the page includes the style of the page of runs
    loader = FileSystemLoader([Path(__file__).parent, Path(report.__file__).parent])
    environment = Environment(loader=loader, autoescape=True, keep_trailing_newline=True)
    template = environment.get_template("exhibits.html.j2")
    return template.render(title=title, parts=parts, **about)


def markdown(title: str, measured: Measured, exhibits: Sequence[Exhibit]) -> str:
    """Make one Markdown text of the exhibits; the figures are files beside it."""
    about = _about(measured)
    lines = [
        f"# {title}",
        "",
        f"Ours: {about['device']}. {about['runs']} runs, every answer compared with "
        f"{' or '.join(about['references'])}; all verified.",
    ]
    for each in exhibits:
        escaped = shown(each.table).map(lambda text: text.replace("|", "\\|"))
        text = escaped.to_markdown(index=False, disable_numparse=True)
        lines += ["", f"## {each.title}", "", text, ""]
        if each.figure is not None:
            lines += [f"![{each.title}]({FOLDER}/{each.name}.svg)", ""]
        lines.append(each.caption)
    if about["left_out"]:
        lines += ["", "## Left out", ""]
        lines += [f"- {each['what']}: {each['why']}" for each in about["left_out"]]
    return "\n".join(lines) + "\n"
