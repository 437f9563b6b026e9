"""Seeded synthetic graphs, with the integer weights that the literature uses.

Every generator draws from `numpy.random.default_rng(seed)`, so the same arguments give the same
graph. `max_weight` None means weights 1..n, as in Okuyama (thesis 2013, section 3.5); 1 gives an
unweighted graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.graph.model import Graph
from pyapsp.graph.validation import MAX_VERTICES, integer, probability

__all__ = [
    "complete",
    "connected_graph",
    "grid_2d",
    "path",
    "power_law",
    "random_graph",
    "ring",
    "rmat",
    "small_world",
    "star",
]

# The arcs whose ends take more than the largest memory.
_MOST_ARCS = 2**48
_F = TypeVar("_F", bound=Callable[..., Graph])

# What the docstrings of all generators say.
_COMMON = {
    "{n}": "n : int\n        Number of vertices.",
    "{max_weight}": """max_weight : int, optional
        Weights are uniform in 1..max_weight; None: n.""",
    "{seed}": """seed : int, default 0
        Seed.

    Raises
    ------
    ParameterError
        A parameter is out of its range.""",
}


def _documented(generator: _F) -> _F:
    """Write the common parameters into the docstring of a generator."""
    for mark, text in _COMMON.items():
        generator.__doc__ = generator.__doc__ and generator.__doc__.replace(mark, text)
    return generator


class _Draw:
    """The checked number of vertices of a generator, and its random numbers."""

    def __init__(self, owner: str, n: int, seed: int) -> None:
        self.owner, self.n = owner, integer("n", owner, n, 0, MAX_VERTICES)
        self.rng = np.random.default_rng(integer("seed", owner, seed, 0))

    def graph(
        self,
        name: str,
        tails: NDArray[np.int64],
        heads: NDArray[np.int64],
        max_weight: int | None,
        *,
        directed: bool = True,
    ) -> Graph:
        """Return the graph with these arcs and random weights."""
        largest = max(self.n, 1)
        if max_weight is not None:
            largest = integer("max_weight", self.owner, max_weight, 1, 2**63 - 1)
        weights = self.rng.integers(1, largest, size=tails.size, endpoint=True)
        return Graph.from_arcs(self.n, tails, heads, weights, directed=directed, name=name)


@_documented
def random_graph(
    n: int, m: int | None = None, max_weight: int | None = None, seed: int = 0
) -> Graph:
    """Return a directed graph with m distinct arcs, uniformly at random, and no self-loops.

    Parameters
    ----------
    {n}
    m : int, optional
        Number of arcs, at most n(n - 1). None: 4n, or n(n - 1) if that is less.
    {max_weight}
    {seed}
    """
    draw = _Draw("random_graph", n, seed)
    n = draw.n
    pairs = n * (n - 1)
    m = min(4 * n, pairs) if m is None else integer("m", "random_graph", m, 0, pairs)
    tails, heads = np.divmod(_distinct(draw.rng, pairs, m), max(n - 1, 1))
    heads += heads >= tails
    return draw.graph(f"random-{n}-{m}", tails, heads, max_weight)


@_documented
def rmat(
    scale: int,
    edge_factor: int = 16,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    max_weight: int | None = None,
    seed: int = 0,
) -> Graph:
    """Return a directed R-MAT graph, whose degrees follow a power law.

    Each of ``edge_factor * 2**scale`` arcs descends `scale` times into a quadrant of the
    adjacency matrix; self-loops and repeated arcs are dropped, so m is smaller.
    The vertices are shuffled.

    Parameters
    ----------
    scale : int
        n is 2**scale.
    edge_factor : int, default 16
        Arcs drawn per vertex.
    a, b, c : float
        Probabilities of the upper left, upper right and lower left quadrant.
    {max_weight}
    {seed}

    References
    ----------
    Chakrabarti, Zhan, Faloutsos: R-MAT: a recursive model for graph mining. SDM 2004.
    doi:10.1137/1.9781611972740.43
    """
    scale = integer("scale", "rmat", scale, 0, 30)
    edge_factor = integer("edge_factor", "rmat", edge_factor, 0, _MOST_ARCS >> scale)
    a, b, c = (
        probability(parameter, "rmat", value) for parameter, value in (("a", a), ("b", b), ("c", c))
    )
    if a + b + c > 1 + 1e-9:
        raise ParameterError.of("c", "rmat", f"at most 1 - a - b = {1 - a - b:g}", c)
    draw = _Draw("rmat", 2**scale, seed)
    n, rng = draw.n, draw.rng
    tails = np.zeros(edge_factor * n, np.int64)
    heads = np.zeros_like(tails)
    for _ in range(scale):
        chance = rng.random(tails.size)
        tails = 2 * tails + (chance >= a + b)
        heads = 2 * heads + ((chance >= a) & (chance < a + b) | (chance >= a + b + c))
    places = np.unique((tails * n + heads)[tails != heads])
    shuffled = rng.permutation(n)
    tails, heads = shuffled[places // n], shuffled[places % n]
    return draw.graph(f"rmat-{scale}-{edge_factor}", tails, heads, max_weight)


@_documented
def ring(n: int, max_weight: int | None = None, seed: int = 0) -> Graph:
    """Return the directed cycle 0 -> 1 -> ... -> n - 1 -> 0 (n arcs; none for n < 2).

    Parameters
    ----------
    {n}
    {max_weight}
    {seed}
    """
    draw = _Draw("ring", n, seed)
    tails = np.arange(draw.n if draw.n > 1 else 0)
    return draw.graph(f"ring-{draw.n}", tails, (tails + 1) % max(draw.n, 1), max_weight)


@_documented
def path(n: int, max_weight: int | None = None, seed: int = 0) -> Graph:
    """Return the undirected path 0 - 1 - ... - n - 1.

    Parameters
    ----------
    {n}
    {max_weight}
    {seed}
    """
    draw = _Draw("path", n, seed)
    tails = np.arange(max(draw.n - 1, 0))
    return draw.graph(f"path-{draw.n}", tails, tails + 1, max_weight, directed=False)


@_documented
def star(n: int, max_weight: int | None = None, seed: int = 0) -> Graph:
    """Return the undirected star: vertex 0 and an edge to each of the n - 1 others.

    Parameters
    ----------
    {n}
    {max_weight}
    {seed}
    """
    draw = _Draw("star", n, seed)
    heads = np.arange(1, draw.n)
    return draw.graph(f"star-{draw.n}", np.zeros_like(heads), heads, max_weight, directed=False)


@_documented
def complete(n: int, max_weight: int | None = None, seed: int = 0) -> Graph:
    """Return the directed graph with all n(n - 1) arcs, each with a weight of its own.

    Parameters
    ----------
    {n}
    {max_weight}
    {seed}
    """
    draw = _Draw("complete", n, seed)
    tails, heads = np.nonzero(~np.eye(draw.n, dtype=bool))
    return draw.graph(f"complete-{draw.n}", tails, heads, max_weight)


@_documented
def grid_2d(rows: int, columns: int, seed: int = 0) -> Graph:
    """Return an undirected grid whose weights are like the lengths of streets, in metres.

    Crossings lie on a grid of 100 m, displaced at random (standard deviation 15 m); a street
    is up to 40 % longer than the straight line between its crossings.

    Parameters
    ----------
    rows, columns : int
        Vertex ``r * columns + c`` is the crossing in row r and column c; n is rows · columns
        and m is 2(2 · rows · columns - rows - columns).
    {seed}
    """
    rows = integer("rows", "grid_2d", rows, 1, MAX_VERTICES)
    columns = integer("columns", "grid_2d", columns, 1, MAX_VERTICES // rows)
    rng = np.random.default_rng(integer("seed", "grid_2d", seed, 0))
    number = np.arange(rows * columns).reshape(rows, columns)
    tails = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    heads = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    places = np.stack(np.divmod(number.ravel(), columns), axis=1) * 100.0
    places += rng.normal(scale=15.0, size=places.shape)
    straight = np.hypot(*(places[heads] - places[tails]).T)
    lengths = np.rint(straight * rng.uniform(1.0, 1.4, tails.size)).astype(np.int64)
    return Graph.from_arcs(
        rows * columns,
        tails,
        heads,
        np.maximum(lengths, 1),
        directed=False,
        name=f"grid-{rows}x{columns}",
    )


@_documented
def small_world(
    n: int, k: int = 4, p: float = 0.1, max_weight: int | None = None, seed: int = 0
) -> Graph:
    """Return an undirected Watts-Strogatz graph with n·k/2 edges (m = n·k).

    Each vertex is joined to its k nearest neighbours on a ring; then each edge moves one end
    to a random vertex with probability p. An edge that finds no free place stays.

    Parameters
    ----------
    {n}
    k : int, default 4
        Neighbours of each vertex on the ring: even and below n (0 for n = 0).
    p : float, default 0.1
        Probability that an edge is rewired.
    {max_weight}
    {seed}

    References
    ----------
    Watts, Strogatz: Collective dynamics of 'small-world' networks. Nature 393 (1998).
    doi:10.1038/30918
    """
    draw = _Draw("small_world", n, seed)
    n, rng = draw.n, draw.rng
    k = integer("k", "small_world", k, 0, max(n - 1, 0))
    if k % 2:
        raise ParameterError.of("k", "small_world", "even", k)
    p = probability("p", "small_world", p)
    tails = np.tile(np.arange(n), k // 2)
    heads = (tails + np.repeat(np.arange(1, k // 2 + 1), n)) % max(n, 1)
    waiting = np.flatnonzero(rng.random(tails.size) < p)
    for _ in range(64):  # in a nearly complete graph some edges find no free place
        if not waiting.size:
            break
        proposed = rng.integers(n, size=waiting.size)
        taken = _edge_keys(tails, heads, n)
        wanted = _edge_keys(tails[waiting], proposed, n)
        free = ~_repeated(wanted) & (proposed != tails[waiting]) & ~np.isin(wanted, taken)
        heads[waiting[free]] = proposed[free]
        waiting = waiting[~free]
    return draw.graph(f"small-world-{n}-{k}", tails, heads, max_weight, directed=False)


@_documented
def connected_graph(
    n: int, edges: int | None = None, max_weight: int | None = None, seed: int = 0
) -> Graph:
    """Return an undirected connected graph: a random tree and other random edges.

    The tree is built by adding one vertex at a time, with an edge to an earlier vertex. The other
    edges are distinct and uniformly at random.

    Parameters
    ----------
    {n}
    edges : int, optional
        Number of edges (m is twice that), from n - 1 to n(n - 1)/2. None: 2n, or n(n - 1)/2 if that
        is less.
    {max_weight}
    {seed}
    """
    draw = _Draw("connected_graph", n, seed)
    n, rng = draw.n, draw.rng
    pairs = n * (n - 1) // 2
    edges = min(2 * n, pairs) if edges is None else edges
    edges = integer("edges", draw.owner, edges, max(n - 1, 0), pairs)
    order = rng.permutation(n)
    later = np.arange(1, n)
    u, v = order[later], order[rng.integers(later)]
    # pair number (d - 1) n + i is {i, i + d} on a ring, so that each pair has one number
    step = (v - u) % max(n, 1)
    back = (2 * step > n) | ((2 * step == n) & (2 * u >= n))
    tree = np.sort(np.where(back, (n - step - 1) * n + v, (step - 1) * n + u))
    others = _distinct(rng, pairs - tree.size, edges - tree.size)
    others += np.searchsorted(tree - np.arange(tree.size), others, side="right")
    numbers = np.concatenate([tree, others])
    tails, steps = numbers % max(n, 1), numbers // max(n, 1) + 1
    heads = (tails + steps) % max(n, 1)
    return draw.graph(f"connected-{n}-{edges}", tails, heads, max_weight, directed=False)


@_documented
def power_law(
    n: int,
    m: int | None = None,
    max_degree: int | None = None,
    max_weight: int | None = None,
    seed: int = 0,
) -> Graph:
    """Return a directed graph with few vertices of high out-degree and many of low.

    The out-degree of the vertex in place k of the ranking falls as a power of k, which is chosen so
    that the first has `max_degree` arcs and all have m. Heads are uniformly at random.

    Parameters
    ----------
    {n}
    m : int, optional
        Number of arcs, from max_degree to n · max_degree. None: 4n, or n(n - 1) if that is less.
    max_degree : int, optional
        Largest out-degree, at most n - 1. None: the same fraction of n as in the graph of Okuyama
        (thesis 2013, section 3.5.2), 834 of 4677, and at least 4 if n allows it.
    {max_weight}
    {seed}
    """
    draw = _Draw("power_law", n, seed)
    n, rng = draw.n, draw.rng
    most = max(n - 1, 0)
    largest = min(max(round(n * 834 / 4677), 4), most) if max_degree is None else max_degree
    largest = integer("max_degree", "power_law", largest, 0, most)
    m = min(4 * n, n * most) if m is None else m
    m = integer("m", "power_law", m, largest, n * largest)
    ranks = np.arange(1, n + 1, dtype=np.float64)
    power, high = 0.0, 64.0 if m < n * largest else 0.0
    for _ in range(60):  # bisection: the sum falls as the power grows
        middle = (power + high) / 2
        if largest * (ranks**-middle).sum() > m:
            power = middle
        else:
            high = middle
    sums = np.floor(np.cumsum(largest * ranks**-power) + 0.5).astype(np.int64)
    tails = np.repeat(rng.permutation(n), np.diff(sums, prepend=0))
    heads = rng.integers(max(most, 1), size=tails.size)
    while (again := _repeated(tails * n + heads)).any():
        heads[again] = rng.integers(most, size=np.count_nonzero(again))
    heads += heads >= tails
    return draw.graph(f"power-law-{n}-{m}", tails, heads, max_weight)


def _distinct(rng: Generator, population: int, size: int) -> NDArray[np.int64]:
    """Return `size` distinct numbers below `population`, in memory proportional to `size`."""
    if size > population // 2:
        return rng.choice(population, size, replace=False, shuffle=False)
    found: NDArray[np.int64] = np.zeros(0, np.int64)
    while found.size < size:
        missing = size - found.size
        found = np.union1d(found, rng.integers(population, size=missing + missing // 8 + 8))
    return rng.choice(found, size, replace=False)


def _repeated(keys: np.ndarray) -> NDArray[np.bool_]:
    """Return which keys also occur at an earlier place."""
    repeated = np.ones(keys.size, bool)
    repeated[np.unique(keys, return_index=True)[1]] = False
    return repeated


def _edge_keys(tails: np.ndarray, heads: np.ndarray, n: int) -> np.ndarray:
    """Return one number for each undirected edge, the same in both directions."""
    keys: np.ndarray = np.minimum(tails, heads) * n + np.maximum(tails, heads)
    return keys
