"""Ten shapes of graphs for breadth-first searches, alone and as one graph, with SciPy's levels."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph

from pyapsp.graph import Graph, generators
from pyapsp.paths.result import NO_PREDECESSOR

RNG = np.random.default_rng(4)


def arcs(n, tails, heads, **more):
    return Graph.from_arcs(n, np.asarray(tails), np.asarray(heads), **more)


def star_of_stars(inner, outer):
    centres = np.arange(1, inner + 1)
    leaves = np.arange(inner + 1, inner + 1 + inner * outer)
    tails = np.concatenate([np.zeros(inner, int), np.repeat(centres, outer)])
    return arcs(1 + inner + leaves.size, tails, np.concatenate([centres, leaves]), directed=False)


#: Ten shapes, with the source of the search in each.
SHAPES = {
    "path": (arcs(90, range(89), range(1, 90)), 0),
    "star": (arcs(400, [0] * 399, range(1, 400), directed=False), 7),
    "star of stars": (star_of_stars(20, 25), 3),
    "grid": (generators.grid_2d(15, 20, 1), 0),
    "clique": (generators.complete(70, seed=1), 69),
    "isolated vertices": (arcs(60, [0, 1, 5], [1, 5, 59]), 0),
    "self-loops": (arcs(40, [*range(40), *range(39)], [*range(40), *range(1, 40)]), 5),
    "parallel arcs": (arcs(50, RNG.integers(0, 50, 900), RNG.integers(0, 50, 900)), 0),
    "directed with sinks": (arcs(200, np.repeat(range(20), 10), range(200)), 1),
    "disconnected": (arcs(300, RNG.integers(0, 290, 500), RNG.integers(0, 290, 500)), 2),
}


def together():
    """All shapes as one graph, without an arc between two of them, and the source in each."""
    tails, heads, sources, n = [], [], [], 0
    for graph, source in SHAPES.values():
        one, other, _ = graph.arcs()
        tails.append(one + n)
        heads.append(other + n)
        sources.append(n + source)
        n += graph.n
    return arcs(n, np.concatenate(tails), np.concatenate(heads)), sources


GRAPH, SOURCES = together()


def expected_levels(graph, sources):
    ones = graph.with_weights(np.ones(graph.m, np.int64)).to_scipy()
    found = csgraph.dijkstra(ones, unweighted=True, indices=sources)
    return np.where(np.isfinite(found), found, -1).astype(int)


EXPECTED = expected_levels(GRAPH, SOURCES)


def assert_right(graph, sources, found, expected):
    """Levels are SciPy's; a parent is the smallest vertex of the level before with an arc."""
    np.testing.assert_array_equal(found.levels, expected)
    for levels, parents in zip(expected, found.parents, strict=True):
        np.testing.assert_array_equal(parents, smallest_parents(graph, levels))


def smallest_parents(graph, levels):
    """Return the parents by the rule of `pyapsp.bfs`; levels are -1 if there is no path."""
    tails, heads, _ = graph.arcs()
    between = (levels[tails] >= 0) & (levels[heads] == levels[tails] + 1)
    parents = np.full(graph.n, graph.n)
    np.minimum.at(parents, heads[between], tails[between])
    return np.where(parents == graph.n, NO_PREDECESSOR, parents)
