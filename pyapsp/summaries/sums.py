"""Distances summed up: diameter, radius, eccentricities, average length, histogram, closeness.

Exact, without the n x n distances: a block of sources is solved on the device, and only sums over
its rows come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyapsp.errors import ParameterError
from pyapsp.graph import as_graph
from pyapsp.registry import Method
from pyapsp.summaries.searches import Searches

__all__ = [
    "average_path_length",
    "closeness",
    "distance_histogram",
    "eccentricity",
    "radius",
    "wiener_index",
]


def eccentricity(
    graph: Any,
    sources: Sequence[int] | np.ndarray | None = None,
    *,
    directed: bool = True,
    method: str | Method = "auto",
    device: Any = None,
    memory_limit: int | None = None,
) -> np.ndarray:
    """Return how far the farthest vertex is that each vertex reaches.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`.
    sources : (k,) sequence of int, optional
        Of these vertices only, in this order.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    method : str or Method
        ``"auto"`` or a sparse method: ``ms-bfs`` where all weights are 1, ``near-far`` where none
        is negative, else ``johnson``.
    device, memory_limit
        As for `solve`.

    Returns
    -------
    (k,) ndarray of int64 or float64
        Vertices that are not reached do not count: 0 for one that reaches none.

    Raises
    ------
    PyApspError
        As `solve`.
    """
    searched = Searches(
        graph,
        sources,
        directed=directed,
        method=method,
        device=device,
        memory_limit=memory_limit,
    )
    farthest = np.empty(searched.sources.size, searched.kind)
    for some, totals in searched.totals(searched.sources):
        farthest[some] = totals.largest
    return farthest


def radius(graph: Any, **options: Any) -> int | float:
    """Return the smallest eccentricity; parameters and errors are those of `eccentricity`.

    Raises
    ------
    ParameterError
        If the graph has no vertices.
    """
    farthest = eccentricity(graph, **options)
    if farthest.size == 0:
        raise ParameterError.of("graph", "radius", "at least one vertex", "a graph without")
    found: int | float = farthest.min().item()
    return found


def average_path_length(graph: Any, **options: Any) -> float:
    """Return the mean distance of the ordered pairs of different vertices that are connected.

    Parameters and errors are those of `eccentricity`. nan where no vertex reaches another.
    """
    searched = Searches(graph, **options)
    total, pairs = searched.kind.type(0), 0
    for _, totals in searched.totals(searched.sources):
        total += totals.total.sum(dtype=searched.kind)
        pairs += int(totals.reached.sum()) - totals.reached.size
    return float(total) / pairs if pairs else float("nan")


def wiener_index(graph: Any, **options: Any) -> int | float:
    """Return the sum of all distances, each pair once where the graph is undirected.

    Parameters and errors are those of `eccentricity`. inf where a vertex does not reach another.
    """
    searched = Searches(graph, **options)
    total, pairs = searched.kind.type(0), 0
    for _, totals in searched.totals(searched.sources):
        total += totals.total.sum(dtype=searched.kind)
        pairs += int(totals.reached.sum())
    if pairs < searched.sources.size * searched.graph.n:
        return float("inf")
    if searched.graph.directed:
        return total.item()
    return total.item() // 2 if searched.kind.kind == "i" else total.item() / 2


def closeness(
    graph: Any,
    sources: Sequence[int] | np.ndarray | None = None,
    *,
    improved: bool = True,
    **options: Any,
) -> np.ndarray:
    """Return the closeness of vertices: one over the mean distance from the others to each.

    Parameters
    ----------
    graph, sources, **options
        As for `eccentricity`.
    improved : bool
        Multiply by the part of the other vertices that reach it (Wasserman and Faust), so that
        small components do not look close.

    Returns
    -------
    (k,) ndarray of float64
        0 for a vertex that no other reaches.
    """
    graph = as_graph(graph)
    searched = Searches(graph.reversed() if graph.directed else graph, sources, **options)
    close = np.zeros(searched.sources.size)
    for some, totals in searched.totals(searched.sources):
        others, total = totals.reached - 1.0, totals.total.astype(np.float64)
        mean = np.divide(others, total, out=np.zeros_like(others), where=total > 0)
        close[some] = mean * others / max(graph.n - 1, 1) if improved else mean
    return close


def distance_histogram(
    graph: Any,
    sources: Sequence[int] | np.ndarray | None = None,
    *,
    width: int | float = 1,
    **options: Any,
) -> np.ndarray:
    """Return how many ordered pairs of different vertices there are at each distance.

    Parameters
    ----------
    graph, sources, **options
        As for `eccentricity`.
    width : int or float
        Of a bin: bin i has the distances d with ``width * i <= d < width * (i + 1)``.

    Returns
    -------
    (bins,) ndarray of int64
        Up to the largest distance; pairs that are not connected are in none.

    Raises
    ------
    ParameterError
        If the width is not positive, or a fraction where the weights are whole numbers.
    """
    searched = Searches(graph, sources, **options)
    if not width > 0 or (searched.kind.kind == "i" and int(width) != width):
        rule = "a positive number, whole where the weights are"
        raise ParameterError.of("width", "distance_histogram", rule, width)
    counts = np.zeros(1, np.int64)
    for _, totals in searched.totals(searched.sources, width):
        found = totals.counts
        assert found is not None
        if found.size > counts.size:
            counts = np.pad(counts, (0, found.size - counts.size))
        counts[: found.size] += found
    counts[0] -= searched.sources.size
    return counts if searched.sources.size else counts[:0]
