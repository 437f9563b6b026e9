"""What the graphs of runs are: their size, directions, weights and source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from pyapsp.base.json import Record
from pyapsp.graph import datasets

__all__ = ["described"]

_COLUMNS = ("input", "n", "m", "directed", "weights", "longest", "source", "problems")


def described(records: Iterable[Record]) -> pd.DataFrame:
    """Describe the graphs of records, the largest first.

    Weights and source are known of graphs in the register of data sets.

    Returns
    -------
    pandas.DataFrame
        A row for each graph, and one for the same graph with each arc in both directions if a
        problem took that: input (its name), n, m (stored arcs), directed, weights, longest (the
        longest shortest path), source, problems. Unknown values are missing.
    """
    problems: dict[tuple[Any, ...], list[str]] = {}
    for record in records:
        about: Any = record.get("input") or {}
        # a partition has the numbers of arcs of the vertices, without directions
        key = about.get("name"), about.get("n"), about.get("m", about.get("units"))
        same = [each for each in problems if each[:3] == key]
        place = (*key, about.get("directed"))
        if same and (place[3] is None or same[0][3] is None):
            place, before = (place if same[0][3] is None else same[0]), problems.pop(same[0])
            problems[place] = before
        named = problems.setdefault(place, [])
        if record["problem"] not in named:
            named.append(str(record["problem"]))
    rows = [
        {**dict(zip(_COLUMNS, key, strict=False)), "problems": ", ".join(sorted(names))}
        | _registered(*key)
        for key, names in problems.items()
        if key[0] is not None
    ]
    table = pd.DataFrame(rows, columns=list(_COLUMNS), dtype=object)
    return table.sort_values(["n", "input", "m"], ascending=[False, True, True], ignore_index=True)


def _registered(name: str, n: int, m: int, directed: bool | None) -> Record:
    """Return what the register says of a graph; {} if it has another one by this name, or none."""
    if name not in datasets.names():
        return {}
    known = datasets.get(name)
    turned = directed is False and known.directed
    if known.n != n or (known.m != m and not turned):
        return {}
    weighted = known.weighted and known.weights != "unweighted"
    signs = "yes, some negative" if known.longest is None else "yes"
    return {
        "weights": signs if weighted else "no",
        # of the graph as it is in the register
        "longest": None if turned else known.longest,
        "source": _source(known),
    }


def _source(known: datasets.Dataset) -> str:
    if known.generator:
        function, *arguments = known.generator.split()
        return f"pyapsp.graph.generators.{function}({', '.join(arguments)})"
    return known.url or "a sample that comes with pyapsp: data/samples/README.md"
