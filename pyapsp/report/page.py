"""HTML pages of runs that need nothing but themselves: no script, no network."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from jinja2 import Environment
from markupsafe import Markup

from pyapsp.report.figures import speed_figure, svg, times_figure
from pyapsp.report.tables import html_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["report_page", "table_page"]


def _inline(figure: Figure) -> Markup:
    """Return a figure as an element of a page: SVG from its root on, without XML declaration."""
    document = svg(figure)
    return Markup(document[document.index("<svg") :])


def _render(runs: pd.DataFrame, figures: dict[str, Figure]) -> str:
    """Fill the page; `figures` maps captions to figures."""
    source = resources.files("pyapsp.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    template = Environment(autoescape=True, keep_trailing_newline=True).from_string(source)
    return template.render(
        runs=len(runs),
        graphs=runs["graph"].nunique(),
        methods=runs["method"].nunique(),
        devices=list((runs["device"] + " on " + runs["platform"]).unique()),
        unverified=int((~runs["verified"].eq(True)).sum()),
        table=Markup(html_table(runs)),
        figures={caption: _inline(figure) for caption, figure in figures.items()},
    )


def table_page(runs: pd.DataFrame) -> str:
    """Make a page with the table of runs alone."""
    return _render(runs, {})


def report_page(runs: pd.DataFrame) -> str:
    """Make the page with the table of runs and both figures."""
    return _render(
        runs,
        {
            "Updates per second on each graph.": speed_figure(runs),
            "Kernel time against the number of vertices.": times_figure(runs),
        },
    )
