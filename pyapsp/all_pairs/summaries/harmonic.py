"""Harmonic centrality: sums of one over the distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.csgraph import connected_components

from pyapsp.all_pairs.summaries.searches import Searches
from pyapsp.base.dry import is_dry, needed
from pyapsp.base.progress import of_sources
from pyapsp.device import DeviceLike
from pyapsp.graph import Graph, GraphLike, Vertices, Weight, as_graph
from pyapsp.graph.names import by_number
from pyapsp.graph.validation import flag
from pyapsp.paths import vertices_or_all
from pyapsp.registry import Method, check_limits
from pyapsp.registry.ranks import sources_on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["harmonic_centrality"]

# Distances that are on the host at once.
_VALUES = 2**22
# Small components are searched together, as a graph of at most this many vertices.
_TOGETHER = 2**10


@sources_on_ranks(gathered=True)
def harmonic_centrality(
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
    """Return the harmonic centrality of vertices: the sum of 1 / distance from the others to each.

    Unlike the closeness it needs no rule for vertices that are not reached: they add 0. So do, as
    in NetworkX, other vertices at distance 0.

    Errors are those of `solve`.

    Parameters
    ----------
    graph, sources, directed, weight, method, device, memory_limit, comm
        As for `eccentricity`.
    progress : callable, optional
        As for `eccentricity`; with `comm` it is called with the sources of the part of rank 0.

    Returns
    -------
    (k,) ndarray of float64

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], [2, 2, 3, 3])
    >>> pyapsp.harmonic_centrality(graph).round(3)
    array([0.7  , 0.833, 0.533])
    """
    owner = "harmonic_centrality"
    memory_limit = check_limits(memory_limit, progress, owner)
    graph = as_graph(graph, flag("directed", owner, directed), weight=weight, copy=False)
    chosen = vertices_or_all(graph, sources, owner)
    tell, total, done = of_sources(progress), chosen.size, 0
    sums = np.zeros(total)
    graph, place = _by_component(by_number(graph.reversed() if graph.directed else graph))
    places = chosen if place is None else place[chosen]
    order = np.argsort(places, kind="stable")

    def searches() -> Iterator[tuple[np.ndarray, Graph, Searches]]:
        """Yield the parts with sources, one after the other."""
        for first, part in _parts(graph, split=place is not None):
            bounds = np.searchsorted(places, [first, first + part.n], sorter=order)
            here = order[slice(*bounds)]
            if not here.size and total:
                continue
            searched = Searches(
                part,
                places[here] - first,
                method=method,
                device=device,
                memory_limit=memory_limit,
                rows=True,
            )
            yield here, part, searched

    if is_dry():
        needed(max((each.device_bytes for *_, each in searches()), default=0), sums.nbytes)
    for here, part, searched in searches():
        some = max(_VALUES // max(part.n, 1), 1)
        for start in range(0, here.size, some):
            rows = searched.rows(searched.sources[start : start + some])
            other = (rows != 0) & (rows < searched.infinity)
            inverse = np.divide(1, rows, out=np.zeros(rows.shape), where=other)
            sums[here[start : start + some]] = inverse.sum(axis=1)
            done += len(rows)
            if tell is not None:
                tell(done, total)
    return sums


def _by_component(graph: Graph) -> tuple[Graph, np.ndarray | None]:
    """Return a graph with the vertices of each component together, and the place of each vertex.

    The place is None if the graph is small, or has one component, and so stays as it is.
    """
    if graph.n <= _TOGETHER:
        return graph, None
    count, component = connected_components(graph.to_scipy(), directed=False)
    if count == 1:
        return graph, None
    place = np.argsort(np.argsort(component, kind="stable"))
    tails, heads, weights = graph.arcs()
    return Graph.from_arcs(graph.n, place[tails], place[heads], weights), place


def _parts(graph: Graph, *, split: bool) -> Iterator[tuple[int, Graph]]:
    """Yield the parts of a graph, each with its first vertex: large components, or small ones.

    A search costs a row of all vertices of its part, also of those in other components.
    """
    if not split:
        yield 0, graph
        return
    starts, first = graph.indptr, 0
    _, component = connected_components(graph.to_scipy(), directed=False)
    ends = np.cumsum(np.bincount(component)).tolist()
    for end, following in zip(ends, [*ends[1:], math.inf], strict=True):
        if following - first > _TOGETHER:
            arcs = slice(starts[first], starts[end])
            yield (
                first,
                Graph.from_checked_rows(
                    starts[first : end + 1] - starts[first],
                    graph.indices[arcs] - first,
                    graph.weights[arcs],
                    copy=False,
                ),
            )
            first = end
