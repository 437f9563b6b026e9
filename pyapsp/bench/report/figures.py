"""The figures of a report: which ones the runs have values for, and the sentence below each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from pyapsp.bench.report.by_input import by_input, drawable, is_by_size
from pyapsp.bench.report.comparison import function
from pyapsp.bench.report.records import OVER
from pyapsp.bench.report.tables import by_problem
from pyapsp.bench.report.whole_calls import fastest

__all__ = ["Drawn", "drawn"]


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
    if is_by_size(runs):
        return " Lines connect inputs of one kind that differ in their size."
    return " A panel for each graph, the largest first; its methods, the best one first."


def _of_problem(
    problem: str, runs: pd.DataFrame, peers: pd.DataFrame
) -> Iterator[tuple[str, Drawn]]:
    """Yield the figures of one problem, by name."""
    unit = runs["unit"].iloc[0]
    if drawable(runs, "rate").any():
        yield (
            "speed",
            Drawn(
                by_input(runs, "rate", f"{unit}/s in kernels"),
                f"{problem}, speed in kernels: {unit} per second of kernel time, without transfers "
                f"and the host.{_drawing(runs)}",
            ),
        )
    if drawable(runs, "fraction_of_roof").any():
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
        if drawable(runs, column).any():
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
