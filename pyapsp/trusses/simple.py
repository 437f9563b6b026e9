"""Undirected simple graphs: the samples of the problems, and the edges of a graph."""

from __future__ import annotations

import numpy as np

from pyapsp.base.host import share
from pyapsp.graph import Graph
from pyapsp.graph.both_ways import both_ways
from pyapsp.graph.families import draw
from pyapsp.registry import Options, Requirements
from pyapsp.traversal.symmetry import has_every_reverse

__all__ = ["edge_count", "edges", "loops", "sample", "undirected"]

# Arcs of a vertex in samples, so that they have triangles.
_ARCS = 6


def undirected(graph: Graph, options: Options) -> Graph:
    """Return a graph as an undirected graph, which may have self-loops.

    The options name the device, which may test whether both arcs of each edge are there.
    """
    return both_ways(graph) if has_every_reverse(graph, options) else graph.symmetrized()


def edges(graph: Graph) -> np.ndarray:
    """Return which arcs of an undirected graph are the edges (u, v) with u < v, (m,) bool."""
    tails, heads, _ = graph.arcs()
    upper: np.ndarray = tails < heads
    return upper


def loops(graph: Graph) -> np.ndarray:
    """Return which vertices have a self-loop, (n,) bool."""
    looped, first = np.zeros(graph.n, bool), graph.indptr

    def look(start: int, stop: int) -> None:
        degrees = np.diff(first[start : stop + 1])
        tails = np.repeat(np.arange(start, stop, dtype=np.int32), degrees)
        looped[tails[tails == graph.indices[first[start] : first[stop]]]] = True

    share(look, graph.n, 8 * graph.m)
    return looped


def edge_count(graph: Graph) -> int:
    """Return the number of edges of an undirected graph, without self-loops."""
    return (graph.m - int(np.count_nonzero(loops(graph)))) // 2


def sample(size: int, family: str, seed: int, requires: Requirements) -> Graph:
    """Return a random undirected graph with triangles and some self-loops.

    Parameters
    ----------
    size : int
        Approximate number of vertices.
    family : str
        One of `pyapsp.graph.families.FAMILIES`. A mesh gets a diagonal in each square.
    seed : int
    requires : Requirements
        Methods of these problems have none for the input.
    """
    graph = draw(family, size, seed, arcs=_ARCS)
    tails, heads, weights = graph.arcs()
    n, rng = graph.n, np.random.default_rng(seed)
    parts: list[tuple[np.ndarray, ...]] = [(tails, heads, weights)]
    if family == "mesh" and n > 1:
        side = round(np.sqrt(n))
        corners = np.arange(n - side - 1)
        corners = corners[corners % side != side - 1]
        parts.append((corners, corners + side + 1, rng.integers(1, 20, corners.size)))
    loops = np.arange(0, n, 11)
    parts.append((loops, loops, rng.integers(1, 20, loops.size)))
    ends = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Graph.from_arcs(n, *ends, directed=False, name=graph.name)
