"""Search for a cycle of negative weight."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from pyapsp.graph.model import Graph

__all__ = ["cycle_of", "find_negative_cycle"]


def find_negative_cycle(graph: Graph) -> tuple[list[int], int | float] | None:
    """Return a negative cycle of the graph, if it has one.

    This is Bellman-Ford from all vertices at once; each round relaxes all arcs. If the arcs of the
    current distances form a cycle, that cycle is negative. They are checked after 1, 2, 4, …
    rounds. So there are at most twice as many rounds as needed, and never more than n.

    Parameters
    ----------
    graph : Graph
        Any graph.

    Returns
    -------
    tuple of (list of int, int or float), or None
        The vertices in order, the first repeated at the end, and the exact sum of the weights.
        None if there is no such cycle. If weights are not whole numbers, rounding in float64 may
        hide a negative cycle; then the result is also None.
    """
    if graph.m == 0 or not graph.has_negative:
        return None
    reverse = graph.reversed()  # row v: the arcs that enter v
    heads = np.flatnonzero(np.diff(reverse.indptr))
    starts = reverse.indptr[heads]
    tails = reverse.indices
    weights = reverse.weights
    if graph.is_integer and graph.n * graph.max_magnitude >= 2**53:
        weights = np.array([int(weight) for weight in weights.tolist()], dtype=object)  # exact
    elif weights.dtype == np.float32:
        weights = weights.astype(np.float64)
    arc_head = np.repeat(np.arange(heads.size), np.diff(np.append(starts, graph.m)))

    distance = np.zeros(graph.n, dtype=weights.dtype)
    parent = np.full(graph.n, graph.n)  # n: none
    for done in range(1, graph.n + 1):
        through = distance[tails] + weights
        best = np.minimum.reduceat(through, starts)
        better = best < distance[heads]
        if not better.any():
            return None
        position = np.where(through == best[arc_head], np.arange(graph.m), graph.m)
        arc = np.minimum.reduceat(position, starts)[better]
        distance[heads[better]] = best[better]
        parent[heads[better]] = tails[arc]
        if done & (done - 1) == 0 or done == graph.n:
            cycle = cycle_of(parent)
            if cycle is not None:
                weight = _weight_of(graph, cycle)
                return (cycle, weight) if weight < 0 else None
    return None


def cycle_of(parent: np.ndarray) -> list[int] | None:
    """Return a cycle of parent pointers, in the direction of the arcs.

    Parameters
    ----------
    parent : (n,) ndarray of int
        The vertex before each vertex; n if there is none.

    Returns
    -------
    list of int, or None
        The vertices in order, the first repeated at the end; None if there is no cycle.
    """
    n = parent.size
    jump = np.append(parent, n)
    for _ in range(n.bit_length()):
        jump = jump[jump]
    on_cycle = jump[jump < n]  # after n steps every pointer is on a cycle or is n
    if on_cycle.size == 0:
        return None
    start = int(on_cycle[0])
    backwards = [start]
    while True:
        backwards.append(int(parent[backwards[-1]]))
        if backwards[-1] == start:
            return backwards[::-1]


def _weight_of(graph: Graph, cycle: list[int]) -> int | float:
    weights: list[float] = []
    for tail, head in itertools.pairwise(cycle):
        row = slice(graph.indptr[tail], graph.indptr[tail + 1])
        weights.append(graph.weights[row][np.searchsorted(graph.indices[row], head)].item())
    if graph.weights.dtype.kind == "i":
        return int(sum(weights))
    try:
        return math.fsum(weights)
    except OverflowError:  # of the sum, or of a part of it
        total = sum(map(Fraction, weights), Fraction(0))
        if abs(total) > Fraction(float(np.finfo(np.float64).max)):
            return math.inf if total > 0 else -math.inf
        return float(total)
