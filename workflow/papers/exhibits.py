"""Pages of tables and figures, with the published values and ours."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from papers.measured import Measured
from papers.tables import Exhibit
from pyapsp.bench import report
from pyapsp.bench.report.drawing import inline

__all__ = ["FOLDER", "cell", "markdown", "page", "shown"]

#: The folder of the values and the figures, beside the page.
FOLDER = "exhibits"


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Make a formatted table: texts, and numbers with four digits."""
    return table.map(cell)


def cell(value: float | str | None) -> str:
    """Return a value as a text: numbers with four digits, nothing if it is missing."""
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
                about["reference"]["what"]
                for each in measured.every
                for about in each["inputs"]
                if about["reference"]["what"] is not None  # nothing ran
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
        if each.drawing is not None:
            lines += [f"![{each.title}]({FOLDER}/{each.name}.svg)", ""]
        lines.append(each.caption)
    if about["left_out"]:
        lines += ["", "## Left out", ""]
        lines += [f"- {each['what']}: {each['why']}" for each in about["left_out"]]
    return "\n".join(lines) + "\n"
