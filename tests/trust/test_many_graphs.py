"""Functions of few distances and centralities, against brute force and NetworkX, on random graphs.

Graphs are directed or not, with few or many arcs, parallel arcs, loops, weights of 0 and many equal
paths. Weights are eighths, so that every sum is exact. Sixteen graphs have every pair of kinds; a
thousand run at night.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise

import networkx as nx
import numpy as np
import pytest

import pyapsp

MANY, FEW = 1000, 16


def floyd(arc):
    """Return the distances, by Floyd and Warshall."""
    rows = np.minimum(arc, np.where(np.eye(len(arc)), 0, np.inf))
    for k in range(len(arc)):
        rows = np.minimum(rows, rows[:, k, None] + rows[k])
    return rows


@dataclass(frozen=True)
class Case:
    """A random graph as arcs, and the answers of brute force."""

    seed: int
    positive: bool = False

    @cached_property
    def rng(self):
        return np.random.default_rng(self.seed)

    @cached_property
    def n(self):
        return 1 + self.seed % 23

    @cached_property
    def directed(self):
        return (self.seed % 4 + self.seed // 4 + self.seed // 16) % 2 == 1

    @cached_property
    def arcs(self):
        count = int((0.5, 1.5, 3, 6)[self.seed // 4 % 4] * self.n)
        tails, heads = self.rng.integers(0, self.n, (2, count))
        # each fourth arc has a parallel one
        tails, heads = (np.append(each, each[::4]) for each in (tails, heads))
        low, high = ((1, 2), (0, 4), (1, 64), (1, 1000))[self.seed % 4]
        weights = self.rng.integers(low, high, tails.size) + (low == 0 and self.positive)
        return tails, heads, weights / 8 if self.seed % 4 == 2 else weights

    @cached_property
    def graph(self):
        return pyapsp.Graph.from_arcs(self.n, *self.arcs, directed=self.directed)

    @cached_property
    def arc(self):
        """The matrix of the shortest arcs."""
        tails, heads, weights = self.arcs
        matrix = np.full((self.n, self.n), np.inf)
        np.minimum.at(matrix, (tails, heads), weights)
        return matrix if self.directed else np.minimum(matrix, matrix.T)

    @cached_property
    def rows(self):
        return floyd(self.arc)

    @cached_property
    def multigraph(self):
        made = (nx.MultiDiGraph if self.directed else nx.MultiGraph)()
        made.add_nodes_from(range(self.n))
        arcs = zip(*(each.tolist() for each in self.arcs), strict=True)
        made.add_weighted_edges_from(arcs)
        return made

    @cached_property
    def simple(self):
        """The graph without parallel arcs."""
        made = (nx.DiGraph if self.directed else nx.Graph)()
        made.add_nodes_from(range(self.n))
        tails, heads = np.nonzero(np.isfinite(self.arc))
        weights = self.arc[tails, heads].tolist()
        made.add_weighted_edges_from(zip(tails.tolist(), heads.tolist(), weights, strict=True))
        return made

    @cached_property
    def pairs(self):
        return self.rng.integers(0, self.n, (2, 12))

    @cached_property
    def some(self):
        return np.unique(self.rng.integers(0, self.n, 5))

    @cached_property
    def cutoff(self):
        return (None, 0, 2, 30)[self.seed // 3 % 4]

    @cached_property
    def near(self):
        """The distances up to the cutoff, inf for others."""
        longest = np.inf if self.cutoff is None else self.cutoff
        return np.where(self.rows <= longest, self.rows, np.inf)

    def length(self, path):
        return sum(self.arc[arc] for arc in pairwise(path))

    def all_paths(self, tail, head):
        try:
            found = nx.all_shortest_paths(self.simple, tail, head, weight="weight")
            return sorted(found)
        except nx.NetworkXNoPath:
            return []


def within(case, device):
    options = {"predecessors": True, "device": device}
    found = pyapsp.within(case.graph, case.some, case.cutoff, **options)
    dense = np.full((case.some.size, case.n), np.inf)
    entries = found.distances.tocoo()
    dense[entries.coords] = entries.data
    np.testing.assert_array_equal(dense, case.near[case.some])
    assert entries.nnz == np.isfinite(dense).sum()
    for row, source in enumerate(case.some.tolist()):
        for target in np.flatnonzero(np.isfinite(dense[row])).tolist():
            path = found.path(target, row)
            assert (path[0], path[-1]) == (source, target)
            assert case.length(path) == dense[row, target]


def nearest(case, device):
    k = 1 + case.seed % 4
    found = pyapsp.nearest(case.graph, case.some, k, cutoff=case.cutoff, device=device)
    rows = case.near[:, case.some]
    order = np.argsort(rows, axis=1, kind="stable")[:, :k]
    expected = np.take_along_axis(rows, order, axis=1)
    missing = ((0, 0), (0, k - order.shape[1]))
    expected = np.pad(expected, missing, constant_values=np.inf)
    targets = np.pad(case.some[order], missing)
    np.testing.assert_array_equal(found.distances, expected)
    np.testing.assert_array_equal(found.targets, np.where(np.isinf(expected), -9999, targets))


def pairs(case, device):
    tails, heads = case.pairs
    options = {"paths": True, "cutoff": case.cutoff, "device": device}
    found = pyapsp.pairs(case.graph, tails, heads, **options)
    np.testing.assert_array_equal(found.distances, case.near[tails, heads])
    for pair, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        path = found.path(pair)
        if np.isinf(found.distances[pair]):
            assert path == []
        else:
            assert (path[0], path[-1]) == (tail, head)
            assert case.length(path) == found.distances[pair]


def distances(case, device):
    tails, heads = case.pairs
    found = pyapsp.distances(case.graph, tails, heads, cutoff=case.cutoff, device=device)
    np.testing.assert_array_equal(found, case.near[np.ix_(tails, heads)])
    found = pyapsp.distances(case.graph, directed=False, device=device)
    np.testing.assert_array_equal(found, floyd(np.minimum(case.arc, case.arc.T)))


def reach(case, device):
    found = pyapsp.reach(case.graph, cutoff=case.cutoff, device=device)
    np.testing.assert_array_equal(found, np.isfinite(case.near).sum(axis=1) - 1)


def accessibility(case, device):
    jobs = case.rng.integers(0, 50, (case.n, 2))
    options = {"sources": case.some, "device": device}
    found = pyapsp.accessibility(case.graph, jobs, case.cutoff, **options)
    there = np.isfinite(case.near[case.some])
    np.testing.assert_array_equal(found, there @ jobs)
    decay = {"decay": lambda d: np.exp(-d)}
    found = pyapsp.accessibility(case.graph, jobs, case.cutoff, **options, **decay)
    np.testing.assert_allclose(found, np.exp(-case.near[case.some]) @ jobs, rtol=1e-12)


def betweenness_centrality(case, device):
    normalized, endpoints = case.seed % 2 == 0, case.seed // 2 % 2 == 0
    options = {"normalized": normalized, "endpoints": endpoints}
    options |= {"k": 1 + case.seed % case.n, "seed": 5} if case.seed % 3 == 0 else {}
    for ours, theirs in ((None, None), (..., "weight")):
        found = pyapsp.betweenness_centrality(case.graph, weight=ours, **options, device=device)
        expected = nx.betweenness_centrality(case.multigraph, weight=theirs, **options)
        np.testing.assert_allclose(found, list(expected.values()), rtol=1e-9, atol=1e-12)


def edge_betweenness_centrality(case, device):
    options = {"normalized": case.seed % 2 == 0}
    tails, heads, _ = case.graph.arcs()
    for ours, theirs in ((None, None), (..., "weight")):
        found = pyapsp.edge_betweenness_centrality(
            case.graph, weight=ours, **options, device=device
        )
        expected = nx.edge_betweenness_centrality(case.simple, weight=theirs, **options)
        if not case.directed:
            expected |= {(v, u): value for (u, v), value in expected.items()}
        values = [expected[arc] for arc in zip(tails.tolist(), heads.tolist(), strict=True)]
        np.testing.assert_allclose(found, values, rtol=1e-9, atol=1e-12)


def harmonic_centrality(case, device):
    for ours, theirs in ((None, None), (..., "weight")):
        found = pyapsp.harmonic_centrality(case.graph, weight=ours, device=device)
        expected = nx.harmonic_centrality(case.multigraph, distance=theirs)
        np.testing.assert_allclose(found, list(expected.values()), rtol=1e-12)


def closeness_centrality(case, device):
    improved = case.seed % 3 > 0
    for ours, theirs in ((None, None), (..., "weight")):
        options = {"improved": improved, "weight": ours, "device": device}
        found = pyapsp.closeness_centrality(case.graph, **options)
        expected = nx.closeness_centrality(case.multigraph, distance=theirs, wf_improved=improved)
        np.testing.assert_allclose(found, list(expected.values()), rtol=1e-12)


def distance_histogram(case, device):
    whole = not case.graph.weights.size or case.graph.is_integer
    width = 1 + case.seed % 3 if whole else 0.625
    found = pyapsp.distance_histogram(case.graph, width=width, device=device)
    apart = case.rows[~np.eye(case.n, dtype=bool)]
    bins = np.floor(apart[np.isfinite(apart)] / width).astype(int)
    expected = np.bincount(bins, minlength=1)
    np.testing.assert_array_equal(np.trim_zeros(found, "b"), np.trim_zeros(expected, "b"))


def count_shortest_paths(case, device):
    found = pyapsp.count_shortest_paths(case.graph, *case.pairs, device=device)
    ends = zip(*case.pairs.tolist(), strict=True)
    assert found.tolist() == [len(case.all_paths(*pair)) for pair in ends]


def all_shortest_paths(case, device):
    limit = (None, 1, 2)[case.seed % 3]
    found = pyapsp.all_shortest_paths(case.graph, *case.pairs, limit, device=device)
    for number, pair in enumerate(zip(*case.pairs.tolist(), strict=True)):
        expected = case.all_paths(*pair)
        assert found.paths(number) == expected[:limit]
        assert found.complete[number] == (limit is None or len(expected) <= limit)


def shortest_path_dag(case, device):
    source = case.seed % case.n
    found = pyapsp.shortest_path_dag(case.graph, source, device=device)
    row = case.rows[source]
    with np.errstate(invalid="ignore"):
        shortest = np.isfinite(case.arc) & (row[:, None] + case.arc == row)
    arcs = np.argwhere(shortest & np.isfinite(row)[:, None])
    np.testing.assert_array_equal(np.stack(found.arcs()[:2], axis=1), arcs)


def yen(case, device):
    tails, heads = case.pairs[:, :4]
    found = pyapsp.yen(case.graph, tails, heads, 5, device=device)
    for number, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        paths = found.paths(number)
        if tail == head:
            assert paths == [[tail]]
            continue
        try:
            listed = nx.shortest_simple_paths(case.simple, tail, head, weight="weight")
            expected = [case.length(path) for path in islice(listed, 5)]
        except nx.NetworkXNoPath:
            expected = []
        assert [case.length(path) for path in paths] == expected
        assert found.distances(number).tolist() == expected
        assert len(set(map(tuple, paths))) == len(paths)
        assert all(len(set(path)) == len(path) for path in paths)


# Which need weights above zero.
POSITIVE = (
    betweenness_centrality,
    edge_betweenness_centrality,
    count_shortest_paths,
    all_shortest_paths,
    shortest_path_dag,
)
CHECKS = (
    within,
    nearest,
    pairs,
    distances,
    reach,
    accessibility,
    harmonic_centrality,
    closeness_centrality,
    distance_histogram,
    yen,
    *POSITIVE,
)


def run(check, device, seeds):
    """Call a function that asserts what holds for a graph, on many."""
    for seed in seeds:
        case = Case(seed, positive=check in POSITIVE)
        try:
            check(case, device)
        except AssertionError as error:
            raise AssertionError(f"graph {seed}: {case.graph!r}") from error


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_few_graphs(check, device):
    run(check, device, range(FEW))


@pytest.mark.nightly
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_many_graphs(check, device):
    run(check, device, range(MANY))


def test_the_few_have_every_pair_of_kinds():
    kinds = [(seed % 4, seed // 4 % 4, Case(seed).directed) for seed in range(FEW)]
    for one, other, count in ((0, 1, 16), (0, 2, 8), (1, 2, 8)):
        assert len({(kind[one], kind[other]) for kind in kinds}) == count
