"""Edges of graphs with given statistics, of which experiments make stand-ins of published graphs.

Each function returns tails and heads, (m,) int64, and the number of vertices, which is about n. An
edge is there once, in one direction.
"""

from __future__ import annotations

import numpy as np

from pyapsp.graph import Graph

__all__ = ["Edges", "chains", "facts", "mesh", "skewed"]

#: Tails, heads, number of vertices.
Edges = tuple[np.ndarray, np.ndarray, int]

# A degree is at most this part of the number of vertices.
_PART = 4


def skewed(n: int, mean: float, deviation: float, seed: int) -> Edges:
    """Join random vertices; expected degrees are from a log-normal distribution.

    Parameters
    ----------
    n : int
    mean, deviation : float
        Of the degrees, if an edge counts for both of its ends.
    seed : int
    """
    rng = np.random.default_rng(seed)
    mean = min(mean, n / _PART)
    spread = np.log1p((deviation / mean) ** 2)
    wanted = np.exp(rng.normal(0, np.sqrt(spread), n))
    wanted = np.minimum(wanted * (mean / wanted.mean()), n / _PART)
    ends = rng.choice(n, (2, round(n * mean / 2)), p=wanted / wanted.sum())
    return ends[0], ends[1], n


def chains(n: int, mean: float, seed: int) -> Edges:
    """Make a hexagonal mesh, with vertices on its edges until the average degree is `mean` <= 3."""
    each = max((3 - mean) / (1.5 * mean - 3), 0.0)  # vertices on an edge
    rows = max(round(np.sqrt(n / (1 + 1.5 * each))), 2)
    place = np.arange(rows * rows).reshape(rows, rows)
    row, column = np.indices(place[:-1].shape)
    down = (row + column) % 2 == 0
    tails = np.concatenate([place[:, :-1].ravel(), place[:-1][down]])
    heads = np.concatenate([place[:, 1:].ravel(), place[1:][down]])
    rng = np.random.default_rng(seed)
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


def mesh(n: int, mean: float, dimensions: int, seed: int) -> Edges:
    """Join the places of a grid to the nearest ones, as many as the average degree."""
    side = max(round(n ** (1 / dimensions)), 2)
    shape = (side,) * dimensions
    around = np.indices((7,) * dimensions).reshape(dimensions, -1).T - 3
    after = [step for step in around.tolist() if step > [0] * dimensions]
    after.sort(key=lambda step: sum(x * x for x in step))
    wanted, place = mean / 2, np.indices(shape)
    rng, ends = np.random.default_rng(seed), []
    for number, step in enumerate(after[: int(np.ceil(wanted))]):
        there = [axis + x for axis, x in zip(place, step, strict=True)]
        inside = np.all([(axis >= 0) & (axis < side) for axis in there], axis=0)
        inside &= rng.random(shape) < wanted - number
        tails = np.flatnonzero(inside)
        heads = np.ravel_multi_index([axis[inside] for axis in there], shape)
        ends.append((tails, heads))
    first, second = (np.concatenate(each) for each in zip(*ends, strict=True))
    return first, second, side**dimensions


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
