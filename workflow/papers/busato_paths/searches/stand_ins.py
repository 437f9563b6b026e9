"""Graphs with the statistics of those of [B] table 8.1, with fewer vertices.

The graphs themselves are not here. A stand-in has about the average degree of the table, as far as
the number of vertices allows, and the loops that the text names. A mesh stands for a mesh, and has
a large diameter; the others have about the deviation of the degrees. The thesis does not give the
weights: here they are uniform in 1..100.

The second set has negative weights and no negative cycle. With a potential h of the vertices, the
weight of an arc from u to v is w + h(u) - h(v), and each distance is that with the weights w, plus
h(source) - h(v).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csgraph

from papers import shapes
from papers.published import Published
from pyapsp.graph import Graph

__all__ = ["FIRST", "NAMES", "SECOND", "StandIn", "stand_in"]

_SEED = 81
_HEAVIEST, _HIGHEST = 100, 60
# Vertices from which searches are tried; those that reach few vertices are no sources.
_DRAWN = 12


@dataclass(frozen=True)
class _Shape:
    kind: str
    directed: bool = False
    loops: bool = False
    signed: bool = False


#: The graphs in the order of the tables.
NAMES = {
    "asia.osm": _Shape("chains"),
    # each road is there in both directions
    "USA-road-d.CAL": _Shape("chains"),
    "delaunay_n20": _Shape("mesh"),
    "msdoor": _Shape("mesh", loops=True),
    "circuit5M_dc": _Shape("mesh", directed=True, loops=True),
    "rmat.3Mv.20Me": _Shape("skewed"),
    "flickr": _Shape("skewed", directed=True),
    "hugetrace_00000": _Shape("chains", signed=True),
    "wiki-talk": _Shape("skewed", directed=True, signed=True),
    "as-Skitter": _Shape("skewed", signed=True),
    "random_2Mv.128Me": _Shape("skewed", signed=True),
}
#: Those of table 8.2, by falling diameter, and those of table 8.3.
FIRST = [name for name, shape in NAMES.items() if not shape.signed]
SECOND = [name for name, shape in NAMES.items() if shape.signed]


@dataclass(frozen=True)
class StandIn:
    """A stand-in, and what is known of its distances."""

    graph: Graph
    positive: Graph  # the same arcs, with the weights before the potential
    potential: np.ndarray  # (n,) int64

    @cached_property
    def _levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Some vertices, and the levels around them."""
        leaving = np.flatnonzero(np.diff(self.graph.indptr))
        rng = np.random.default_rng(_SEED)
        drawn = rng.choice(leaving, min(_DRAWN, leaving.size), replace=False)
        return drawn, csgraph.dijkstra(self.positive.to_scipy(), unweighted=True, indices=drawn)

    def sources(self, count: int) -> list[int]:
        """Return vertices that reach at least half as many others as the best does."""
        drawn, levels = self._levels
        reached = np.isfinite(levels).sum(axis=1)
        return [int(each) for each in drawn[2 * reached >= reached.max()][:count]]

    def facts(self, sources: list[int]) -> dict[str, float]:
        """Return the statistics of table 8.1, and arcs and depth from the sources."""
        drawn, levels = self._levels
        degrees = np.diff(self.graph.indptr)
        rows = levels[np.isin(drawn, sources)]
        return {
            **shapes.facts(self.graph),
            "depth": float(rows[np.isfinite(rows)].max()),
            "arcs of reached vertices": float((np.isfinite(rows) * degrees).sum(axis=1).mean()),
        }

    def distances(self, sources: list[int]) -> np.ndarray:
        """Return the distances from the sources by SciPy, float64, inf for none."""
        distances = csgraph.dijkstra(self.positive.to_scipy(), indices=sources)
        lifted: np.ndarray = distances + self.potential[sources][:, None] - self.potential
        return lifted


def stand_in(name: str, n: int) -> StandIn:
    """Return the stand-in of a graph in `NAMES`, with about n vertices."""
    shape, mean = NAMES[name], _published(name, "average degree") - NAMES[name].loops
    sides = 2 if shape.directed else 1  # an edge becomes one arc, or two
    if shape.kind == "chains":
        tails, heads, vertices = shapes.chains(n, min(mean, 3.0), _SEED)
    elif shape.kind == "mesh":
        tails, heads, vertices = shapes.mesh(n, sides * mean, 2, _SEED)
    else:
        deviation = _published(name, "deviation of degrees")
        tails, heads, vertices = shapes.skewed(n, sides * mean, sides * deviation, _SEED)
    rng = np.random.default_rng(_SEED)
    weights = rng.integers(1, _HEAVIEST + 1, tails.size)
    if shape.directed:
        turned = rng.random(tails.size) < 0.5
        tails, heads = np.where(turned, heads, tails), np.where(turned, tails, heads)
    else:
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        weights = np.concatenate([weights, weights])
    if shape.loops:
        every = np.arange(vertices)
        tails, heads = np.concatenate([tails, every]), np.concatenate([heads, every])
        weights = np.concatenate([weights, np.ones(vertices, weights.dtype)])
    elif shape.kind == "skewed":
        tails, heads, weights = (each[tails != heads] for each in (tails, heads, weights))
    potential = rng.integers(0, _HIGHEST, vertices) * shape.signed
    title = f"stand-in of {name}, {vertices:,} vertices"
    # an undirected graph with a negative edge has a negative cycle: there, both arcs are arcs
    positive = Graph.from_arcs(
        vertices, tails, heads, weights, directed=shape.directed or shape.signed, name=title
    )
    if not shape.signed:
        return StandIn(positive, positive, potential)
    tails, heads, weights = positive.arcs()
    lifted = weights + potential[tails] - potential[heads]
    return StandIn(positive.with_weights(lifted), positive, potential)


def _published(name: str, quantity: str) -> float:
    value = Published("busato_paths/searches").value(
        exhibit="table 8.1", quantity=quantity, graph=name
    )
    assert value is not None
    return float(value)
