"""`pairs` and `distances` against SciPy, igraph and the paths themselves; wrong arguments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.errors import NegativeWeightError, ParameterError, PrecisionError
from pyapsp.graph import Graph, generators
from pyapsp.queries import searches

from .drawn import assert_path, drawn


def scipy_rows(graph, cutoff=None):
    limit = np.inf if cutoff is None else cutoff
    return csgraph.dijkstra(graph.to_scipy().astype(float), limit=limit)


def some_pairs(graph, seed, count):
    rng = np.random.default_rng(seed)
    return rng.integers(0, graph.n, (2, count))


@pytest.mark.parametrize("kind", ["whole", "real"])
def test_many_graphs_as_scipy_does(kind, device):
    for seed in range(40):
        graph = drawn(seed, n=5 + 3 * seed, kind=kind)
        tails, heads = some_pairs(graph, seed, 50)
        for cutoff in (0, 2.5, None):
            rows = scipy_rows(graph, cutoff)
            found = pyapsp.pairs(graph, tails, heads, cutoff=cutoff, device=device)
            np.testing.assert_array_equal(found.distances, rows[tails, heads])
            found = pyapsp.distances(graph, tails, heads[:20], cutoff=cutoff, device=device)
            np.testing.assert_array_equal(found, rows[np.ix_(tails, heads[:20])])


@pytest.mark.parametrize("room", [1, 2**20])
def test_paths(room, monkeypatch, device):
    monkeypatch.setattr("pyapsp.queries.searches._VALUES", room)
    for seed in range(12):
        graph = drawn(seed, n=90, kind="real" if seed % 2 else "whole")
        arcs = graph.to_scipy().todok()
        tails, heads = some_pairs(graph, seed, 120)
        found = pyapsp.pairs(graph, tails, heads, paths=True, device=device)
        near = pyapsp.within(graph, predecessors=True, device=device)
        np.testing.assert_array_equal(found.distances, scipy_rows(graph)[tails, heads])
        for pair, (tail, head) in enumerate(zip(tails, heads, strict=True)):
            path = found.path(pair)
            assert_path(path, arcs, tail, head, found.distances[pair])
            assert path == near.path(head, tail)


def test_a_far_target_ends_the_search_late(device):
    """The last of several targets of a source is found, in any order, and repeated ones."""
    graph = pyapsp.graph.generators.path(500, max_weight=9, seed=1)
    heads = [499, 3, 499, 250, 0]
    found = pyapsp.pairs(graph, 0, heads, paths=True, device=device)
    np.testing.assert_array_equal(found.distances, scipy_rows(graph)[0, heads])
    assert found.path(0) == list(range(500))
    assert found.path(4) == [0]


def test_one_vertex_and_many(device):
    graph = drawn(4)
    rows = scipy_rows(graph)
    np.testing.assert_array_equal(
        pyapsp.pairs(graph, 3, [1, 2], device=device).distances, rows[3, 1:3]
    )
    np.testing.assert_array_equal(
        pyapsp.pairs(graph, [1, 2], 3, device=device).distances, rows[1:3, 3]
    )
    np.testing.assert_array_equal(pyapsp.distances(graph, 3, device=device), rows[[3]])
    np.testing.assert_array_equal(pyapsp.distances(graph, device=device), rows)
    back = pyapsp.distances(graph.symmetrized(), [1], device=device)
    np.testing.assert_array_equal(pyapsp.distances(graph, 1, directed=False, device=device), back)


@pytest.mark.every(3)
@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "int16", "uint16", "auto"])
def test_every_type(dtype, device):
    graph = drawn(4)
    rows = scipy_rows(graph)
    found = pyapsp.distances(graph, [3, 1], dtype=dtype, device=device)
    assert dtype == "auto" or found.dtype == dtype
    far = np.isinf(rows[[3, 1]])
    np.testing.assert_array_equal(found == found.max(), far)
    np.testing.assert_array_equal(found[~far], rows[[3, 1]][~far])
    both = pyapsp.pairs(graph, [3, 1], [7, 8], dtype=dtype, device=device)
    reached = both.distances < both.infinity
    np.testing.assert_array_equal(reached, np.isfinite(rows[[3, 1], [7, 8]]))


def test_into_an_array(tmp_path, device):
    graph = drawn(4)
    out = np.lib.format.open_memmap(tmp_path / "od.npy", "w+", np.float32, (60, 4))
    assert pyapsp.distances(graph, targets=[4, 1, 1, 0], out=out, device=device) is out
    np.testing.assert_array_equal(np.load(tmp_path / "od.npy"), scipy_rows(graph)[:, [4, 1, 1, 0]])
    with pytest.raises(ParameterError, match=r"writeable float64 array of shape \(60, 4\)"):
        pyapsp.distances(graph, targets=[4, 1, 1, 0], out=np.empty((4, 60)), device=device)
    with pytest.raises(ParameterError, match="list"):
        pyapsp.distances(graph, targets=[4], out=[1], device=device)


def test_distances_beyond_the_type(device):
    line = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [9000, 9000, 9000])
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.pairs(line, 0, 2, dtype="int16", device=device)
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.distances(line, [0, 1], [2], dtype="int16", device=device)
    # the search ends before
    assert pyapsp.pairs(line, 0, 1, dtype="int16", device=device).distances.tolist() == [9000]


def test_tables_have_labels(device):
    edges = {"source": ["a", "a", "b"], "target": ["b", "c", "c"], "weight": [1, 5, 2]}
    graph = pyapsp.graph.from_frame(edges)
    found = pyapsp.pairs(graph, [0, 2], [2, 0], paths=True, device=device)
    frame = found.to_frame()
    assert frame.source.tolist() == ["a", "c"]
    assert frame.target.tolist() == ["c", "a"]
    assert frame.distance.fillna(-1).tolist() == [3, -1]
    assert frame.arcs.fillna(-1).tolist() == [2, -1]
    columns = found.path_columns()
    assert columns["pair"].tolist() == [0, 0, 0]
    assert columns["vertex"].tolist() == ["a", "b", "c"]
    assert repr(found) == "<Pairs: pairs=2, vertices=3>"


def test_nothing_to_do(device):
    graph = drawn(1)
    assert pyapsp.pairs(graph, [], [], paths=True, device=device).vertices.size == 0
    assert pyapsp.distances(graph, [], [1, 2], device=device).shape == (0, 2)
    assert pyapsp.distances(Graph.from_arcs(0, [], []), device=device).shape == (0, 0)


def test_wrong_arguments(device):
    graph = drawn(1)
    with pytest.raises(ParameterError, match="of the length of sources, 3"):
        pyapsp.pairs(graph, [1, 2, 3], [1, 2])
    with pytest.raises(ParameterError, match="'targets' parameter of pairs must"):
        pyapsp.pairs(graph, 1, 60)
    with pytest.raises(ParameterError, match="'targets' parameter of distances must"):
        pyapsp.distances(graph, 1, -1)
    negative = Graph.from_arcs(2, [0], [1], [-1])
    with pytest.raises(NegativeWeightError, match="pairs needs non-negative weights"):
        pyapsp.pairs(negative, 0, 1, device=device)
    found = pyapsp.pairs(graph, 0, 1, device=device)
    with pytest.raises(ParameterError, match="paths=True"):
        found.path(0)
    with pytest.raises(ParameterError, match="paths=True"):
        found.path_columns()
    found = pyapsp.pairs(graph, 0, 1, paths=True, device=device)
    with pytest.raises(ParameterError, match="'pair' parameter"):
        found.path(1)


def test_progress_is_the_number_of_sources_that_are_done(device, monkeypatch):
    """A launch for each source, of which each has several targets."""
    some = searches._first_sources
    monkeypatch.setattr(
        searches, "_first_sources", lambda waiting, tails, _: some(waiting, tails, 1)
    )
    told = []
    pyapsp.pairs(
        generators.path(9),
        [3, 1, 3, 5, 1],
        [0, 1, 2, 3, 4],
        device=device,
        progress=lambda *each: told.append(each),
    )
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_progress(device):
    told = []
    graph = drawn(1)
    pyapsp.pairs(
        graph, [3, 1, 3], [0, 1, 2], device=device, progress=lambda *each: told.append(each)
    )
    assert told[-1] == (2, 2)
    pyapsp.distances(graph, device=device, progress=lambda *each: told.append(each))
    assert told[-1] == (60, 60)
