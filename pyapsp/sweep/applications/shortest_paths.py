"""APSP: all-pairs shortest paths, one source for each task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csgraph, csr_array

from pyapsp.sweep import Array, Repeat, Step, Sweep

__all__ = ["INFINITY", "inputs", "reference", "sweep"]

#: The cost of unreachable vertices.
INFINITY = 2**30 - 1


def sweep(vertices: int, arcs: int, **options: Any) -> Sweep:
    """Return the sweep with a graph as input and ``costs`` as output; the source of task t is t.

    Parameters
    ----------
    vertices, arcs : int
        Size of the graph, whose arcs are the common arrays ``first``, ``heads`` and ``weights``.
    **options
        Options of `Sweep`.
    """
    arrays = (
        Array("first", "common", np.int32, vertices + 1),
        Array("heads", "common", np.int32, max(arcs, 1), rows="first"),
        Array("weights", "common", np.int32, max(arcs, 1), rows="first"),
        Array("offers", "scratch", np.int32, vertices),
        Array("modified", "scratch", np.uint8, vertices),
        Array("costs", "output", np.int32, vertices),
    )
    steps = (
        Step("start", vertices),
        Repeat(
            Step("scatter", vertices, stage=["heads", "weights"]),
            Step("check", vertices),
            limit=vertices + 1,
        ),
    )
    defines = {"PYAPSP_INFINITY": INFINITY}
    return Sweep(Path("sweep/shortest_paths.cl"), arrays, steps, defines=defines, **options)


def inputs(vertices: int, *, degree: int = 4, seed: int = 0) -> dict[str, np.ndarray]:
    """Return a random graph with a given number of arcs from each vertex, and weights 1 to 100."""
    rng = np.random.default_rng(seed)
    arcs = vertices * degree
    return {
        "first": np.arange(0, arcs + 1, degree, dtype=np.int32),
        "heads": rng.integers(0, vertices, arcs, np.int32),
        "weights": rng.integers(1, 101, arcs, np.int32),
    }


def reference(arrays: dict[str, np.ndarray], tasks: int) -> dict[str, np.ndarray]:
    """Return the right outputs of the sweep, computed by SciPy."""
    first, heads, weights = (arrays[name] for name in ("first", "heads", "weights"))
    n = first.size - 1
    # SciPy would add up the weights of parallel arcs: keep only the least
    tails = np.repeat(np.arange(n), np.diff(first))
    order = np.lexsort((weights, heads, tails))
    pairs = tails[order] * n + heads[order]
    first = order[np.diff(pairs, prepend=-1) != 0]
    graph = csr_array((weights[first].astype(float), (tails[first], heads[first])), (n, n))
    costs = csgraph.dijkstra(graph, indices=np.arange(tasks))
    return {"costs": np.where(np.isinf(costs), INFINITY, costs).astype(np.int32)}
