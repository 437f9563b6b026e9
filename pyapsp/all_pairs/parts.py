"""A part of a problem, by whose time the prediction of the whole is corrected.

A part is some of the sources, or for a method that updates the matrix a graph of fewer vertices.
The sources are in runs, because searches from neighbours share work. The runs are spread over all
sources, because neighbours may reach equally few vertices. The rows of a part are not kept: so all
rows of an answer are from one method.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from pyapsp.graph import Facts, Graph
from pyapsp.graph.rows import tails_of
from pyapsp.paths import AllPairsMethod, AllPairsOptions
from pyapsp.registry import Answer, AnyPlan

if TYPE_CHECKING:
    from pyapsp.all_pairs.sparse.source_blocks import SourceBlocks

__all__ = ["Part", "part_of", "ratios"]

# A part has one of so many sources, or of so many vertices. If a method needs more sources for its
# full speed, it gets them, but at most one of _MOST.
_SOURCES, _MOST, _VERTICES = 32, 8, 4
# The longest predicted time of a part, in seconds, and the bytes of its rows.
_SECONDS, _BYTES = 0.5, 2**28
# The first turn may build kernels.
_TURNS = 2


@dataclass(frozen=True)
class Part:
    """A part of a problem that a method has planned.

    Attributes
    ----------
    run : callable
        Solves the part.
    predicted : float
        Predicted seconds.
    """

    run: Callable[[], Answer | None]
    predicted: float


def part_of(plan: AnyPlan, method: AllPairsMethod, facts: Facts, rows: int) -> Part | None:
    """Plan a part for a method; None if it would be too large or too small to tell anything.

    Parameters
    ----------
    plan : Plan
        The plan of the whole. The part has the same parameters, and so the same kernels.
    method : AllPairsMethod
    facts : Facts
        The facts of the graph by which the whole was predicted.
    rows : int
        The number of rows by which the whole was predicted.
    """
    options = replace(plan.options, out=None, device_rows=None, progress=None, check=False)
    whole = method.predict(facts, options, rows)
    if not whole:
        return None
    if method.by_source:
        return _of_sources(cast("SourceBlocks", method), plan, facts, options, whole)
    return _of_vertices(method, plan, options, whole)


def ratios(parts: Sequence[Part]) -> list[float]:
    """Run the parts in turns; return measured by predicted time of each.

    Raises
    ------
    PyApspError
        As the runs of the whole, but distances are not checked.
    """
    shortest = [np.inf] * len(parts)
    for _ in range(_TURNS):
        for place, part in enumerate(parts):
            started = time.perf_counter()
            part.run()
            shortest[place] = min(shortest[place], time.perf_counter() - started)
    return [least / part.predicted for least, part in zip(shortest, parts, strict=True)]


def _of_sources(
    method: SourceBlocks,
    plan: AnyPlan,
    facts: Facts,
    options: AllPairsOptions,
    whole: float,
) -> Part | None:
    """Search from some of the sources."""
    n, sources = plan.input.n, options.rows(plan.input.n)
    same, fewest, run = method.for_few(plan)
    runs = max(sources.size // _SOURCES, fewest) // run
    count = runs * run
    most = min(1 / _MOST, _SECONDS / whole) * sources.size
    if count > most or count * n * (options.dtype.itemsize + 4) > _BYTES:
        return None
    starts = np.arange(runs) * sources.size // runs
    some = sources[np.add.outer(starts, np.arange(run)).ravel()]
    session = same.start(same.plan(plan.input, replace(options, sources=some)))
    distances = np.empty((count, n), options.answer or options.dtype)
    before = np.empty((count, n), np.int32) if options.predecessors else None
    predicted = cast("float", method.predict(facts, options, count))
    return Part(lambda: session.fill(some, distances, before), predicted)


def _of_vertices(
    method: AllPairsMethod,
    plan: AnyPlan,
    options: AllPairsOptions,
    whole: float,
) -> Part | None:
    """Solve the graph of the first vertices; the time of a round depends on no arc."""
    graph = plan.input
    count = int(graph.n * min(1 / _VERTICES, (_SECONDS / whole) ** (1 / 3)))
    starts = graph.indptr[: count + 1]
    heads = graph.indices[: starts[-1]]
    tails, inside = tails_of(starts), heads < count
    weights = graph.weights[: starts[-1]][inside]
    corner = Graph.from_arcs(count, tails[inside], heads[inside], weights)
    predicted = method.predict(corner.facts, options, count)
    same = method.with_parameters(plan)
    part = same.plan(corner, options)
    return Part(lambda: same.run(part), predicted) if predicted else None
