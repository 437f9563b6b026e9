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

from pyapsp.graph import Graph
from pyapsp.papers.published import Published

__all__ = ["NAMES", "facts", "stand_in"]

_SEED = 61
# A degree is at most this part of the number of vertices.
_PART = 4


def stand_in(name: str, n: int) -> Graph:
    """Return the stand-in of a graph.

    Parameters
    ----------
    name : str
        In `NAMES`.
    n : int
        About the number of vertices.

    Returns
    -------
    Graph
        Its name says that it is a stand-in.
    """
    tails, heads, vertices = NAMES[name](name, n)
    return Graph.from_arcs(
        vertices, tails, heads, directed=False, name=f"stand-in of {name}, {vertices:,} vertices"
    )


def facts(graph: Graph) -> dict[str, float]:
    """Return the number of vertices and arcs, and the statistics of the degrees."""
    degrees = np.diff(graph.indptr)
    return {
        "vertices": graph.n,
        "arcs": graph.m,
        "average degree": float(degrees.mean()),
        "deviation of degrees": float(degrees.std()),
        "largest degree": int(degrees.max()),
    }


_Edges = tuple[np.ndarray, np.ndarray, int]


def _published(name: str, quantity: str) -> float:
    value = Published("busato_traversal/bfs_4k").value(
        exhibit="table 6.1", quantity=quantity, graph=name
    )
    assert value is not None
    return float(value)


def _skewed(name: str, n: int) -> _Edges:
    """Join random vertices; expected degrees are from a log-normal distribution."""
    rng = np.random.default_rng(_SEED)
    mean = min(_published(name, "average degree"), n / _PART)
    spread = np.log1p((_published(name, "deviation of degrees") / mean) ** 2)
    wanted = np.exp(rng.normal(0, np.sqrt(spread), n))
    wanted = np.minimum(wanted * (mean / wanted.mean()), n / _PART)
    ends = rng.choice(n, (2, round(n * mean / 2)), p=wanted / wanted.sum())
    return ends[0], ends[1], n


def _small_world(name: str, n: int) -> _Edges:
    """Join each vertex of a ring to the ten after it; three of ten arcs end anywhere."""
    rng, near = np.random.default_rng(_SEED), round(_published(name, "average degree") / 2)
    tails = np.repeat(np.arange(n), near)
    heads = (tails + np.tile(np.arange(1, near + 1), n)) % n
    away = rng.random(tails.size) < 0.3
    heads[away] = rng.integers(0, n, np.count_nonzero(away))
    return tails, heads, n


def _chains(name: str, n: int) -> _Edges:
    """Make a hexagonal mesh, with vertices on its edges until the average degree is below 3."""
    mean = _published(name, "average degree")
    each = max((3 - mean) / (1.5 * mean - 3), 0.0)  # vertices on an edge
    rows = max(round(np.sqrt(n / (1 + 1.5 * each))), 2)
    place = np.arange(rows * rows).reshape(rows, rows)
    row, column = np.indices(place[:-1].shape)
    down = (row + column) % 2 == 0
    tails = np.concatenate([place[:, :-1].ravel(), place[:-1][down]])
    heads = np.concatenate([place[:, 1:].ravel(), place[1:][down]])
    rng = np.random.default_rng(_SEED)
    counts = int(each) + (rng.random(tails.size) < each - int(each))
    ends, free = [], rows * rows
    before = tails
    for step in range(int(counts.max(initial=0))):
        longer = counts > step
        new = free + np.arange(np.count_nonzero(longer))
        ends.append((before[longer], new))
        before = before.copy()
        before[longer] = new
        free += new.size
    ends.append((before, heads))
    first, second = (np.concatenate(each) for each in zip(*ends, strict=True))
    return first, second, free


def _mesh(name: str, n: int, dimensions: int) -> _Edges:
    """Join the places of a grid to the nearest ones, as many as the average degree."""
    side = max(round(n ** (1 / dimensions)), 2)
    shape = (side,) * dimensions
    around = np.indices((7,) * dimensions).reshape(dimensions, -1).T - 3
    after = [step for step in around.tolist() if step > [0] * dimensions]
    after.sort(key=lambda step: sum(x * x for x in step))
    wanted, place = _published(name, "average degree") / 2, np.indices(shape)
    rng, ends = np.random.default_rng(_SEED), []
    for number, step in enumerate(after[: int(np.ceil(wanted))]):
        there = [axis + x for axis, x in zip(place, step, strict=True)]
        inside = np.all([(axis >= 0) & (axis < side) for axis in there], axis=0)
        inside &= rng.random(shape) < wanted - number
        tails = np.flatnonzero(inside)
        heads = np.ravel_multi_index([axis[inside] for axis in there], shape)
        ends.append((tails, heads))
    first, second = (np.concatenate(each) for each in zip(*ends, strict=True))
    return first, second, side**dimensions


#: The graphs in the order of the table, and the function that makes the edges of each.
NAMES: dict[str, Callable[[str, int], _Edges]] = {
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
