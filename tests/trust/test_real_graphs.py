"""Functions of few distances and centralities on real graphs, against SciPy and igraph.

Needs the graphs: in the folder ``PYAPSP_DATA_MIRROR``, or in ``shared/data`` beside the checkout.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import pairwise
from pathlib import Path

import igraph
import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.graph import datasets

NAMES = [name for name in datasets.names() if datasets.get(name).url]
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
MIRROR = os.environ.get("PYAPSP_DATA_MIRROR") or (str(_BESIDE) if _BESIDE.exists() else None)

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(MIRROR is None, reason="needs real graphs: set PYAPSP_DATA_MIRROR"),
]


class Real:
    """A real graph, all its distances, and the same graph for igraph."""

    def __init__(self, name):
        self.graph = datasets.load(name)
        matrix = self.graph.to_scipy()
        self.rows = csgraph.dijkstra(matrix)
        self.hops = csgraph.dijkstra(matrix, unweighted=True)
        tails, heads, weights = self.graph.arcs()
        self.arcs = list(zip(tails.tolist(), heads.tolist(), strict=True))
        once = slice(None) if self.graph.directed else tails <= heads
        ends = np.stack([tails[once], heads[once]], axis=1)
        self.other = igraph.Graph(self.graph.n, ends.tolist(), directed=self.graph.directed)
        self.weights = weights[once].tolist()
        self.rng = np.random.default_rng(self.graph.n)
        self.some = np.unique(self.rng.integers(0, self.graph.n, 40))
        self.pairs = self.rng.integers(0, self.graph.n, (2, 200))
        near = self.rows[np.isfinite(self.rows) & (self.rows > 0)]
        self.cutoff = float(np.quantile(near, 0.05))


@pytest.fixture(params=NAMES)
def real(request, monkeypatch):
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", MIRROR)
    return _real(request.param)


@cache
def _real(name):
    return Real(name)


def equal(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_within_reach_and_accessibility(real, device):
    near = np.where(real.rows <= real.cutoff, real.rows, np.inf)
    found = pyapsp.within(real.graph, real.some, real.cutoff, device=device).distances.tocoo()
    dense = np.full((real.some.size, real.graph.n), np.inf)
    dense[found.coords] = found.data
    np.testing.assert_array_equal(dense, near[real.some])
    found = pyapsp.reach(real.graph, cutoff=real.cutoff, device=device)
    np.testing.assert_array_equal(found, np.isfinite(near).sum(axis=1) - 1)
    jobs = real.rng.integers(0, 50, real.graph.n)
    found = pyapsp.accessibility(real.graph, jobs, real.cutoff, device=device)
    np.testing.assert_array_equal(found, np.isfinite(near) @ jobs)


@pytest.mark.parametrize("k", [1, 10])
def test_nearest(real, device, k):
    found = pyapsp.nearest(real.graph, real.some, k, device=device)
    rows = real.rows[:, real.some]
    order = np.argsort(rows, axis=1, kind="stable")[:, :k]
    expected = np.take_along_axis(rows, order, axis=1)
    np.testing.assert_array_equal(found.distances, expected)
    np.testing.assert_array_equal(
        found.targets, np.where(np.isinf(expected), -9999, real.some[order])
    )


def test_pairs_and_distances(real, device):
    tails, heads = real.pairs
    found = pyapsp.pairs(real.graph, tails, heads, paths=True, device=device)
    np.testing.assert_array_equal(found.distances, real.rows[tails, heads])
    arc = dict(zip(real.arcs, real.graph.arcs()[2].tolist(), strict=True))
    for number, (tail, head) in enumerate(real.pairs.T.tolist()):
        path = found.path(number)
        if np.isinf(real.rows[tail, head]):
            assert path == []
        else:
            assert (path[0], path[-1]) == (tail, head)
            assert sum(arc[step] for step in pairwise(path)) == real.rows[tail, head]
    found = pyapsp.distances(real.graph, real.some, heads, device=device)
    np.testing.assert_array_equal(found, real.rows[np.ix_(real.some, heads)])


@pytest.mark.parametrize("weighted", [False, True])
def test_betweenness(real, device, weighted):
    weight, weights = (..., real.weights) if weighted else (None, None)
    options = {"normalized": False, "weight": weight, "device": device}
    expected = real.other.betweenness(directed=real.graph.directed, weights=weights)
    equal(pyapsp.betweenness_centrality(real.graph, **options), expected)
    found = pyapsp.edge_betweenness_centrality(real.graph, **options)
    expected = real.other.edge_betweenness(directed=real.graph.directed, weights=weights)
    ends = real.other.get_edgelist()
    values = dict(zip(ends, expected, strict=True))
    if not real.graph.directed:
        values |= {(head, tail): value for (tail, head), value in values.items()}
    equal(found, [values[arc] for arc in real.arcs])


@pytest.mark.parametrize("weighted", [False, True])
def test_harmonic_and_closeness(real, device, weighted):
    rows, weight = (real.rows, ...) if weighted else (real.hops, None)
    with np.errstate(divide="ignore"):
        parts = 1 / rows
    np.fill_diagonal(parts, 0)
    found = pyapsp.harmonic_centrality(real.graph, weight=weight, device=device)
    equal(found, parts.sum(axis=0))
    there = np.isfinite(rows)
    totals, reached = np.where(there, rows, 0).sum(axis=0), there.sum(axis=0) - 1
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(reached / totals) * reached / (real.graph.n - 1)
    equal(pyapsp.closeness_centrality(real.graph, weight=weight, device=device), expected)


def test_histogram(real, device):
    apart = real.rows[np.isfinite(real.rows) & ~np.eye(real.graph.n, dtype=bool)]
    width = max(int(apart.max()) // 50, 1)
    found = pyapsp.distance_histogram(real.graph, width=width, device=device)
    expected = np.bincount((apart // width).astype(int))
    np.testing.assert_array_equal(np.trim_zeros(found, "b"), np.trim_zeros(expected, "b"))


def test_tied_paths(real, device):
    tails, heads = real.pairs[:, :12]
    counts = pyapsp.count_shortest_paths(real.graph, tails, heads, device=device)
    listed = pyapsp.all_shortest_paths(real.graph, tails, heads, 50, device=device)
    for number, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        expected = []
        if tail == head:
            expected = [[tail]]
        elif np.isfinite(real.rows[tail, head]):
            expected = sorted(real.other.get_all_shortest_paths(tail, head, weights=real.weights))
        assert counts[number] == len(expected)
        assert listed.paths(number) == expected[:50]


def test_dag(real, device):
    source = int(real.some[0])
    row, (tails, heads, weights) = real.rows[source], real.graph.arcs()
    with np.errstate(invalid="ignore"):
        shortest = np.isfinite(row[tails]) & (row[tails] + weights == row[heads])
    found = pyapsp.shortest_path_dag(real.graph, source, device=device)
    np.testing.assert_array_equal(found.arcs()[0], tails[shortest])
    np.testing.assert_array_equal(found.arcs()[1], heads[shortest])


def test_yen(real, device):
    far = real.hops[tuple(real.pairs)]
    tails, heads = real.pairs[:, (far > 1) & np.isfinite(far)][:, :3]
    found = pyapsp.yen(real.graph, tails, heads, 5, device=device)
    weights = np.array(real.weights)
    for number, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        edges = real.other.get_k_shortest_paths(
            tail, to=head, k=5, weights=real.weights, output="epath"
        )
        assert found.distances(number).tolist() == [weights[each].sum() for each in edges]
