"""Minimum spanning forests are those of SciPy and NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from pyapsp.forest import Forest, minimum_spanning_forest

import pyapsp
from pyapsp.errors import PrecisionError
from pyapsp.graph import Graph
from pyapsp.registry import problem, runs


def drawn(kind, seed):
    """Return a directed graph of a kind, with several components and a vertex without arcs."""
    random = np.random.default_rng(seed)
    n, m = 60, 90
    weights = {
        "ties": random.integers(1, 4, m),
        "zeros": random.integers(0, 2, m),
        "negative": random.integers(-9, 9, m),
        "floats": random.normal(size=m),
        "one": np.ones(m, int),
    }[kind]
    tails, heads = random.integers(0, n - 1, (2, m))
    return Graph.from_arcs(n, tails, heads, weights)


def kruskal(graph):
    """Return the edges that NetworkX takes, in the order of weights and ends."""
    undirected = nx.Graph()
    undirected.add_nodes_from(range(graph.n))
    edges = zip(*(each.tolist() for each in graph.symmetrized().arcs()), strict=True)
    undirected.add_weighted_edges_from(edge for edge in edges if edge[0] < edge[1])
    return sorted(nx.minimum_spanning_edges(undirected, "kruskal", data=False))


@pytest.mark.parametrize("kind", ["ties", "zeros", "negative", "floats", "one"])
@pytest.mark.parametrize("seed", range(4))
def test_the_forest_is_that_of_networkx_and_scipy(kind, seed):
    graph = drawn(kind, seed)
    tails, heads, _ = minimum_spanning_forest(graph).arcs()
    edges = [edge for edge in zip(tails.tolist(), heads.tolist(), strict=True) if edge[0] < edge[1]]
    assert edges == kruskal(graph)
    known = problem("spanning-forest")
    asked = known.ask(graph)
    assert known.oracle(asked.input, asked.options)(runs.solve(asked).answer).ok


@pytest.mark.parametrize("group", [1, 64, 256])
def test_groups_give_the_same_forest(group):
    graph, method = drawn("ties", 9), pyapsp.method("boruvka", group=group)
    assert minimum_spanning_forest(graph, method) == minimum_spanning_forest(graph)


@pytest.mark.parametrize(("n", "arcs"), [(0, []), (1, []), (3, []), (1, [(0, 0)]), (2, [(1, 0)])])
def test_small_graphs(n, arcs):
    ends = np.array(arcs, int).reshape(-1, 2).T
    forest = minimum_spanning_forest(Graph.from_arcs(n, *ends))
    assert (forest.n, forest.m) == (n, 2 * (n == 2))


def test_a_long_path_is_its_own_forest():
    path = pyapsp.graph.generators.path(5000).with_weights(np.arange(9998) // 2)
    assert minimum_spanning_forest(path).m == 9998


def test_labels_and_memory():
    frame = {"source": ["a", "b", "c"], "target": ["b", "c", "a"], "weight": [1, 2, 3]}
    graph = pyapsp.graph.from_frame(frame)
    assert minimum_spanning_forest(graph).labels.tolist() == ["a", "b", "c"]
    assert pyapsp.dry_run(minimum_spanning_forest, graph).device_bytes > 0


def test_a_type_that_does_not_hold_the_weights():
    graph = Graph.from_arcs(2, [0], [1], [2**40])
    with pytest.raises(PrecisionError):
        runs.solve(problem("spanning-forest").ask(graph, dtype="int32"))


@pytest.mark.parametrize(
    ("arcs", "fault"),
    [([0, 1, 3], "close cycles"), ([0, 3], "not the 2 lightest"), ([0], "not the 2 lightest")],
)
def test_the_oracle_finds_faults(arcs, fault):
    graph = Graph.from_arcs(3, [0, 0, 1], [1, 2, 2], [1, 2, 3], directed=False)
    check = problem("spanning-forest").oracle(graph, None)
    assert fault in check(Forest(np.array(arcs), stats={})).fault
    assert check(Forest(np.array([0, 1]), stats={})).ok
