"""The page of runs: one HTML file, which needs no network and no other file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from jinja2 import Environment, FileSystemLoader, Template
from markupsafe import Markup

from pyapsp.bench.report import comparison, tables
from pyapsp.bench.report.drawing import inline
from pyapsp.bench.report.records import OVER
from pyapsp.registry import problems as registered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyapsp.bench.report.records import Collected

__all__ = ["report_page", "template"]


def template(name: str) -> Template:
    """Return a template from this folder, which also has the files that it includes."""
    loader = FileSystemLoader(Path(__file__).parent)
    return Environment(loader=loader, autoescape=True, keep_trailing_newline=True).get_template(
        name
    )


def report_page(
    collected: Collected, best: pd.DataFrame, figures: Mapping[str, tuple[str, str, str | None]]
) -> str:
    """Make the page.

    Parameters
    ----------
    collected : Collected
    best : pandas.DataFrame
        The result of `pyapsp.bench.report.comparison.fastest`.
    figures : mapping of str to (str, str, str or None)
        Name -> SVG document, caption, and SVG document for a phone if there is one; the first
        figure is at the top of the page.
    """
    every, areas = collected.runs, comparison.of_areas(collected.runs)
    runs, listed, problems = every[~areas], {}, []
    several = len(collected.devices) > 1
    summaries = {each.id: each.summary for each in registered()}
    for name, some in tables.by_problem(runs).items():
        listed[f"runs-{name}"] = tables.runs_table(some, collected.peers, devices=several)
        asked = collected.asked.get(name, "")
        problems.append({"id": name, "summary": summaries.get(name, ""), "asked": asked})
    listed |= {
        "fastest": tables.fastest_table(best),
        "areas": tables.areas_table(every),
        "graphs": tables.table(collected.graphs, tables.GRAPHS),
        "devices": tables.table(collected.devices, tables.DEVICES),
        "peers": tables.peers_table(runs, collected.peers),
        "software": tables.table(collected.software, tables.SOFTWARE),
    }
    not_run = _not_run(runs, collected.left_out)
    left_out = pd.concat([collected.left_out, not_run], ignore_index=True)
    listed["left-out"] = tables.table(left_out, tables.LEFT_OUT)
    answered = runs[~runs["status"].isin(("refused", "failed"))]
    once = runs["turns"].fillna(1).eq(1)
    return template("page.html.j2").render(
        count=len(every),
        graphs=runs["input"].nunique(),
        twice=collected.graphs["input"].duplicated().any(),
        areas=int(areas.sum()),
        problems=problems,
        methods=answered["method"].nunique(),
        states=comparison.count_states(every),
        types=sorted(runs["dtype"].unique()),
        leaders=_leaders(best),
        not_run=len(not_run),
        units=set(runs["unit"]),
        columns={
            column for name in listed if name.startswith("runs-") for column in listed[name].columns
        },
        timed=not once.all(),
        turns=sorted(runs["turns"].dropna().unique()),
        above=runs["fraction_of_roof"].gt(1).any(),
        ranges=best["ties"].gt(0).any(),
        once=(once & runs["wall_seconds"].notna()).any(),
        wide=int(best["wide"].eq(True).sum()),
        spread=comparison.SPREAD,
        rebenched=collected.peers.duplicated(["problem", "input", "n", "name", "what"]).any(),
        slower=runs.filter(regex=f"^{OVER}").lt(1).any(axis=None),
        certified=runs["verified_by"].str.contains("certificate").any(),
        narrower=best["shown"].str.endswith(")").any(),
        typed=best["same_type"].eq(False).any(),
        dates=" to ".join(dict.fromkeys(collected.dates[:1] + collected.dates[-1:])),
        hosts=_hosts(collected.software),
        twins=_twins(collected.devices),
        compared=_compared(best),
        dotted=_dotted,
        tables=listed,
        figures={
            name: {
                "svg": Markup(inline(svg, name)),
                "caption": caption,
                "narrow": narrow and Markup(inline(narrow, f"{name}-narrow")),
            }
            for name, (svg, caption, narrow) in figures.items()
        },
    )


def _leaders(best: pd.DataFrame) -> list[str]:
    """Say which method is the fastest on the largest graph of each problem."""
    known = best[best["method"].notna()]
    return [
        f"{problem}: {of['shown'].iloc[0]} on {of['input'].iloc[0]}, in {of['dtype'].iloc[0]}"
        for problem, of in known.groupby("problem", sort=False)
    ]


def _not_run(runs: pd.DataFrame, left_out: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each graph with the methods of a problem that ran on another graph alone.

    Methods of which it is known why they were left out have rows already.
    """
    rows, why = [], "cannot solve it, or was not asked to"
    known = set(left_out[["problem", "input", "what"]].itertuples(index=False, name=None))
    for problem, of in runs.groupby("problem", sort=False):
        every = set(of["method"])
        for (name, n), here in of.groupby(["input", "n"], sort=False):
            others = sorted(every.difference(here["method"]))
            if missing := [each for each in others if (problem, name, each) not in known]:
                rows.append((problem, name, n, ", ".join(missing), why))
    return pd.DataFrame(rows, columns=list(tables.LEFT_OUT))


def _hosts(software: pd.DataFrame) -> str:
    """Return the processors of the hosts."""
    return "; ".join(software["version"][software["name"].eq("processor")])


def _dotted(text: str) -> Markup:
    """Return a text that may be broken after its dots, as the names of functions are long."""
    return Markup(".<wbr>").join(text.split("."))


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
    """Count the rows on which the fastest method was faster than another package, and slower.

    Rows on which the other function answers in another type only count if all do.
    """

    def told(place: int) -> str:
        row = best.loc[place]
        return f"{row.ratio:.3g} times as fast as {row.calls} ({row.problem}, {row.input})"

    with_others, same = best["ratio"].notna(), best["same_type"].eq(True)
    counted = best[with_others & same] if (with_others & same).any() else best[with_others]
    even = counted["even"].eq(True)
    faster = counted["ratio"][counted["ratio"].ge(1) & ~even].astype(float)
    slower = counted["ratio"][counted["ratio"].lt(1) & ~even].astype(float)
    inside = best["kernel_seconds"].ge(best["peer_seconds"])[slower.index]
    found: dict[str, int | str] = {
        "timed": len(counted),
        "same": bool(same.any()),
        "others": int(with_others.sum()) - len(counted),
        "faster": len(faster),
        "even": int(even.sum()),
        "slower": len(slower),
        "kernels": int(inside.sum()),
        "outside": int((~inside).sum()),
    }
    if len(faster):
        found |= {"least": told(faster.idxmin()), "most": told(faster.idxmax())}
    if len(slower):
        found["slowest"] = told(slower.idxmin())
    return found
