"""Graphs with the statistics of those of [B] table 6.1, with fewer vertices.

The graphs themselves are not here. A stand-in has about the average degree of the table, as far as
the number of vertices allows. A mesh stands for a mesh, and has a large diameter; the other
stand-ins have about the standard deviation of the table. Other properties, such as communities, are
not those of the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from papers import shapes
from papers.published import Published
from papers.shapes import Edges
from pyapsp.graph import Graph

__all__ = ["NAMES", "stand_in"]

_SEED = 61


def stand_in(name: str, n: int) -> Graph:
    """Return the stand-in of one of `NAMES`, with about n vertices; its name says what it is."""
    tails, heads, vertices = NAMES[name](name, n)
    return Graph.from_arcs(
        vertices, tails, heads, directed=False, name=f"stand-in of {name}, {vertices:,} vertices"
    )


def _published(name: str, quantity: str) -> float:
    value = Published("busato_traversal/bfs_4k").value(
        exhibit="table 6.1", quantity=quantity, graph=name
    )
    assert value is not None
    return float(value)


def _skewed(name: str, n: int) -> Edges:
    mean, deviation = _published(name, "average degree"), _published(name, "deviation of degrees")
    return shapes.skewed(n, mean, deviation, _SEED)


def _small_world(name: str, n: int) -> Edges:
    """Join each vertex of a ring to the ten after it; three of ten arcs end anywhere."""
    rng, near = np.random.default_rng(_SEED), round(_published(name, "average degree") / 2)
    tails = np.repeat(np.arange(n), near)
    heads = (tails + np.tile(np.arange(1, near + 1), n)) % n
    away = rng.random(tails.size) < 0.3
    heads[away] = rng.integers(0, n, np.count_nonzero(away))
    return tails, heads, n


def _chains(name: str, n: int) -> Edges:
    return shapes.chains(n, _published(name, "average degree"), _SEED)


def _mesh(name: str, n: int, dimensions: int) -> Edges:
    return shapes.mesh(n, _published(name, "average degree"), dimensions, _SEED)


#: The graphs in the order of the table, and the function that makes the edges of each.
NAMES: dict[str, Callable[[str, int], Edges]] = {
    "Amazon0505": _skewed,
    "web-Google": _skewed,
    "com-youtube": _skewed,
    "as-skitter": _skewed,
    "roadNet-CA": _chains,
    "soc-LiveJournal1": _skewed,
    "Gen-ForestFire": _skewed,
    "Gen-SmallWorld": _small_world,
    "europe.osm": _chains,
    "hugebubbles-00020": _chains,
    "nlpkkt160": partial(_mesh, dimensions=3),
    "audikw1": partial(_mesh, dimensions=3),
    "cage15": partial(_mesh, dimensions=3),
    "kkt_power": partial(_mesh, dimensions=2),
    "coPapersCiteseer": _skewed,
    "kron_g500-logn20": _skewed,
    "random.2Mv.128Me": _skewed,
    "rmat.2Mv.128Me": _skewed,
}
