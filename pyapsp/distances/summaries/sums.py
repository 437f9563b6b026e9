"""Distances summed up: diameter, radius, eccentricities, average length, histogram, closeness.

Exact, without the n x n distances: a block of sources is solved on the device, and only sums over
its rows come back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyapsp.distances.summaries.searches import Searches
from pyapsp.errors import NegativeWeightError, ParameterError, PrecisionError
from pyapsp.graph import as_graph
from pyapsp.graph.validation import is_real
from pyapsp.registry import Method
from pyapsp.sparse.totals import Totals

__all__ = [
    "average_shortest_path_length",
    "closeness_centrality",
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
    progress: Callable[[int, int], None] | None = None,
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
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of sources; an exception from it ends
        the run.

    Returns
    -------
    (k,) ndarray of int64 or float64
        Vertices that are not reached do not count: 0 for one that reaches none. NetworkX's raises
        where some vertex does not reach another.

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
        progress=progress,
    )
    farthest = np.empty(searched.sources.size, searched.kind)
    for some, totals in searched.totals(searched.sources):
        farthest[some] = totals.largest
    return farthest


def radius(
    graph: Any,
    sources: Sequence[int] | np.ndarray | None = None,
    *,
    directed: bool = True,
    method: str | Method = "auto",
    device: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int | float:
    """Return the smallest eccentricity; parameters and errors are those of `eccentricity`.

    0 where a vertex reaches no other. NetworkX's raises where some vertex does not reach another.

    Raises
    ------
    ParameterError
        If the graph has no vertices.
    """
    farthest = eccentricity(
        graph,
        sources,
        directed=directed,
        method=method,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
    )
    if farthest.size == 0:
        raise ParameterError.of("graph", "radius", "at least one vertex", "a graph without")
    found: int | float = farthest.min().item()
    return found


def average_shortest_path_length(
    graph: Any,
    sources: Sequence[int] | np.ndarray | None = None,
    *,
    directed: bool = True,
    method: str | Method = "auto",
    device: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> float:
    """Return the mean distance of the ordered pairs of different vertices that are connected.

    Parameters and errors are those of `eccentricity`. nan where no vertex reaches another.
    NetworkX's raises where some vertex does not reach another.
    """
    searched = Searches(
        graph,
        sources,
        directed=directed,
        method=method,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
    )
    total: Any = 0
    pairs = 0
    for _, totals in searched.totals(searched.sources):
        total += _sum(totals)
        pairs += int(totals.reached.sum()) - totals.reached.size
    return total / pairs if pairs else float("nan")


def wiener_index(
    graph: Any,
    *,
    directed: bool = True,
    method: str | Method = "auto",
    device: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int | float:
    """Return the sum of all distances, each pair once where the graph is undirected.

    Parameters and errors are those of `eccentricity`, without `sources`. inf where a vertex does
    not reach another.
    """
    searched = Searches(
        graph,
        directed=directed,
        method=method,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
    )
    total: Any = 0.0 if searched.kind.kind == "f" else 0
    pairs = 0
    for _, totals in searched.totals(searched.sources):
        total += _sum(totals)
        pairs += int(totals.reached.sum())
    if pairs < searched.sources.size * searched.graph.n:
        return float("inf")
    halves: int | float = total
    if not searched.graph.directed:
        halves = total // 2 if searched.kind.kind == "i" else total / 2
    return halves


def closeness_centrality(
    graph: Any,
    sources: Sequence[int] | np.ndarray | None = None,
    *,
    improved: bool = True,
    directed: bool = True,
    method: str | Method = "auto",
    device: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Return the closeness of vertices: one over the mean distance from the others to each.

    Parameters
    ----------
    graph, sources, directed, method, device, memory_limit, progress
        As for `eccentricity`.
    improved : bool
        Multiply by the part of the other vertices that reach it (Wasserman and Faust), so that
        small components do not look close: NetworkX's ``wf_improved``.

    Returns
    -------
    (k,) ndarray of float64
        0 for a vertex that no other reaches.
    """
    graph = as_graph(graph, copy=False)
    searched = Searches(
        graph.reversed() if graph.directed else graph,
        sources,
        directed=directed,
        method=method,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
    )
    close = np.zeros(searched.sources.size)
    for some, totals in searched.totals(searched.sources):
        _sum(totals)
        others, total = totals.reached - 1.0, totals.total.astype(np.float64)
        mean = np.divide(others, total, out=np.zeros_like(others), where=total > 0)
        close[some] = mean * others / max(graph.n - 1, 1) if improved else mean
    return close


def distance_histogram(
    graph: Any,
    sources: Sequence[int] | np.ndarray | None = None,
    *,
    width: int | float = 1,
    directed: bool = True,
    method: str | Method = "auto",
    device: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Return how many ordered pairs of different vertices there are at each distance.

    Parameters
    ----------
    graph, sources, directed, method, device, memory_limit, progress
        As for `eccentricity`.
    width : int or float
        Of a bin: bin i has the distances d with ``floor(d / width) == i``.

    Returns
    -------
    (bins,) ndarray of int64
        Up to the largest distance; pairs that are not connected are in none.

    Raises
    ------
    ParameterError
        If the width is not positive, or a fraction where the weights are whole numbers; or so
        small that there are more than 2^28 bins.
    NegativeWeightError
        If there is a negative weight.
    """
    searched = Searches(
        graph,
        sources,
        directed=directed,
        method=method,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
    )
    whole = searched.kind.kind == "i"
    number = is_real(width) and 0 < width < np.inf
    if not number or (whole and int(width) != width):
        rule = "a positive number, whole where the weights are"
        raise ParameterError.of("width", "distance_histogram", rule, width)
    if searched.graph.has_negative:
        raise NegativeWeightError("distance_histogram needs non-negative weights")
    # beyond every distance it makes one bin, whatever the type that distances are held in
    width = min(width, searched.infinity)
    counts = np.zeros(1, np.int64)
    for _, totals in searched.totals(searched.sources, width):
        found = totals.counts
        assert found is not None
        if found.size > counts.size:
            counts = np.pad(counts, (0, found.size - counts.size))
        counts[: found.size] += found
    counts[0] -= searched.sources.size
    return counts if searched.sources.size else counts[:0]


def _sum(totals: Totals) -> int | float:
    """Return the sum of all distances, of any size where they are whole numbers.

    Raises
    ------
    PrecisionError
        If that from one source may be past int64.
    """
    far, many = totals.largest.max(initial=0).item(), int(totals.reached.max(initial=0))
    if totals.total.dtype.kind == "i" and far * many >= 2**63:
        raise PrecisionError(f"{many} distances of up to {far} do not add up in int64")
    total: int | float = sum(totals.total.tolist())
    return total
