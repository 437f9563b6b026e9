"""Files ``.pairs``: a line "tail head weight" for each arc; vertices are numbers from 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pyapsp.base.errors import FormatError
from pyapsp.base.files import atomic_write
from pyapsp.graph.io.contents import ArcList
from pyapsp.graph.model import Graph

__all__ = ["read", "write"]


def read(path: Path) -> ArcList:
    """Read the arcs.

    Raises
    ------
    FormatError
        A line has no three whole numbers, or a vertex is negative.
    """
    arcs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            tail, head, weight = map(int, line.split())
        except ValueError:
            raise FormatError(
                path, number, f"three whole numbers are expected, not {line!r}"
            ) from None
        if min(tail, head) < 0:
            raise FormatError(path, number, f"a vertex is negative: {line!r}")
        arcs.append((tail, head, weight))
    tails, heads, weights = np.array(arcs, np.int64).reshape(-1, 3).T
    n = int(max(tails.max(initial=-1), heads.max(initial=-1))) + 1
    return ArcList(n, tails, heads, weights)


def write(graph: Graph, path: Path) -> None:
    """Write the arcs."""
    with atomic_write(path) as file:
        for arc in zip(*(each.tolist() for each in graph.arcs()), strict=True):
            print(*arc, file=file)
