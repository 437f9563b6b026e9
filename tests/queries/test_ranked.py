"""`yen` against NetworkX and SciPy; paths without loops, ties, wrong arguments."""

from __future__ import annotations

from itertools import islice, pairwise

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csgraph, csr_array

import pyapsp
from pyapsp.errors import NegativeWeightError, ParameterError, PrecisionError
from pyapsp.graph import Graph

from .drawn import drawn


def lengths_of(graph, tail, head, k):
    """Return the lengths of the k shortest simple paths, by NetworkX."""
    given = graph.to_networkx()
    given.add_nodes_from(range(graph.n))
    found = nx.shortest_simple_paths(given, tail, head, weight="weight")
    try:
        return [nx.path_weight(given, path, "weight") for path in islice(found, k)]
    except nx.NetworkXNoPath:
        return []


def some_pairs(graph, seed, count=8):
    tails, heads = np.random.default_rng(seed).integers(0, graph.n, (2, count))
    return tails[tails != heads], heads[tails != heads]


def check(graph, found, pair):
    """Check that paths are different paths without loops, in the order of their lengths."""
    dense, paths = graph.to_dense(dtype=float), found.paths(pair)
    assert len({tuple(path) for path in paths}) == len(paths)
    for path, length in zip(paths, found.distances(pair), strict=True):
        assert (path[0], path[-1]) == (found.sources[pair], found.targets[pair])
        assert len(set(path)) == len(path)
        assert sum(dense[arc] for arc in pairwise(path)) == pytest.approx(length)
    assert sorted(found.distances(pair)) == found.distances(pair).tolist()


@pytest.mark.parametrize("kind", ["whole", "real"])
@pytest.mark.parametrize("room", [1, 2**20])
def test_many_graphs_as_networkx_does(kind, room, device, monkeypatch):
    monkeypatch.setattr("pyapsp.queries.ranked._VALUES", room)
    for seed in range(9):
        graph = drawn(seed, n=6 + 2 * seed, degree=2 + seed % 3, kind=kind)
        tails, heads = some_pairs(graph, seed)
        found = pyapsp.yen(graph, tails, heads, 6, device=device)
        for pair, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
            check(graph, found, pair)
            np.testing.assert_allclose(found.distances(pair), lengths_of(graph, tail, head, 6))


def test_one_pair_as_scipy_does(device):
    graph = pyapsp.graph.generators.grid_2d(6, 6)
    expected = csgraph.yen(csr_array(graph.to_dense(dtype=float, no_arc=0)), 0, 35, 40)
    found = pyapsp.yen(graph, 0, 35, 40, device=device)
    np.testing.assert_array_equal(found.distances(), expected)
    check(graph, found, 0)


def test_all_paths_of_a_small_graph(device):
    graph = pyapsp.graph.generators.complete(5, max_weight=3)
    found = pyapsp.yen(graph, 0, [4, 0], 100, device=device)
    given = graph.to_networkx()
    assert sorted(found.paths(0)) == sorted(nx.all_simple_paths(given, 0, 4))
    assert found.paths(1) == [[0]]
    assert found.distances(1).tolist() == [0]


@pytest.mark.parametrize("dtype", ["float32", "int64", "int16", "uint16", "auto"])
def test_every_type(dtype, device):
    graph = drawn(4, n=30)
    tails, heads = some_pairs(graph, 4)
    found = pyapsp.yen(graph, tails, heads, 4, dtype=dtype, device=device)
    expected = pyapsp.yen(graph, tails, heads, 4, device=device)
    for pair in range(tails.size):
        np.testing.assert_array_equal(found.distances(pair), expected.distances(pair))


def test_lengths_have_their_type_without_paths(device):
    line = Graph.from_arcs(3, [0, 1], [1, 2], [4, 5], labels=["a", "b", "c"])
    one, none, empty = (
        pyapsp.yen(line, *ends, 2, dtype="int16", device=device)
        for ends in (([0], [2]), ([2], [0]), ([], []))
    )
    assert none.distances().dtype == one.distances().dtype == np.int16
    for library in ("pandas", "polars"):
        frames = [each.to_frame(library) for each in (one, none, empty)]
        kinds = [list(frame.dtypes) for frame in frames]
        assert kinds[0] == kinds[1] == kinds[2]
        assert [len(frame) for frame in frames] == [1, 0, 0]


def test_labels_tables_and_progress(device):
    edges = {"source": ["a", "a", "b", "c"], "target": ["b", "c", "d", "d"], "weight": [1, 2, 5, 5]}
    graph, seen = pyapsp.graph.from_frame(edges), []
    found = pyapsp.yen(
        graph, ["a", "d"], ["d", "a"], 5, device=device, progress=lambda *now: seen.append(now)
    )
    frame = found.to_frame()
    assert frame.source.tolist() == ["a", "a"]
    assert frame["rank"].tolist() == [1, 2]
    assert frame.distance.tolist() == [6, 7]
    assert frame.arcs.tolist() == [2, 2]
    assert repr(found) == "<RankedPaths: pairs=2, paths=2>"
    assert seen[-1] == (5, 5)
    assert len(pyapsp.yen(graph, [], [], 2, device=device).to_frame()) == 0
    assert pyapsp.yen(graph, "d", "a", 2, device=device).paths() == []


def test_wrong_arguments(device):
    graph = drawn(1)
    with pytest.raises(ParameterError, match="'k' parameter of yen"):
        pyapsp.yen(graph, 0, 1, 0, device=device)
    with pytest.raises(ParameterError, match="pair"):
        pyapsp.yen(graph, 0, 1, 1, device=device).paths(1)
    with pytest.raises(NegativeWeightError):
        pyapsp.yen(Graph.from_arcs(2, [0], [1], [-1]), 0, 1, 1, device=device)
    far = Graph.from_arcs(4, [0, 0, 1], [3, 1, 2], [1, 9000, 9000])
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.yen(far, 0, 3, 2, dtype="int16", device=device)


def test_one_path_needs_no_searches_of_spurs(device, monkeypatch):
    monkeypatch.setattr("pyapsp.queries.ranked.on_each_device", None)
    graph = Graph.from_arcs(4, [0, 0, 1, 2, 1], [1, 2, 3, 3, 2], [1, 5, 9, 1, 2])
    assert pyapsp.yen(graph, 0, 3, 1, device=device).paths() == [[0, 1, 2, 3]]
    with pytest.raises(TypeError):
        pyapsp.yen(graph, 0, 3, 2, device=device)
