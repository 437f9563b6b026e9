"""Sequential searches by Bellman and Ford, compiled by Numba, which count relaxations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from pyapsp.errors import CapabilityError
from pyapsp.graph import Graph

__all__ = ["SEARCHES", "search"]

_INFINITY = np.int64(2**62)


def search(name: str, graph: Graph, source: int) -> tuple[np.ndarray, int]:
    """Return the distances from a source, inf for none, and the number of relaxations.

    Parameters
    ----------
    name : str
        In `SEARCHES`.
    graph : Graph
        With integer weights and no negative cycle.
    source : int

    Raises
    ------
    CapabilityError
        If Numba is not installed.
    """
    distances = np.full(graph.n, _INFINITY)
    arcs = graph.indptr, graph.indices, graph.weights.astype(np.int64, copy=False)
    relaxations = _compiled(name)(*arcs, source, distances)
    return np.where(distances < _INFINITY, distances.astype(float), np.inf), int(relaxations)


@cache
def _compiled(name: str) -> Callable[..., Any]:
    try:
        import numba
    except ImportError:
        raise CapabilityError("sequential searches need Numba: pip install numba") from None
    compiled: Callable[..., Any] = numba.njit(SEARCHES[name])
    return compiled


def _queue(
    first: np.ndarray, heads: np.ndarray, weights: np.ndarray, source: int, distances: np.ndarray
) -> int:
    """Keep vertices whose distance was lowered in a queue, each once."""
    n, relaxations = first.size - 1, 0
    ring, waits = np.empty(n, np.int64), np.zeros(n, np.bool_)
    distances[source], ring[0], waits[source] = 0, source, True
    front, size = 0, 1
    while size > 0:
        u = ring[front]
        front = front + 1 if front + 1 < n else 0
        size -= 1
        waits[u] = False
        for arc in range(first[u], first[u + 1]):
            v, offer = heads[arc], distances[u] + weights[arc]
            relaxations += 1
            if offer < distances[v]:
                distances[v] = offer
                if not waits[v]:
                    ring[(front + size) % n] = v
                    size += 1
                    waits[v] = True
    return relaxations


def _sweeps(
    first: np.ndarray, heads: np.ndarray, weights: np.ndarray, source: int, distances: np.ndarray
) -> int:
    """Relax all arcs until nothing changes."""
    n, relaxations, changes = first.size - 1, 0, True
    infinity = distances[source]
    distances[source] = 0
    while changes:
        changes = False
        for u in range(n):
            for arc in range(first[u], first[u + 1]):
                offer = distances[u] + weights[arc]
                relaxations += 1
                if distances[u] < infinity and offer < distances[heads[arc]]:
                    distances[heads[arc]] = offer
                    changes = True
    return relaxations


#: Name -> function of the arcs, the source and the array of distances.
SEARCHES: dict[str, Callable[..., int]] = {"queue": _queue, "queue-less": _sweeps}
