"""Files ``.pairs``: a line "tail head weight" for each arc; vertices are numbers from 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pyapsp.base.files import atomic_write
from pyapsp.graph.io.contents import ArcList
from pyapsp.graph.io.source import LineError, Source
from pyapsp.graph.model import Graph

__all__ = ["read", "write"]


def read(source: Source) -> ArcList:
    """Read the arcs.

    Raises
    ------
    LineError
        A line has no three whole numbers, or a vertex is negative.
    """
    arcs = []
    for number, line in enumerate(source.lines(), start=1):
        try:
            tail, head, weight = map(int, line.split())
        except ValueError:
            message = f"three whole numbers are expected, not {line!r}"
            raise LineError(number, message) from None
        if min(tail, head) < 0:
            raise LineError(number, f"a vertex is negative: {line!r}")
        arcs.append((tail, head, weight))
    tails, heads, weights = np.array(arcs, np.int64).reshape(-1, 3).T
    n = int(max(tails.max(initial=-1), heads.max(initial=-1))) + 1
    return ArcList(n, tails, heads, weights)


def write(graph: Graph, path: Path) -> None:
    """Write the arcs."""
    with atomic_write(path) as file:
        for arc in zip(*(each.tolist() for each in graph.arcs()), strict=True):
            print(*arc, file=file)
