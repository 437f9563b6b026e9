"""`bfs`: levels, parents, arguments and errors; levels against NetworkX."""

from __future__ import annotations

import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import pyapsp
from pyapsp import BfsResult, errors
from pyapsp.graph import Graph, generators
from pyapsp.paths.result import Result

sys.path.insert(0, str(Path(__file__).parent))
from shapes import smallest_parents

GRAPH = generators.random_graph(60, 110, seed=2)


def levels_of(graph, source):
    found = nx.single_source_shortest_path_length(graph.to_networkx(), source)
    return [found.get(v, -1) for v in range(graph.n)]


@pytest.mark.parametrize("method", ["auto", *(cls.id for cls in pyapsp.methods("bfs"))])
def test_levels_and_parents(method, device):
    found = pyapsp.bfs(GRAPH, 4, method, device=device)
    assert isinstance(found, BfsResult)
    assert found.levels.tolist() == levels_of(GRAPH, 4)
    assert (found.levels.dtype, found.parents.dtype) == (np.int32, np.int32)
    assert (found.levels == -1).any()
    assert found.sources.tolist() == [4]
    np.testing.assert_array_equal(found.parents, smallest_parents(GRAPH, found.levels))


@pytest.mark.parametrize("method", ["auto", *(cls.id for cls in pyapsp.methods("bfs"))])
def test_of_many_possible_parents_it_is_the_smallest(method, device):
    graph = generators.random_graph(300, 9000, seed=3)
    found = pyapsp.bfs(graph, [7, 299], method, device=device)
    for levels, parents in zip(found.levels, found.parents, strict=True):
        np.testing.assert_array_equal(parents, smallest_parents(graph, levels))


def test_weights_do_not_count(device):
    tails, heads, _ = GRAPH.arcs()
    for weights in (np.full(GRAPH.m, -3), np.linspace(0, 1, GRAPH.m), np.full(GRAPH.m, 1e300)):
        graph = Graph.from_arcs(GRAPH.n, tails, heads, weights)
        assert pyapsp.bfs(graph, 4, device=device).levels.tolist() == levels_of(GRAPH, 4)


def test_shapes_follow_the_source(device):
    one = pyapsp.bfs(GRAPH, np.int32(4), device=device)
    assert one.levels.shape == one.parents.shape == (60,)
    some = pyapsp.bfs(GRAPH, [7, 4, 7], device=device)
    assert some.levels.shape == some.parents.shape == (3, 60)
    np.testing.assert_array_equal(some.levels[1], one.levels)
    np.testing.assert_array_equal(some.levels[0], some.levels[2])
    assert pyapsp.bfs(GRAPH, [4], device=device).levels.shape == (1, 60)
    assert pyapsp.bfs(GRAPH, [], device=device).levels.shape == (0, 60)
    assert pyapsp.bfs(Graph.from_arcs(0, [], []), [], device=device).levels.shape == (0, 0)


def test_undirected(device):
    found = pyapsp.bfs(GRAPH, 4, directed=False, device=device)
    assert found.levels.tolist() == levels_of(GRAPH.symmetrized(), 4)


def test_paths(device):
    found = pyapsp.bfs(GRAPH, [4, 9], device=device)
    for row, source in enumerate((4, 9)):
        for v in range(60):
            path = found.path(v, source)
            level = found.levels[row, v]
            assert len(path) == level + 1
            assert not path or (path[0], path[-1]) == (source, v)
    assert pyapsp.bfs(GRAPH, 4, device=device).path(4) == [4]
    with pytest.raises(errors.ParameterError, match="of which there are several"):
        found.path(3)
    with pytest.raises(errors.ParameterError, match="one of the sources"):
        found.path(3, 8)
    without = pyapsp.bfs(GRAPH, 4, parents=False, device=device)
    assert without.parents is None
    with pytest.raises(errors.ParameterError, match="no predecessors"):
        without.path(3)


def test_what_it_says_and_saves(device, tmp_path):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], labels=["a", "b", "c"], name="line")
    found = pyapsp.bfs(graph, 1, device=device)
    assert found.labels.tolist() == ["a", "b", "c"]
    assert "method bfs-direction-optimising: auto" in found.explain()
    record = found.stats
    asked = {key: record[key] for key in ("problem", "source", "sources", "predecessors", "dtype")}
    assert asked == {
        "problem": "bfs",
        "source": 1,
        "sources": 1,
        "predecessors": True,
        "dtype": "int32",
    }
    assert record["input"]["name"] == "line"
    assert pyapsp.bfs(graph, [0, 1], device=device).stats["source"] is None
    found.save(tmp_path / "found.npz")
    loaded = Result.load(tmp_path / "found.npz")
    np.testing.assert_array_equal(loaded.distances, found.rows.distances)
    np.testing.assert_array_equal(loaded.predecessors, found.rows.predecessors)
    assert loaded.path(1, 2) == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"source": -1}, "source"),
        ({"source": 60}, "source"),
        ({"source": [3, 60]}, "source"),
        ({"source": 1.5}, "source"),
        ({"source": True}, "source"),
        ({"source": None}, "source"),
        ({"source": [[1]]}, "source"),
        ({"method": "near-far"}, "method"),
        ({"method": "sssp-near-far"}, "method"),
        ({"memory_limit": 0}, "memory_limit"),
        ({"progress": 3}, "progress"),
    ],
)
def test_arguments_outside_their_rule(arguments, parameter, device):
    with pytest.raises(errors.ParameterError, match=f"'{parameter}' parameter of bfs"):
        pyapsp.bfs(GRAPH, **{"source": 0, "device": device, **arguments})


def test_levels_are_int32(device):
    with pytest.raises(errors.ParameterError, match="'dtype' parameter of bfs"):
        pyapsp.registry.problem("bfs").ask(GRAPH, dtype="int64", device=device)


def test_progress_counts_sources_and_can_end_the_run(device):
    told = []
    pyapsp.bfs(GRAPH, [1, 2, 3], device=device, progress=lambda *state: told.append(state))
    assert told == [(1, 3), (2, 3), (3, 3)]

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pyapsp.bfs(GRAPH, [1, 2, 3], device=device, progress=stop)


def test_levels_of_a_graph_that_several_threads_convert(device):
    n, reached = 2**21 + 5, 2**21 - 7
    ends = np.arange(1, reached)
    graph = Graph.from_arcs(n, np.zeros_like(ends), ends)
    levels = pyapsp.bfs(graph, 0, parents=False, device=device).levels
    assert levels.dtype == np.int32
    assert levels[0] == 0
    assert (levels[1:reached] == 1).all()
    assert (levels[reached:] == -1).all()


def test_the_largest_level_is_not_taken_for_infinity():
    most = 2**30 - 2
    distances = np.array([[0, most, most + 1]], np.int32)
    found = BfsResult(Result(distances, None, np.zeros(1, np.int64)), single=True)
    assert found.levels.tolist() == [0, most, -1]
