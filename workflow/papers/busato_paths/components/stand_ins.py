"""Directed graphs with the components of those of [B] table 9.1, with fewer vertices.

The graphs themselves are not here. A stand-in has about the average degree of the table and its
deviation, and the parts of the vertices that are in the largest component, in components of one
vertex, and without leaving arcs. The other vertices are in components of 3 to 30. If the average
diameter of the table is large, the largest component is a mesh.

Components are in an order, and every other arc goes from an earlier one to a later one, or stays in
one. So the components are known, and they are what they were made to be.
"""

from __future__ import annotations

import numpy as np

from papers import shapes
from papers.published import Published
from pyapsp.graph import Graph

__all__ = ["NAMES", "stand_in"]

_SEED = 91
# Above this average diameter the largest component is a mesh.
_DEEP = 40
_LEAST, _MOST = 3, 30
#: The graphs in the order of the table.
NAMES = (
    *("amazon-2008", "LiveJournal", "Flickr", "R-MAT", "cit-Patents", "Random", "Pokec"),
    *("Language", "Baidu", "Pre2", "CA-road", "web-Berkstan", "SSCA8", "trec-w10g"),
    *("Fullchip", "USA-road", "Wiki-Talk"),
)
# The printed average degree is that of the row above; this one is arcs over vertices.
_MEANS = {"web-Berkstan": 8.4}


def stand_in(name: str, n: int) -> tuple[Graph, np.ndarray]:
    """Return the stand-in of one of `NAMES`, with about n vertices, and its components, int32.

    Components are numbered from 0 in the order of their smallest vertices.
    """
    largest, trivial, without = (
        _published(name, f"vertices {what}") / 100
        for what in ("in the largest component", "in components of one", "without leaving arcs")
    )
    mean = min(_MEANS.get(name, _published(name, "average degree")), n / 4)
    rng = np.random.default_rng(_SEED)
    core = round(largest * n)
    is_mesh = core > _LEAST and _published(name, "average diameter") > _DEEP
    inner: list[tuple[np.ndarray, np.ndarray]] = []
    if is_mesh:
        inner.append(_mesh(core, mean))
        core = int(inner[0][0].max()) + 1
    alone = round(trivial * n)
    sizes = _sizes(n - core - alone, rng) if n - core - alone >= _LEAST else []
    last = min(round(without * n), alone)
    # before the largest component, itself, the middle ones, and those without leaving arcs
    parts = np.array([1] * (alone - last) + [core] * (core > 0) + sizes + [1] * last)
    rank = np.repeat(np.arange(parts.size), parts)
    start = np.cumsum(parts) - parts
    vertices = rank.size
    if is_mesh:
        inner = [(each[0] + alone - last, each[1] + alone - last) for each in inner]
    rings = np.flatnonzero(parts > 1)
    if is_mesh:
        rings = rings[parts[rings] != core]
    for place in rings:
        ring = start[place] + rng.permutation(parts[place])
        inner.append((ring, np.roll(ring, -1)))
    have = sum(each[0].size for each in inner)
    tails, heads = _others(name, rank, max(round(mean * vertices) - have, 0), rng)
    keep = (tails != heads) & (tails < vertices - last)
    if is_mesh:  # no shortcuts in the mesh
        within = (parts[rank[tails]] == core) & (rank[tails] == rank[heads])
        keep &= ~within
    ends = [*inner, (tails[keep], heads[keep])]
    tails, heads = (np.concatenate(each) for each in zip(*ends, strict=True))
    names = rng.permutation(vertices)
    title = f"stand-in of {name}, {vertices:,} vertices"
    graph = Graph.from_arcs(vertices, names[tails], names[heads], name=title)
    labels = np.empty(vertices, np.int64)
    labels[names] = rank
    _, first, each = np.unique(labels, return_index=True, return_inverse=True)
    return graph, np.argsort(np.argsort(first))[each].astype(np.int32)


def _mesh(core: int, mean: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the arcs of a mesh, both ways, all of whose vertices are joined."""
    if mean <= 3:
        tails, heads, _ = shapes.chains(core, max(mean, 2.1), _SEED)
    else:
        tails, heads, _ = shapes.mesh(core, max(mean, 4.0), 2, _SEED)
    return np.concatenate([tails, heads]), np.concatenate([heads, tails])


def _sizes(count: int, rng: np.random.Generator) -> list[int]:
    """Return sizes of components with this sum."""
    sizes: list[int] = []
    while count >= _LEAST:
        size = min(int(rng.integers(_LEAST, _MOST + 1)), count)
        sizes.append(size if count - size >= _LEAST else count)
        count -= sizes[-1]
    return sizes


def _others(
    name: str, rank: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return arcs that go from a component to a later one, or stay in one."""
    mean, deviation = (
        _published(name, what) for what in ("average degree", "deviation of degrees")
    )
    wanted = np.exp(rng.normal(0, np.sqrt(np.log1p((deviation / mean) ** 2)), rank.size))
    ends = rng.choice(rank.size, (2, count), p=wanted / wanted.sum())
    back = rank[ends[0]] > rank[ends[1]]
    return np.where(back, ends[1], ends[0]), np.where(back, ends[0], ends[1])


def _published(name: str, quantity: str) -> float:
    value = Published("busato_paths/components").value(
        exhibit="table 9.1", quantity=quantity, graph=name
    )
    assert value is not None
    return float(value)
