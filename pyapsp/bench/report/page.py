"""The page of runs: one HTML file, which needs no network and no other file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, Template
from markupsafe import Markup

from pyapsp.bench.report import tables
from pyapsp.bench.report.figures import inline
from pyapsp.registry import problems as registered

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from pyapsp.bench.report.records import Collected

__all__ = ["report_page", "template"]


def template(name: str) -> Template:
    """Return a template from this folder, which also has the files that it includes."""
    loader = FileSystemLoader(Path(__file__).parent)
    return Environment(loader=loader, autoescape=True, keep_trailing_newline=True).get_template(
        name
    )


def report_page(
    collected: Collected, best: pd.DataFrame, figures: Mapping[str, tuple[str, str]]
) -> str:
    """Make the page.

    Parameters
    ----------
    collected : Collected
    best : pandas.DataFrame
        The result of `pyapsp.bench.report.tables.fastest`.
    figures : mapping of str to (str, str)
        Name -> SVG document and caption; the first one is at the top of the page.
    """
    runs, listed, problems = collected.runs, {}, []
    summaries = {each.id: each.summary for each in registered()}
    for name, some in tables.by_problem(runs).items():
        listed[f"runs-{name}"] = tables.table(some, tables.runs_columns(some, collected.peers))
        problems.append(
            {
                "id": name,
                "summary": summaries.get(name, ""),
                "count": len(some),
            }
        )
    listed |= {
        "fastest": tables.table(best, tables.fastest_columns(best)),
        "devices": tables.table(collected.devices, tables.DEVICES),
        "peers": tables.table(collected.peers, tables.PEERS),
        "left-out": tables.table(collected.left_out, tables.LEFT_OUT),
        "software": tables.table(collected.software, tables.SOFTWARE),
    }
    return template("page.html.j2").render(
        count=len(runs),
        inputs=runs["input"].nunique(),
        problems=problems,
        methods=runs["method"].nunique(),
        states=tables.count_states(runs),
        oracles=list(runs["verified_by"][runs["verified_by"].ne("")].unique()),
        compared=_compared(best),
        dotted=_dotted,
        small=tables.seconds(tables.SMALL),
        tables=listed,
        figures={
            name: {"svg": Markup(inline(svg, name)), "caption": caption}
            for name, (svg, caption) in figures.items()
        },
    )


def _dotted(text: str) -> Markup:
    """Return a text that may be broken after its dots, as the names of functions are long."""
    return Markup(".<wbr>").join(text.split("."))


def _compared(best: pd.DataFrame) -> dict[str, int | str]:
    """Count the inputs on which the fastest method was faster than another package, and slower."""
    timed = best.dropna(subset="ratio")
    slower = timed[timed["ratio"] < 1]
    found: dict[str, int | str] = {
        "timed": len(timed),
        "faster": len(timed) - len(slower),
        "slower": len(slower),
        "small": int(slower["peer_seconds"].lt(tables.SMALL).sum()),
    }
    if len(timed):
        most = timed.loc[timed["ratio"].idxmax()]
        found["most"] = (
            f"{most.ratio:.3g} times as fast as {most.calls} ({most.problem}, {most.input})"
        )
    return found
