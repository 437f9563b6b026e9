"""Sums over rows of distances: eccentricity, radius, average, histogram, closeness, Wiener index.

They are exact and need no n x n matrix. The device computes the rows of a block of sources, and
only the sums over these rows are downloaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pyapsp.all_pairs.sparse.totals import Totals
from pyapsp.all_pairs.summaries.searches import Searches
from pyapsp.all_pairs.summaries.sharing import shared
from pyapsp.base.errors import NegativeWeightError, ParameterError, PrecisionError
from pyapsp.device import DeviceLike
from pyapsp.graph import GraphLike, Vertices, Weight, as_graph
from pyapsp.graph.names import by_number
from pyapsp.graph.validation import flag, is_real
from pyapsp.numbers.checks import advice
from pyapsp.paths import vertices_or_all
from pyapsp.registry import Method

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = [
    "average_shortest_path_length",
    "closeness_centrality",
    "distance_histogram",
    "eccentricity",
    "radius",
    "wiener_index",
]


# Bytes of an answer that is one number.
_NUMBER = 8


@shared
def eccentricity(
    graph: GraphLike,
    sources: Vertices | None = None,
    *,
    directed: bool = True,
    weight: Weight = ...,
    method: str | Method = "auto",
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> np.ndarray:
    """Return the eccentricity of vertices: the largest finite distance from each.

    Errors are those of `solve`.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`.
    sources : (k,) sequence of int, optional
        Return only the eccentricities of these vertices, in this order.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    weight : hashable, callable or None, optional
        As for `solve`.
    method : str or Method
        ``"auto"`` or a sparse method: ``ms-bfs`` if all weights are 1, ``near-far`` if no weight
        is negative, ``johnson`` for all weights.
    device, memory_limit
        As for `solve`. Several devices share the sources, and find the bits of one; the limit is
        that of each.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of sources; an exception that it raises
        ends the run.
    comm : mpi4py.MPI.Comm, optional
        Share the sources among the ranks of this communicator: all of them make this call, with the
        graph of rank 0, and all return the same. The `progress` of rank 0 is called.

    Returns
    -------
    (k,) ndarray of int64 or float64
        0 for a vertex that reaches no other. Vertices without a path are ignored; NetworkX raises
        an error for them.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], [2, 2, 3, 3])
    >>> pyapsp.eccentricity(graph)
    array([5, 3, 5])
    """
    searched = Searches(
        graph, sources, directed, weight, method, device, memory_limit, progress, comm
    )
    farthest = np.empty(searched.sources.size, searched.kind)
    for some, totals in searched.totals(searched.sources, farthest.nbytes):
        farthest[some] = totals.largest
    return farthest


@shared
def radius(
    graph: GraphLike,
    sources: Vertices | None = None,
    *,
    directed: bool = True,
    weight: Weight = ...,
    method: str | Method = "auto",
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> int | float:
    """Return the smallest eccentricity; parameters and errors are those of `eccentricity`.

    It is 0 if a vertex reaches no other. Pairs without a path are ignored; NetworkX raises an error
    for them.

    Raises
    ------
    ParameterError
        If the graph has no vertices.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], [2, 2, 3, 3])
    >>> pyapsp.radius(graph)
    3
    """
    farthest = eccentricity(
        graph,
        sources,
        directed=directed,
        weight=weight,
        method=method,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
        comm=comm,
    )
    if farthest.size == 0:
        raise ParameterError("a graph without vertices has no radius")
    smallest: int | float = farthest.min().item()
    return smallest


@shared
def average_shortest_path_length(
    graph: GraphLike,
    sources: Vertices | None = None,
    *,
    directed: bool = True,
    weight: Weight = ...,
    method: str | Method = "auto",
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> float:
    """Return the mean of the finite distances between different vertices.

    Each ordered pair counts once. The result is nan if no vertex reaches another. Pairs without a
    path are ignored; NetworkX raises an error for them. Parameters and errors are those of
    `eccentricity`.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], [2, 2, 3, 3])
    >>> round(pyapsp.average_shortest_path_length(graph), 3)
    3.333
    """
    searched = Searches(
        graph, sources, directed, weight, method, device, memory_limit, progress, comm
    )
    total: int | float = 0
    pairs = 0
    for _, totals in searched.totals(searched.sources, _NUMBER):
        total = _sum(totals, total)
        pairs += int(totals.reached.sum()) - totals.reached.size
    return total / pairs if pairs else float("nan")


@shared
def wiener_index(
    graph: GraphLike,
    *,
    directed: bool = True,
    weight: Weight = ...,
    method: str | Method = "auto",
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> int | float:
    """Return the sum of all distances.

    In an undirected graph each pair of vertices counts once. The result is inf if a vertex does not
    reach another. Parameters and errors are those of `eccentricity`, without `sources`.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], [2, 2, 3, 3])
    >>> pyapsp.wiener_index(graph)
    20
    """
    searched = Searches(graph, None, directed, weight, method, device, memory_limit, progress, comm)
    total: int | float = 0.0 if searched.kind.kind == "f" else 0
    pairs = 0
    for _, totals in searched.totals(searched.sources, _NUMBER):
        total = _sum(totals, total)
        pairs += int(totals.reached.sum())
    if pairs < searched.sources.size * searched.graph.n:
        return float("inf")
    halves: int | float = total
    if not searched.graph.directed:
        halves = total // 2 if searched.kind.kind == "i" else total / 2
    return halves


@shared
def closeness_centrality(
    graph: GraphLike,
    sources: Vertices | None = None,
    *,
    improved: bool = True,
    directed: bool = True,
    weight: Weight = ...,
    method: str | Method = "auto",
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> np.ndarray:
    """Return the closeness of vertices: one over the mean distance from the others to each.

    Errors are those of `solve`.

    Parameters
    ----------
    graph, sources, directed, weight, method, device, memory_limit, progress, comm
        As for `eccentricity`.
    improved : bool
        Multiply by the fraction of the other vertices that reach the vertex (Wasserman and Faust).
        Otherwise vertices of small components have a high closeness. This is ``wf_improved`` of
        NetworkX.

    Returns
    -------
    (k,) ndarray of float64
        0 for a vertex that no other reaches.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], [2, 2, 3, 3])
    >>> pyapsp.closeness_centrality(graph).round(3)
    array([0.286, 0.4  , 0.25 ])
    """
    directed = flag("directed", "a summary", directed)
    improved = flag("improved", "closeness_centrality", improved)
    graph = as_graph(graph, directed, weight=weight, copy=False)
    chosen = vertices_or_all(graph, sources, "a summary")
    # the weights are already those that `weight` names
    graph = by_number(graph.reversed() if graph.directed else graph)
    searched = Searches(graph, chosen, True, ..., method, device, memory_limit, progress, comm)
    close = np.zeros(searched.sources.size)
    for some, totals in searched.totals(searched.sources, close.nbytes):
        _sum(totals)
        others, total = totals.reached - 1.0, totals.total.astype(np.float64)
        mean = np.divide(others, total, out=np.zeros_like(others), where=total > 0)
        close[some] = mean * others / max(graph.n - 1, 1) if improved else mean
    return close


@shared
def distance_histogram(
    graph: GraphLike,
    sources: Vertices | None = None,
    *,
    width: int | float = 1,
    directed: bool = True,
    weight: Weight = ...,
    method: str | Method = "auto",
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> np.ndarray:
    """Return the number of ordered pairs of different vertices at each distance.

    Parameters
    ----------
    graph, sources, directed, weight, method, device, memory_limit, progress, comm
        As for `eccentricity`.
    width : int or float
        Width of a bin: bin i counts the distances d with ``floor(d / width) == i``.

    Returns
    -------
    (bins,) ndarray of int64
        Counts up to the largest finite distance. Pairs without a path are not counted.

    Raises
    ------
    ParameterError
        If the width is not positive, if it is a fraction and all weights are whole numbers, or if
        there would be more than 2^28 bins.
    NegativeWeightError
        If there is a negative weight.
    """
    searched = Searches(
        graph, sources, directed, weight, method, device, memory_limit, progress, comm
    )
    whole = searched.kind.kind == "i"
    number = is_real(width) and 0 < width < np.inf
    if not number or (whole and int(width) != width):
        rule = "a positive number, whole where the weights are"
        raise ParameterError.of("width", "distance_histogram", rule, width)
    if searched.graph.has_negative:
        raise NegativeWeightError("distance_histogram needs non-negative weights")
    # a width above every distance makes one bin; it must fit in the type of the distances
    width = min(width, searched.infinity)
    counts = np.zeros(1, np.int64)
    for _, totals in searched.totals(searched.sources, None, width):
        more = totals.counts
        assert more is not None
        if more.size > counts.size:
            counts = np.pad(counts, (0, more.size - counts.size))
        counts[: more.size] += more
    counts[0] -= searched.sources.size
    return counts if searched.sources.size else counts[:0]


def _sum(totals: Totals, before: int | float = 0) -> int | float:
    """Return the sum of all distances, as a Python int of any size if they are whole numbers.

    They are added to an earlier sum one after the other, so that rounding does not depend on the
    size of blocks.

    Raises
    ------
    PrecisionError
        If the sum of one row may not fit in int64, or a sum of floats is above their range.
    """
    far, many = totals.largest.max(initial=0).item(), int(totals.reached.max(initial=0))
    if totals.total.dtype.kind == "i" and far * many >= 2**63:
        raise PrecisionError(
            f"{many} distances of up to {far} do not add up in int64: {advice(np.dtype(np.int64))}"
        )
    total = before
    for each in totals.total.tolist():  # `sum` compensates for rounding since Python 3.12
        total += each
    if isinstance(total, float) and not math.isfinite(total):
        kind = totals.total.dtype
        raise PrecisionError(f"distances of up to {far:g} do not add up in {kind}: {advice(kind)}")
    return total
