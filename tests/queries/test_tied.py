"""All shortest paths, their number and their graph, against NetworkX; wrong arguments."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import pyapsp
from pyapsp.errors import GraphError, NegativeWeightError, ParameterError, PrecisionError
from pyapsp.graph import Graph

from .drawn import drawn


def positive(seed, kind="whole", **options):
    """Make a graph with loops, parallel arcs and many ties, and weights above zero."""
    graph = drawn(seed, kind=kind, **options)
    return graph.with_weights(graph.weights + (1 if kind == "whole" else 0.25))


def expected(graph, tails, heads):
    """Return the sorted shortest paths of each pair."""
    given = graph.to_networkx()
    given.add_nodes_from(range(graph.n))
    found = []
    for tail, head in zip(tails.tolist(), heads.tolist(), strict=True):
        try:
            found.append(sorted(nx.all_shortest_paths(given, tail, head, weight="weight")))
        except nx.NetworkXNoPath:
            found.append([])
    return found


def some_pairs(graph, seed, count=40):
    return np.random.default_rng(seed).integers(0, graph.n, (2, count))


@pytest.mark.parametrize("kind", ["whole", "real"])
def test_many_graphs_as_networkx_does(kind, device):
    for seed in range(30):
        graph = positive(seed, kind, n=5 + 2 * seed, degree=1.5 + seed % 4)
        tails, heads = some_pairs(graph, seed)
        paths = expected(graph, tails, heads)
        counts = pyapsp.count_shortest_paths(graph, tails, heads, device=device)
        assert counts.dtype == np.int64
        assert counts.tolist() == [len(each) for each in paths]
        found = pyapsp.all_shortest_paths(graph, tails, heads, device=device)
        assert [found.paths(pair) for pair in range(tails.size)] == paths
        assert found.complete.all()
        some = pyapsp.all_shortest_paths(graph, tails, heads, 2, device=device)
        assert [some.paths(pair) for pair in range(tails.size)] == [each[:2] for each in paths]
        assert some.complete.tolist() == [len(each) <= 2 for each in paths]


@pytest.mark.parametrize("cutoff", [0, 3, None])
def test_a_cutoff_and_both_directions(cutoff, device):
    graph = positive(4)
    tails, heads = some_pairs(graph, 4)
    near = pyapsp.distances(graph.symmetrized(), device=device)[tails, heads]
    options = {"cutoff": cutoff, "directed": False, "device": device}
    paths = expected(graph.symmetrized(), tails, heads)
    paths = [
        each if cutoff is None or d <= cutoff else [] for each, d in zip(paths, near, strict=True)
    ]
    counts = pyapsp.count_shortest_paths(graph, tails, heads, **options)
    assert counts.tolist() == [len(each) for each in paths]
    found = pyapsp.all_shortest_paths(graph, tails, heads, **options)
    assert [found.paths(pair) for pair in range(tails.size)] == paths


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "int16", "uint16", "auto"])
def test_every_type(dtype, device):
    graph = positive(7)
    tails, heads = some_pairs(graph, 7)
    paths = expected(graph, tails, heads)
    counts = pyapsp.count_shortest_paths(graph, tails, heads, dtype=dtype, device=device)
    assert counts.tolist() == [len(each) for each in paths]
    found = pyapsp.all_shortest_paths(graph, tails, heads, dtype=dtype, device=device)
    assert [found.paths(pair) for pair in range(tails.size)] == paths


def ladder(steps):
    """Make a chain of squares: 2^steps shortest paths from 0 to the last vertex."""
    first = 3 * np.arange(steps)
    tails = np.concatenate([first, first, first + 1, first + 2])
    heads = np.concatenate([first + 1, first + 2, first + 3, first + 3])
    return Graph.from_arcs(3 * steps + 1, tails, heads, np.ones(tails.size))


def test_the_largest_numbers(device):
    graph = ladder(66)
    ends = 3 * np.arange(63)
    counts = pyapsp.count_shortest_paths(graph, 0, ends, device=device)
    assert counts.tolist() == [2**k for k in range(63)]
    for steps in (63, 64, 66):
        with pytest.raises(PrecisionError, match=f"from 0 to {3 * steps} than int64 can count"):
            pyapsp.count_shortest_paths(graph, 0, [3, 3 * steps], device=device)
    first = pyapsp.all_shortest_paths(graph, 0, 3 * 66, 3, device=device)
    assert [len(path) for path in first.paths()] == [133] * 3
    assert first.paths()[0] == [v for v in range(199) if v % 3 != 2]
    assert not first.complete[0]


@pytest.mark.parametrize("device_search", [False, True])
def test_the_graph_of_shortest_paths(device_search, device, monkeypatch):
    if device_search:
        monkeypatch.setattr("pyapsp.all_pairs.one._ARCS", 0)
    for seed in range(12):
        graph = positive(seed, "real" if seed % 2 else "whole", n=40)
        dag = pyapsp.shortest_path_dag(graph, 3, device=device)
        arcs = set(zip(*(each.tolist() for each in dag.arcs()[:2]), strict=True))
        wanted = set()
        for paths in expected(graph, np.full(40, 3), np.arange(40)):
            wanted |= {arc for path in paths for arc in pairwise(path)}
        assert arcs == wanted
        assert (dag.directed, dag.n, dag.dtype) == (True, graph.n, graph.dtype)
        tails, heads, weights = dag.arcs()
        np.testing.assert_array_equal(graph.to_dense()[tails, heads], weights)
    near = pyapsp.shortest_path_dag(graph, 3, cutoff=0.5, device=device)
    assert 0 < near.m < dag.m


def test_labels_and_tables(device):
    edges = {"source": ["a", "a", "b", "c"], "target": ["b", "c", "d", "d"], "weight": [1] * 4}
    graph = pyapsp.graph.from_frame(edges)
    found = pyapsp.all_shortest_paths(graph, [0, 3, 0], [3, 0, 0], device=device)
    frame = found.to_frame()
    assert frame.pair.tolist() == [*[0] * 6, 2]
    assert frame.path.tolist() == [0, 0, 0, 1, 1, 1, 0]
    assert frame.vertex.tolist() == ["a", "b", "d", "a", "c", "d", "a"]
    assert repr(found) == "<AllPaths: pairs=3, paths=3>"
    assert pyapsp.shortest_path_dag(graph, 0, device=device).labels.tolist() == list("abcd")
    none = pyapsp.all_shortest_paths(graph, [], [], device=device)
    assert len(none.to_frame()) == 0
    assert pyapsp.count_shortest_paths(graph, [], [], device=device).size == 0


FUNCTIONS = [
    pyapsp.count_shortest_paths,
    pyapsp.all_shortest_paths,
    lambda graph, source, _target, **options: pyapsp.shortest_path_dag(graph, source, **options),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_weights_that_are_refused(function, device):
    zero = Graph.from_arcs(3, [0, 1], [1, 2], [1, 0])
    with pytest.raises(GraphError, match="weights above zero, and one is 0"):
        function(zero, 0, 2, device=device)
    negative = Graph.from_arcs(3, [0, 1], [1, 2], [1, -1])
    with pytest.raises(NegativeWeightError):
        function(negative, 0, 2, device=device)
    lost = Graph.from_arcs(4, [0, 1, 2, 2], [1, 2, 3, 2], [1e16, 0.5, 1, 1e-9])
    with pytest.raises(PrecisionError, match="lost"):
        function(lost, 0, 3, device=device)
    # a loop leads nowhere
    loop = Graph.from_arcs(3, [0, 1, 1], [1, 2, 1], [1e16, 1e16, 0.5])
    function(loop, 0, 2, device=device)


def test_wrong_arguments(device):
    graph = positive(1)
    with pytest.raises(ParameterError, match="limit"):
        pyapsp.all_shortest_paths(graph, 0, 1, 0, device=device)
    for function in FUNCTIONS[:2]:
        with pytest.raises(ParameterError, match="targets"):
            function(graph, [0, 1], [1, 2, 3], device=device)
    with pytest.raises(ParameterError, match="source"):
        pyapsp.shortest_path_dag(graph, 60, device=device)
    found = pyapsp.all_shortest_paths(graph, 0, [1, 2], device=device)
    with pytest.raises(ParameterError, match="pair"):
        found.paths(2)
