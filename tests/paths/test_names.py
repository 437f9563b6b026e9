"""Vertices that are given by their labels, and answers with labels."""

from __future__ import annotations

import copy
import sys
import types

import networkx as nx
import numpy as np
import pandas
import pytest

import pyapsp
from pyapsp.errors import ParameterError
from pyapsp.graph import Graph, from_frame

TOWNS = {
    "source": ["Rome", "Rome", "Pisa", "Lucca"],
    "target": ["Pisa", "Siena", "Lucca", "Pisa"],
    "weight": [356, 232, 20, 20],
}
# the vertex with the number v has the label 2 - v, and 7 to 9 follow
IDS = {"source": [2, 1, 0, 7, 8], "target": [1, 0, 7, 8, 9], "weight": [1, 1, 1, 1, 1]}


@pytest.fixture
def towns():
    return from_frame(TOWNS)


def numbers(graph, *labels):
    return [graph.vertex(each) for each in labels]


def test_one_name_or_several_in_every_function(towns, device):
    rome, pisa, lucca = numbers(towns, "Rome", "Pisa", "Lucca")
    on = {"device": device}
    for name, number in (("Rome", rome), (["Rome", "Lucca"], [rome, lucca])):
        for function in (pyapsp.bfs, pyapsp.sssp):
            found, expected = function(towns, name, **on), function(towns, number, **on)
            np.testing.assert_array_equal(found.sources, expected.sources)
            np.testing.assert_array_equal(found.rows.distances, expected.rows.distances)
            assert found.single == expected.single == (name == "Rome")
    some, few = ["Rome", "Lucca"], [rome, lucca]
    calls = [
        lambda given: pyapsp.solve(towns, sources=given, **on).distances,
        lambda given: next(pyapsp.row_blocks(towns, sources=given, **on)).sources,
        lambda given: pyapsp.within(towns, given, 400, **on).distances.toarray(),
        lambda given: pyapsp.reach(towns, given, 400, **on),
        lambda given: pyapsp.accessibility(towns, range(4), 400, sources=given, **on),
        lambda given: pyapsp.pairs(towns, given, pisa, **on).distances,
        lambda given: pyapsp.pairs(towns, rome, given, **on).distances,
        lambda given: pyapsp.distances(towns, given, given, **on),
        lambda given: pyapsp.count_shortest_paths(towns, rome, given, **on),
        lambda given: pyapsp.all_shortest_paths(towns, given, pisa, **on).paths(1),
        lambda given: pyapsp.nearest(towns, given, **on).targets,
        lambda given: pyapsp.closeness_centrality(towns, sources=given, **on),
        lambda given: pyapsp.betweenness_centrality(towns, sources=given, **on),
        lambda given: pyapsp.sssp(towns, rome, targets=given, **on).distances[few],
    ]
    for call in calls:
        expected = call(few)
        for given in (some, tuple(some), np.array(some), np.array(some, object)):
            np.testing.assert_array_equal(call(given), expected)
        np.testing.assert_array_equal(call(pandas.Series(some)), expected)
    assert pyapsp.shortest_path_dag(towns, "Lucca", **on).m == 1


def test_objects_that_are_no_graph(device):
    frame = pandas.DataFrame(TOWNS)
    assert pyapsp.bfs(frame, "Rome", device=device).path("Lucca") == ["Rome", "Pisa", "Lucca"]
    grid = nx.grid_2d_graph(2, 2)
    np.testing.assert_array_equal(pyapsp.bfs(grid, [(0, 1)], device=device).levels, [[1, 0, 2, 1]])


def test_paths_have_the_names_that_the_call_has(towns, device):
    rome, lucca = numbers(towns, "Rome", "Lucca")
    result = pyapsp.solve(towns, predecessors=True, device=device)
    named = ["Rome", "Pisa", "Lucca"]
    assert result.path("Rome", "Lucca") == result.path(rome, "Lucca") == named
    assert result.path("Rome", lucca) == numbers(towns, *named)
    assert result.path("Lucca", "Rome") == []
    found = pyapsp.sssp(towns, "Rome", predecessors=True, device=device)
    assert found.path("Lucca") == found.path("Lucca", "Rome") == named
    near = pyapsp.within(towns, "Rome", predecessors=True, device=device)
    assert near.path("Lucca") == named
    assert near.path(lucca) == numbers(towns, *named)
    for path in (lambda to: result.path("Rome", to), found.path, near.path):
        with pytest.raises(ParameterError, match=r"label of a vertex.*'Milan'"):
            path("Milan")


@pytest.mark.parametrize("labels", [(10, 20, 30, 40), ((0, 1), (1, 1), (1, 2), (2, 2))])
def test_the_path_of_a_result_takes_vertices_as_the_call_does(labels, device):
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(zip(labels, labels[1:], (1, 2, 3), strict=False))
    first, *_, last = labels
    by, on = {"predecessors": True, "device": device}, {"device": device}
    (block,) = pyapsp.row_blocks(graph, **by)
    ((_, each),) = pyapsp.solve_each([graph], **by)
    both = pyapsp.solve(graph, directed=False, **by)
    stays = pyapsp.solve(graph, method="near-far", keep="device", **by)
    for result in (pyapsp.solve(graph, **by), block, each, both, stays, copy.deepcopy(stays)):
        assert result.path(first, last) == list(labels)
        assert result.path(0, 3) == result.path(first, 3) == [0, 1, 2, 3]
    start = [first]
    for found in (
        pyapsp.bfs(graph, start, **on),
        pyapsp.sssp(graph, start, **by),
        pyapsp.within(graph, start, 9, **by),
    ):
        assert found.path(last) == list(labels)
        assert found.path(3) == [0, 1, 2, 3]
        with pytest.raises(ParameterError):
            found.path("x")
        with pytest.raises(ParameterError):
            found.path(4)


def test_an_integer_may_be_the_label_of_one_vertex_and_the_number_of_another(device, tmp_path):
    graph = nx.path_graph([1, 2, 3], create_using=nx.DiGraph)
    result = pyapsp.solve(graph, predecessors=True, device=device)
    result.save(tmp_path / "result.npz")
    found = pyapsp.sssp(graph, 3, predecessors=True, device=device)
    unclear = "may be the label of a vertex, or the number of the one with the label 3"
    for each in (result, pyapsp.Result.load(tmp_path / "result.npz")):
        for ends in ((2, 3), (3, 2)):
            with pytest.raises(ParameterError, match=unclear):
                each.path(*ends)
        assert each.path(0, 3) == [1, 2, 3]
        with pytest.raises(ParameterError, match="'i' parameter"):
            each.path(True, 3)
    assert found.path(3) == found.path(3, 3) == [3]  # the source is no number of the caller
    with pytest.raises(ParameterError, match=unclear):
        found.path(2)
    numbered = pyapsp.graph.from_networkx(graph)
    assert pyapsp.solve(numbered, predecessors=True, device=device).path(1, 2) == [1, 2]


def test_paths_of_pairs_have_the_names_of_their_targets(towns, device):
    ends, named = ["Rome", "Siena"], [["Rome", "Pisa", "Lucca"], []]
    pair = {"device": device, "sources": ends, "targets": "Lucca"}
    calls = [
        lambda graph, **given: pyapsp.pairs(graph, paths=True, **given).path,
        lambda graph, **given: lambda *pair: pyapsp.all_shortest_paths(graph, **given).paths(*pair),
        lambda graph, **given: lambda *pair: pyapsp.yen(graph, k=2, **given).paths(*pair),
    ]
    for call in calls:

        def path(*given, call=call, graph=towns, **other):
            found = call(graph, **(pair | other))(*given)
            return found[0] if found and isinstance(found[0], list) else found

        assert [path(0), path(1)] == named
        assert path(0, targets=towns.vertex("Lucca")) == numbers(towns, *named[0])
        assert path(sources="Rome") == named[0]
        with pytest.raises(ParameterError, match=r"'pair'.*one of the pairs, of which there are 2"):
            path()
        with pytest.raises(ParameterError, match=r"'pair'.*an integer from 0 to 1.*Got 2"):
            path(2)
        with pytest.raises(ParameterError, match=r"'pair'.*a pair, and there is none"):
            path(sources=[], targets=[])
        # integers are names if the caller has no numbers
        ids = nx.DiGraph([(5, 2), (2, 9)])
        assert path(graph=ids, sources=5, targets=9) == [5, 2, 9]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("Milan", "numbers of vertices, or labels.*'Milan'"),
        (["Rome", "Milan"], "'Milan'"),
        (["Rome", 0], "labels. Got 0"),
        ([["Rome"]], "labels"),
        (4, r"vertices in \[0, 4\)"),
        (True, "the number of a vertex"),
        (1.5, "1.5"),
    ],
)
def test_what_is_no_vertex(given, rule, towns, device):
    with pytest.raises(ParameterError, match=rule):
        pyapsp.bfs(towns, given, device=device)


def test_a_graph_without_labels(device):
    graph = Graph.from_arcs(2, [0], [1])
    with pytest.raises(ParameterError, match="the number of a vertex"):
        pyapsp.bfs(graph, "0", device=device)
    result = pyapsp.bfs(graph, 0, parents=True, device=device)
    with pytest.raises(ParameterError, match="an integer from 0 to 1"):
        result.path("1")


def test_integers_are_numbers_of_a_graph(device):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], labels=[2, 1, 0])
    assert pyapsp.bfs(graph, 0, device=device).levels.tolist() == [0, 1, 2]
    assert pyapsp.bfs(graph, np.array([2]), device=device).levels.tolist() == [[-1, -1, 0]]


def test_integers_may_be_labels_of_other_objects(device):
    frame = pandas.DataFrame(IDS)
    assert from_frame(IDS).labels.tolist() == [0, 1, 2, 7, 8, 9]
    assert pyapsp.bfs(frame, 7, device=device).sources.tolist() == [3]
    assert pyapsp.bfs(frame, [8, 1], device=device).sources.tolist() == [4, 1]
    assert pyapsp.bfs(frame, np.array([9]), device=device).sources.tolist() == [5]
    # 3 is no label; and 0 to 2 are the same vertices by both
    assert pyapsp.bfs(frame, [2, 3], device=device).sources.tolist() == [2, 3]
    mixed = nx.DiGraph([(2, 1), (1, 0), (0, 7)])
    for given in (0, [7, 2], np.array([2])):
        with pytest.raises(ParameterError, match="may be the label of a vertex, or the number"):
            pyapsp.bfs(mixed, given, device=device)
    assert pyapsp.bfs(mixed, 1, device=device).sources.tolist() == [1]
    # as ranks get it
    with pytest.raises(ParameterError, match="may be the label of a vertex, or the number"):
        pyapsp.bfs(pyapsp.graph.as_graph(mixed), 0, directed=False, device=device)
    graph = pyapsp.graph.from_networkx(mixed)
    assert pyapsp.bfs(graph, 0, device=device).levels.tolist() == [0, 1, 2, 3]


# functions that search in several graphs, or from vertices that they choose
SUMMARIES = {
    "closeness": pyapsp.closeness_centrality,
    "harmonic": pyapsp.harmonic_centrality,
    "eccentricity": pyapsp.eccentricity,
    "histogram": pyapsp.distance_histogram,
    "reach": pyapsp.reach,
    "distances": pyapsp.distances,
    "diameter": lambda graph, sources, **options: pyapsp.diameter(graph, **options),
    "radius": lambda graph, sources, **options: pyapsp.radius(graph, **options),
}


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("function", SUMMARIES.values(), ids=list(SUMMARIES))
def test_integer_labels_of_graphs_that_are_made_of_the_one_given(
    function, directed, undirected, device
):
    arcs, on = [(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 0, 4), (0, 2, 5)], {"device": device}
    for labels in ([2, 3, 10, 11], [1, 0, 10, 11], [1, 2, 3, 4]):
        network = nx.Graph() if undirected else nx.DiGraph()
        network.add_nodes_from(labels)
        network.add_weighted_edges_from((labels[u], labels[v], weight) for u, v, weight in arcs)
        graph = Graph.from_arcs(4, *zip(*arcs, strict=True), directed=not undirected)
        for vertices in ([2, 3], None):
            names = vertices and [labels[vertex] for vertex in vertices]
            if names == [3, 4]:  # 3 is the number of another vertex
                continue
            found = function(network, names, directed=directed, **on)
            expected = function(graph, vertices, directed=directed, **on)
            np.testing.assert_array_equal(found, expected)
    for refuses in [] if function in (SUMMARIES["diameter"], SUMMARIES["radius"]) else [[3], 3]:
        with pytest.raises(ParameterError, match="may be the label of a vertex, or the number"):
            function(network, refuses, directed=directed, **on)


def test_the_source_of_a_graph_of_shortest_paths(towns, device):
    paths = pyapsp.shortest_path_dag(nx.DiGraph([(20, 0), (0, 10)]), 20, device=device)
    assert paths.labels.tolist() == [20, 0, 10]
    assert paths.m == 2
    paths = pyapsp.shortest_path_dag(towns, "Pisa", device=device)
    assert towns.labels[paths.arcs()[0]].tolist() == ["Pisa"]
    for wrong in (["Pisa"], "Milan", 4):
        with pytest.raises(ParameterError, match="'source' parameter of shortest_path_dag"):
            pyapsp.shortest_path_dag(towns, wrong, device=device)


def test_a_tuple_may_be_one_label_or_several_vertices(device):
    grid = nx.grid_2d_graph(3, 3)
    for given in ((0, 1), (2, 2)):
        with pytest.raises(ParameterError, match="may be the label of a vertex, or several"):
            pyapsp.bfs(grid, given, device=device)
    assert pyapsp.bfs(grid, [(0, 1)], device=device).sources.tolist() == [1]
    assert pyapsp.bfs(grid, [0, 1], device=device).sources.tolist() == [0, 1]
    assert pyapsp.bfs(grid, (7, 8), device=device).sources.tolist() == [7, 8]  # no label
    graph = pyapsp.graph.from_networkx(grid)
    assert pyapsp.bfs(graph, (0, 1), device=device).sources.tolist() == [0, 1]


def test_a_table_of_all_distances(towns, device):
    frame = pyapsp.solve(
        towns, sources=["Pisa", "Rome"], predecessors=True, device=device
    ).to_frame()
    assert list(frame) == ["source", "vertex", "distance", "predecessor"]
    rows = frame.set_index(["source", "vertex"])
    assert rows.distance["Rome", "Lucca"] == 376
    assert rows.predecessor["Rome", "Lucca"] == "Pisa"
    assert rows.loc["Pisa", "Rome"].isna().all()
    assert len(frame) == 8
    plain = pyapsp.solve(np.ones((2, 2)), dtype=np.int32, device=device).to_columns()
    assert plain["distance"].tolist() == [0, 1, 1, 0]
    assert plain["vertex"].tolist() == [0, 1, 0, 1]
    kept = pyapsp.solve(towns, keep="device", device=device).to_frame("polars")
    assert kept["distance"].null_count() == 7


def test_an_array_of_xarray(towns, device, monkeypatch):
    made = []

    def data_array(data, coords, dims, name):
        made.append((data, coords, dims, name))
        return "made"

    monkeypatch.setitem(sys.modules, "xarray", types.SimpleNamespace(DataArray=data_array))
    result = pyapsp.solve(towns, sources=["Rome"], device=device)
    assert result.to_xarray() == "made"
    ((data, coords, dims, name),) = made
    assert data is result.distances
    assert (dims, name) == (("source", "vertex"), "distance")
    assert coords["source"].tolist() == ["Rome"]
    assert coords["vertex"].tolist() == towns.labels.tolist()
