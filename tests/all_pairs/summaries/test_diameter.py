"""The diameter against all distances, and how few searches it takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import pyapsp
from pyapsp.all_pairs import summaries
from pyapsp.all_pairs.summaries import farthest
from pyapsp.all_pairs.summaries.searches import Searches
from pyapsp.errors import DeviceMemoryError, ParameterError
from pyapsp.graph import Graph, generators


def largest(graph):
    rows = csgraph.johnson(graph.to_scipy().astype(float))
    return rows.max(where=np.isfinite(rows), initial=0)


@pytest.fixture
def searched(monkeypatch):
    """The vertices of each search, forwards and backwards."""
    seen = []
    for name in ("rows", "totals"):
        real = getattr(Searches, name)

        def spy(self, vertices, *more, real=real):
            seen.extend(np.asarray(vertices).tolist())
            return real(self, vertices, *more)

        monkeypatch.setattr(Searches, name, spy)
    return seen


WEIGHT = st.sampled_from([0, 0, 1, 2, 9])
ARC = st.tuples(st.integers(0, 19), st.integers(0, 19), WEIGHT)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    arcs=st.lists(ARC, max_size=50),
    directed=st.booleans(),
    weights=st.sampled_from(["none", "whole", "quarters"]),
    batch=st.sampled_from([0, 2, 512]),
    pivots=st.sampled_from([2, 3, 99]),
)
def test_any_small_graph(device, arcs, directed, weights, batch, pivots):
    """Connected or not; with bounds only, with batches only, and with both."""
    tails, heads, lengths = zip(*arcs, strict=True) if arcs else ((), (), ())
    lengths = np.array(lengths, np.int64)
    if weights == "none":
        lengths = np.ones(len(arcs), np.int64)
    elif weights == "quarters":
        lengths = lengths / 4
    graph = Graph.from_arcs(20, tails, heads, lengths, directed=directed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(farthest, "_PIVOTS", pivots)
        patch.setattr(farthest, "_BATCH", max(batch, 1))
        if batch == 0:  # never give up
            patch.setattr(farthest, "_GAIN", -np.inf)
        assert summaries.diameter(graph, device=device) == largest(graph)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_components_of_many_sizes(directed, weighted, device, monkeypatch):
    """The largest distance is in a small component; a large component has larger bounds."""
    monkeypatch.setattr(farthest, "_BATCH", 8)
    rng = np.random.default_rng(1)
    ball = rng.integers(0, 150, (2, 900))
    chain = np.arange(150, 180)
    tails = np.concatenate([ball[0], chain[:-1]])
    heads = np.concatenate([ball[1], chain[1:]])
    weights = rng.integers(1, 5, tails.size) if weighted else None
    graph = Graph.from_arcs(200, tails, heads, weights, directed=directed)
    diameter = summaries.diameter(graph, device=device)
    assert diameter == largest(graph)
    assert type(diameter) is int


def test_one_way_out(device, monkeypatch):
    """The two ends of the diameter are in different strongly connected components."""
    monkeypatch.setattr(farthest, "_BATCH", 4)
    circle = np.arange(30)
    tails = np.concatenate([circle, [7], 30 + np.arange(20)])
    heads = np.concatenate([np.roll(circle, -1), [30], 31 + np.arange(20)])
    graph = Graph.from_arcs(51, tails, heads)
    assert summaries.diameter(graph, device=device) == largest(graph) == 29 + 1 + 20


def test_negative_weights(device, monkeypatch):
    monkeypatch.setattr(farthest, "_BATCH", 4)
    rng = np.random.default_rng(2)
    tails, heads = rng.integers(0, 40, (2, 160))
    level = rng.integers(0, 30, 40)
    weights = rng.integers(0, 9, 160) + level[tails] - level[heads]
    graph = Graph.from_arcs(40, tails, heads, weights)
    assert summaries.diameter(graph, device=device) == largest(graph)


def test_random_lengths(device, monkeypatch):
    """Sums in another order differ by roundings, and so may the bounds."""
    monkeypatch.setattr(farthest, "_BATCH", 16)
    for seed in range(8):
        graph = generators.connected_graph(150, 250, seed=seed)
        rng = np.random.default_rng(seed)
        matrix = np.triu(rng.random((150, 150)))
        tails, heads, _ = graph.arcs()
        weights = (matrix + matrix.T)[tails, heads]
        graph = Graph.from_arcs(150, tails, heads, weights, directed=bool(seed % 2))
        diameter = summaries.diameter(graph, device=device)
        rounding = 1e-13 if device.capabilities.fp64 else 1e-6
        np.testing.assert_allclose(diameter, largest(graph), rtol=rounding)


@pytest.mark.parametrize("directed", [False, True])
def test_weights_whose_bound_is_past_int64(directed, device):
    weights = [2**62 - 9, 0, 1, 2, 0, 0, 3]
    graph = Graph.from_arcs(8, range(7), range(1, 8), weights, directed=directed)
    assert summaries.diameter(graph, device=device) == 2**62 - 3


def test_arcs_walked_both_ways(device):
    graph = generators.random_graph(60, 90, 9, seed=3)
    diameter = summaries.diameter(graph, directed=False, device=device)
    assert diameter == largest(graph.symmetrized())


BY_SOURCE = [each for each in pyapsp.methods("all-pairs") if each.by_source]


@pytest.mark.parametrize("method", BY_SOURCE, ids=lambda method: method.id)
def test_a_method_of_choice(method, device):
    graph = generators.random_graph(60, 200, 9, seed=4)
    if method.requires.unweighted:
        graph = graph.with_weights(np.ones(graph.m, np.int64))
    assert summaries.diameter(graph, method=method.id, device=device) == largest(graph)


@pytest.mark.parametrize("weighted", [False, True])
def test_few_searches_on_a_grid(weighted, device, searched):
    graph = generators.grid_2d(60, 60, seed=1)
    if not weighted:
        graph = graph.with_weights(np.ones(graph.m, np.int64))
        assert summaries.diameter(graph, device=device) == 2 * 59
    else:
        away = csgraph.dijkstra(graph.to_scipy().astype(float), indices=range(0, 3600, 100))
        # no bound is proved here, but every distance is one
        assert summaries.diameter(graph, device=device) >= away.max()
    assert len(searched) < (400 if weighted else 20)


@pytest.mark.parametrize("directed", [False, True])
def test_few_searches_in_a_small_world(directed, device, searched):
    graph = generators.rmat(11, 8, seed=1)
    graph = graph.with_weights(np.ones(graph.m, np.int64))
    graph = graph if directed else graph.symmetrized()
    rows = csgraph.dijkstra(graph.to_scipy().astype(float), unweighted=True)
    expected = rows.max(where=np.isfinite(rows), initial=0)
    assert summaries.diameter(graph, device=device) == expected
    assert len(searched) < 1100


def test_memory_and_parameters(device):
    graph = generators.grid_2d(20, 20, seed=1)
    options = {"memory_limit": 200_000, "device": device}
    assert summaries.diameter(graph, **options) == largest(graph)
    with pytest.raises(DeviceMemoryError):
        summaries.diameter(graph, memory_limit=10_000, device=device)
    with pytest.raises(ParameterError, match="'method' parameter"):
        summaries.diameter(graph, method="fw-naive", device=device)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_nothing_is_connected(n, device):
    assert summaries.diameter(Graph.from_arcs(n, [], []), device=device) == 0
    zeros = Graph.from_arcs(n, [0] * (n - 1), range(1, n), [0] * (n - 1))
    assert summaries.diameter(zeros, device=device) == 0
