"""Find the negative cycle that a search has detected."""

from __future__ import annotations

import numpy as np

from pyapsp.graph import Graph
from pyapsp.graph.negative_cycle import cycle_of
from pyapsp.numbers.checks import negative_cycle, refuse_negative_cycle
from pyapsp.numbers.precision import infinity

__all__ = ["check_distances", "look_for_cycle", "refuse_reached_cycle"]


def refuse_reached_cycle(graph: Graph, distances: np.ndarray) -> None:
    """Raise the error of a negative cycle among the vertices that are reached.

    Raises
    ------
    NegativeCycleError, PrecisionError
        As `pyapsp.numbers.checks.refuse_negative_cycle`.
    """
    refuse_negative_cycle(_reached(graph, distances), distances.dtype)


def check_distances(graph: Graph, distances: np.ndarray) -> None:
    """Raise an error if distances in the middle of a search show a negative cycle.

    If a search goes round a negative cycle, its distances fall below all that other vertices offer.
    Then the best offers to its vertices come from the cycle, and form one. Only if the best offers
    form a cycle, the weights are looked at.

    Raises
    ------
    NegativeCycleError
        If there is one, and the best offers form a cycle.
    """
    tails, heads, weights = graph.arcs()
    reached = distances[tails] < infinity(distances.dtype)
    tails, heads = tails[reached], heads[reached]
    offers = distances[tails].astype(np.float64) + weights[reached]
    best = np.full(graph.n, np.inf)
    np.minimum.at(best, heads, offers)
    parents = np.full(graph.n, graph.n)
    taken = offers == best[heads]
    parents[heads[taken]] = tails[taken]
    if cycle_of(parents) is not None:
        look_for_cycle(graph, distances)


def look_for_cycle(graph: Graph, distances: np.ndarray) -> None:
    """Raise an error if there is a negative cycle among the vertices that are reached.

    Raises
    ------
    NegativeCycleError
        If there is one.
    """
    error = negative_cycle(_reached(graph, distances))
    if error is not None:
        raise error


def _reached(graph: Graph, distances: np.ndarray) -> Graph:
    """Return the graph with the arcs of the vertices that are reached."""
    tails, heads, weights = graph.arcs()
    taken = (distances < infinity(distances.dtype))[tails]
    return Graph.from_arcs(graph.n, tails[taken], heads[taken], weights[taken], labels=graph.labels)
