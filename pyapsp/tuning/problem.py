"""What the tuner solves: graphs whose distances SciPy has computed, at least some rows of them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph

from pyapsp.errors import VerificationError
from pyapsp.graph import Graph
from pyapsp.graph.generators import random_graph
from pyapsp.paths import Rows
from pyapsp.precision import infinity
from pyapsp.tuning.database import ARCS

__all__ = ["Problem"]

# The largest weight. Distances stay below 2^11, up to which every type is exact, half precision
# included; methods that hold small distances only get more arcs and smaller weights.
_MAX_WEIGHT = 20
_MORE_ARCS, _PART_OF_LIMIT, _LOW = 32, 8, 2**11
# Every so many vertices one that cannot be reached.
_UNREACHED = 17


class Problem:
    """A graph, and some rows of its distances as SciPy computes them.

    Parameters
    ----------
    n : int
    rows : int
        How many to compute.
    dtype : numpy.dtype
    limit : int or None
        The largest distance that there may be.
    unweighted : bool
        Whether all weights are 1.
    negative : bool
        Whether some weights are negative.
    """

    def __init__(
        self,
        n: int,
        rows: int,
        dtype: np.dtype,
        *,
        limit: int | None = None,
        unweighted: bool = False,
        negative: bool = False,
    ) -> None:
        arcs, heaviest = ARCS, 1 if unweighted else _MAX_WEIGHT
        if limit is not None and limit < _LOW:
            arcs, heaviest = _MORE_ARCS, max(1, min(heaviest, limit // _PART_OF_LIMIT))
        graph = random_graph(n, min(arcs * n, n * (n - 1)), heaviest, seed=n)
        tails, heads, weights = graph.arcs()
        reached = heads % _UNREACHED != _UNREACHED - 1
        graph = Graph.from_arcs(
            n, tails[reached], heads[reached], weights[reached], name=f"{graph.name}-tuned"
        )
        self.sources = np.unique(np.linspace(0, n - 1, min(rows, n)).astype(np.int64))
        if graph.m > 0:
            expected = csgraph.dijkstra(graph.to_scipy().astype(float), indices=self.sources)
        else:
            expected = np.where(self.sources[:, None] == np.arange(n), 0.0, np.inf)
        if negative:  # a potential changes the signs of arcs, and makes no cycle negative
            potential = np.random.default_rng(n).integers(0, _MAX_WEIGHT, n)
            tails, heads, weights = graph.arcs()
            weights = weights + potential[tails] - potential[heads]
            graph = Graph.from_arcs(n, tails, heads, weights, name=f"{graph.name}-signed")
            expected += potential[self.sources][:, None] - potential
        expected[~np.isfinite(expected)] = infinity(dtype)
        self.graph, self.expected = graph, expected.astype(dtype)

    def check(self, answer: Rows) -> None:
        """Raise VerificationError when a distance or a predecessor is wrong."""
        n, expected = self.graph.n, self.expected
        found = answer.distances[self.sources]
        wrong = np.argwhere(found != expected)
        if len(wrong):
            row, j = wrong[0]
            raise VerificationError(
                f"n = {n:,}: {len(wrong):,} of {expected.size:,} distances are wrong; from "
                f"{self.sources[row]} to {j} it found {found[row, j]}, not {expected[row, j]}"
            )
        if answer.predecessors is None:
            return
        before = answer.predecessors[self.sources]
        inner = expected < infinity(expected.dtype)
        inner[np.arange(len(inner)), self.sources] = False
        rows, heads = np.nonzero(inner)
        tails = before[rows, heads]
        sound = np.array_equal(before >= 0, inner)
        if sound and len(tails):
            weights = np.asarray(self.graph.to_scipy()[tails, heads]).ravel()
            sound = np.array_equal(expected[rows, tails] + weights, expected[rows, heads])
            sound = sound and bool(np.all(weights != 0) or self.graph.has_negative)
        if not sound:
            raise VerificationError(f"n = {n:,}: a predecessor is wrong")
