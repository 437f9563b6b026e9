"""The page of runs: one HTML file, which needs no network and no other file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, Template
from markupsafe import Markup

from pyapsp.bench.report import tables
from pyapsp.bench.report.figures import inline
from pyapsp.bench.report.records import OVER
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
        listed[f"runs-{name}"] = tables.runs_table(some, collected.peers)
        problems.append({"id": name, "summary": summaries.get(name, "")})
    listed |= {
        "fastest": tables.table(best, tables.fastest_columns(best)),
        "devices": tables.table(collected.devices, tables.DEVICES),
        "peers": tables.peers_table(runs, collected.peers),
        "left-out": tables.table(collected.left_out, tables.LEFT_OUT),
        "software": tables.table(collected.software, tables.SOFTWARE),
    }
    return template("page.html.j2").render(
        count=len(runs),
        inputs=runs["input"].nunique(),
        problems=problems,
        methods=runs.loc[~runs["status"].isin(("refused", "failed")), "method"].nunique(),
        states=tables.count_states(runs),
        types=sorted(runs["dtype"].unique()),
        units=set(runs["unit"]),
        columns={
            column for name in listed if name.startswith("runs-") for column in listed[name].columns
        },
        timed=runs["turns"].notna().any(),
        turns=sorted(runs["turns"].dropna().unique()),
        above=runs["fraction_of_roof"].gt(1).any(),
        ranges=best["span"].ne("").any(),
        untimed=runs["turns"].isna().any(),
        slower=runs.filter(regex=f"^{OVER}").lt(1).any(axis=None),
        certified=runs["verified_by"].str.contains("certificate").any(),
        narrower=best["shown"].str.endswith(")").any(),
        others=_other_types(best, collected.peers),
        twins=_twins(collected.devices),
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


def _other_types(best: pd.DataFrame, peers: pd.DataFrame) -> list[str]:
    """Return the types of other packages, if a row is compared with one of another type."""
    differ = best["compared"].ne(best["calls"]) & best["calls"].notna()
    return sorted(peers["dtype"].unique()) if differ.any() else []


def _twins(devices: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the CPUs that two drivers offer; one of them puts a word before the name."""
    names = list(devices["name"][devices["kind"].eq("cpu")])
    return [
        (one, other)
        for place, one in enumerate(names)
        for other in names[place + 1 :]
        if one.endswith(other) or other.endswith(one)
    ]


def _compared(best: pd.DataFrame) -> dict[str, int | str]:
    """Count the rows on which the fastest method was faster than another package, and slower."""

    def told(place: int) -> str:
        row = best.loc[place]
        return f"{row.ratio:.3g} times as fast as {row.calls} ({row.problem}, {row.input})"

    timed = best["ratio"].dropna()
    faster, slower = timed[timed >= 1], timed[timed < 1]
    found: dict[str, int | str] = {
        "timed": len(timed),
        "faster": len(faster),
        "slower": len(slower),
        "small": int(best["peer_seconds"][slower.index].lt(tables.SMALL).sum()),
    }
    if len(faster):
        found |= {"least": told(faster.idxmin()), "most": told(faster.idxmax())}
    if len(slower):
        found["slowest"] = told(slower.idxmin())
    return found
