"""Rows that the tables of chapters 8 and 9 share: ours beside the published values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from papers.published import Published
from papers.tables import Row
from papers.values import milliseconds, ratio

__all__ = ["of_graph", "of_times"]


def of_graph(
    paper: Published,
    exhibit: str,
    n: int,
    about: Mapping[str, Any],
    sizes: Mapping[str, int],
    quantities: Iterable[str],
    ours: str,
) -> Row:
    """Return the facts of a stand-in.

    Parameters
    ----------
    paper : Published
    exhibit : str
        The table of the thesis.
    n : int
        The size of the experiment.
    about : dict
        The record of the stand-in.
    sizes : dict of str to int
        Its vertices and arcs; published ones are in millions.
    quantities : iterable of str
        Other facts.
    ours : str
        What their columns are called.
    """
    name = about["label"]["graph"]
    row: Row = {"n": n, "graph": name}
    for quantity, value in sizes.items():
        row[f"{quantity}: stand-in"] = value
        theirs = paper.value(exhibit=exhibit, quantity=quantity, graph=name)
        row[f"million {quantity}: published"] = theirs
    for quantity in quantities:
        row[f"{quantity}: {ours}"] = about[quantity]
        theirs = paper.value(exhibit=exhibit, quantity=quantity, graph=name)
        row[f"{quantity}: published"] = theirs
    return row


def of_times(
    paper: Published,
    exhibit: str,
    n: int,
    graph: str,
    arcs: int,
    times: Mapping[str, float | None],
    devices: Mapping[str, str],
) -> Row:
    """Return times and rates of methods on a graph.

    Parameters
    ----------
    paper, exhibit, n
        As for `of_graph`.
    graph : str
    arcs : int
        The arcs of the stand-in; a rate is this number over the time.
    times : dict of str to float or None
        Method -> seconds.
    devices : dict of str to str
        Method -> the program and the device of the published values.
    """
    row: Row = {"n": n, "graph": graph}
    for method, seconds in times.items():
        row[f"{method}, ms: ours"] = milliseconds(seconds)
        row[f"{method}, MTEPS: ours"] = ratio(arcs / 1e6, seconds)
        for quantity, unit in (("time", "ms"), ("rate", "MTEPS")):
            theirs = paper.value(exhibit=exhibit, quantity=quantity, graph=graph, method=method)
            if theirs is not None:
                row[f"{method}, {unit}: {devices[method]}"] = theirs
    return row
